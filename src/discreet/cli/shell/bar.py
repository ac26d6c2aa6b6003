"""Progress of long work, drawn only once there is any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from discreet.cli.output import progress


class Bar:
    """Told how far the private copy is; draws that while something runs."""

    def __init__(self) -> None:
        self._stack: ExitStack | None = None
        self._tell: Callable[[str, float], None] | None = None

    def __call__(self, name: str, share: float) -> None:
        if self._stack is None:
            return
        if self._tell is None:
            self._tell = self._stack.enter_context(progress(shown=True))
        if self._tell is not None:
            self._tell(name, share)

    @contextmanager
    def running(self) -> Iterator[None]:
        """What is drawn inside is gone when the block ends."""
        with ExitStack() as self._stack:
            try:
                yield
            finally:
                self._tell = None
        self._stack = None
