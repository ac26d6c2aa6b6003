"""One person's rows repeat a key that the policy calls unique: joined on it, they would make as many rows as pairs,
while the noise is that for one row of each. Refusing them would tell that the person is there; keeping each key once in
the whole table would let one person erase all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.audit import Replay, neighbours
from discreet.engines.memory import Memory
from discreet.policy.layout import ROW, UNIT
from tests.attacks.worlds import HEAD, held, secret_of
from tests.audit.worlds import Data, read
from tests.sql.worlds import opened

POLICY = (
    HEAD
    + """
[tables.orders]
source = "orders.csv"
unit = "person"
max_rows = 4
[tables.orders.columns]
key = { type = "integer", unique = true }
code = { type = "text", unique = true }
state = { values = ["open", "done"] }
[tables.items]
source = "items.csv"
unit = "person"
max_rows = 6
[tables.items.columns]
order = { type = "integer" }
cost = { min = 0, max = 10 }
"""
)
MALLORY: dict[str, list[tuple[int | None, str | None]]] = {
    "one key": [(7, None)] * 9,
    "everybody's keys": [(key, None) for key in range(8)],
    "no key": [(None, None)] * 9,
    "two keys that cross": [(key % 3, "abc"[key % 2]) for key in range(9)],
    "texts that look alike": [(None, text) for text in ("a", "A", "a ", "\u00e5", "a\u030a", "")],
}


def data(mallory: list[tuple[int | None, str | None]]) -> Data:
    orders = [{"person": f"p{key}", "key": key, "code": "x", "state": "open"} for key in range(8)]
    orders += [{"person": "m", "key": key, "code": code, "state": "done"} for key, code in mallory]
    items = [{"person": f"p{key}", "order": key, "cost": 1} for key in range(8)]
    items += [{"person": "m", "order": key, "cost": 1} for key, _ in mallory]
    return {"orders": orders, "items": items}


JOINED = "items i {side} JOIN orders o ON i.person = o.person AND i.order = o.key"
MOST = {"": 6, "LEFT": 6, "RIGHT": 9, "FULL": 10}


FIRST = [*((name, "FULL") for name in MALLORY), *(("two keys that cross", side) for side in ("", "LEFT", "RIGHT"))]
"""Every way to repeat a key in the join that keeps all rows, and the worst of them in every join."""
OTHERS = sorted({(name, side) for name in MALLORY for side in MOST} - set(FIRST))


@pytest.mark.parametrize(("name", "side"), [*FIRST, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)])
def test_repeated_keys_move_nothing_further_than_the_sensitivity(name: str, side: str) -> None:
    text = f"SELECT state, COUNT(*), SUM(cost) FROM {JOINED.format(side=side)} GROUP BY state"
    with Replay(read(POLICY)) as auditor:
        rows = data(MALLORY[name])
        for report in auditor.compare_each(text, rows, neighbours(auditor.policy, rows), epsilon=1):
            assert report.same, report
            assert report.calls


@pytest.mark.parametrize("side", MOST)
def test_who_repeats_a_key_has_as_many_rows_as_the_plan_says(side: str) -> None:
    text = f"SELECT COUNT(*) FROM {JOINED.format(side=side)}"
    with opened(read(POLICY), data(MALLORY["one key"])) as curator:
        assert 8 < curator.query(text, epsilon=1).rows[0][0] <= 8 + MOST[side]


@pytest.mark.parametrize("name", MALLORY)
def test_no_row_of_another_changes(tmp_path: Path, name: str) -> None:
    found = []
    for folder, rows in (("alone", data([])), ("beside", data(MALLORY[name]))):
        secret_of(tmp_path / folder)
        for table, columns in (("orders", "person,key,code,state"), ("items", "person,order,cost")):
            lines = [",".join("" if row[c] is None else str(row[c]) for c in columns.split(",")) for row in rows[table]]
            (tmp_path / folder / f"{table}.csv").write_text("\n".join([columns, *lines, ""]), encoding="utf-8")
        found.append(held(tmp_path / folder, POLICY, "orders", but="m"))
    assert found[0] == found[1]
    assert len(found[0]) == 8


def once_each(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first row of each code, then of these the first of each key; rows without one stay."""
    for column in (1, 0):
        values = [row[column] for row in rows]
        rows = [row for at, row in enumerate(rows) if row[column] is None or row[column] not in values[:at]]
    return rows


def test_of_each_key_one_row_stays_and_all_without_a_key() -> None:
    """The first in the order that the same rows have where nothing is declared unique, up to four of them."""
    free = POLICY.replace(", unique = true", "").replace("max_rows = 4", "max_rows = 99")
    for name, rows in MALLORY.items():
        kept, ordered = (
            _rows_in_order(text, data(rows), f"SELECT key, code FROM orders WHERE {UNIT} = 'm' ORDER BY {ROW}")
            for text in (POLICY, free)
        )
        assert len(ordered) == len(rows), name
        assert kept == once_each(ordered)[:4], name


def _rows_in_order(policy: str, rows: Data, text: str) -> list[tuple[Any, ...]]:
    engine = Memory(read(policy), rows)
    try:
        return list(engine.execute(text))
    finally:
        engine.close()
