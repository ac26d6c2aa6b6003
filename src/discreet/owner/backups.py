"""Backups of a ledger one after the other, in a folder: the newest stay, older ones go."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from discreet.curator.state import back_up_ledger
from discreet.errors import Refused
from discreet.ledger import LedgerError, Report
from discreet.ledger.sqlite import UNFINISHED
from discreet.logs import note
from discreet.policy import Policy, PolicyError, read
from discreet.printing import printable

TIME: Final = "%Y%m%dT%H%M%S%fZ"
"""In UTC, so that the order of names is that in which they were made, as long as nobody sets the clock back."""
_MOMENT: Final = "[0-9]{8}T[0-9]{12}Z"

Tell = Callable[[str], None]


def next_backup(policy: Policy, folder: Path, copies: int, now: datetime | None = None) -> tuple[Path, Report]:
    """One more backup, verified; then the oldest of this ledger go until there are `copies`. All other files stay."""
    if folder.resolve().is_relative_to(policy.state.resolve()):
        raise LedgerError(f"{folder} lies in the state folder, which backups are for", "name a folder on another disk")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    begins = _label(policy)
    path = folder / f"{begins}-{_following(folder, begins, now or datetime.now(UTC)).strftime(TIME)}.sqlite"
    report = back_up_ledger(policy, path)
    note("backed-up", dataset=policy.name, records=report.records, sound=report.sound)
    if report.sound:
        _remove_older(folder, begins, copies, made=path)
    return path, report


def _following(folder: Path, begins: str, now: datetime) -> datetime:
    """After those of all that are there: where a clock was ahead, the newest would go as the oldest."""
    with suppress(ValueError, OverflowError):  # a name with digits that are no time
        newest = max((match[2] for match, _ in _ours(folder, begins) if match[3] is None), default="")
        return max(now, datetime.strptime(newest, TIME).replace(tzinfo=UTC) + timedelta(microseconds=1))
    return now


def _ours(folder: Path, begins: str) -> list[tuple[re.Match[str], Path]]:
    """The backups of a ledger, and what was left of some by a process that was killed."""
    named = re.compile(f"({re.escape(begins)}-({_MOMENT})[.]sqlite)([.][0-9a-f]+{re.escape(UNFINISHED)}.*)?")
    return [(match, each) for each in folder.iterdir() if (match := named.fullmatch(each.name))]


def _remove_older(folder: Path, begins: str, copies: int, *, made: Path) -> None:
    """The newest copies stay, and the one just made.

    What is older than these goes, and with it what was left by a process that was killed.
    """
    ours = _ours(folder, begins)
    oldest = sorted(match[1] for match, _ in ours if match[3] is None)[-copies:][0]
    for match, old in ours:
        if match[1] < oldest and old != made:
            old.unlink(missing_ok=True)


def _label(policy: Policy) -> str:
    """The name as files may have it, with what tells ledgers of the same name apart."""
    digest = hashlib.sha256(os.fsencode(policy.state.resolve())).hexdigest()[:6]
    return f"{re.sub('[^A-Za-z0-9_]+', '-', policy.name)[:40]}-{digest}"


def back_up_again_and_again(policy: Path, folder: Path, copies: int, tell: Tell, wait: Callable[[], bool]) -> None:
    """Until `wait` says that it was the last: what fails is told, and tried again the next time."""
    while True:
        try:
            path, report = next_backup(read(policy), folder, copies)
            tell(f"{path.name}: {report.records} records, {'sound' if report.sound else 'not sound'}")
        except (LedgerError, PolicyError, Refused, OSError) as wrong:
            tell(f"no backup: {wrong}")
            note("backup-failed", f"no backup: {printable(str(wrong))}")
        if wait():
            return
