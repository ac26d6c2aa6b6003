"""A tiny hospital that fits on a page: every expected figure of the fixtures can be worked out by eye.

Bounding leaves nothing out here: no patient has more rows, or is in more groups, than its table allows. What lies
outside of the policy is on purpose: a visit of nobody, a ward that is not declared, values beyond their bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.exit.cost import Choices
from discreet.exit.sampler import Sampler
from discreet.mechanisms import KeySelection
from discreet.noise import Bits
from discreet.policy import Policy
from discreet.sql.cache import Cell
from tests.sql.worlds import ledger_of, policy_of, quiet

Row = dict[str, Any]

TABLES: Final = """
[tables.visits]
source = "visits.csv"
unit = "patient"
max_rows = 4
max_groups = 2
[tables.visits.columns]
ward = { values = ["A", "B", "C"] }
kind = { values = ["acute", "planned"], nullable = true }
cost = { min = 0, max = 100, step = 0.5 }
nights = { type = "integer", min = 0, max = 10 }
urgent = { type = "boolean" }
day = { type = "date", min = 2024-01-01, max = 2024-03-31 }
note = { type = "text" }
weight = { type = "number" }

[tables.patients]
source = "patients.csv"
unit = "patient"
[tables.patients.columns]
age = { type = "integer", min = 0, max = 100 }
sex = { values = ["f", "m"], nullable = true }
city = { type = "text" }

[tables.labs]
source = "labs.csv"
unit = "visit_id -> visits.patient"
max_rows = 2
[tables.labs.columns]
level = { type = "integer", min = 0, max = 20 }

[tables.bills]
source = "bills.csv"
unit = "patient"
max_rows = 3
[tables.bills.columns]
bill = { type = "integer", unique = true }
paid = { type = "boolean" }

[tables.items]
source = "items.csv"
unit = "bill -> bills.patient"
max_rows = 5
[tables.items.columns]
bill = { type = "integer" }
amount = { type = "integer", min = 0, max = 10 }

[tables.beds]
source = "beds.csv"
unit = "row"
[tables.beds.columns]
x = { min = -10, max = 10, step = 0.5 }
n = { type = "integer", min = -5, max = 5 }
w = { type = "text" }
d = { type = "date", min = 2024-01-01, max = 2024-12-31 }
t = { type = "timestamp", min = 2024-01-01T00:00:00, max = 2024-12-31T23:59:59 }
b = { type = "boolean" }
ward = { values = ["A", "B"] }

