"""Blue eyes: two counts of which one person moves one, and the noise that hides it in any population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.mechanisms import Laplace

PEOPLE: Final = (100, 1_000, 10_000, 100_000, 1_000_000, 40_000_000)
LECTURE: Final = Laplace(epsilon=0.1, sensitivity=1)
"""One person has blue eyes or not: two disjoint counts, of which a person moves one by one."""


@dataclass(frozen=True, slots=True)
class Eyes:
    """How many have blue eyes and how many others, in truth and as released."""

    exact: tuple[int, int]
    released: tuple[int, int]
    mechanism: Laplace


def eyes(people: int, share: float, epsilon: float) -> Eyes:
    """
    >>> asked = eyes(40_000_000, 0.3, epsilon=0.1)
    >>> asked.exact, float(asked.mechanism.scale)
    ((12000000, 28000000), 10.0)
    """
    mechanism = Laplace(epsilon=epsilon, sensitivity=1)
    blue = round(people * share)
    first, second = mechanism.release([blue, people - blue])
    return Eyes((blue, people - blue), (int(first), int(second)), mechanism)
