"""Erasing texts and answers that are older than the policy keeps them: when its owner refreshes, or says so.

No clock does it, and nobody who asks: what is cached, and hence free, changes by what the owner does, on the record.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from discreet.curator.formats import LEDGER, MARKS
from discreet.curator.saved import SavedQueries
from discreet.curator.state import home_of
from discreet.ledger import Ledger
from discreet.ledger.homes import InFile
from discreet.ledger.retention import NOTHING, Limits, Retained
from discreet.policy import Policy

REASON: Final = "older than the policy's retention"
SQLITE: Final = b"SQLite format 3\0"
WAL: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""How a file of SQLite begins, and what was written to one and is not in it yet."""


def limits_of(policy: Policy) -> Limits:
    """The moments before which texts and answers go, as of now."""
    retention = policy.retention
    spans = (None if span is None else span.time for span in (retention.questions, retention.answers))
    return Limits.before(datetime.now(UTC), *spans)


def retain(policy: Policy, ledger: Ledger) -> Retained:
    """Erase from a ledger what is too old; nothing, if the policy keeps all for good."""
    if not policy.retention:
        return NOTHING
    return replace(ledger.retain(limits_of(policy), REASON), left=tuple(left_beside(policy)))


def left_beside(policy: Policy) -> list[str]:
    """Files of the state folder that hold a ledger, or what was written to one, and are not the one that is used.

    Ledgers that were replaced, copies from before an upgrade, what a process that was killed left of a copy, backups
    that somebody put there, and the file of a ledger that was moved on.
    """
    used = {*MARKS, LEDGER} if isinstance(home_of(policy), InFile) else MARKS.keys()
    return sorted(
        path.name
        for path in (policy.state.iterdir() if policy.state.is_dir() else ())
        if path.name.removesuffix("-wal") not in used and path.is_file() and _holds_records(path)
    )


def _holds_records(path: Path) -> bool:
    with path.open("rb") as file:
        begins = file.read(len(SQLITE))
    return begins == SQLITE or begins[:4] in WAL


def with_saved(policy: Policy, done: Retained) -> Retained:
    """The same, and saved queries: texts as others are, which go when nobody saved them again in time."""
    limit = limits_of(policy).questions
    if limit is None:
        return done
    with closing(SavedQueries.of(policy)) as saved:
        count, gone = saved.forget(limit)
    return replace(done, saved=count, gone=done.gone and gone)
