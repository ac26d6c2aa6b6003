"""k-anonymity and its heirs: attacks beat guessing on tables; guesses from noisy counts stay within a factor of e^ε."""

from __future__ import annotations

import math
from collections import Counter
from importlib import import_module

import numpy as np
import pytest

from discreet.lab import anonymity
from discreet.lab.anonymity import guesses, private, releases, two_releases
from discreet.lab.experiment import Outcome
from discreet.lab.measures import published
from tests.budget import later

RATE = 1e-7
"""How often the test of a rate may fail by chance."""


def test_guesses_are_those_of_the_definition() -> None:
    """With the row and without it, ties broken by chance, an empty class by the most frequent value of all."""
    rows = [("a", 1), ("a", 1), ("a", 2), ("b", 2), ("b", 3), ("c", 1), ("d", 3)]
    table = published(
        {"q": [q for q, _ in rows], "s": [s for _, s in rows]}, quasi=["q"], sensitive="s", distance="equal"
    )
    usual = Counter(s for _, s in rows).most_common(1)[0][0]

    def right(values: list[int], truth: int) -> float:
        counts = Counter(values)
        best = [v for v in counts if counts[v] == max(counts.values())] or [usual]
        return (truth in best) / len(best)

    inside = [right([s for q, s in rows if q == mine], truth) for mine, truth in rows]
    outside = [right([s for j, (q, s) in enumerate(rows) if q == rows[i][0] and j != i], rows[i][1]) for i in range(7)]
    assert guesses(table) == pytest.approx((np.mean(inside), np.mean(outside)))


def test_each_repair_leaves_an_attack() -> None:
    raw, five, diverse, close = releases()
    assert raw.guessed > 0.95 > 3 * anonymity.most_frequent()
    assert raw.measures.k == 1
    assert five.measures.k >= 5
    assert five.hits.homogeneity.people > 0
    assert (diverse.measures.distinct_l, diverse.hits.homogeneity.people) == (2, 0)
    assert diverse.hits.background[0].people > 0
    assert close.measures.t <= 0.4 + 1e-9
    assert close.hits.skewness.ratio > math.e
    assert [r.guessed for r in (raw, five, close)] == sorted((raw.guessed, five.guessed, close.guessed), reverse=True)
    both = two_releases()
    assert (both.alone, both.people) == ((0, 0), anonymity.PATIENTS)
    assert both.together > 50


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_a_row_adds_at_most_a_factor_to_guesses_from_noisy_counts(epsilon: float) -> None:
    """Guesses about different people are drawn apart, so Hoeffding's bound holds for either rate."""
    got = private(epsilon=epsilon)
    slack = math.sqrt(math.log(1 / RATE) / (2 * anonymity.PATIENTS))
    assert got.guessed - slack <= math.exp(epsilon) * (got.without + slack)
    assert got.bound == min(1.0, math.exp(epsilon) * got.without)


@pytest.mark.parametrize("name", later(["anonymity", "ratings", "linkage"]))
def test_experiments_say_and_draw_what_they_found(name: str) -> None:
    outcome: Outcome = import_module(f"discreet.lab.{name}").run(seed=3)
    assert len(outcome.sentences) == 3
    assert len(outcome.figures.items) == 5
    for table in outcome.tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    for picture in outcome.pictures:
        assert picture.chart().to_dict()["title"]
    assert "ε" in outcome.guarantee
