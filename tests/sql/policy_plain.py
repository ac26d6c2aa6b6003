"""The rows of a random policy's private copy in plain DuckDB tables, checked on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import duckdb

from discreet.engines.memory import Memory
from tests.sql.policies import Table, World, quoted

TYPES: Final = {
    "integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE",
    "timestamp": "TIMESTAMP",
}  # fmt: skip


class Plain:
    """The rows of the private copy that are ever read, in plain tables: `~u` is the unit, `~k…` and `~n…` ranks.

    What the copy holds is compared with what it must hold, and its ranks with what ranks are.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        engine = Memory(world.policy, world.rows)
        try:
            self._read(engine)
        finally:
            engine.close()

    def _read(self, engine: Memory) -> None:
        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET threads = 1")
        for table in self.world.tables:
            labels = [column.name for column in table.columns]
            keys = [column.name for column in table.columns if column.is_key and table.owner is not None]
            nth = keys if table.stated[1] is not None else []
            stored = [*(f"_discreet_key_{key}" for key in keys), *(f"_discreet_nth_{key}" for key in nth)]
            ranked = ["_discreet_unit", "_discreet_row"] if table.owner is not None else []
            shown = ", ".join(map(quoted, [*labels, *ranked, *stored]))
            rows = engine.execute(f"SELECT {shown} FROM {quoted(table.name)}")
            width = len(labels)
            self._check_rows(table, Counter(tuple(row[: width + bool(ranked)]) for row in rows))
            if ranked:
                check_ranks(
                    table, [row[width:] for row in rows], [[row[labels.index(k)] for k in keys] for row in rows]
                )
                rows = [row for row in rows if row[width + 1] <= table.rows]
            else:
                rows = [(*row, f"row {place}", 1) for place, row in enumerate(rows)]
            self._fill(table, [*labels, "~u", "~r", *(f"~k{k}" for k in keys), *(f"~n{k}" for k in nth)], rows)

    def _check_rows(self, table: Table, copied: Counter[tuple[Any, ...]]) -> None:
        wanted: Counter[tuple[Any, ...]] = Counter()
        units = self.world.owners(table) if table.owner is not None else [None] * len(self.world.rows[table.name])
        for row, unit in zip(self.world.rows[table.name], units, strict=True):
            if table.owner is not None and unit is None:
                continue
            held = tuple(column.held(row.get(column.name)) for column in table.columns)
            wanted[(*held, str(unit)) if table.owner is not None else held] += 1
        if table.owner is None:
            assert copied == wanted, table
            return
        assert copied <= wanted, table
        held_by, owned_by = _by_unit(copied), _by_unit(wanted)
        unique = [place for place, column in enumerate(table.columns) if column.unique]
        for place in unique:
            once = Counter((row[place], row[-1]) for row in copied.elements() if row[place] is not None)
            assert set(once.values()) <= {1}, table
            if len(unique) == 1:
                owned_by = _by_unit(wanted, place)
        if len(unique) <= 1:
            assert held_by == {unit: min(table.rows, count) for unit, count in owned_by.items()}, table

    def _fill(self, table: Table, labels: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        kinds = {column.name: TYPES[column.kind] for column in table.columns} | {"~u": "VARCHAR"}
        typed = ", ".join(f"{quoted(label)} {kinds.get(label, 'BIGINT')}" for label in labels)
        self.connection.execute(f"CREATE TABLE {quoted(table.name)} ({typed})")
        if rows:
            lines = ", ".join(f"({', '.join('?' * len(labels))})" for _ in rows)
            flat = [value for row in rows for value in row]
            self.connection.execute(f"INSERT INTO {quoted(table.name)} VALUES {lines}", flat)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


def _by_unit(rows: Counter[tuple[Any, ...]], unique: int | None = None) -> Counter[Any]:
    """How many rows each unit has; where a column is unique, with each of its values once."""
    found: Counter[Any] = Counter()
    seen = set()
    for row, count in rows.items():
        key = None if unique is None or row[unique] is None else (row[unique], row[-1])
        found[row[-1]] += count if key is None else key not in seen
        seen.add(key)
    return found


def check_ranks(table: Table, ranks: Sequence[tuple[Any, ...]], keys: Sequence[Sequence[Any]]) -> None:
    """Rows of a unit are numbered, and so are the keys of those that are read, and the rows of each key."""
    units: dict[Any, list[tuple[tuple[Any, ...], Sequence[Any]]]] = {}
    for row, mine in zip(ranks, keys, strict=True):
        units.setdefault(row[0], []).append((row[1:], mine))
    for held in units.values():
        assert sorted(row[0] for row, _ in held) == list(range(1, len(held) + 1)), table
        for place in range(len(keys[0])):
            read = [(row[1 + place], mine[place]) for row, mine in held if row[0] <= table.rows]
            assert {rank for rank, _ in read} == set(range(1, len({key for _, key in read}) + 1)), table
            assert len(set(read)) == len({rank for rank, _ in read}), table
            if table.stated[1] is not None:
                nth = 1 + len(keys[0]) + place
                for key in {mine[place] for _, mine in held}:
                    own = sorted((row[0], row[nth]) for row, mine in held if mine[place] == key)
                    assert [number for _, number in own] == list(range(1, len(own) + 1)), table
