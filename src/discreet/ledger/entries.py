"""The journal as people read it: one entry for each charge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.accounting import Concentrated, Pure
from discreet.accounting.filters import UNITS
from discreet.ledger.codec import Amounts, Record, decode, parsed
from discreet.ledger.problems import LedgerDamaged
from discreet.ledger.store import Store


@dataclass(frozen=True, slots=True)
class Entry:
    """A charge, and whether its answer was kept."""

    number: int
    at: str
    analyst: str
    question: str
    loss: Pure | Concentrated
    data_version: int
    answered: bool
    price: Pure | Concentrated
    """What the answer was bought for: more than the loss where a part of a partition was asked about."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """How it was asked beside its text: price, parameters, dialect."""
    plan: str | None = None
    """The fingerprint of what it means."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A kept answer with what it was bought for."""

    charge: int
    loss: Pure | Concentrated
    data_version: int
    answer: bytes
    receipt: str


def loss_of(amounts: Amounts) -> Pure | Concentrated:
    exact = [Fraction(amount, UNITS) for amount in amounts]
    return Pure(exact[0]) if len(exact) == 1 else Concentrated(*exact)


def _price(record: Record) -> Pure | Concentrated:
    return loss_of(parsed(record.get("price", record["loss"])))


def entries(store: Store) -> list[Entry]:
    charges, answered = {}, set()
    for number, line, _ in store.rows():
        record = decode(number, line)
        if record["kind"] == "charge":
            charges[number] = record
        elif record["kind"] == "answer":
            answered.add(record["charge"])
    return [_entry(number, record, number in answered) for number, record in charges.items()]


def entry(store: Store, number: int) -> Entry | None:
    for _, line, _ in store.rows(number, number):
        record = decode(number, line)
        if record["kind"] == "charge":
            plan = record["plan"]
            answered = plan is not None and any(found.charge == number for found in kept(store, plan))
            return _entry(number, record, answered)
    return None


def _entry(number: int, record: Record, answered: bool) -> Entry:
    return Entry(
        number,
        record["at"],
        record["analyst"],
        record["question"],
        loss_of(parsed(record["loss"])),
        record["data"],
        answered,
        _price(record),
        record.get("call", {}),
        record["plan"],
    )


def kept(store: Store, plan: str) -> list[Kept]:
    found = []
    for number, line, answer in store.answers(plan):
        charge = decode(number, line)["charge"]
        _, text, digest = next(store.rows(charge, charge))
        record = decode(charge, text)
        if record["kind"] != "charge":
            raise LedgerDamaged(f"record {number} answers what is no charge", "restore a backup")
        found.append(Kept(charge, _price(record), record["data"], answer, f"{charge}:{digest}"))
    return found
