"""Domains: which cell a value is in, what stands for a cell, and what is refused."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.policy import Kind
from discreet.release import Domain
from discreet.release.attributes import FINE, Cut, Listed, cut
from discreet.release.codec import CODEC
from discreet.release.columns import Column, objects
from discreet.release.rows import Rows

JANUARY, MARCH = date(2026, 1, 15), date(2026, 3, 2)


def codes(attribute: Any, values: list[Any]) -> list[int]:
    listed: list[int] = attribute.codes(Column(objects(values))).tolist()
    return listed


def test_listed_values_have_cells_and_all_else_is_null() -> None:
    for nullable, null in ((False, -1), (True, 2)):
        attribute = Listed("sex", Kind.TEXT, ("F", "M"), nullable)
        assert codes(attribute, ["M", "F", None, "X", 1, ["F"], (["F"],), float("nan")]) == [1, 0] + [null] * 6


def test_whole_numbers_are_cells_of_their_own_up_to_the_bounds() -> None:
    attribute = cut("age", Kind.INTEGER, Fraction(0), Fraction(3))
    assert codes(attribute, [0, 3, 4, -1, 3.0, None, "2", [1]]) == [0, 3, -1, -1, 3, -1, -1, -1]
    assert codes(attribute, [[1], [2]]) == [-1, -1]
    assert [attribute.label(code) for code in range(attribute.size)] == [0, 1, 2, 3]


def test_bins_of_whole_numbers_are_told_by_both_of_their_ends() -> None:
    attribute = cut("age", Kind.INTEGER, Fraction(0), Fraction(110), [0, 18, 65, 110])
    assert [attribute.label(code) for code in range(3)] == [(0, 17), (18, 64), (65, 110)]
    assert codes(attribute, [17, 18, 110, 111]) == [0, 1, 2, -1]


def test_dense_numbers_include_the_upper_bound() -> None:
    attribute = cut("cost", Kind.NUMBER, Fraction(0), Fraction(10), 4, nullable=True)
    values = [0.0, 2.5, 10.0, 10.01, -0.01, float("nan"), float("inf"), Decimal("7.5"), 10**400, None]
    assert codes(attribute, values) == [0, 1, 3, 4, 4, 4, 4, 3, 4, 4]
    assert attribute.label(3) == (7.5, 10.0)
    assert attribute.label(4) is None


def test_dates_by_month_begin_and_end_at_the_bounds() -> None:
    attribute = cut("day", Kind.DATE, JANUARY, MARCH, "month")
    assert attribute.label(0) == (JANUARY, date(2026, 1, 31))
    assert attribute.label(2) == (date(2026, 3, 1), MARCH)
    assert codes(attribute, [JANUARY, date(2026, 2, 1), MARCH, date(2026, 3, 3), date(2026, 1, 14)]) == [
        0,
        1,
        2,
        -1,
        -1,
    ]
    assert codes(attribute, [datetime(2026, 2, 3, 4), "2026-02-03", np.datetime64("NaT")]) == [1, -1, -1]


def test_timestamps_are_cut_too() -> None:
    attribute = cut("at", Kind.TIMESTAMP, datetime(2026, 1, 1), datetime(2026, 1, 3), "day")
    assert codes(attribute, [datetime(2026, 1, 1, 23, 59), datetime(2026, 1, 2), datetime(2026, 1, 3)]) == [0, 1, 1]


@pytest.mark.parametrize("part", ["day", "week", "month", "quarter", "year"])
def test_every_day_is_in_one_cell_of_every_part(part: str) -> None:
    low, high = date(2024, 2, 27), date(2026, 11, 3)
    attribute = cut("day", Kind.DATE, low, high, part)
    every = [date.fromordinal(day) for day in range(low.toordinal(), high.toordinal() + 1)]
    assert sorted(set(codes(attribute, every))) == list(range(attribute.size))
    for code in range(attribute.size):
        ends = attribute.label(code)
        first, last = ends if isinstance(ends, tuple) else (ends, ends)
        assert codes(attribute, [first, last]) == [code, code]


ATTRIBUTES = [
    cut("age", Kind.INTEGER, Fraction(-3), Fraction(96), 7),
    cut("cost", Kind.NUMBER, Fraction(0), Fraction(1), 3),
    cut("cost", Kind.NUMBER, Fraction(0), Fraction(1), 3, step=Fraction(1, 100)),
    cut("cost", Kind.NUMBER, Fraction(0), Fraction(1), 9, step=Fraction(1, 2)),
    cut("day", Kind.DATE, JANUARY, MARCH, "week"),
    cut("at", Kind.TIMESTAMP, datetime(2026, 1, 1, 5), datetime(2026, 2, 3), 5),
    Listed("sex", Kind.TEXT, ("F", "M"), True),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=str)
def test_values_that_are_drawn_lie_in_their_cell_and_in_the_column_s_own_units(attribute: Any) -> None:
    cells = np.repeat(np.arange(attribute.size), 3)
    uniform = np.tile(np.array([0, FINE // 2, FINE - 1]), attribute.size)
    drawn = attribute.drawn(cells, uniform)
    assert codes(attribute, drawn) == cells.tolist()
    assert len({type(value) for value in drawn if value is not None}) == 1


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=str)
def test_attributes_are_written_and_read(attribute: Any) -> None:
    assert CODEC.read(CODEC.written(attribute)) == attribute
    assert CODEC.read(CODEC.written(Domain((attribute,)))) == Domain((attribute,))


def test_a_histogram_moves_by_as_many_as_a_unit_has_rows() -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": (0, 3)})
    assert domain.moved(3) == Sensitivity(Fraction(3), Fraction(9))
    rows = Rows.of({"sex": ["F", "M", "M", "X"], "age": [0, 3, 3, 1]}, domain.names)
    counts = domain.histogram(domain.codes(rows))
    assert counts.shape == (2, 4)
    assert (counts[0, 0], counts[1, 3], counts.sum()) == (1, 2, 3)
    fewer = Rows.of({"sex": ["F"], "age": [0]}, domain.names)
    moved = counts - domain.histogram(domain.codes(fewer))
    assert (np.abs(moved).sum(), (moved**2).sum()) == (2, 4)  # two rows of one unit in one cell: the bound is met


def test_frames_of_others_are_read_by_name_and_what_they_call_missing_is_null() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    domain = Domain.of(
        {"sex": ["F", "M"], "age": (0, 9), "day": (date(2026, 1, 1), date(2026, 1, 9))}, nullable=["sex", "age", "day"]
    )
    data = {"age": [1, None, 12], "day": [date(2026, 1, 2), None, date(2025, 1, 1)], "sex": ["F", None, "M"]}
    expected = [[0, 1, 1], [2, 10, 9], [1, 10, 9]]
    frames = [
        data,
        pandas.DataFrame(data),
        pandas.DataFrame(data).astype({"day": "datetime64[ns]"}),
        polars.DataFrame(data),
    ]
    for frame in frames:
        assert domain.codes(Rows.of(frame, domain.names)).tolist() == expected
    assert Rows.of([("F", 1, None)], domain.names).column("AGE") == [1]
    with pytest.raises(ValueError, match="3 values each"):
        Rows.of([("F", 1)], domain.names)


@pytest.mark.parametrize(
    ("columns", "bins", "code"),
    [
        ({"age": (3, 3)}, {}, "undeclared-bounds"),
        ({"age": (0, 9)}, {"age": 0}, "release-invalid"),
        ({"age": (0, 9)}, {"age": "month"}, "release-invalid"),
        ({"age": (0, 9)}, {"age": [9, 0]}, "release-invalid"),
        ({"age": (0, 9)}, {"agee": 3}, "unknown-column"),
        ({"age": 5}, {}, "release-invalid"),
        ({"age": ["a", 1]}, {}, "release-invalid"),
        ({"age": ["a", "a"]}, {}, "release-invalid"),
        ({"day": (date(1, 1, 1), date(9999, 12, 31))}, {"day": "day"}, "release-invalid"),
        ({}, {}, "release-invalid"),
    ],
)
def test_what_makes_no_domain_is_refused(columns: Any, bins: Any, code: str) -> None:
    with pytest.raises(Refused) as refused:
        Domain.of(columns, bins=bins)
    assert (refused.value.code, bool(refused.value.fix)) == (code, True)


def test_private_texts_have_no_cells_until_they_are_found() -> None:
    domain = Domain.of({"note": str, "sex": ["F"]})
    with pytest.raises(Refused, match="undeclared-values"):
        domain.shape  # noqa: B018
    assert [attribute.name for attribute in domain.unlisted] == ["note"]
    assert domain.unlisted[0].listed(["b", "a"]).size == 3
    assert domain.unlisted[0].listed([]).codes(Column(objects(["x"]))).tolist() == [0]


def test_a_cut_is_complete_when_it_is_built() -> None:
    for edges in ((), (Fraction(1),), (Fraction(1), Fraction(1)), ("a", "b")):
        with pytest.raises((ValueError, TypeError)):
            Cut("x", Kind.NUMBER, edges)  # type: ignore[arg-type]
