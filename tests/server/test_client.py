"""The client in bad weather: what it sends again, under which key, and what it makes of other servers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import discreet
from discreet.client import Remote, Unreachable, http, remote
from discreet.client.http import FIRST_TRIES, TRIES, Connection
from discreet.client.remote import Waiting

ANSWER = {
    "question": "q", "columns": ["n"], "types": ["integer"], "rows": [[7]], "intervals": [{"n": [5, 9]}],
    "confidence": 0.95, "loss": {"epsilon": 0.1}, "cost": {"epsilon": 0.1}, "cached": False, "receipt": "3:ab",
    "remaining": {"epsilon": 1.0, "rho": None, "delta": None}, "noise": {"n": "x"}, "notes": [],
    "guarantee": {"epsilon": 3.0, "delta": None},
}  # fmt: skip
JOB = {"job": "j1", "state": "queued", "position": 2}
Reply = httpx.Response | Exception


def problem(status: int, code: str, spent: int | None = 0, headers: dict[str, str] | None = None) -> httpx.Response:
    told = {"code": code, "reason": "because", "fix": "do this", "spent": spent}
    return httpx.Response(status, json=told, headers=headers)


class Weather:
    """A server that replies as it is told to, one reply for each request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *replies: Reply) -> None:
        self.seen: list[httpx.Request] = []
        self.pauses: list[float] = []
        self.waits: list[float] = []
        self.progress: list[Waiting | None] = []
        self._replies = iter(replies)
        clock = {"sleep": staticmethod(self.pauses.append), "monotonic": staticmethod(time.monotonic)}
        monkeypatch.setattr(http, "time", type("Clock", (), clock))
        monkeypatch.setattr(remote, "time", type("Clock", (), {**clock, "sleep": staticmethod(self.waits.append)}))
        connection = Connection("http://localhost", "t", transport=httpx.MockTransport(self._reply))
        self.remote = Remote(connection, "hospital", progress=self.progress.append)

    def _reply(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        found = next(self._replies)
        if isinstance(found, Exception):
            raise found
        return found

    def ask(self) -> discreet.Answer:
        return self.remote.query("SELECT 1", epsilon=0.1)

    @property
    def keys(self) -> list[str | None]:
        return [each.headers.get("idempotency-key") for each in self.seen]


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("cut"),
        httpx.ReadTimeout("slow"),
        problem(503, "busy"),
        problem(429, "rate-limited"),
        httpx.Response(502, text="<html>bad gateway</html>"),
    ],
)
def test_a_question_is_sent_again_under_the_same_key(monkeypatch: pytest.MonkeyPatch, trouble: Reply) -> None:
    weather = Weather(monkeypatch, trouble, trouble, httpx.Response(200, json=ANSWER))
    assert weather.ask().rows == [(7,)]
    assert len(set(weather.keys)) == 1
    assert len(weather.keys[0] or "") == 32
    assert len({each.content for each in weather.seen}) == 1
    assert weather.pauses == sorted(weather.pauses)
    assert len(weather.pauses) == 2


def test_two_questions_have_two_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Weather(monkeypatch, httpx.Response(200, json=ANSWER), httpx.Response(200, json=ANSWER))
    weather.ask()
    weather.ask()
    assert len(set(weather.keys)) == 2


def test_it_gives_up_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Weather(monkeypatch, *[httpx.ConnectError("refused")] * FIRST_TRIES)
    with pytest.raises(Unreachable, match="does not answer") as raised:
        weather.ask()
    assert raised.value.fix
    assert len(weather.seen) == FIRST_TRIES


def test_it_is_more_patient_with_a_server_that_answered_before(monkeypatch: pytest.MonkeyPatch) -> None:
    troubles = [httpx.ConnectError("refused")] * (TRIES - 1)
    weather = Weather(monkeypatch, problem(503, "busy"), *troubles)
    with pytest.raises(Unreachable):
        weather.ask()
    assert len(weather.seen) == TRIES


