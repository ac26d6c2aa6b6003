"""Is the ledger still what discreet wrote? Everything is read and recomputed; nothing is taken at its word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from discreet.ledger.codec import decode
from discreet.ledger.files import Seal
from discreet.ledger.problems import LedgerDamaged, LedgerError
from discreet.ledger.state import State
from discreet.ledger.store import Store


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. `problems` is empty for a sound ledger."""

    records: int
    charges: int
    head: str
    sealed: bool
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.problems


def verify(path: Path, receipts: Iterable[str] = ()) -> Report:
    """Recompute the chain, every sum and every digest; compare the file with its seal, and the chain with receipts.

    A ledger that was rolled back as a whole, seal included, looks sound to itself: only a receipt tells.
    """
    if not path.exists():
        raise LedgerError(f"there is no ledger at {path}", "the first question begins one")
    seal = Seal.read(path)
    untouched = Seal.of(path, seal.head) if seal else None
    wal = path.with_name(path.name + "-wal").exists()
    try:
        store = Store(path)
    except LedgerDamaged as damage:
        return Report(0, 0, "", False, (str(damage),))
    try:
        return _report(store, receipts, seal, untouched, written_since=wal)
    finally:
        store.close()


def _report(
    store: Store, receipts: Iterable[str], seal: Seal | None, untouched: Seal | None, *, written_since: bool
) -> Report:
    problems: list[str] = []
    state, charges, hashes = State(), 0, {0: State().digest}
    try:
        problems += store.sound()
        answers = dict(store.kept())
        for row in store.rows():
            state = state.after(row)
            hashes[state.head] = state.digest
            record = decode(row[0], row[1])
            charges += record["kind"] == "charge"
            if record["kind"] == "answer":
                kept = answers.pop(row[0], b"")
                if hashlib.sha256(kept).hexdigest() != record["digest"]:
                    problems.append(f"the answer kept in record {row[0]} was changed")
        problems += [f"record {number} keeps an answer that it should not" for number in answers]
        problems += _plans(store)
    except LedgerError as damage:
        problems.append(str(damage))
    sealed = seal is not None and seal.head == state.head and not written_since
    if sealed and seal != untouched:
        problems.append("bytes of the file changed since it was closed, outside of what is recorded")
    problems += [
        f"receipt {text} does not match: the ledger was rolled back" for text in receipts if not _held(text, hashes)
    ]
    return Report(state.head, charges, state.digest, sealed, tuple(problems))


def _plans(store: Store) -> list[str]:
    """The column by which kept answers are found repeats what the charges say."""
    lines = {number: line for number, line, _ in store.rows()}
    wrong = []
    for number, plan in store.plans():
        record = decode(number, lines[number])
        charged = decode(record["charge"], lines[record["charge"]]) if record["kind"] == "answer" else {}
        if plan != charged.get("plan"):
            wrong.append(f"record {number} is filed under another question")
    return wrong


def _held(receipt: str, hashes: dict[int, str]) -> bool:
    number, _, digest = receipt.strip().partition(":")
    return number.isdecimal() and hashes.get(int(number)) == digest


def back_up(path: Path, target: Path) -> Report:
    """Write a consistent copy, also while others spend, and verify it."""
    if target.exists():
        raise LedgerError(f"{target} exists already", "name a new file")
    store = Store(path)
    try:
        store.copy_to(target)
    finally:
        store.close()
    report = verify(target)
    target.with_suffix(".lock").unlink(missing_ok=True)
    return report


def restore(backup: Path, path: Path) -> Report:
    """Put a backup in the place of a lost or damaged ledger.

    A ledger that is sound and holds anything that the backup does not hold stays: replacing it would forget spending.
    """
    saved = verify(backup)
    if not saved.sound:
        raise LedgerDamaged(f"{backup} is damaged itself: {saved.problems[0]}", "use another backup")
    if path.exists():
        present = verify(path, ())
        if present.sound and present.records > 0 and not _contains(backup, present):
            raise LedgerError(
                f"{path} is sound and has records that the backup lacks: restoring would forget spending",
                "keep it; or move it away yourself if you are sure",
            )
    for name in (path.name + "-wal", path.name + "-shm"):
        path.with_name(name).unlink(missing_ok=True)
    path.with_suffix(".seal").unlink(missing_ok=True)
    store = Store(backup)
    temporary = path.with_suffix(".restoring")
    temporary.unlink(missing_ok=True)
    try:
        store.copy_to(temporary)
    finally:
        store.close()
    temporary.replace(path)
    return verify(path)


def _contains(backup: Path, present: Report) -> bool:
    return verify(backup, [f"{present.records}:{present.head}"]).sound
