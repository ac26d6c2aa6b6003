"""Columns of tables in Python: as attributes, in brackets, selected and listed, whatever they are called."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any, Final

import pytest

from discreet.answers.fluent import Rows
from discreet.answers.statistics import STATISTICS
from discreet.curator.curator import Curator
from discreet.errors import Refused
from tests.sql.worlds import opened, policy_of

CODE: Final = '1) FROM "t"; DROP TABLE "t"; --'
MARKUP: Final = "<script>&amp;"
NAMES: Final = (
    "age", "filter", "count", "columns", "where", "select", "table", "source", "keys", "params", "part", "read", "sql",
    "mean", "current_date", "null", "_steps", "__class__", "group", "Größe", "a b", CODE, "SUM(age)", "age + 1", MARKUP,
)  # fmt: skip
POLICY: Final = '[tables.t]\nsource = "t.csv"\nunit = "who"\n[tables.t.columns]\n' + "".join(
    f"'{name}' = {{ min = 0, max = 100 }}\n" for name in NAMES
)
OTHER: Final = '[tables.people]\nsource = "p.csv"\nunit = "who"\n[tables.people.columns]\nsize = { min = 0, max = 9 }\n'
ROWS: Final = [{"who": who, **{name: index + who for index, name in enumerate(NAMES)}} for who in range(4)]
PEOPLE: Final = [{"who": who, "size": who} for who in range(4)]


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with opened(policy_of(POLICY, OTHER), {"t": ROWS, "people": PEOPLE}) as found:
        yield found


@pytest.fixture
def rows(curator: Curator) -> Rows:
    return curator.table("t")


def exact(name: str) -> int:
    return sum(int(row[name]) for row in ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_every_column_is_reached_in_brackets_and_by_its_name(rows: Rows, name: str) -> None:
    assert rows[name].sum(epsilon=1).rows == [(exact(name),)]
    assert rows.sum(name, epsilon=1).rows == [(exact(name),)]
    assert rows.select(name)[name].sum(epsilon=1).rows == [(exact(name),)]
    assert rows.select(rows[name]).columns == [name]


def test_a_column_is_an_attribute_unless_it_is_called_like_a_method(rows: Rows) -> None:
    assert rows.age == rows["age"]
    assert rows.source.sum(epsilon=1).rows == [(exact("source"),)]
    assert rows.Größe.sum(epsilon=1).rows == [(exact("Größe"),)]
    for name in ("filter", "count", "columns", "where", "select", "sql", "mean"):
        assert getattr(rows, name) != rows[name]
    assert rows.count(epsilon=1).rows == [(4,)]
    assert {"age", "filter", "mean", "source", "Größe"} <= set(dir(rows))
    assert not {CODE, "a b"} & set(dir(rows))


@pytest.mark.parametrize("name", ["agee", "_steps_", "_repr_mimebundle_", "__array__", "a  b", "", CODE + " "])
def test_what_is_no_column_is_no_attribute(rows: Rows, name: str) -> None:
    assert not hasattr(rows, name)
    with pytest.raises(AttributeError, match="did you mean age" if name == "agee" else "no column and no method"):
        getattr(rows, name)


def test_rows_are_copied_and_not_pickled_by_accident(rows: Rows) -> None:
    assert copy.copy(rows) == rows
    with pytest.raises(TypeError):
        pickle.dumps(rows)


def test_filter_is_where(rows: Rows) -> None:
    assert rows.filter("age > $x", x=1) == rows.where("age > $x", x=1)
    assert rows.filter("age >= 2").count(epsilon=1).rows == [(2,)]


def test_select(rows: Rows) -> None:
    some = rows.filter("age > 0").select("age", "filter", twice="age * 2")
    assert some.columns == ["age", "filter", "twice"]
    assert some.twice.sum(epsilon=1).rows == [(2 * exact("age"),)]
    assert not hasattr(some, "source")
    assert rows.columns == list(NAMES)
    assert rows.assign(old="age > 2").columns == [*NAMES, "old"]


def test_columns_of_joined_rows(curator: Curator, rows: Rows) -> None:
    joined = rows.join("people")
    assert joined.columns == [*NAMES, "size"]
    assert joined.size.sum(epsilon=1).rows == [(6,)]
    assert joined["age"].sum(epsilon=1).rows == [(exact("age"),)]
    assert curator.table("people").join(rows).columns == ["size", *NAMES]


WRONG: Final[list[Any]] = [
    lambda t: t.select(),
    lambda t: t.select("agee"),
    lambda t: t.select("age + 2"),
    lambda t: t.select("*"),
    lambda t: t.select(None),
    lambda t: t.select(t["age + 2"]),
    lambda t: t.select(x="age) FROM people; --"),
    lambda t: t.select(x=5),
    lambda t: t.select("who"),
    lambda t: t.filter("age > 1) OR (TRUE"),
    lambda t: t["age); --"],
    lambda t: t.select("filter").sum("age", epsilon=1),
]


@pytest.mark.parametrize("ask", WRONG)
def test_wrong_use_is_refused(curator: Curator, rows: Rows, ask: Any) -> None:
    before = curator.count()
    with pytest.raises(Refused):
        ask(rows)
    assert curator.count() == before


def test_every_statistic_takes_a_column_of_rows(rows: Rows) -> None:
    more: dict[str, tuple[Any, ...]] = {"quantile": (0.5,)}
    for statistic in STATISTICS - {"mode", "value_counts"}:
        mine = getattr(rows.filter("age < 50").age, statistic)(*more.get(statistic, ()), epsilon=1)
        other = getattr(rows.filter("age < 50"), statistic)("age", *more.get(statistic, ()), epsilon=1)
        assert (mine.rows, other.cached) == (other.rows, True)
