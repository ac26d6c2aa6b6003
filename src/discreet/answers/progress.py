"""Long tasks, watched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def shown(steps: Iterable[Any], total: int, what: str) -> Iterator[Any]:
    """The steps, with a bar on standard error."""
    from rich.console import Console
    from rich.progress import track

    yield from track(steps, what, total=total, console=Console(stderr=True), transient=True)
