"""The journal as people read it: one entry for each charge, and cached answers; without holding up those who spend."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.record import ERASED, BlockNames, Entry, Event, PartName
from discreet.accounting.rounding import UNITS
from discreet.errors import Refused
from discreet.ledger.charge import cost_of
from discreet.ledger.codec import Amounts, Record, decode, link, parsed
from discreet.ledger.grant import Grant
from discreet.ledger.problems import LedgerDamaged
from discreet.ledger.store import ALL, ENDLESS, Order, Reader, Search

LOOKED_AT: Final = 8
CHANGED: Final = "run `discreet ledger verify`; restore a backup, or ask with fresh=True for a new answer"


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A cached answer with what it cost."""

    charge: int
    loss: Pure | Concentrated
    data_version: int
    answer: bytes
    receipt: str


def loss_of(amounts: Amounts, unit: str | None = None) -> Pure | Concentrated:
    exact = [Fraction(amount, UNITS) for amount in amounts]
    return Pure(exact[0], unit=unit) if len(exact) == 1 else Concentrated(*exact, unit=unit)


def _loss(record: Record) -> Pure | Concentrated:
    """What a charge cost. Charges of before units were recorded do not say whom they are about."""
    return loss_of(parsed(record["loss"]), record.get("unit"))


def _cost(record: Record) -> Pure | Concentrated:
    return loss_of(parsed(record.get("price", record["loss"])), record.get("unit"))


def _entries(rows: Iterable[tuple[int, str, bool]]) -> list[Entry]:
    return [_entry(number, decode(number, line), answered) for number, line, answered in rows]


def _entry(number: int, record: Record, answered: bool) -> Entry:
    return Entry(
        number,
        record["at"],
        record["analyst"],
        record.get("question", ERASED),
        _loss(record),
        record["data"],
        answered,
        _cost(record),
        record.get("call", {}),
        record["plan"],
        PartName.read(record["portion"]) if "portion" in record else None,
        BlockNames.read(record["blocks"]) if "blocks" in record else None,
        "question" not in record,
    )


def _event(number: int, record: Record) -> Event:
    """Records of before times were recorded do not say theirs."""
    kind, at = record.pop("kind"), record.pop("at", "")
    record.pop("v")
    record.pop("records", None)  # digests of what was erased
    return Event(number, at, "withdrawn" if kind == "answer" else kind, record)


def _cached(reader: Reader, charge: int) -> CachedAnswer | None:
    """The answer to a charge, if there is one. What is not what was recorded is damage."""
    records = reader.pair(charge)
    if records is None:
        return None
    (_, text, digest, before), (number, line, hash_, answer, previous) = records
    record, noted = decode(charge, text), decode(number, line)
    if "withdrawn" in noted:
        return None
    sound = ("erased" in record or link(str(before), text) == digest) and link(str(previous), line) == hash_
    if not sound or not isinstance(answer, bytes) or hashlib.sha256(answer).hexdigest() != noted.get("digest"):
        raise LedgerDamaged(f"the cached answer to charge {charge} was changed (record {number})", CHANGED)
    return CachedAnswer(charge, _cost(record), record["data"], answer, f"{charge}:{digest}")


def _most_accurate(reader: Reader, plan: str, data: int, least: Amounts) -> Iterator[CachedAnswer]:
    """The cached answers for a plan that cost at least so much, highest cost first: the newest of each cost.

    No more than a few, so that a query costs the same whatever was drawn before.
    """
    below = None
    for _ in range(LOOKED_AT):
        charge = reader.largest(plan, data, below, least)
        if charge is None:
            return
        number, below = charge
        cached = _cached(reader, number)
        if cached is not None:
            yield cached


class Reads(ABC):
    """Everything here is read through the store's reader, in a snapshot, and not behind the ledger's lock."""

    @property
    @abstractmethod
    def _reader(self) -> Reader: ...
    @property
    @abstractmethod
    def grant(self) -> Grant: ...

    def entries(self, search: Search = ALL, *, limit: int | None = None) -> list[Entry]:
        """One entry for each charge, oldest first; no more than `limit` of them."""
        return _entries(self._reader.charges(search, limit=-1 if limit is None else limit))

    def latest(self, search: Search = ALL, *, limit: int, offset: int = 0) -> list[Entry]:
        """The newest charges, newest first."""
        return _entries(self._reader.charges(search, limit=limit, offset=offset, order="DESC"))

    def count(self, search: Search = ALL) -> int:
        """How many charges there are."""
        return self._reader.count(search)

    def events(
        self, *, after: int = 0, before: int = ENDLESS, limit: int | None = None, newest_first: bool = False
    ) -> list[Event]:
        """What happened beside charges and answers, by their numbers: budgets, windows, refreshes, policies, tokens."""
        order: Order = "DESC" if newest_first else "ASC"
        noted = self._reader.events(after=after, before=before, limit=-1 if limit is None else limit, order=order)
        return [_event(number, decode(number, line)) for number, line in noted]

    def entry(self, number: int) -> Entry | None:
        """The charge of this number; None if there is none."""
        row = self._reader.charge(number)
        return None if row is None else _entries([row])[0]

    def answer(self, number: int) -> CachedAnswer | None:
        """The cached answer to the charge of this number; None if there is none."""
        return _cached(self._reader, number)

    def cached(self, plan: str, data: int, least: Loss | None = None) -> Iterator[CachedAnswer]:
        """Cached answers for a plan and a data version, highest cost first; those that cost at least so much."""
        try:
            amounts = () if least is None else cost_of(least, self.grant)
        except Refused:
            return iter(())  # of another currency
        return _most_accurate(self._reader, plan, data, amounts)
