"""Parts of expressions that are sums of noisy numbers, or ratios of such: their intervals take all noises at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from discreet.accounting.combination import width_of_sum
from discreet.accounting.distributions import Noise
from discreet.accounting.fieller import Ends, ratio
from discreet.composed import Sql
from discreet.sql.arguments import Aggregate
from discreet.sql.expression import Expr
from discreet.sql.formulas import Added
from discreet.sql.measures import Measure

Index = tuple[Measure, int]
"""One of the noisy numbers of a group."""
Noises = Sequence[Noise]
"""The noises of the numbers that a form takes, in the order of its indices: they are the same in every group."""
Around = Callable[[Sequence[int]], "Ends | None"]
"""The interval around the noisy numbers of a group, in the same order."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A constant and multiples of noisy numbers."""

    weights: Mapping[Index, Fraction]
    constant: Fraction = Fraction(0)
    rounding: Fraction = Fraction(0)
    """How far what is shown may be from it."""

    def times(self, factor: Fraction) -> Linear:
        weights = {index: factor * weight for index, weight in self.weights.items()}
        return Linear(weights, factor * self.constant, abs(factor) * self.rounding)

    def plus(self, other: Linear) -> Linear:
        indices = {**self.weights, **other.weights}
        none = Fraction(0)
        weights = {index: self.weights.get(index, none) + other.weights.get(index, none) for index in indices}
        return Linear(weights, self.constant + other.constant, self.rounding + other.rounding)

    def interval(self, noises: Noises, miss: Fraction) -> Around:
        """The value, and as far on both sides as the noises together stray, which they do in whole steps; but no less
        than what is shown was rounded."""
        weights = tuple(self.weights.values())
        terms = tuple((noise, abs(weight)) for noise, weight in zip(noises, weights, strict=True) if weight)
        half = Fraction(0)
        if terms:
            step = _common(weight for _, weight in terms)
            half = max(math.floor(width_of_sum(terms, 1 - miss) / step) * step, self.rounding)

        def around(numbers: Sequence[int]) -> Ends:
            value = _sum(weights, numbers, self.constant)
            return value - half, value + half

        def around_whole(numbers: Sequence[int]) -> Ends:
            value = sum((weight * int(number) for weight, number in zip(whole, numbers, strict=True)), constant)
            return Fraction(value - steps), Fraction(value + steps)

        if any(each.denominator != 1 for each in (*weights, self.constant, half)):
            return around
        whole, constant, steps = [weight.numerator for weight in weights], self.constant.numerator, half.numerator
        return around_whole  # counts are, and integers are quicker

    @property
    def indices(self) -> tuple[Index, ...]:
        return tuple(self.weights)


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sum of noisy numbers over another."""

    top: Linear
    bottom: Linear

    def times(self, factor: Fraction) -> Ratio:
        return Ratio(self.top.times(factor), self.bottom)

    def plus(self, other: Linear) -> Ratio | None:
        """With a constant added: a/b + c = (a + cb)/b."""
        return None if other.weights else Ratio(self.top.plus(self.bottom.times(other.constant)), self.bottom)

    def interval(self, noises: Noises, miss: Fraction) -> Around:
        none = Fraction(0)
        above, below = ([part.weights.get(index, none) for index in self.indices] for part in (self.top, self.bottom))
        terms = list(zip(noises, above, below, strict=True))

        def around(numbers: Sequence[int]) -> Ends | None:
            top, bottom = _sum(above, numbers, self.top.constant), _sum(below, numbers, self.bottom.constant)
            return ratio(top, bottom, terms, miss)

        return around

    @property
    def indices(self) -> tuple[Index, ...]:
        return tuple(sorted({*self.top.weights, *self.bottom.weights}, key=repr))


Form = Linear | Ratio


@dataclass(slots=True)
class Forms:
    """The forms of the parts of expressions, by the aggregates that their columns are."""

    leaves: Mapping[Sql, Aggregate]
    _known: dict[int, Form | None] = field(default_factory=dict)

    def within(self, expr: Expr) -> dict[Sql, Form]:
        """The largest parts of an expression that have a form and are noisy, by their text."""
        forms: dict[Sql, Form] = {}
        seen: set[int] = set()
        waiting = [expr]
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            form = self.of(part)
            if form is None:
                waiting += part.arguments
            elif form.indices:
                forms[part.sql] = form
        return forms

    def of(self, expr: Expr) -> Form | None:
        """The form of an expression, if it has one."""
        if id(expr) not in self._known:
            self._known[id(expr)] = self._form(expr)
        return self._known[id(expr)]

    def _form(self, expr: Expr) -> Form | None:
        if expr.constant:
            value = expr.value
            number = isinstance(value, (int, Fraction)) and not isinstance(value, bool)
            return Linear({}, Fraction(value)) if number else None  # type: ignore[arg-type]
        if expr.function is None:
            aggregate = self.leaves.get(expr.sql)
            return None if aggregate is None else _of_aggregate(aggregate)
        rule = _RULES.get(expr.function.name)
        if rule is None or len(expr.arguments) != rule[0]:
            return None
        parts = [self.of(argument) for argument in expr.arguments]
        return None if None in parts else rule[1](*parts)


def _of_aggregate(aggregate: Aggregate) -> Linear | None:
    if not isinstance(aggregate.formula, Added):
        return None
    weights = aggregate.formula.weights.items()
    indexed = {(aggregate.measures[measure], index): weight for (measure, index), weight in weights}
    return Linear(indexed, rounding=aggregate.formula.rounding)


def _add(a: Form, b: Form) -> Form | None:
    if isinstance(b, Ratio):
        a, b = b, a
    return None if isinstance(b, Ratio) else a.plus(b)


def _multiply(a: Form, b: Form) -> Form | None:
    if isinstance(a, Linear) and not a.weights:
        a, b = b, a
    return a.times(b.constant) if isinstance(b, Linear) and not b.weights else None


def _divide(a: Form, b: Form) -> Form | None:
    if isinstance(b, Ratio):
        return None
    if b.weights:
        return Ratio(a, b) if isinstance(a, Linear) else None
    return a.times(1 / b.constant) if b.constant else None


def _or_null(a: Form, b: Form) -> Form | None:
    """NULLIF(a, 0): a, where it is not NULL."""
    return a if b == Linear({}) else None


_RULES: Final[dict[str, tuple[int, Callable[..., Form | None]]]] = {
    "+": (2, _add),
    "-": (2, lambda a, b: _add(a, b.times(Fraction(-1)))),
    "NEGATE": (1, lambda a: a.times(Fraction(-1))),
    "*": (2, _multiply),
    "/": (2, _divide),
    "NULLIF": (2, _or_null),
}


def _sum(weights: Sequence[Fraction], numbers: Sequence[int], constant: Fraction) -> Fraction:
    return sum((weight * number for weight, number in zip(weights, numbers, strict=True)), constant)


def _common(weights: Iterable[Fraction]) -> Fraction:
    """The largest number of which all are multiples."""
    largest = Fraction(0)
    for weight in weights:
        top = math.gcd(largest.numerator * weight.denominator, weight.numerator * largest.denominator)
        largest = Fraction(top, largest.denominator * weight.denominator)
    return largest