[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { type = "text" }
floor = { type = "integer" }
wing = { type = "text" }

[tables.stays]
source = "stays.csv"
public = true
[tables.stays.columns]
ward = { type = "text" }
length = { type = "integer" }
"""

_HEAD: Final = 'name = "tiny"\n{limit}[budget]\nepsilon = {epsilon}\n{delta}[unit]\nname = "patient"\n'
HEADS: Final[Mapping[str, str]] = {
    "pure": _HEAD.format(limit="", epsilon=10, delta=""),
    "delta": _HEAD.format(limit="", epsilon=10, delta="delta = 0.01\n"),
    "limited": _HEAD.format(limit="max_cost = 0.5\n", epsilon=10, delta=""),
    "poor": _HEAD.format(limit="", epsilon=0.25, delta=""),
}
"""Policies that differ in what may be spent."""


def _visit(number: int, patient: str | None, ward: str, kind: str | None, cost: float | None, *more: Any) -> Row:
    nights, urgent, day, note = more
    return {
        "visit_id": number, "patient": patient, "ward": ward, "kind": kind, "cost": cost, "nights": nights,
        "urgent": urgent, "day": day, "note": note, "weight": None if cost is None else cost / 2,
    }  # fmt: skip


DATA: Final[Mapping[str, Sequence[Row]]] = {
    "visits": [
        _visit(1, "p1", "A", "acute", 10, 1, True, "2024-01-05", "flu"),
        _visit(2, "p1", "A", "planned", 20, 2, False, "2024-02-10", "flu"),
        _visit(3, "p1", "B", "acute", 30.5, 3, True, "2024-02-15", "cold"),
        _visit(4, "p2", "A", "planned", 40, 0, False, "2024-01-20", "flu"),
        _visit(5, "p2", "B", "acute", None, 4, None, "2024-02-25", "cough"),
        _visit(6, "p3", "B", "acute", 250, 12, True, "2024-01-31", "flu"),
        _visit(7, "p3", "Z", "odd", 5, 1, False, "2025-01-01", None),
        _visit(8, None, "A", "acute", 99, 9, True, "2024-01-01", "flu"),
        _visit(9, "p2", "A", "acute", 15, 2, True, "2024-01-21", "flu"),
    ],
    "patients": [
        {"patient": "p1", "age": 30, "sex": "f", "city": "Ulm"},
        {"patient": "p2", "age": 40, "sex": "m", "city": "Ulm"},
        {"patient": "p3", "age": 50, "sex": None, "city": "Bonn"},
        {"patient": "p4", "age": 120, "sex": "f", "city": None},
        {"patient": None, "age": 77, "sex": "m", "city": "Ulm"},
    ],
    "labs": [
        {"visit_id": 1, "level": 5},
        {"visit_id": 1, "level": 7},
        {"visit_id": 4, "level": 25},
        {"visit_id": 8, "level": 11},
        {"visit_id": 77, "level": 13},
    ],
    "bills": [
        {"patient": "p1", "bill": 11, "paid": True},
        {"patient": "p1", "bill": 12, "paid": False},
        {"patient": "p2", "bill": 21, "paid": True},
        {"patient": "p2", "bill": 21, "paid": True},
        {"patient": "p3", "bill": None, "paid": True},
    ],
    "items": [
        {"bill": 11, "amount": 3},
        {"bill": 11, "amount": 4},
        {"bill": 12, "amount": 5},
        {"bill": 21, "amount": 6},
        {"bill": 99, "amount": 9},
    ],
    "beds": [
        {"x": 2.5, "n": 3, "w": " Abc", "d": "2024-02-29", "t": "2024-02-29 13:45:30", "b": True, "ward": "A"},
        {"x": -4, "n": -2, "w": "abcd", "d": "2024-12-31", "t": "2024-12-30 23:59:00", "b": False, "ward": "B"},
        {"x": None, "n": None, "w": None, "d": None, "t": None, "b": None, "ward": None},
    ],
    "wards": [
        {"ward": "A", "floor": 1, "wing": "east"},
        {"ward": "B", "floor": 2, "wing": "east"},
        {"ward": "D", "floor": 3, "wing": "west"},
    ],
    "stays": [
        {"ward": "A", "length": 1},
        {"ward": "A", "length": 7},
        {"ward": "B", "length": 7},
    ],
}  # fmt: skip


@cache
def policy(variant: str = "pure") -> Policy:
    return policy_of(TABLES, head=HEADS[variant])


def every(_: KeySelection, exact: Mapping[Cell, int], __: Bits) -> Mapping[Cell, int]:
    """All private keys that there are."""
    return dict(exact)


def best(_: Choices, scores: Sequence[Sequence[int]], __: Bits) -> Sequence[int]:
    """In each group the first of the candidates with the highest score."""
    return [max(range(len(group)), key=group.__getitem__) for group in scores]


@contextmanager
def asked(variant: str = "pure", *, generous: bool = True, noise: bool = False) -> Iterator[Curator]:
    """The curator of the tiny hospital: without noise, and with every private key shown, unless told otherwise."""
    door = Sampler() if noise else Sampler(quiet, every, best)
    engine = Memory(policy(variant), DATA)
    try:
        with ledger_of(policy(variant), generous=generous) as ledger:
            yield Curator(policy(variant), ledger, engine=engine, sampler=door)
    finally:
        engine.close()
