"""A journal in memory: for dummy data, audits and tests. It ends with the process, and so does what it says is spent.

Nothing of this may ever stand between private rows and an analyst's next process: see `discreet.ledger.sqlite`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from discreet.ledger.codec import Amounts, Record, is_event, parsed
from discreet.ledger.problems import LedgerError
from discreet.ledger.state import State
from discreet.ledger.store import ENDLESS, Charged, Noted, Order, Row, Search

CAPACITY: Final = 2**24
"""Characters of charges and answers that are remembered where spending has no end."""


class Stored(NamedTuple):
    """A record as it is held, with what its line says."""

    line: str
    digest: str
    answer: bytes | None
    record: Record

    @property
    def amounts(self) -> Amounts:
        """What a charge cost; of a part it stands beside the loss."""
        return parsed(self.record.get("price", self.record["loss"]))

    @property
    def size(self) -> int:
        return len(self.line) + len(self.answer or b"")


@dataclass(slots=True, eq=False)
class Journal:
    """The records, and where to find them. Several stores may share one, as processes share a file.

    capacity    how many characters of records are held: beyond it the oldest are forgotten. Only for journals that
                nobody adds up again.
    """

    capacity: int | None = None
    records: dict[int, Stored] = field(default_factory=dict)
    answers: dict[int, int] = field(default_factory=dict)
    """The newest answer to each charge."""
    plans: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    """The charges for each plan and data version."""
    keys: dict[str, int] = field(default_factory=dict)
    size: int = 0
    writing: threading.Lock = field(default_factory=threading.Lock)
    """Held by the transaction that runs."""
    changing: threading.Lock = field(default_factory=threading.Lock)
    """Held for as long as records are added, and while somebody reads several of them."""

    def add(self, records: dict[int, Stored]) -> None:
        with self.changing:
            for number, stored in records.items():
                self._file(number, stored)
            while self.capacity is not None and self.size > self.capacity and len(self.records) > 1:
                self._forget(next(iter(self.records)))

    def _file(self, number: int, stored: Stored) -> None:
        record = stored.record
        self.records[number] = stored
        self.size += stored.size
        if record["kind"] == "answer":
            if "charge" in record:
                self.answers[record["charge"]] = number
        elif record["kind"] == "charge":
            self.plans.setdefault(_filed(record), []).append(number)
            if "key" in record:
                self.keys.setdefault(record["key"], number)

    def rewrite(self, number: int, line: str, answer: bytes | None) -> None:
        """A record without what was erased of it."""
        with self.changing:
            was, new = self.records[number], json.loads(line)
            self.size += len(line) - was.size
            self.records[number] = Stored(line, was.digest, answer, new)
            if was.record["kind"] == "answer" and "erased" in new:
                self.answers.pop(was.record.get("charge", 0), None)
            if was.record["kind"] == "charge":
                self.keys.pop(was.record.get("key", ""), None)
                self.plans.get(_filed(was.record), []).remove(number)
                self.plans.setdefault(_filed(new), []).append(number)

    def _forget(self, number: int) -> None:
        stored = self.records.pop(number)
        self.size -= stored.size
        if stored.record["kind"] == "charge":
            self.answers.pop(number, None)
            self.keys.pop(stored.record.get("key", ""), None)
            filed = _filed(stored.record)
            self.plans[filed].remove(number)
            if not self.plans[filed]:
                del self.plans[filed]

    def answered(self, number: int) -> Stored | None:
        """The answer to a charge, unless it was forgotten or withdrawn."""
        stored = self.records.get(self.answers.get(number, 0))
        return None if stored is None or "withdrawn" in stored.record else stored


def _filed(record: Record) -> tuple[str, int]:
    return record["plan"], record["data"]


class MemoryReader:
    """Reads between two transactions."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def charges(self, search: Search, *, limit: int = -1, offset: int = 0, order: Order = "ASC") -> list[Charged]:
        with self._journal.changing:
            matching = self._found(search, order)
            return list(islice(matching, offset, None if limit < 0 else offset + limit))

    def count(self, search: Search) -> int:
        with self._journal.changing:
            return sum(1 for _ in self._found(search, "ASC"))

    def charge(self, number: int) -> Charged | None:
        with self._journal.changing:
            return self._charge(number)

    def _charge(self, number: int) -> Charged | None:
        stored = self._journal.records.get(number)
        if stored is None or stored.record["kind"] != "charge":
            return None
        return number, stored.line, self._journal.answered(number) is not None

    def _found(self, search: Search, order: Order) -> Iterator[Charged]:
        records = self._journal.records
        wanted = _folded(search.text)
        for number in records if order == "ASC" else reversed(records):
            charge = self._charge(number)
            if charge is None or number <= search.after:
                continue
            record = records[number].record
            if search.analyst not in (None, record["analyst"]) or search.answered not in (None, charge[2]):
                continue
            if not wanted or wanted in _folded(record.get("question", "")):
                yield charge

    def events(self, *, after: int = 0, before: int = ENDLESS, limit: int = -1, order: Order = "ASC") -> list[Noted]:
        with self._journal.changing:
            records = self._journal.records.items()
            noted = [
                (number, stored.line)
                for number, stored in (records if order == "ASC" else reversed(records))
                if after < number < before and is_event(stored.record)
            ]
        return noted if limit < 0 else noted[:limit]

    def pair(self, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        journal = self._journal
        with journal.changing:
            charge, answer = journal.records.get(number), journal.answered(number)
            if charge is None or answer is None:
                return None
            answer_number = journal.answers[number]
            return (
                (number, charge.line, charge.digest, self._before(number)),
                (answer_number, answer.line, answer.digest, answer.answer, self._before(answer_number)),
            )

    def _before(self, number: int) -> str | None:
        stored = self._journal.records.get(number - 1)
        return None if stored is None else stored.digest

    def largest(self, plan: str, data: int, below: int | None, least: Amounts) -> tuple[int, int] | None:
        journal, best = self._journal, (0, 0)
        with journal.changing:
            for number in journal.plans.get((plan, data), ()):
                amounts = (*journal.records[number].amounts, 0)
                enough = all(amount >= bound for amount, bound in zip(amounts, least, strict=False))
                if enough and (below is None or amounts[0] < below) and journal.answered(number) is not None:
                    best = max(best, (amounts[0], number))
        return (best[1], best[0]) if best[1] else None


class Memory:
    """One opening of a journal in memory."""

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = Journal() if journal is None else journal
        self._new: dict[int, Stored] | None = None
        """The records of the transaction that runs here."""
        self._erased: dict[int, tuple[str, bytes | None]] = {}
        """What it writes anew, by number."""
        self._thread = 0
        self.reader = MemoryReader(self._journal)
        self.closed = False

    openings: Final = 1

    @classmethod
    def bounded(cls) -> Memory:
        """A journal that forgets what is old, for ledgers that nobody adds up again."""
        return cls(Journal(capacity=CAPACITY))

    def recognised(self, state: State) -> Record | None:  # noqa: ARG002  (nobody else can have written here)
        return None

    @contextmanager
    def transaction(self, state: Callable[[], State]) -> Iterator[None]:  # noqa: ARG002
        if self._new is not None and self._thread == threading.get_ident():
            raise LedgerError("the ledger is being written by this thread", "wait until that is done")
        with self._journal.writing:
            self._new, self._erased, self._thread = {}, {}, threading.get_ident()
            try:
                yield
                for number, (line, answer) in self._erased.items():
                    self._journal.rewrite(number, line, answer)
                self._journal.add(self._new)
            finally:
                self._new, self._erased = None, {}

    def relaxed(self) -> AbstractContextManager[None]:
        return nullcontext()

    def append(
        self,
        number: int,
        line: str,
        digest: str,
        plan: str | None = None,  # noqa: ARG002  (the charge says it)
        answer: bytes | None = None,
    ) -> None:
        if self._new is None:
            raise LedgerError("records are written inside of transactions", "begin one")
        self._new[number] = Stored(line, digest, answer, json.loads(line))

    def erase(self, number: int, line: str, answer: bytes | None = None) -> None:
        """When the transaction ends, for all who share the journal; not at all if it fails."""
        if self._new is None:
            raise LedgerError("records are written inside of transactions", "begin one")
        if number not in self._journal.records:
            raise LedgerError(f"there is no record {number} to erase from", "name one of the journal")
        self._erased[number] = (line, answer)

    def compact(self) -> bool:
        return True

    @property
    def _newest(self) -> dict[int, Stored]:
        return self._new or self._journal.records

    def last(self) -> tuple[int, str] | None:
        number = next(reversed(self._newest), None)
        return None if number is None else (number, self._newest[number].digest)

    def rows(self, first: int = 1, last: int = ENDLESS) -> Iterator[Row]:
        for held in (self._journal.records, self._new or {}):
            end = min(last, next(reversed(held), 0))
            for number in range(max(first, next(iter(held), 1)), end + 1):
                line, _ = self._erased.get(number, (held[number].line, None))
                yield number, line, held[number].digest

    def keyed(self, name: str) -> list[tuple[int, str]]:
        records, number = self._journal.records, self._journal.keys.get(name)
        old = [] if number is None else [(number, records[number].line)]
        new = (self._new or {}).items()
        return old + [(added, stored.line) for added, stored in new if stored.record.get("key") == name]

    def close(self, head: int | None = None) -> None:  # noqa: ARG002  (there is no file to seal)
        self.closed = True


def _folded(text: str) -> bytes:
    """Only ASCII letters are taken for each other in either case."""
    return text.encode("utf-8", "surrogatepass").lower()
