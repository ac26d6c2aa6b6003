"""From a request to an answer: what is free and what is charged, each in fair lines of its own, nothing charged twice.

Free work (previews, answers from dummy data, pages, what is cached) never takes a worker from what is charged, and
ends after some seconds.
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
from types import ModuleType
from typing import Any, Final, TypeVar
from weakref import ref

from discreet.accounting.part import Part as TablePart
from discreet.accounting.record import OWNER, Key
from discreet.answers import Answer
from discreet.answers.batches import answers_written
from discreet.answers.call import Call, read, value_read
from discreet.answers.models import Documented
from discreet.curator.curator import Curator
from discreet.curator.saved import SavedQueries
from discreet.engines.stopping import Stopped
from discreet.errors import QueryFailed, Refused
from discreet.server.datasets import Caller, Dataset
from discreet.server.front import learned
from discreet.server.limits import CALLER
from discreet.server.queue import Job, Queue, State
from discreet.server.requests import Batching, Body, Fitting, Part, Query, Question, Releasing, Scoring, Working
from discreet.server.turn import TURN
from discreet.sql.part import part_of

MOST_KEYS: Final = 10_000
LIGHT: Final = 4
"""Threads for what reads no private data. One caller has one of them: planning holds Python's lock, and two callers
who plan get half of it each.
"""
FREE_SECONDS: Final = 10.0
"""After which free work is stopped: nothing was charged for it that could be lost."""
MOST_CELLS: Final = 2**20
"""Numbers that a release may publish: more would not fit into a response."""
LOOK: Final = 0.02
"""Seconds between two looks at what still runs."""
OUTSIDE: Final = {"sql", "analyst", "dummy", "fresh"}
AT_ONCE: Final = {*OUTSIDE, "epsilon", "rho", "delta", "confidence", "dialect"}
"""What a question may say that is charged without a look at whether it is free: no cost has to be searched for."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Submission:
    """A query, a fit or a release that somebody sent to a dataset."""

    curator: Curator
    task: Any
    """A call, or a task of a curator: both have a key."""
    line: str
    """Whose line it waits in."""
    is_dummy: bool = False
    """It is about dummy data, and free."""
    note: Callable[[str, int], None] | None = None
    """Told the text and the number of every answer: the last one of a saved query."""
    count: Callable[[str], None] | None = None
    """Told of every answer what it was: charged, cached, free, or of dummy data."""
    saved: SavedQueries | None = None
    """Where answers are noted: as long as nobody saved anything there, nothing is looked up for it."""

    @classmethod
    def of(cls, dataset: Dataset, caller: Caller, sent: Body, key: str | None = None) -> Submission:
        made, about = _made(dataset.curator, sent)
        task = made(
            analyst=caller.charged_as(sent.analyst),
            fresh=getattr(sent, "fresh", False),
            key=_key(dataset, caller, sent, key, about),
        )
        curator = dataset.dummy if sent.dummy else dataset.curator
        note = None if sent.dummy else partial(dataset.saved.answered, caller.analyst)
        return cls(curator, task, _line(dataset, caller), sent.dummy, note, dataset.count, dataset.saved)

    def perform(self) -> Any:
        """The answer, or the document of a model or release."""
        return document_of(self._noted(self.curator.perform(self.task)))

    def free(self) -> Any:
        """The same, if it costs nothing; else None."""
        return document_of(self._noted(self.curator.free(self.task)))

    def _noted(self, result: Any) -> Any:
        """A cached answer that was charged to somebody else is no answer of the caller's: its page is not theirs. The
        page of one that was charged for another text shows that text, and its columns' names.
        """
        if result is None:
            return None
        number, cached = _charge_of(result)
        if number and not self.is_dummy:
            learned(charge=number, cached=cached)
        if self.count is not None:
            self.count("dummy" if self.is_dummy else "free" if not number else "cached" if cached else "charged")
        if (
            self.note is not None
            and isinstance(result, Answer)
            and number
            and (self.saved is None or self.saved.is_begun)
        ):
            entry = self.curator.entry(number)
            text = "" if entry is None or entry.analyst != (self.task.analyst or OWNER) else entry.question
            if text.strip() == result.question.strip():
                self.note(result.question, number)
        return result


def _charge_of(result: Any) -> tuple[int, bool]:
    """The number of the charge that a result is of, 0 if there is none, and whether it was cached."""
    first = result[0] if isinstance(result, list) and result else result
    ending = "_" if hasattr(first, "receipt_") else ""  # of models, as scikit-learn has what was learned
    number, _, _ = str(getattr(first, f"receipt{ending}", "") or "").partition(":")
    return int(number) if number.isdecimal() else 0, bool(getattr(first, f"cached{ending}", False))


def _line(dataset: Dataset, caller: Caller) -> str:
    return f"{dataset.name}/{caller.token}"


