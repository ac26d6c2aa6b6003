"""How long a connection may take to send a request: by a clock that tests set, so that no machine is too busy."""

from __future__ import annotations

import asyncio
from typing import Final

import uvicorn
from uvicorn.server import ServerState

from discreet.server.connections import Prompt
from discreet.server.front import PATIENCE
from tests.server.test_joined import GET, Wire, whole

ALIVE: Final = 3 * PATIENCE
"""Seconds after which uvicorn itself closes what is idle: later than any of these."""


class Slow(asyncio.SelectorEventLoop):
    """Its clock stands still until somebody moves it."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Kept:
    """A connection, from its beginning on."""

    def __init__(self, loop: Slow) -> None:
        config = uvicorn.Config(whole, http=Prompt, log_config=None, access_log=False, timeout_keep_alive=int(ALIVE))
        self.loop, self.wire = loop, Wire()
        self.protocol = Prompt(config, ServerState(), {}, loop)
        self.protocol.connection_made(self.wire)

    @property
    def answered(self) -> int:
        return b"".join(self.wire.packets).count(b"HTTP/1.1 200")

    async def asks(self) -> None:
        """A request, and the whole of its answer."""
        wanted = self.answered + 1
        self.protocol.data_received(GET)
        while self.answered < wanted or not self.protocol.cycle.response_complete:
            await asyncio.sleep(0)

    async def is_closed_after(self, seconds: float) -> bool:
        """Whether it is, so much later."""
        self.loop.now += seconds
        for _ in range(3):  # what was due is called in the first of these turns
            await asyncio.sleep(0)
        return self.wire.is_closed


def test_patience_begins_anew_with_each_request() -> None:
    """A connection that is kept may be used for longer than one request may take."""
    loop = Slow()

    async def run() -> None:
        kept = Kept(loop)
        for _ in range(6):
            assert not await kept.is_closed_after(0.9 * PATIENCE)
            await kept.asks()
        assert kept.answered == 6
        assert not await kept.is_closed_after(0.9 * PATIENCE)
        kept.protocol.data_received(GET[:5])
        assert not await kept.is_closed_after(0.9 * PATIENCE)
        kept.protocol.data_received(GET[5:-2])  # a piece more helps nothing: the whole head must have come
        assert await kept.is_closed_after(0.2 * PATIENCE)
        assert kept.answered == 6
        kept.protocol.connection_lost(None)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())


def test_whoever_sends_nothing_is_not_waited_for() -> None:
    loop = Slow()

    async def run() -> None:
        kept = Kept(loop)
        assert not await kept.is_closed_after(0.9 * PATIENCE)
        assert await kept.is_closed_after(0.2 * PATIENCE)
        kept.protocol.connection_lost(None)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())
