"""From a request to an answer: what is free and what is paid for, each in fair lines of its own, nothing charged twice.

Free work (previews, answers from dummy data, pages, what is cached) never takes a worker of those who pay, and ends
after some seconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from discreet.accounting.record import Key
from discreet.answers import Answer
from discreet.answers.call import Call, read
from discreet.curator.curator import Curator
from discreet.engines.stopping import Stopped
from discreet.errors import QueryFailed, Refused
from discreet.server.datasets import Caller, Dataset
from discreet.server.limits import CALLER
from discreet.server.queue import Job, Queue, State
from discreet.server.requests import Question

LONGEST_KEY: Final = 200
MOST_KEYS: Final = 10_000
LIGHT: Final = 4
"""Threads for what reads no private data. One caller has one of them: planning holds Python's lock, and two callers
who plan get half of it each.
"""
FREE_SECONDS: Final = 10.0
"""After which free work is stopped: nothing was paid for it that could be lost."""
OUTSIDE: Final = {"sql", "analyst", "dummy", "fresh"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that somebody sent to a dataset."""

    curator: Curator
    call: Call
    line: str
    """Whose line it waits in."""
    is_dummy: bool = False
    """It is about dummy data, and free."""

    @classmethod
    def of(cls, dataset: Dataset, caller: Caller, question: Question, key: str | None = None) -> Asked:
        told = question.model_dump(exclude_unset=True)
        said = {name: value for name, value in told.items() if name not in OUTSIDE and value is not None}
        named = None
        if key is not None and not question.dummy:
            named = Key(_digest([dataset.name, caller.token, key]), _digest(told))
        call = read(
            question.sql,
            said,
            analyst=caller.pays_as(question.analyst),
            fresh=getattr(question, "fresh", False),
            key=named,
        )
        curator = dataset.dummy if question.dummy else dataset.curator
        return cls(curator, call, f"{dataset.name}/{caller.token}", question.dummy)


class Dispatcher:
    """Takes questions in: hands out what is known, and lets the rest wait for a worker."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.free = Queue(LIGHT, at_once=1, kept=0, name="light")
        self._lock = threading.Lock()
        self._keys: dict[str, tuple[str, Job]] = {}

    async def light(self, work: Callable[..., T], *given: Any) -> T:
        """Something that reads no private data, apart from the event loop, in the line of whoever asks for it."""
        job = self.free.submit(CALLER.get(), partial(work, *given))
        try:
            found: T = await asyncio.wrap_future(job.result)
        except (Stopped, QueryFailed):
            if not job.late:
                raise
            told = f"what is free takes at most {FREE_SECONDS:g} seconds"
            raise Refused("free-limit", told, "ask a simpler question, or one that is charged") from None
        return found

    async def ask(self, asked: Asked) -> Answer | Job:
        """The answer, if it is free; else the job that will have it."""
        key = asked.call.key
        running = None if key is None else self._running(key)
        if running is not None:
            return running
        if asked.is_dummy:
            return await self.light(asked.curator.answer, asked.call)
        try:
            known = await self.light(asked.curator.free_answer, asked.call)
        except QueryFailed:  # charged and not answered: perhaps by the same request, which came a moment before
            _, begun = ("", None) if key is None else self._keys.get(key.name, ("", None))
            if begun is None:
                raise
            return begun
        if known is not None or key is None:
            return known or self._submit(asked)
        with self._lock:
            running = self._running(key)
            if running is None:
                running = self._submit(asked)
                self._keys[key.name] = key.request, running
            return running

    def _running(self, key: Key) -> Job | None:
        """The same request, if it is being answered already."""
        if len(self._keys) > MOST_KEYS:
            self._keys = {name: item for name, item in self._keys.items() if not item[1].result.done()}
        request, job = self._keys.get(key.name, ("", None))
        if job is None or job.result.done():
            return None
        if request != key.request:
            raise Refused("key-reused", "this key was used for another request", "use a new key for a new question")
        return job

    def _submit(self, asked: Asked) -> Job:
        return self.queue.submit(asked.line, partial(asked.curator.answer, asked.call))

    @staticmethod
    async def wait(job: Job, seconds: float) -> bool:
        """Whether the job ended within so many seconds."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def tell(_: object) -> None:
            with suppress(RuntimeError):  # the server stopped before the job did
                loop.call_soon_threadsafe(ended.set)

        if seconds and not job.result.done():
            job.result.add_done_callback(tell)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), seconds)
        return job.result.done()

    def leave(self, job: Job) -> None:
        """Whoever asked is gone: what waits need not be answered, what runs is kept for the next time."""
        if job.state is State.QUEUED:
            self.queue.cancel(job)

    def close(self) -> None:
        self.queue.close()
        self.free.close()


def _digest(value: object) -> str:
    written = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:32]
