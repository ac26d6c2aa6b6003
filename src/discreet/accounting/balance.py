"""How a budget stands, as plain values and in words: what was granted, is spent and remains. The ledger makes them.

Everybody who shows a budget (repr, notebooks, the command line, the shell's prompt, pages, previews, answers) takes the
words from here: `headline`, and under it `details`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Final, Literal

from discreet.accounting.losses import Concentrated, Pure
from discreet.printing import at_least, at_most, printable

MEANING: Final = (
    "each of these is a guarantee about its own unit; what is spent is their sum, and a guarantee to nobody"
)
Of = Literal["budget", "share", "capacity"]
"""What is used: the budget of everybody, an analyst's share of it, or the capacity of blocks."""
EXACT: Final = 1000
"""Queries that are counted one by one; of more, two digits are told."""
MANY: Final = 1_000_000
"""Queries that nobody counts any more."""
LEAST: Final = Decimal("0.001")
"""Per cent of which no less is told."""


@dataclass(frozen=True, slots=True)
class Used:
    """How much is used up: the part of ρ, or of a pure budget's ε; and the part of the δ for partition selection.

    A part is 0 if nothing is spent and 1 if nothing is left, and neither otherwise.
    """

    part: float
    delta: float = 0.0
    of: Of = "budget"

    def to_dict(self) -> dict[str, Any]:
        """By the names of its fields."""
        return {"part": self.part, "delta": self.delta, "of": self.of}

    @property
    def larger(self) -> float:
        """The larger part: how much of a gauge is filled."""
        return min(1.0, max(0.0, self.part, self.delta))

    @property
    def words(self) -> str:
        """Per cent used. Where δ is scarcer than ρ, which happens if queries name a δ of their own, both are told.

        >>> Used(0.345).words, Used(0.4, 0.83, "share").words
        ('34.5 % of the budget used', '83 % of the share used (its δ; 40 % of its ρ)')
        """
        rho, delta = percent(self.part), percent(self.delta)
        if self.delta <= self.part or rho == delta:
            return f"{rho} of the {self.of} used"
        return f"{delta} of the {self.of} used (its δ; {rho} of its ρ)"


def part_used(spent: Fraction | int, left: Fraction | int) -> float:
    """How much of what was there is spent: 1 only if nothing is left, and 0 only if nothing is spent."""
    if not left:
        return 1.0
    return min(max(float(spent / (spent + left)), math.ulp(0.0)), math.nextafter(1.0, 0.0)) if spent else 0.0


def percent(part: float) -> str:
    """A part in per cent, rounded up, yet never to 100 before nothing is left: two digits, or one behind the point.

    >>> [percent(part) for part in (0, 1e-9, 0.02845, 0.3451, 0.99999, 1)]
    ['0 %', 'under 0.001 %', '2.9 %', '34.6 %', 'over 99.9 %', '100 %']
    """
    if part <= 0 or part >= 1:
        return "100 %" if part > 0 else "0 %"
    exact = 100 * Decimal(repr(part))
    if exact < LEAST:
        return f"under {LEAST} %"
    up = Context(prec=2 if exact < 10 else 3, rounding=ROUND_CEILING).create_decimal(exact)
    return "over 99.9 %" if up >= 100 else f"{float(up):g} %"


def more_words(more: int | None) -> str:
    """How many more such queries there are; nothing where they are free, or where there is no such query.

    >>> [more_words(count) for count in (0, 1, 34, 12_345, 10**36)][2:]
    ['about 34 more queries like this', 'about 12,000 more queries like this', 'over a million more queries like this']
    >>> more_words(0), more_words(1), more_words(None)
    ('no more queries like this', 'one more query like this', '')
    """
    if more is None:
        return ""
    if more < 2:
        return "one more query like this" if more > 0 else "no more queries like this"
    if more >= MANY:
        return "over a million more queries like this"
    step = 1 if more < EXACT else 10 ** (len(str(more)) - 2)
    return f"about {more // step * step:,} more queries like this"


def headline(used: Used, more: int | None = None) -> str:
    """The one line about a budget.

    >>> headline(Used(0.02845), 34)
    '2.9 % of the budget used · about 34 more queries like this'
    """
    return " · ".join(text for text in (used.words, more_words(more)) if text)


def brief(used: Used, more: int | None = None) -> str:
    """The same where there is little room, as in a prompt.

    >>> brief(Used(0.02845), 34), brief(Used(1.0, of="share"), 0)
    ('2.9 % used · about 34 more', '100 % used · no more')
    """
    words = headline(used, more).replace(f" of the {used.of}", "")
    return words.removesuffix(" like this").removesuffix(" queries").removesuffix(" query")


