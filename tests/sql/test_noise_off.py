"""With noise off, accepted questions equal DuckDB's own answer after clamping and bounding.

The reference computes each row's keys, conditions and numbers in plain DuckDB SQL over plain rows (`questions`), and
clamps, groups and adds in exact Python arithmetic. Tolerance: whole numbers and declared steps are exact. Elsewhere the
grid is a power of two of at most a 2³⁰th of the larger bound; each row is off by at most half a step where it lies
between the bounds, by half a step where a bound itself was rounded, hence a sum of n numbers by at most n steps and an
average by at most one, plus the last rounding to float64.
"""

# ruff: noqa: E501 (tables of texts)

from __future__ import annotations

import inspect
import itertools
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

import discreet
from discreet.curator.curator import Curator
from discreet.engines import library
from discreet.engines.duckdb import DuckDB
from discreet.engines.memory import Memory
from discreet.exit.sampler import Sampler
from discreet.policy import read
from tests.budget import later
from tests.plain import fill, plain
from tests.sql.questions import LISTED, TYPES, Term, Writer, random_row, table
from tests.sql.worlds import Recorded, Rows, ledger_of, opened, policy_of, quiet

Cell = tuple[Any, ...]


def test_nobody_can_turn_the_noise_off_from_outside() -> None:
    assert "door" not in inspect.signature(discreet.open).parameters
    assert "engine" not in inspect.signature(discreet.open).parameters
    assert "door" not in inspect.signature(Curator.query).parameters
    assert not hasattr(discreet, "Door")
    assert set(inspect.signature(discreet.open).parameters) <= {"policy", "state", "time_limit", "progress"}


# the reference


class Plain:
    """The same rows in a plain DuckDB table: typed, what is not declared is NULL, rows of nobody left out."""

    def __init__(self, rows: Rows) -> None:
        self.connection = plain()
        owned = [row for row in rows if row["who"] is not None]
        fill(self.connection, "t", TYPES, [[self._value(column, row[column]) for column in TYPES] for row in owned])

    @staticmethod
    def _value(column: str, value: Any) -> Any:
        if value is None or value != value:
            return None
        return value if column not in LISTED or value in LISTED[column] else None

    def rows(self, *texts: str, where: str = "TRUE") -> list[Cell]:
        return self.connection.execute(f"SELECT {', '.join(texts)} FROM t WHERE {where}").fetchall()


def held(value: Any, term: Term) -> Fraction | None:
    """A row's number between the bounds."""
    assert term.low is not None
    assert term.high is not None
    if value is None:
        return None
    if value in (float("inf"), float("-inf")):
        return term.high if value > 0 else term.low
    return min(max(Fraction(value), term.low), term.high)


class Wanted(NamedTuple):
    """What an aggregate is in one group, and how far the answer may be from it."""

    value: Fraction | None
    within: Fraction


def step_of(term: Term) -> Fraction:
    return Fraction(0) if term.whole else term.size / 2**20


def expected(kind: str, term: Term | None, units: Sequence[Any], tests: Sequence[Any], values: Sequence[Any]) -> Wanted:
    """One aggregate over the rows of one group."""
    exact = Fraction(0)
    passed = [place for place, test in enumerate(tests) if test]
    if kind == "units":
        return Wanted(Fraction(len(set(units))), exact)
    if kind == "rows":
        return Wanted(Fraction(len(passed)), exact)
    assert term is not None
    numbers = [number for place in passed if (number := held(values[place], term)) is not None]
    if kind == "present":
        return Wanted(Fraction(len(numbers)), exact)
    step, total = step_of(term), sum(numbers, Fraction(0))
    if kind == "sum":
        return Wanted(total, len(numbers) * step + abs(total) / 2**52)
    if not numbers:
        return Wanted(None, exact)
    return Wanted(total / len(numbers), step + term.size / 2**52)


class Question(NamedTuple):
    text: str
    keys: list[tuple[str, str, list[Any]]]
    where: str
    aggregates: list[tuple[str, Term | None, str]]
    """Kind, number and condition of each."""


