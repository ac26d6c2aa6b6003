"""Where a server listens, and how: sockets, TLS, limits of connections, logs."""

from __future__ import annotations

import asyncio
import errno
import gc
import ipaddress
import math
import socket
import ssl
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

import uvicorn
from starlette.types import ASGIApp

from discreet.errors import Refused
from discreet.logs import log_to, note
from discreet.server.connections import Listener, Prompt, burst, most_connections, most_files
from discreet.server.service import READY, STOPPING, notify
from discreet.server.turn import event_loop

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]", "::1")
EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
AGAIN: Final = 60.0
"""Seconds before the same is written again: asyncio tries again and again."""
SWITCH: Final = 0.001
"""Seconds after which a thread that computes lets another have Python's lock: a question takes the lock some twenty
times, and beside somebody who sends free work without end it would wait 5 ms, which is Python's own, each time.
"""
_TOLD: Final[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, float]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens, and how."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 2
    names: tuple[str, ...] = ()
    """Other names that lead here."""
    certificate: Path | None = None
    key: Path | None = None
    log: Path | None = None
    pg_port: int | None = None
    """Where psql and BI tools are answered; None: nowhere."""
    oidc: Path | None = None
    """The file about an identity provider that people sign in with; None: there is none."""
    telemetry: str | None = None
    """Which times an operator's backend is told: padded or exact; None: nothing is."""

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def hosts(self) -> Sequence[str]:
        """The names that requests may give; a server that others can reach answers to all unless told which."""
        return [*LOOPBACK, self.host, *self.names] if self.is_loopback or self.names else ["*"]

    def url(self, port: int) -> str:
        scheme = "https" if self.certificate else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{port}"


class Server(uvicorn.Server):
    """Says where it listens once it does, and ends what is under way when it is told to stop."""

    def __init__(self, config: uvicorn.Config, tell: Any, stopping: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self._tell, self._stopping = tell, stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_told)
        await super().startup(sockets)
        if self.started:
            sys.setswitchinterval(SWITCH)
            gc.freeze()  # what was imported stays: nobody is to wait while Python looks for cycles in it
            self._tell()
            notify(READY)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First nothing new is begun; then what is under way ends, and its connections with it."""
        notify(STOPPING)
        note("stopping")
        if self._stopping is not None:
            self._stopping()
        await super().shutdown(sockets)


def _told(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What goes wrong between requests, in a line: whoever opens and cuts connections must not fill the log."""
    wrong = context.get("exception")
    if isinstance(wrong, OSError) and wrong.errno in EXHAUSTED:
        if loop.time() - _TOLD.get(loop, -math.inf) >= AGAIN:
            _TOLD[loop] = loop.time()
            note("connections-exhausted", f"no more connections can be taken in now: {wrong.strerror}")
    elif not isinstance(wrong, ConnectionError | TimeoutError | ssl.SSLError):
        note("unforeseen", f"unforeseen: {type(wrong).__name__}", error=wrong)


def listen(application: Callable[[], ASGIApp], where: Listening, tell: Any) -> None:
    """Serve until it is told to stop. `tell` is called with the address once it listens."""
    tls_context(where)
    _log_to(where.log)
    listening = Prompt.listener = socket_at(where.host, where.port, most_connections(most_files()))
    port = listening.getsockname()[1]
    app = application()
    state = getattr(app, "state", None)
    patience: Callable[[], float] = getattr(state, "patience", lambda: 10.0)
    config = uvicorn.Config(
        app,
        http=Prompt,
        loop=f"{event_loop.__module__}:{event_loop.__name__}",
        backlog=burst(most_files()),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=math.ceil(patience()),
        h11_max_incomplete_event_size=2**16,
        ssl_certfile=where.certificate,
        ssl_keyfile=where.key,
    )
    Server(config, lambda: tell(where.url(port)), getattr(state, "stopping", None)).run([listening])


def tls_context(where: Listening) -> ssl.SSLContext | None:
    """How connections are encrypted, or a refusal: certificate and key cannot be used. None if there are none."""
    if where.certificate is None:
        return None
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(where.certificate, where.key, password="")  # a locked key would ask at the terminal
    except OSError:
        raise Refused(
            "certificate",
            f"{where.certificate} and {where.key} cannot be used",
            "give a certificate and its private key without a password, both in PEM",
        ) from None
    return context


def socket_at(host: str, port: int, most: int, option: str = "--port") -> Listener:
    """A listening socket that takes in so many connections; `option` is where its port was said."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as wrong:
        reason = getattr(wrong, "strerror", None) or str(wrong)
        raise Refused("cannot-listen", f"{host}:{port}: {reason}", f"choose another --host or {option}") from None
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits 40 ms for its header's receipt
    return Listener(fileno=made.detach()).keep(most)


def _log_to(path: Path | None) -> None:
    """The log goes to standard error or to a file, as lines of JSON."""
    try:
        stream: TextIO = sys.stderr if path is None else path.open("a", encoding="utf-8", buffering=1)
    except OSError as wrong:
        raise Refused("cannot-log", f"{path}: {wrong.strerror}", "choose another --log") from None
    log_to(stream)
