"""The definition on the smallest example: a count with one person and without, and how each answer tells them apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from discreet import noise
from discreet.lab.charts import chance
from discreet.mechanisms import Laplace

MOST_PEOPLE: Final = 50
"""People counted at most."""
WINDOW: Final = 40
"""Answers on either side of the count that are looked at: Laplace noise has the same ratio at all others."""
SPAN: Final = 5
"""The farthest that uniform noise goes."""
Law = Mapping[int, float]
"""Answers with their probabilities."""


def _exact(count: int, epsilon: float) -> Law:  # noqa: ARG001  (no noise, no ε)
    return {count: 1.0}


def _rounded(count: int, epsilon: float) -> Law:  # noqa: ARG001
    return {(count + 5) // 10 * 10: 1.0}


def _shifted(count: int, epsilon: float) -> Law:  # noqa: ARG001
    return {count + 3: 1.0}


def _uniform(count: int, epsilon: float) -> Law:  # noqa: ARG001
    return {count + z: 1 / (2 * SPAN + 1) for z in range(-SPAN, SPAN + 1)}


def _laplace(count: int, epsilon: float) -> Law:
    mechanism = Laplace(epsilon=epsilon, sensitivity=1)
    return {count + z: chance(mechanism, z) for z in range(-WINDOW, WINDOW + 1)}


LAWS: Final[Mapping[str, Callable[[int, float], Law]]] = {
    "exact": _exact,
    "rounded": _rounded,
    "shifted": _shifted,
    "uniform": _uniform,
    "laplace": _laplace,
}
"""How a count is answered: exactly, rounded to tens, three too many, with bounded noise, with Laplace noise."""
DETERMINISTIC: Final = frozenset({"exact", "rounded", "shifted"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one answer can tell about one person."""

    with_: Law
    without: Law
    loss: float
    """The largest ln of a ratio of probabilities; infinite if one world alone allows an answer."""

    @property
    def belief(self) -> float:
        """What somebody who thought it even can come to believe at most."""
        return 1 / (1 + math.exp(-self.loss))


def tested(method: str, count: int, epsilon: float) -> Comparison:
    """The count with one person, and without.

    >>> tested("rounded", 14, 1).loss, tested("rounded", 15, 1).loss, round(tested("laplace", 14, 0.5).loss, 9)
    (0.0, inf, 0.5)
    """
    law = LAWS[method]
    with_, without = law(count, epsilon), law(count - 1, epsilon)
    shared = with_.keys() & without.keys()
    # noise without bounds is cut off here: what lies beyond has the ratio of the last answer that both have
    beyond = (with_.keys() ^ without.keys()) if method != "laplace" else set()
    loss = math.inf if beyond else max(abs(math.log(with_[each] / without[each])) for each in shared)
    return Comparison(with_, without, loss)


def first_step(method: str) -> int | None:
    """The least count whose answer differs from that of one person less: for every answer without noise there is one,
    unless it is always the same.

    >>> first_step("exact"), first_step("rounded"), first_step("laplace")
    (1, 5, None)
    """
    if method not in DETERMINISTIC:
        return None
    law = LAWS[method]
    return next((count for count in range(1, MOST_PEOPLE + 1) if law(count, 1.0) != law(count - 1, 1.0)), None)


def drawn(method: str, count: int, epsilon: float) -> int:
    """One answer."""
    if method == "laplace":
        return int(Laplace(epsilon=epsilon, sensitivity=1).release(count))
    if method == "uniform":
        return count + int(noise.below(2 * SPAN + 1)) - SPAN
    return next(iter(LAWS[method](count, epsilon)))
