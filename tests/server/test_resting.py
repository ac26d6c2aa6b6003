"""Whoever has sent more than is being answered rests now and then, while somebody is there who asks one at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from discreet.server import queue as module
from discreet.server.queue import LEAST, REST, Job, Queue, State
from tests.server.running import until

LONG = 100 * LEAST


class Room:
    """Two workers, a clock that stands still until it is moved, and questions that last until they are let go."""

    def __init__(self, workers: int = 2, beside: Queue | None = None) -> None:
        self.now = 1000.0
        self.queue = Queue(workers, beside=beside)
        self._going: dict[str, threading.Event] = {}

    def ask(self, caller: str) -> Job:
        going = threading.Event()
        job = self.queue.submit(caller, lambda: going.wait(300))
        self._going[job.id] = going
        return job

    def end(self, job: Job, after: float = LONG) -> None:
        """So many seconds later it ends."""
        until(lambda: job.state is State.RUNNING)
        self.later(after)
        self._going[job.id].set()
        job.result.result(300)
        until(lambda: job.id not in self.queue._running)

    def later(self, seconds: float) -> None:
        self.now += seconds
        with self.queue._changed:
            self.queue._changed.notify_all()

    def close(self) -> None:
        for each in self._going.values():
            each.set()
        self.queue.close()


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    made = Room()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: made.now))
    yield made
    made.close()


def crowd(room: Room) -> tuple[Job, Job]:
    """Two of one caller, of which the first is being answered."""
    one, two = room.ask("loud"), room.ask("loud")
    until(lambda: one.state is State.RUNNING)
    return one, two


def test_a_crowd_gives_way_to_whoever_asks_one_at_a_time(room: Room) -> None:
    modest = room.ask("modest")
    until(lambda: modest.state is State.RUNNING)
    one, two = crowd(room)
    room.end(one)
    assert room.queue._resting("loud") == 1
    third = room.ask("third")  # whoever else comes has the worker meanwhile
    room.end(third, 0)
    assert two.state is State.QUEUED
    room.later(REST * LONG)
    until(lambda: two.state is State.RUNNING)


def test_it_rests_too_when_the_other_was_answered_a_moment_ago(room: Room) -> None:
    """Else all would begin at the same time again and again, and nobody had the machine alone."""
    modest = room.ask("modest")
    one, two = crowd(room)
    room.end(modest)
    room.end(one, 0)
    assert room.queue._resting("loud") == 1
    assert two.state is State.QUEUED


def test_nobody_rests_for_whoever_is_long_gone(room: Room) -> None:
    room.end(room.ask("modest"))
    room.later(LEAST)
    one, two = crowd(room)
    room.end(one)
    until(lambda: two.state is State.RUNNING)


def test_crowds_do_not_rest_for_each_other(room: Room) -> None:
    """The machine would stand still."""
    other = [room.ask("other") for _ in range(2)]
    until(lambda: other[0].state is State.RUNNING)
    one, two = crowd(room)
    room.end(one)
    until(lambda: two.state is State.RUNNING)


def test_nobody_rests_for_themselves(room: Room) -> None:
    one, two = crowd(room)
    room.end(one)
    three = room.ask("loud")
    room.end(two)
    room.end(three)


def test_what_takes_no_time_needs_no_rest(room: Room) -> None:
    modest = room.ask("modest")
    until(lambda: modest.state is State.RUNNING)
    one, two = crowd(room)
    room.end(one, LEAST / 2)
    until(lambda: two.state is State.RUNNING)


def test_a_worker_that_is_alone_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines take turns at it: nobody shares the machine with anybody."""
    room = Room(1)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: room.now))
    room.end(room.ask("modest"))
    one, two = crowd(room)
    room.end(one, LONG)
    until(lambda: two.state is State.RUNNING)
    room.close()


def test_free_work_gives_way_to_what_is_charged(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in another queue, on the same machine."""
    modest = room.ask("modest")
    until(lambda: modest.state is State.RUNNING)
    free = Room(beside=room.queue)
    one, two = crowd(free)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: free.now))
    free.end(one)
    assert free.queue._resting("loud") == 1
    assert two.state is State.QUEUED
    free.close()


def test_a_rest_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nobody sends anything: whoever waits wakes."""
    monkeypatch.setattr(module, "LEAST", 0.0)
    queue, going = Queue(2), threading.Event()
    modest = queue.submit("modest", going.wait)
    until(lambda: modest.state is State.RUNNING)
    jobs = [queue.submit("loud", lambda: None) for _ in range(50)]
    for job in jobs:
        job.result.result(300)
    going.set()
    queue.close()
    assert not any(queue._resting(line) for line in ("loud", "modest"))


def test_a_rest_that_ends_while_somebody_looks_is_not_slept_through(room: Room) -> None:
    """Between looking for work and going to sleep: nobody would wake whoever sleeps then while nothing is sent."""
    with room.queue._changed:
        room.queue._rests["loud"] = [room.now]
        assert room.queue._until_rested() == 0
        assert room.queue._until_rested() is None


def test_whoever_asks_without_end_makes_no_crowd_rest_for_longer(room: Room) -> None:
    """The attack: one question after the other, so that others rest. Each rest is of one question, and they do not add
    up: a crowd has at least two thirds of what it had.
    """
    modest = room.ask("modest")
    jobs = [room.ask("loud") for _ in range(9)]
    for job in jobs[:-1]:
        room.end(job)
        assert room.queue._rests["loud"] == [pytest.approx(room.now + REST * LONG)]
        room.later(REST * LONG)
    until(lambda: jobs[-1].state is State.RUNNING)
    assert modest.state is State.RUNNING


def test_closing_waits_for_no_rest(room: Room) -> None:
    modest = room.ask("modest")
    one, two = crowd(room)
    room.end(one)
    room._going[modest.id].set()
    room.queue.close()
    assert two.state is State.CANCELLED
