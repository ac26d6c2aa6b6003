"""What one caller may send: how much, how slowly, how often, and to which name."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import pytest
from starlette.types import Message

from discreet.server import front, limits
from discreet.server.front import MOST_BYTES, Front
from discreet.server.limits import BURST, Rates, TooMany
from discreet.server.listening import Listening
from tests.server.running import PATIENCE, Running, build, serving, until

QUERY = "/api/v1/datasets/hospital/query"


def talk(server: Running, *parts: bytes, pause: float = 0.0) -> bytes:
    """All that the server says on a connection to which these parts are sent, until it closes it."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as connection:
        said = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while more := connection.recv(65536):
                said += more
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was closed while we sent
        return said


def problem(said: bytes) -> dict[str, Any]:
    head, body = said.split(b"\r\n\r\n", 1)
    assert b"application/problem+json" in head
    found: dict[str, Any] = json.loads(body)
    return found


# the front alone, with a body that comes as we like


class Nothing:
    def count(self, *_: object) -> None:
        pass


def pass_front(bodies: list[Message | float], *, headers: list[tuple[bytes, bytes]] | None = None) -> list[Message]:
    """What is sent for a request whose body comes in these pieces, with pauses between them."""
    sent: list[Message] = []
    given = iter(bodies)

    async def receive() -> Message:
        piece = next(given)
        while isinstance(piece, float):
            await asyncio.sleep(piece)
            piece = next(given)
        return piece

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(_: Any, receive: Any, send: Any) -> None:
        message = await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(len(message["body"])).encode()})

    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers or [], "state": {}}
    asyncio.run(Front(app, Nothing())(scope, receive, send))  # type: ignore[arg-type]
    return sent


def piece(size: int, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


def test_a_body_of_the_largest_size_passes() -> None:
    half = MOST_BYTES // 2
    start, body = pass_front([piece(half), piece(0), piece(half, more=False)])
    assert (start["status"], body["body"]) == (200, str(MOST_BYTES).encode())


@pytest.mark.parametrize("sizes", [[MOST_BYTES + 1], [MOST_BYTES, 1], [2**16] * 17])
def test_a_larger_one_does_not_whatever_it_says(sizes: list[int]) -> None:
    start, body = pass_front([*map(piece, sizes), piece(0, more=False)])
    assert start["status"] == 413
    assert json.loads(body["body"])["code"] == "too-large"


@pytest.mark.parametrize("length", [str(MOST_BYTES + 1), "9" * 30, "-1", "1e3", "x", ""])
def test_a_length_is_looked_at_before_the_body(length: str) -> None:
    start, _ = pass_front([], headers=[(b"content-length", length.encode())])
    assert start["status"] == 413


def test_patience_is_for_the_whole_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces that keep coming do not help: it is the whole that must have arrived."""
    monkeypatch.setattr(front, "PATIENCE", 0.2)
    start, body = pass_front([each for _ in range(100) for each in (0.01, piece(1))])
    assert start["status"] == 408
    assert json.loads(body["body"])["code"] == "too-slow"


def test_whoever_hangs_up_gets_nothing() -> None:
    assert pass_front([piece(1), {"type": "http.disconnect"}]) == []


def test_what_nobody_foresaw_is_told_in_a_fixed_text(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Message] = []

    async def app(*_: Any) -> None:
        raise ValueError("patient 17 has HIV")

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return piece(0, more=False)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}}
    asyncio.run(Front(app, Nothing())(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 500
    assert json.loads(sent[1]["body"])["spent"] is None
    assert b"17" not in sent[1]["body"]
    assert "unforeseen: ValueError" in caplog.text


# real connections


def test_a_huge_body_is_refused_before_it_is_sent(server: Running) -> None:
    head = f"POST {QUERY} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {10**11}\r\nconnection: close\r\n\r\n"
    said = talk(server, head.encode())
    assert said.startswith(b"HTTP/1.1 413")
    assert problem(said)["code"] == "too-large"


def test_a_huge_body_in_chunks_is_refused(server: Running) -> None:
    head = f"POST {QUERY} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
    assert talk(server, head.encode(), *[chunk] * 17).startswith(b"HTTP/1.1 413")


def test_a_length_that_is_said_in_two_ways_ends_the_connection(server: Running) -> None:
    """Smuggling: what follows may be part of this request for whoever passed it on, and is answered as nobody's."""
    ask = b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    lengths = (b"content-length: %d\r\n" % (5 + len(ask)), b"transfer-encoding: chunked\r\n")
    for said in (lengths, lengths[::-1]):
        head = b"POST %s HTTP/1.1\r\nhost: localhost\r\n%s\r\n" % (QUERY.encode(), b"".join(said))
        answered = talk(server, head + b"0\r\n\r\n" + ask)
        assert answered.count(b"HTTP/1.1") == 1
        assert answered.startswith(b"HTTP/1.1 422")
        assert b"in two ways" in answered


def test_huge_headers_are_refused(server: Running) -> None:
    said = talk(server, b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 2**18)
    assert said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431")) or said == b""


def test_slow_requests_are_closed(rigged: Running) -> None:
    began = time.monotonic()
    assert talk(rigged) == b""  # nothing at all
    assert talk(rigged, b"GET /api/v1/health HTTP/1.1\r\n") == b""  # half a head
    drip = [b"G", b"E", b"T", *[b" "] * 40]
    assert talk(rigged, *drip, pause=0.05) == b""  # a head that keeps coming, byte by byte
    head = f"POST {QUERY} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\nconnection: close\r\n\r\n".encode()
    # half a body: on a busy machine even its head may come too late, and is closed without a word then
    said = until(lambda: talk(rigged, head, b"{"))
    assert said.startswith(b"HTTP/1.1 408")
    assert problem(said)["code"] == "too-slow"
    assert time.monotonic() - began >= 3 * PATIENCE
    with rigged.client() as client:
        assert client.get("health").status_code == 200


def test_half_a_request_after_a_whole_one_is_closed(rigged: Running) -> None:
    """How long it takes by a clock that is set: test_patience."""
    ask = b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    said = until(
        lambda: talk(rigged, ask, b"GET /api", pause=PATIENCE / 3)
    )  # nothing is said where the first came too late
    assert said.count(b"HTTP/1.1") == 1  # the second never came: closed


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:80", "[::2]", "a b"]
)
def test_it_answers_to_its_own_names_only(server: Running, host: str) -> None:
    said = talk(server, f"GET /api/v1/health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 400")
    if b"problem+json" in said:  # else it was no HTTP at all
        assert problem(said)["code"] == "unknown-host"
    else:
        assert host == "a b"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1", "127.0.0.1:8000", "[::1]:8000"])
