"""Releases as black boxes: thousands of outputs on two neighbours, with their own noise, and with too little of it.

The replay looks at sensitivities and shares, and exact tests at the noise; here nobody looks inside. A claim that holds
is called violated with a probability of 10⁻⁶ at most (Clopper & Pearson). Half of the noise is the same code at twice
the cost: ε = 2 where 1 is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pytest

from discreet.audit.blackbox import estimate
from discreet.exit import Exit
from discreet.noise import SYSTEM
from discreet.release import (
    MWEM,
    Domain,
    Facets,
    Hierarchy,
    Histogram,
    MarginalSynthesizer,
    Publication,
    QueryLog,
    RunningTotals,
    SmallDatabase,
    Workload,
)

SURE = 1 - 1e-6
LINE = Domain.of({"x": ["a", "b", "c"]})
SQUARE = Domain.of({"x": ["a", "b"], "y": ["a", "b"]})
SMALL = Domain.of({"x": ["a", "b"]})
PAIR = {"x": ["a", "a", "b"], "y": ["a", "b", "b"]}


@dataclass(frozen=True)
class Box:
    """A publication, rows of which the last is in one of the neighbours, and what of a release the attacker sees."""

    publication: Publication
    data: dict[str, list[Any]]
    seen: Callable[[Any], Any]

    def outputs(self, epsilon: float) -> Callable[[dict[str, list[Any]]], list[float]]:
        """Without what is alike in all of them: arguments and cost are looked at once."""
        complete = self.publication.declared(None)
        cost = complete.cost_for(epsilon=epsilon)

        def draw(data: dict[str, list[Any]]) -> list[float]:
            made = complete.published(complete.rows_of(data), Exit(cost, SYSTEM, limit=cost.loss))
            return [float(each) for each in np.ravel(self.seen(made))]

        return draw


ROWS = {"x": ["a", "b", "b"]}
MONTHS = RunningTotals.over("day", date(2026, 1, 1), date(2026, 3, 31), method="plain")
BOXES = {
    "histogram": Box(Histogram(domain=LINE), ROWS, lambda made: made.values),
    "facets": Box(Facets(domain=LINE), ROWS, lambda made: made.values),
    "prefixes": Box(Workload.prefixes(domain=Domain.of({"x": (0, 2)})), {"x": [0, 1, 1]}, lambda made: made.answers()),
    "marginals": Box(
        Workload.marginals(1, domain=SQUARE), PAIR, lambda made: (*made.marginal("x"), *made.marginal("y"))
    ),
    "hierarchy": Box(Hierarchy.of(("x",), [("a",), ("b",)]), ROWS, lambda made: made.estimates[1]),
    "totals": Box(MONTHS, {"day": [date(2026, 1, 3), date(2026, 2, 3), date(2026, 3, 3)]}, lambda made: made.values),
    "synthetic": Box(MarginalSynthesizer(domain=LINE, steps=1), ROWS, lambda made: made.measured[0].values),
    "rows": Box(MarginalSynthesizer(domain=LINE, steps=1), {"x": list("aaaaabbbbb")}, len),
    "mwem": Box(MWEM(domain=LINE, rounds=1, passes=1), ROWS, lambda made: made.measured[0].values),
    "small": Box(SmallDatabase(domain=SMALL, size=1), ROWS, lambda made: made.counts),
}
LESS = {"marginals": 3.0, "hierarchy": 3.0, "rows": 8.0, "mwem": 8.0, "small": 12.0}
"""How many times too little noise is to be found: 2, but where one look sees a part of what was spent. Of 2,000 samples
four runs of each found an ε of 1.6 or more, with deviations below 0.1."""
CASES = [
    pytest.param("histogram", 1_000, 4.0),
    *(pytest.param(name, 2_000, LESS.get(name, 2.0), marks=pytest.mark.slow) for name in BOXES),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "samples", "less"), CASES)
def test_the_claim_holds_and_too_little_noise_is_found(name: str, samples: int, less: float) -> None:
    box = BOXES[name]
    fewer = {column: values[:-1] for column, values in box.data.items()}
    honest = estimate(box.outputs(1), box.data, fewer, claim=1.0, samples=samples, confidence=SURE)
    assert not honest.violated, str(honest)
    careless = estimate(box.outputs(less), box.data, fewer, claim=1.0, samples=samples, confidence=SURE)
    assert careless.violated, str(careless)


@pytest.mark.slow
def test_a_key_of_one_unit_shows_no_more_often_than_delta_says() -> None:
    """Of 1,500 logs with a key that one user has, at δ = 1/100; what δ = 9/10 shows, one time in seven, is found: it
    proves an ε of 2.1, and 1 is claimed."""
    log = {"user": [1, 1, 2], "query": ["mine", "weather", "weather"]}
    without = {"user": [2], "query": ["weather"]}

    def shows(delta: float) -> Callable[[Any], list[float]]:
        publication = QueryLog(names=("query",), unit="user", max_keys=2)

        def draw(data: Any) -> list[float]:
            keys = [key for key, *_ in publication.release(data, epsilon=1, delta=delta).rows()]
            return [float("mine" in keys)]

        return draw

    assert not estimate(shows(0.01), log, without, claim=(1.0, 0.01), samples=1_500, confidence=SURE).violated
    assert estimate(shows(0.9), log, without, claim=(1.0, 0.01), samples=1_500, confidence=SURE).violated
