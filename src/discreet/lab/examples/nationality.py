"""The most common nationality: an answer that is no number, chosen by the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.mechanisms import Exponential

ROOM: Final = {"Indian": 9, "Brazilian": 8, "Dutch": 5, "Korean": 4, "Kenyan": 3, "Canadian": 1}
"""An invented room of thirty people."""


@dataclass(frozen=True, slots=True)
class Vote:
    """How likely each answer is with everybody, and without one person of the first nationality."""

    names: tuple[str, ...]
    scores: tuple[int, ...]
    chances: tuple[float, ...]
    without: tuple[float, ...]
    ratios: tuple[float, ...]
    chosen: str
    mechanism: Exponential


def vote(times: int, epsilon: float, *, monotone: bool = False) -> Vote:
    """The room, so many times as large.

    >>> asked = vote(1, epsilon=1)
    >>> asked.chances[0] > asked.chances[1] > asked.chances[5], asked.chosen in ROOM
    (True, True)
    """
    mechanism = Exponential(epsilon=epsilon, sensitivity=1, monotone=monotone)
    names, scores = tuple(ROOM), tuple(people * times for people in ROOM.values())
    chances = mechanism.probabilities(scores).tolist()
    without = mechanism.probabilities([score - (index == 0) for index, score in enumerate(scores)]).tolist()
    # whoever keeps all their people moves by the sum of all weights alone: the same ratio for all of them
    ratios = (chances[0] / without[0], *[chances[1] / without[1]] * (len(names) - 1))
    return Vote(names, scores, tuple(chances), tuple(without), ratios, names[mechanism.choose(scores)], mechanism)
