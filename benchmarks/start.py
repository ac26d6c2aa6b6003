"""How long it takes to start: `import discreet` beside numpy, and commands that look at a policy, in CPU seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import discreet
from benchmarks.figures import Figure, at_most, best_of
from discreet.lab.hospital import build

TEXT = "SELECT COUNT(*) AS n FROM patients WHERE age > 30"
COMMANDS = {"budget": ((), 0.25), "preview": ((TEXT, "--epsilon", "0.1"), 0.4)}
"""Of each command its arguments behind the policy, and its limit above that of `python -c pass`."""


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
            program = "from discreet.cli import main; main()"
            took = _processor(sys.executable, "-c", program, command, policy, *arguments) - bare
            yield at_most(f"discreet {command}, CPU", f"{took:.2f} s", f"limit {limit} s", took / limit, 1)


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
