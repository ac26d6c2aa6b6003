"""Fair turns, exact positions, cancelling, limits."""

from __future__ import annotations

import asyncio
import itertools
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.engines.stopping import CURRENT
from discreet.errors import Refused
from discreet.server import queue as module
from discreet.server.dispatch import LIGHT, Dispatcher
from discreet.server.queue import Job, Queue, State
from tests.server.running import until

SOON = 300.0


class Held:
    """A queue of one worker that is busy until `go`; then it notes whom it serves, in order."""

    def __init__(self, **settings: Any) -> None:
        self.go, self.served = threading.Event(), []  # type: ignore[var-annotated]
        self.queue = Queue(1, **settings)
        self.first = self.queue.submit("first", self.go.wait)
        until(lambda: self.first.state is State.RUNNING)

    def ask(self, caller: str, name: object = None) -> Job:
        return self.queue.submit(caller, lambda: self.served.append(name))


@contextmanager
def held(**settings: Any) -> Iterator[Held]:
    made = Held(**settings)
    try:
        yield made
    finally:
        made.go.set()
        made.queue.close()


def test_lines_take_turns() -> None:
    with held() as room:
        jobs = [room.ask(name[0], name) for name in ("a1", "a2", "a3", "b1", "c1", "b2")]
        room.go.set()
        for job in jobs:
            job.result.result(SOON)
        assert room.served == ["a1", "b1", "c1", "a2", "b2", "a3"]


ORDERS = sorted({order for size in range(1, 6) for order in itertools.product("abc", repeat=size)})
"""All ways in which up to five questions of three callers can arrive: 363."""


def test_positions_are_exact_in_every_small_case() -> None:
    """Each question is served at the place that it was told, whoever else asks, and whatever was taken out."""
    with held() as room:
        for removed in (None, 0, 2):
            for order in ORDERS:
                jobs = [room.ask(caller) for caller in order]
                if removed is not None and removed < len(jobs):
                    room.queue.cancel(jobs.pop(removed))
                told = {job: room.queue.position(job) for job in jobs}
                with room.queue._changed:
                    turns = [room.queue._next() for _ in jobs]
                assert [told[job] for job in turns] == list(range(1, len(jobs) + 1)), (order, removed)
                assert all(room.queue.position(job) is None for job in turns)


def test_a_flood_of_one_caller_delays_another_by_one_turn() -> None:
    with held() as room:
        flood = [room.ask("loud") for _ in range(50)]
        quiet = room.ask("quiet")
        assert room.queue.position(quiet) == 2
        assert [room.queue.position(job) for job in flood[:3]] == [1, 3, 4]


def test_what_waits_is_cancelled_without_being_begun() -> None:
    with held() as room:
        waits, other = room.ask("a", "cancelled"), room.ask("b", "other")
        room.queue.cancel(waits)
        assert waits.state is State.CANCELLED
        assert isinstance(waits.result.exception(0), CancelledError)
        assert room.queue.position(other) == 1
        room.queue.cancel(waits)  # a second time does nothing
        room.go.set()
        other.result.result(SOON)
        assert room.served == ["other"]


def test_what_runs_is_interrupted_and_its_worker_is_free() -> None:
    interrupted, begun = threading.Event(), threading.Event()

    def work() -> None:
        stop = CURRENT.get()
        assert stop is not None
        with stop.over(interrupted.set):
            begun.set()
            assert interrupted.wait(SOON)
            raise RuntimeError("interrupted")

    queue = Queue(1)
    job, after = queue.submit("a", work), queue.submit("a", lambda: 42)
    assert begun.wait(SOON)
    queue.cancel(job)
    assert isinstance(job.result.exception(SOON), RuntimeError)
    assert job.state is State.CANCELLED
    assert after.result.result(SOON) == 42
    queue.close()


def test_cancelling_what_is_done_changes_nothing() -> None:
    queue = Queue(1)
    job = queue.submit("a", lambda: 42)
    assert job.result.result(SOON) == 42
    queue.cancel(job)
    assert (job.state, job.result.result(0)) == (State.DONE, 42)
    queue.close()


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_workers_survive(failure: type[BaseException]) -> None:
    def fail() -> None:
        raise failure

    queue = Queue(1)
    job = queue.submit("a", fail)
    assert isinstance(job.result.exception(SOON), failure)
    assert job.state is State.DONE
    assert queue.submit("a", lambda: 42).result.result(SOON) == 42
    until(lambda: queue.running == 0)
    queue.close()


def test_so_many_may_wait_and_no_more() -> None:
    with held(most=4, most_of_one=2) as room:
        for caller in "aabb":
            room.ask(caller)
        for caller in "ac":
            with pytest.raises(Refused) as refused:
                room.ask(caller)
            assert refused.value.code == "busy"
        assert room.queue.waiting == 4
    with held(most=4, most_of_one=2) as room:
        job, _ = room.ask("a"), room.ask("a")
        with pytest.raises(Refused, match="busy"):
            room.ask("a")
        room.queue.cancel(job)
        room.ask("a")


def test_a_job_is_found_by_its_caller_only() -> None:
    with held() as room:
        job = room.ask("a")
        assert room.queue.find(job.id, "a") is job
        assert room.queue.find(job.id, "b") is None
        assert room.queue.find("", "a") is None