def known_line(dataset: Dataset, caller: Caller, sent: Body) -> str | None:
    """The line of what is charged in any case, of a text that was planned before: nothing of it is free, and what is
    left to be found out about it takes no time. None of all others.
    """
    if type(sent) is not Query or not sent.fresh or sent.dummy or not sent.model_fields_set <= AT_ONCE:
        return None
    return _line(dataset, caller) if dataset.curator.has_planned(sent.sql, sent.dialect) else None


def _made(curator: Curator, sent: Body) -> tuple[Callable[..., Any], Any]:
    if isinstance(sent, Batching):
        return _batch(curator, sent)
    return _call(curator, sent) if isinstance(sent, Question) else _work(sent)


def _batch(curator: Curator, sent: Batching) -> tuple[Callable[..., Any], Any]:
    """How a batch is made of who asks, and what a request for it is known by."""
    fields = sent.model_dump(exclude_unset=True)
    said = {name: value_read(value) for name, value in fields.items() if name not in OUTSIDE and value is not None}
    return partial(curator.batched, **said), ["batch", fields]


def _call(curator: Curator, question: Question) -> tuple[Callable[..., Call], Any]:
    """How a call is made of who asks, and what a request for it is known by."""
    fields = question.model_dump(exclude_unset=True)
    said = {name: value for name, value in fields.items() if name not in {*OUTSIDE, "part"} and value is not None}
    return partial(read, question.sql, said, part=_part(curator, question.part)), fields


def _part(curator: Curator, sent: Part | None) -> TablePart | None:
    """The part of a table that a question is about, as the policy has it."""
    if sent is None:
        return None
    table, key = curator.policy.tables.get(sent.table), value_read(sent.model_dump()["key"])
    most = sent.most if table is None else min(sent.most, table.max_rows)  # no unit is in more parts than it has rows
    return part_of(curator.policy, sent.table, sent.column, key, most)


def _work(sent: Working) -> tuple[Callable[..., Any], Any]:
    """How a task is made of who asks, and what a request for it is known by."""
    kind, task, more = _worker(sent)
    fields = sent.model_dump(exclude_unset=True)
    cost = {name: value_read(fields.get(name)) for name in ("epsilon", "rho", "delta")}
    more = more if sent.blocks is None else {**more, "blocks": fields["blocks"]}
    return partial(task, sent.sql, **cost, max_rows=sent.max_rows, **more), [kind, fields]


def _worker(sent: Working) -> tuple[str, Callable[..., Any], dict[str, Any]]:
    """What a request is about, what makes its task, and what that is told beside the rows and the cost."""
    if isinstance(sent, Fitting):
        estimator = estimators().estimator_of(sent.estimator, sent.params or {})
        return "fit", estimator.task, {"target": sent.target, "holdout": sent.holdout}
    if isinstance(sent, Scoring):
        return "score", estimators().model_to_score(sent.model).score_task, _scored(sent)
    assert isinstance(sent, Releasing)
    from discreet.release.sent import publication_of

    publication = publication_of(sent.publication, sent.params, sent.fields)
    return "release", publication.task, {"max_cells": MOST_CELLS}


def _scored(sent: Scoring) -> dict[str, Any]:
    """What a score is told."""
    fields = sent.model_dump(exclude_unset=True)
    said = {name: fields.get(name) for name in ("target", "metric", "holdout")}
    exact = {name: value_read(fields[name]) for name in ("positive", "confidence") if fields.get(name) is not None}
    if sent.y_bounds is not None:
        exact["y_bounds"] = tuple(value_read(end) for end in fields["y_bounds"])
    return {**said, **exact}


def estimators() -> ModuleType:
    """How requests become estimators. Where scikit-learn is not installed, a server answers queries, and fits none."""
    try:
        from discreet.learn import sent
    except ModuleNotFoundError:
        raise Refused(
            "models-unavailable", "this server fits no models", "ask the owner to install discreet[learn] there"
        ) from None
    return sent


async def loaded() -> None:
    """scikit-learn, beside the clock of free work: it takes seconds to import, once, whoever asks first."""

    def load() -> None:
        with suppress(Refused):
            estimators()

    await asyncio.to_thread(load)


def document_of(result: Any) -> Any:
    """What was let out as it is sent; answers are themselves."""
    if isinstance(result, list):
        return answers_written(result)
    return result.document() if isinstance(result, Documented) else result


def _key(dataset: Dataset, caller: Caller, sent: Body, key: str | None, content: object) -> Key | None:
    """The name of a request, and what it says. What is about dummy data is free, and needs none."""
    if key is None or sent.dummy:
        return None
    return Key(_digest([dataset.name, caller.token, key]), _digest(content))


