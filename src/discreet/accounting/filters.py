"""Budgets that hold while costs are chosen adaptively.

Theorem  However the analyst picks each question and cost after seeing all earlier answers, if a release is made only
         when the filter admits its loss, all releases together are ε-DP (PureFilter), respectively δ-approximate
         ρ-zCDP, hence (epsilon, conversion + δ)-DP (ConcentratedFilter), for the filter's relation and unit.
Proof    Fix two neighbours D, D' and a transcript y of answers. Each cost εᵢ is a function of y₁ … yᵢ₋₁, and so is
         whether the filter admits it; both are the same on D and D', because neither sees the data.
         Pure: ln P(y|D) − ln P(y|D') is the sum of the steps' log-ratios, each within ±εᵢ(y₁ … yᵢ₋₁); on every y the
         admitted εᵢ add up to ε at most, so the ratio of the whole lies within e^±ε.
         Concentrated, δ = 0: with Lᵢ the log-ratio of step i, E[exp((α − 1)·Lᵢ − α(α − 1)·ρᵢ) | y₁ … yᵢ₋₁] ≤ 1 under D,
         so the product over i is a supermartingale that begins at 1; as Σρᵢ ≤ ρ on every path, E exp((α − 1)·ΣLᵢ) ≤
         exp(α(α − 1)·ρ): a Rényi divergence of at most α·ρ, for each α > 1.
         δ > 0: on each side step i is Pᵢ = (1 − δᵢ)·Pᵢ' + δᵢ·Pᵢ'', where the Pᵢ' of both sides have no δ. On every path
         Π(1 − δᵢ) ≥ 1 − Σδᵢ ≥ 1 − δ, so the whole is (1 − δ)·P' + δ·P'' with P' made of the Pᵢ', as above.
         What is refused is told to the analyst, and is a function of y alone. So the sums are that of one thread of
         questions: whoever shares a filter among threads or processes must take turns (the ledger does), as a filter
         is a value: `admit` gives the next one and changes nothing.
Source   Rogers, Roth, Ullman & Vadhan 2016 (pure); Feldman & Zrnic 2021 (Rényi); Whitehouse, Ramdas, Rogers & Wu 2023
         (approximate zCDP).

Amounts are integers in units of 10⁻²⁴: charges round up, totals and what remains round down, and sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from discreet.accounting.conversion import epsilon_of_rho, rho_of_epsilon
from discreet.accounting.labels import label_of_rho
from discreet.accounting.losses import Concentrated, Loss, Pure, demand_loss
from discreet.accounting.relations import Relation, demand_same, label, neighbours
from discreet.accounting.rounding import UNITS, charged, float_down, float_up, granted
from discreet.errors import BudgetExhausted, Edit, Refused
from discreet.exact import Number, probability
from discreet.exact import epsilon as positive


@dataclass(frozen=True, slots=True)
class PureFilter:
    """Σε ≤ ε."""

    total: int
    spent: int = 0
    relation: Relation = Relation.ADD_REMOVE
    unit: str | None = None

    @classmethod
    def of(cls, epsilon: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str | None = None) -> PureFilter:
        return cls(granted(positive(epsilon)), relation=neighbours(relation), unit=label(unit))

    def admit(self, loss: Loss) -> Self:
        """The filter after the loss is spent; `BudgetExhausted` if it does not fit, `Refused` if it is unlike."""
        _demand_alike(loss, self)
        if not isinstance(loss, Pure):
            raise Refused(
                "cost-invalid",
                f"{loss!r} is no loss that a pure budget counts",
                "use Laplace noise or a pure mechanism, or give the budget a delta",
            )
        spent = self.spent + charged(loss.epsilon)
        if spent > self.total:
            left = self.left
            raise BudgetExhausted(
                f"the cost is epsilon {float_up(loss.epsilon):g} and {_shown(left)} is left",
                _offer(left, f"ask for epsilon {_shown(left)} or less"),
                edit=_edit(left),
            )
        return replace(self, spent=spent)

    @property
    def units(self) -> tuple[int, ...]:
        """What is spent, as the ledger writes it down."""
        return (self.spent,)

    @property
    def left(self) -> int:
        return self.total - self.spent

    @property
    def remaining(self) -> Pure:
        return Pure(Fraction(self.total - self.spent, UNITS), relation=self.relation, unit=self.unit)


@dataclass(frozen=True, slots=True)
class ConcentratedFilter:
    """Σρ ≤ ρ and Σδ ≤ δ."""

    rho: int
    delta: int
    spent_rho: int = 0
    spent_delta: int = 0
    relation: Relation = Relation.ADD_REMOVE
    unit: str | None = None
    conversion: Fraction | None = None
    """The δ at which ρ is shown as ε; None where nobody said it."""

    @classmethod
    def of(
        cls,
        epsilon: Number,
        delta: Number,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str | None = None,
    ) -> ConcentratedFilter:
        """The budget that guarantees (ε, δ)-DP: half of δ is for the conversion, half for partition selection."""
        half = probability(delta, "delta") / 2
        rho = granted(rho_of_epsilon(positive(epsilon), half))
        return cls(rho, granted(half), relation=neighbours(relation), unit=label(unit), conversion=half)

    def admit(self, loss: Loss) -> Self:
        """The filter after the loss is spent; `BudgetExhausted` if it does not fit, `Refused` if it is unlike."""
        _demand_alike(loss, self)
        part = loss.concentrated()
        rho = self.spent_rho + charged(part.rho)
        delta = self.spent_delta + charged(part.delta)
        if rho > self.rho:
            left = self.left
            raise BudgetExhausted(
                f"the cost is {self._cost(part.rho)} and rho {_shown(left)} is left",
                _offer(left, f"ask for {self._named(left)} or less"),
                edit=_edit(self._most(left)),
            )
        if delta > self.delta:
            left = self.delta - self.spent_delta
            raise BudgetExhausted(
                f"the cost is delta {float_up(part.delta):g} and {_shown(left)} is left",
                "group by declared keys, which cost no delta" + (f", or use {_shown(left)} or less" if left else ""),
            )
        return replace(self, spent_rho=rho, spent_delta=delta)

    def _cost(self, rho: Fraction) -> str:
        """A cost in words, rounded up."""
        words = f"rho {float_up(rho):g}"
        if self.conversion is None:
            return words
        return f"epsilon {float_up(epsilon_of_rho(rho, self.conversion)):g} ({words})"

    def _most(self, units: int) -> int:
        """The largest ε of the next release, in units; 0 where nobody said at which δ."""
        if self.conversion is None:
            return 0
        return granted(Fraction(repr(label_of_rho(Fraction(units, UNITS), self.conversion))))

    def _named(self, units: int) -> str:
        """The largest cost of the next release in words, rounded down."""
        rho, most = f"rho {_shown(units)}", self._most(units)
        return f"epsilon {_shown(most)} ({rho})" if most else rho

    @property
    def units(self) -> tuple[int, ...]:
        """What is spent, as the ledger writes it down."""
        return (self.spent_rho, self.spent_delta)

    @property
    def left(self) -> int:
        return self.rho - self.spent_rho

    @property
    def remaining(self) -> Concentrated:
        rho, delta = Fraction(self.left, UNITS), Fraction(self.delta - self.spent_delta, UNITS)
        return Concentrated(rho, delta, relation=self.relation, unit=self.unit)


Filter = PureFilter | ConcentratedFilter


def _demand_alike(loss: Loss, budget: Filter) -> None:
    demand_loss(loss)
    if not loss.is_zero:
        demand_same(loss, budget.relation, budget.unit)


def _shown(units: int) -> str:
    """Six digits, rounded down: what a refusal offers is always there."""
    return f"{float_down(Fraction(units, UNITS), 6):g}"


def _edit(most: int) -> Edit | None:
    """The largest cost that is left, as the fix shows it."""
    return Edit(arguments={"epsilon": float(_shown(most))}) if most else None


def _offer(left: int, offer: str) -> str:
    return offer if left else "only the owner can grant a larger budget"
