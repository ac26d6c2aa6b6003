"""Starting a server: what it serves, whether it may, and where it listens."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import Refused
from discreet.server.app import LOOPBACK, application
from discreet.server.datasets import Datasets
from discreet.server.front import PATIENCE

MOST_CONNECTIONS: Final = 2000


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


def demand_tokens(datasets: Datasets) -> None:
    """Raise if nobody could ask anything of a dataset."""
    now = datetime.now(UTC)
    for name, dataset in datasets.items():
        if not any(token.is_valid(now) for token in dataset.tokens.all()):
            raise Refused(
                "no-tokens",
                f"there is no valid token for {name}: nobody could ask",
                f"make one: discreet token create {dataset.curator.policy.path.name} --role owner",
            )


class Prompt(H11Protocol):
    """Connections on which no request arrives are closed: uvicorn itself would wait for ever."""

    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch = self.loop.call_later(PATIENCE, self.transport.close)

    def data_received(self, data: bytes) -> None:
        if self._watch is None and self._is_idle:
            self._watch = self.loop.call_later(PATIENCE, self.transport.close)
        super().data_received(data)
        if not self._is_idle:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
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


class Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, tell: Any) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell()


def serve(datasets: Datasets, where: Listening, tell: Any) -> None:
    """Serve until it is told to stop. `tell` is called with the address once it listens."""
    _demand_certificate(where)
    _log_to(where.log)
    listening = _socket(where)
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        application(datasets, workers=where.workers, hosts=where.hosts),
        http=Prompt,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=2**16,
        ssl_certfile=where.certificate,
        ssl_keyfile=where.key,
    )
    Server(config, lambda: tell(where.url(port))).run([listening])


def _demand_certificate(where: Listening) -> None:
    """Raise unless certificate and key can be used, where there are any."""
    if where.certificate is None:
        return
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(where.certificate, where.key, password="")  # a locked key would ask at the terminal
    except OSError:
        raise Refused(
            "certificate",
            f"{where.certificate} and {where.key} cannot be used",
            "give a certificate and its private key without a password, both in PEM",
        ) from None


def _socket(where: Listening) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
        made = socket.create_server((where.host, where.port), family=family, backlog=2048)
    except (OSError, OverflowError) as wrong:
        told = getattr(wrong, "strerror", None) or str(wrong)
        raise Refused(
            "cannot-listen", f"{where.host}:{where.port}: {told}", "choose another --host or --port"
        ) from None
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits 40 ms for its header's receipt
    made.set_inheritable(True)
    return made


def _log_to(path: Path | None) -> None:
    """The access log goes to standard error or to a file, as lines of JSON; what goes wrong goes beside it."""
    try:
        stream: TextIO = sys.stderr if path is None else path.open("a", encoding="utf-8", buffering=1)
    except OSError as wrong:
        raise Refused("cannot-log", f"{path}: {wrong.strerror}", "choose another --log") from None
    for name, level in (("discreet.access", logging.INFO), ("discreet.server", logging.WARNING)):
        handler = logging.StreamHandler(stream)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = [handler], False
        logger.setLevel(level)
