"""What a release costs, and how costs add up.

Two currencies can be spent while the analyst picks each question, and its price, after seeing all earlier answers:

Pure          ε-DP. The sum of the ε is the ε of all releases together (Rogers et al. 2016 for adaptive prices).
Concentrated  δ-approximate ρ-zCDP. Both ρ and δ add up (Feldman & Zrnic 2021; Whitehouse et al. 2023).

`Approximate` is a statement, (ε, δ)-DP, about releases of which nothing better is known; it is spent as Concentrated.
The neighbouring relation is everywhere: add or remove one unit with all its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from discreet.accounting.conversion import epsilon_of_rho, rho_of_epsilon, rho_of_pure
from discreet.accounting.rounding import NEAREST, decimal, float_down, float_up, up
from discreet.exact import Number, number, probability, whole
from discreet.exact import epsilon as price


@dataclass(frozen=True, init=False, slots=True)
class Pure:
    """ε-differential privacy.

    >>> Pure(0.1)
    Pure(epsilon=0.1)
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", _amount(epsilon, "epsilon"))

    def __repr__(self) -> str:
        return f"Pure(epsilon={float_up(self.epsilon):g})"

    def concentrated(self) -> Concentrated:
        """The same release in the other currency: ρ = ε·tanh(ε/2), rounded up."""
        return Concentrated(rho_of_pure(self.epsilon))

    def group(self, size: int) -> Pure:
        """Theorem  kε for units that differ in k places. Proof: walk through k neighbours; the ratios multiply."""
        return Pure(size * self.epsilon)

    def epsilon_at(self, delta: Fraction) -> Fraction:  # noqa: ARG002  (ε-DP holds whatever the δ)
        return self.epsilon


@dataclass(frozen=True, init=False, slots=True)
class Concentrated:
    """δ-approximate ρ-zero-concentrated differential privacy (Bun & Steinke 2016).

    Outside an event of probability δ, the Rényi divergence of order α between neighbours is at most ρ·α, for all α > 1.

    >>> Concentrated(0.02)
    Concentrated(rho=0.02)
    """

    rho: Fraction
    delta: Fraction

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "rho", _amount(rho, "rho"))
        object.__setattr__(self, "delta", _amount(delta, "delta"))
        if self.delta >= 1:
            raise ValueError(f"delta must be below 1, not {delta}")

    def __repr__(self) -> str:
        delta = f", delta={float_up(self.delta):g}" if self.delta else ""
        return f"Concentrated(rho={float_up(self.rho):g}{delta})"

    def concentrated(self) -> Concentrated:
        return self

    def group(self, size: int) -> Concentrated:
        """Theorem  k²ρ for units that differ in k places (Bun & Steinke 2016, Proposition 27); only for δ = 0."""
        if self.delta:
            raise ValueError(
                "a loss with delta above 0 has no group form of its own: "
                "write group(Approximate(epsilon_of(loss, delta), delta), k)"
            )
        return Concentrated(size**2 * self.rho)

    def epsilon_at(self, delta: Fraction) -> Fraction:
        if delta <= self.delta:
            raise ValueError(
                f"delta must be above the loss's own delta, {float_up(self.delta):g}: the rest pays for the conversion"
            )
        return epsilon_of_rho(self.rho, delta - self.delta)


@dataclass(frozen=True, init=False, slots=True)
class Approximate:
    """(ε, δ)-differential privacy."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", _amount(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))

    def __repr__(self) -> str:
        return f"Approximate(epsilon={float_up(self.epsilon):g}, delta={float_up(self.delta):g})"

    def concentrated(self) -> Concentrated:
        """The same release in a currency that adds up: δ-approximate ε²/2-zCDP."""
        return Concentrated(self.epsilon**2 / 2, self.delta)

    def group(self, size: int) -> Approximate:
        """Theorem  (kε, k·e^{kε}·δ) for units that differ in k places.

        Proof   One step at a time, P(S) ≤ e^ε·P'(S) + δ; k steps make of it δ·(1 + e^ε + … + e^{(k−1)ε}) ≤ k·e^{kε}·δ.
        """
        if size == 1:
            return self
        grown = NEAREST.multiply(NEAREST.exp(decimal(size * self.epsilon)), decimal(size * self.delta))
        if grown >= 1:
            raise ValueError(f"for groups of {size} the delta would reach 1: nothing is promised to them")
        return Approximate(size * self.epsilon, up(grown))

    def epsilon_at(self, delta: Fraction) -> Fraction:
        if delta < self.delta:
            raise ValueError(f"delta must be at least the loss's own delta, {float_up(self.delta):g}")
        return self.epsilon


Loss = Pure | Concentrated | Approximate


def compose(*losses: Loss) -> Pure | Concentrated:
    """The loss of all the releases together, however adaptively they were chosen. Pure only if all are.

    >>> compose(Pure(0.1), Pure(0.2))
    Pure(epsilon=0.3)
    """
    if all(isinstance(loss, Pure) for loss in losses):
        return Pure(sum((loss.epsilon for loss in losses if isinstance(loss, Pure)), Fraction(0)))
    parts = [loss.concentrated() for loss in losses]
    return Concentrated(sum(part.rho for part in parts), sum(part.delta for part in parts))


def parallel(*losses: Loss) -> Pure | Concentrated:
    """The loss of releases on parts of the data of which each unit is in one only: the largest.

    Proof   Adding or removing a unit changes the input of one release; the others have loss 0.
    """
    if all(isinstance(loss, Pure) for loss in losses):
        return Pure(max((loss.epsilon for loss in losses if isinstance(loss, Pure)), default=Fraction(0)))
    parts = [loss.concentrated() for loss in losses]
    return reduce(lambda a, b: Concentrated(max(a.rho, b.rho), max(a.delta, b.delta)), parts)


def group(loss: Loss, size: int) -> Loss:
    """What the same release costs where units may differ in `size` places: families, or replacing (two places)."""
    return loss.group(whole(size, "size"))


def epsilon_of(loss: Loss, delta: Number) -> float:
    """The least ε for which the loss is known to be (ε, δ)-DP, rounded up.

    >>> epsilon_of(Concentrated(0.02), 1e-6)
    0.899935267660642
    """
    return float_up(loss.epsilon_at(probability(delta, "delta")))


def rho_for(epsilon: Number, delta: Number) -> float:
    """The largest ρ for which ρ-zCDP is known to imply (ε, δ)-DP, rounded down: the inverse of `epsilon_of`."""
    return float_down(rho_of_epsilon(price(epsilon), probability(delta, "delta")))


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one unit can move an answer: proven bounds on the L1 norm and on the square of the L2 norm."""

    l1: Fraction
    l2_squared: Fraction

    @classmethod
    def cells(cls, count: int, size: Number, total: Number | None = None) -> Reach:
        """At most `count` cells by at most `size` each, and at most `total` in all.

        Proof   Σ|xᵢ| ≤ min(count·size, total), and Σxᵢ² ≤ size·Σ|xᵢ|.
        """
        most = _amount(size, "size")
        l1 = whole(count, "count", least=0) * most
        if total is not None:
            l1 = min(l1, _amount(total, "total"))
        return cls(l1, most * l1)

    def __add__(self, other: Reach) -> Reach:
        """Two answers of the same unit, side by side."""
        return Reach(self.l1 + other.l1, self.l2_squared + other.l2_squared)


def _amount(value: Number, name: str) -> Fraction:
    exact = number(value, name)
    if exact < 0:
        raise ValueError(f"{name} must be at least 0, not {value}")
    return exact
