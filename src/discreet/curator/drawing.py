"""Answers and previews on terminals and in notebooks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Final

from discreet.curator.showing import Cell, Column, Parts, Span

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table
    from rich.text import Text

WIDTH: Final = 100
"""Of what is printed into a file or a pipe."""
NARROWEST: Final = 12
"""A column of text gets at least so much room, if it needs it."""
LONGEST_HEADING: Final = 24

STYLES: Final = {"": "", "faint": "dim", "strong": "bold", "good": "green", "bad": "bold red", "margin": "cyan"}
CSS: Final = {
    "": "",
    "faint": "opacity:.65",
    "strong": "font-weight:600",
    "good": "color:#2a9d5c",
    "bad": "color:#d64545;font-weight:600",
    "margin": "opacity:.7",
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
    from rich.console import Console

    width = shutil.get_terminal_size((WIDTH, 24)).columns
    console = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False, _environ={})
    with console.capture() as captured:
        console.print(Drawing(parts))
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
    for place, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        if place:
            grid.add_row("")
        for column, cell in zip(columns, row, strict=True):
            margin = f"{cell.margin} {column.beside}" if cell.margin.strip() else ""
            grid.add_row(Text(column.heading, "bold"), _text(Cell(cell.text.strip(), margin, cell.style)))
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
        else min(NARROWEST, max(column.width, len(column.heading)))
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
    """The parts as HTML that needs nothing else: colours are those around it, so light and dark both work."""
    heads = "".join(_head(column) for column in parts.columns)
    rows = "".join(
        f"<tr>{''.join(row)}</tr>"
        for row in zip(*([_cell(column, cell) for cell in column.cells] for column in parts.columns), strict=True)
    )
    lines = "".join(f"<div>{''.join(map(_span, line))}</div>" for line in parts.lines)
    lines += "".join(f'<div style="{_NOTE}">· {escape(note)}</div>' for note in parts.notes)
    return (
        f'<div style="{_AROUND}"><table style="{_WHOLE}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{lines}</div>"
    )


_AROUND: Final = (
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;font-variant-numeric:tabular-nums;color:inherit"
)
_WHOLE: Final = "border-collapse:collapse;margin:0 0 .6em;color:inherit;background:none"
_NOTE: Final = f"{CSS['faint']};padding-left:.8em;text-indent:-.8em;overflow-wrap:anywhere"
_EDGE: Final = "border:0;background:none;vertical-align:top;"
_HEAD: Final = f"{_EDGE}border-bottom:1px solid rgba(128,128,128,.5);"
_WORDS: Final = "padding:.2em 1.2em .2em 0;text-align:left"
_VALUE: Final = "padding:.2em .5em .2em 0;text-align:right;white-space:pre"
_BESIDE: Final = "padding:.2em 1.2em .2em 0;text-align:left;white-space:pre"


def _head(column: Column) -> str:
    side = _VALUE if column.numeric else _WORDS
    head = f'<th style="{_HEAD}{side};font-weight:600">{escape(column.heading)}</th>'
    if not column.beside:
        return head
    return f'{head}<th style="{_HEAD}{_BESIDE};font-weight:400">{_span(Span(column.beside, "margin"))}</th>'


def _cell(column: Column, cell: Cell) -> str:
    side = _VALUE if column.numeric else _WORDS
    shown = f'<td style="{_EDGE}{side}">{_span(Span(_spaced(cell.text), cell.style))}</td>'
    if not column.beside:
        return shown
    return f'{shown}<td style="{_EDGE}{_BESIDE}">{_span(Span(_spaced(cell.margin), "margin"))}</td>'


def _spaced(text: str) -> str:
    """Blanks that stand for digits are as wide as digits, the one for the point as wide as points."""
    body = text.strip(" ")
    after = len(text) - len(text.rstrip(" ")) if body else 0
    point = "\u2008" + "\u2007" * (after - 1) if after else ""
    return re.sub("(?<= ) ", "\u2007", body) + point


def _span(span: Span) -> str:
    return f'<span style="{CSS[span.style]}">{escape(span.text)}</span>' if span.style else escape(span.text)
