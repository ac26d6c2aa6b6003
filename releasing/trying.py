"""Whether a wheel installs and runs in an empty environment, with every Python that is here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MINORS: Final = range(11, 20)
"""Of Python 3."""
MOST_MEGABYTES: Final = 150
MOST_SECONDS: Final = 0.15
RUNS: Final = 7
TOLD: Final = "import sys, json; print(json.dumps(sys.version_info[:3]))"
CSV: Final = "customer_id,ward\n" + "".join(f"{row},{'north' if row % 2 else 'south'}\n" for row in range(50))


class TryingError(Exception):
    """A command that should succeed did not."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What was found with one Python."""

    version: str
    megabytes: float
    """Of what was installed, ours and dependencies; without pip."""
    seconds: float
    """That importing takes, of the processor, above an empty program."""
    took: float

    @property
    def problems(self) -> list[str]:
        found = []
        if self.megabytes > MOST_MEGABYTES:
            found.append(f"Python {self.version}: {self.megabytes:.0f} MB are installed, above {MOST_MEGABYTES}")
        if self.seconds > MOST_SECONDS:
            found.append(f"Python {self.version}: import takes {self.seconds:.2f} s, above {MOST_SECONDS}")
        return found


def interpreters() -> dict[str, str]:
    """Programs by their version, one for each 3.N from 3.11 on: on the path, or of pyenv."""
    found: dict[str, str] = {}
    for program in _programs():
        try:
            shown = subprocess.run([program, "-c", TOLD], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            continue
        if shown.returncode == 0:
            major, minor, _ = json.loads(shown.stdout)
            if major == 3 and minor in MINORS:
                found.setdefault(f"3.{minor}", program)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


def _programs() -> Iterator[str]:
    yield sys.executable
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        yield from map(str, sorted(kept.glob(f"3.{minor}.*/bin/python")))
        yield from filter(None, [shutil.which(f"python3.{minor}")])


def tried(python: str, wheel: Path, scratch: Path) -> Tried:
    """Install the wheel alone into an empty environment, and do with it what a stranger does first."""
    start = time.perf_counter()
    folder = scratch / "environment"
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    before = _size(folder)
    run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", wheel)
    size = _size(folder) - before
    shown = run(inside, "-c", TOLD, cwd=scratch)
    discreet = folder / "bin" / "discreet"
    version = re.fullmatch(r"discreet-(.+?)-.*\.whl", wheel.name)
    if version is None or version[1] not in run(discreet, "--version", cwd=scratch):
        raise TryingError(f"{wheel.name} says another version of itself")
    run(discreet, "demo", "--fast", cwd=scratch)
    (scratch / "stays.csv").write_text(CSV, encoding="utf-8")
    run(discreet, "init", "stays.csv", "--unit", "customer_id", "--epsilon", "1", "-o", "stays.toml", cwd=scratch)
    run(discreet, "check", "stays.toml", cwd=scratch)
    answered = run(discreet, "query", "stays.toml", "SELECT COUNT(*) AS n FROM stays", "--epsilon", "0.5", cwd=scratch)
    if "±" not in answered:
        raise TryingError(f"no answer with its error: {answered}")
    return Tried(".".join(map(str, json.loads(shown))), size / 10**6, _importing(inside), time.perf_counter() - start)


def tried_by_pipx(wheel: Path, scratch: Path) -> None:
    """`pipx run --spec WHEEL discreet demo`, with a pipx of its own."""
    run(sys.executable, "-m", "venv", scratch / "pipx")
    inside = scratch / "pipx" / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pipx")
    homes = {"PIPX_HOME": str(scratch / "home"), "PIPX_BIN_DIR": str(scratch / "bin")}
    run(inside, "-m", "pipx", "run", "--spec", wheel, "discreet", "demo", "--fast", cwd=scratch, **homes)


def run(*command: object, cwd: Path | None = None, **more: str) -> str:
    """What a program prints; no variable of ours reaches it."""
    known = {**environment(cwd), **more}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=known, capture_output=True, text=True)
    if done.returncode:
        raise TryingError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout + done.stderr


def environment(folder: Path | None = None) -> dict[str, str]:
    """Variables for a program that was installed: none of ours, and marks of ledgers in this folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DISCREET", "VIRTUAL"))}
    return {**kept, "DISCREET_MARKS": str(folder / "marks")} if folder else kept


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _importing(python: Path) -> float:
    """Seconds of the processor, the least of several runs, above those of an empty program."""
    bare, ours = (min(_processor(python, text) for _ in range(RUNS)) for text in ("pass", "import discreet"))
    return ours - bare


def _processor(python: Path, text: str) -> float:
    return float(run(python, "-c", f"import time; {text}; print(time.process_time())"))
