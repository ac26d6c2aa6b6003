"""What `%discreet POLICY …` shows: HTML in notebooks, the words of the command line in terminals."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final

from discreet.accounting.balance import Balance
from discreet.accounting.balance_html import balances_html
from discreet.answers.interface import Asks
from discreet.answers.tables import tables_html
from discreet.answers.wire import entry_shown
from discreet.cli.budget import draw_balances
from discreet.cli.ledger import HEADINGS, draw_entries, entry_words
from discreet.cli.tables import draw_tables
from discreet.ledger import Search
from discreet.markup import Head, Side, around, line, table, words

MAX_ENTRIES: Final = 50
"""Entries of a ledger that are shown, the newest."""


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """Something to look at."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def _budget(curator: Asks, analyst: str | None) -> View:
    shown: dict[str | None, Balance]
    shown = curator.balances() if analyst is None else {analyst: curator.budget(analyst)}
    return View(_printed(draw_balances, shown), around(balances_html(shown)))


def _tables(curator: Asks, _: str | None) -> View:
    tables = curator.tables()
    return View(_printed(draw_tables, tables), around(tables_html(tables)))


def _ledger(curator: Asks, analyst: str | None) -> View:
    search = Search(analyst)
    entries = [entry_shown(entry) for entry in curator.latest(search, limit=MAX_ENTRIES)[::-1]]
    earlier = max(0, curator.count(search) - len(entries))
    lines = [line(words(f"{earlier:,} earlier ones, and then", "faint"))] if earlier else []
    rows = [[words(text) for text in entry_words(entry)] for entry in entries]
    heads = [Head(words(heading), Side.VALUE if heading in ("no", "cost") else Side.WORDS) for heading in HEADINGS]
    shown = table(heads, rows) if rows else line(words("nothing was charged yet", "faint"))
    return View(_printed(draw_entries, entries), around(*lines, shown))


def _printed(draw: Callable[..., None], *arguments: Any) -> str:
    with redirect_stdout(StringIO()) as printed:
        draw(*arguments)
    return printed.getvalue().rstrip()


VIEWS: Final[dict[str, Callable[[Asks, str | None], View]]] = {
    "budget": _budget,
    "tables": _tables,
    "ledger": _ledger,
}
"""What can be looked at."""
