"""Work waits in fair lines: each caller has one, and the lines take turns at a fixed number of workers.

One caller holds at most half of the workers: what others send begins at once as long as no third one is there, however
much the first has sent and however long it lasts. So nobody waits for the work of one other caller; they share the
machine with it. Two who share it get half of it each. Whoever has sent more than is being answered therefore rests
after each question for half of the time that it took, while somebody is there who asks one at a time.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from discreet.engines.stopping import Stop
from discreet.errors import Refused
from discreet.exit.progress import Progress
from discreet.noise import SYSTEM
from discreet.server.turn import Turn
from discreet.tracing import Span, begun

MOST_WAITING: Final = 2000
MOST_OF_ONE: Final = 100
"""Questions that may wait: of everybody, and of one caller."""
REMEMBERED: Final = 600.0
MAX_ENDED: Final = 10_000
ENDED_OF_ONE: Final = 200
"""Seconds for which what became of a question can be fetched, and of how many questions: of everybody, and of one
caller, who else would fill the memory with answers, and push out those of others.
"""
MOST_HELD: Final = 2_000_000
HELD_OF_ONE: Final = 400_000
"""Values in all of those answers together: each takes some two hundred bytes. The newest is held, however large."""
REST: Final = 0.5
LEAST: Final = 0.01
"""The part of a question's time for which its caller rests, and the seconds from which on a question counts."""


