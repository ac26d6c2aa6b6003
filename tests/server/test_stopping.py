"""A server that is told to stop ends what was charged, begins nothing else, and says so to those who look after it."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.server.queue import Queue
from discreet.server.service import ALIVE, READY, STOPPING, VARIABLE, notify
from tests.server.running import HELD, RIGGED, Running, build, serving, until
from tests.server.test_cancel import HOME, begin
from tests.server.visitor import site


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A service manager that listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(300)
        monkeypatch.setenv(VARIABLE, str(tmp_path / "notify"))
        yield listening


def lines(server: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log.read_text(encoding="utf-8").splitlines()]


def test_what_was_charged_is_answered_and_what_waits_is_free(tmp_path: Path, manager: socket.socket) -> None:
    """Over HTTP, as a job that nobody waits for, and over PostgreSQL's protocol; SIGTERM comes in the middle."""
    policy = build(tmp_path, patients=50)
    found: dict[str, Any] = {}
    with serving(policy, "--pg-port", "0", "--workers", "3", program=RIGGED) as server:
        assert manager.recv(100).decode() == READY
        client, other = server.client(), server.client("finance")

        def over_http() -> None:
            found["http"] = client.post(f"{HOME}query", json={"sql": HELD, "epsilon": 0.01}).json()

        def over_wire() -> None:
            address = {"host": "127.0.0.1", "port": server.pg_port, "dbname": "hospital", "user": "x"}
            given = {**address, "password": server.tokens["owner"], "options": "-c discreet.epsilon=0.02"}
            with psycopg.connect(**given, autocommit=True) as connection:  # type: ignore[arg-type]
                found["wire"] = connection.execute(HELD).fetchall()

        with client, other:
            threads = [threading.Thread(target=each) for each in (over_http, over_wire)]
            for thread in threads:
                thread.start()
            begin(other, HELD)
            server.begun(3)
            waiting = begin(other, "SELECT COUNT(*) FROM patients WHERE age > 3")
            place = f"{HOME}jobs/{waiting}"
            assert other.get(place).json()["state"] == "queued"
            assert other.get("ready").json() == {"status": "ready"}
            server.process.send_signal(signal.SIGTERM)
            until(lambda: "stopping" in [line["event"] for line in lines(server)])
            server.release()
            for thread in threads:
                thread.join(300)
        assert server.process.wait(300) in (0, -signal.SIGTERM)
        assert found["http"]["receipt"]
        assert len(found["wire"]) == 1
        events = [line["event"] for line in lines(server)]
        assert (events[0], events[-1]) == ("started", "stopped")
        with sqlite3.connect(policy.parent / "hospital.discreet" / "ledger.sqlite") as journal:
            kinds = [json.loads(line)["kind"] for (line,) in journal.execute("SELECT line FROM journal")]
        assert (kinds.count("charge"), kinds.count("answer")) == (3, 3)
    said = {manager.recv(100).decode()}
    while STOPPING not in said:
        said.add(manager.recv(100).decode())
    assert said <= {READY, ALIVE, STOPPING}


def test_a_queue_that_drains_takes_nothing_in() -> None:
    queue, go, began = Queue(1), threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        go.wait(300)
        return "answer"

    running, waiting = queue.submit("a", work), queue.submit("b", lambda: "never")
    began.wait(300)
    queue.drain()
    assert waiting.result.exception(300) is not None
    with pytest.raises(Exception, match="too many questions"):
        queue.submit("c", lambda: None)
    go.set()
    assert running.result.result(300) == "answer"
    queue.close()


@pytest.mark.parametrize("address", ["", "nowhere", "/no/such/socket", "@no-such-name", "\0"])
def test_a_manager_that_does_not_listen_stops_nobody(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "\0" in address:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, address)
    assert not notify(READY)


def test_ready_tells_nothing_but_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site(build(tmp_path, patients=3)) as made:
        anybody, state = made.visitor(), made.app.state.app_state
        found = anybody.get("/api/v1/ready", headers={"accept": "application/json"})
        assert (found.status_code, found.json()) == (200, {"status": "ready"})
        monkeypatch.setattr(type(state.datasets["hospital"]), "curator", property(lambda _: 1 / 0))
        assert anybody.get("/api/v1/ready").status_code == 200  # a look counts for a second
        state.readiness._at = 0.0
        found = anybody.get("/api/v1/ready")
        assert (found.status_code, found.json()) == (503, {"status": "unready"})
        monkeypatch.undo()
        state.readiness._at = 0.0
        assert anybody.get("/api/v1/ready").status_code == 200
        state.dispatcher.drain()
        assert anybody.get("/api/v1/ready").json() == {"status": "unready"}
        assert anybody.get("/api/v1/health").json() == {"status": "ok"}
