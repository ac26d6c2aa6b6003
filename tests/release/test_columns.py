"""Columns as arrays: whichever way values are held, each has the code that Python's own value has."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composed import literal, sql
from discreet.engines.session import Scratch
from discreet.policy import Kind
from discreet.release import Domain, Histogram
from discreet.release.attributes import Listed, cut
from discreet.release.columns import Column, objects
from tests.sql.worlds import opened, policy_of

ATTRIBUTES: list[Any] = [
    Listed("x", Kind.INTEGER, (0, 3, 2**62), nullable=True),
    Listed("x", Kind.NUMBER, (0.5, 3, 1), nullable=False),
    Listed("x", Kind.BOOLEAN, (False, True), nullable=True),
    Listed("x", Kind.TEXT, ("a", "ß", ""), nullable=False),
    Listed("x", Kind.DATE, (date(2026, 1, 1), date(2026, 1, 31)), nullable=True),
    *(
        cut("x", kind, low, high, bins, nullable=True)  # type: ignore[arg-type]
        for kind, low, high, bins in (
            (Kind.INTEGER, 0, 100, 7),
            (Kind.NUMBER, -3, 7, 4),
            (Kind.DATE, date(1969, 12, 1), date(2026, 3, 31), "year"),
            (Kind.TIMESTAMP, datetime(1969, 1, 1), datetime(2026, 3, 31), "year"),
        )
    ),
]
MOMENTS = st.datetimes(datetime(1960, 1, 1), datetime(2030, 1, 1))
ARRAYS = {
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 105),
    "uint8": st.integers(0, 255),
    "float64": st.floats() | st.sampled_from([0.5, 1.0, 3.0, -3.0, 7.0]),
    "float32": st.floats(width=32),
    "bool": st.booleans(),
    "datetime64[us]": MOMENTS,
    "U3": st.text(st.sampled_from("aß b"), max_size=3),
}


def assert_alike(column: Column, own: list[Any]) -> None:
    """The same codes as Python's own values have, one by one: none depends on its neighbours."""
    for attribute in ATTRIBUTES:
        alone = [int(attribute.codes(Column(objects([value])))[0]) for value in own]
        assert attribute.codes(column).tolist() == alone
        assert attribute.codes(Column(objects(own))).tolist() == alone


@pytest.mark.parametrize("kind", ARRAYS)
@settings(max_examples=30)
@given(data=st.data())
def test_arrays_have_the_codes_of_their_values(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(ARRAYS[kind], max_size=6))
    array = np.array(values, dtype=kind)
    assert_alike(Column.of(array), array.tolist())
    missing = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), dtype=np.bool_)
    masked = Column.read(np.ma.MaskedArray(array, missing))
    own = [None if lacks else value for value, lacks in zip(array.tolist(), missing, strict=True)]
    assert_alike(masked, own)
    assert all(a is b or a == b or (a != a and b != b) for a, b in zip(masked.listed(), own, strict=True))
    assert len(masked.where(~missing)) == len(values) - int(missing.sum())


def far(kind: str) -> Any:
    """Whole numbers of this type, and with them one that is as far from them as can be."""
    limits = np.iinfo(kind)
    low, high = (limits.min, limits.max) if limits.min else (0, limits.max)
    return np.array([high - 27] * 5, dtype=kind), np.array([high - 27] * 5 + [low], dtype=kind)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_one_row_moves_no_other_row_to_another_cell(kind: str) -> None:
    """Differences of narrow whole numbers wrap around: one row far below the others moved them all."""
    without, whole = far(kind)
    listed = tuple(sorted({int(without[0]) - step for step in range(90)}))
    for values in (listed, (*listed, int(np.iinfo(kind).min))):
        domain = Domain((Listed("x", Kind.INTEGER, values, nullable=True),))
        first, then = (Histogram(domain=domain).release({"x": each}, epsilon=1e6).values for each in (without, whole))
        assert int(np.abs(then - first).sum()) == 1