def written(writer: Writer) -> Question:
    """A random question."""
    dice = writer.dice
    keys = []
    if dice.random() < 0.8:
        keys.append(writer.key())
    if keys and dice.random() < 0.25:
        second = writer.key()
        if second[0] != keys[0][0] and len(second[2]) * len(keys[0][2]) < 500:
            keys.append(second)
    where = writer.condition(2) if dice.random() < 0.6 else "TRUE"
    items: list[str] = []
    aggregates: list[tuple[str, Term | None, str]] = []
    for _ in range(dice.randint(1, 3)):
        kind = dice.choice(["rows", "rows", "present", "sum", "sum", "average", "average", "units"])
        filtered = dice.random() < 0.25 and kind != "units"
        test = writer.condition() if filtered else "TRUE"
        term = None if kind in ("rows", "units") else writer.number(dice.choice([0, 1, 2, 3]))
        inner = "" if term is None else term.text
        text = {
            "rows": "COUNT(*)",
            "present": f"COUNT({inner})",
            "sum": f"SUM({inner})",
            "average": f"AVG({inner})",
            "units": "COUNT(DISTINCT who)",
        }[kind]
        if kind == "rows" and filtered and dice.random() < 0.5:
            text = f"COUNT_IF({test})"
        elif filtered:
            text += f" FILTER (WHERE {test})"
        items.append(f"{text} AS v{len(items)}")
        aggregates.append((kind, term, test))
    shown = ", ".join([*(f"{key[0]} AS g{place}" for place, key in enumerate(keys)), *items])
    clause = f" WHERE {where}" if where != "TRUE" else ""
    grouping = dice.choice(["GROUP BY ALL", "GROUP BY " + ", ".join(str(p + 1) for p in range(len(keys)))])
    text = f"SELECT {shown} FROM t{clause}{' ' + grouping if keys else ''}"
    if dice.random() < 0.2:
        text = f"SELECT {shown} FROM (SELECT * FROM t{clause}) AS q{' ' + grouping if keys else ''}"
    return Question(text, keys, where, aggregates)


def compare(curator: Curator, plain: Plain, question: Question) -> None:
    answer = curator.query(question.text, epsilon=1)
    width = len(question.keys)
    keys = [key[1] for key in question.keys]
    tests = [test for _, _, test in question.aggregates]
    numbers = ["NULL" if term is None else term.plain for _, term, _ in question.aggregates]
    rows = plain.rows("who", *keys, *tests, *numbers, where=question.where)
    groups: dict[Cell, list[Cell]] = {cell: [] for cell in itertools.product(*(key[2] for key in question.keys))}
    for row in rows:
        cell = row[1 : 1 + width]
        if cell in groups:
            groups[cell].append(row)
    found = {row[:width]: row[width:] for row in answer.rows}
    assert len(found) == len(answer.rows)
    assert set(found) == set(groups), question.text
    count = len(question.aggregates)
    for cell, inside in groups.items():
        for place, (kind, term, _) in enumerate(question.aggregates):
            tested = [row[1 + width + place] for row in inside]
            values = [row[1 + width + count + place] for row in inside]
            wanted = expected(kind, term, [row[0] for row in inside], tested, values)
            value = found[cell][place]
            if wanted.value is None:
                assert value is None, question.text
                continue
            off = abs(Fraction(value) - wanted.value)
            assert off <= wanted.within, (question.text, cell, place, value, float(wanted.value), float(off))


def compare_many(seed: int, worlds: int, questions: int) -> None:
    dice = random.Random(seed)
    policy = policy_of(table())
    for _ in range(worlds):
        rows = [random_row(dice) for _ in range(dice.choice([0, 1, 3, 20, 60]))]
        plain = Plain(rows)
        with opened(policy, {"t": rows}) as curator:
            for _ in range(questions):
                compare(curator, plain, written(Writer(dice)))
        plain.connection.close()


@pytest.mark.parametrize("seed", later(range(8)))
def test_answers_equal_duckdbs(seed: int) -> None:
    compare_many(seed, worlds=2, questions=22)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1005))
def test_two_thousand_answers_equal_duckdbs(seed: int) -> None:
    compare_many(seed, worlds=10, questions=40)


# after the noise


