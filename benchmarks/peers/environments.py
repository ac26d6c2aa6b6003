"""Environments for peers, made at first use inside ours; what cannot be installed or fails is told, not left out.

`DISCREET_PEERS=here` makes none: what is not installed yet is told as well.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = Path(sys.prefix) / "peers"
LIMIT = 300
"""Seconds that a peer may take for a task."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer: its name, the module that runs it, what to install for it."""

    name: str
    module: str
    requirements: tuple[str, ...]
    environment: str = ""
    """The folder that it shares with another module; its own if empty."""
    alone: tuple[str, ...] = ()
    """What is installed without what it asks for: where that is not needed, and cannot be had."""
    is_data: bool = False
    """Whether it is a package for the rows that it bundles: small, and installed without asking."""


PEERS = (
    Peer("Qrlew", "qrlew", ("pyqrlew==0.9.27", "duckdb==2.0.0", "numpy==1.26.4")),
    Peer("opendp", "opendp", ("opendp[polars]==0.16.0",)),
    Peer("smartnoise-sql", "smartnoise", ("smartnoise-sql==1.0.10", "duckdb==2.0.0", "pandas==2.3.3", "setuptools")),
)


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no result."""

    reason: str


def result(peer: Peer, task: str, path: Path, limit: float = LIMIT) -> Any | Failed:
    """What a peer's task returned for these rows, or why it did not."""
    try:
        shown = _run(_python(peer), "-m", f"benchmarks.peers.{peer.module}", task, path, limit=limit)
    except subprocess.TimeoutExpired as late:
        return Failed(f"more than {late.timeout:g} s")
    except AbsentError as absent:
        return Failed(str(absent))
    except subprocess.CalledProcessError as error:
        return Failed(_reason(error))
    return json.loads(shown.splitlines()[-1])


class AbsentError(Exception):
    """A peer that has no environment here, where none may be made."""


def _python(peer: Peer) -> Path:
    folder = FOLDER / (peer.environment or peer.module)
    python = folder / "bin" / "python"
    ready = folder / "requirements.txt"
    wanted = "\n".join((*peer.requirements, *peer.alone))
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        if os.environ.get("DISCREET_PEERS") == "here" and not peer.is_data:
            raise AbsentError("not installed (python -m benchmarks --peers installs it)")
        venv.create(folder, clear=True, with_pip=True)
        _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.requirements, limit=1200)
        if peer.alone:
            _run(python, "-m", "pip", "install", "--quiet", "--no-deps", *peer.alone, limit=1200)
        ready.write_text(wanted, encoding="utf-8")
    return python


def _run(program: Path, *arguments: object, limit: float) -> str:
    command = [str(program), *map(str, arguments)]
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}  # packages of ours are not theirs
    done = subprocess.run(command, cwd=ROOT, env=own, check=True, capture_output=True, text=True, timeout=limit)
    return done.stdout


def _reason(error: subprocess.CalledProcessError) -> str:
    """From the last line that names an error; neither traces before it nor pip's notices start so."""
    lines = str(error.stderr).splitlines() or [f"exit {error.returncode}"]
    named = [place for place, line in enumerate(lines) if re.match(r"[\w.]*(ERROR|Error|Exception): ", line)]
    return " ".join(" ".join(lines[named[-1] if named else -1 :]).split())[:120]
