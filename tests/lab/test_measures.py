"""Measures by their definitions: brute force on small tables, the lecture's hospital table, and input that is bad."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.errors import Refused
from discreet.lab.columns import Kind, column_of, columns_of
from discreet.lab.disclosure import disclosure, intersection, rows_of_people
from discreet.lab.measures import Published, measure, measures, published
from discreet.lab.rebecca import HOSPITAL, who_fits

TREE = {0: ("low", "few"), 1: ("low", "few"), 2: ("mid", "few"), 3: ("far", "many"), 4: ("far", "many")}
rows = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 4)), min_size=1, max_size=14)
few = settings(max_examples=40, deadline=None)


def table(rows: Sequence[tuple[int, str, int]], **more: Any) -> Published:
    columns = [list(column) for column in zip(*rows, strict=True)]
    named = dict(zip(("age", "sex", "ill"), columns, strict=True))
    return published(named, quasi=["age", "sex"], sensitive="ill", **more)


def groups(rows: Sequence[tuple[int, str, int]]) -> list[Counter[int]]:
    found: defaultdict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    for age, sex, ill in rows:
        found[age, sex][ill] += 1
    return list(found.values())


def moved(p: Sequence[float], q: Sequence[float], cost: Any) -> float:
    """Earth mover's distance by its definition: the cheapest way to move one distribution to the other."""
    m = len(p)
    costs = [cost(i, j) for i in range(m) for j in range(m)]
    leaves = [[float(i == row) for i in range(m) for _ in range(m)] for row in range(m)]
    arrives = [[float(j == row) for _ in range(m) for j in range(m)] for row in range(m)]
    answer = linprog(costs, A_eq=[*leaves, *arrives], b_eq=[*p, *q], method="highs")
    return float(answer.fun)


def height(a: int, b: int) -> float:
    if a == b:
        return 0.0
    levels = [i for i, (x, y) in enumerate(zip(TREE[a], TREE[b], strict=True)) if TREE[a][i:] == TREE[b][i:] and x == y]
    return ((levels[0] + 1) if levels else 3) / 3


@few
@given(rows)
def test_k_and_l_are_what_their_definitions_say(rows: list[tuple[int, str, int]]) -> None:
    got, classes = measures(table(rows)), groups(rows)
    assert got.k == min(c.total() for c in classes)
    assert (got.rows, got.classes) == (len(rows), len(classes))
    assert got.unique == sum(c.total() == 1 for c in classes) == got.sizes["1"]
    assert sum(got.sizes.values()) == len(rows)
    assert got.distinct_l == min(map(len, classes))
    entropies = [-sum(n / c.total() * math.log(n / c.total()) for n in c.values()) for c in classes]
    assert math.log(got.entropy_l) == pytest.approx(min(entropies), abs=1e-12)
    for l in (2, 3):  # noqa: E741
        ranked = [sorted(c.values(), reverse=True) for c in classes]
        for c in (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(7)):
            assert got.recursive(float(c), l) == all(r[0] < c * sum(r[l - 1 :]) for r in ranked)


@settings(max_examples=12, deadline=None)
@given(rows)
def test_t_is_the_cheapest_way_to_move_shares(rows: list[tuple[int, str, int]]) -> None:
    values = sorted({ill for _, _, ill in rows})
    whole = Counter(ill for _, _, ill in rows)
    q = [whole[value] / len(rows) for value in values]
    span = max(len(values) - 1, 1)
    costs = {
        "equal": lambda i, j: float(i != j),
        "ordered": lambda i, j: abs(i - j) / span,
        "hierarchical": lambda i, j: height(values[i], values[j]),
    }
    for name, cost in costs.items():
        got = measures(table(rows, distance=name, tree=TREE if name == "hierarchical" else None))
        due = [moved([c[value] / c.total() for value in values], q, cost) for c in groups(rows)]
        assert got.t == pytest.approx(max(due), abs=1e-9)
        assert got.distance == name


@few
@given(rows)
def test_attacks_hit_whom_they_hit(rows: list[tuple[int, str, int]]) -> None:
    got, classes = disclosure(table(rows)), groups(rows)
    whole = Counter(ill for _, _, ill in rows)
    assert got.homogeneity.people == sum(c.total() for c in classes if len(c) == 1)
    for many, hit in enumerate(got.background, 1):
        assert hit.people == sum(c.total() for c in classes if len(c) - many <= 1)
        assert hit.classes == sum(len(c) - many <= 1 for c in classes)
    ratios = [(n * len(rows)) / (c.total() * whole[v]) for c in classes for v, n in c.items()]
    assert got.skewness.ratio == pytest.approx(max(ratios))
    assert got.skewness.epsilon == pytest.approx(math.log(max(ratios)))
    span = max(whole) - min(whole)
    assert got.similarity is not None
    assert got.similarity.people == sum(c.total() for c in classes if max(c) - min(c) <= 0.1 * span)


