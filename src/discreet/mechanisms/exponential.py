"""The exponential mechanism: choose one, or the best few, of several candidates by their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.losses import Concentrated, Pure
from discreet.exact import Number, extent, flag, whole
from discreet.exact import epsilon as positive
from discreet.late import np
from discreet.mechanisms.selection import factor, log_odds, shortfall, tilt, units
from discreet.noise import Bits, Exponents, gumbel_race

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, init=False, slots=True)
class Exponential:
    """Choose candidate r with probability ∝ exp(ε·u(r)/(2Δ)).

    Theorem  ε-DP and ε²/8-zCDP, where `sensitivity` Δ bounds how far one unit can move any score. `monotone=True` drops
             the 2 at the same cost, for scores that are monotone as `selection` says (counts are).
    Proof    The exponent of r moves by x(r) on a neighbour, so ln P'(r)/P(r) = x(r) − c with one c for all r, the log
             of a mean of e^x(s), which lies between the least and the largest x(s). All x lie within [−ε/2, ε/2];
             monotone, all within [0, ε] or all within [−ε, 0]: either way in an interval of length ε, so that
             |x(r) − c| ≤ ε; and a log-ratio of range ε is ε²/8-zCDP.
             `copies` says how many candidates share a score, if that is public: the choice among all of them, of which
             only the score's index is told, which is post-processing.
    Error    P(u(chosen) ≤ best − R) ≤ |candidates|·exp(−εR/(2Δ)).
    Draw     A race of exponential clocks, decided exactly: no float softmax, every candidate keeps its probability.
    Source   McSherry & Talwar 2007; Cesar & Rogers 2021 (zCDP).

    >>> nationality = Exponential(epsilon=1, sensitivity=1)
    >>> nationality.probabilities([5, 3]).round(3).tolist()
    [0.731, 0.269]
    """

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool
    loss: Pure | Concentrated
    copies: tuple[int, ...] | None = field(repr=False)

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        sensitivity: Number,
        rho: Number | None = None,
        monotone: bool = False,
        copies: Sequence[int] | None = None,
    ) -> None:
        object.__setattr__(self, "copies", None if copies is None else _copies(copies))
        object.__setattr__(self, "epsilon", tilt(epsilon, rho))
        object.__setattr__(self, "sensitivity", extent(sensitivity, "sensitivity"))
        object.__setattr__(self, "monotone", flag(monotone, "monotone"))
        object.__setattr__(self, "loss", Pure(positive(epsilon)) if rho is None else Concentrated(positive(rho, "rho")))

    def choose(self, scores: ArrayLike, bits: Bits | None = None) -> int:
        """The index of the chosen candidate."""
        return int(gumbel_race(self._exponents(scores), bits=bits)[0])

    release = choose

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """With which probability each candidate is chosen."""
        exponents = self._exponents(scores)
        weights = np.exp(log_odds(exponents)) * (1 if exponents.copies is None else exponents.copies)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """How far below the best score the chosen one lies at most, with this confidence."""
        return shortfall(self.epsilon, self.sensitivity, factor(monotone=self.monotone), confidence, candidates)

    def _exponents(self, scores: ArrayLike) -> Exponents:
        exact, moved = units(scores, self.sensitivity)
        if self.copies is not None and len(self.copies) != exact.size:
            raise ValueError(f"there are copies of {len(self.copies)} scores, not of {exact.size}")
        copies = None if self.copies is None else np.array(self.copies, dtype=np.int64)
        return Exponents(exact, self.epsilon / (factor(monotone=self.monotone) * moved), copies)


def _copies(given: object) -> tuple[int, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise TypeError(f"copies must be whole numbers, one for each score, not a {type(given).__name__}")
    copies = tuple(whole(each, "copies") for each in given)
    if max(copies, default=0) >= 2**63:
        raise ValueError("copies must be below 2⁶³")
    return copies


@dataclass(frozen=True, init=False, slots=True)
class TopK:
    """Choose the best k candidates, in order: k rounds of the exponential mechanism without replacement, in one race.

    Theorem  ε-DP with ε/k for each round; with ρ, ρ-zCDP with √(8ρ/k) for each.
    Proof    The order in which the clocks of `Exponential` ring is the order of repeated choices (lack of memory);
             rounds compose, each among the candidates that are left, whose scores are monotone if all are.
    Error    Each round falls short of the best that is left by R with probability ≤ |candidates|·exp(−εR/(2kΔ)).
    Source   Durfee & Rogers 2019.
    """

    k: int
    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool
    loss: Pure | Concentrated

    def __init__(
        self,
        k: int,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        monotone: bool = False,
    ) -> None:
        object.__setattr__(self, "k", whole(k, "k"))
        object.__setattr__(self, "epsilon", tilt(epsilon, rho, k))
        object.__setattr__(self, "sensitivity", extent(sensitivity, "sensitivity"))
        object.__setattr__(self, "monotone", flag(monotone, "monotone"))
        object.__setattr__(self, "loss", Pure(positive(epsilon)) if rho is None else Concentrated(positive(rho, "rho")))

    def choose(self, scores: ArrayLike, bits: Bits | None = None) -> list[int]:
        """The indices of the chosen candidates, best first."""
        exact, moved = units(scores, self.sensitivity)
        if exact.size < self.k:
            raise ValueError(f"scores must hold at least k = {self.k} candidates, not {exact.size}")
        exponents = Exponents(exact, self.epsilon / (factor(monotone=self.monotone) * moved))
        return [int(index) for index in gumbel_race(exponents, self.k, bits=bits)]

    release = choose

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """How far each choice lies below the best that is left, at most, with this confidence for all k together."""
        halves = factor(monotone=self.monotone)
        return shortfall(self.epsilon, self.sensitivity, halves, confidence, self.k * whole(candidates, "candidates"))
