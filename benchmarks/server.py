"""A small question through the server beside the same question in process: how many a second, and how long each takes.

The clients are another process that sends prepared bytes over connections that stay open, so that what is measured is
the server: `python -m benchmarks.server HOST PORT TOKEN BODY CLIENTS SECONDS`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlsplit

from tests.server.running import POLICY, build, serving

import discreet
from benchmarks.figures import Figure, at_least, median_of

CLIENTS = (1, 16, 64)
SECONDS = 4.0
TEXT = "SELECT COUNT(*) AS n FROM patients"
OTHER = "SELECT COUNT(*) AS n FROM patients WHERE age > 30"
"""Asked afresh many times: all those answers are kept and looked through."""
PRICE = 1e-4
QUESTIONS = {
    "kept": {"sql": TEXT, "epsilon": PRICE},
    "fresh": {"sql": OTHER, "epsilon": PRICE, "fresh": True},
}
LEAST = {"kept": 0.05, "fresh": 0.3}
"""Of what one thread does in process: a kept answer costs next to nothing there, so that HTTP is all that is seen."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        policy = build(Path(folder), text=POLICY.replace("epsilon = 30.0", "epsilon = 1e6", 1))
        here = _in_process(policy)
        with serving(policy, "--workers", "4") as running:
            parts = urlsplit(running.url)
            for kind, question in QUESTIONS.items():
                for clients in CLIENTS:
                    times = _load(str(parts.hostname), str(parts.port), running.tokens["owner"], question, clients)
                    yield _figure(kind, clients, times, here[kind])


def _figure(kind: str, clients: int, times: list[float], here: float) -> Figure:
    rate = len(times) / SECONDS
    cuts = quantiles(times, n=100)
    ours = f"{rate:.0f}/s, p50 {1000 * cuts[49]:.1f} ms, p99 {1000 * cuts[98]:.1f} ms"
    what = f"server, {kind} answer, {clients} client{'' if clients == 1 else 's'}"
    return at_least(what, ours, f"in process {1 / here:.0f}/s, {1000 * here:.2f} ms", rate * here, LEAST[kind])


def _in_process(policy: Path) -> dict[str, float]:
    """Seconds of each kind of question in one thread."""
    with discreet.open(policy) as curator:
        curator.query(TEXT, epsilon=PRICE)
        return {
            "kept": median_of(200, lambda: curator.query(TEXT, epsilon=PRICE)),
            "fresh": median_of(50, lambda: curator.query(OTHER, epsilon=PRICE, fresh=True)),
        }


def _load(host: str, port: str, token: str, question: dict[str, object], clients: int) -> list[float]:
    child = [sys.executable, "-m", "benchmarks.server", host, port, token, json.dumps(question)]
    found = subprocess.run([*child, str(clients), str(SECONDS)], capture_output=True, text=True, check=True)
    times: list[float] = json.loads(found.stdout)
    return times


async def _clients(host: str, port: int, token: str, body: bytes, clients: int, seconds: float) -> list[float]:
    head = (
        f"POST /api/v1/datasets/hospital/query HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    until = time.perf_counter() + seconds
    found = await asyncio.gather(*(_client(host, port, head.encode() + body, until) for _ in range(clients)))
    return [each for times in found for each in times]


async def _client(host: str, port: int, request: bytes, until: float) -> list[float]:
    reader, writer = await asyncio.open_connection(host, port)
    times = []
    while time.perf_counter() < until:
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
    host, port, token, body, clients, seconds = sys.argv[1:]
    print(json.dumps(asyncio.run(_clients(host, int(port), token, body.encode(), int(clients), float(seconds)))))
