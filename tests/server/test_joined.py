"""A response leaves in one packet, and nobody waits for one whose body is not there yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send
from uvicorn.server import ServerState

from discreet.server.connections import Prompt

GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
START: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-length", b"4"), (b"x-other", b"y")],
}
BODY: Message = {"type": "http.response.body", "body": b"body"}
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Wire(asyncio.Transport):
    """What is sent, packet by packet."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        if data:
            self.packets.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 7) if name in ("peername", "sockname") else default

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def sent(app: App, request: bytes, until: Callable[[Wire], bool]) -> Wire:
    """What a server says to this, until enough of it is there."""

    async def run() -> Wire:
        config = uvicorn.Config(
            app, http=Prompt, log_config=None, access_log=False, server_header=False, date_header=False
        )
        protocol, wire = Prompt(config, ServerState(), {}), Wire()
        protocol.connection_made(wire)
        protocol.data_received(request)
        while not until(wire):
            await asyncio.sleep(0)
        protocol.connection_lost(ConnectionResetError())
        return wire

    return asyncio.run(asyncio.wait_for(run(), 300))


async def whole(_: Scope, __: Receive, send: Send) -> None:
    await send(dict(START))
    await send(dict(BODY))


def ends(what: bytes) -> Callable[[Wire], bool]:
    return lambda wire: b"".join(wire.packets).endswith(what)


def test_head_and_body_are_one_packet() -> None:
    packets = sent(whole, GET, ends(b"body")).packets
    assert packets == [b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nx-other: y\r\n\r\nbody"]


def test_the_head_of_a_body_that_comes_later_does_not_wait_for_it() -> None:
    more = asyncio.Event()

    async def slow(_: Scope, __: Receive, send: Send) -> None:
        await send(dict(START))
        await more.wait()
        await send({**BODY, "body": b"bo", "more_body": True})
        await send({**BODY, "body": b"dy"})

    def until(wire: Wire) -> bool:
        if wire.packets:
            more.set()
        return ends(b"body")(wire)

    packets = sent(slow, GET, until).packets
    assert packets[0].endswith(b"\r\n\r\n")
    assert packets[1:] == [b"bo", b"dy"]


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_what_has_no_body_is_sent_all_the_same(method: bytes) -> None:
    async def nothing(scope: Scope, _: Receive, send: Send) -> None:
        length = b"4" if scope["method"] == "HEAD" else b"0"
        await send({**START, "headers": [(b"content-length", length)]})
        await send({**BODY, "body": b"body" if scope["method"] == "HEAD" else b""})

    packets = sent(nothing, GET.replace(b"GET", method), ends(b"\r\n\r\n")).packets
    assert len(packets) == 1


def test_answers_to_several_requests_are_in_their_order() -> None:
    """Also to those that came in one packet."""

    async def numbered(scope: Scope, _: Receive, send: Send) -> None:
        await send(dict(START))
        await send({**BODY, "body": scope["path"].encode()[1:]})

    asked = b"".join(GET.replace(b"/ ", b"/bod%d " % number) for number in range(3))
    answered = b"".join(sent(numbered, asked, ends(b"bod2")).packets)
    places = [answered.index(b"bod%d" % number) for number in range(3)]
    assert places == sorted(places)


def test_whoever_waits_to_be_asked_for_the_body_is_asked_at_once() -> None:
    async def reads(_: Scope, receive: Receive, __: Send) -> None:
        await receive()

    asked = GET.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
    packets = sent(reads, asked, lambda wire: bool(wire.packets)).packets
    assert packets[0].startswith(b"HTTP/1.1 100")


def test_a_connection_that_ends_with_its_answer_sends_all_of_it_first() -> None:
    wire = sent(whole, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), lambda wire: wire.is_closed)
    assert b"".join(wire.packets).endswith(b"body")


def test_an_answer_that_breaks_off_shows_its_head() -> None:
    async def breaks(_: Scope, __: Receive, send: Send) -> None:
        await send(dict(START))
        raise ValueError("on purpose")

    wire = sent(breaks, GET, lambda wire: wire.is_closed)
    assert b"".join(wire.packets).startswith(b"HTTP/1.1 200")
