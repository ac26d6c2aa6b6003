"""What can go wrong with a ledger. All of it fails closed: no charge, no answer."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.errors import Problem

if TYPE_CHECKING:
    from discreet.ledger.state import State


class LedgerError(Problem):
    """The ledger could not be used; nothing was released."""

    code = "ledger"
    spent = None


class LedgerDamaged(LedgerError):  # noqa: N818  (it is a state, found out)
    """The ledger's content is not what discreet wrote."""


class LedgerUnreachable(LedgerError):  # noqa: N818  (it is a state, found out)
    """The server of the ledger did not say whether it wrote; no bits were given."""


def demand_here(state: State) -> None:
    """Raise if the journal goes on elsewhere."""
    if state.moved is not None:
        raise LedgerError(
            f"this ledger was moved to {state.moved[1]}, and is closed here for good",
            "let the policy name it there; if the move was interrupted, run the same `discreet ledger move` again",
        )


@final
class reported:  # noqa: N801  (it is called like a function; ten are entered for each answer, so it is no generator)
    """Turn what SQLite and the system say within the block into an error that says what to do."""

    __slots__ = ("_doing", "_path")

    def __init__(self, doing: str, path: Path) -> None:
        self._doing, self._path = doing, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> None:
        if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError):  # SQLite quotes damaged text in what it says
            advice = _advice(str(error))
            problem = LedgerError if advice else LedgerDamaged
            raise problem(f"could not {self._doing} {self._path}: {error}", advice or "restore a backup") from None
        if isinstance(error, OSError):
            advice = _advice(str(error)) or "check the state folder"
            raise LedgerError(f"could not {self._doing} {self._path}: {error.strerror}", advice) from None


def _advice(message: str) -> str | None:
    """What to do about a failure that is not the file's; None if it is."""
    table = {
        "readonly": "make the state folder writable",
        "ermission": "make the state folder writable",
        "Read-only": "make the state folder writable",
        "unable to open": "see that it is a file, and that you may write to its folder",
        "full": "free some space; nothing was answered",
        "No space": "free some space; nothing was answered",
        "disk I/O": "check the disk; nothing was answered",
        "locked": "try again: other processes are spending",
        "No such file": "create the folder first",
    }
    return next((advice for part, advice in table.items() if part in message), None)
