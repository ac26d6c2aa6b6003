"""Wheel and sdist from what is committed, and whether building them elsewhere and later gives the same bytes."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
BUILD: Final = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]), b.build_sdist(sys.argv[1]))"
LATER: Final = 10**8
"""Seconds by which files of the second tree are older."""


def committed() -> bytes:
    """The tree of the last commit, as a tar archive: nothing that merely lies about is in it."""
    return subprocess.run(("git", "archive", "HEAD"), cwd=ROOT, check=True, capture_output=True).stdout


def moment() -> int:
    """When the last commit was made: the time of all files in what is built."""
    shown = subprocess.run(("git", "log", "-1", "--format=%ct"), cwd=ROOT, check=True, capture_output=True, text=True)
    return int(shown.stdout)


def unpacked(archive: bytes, folder: Path, *, older: int = 0) -> Path:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    for path in folder.rglob("*"):
        if older and path.is_file():
            os.utime(path, (path.stat().st_mtime - older,) * 2)
    return folder


def built(tree: Path, target: Path, *, at: int, zone: str = "UTC", seed: str = "1") -> list[Path]:
    """Wheel and sdist of a tree, with every time in them at this moment."""
    target.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(at), "TZ": zone, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", BUILD, str(target.absolute())]
    shown = subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True, text=True)
    return [target / name for name in shown.stdout.split()[-2:]]


def built_twice(archive: bytes, scratch: Path, target: Path, *, at: int) -> tuple[list[Path], list[str]]:
    """What was built, and which of it another folder, older files, another zone and another seed change."""
    first = built(unpacked(archive, scratch / "one"), target, at=at)
    tree = unpacked(archive, scratch / "another" / "place", older=LATER)
    second = built(tree, scratch / "again", at=at, zone="Pacific/Kiritimati", seed="2")
    differing = [one.name for one, other in zip(first, second, strict=True) if one.read_bytes() != other.read_bytes()]
    return first, differing


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
