"""Who has a private copy open. A file that is removed stays on the disk until the last who has it open lets it go.

Every engine holds a shared lock on a file beside its copy (`7.0123456789abcdef.held`) for as long as it lives. The file
outlives the copy, so that whoever erases, now or later, sees by its lock whether somebody still reads what was there.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from discreet.engines.connection import other_spill
from discreet.engines.problems import SourceError
from discreet.engines.spark.cluster import rows_on_disk
from discreet.engines.spark.copy import ENDING as FOLDER

ENDING: Final = ".held"
LOOK: Final = 0.05
"""Seconds between two looks at whether somebody has let go."""


def hold(copy: Path) -> int:
    """Say that this copy is in use, until the descriptor is closed."""
    beside = copy.with_suffix(ENDING)
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not copy.exists():  # it was removed before it was held
        os.close(descriptor)
        raise SourceError("data", "the copy was removed meanwhile", "ask again")
    return descriptor


def held(state: Path, version: int, patience: float = 0.0) -> tuple[str, ...]:
    """What other programs have of data versions but this one, after so many seconds at most: in words.

    Locks of copies that nobody has open any more are removed.
    """
    until = time.monotonic() + patience
    while (left := _left(state, version)) and time.monotonic() < until:
        time.sleep(LOOK)
    return left


def _left(state: Path, version: int) -> tuple[str, ...]:
    beside = [path for path in (state / "data").glob(f"*{ENDING}") if not path.name.startswith(f"{version}.")]
    versions = sorted({path.name.partition(".")[0] for path in beside if _is_held(path)})
    copies = [f"the copy of data version {each}, which a program has open" for each in versions]
    folders = [folder for folder in (state / "data").glob(f"*{FOLDER}") if not folder.name.startswith(f"{version}.")]
    stuck = [f"data/{folder.name}: a copy that could not be removed" for folder in sorted(folders)]
    spilled = [f"{folder.name}: rows that a running query put on disk" for folder in other_spill(state)]
    own = ["rows that Spark, in this program, put on disk for a running query"] if rows_on_disk() else []
    return (*copies, *stuck, *spilled, *own)


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
