"""Which groups of a unit count: exactly as many as may, of those that it has among the rows that pass, whoever else is
there. Compared with brute force in Python over generated tables, without noise."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from discreet.composed import literal
from discreet.engines import copy
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.sampler import Sampler
from discreet.policy import Policy
from discreet.policy.layout import key_mask, key_rank, mask_type, ranked_keys
from discreet.sql import bounding
from discreet.sql.bounding import Bounding
from discreet.sql.keys import PublicKey
from discreet.sql.nodes import Field
from tests.sql.worlds import HEAD, opened, policy_of, quiet

TABLES = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = {rows}
max_groups = {groups}
max_rows_per_group = {each}
[tables.t.columns]
k = {{ values = ["x", "y", "z", "w", "v"] }}
n = {{ values = ["p", "q"], nullable = true }}
f = {{ type = "boolean" }}
note = {{ type = "text", nullable = true }}
a = {{ type = "integer", min = 0, max = 19 }}
day = {{ type = "date", min = 2024-01-01, max = 2024-12-31 }}
[tables.people]
source = "people.csv"
unit = "who"
[tables.people.columns]
sex = {{ values = ["f", "m"] }}
[tables.more]
source = "more.csv"
unit = "who"
max_rows = 3
[tables.more.columns]
m = {{ values = ["r", "s", "t"] }}
"""
Row = dict[str, Any]
Test = Callable[[Row], bool]


def world(rows: int, groups: int, each: int | None = None) -> Policy:
    text = TABLES.format(rows=rows, groups=groups, each=each or rows)
    return policy_of(text, head=HEAD.replace("epsilon = 3", "epsilon = 3\ndelta = 1e-6"))