class Dispatcher:
    """Takes questions in: hands out what is known, and lets the rest wait for a worker."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.free = Queue(LIGHT, at_once=1, max_ended=0, name="light", beside=queue, turn=TURN)
        self._lock = threading.RLock()
        self._keys: dict[str, tuple[str, ref[Job]]] = {}
        """What is being answered, or was a moment ago: its answer is held by the queue, and no longer than there."""
        self._stopping = False

    async def light(self, work: Callable[..., T], *given: Any) -> T:
        """Something that reads no private data, apart from the event loop, in the line of whoever asks for it."""
        job = self.free.submit(CALLER.get(), partial(work, *given))
        await _ended(job)
        try:
            value: T = job.result.result()
        except (Stopped, QueryFailed, Refused):  # of what is stopped while it is planned, too
            if not job.late:
                raise
            reason = f"what is free takes at most {FREE_SECONDS:g} seconds"
            raise Refused("free-limit", reason, "ask a simpler question, or one that is charged") from None
        return value

    async def ask(self, submission: Submission) -> Any:
        """What is asked for, if it is free; else the job that will have it."""
        return await self.begin(lambda: submission)

    async def begin(
        self,
        make: Callable[[], Submission],
        line: str | None = None,
        write: Callable[[Any], Any] = lambda result: result,
        *,
        is_fetched: bool = True,
    ) -> Any:
        """The same of what is made beside the event loop: what is free takes one turn there. With a `line`, which is
        that of something that is not free (`known_line`), it waits for a worker at once. What came of it is written
        there as well, beside the event loop: large answers take long. `is_fetched`: whoever asks may be told the id of
        the job, and come for it later, perhaps for a page: then it is not written.
        """
        if line is not None:
            return self.queue.submit(line, lambda: write(make().perform()), is_fetched=is_fetched)
        submission, known = await self.light(self._free, make, write)
        key: Key | None = submission.task.key
        if known is not None:
            return known
        if not is_fetched and key is None:
            return self.queue.submit(submission.line, lambda: write(submission.perform()), is_fetched=False)
        if key is None:
            return self._submit(submission)
        with self._lock:
            running = self._running(key)
            if running is None:
                running = self._submit(submission)
                self._keys[key.name] = key.request, ref(running)
            return running

    def _free(self, make: Callable[[], Submission], write: Callable[[Any], Any]) -> tuple[Submission, Any]:
        """What was made, with what is known, written, or being answered already; None if it has to be charged."""
        submission = make()
        key: Key | None = submission.task.key
        running = None if key is None else self._running(key)
        if running is not None:
            return submission, running
        if submission.is_dummy:
            return submission, write(submission.perform())
        try:
            known = submission.free()
            return submission, None if known is None else write(known)
        except QueryFailed:  # charged and not answered: perhaps by the same request, which came a moment before
            begun = None if key is None else self._begun(key)[1]
            if begun is None or _has_failed(begun):
                raise
            return submission, begun

    def _running(self, key: Key) -> Job | None:
        """The same request, if it is being answered already."""
        with self._lock:
            if len(self._keys) > MOST_KEYS:
                self._keys = {name: item for name, item in self._keys.items() if not _is_over(item[1]())}
            request, job = self._begun(key)
        if job is None or job.result.done():
            return None
        if request != key.request:
            raise Refused("key-reused", "this key was used for another request", "use a new key for a new question")
        return job

    def _begun(self, key: Key) -> tuple[str, Job | None]:
        request, job = self._keys.get(key.name, ("", _gone))
        return request, job()

    def _submit(self, submission: Submission) -> Job:
        return self.queue.submit(submission.line, submission.perform)

    @staticmethod
    async def wait(job: Job, seconds: float) -> bool:
        """Whether the job ended within so many seconds."""
        if seconds and not job.result.done():
            await _ended(job, seconds)
        return job.result.done()

    def leave(self, job: Job) -> None:
        """Whoever asked is gone: what waits need not be answered, what runs is kept for the next time."""
        if job.state is State.QUEUED:
            self.queue.cancel(job)

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def drain(self) -> None:
        """Somebody wants to stop the server: what is charged goes on, and nothing else is begun."""
        self._stopping = True
        self.queue.drain()

    async def drained(self, seconds: float) -> None:
        """Wait for what runs, for so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.queue.running:
                    await asyncio.sleep(LOOK)

    def close(self) -> None:
        self.queue.close()
        self.free.close()


def _gone() -> None:
    """The job of a key that nobody has used."""


def _has_failed(job: Job) -> bool:
    """Whether it ended without an answer: how is told to whoever asked then, and may be no longer so."""
    return job.result.done() and job.result.exception() is not None


def _is_over(job: Job | None) -> bool:
    return job is None or job.result.done()


async def _ended(job: Job, seconds: float | None = None) -> None:
    """Wait for its end, for so many seconds at most. It goes on if whoever waits is gone: `asyncio.wrap_future` would
    cancel it halfway.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not ended.done():
            ended.set_result(None)

    def hand_over(_: object) -> None:
        with suppress(RuntimeError):  # the server stopped before the job did
            loop.call_soon_threadsafe(tell)

    job.result.add_done_callback(hand_over)
    alarm = None if seconds is None else loop.call_later(seconds, tell)
    try:
        await ended
    finally:
        if alarm is not None:
            alarm.cancel()


def _digest(value: object) -> str:
    written = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:32]
