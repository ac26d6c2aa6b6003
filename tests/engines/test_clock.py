"""Limits of time: one clock for all of a process, which nothing that goes wrong with one of them stops."""

from __future__ import annotations

import os
import threading

import pytest

from discreet.engines.stopping import Clock, clock

PATIENCE = 60.0
NEVER = 3600.0


class Rung:
    """Counts how often it was called."""

    def __init__(self, times: int = 1) -> None:
        self.count, self._times, self._enough = 0, times, threading.Event()

    def __call__(self) -> None:
        self.count += 1
        if self.count >= self._times:
            self._enough.set()

    def wait(self) -> bool:
        return self._enough.wait(PATIENCE)


def test_it_rings_when_time_is_up_and_again_until_the_block_ends() -> None:
    rung = Rung(times=3)
    with clock().limit(rung, 0.0, 0.001):
        assert rung.wait()
    count = rung.count
    other = Rung(times=3)
    with clock().limit(other, 0.0, 0.001):
        assert other.wait()
    assert rung.count == count


def test_what_ends_in_time_never_rings() -> None:
    rungs = [Rung() for _ in range(100)]
    for rung in rungs:
        with clock().limit(rung, NEVER, NEVER):
            pass
    last = Rung()
    with clock().limit(last, 0.0, NEVER):
        assert last.wait()
    assert not any(rung.count for rung in rungs)


def test_one_that_is_due_sooner_wakes_the_clock() -> None:
    late, soon, own = Rung(), Rung(), Clock()
    with own.limit(late, NEVER, NEVER), own.limit(soon, 0.001, NEVER):
        assert soon.wait()
    assert not late.count


def test_what_fails_keeps_the_clock_from_nobody() -> None:
    def fail() -> None:
        raise RuntimeError("the cursor is gone")

    rung = Rung(times=2)
    with clock().limit(fail, 0.0, 0.001), clock().limit(rung, 0.0, 0.001):
        assert rung.wait()


def test_a_block_does_not_end_while_it_rings() -> None:
    """Whatever it interrupts may be closed right behind the block."""
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def ring() -> None:
        began.set()
        may_end.wait(PATIENCE)
        ended.set()

    with Clock().limit(ring, 0.0, NEVER):
        assert began.wait(PATIENCE)
        threading.Timer(0.01, may_end.set).start()
    assert ended.is_set()


def test_the_block_ends_with_its_own_failure() -> None:
    with pytest.raises(KeyError, match="own"), clock().limit(Rung(), NEVER, NEVER):
        raise KeyError("own")


def test_a_fork_has_a_clock_of_its_own() -> None:
    before = clock()
    child = os.fork()
    if not child:
        rung = Rung()
        with clock().limit(rung, 0.0, NEVER):
            os._exit(0 if rung.wait() and clock() is not before else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert clock() is before
