"""A small question through the server beside the same question in process: how many a second, and how long each takes.

The clients are another process that sends prepared bytes over connections that stay open, so that what is measured is
the server: `python -m benchmarks.server HOST PORT TOKEN BODY CLIENTS SECONDS ROUTE PAUSE`. Clients without a pause send
as fast as they are answered: 64 of them wait 64 times as long as the server takes for one, whatever it does.

What a machine gives changes by half within a minute. So processor time, and how long many wait who pause beside how
long one waits, are measured in short rounds: of the first the least counts, of the second the median.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

from tests.server.running import POLICY, Running, build, serving

import discreet
from benchmarks.figures import Figure, at_least, at_most, median_of

CLIENTS = (1, 16, 64)
SECONDS = 4.0
ROUNDS = 8
TEXT = "SELECT COUNT(*) AS n FROM patients"
OTHER = "SELECT COUNT(*) AS n FROM patients WHERE age > 30"
"""Asked afresh many times: all those answers are cached and looked through."""
COST = 1e-3
QUESTIONS = {
    "cached": {"sql": TEXT, "epsilon": COST},
    "fresh": {"sql": OTHER, "epsilon": COST, "fresh": True},
}
JOINED = "patients AS a" + "".join(f" JOIN patients AS {name} ON a.id = {name}.id" for name in "bcdefg")
LOUD = {
    "questions that last": ("query", {"sql": f"SELECT SUM(a.age) AS n FROM {JOINED}", "epsilon": COST, "fresh": True}),
    "previews": ("preview", {"sql": f"SELECT SUM(a.age) AS n FROM {JOINED}", "epsilon": COST}),
    "dummy data": ("query", {"sql": f"SELECT SUM(a.age) AS n FROM {JOINED}", "epsilon": COST, "dummy": True}),
}
"""What one caller sends without end, sixteen at a time, while another asks one question after the other."""
QUIET = {"sql": f"SELECT SUM(a.age) AS n FROM {JOINED} WHERE a.age > 30", "epsilon": COST, "fresh": True}
MANY = 200_000
"""Patients: enough for a question to last."""
LEAST = {"cached": 0.05, "fresh": 0.3}
"""Of what one thread does in process: a cached answer costs next to nothing there, so that HTTP is all that is seen."""
MOST_CPU = {"cached": 1.2e-3, "fresh": 4e-3}
"""Seconds of the server's processor time for an answer, to one client."""
MOST_WAIT = 10
"""How much longer the slowest of a hundred answers takes among 64 clients than the usual one takes alone."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        policy = build(Path(folder), text=POLICY.replace("epsilon = 30.0", "epsilon = 1e6", 1))
        here = _in_process(policy)
        with serving(policy, "--workers", "4") as running:
            for kind, question in QUESTIONS.items():
                times = {clients: _load(*_owner(running), question, clients) for clients in CLIENTS}
                rounds = [_round(running, question) for _ in range(ROUNDS)]
                yield _cost(kind, [each.processor for each in rounds])
                for clients, found in times.items():
                    yield _figure(kind, clients, found, here[kind])
                crowd, busy = max(CLIENTS), Round(0, times[1], times[max(CLIENTS)])
                yield _wait(kind, f"{crowd} clients", [busy])
                yield _wait(kind, f"{crowd} clients that leave it half of its time", rounds)
    yield from _beside_others()


@dataclass(frozen=True)
class Round:
    """How long one client waited, what the server took of the processor for each answer, and how long many waited."""

    processor: float
    alone: Sequence[float]
    together: Sequence[float]

    @property
    def usual(self) -> float:
        return median(self.alone)

    @property
    def slow(self) -> float:
        """The slowest of a hundred answers to many."""
        return quantiles(self.together, n=100)[98]


def _round(running: Running, question: dict[str, object]) -> Round:
    """One client for a second, then many who pause so long that the server has nothing to do for half of the time."""
    where, many = _owner(running), max(CLIENTS)
    before = _processor(running)
    alone = _load(*where, question, 1, seconds=1.0)
    processor = (_processor(running) - before) / len(alone)
    return Round(processor, alone, _load(*where, question, many, 2 * many * median(alone), seconds=2.0))


def _owner(running: Running) -> tuple[str, str, str]:
    """Where a server is asked, and with which token."""
    parts = urlsplit(running.url)
    return str(parts.hostname), str(parts.port), running.tokens["owner"]


def _processor(running: Running) -> float:
    """The processor time of a server so far, of all its threads."""
    process = running.process.process.pid
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9


def _cost(kind: str, rounds: Sequence[float]) -> Figure:
    most, least = MOST_CPU[kind], min(rounds)
    ours = f"{1000 * least:.2f} ms, usually {1000 * median(rounds):.2f} ms"
    return at_most(f"server, {kind} answer, CPU", ours, f"limit {1000 * most:g} ms", least / most, 1)


def _wait(kind: str, who: str, rounds: Sequence[Round]) -> Figure:
    what = f"server, {kind} answer, p99 of {who} beside p50 of one"
    slow, usual = median(each.slow for each in rounds), median(each.usual for each in rounds)
    ratio = median(each.slow / each.usual for each in rounds)
    return at_most(what, f"{1000 * slow:.0f} ms", f"{1000 * usual:.2f} ms", ratio, MOST_WAIT)


def _beside_others() -> Iterator[Figure]:
    """How long another caller's question takes while one caller sends without end: at most twice as long as alone."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        policy = build(Path(folder), patients=MANY, text=POLICY.replace("epsilon = 30.0", "epsilon = 1e6", 1))
        with serving(policy, "--workers", "2") as running:
            host, port, owner = _owner(running)
            alone = median(_load(host, port, owner, QUIET, 1))
            for what, (route, question) in LOUD.items():
                child = _begun(host, port, running.tokens["epidemiology"], question, 16, route)
                found = median(_load(host, port, owner, QUIET, 1))
                assert child.poll() is None, f"{what} were refused"
                child.kill()
                child.communicate()
                told = f"server, another's question beside 16 × {what}"
                yield at_least(told, f"{1000 * found:.0f} ms", f"alone {1000 * alone:.0f} ms", alone / found, 0.5)


