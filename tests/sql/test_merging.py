"""Groups of keys that are computed of one stored column: as many as may count, whatever a function makes equal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from discreet.composed import sql
from discreet.engines.memory import Memory
from discreet.exit.sampler import Sampler
from discreet.policy import Policy
from discreet.sql import merging
from discreet.sql.functions import FUNCTIONS
from tests.sql.worlds import HEAD, opened, policy_of, quiet

TABLE = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = {rows}
max_groups = {groups}
[tables.t.columns]
tag = {{ type = "text" }}
listed = {{ values = [{listed}] }}
"""
WORDS = ["a", "A", "b", "B", "b ", "ab", "aB", "é", "É", "", "1", "01", "2"]
LISTED = [f"{letter}{number}" for letter in "xXyY" for number in range(20)]
Row = dict[str, Any]
Key = Callable[[Row], Any]
KEYS: dict[str, Key] = {
    "UPPER(tag)": lambda row: row["tag"].upper(),
    "SUBSTR(tag, 1, 1)": lambda row: row["tag"][:1],
    "NULLIF(tag, 'a')": lambda row: NULL if row["tag"] == "a" else row["tag"],
    "TRY_CAST(tag AS BIGINT)": lambda row: int(row["tag"]) if row["tag"].isdecimal() else None,
    "UPPER(listed)": lambda row: row["listed"].upper(),
}
NULL = "a key of its own, where the text names it"


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> None:
    """All functions, not only those that seldom make keys equal."""
    monkeypatch.setattr(merging, "SELDOM", frozenset(FUNCTIONS))


def world(rows: int, groups: int) -> Policy:
    listed = ", ".join(f'"{value}"' for value in LISTED)
    head = HEAD.replace("epsilon = 3", "epsilon = 3\ndelta = 1e-6")
    return policy_of(TABLE.format(rows=rows, groups=groups, listed=listed), head=head)


def made(dice: random.Random, units: int, rows: int) -> list[Row]:
    return [
        {"who": unit, "tag": dice.choice(WORDS), "listed": dice.choice(LISTED)}
        for unit in range(units)
        for _ in range(dice.choice([1, rows // 2, rows]))
    ]


Counts = dict[Any, tuple[int, int]]


def counted(policy: Policy, events: list[Row]) -> Iterator[tuple[Counts, dict[Any, int]]]:
    """For each key how many rows and units are counted by it, and of how many units keys would be selected."""
    units: dict[Any, int] = {}

    def everything(_mechanism: Any, exact: Any, _bits: Any) -> dict[Any, int]:
        units.update({NULL if key is None else key: count for (key,), count in exact.items()})
        return dict(exact)

    with opened(policy, {"t": events}, sampler=Sampler(add_noise=quiet, select=everything)) as curator:
        for key in KEYS:
            units.clear()
            text = f"SELECT {key} AS g, COUNT(*), COUNT(DISTINCT who) FROM t GROUP BY g"
            rows = curator.query(text, epsilon=50, fresh=True).rows
            yield {NULL if row[0] is None else row[0]: row[1:] for row in rows if row[1]}, dict(units)


def check(rows: int, groups: int, units: int = 3) -> None:
    """Each unit alone has as many groups as it may, whole; together they have what they have alone, each once."""
    policy, events = world(rows, groups), made(random.Random(rows), units, rows)
    together = {text: Counter[Any]() for text in KEYS}
    present = {text: Counter[Any]() for text in KEYS}
    for unit in range(units):
        own = [row for row in events if row["who"] == unit]
        for (text, key), (found, _) in zip(KEYS.items(), counted(policy, own), strict=True):
            has = Counter(key(row) for row in own)
            has.pop(None, None)
            assert len(found) == min(groups, len(has)), (text, found, has)
            assert all((has[cell], 1) == count for cell, count in found.items()), (text, found, has)
            together[text].update({cell: count for cell, (count, _) in found.items()})
            present[text].update(dict.fromkeys(found, 1))
    for text, (found, selected) in zip(KEYS, counted(policy, events), strict=True):
        assert found == {cell: (count, present[text][cell]) for cell, count in together[text].items()}, text
        assert selected in ({}, present[text]), text


@pytest.mark.usefixtures("every")
@pytest.mark.parametrize(("rows", "groups"), [(8, 1), (12, 3), (20, 7), (70, 4)])
def test_of_each_unit_as_many_groups_count_as_may_whatever_becomes_equal(rows: int, groups: int) -> None:
    check(rows, groups)


@pytest.mark.usefixtures("every")
def test_where_hashes_collide_all_groups_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_SET", 2)  # one bit of a hash
    check(12, 5)


def everything_is_plain(original: Any) -> Any:
    """No unit goes the other way, whatever its keys are."""
    return lambda rows, unit, keys, groups, others, anew: original(
        rows, unit, keys, groups, lambda rows: sql("SELECT * FROM ({}) WHERE FALSE", others(rows)), anew
    )


BROKEN = {
    "units that are not plain are left out": ("chosen", everything_is_plain),
    "places that are not here are not missed": ("_Word.lacks", lambda _: property(lambda _self: sql("FALSE"))),
}


@pytest.mark.usefixtures("every")
@pytest.mark.parametrize(("where", "change"), BROKEN.values(), ids=BROKEN)
def test_what_is_chosen_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch, where: str, change: Any) -> None:
    owner, _, label = where.rpartition(".")
    holder = getattr(merging, owner) if owner else merging
    monkeypatch.setattr(holder, label, change(getattr(holder, label)))
    with pytest.raises(AssertionError):
        check(12, 3)


def asked(events: list[Row], key: str = "UPPER(tag)") -> str:
    """What the engine is asked."""
    found: list[str] = []
    original = Memory.rows

    def told(self: Memory, query: Any, seconds: float | None = None) -> Any:
        found.append(query.text)
        return original(self, query, seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "rows", told)
        with opened(world(8, 3), {"t": events}) as curator:
            curator.query(f"SELECT {key} AS g, COUNT(*) FROM t GROUP BY g", epsilon=50, fresh=True)
    return next(text for text in found if "events" in text or '"t"' in text)


def slow_units(events: list[Row]) -> set[Any]:
    """The units that go the other way."""
    text, engine = asked(events), Memory(world(8, 3), {"t": events})
    start, end = text.index("WITH b AS"), text.index(' SELECT * EXCLUDE ("place") FROM b ANTI JOIN')
    try:
        return {row[0] for row in engine.execute(f"{text[start:end]} SELECT v FROM merged")}
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("key", "looks"), [("TRIM(LOWER(tag))", True), ("tag || '!'", True), ("SUBSTR(tag, 1, 1)", False)]
)
def test_functions_that_often_make_keys_equal_are_left_to_windows(key: str, looks: bool) -> None:
    assert ("merged" in asked([], key)) is looks


def test_a_unit_decides_which_way_its_own_rows_go_and_no_other_unit_does() -> None:
    """Somebody who knows everybody's texts, and writes them differently, must not send others the long way."""
    own: list[Row] = [
        {"who": unit, "tag": f"tag{unit}-{place}", "listed": "x0"} for unit in range(40) for place in range(8)
    ]
    before = slow_units(own)
    assert len(before) <= 10
    spy = [{"who": "spy", "tag": row["tag"].upper(), "listed": "x0"} for row in own[:4]]
    spy += [{"who": "spy", "tag": row["tag"], "listed": "x0"} for row in own[:4]]
    assert slow_units([*own, *spy]) == before | {"spy"}
