"""What a release costs, and how costs add up.

Two currencies can be spent while the analyst picks each question, and its cost, after seeing all earlier answers:

Pure          ε-DP. The sum of the ε is the ε of all releases together (Rogers et al. 2016 for adaptive costs).
Concentrated  δ-approximate ρ-zCDP. Both ρ and δ add up (Feldman & Zrnic 2021; Whitehouse et al. 2023).

`Approximate` is a statement, (ε, δ)-DP, about releases of which nothing better is known; it is spent as Concentrated.
Every loss says which neighbours it is about (`relation`, nearly always: add or remove one unit with all its rows) and
may say who that unit is (`unit`, None where nobody named it). Unlike things are not added up: see `relations`. Losses
are equal where amounts and relation are; the name of the unit is a label, which sums compare.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeGuard, final

from discreet.accounting.conversion import epsilon_of_rho, rho_of_epsilon, rho_of_pure
from discreet.accounting.relations import CODE, Relation, common, label, neighbours
from discreet.accounting.rounding import NEAREST, decimal, float_down, float_up, is_less, total, up
from discreet.errors import Refused
from discreet.exact import Number, number, probability, whole
from discreet.exact import epsilon as positive
from discreet.printing import at_least


class _About:
    """Whom a loss is about: what all kinds of losses share."""

    __slots__ = ()
    relation: Relation
    unit: str | None

    def _say(self, relation: object, unit: object) -> None:
        object.__setattr__(self, "relation", neighbours(relation))
        object.__setattr__(self, "unit", label(unit))

    def _shown(self, amounts: str) -> str:
        relation = "" if self.relation is Relation.ADD_REMOVE else f", relation={self.relation!r}"
        unit = "" if self.unit is None else f", unit={self.unit!r}"
        return f"{type(self).__name__}({amounts}{relation}{unit})"

    def per(self, unit: str) -> Self:
        """The same loss, with the name of the unit that it is about; refused if it has another name already."""
        if self.unit is not None and self.unit != unit:
            raise Refused(
                CODE,
                f"{self!r} is about one {self.unit!r} already",
                f"write group(loss, k, unit={unit!r}) if that is at most k of those",
            )
        return replace(self, unit=unit)  # type: ignore[type-var]


def _restore(loss: Any, state: list[Any]) -> None:
    """A pickled loss; those of before losses said their relation are about adding or removing a unit without a name."""
    names = [part.name for part in fields(loss)]
    for name, value in zip(names, [*state, Relation.ADD_REMOVE, None], strict=False):
        object.__setattr__(loss, name, value)


@final
@dataclass(frozen=True, init=False, slots=True)
class Pure(_About):
    """ε-differential privacy.

    >>> Pure(0.1)
    Pure(epsilon=0.1)
    """

    is_pure: ClassVar[bool] = True
    """Whether noise for it is that of ε-DP."""
    epsilon: Fraction
    relation: Relation
    unit: str | None = field(compare=False)

    def __init__(self, epsilon: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str | None = None) -> None:
        object.__setattr__(self, "epsilon", _amount(epsilon, "epsilon"))
        self._say(relation, unit)

    __setstate__ = _restore

    def __repr__(self) -> str:
        return self._shown(f"epsilon={float_up(self.epsilon):g}")

    @property
    def is_zero(self) -> bool:
        """Whether nothing is lost, to whoever it is."""
        return not self.epsilon and self.relation is Relation.ADD_REMOVE

    @property
    def amount(self) -> Fraction:
        """What adds up: ε."""
        return self.epsilon

    @property
    def named(self) -> dict[str, Fraction]:
        """The same by its name, as mechanisms and queries take it."""
        return {"epsilon": self.epsilon}

    @property
    def amounts(self) -> dict[str, Fraction]:
        """All that adds up, by name."""
        return self.named

    @property
    def words(self) -> str:
        """Rounded up, to four digits.

        >>> Pure(0.123401).words
        'ε 0.1235'
        """
        return _written(ε=self.epsilon)

    def times(self, share: Fraction) -> Pure:
        """A share of it."""
        return Pure(self.epsilon * share, relation=self.relation, unit=self.unit)

    def covers(self, other: Pure | Concentrated) -> bool:
        """Whether it is at least the other, where both are losses of one budget."""
        return self.epsilon >= other.epsilon if isinstance(other, Pure) else self.concentrated().covers(other)

    def bounds(self, other: Loss) -> bool:
        """Whether the other is no more than this. What is not ε-DP is, whatever its ε at some δ."""
        return isinstance(other, Pure) and not is_less(self.epsilon, other.epsilon)

    def at(self, delta: Fraction) -> tuple[Fraction, Fraction]:  # noqa: ARG002  (there is none to choose)
        """The (ε, δ) that it says: δ is 0."""
        return self.epsilon, Fraction(0)

    def concentrated(self) -> Concentrated:
        """The same release in the other currency: ρ = ε·tanh(ε/2), rounded up."""
        return Concentrated(rho_of_pure(self.epsilon), relation=self.relation, unit=self.unit)

    def group(self, size: int) -> Pure:
        """Theorem  kε for units that differ in k places. Proof: walk through k neighbours; the ratios multiply."""
        return Pure(size * self.epsilon, relation=self.relation, unit=self.unit)

    def epsilon_at(self, delta: Fraction) -> Fraction:  # noqa: ARG002  (ε-DP holds whatever the δ)
        return self.epsilon


@final
@dataclass(frozen=True, init=False, slots=True)
class Concentrated(_About):
    """δ-approximate ρ-zero-concentrated differential privacy (Bun & Steinke 2016).

    Outside an event of probability δ, the Rényi divergence of order α between neighbours is at most ρ·α, for all α > 1.

    >>> Concentrated(0.02)
    Concentrated(rho=0.02)
    """

    is_pure: ClassVar[bool] = False
    rho: Fraction
    delta: Fraction
    relation: Relation
    unit: str | None = field(compare=False)

    def __init__(
        self,
        rho: Number,
        delta: Number = 0,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str | None = None,
    ) -> None:
        object.__setattr__(self, "rho", _amount(rho, "rho"))
        object.__setattr__(self, "delta", _amount(delta, "delta"))
        if self.delta.numerator >= self.delta.denominator:
            raise ValueError(f"delta must be below 1, not {delta}")
        self._say(relation, unit)

    __setstate__ = _restore

    def __repr__(self) -> str:
        delta = f", delta={float_up(self.delta):g}" if self.delta else ""
        return self._shown(f"rho={float_up(self.rho):g}{delta}")

    @property
    def is_zero(self) -> bool:
        """Whether nothing is lost, to whoever it is."""
        return not self.rho and not self.delta and self.relation is Relation.ADD_REMOVE

    @property
    def amount(self) -> Fraction:
        """What noise is drawn for: ρ."""
        return self.rho

    @property
    def named(self) -> dict[str, Fraction]:
        """The same by its name, as mechanisms and queries take it."""
        return {"rho": self.rho}

    @property
    def amounts(self) -> dict[str, Fraction]:
        """All that adds up, by name."""
        return {"rho": self.rho, "delta": self.delta}

    @property
    def words(self) -> str:
        """Rounded up, to four digits.

        >>> Concentrated(0.005).words, Concentrated(0.005, 1e-9).words
        ('ρ 0.005', 'ρ 0.005, δ 1e-09')
        """
        return _written(ρ=self.rho, δ=self.delta)

    def times(self, share: Fraction) -> Concentrated:
        """A share of it."""
        return Concentrated(self.rho * share, self.delta * share, relation=self.relation, unit=self.unit)

    def covers(self, other: Pure | Concentrated) -> bool:
        """Whether it is at least the other, in ρ and in δ."""
        return self.bounds(other)

    def bounds(self, other: Loss) -> bool:
        """Whether the other is no more than this, in ρ and in δ."""
        counted = other.concentrated()
        return not is_less(self.rho, counted.rho) and not is_less(self.delta, counted.delta)

    def at(self, delta: Fraction) -> tuple[Fraction, Fraction]:
        """The (ε, δ) that it implies, at this δ; where its own leaves no room for the conversion, at twice that."""
        whole = max(delta, 2 * self.delta)
        return self.epsilon_at(whole), whole

    def concentrated(self) -> Concentrated:
        return self

    def group(self, size: int) -> Concentrated:
        """Theorem  k²ρ for units that differ in k places (Bun & Steinke 2016, Proposition 27); only for δ = 0."""
        if self.delta:
            raise ValueError(
                "a loss with delta above 0 has no group form of its own: "
                "write group(Approximate(epsilon_of(loss, delta), delta), k)"
            )
        return Concentrated(size**2 * self.rho, relation=self.relation, unit=self.unit)

    def epsilon_at(self, delta: Fraction) -> Fraction:
        if delta <= self.delta:
            raise ValueError(
                f"delta must be above the loss's own delta, {float_up(self.delta):g}: the conversion needs the rest"
            )
        return epsilon_of_rho(self.rho, delta - self.delta)


@final
@dataclass(frozen=True, init=False, slots=True)
class Approximate(_About):
    """(ε, δ)-differential privacy."""

    epsilon: Fraction
    delta: Fraction
    relation: Relation
    unit: str | None = field(compare=False)

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", _amount(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))
        self._say(relation, unit)

    __setstate__ = _restore

    def __repr__(self) -> str:
        return self._shown(f"epsilon={float_up(self.epsilon):g}, delta={float_up(self.delta):g}")

    @property
    def is_zero(self) -> bool:
        """Never: δ is above 0."""
        return False

    @property
    def words(self) -> str:
        """Rounded up, to four digits."""
        return _written(ε=self.epsilon, δ=self.delta)

    def at(self, delta: Fraction) -> tuple[Fraction, Fraction]:  # noqa: ARG002  (there is none to choose)
        """The (ε, δ) that it says."""
        return self.epsilon, self.delta

    def concentrated(self) -> Concentrated:
        """The same release in a currency that adds up: δ-approximate ε·tanh(ε/2)-zCDP."""
        return Concentrated(rho_of_pure(self.epsilon), self.delta, relation=self.relation, unit=self.unit)

    def group(self, size: int) -> Approximate:
        """Theorem  (kε, k·e^{kε}·δ) for units that differ in k places.

        Proof   One step at a time, P(S) ≤ e^ε·P'(S) + δ; k steps make of it δ·(1 + e^ε + … + e^{(k−1)ε}) ≤ k·e^{kε}·δ.
        """
        if size == 1:
            return self
        grown = NEAREST.multiply(NEAREST.exp(decimal(size * self.epsilon)), decimal(size * self.delta))
        if grown >= 1:
            raise ValueError(f"for groups of {size} the delta would reach 1: nothing is promised to them")
        return Approximate(size * self.epsilon, up(grown), relation=self.relation, unit=self.unit)

    def epsilon_at(self, delta: Fraction) -> Fraction:
        if delta < self.delta:
            raise ValueError(f"delta must be at least the loss's own delta, {float_up(self.delta):g}")
        return self.epsilon


Loss = Pure | Concentrated | Approximate


def compose(*losses: Loss) -> Pure | Concentrated:
    """The loss of all the releases together, however adaptively they were chosen. Pure only if all are.

    All must be about the same relation and unit, else `Refused`; what loses nothing may be among them anyhow.

    >>> compose(Pure(0.1), Pure(0.2))
    Pure(epsilon=0.3)
    """
    relation, unit = _alike(losses)
    if all(isinstance(loss, Pure) for loss in losses):
        whole = total(loss.epsilon for loss in losses if isinstance(loss, Pure))
        return Pure(whole, relation=relation, unit=unit)
    parts = [loss.concentrated() for loss in losses]
    rho, delta = total(part.rho for part in parts), total(part.delta for part in parts)
    return Concentrated(rho, delta, relation=relation, unit=unit)


def parallel(*losses: Loss) -> Pure | Concentrated:
    """The loss of releases on parts of the data of which each unit is in one only: the largest.

    Proof   Adding or removing a unit changes the input of one release; the others have loss 0. Replacing one may move
            it from a part to another, where the sizes of both are public: such losses are refused.
    """
    relation, unit = _alike(losses)
    if relation is not Relation.ADD_REMOVE:
        raise Refused(
            CODE,
            f"a loss about {relation.value} does not hold for parts: the unit may leave one part and enter another",
            "use mechanisms of ADD_REMOVE on parts",
        )
    if all(isinstance(loss, Pure) for loss in losses):
        most = max((loss.epsilon for loss in losses if isinstance(loss, Pure)), default=Fraction(0))
        return Pure(most, unit=unit)
    parts = [loss.concentrated() for loss in losses]
    rho, delta = max(part.rho for part in parts), max(part.delta for part in parts)
    return Concentrated(rho, delta, unit=unit)


def group(loss: Loss, size: int, *, unit: str | None = None) -> Loss:
    """What the same release costs a group of up to `size` units: families, or people of whom each has so many rows.

    `unit` names the group, which is what the loss is about from then on: `group(loss, 20, unit="patient")`.
    """
    demand_loss(loss)
    grown = loss.group(whole(size, "size"))
    if unit is not None and loss.relation is not Relation.ADD_REMOVE:
        raise Refused(
            CODE,
            f"where one {loss.unit or 'unit'} is replaced their number is public, and another {unit} may have fewer",
            "use a mechanism of ADD_REMOVE",
        )
    return grown if unit is None else replace(grown, unit=unit)


def replace_one(loss: Loss) -> Loss:
    """What the same release costs where a unit is replaced and the number of units is public: two places differ.

    >>> replace_one(Pure(0.5)), replace_one(Concentrated(0.1))
    (Pure(epsilon=1, relation=Relation.REPLACE_ONE), Concentrated(rho=0.4, relation=Relation.REPLACE_ONE))
    """
    demand_loss(loss)
    if loss.relation is Relation.REPLACE_ONE:
        return loss
    return replace(loss.group(2), relation=Relation.REPLACE_ONE)


def _alike(losses: tuple[Loss, ...]) -> tuple[Relation, str | None]:
    """The relation and unit of all that lose anything."""
    for loss in losses:
        demand_loss(loss)
    return common([loss for loss in losses if not loss.is_zero] or losses[:1])


def is_loss(value: object) -> TypeGuard[Loss]:
    """Whether it is one, of whichever kind."""
    return type(value) in (Pure, Concentrated, Approximate)


def demand_loss(loss: object) -> None:
    """Raise for what only looks like a loss."""
    if not is_loss(loss):
        raise TypeError(f"a loss must be Pure, Concentrated or Approximate, not a {type(loss).__name__}")


def epsilon_of(loss: Loss, delta: Number) -> float:
    """The least ε for which the loss is known to be (ε, δ)-DP, rounded up.

    >>> epsilon_of(Concentrated(0.02), 1e-6)
    0.899935267660642
    """
    return float_up(loss.epsilon_at(probability(delta, "delta")))


def rho_for(epsilon: Number, delta: Number) -> float:
    """The largest ρ for which ρ-zCDP is known to imply (ε, δ)-DP, rounded down: the inverse of `epsilon_of`."""
    return float_down(rho_of_epsilon(positive(epsilon), probability(delta, "delta")))


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one unit can move an answer: proven bounds on the L1 norm and on the square of the L2 norm."""

    l1: Fraction
    l2_squared: Fraction

    @classmethod
    def cells(cls, count: int, size: Number, total: Number | None = None) -> Sensitivity:
        """At most `count` cells by at most `size` each, and at most `total` in all.

        Proof   Σ|xᵢ| ≤ min(count·size, total), and Σxᵢ² ≤ size·Σ|xᵢ|.
        """
        most = _amount(size, "size")
        l1 = whole(count, "count", least=0) * most
        if total is not None:
            l1 = min(l1, _amount(total, "total"))
        return cls(l1, most * l1)

    def __add__(self, other: Sensitivity) -> Sensitivity:
        """Two answers of the same unit, side by side."""
        return Sensitivity(self.l1 + other.l1, self.l2_squared + other.l2_squared)


def _written(**amounts: Fraction) -> str:
    first, *others = amounts
    return ", ".join(f"{name} {at_least(float_up(amounts[name]))}" for name in (first, *filter(amounts.get, others)))


def _amount(value: Number, name: str) -> Fraction:
    exact = number(value, name)
    if exact.numerator < 0:
        raise ValueError(f"{name} must be at least 0, not {value}")
    return exact