def test_no_row_decides_how_others_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting takes many times as long as a table: public values say which it is."""
    monkeypatch.setattr(np, "unique", None)
    near, away = np.arange(40), np.array([*range(40), 2**62])
    for values in ((0, 3, 20), (0, 3, 2**62)):
        codes = {value: code for code, value in enumerate(values)}
        for array in (near, away):
            found = Column(array).looked_up(codes, -1)
            assert found.tolist() == [codes.get(value, -1) for value in array.tolist()]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["a", "ß", "", "x", None])))
def test_texts_by_their_numbers_have_the_codes_of_the_texts(values: list[str | None]) -> None:
    texts = ("x", "ß", "a", "")
    numbers = np.array([0 if value is None else texts.index(value) for value in values], dtype=np.int32)
    missing = np.array([value is None for value in values], dtype=np.bool_)
    column = Column.read(np.ma.MaskedArray(numbers, missing), texts=texts)
    assert column.listed() == values
    assert_alike(column, values)


def test_frames_and_masked_arrays_say_what_is_missing() -> None:
    frame = pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "at": pd.to_datetime(["2026-01-01", None, None])})
    assert Column.of(frame["x"]).listed() == [1, None, 3]
    assert Column.of(frame["at"]).listed()[1:] == [None, None]
    assert Column.of(np.ma.MaskedArray([1, 2], [False, True])).listed() == [1, None]
    assert Column.of(np.array([1, 2], dtype=np.longdouble)).values.dtype == object
    with pytest.raises(ValueError, match="one dimension"):
        Column.of(np.zeros((2, 2)))


def test_an_engine_gives_columns_as_it_gives_rows() -> None:
    engine = Scratch()
    try:
        query = sql(
            "SELECT a, b, c FROM (VALUES (1, {}, TRUE), (NULL, NULL, NULL), (2, {}, FALSE)) AS t(a, b, c)",
            literal("it's"),
            literal("ß"),
        )
        rows = engine.rows(query)
        assert list(zip(*(Column.read(each).listed() for each in engine.columns(query)), strict=True)) == rows
        wide = sql("SELECT CAST({} AS HUGEINT) + 1 AS a, 1 AS b", literal(2**62))
        assert [Column.read(each).listed() for each in engine.columns(wide)] == [[2**62 + 1], [1]]
        assert [Column.read(each).listed() for each in engine.columns(sql("SELECT 1 AS a, 2 AS a"))] == [[1], [2]]
        none = engine.columns(sql("SELECT 1 AS a, DATE '2026-01-01' AS d WHERE FALSE"))
        assert [len(each) for each in none] == [0, 0]
    finally:
        engine.close()


POLICY = """
[tables.t]
source = "t.csv"
unit = "who"
[tables.t.columns]
day = { type = "date", min = 2026-01-01, max = 2026-12-31 }
word = { values = ["a", "it's", "ß"], nullable = true }
"""


def test_days_that_no_moment_reaches_end_nothing_and_count_nowhere() -> None:
    """A date a million years away is a row's own business: with it the release is the same, but for that row."""
    policy = policy_of(POLICY, head='name = "w"\n[budget]\nepsilon = 9\n[unit]\nname = "who"\n')
    rows = [{"who": 1, "day": "2026-02-03", "word": "it's"}, {"who": 2, "day": "5881580-07-10", "word": "ß"}]
    days = cut("day", Kind.DATE, date(2026, 1, 1), date(2026, 12, 31), "month")
    histogram = Histogram(domain=Domain((days, Listed("word", Kind.TEXT, ("ß", "it's"), nullable=True))))
    with opened(policy, {"t": rows}) as curator:
        published = curator.release(histogram, "t", epsilon=1)
        assert published.values.sum() == published.values[1, 1] == 1
        far = curator.release(histogram, "SELECT day + 4000000 + 4000000 AS day, word FROM t", epsilon=1)
        assert not far.values.any()
