"""Somebody opens more connections than the server has descriptors, and sends nothing on them.

Others must still be answered, no descriptor that data and ledger need may be taken, and the log must not fill.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from discreet.server.connections import RESERVED, Listener, most_connections
from discreet.server.listening import _told
from tests.server.narrow import FILES
from tests.server.running import build, serving

TLS = Path(__file__).parents[1] / "server" / "tls"
ENCRYPTED = ("--certificate", str(TLS / "server.pem"), "--key", str(TLS / "server.key"))


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ENCRYPTED], ids=["plain", "tls"])
def test_idle_connections_shut_nobody_out(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Without TLS they send no request, with TLS they do not even begin to encrypt."""
    policy = build(tmp_path, patients=10)
    verify = str(TLS / "authority.pem") if options else True
    with (
        serving(policy, *options, program="tests.server.narrow") as running,
        ExitStack() as opened,
        httpx.Client(base_url=f"{running.url}/api/v1/", verify=_context(verify), trust_env=False, timeout=300) as kept,
    ):
        assert kept.get("health").status_code == 200
        parts = urlsplit(running.url)
        for _ in range(FILES + 100):
            opened.enter_context(socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=300))
        headers = {"authorization": f"Bearer {running.tokens['epidemiology']}"}
        question = {"sql": "SELECT COUNT(*) FROM patients", "epsilon": 0.1}
        for _ in range(3):
            with suppress(httpx.RemoteProtocolError):  # it was idle too, and may have been let go
                assert kept.get("health").status_code == 200
            with httpx.Client(verify=_context(verify), trust_env=False, timeout=300) as another:
                found = another.post(f"{running.dataset}/query", json=question, headers=headers)
                assert found.status_code == 200, found.text
        assert running.process.poll() is None
        running.process.kill()
        told = running.process.stderr.read() + running.log.read_text(encoding="utf-8")
    assert "Traceback" not in told
    assert told.count("no more connections") == 0
    assert len(told.splitlines()) < 20


def _context(verify: str | bool) -> ssl.SSLContext | bool:
    return ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify


def test_there_are_fewer_connections_than_descriptors() -> None:
    for files in (16, 64, 160, 256, 1024, 4096, 2**20, None):
        most = most_connections(files)
        assert 1 <= most <= 2000
        assert files is None or files < 2 * RESERVED or most <= files * 3 / 4


class Room:
    """A door for three, and whoever comes through it."""

    def __init__(self) -> None:
        made = socket.create_server(("127.0.0.1", 0))
        self.door = Listener(fileno=made.detach()).keep(3)
        self.inside: dict[str, socket.socket] = {}
        self.outside: list[socket.socket] = []

    def enter(self, name: str) -> object:
        self.outside.append(socket.create_connection(self.door.getsockname(), timeout=300))
        self.inside[name], address = self.door.accept()
        return address

    def is_open(self, name: str) -> bool:
        """Whether it was not let go."""
        found = self.inside[name]
        found.setblocking(False)
        try:
            return found.recv(1) != b""
        except BlockingIOError:
            return True

    def close(self) -> None:
        for each in (self.door, *self.outside, *self.inside.values()):
            each.close()


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room()
    yield made
    made.close()


def test_the_one_that_is_idle_for_longest_goes(room: Room) -> None:
    first, _, third = (room.enter(name) for name in "abc")
    room.door.begins(first)  # a is being answered
    room.enter("d")
    assert [room.is_open(name) for name in "abcd"] == [True, False, True, True]
    room.door.rests(first)  # and now it is the one that was used last
    room.enter("e")
    assert [room.is_open(name) for name in "acde"] == [True, False, True, True]
    room.door.ends(third)
    assert room.door.held == 3


def test_those_who_are_being_answered_stay(room: Room) -> None:
    for name in "abc":
        room.door.begins(room.enter(name))
    with pytest.raises(ConnectionAbortedError):
        room.enter("d")
    assert all(room.is_open(name) for name in "abc")
    assert room.outside[-1].recv(1) == b""


def test_what_was_closed_elsewhere_counts_no_longer(room: Room) -> None:
    for name in "abc":
        room.door.begins(room.enter(name))
    room.inside["b"].close()
    room.enter("d")
    assert [room.is_open(name) for name in "acd"] == [True] * 3
    assert room.door.held == 3


def test_what_goes_wrong_between_requests_is_a_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.new_event_loop()
    log = logging.getLogger("discreet.server")
    log.addHandler(caplog.handler)
    monkeypatch.setattr(log, "propagate", False)
    try:
        for wrong in (
            *[OSError(errno.EMFILE, "Too many open files")] * 3,
            OSError(errno.EMFILE, "Too many open files"),
            ConnectionResetError(),
            TimeoutError(),
        ):
            _told(loop, {"message": "socket.accept() out of system resource", "exception": wrong})
    finally:
        log.removeHandler(caplog.handler)
        loop.close()
    assert [record.getMessage() for record in caplog.records] == [
        "no more connections can be taken in now: Too many open files"
    ]
    assert caplog.records[0].exc_info is None
