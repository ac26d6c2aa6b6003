"""Facts about the machine and its versions, as they stand beside every figure."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Final

PACKAGES: Final = ("numpy", "duckdb", "sqlglot", "scikit-learn", "scipy", "fastapi", "psycopg", "pyspark", "opendp")
PROGRAMS: Final = {"PostgreSQL": ("initdb", "--version"), "Java": ("java", "-version")}
ROOT: Final = Path(__file__).parents[1]


def facts() -> dict[str, str]:
    """What does not change while benchmarks run."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "processor": _processor(),
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "versions": ", ".join(_versions()),
    }


def _processor() -> str:
    """Its name, where the system tells it."""
    told = Path("/proc/cpuinfo")
    text = told.read_text(encoding="utf-8", errors="replace") if told.exists() else ""
    name = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return name[1].strip() if name else platform.processor() or platform.machine()


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return [*found, *(f"{name} {told}" for name, command in PROGRAMS.items() if (told := _told(*command)))]


def _told(*command: str) -> str:
    """The version that a program tells, or nothing where it is not here."""
    try:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    number = re.search(r"\d+(\.\d+)+|\b\d+\b", shown.stdout + shown.stderr)
    return number[0] if number and shown.returncode == 0 else ""


def commit() -> str:
    """Which one is measured; with a + where files were changed since."""
    try:
        shown = _git("rev-parse", "--short=10", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks/*.py")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return shown + ("+" if changed else "")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True, timeout=20
    ).stdout.strip()


def load() -> float:
    """Programs that wanted to run in the last minute, in the mean: with more than a few, times mean little."""
    return round(os.getloadavg()[0], 1)
