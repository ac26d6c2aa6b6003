"""Running the command, inside this process and outside of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from discreet.accounting import Pure
from discreet.cli import discreet
from discreet.curator.state import open_ledger
from discreet.policy import Policy

PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from discreet.cli import main; main()"
)
"""The command as a program that heeds Ctrl-C, also where whoever runs the tests does not."""


def run(*args: str | Path, code: int = 0) -> Result:
    """The command's result; it must end with this code, and never with a traceback."""
    result = CliRunner().invoke(discreet, [str(arg) for arg in args])
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def told(*args: str | Path, code: int = 0) -> Any:
    """What the command tells programs: one line of JSON on standard output, nothing else there."""
    result = run(*args, "--json", code=code)
    assert result.stdout.count("\n") == 1
    assert result.stdout.isascii()
    return json.loads(result.stdout)


def program(*args: str | Path, **settings: Any) -> subprocess.Popen[bytes]:
    """The command as a process of its own."""
    command = [sys.executable, "-c", PROGRAM, *map(str, args)]
    return subprocess.Popen(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings})


def spend(policy: Policy, epsilon: float, question: str = "SELECT COUNT(*)", analyst: str | None = None) -> str:
    """Charge a question and keep its answer; the receipt."""
    with open_ledger(policy) as ledger:
        charge = ledger.charge(Pure(epsilon, unit=policy.unit), why=question, analyst=analyst)
        with charge:
            charge.keep(b"42")
        return charge.receipt
