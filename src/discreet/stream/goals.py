"""What a model is held to: a metric, the goal, and the noisy pair of sums that a test reads from scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.exact import number
from discreet.learn.readings import Measured
from discreet.learn.statements import LEAST, Facts
from discreet.stream.validation import Decision, Pair

SLIGHTLY: Final = 1 + Fraction(1, 10**12)
"""For the roundings of a limit that is no fraction: goals get no easier by it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a metric is a mean of losses from 0 to 1, and where scores hold the two sums of them."""

    statement: str
    lost: int
    """Which of the two numbers is the sum of losses."""
    share: Callable[[Fraction, Facts], Fraction]
    """The mean loss that a value of the metric stands for."""
    value: Callable[[float, Facts], float]
    """The value of the metric for a mean loss."""
    binary: bool = False
    rises: bool = False
    """Whether more is better."""


def _wide(facts: Facts) -> Fraction:
    """The largest error, rounded up."""
    assert facts.target is not None
    return Fraction(float(facts.target.high[0])) - Fraction(float(facts.target.low[0]))


_LOG: Final = Fraction(-math.log(LEAST)) * SLIGHTLY
KINDS: Final[Mapping[str, Kind]] = {
    "accuracy": Kind("right", 1, lambda goal, _: 1 - goal, lambda mean, _: 1 - mean, binary=True, rises=True),
    "log_loss": Kind("logs", 0, lambda goal, _: goal / _LOG, lambda mean, _: mean * float(_LOG)),
    "mean_absolute_error": Kind(
        "absolute", 0, lambda goal, facts: goal / _wide(facts), lambda mean, facts: mean * float(_wide(facts))
    ),
    "mean_squared_error": Kind(
        "squared", 0, lambda goal, facts: goal / _wide(facts) ** 2, lambda mean, facts: mean * float(_wide(facts)) ** 2
    ),
    "root_mean_squared_error": Kind(
        "squared",
        0,
        lambda goal, facts: goal * abs(goal) / _wide(facts) ** 2,
        lambda mean, facts: math.sqrt(mean) * float(_wide(facts)),
    ),
}
"""Metrics that are means over rows. Others, such as areas under curves, have no test here."""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """A metric, and what is at least asked of it."""

    metric: str
    value: Fraction
    share: Fraction
    """The mean loss, from 0 to 1, that a model must stay below."""
    facts: Facts

    @classmethod
    def read(cls, metric: str, value: object, facts: Facts) -> Goal:
        """ValueError for a metric without a test, and for a goal that every model meets, or none."""
        if metric not in KINDS:
            raise ValueError(f"{metric} is no mean over rows, and has no test: use one of {', '.join(KINDS)}")
        goal, kind = number(value, "goal"), KINDS[metric]
        share = kind.share(goal, facts)
        if not 0 < share < 1:
            ends = sorted(kind.value(end, facts) for end in (0.0, 1.0))
            raise ValueError(f"goal must lie strictly between {ends[0]:g} and {ends[1]:g} for {metric}, not {value}")
        return cls(metric, goal, share, facts)

    @property
    def kind(self) -> Kind:
        return KINDS[self.metric]

    def pair(self, measured: Measured, rows: int = 1) -> Pair:
        """The noisy sums of a score; `rows` of a unit at most."""
        noisy = measured.noisy(self.kind.statement)
        cells = [int(cell) for cell in measured.vectors[self.kind.statement]]
        lost = self.kind.lost
        return Pair(cells[lost], cells[1 - lost], noisy.steps, noisy.noise, rows, self.kind.binary)

    def verdict(self, pair: Pair, miss: Fraction) -> Verdict:
        """What the test says: ACCEPT, or RETRY."""
        return Verdict(
            Decision.ACCEPT if pair.is_below(self.share, miss) else Decision.RETRY,
            self.metric,
            float(self.value),
            self.kind.value(pair.mean, self.facts),
            max(pair.size, 0.0),
            float(miss),
            pair.doubt(self.share, miss),
        )

    def __str__(self) -> str:
        return f"{self.metric} {'above' if self.kind.rises else 'below'} {float(self.value):g}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one test says of one model."""

    decision: Decision
    metric: str
    goal: float
    value: float
    """About what the metric is on the rows of the test."""
    rows: float
    """About how many they are."""
    miss: float
    """With what probability it accepts a model that is no better than the goal."""
    doubt: float
    """At least the probability of so good a score from such a model: accepted if it is below 0.95 · miss."""

    def __str__(self) -> str:
        return (
            f"{self.decision.upper()}: {self.metric} about {self.value:.4g} on about {self.rows:,.0f} rows; "
            f"the goal is {self.goal:g}, doubt {self.doubt:.2g}, allowed {self.miss:.2g}"
        )
