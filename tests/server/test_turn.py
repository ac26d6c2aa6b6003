"""The event loop and what is free take turns, and nobody waits for one who does not give the turn back."""

from __future__ import annotations

import asyncio
import threading

from discreet.server.queue import Queue
from discreet.server.turn import Selector, Turn, event_loop
from tests.server.running import until

LONG = 300.0


def taker(turn: Turn) -> tuple[threading.Thread, list[threading.Lock]]:
    """Somebody who wants the turn, and what it gets."""
    got: list[threading.Lock] = []
    thread = threading.Thread(target=lambda: got.append(turn.take()), daemon=True)
    thread.start()
    return thread, got


def test_the_next_one_gets_it_when_it_is_given_back() -> None:
    turn = Turn(LONG)
    lent = turn.take()
    thread, got = taker(turn)
    until(turn._first.locked)
    assert not got
    lent.release()
    thread.join(LONG)
    assert len(got) == 1
    assert got[0].locked()


def test_one_that_keeps_it_loses_it_and_may_give_it_back_late() -> None:
    turn = Turn(0.001)
    kept = turn.take()
    other = turn.take()  # which waits a moment, and no longer
    assert other is not kept
    kept.release()  # this is nobody's turn any more
    assert other.locked()
    turn._lease = LONG
    thread, got = taker(turn)
    until(turn._first.locked)
    assert not got
    other.release()
    thread.join(LONG)
    assert len(got) == 1


def test_an_event_loop_has_the_turn_unless_it_waits() -> None:
    turn = Turn(LONG)
    loop = asyncio.SelectorEventLoop(Selector(turn))

    got = threading.Event()

    def take() -> None:
        lent = turn.take()
        got.set()
        lent.release()

    async def work() -> bool:
        threading.Thread(target=take, daemon=True).start()
        until(turn._first.locked)
        had_it = not got.is_set()
        while not got.is_set():
            await asyncio.sleep(0.001)
        return had_it

    try:
        assert loop.run_until_complete(work())
    finally:
        loop.close()
    assert not turn._lent.locked()


def test_workers_take_turns_and_outlast_an_event_loop_that_is_stuck() -> None:
    turn = Turn(0.001)
    turn.take()  # and nobody gives it back
    queue = Queue(2, turn=turn)
    try:
        inside, most = 0, 0
        lock = threading.Lock()

        def work() -> None:
            nonlocal inside, most
            with lock:
                inside += 1
                most = max(most, inside)
            with lock:
                inside -= 1

        jobs = [queue.submit(caller, work) for caller in "abcdefgh"]
        for job in jobs:
            job.result.result(LONG)
        turn._lease = LONG
        jobs = [queue.submit(caller, work) for caller in 20 * "ab"]
        most = 0
        for job in jobs:
            job.result.result(LONG)
        assert most <= 1
    finally:
        queue.close()


def test_a_server_uses_such_an_event_loop() -> None:
    loop = event_loop()
    try:
        assert isinstance(loop._selector, Selector)  # type: ignore[attr-defined]
    finally:
        loop.close()
