"""Connections: how many there may be, and which of them are let go.

A process has so many descriptors, and the files of datasets need some of them. So connections are counted where they
are taken in, before anybody reads from them or encrypts, and when there are as many as there may be, the one that has
been idle for longest makes room. Whoever opens a thousand and sends nothing shuts out nobody.
"""

from __future__ import annotations

import asyncio
import socket
import weakref
from contextlib import suppress
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.server import front

MAX_CONNECTIONS: Final = 2000
LEAST: Final = 8
BURST: Final = 64
RESERVED: Final = 96
"""Descriptors for data, ledger, tokens and logs, and for a burst."""
Address = Any
"""Of the other end; no two open connections have the same."""


def most_connections(files: int | None) -> int:
    """How many connections may be open where a process may have so many files.

    >>> most_connections(1024), most_connections(256), most_connections(None)
    (768, 160, 2000)
    """
    return MAX_CONNECTIONS if files is None else max(LEAST, min(MAX_CONNECTIONS, files - max(RESERVED, files // 4)))


def burst(files: int | None) -> int:
    """How many connections may be taken in at once: for a moment they are open beside those that make room for them.

    >>> burst(1024), burst(160), burst(None)
    (64, 32, 64)
    """
    return BURST if files is None else max(1, min(BURST, (files - most_connections(files)) // 3))


def most_files() -> int | None:
    """How many files this process may open; None if nobody says."""
    try:
        import resource
    except ImportError:  # not on every system
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if files == resource.RLIM_INFINITY else files


class Listener(socket.socket):
    """A listening socket that takes in so many connections."""

    def keep(self, most: int) -> Listener:
        self._most = most
        self._open: dict[Address, weakref.ref[socket.socket]] = {}
        self._busy: set[Address] = set()
        return self

    def accept(self) -> tuple[socket.socket, Address]:
        """One more connection. Where all others are busy it is closed, and asyncio is told so."""
        taken, address = super().accept()
        try:
            self._make_room()
        except ConnectionAbortedError:
            taken.close()
            raise
        self._open[address] = weakref.ref(taken)
        return taken, address

    def begins(self, address: Address) -> None:
        """A request arrived."""
        self._busy.add(address)

    def rests(self, address: Address) -> None:
        """It was answered: of those that are idle, this one is the last to go."""
        self._busy.discard(address)
        if address in self._open:
            self._open[address] = self._open.pop(address)

    def ends(self, address: Address) -> None:
        self._busy.discard(address)
        self._open.pop(address, None)

    @property
    def held(self) -> int:
        return len(self._open)

    def _make_room(self) -> None:
        if len(self._open) < self._most:
            return
        for address, connection in list(self._open.items()):
            if (each := connection()) is None or each.fileno() < 0:
                self.ends(address)
        while len(self._open) >= self._most:
            oldest = next((address for address in self._open if address not in self._busy), None)
            if oldest is None:
                raise ConnectionAbortedError
            let_go = self._open.pop(oldest)()
            if let_go is not None:
                with suppress(OSError):
                    let_go.shutdown(socket.SHUT_RDWR)  # whoever waits on it sees its end, and closes it


class Joined:
    """Where a response is written to: its head leaves together with the beginning of its body, in one packet.

    Whoever says how an answer begins and not how it goes on is not waited for: the head leaves by itself then, as soon
    as the event loop has done what it is doing.
    """

    __slots__ = ("_begun", "_head", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._head, self._begun = b"", False

    def write(self, data: bytes) -> None:
        if self._begun:
            head, self._head = self._head, b""
            self._transport.write(head + data if head else data)
        else:
            self._begun, self._head = True, data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)


class Prompt(H11Protocol):
    """Connections on which no request arrives are closed: uvicorn itself would wait for ever."""

    listener: ClassVar[Listener | None] = None
    _watch: asyncio.TimerHandle | None = None
    _address: Address = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = transport.get_extra_info("peername")
        self._watch = self.loop.call_later(front.PATIENCE, self.transport.close)

    def data_received(self, data: bytes) -> None:
        if self._watch is None and self._is_idle:
            self._watch = self.loop.call_later(front.PATIENCE, self.transport.close)
        super().data_received(data)
        if not self._is_idle:
            self._forget()
            if self.cycle.transport is self.transport:
                self.cycle.transport = Joined(self.transport, self.loop)  # type: ignore[assignment]  # what it needs
            if self.listener is not None:
                self.listener.begins(self._address)

    def on_response_complete(self) -> None:
        if self.listener is not None:
            self.listener.rests(self._address)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        if self.listener is not None:
            self.listener.ends(self._address)
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle = getattr(self, "cycle", None)
        return cycle is None or cycle.response_complete

    def _forget(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