def made(dice: random.Random, units: int, rows: int) -> dict[str, list[Row]]:
    """Rows of some units: few and many, with keys that are not listed, and NULL."""
    events = [
        {
            "who": unit,
            "k": dice.choice(["x", "y", "z", "w", "v", "unlisted", None]),
            "n": dice.choice(["p", "q", None]),
            "f": dice.choice([True, False, None]),
            "note": dice.choice(["", "a", "A", "a ", "é", "e\u0301", None]),
            "a": dice.randrange(20),
            "day": date(2024, dice.randint(1, 12), dice.randint(1, 28)),
        }
        for unit in range(units)
        for _ in range(dice.choice([1, rows // 2 + 1, rows]))
    ]
    people = [{"who": unit, "sex": dice.choice("fm")} for unit in range(units)]
    more = [{"who": unit, "m": dice.choice("rst")} for unit in range(units) for _ in range(dice.choice([1, 3]))]
    return {"t": events, "people": people, "more": more}


def of_unit(tables: dict[str, list[Row]], unit: int) -> dict[str, list[Row]]:
    return {name: [row for row in rows if row["who"] == unit] for name, rows in tables.items()}


LISTED: dict[str, set[Any]] = {"k": set("xyzwv"), "f": {True, False}, "sex": {"f", "m"}, "upper": set(), "kn": set()}
QUERIES: list[tuple[str, tuple[str, ...], Test]] = [
    ("SELECT k, {} FROM t GROUP BY k", ("k",), lambda _: True),
    ("SELECT k, {} FROM t WHERE a > 9 GROUP BY k", ("k",), lambda row: row["a"] > 9),
    ("SELECT n, {} FROM t WHERE a % 3 = 1 GROUP BY n", ("n",), lambda row: row["a"] % 3 == 1),
    ("SELECT k, n, {} FROM t GROUP BY k, n", ("k", "n"), lambda _: True),
    ("SELECT k, n, f, {} FROM t WHERE a < 12 GROUP BY k, n, f", ("k", "n", "f"), lambda row: row["a"] < 12),
    ("SELECT a % 4 AS g, {} FROM t WHERE a > 3 GROUP BY g", ("a4",), lambda row: row["a"] > 3),
    ("SELECT MONTH(day) AS g, f, {} FROM t GROUP BY g, f", ("month", "f"), lambda _: True),
    ("SELECT UPPER(k) AS g, {} FROM t WHERE a > 4 GROUP BY g", ("upper",), lambda row: row["a"] > 4),
    ("SELECT k || COALESCE(n, 'no') AS g, {} FROM t GROUP BY g", ("kn",), lambda _: True),
    ("SELECT UPPER(note) AS g, {} FROM t WHERE a > 4 GROUP BY g", ("loud",), lambda row: row["a"] > 4),
    ("SELECT a, k, {} FROM t GROUP BY a, k", ("a", "k"), lambda _: True),
    ("SELECT note, {} FROM t WHERE a > 5 GROUP BY note", ("note",), lambda row: row["a"] > 5),
    ("SELECT k, {} FROM (SELECT who, k FROM t WHERE a > 9) AS s GROUP BY k", ("k",), lambda row: row["a"] > 9),
    ("SELECT sex, k, n, {} FROM t JOIN people ON t.who = people.who WHERE a > 2 GROUP BY sex, k, n", ("sex", "k", "n"),
     lambda row: row["a"] > 2),
    ("SELECT m, k, {} FROM t JOIN more ON t.who = more.who GROUP BY m, k", ("m", "k"), lambda _: True),
    ("SELECT k, n, {} FROM t JOIN more ON t.who = more.who WHERE m <> 'r' GROUP BY k, n", ("k", "n"),
     lambda row: row["m"] != "r"),
    ("SELECT UPPER(note) AS g, {} FROM t GROUP BY g", ("loud",), lambda _: True),
    ("SELECT DATE_TRUNC('month', day) AS g, {} FROM t GROUP BY g", ("begun",), lambda _: True),
    ("SELECT DATE_TRUNC('quarter', day) AS g, f, {} FROM t WHERE a > 2 GROUP BY g, f", ("quarter", "f"),
     lambda row: row["a"] > 2),
]  # fmt: skip


def brute(tables: dict[str, list[Row]], text: str, keys: tuple[str, ...], test: Test) -> Counter[tuple[Any, ...]]:
    """How many rows each group of a unit has, if nothing is chosen."""
    groups: Counter[tuple[Any, ...]] = Counter()
    for event in tables["t"]:
        for person in tables["people"]:
            for other in tables["more"] if "more" in text else [{}]:
                row = {**event, **person, **other, "a4": event["a"] % 4, "month": event["day"].month}
                row["k"] = row["k"] if row["k"] in LISTED["k"] else None
                row["upper"] = row["k"] and row["k"].upper()
                row["kn"] = row["k"] and row["k"] + (row["n"] or "no")
                row["loud"] = row["note"] and row["note"].upper()
                row["begun"] = event["day"].replace(day=1)
                row["quarter"] = date(2024, event["day"].month // 3 * 3 - 2 + (event["day"].month % 3 > 0) * 3, 1)
                cell = tuple(row[key] for key in keys)
                if test(row) and not any(row[key] is None and key in LISTED for key in keys):
                    groups[cell] += 1
    return groups


Query = tuple[str, tuple[str, ...], Test]


Counts = dict[tuple[Any, ...], int]


def answers(
    policy: Policy, tables: dict[str, list[Row]], asked: list[Query], what: str = "COUNT(*)"
) -> Iterator[tuple[Counts, Counts]]:
    """Of each query what it counts, and of how many units keys would be selected."""
    units: Counts = {}

    def everything(_mechanism: Any, exact: Any, _bits: Any) -> dict[Any, int]:
        units.update(exact)
        return dict(exact)

    with opened(policy, tables, sampler=Sampler(add_noise=quiet, select=everything)) as curator:
        for text, keys, _ in asked:
            units.clear()
            rows = curator.query(text.format(what), epsilon=50, fresh=True).rows
            yield {row[: len(keys)]: row[-1] for row in rows if row[-1]}, dict(units)


def check(rows: int, groups: int, asked: list[Query], units: int = 2) -> None:
    """Each unit alone has as many groups as it may, whole; together they have what they have alone."""
    policy, tables = world(rows, groups), made(random.Random(rows), units, rows)
    alone = [[rows for rows, _ in answers(policy, of_unit(tables, unit), asked)] for unit in range(units)]
    everybody = [rows for rows, _ in answers(policy, tables, asked)]
    for index, (text, keys, test) in enumerate(asked):
        total: Counter[tuple[Any, ...]] = Counter()
        for unit in range(units):
            has = brute(of_unit(tables, unit), text, keys, test)
            counted = alone[unit][index]
            assert len(counted) == min(groups, len(has)), (text, counted, has)
            assert all(has[cell] == count for cell, count in counted.items()), (text, counted, has)
            total.update(counted)
        assert total == everybody[index], text


@pytest.mark.parametrize(
    ("rows", "groups", "asked"),
    [
        (6, 2, QUERIES),
        (64, 4, QUERIES[::2]),
        (70, 3, QUERIES[1::2]),
        *(pytest.param(rows, groups, QUERIES, marks=pytest.mark.slow) for rows, groups in ((64, 4), (70, 3))),
    ],
)
def test_of_each_unit_as_many_groups_count_as_may_and_others_change_nothing(
    rows: int, groups: int, asked: list[Query]
) -> None:
    """Of few rows, of as many as there are bits, and of more: of the many, each query with one of both."""
    check(rows, groups, asked)


def test_groups_without_a_bit_come_after_those_that_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 64 rows a unit, ranks that are low have bits; here only two or four have."""
    monkeypatch.setattr(bounding, "BITS", 4)
    monkeypatch.setattr(bounding, "ENOUGH", 1)
    check(70, 3, [QUERIES[index] for index in (1, 3, 4, 11, 14)])


@pytest.mark.parametrize(("rows", "groups", "each"), [(6, 2, 6), (6, 6, 6), (6, 2, 1), (70, 3, 2)])
def test_units_are_counted_once_in_each_group_that_counts(rows: int, groups: int, each: int) -> None:
    policy, tables = world(rows, groups, each), made(random.Random(rows), 3, rows)
    asked = [QUERIES[index] for index in (0, 1, 3, 6, 9, 11, 16)]
    units: list[Counter[tuple[Any, ...]]] = [Counter() for _ in asked]
    for unit in range(3):
        for index, (rows_of, _) in enumerate(answers(policy, of_unit(tables, unit), asked)):
            units[index].update(dict.fromkeys(rows_of, 1))
    found = answers(policy, tables, asked, "COUNT(DISTINCT who)")
    for (text, _, _), expected, (counted, selected) in zip(asked, units, found, strict=True):
        assert counted == expected, text
        assert selected in ({}, expected), text


FEW = [QUERIES[1], QUERIES[3], QUERIES[6]]
"""One stored key of rows that pass, two stored keys, and computed ones."""


MUTANTS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("ranks count rows that do not pass", Field, "thinned", lambda _: lambda self: self),
    (
        "bits that rows share",
        copy,
        "_key_mask",
        lambda mask: lambda *given: mask(*given).replace('"_discreet_row"', "1"),
    ),
    ("slots that groups share", PublicKey, "number", lambda _: lambda _self: literal(0)),
    (
        "one group too many",
        Bounding,
        "_by_bits",
        lambda by: lambda self, *given, **more: by(replace(self, groups=3), *given, **more),
    ),
]


def test_what_is_chosen_wrongly_below_passes_as_it_is() -> None:
    check(6, 2, FEW, units=6)


@pytest.mark.parametrize(("module", "label", "change"), [pytest.param(*case, id=why) for why, *case in MUTANTS])
def test_what_is_chosen_wrongly_is_caught(
    monkeypatch: pytest.MonkeyPatch, module: Any, label: str, change: Callable[[Any], Any]
) -> None:
    monkeypatch.setattr(module, label, change(getattr(module, label)))
    with pytest.raises(AssertionError):
        check(6, 2, FEW, units=6)


# masks


def masks(policy: Policy, events: list[Row]) -> dict[str, list[tuple[Any, ...]]]:
    """What is stored of each unit's rows."""
    engine = Memory(policy, {"t": events})
    try:
        rows = engine.execute("SELECT * FROM t ORDER BY _discreet_unit, _discreet_row")
    finally:
        engine.close()
    units: dict[str, list[tuple[Any, ...]]] = {}
    for unit, *rest in rows:
        units.setdefault(unit, []).append(tuple(rest))
    return units


def test_masks_follow_from_the_units_own_rows_in_whatever_order_they_lie() -> None:
    policy, dice = world(6, 2), random.Random(3)
    events = made(dice, 5, 6)["t"]
    everybody = masks(policy, events)
    assert masks(policy, dice.sample(events, len(events))) == everybody
    for unit in ("0", "3"):
        rest = masks(policy, [row for row in events if str(row["who"]) != unit])
        assert rest == {other: rows for other, rows in everybody.items() if other != unit}


def across_units(mask: str) -> str:
    return mask.replace('PARTITION BY "_discreet_unit" ', "").replace('"_discreet_unit", ', "")


def by_physical_order(mask: str) -> str:
    """The bit of a row is that of the rows before it in the source, and not of its rank."""
    return mask.replace('"_discreet_row" - 1', '"_discreet_row" * 0 + (SELECT a FROM discreet_source.t LIMIT 1) % 6')


@pytest.mark.parametrize("change", [across_units, by_physical_order])
def test_masks_of_other_units_or_of_the_physical_order_are_caught(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]
) -> None:
    original = copy._key_mask
    monkeypatch.setattr(copy, "_key_mask", lambda *given: change(original(*given)))
    with pytest.raises(AssertionError):
        test_masks_follow_from_the_units_own_rows_in_whatever_order_they_lie()


KINDS = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = {rows}
max_groups = 2
[tables.t.columns]
text = {{ type = "text" }}
listed = {{ values = ["a", "A", "é", ""], nullable = true }}
flag = {{ type = "boolean" }}
whole = {{ type = "integer", values = [0, 1, -1] }}
day = {{ type = "date", values = [2024-01-01, 2024-01-02] }}
"""


@pytest.mark.parametrize("rows", [5, 9, 20, 40, 64])
def test_keys_are_equal_in_masks_where_they_are_in_group_by(rows: int) -> None:
    """NULL is equal to NULL; texts are compared bytewise; values that are no key are NULL; −0 is 0."""
    policy, dice = policy_of(KINDS.format(rows=rows)), random.Random(rows)
    pools: dict[str, list[Any]] = {
        "text": ["", " ", "a", "A", "a ", "é", "e\u0301", "ﬁ", None],
        "listed": ["a", "A", "é", "e\u0301", "", "b", None],
        "flag": [True, False, None],
        "whole": ["0", "-0", "0.0", "-0.0", "1", "-1", "nan", "inf", None],
        "day": ["2024-01-01", "2024-01-02", "2024-01-03", None],
    }
    events = [
        {"who": unit, **{column: dice.choice(pool) for column, pool in pools.items()}}
        for unit in range(4)
        for _ in range(rows)
    ]
    engine = Memory(policy, {"t": events})
    assert set(ranked_keys(policy.tables["t"])) == set(pools)
    for column in pools:
        stored = f'list(_discreet_row), list("{key_mask(column)}"), list("{key_rank(column)}")'
        groups = engine.execute(f'SELECT _discreet_unit, {stored} FROM t GROUP BY _discreet_unit, "{column}"')
        ranks: dict[str, set[int]] = {}
        for unit, ordinals, found, places in groups:
            assert set(found) == {sum(1 << (ordinal - 1) for ordinal in ordinals)}, column
            assert len(set(places)) == 1
            ranks.setdefault(unit, set()).update(places)
        counts = Counter(unit for unit, *_ in groups)
        assert {unit: set(range(1, count + 1)) for unit, count in counts.items()} == ranks
    engine.close()


def test_masks_are_there_where_groups_may_be_too_many_and_rows_are_few() -> None:
    kinds = {
        (1, 1): None,
        (5, 5): "UTINYINT",
        (5, 2): "UTINYINT",
        (16, 3): "USMALLINT",
        (64, 1): "UBIGINT",
        (65, 1): None,
    }
    assert {limits: mask_type(world(*limits).tables["t"]) for limits in kinds} == kinds


def test_what_is_computed_of_declared_values_is_public() -> None:
    text = "SELECT UPPER(k) AS g, COUNT(*) FROM t GROUP BY g"
    policy = policy_of(TABLES.format(rows=6, groups=2, each=6))  # without δ no keys are selected
    with opened(policy, {"t": []}) as curator:
        assert curator.query(text, epsilon=1).rows == [(key, 0) for key in "XYZWV"]
        assert curator.query(text.replace("UPPER(k)", "k || note").replace("note", "n"), epsilon=1).columns
        for private in ("UPPER(note)", "k || note"):
            with pytest.raises(Refused, match="private-keys-need-delta"):
                curator.query(text.replace("UPPER(k)", private), epsilon=1)
