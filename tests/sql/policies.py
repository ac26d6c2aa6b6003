"""Random policies with random rows.

A policy has one to four private tables (units named by text or by integers, under odd names, along foreign keys of one
or two hops, or every row its own) and public ones. Limits are wide, so that nothing is cut, or tight, so that much is.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from discreet.policy import Policy
from tests.sql.worlds import Rows, policy_of

NAMES: Final = (
    "who", "Person Id", "select", "größe", "it's", 'a"b', "group", "用户", "ORDER", "1st", "%", "count", "from", "x y",
    "unit", "rows", "null", "Ward", "ñ", "_", "end", "a-b", "😀", "table", "k", "sum", "date", "t\\n", "$1", "true",
)  # fmt: skip
"""Neither dots nor brackets: they have a meaning in the paths of foreign keys."""
WIDE: Final = 200
MOST_STEPS: Final = 2**49


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def toml(value: Any) -> str:
    """A value or a name as TOML writes it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 and -(2**63) <= value < 2**63 else repr(float(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    return value.isoformat() if isinstance(value, date) else str(value)


@dataclass(frozen=True)
class Column:
    """A declared column; `rough` where rows hold numbers between its steps."""

    name: str
    kind: str
    low: Any = None
    high: Any = None
    step: Fraction | None = None
    values: tuple[Any, ...] | None = None
    nullable: bool = False
    rough: bool = False
    unique: bool = False

    def toml(self) -> str:
        said = {"type": self.kind} if self.values is None else {}
        parts: dict[str, Any] = {**said, "min": self.low, "max": self.high, "step": self.step, "values": self.values}
        if self.values is not None:
            parts["min"] = parts["max"] = None
        parts["nullable"] = True if self.nullable else None
        parts["unique"] = True if self.unique else None
        shown = ", ".join(f"{key} = {toml(value)}" for key, value in parts.items() if value is not None)
        return f"{toml(self.name)} = {{ {shown} }}"

    @property
    def is_key(self) -> bool:
        return self.values is not None or self.kind in ("text", "boolean")

    def drawn(self, dice: random.Random) -> Any:
        """A value, mostly a sensible one."""
        if dice.random() < 0.1:
            return dice.choice([None, None, *STRANGE[self.kind]])
        if self.values is not None:
            return dice.choice(self.values)
        if self.kind == "integer":
            return dice.choice([dice.randint(int(self.low), int(self.high)), int(self.low), int(self.high)])
        if self.kind == "number":
            return self._number(dice)
        if self.kind == "boolean":
            return dice.random() < 0.5
        if self.kind == "text":
            return dice.choice(["", "x", "it's", "Å", "OTHER", "12", "a%b"])
        span = self.high - self.low
        return self.low + dice.randint(0, span // timedelta(days=1)) * timedelta(days=1)

    def _number(self, dice: random.Random) -> float:
        if self.step is None or self.rough:
            return dice.choice([dice.uniform(float(self.low), float(self.high)), float(self.high)])
        steps = dice.randint(int(self.low / self.step), int(self.high / self.step))
        return float(steps * self.step)

    def held(self, value: Any) -> Any:
        """What the private copy must hold: declared values, no NaN."""
        if value is None or value != value or (self.values is not None and value not in self.values):
            return None
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            return None
        return value


STRANGE: Final[Mapping[str, Sequence[Any]]] = {
    "integer": [-(10**15), 10**15, -1, 0, 2**63 - 1, 2**63],
    "number": [math.inf, -math.inf, math.nan, 1e300, -1e17, 0.0, -0.0],
    "text": ["zz", "Ünï", " pad "],
    "boolean": [None],
    "date": [date(1, 1, 1), date(9999, 12, 31), date(2023, 12, 31), date(1969, 7, 20)],
    "timestamp": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59), datetime(2023, 12, 31, 23, 59, 59)],
}


@dataclass(frozen=True)
class Table:
    """`unit` as the policy writes it, None in a public table; `owner` as analysts name it, None where rows are units.

    The `path` leads to the unit: (column, table, key) of each hop.
    """

    name: str
    columns: tuple[Column, ...]
    unit: str | None = None
    owner: str | None = None
    path: tuple[tuple[str, str, str], ...] = ()
    rows: int = 1
    groups: int | None = None
    in_group: int | None = None

    def toml(self, source: int) -> str:
        lines = [f"[tables.{toml(self.name)}]", f'source = "{source}.csv"']
        lines += ["public = true"] if self.unit is None else [f"unit = {toml(self.unit)}"]
        limits = {"max_rows": self.rows, "max_groups": self.groups, "max_rows_per_group": self.in_group}
        if self.owner is not None:
            lines += [f"{key} = {value}" for key, value in limits.items() if value is not None]
        return "\n".join([*lines, f"[tables.{toml(self.name)}.columns]", *(c.toml() for c in self.columns)])

    @property
    def stated(self) -> tuple[int | None, int | None]:
        """Groups and rows in each, where they say less than the number of rows does."""
        below = (limit if limit is not None and limit < self.rows else None for limit in (self.groups, self.in_group))
        return next(below), next(below)


@dataclass(frozen=True)
class World:
    policy: Policy
    tables: tuple[Table, ...]
    rows: Mapping[str, Rows]
    private_keys: bool

    @property
    def private(self) -> list[Table]:
        return [table for table in self.tables if table.unit is not None]

    def owners(self, table: Table) -> list[Any]:
        """Whose each row is."""
        found = []
        for row in self.rows[table.name]:
            here: Mapping[str, Any] | None = row
            for column, other, key in table.path:
                wanted = None if here is None else here[column]
                here = next((r for r in self.rows[other] if wanted is not None and r[key] == wanted), None)
            found.append(None if here is None or table.owner is None else here[table.owner])
        return found

    def without(self, dice: random.Random) -> World:
        """The same without one unit: without all of its rows, and without one row of each table of rows."""
        units = sorted({unit for t in self.private for unit in self.owners(t) if unit is not None}, key=repr)
        gone = dice.choice(units) if units else None
        left: dict[str, Rows] = dict(self.rows)
        for table in self.private:
            held = list(self.rows[table.name])
            if table.owner is None:
                left[table.name] = held[1:]
            else:
                owners = self.owners(table)
                left[table.name] = [row for row, unit in zip(held, owners, strict=True) if unit is None or unit != gone]
        return replace(self, rows=left)


class Maker:
    """Makes worlds."""

    def __init__(self, dice: random.Random, *, tight: bool) -> None:
        self.dice = dice
        self.tight = tight

    def world(self) -> World:
        dice = self.dice
        names = dice.sample(NAMES, len(NAMES))
        delta = dice.random() < 0.5
        units = self._units()
        first = self._owned(names.pop(), names.pop(), units)
        tables = [first]
        for _ in range(dice.randint(0, 3)):
            maker = dice.choice([self._beside, self._below, self._below, self._of_rows])
            tables.append(maker(names.pop(), tables, units))
        lookup = self._keyed(tables)
        public = [self._public(names.pop(), lookup)] if lookup else []
        rows: dict[str, Rows] = {table.name: self._rows(table, units) for table in tables}
        for table in tables:
            for column, other, key in table.path[:1]:
                targets = [row[key] for row in rows[other]]
                for row in rows[table.name]:
                    assert isinstance(row, dict)
                    row[column] = dice.choice([*targets, *targets, None, "nowhere"])
        for table in public:
            rows[table.name] = self._public_rows(table)
        every = (*tables, *public)
        head = f'name = "world"\n[budget]\nepsilon = 3\n{"delta = 0.001" if delta else ""}\n[unit]\nname = "person"\n'
        policy = policy_of(*(table.toml(place) for place, table in enumerate(every)), head=head)
        return World(policy, every, rows, delta)

    # tables

    def _units(self) -> list[Any]:
        pools: list[list[Any]] = [
            ["u1", "u2", "u3", "Ünï", "", "it's", " pad"],
            ["7", "07", "7 "],
            [7, 0, -1, 2**62, 8],
        ]
        pool = self.dice.choice(pools)
        return self.dice.sample(pool, self.dice.randint(1, len(pool)))

    def _limits(self) -> dict[str, Any]:
        dice = self.dice
        if not self.tight:
            return {"rows": WIDE}
        rows = dice.choice([1, 2, 3, 4, 5, 8])
        fewer = max(rows - 1, 1)
        return {
            "rows": rows,
            "groups": dice.choice([None, dice.randint(1, fewer), min(2, fewer), 9]),
            "in_group": dice.choice([None, None, dice.randint(1, fewer)]),
        }

    def _owned(self, name: str, unit: str, units: list[Any]) -> Table:
        columns = self._columns({unit})
        if isinstance(units[0], int) and self.dice.random() < 0.7:
            columns = (*columns, Column(unit, "integer"))
        return Table(name, (*columns, *self._keys()), unit, unit, **self._limits())

    def _beside(self, name: str, tables: list[Table], units: list[Any]) -> Table:
        """With a unit column of its own, under the same name or another."""
        return self._owned(name, self.dice.choice([tables[0].unit or "", "other"]), units)

    def _below(self, name: str, tables: list[Table], units: list[Any]) -> Table:  # noqa: ARG002
        """Along a foreign key to a table that has a unit, itself perhaps along another."""
        parent = self.dice.choice([table for table in tables if table.owner is not None and len(table.path) < 2])
        path = (("ref", parent.name, "id"), *parent.path)
        unit = f"ref -> {parent.name}(id).{parent.unit}"
        columns = (*self._columns({parent.owner or ""}), *self._keys(), Column("ref", "text"))
        return Table(name, columns, unit, parent.owner, path, **self._limits())

    def _of_rows(self, name: str, tables: list[Table], units: list[Any]) -> Table:  # noqa: ARG002
        return Table(name, self._columns(set()), "row")

    def _keyed(self, tables: list[Table]) -> Column | None:
        """A column that a public table can be about."""
        found = [column for table in tables for column in table.columns if column.values and column.kind != "boolean"]
        return self.dice.choice(found) if found else None

    def _public(self, name: str, about: Column) -> Table:
        shown = (Column("about", about.kind), Column("beds", "integer", Fraction(0), Fraction(50)))
        return Table(name, (*shown, Column("wing", "text"), replace(about, name="~about")))

    def _public_rows(self, table: Table) -> Rows:
        """Each value once, or some of them several times, or not at all."""
        dice = self.dice
        values: list[Any] = list(table.columns[-1].values or ())
        some = dice.choice([values, values[1:], [*values, *values[:2]], [*values, None]])
        return [
            {"about": value, "beds": dice.randint(0, 50), "wing": dice.choice(["east", "west"]), "~about": value}
            for value in some
        ]

    # columns and rows

    def _keys(self) -> list[Column]:
        """Keys of which a unit has each once, whatever its rows say, and numbers that may equal them."""
        whole = Column("link", "integer", Fraction(0), Fraction(4))
        keys = [whole, replace(whole, name="uniq", unique=True), Column("id", "text", unique=True)]
        return [key for key in keys if self.dice.random() < 0.6]

    def _columns(self, taken: set[str]) -> tuple[Column, ...]:
        dice = self.dice
        reserved = {name.casefold() for name in taken} | {"ref", "id", "other", "link", "uniq"}
        names = [name for name in dice.sample(NAMES, len(NAMES)) if name.casefold() not in reserved]
        makers = dice.choices(COLUMNS, k=dice.randint(1, 4))
        makers += [dice.choice(COLUMNS[:3]), dice.choice(COLUMNS[3:7])]
        return tuple(self._nullable(maker(name, dice)) for name, maker in zip(names, makers, strict=False))

    def _nullable(self, column: Column) -> Column:
        return replace(column, nullable=self.dice.random() < 0.3)

    def _rows(self, table: Table, units: list[Any]) -> Rows:
        dice = self.dice
        found: list[dict[str, Any]] = []
        for place in range(dice.choice([0, 1, 6, 15, 30, 30])):
            row = {column.name: column.drawn(dice) for column in table.columns if column.name != table.unit}
            if table.owner is not None and not table.path:
                row[table.owner] = dice.choice([*units, *units, None])
            found.append({**row, "id": f"r{place}"})
            if dice.random() < 0.1:
                found.append({**found[-1], "id": f"twin{place}"})
        return found


def _whole(name: str, dice: random.Random) -> Column:
    small = [(0, 20), (-5, 5), (-40, -3), (0, 1), (3, 9)]
    low, high = dice.choice([*small, *small, (-(10**6), 10**9), (7, 2**61), (-(2**63), 2**63 - 1)])
    step = Fraction(1) if dice.random() < 0.2 and 1 < high - low < 2**40 else None
    return Column(name, "integer", Fraction(low), Fraction(high), step)


def _stepped(name: str, dice: random.Random) -> Column:
    step = Fraction(dice.choice(["0.01", "0.5", "3", "0.1", "1000", "0.0000001"]))
    low, high = dice.choice([(-4, 9), (0, 100), (-300, -20), (0, 2), (1, 10**6)])
    return Column(name, "number", low * step, high * step, step, rough=dice.random() < 0.3)


def _fine(name: str, dice: random.Random) -> Column:
    ends = [("0", "1"), ("-0.001", "0.002"), ("-1e50", "1e80"), ("1e-9", "2e-9"), ("-17.25", "-3.5"), ("0", "1e12")]
    low, high = dice.choice(ends)
    return Column(name, "number", Fraction(low), Fraction(high))


def _listed(name: str, dice: random.Random) -> Column:
    lists: list[tuple[str, list[Any]]] = [
        ("text", ["x", "y", "z"]),
        ("text", ["", "it's", "Å", 'q"q']),
        ("integer", [5, 1, 2]),
        ("integer", [-7, 2**62]),
        ("boolean", [True, False]),
        ("boolean", [True]),
        ("date", [date(2024, 2, 29), date(1999, 1, 1)]),
    ]
    kind, values = dice.choice(lists)
    low, high = (Fraction(min(values)), Fraction(max(values))) if kind == "integer" else (None, None)
    return Column(name, kind, low, high, values=tuple(values))


def _flag(name: str, dice: random.Random) -> Column:  # noqa: ARG001
    return Column(name, "boolean")


def _day(name: str, dice: random.Random) -> Column:
    low, high = dice.choice(
        [((2024, 1, 1), (2024, 3, 31)), ((2023, 12, 30), (2024, 1, 2)), ((1960, 5, 5), (2030, 1, 1))]
    )
    return Column(name, "date", date(*low), date(*high))


def _moment(name: str, dice: random.Random) -> Column:
    low, high = dice.choice([((2024, 1, 1, 6), (2024, 1, 4, 5)), ((2023, 11, 30, 0), (2024, 2, 1, 0))])
    return Column(name, "timestamp", datetime(*low), datetime(*high))


def _text(name: str, dice: random.Random) -> Column:  # noqa: ARG001
    return Column(name, "text")


COLUMNS: Final = (_whole, _stepped, _fine, _listed, _listed, _flag, _text, _day, _moment)
