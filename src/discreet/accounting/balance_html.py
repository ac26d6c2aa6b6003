"""Budgets in notebooks: what was granted, is spent and remains, with a gauge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.accounting.balance import MEANING, Balance, unit_lines
from discreet.markup import Head, Side, around, gauge, line, note, table, words
from discreet.printing import at_least, at_most, printable

AMOUNTS: Final = (
    Head("total", Side.VALUE),
    Head("spent", Side.VALUE),
    Head("remaining", Side.VALUE),
    Head("", Side.BESIDE),
)


def balance_html(balance: Balance) -> str:
    """One balance; whose it is only the asker knows."""
    left = balance.remaining
    rho = [] if left.rho is None else [line(words(f"remaining ρ {at_most(left.rho)}"))]
    return around(table(AMOUNTS, [_amounts(balance)]), *rho, *_meaning(balance))


def balances_html(balances: Mapping[str | None, Balance]) -> str:
    """The balances of everybody (None) and of analysts, to be put into something."""
    rows = [[words(printable(who or "everybody")), *_amounts(balance)] for who, balance in balances.items()]
    return table([Head(""), *AMOUNTS], rows) + "".join(_meaning(next(iter(balances.values()))))


def _amounts(balance: Balance) -> list[str]:
    return [
        words(f"ε {at_least(balance.total.epsilon)}"),
        words(f"ε {at_least(balance.spent.epsilon)}"),
        words(f"ε {at_most(balance.remaining.epsilon)}", "strong"),
        gauge(_share(balance)),
    ]


def _share(balance: Balance) -> float:
    """How much is gone; of a concentrated budget ρ tells, because it is what adds up."""
    total, spent = balance.total, balance.spent
    whole, gone = (total.epsilon, spent.epsilon) if not total.rho or spent.rho is None else (total.rho, spent.rho)
    return gone / whole if whole else 1.0


def _meaning(balance: Balance) -> list[str]:
    delta = balance.total.delta
    if balance.units:
        with_delta = "" if delta is None else f" (with δ {delta:g})"
        return [note(f"{text}{with_delta * (text == MEANING)}") for text in unit_lines(balance)]
    if delta is None:
        return []
    return [note(f"total and spent are guarantees with δ {delta:g}; remaining is the max ε for the next query")]
