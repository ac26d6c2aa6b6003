"""Work that owners begin and come back to: it runs in the queue, one of a kind at a time, and says how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Self

from discreet.engines.problems import SourceError
from discreet.errors import Refused
from discreet.ledger import LedgerError
from discreet.policy import PolicyError
from discreet.server.problems import document_of
from discreet.server.queue import Job, Queue

Tell = Callable[[str, float], None]
"""Hears what is read, and how far it is, from 0 to 1."""
MAX_WORKS: Final = 1000
"""Works that are remembered; those that ended go first."""


@dataclass(slots=True, eq=False)
class Work:
    """One of them. What it says of its way is for owners: how long reading takes tells how much there is."""

    job: Job | None = None
    what: str = ""
    share: float | None = None
    more: Any = field(default=None)
    """What whoever began it wants to know when it ended."""

    def tell(self, what: str, share: float) -> None:
        self.what, self.share = what, min(1.0, max(0.0, share))

    @property
    def is_done(self) -> bool:
        return self.job is None or self.job.result.done()

    @property
    def value(self) -> Any:
        """What came of it; None while it runs, and where it failed."""
        job = self.job
        return job.result.result() if job is not None and job.result.done() and not job.result.exception() else None

    @property
    def problem(self) -> dict[str, Any] | None:
        """What went wrong, for the owner."""
        failed = self.job.result.exception() if self.job is not None and self.job.result.done() else None
        return None if failed is None else owner_document(failed)


@dataclass(frozen=True, slots=True)
class Seen:
    """A work as it was at one moment: a page that looks twice while it ends would contradict itself."""

    is_done: bool
    value: Any
    problem: dict[str, Any] | None
    more: Any

    @classmethod
    def of(cls, work: Work) -> Self:
        done = work.is_done
        return cls(done, work.value if done else None, work.problem if done else None, work.more)


class Works:
    """The latest work of each kind, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: dict[str, Work] = {}

    def begin(self, queue: Queue, name: str, work: Callable[[Tell], Any], more: Any = None) -> Work:
        """Begin it, unless it runs already; then that is the one."""
        with self._lock:
            known = self._works.get(name)
            if known is not None and not known.is_done:
                return known
            for old in [each for each, ended in self._works.items() if ended.is_done][
                : len(self._works) - MAX_WORKS + 1
            ]:
                del self._works[old]
            made = Work(more=more)
            made.job = queue.submit(name.replace("/", " "), lambda: work(made.tell))
            self._works[name] = made
            return made

    def of(self, name: str) -> Work | None:
        with self._lock:
            return self._works.get(name)


def owner_document(error: BaseException) -> dict[str, Any]:
    """An error as its owner is told."""
    refusal = owner_refusal(error)
    return document_of(error if refusal is None else refusal)


def owner_refusal(error: BaseException) -> Refused | None:
    """What can be said to an owner: sources, policies and ledgers by name, because they are theirs. None of others."""
    if isinstance(error, SourceError):
        return Refused("source-unreadable", f"{error.table}: {error.reason}", error.fix)
    if isinstance(error, PolicyError):
        first = error.problems[0]
        return Refused("policy", f"{error.file}: {first.reason}", first.fix or "correct it")
    if isinstance(error, LedgerError):
        return Refused("ledger", error.reason, error.fix)
    if isinstance(error, Refused):
        return error
    if isinstance(error, OSError):
        return Refused("policy", f"a file cannot be used: {error.strerror or type(error).__name__}", "check its rights")
    return None
