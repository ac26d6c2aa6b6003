"""Runs parts one after the other, each in a process of its own and within its time: none can end the others.

What fails, hangs or is missing becomes a row of the page.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from benchmarks import machine
from benchmarks.figures import Figure
from benchmarks.parts import PARTS
from benchmarks.results import Result, rows_of

ROOT: Final = Path(__file__).parents[1]
SPARK: Final = ROOT / ".spark"
"""Where `make` unpacks pyspark."""
GRACE: Final = 30.0
"""Seconds in which a part that is interrupted can end its servers."""
LONGEST_NOTE: Final = 300
COMMAND: Final = (sys.executable, "-m", "benchmarks.child")


def run(
    name: str,
    facts: Mapping[str, str],
    *,
    full: bool = False,
    peers: bool = False,
    patience: float = 1,
    command: tuple[str, ...] = COMMAND,
) -> Result:
    """Measure a part; whatever happens to it, there is a result."""
    part = PARTS[name]
    limit = part.limit * patience * (5 if full or peers else 1)
    date, commit, load = datetime.now(UTC).date().isoformat(), machine.commit(), machine.load()
    before, start = _processor(), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        os.chmod(folder, 0o711)  # PostgreSQL runs as somebody else, in a folder of its own within
        lines, output, errors = (Path(folder) / file for file in ("figures", "output", "errors"))
        lines.touch()
        environment = _environment(folder, {} if full else dict(part.settings), peers=peers)
        with output.open("wb") as said, errors.open("wb") as wrong:
            ended = _within(limit, [*command, name, str(lines)], environment, said, wrong)
        figures = [Figure(**json.loads(line)) for line in _text(lines).splitlines()]
        failed = _failure(ended, limit, _text(errors), folder)
        notes = tuple(dict.fromkeys(_plain(line, folder) for line in _paragraphs(_text(output))))
    seconds, processor = time.perf_counter() - start, _processor() - before
    left_out = "" if full else part.left_out
    return Result(
        name, date, commit, load, round(seconds, 1), round(processor, 1), left_out, facts, notes, failed,
        rows_of(figures),
    )  # fmt: skip


def _environment(folder: str, settings: Mapping[str, str], *, peers: bool) -> dict[str, str]:
    """What is set outside stays; what a part writes goes where it is removed."""
    path = os.pathsep.join(filter(None, [str(SPARK) if SPARK.exists() else "", os.environ.get("PYTHONPATH", "")]))
    wanted = {"DISCREET_PEERS": "1" if peers else "here", **settings}
    return {**wanted, **os.environ, "PYTHONPATH": path, "TMPDIR": folder, "COLUMNS": "1000"}


def _within(
    limit: float, command: list[str], environment: dict[str, str], output: IO[bytes], errors: IO[bytes]
) -> int | None:
    """How the process ended; None if it had to be stopped. It may end its own children first."""
    child = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
        start_new_session=True,
    )  # fmt: skip
    try:
        return child.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """All of its group: interrupted, then killed. So also when whoever runs benchmarks interrupts them."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _failure(ended: int | None, limit: float, errors: str, folder: str) -> str:
    if ended == 0:
        return ""
    if ended is None:
        return f"stopped after {limit:g} s"
    named = [line for line in errors.splitlines() if re.match(r"[\w.]*(Error|Exception|Interrupt|Exit)\b", line)]
    return _plain(named[-1] if named else f"exit {ended}", folder)


def _paragraphs(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _plain(line: str, folder: str) -> str:
    """Without places of this machine: what is written lies in a repository that others read."""
    for place in (folder, str(ROOT), sys.prefix, tempfile.gettempdir(), str(Path.home())):
        line = line.replace(place, "…")
    line = re.sub(r"\w+://\S+", "…", line)
    return " ".join(line.split())[:LONGEST_NOTE]


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
