"""What an owner erases of the record: texts and answers that the policy keeps no longer."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from discreet.curator.retention import limits_of, retain, with_saved
from discreet.curator.state import RecordedLedger, home_of, ledger_over, recorded_ledger
from discreet.errors import Refused
from discreet.ledger import Ledger, LedgerError, Marks
from discreet.ledger.homes import InDatabase
from discreet.ledger.retention import Retained
from discreet.policy import Policy

HISTORY: Final = "shell_history"
"""What was typed into the shell, in the state folder: each piece after a line with its time."""
_TYPED: Final = re.compile(r"(?m)^# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)$")


def retain_ledger(policy: Policy, owner: str | None = None) -> Retained:
    """Erase from the ledger, the shell's history and saved queries what is too old; `owner` is the address of a role
    that owns the tables of a ledger in PostgreSQL."""
    if not policy.retention:
        raise Refused(
            "no-retention",
            "the policy keeps texts and answers for good",
            'write [retention] with questions = "90d" and answers = "1y" into it',
        )
    trim_history(policy)
    ledger = recorded_ledger(policy) if owner is None else _owned(policy, owner)
    if ledger is None:
        return with_saved(policy, Retained())
    with ledger:
        return with_saved(policy, retain(policy, ledger))


def _owned(policy: Policy, owner: str) -> Ledger:
    from discreet.ledger.postgres.retaining import OwnedPostgres
    from discreet.ledger.postgres.session import address_of

    home = home_of(policy)
    if not isinstance(home, InDatabase):
        raise LedgerError(f"the ledger is a file: {home}", "leave --owner out")
    where = address_of(owner, home.where.schema, policy.folder)
    store = OwnedPostgres(home.where, where, Marks.default())
    return ledger_over(store, policy, RecordedLedger, document=policy.document or None)


def trim_history(policy: Policy) -> None:
    """Leave of the shell's history what is not too old: a new file in the place of the old one."""
    limit, path = limits_of(policy).questions, policy.state / HISTORY
    if limit is None or not path.is_file() or path.is_symlink():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    starts = [match.start() for match in _TYPED.finditer(text)]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    recent = [piece for piece in pieces if _typed_at(piece) >= limit]
    if len(recent) < len(pieces):
        _rewritten(path, "\n" + "".join(recent) if recent else "")


def _typed_at(piece: str) -> datetime:
    written = _TYPED.match(piece)
    assert written is not None
    return datetime.fromisoformat(written[1]).astimezone(UTC)  # the shell writes the time of where it runs


def _rewritten(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write(text)
    temporary.replace(path)
