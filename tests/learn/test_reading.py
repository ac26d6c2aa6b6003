"""Columns as arrays: the same rows as value by value, whatever the types and whatever is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.connection import isolated
from discreet.engines.session import columns, rows
from discreet.errors import Refused
from discreet.learn.labels import Labels
from discreet.learn.reading import NUMERIC, Columns, arrays_of
from discreet.policy import Kind

INTEGERS: Final = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1])
TYPES: Final[dict[str, tuple[Kind, Any]]] = {
    "BIGINT": (Kind.INTEGER, INTEGERS),
    "INTEGER": (Kind.INTEGER, st.integers(-(2**31), 2**31 - 1)),
    "HUGEINT": (Kind.INTEGER, INTEGERS | st.integers(-(2**100), 2**100)),
    "BOOLEAN": (Kind.BOOLEAN, st.booleans()),
    "DOUBLE": (Kind.NUMBER, st.floats(allow_nan=True, allow_infinity=True)),
    "FLOAT": (Kind.NUMBER, st.floats(allow_nan=True, allow_infinity=True, width=32)),
    "DECIMAL(18,3)": (Kind.NUMBER, st.decimals(-(10**14), 10**14, places=3)),
    "VARCHAR": (Kind.TEXT, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)),
    "DATE": (Kind.DATE, st.dates(date(1, 1, 1), date(9999, 12, 31))),
    "TIMESTAMP": (Kind.TIMESTAMP, st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))),
}
"""By the engine's type: what the policy calls it, and values."""


def field(kind: Kind, name: str = "x") -> Any:
    return SimpleNamespace(name=name, expr=SimpleNamespace(domain=SimpleNamespace(kind=kind)))


def one_by_one(table: Sequence[tuple[Any, ...]], held: Columns, *, as_they_are: tuple[bool, bool]) -> tuple[Any, Any]:
    """What arrays_of does, value by value: the definition."""
    kinds = [each.expr.domain.kind in NUMERIC for each in held.read]
    whole = []
    for row in table:
        values = [
            (float("nan") if value is None else float(value)) if number else value
            for value, number in zip(row, kinds, strict=True)
        ]
        if all(
            np.isfinite(value) if number else value is not None for value, number in zip(values, kinds, strict=True)
        ):
            whole.append((row, values))
    width = len(held.features)
    features = [(row if as_they_are[0] else values)[:width] for row, values in whole]
    labels = [(row if as_they_are[1] else values)[-1] for row, values in whole]
    return features, labels


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    with isolated() as connection:
        yield connection


@st.composite
def tables(draw: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    types = draw(st.lists(st.sampled_from(list(TYPES)), min_size=2, max_size=4))
    values = st.tuples(*(st.none() | TYPES[each][1] for each in types))
    return types, draw(st.lists(values, max_size=8))


@settings(max_examples=150, deadline=None)
@given(tables(), st.booleans(), st.booleans())
def test_columns_are_the_same_rows_as_value_by_value(
    engine: Any, table: tuple[list[str], list[tuple[Any, ...]]], whole_features: bool, whole_labels: bool
) -> None:
    types, listed = table
    names = [f"c{index}" for index in range(len(types))]
    held = Columns(tuple(field(TYPES[each][0]) for each in types[:-1]), field(TYPES[types[-1]][0]))
    if any(TYPES[each][0] not in NUMERIC for each in types[:-1]):
        whole_features = True  # an estimator of numbers is refused texts before
    typed = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    engine.execute(f"CREATE OR REPLACE TABLE t ({typed})")
    if listed:
        engine.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(types))})", listed)
    text = "SELECT * FROM t"
    as_they_are = whole_features, whole_labels
    wanted = one_by_one(rows(engine, text, None), held, as_they_are=as_they_are)
    exact, labels = arrays_of(columns(engine, text, None), held, as_they_are=as_they_are)
    assert exact.shape == (len(wanted[0]), len(types) - 1)
    assert exact.dtype == (object if whole_features else np.float64)
    assert [list(row) for row in exact.tolist()] == [list(row) for row in wanted[0]]
    assert labels is not None
    assert labels.tolist() == wanted[1]
    if wanted[1]:  # and are the same categories
        known = Labels.read(sorted(set(wanted[1])), "classes")
        assert known.places(labels).tolist() == [known.values.tolist().index(value) for value in wanted[1]]


def test_the_types_of_arrays_do_not_depend_on_what_is_missing(engine: Any) -> None:
    """NULL, NaN and infinity leave out their row, and nothing else is different."""
    held = Columns((field(Kind.INTEGER), field(Kind.NUMBER)), field(Kind.INTEGER))
    for kind in "BIGINT", "HUGEINT":
        text = f"SELECT a, b, c::{kind} FROM (VALUES (1, 2.5::DOUBLE, 3), {{}}, (4, 5.5::DOUBLE, 6)) AS t(a, b, c)"
        missing = "(NULL, 1.0, 1)", "(1, NULL, 1)", "(1, 1.0, NULL)", "(1, 'nan'::DOUBLE, 1)", "(1, '-inf'::DOUBLE, 1)"
        read = [arrays_of(columns(engine, text.format(row), None), held, as_they_are=(False, True)) for row in missing]
        for exact, labels in read:
            assert labels is not None
            assert exact.tolist() == [[1.0, 2.5], [4.0, 5.5]]
            assert labels.tolist() == [3, 6]
        assert len({(exact.dtype, labels.dtype) for exact, labels in read if labels is not None}) == 1


def test_the_target_is_one_of_the_columns() -> None:
    fields = [field(Kind.NUMBER, name) for name in ("age", "pay")]
    assert Columns.of(fields, "PAY").target is fields[1]
    for wrong, words in [("pai", "pay"), (5, "columns: age, pay")]:
        with pytest.raises(Refused, match=words):
            Columns.of(fields, wrong)


def test_decimals_are_the_nearest_numbers(engine: Any) -> None:
    held = Columns((field(Kind.NUMBER),), None)
    exact, labels = arrays_of(columns(engine, "SELECT 0.1::DECIMAL(18,3)", None), held, as_they_are=(False, False))
    assert labels is None
    assert exact[0, 0] == float(Decimal("0.1"))
