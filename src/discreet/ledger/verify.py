"""Is the ledger still what discreet wrote? Everything is read and recomputed; nothing is taken at its word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from discreet.ledger.codec import decode
from discreet.ledger.files import Seal, beside, real
from discreet.ledger.problems import LedgerDamaged, LedgerError, reported
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
    path = real(path)
    with reported("read", path):
        _demand(path)
        seal = Seal.read(path)
        found = Seal.of(path, seal.head) if seal else None
    try:
        store = Store(path, as_it_is=True)
    except LedgerDamaged as damage:
        return Report(0, 0, "", False, (str(damage),))
    try:
        with store.snapshot():
            return _report(store, receipts, seal, found)
    finally:
        store.close()


def _demand(path: Path) -> None:
    if not path.exists():
        raise LedgerError(f"there is no ledger at {path}", "the first question begins one")


def _report(store: Store, receipts: Iterable[str], seal: Seal | None, found: Seal | None) -> Report:
    problems: list[str] = []
    state, charges, hashes = State(), 0, {"0": State().digest}
    try:
        problems += store.sound()
        answers = dict(store.kept())
        for row in store.rows(first=-(2**63)):
            state = state.after(row)
            hashes[str(state.head)] = state.digest
            record = decode(row[0], row[1])
            charges += record["kind"] == "charge"
            if record["kind"] == "answer":
                kept = answers.pop(row[0], None)
                if not isinstance(kept, bytes) or hashlib.sha256(kept).hexdigest() != record["digest"]:
                    problems.append(f"the answer kept in record {row[0]} was changed")
        problems += [f"record {number} keeps an answer that it should not" for number in answers]
        problems += _plans(store)
    except LedgerError as damage:
        problems.append(str(damage))
    sealed = seal is not None and found is not None and seal.head == state.head
    if sealed and seal != found:
        problems.append("bytes of the file changed since it was closed, outside of what is recorded")
    if seal and seal.head > state.head:
        problems.append(f"the ledger had {seal.head} records when it was closed and has {state.head}")
    problems += [
        f"receipt {text} does not match: the ledger was rolled back" for text in receipts if not _held(text, hashes)
    ]
    return Report(state.head, charges, state.digest, sealed, tuple(problems))


def _plans(store: Store) -> list[str]:
    """The column by which kept answers are found repeats what their charges say."""
    records = {number: decode(number, line) for number, line, _ in store.rows()}
    answers = {number: records[record["charge"]] for number, record in records.items() if record["kind"] == "answer"}
    found = dict(store.plans())
    wrong = {number for number, charge in answers.items() if charge.get("plan") != found.get(number)}
    wrong |= {number for number, charge in answers.items() if charge["kind"] != "charge"}
    return [f"record {number} is filed under another question" for number in sorted(wrong | found.keys() - answers)]


def _held(receipt: str, hashes: dict[str, str]) -> bool:
    number, _, digest = receipt.strip().partition(":")
    return hashes.get(number) == digest


def back_up(path: Path, target: Path) -> Report:
    """Write a consistent copy, also while others spend, and verify it."""
    path = real(path)
    with reported("copy", path):
        _demand(path)
        if target.exists():
            raise LedgerError(f"{target} exists already", "name a new file")
        _copy(path, target)
        report = verify(target)
        beside(target, ".lock").unlink(missing_ok=True)
        return report


def _copy(path: Path, target: Path) -> None:
    """All of it or nothing."""
    store = Store(path, as_it_is=True)
    try:
        store.copy_to(target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        store.close()


def restore(backup: Path, path: Path) -> Report:
    """Put a backup in the place of a lost or damaged ledger.

    A ledger that is sound and holds anything that the backup does not hold stays: replacing it would forget spending.
    """
    saved = verify(backup)
    if not saved.sound:
        raise LedgerDamaged(f"{backup} is damaged itself: {saved.problems[0]}", "use another backup")
    with reported("restore", path):
        if path.exists():
            _demand_replaceable(path, backup)
        temporary = beside(path, ".restoring")
        temporary.unlink(missing_ok=True)
        _copy(backup, temporary)
        for ending in ("-wal", "-shm", ".seal"):
            beside(path, ending).unlink(missing_ok=True)
        temporary.replace(path)
    return verify(path)


def _demand_replaceable(path: Path, backup: Path) -> None:
    """Raise if the ledger at the path must not be replaced."""
    present = verify(path)
    if not present.sound:
        return
    if present.records and not verify(backup, [f"{present.records}:{present.head}"]).sound:
        raise LedgerError(
            f"{path} is sound and has records that the backup lacks: restoring would forget spending",
            "keep it; or move it away yourself if you are sure",
        )
    if beside(path, "-wal").exists():
        raise LedgerError(f"{path} is in use: what is spent meanwhile would be lost", "close it everywhere first")
