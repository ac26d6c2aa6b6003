"""Telling people and programs. Rich is imported only where something is drawn."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import click

from discreet.printing import at_least as at_least
from discreet.printing import at_most as at_most
from discreet.printing import plain as plain
from discreet.printing import printable as printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

BAR: Final = 20
WIDTH: Final = 200
"""Of what is drawn into a file or a pipe."""

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Machine-readable on standard output.")


class Target(click.Path):
    """A policy file, or the address of a server."""

    name = "policy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if is_address(value) else Path(str(super().convert(value, param, ctx)))


def is_address(target: object) -> TypeGuard[str]:
    """Whether a policy is asked through a server."""
    return isinstance(target, str) and target.startswith(("http://", "https://"))


policy_argument: Final = click.argument("policy", type=click.Path(path_type=Path))
target_argument: Final = click.argument("policy", type=Target(), metavar="POLICY|URL")
why_option: Final = click.option("--why", "--reason", "reason", default="", help="Why, for the record.")
reason_option: Final = click.option("--reason", default="", help="Why, for the record.")


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet: all of it, or none is there."""
    content = text.encode(errors="backslashreplace")
    try:
        file = path.open("xb")
    except FileExistsError:
        raise click.UsageError(f"{path} exists already: name a new file, or remove it") from None
    except OSError as wrong:
        raise _unwritten(path, wrong) from None
    try:
        with file:
            file.write(content)
    except BaseException as wrong:
        path.unlink(missing_ok=True)
        if not isinstance(wrong, OSError):
            raise
        raise _unwritten(path, wrong) from None


def _unwritten(path: Path, wrong: OSError) -> click.UsageError:
    return click.UsageError(f"{path} cannot be written: {wrong.strerror}")


def tell_program(value: object) -> None:
    """A value for programs: JSON on standard output, in ASCII whatever the terminal is."""
    click.echo(json.dumps(value, allow_nan=False))


def draw(drawn: RenderableType) -> None:
    """Something drawn by rich, in colour on a terminal."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = None if terminal else WIDTH
    console = Console(force_terminal=terminal, force_jupyter=False, width=width, highlight=False)
    with console.capture() as captured:
        console.print(drawn)
    shown = captured.get()
    click.echo(shown if terminal else "\n".join(line.rstrip() for line in shown.split("\n")), nl=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: frozenset[str] = frozenset()) -> Table:
    """A plain table; the columns named in `numbers` are flush right."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold", show_header=any(headings))
    for heading in headings:
        right = heading in numbers
        drawn.add_column(heading, justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in row))
    return drawn


def bar(share: float) -> Text:
    """How much of something is gone."""
    from rich.text import Text

    filled = min(BAR, max(0, round(share * BAR)))
    style = "red" if share >= 0.9 else "yellow" if share >= 0.5 else "green"
    return Text("█" * filled, style=style) + Text("░" * (BAR - filled), style="dim")


@contextmanager
def progress(*, shown: bool) -> Iterator[Callable[[str, float], None] | None]:
    """A bar for each table on standard error, if that is a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as drawn:
        tasks: dict[str, Any] = {}

        def tell(name: str, share: float) -> None:
            if name not in tasks:
                tasks[name] = drawn.add_task(printable(name), total=1.0)
            drawn.update(tasks[name], completed=share)

        yield tell
