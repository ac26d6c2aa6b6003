"""A curator, here or behind a server, in notebooks: whom it protects, what is left, and what may be asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.accounting.balance_html import balances_html
from discreet.answers.tables import tables_html
from discreet.errors import Problem
from discreet.markup import around, line, words
from discreet.printing import printable

if TYPE_CHECKING:
    from discreet.answers.interface import Asks


def portrait_html(asks: Asks, unit: str) -> str:
    """Its name, the budget of everybody and of each analyst, and its tables."""
    name = line(words(printable(asks.name), "strong"), words(f" · protects each {printable(unit)}", "faint"))
    try:
        budget = balances_html(asks.balances())
    except Problem as wrong:  # closed, or gone: what is public can still be shown
        budget = line(words(printable(str(wrong)), "bad"))
    return around(name, budget, tables_html(asks.tables()))
