"""From a wanted error to the smallest cost at which it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Final

from discreet.accounting.balance import Amount
from discreet.accounting.distributions import Noise
from discreet.accounting.labels import labelled
from discreet.errors import Edit, Refused
from discreet.exact import number, positive, whole
from discreet.exit.cost import Choices, Cost
from discreet.policy import Policy
from discreet.sql.arguments import Aggregate
from discreet.sql.cost import Allocation, Mechanism, allocate, lines_of, mechanism_for, noise_drawn, ranks, shares_of
from discreet.sql.expected_error import AVERAGES, TYPICAL, group_size, half_width, predictable, shown_release
from discreet.sql.expression import Expr
from discreet.sql.formulas import InCell
from discreet.sql.intervals import aggregates_in
from discreet.sql.measures import Measure
from discreet.sql.plan import Plan
from discreet.sql.relation import Released
from discreet.sql.results import aggregate_of, noisy_items
from discreet.sql.vectors import Chosen

MIN_COST: Final = Fraction(1, 10**9)
MAX_COST: Final = Fraction(10**9)
"""Costs that are looked at."""
DIGITS: Final = 4
"""Of a cost that was found."""
Noises = Mapping[Measure, Noise | Choices | None]
"""The noise of each measure; None where it was chosen, and how exactly is not known any more."""


@dataclass(frozen=True)
class Wanted:
    """For each column the error that the caller wants at most: a half-width, or how many rows a quantile is off.

    Theorem  At the cost found, every wanted column has at most its wanted error, with the confidence.
    Proof    Each column alone needs p times the usual amounts for what it is computed from, with the smallest p that is
             enough. What several columns need gets the largest of their amounts. More never makes an error larger.
    """

    plan: Plan
    columns: Mapping[str, Fraction]
    confidence: Fraction
    group_size: int | None = None
    """Of averages: the smallest group, in rows, for which it has to hold; where HAVING says none."""

    @classmethod
    def read(cls, plan: Plan, error: object, confidence: Fraction, size: object = None) -> Wanted:
        """What a caller wants: one number for the one noisy column, or a dict of columns."""
        known = _noisy(plan)
        if not known:
            raise Refused(
                "accuracy-unreachable", "how exact this answer will be is not known before it is drawn", "give epsilon"
            )
        if not isinstance(error, Mapping):
            if len(known) > 1:
                each = ", ".join(f'"{label}": {error}' for label in known)
                raise Refused("cost-invalid", "several columns are noisy", f"name the error of each: error={{{each}}}")
            error = {next(iter(known)): error}
        if not error or not all(label in known for label in error):
            raise Refused(
                "cost-invalid", "a wanted error belongs to a noisy column", f"noisy columns: {', '.join(known)}"
            )
        for label in error:
            if not _predictable(plan, known[label]):
                raise Refused(
                    "accuracy-unreachable",
                    f"the error of {label} is not known before it is drawn",
                    f"give epsilon, or want the error of another column{_as_average(known[label])}",
                )
        try:
            wanted = {label: positive(value, "error") for label, value in error.items()}
        except (TypeError, ValueError) as wrong:
            raise Refused("cost-invalid", str(wrong), "give a number such as 10") from None
        try:
            rows = None if size is None else whole(size, "group_size")
        except (TypeError, ValueError) as wrong:
            raise Refused("cost-invalid", str(wrong), f"give a number of rows such as {TYPICAL}") from None
        return cls(plan, wanted, confidence, rows)

    def allocation(self, policy: Policy, delta: object) -> Allocation:
        """The smallest cost, and how it is shared."""
        lines = lines_of(self.plan.releases)
        start = _start(policy, delta)
        usual = shares_of(start, lines)
        shown = {line: share for line, share in zip(lines, usual, strict=True) if line.release == self._number}
        own = {line.measure: share for line, share in shown.items() if line.measure is not None}
        costs = {label: self._alone(label, start, own) for label in self.columns}
        needed: dict[Measure, Fraction] = {}
        for label, cost in costs.items():
            for measure in self._measures(label):
                needed[measure] = max(cost, needed.get(measure, cost))
        least = min(costs.values())
        amounts = [
            share * (needed.get(line.measure, least) if line in shown and line.measure is not None else least)
            for line, share in zip(lines, usual, strict=True)
        ]
        total = sum(amounts, Fraction(0))
        whole, shares = start.of(rounded_up(total)), [amount / total for amount in amounts]
        return allocate(policy, whole, self.plan.releases, shares)

    def met(self, noises: Sequence[Sequence[Noise | None]]) -> bool:
        """Whether what was drawn with these noises is as exact as wanted; no, where they do not tell."""
        drawn = dict(zip(shown_release(self.plan).measures, noises[self._number], strict=True))
        errors = {label: self._error(label, drawn) for label in self.columns}
        return all(half is not None and half <= self.columns[label] for label, half in errors.items())

    def _alone(self, label: str, start: Cost, shares: Mapping[Measure, Fraction]) -> Fraction:
        """The smallest cost at which a column is as exact as wanted when it is shared as usual."""
        release, wanted = shown_release(self.plan), self.columns[label]

        def error(cost: Fraction) -> float:
            scaled = start.of(cost)
            try:
                half = self._error(
                    label, {m: _part(mechanism_for(scaled, release, m, shares[m])) for m in self._measures(label)}
                )
            except (Refused, ValueError):
                return math.inf  # the noise would be too large to draw
            return math.inf if half is None else half

        multiple = smallest(error, wanted, 1 if start.pure else 2)
        if multiple is None:
            raise Refused(
                "accuracy-unreachable",
                f"no cost makes {label} as exact as ± {float(wanted):g}",
                "want a larger error, or give epsilon",
            )
        return multiple

    @property
    def notes(self) -> tuple[str, ...]:
        """What the promise assumes: an average is as exact as its group is large."""
        if self.group_size is None:
            return ()
        said = f"is as exact as wanted in groups of {self.group_size:,} rows or more"
        return tuple(f"{label} {said}" for label in self.columns if self._averages(label))

    def demand_group_size(self, allocation: Allocation) -> None:
        """Refuse an average of groups of which nobody said how large they are."""
        noises = dict(zip(shown_release(self.plan).measures, allocation.noises[self._number], strict=True))
        for label in self.columns if self.group_size is None else ():
            if any(group_size(self.plan, each, noises, self.confidence) is None for each in self._averages(label)):
                raise Refused(
                    "group-size-missing",
                    f"{label} is an average, and those are as exact as their group is large",
                    f"add group_size={TYPICAL}: the smallest group, in rows, for which the error has to hold; "
                    "or say HAVING COUNT(x) >= … about the averaged x",
                    edit=Edit(arguments={"group_size": TYPICAL}),
                )

    def _averages(self, label: str) -> list[Aggregate]:
        used = aggregates_in(shown_release(self.plan), self._noisy[label]).values()
        return [aggregate for aggregate in used if isinstance(aggregate.formula, AVERAGES)]

    def demand_reachable(
        self, policy: Policy, wanted: Allocation, total: Amount, left: Amount, most: Amount | None = None
    ) -> None:
        """Refuse a cost that can never be charged, and say what can be had; `most` is what one query may cost."""
        too_high = wanted.cost.is_above_limit(policy) or not (most is None or most.affords(wanted.loss))
        if not too_high and total.affords(wanted.loss):
            return
        cost = labelled(wanted.loss, policy.budget.delta)
        limit = "the policy allows for one question" if too_high else "the whole budget"
        raise Refused(
            "accuracy-unreachable", f"it would cost {cost}, more than {limit}", self._best(policy, wanted, left, most)
        )

    def _best(self, policy: Policy, wanted: Allocation, left: Amount, most: Amount | None) -> str:
        """The smallest errors that can be had now, shared as wanted; what takes more than a tenth needs a yes."""
        rest = _adding_up(left)
        amount = rest if most is None else min(rest, _adding_up(most))
        if policy.max_cost is not None:
            amount = min(amount, Cost.read(policy, epsilon=policy.max_cost).amount)
        agreed = ", and confirm=True" if amount > rest / 10 else ""
        try:
            allocation = allocate(policy, wanted.cost.of(amount), self.plan.releases, wanted.shares)
            mechanisms = map(_part, allocation.mechanisms[self._number].measures)
            drawn = dict(zip(shown_release(self.plan).measures, mechanisms, strict=True))
            errors = {label: self._error(label, drawn) or 0 for label in self.columns}
        except (Refused, ValueError):
            return "nothing that can be drawn is left of the budget"
        written = {label: f"{float(rounded_up(Fraction(half), 3)):g}" for label, half in errors.items()}
        if len(self._noisy) == 1:
            return f"want error={next(iter(written.values()))} or more{agreed}"
        each = ", ".join(f'"{label}": {half}' for label, half in written.items())
        return f"want error={{{each}}} or more{agreed}"

    @cached_property
    def _noisy(self) -> dict[str, Expr]:
        return _noisy(self.plan)

    @property
    def _number(self) -> int:
        assert isinstance(self.plan.below, Released)
        return self.plan.below.number

    def _measures(self, label: str) -> set[Measure]:
        used = aggregates_in(shown_release(self.plan), self._noisy[label])
        return {measure for aggregate in used.values() for measure in aggregate.measures}

    def _error(self, label: str, drawn: Noises) -> float | None:
        expr = self._noisy[label]
        aggregate = aggregate_of(self.plan, expr)
        if aggregate is None or not isinstance(aggregate.formula, InCell):
            noises = {m: None if isinstance(part, Choices) else part for m, part in drawn.items()}
            return half_width(self.plan, noises, self.confidence, expr, self.group_size, widest=True)
        measure = aggregate.measures[0]
        part = drawn[measure]
        assert isinstance(measure, Chosen)
        return ranks(part, measure, self.confidence) if isinstance(part, Choices) else None


def _part(mechanism: Mechanism) -> Noise | Choices | None:
    return mechanism if isinstance(mechanism, Choices) else noise_drawn(mechanism)


def _noisy(plan: Plan) -> dict[str, Expr]:
    """The columns whose error may be known in advance."""
    return dict(noisy_items(plan))


def _adding_up(amount: Amount) -> Fraction:
    """The ε or the ρ."""
    return number(amount.epsilon if amount.rho is None else amount.rho, "cost")


def _as_average(expr: Expr) -> str:
    """Of a quotient of noisy values: the average that it may be is known in advance."""
    is_quotient = expr.function is not None and expr.function.name == "/"
    return "; of an average, write AVG(x), and group_size= for its smallest group" if is_quotient else ""


def _predictable(plan: Plan, expr: Expr) -> bool:
    aggregate = aggregate_of(plan, expr)
    return predictable(plan, expr) or (aggregate is not None and isinstance(aggregate.formula, InCell))


def _start(policy: Policy, delta: object) -> Cost:
    """Any cost of the kind that will be charged, ε or ρ; of a δ that the question names, half is for selections."""
    return Cost.read(policy, epsilon=MIN_COST, delta=delta).of(Fraction(1))


def smallest(error: Callable[[Fraction], float], wanted: Fraction, power: int) -> Fraction | None:
    """The smallest cost whose error is at most as wanted, to four digits; None if there is none.

    Errors fall with the cost, about as its inverse, or the root of that (`power` 2).
    """
    low, high, guess = MIN_COST, MAX_COST, Fraction(1)
    if error(high) > wanted:
        return None
    if error(low) <= wanted:
        return low
    for tried in range(5):
        width = error(guess)
        low, high = (low, guess) if width <= wanted else (guess, high)
        if not 0 < width < math.inf:
            break
        near = math.log(guess) + power * (math.log(width) - _log(wanted)) + (0.005, -0.005)[tried % 2]
        guess = rounded_up(Fraction(math.exp(min(max(near, math.log(low)), math.log(high)))))
        if not low < guess < high:
            break
    while low < (middle := rounded_up(Fraction(math.sqrt(low * high)))) < high:
        low, high = (low, middle) if error(middle) <= wanted else (middle, high)
    return high


def _log(number: Fraction) -> float:
    """A logarithm of numbers that no float holds, too."""
    return math.log(number.numerator) - math.log(number.denominator)


def rounded_up(amount: Fraction, digits: int = DIGITS) -> Fraction:
    """A number of so many digits, not below.

    >>> float(rounded_up(Fraction(1, 3))), float(rounded_up(Fraction(1, 4)))
    (0.3334, 0.25)
    """
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(amount.numerator), Decimal(amount.denominator)))
