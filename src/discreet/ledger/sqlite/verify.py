"""Is the ledger still what discreet wrote? Everything is read and recomputed; nothing is taken at its word."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Final

from discreet.ledger.codec import encode, link
from discreet.ledger.inspection import Report, inspected
from discreet.ledger.marks import Mark, Marks
from discreet.ledger.problems import LedgerDamaged, LedgerError, reported
from discreet.ledger.sqlite.files import Seal, beside, real
from discreet.ledger.sqlite.store import Sqlite
from discreet.ledger.state import State
from discreet.ledger.watch import accepted, known_at
from discreet.noise import SYSTEM

UNFINISHED: Final = ".unfinished"
BESIDE: Final = ("", "-wal", "-shm", "-journal", ".lock", ".seal")
"""A ledger's file, and what SQLite and discreet lay beside it."""
FORGET: Final = "restore a newer backup; or say with --forget why, which is put on record"


def verify(path: Path, receipts: Iterable[str] = (), marks: Marks | None = None) -> Report:
    """Recompute the chain, every sum and every digest; compare the file with its seal, and the chain with receipts.

    A ledger that was rolled back as a whole, seal included, looks sound to itself: receipts and high-water marks tell.
    """
    mark = None if marks is None else known_at(marks, path.absolute())
    path = real(path)
    with reported("read", path):
        _demand(path)
        seal = Seal.read(path)
        computed = Seal.of(path, seal.head) if seal else None
    try:
        store = Sqlite(path, as_it_is=True)
    except LedgerDamaged as damage:
        return Report(0, 0, "", False, (str(damage),))
    try:
        with store.snapshot():
            return _sealed(inspected(store, receipts, mark), seal, computed)
    finally:
        store.close()


def _sealed(report: Report, seal: Seal | None, computed: Seal | None) -> Report:
    """What the seal says beside the records."""
    problems = []
    sealed = seal is not None and computed is not None and seal.head == report.records
    if sealed and seal != computed:
        problems.append("bytes of the file changed since it was closed, outside of what is recorded")
    if seal and seal.head > report.records:
        problems.append(f"the ledger had {seal.head} records when it was closed and has {report.records}")
    return replace(report, sealed=sealed, problems=(*report.problems, *problems))


def _demand(path: Path) -> None:
    if not path.exists():
        raise LedgerError(f"there is no ledger at {path}", "the first question begins one")


def back_up(path: Path, target: Path) -> Report:
    """Write a consistent copy, also while others spend, and verify it."""
    path = real(path)
    with reported("copy", path):
        _demand(path)
        with unfinished(target) as copy:
            _copy(path, copy)
            return verify(copy)


@contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """A file for a backup, which gets the name of one when the block ends well; else nothing stays of it.

    So half a copy is never taken for a backup, and a disk that is full gets no fuller with each attempt. Its name is
    its own: threads of a process make backups at once, and a container's process has the number of the one before.
    """
    path = beside(target, f".{SYSTEM.bytes(8).hex()}{UNFINISHED}")
    try:
        _demand_new(target)
        yield path
        _demand_new(target)
        _place(path, target)
    finally:
        _remove(path)


