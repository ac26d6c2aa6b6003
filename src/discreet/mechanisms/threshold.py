"""The sparse vector technique: many questions, charged only for how many may be answered Yes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, final

from discreet import noise
from discreet.accounting.distributions import DiscreteLaplace
from discreet.accounting.losses import Pure
from discreet.accounting.turns import Turns
from discreet.errors import BudgetExhausted
from discreet.exact import Number, extent, number, probability, whole
from discreet.exact import epsilon as positive
from discreet.mechanisms.grid import INTEGERS, Grid
from discreet.noise import Bits


@dataclass(frozen=True, init=False, slots=True)
class AboveThreshold:
    """Say which of a stream of numbers lie above a threshold, until `limit` of them did.

    Theorem  ε-DP for the whole stream, however long and adaptively chosen; charged whole at the start. One unit may
             move every number by up to `sensitivity` Δ.
    Assumes  That the numbers of a stream are asked about one after the other, each knowing how many were answered Yes:
             `Watch` has a lock for threads, refuses after a fork, and has no copies. Else k of them would share one
             noisy threshold, and Yes would be said k·limit times for the cost of `limit`.
    Proof    The threshold gets noise of scale Δ/ε₁ once, every number fresh noise of scale 2·limit·Δ/ε₂, ε₁ + ε₂ = ε.
             Shift the threshold's noise by Δ: every No on one neighbour stays a No on the other, at a cost of ε₁ for
             all of them. Shift the noise of each Yes by 2Δ: it stays a Yes, at ε₂/limit each. All are integers.
    Error    All of m answers are right for numbers farther than α from the threshold (see `error`).
    Source   Dwork & Roth 2014, Theorem 3.23; Lyu, Su & Li 2017, Algorithm 1. The threshold's noise is never drawn
             again, the numbers' noise grows with `limit`, and no number is ever released: their variants 3 to 6 differ
             in one of these and are not private.
    """

    epsilon: Fraction
    sensitivity: Fraction
    threshold: Fraction
    limit: int
    grid: Grid
    scales: tuple[Fraction, Fraction]

    def __init__(
        self,
        epsilon: Number,
        *,
        sensitivity: Number,
        threshold: Number,
        limit: int = 1,
        step: Number | None = None,
    ) -> None:
        exact = extent(sensitivity, "sensitivity")
        level = number(threshold, "threshold")
        integral = exact.denominator == level.denominator == 1
        object.__setattr__(self, "epsilon", positive(epsilon))
        object.__setattr__(self, "sensitivity", exact)
        object.__setattr__(self, "threshold", level)
        object.__setattr__(self, "limit", whole(limit, "limit"))
        chosen = INTEGERS if integral else Grid.at_most(min(exact / 100, exact / self.epsilon / 50))
        object.__setattr__(self, "grid", chosen if step is None else Grid.of(step))
        object.__setattr__(self, "scales", self._scales())

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    def _scales(self) -> tuple[Fraction, Fraction]:
        """The scales of the noise on the threshold and on each number, in steps of the grid.

        ε₁ : ε₂ = 1 : (2·limit)^(2/3) makes the variance of a comparison smallest (Lyu, Su & Li 2017, §4.2).
        """
        share = 1 / (1 + Fraction((2 * self.limit) ** (2 / 3)).limit_denominator(10**6))
        moved = self.grid.distance(self.sensitivity)
        return moved / (self.epsilon * share), 2 * self.limit * moved / (self.epsilon * (1 - share))

    def start(self, bits: Bits | None = None) -> Watch:
        """Begin to watch a stream. Charge `loss` before, once."""
        level = self.grid.nearest(self.threshold) + noise.laplace(self.scales[0], bits=bits)
        return Watch(self, level, bits)

    def release(self, exact: list[Number], bits: Bits | None = None) -> list[bool]:
        """The answers to a list of numbers: it ends with the last Yes that the limit allows."""
        watch = self.start(bits)
        answers: list[bool] = []
        for value in exact:
            if not watch.left:
                break
            answers.append(watch.ask(value))
        return answers

    def error(self, confidence: Number = 0.95, *, questions: int) -> float:
        """α: with this confidence, all answers are Yes above threshold + α and No below threshold − α.

        One step of it is for rounding: real numbers may be asked about on any grid.
        """
        spare = (1 - probability(confidence, "confidence")) / 2
        level, each = (DiscreteLaplace(scale) for scale in self.scales)
        steps = level.width(1 - spare) + each.width(1 - spare / whole(questions, "questions"))
        return self.grid.value(steps + 1)


@final
class Watch:
    """A stream under way: one thread after the other asks, in the process that started it. It has no copies."""

    __slots__ = ("__bits", "__level", "__mechanism", "__positives", "__turns")

    def __init__(self, mechanism: AboveThreshold, level: int, bits: Bits | None) -> None:
        self.__mechanism = mechanism
        self.__level = level
        self.__bits = bits
        self.__positives = 0
        self.__turns = Turns("a stream under way")

    @property
    def mechanism(self) -> AboveThreshold:
        return self.__mechanism

    @property
    def positives(self) -> int:
        """How many times the answer was Yes."""
        return self.__positives

    @property
    def left(self) -> int:
        """How many more times the answer may be Yes."""
        return self.__mechanism.limit - self.__positives

    def ask(self, exact: Number) -> bool:
        """Whether the number lies above the threshold, as far as the noise lets tell."""
        mechanism = self.__mechanism
        value = mechanism.grid.nearest(number(exact, "exact"))
        with self.__turns:
            if not self.left:
                raise BudgetExhausted(
                    f"all {mechanism.limit} answers above the threshold were given",
                    "start a new AboveThreshold, at its cost",
                )
            above = value + noise.laplace(mechanism.scales[1], bits=self.__bits) >= self.__level
            self.__positives += above
        return above

    def __repr__(self) -> str:
        return f"Watch(mechanism={self.__mechanism!r}, found={self.__positives})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream under way holds secret noise and cannot be copied or pickled: start another")