AFTER = [
    ("SELECT k, COUNT(*) AS m FROM t GROUP BY k HAVING COUNT(*) > 5 ORDER BY m DESC, k", "m > 5", "m DESC, k", ""),
    ("SELECT k, COUNT(*) AS m FROM t GROUP BY k ORDER BY 2, 1 LIMIT 2", "TRUE", "m, k", "LIMIT 2"),
    ("SELECT k, COUNT(*) AS m FROM t GROUP BY k ORDER BY k DESC LIMIT 1 OFFSET 1", "TRUE", "k DESC", "LIMIT 1 OFFSET 1"),
    ("SELECT k, COUNT(*) AS m FROM t GROUP BY k HAVING m BETWEEN 2 AND 9 AND k <> 'x'", "m BETWEEN 2 AND 9 AND k <> 'x'",
     "k", ""),
    ("SELECT k, COUNT(*) * 2 + SUM(a) AS m FROM t GROUP BY ALL ORDER BY ABS(m - 100), k", "TRUE", "abs(m - 100), k", ""),
]  # fmt: skip


def test_what_follows_the_noise_is_what_duckdb_makes_of_it() -> None:
    for seed in range(4):
        dice = random.Random(seed)
        rows = [random_row(dice) for _ in range(30)]
        plain = Plain(rows)
        with opened(policy_of(table()), {"t": rows}) as curator:
            for text, having, order, limit in AFTER:
                sums = "count(*) * 2 + coalesce(sum(least(greatest(a, 0), 20)), 0)"
                inner = f"SELECT k, {sums if 'SUM' in text else 'count(*)'} AS m FROM t WHERE k IS NOT NULL GROUP BY k"
                wanted = f"SELECT k, m FROM ({inner}) WHERE {having} ORDER BY {order} {limit}"
                assert curator.query(text, epsilon=1).rows == plain.connection.execute(wanted).fetchall(), text


def test_outer_questions_work_on_what_was_released() -> None:
    dice = random.Random(5)
    rows = [random_row(dice) for _ in range(40)]
    plain = Plain(rows)
    counts = [
        row[0] for row in plain.connection.execute("SELECT count(*) FROM t WHERE k IS NOT NULL GROUP BY k").fetchall()
    ]
    inner = "SELECT k, COUNT(*) AS m FROM t GROUP BY k"
    with opened(policy_of(table()), {"t": rows}) as curator:
        assert curator.query(f"SELECT SUM(m), MAX(m), MIN(m), COUNT(*) FROM ({inner}) AS q", epsilon=1).rows == [
            (sum(counts), max(counts), min(counts), len(counts))
        ]
        assert curator.query(f"WITH q AS ({inner}) SELECT DISTINCT m > 0 FROM q", epsilon=1).rows == [(True,)]
        assert curator.query("SELECT COUNT(*) / 4, ROUND(COUNT(*) / 7, 2), -COUNT(*) FROM t", epsilon=1).rows == [
            (
                plain.rows("count(*) / 4")[0][0],
                round(plain.rows("count(*) / 7")[0][0], 2),
                -plain.rows("count(*)")[0][0],
            )
        ]


# what is still wrong