@dataclass(frozen=True, slots=True)
class Amount:
    """ε, and where they apply ρ and δ."""

    epsilon: float
    rho: float | None = None
    delta: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """By the names of its fields."""
        return {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}

    def affords(self, loss: Pure | Concentrated) -> bool:
        """Whether it is enough for a loss. It may be more than any loss can be, and a server may say anything."""
        if self.rho is None:
            return loss.is_pure and loss.amount <= Fraction(repr(self.epsilon))
        spent = loss.concentrated()
        return spent.rho <= Fraction(repr(self.rho)) and spent.delta <= Fraction(repr(self.delta or 0.0))

    def part(self, loss: Pure | Concentrated) -> float:
        """About which part of it a loss is, of the currency that is scarcer; infinity where there is nothing."""
        if self.rho is None:
            return _quotient(float(loss.amount), self.epsilon)
        spent = loss.concentrated()
        return max(_quotient(float(spent.rho), self.rho), _quotient(float(spent.delta), self.delta or 0.0))


def _quotient(amount: float, whole: float) -> float:
    return 0.0 if not amount else amount / whole if whole else math.inf


@dataclass(frozen=True, slots=True)
class Lifetime:
    """What several windows of a budget mean together: the sum of what each allowed, and of what each spent.

    With δ, ε is by `epsilon_of` at half of the windows' δ together, and both are guarantees.
    """

    window: int
    """The one that is open."""
    most: int
    total: Amount
    spent: Amount


@dataclass(frozen=True, slots=True, repr=False)
class Balance:
    """What was granted, what is spent (rounded up) and what remains (rounded down).

    In a budget with δ every ε is by the same measure, `epsilon_of` at δ/2: what is spent is a guarantee, with the δ of
    its selections beside it, and what remains is the largest `epsilon=` that the next release may have. Where charges
    were about several units, `units` has what was spent about each: these are guarantees, and what is spent is no more
    than their sum, which the budget counts.
    """

    total: Amount
    spent: Amount
    remaining: Amount
    units: Mapping[str, Amount] = field(default_factory=dict, kw_only=True)
    lifetime: Lifetime | None = field(default=None, kw_only=True)
    """Of everybody, once a second window was opened: the amounts above are those of the window that is open."""
    of: Of = field(default="budget", kw_only=True)
    limit: Amount | None = field(default=None, kw_only=True)
    """Of a share: what remains of the budget for everybody, where that is less than what remains of the share."""

    @property
    def used(self) -> Used:
        """How much of it is used up."""
        spent, left = self.spent, self.remaining
        if left.rho is None or spent.rho is None:
            return Used(part_used(_exact(spent.epsilon), _exact(left.epsilon)), of=self.of)
        selected = part_used(_exact(spent.delta), _exact(left.delta)) if spent.delta else 0.0
        return Used(part_used(_exact(spent.rho), _exact(left.rho)), selected, self.of)

    @property
    def next(self) -> Amount:
        """What the next query may cost."""
        return self.limit or self.remaining

    def __str__(self) -> str:
        return "\n".join([headline(self.used), *(f"· {text}" for text in details(self))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from discreet.accounting.balance_html import balance_html

        return balance_html(self)


def _exact(amount: float | None) -> Fraction:
    return Fraction(repr(amount or 0.0))


def details(balance: Balance) -> list[str]:
    """ε, δ and ρ, for who wants them: amounts that add up, what they guarantee, and the max ε for the next query."""
    total, spent, left = balance.total, balance.spent, balance.remaining
    if spent.rho is None or total.rho is None:
        lines = [f"spent ε {_of(spent.epsilon, total.epsilon)}"]
    else:
        selected = (spent.delta or 0.0) + (left.delta or 0.0)
        lines = [f"spent ρ {_of(spent.rho, total.rho)} and, for partition selection, δ {_of(spent.delta, selected)}"]
        if not balance.units:
            lines.append(f"with δ {total.delta:g} that guarantees ε {_of(spent.epsilon, total.epsilon)}")
    lines += [*unit_lines(balance), *lifetime_lines(balance)]
    others = ", which is all that others left" if balance.limit else ""
    return [*lines, f"max ε for the next query {at_most(balance.next.epsilon)}{others}"]


def _of(spent: float | None, total: float) -> str:
    """Rounded alike, so that all is shown as all."""
    return f"{at_least(spent or 0.0)} of {at_least(total)}"


def lifetime_lines(balance: Balance) -> list[str]:
    """In words what all windows so far mean together; nothing while there is one."""
    life = balance.lifetime
    if life is None:
        return []
    means, spent = (_guarantee(amount) for amount in (life.total, life.spent))
    return [
        f"window {life.window} of at most {life.most} is open; each lets the whole budget be spent again",
        f"over all {life.window} windows everybody is protected with {means} at most; {spent} of it is spent",
    ]


def _guarantee(amount: Amount) -> str:
    epsilon = f"ε {at_least(amount.epsilon)}"
    return epsilon if amount.delta is None else f"({epsilon}, δ {at_least(amount.delta)})"


def unit_lines(balance: Balance) -> list[str]:
    """In words what was spent about each unit; nothing where all is about one."""
    if not balance.units:
        return []
    spent = [f"about {printable(unit)}: ε {at_least(amount.epsilon)}" for unit, amount in balance.units.items()]
    return [*spent, MEANING]