def test_what_ended_is_remembered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(1)
    job = queue.submit("a", lambda: 42)
    job.result.result(SOON)
    assert queue.find(job.id, "a") is job
    monkeypatch.setattr(module, "REMEMBERED", -1.0)
    assert queue.find(job.id, "a") is None
    queue.close()


def test_of_many_that_ended_only_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENDED", 5)
    with held() as room:  # the first one runs all the time: those behind it are dropped nevertheless
        room.queue._workers.append(threading.Thread(target=room.queue._serve, daemon=True))
        room.queue._workers[-1].start()
        for _ in range(20):
            room.ask("a").result.result(SOON)
        assert len(room.queue._jobs) + len(room.queue._ended) <= 7


def test_nobody_fills_the_memory_with_what_ended_or_pushes_out_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENDED_OF_ONE", 5)
    queue, heavy = Queue(1), list[Job]()
    others = queue.submit("a/b", lambda: 42)
    for number in range(20):
        heavy.append(queue.submit(f"{'xy'[number % 2]}/c", lambda: 42))
        heavy[-1].result.result(SOON)
    assert until(lambda: not queue._jobs)
    assert [job for job in heavy if queue.find(job.id, job.caller)] == heavy[-5:]
    assert queue.find(others.id, "a/b") is others
    monkeypatch.setattr(module, "REMEMBERED", -1.0)
    assert queue.find(others.id, "a/b") is None
    assert not queue._ended
    assert not queue._ended_of
    queue.close()


def test_large_answers_are_not_held_by_the_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred answers with as many groups as there may be would take ten gigabytes; they are counted by what they
    hold. Those of others stay, and so does the newest, however large: whoever asked comes for it.
    """
    monkeypatch.setattr(module, "HELD_OF_ONE", 100)
    queue = Queue(1)
    answers: list[Any] = [SimpleNamespace(rows=[(1, 2)] * 20), [{"rows": [[1, 2]] * 20}], {"text": "x" * 200 * 39}]
    others = queue.submit("b", lambda: answers[0])
    jobs = [queue.submit("a", partial(list, [answer])) for answer in answers * 3]
    largest = queue.submit("a", lambda: [0] * 1000)
    largest.result.result(SOON)
    assert until(lambda: not queue._jobs)
    assert [job.values for job in jobs] == [40] * 9
    assert [job for job in [*jobs, largest] if queue.find(job.id, "a")] == [largest]
    assert queue.find(others.id, "b") is others
    later = [queue.submit("a", lambda: [0] * 40) for _ in range(4)]
    later[-1].result.result(SOON)
    assert until(lambda: not queue._jobs)
    assert [job for job in later if queue.find(job.id, "a")] == later[-2:]
    assert queue._values == {"a": 80, "b": 40}
    monkeypatch.setattr(module, "MOST_HELD", 100)
    assert queue.find(others.id, "b") is None, "of everybody the oldest goes first"
    assert queue._values == {"a": 80}
    queue.close()


def test_what_nobody_can_come_for_is_not_kept() -> None:
    queue = Queue(1)
    jobs = [queue.submit("a", lambda: 42, is_fetched=each) for each in (False, True)]
    assert [job.result.result(SOON) for job in jobs] == [42, 42]
    assert until(lambda: not queue._jobs)
    assert [queue.find(job.id, "a") for job in jobs] == [None, jobs[1]]
    queue.close()


def test_closing_ends_everything() -> None:
    with held() as room:
        waits = room.ask("a")
        threading.Timer(0.05, room.go.set).start()
        room.queue.close()
        assert isinstance(waits.result.exception(0), CancelledError)
        with pytest.raises(Refused, match="busy"):
            room.ask("a")
        assert not any(worker.is_alive() for worker in room.queue._workers)


def test_whoever_waits_no_longer_for_free_work_takes_no_thread_along() -> None:
    """The attack: to be gone in the middle, again and again. What they began ends by itself, and its thread lives."""
    dispatcher = Dispatcher(Queue(1))

    async def leave() -> None:
        going = threading.Event()
        waiting = asyncio.create_task(dispatcher.light(going.wait, SOON))
        while not dispatcher.free.running:
            await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        going.set()

    async def run() -> list[int]:
        for _ in range(2 * LIGHT):
            await leave()
            while dispatcher.free.running:
                await asyncio.sleep(0)
        return [await dispatcher.light(int, number) for number in range(LIGHT)]

    assert asyncio.run(asyncio.wait_for(run(), SOON)) == list(range(LIGHT))
    assert all(thread.is_alive() for thread in dispatcher.free._workers)
    dispatcher.close()


def test_what_failed_holds_none_of_the_rows_that_were_at_hand() -> None:
    """A failure is held for whoever comes for it, with all frames that it went through."""

    class Rows:
        """Exact ones."""

    held: list[weakref.ref[Rows]] = []

    def read() -> None:
        rows = Rows()
        held.append(weakref.ref(rows))
        raise ValueError

    def work() -> None:
        rows = Rows()
        held.append(weakref.ref(rows))
        try:
            read()
        except ValueError as error:
            raise KeyError from error

    job = Job("somebody", work)
    job.run()
    assert isinstance(job.result.exception(), KeyError)
    assert [each() for each in held] == [None, None]