@few
@given(rows, st.data())
def test_two_releases_give_away_what_both_allow(rows: list[tuple[int, str, int]], data: st.DataObject) -> None:
    """By definition: the sensitive values of one's class in either release, and what is in both sets."""
    other = [(data.draw(st.integers(0, 1)), "a", ill) for _, _, ill in rows]
    got = intersection(table(rows), table(other))
    seen = [{ill for a, s, ill in release if (a, s) == release[i][:2]} for i in range(len(rows)) for release in (rows,)]
    more = [{ill for a, s, ill in other if (a, s) == other[i][:2]} for i in range(len(rows))]
    assert got.people == len(rows)
    assert got.alone == (sum(len(s) == 1 for s in seen), sum(len(s) == 1 for s in more))
    assert got.together == sum(len(a & b) == 1 for a, b in zip(seen, more, strict=True))


def test_releases_are_matched_by_person() -> None:
    one = published({"age": [1, 1, 2], "ill": ["flu", "HIV", "cut"]}, quasi=["age"], sensitive="ill")
    two = published({"zip": [7, 7], "ill": ["ulcer", "HIV"]}, quasi=["zip"], sensitive="ill")
    pairs = rows_of_people(["x", "y", "z"], ["w", "y"])
    assert pairs == [(1, 1)]
    got = intersection(one, two, pairs)
    assert (got.people, got.alone, got.together) == (1, (0, 0), 1)
    assert intersection(one, two, []).together == 0
    for wrong in (lambda: intersection(one, two), lambda: rows_of_people(["x", "x"], ["y"])):
        with pytest.raises(Refused):
            wrong()


def test_rebecca_has_one_of_two_diseases() -> None:
    """Lecture 003: knowing that she is 55 and in the table; and all that the measures say about it."""
    assert who_fits(age=55, sex="Female") == ("HIV", "Ulcerative colitis")
    assert len(who_fits(age=55)) == 4
    got = measure(HOSPITAL, quasi=["Age", "Gender", "Zip Code", "Smoker"], sensitive="Diagnosis")
    assert (got.rows, got.classes, got.k, got.unique, got.distinct_l) == (9, 4, 2, 0, 2)
    assert got.entropy_l == pytest.approx(math.exp(math.log(3) - 2 / 3 * math.log(2)))  # the three men of 60-70
    assert got.t == pytest.approx(7 / 9)
    hit = disclosure(published(HOSPITAL, quasi=["Age", "Gender"], sensitive="Diagnosis"))
    assert (hit.homogeneity.people, hit.background[0].people) == (0, 9)  # nobody is safe from one more fact
    assert hit.skewness.ratio == pytest.approx(4.5)


def test_columns_may_have_numbers_for_names() -> None:
    assert measure(pd.DataFrame([[1, "a"], [1, "b"]]), quasi=["0"], sensitive="1").k == 2


def polars(table: Any) -> Any:
    """To import it starts threads, and whoever has some is not to be forked."""
    import polars

    return polars.DataFrame(table)


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, polars, pa.table, lambda t: {k: np.array(v) for k, v in t.items()}]
)
def test_any_table_will_do(make: Any) -> None:
    given = {"age": [50, 50, 7], "born": [date(1970, 1, 1), date(1970, 1, 1), date(2001, 1, 1)], "ill": ["a", "b", "b"]}
    got = measure(make(given), quasi=["age", "born"], sensitive="ill")
    assert (got.k, got.classes, got.distinct_l) == (1, 2, 1)


@pytest.mark.parametrize(
    ("values", "distinct", "kind"),
    [
        ([1, None, math.nan, pd.NA, pd.NaT], (None, 1), Kind.NUMBER),
        ([10**400, -(10**400), 3], (-(10**400), 3, 10**400), Kind.NUMBER),
        ([Decimal("1.50"), 2, 1.5], (Decimal("1.5"), 2), Kind.NUMBER),
        ([math.inf, -math.inf, 1e308], (-math.inf, 1e308, math.inf), Kind.NUMBER),
        (["naïve", "\u0000", "✓", ""], ("", "\u0000", "naïve", "✓"), Kind.TEXT),
        ([True, False], ("False", "True"), Kind.TEXT),
        ([10**400, 0.5], (0.5, 10**400), Kind.NUMBER),
        ([Fraction(1, 2), 1], (Fraction(1, 2), 1), Kind.NUMBER),
        ([Fraction(1, 2), Decimal(1)], ("1", "1/2"), Kind.TEXT),
        ([1, "1", date(2026, 1, 1)], ("1", "2026-01-01"), Kind.TEXT),
        ([None, None], (None,), Kind.TEXT),
    ],
)
def test_values_of_all_kinds(values: list[Any], distinct: tuple[Any, ...], kind: Kind) -> None:
    column = column_of("x", values)
    assert (column.values, column.kind) == (distinct, kind)
    places = column.positions()
    assert np.isfinite(places).all()
    assert places.min() >= 0
    assert places.max() <= 1
    assert (np.diff(places[column.gaps :]) >= 0).all()
    measure({"x": values, "y": list(range(len(values)))}, quasi=["x"], sensitive="y")
    measure({"x": list(range(len(values))), "y": values}, quasi=["x"], sensitive="y")