def _figure(kind: str, clients: int, times: list[float], here: float) -> Figure:
    rate = len(times) / SECONDS
    cuts = quantiles(times, n=100)
    ours = f"{rate:.0f}/s, p50 {1000 * cuts[49]:.1f} ms, p99 {1000 * cuts[98]:.1f} ms"
    what = f"server, {kind} answer, {clients} client{'' if clients == 1 else 's'}"
    return at_least(what, ours, f"in process {1 / here:.0f}/s, {1000 * here:.2f} ms", rate * here, LEAST[kind])


def _in_process(policy: Path) -> dict[str, float]:
    """Seconds of each kind of question in one thread."""
    with discreet.open(policy) as curator:
        curator.query(TEXT, epsilon=COST)
        return {
            "cached": median_of(200, lambda: curator.query(TEXT, epsilon=COST)),
            "fresh": median_of(50, lambda: curator.query(OTHER, epsilon=COST, fresh=True)),
        }


def _load(
    host: str,
    port: str,
    token: str,
    question: dict[str, object],
    clients: int,
    pause: float = 0.0,
    seconds: float = SECONDS,
) -> list[float]:
    found, _ = _begun(host, port, token, question, clients, "query", seconds, pause).communicate()
    times: list[float] = json.loads(found)
    return times


def _begun(
    host: str,
    port: str,
    token: str,
    question: dict[str, object],
    clients: int,
    route: str,
    seconds: float = 600.0,
    pause: float = 0.0,
) -> subprocess.Popen[str]:
    """Clients that send this again and again, and at their end tell how long each took."""
    given = [host, port, token, json.dumps(question), str(clients), str(seconds), route, str(pause)]
    return subprocess.Popen([sys.executable, "-m", "benchmarks.server", *given], stdout=subprocess.PIPE, text=True)


async def _clients(
    host: str, port: int, token: str, body: bytes, clients: int, seconds: float, route: str, pause: float
) -> list[float]:
    head = (
        f"POST /api/v1/datasets/hospital/{route} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    until = time.perf_counter() + seconds
    found = await asyncio.gather(*(_client(host, port, head.encode() + body, until, pause) for _ in range(clients)))
    return [each for times in found for each in times]


async def _client(host: str, port: int, request: bytes, until: float, pause: float) -> list[float]:
    """Pauses are exponential, as of people who do not know of each other."""
    reader, writer = await asyncio.open_connection(host, port)
    times = []
    while time.perf_counter() < until:
        if pause:
            await asyncio.sleep(random.expovariate(1 / pause))
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        times.append(time.perf_counter() - began)
    writer.close()
    return times


if __name__ == "__main__":
    host, port, token, body, clients, seconds, route, pause = sys.argv[1:]
    sending = _clients(host, int(port), token, body.encode(), int(clients), float(seconds), route, float(pause))
    print(json.dumps(asyncio.run(sending)))
