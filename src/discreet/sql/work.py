"""How much work the planning of one question may be. Previews are free, so nothing else would stop a question of hours.

Work is counted in steps and not in seconds, so that text and policy alone decide what is refused; a step is about a
microsecond. What grows by itself, the text of a query, has a limit of its own (`composed.LARGEST`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, TypeVar

from discreet.errors import Refused

MAX_STEPS: Final = 2_000_000
NODE: Final = 10
"""Steps that it takes to bind one node of syntax."""
MAX_MEASURES: Final = 1_000
"""What one question counts in each group."""
MAX_NUMBERS: Final = 10_000_000
"""Noisy numbers of one question: all that it counts, in all groups that are listed."""
T = TypeVar("T")


@dataclass(slots=True)
class _Work:
    left: int = field(default_factory=lambda: MAX_STEPS)
    texts: dict[int, tuple[object, str]] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)


_CURRENT: Final[ContextVar[_Work | None]] = ContextVar("planning", default=None)


@contextmanager
def planning() -> Iterator[None]:
    """The planning of one question."""
    before = _CURRENT.set(_Work())
    try:
        yield
    except RecursionError:
        raise Refused("too-complex", "the question is nested too deeply", "ask a simpler one") from None
    finally:
        _CURRENT.reset(before)


def spend(steps: int) -> None:
    """Count steps, and refuse a question that takes too many."""
    work = _CURRENT.get()
    if work is None:
        return
    work.left -= steps
    if work.left < 0:
        raise Refused("too-complex", "the question takes too many steps to plan", "ask several smaller questions")


def remark(text: str) -> None:
    """Have something said beside the answer, from text and policy alone."""
    work = _CURRENT.get()
    if work is not None:
        work.remarks[text] = None


def remarks() -> tuple[str, ...]:
    """What was remarked in this planning so far."""
    work = _CURRENT.get()
    return () if work is None else tuple(work.remarks)


def few_measures(count: int) -> None:
    """Refuse a question that counts too much at once."""
    if count > MAX_MEASURES:
        raise Refused(
            "too-complex",
            f"the question counts {count:,} things, and at most {MAX_MEASURES:,} are counted at once",
            "ask several smaller questions",
        )


def few_numbers(count: int) -> None:
    """Refuse a question that draws too much noise at once."""
    if count > MAX_NUMBERS:
        raise Refused(
            "too-complex",
            f"the question asks for {count:,} noisy numbers, and at most {MAX_NUMBERS:,} are drawn at once",
            "group by coarser keys, or ask several smaller questions",
        )


MAX_SHOWN: Final = 300


def brief(text: str) -> str:
    """A text in a refusal: what is long is cut, so that a message stays one."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} …"


def remembered(text: Callable[[Any], str]) -> Callable[[Any], str]:
    """The text of a node of syntax, worked out once in a planning. Nodes are held: none gets the place of another."""

    @wraps(text)
    def cached(node: Any) -> str:
        work = _CURRENT.get()
        if work is None:
            return text(node)
        if id(node) not in work.texts:
            work.texts[id(node)] = node, text(node)
        return work.texts[id(node)][1]

    return cached


def once(method: Callable[[Any], T]) -> Callable[[Any], T]:
    """A method without arguments that is worked out once for each object: plans are graphs, and paths are many."""
    label = f"_once_{method.__name__}"

    @wraps(method)
    def cached(self: Any) -> T:
        held = self.__dict__
        if label not in held:
            held[label] = method(self)
        return held[label]  # type: ignore[no-any-return]

    return cached
