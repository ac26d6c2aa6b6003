"""Starting: where a server listens, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from discreet.server import listening
from discreet.server.listening import Listening
from tests.cli.runs import program, run
from tests.server.running import build, environment

LOGGERS = ("discreet.access", "discreet.server", "discreet.command")


@pytest.fixture
def policy(tmp_path: Path) -> Iterator[Path]:
    """A policy that could be served; loggers are what they were afterwards."""
    made = build(tmp_path, patients=1)
    run("token", "create", made, "--role", "owner")
    before = {name: (logging.getLogger(name).handlers[:], logging.getLogger(name).propagate) for name in LOGGERS}
    yield made
    for name, (handlers, propagate) in before.items():
        logger = logging.getLogger(name)
        for handler in set(logger.handlers) - set(handlers):
            handler.close()
        logger.handlers[:], logger.propagate = handlers, propagate


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine(host: str) -> None:
    assert Listening().host == "127.0.0.1"
    assert Listening(host=host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "localhost.example", "", "127.0.0.1.example", "*"])
def test_everybody_else(host: str) -> None:
    assert not Listening(host=host).is_loopback


def test_addresses_can_be_written_into_a_browser() -> None:
    assert Listening().url(8000) == "http://127.0.0.1:8000"
    assert Listening(host="::1", certificate=Path("x")).url(1) == "https://[::1]:1"


@pytest.mark.long
def test_neither_a_provider_nor_telemetry_is_imported_unless_asked_for() -> None:
    text = (
        "import sys, discreet.server.run, discreet.cli.serve; "
        "print({'jwt', 'httpx', 'cryptography', 'discreet.server.oidc', 'opentelemetry.sdk'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


def test_a_port_that_is_taken(policy: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = run("serve", policy, "--port", str(port), code=3)
        assert f"127.0.0.1:{port}" in found.output
        assert "choose another --host or --port" in found.output


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a b", "☃"])
def test_a_host_that_is_not_ours(policy: Path, host: str) -> None:
    assert "choose another --host or --port" in run("serve", policy, "--host", host, code=3).output


def test_a_log_that_cannot_be_written(policy: Path) -> None:
    log = policy.parent / "no" / "such" / "folder.log"
    assert "choose another --log" in run("serve", policy, "--port", "0", "--log", log, code=3).output


def test_a_certificate_that_is_none(policy: Path) -> None:
    nothing, junk = policy.parent / "nothing.pem", policy.parent / "junk.pem"
    junk.write_text("junk", encoding="utf-8")
    for file in (nothing, junk, policy.parent):
        found = run("serve", policy, "--port", "0", "--certificate", file, "--key", file, code=3)
        assert "both in PEM" in found.output


def test_two_policies_of_one_name(policy: Path) -> None:
    assert "give each a name of its own" in run("serve", policy, policy, "--port", "0", code=3).output


@pytest.mark.long
def test_the_demo_makes_tokens_that_end_with_it(tmp_path: Path) -> None:
    policy = build(tmp_path, patients=10)
    process = program("serve", policy, "--demo", "--port", "0", env={**environment(), "PYTHONUNBUFFERED": "1"})
    try:
        assert process.stderr is not None
        assert process.stdout is not None
        line = next(line for line in process.stderr if line.startswith(b"serving"))
        url = line.split()[-1].decode()
        assert url.startswith("http://127.0.0.1:")
        tokens = dict(process.stdout.readline().decode().split()[1:] for _ in range(4))
        assert list(tokens) == ["owner", "epidemiology", "finance", "auditor"]
        for who, token in tokens.items():
            headers = {"authorization": f"Bearer {token.rpartition('#')[2]}"}  # they are links to sign in with
            found = httpx.get(f"{url}/api/v1/datasets", headers=headers, trust_env=False).json()["datasets"]
            assert who in (found[0]["role"], found[0]["analyst"])
        assert not (tmp_path / "hospital.discreet" / "tokens.sqlite").exists()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()


def test_a_server_lets_pythons_lock_go_round_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends free work without end keeps Python busy: another's question takes the lock many times."""
    before = sys.getswitchinterval()

    async def started(self: uvicorn.Server, _: object = None) -> None:
        self.started = True

    monkeypatch.setattr(uvicorn.Server, "startup", started)
    try:
        asyncio.run(listening.Server(uvicorn.Config("none"), lambda: None).startup())
        assert sys.getswitchinterval() == pytest.approx(listening.SWITCH)
        assert before > listening.SWITCH
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
