"""Long fits, watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Watch = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Takes steps, how many they are and what they are called; gives the same steps."""


def shown(steps: Iterable[Any], total: int, what: str) -> Iterator[Any]:
    """The steps, with a bar on standard error."""
    from rich.console import Console
    from rich.progress import track

    yield from track(steps, what, total=total, console=Console(stderr=True), transient=True)
