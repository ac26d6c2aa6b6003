"""Whether a ledger may be opened on this host: what its high-water mark says, and what the owner says to that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from discreet.ledger.codec import Record
from discreet.ledger.marks import UNREADABLE, Location, Mark, Marks, Writing
from discreet.ledger.problems import LedgerDamaged
from discreet.ledger.state import State
from discreet.ledger.store import Row
from discreet.noise import SYSTEM

ACCEPT: Final = "if you know why, let `discreet ledger accept` put that on record"
FORGET: Final = (
    "bring it back, or the newest backup with `discreet ledger restore`; if all is lost, "
    "`discreet ledger accept --forget` puts that on record"
)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What the owner says about a ledger that this host does not know, or knew otherwise."""

    reason: str
    forget: bool


@dataclass(slots=True)
class Watch:
    """The high-water mark of one opened ledger; without marks it knows only in which place the journal should be."""

    marks: Marks | None
    path: Location
    """As it was named: a link that leads to another ledger now is noticed as well."""
    accept: Acceptance | None = None
    here: str | None = None
    """The database that the journal is read from, as `State.home` has it; None in a file."""
    _writing: Writing | None = field(default=None, init=False)

    def demand_begun(self) -> None:
        """Raise if a ledger that is known to be here is gone: no new one is begun in its place."""
        mark = None if self.marks is None or self.accept is not None else known_at(self.marks, self.path)
        if mark is not None and isinstance(self.path, Path) and not self.path.exists():
            raise LedgerDamaged(f"the ledger at {self.path} had {mark.head} records and is gone", FORGET)

    def demand(self, state: State, rows: Callable[[int, int], Iterable[Row]], sealed: int = 0) -> Record | None:
        """Raise unless the ledger is what this host knows, or the owner accepts it; the record that says so, if any.

        rows, sealed   what is in it, and how many records a file had when it was closed.
        """
        if sealed > state.head and not (self.accept and self.accept.forget):
            what = f"{self.path} had {sealed} records when it was closed and has {state.head}"
            raise LedgerDamaged(what, "restore a backup")
        if self.marks is not None:
            self.marks.refuse_inside(self.path)
        alarm = self._alarm(state, rows)
        if alarm is None:
            return None
        known, concern, fix = alarm
        if concern:
            allowed = self.accept is not None and (self.accept.forget or fix == ACCEPT)
            if not allowed:
                raise LedgerDamaged(concern, fix)
        reason = self.accept.reason if self.accept is not None else "first opened here"
        host = "" if self.marks is None else self.marks.host
        fields = accepted(state, host, reason, known)
        return fields if state.home == self.here else {**fields, "home": self.here}

    def _alarm(self, state: State, rows: Callable[[int, int], Iterable[Row]]) -> tuple[int, str, str] | None:
        """How many records are known, what is wrong with the ledger, and what to do; None if all is well."""
        alarm = None if self.marks is None else self._concern(state, rows, self.marks)
        if (alarm is not None and alarm[1]) or state.home == self.here:
            return alarm
        return (
            state.head,
            "" if not state.head else f"the ledger at {self.path} {_elsewhere(state.home, self.here)}",
            ACCEPT,
        )

    def _concern(
        self, state: State, rows: Callable[[int, int], Iterable[Row]], marks: Marks
    ) -> tuple[int, str, str] | None:
        """The same by the high-water mark."""
        here = marks.at(self.path)
        missed = None if here is None or here == state.id else marks.of(here)
        if missed is not None:
            what = "is another one now" if state.head else "is gone"
            return missed.head, f"the ledger at {self.path} had {missed.head} records and {what}", FORGET
        if state.id is None:
            return state.head, "", ""  # a new one, or one from before there were marks
        mark = marks.of(state.id)
        if mark is None:
            known = marks.host in state.hosts and not any(state.spent)  # it died before it wrote its first mark
            known = known or self.here is not None  # a database is where it says, on whichever host one looks at it
            concern = "" if known else f"this host does not know the ledger at {self.path}, which comes from elsewhere"
            return state.head, concern, ACCEPT
        if mark.head > state.head or [row[2] for row in rows(mark.head, mark.head)] != [mark.digest]:
            what = f"was rolled back: record {mark.head} is gone or another"
            if mark == UNREADABLE:
                what = f"has a high-water mark in {marks.folder} that cannot be read"
            return mark.head, f"the ledger at {self.path} {what}", FORGET
        return None

    def follow(self, state: State, *, grown: bool) -> None:
        """After a commit that is on disk, while the ledger is locked: the mark moves up, never beyond it."""
        if self.marks is None or state.id is None:
            return
        if self._writing is None:
            mark = self.marks.of(state.id)
            begun = Mark(state.head, state.digest) if mark is None or grown else mark
            self._writing = self.marks.begin(state.id, self.path, begun)
        if grown:
            self._writing.move(Mark(state.head, state.digest))

    def close(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None


def _elsewhere(recorded: str | None, here: str | None) -> str:
    """Why a journal is not in its place, in words."""
    if recorded is None:
        return "is a copy of one that is a file"
    if here is None:
        return "is a copy of one that is in a database"
    if recorded.split()[:2] == here.split()[:2]:
        return "was restored, or its server replaced by a standby: newer charges may be missing"
    return "is a copy of one in another database"


def known_at(marks: Marks, path: Location) -> Mark | None:
    """The mark of the ledger that is known to be at a place."""
    name = marks.at(path)
    return None if name is None else marks.of(name)


def accepted(state: State, host: str, reason: str, known: int) -> Record:
    """The fields of a record by which a host accepts a ledger."""
    return {
        "id": state.id or SYSTEM.bytes(16).hex(),
        "host": host,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "reason": reason,
        "known": max(known, state.head),
    }
