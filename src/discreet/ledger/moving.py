"""A ledger is moved: from a file to a database, or back. Its chain goes on, and what it leaves is closed for good.

1. The journal where it goes must be empty, or a beginning of this one (it was there before). Nothing is written.
2. The last record is written where it was: moved, with the name of where it goes on. From here on nobody writes here.
3. All records are copied in one transaction, and one more: accepted, with the same name. From here on it is open there.

Theorem  At no moment do two ledgers accept charges, wherever the move is interrupted; run again, it is finished.
Proof    Where it was is closed by step 2, in one transaction that comes after all charges there; no record but that of
         step 3 follows it (`State`). Where it goes is opened by step 3, which is one transaction and needs the record
         of step 2: before it there is nothing, or a journal whose last record says that it was moved. The name is that
         of one journal only (random in a database; host and path of a file), so that a second run goes to the same.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from discreet.ledger.codec import encode, link
from discreet.ledger.declaring import now
from discreet.ledger.homes import Home, InFile
from discreet.ledger.ledger import Ledger
from discreet.ledger.marks import Mark, Marks
from discreet.ledger.postgres import Postgres
from discreet.ledger.problems import LedgerError
from discreet.ledger.state import State
from discreet.ledger.store import Inspected
from discreet.ledger.watch import accepted


def move(source: Home, target: Home, opened: Callable[[], Ledger], marks: Marks | None) -> State:
    """Move the ledger of `source`, which `opened` opens; what its journal adds up to where it goes on."""
    if source == target:
        raise LedgerError(f"the ledger is at {target} already", "name another place")
    with closing(target.store()) as new:
        name = _name(new, target, marks)
        with closing(source.store(as_it_is=True)) as old:
            state = State.replayed(old.rows())
            _demand_beginning(old, new, target)
        if not state.head:
            raise LedgerError(f"there is no ledger at {source}", "the first question begins one")
        if state.moved is None:
            _close(opened, name, str(target))
        elif state.moved[0] != name:
            raise LedgerError(
                f"the ledger was moved to {state.moved[1]}, and {target} is another place", "finish that move"
            )
        with closing(source.store(as_it_is=True)) as old:
            return _arrive(old, new, target, name, marks)


def _name(new: Inspected, target: Home, marks: Marks | None) -> str:
    """Of the journal at the target: no other has it."""
    if isinstance(new, Postgres):
        return f"database {new.name}"
    assert isinstance(target, InFile)
    return f"file {'' if marks is None else marks.host} {target.path.absolute()}"


def _demand_beginning(old: Inspected, new: Inspected, target: Home) -> None:
    """Raise unless what is at the target is the beginning of the journal that is moved; also if that is all of it."""
    head, digest = new.last() or (0, "")
    if head and [row[2] for row in old.rows(head, head)] != [digest]:
        raise LedgerError(
            f"there is another ledger at {target}, or this one has arrived there already",
            "name an empty place; if it has arrived, let the policy name it there",
        )


def _close(opened: Callable[[], Ledger], name: str, to: str) -> None:
    with opened() as ledger:
        ledger._write(lambda: ledger._append("moved", {"arrived": name, "to": to, "at": now()}))


def _arrive(old: Inspected, new: Inspected, target: Home, name: str, marks: Marks | None) -> State:
    state = State()

    def reached() -> State:
        return state

    with new.transaction(reached):
        head, _ = new.last() or (0, "")
        _demand_beginning(old, new, target)
        state = State.replayed(new.rows())
        for record in old.records(head + 1):
            new.append(*record)
            state = state.after(record[:3])
        state.proven()
        fields = accepted(state, "" if marks is None else marks.host, "moved here", state.head)
        home = new.home if isinstance(new, Postgres) else None
        line = encode("accepted", {**fields, "arrived": name, "home": home})
        row = state.head + 1, line, link(state.digest, line)
        state = state.after(row)
        new.append(*row)
    if marks is not None:
        marks.begin(str(state.id), target.key, Mark(state.head, state.digest)).close()
    return state
