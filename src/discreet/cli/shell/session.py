"""What a conversation remembers: the costs and names that hold from now on, and the last answer."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from discreet.answers import Answer, Preview
from discreet.answers.interface import Asks
from discreet.cli.output import progress
from discreet.errors import Refused
from discreet.sql.clause import EXPLAIN
from discreet.sql.read import statement

Result = TypeVar("Result")


class Bar:
    """Progress of the private copy, drawn while something runs, once there is any."""

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


class Interrupted(Exception):  # noqa: N818  (somebody wanted it so)
    """Ctrl-C while something ran."""

    def __init__(self, *, charged: bool) -> None:
        super().__init__(charged)
        self.charged = charged

    def __str__(self) -> str:
        if self.charged:
            return "interrupted; the question was charged before, and stays charged"
        return "interrupted; nothing was charged"


@dataclass(frozen=True, slots=True)
class Settings:
    """How questions are asked: for a cost or for an accuracy, at which confidence, and whose share is charged."""

    epsilon: float | None = None
    error: float | None = None
    confidence: float = 0.95
    analyst: str | None = None
    group_size: int | None = None
    """Of averages: the smallest group for which the error has to hold."""
    confirm: bool = False
    """Whether somebody agreed to what it costs."""
    is_usual: bool = False
    """Whether the cost is one that nobody named."""

    def with_cost(self, epsilon: float) -> Settings:
        return replace(self, epsilon=epsilon, error=None, is_usual=False)

    def with_error(self, error: float) -> Settings:
        return replace(self, epsilon=None, error=error, is_usual=False)

    def arguments(self, sql: str) -> dict[str, Any]:
        """What the curator is told; a question that names its own cost is asked without another."""
        error = {} if self.error is None else {"error": self.error, "group_size": self.group_size}
        cost = {} if names_cost(sql) else {"epsilon": self.epsilon, **error}
        return {**cost, "confidence": self.confidence, "analyst": self.analyst}


@dataclass(slots=True)
class Session:
    """One conversation with a curator, here or behind a server."""

    curator: Asks
    settings: Settings
    bar: Bar = field(default_factory=Bar)
    dummy: bool = False
    answer: Answer | None = None
    """The last one."""
    history: Path | None = None
    """Where what was typed is remembered; None if only until the end."""

    def with_usual_cost(self) -> None:
        """Give questions a cost where none was named: somebody looks at it before it is charged."""
        if self.settings.epsilon is None and self.settings.error is None:
            self.settings = replace(self.settings, epsilon=self.curator.usual_cost, is_usual=True)

    def preview(self, sql: str, settings: Settings) -> Preview:
        return self._run(lambda: self.curator.preview(sql, **settings.arguments(sql)), lambda: False)

    def ask(self, sql: str, settings: Settings) -> Answer:
        before = self._newest()
        ask = partial(self.curator.query, sql, **settings.arguments(sql), confirm=settings.confirm)
        self.answer = self._run(ask, partial(self._charged_since, sql, before))
        return self.answer

    def _newest(self) -> int:
        """The number of the last charge: clocks of others may go otherwise than ours."""
        return max((entry.number for entry in self.curator.latest(limit=1)), default=0)

    def _charged_since(self, sql: str, before: int) -> bool:
        return any(entry.question == sql and entry.number > before for entry in self.curator.latest(limit=100))

    def _run(self, act: Callable[[], Result], charged: Callable[[], bool]) -> Result:
        """Run something that Ctrl-C may interrupt, wherever it is then.

        Between charge and answer the curator tells any failure in one fixed text, so what it says does not show that
        somebody interrupted it: the signal itself is remembered.
        """
        with _noticing() as signals:
            try:
                with self.bar.running():
                    return act()
            except (Exception, KeyboardInterrupt):
                if not signals:
                    raise
        raise Interrupted(charged=charged())


@contextmanager
def _noticing() -> Iterator[list[int]]:
    """The signals of Ctrl-C that came while the block ran; each raises KeyboardInterrupt, as usual."""
    seen: list[int] = []

    def notice(number: int, _: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield seen
        return
    signal.signal(signal.SIGINT, notice)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def names_cost(sql: str) -> bool:
    """Whether a question's own clause says what it costs."""
    with suppress(Refused):  # what is wrong with the text is told when it is asked
        options = statement(sql).options
        return any(cost is not None for cost in (options.epsilon, options.rho, options.error))
    return False


def wants_error(sql: str) -> bool:
    """Whether a question's own clause names an error, and so no cost."""
    with suppress(Refused):
        return statement(sql).options.error is not None
    return False


def is_free(sql: str, preview: Preview) -> bool:
    """Whether asking costs nothing: the answer is cached, nothing private is read, or only the cost is asked."""
    return preview.cached or preview.loss.is_zero or EXPLAIN.match(sql) is not None
