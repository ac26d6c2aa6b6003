"""Questions wait in fair lines: each caller has one, and the lines take turns at a fixed number of workers."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from discreet.engines.stopping import Stop
from discreet.errors import Refused
from discreet.noise import SYSTEM

MOST_WAITING: Final = 2000
MOST_OF_ONE: Final = 100
"""Questions that may wait: of everybody, and of one caller."""
REMEMBERED: Final = 600.0
MOST_KEPT: Final = 10_000
"""Seconds for which what became of a question can be fetched, and of how many questions."""


class State(StrEnum):
    """How far a question is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(eq=False, slots=True)
class Job:
    """One question on its way."""

    caller: str
    work: Callable[[], Any]
    id: str = field(default_factory=lambda: SYSTEM.bytes(16).hex())
    state: State = State.QUEUED
    stop: Stop = field(default_factory=Stop)
    result: Future[Any] = field(default_factory=Future)
    ended: float = math.inf

    def run(self) -> None:
        value, failure = None, None
        try:
            with self.stop:
                value = self.work()
        except BaseException as error:  # whoever waits is told; a worker lives on
            failure = error
        self.end(value, failure)

    def end(self, value: Any = None, failure: BaseException | None = None) -> None:
        self.state = State.CANCELLED if self.stop.asked and failure is not None else State.DONE
        self.ended = time.monotonic()
        if failure is None:
            self.result.set_result(value)
        else:
            self.result.set_exception(failure)


class Queue:
    """Workers, and those who wait for them."""

    def __init__(self, workers: int, *, most: int = MOST_WAITING, most_of_one: int = MOST_OF_ONE) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._changed = threading.Condition()
        self._lines: OrderedDict[str, deque[Job]] = OrderedDict()
        self._jobs: dict[str, Job] = {}
        self._ended: dict[str, Job] = {}
        self._running = 0
        self._closed = False
        self._workers = [
            threading.Thread(target=self._serve, name=f"discreet-worker-{number}", daemon=True)
            for number in range(workers)
        ]
        for worker in self._workers:
            worker.start()

    def submit(self, caller: str, work: Callable[[], Any]) -> Job:
        """Let a question wait for its turn."""
        job = Job(caller, work)
        with self._changed:
            self._forget()
            line = self._lines.get(caller, ())
            if self._closed or len(line) >= self._most_of_one or self.waiting >= self._most:
                raise Refused("busy", "too many questions are waiting", "ask again in a moment")
            self._lines.setdefault(caller, deque()).append(job)
            self._jobs[job.id] = job
            self._changed.notify()
        return job

    def find(self, name: str, caller: str) -> Job | None:
        """A caller's own question, also for a while after its end."""
        with self._changed:
            self._forget()
            job = self._jobs.get(name) or self._ended.get(name)
        return job if job is not None and job.caller == caller else None

    def position(self, job: Job) -> int | None:
        """Whose turn it is before this one: 1 is next; None if it waits no longer."""
        with self._changed:
            own = self._lines.get(job.caller, deque())
            if job not in own:
                return None
            place, before, seen = own.index(job), 0, False
            for caller, line in self._lines.items():
                if caller == job.caller:
                    seen = True
                    before += place
                else:
                    before += min(len(line), place if seen else place + 1)
            return before + 1

    def cancel(self, job: Job) -> None:
        """Take it out of its line, or interrupt it: what it was charged stays spent."""
        with self._changed:
            line = self._lines.get(job.caller, deque())
            waited = job in line
            if waited:
                line.remove(job)
                if not line:
                    del self._lines[job.caller]
        job.stop.now()
        if waited:
            job.end(failure=CancelledError())
            self._remember(job)

    @property
    def waiting(self) -> int:
        with self._changed:
            return sum(map(len, self._lines.values()))

    @property
    def running(self) -> int:
        return self._running

    def close(self) -> None:
        """Cancel everything and let the workers go."""
        with self._changed:
            self._closed = True
            jobs = [job for job in self._jobs.values() if not job.result.done()]
        for job in jobs:
            self.cancel(job)
        with self._changed:
            self._changed.notify_all()
        for worker in self._workers:
            worker.join(timeout=10)

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._closed)
                if not self._lines:
                    return
                job = self._next()
                self._running += 1
            try:
                job.run()
            finally:
                with self._changed:
                    self._running -= 1
                    self._remember(job)

    def _next(self) -> Job:
        """The first of the first line, which then goes to the end."""
        caller, line = self._lines.popitem(last=False)
        job = line.popleft()
        if line:
            self._lines[caller] = line
        job.state = State.RUNNING
        return job

    def _remember(self, job: Job) -> None:
        """Apart from those that wait or run, so that what ended is in the order of its end."""
        with self._changed:
            self._ended[job.id] = self._jobs.pop(job.id)

    def _forget(self) -> None:
        """Drop the oldest that ended, once it is long ago or there are many."""
        long_ago = time.monotonic() - REMEMBERED
        while self._ended:
            oldest = next(iter(self._ended.values()))
            if oldest.ended >= long_ago and len(self._ended) <= MOST_KEPT:
                return
            del self._ended[oldest.id]
