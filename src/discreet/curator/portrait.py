"""A curator in notebooks: whom it protects, what is left to spend, and what may be asked about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from discreet.accounting.balance_html import balances_html
from discreet.answers.facts import column_words, limits_words
from discreet.ledger import LedgerError
from discreet.markup import Head, around, folded, line, table, words
from discreet.printing import printable

if TYPE_CHECKING:
    from discreet.answers.facts import Facts
    from discreet.curator.curator import Curator

UNFOLDED: Final = 4
"""Of more tables than these only the names are seen at first."""
HEADS: Final = (Head("column"), Head("type"), Head("values"))


def curator_html(curator: Curator) -> str:
    """Its name, the budget of everybody and of each analyst, and its tables."""
    policy = curator.policy
    name = line(words(printable(policy.name), "strong"), words(f" · protects each {printable(policy.unit)}", "faint"))
    try:
        budget = balances_html({who: curator.budget(who) for who in (None, *policy.analysts)})
    except LedgerError as wrong:  # closed, or gone: what is public can still be shown
        budget = line(words(printable(str(wrong)), "bad"))
    return around(name, budget, tables_html(curator.tables()))


def tables_html(tables: Mapping[str, Facts]) -> str:
    """Tables with their limits, and their columns with bounds and keys, to be put into something."""
    return "".join(_table(facts, is_open=len(tables) <= UNFOLDED) for facts in tables.values())


def _table(facts: Facts, *, is_open: bool) -> str:
    summary = words(printable(facts.name), "strong") + words(f" · {limits_words(facts)}", "faint")
    rows = [
        [words(printable(column.name)), words(str(column.kind), "faint"), words(column_words(column, facts))]
        for column in facts.columns.values()
    ]
    return folded(summary, table(HEADS, rows), is_open=is_open) if rows else line(summary)
