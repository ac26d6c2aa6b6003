"""Somebody with a token sends free work without end, or questions that last, to keep others from being answered.

Previews and answers over made-up rows take no worker of those who pay, end after some seconds, and of their threads
one caller has one; questions of one caller hold half of the workers. So another caller's work begins at once.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.engines import session
from discreet.engines.stopping import CURRENT
from discreet.errors import QueryFailed, Refused
from discreet.server import app
from discreet.server.dispatch import FREE_SECONDS, LIGHT, Dispatcher
from discreet.server.limits import BURST, CALLER, GUESSES, Rates, TooMany
from discreet.server.queue import Queue, State
from tests.server.running import ENDLESS, build, until
from tests.server.visitor import Site, site

SOON = 300.0
HOME = "/data/hospital"
API = "/api/v1/datasets/hospital"
LASTS = f"{ENDLESS[:-1]} for free'"


class Crowd:
    """A queue, and work in it that lasts until it is let go."""

    def __init__(self, workers: int) -> None:
        self.queue, self.go = Queue(workers), threading.Event()

    def lasts(self, caller: str, many: int) -> list[Any]:
        return [self.queue.submit(caller, self.go.wait) for _ in range(many)]

    def close(self) -> None:
        self.go.set()
        self.queue.close()


@pytest.fixture
def crowd() -> Iterator[Callable[[int], Crowd]]:
    made: list[Crowd] = []

    def make(workers: int) -> Crowd:
        made.append(Crowd(workers))
        return made[-1]

    yield make
    for each in made:
        each.close()


# turns


@pytest.mark.parametrize("workers", [2, 3, 4, 8])
def test_one_caller_holds_half_of_the_workers(crowd: Callable[[int], Crowd], workers: int) -> None:
    """However many questions it sends; so another's is answered while all of the first's last."""
    room = crowd(workers)
    loud = room.lasts("loud", 50)
    until(lambda: room.queue.running == max(1, workers // 2))
    assert room.queue.submit("quiet", lambda: 42).result.result(SOON) == 42
    assert sum(job.state is State.RUNNING for job in loud) == max(1, workers // 2)
    room.go.set()
    for job in loud:
        assert job.result.result(SOON)


def test_a_token_has_one_line_whatever_datasets_it_opens(crowd: Callable[[int], Crowd]) -> None:
    room = crowd(2)
    for dataset in ("a", "b", "c"):
        room.lasts(f"{dataset}/token", 2)
    until(lambda: room.queue.running == 1)
    assert room.queue.submit("a/other", lambda: 42).result.result(SOON) == 42
    until(lambda: room.queue.running == 1)


def test_positions_count_those_who_may_begin(crowd: Callable[[int], Crowd]) -> None:
    room = crowd(4)
    room.lasts("a", 2)
    room.lasts("b", 2)
    until(lambda: room.queue.running == 4)
    first, second = room.lasts("a", 2)
    other = room.lasts("c", 1)[0]
    assert [room.queue.position(job) for job in (first, second, other)] == [2, 3, 1]


def test_one_worker_is_everybody_s(crowd: Callable[[int], Crowd]) -> None:
    room = crowd(1)
    room.lasts("a", 3)
    room.go.set()
    assert room.queue.submit("b", lambda: 42).result.result(SOON) == 42


# free work


@pytest.fixture
def dispatcher() -> Iterator[Dispatcher]:
    made = Dispatcher(Queue(2))
    yield made
    made.close()


def test_free_work_of_one_caller_leaves_room_for_others(dispatcher: Dispatcher) -> None:
    go, running, most, lock = threading.Event(), [0], [0], threading.Lock()

    def lasts() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        assert go.wait(SOON)
        with lock:
            running[0] -= 1

    async def sent(caller: str, work: Callable[[], Any]) -> Any:
        CALLER.set(caller)
        return await dispatcher.light(work)

    async def everybody() -> None:
        loud = [asyncio.create_task(sent("loud", lasts)) for _ in range(20)]
        while dispatcher.free.running < 1:
            await asyncio.sleep(0.001)
        for number in range(LIGHT - 1):
            assert await asyncio.create_task(sent(f"quiet {number}", lambda: 42)) == 42
        assert most == [1]
        go.set()
        await asyncio.gather(*loud)
        assert most == [1]

    asyncio.run(everybody())
    assert dispatcher.queue.running == 0
    until(lambda: not dispatcher.free._ended)  # pages and answers are not kept in memory


def test_free_work_is_stopped(dispatcher: Dispatcher) -> None:
    begun = threading.Event()

    def lasts() -> None:
        stop, interrupted = CURRENT.get(), threading.Event()
        assert stop is not None
        with stop.over(interrupted.set):
            begun.set()
            assert interrupted.wait(SOON)
        raise QueryFailed

    async def sent() -> None:
        task = asyncio.create_task(dispatcher.light(lasts))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        dispatcher.free.stop_late(FREE_SECONDS)  # it has only just begun
        assert not task.done()
        dispatcher.free.stop_late(-1)
        await task

    with pytest.raises(Refused) as refused:
        asyncio.run(sent())
    assert refused.value.code == "free-limit"


# through the pages and the interface


@pytest.fixture
def lasting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server whose answers about this key take for ever, also those over made-up rows."""
    real = session.rows
    heavy = "SELECT COUNT(*) FROM range(1000000000000) WHERE hash(range) = 42"

    def rows(connection: Any, asked: Any, seconds: float | None) -> Any:
        query = getattr(asked, "query", asked)  # of what was parsed before
        return real(connection, heavy if "'endless" in query else query, seconds)

    monkeypatch.setattr(session, "rows", rows)
    monkeypatch.setattr(app, "FREE_SECONDS", SOON)  # on a busy machine what others ask may take longer than is free
    with site(build(tmp_path, patients=10)) as made:
        yield made


