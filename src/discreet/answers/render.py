"""Answers and previews on terminals and in notebooks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Final

from discreet import markup
from discreet.answers.layout import Cell, Column, Parts, Span
from discreet.markup import Head, Side

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table
    from rich.text import Text

WIDTH: Final = 100
"""Of what is printed into a file or a pipe."""
NARROWEST: Final = 12
"""A column of text gets at least so much room, if it needs it."""
LONGEST_HEADING: Final = 24

STYLES: Final = {
    "": "",
    "faint": "dim",
    "strong": "bold",
    "good": "green",
    "bad": "bold red",
    "margin": "cyan",
    "lines": "",
}


# terminals


@dataclass(frozen=True, slots=True)
class Drawing:
    """The parts for rich to draw: as a table, or row by row where its numbers would not fit side by side."""

    parts: Parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self.parts.columns
        fits = _least_width(columns) <= options.max_width or not any(column.cells for column in columns)
        yield _table(columns) if fits else _records(columns)
        yield ""
        yield from map(_line, self.parts.lines)
        yield _notes(self.parts.notes)


def plain(parts: Parts) -> str:
    """The parts as text without colour, as wide as the terminal."""
    return printed(Drawing(parts))


def printed(drawing: RenderableType) -> str:
    """Something that rich draws, as text without colour, as wide as the terminal."""
    from rich.console import Console

    width = shutil.get_terminal_size((WIDTH, 24)).columns
    console = Console(
        file=StringIO(),
        width=width,
        color_system=None,
        legacy_windows=False,
        force_jupyter=False,  # else rich shows an empty line in notebooks for everything that is printed here
        _environ={},
    )
    with console.capture() as captured:
        console.print(drawing)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _table(columns: Sequence[Column]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="", padding=(0, 1))
    for column in columns:
        table.add_column(_heading(column), overflow="fold", no_wrap=column.numeric)
    for row in zip(*map(_texts, columns), strict=True):
        table.add_row(*row)
    return table


def _records(columns: Sequence[Column]) -> Table:
    """Each row as a block of lines, one for each column."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for index, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        if index:
            grid.add_row("")
        for column, cell in zip(columns, row, strict=True):
            margin = f"{cell.margin} {column.beside}" if cell.margin.strip() else ""
            value = cell.text if column.listed else cell.text.strip()
            grid.add_row(Text(column.heading, "bold"), _text(Cell(value, margin, cell.style)))
    return grid


def _texts(column: Column) -> list[Text]:
    room = _room(column) if column.numeric else 0
    return [_text(Cell(cell.text.rjust(room), cell.margin, cell.style)) for cell in column.cells]


def _text(cell: Cell) -> Text:
    from rich.text import Text

    text = Text().append(cell.text, STYLES[cell.style])
    return text.append(f" {cell.margin}", STYLES["margin"]) if cell.margin.strip() else text


def _heading(column: Column) -> Text:
    from rich.text import Text

    if not column.numeric or len(column.heading) > _room(column):
        return Text(column.heading, "bold")
    heading = Text(column.heading.rjust(_room(column)), "bold")
    return heading.append(f" {column.beside}", "dim not bold") if column.beside else heading


def _room(column: Column) -> int:
    """How wide the values of a numeric column are drawn: they stand under the end of its heading."""
    return max(column.width, min(len(column.heading), LONGEST_HEADING))


def _least_width(columns: Sequence[Column]) -> int:
    """The width below which numbers would be broken."""
    margins = [max((1 + len(cell.margin) for cell in column.cells if cell.margin), default=0) for column in columns]
    needs = [
        _room(column) + max(margin, 1 + len(column.beside) if column.beside else 0)
        if column.numeric
        else max(column.width if column.listed else 0, min(NARROWEST, max(column.width, len(column.heading))))
        for column, margin in zip(columns, margins, strict=True)
    ]
    return sum(needs) + 3 * (len(needs) - 1)


def _notes(notes: Sequence[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(overflow="fold")
    for note in notes:
        grid.add_row(Text("·", "dim"), Text(note, "dim"))
    return grid


def _line(spans: Sequence[Span]) -> Text:
    from rich.text import Text

    line = Text(overflow="fold")
    for span in spans:
        line.append(span.text, STYLES[span.style])
    return line


# notebooks


def html(parts: Parts) -> str:
    """The parts as HTML that needs nothing else."""
    heads = [head for column in parts.columns for head in _heads(column)]
    rows = zip(*(inner for column in parts.columns for inner in _inners(column)), strict=True)
    lines = (markup.line(*(markup.words(span.text, span.style) for span in line)) for line in parts.lines)
    return markup.around(markup.table(heads, rows), *lines, *map(markup.note, parts.notes))


def _heads(column: Column) -> list[Head]:
    head = Head(markup.words(column.heading), Side.VALUE if column.numeric else Side.WORDS)
    return [head, Head(markup.words(column.beside, "margin"), Side.BESIDE, 400)] if column.beside else [head]


def _inners(column: Column) -> list[list[str]]:
    """The values of a column, and beside them their margins."""
    values = [markup.words(cell.text if column.listed else _spaced(cell.text), cell.style) for cell in column.cells]
    margins = [markup.words(_spaced(cell.margin), "margin") for cell in column.cells]
    return [values, margins] if column.beside else [values]


def _spaced(text: str) -> str:
    """Blanks that stand for digits are as wide as digits, the one for the point as wide as points."""
    body = text.strip(" ")
    after = len(text) - len(text.rstrip(" ")) if body else 0
    point = "\u2008" + "\u2007" * (after - 1) if after else ""
    return re.sub("(?<= ) ", "\u2007", body) + point
