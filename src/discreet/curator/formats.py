"""The format of a state folder: which one it has, whether this program may use it, and how it is brought up to date.

A file of the folder states it: `format.json`, with a number and the version of the program that wrote it. A folder
without one is of a time before there was one (format 0). Newer folders than this program knows are refused by everybody
who opens anything in them, before anything is read or changed.

`discreet upgrade` brings a folder up to date, under a lock, step by step: first a verified copy of the ledger is made
beside it (`before-format-1.sqlite`), then each step, then the statement, which is replaced at once. A step may be
repeated, so that a process that is killed anywhere leaves a folder of the old format whose upgrade begins again, or one
of the new. What this program writes is understood by formats 0 and 1 alike, so that nobody has to upgrade now.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from discreet.files import flush, locked
from discreet.ledger import LedgerError, back_up
from discreet.logs import note
from discreet.version import __version__

FILE: Final = "format.json"
LOCK: Final = "upgrade.lock"
LEDGER: Final = "ledger.sqlite"
FORMAT: Final = 1
OLDEST: Final = 0
"""The least format that this program reads and writes as it is; older ones are refused until they are upgraded."""
MAX_BYTES: Final = 4096
MARKS: Final = {"tokens.sqlite": 0x44495354, "saved.sqlite": 0x44495351}
"""Databases of the folder beside the ledger, and what tells that they are ours ("DIST", "DISQ")."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a folder says of itself."""

    number: int
    program: str


def stated(folder: Path) -> Stated:
    """The format of a state folder, or a refusal: it cannot be told."""
    path = folder / FILE
    try:
        with path.open("rb") as file:
            raw: Any = json.loads(file.read(MAX_BYTES))
        number, program = raw["format"], raw["program"]
    except FileNotFoundError:
        return Stated(0, "")
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        number, program = None, ""
    if type(number) is not int or number < 1 or not isinstance(program, str):
        raise LedgerError(f"{path} does not state a format", "restore it from a backup of the state folder")
    return Stated(number, program[:40])


def demand_known(folder: Path) -> Stated:
    """Raise if the folder is not one to work with: written by a newer program, or too old before it is upgraded."""
    known = demand_not_newer(folder)
    if known.number < OLDEST:
        raise LedgerError(
            f"{folder} has format {known.number}, and this is discreet {__version__}, which works with {OLDEST} and "
            "later: nothing was changed",
            "stop what else uses it, then type: discreet upgrade POLICY (it makes a copy of the ledger first)",
        )
    return known


def demand_not_newer(folder: Path) -> Stated:
    """Raise if a newer program wrote the folder: it may mean what this one does not understand."""
    known = stated(folder)
    if known.number > FORMAT:
        raise LedgerError(
            f"{folder} has format {known.number}, written by discreet {known.program}; this is discreet {__version__}, "
            f"which knows {FORMAT}",
            f"use discreet {known.program} or newer",
        )
    return known


def upgrade(folder: Path) -> int | None:
    """Bring a folder up to date; the format that it had, None if it was up to date."""
    if demand_not_newer(folder).number == FORMAT:
        return None
    with locked(folder / LOCK):
        before = demand_not_newer(folder).number  # somebody may have done it meanwhile
        if before == FORMAT:
            return None
        try:
            for number in range(before + 1, FORMAT + 1):
                if (folder / LEDGER).exists():
                    _save(folder, number)
                STEPS[number](folder)
                state_format(folder, number)
        except (OSError, sqlite3.Error) as wrong:
            reason = getattr(wrong, "strerror", None) or str(wrong)
            fix = "make room, and try again: what is there is as it was"
            raise LedgerError(f"{folder} could not be brought up to date: {reason}", fix) from None
        if (folder / LEDGER).exists():
            note("upgraded", f"from format {before}", format=FORMAT)
        return before


def backup_of(folder: Path, number: int) -> Path:
    """The ledger as it was before a step."""
    return folder / f"before-format-{number}.sqlite"


def _save(folder: Path, number: int) -> None:
    """A verified copy of the ledger, whole or not there; one that was made before is as good."""
    target = backup_of(folder, number)
    if target.exists():
        return
    temporary = target.with_suffix(".tmp")
    for left in folder.glob(f"{temporary.name}*"):  # also of copies that others did not finish, who were killed
        left.unlink(missing_ok=True)
    report = back_up(folder / LEDGER, temporary)
    if not report.sound:
        temporary.unlink(missing_ok=True)
        raise LedgerError(
            f"the ledger in {folder} is not sound, and is not upgraded: {'; '.join(report.problems[:3])}",
            "see discreet ledger verify, and restore a backup",
        )
    flush(temporary)
    temporary.replace(target)
    flush(folder)


def _mark(folder: Path) -> None:
    """0 → 1: databases beside the ledger state their format, too; each in one transaction."""
    for name, application in MARKS.items():
        if (folder / name).exists():
            with closing(sqlite3.connect(folder / name, timeout=30, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA application_id = {application}")
                connection.execute("PRAGMA user_version = 1")
                connection.execute("COMMIT")


STEPS: Final[Mapping[int, Callable[[Path], None]]] = {1: _mark}
"""How a folder comes to have each format from the one before. A step that was done does no harm."""


def state_format(folder: Path, number: int) -> None:
    """Say that the folder has this format: replaced at once, and on disk when this returns."""
    temporary = folder / f"{FILE}.tmp"
    text = json.dumps({"format": number, "program": __version__})
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / FILE)
    flush(folder)
