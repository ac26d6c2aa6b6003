"""A connection: bytes in and out, with bounded buffers, TLS, and an end to patience.

A message that was begun has to arrive soon, and whoever does not take what is sent is let go. Nobody can make a server
hold more than a message and a buffer for a connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, Final

from discreet.server import front
from discreet.server.wire import protocol
from discreet.server.wire.protocol import HEADER, Malformed

HIGH: Final = 2**16
"""Bytes that wait to be read; then no more are taken in until somebody reads."""
UNTAKEN: Final = 60.0
"""Seconds within which a client has to take something of what is sent to it."""


class Ended(Exception):  # noqa: N818  (it did)
    """The other end is gone, or was too slow."""


class Stream(asyncio.Protocol):
    """One connection."""

    def __init__(self, begin: Callable[[Stream], Coroutine[Any, Any, None]], leave: Callable[[Stream], None]) -> None:
        """`begin` is what is done with the connection, `leave` is told when it is gone."""
        self._begin, self._leave = begin, leave
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self.is_lost = False
        self.is_encrypted = False
        self.peer: Any = None

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.peer = transport.get_extra_info("peername")
        self._task = self._loop.create_task(self._begin(self))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > HIGH and self._transport is not None:
            self._transport.pause_reading()
        self._arrived.set()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self.is_lost:
            return
        self.is_lost = True
        self._arrived.set()
        self._may_write.set()
        self._leave(self)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    # ours

    @property
    def is_empty(self) -> bool:
        """Whether nothing was sent that nobody has read yet."""
        return not self._buffer

    async def message(self, most: int) -> protocol.Message:
        """The next message, whenever it begins; once it has, it has to come soon."""
        header = await self._exactly(HEADER, patient=True)
        length = protocol.length_of(header[1:], most)
        return protocol.message_of(header[:1], await self._exactly(length))

    async def startup(self) -> protocol.Encryption | protocol.Cancel | protocol.Startup:
        length = protocol.length_of(await self._exactly(4), protocol.MAX_STARTUP)
        return protocol.startup_of(await self._exactly(length))

    async def _exactly(self, count: int, *, patient: bool = False) -> bytes:
        """So many bytes. `patient`: wait for the first of them as long as it takes."""
        if patient:
            await self._wait(1)
        try:
            async with asyncio.timeout(front.PATIENCE):
                await self._wait(count)
        except TimeoutError:
            raise Ended from None
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        if len(self._buffer) <= HIGH and self._transport is not None and not self.is_lost:
            self._transport.resume_reading()
        return taken

    async def _wait(self, count: int) -> None:
        while len(self._buffer) < count:
            if self.is_lost or self._transport is None:
                raise Ended
            self._arrived.clear()
            self._transport.resume_reading()
            await self._arrived.wait()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self.is_lost:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until what was written is nearly taken."""
        if self.is_lost:
            raise Ended
        try:
            async with asyncio.timeout(UNTAKEN):
                await self._may_write.wait()
        except TimeoutError:
            self.abort()
            raise Ended from None

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """From here on TLS. What came before in clear is no part of it: somebody in between may have sent it."""
        if not self.is_empty:
            raise Malformed("something was sent in clear after the wish to encrypt")
        assert self._transport is not None
        self.write(protocol.ENCRYPTED)
        transport: asyncio.Transport | None = None
        try:
            transport = await self._loop.start_tls(
                self._transport, self, context, server_side=True, ssl_handshake_timeout=front.PATIENCE
            )
        except (OSError, ssl.SSLError):
            raise Ended from None
        finally:
            if transport is None:  # asyncio tells nobody that a connection is gone whose handshake did not end
                self.connection_lost(None)
        if self.is_lost:
            raise Ended
        self._transport, self.is_encrypted = transport, True

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
