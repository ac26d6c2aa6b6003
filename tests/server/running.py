"""A real server in a process of its own, for tests: `discreet serve`, from its command on."""

from __future__ import annotations

import os
import signal
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

from discreet.policy import read
from discreet.server.datasets import name_of
from discreet.server.problems import MEDIA
from discreet.server.tokens import Made, Role, Tokens
from tests.forked import Forked, forked

T = TypeVar("T")
MARKS = "DISCREET_TEST_MARKS"
RIGGED = "tests.server.rigged"
HELD = "SELECT COUNT(*) FROM patients WHERE zip = 'held'"
ENDLESS = "SELECT COUNT(*) FROM patients WHERE zip = 'endless'"
"""Questions that last on a rigged server: until they are released, or until they are interrupted."""

POLICY = """\
name = "hospital"
max_cost = 1e9
[budget]
epsilon = 30.0
delta = 1e-6
[unit]
name = "patient"
[tables.patients]
source = "patients.csv"
unit = "id"
[tables.patients.columns]
age = { min = 0, max = 120 }
ward = { values = ["A", "B", "C"] }
zip = { type = "text" }
born = { type = "date", min = 1900-01-01, max = 2026-12-31 }
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { type = "text" }
beds = { type = "integer" }
[analysts.epidemiology]
epsilon = 10.0
[analysts.finance]
epsilon = 5.0
[server]
requests_per_minute = 60000
pad_ms = 0
"""
ROOT = Path(__file__).parents[2]
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""It trusts nobody: servers without TLS need none, and to load the usual authorities for each client takes long."""
MOST_PAUSE = 0.05
"""Seconds between two looks: a page that is asked for a hundred times a second takes half of a core."""
PATIENCE = 0.5
"""Seconds that a rigged server waits for a slow request."""


def build(folder: Path, *, patients: int = 2000, text: str = POLICY) -> Path:
    """A small hospital in this folder; the path of its policy."""
    lines = [
        f"{number},{number * 37 % 100},{'ABC'[number % 3]},0213{number % 7},{1930 + number % 80}-0{1 + number % 9}-11"
        for number in range(patients)
    ]
    (folder / "patients.csv").write_text("\n".join(["id,age,ward,zip,born", *lines]) + "\n", encoding="utf-8")
    (folder / "wards.csv").write_text("ward,beds\nA,10\nB,20\nC,30\n", encoding="utf-8")
    policy = folder / "hospital.toml"
    policy.write_text(text, encoding="utf-8")
    return policy


def environment() -> dict[str, str]:
    """For processes that find these tests, and the same discreet as they do."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "default"}


def token(policy: Path, role: str, analyst: str | None = None) -> str:
    """A new token, made in the policy's own store."""
    made, tokens = Made.new(), Tokens.of(read(policy))
    tokens.add(made, Role(role), analyst)
    tokens.close()
    return made.text


@dataclass
class Running:
    """A server that listens."""

    process: Forked
    url: str
    policy: Path
    log: Path
    tokens: dict[str, str] = field(default_factory=dict)
    pg_port: int = 0
    """Where psql is answered, if anywhere."""

    @property
    def dataset(self) -> str:
        return f"{self.url}/api/v1/datasets/{name_of(read(self.policy))}"

    def client(self, who: str = "epidemiology") -> httpx.Client:
        """An HTTP client that holds somebody's token: owner, auditor, or an analyst's name."""
        headers = {"authorization": f"Bearer {self.tokens[who]}"} if who else {}
        url = f"{self.url}/api/v1/"
        return httpx.Client(base_url=url, headers=headers, timeout=300, trust_env=False, verify=PLAIN)

    def begun(self, many: int = 1) -> None:
        """Wait until so many questions that last are being answered (by a rigged server)."""
        until(lambda: len(list(self.policy.parent.glob("begun-*"))) >= many)

    def release(self) -> None:
        """Let questions that are held go on, those of later on too."""
        (self.policy.parent / "go").touch()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=300)


def until(condition: Callable[[], T], seconds: float = 300) -> T:
    """What the condition gives once it holds; an error if it does not in time. What lasts is asked less often."""
    deadline, pause = time.monotonic() + seconds, 0.005
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(pause)
        pause = min(1.5 * pause, MOST_PAUSE)
    return found


@contextmanager
def serving(
    policy: Path, *options: str, tokens: dict[str, str] | None = None, program: str = "tests.server.patient"
) -> Iterator[Running]:
    """`discreet serve POLICY --port 0 …` until the block ends; `program` may be one that is rigged."""
    if tokens is None:
        analysts = read(policy).analysts
        tokens = {role: token(policy, role) for role in ("owner", "auditor")}
        tokens |= {name: token(policy, "analyst", name) for name in analysts}
    log = policy.parent / f"access-{time.monotonic_ns()}.log"
    arguments = [str(policy), "--port", "0", "--log", str(log), *options]
    process = forked(program, "serve", *arguments, environment={**environment(), MARKS: str(policy.parent)})
    running = Running(process, "", policy, log, tokens)
    try:
        for line in process.stderr:
            if line.startswith("serving "):
                running.url = line.split()[-1]
            if line.startswith("psql "):
                running.pg_port = int(line.partition("port=")[2].split()[0])
            if running.url and (running.pg_port or "--pg-port" not in options):
                break
        else:
            raise AssertionError(f"the server did not start: {process.wait()}")
        yield running
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def refused(found: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem of a response; it must have all that problems have."""
    assert (found.status_code, found.json().get("code")) == (status, code), found.text
    assert found.headers["content-type"] == MEDIA
    assert found.headers["discreet-code"] == code
    told: dict[str, Any] = found.json()
    assert set(told) == {"type", "title", "status", "detail", "code", "reason", "fix", "edit", "spent"}
    assert told["status"] == status
    assert told["reason"]
    assert told["fix"]
    assert told["detail"] == f"{told['reason']} → {told['fix']}"
    return told
