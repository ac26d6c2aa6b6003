"""What analysts may know about tables, to look at: readable on terminals and in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from discreet.answers.facts import Facts, column_words, limits_words
from discreet.markup import Head, around, folded, line, table, words
from discreet.printing import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

UNFOLDED: Final = 4
"""Of more tables than these only the names are seen at first."""
HEADS: Final = ("column", "type", "values")


class Tables(dict[str, Facts]):
    """Tables by their names."""

    def __repr__(self) -> str:
        from discreet.answers.render import printed

        return printed(self.__rich__())

    def __rich__(self) -> RenderableType:
        return drawn(self)

    def _repr_html_(self) -> str:
        return around(tables_html(self))


def drawn(tables: Mapping[str, Facts]) -> RenderableType:
    """Tables with their limits, one below the other, each with its columns."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    for facts in tables.values():
        parts += [Text("")] if parts else []
        parts.append(Text(printable(facts.name), "bold").append(f"  {limits_words(facts)}", "not bold"))
        if not facts.columns:
            continue
        grid = Table(box=None, pad_edge=False, header_style="bold")
        for head in HEADS:
            grid.add_column(head, overflow="fold")
        for row in _rows(facts):
            grid.add_row(*map(Text, row))
        parts.append(Padding(grid, (0, 0, 0, 2)))
    return Group(*parts)


def tables_html(tables: Mapping[str, Facts]) -> str:
    """The same, to be put into something."""
    return "".join(_table(facts, is_open=len(tables) <= UNFOLDED) for facts in tables.values())


def _table(facts: Facts, *, is_open: bool) -> str:
    summary = words(printable(facts.name), "strong") + words(f" · {limits_words(facts)}", "faint")
    rows = [[words(name), words(kind, "faint"), words(values)] for name, kind, values in _rows(facts)]
    return folded(summary, table([*map(Head, HEADS)], rows), is_open=is_open) if rows else line(summary)


def _rows(facts: Facts) -> list[tuple[str, str, str]]:
    columns = facts.columns.values()
    return [(printable(column.name), str(column.kind), printable(column_words(column, facts))) for column in columns]