class State(StrEnum):
    """How far a question is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(eq=False, slots=True, weakref_slot=True)
class Job:
    """One question on its way."""

    caller: str
    """Who may look at it: the token, perhaps behind a dataset and a slash."""
    work: Callable[[], Any]
    id: str = field(default_factory=lambda: SYSTEM.bytes(16).hex())
    state: State = State.QUEUED
    stop: Stop = field(default_factory=Stop)
    progress: Progress = field(default_factory=Progress)
    result: Future[Any] = field(default_factory=Future)
    began: float = math.inf
    ended: float = math.inf
    late: bool = False
    """It was stopped because it took too long."""
    is_fetched: bool = True
    """Whether somebody may come for it by its id."""
    values: int = 0
    """How many values what came of it holds, if somebody may."""
    context: Context = field(default_factory=copy_context)
    """Of whoever sent it: its log line, and what is traced."""
    waiting: Span | None = field(default_factory=lambda: begun("queue"))

    @property
    def line(self) -> str:
        """Whose turn it takes: a token has one line, whatever datasets it opens."""
        return self.caller.rpartition("/")[2]

    @property
    def lasted(self) -> float:
        """Seconds, with the padding: what its caller notices, too."""
        return self.ended - self.began

    def run(self) -> None:
        self.context.run(self._run)

    def _run(self) -> None:
        value, failure = None, None
        self.began = time.monotonic()
        self._wait_no_longer()
        try:
            with self.stop, self.progress:
                value = self.work()
        except BaseException as error:  # whoever waits is told; a worker lives on
            failure = error
            _forget_locals(error)
        self.end(value, failure)

    def _wait_no_longer(self) -> None:
        if self.waiting is not None:
            self.waiting.end()
            self.waiting = None

    def end(self, value: Any = None, failure: BaseException | None = None) -> None:
        self._wait_no_longer()
        self.state = State.CANCELLED if self.stop.is_requested and failure is not None else State.DONE
        self.ended = time.monotonic()
        self.values = _values(value) if self.is_fetched else 0
        if failure is None:
            self.result.set_result(value)
        else:
            self.result.set_exception(failure)


def _forget_locals(failure: BaseException) -> None:
    """What was at hand where it happened, perhaps exact rows, is not held for as long as the failure is."""
    chain: list[BaseException | None] = [failure]
    for error in chain:  # which grows by what led to each
        if error is not None:
            traceback.clear_frames(error.__traceback__)
            chain += [other for other in (error.__cause__, error.__context__) if other not in chain]


def _values(made: Any) -> int:
    """How many values there are in an answer, or in a document; a long text counts as several."""
    if isinstance(made, dict):
        return sum(map(_values, made.values()))
    if isinstance(made, list | tuple):
        return sum(map(_values, made))
    if isinstance(made, str | bytes):
        return 1 + len(made) // 200
    return _values(made.rows) if hasattr(made, "rows") else 1


class Queue:
    """Workers, and those who wait for them."""

    def __init__(
        self,
        workers: int,
        *,
        most: int = MOST_WAITING,
        most_of_one: int = MOST_OF_ONE,
        at_once: int | None = None,
        max_ended: int | None = None,
        name: str = "worker",
        beside: Queue | None = None,
        turn: Turn | None = None,
    ) -> None:
        """`at_once`: how many workers one caller may hold. `max_ended`: how many that ended can be fetched. `beside`:
        a queue whose callers share the machine, too. `turn`: what its workers take turns by, if they do.
        """
        self._most, self._most_of_one, self._max_ended = most, most_of_one, max_ended
        self._at_once = at_once or max(1, workers // 2)
        self._changed = threading.Condition()
        self._lines: OrderedDict[str, deque[Job]] = OrderedDict()
        self._jobs: dict[str, Job] = {}
        self._ended: dict[str, Job] = {}
        self._ended_of: dict[str, deque[str]] = {}
        """Their ids by lines: in each the oldest first, too."""
        self._values: Counter[str] = Counter()
        """How many values they hold, by lines."""
        self._running: dict[str, Job] = {}
        self._held: Counter[str] = Counter()
        self._rests: dict[str, list[float]] = {}
        """For each line whose workers rest, until when each of them does."""
        self._modest = "", -math.inf
        """Who asked one at a time last, and when that was answered."""
        self._is_alone, self._beside, self._turn = workers == 1, beside, turn
        self._closed = False
        self._workers = [
            threading.Thread(target=self._serve, name=f"discreet-{name}-{number}", daemon=True)
            for number in range(workers)
        ]
        for worker in self._workers:
            worker.start()

    def submit(self, caller: str, work: Callable[[], Any], *, is_fetched: bool = True) -> Job:
        """Let a question wait for its turn. Not `is_fetched`, it is forgotten at its end: nobody is told its id."""
        job = Job(caller, work, is_fetched=is_fetched)
        with self._changed:
            self._forget()
            line = self._lines.get(job.line, ())
            if self._closed or len(line) >= self._most_of_one or self.waiting >= self._most:
                raise Refused("busy", "too many questions are waiting", "ask again in a moment")
            self._lines.setdefault(job.line, deque()).append(job)
            self._jobs[job.id] = job
            if self._ready() is not None:  # else it is for one of those who work, as soon as they have done
                self._changed.notify()
        return job

    def find(self, name: str, caller: str) -> Job | None:
        """A caller's own question, also for a while after its end."""
        with self._changed:
            self._forget()
            job = self._jobs.get(name) or self._ended.get(name)
        return job if job is not None and job.caller == caller else None

    def position(self, job: Job) -> int | None:
        """Whose turn it is before this one: 1 is next; None if it waits no longer.

        Lines of those who hold all that they may come after the others.
        """
        with self._changed:
            own = self._lines.get(job.line, deque())
            if job not in own:
                return None
            index, before, seen = own.index(job), 0, False
            for name, line in sorted(self._lines.items(), key=lambda item: self._is_full(item[0])):
                if name == job.line:
                    seen = True
                    before += index
                else:
                    before += min(len(line), index if seen else index + 1)
            return before + 1

    def cancel(self, job: Job) -> None:
        """Take it out of its line, or interrupt it: what it was charged stays spent."""
        with self._changed:
            line = self._lines.get(job.line, deque())
            waited = job in line
            if waited:
                line.remove(job)
                if not line:
                    del self._lines[job.line]
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
        return len(self._running)

    def stop_late(self, seconds: float) -> None:
        """Stop what runs for longer than this."""
        long_ago = time.monotonic() - seconds
        with self._changed:
            late = [job for job in self._running.values() if job.began < long_ago and not job.late]
        for job in late:
            job.late = True
            job.stop.now()

    def drain(self) -> None:
        """Take nothing more in, and cancel what waits: nothing was charged for it. What runs goes on to its end."""
        with self._changed:
            self._closed = True
            waiting = [job for line in self._lines.values() for job in line]
        for job in waiting:
            self.cancel(job)

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
                while self._ready() is None:
                    if self._closed:
                        return
                    self._changed.wait(self._until_rested())
                job = self._next()
                self._running[job.id] = job
                self._held[job.line] += 1
            lent = None if self._turn is None else self._turn.take()
            try:
                job.run()
            finally:
                if lent is not None:
                    lent.release()
                with self._changed:
                    del self._running[job.id]
                    self._give_back(job)
                    self._remember(job)
                del job  # else its answer is held for as long as this worker waits

    def _give_back(self, job: Job) -> None:
        """A worker is free. One job more may begin now, and that worker looks for it: nobody else has to be woken."""
        line = job.line
        self._held[line] -= 1
        if not self._held[line]:
            del self._held[line]  # a line that holds nothing is forgotten
        if line not in self._lines:
            self._modest = line, job.ended
        elif job.lasted >= LEAST and not self._is_alone and self._gives_way(job):
            left = [until for until in self._rests.get(line, ()) if until > job.ended]
            self._rests[line] = [*left, job.ended + REST * job.lasted]
            self._changed.notify_all()  # whoever waits is to wake when it is over

    def _gives_way(self, job: Job) -> bool:
        """Whether somebody else is there who asks one at a time: now, or a moment ago."""
        return any(
            each is not None and each.has_modest(job.line, job.ended - job.lasted) for each in (self, self._beside)
        )

    def has_modest(self, line: str, since: float) -> bool:
        """Whether another line has no more than what is being answered, or had since then."""
        name, ended = self._modest
        if name != line and ended >= since:
            return True
        return any(other != line and other not in self._lines for other in tuple(self._held))

    def _resting(self, line: str) -> int:
        """How many workers of a line rest."""
        return sum(until > time.monotonic() for until in self._rests.get(line, ()))

    def _until_rested(self) -> float | None:
        """Seconds until one of them does no longer; None if nobody rests. What is over is forgotten, after it was told:
        it may have been over only since somebody looked for work.
        """
        now = time.monotonic()
        soonest = min((max(0.0, until - now) for ends in self._rests.values() for until in ends), default=None)
        self._rests = {
            line: left for line, ends in self._rests.items() if (left := [until for until in ends if until > now])
        }
        return soonest

    def _is_full(self, line: str) -> bool:
        """Whether a line holds as many workers as it may; one that rests is held."""
        return self._held[line] + self._resting(line) >= self._at_once

    def _ready(self) -> str | None:
        """The first line that may have a worker."""
        return next((name for name in self._lines if not self._is_full(name)), None)

    def _next(self) -> Job:
        """The first of that line, which then goes to the end."""
        name = self._ready()
        assert name is not None
        line = self._lines.pop(name)
        job = line.popleft()
        if line:
            self._lines[name] = line
        job.state = State.RUNNING
        return job

    def _remember(self, job: Job) -> None:
        """Apart from those that wait or run, so that what ended is in the order of its end."""
        with self._changed:
            del self._jobs[job.id]
            if job.is_fetched:
                self._ended[job.id] = job
                own = self._ended_of.setdefault(job.line, deque())
                own.append(job.id)
                self._values[job.line] += job.values
                while len(own) > ENDED_OF_ONE or (len(own) > 1 and self._values[job.line] > HELD_OF_ONE):
                    self._drop(self._ended[own[0]])
            self._forget()

    def _forget(self) -> None:
        """Drop the oldest that ended, once it is long ago or there are many."""
        long_ago = time.monotonic() - REMEMBERED
        while self._ended:
            oldest = next(iter(self._ended.values()))
            most = MAX_ENDED if self._max_ended is None else self._max_ended
            is_heavy = len(self._ended) > 1 and self._values.total() > MOST_HELD
            if oldest.ended >= long_ago and len(self._ended) <= most and not is_heavy:
                return
            self._drop(oldest)

    def _drop(self, oldest: Job) -> None:
        """Of all, or of its line: there it is the oldest in both cases."""
        del self._ended[oldest.id]
        own = self._ended_of[oldest.line]
        own.popleft()
        self._values[oldest.line] -= oldest.values
        if not own:
            del self._ended_of[oldest.line], self._values[oldest.line]
