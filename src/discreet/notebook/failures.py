"""Refusals and failures in a few lines instead of a traceback.

IPython asks an exception how its traceback looks: `_render_traceback_`. So cells still fail, and whoever catches the
exception or runs the notebook sees it as it is.
"""

from __future__ import annotations

import os
import traceback
from typing import Final

import click

from discreet.cli.failures import EXHAUSTED, REFUSED, TRACEBACK, failure_of
from discreet.engines.problems import SourceError
from discreet.errors import QueryFailed, Refused
from discreet.ledger import LedgerError
from discreet.policy import PolicyError
from discreet.printing import printable

OURS: Final[tuple[type[Exception], ...]] = (Refused, QueryFailed, PolicyError, LedgerError, SourceError)
"""Told shortly wherever they are raised."""
FORESEEN: Final[tuple[type[Exception], ...]] = (*OURS, click.ClickException, OSError)
"""Told shortly where the magics raise them."""
RENDER: Final = "_render_traceback_"


def shown_lines(error: Exception) -> list[str]:
    """What is shown of a failure: its code, the reason, what to do, and what it cost if that is certain."""
    if os.environ.get(TRACEBACK):
        return traceback.format_exception(error)
    failure = failure_of(error)
    refused = failure.exit in (REFUSED, EXHAUSTED)
    heading = f"{'refused' if refused else 'error'} ({failure.code})"
    lines = [_coloured(heading, "33" if refused else "31"), *map(printable, failure.reason.split("\n"))]
    lines += [f"→ {printable(failure.fix)}"] if failure.fix else []
    return [*lines, "spent: 0"] if failure.spent == 0 else lines


def tell_shortly(error: Exception) -> None:
    """Have this one exception told in a few lines."""
    setattr(error, RENDER, lambda: shown_lines(error))


def tell_ours_shortly() -> None:
    for kind in OURS:
        setattr(kind, RENDER, shown_lines)


def tell_ours_at_length() -> None:
    for kind in OURS:
        if RENDER in vars(kind):
            delattr(kind, RENDER)


def _coloured(text: str, colour: str) -> str:
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    plain = shell is None or str(shell.colors).lower() == "nocolor"
    return text if plain else f"\x1b[1;{colour}m{text}\x1b[0m"