def test_tries_and_dummies_hold_up_nobody(lasting: Site) -> None:
    dispatcher = lasting.app.state.app_state.dispatcher
    loud, quiet = lasting.visitor("epidemiology"), lasting.visitor("finance")
    proof, other = loud.proof(HOME), quiet.proof(HOME)
    bearer = {"authorization": f"Bearer {lasting.tokens['epidemiology']}", "accept": "application/json"}

    async def everybody() -> list[httpx.Response]:
        tries = [loud.client.post(f"{HOME}/try", data={"proof": proof, "sql": LASTS, "epsilon": "1"}) for _ in range(3)]
        body = {"sql": LASTS, "epsilon": 1, "dummy": True}
        dummies = [loud.client.post(f"{API}/query", json=body, headers=bearer) for _ in range(3)]
        sent = [asyncio.create_task(each) for each in (*tries, *dummies)]
        while dispatcher.free.running < 1:
            await asyncio.sleep(0.005)
        fields = {"proof": other, "sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": "0.1"}
        seen = await quiet.client.post(f"{HOME}/preview", data=fields)
        tried = await quiet.client.post(f"{HOME}/try", data=fields)
        assert (seen.status_code, tried.status_code) == (200, 200)
        assert "not your data" in tried.text
        asked = await quiet.client.post(f"{HOME}/ask", data=fields)
        assert asked.status_code == 303
        assert not any(task.done() for task in sent)  # all of this came first
        assert dispatcher.queue.waiting == 0
        while not all(task.done() for task in sent):
            dispatcher.free.stop_late(-1)
            await asyncio.sleep(0.005)
        return [task.result() for task in sent]

    found = lasting.loop.run_until_complete(everybody())
    assert [each.status_code for each in found] == [422] * 6
    assert all("what is free takes at most" in each.text for each in found)
    assert found[-1].json()["code"] == "free-limit"


def test_how_busy_it_is_is_told_with_a_token_only(lasting: Site) -> None:
    nobody, somebody = lasting.visitor(), lasting.visitor()
    assert nobody.get("/api/v1/health").json() == {"status": "ok"}
    for token, told in ((lasting.tokens["finance"], {"waiting": 0, "running": 0}), ("discreet_0_0", {}), ("", {})):
        somebody.client.headers["authorization"] = f"Bearer {token}"
        assert somebody.get("/api/v1/health").json() == {"status": "ok", **told}


# guessing


def test_wrong_tokens_are_counted_and_right_ones_are_never_refused(
    lasting: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()  # and no later, however long it takes: buckets fill by time
    monkeypatch.setattr("discreet.server.limits.time", type("Clock", (), {"monotonic": staticmethod(lambda: now)}))
    visitor = lasting.visitor()
    statuses = [visitor.post("/sign-in", {"token": f"wrong {number}"}).status_code for number in range(GUESSES)]
    burst = int(GUESSES * BURST / 60)
    assert statuses[:burst] == [401] * burst
    assert set(statuses[burst:]) == {429}
    refused = visitor.post("/sign-in", {"token": "wrong"})
    assert (refused.status_code, refused.headers["discreet-code"]) == (429, "rate-limited")
    assert int(refused.headers["retry-after"]) >= 1
    assert visitor.post("/sign-in", {"token": lasting.tokens["finance"]}).status_code == 303


def test_whoever_guesses_spends_nobody_else_s_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.limits.time", type("Clock", (), {"monotonic": staticmethod(lambda: 0.0)}))
    rates = Rates()

    def guess(host: str | None) -> int:
        """How many more tries an address has."""
        many = 0
        try:
            while many < 1000:
                rates.guessed(host)
                many += 1
        except TooMany:
            pass
        return many

    assert guess("192.0.2.1") == guess("192.0.2.2") == guess("2001:db8::1") == guess(None) == GUESSES * BURST / 60
    assert guess("2001:db8::ffff") == 0  # the same network
    rates.admit("token", 600)


def test_the_caller_is_the_request_s_own(lasting: Site) -> None:
    """What one request left behind does not count for the next one on the same connection."""
    CALLER.set("somebody else")
    seen: list[str] = []
    dispatcher = lasting.app.state.app_state.dispatcher
    real = dispatcher.free.submit

    def submit(caller: str, work: Callable[[], Any]) -> Any:
        seen.append(caller)
        return real(caller, work)

    dispatcher.free.submit = submit
    visitor = lasting.visitor("finance")
    visitor.get(HOME)
    known = {token.id for dataset in lasting.app.state.app_state.datasets.values() for token in dataset.tokens.all()}
    assert seen
    assert set(seen) <= known
    assert len(set(seen)) == 1
