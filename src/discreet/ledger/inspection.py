"""Is a journal still what discreet wrote? Everything is read and recomputed; nothing is taken at its word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.ledger.codec import decode
from discreet.ledger.marks import Mark
from discreet.ledger.problems import LedgerError
from discreet.ledger.state import State
from discreet.ledger.store import Inspected


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. `problems` is empty for a sound ledger."""

    records: int
    charges: int
    head: str
    sealed: bool
    problems: tuple[str, ...]
    moved: str | None = None
    """Where the journal goes on, if it does."""

    @property
    def sound(self) -> bool:
        return not self.problems


def inspected(store: Inspected, receipts: Iterable[str] = (), mark: Mark | None = None) -> Report:
    """Recompute the chain, every sum and every digest, and compare the chain with receipts and the high-water mark."""
    problems: list[str] = []
    state, charges, hashes = State(), 0, {"0": State().digest}
    try:
        problems += store.sound()
        answers = dict(store.answers())
        for row in store.rows(first=-(2**63)):
            state = state.after(row)
            hashes[str(state.head)] = state.digest
            record = decode(row[0], row[1])
            charges += record["kind"] == "charge"
            if record["kind"] == "answer" and "erased" not in record:
                answer = answers.pop(row[0], None)
                if not isinstance(answer, bytes) or hashlib.sha256(answer).hexdigest() != record["digest"]:
                    problems.append(f"the answer in record {row[0]} was changed")
        problems += [f"record {number} keeps an answer that it should not" for number in answers]
        problems += _plans(store)
        state.proven()
    except LedgerError as damage:
        problems.append(str(damage))
    if mark is not None and state.moved is None:  # the mark goes on with what was moved
        receipts = [*receipts, f"{mark.head}:{mark.digest}"]
    problems += [
        f"receipt {text} does not match: the ledger was rolled back" for text in receipts if not _held(text, hashes)
    ]
    moved = None if state.moved is None else state.moved[1]
    return Report(state.head, charges, state.digest, False, tuple(problems), moved)


def _plans(store: Inspected) -> list[str]:
    """The column by which cached answers are found repeats what their charges say."""
    records = {number: decode(number, line) for number, line, _ in store.rows()}
    answers = {
        number: records[record["charge"]]
        for number, record in records.items()
        if "charge" in record and record["kind"] == "answer"
    }
    filed = dict(store.plans())
    wrong = {number for number, charge in answers.items() if charge.get("plan") != filed.get(number)}
    wrong |= {number for number, charge in answers.items() if charge["kind"] != "charge"}
    return [f"record {number} is filed under another question" for number in sorted(wrong | filed.keys() - answers)]


def _held(receipt: str, hashes: dict[str, str]) -> bool:
    number, _, digest = receipt.strip().partition(":")
    return hashes.get(number) == digest