def test_loopback_has_several_names(server: Running, host: str) -> None:
    said = talk(server, f"GET /api/v1/health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 200")


def test_names_that_it_was_told_are_its_own() -> None:
    assert "*" in Listening(host="0.0.0.0").hosts
    assert "*" not in Listening().hosts
    assert set(Listening(host="0.0.0.0", names=("dp.example",)).hosts) >= {"dp.example", "localhost"}
    assert "*" not in Listening(host="0.0.0.0", names=("dp.example",)).hosts


# rates


def test_a_bucket_fills_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(limits, "time", type("Clock", (), {"monotonic": staticmethod(lambda: now[0])}))
    rates, per_minute = Rates(), 60
    for _ in range(int(per_minute * BURST / 60)):
        rates.admit("a", per_minute)
    with pytest.raises(TooMany) as refused:
        rates.admit("a", per_minute)
    assert refused.value.seconds == 1
    rates.admit("b", per_minute)  # another token's bucket is its own
    now[0] += 1.0
    rates.admit("a", per_minute)
    with pytest.raises(TooMany):
        rates.admit("a", per_minute)
    now[0] += 3600
    for _ in range(int(per_minute * BURST / 60)):
        rates.admit("a", per_minute)
    with pytest.raises(TooMany):
        rates.admit("a", per_minute)


@pytest.mark.parametrize(("per_minute", "seconds"), [(1, 60), (2, 30), (7, 8), (60, 1), (6000, 1)])
def test_after_the_time_that_is_told_one_more_fits(
    monkeypatch: pytest.MonkeyPatch, per_minute: int, seconds: int
) -> None:
    now = [0.0]
    monkeypatch.setattr(limits, "time", type("Clock", (), {"monotonic": staticmethod(lambda: now[0])}))
    rates = Rates()
    for _ in range(max(1, int(per_minute * BURST / 60))):
        rates.admit("a", per_minute)
    with pytest.raises(TooMany) as refused:
        rates.admit("a", per_minute)
    assert refused.value.seconds == seconds
    now[0] += seconds
    rates.admit("a", per_minute)


@pytest.mark.long
def test_too_many_requests_are_told_when_to_come_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    policy = build(tmp_path_factory.mktemp("rates"), patients=10)
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("requests_per_minute = 60000", "requests_per_minute = 12"), encoding="utf-8")
    with serving(policy) as running, running.client() as client, running.client("finance") as other:
        found = [client.get("datasets") for _ in range(4)]
        assert [each.status_code for each in found] == [200, 200, 429, 429]
        assert found[2].json()["code"] == "rate-limited"
        assert 1 <= int(found[2].headers["retry-after"]) <= 5
        assert other.get("datasets").status_code == 200
        assert client.get("health").status_code == 200  # nobody's request