BAD_FILES = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "has no header"),
    "header": (b"age,ill\n", "no rows"),
    "ragged": (b"age,ill\n1,2\n3\n", "1 fields in row 3"),
    "picture": (b"\x89PNG\r\n\x1a\n\xff\xfe", "not text in UTF-8"),
    "zeros": (b"age,ill\n\x00,1\n", "NUL"),
    "quote": (b'age,ill\n"1,2\n', "no CSV"),
    "twice": (b"age,age,ill\n1,2,3\n", "two columns called age"),
    "parquet": (b"PAR1 and then nothing", "no Parquet"),
    "other": (b"agee,ill\n1,2\n", "no column is called age"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused(tmp_path: Path, name: str) -> None:
    content, says = BAD_FILES[name]
    path = tmp_path / f"{name} [1].csv"
    path.write_bytes(content)
    with pytest.raises(Refused, match=says) as refused:
        measure(path, quasi=["age"], sensitive="ill")
    assert refused.value.fix


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    """ZIP codes keep their zeros, numbers and dates are ordered, what is missing is missing."""
    path = tmp_path / "t;[1]*.csv"
    path.write_text(
        "\ufeffzip; age;day;ill\r\n02138;7;2026-01-02;flu\r\n02139;NA;;\r\n2138;10;2025-12-31;NA\r\n", "utf-8"
    )
    zips, age, day, ill = columns_of(path, ["zip", "age", "day", "ill"])
    assert zips.values == ("02138", "02139", "2138")
    assert age.values == (None, 7, 10)
    assert day.values == (None, date(2025, 12, 31), date(2026, 1, 2))
    assert ill.values == (None, "NA", "flu")
    parquet = tmp_path / "t[1]*.parquet"
    pd.DataFrame({"age": [1, 2, 2], "ill": ["x", None, "y"]}).to_parquet(parquet)
    assert measure(str(parquet), quasi=["age"], sensitive="ill").distinct_l == 1


def test_parquet_columns_of_all_types(tmp_path: Path) -> None:
    """Also beside columns that cannot be measured, and moments with a zone."""
    path = tmp_path / "odd.parquet"
    moments = pd.to_datetime(["2026-01-01", "2026-01-02", None], utc=True)
    odd = {
        "when": moments,
        "some": [[1], [2], []],
        "big": [2**62, None, 0],
        "yes": [True, False, None],
        '"x': [1.5] * 3,
    }
    pd.DataFrame(odd).to_parquet(path)
    for name, distinct in {"when": 3, "big": 3, "yes": 3, '"x': 1}.items():
        assert measure(path, quasi=[name], sensitive="yes" if name != "yes" else "big").classes == distinct
    with pytest.raises(Refused, match="lists or such"):
        measure(path, quasi=["some"], sensitive="yes")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"quasi": ["AGE"]}, "did you mean age"),
        ({"quasi": ["agee", "ill"]}, "ill is both"),
        ({"quasi": []}, "no quasi-identifier"),
        ({"quasi": ["age", "age"]}, "twice"),
        ({"quasi": ["nothing like it"]}, "the columns are age, ill"),
        ({"sensitive": ""}, "no column"),
        ({"distance": "far"}, "no distance"),
        ({"distance": "hierarchical"}, "no distance"),
        ({"tree": {"x": ()}}, "the tree of ill lacks a"),
        ({"tree": {"a": (), "b": ("c",)}}, "differ in length"),
    ],
)
def test_wrong_wishes_are_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says):
        measure({"age": [1, 2], "ill": ["a", "b"]}, **{"quasi": ["age"], "sensitive": "ill", **asked})


@pytest.mark.parametrize(
    "wrong", [7, "nowhere.csv", ".", {"age": 5, "ill": [1]}, {"age": [1, 2], "ill": [1]}, {"age": [[]], "ill": [1]}]
)
def test_what_is_no_table_is_refused(wrong: Any) -> None:
    with pytest.raises(Refused):
        measure(wrong, quasi=["age"], sensitive="ill")
