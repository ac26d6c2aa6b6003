"""A request that is sent twice is charged once: at once, later, and after the server was killed."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.accounting.record import Key
from discreet.answers.call import Call
from discreet.curator.state import ledger_path
from discreet.errors import QueryFailed
from discreet.ledger import Ledger, LedgerError, verify
from discreet.policy import read
from discreet.server import queue as queues
from discreet.server.dispatch import Dispatcher, Submission
from discreet.server.queue import Job, Queue
from tests.server.running import HELD, RIGGED, Running, build, serving, until
from tests.server.visitor import site

QUESTION = {"sql": "SELECT COUNT(*) FROM patients", "epsilon": 0.1, "fresh": True}


def ask(client: httpx.Client, key: str | None, **more: Any) -> httpx.Response:
    headers = {} if key is None else {"idempotency-key": key}
    return client.post("datasets/hospital/query", json={**QUESTION, **more}, headers=headers)


@contextmanager
def going(client: httpx.Client, headers: dict[str, str] | None = None, **more: Any) -> Iterator[None]:
    """Somebody who has asked, and goes away at the end without an answer."""
    asked = client.build_request("POST", "datasets/hospital/query", json={**QUESTION, **more}, headers=headers)
    with closing(HTTPConnection(client.base_url.host, client.base_url.port or 80)) as leaves:
        leaves.request("POST", asked.url.path, asked.content, dict(asked.headers))
        yield


def charges(client: httpx.Client) -> int:
    return len(client.get("datasets/hospital/ledger").json()["entries"])


def test_one_after_the_other(server: Running) -> None:
    with server.client() as client:
        before = charges(client)
        first, second = (ask(client, "one after the other").json() for _ in range(2))
        assert charges(client) == before + 1
        assert (first["cached"], second["cached"]) == (False, True)
        assert first["rows"] == second["rows"]
        assert first["receipt"] == second["receipt"]
        assert second["loss"] == {"rho": 0.0, "delta": 0.0}
        assert ask(client, "another key").json()["receipt"] != first["receipt"]
        assert ask(client, None).json()["cached"] is False
        assert charges(client) == before + 3


@pytest.mark.parametrize("more", [{"epsilon": 0.2}, {"fresh": False}, {"sql": "SELECT AVG(age) FROM patients"}])
def test_a_key_is_for_one_request(server: Running, more: dict[str, Any]) -> None:
    with server.client() as client:
        assert ask(client, "for one request").status_code == 200
        before = charges(client)
        refused = ask(client, "for one request", **more)
        assert (refused.status_code, refused.json()["code"], refused.json()["spent"]) == (422, "key-reused", 0)
        assert charges(client) == before


def test_keys_of_two_callers_are_two(server: Running) -> None:
    with server.client("epidemiology") as one, server.client("finance") as two:
        assert ask(one, "the same").json()["cached"] is False
        assert ask(two, "the same").json()["cached"] is False


def test_a_refused_request_may_be_sent_again(server: Running) -> None:
    with server.client() as client:
        refused = ask(client, "too dear", epsilon=1000)
        assert refused.status_code == 402
        assert ask(client, "too dear", epsilon=0.1).status_code == 200


@pytest.mark.parametrize("key", ["", "k" * 201])
def test_keys_have_a_length(server: Running, key: str) -> None:
    with server.client() as client:
        found = ask(client, key)
        assert (found.status_code, found.json()["code"]) == (422, "body-invalid")


@pytest.mark.parametrize("key", ["k" * 200, "schlüssel".encode(), b"\xff\xfe", '";--', "0"])
def test_keys_may_look_like_anything(server: Running, key: str | bytes) -> None:
    with server.client() as client:
        first, second = (ask(client, key).json() for _ in range(2))  # type: ignore[arg-type]
        assert first["receipt"] == second["receipt"]


def test_dummies_take_keys_and_cost_nothing(server: Running) -> None:
    with server.client() as client:
        before = charges(client)
        assert ask(client, "dummy", dummy=True).status_code == 200
        assert ask(client, "dummy", dummy=True, epsilon=0.2).status_code == 200
        assert charges(client) == before


def test_twice_at_once(rigged: Running) -> None:
    with rigged.client() as client, ThreadPoolExecutor(8) as pool:
        before = charges(client)
        sent = [pool.submit(ask, client, "at once", sql=HELD) for _ in range(8)]
        rigged.begun()
        until(lambda: client.get("health").json()["waiting"] == 0)
        other = ask(client, "at once", sql=HELD, epsilon=0.2)
        assert (other.status_code, other.json()["code"]) == (422, "key-reused")
        rigged.release()
        answers = [each.result(300).json() for each in sent]
        assert len({answer["receipt"] for answer in answers}) == 1
        assert len({str(answer["rows"]) for answer in answers}) == 1
        assert charges(client) == before + 1
        assert len(list(rigged.policy.parent.glob("begun-*"))) == 1  # the data were read once


class Racing:
    """A curator to whom the same request comes twice: the second looks just after the first was charged."""

    def __init__(self) -> None:
        self.charged, self.go, self.looks = threading.Event(), threading.Event(), iter([False, True])
        self._lock = threading.Lock()

    def free(self, _: Call) -> None:
        with self._lock:
            is_second = next(self.looks)
        if is_second:
            assert self.charged.wait(300)
            raise QueryFailed

    def perform(self, _: Call) -> int:
        self.charged.set()
        assert self.go.wait(300)
        return 42


@pytest.mark.parametrize("ends_first", [False, True])
def test_the_second_gets_the_answer_of_the_first_however_close_they_are(ends_first: bool) -> None:
    curator, dispatcher = Racing(), Dispatcher(Queue(1))
    if ends_first:
        curator.go.set()
    asked = Submission(curator, Call(sql="q", key=Key("name", "request")), "line")  # type: ignore[arg-type]

    async def both() -> tuple[Any, Any]:
        return await asyncio.gather(dispatcher.ask(asked), dispatcher.ask(asked))

    first, second = asyncio.run(both())
    curator.go.set()
    assert first is second
    assert first.result.result(300) == 42
    dispatcher.close()


def test_the_other_one_is_answered_if_the_first_goes_away(rigged: Running) -> None:
    """A client whose connection broke sends its request again; that the first is gone must not end the second."""
    with rigged.client() as client, ThreadPoolExecutor(4) as pool:
        before = charges(client) + 2
        busy = [pool.submit(ask, client, None, sql=HELD) for _ in range(2)]  # as many as one caller may have
        until(lambda: client.get("health").json()["running"] == 2 and charges(client) == before)
        with going(client, sql="SELECT AVG(age) FROM patients", headers={"idempotency-key": "again"}):
            until(lambda: client.get("health").json()["waiting"] == 1)
        second = pool.submit(ask, client, "again", sql="SELECT AVG(age) FROM patients")
        until(lambda: client.get("health").json()["waiting"] == 1)
        with pytest.raises(TimeoutError):
            second.result(2.5)  # longer than a server takes to notice who is gone
        rigged.release()
        assert second.result(300).status_code == 200
        assert [each.result(300).status_code for each in busy] == [200, 200]
        assert charges(client) == before + 1


def test_whoever_goes_away_without_a_key_pays_nothing_while_it_waits(rigged: Running) -> None:
    with rigged.client() as client, ThreadPoolExecutor(2) as pool:
        before = charges(client) + 2
        busy = [pool.submit(ask, client, None, sql=HELD) for _ in range(2)]
        until(lambda: client.get("health").json()["running"] == 2 and charges(client) == before)
        with going(client):
            until(lambda: client.get("health").json()["waiting"] == 1)
        until(lambda: client.get("health").json()["waiting"] == 0)
        rigged.release()
        assert [each.result(300).status_code for each in busy] == [200, 200]
        assert charges(client) == before


@pytest.mark.long
def test_after_kill_9_nothing_is_charged_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    policy = build(tmp_path_factory.mktemp("killed"))
    with serving(policy, program=RIGGED) as first, first.client() as client, ThreadPoolExecutor(1) as pool:
        answered = ask(client, "answered").json()
        cut = pool.submit(ask, client, "cut off", sql=HELD)
        first.begun()
        first.kill()
        with pytest.raises(httpx.TransportError):
            cut.result(300)
    assert verify(ledger_path(read(policy))).sound
    with serving(policy, tokens=first.tokens) as second, second.client() as client:
        again = ask(client, "answered").json()
        assert (again["receipt"], again["rows"], again["cached"]) == (answered["receipt"], answered["rows"], True)
        failed = ask(client, "cut off", sql=HELD)
        assert (failed.status_code, failed.json()["code"], failed.json()["spent"]) == (500, "failed", None)
        assert "has no answer; what it cost stays spent" in failed.json()["reason"]
        entries = client.get("datasets/hospital/ledger").json()["entries"]
        assert [entry["answered"] for entry in entries] == [True, False]
        lost = client.get(f"datasets/hospital/answers/{entries[1]['number']}")
        assert (lost.status_code, lost.json()["code"]) == (404, "unknown-answer")
        assert ask(client, "a new request").status_code == 200
        report = verify(ledger_path(read(policy)), [answered["receipt"]])
        assert (report.sound, report.charges) == (True, 3)


@pytest.mark.parametrize("when", ["_keep", "_settle"])
def test_a_disk_that_was_full_after_the_charge_is_told_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A request that was charged and could not be answered was told again as it had failed: that nothing was released,
    and to try again in a second. So clients did, with its key, for the ten minutes that jobs are remembered.
    """
    with site(build(tmp_path, patients=20)) as made:
        client, settle = made.visitor(), Ledger._settle
        bearer = {"authorization": f"Bearer {made.tokens['finance']}"}

        def sent(key: str) -> Any:
            headers = {**bearer, "idempotency-key": key}
            return client.post("/api/v1/datasets/hospital/query", json=QUESTION, headers=headers)

        def full(*given: Any) -> None:
            if when == "_settle":
                settle(*given)
                for charge in given[1]:
                    charge.refusal = LedgerError("the mark could not be moved", "free some space")
            else:
                raise LedgerError("the disk is full", "free some space")

        with monkeypatch.context() as patch:
            patch.setattr(Ledger, when, full)
            first = sent("once")
        assert first.json()["spent"] is None
        assert (first.status_code, first.json()["code"]) == ((500, "failed") if when == "_keep" else (503, "ledger"))
        for _ in range(2):
            again = sent("once")
            assert (again.status_code, again.json()["code"]) == (500, "failed")
            assert "has no answer; what it cost stays spent" in again.json()["reason"]
            assert "retry-after" not in again.headers
        assert sent("another").status_code == 200
        spent = client.get("/api/v1/datasets/hospital/ledger", headers=bearer).json()["entries"]
        assert [each["answered"] for each in spent] == [False, True]


def test_a_key_holds_no_answer_longer_than_its_job_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients send one with each request, and answers may have megabytes: ten thousand of them were held for ever."""
    with site(build(tmp_path, patients=20)) as made:
        visitor, dispatcher = made.visitor(), made.app.state.app_state.dispatcher
        bearer = {"authorization": f"Bearer {made.tokens['finance']}", "idempotency-key": "once"}

        def sent() -> dict[str, Any]:
            answer: dict[str, Any] = visitor.post(
                "/api/v1/datasets/hospital/query", json=QUESTION, headers=bearer
            ).json()
            return answer

        first = sent()
        assert until(lambda: not dispatcher.queue._jobs)
        monkeypatch.setattr(queues, "REMEMBERED", -1.0)
        assert dispatcher.queue.find("", "") is None  # whoever looks drops what is too old
        gc.collect()
        jobs = [each for each in gc.get_objects() if type(each) is Job]
        assert not [each for each in jobs if each.caller.startswith("hospital/")]
        assert (sent()["receipt"], first["cached"]) == (first["receipt"], False)
