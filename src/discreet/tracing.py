"""Phases of a request, for an operator who traces where time goes. Off, it is one look at a variable.

Names are those of `PHASES`; a phase has a beginning and an end, and nothing else is told of it.

Theorem  Of a trace that is not exact, which phases there are, how often, and when each begins and ends is a function of
         what the caller may notice: the text, the policy, the ledger, the queue, the outcome and its padded end.
Proof    `queue`, `plan`, `charge`, `keep` and `show` read no private row. `run` is around the padding, so that its end
         is the one that the caller notices. `read` and `noise`, whose times rows decide, have no span.
Of an exact trace they have one: it is as private as the rows, and whoever runs the server decides who sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final, Protocol

PHASES: Final = frozenset({"queue", "plan", "charge", "run", "read", "noise", "keep", "show"})
EXACT: Final = frozenset({"read", "noise"})
"""Phases whose times rows decide."""


class Span(Protocol):
    """Something that takes time, as a backend of the operator's sees it."""

    def child(self, name: str) -> Span | None:
        """A phase of it that begins now; None if that one may not be seen."""

    def end(self) -> None: ...


class RequestSpan(Span, Protocol):
    """The span of a whole request."""

    def described(self, facts: Mapping[str, object]) -> None:
        """What it turned out to be; then it ends."""


CURRENT: Final[ContextVar[Span | None]] = ContextVar("span", default=None)
"""What is being traced here; None: nothing."""
UNTRACED: Final = nullcontext()
"""The same for all blocks: it has no state."""


def begun(name: str) -> Span | None:
    """A phase of what is traced here, which somebody ends; None if nothing is."""
    parent = CURRENT.get()
    return None if parent is None else parent.child(name)


def phase(name: str) -> AbstractContextManager[None]:
    """A phase for as long as the block lasts, however it ends."""
    span = begun(name)
    return UNTRACED if span is None else _traced(span)


@contextmanager
def _traced(span: Span) -> Iterator[None]:
    token = CURRENT.set(span)
    try:
        yield
    finally:
        CURRENT.reset(token)
        span.end()
