"""The coordinator over HTTP, on this machine: one connection for each client, so that who ends is missed at once."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

import msgspec

from discreet.errors import Problem, Refused
from discreet.errors.codes import status_of
from discreet.federated.coordinator import Coordinator
from discreet.federated.messages import LIMIT, Dealt, Join, Shares, Vector, Work, decoded, encoded

HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
IDLE: Final = 120.0
"""Seconds after which a connection that says nothing is closed."""
DIGITS: Final = 20
"""Of the length of a body: Python makes no number of thousands of them, and what it raises would be printed."""
ROUTES: Final = {"/join": Join, "/work": Work, "/send": Dealt | Vector | Shares}


class Handler(BaseHTTPRequestHandler):
    """One connection of a client. What is not as it should be is refused, and tells nothing about others."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "discreet", ""
    timeout = IDLE
    coordinator: ClassVar[Coordinator]
    limit: ClassVar[int]

    def do_POST(self) -> None:
        try:
            reply = encoded(self._answered())
            status = 200
        except Problem as problem:
            reply = msgspec.json.encode({"code": problem.code, "reason": problem.reason, "fix": problem.fix})
            status = status_of(problem.code)
            self.close_connection = self.close_connection or problem.code in ("too-large", "http")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def _answered(self) -> Any:
        body = self._body()
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        if host not in HOSTS:
            raise Refused("unknown-host", "this request was meant for another host", "use 127.0.0.1")
        if self.path not in ROUTES:
            raise Refused("unknown-route", "nothing is at this address", f"use {', '.join(ROUTES)}")
        if self.headers.get_content_type() != "application/json":
            raise Refused("not-json", "messages are sent as application/json", "set Content-Type")
        message = decoded(body, ROUTES[self.path])
        if isinstance(message, Join):
            return self.coordinator.join(message, self)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if isinstance(message, Work):
            return self.coordinator.work(token, self, self._alive)
        return self.coordinator.send(token, message)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length") or ""
        if not (length.isascii() and length.isdigit()) or self.headers.get("Transfer-Encoding"):
            raise Refused("http", "a request must say how long it is", "send Content-Length")
        if len(length) > DIGITS or int(length) > self.limit:
            raise Refused("too-large", f"a message has at most {self.limit:,} bytes", "send what was asked for")
        return self.rfile.read(int(length))

    def _alive(self) -> bool:
        """Whether the client still listens."""
        try:
            looking = select.poll()  # select would not look at more than a thousand
            looking.register(self.connection, select.POLLIN)
            return not looking.poll(0) or self.connection.recv(1, socket.MSG_PEEK) != b""
        except (OSError, ValueError):
            return False

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:  # nobody reads what was still to be sent
            pass
        finally:
            self.coordinator.gone(self)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # a client that ended is nothing to report
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing: who asks when is nobody else's business."""


class Server(ThreadingHTTPServer):
    """Threads end with the process; many clients may knock at once."""

    daemon_threads, block_on_close, request_queue_size = True, False, 1024


@contextmanager
def listening(coordinator: Coordinator, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """The address at which clients find the coordinator, for as long as the block runs."""
    limit = LIMIT + 8 * coordinator.training.plan.grid.width

    bound = type("Bound", (Handler,), {"coordinator": coordinator, "limit": limit})
    try:
        server = Server((host, port), bound)
    except OSError as wrong:
        raise Refused(
            "cannot-listen", f"cannot listen at {host}:{port}: {wrong.strerror}", "choose another port"
        ) from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