def _place(path: Path, target: Path) -> None:
    """Give a file another name, unless that is taken: renaming would replace what came meanwhile."""
    try:
        os.link(path, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:  # there are file systems without links
        path.rename(target)


def _remove(path: Path) -> None:
    for ending in BESIDE:
        beside(path, ending).unlink(missing_ok=True)


def _demand_new(target: Path) -> None:
    if target.exists():
        raise _taken(target)


def _taken(target: Path) -> LedgerError:
    return LedgerError(f"{target} exists already", "name a new file")


def _copy(path: Path, target: Path) -> None:
    store = Sqlite(path, as_it_is=True)
    try:
        store.copy_to(target)
    finally:
        store.close()


def restore(backup: Path, path: Path, *, forget: str = "", marks: Marks | None = None) -> Report:
    """Put a backup in the place of a lost or damaged ledger; the file that was there is kept beside it.

    Whatever is known of the ledger must be in the backup: records that can still be read, and how many there were by
    the seal and by the high-water mark. If anything is missing, or nothing is known, `forget` must say why the owner
    restores it all the same; that is put on the record.
    """
    named, path = path.absolute(), real(path)
    with reported("restore", path), _brought(backup, path) as brought:
        saved = verify(brought)
        if not saved.sound:
            raise LedgerDamaged(f"{backup} is damaged itself: {saved.problems[0]}", "use another backup")
        _demand_closed(path)
        known, lost = _missing(brought, saved, path, None if marks is None else known_at(marks, named))
        if lost and not forget:
            raise LedgerError(f"{lost}: restoring would forget spending", FORGET)
        temporary = beside(path, ".restoring")
        _remove(temporary)
        _copy(brought, temporary)
        noted = _forgotten(temporary, marks, forget, known) if lost else None
        for ending in (".lock", ".seal"):
            beside(temporary, ending).unlink(missing_ok=True)
        _set_aside(path)
        temporary.replace(path)
        if noted is not None and marks is not None:
            marks.begin(noted[0], named, noted[1]).close()
    return verify(path)


@contextmanager
def _brought(backup: Path, path: Path) -> Iterator[Path]:
    """The backup, beside the ledger: where it lies nothing may be written, and perhaps nothing can be."""
    _demand(backup)
    brought = beside(path, ".brought")
    _remove(brought)
    try:
        for ending in ("", "-wal", ".seal"):
            if beside(backup.resolve(), ending).exists():
                beside(brought, ending).touch(0o600)
                copyfile(beside(backup.resolve(), ending), beside(brought, ending))
        yield brought
    finally:
        _remove(brought)


def _demand_closed(path: Path) -> None:
    """Whoever has it open would go on spending from a file that is gone."""
    if path.exists() and beside(path, "-wal").exists() and verify(path).sound and beside(path, "-wal").exists():
        raise LedgerError(f"{path} is in use: what is spent meanwhile would be lost", "close it everywhere first")


def _missing(backup: Path, saved: Report, path: Path, mark: Mark | None) -> tuple[int, str]:
    """How many records the ledger is known to have had, and what of it the backup lacks, in words."""
    held, seal, is_left = _readable(backup), Seal.read(path), path.exists()
    is_closed = seal is not None and not beside(path, "-wal").exists()
    readable = _readable(path) if is_left else {}
    known = max([0, *readable, *(each.head for each in (seal, mark) if each is not None)])
    if any(not record & held.get(number, set()) for number, record in readable.items()):
        return known, f"{path} has records that the backup lacks"
    if mark is not None and mark.digest.encode() not in held.get(mark.head, set()):
        return known, f"record {mark.head} of {path} is known here, and the backup lacks it"
    if known > saved.records:
        return known, f"{path} had {known} records, the backup has {saved.records}"
    if is_left and mark is None and not is_closed and not verify(path).sound:
        return known, f"{path} is damaged, and how many records it had is not known"
    return known, ""


def _readable(path: Path) -> dict[int, set[bytes]]:
    """The records that can be read, whatever is wrong with the others: by number, line and hash.

    A record is that of the backup if either is the same: one flipped bit spoils one of them.
    """
    records: dict[int, set[bytes]] = {}
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.text_factory = bytes
    try:
        for order in ("ASC", "DESC"):  # a page that is damaged hides what comes after it
            with suppress(sqlite3.Error):
                for number, *texts in connection.execute(f"SELECT number, line, hash FROM journal ORDER BY 1 {order}"):
                    records.setdefault(int(number), set()).update(text for text in texts if isinstance(text, bytes))
    finally:
        connection.close()
    return records


def _set_aside(path: Path) -> None:
    """Keep what was there, under a name that says so."""
    number = 1
    while beside(path, f".replaced-{number}").exists():
        number += 1
    for ending in ("", "-wal", ".seal"):
        with suppress(FileNotFoundError):
            beside(path, ending).rename(beside(path, f".replaced-{number}{ending}"))
    beside(path, "-shm").unlink(missing_ok=True)


def _forgotten(path: Path, marks: Marks | None, reason: str, known: int) -> tuple[str, Mark]:
    """Put on the record of a ledger that is about to be restored that others of its records are forgotten."""
    store = Sqlite(path)
    try:
        with store.transaction():
            state = State.replayed(store.rows())
            fields = accepted(state, "" if marks is None else marks.host, reason, known)
            line = encode("accepted", fields)
            row = state.head + 1, line, link(state.digest, line)
            state = state.after(row)
            store.append(*row)
    finally:
        store.close()
    return str(state.id), Mark(state.head, state.digest)