def test_it_waits_as_long_as_it_is_told_within_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [problem(429, "rate-limited", headers={"retry-after": after}) for after in ("7", "9999", "soon", "-1")]
    weather = Weather(monkeypatch, *replies, httpx.Response(200, json=ANSWER))
    weather.ask()
    assert weather.pauses[0] == 7
    assert weather.pauses[1] == http.MAX_WAIT
    assert len(weather.pauses) == 4


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (problem(402, "budget-exhausted"), discreet.BudgetExhausted),
        (problem(422, "syntax"), discreet.Refused),
        (problem(401, "unauthorized"), discreet.Refused),
        (problem(500, "failed", None), discreet.QueryFailed),
        (problem(409, "cancelled", None), discreet.QueryFailed),
        (problem(409, "cancelled", 0), discreet.Refused),
        (problem(500, "internal", None), discreet.QueryFailed),
        (httpx.Response(500, text="oops"), Unreachable),
        (httpx.Response(404, json=["no"]), Unreachable),
        (httpx.Response(200, text="<html>welcome</html>"), Unreachable),
        (httpx.Response(200, json=[1]), Unreachable),
        (httpx.Response(200), Unreachable),
        (httpx.Response(302, headers={"location": "/login"}), Unreachable),
    ],
)
def test_what_cannot_be_mended_is_raised_at_once(
    monkeypatch: pytest.MonkeyPatch, reply: httpx.Response, kind: type[Exception]
) -> None:
    weather = Weather(monkeypatch, reply)
    with pytest.raises(kind):
        weather.ask()
    assert len(weather.seen) == 1


def test_progress_is_told_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    running = {**JOB, "state": "running", "position": None}
    weather = Weather(
        monkeypatch,
        httpx.Response(202, json=JOB),
        httpx.Response(202, json=running),
        httpx.Response(200, json=ANSWER),
    )
    weather.ask()
    assert weather.progress == [Waiting(2), Waiting(None), None]
    assert [each.url.path for each in weather.seen][1:] == ["/api/v1/datasets/hospital/jobs/j1"] * 2


def test_a_server_that_was_started_anew_is_asked_again_under_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Weather(
        monkeypatch,
        httpx.Response(202, json=JOB),
        httpx.ConnectError("refused"),
        problem(404, "unknown-job"),
        httpx.Response(200, json=ANSWER),
    )
    assert weather.ask().rows == [(7,)]
    assert [each.method for each in weather.seen] == ["POST", "GET", "GET", "POST"]
    assert weather.keys[0] == weather.keys[3]
    assert weather.seen[0].content == weather.seen[3].content
    assert weather.progress[-1] is None


def test_ctrl_c_cancels_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Weather(monkeypatch, httpx.Response(202, json=JOB), httpx.Response(204))
    weather.remote._progress = _interrupt
    with pytest.raises(KeyboardInterrupt):
        weather.ask()
    assert [each.method for each in weather.seen] == ["POST", "DELETE"]
    assert weather.seen[1].url.path.endswith("/jobs/j1")


def _interrupt(waiting: Waiting | None) -> None:
    if waiting is not None:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "told", [{}, {"datasets": None}, {"datasets": ["x"]}, {"datasets": [{"id": 1}]}, [], "x", None]
)
def test_another_service_at_that_address_is_told(monkeypatch: pytest.MonkeyPatch, told: Any) -> None:
    monkeypatch.setattr(remote, "Connection", _connection_to(lambda _: httpx.Response(200, json=told)))
    with pytest.raises(Unreachable, match="address"):
        discreet.connect("http://localhost:1", token="t")


def _connection_to(reply: Callable[[httpx.Request], httpx.Response]) -> Callable[..., Connection]:
    return lambda url, token, **_: Connection(url, token, transport=httpx.MockTransport(reply))


def test_the_dataset_is_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"datasets": [{"name": "a"}, {"name": "b"}]}
    monkeypatch.setattr(remote, "Connection", _connection_to(lambda _: httpx.Response(200, json=told)))
    assert discreet.connect("http://localhost:1/b", token="t").name == "b"
    assert discreet.connect("http://localhost:1", token="t", dataset="a").name == "a"
    for url in ("http://localhost:1", "http://localhost:1/c"):
        with pytest.raises(discreet.Refused, match="unknown-dataset"):
            discreet.connect(url, token="t")


def test_the_key_is_not_in_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Weather(monkeypatch, httpx.Response(200, json=ANSWER))
    weather.ask()
    assert json.loads(weather.seen[0].content) == {"sql": "SELECT 1", "epsilon": 0.1, "fresh": False}
    assert weather.seen[0].headers["prefer"] == "respond-async, wait=2"
