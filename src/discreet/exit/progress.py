"""How far a task is, for somebody in another thread who may watch it, and what of that may be seen (timing)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from discreet.exit.timing import step

Stage = tuple[str, int]
"""What is done, and in how many steps: public facts."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What may be seen of a task that runs."""

    seconds: float
    """Since it began."""
    until: float | None
    """So many seconds after its beginning it may end next; None where its end is not padded."""
    planned: tuple[Stage, ...]
    stage: str | None = None
    done: int | None = None
    total: int | None = None
    """Of the stage that it is in; None where that may not be seen."""

    @property
    def share(self) -> float | None:
        """Of the steps of its stage; else of the time until it may end. None if neither is known."""
        if self.done is not None and self.total:
            return min(1.0, self.done / self.total)
        return None if self.until is None else min(1.0, self.seconds / self.until)

    @property
    def words(self) -> str:
        if self.stage is not None:
            return f"{self.stage}: {self.done} of {self.total}"
        plan = ", ".join(f"{what} ({total} steps)" for what, total in self.planned)
        ends = "" if self.until is None else f"may end {self.until:.3g} s after its beginning"
        return "; ".join(filter(None, (plan, ends)))


@dataclass(slots=True, eq=False)
class Progress:
    """Where a task says how far it is: `with` one it is told, `seen` is what others see.

    Theorem  Where ends are padded, what is seen is a function of the clock, the padding and public facts: it tells
             nothing that the moment of the end does not.
    Proof    `begin` is called before the first row is read, with what was planned from public facts; from then on
             nothing is written (`steps` are not watched), and `seen` reads the clock.
    Without padding the owner lets everybody see when a task ends, and steps are seen as they are done. How many there
    are follows from public facts and noisy values alone; when each is done may not.
    """

    _began: float | None = None
    _pad: float = 0.0
    _planned: tuple[Stage, ...] = ()
    _now: Stage | None = None
    _done: int = 0
    _tokens: list[Any] = field(default_factory=list)

    def begin(self, pad: float, planned: Sequence[Stage]) -> None:
        """The charge is on disk; no row was read yet."""
        self._pad, self._planned, self._began = pad, tuple(planned), time.monotonic()

    def steps(self, steps: Iterable[Any], total: int, what: str) -> Iterator[Any]:
        """The same steps, counted."""
        for done, each in enumerate(steps):
            self._now, self._done = (what, total), done
            yield each
        self._done = total

    def seen(self) -> Seen | None:
        """None before it began."""
        if self._began is None:
            return None
        passed, now = time.monotonic() - self._began, self._now
        if self._pad:
            return Seen(passed, step(passed, self._pad), self._planned)
        if now is None:
            return Seen(passed, None, self._planned)
        return Seen(passed, None, self._planned, now[0], self._done, now[1])

    def __enter__(self) -> Progress:
        self._tokens.append(TOLD.set(self))
        return self

    def __exit__(self, *failure: object) -> None:
        TOLD.reset(self._tokens.pop())


TOLD: Final[ContextVar[Progress | None]] = ContextVar("progress", default=None)
"""Whom the task of this thread tells how far it is."""
