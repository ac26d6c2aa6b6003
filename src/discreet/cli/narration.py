"""A story told in a terminal: headings, short sentences, and what was asked and answered set off from them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from discreet.errors import Refused

WIDTH: Final = 100


class Teller:
    """Calm output: a heading for each step, short sentences, and what was asked and answered set off from them."""

    def __init__(self) -> None:
        from rich.console import Console

        terminal = sys.stdout.isatty()
        width = min(WIDTH, Console().width) if terminal else WIDTH
        self._console = Console(force_terminal=terminal, width=width, highlight=False)
        self._steps = count(1)
        self._is_saying = False

    def step(self, title: str) -> None:
        self._print(f"\n\n[bold cyan]{next(self._steps)}[/]  [bold]{title}[/]")
        self._is_saying = False

    def say(self, sentence: str) -> None:
        """A sentence in rich's markup; sentences in a row stand together."""
        if not self._is_saying:
            click.echo()
        self._is_saying = True
        self._print(self._indented(sentence))

    def show(self, drawn: RenderableType) -> None:
        """Something set off by an empty line."""
        click.echo()
        self._is_saying = False
        self._print(self._indented(drawn))

    def question(self, sql: str) -> None:
        from rich.text import Text

        self.show(Text(sql, style="cyan"))

    def file(self, lines: Sequence[str]) -> None:
        """Part of a file, its comments a little back."""
        from rich.text import Text

        shown = Text()
        for line in lines:
            code, mark, comment = line.partition("#")
            shown.append(f"{code}", style="cyan").append(f"{mark}{comment}\n", style="dim")
        shown.rstrip()
        self.show(shown)

    def refusal(self, refused: Refused) -> None:
        from rich.text import Text

        line = Text.assemble((f"refused ({refused.code})", "yellow"), f"  {printable(refused.reason)}")
        if refused.fix:
            line.append(f"\n→ {printable(refused.fix)}", style="green")
        self.show(line)

    def commands(self, *lines: str) -> None:
        """Lines to copy, however long they are."""
        from rich.text import Text

        click.echo()
        for line in lines:
            self._print(Text(f"   {line}"), soft_wrap=True)

    def _indented(self, drawn: RenderableType) -> RenderableType:
        from rich.padding import Padding

        return Padding(drawn, (0, 0, 0, 3), expand=False)

    def _print(self, drawn: RenderableType, **settings: Any) -> None:
        with self._console.capture() as captured:  # click knows how to tell that nobody reads on
            self._console.print(drawn, **settings)
        click.echo("\n".join(line.rstrip() for line in captured.get().split("\n")), nl=False)


def escaped(text: object) -> str:
    from rich.markup import escape

    return escape(printable(str(text)))


def whisker(value: float | None, margin: float, *, extent: float, width: int = 51) -> Text:
    """A dot with its error bar on an axis from −extent to extent, which has a mark in its middle.

    >>> whisker(5, 5, extent=10, width=21).plain
    '          ├────●────┤'
    >>> whisker(-5, 2, extent=10, width=21).plain
    '   ├─●─┤  ┊          '
    >>> whisker(None, 0, extent=10, width=21).plain
    '          0          '
    """
    from rich.text import Text

    middle = width // 2
    if value is None:
        return Text("0".center(width), style="dim")

    def position(number: float) -> int:
        return min(width - 1, max(0, middle + round(number / extent * middle)))

    low, dot, high = position(value - margin), position(value), position(value + margin)
    drawn = [" "] * width
    drawn[middle] = "┊"
    drawn[low : high + 1] = "─" * (high + 1 - low)
    drawn[low], drawn[high] = "├", "┤"
    drawn[dot] = "●"
    text = Text("".join(drawn), style="dim")
    text.stylize("not dim cyan", low, high + 1)
    text.stylize("not dim bold", dot, dot + 1)
    return text
