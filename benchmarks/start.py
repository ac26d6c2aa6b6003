"""How long it takes to start: `import discreet` beside numpy, and commands that look at a policy, in CPU seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.server.running import token

import discreet
from benchmarks.figures import Figure, at_most, best_of
from discreet.lab.hospital import build

TEXT = "SELECT COUNT(*) AS n FROM patients WHERE age > 30"
COMMANDS = {"budget": ((), 0.25), "preview": ((TEXT, "--epsilon", "0.1"), 0.4)}
"""Of each command its arguments behind the policy, and its limit above that of `python -c pass`."""
PROGRAM = "from discreet.cli import main; main()"
SERVED = 2.0
"""Seconds within which a server that is started has answered its first question."""


def figures() -> Iterator[Figure]:
    bare = _seconds("pass")
    limit = 0.15
    numpy = _seconds("import numpy") - bare
    for statement in ("import discreet", "from discreet.mechanisms import Laplace"):
        took = _seconds(statement) - bare
        if statement == "import discreet":
            yield at_most(statement, f"{took:.3f} s", "limit 0.15 s", took / limit, 1)
        else:
            yield at_most(statement, f"{took:.3f} s", f"numpy alone {numpy:.3f} s", took / numpy, 2)
    yield from _commands()


def _seconds(statement: str) -> float:
    return best_of(7, lambda: subprocess.run([sys.executable, "-c", statement], check=True))


def _commands() -> Iterator[Figure]:
    """Modules are compiled beforehand, as an installed package has them."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        policy = str(build(Path(folder)))
        with discreet.open(policy) as hospital:
            hospital.query(TEXT, epsilon=0.1)
        bare = _processor(sys.executable, "-c", "pass")
        for command, (arguments, limit) in COMMANDS.items():
            took = _processor(sys.executable, "-c", PROGRAM, command, policy, *arguments) - bare
            yield at_most(f"discreet {command}, CPU", f"{took:.2f} s", f"limit {limit} s", took / limit, 1)
        yield _served(policy)


def _served(policy: str) -> Figure:
    """From the command to the first answer, by the clock: the least of a few, and its CPU seconds beside it."""
    held = token(Path(policy), "owner")
    took, processor = min(_first_answer(policy, held) for _ in range(3))
    ours = f"{took:.2f} s, of it {processor:.2f} s CPU"
    return at_most("discreet serve, to its first answer", ours, f"limit {SERVED:g} s", took / SERVED, 1)


def _first_answer(policy: str, held: str) -> tuple[float, float]:
    command = [sys.executable, "-c", PROGRAM, "serve", policy, "--port", "0", "--log", f"{policy}.log"]
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    before, began = os.times(), time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=settings) as server:
        assert server.stderr is not None
        address = next(line.split()[-1] for line in server.stderr if line.startswith("serving "))
        name = _asked(f"{address}/api/v1/datasets", held)["datasets"][0]["name"]
        _asked(f"{address}/api/v1/datasets/{name}/query", held, {"sql": TEXT, "epsilon": 0.001, "fresh": True})
        took = time.perf_counter() - began
        server.terminate()
    after = os.times()
    return took, sum(after[2:4]) - sum(before[2:4])


def _asked(address: str, held: str, question: object = None) -> Any:
    content = None if question is None else json.dumps(question).encode()
    headers = {"authorization": f"Bearer {held}", "content-type": "application/json"}
    with urlopen(Request(address, content, headers)) as response:
        return json.loads(response.read())


def _processor(*command: str) -> float:
    """The least CPU seconds of a few runs: those of a busy machine are never too few."""
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    took = []
    for _ in range(5):
        before = os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=settings)
        after = os.times()
        took.append(sum(after[2:4]) - sum(before[2:4]))
    return min(took)
