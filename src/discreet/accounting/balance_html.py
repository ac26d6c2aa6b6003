"""Budgets in notebooks: per cent used with a gauge, and ε, δ, ρ under details."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.accounting.balance import Balance, Used, details, headline
from discreet.markup import Head, Side, around, folded, gauge, line, note, table, words
from discreet.printing import printable


def balance_html(balance: Balance) -> str:
    """One balance; whose it is only the asker knows."""
    return around(line(_gauge(balance.used), words(f" {headline(balance.used)}", "strong")), _details(balance))


def balances_html(balances: Mapping[str | None, Balance]) -> str:
    """The balances of everybody (None) and of analysts, to be put into something."""
    rows = [
        [words(printable(who or "everybody")), _gauge(each.used), words(headline(each.used), "strong") + _details(each)]
        for who, each in balances.items()
    ]
    return table([Head(""), Head("", Side.BESIDE), Head("used")], rows)


def _gauge(used: Used) -> str:
    return gauge(used.larger, used.words)


def _details(balance: Balance) -> str:
    return folded(words("details", "faint"), "".join(map(note, details(balance))), is_open=False)