ONCE_WRONG: list[tuple[str, str, list[Cell]]] = [
    ("whole keys that are not listed in ascending order lose their rows",
     "SELECT COALESCE(code, 0) AS g, COUNT(*) FROM t GROUP BY g", [(1, 1), (2, 0), (5, 1), (0, 1)]),
    ("the bounds of a difference in months are those of 28 days each",
     "SELECT AVG(DATE_DIFF('month', day, DATE '2054-01-01')) FROM t", [(360.0,)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT SUM(CLAMP(d, -2, 3)) FROM t", [(-4,)]),
        *(pytest.param(*case, id=why) for why, *case in ONCE_WRONG),
    ],
)
def test_small_questions(text: str, wanted: list[Cell]) -> None:
    rows = [
        {"who": i, "code": code, "day": "2024-01-01", "d": d}
        for i, (code, d) in enumerate([(1, -3), (5, -3), (None, None)])
    ]
    with opened(policy_of(table()), {"t": rows}) as curator:
        assert curator.query(text, epsilon=1).rows == wanted


# bounding


class Chosen:
    """Which rows count, worked out in Python from the copied table and the engine's keyed hash."""

    def __init__(self, engine: Memory, limits: tuple[int, int, int]) -> None:
        self.engine = engine
        self.rows, self.groups, self.in_group = limits

    def copied(self, key: str, where: str) -> list[dict[str, Any]]:
        """The copied rows, whether WHERE leaves them, and the keyed hash of their unit."""
        names = ["unit", "rank", "key", "stored", "a", "hash", "passes"]
        stored = f'"_discreet_key_{key}"' if key in ("k", "n", "f", "code") else "NULL"
        query = f"""
            SELECT _discreet_unit, _discreet_row, {key}, {stored}, a, hash('memory', _discreet_unit), {where} FROM t
        """
        return [dict(zip(names, row, strict=True)) for row in self.engine.execute(query)]

    def cells(self, key: str, where: str, listed: Sequence[Any]) -> dict[Any, list[dict[str, Any]]]:
        groups: dict[Any, list[dict[str, Any]]] = {value: [] for value in listed}
        units: dict[Any, list[dict[str, Any]]] = {}
        for row in self.copied(key, where):
            row["key"] = row["key"] if row["key"] in listed else None
            if row["rank"] <= self.rows and (row["key"] is not None or None in listed):
                units.setdefault(row["unit"], []).append(row)
        for mine in units.values():
            passing = sorted((row for row in mine if row["passes"]), key=lambda row: int(row["rank"]))
            order = {row["key"]: self._order(row, mine, listed, whole=where == "TRUE") for row in passing}
            ranked = sorted(order, key=lambda value: order[value])
            few = ranked[: self.groups] if self.groups < min(self.rows, len(listed)) else ranked
            seen: dict[Any, int] = {}
            for row in passing:
                seen[row["key"]] = seen.get(row["key"], 0) + 1
                if row["key"] in few and seen[row["key"]] <= self.in_group:
                    groups[row["key"]].append(row)
        return groups

    def _order(self, row: dict[str, Any], mine: list[dict[str, Any]], listed: Sequence[Any], *, whole: bool) -> int:
        """By stored rank; by the unit's first row that has the key, where some rows do not pass; by keyed slot."""
        if row["stored"] is None:
            step, start = (row["hash"] & 62) + 1, row["hash"] >> 58
            return int(step * list(listed).index(row["key"]) + start) % 64
        return int(row["stored"]) if whole else min(int(r["rank"]) for r in mine if r["key"] == row["key"])


LIMITS = [(1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 2, 2), (5, 5, 1), (6, 3, 2)]


BOUNDED_KEYS: list[tuple[str, Sequence[Any]]] = [
    ("k", ["x", "y", "z"]),
    ("f", [False, True]),
    ("a % 4", [0, 1, 2, 3]),
    ("n", ["p", "q", None]),
    ("d", range(-5, 6)),
]


@pytest.mark.parametrize("where", ["TRUE", "a >= 4"])
@pytest.mark.parametrize("limits", LIMITS)
def test_bounded_rows_and_groups_are_those_of_ranks_masks_and_slots(limits: tuple[int, int, int], where: str) -> None:
    policy = policy_of(table(*limits))
    dice = random.Random(repr(limits))
    rows = [random_row(dice) for _ in range(60)]
    engine = Memory(policy, {"t": rows})
    with (
        ledger_of(policy) as ledger,
        Curator(policy, ledger, engine=engine, sampler=Sampler(add_noise=quiet)) as curator,
    ):
        for key, listed in BOUNDED_KEYS:
            cells = Chosen(engine, limits).cells(key, where, listed)
            wanted = [
                (
                    value,
                    len(inside),
                    sum(min(max(row["a"], 0), 20) for row in inside if row["a"] is not None),
                    len({row["unit"] for row in inside}),
                )
                for value, inside in cells.items()
            ]
            test = "" if where == "TRUE" else f"WHERE {where}"
            text = f"SELECT {key} AS g, COUNT(*), SUM(a), COUNT(DISTINCT who) FROM t {test} GROUP BY g"
            assert curator.query(text, epsilon=1).rows == wanted, key
    engine.close()


# big numbers


BIG = """
[tables.t]
source = "t.csv"
unit = "row"
[tables.t.columns]
x = { type = "integer", min = -4611686018427387903, max = 4611686018427387903 }
"""


def test_sums_beyond_53_and_63_bits_stay_exact() -> None:
    policy = policy_of(BIG)
    numbers = [2**61 + 2 * i + 1 for i in range(60)] + [2**53 + 1, -(2**53) - 3, 2**62 - 1, -(2**62) + 1, 1, 0]
    with opened(policy, {"t": [{"x": value} for value in numbers]}) as curator:
        assert sum(numbers) > 2**66
        assert curator.query("SELECT SUM(x) FROM t", epsilon=10**8).rows == [(sum(numbers),)]
        assert curator.query("SELECT SUM(x) AS s FROM t ORDER BY s", epsilon=10**8).rows == [(sum(numbers),)]
        assert curator.query("SELECT AVG(x), SUM(x) FROM t", epsilon=10**8).rows == [
            (float(Fraction(sum(numbers), len(numbers))), sum(numbers))
        ]
        assert curator.query("SELECT SUM(-x) FROM t", epsilon=10**8).rows == [(-sum(int(float(v)) for v in numbers),)]
    just = [{"x": 2**53}, {"x": 1}]
    with opened(policy, {"t": just}) as curator:
        assert curator.query("SELECT SUM(x) FROM t", epsilon=10**8).rows == [(2**53 + 1,)]
    beyond: list[dict[str, Any]] = [{"x": 2**62}, {"x": -(2**63)}, {"x": 2**63 - 1}, {"x": None}]
    with opened(policy, {"t": beyond}) as curator:
        assert curator.query("SELECT SUM(x), COUNT(x) FROM t", epsilon=10**8).rows == [(2**62 - 1, 3)]


# order and threads


ORDERLESS = (
    "SELECT k, COUNT(*), SUM(c), AVG(c * b), COUNT(DISTINCT who) FROM t GROUP BY k",
    "SELECT a % 4 AS g, SUM(c / 3), COUNT(n) FROM t WHERE b > -5 GROUP BY g",
)


@pytest.mark.long
@pytest.mark.parametrize("limits", [(200, 200, 200), (3, 2, 2)])
def test_the_order_of_rows_changes_no_integer(limits: tuple[int, int, int]) -> None:
    policy, dice = policy_of(table(*limits)), random.Random(11)
    rows = [random_row(dice) for _ in range(12)]
    seen = set()
    for _ in range(8):
        recorded = Recorded()
        with opened(policy, {"t": rows}, add_noise=recorded) as curator:
            for text in ORDERLESS:
                curator.query(text, epsilon=1)
        seen.add(tuple(recorded.exact))
        dice.shuffle(rows)
    assert len(seen) == 1


def many_rows(folder: Path) -> Path:
    """Enough rows that several threads share them; floats whose sum depends on the order."""
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (SELECT i % 30011 AS who, i % 37 AS a, ((i * 7919) % 81 - 40) / 4 AS b, sqrt(i) AS c,
                CASE i % 4 WHEN 0 THEN 'x' WHEN 1 THEN 'y' WHEN 2 THEN 'z' END AS k
            FROM range(300000) AS t(i)) TO '{folder / "t.parquet"}' (FORMAT parquet, ROW_GROUP_SIZE 20000)
        """)
    path = folder / "world.toml"
    path.write_text(
        """
name = "world"
[budget]
epsilon = 3
[unit]
name = "person"
[tables.t]
source = "t.parquet"
unit = "who"
max_rows = 7
max_groups = 2
[tables.t.columns]
a = { type = "integer", min = 0, max = 20 }
b = { min = -10, max = 10, step = 0.25 }
c = { min = 0, max = 400 }
k = { values = ["x", "y", "z"] }
""",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def threaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, DuckDB]]:
    """Engines over one copy that differ in their number of threads."""
    policy = read(many_rows(tmp_path))
    connect, engines = library.duckdb.connect, {}
    for threads in (1, 2, 8):
        with monkeypatch.context() as patch:
            patch.setattr(
                library.duckdb, "connect", lambda *args, n=threads, **kw: _with_threads(connect(*args, **kw), n)
            )
            engines[threads] = DuckDB(policy, 0)
    yield engines
    for engine in engines.values():
        engine.close()


def _with_threads(connection: Any, threads: int) -> Any:
    connection.execute(f"SET threads = {threads}")
    return connection


def test_the_number_of_threads_changes_no_integer(threaded: dict[int, DuckDB], tmp_path: Path) -> None:
    policy = read(tmp_path / "world.toml")
    seen = set()
    for threads, engine in threaded.items():
        assert engine.execute("SELECT current_setting('threads')") == [(threads,)]
        recorded = Recorded()
        with ledger_of(policy) as ledger:
            curator = Curator(policy, ledger, engine=engine, sampler=Sampler(add_noise=recorded))
            for text in ORDERLESS:
                curator.query(text.replace("COUNT(n)", "COUNT(k)"), epsilon=1)
        seen.add(tuple(recorded.exact))
    assert len(seen) == 1
    assert sum(len(vector) for vector in next(iter(seen))) > 20
