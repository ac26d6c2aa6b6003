"""What titles and axes say of columns: ranges are those that the engine computes, words come from the text alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from discreet.sql.plan import Plan, plan
from tests.sql import tiny
from tests.sql.test_fanout import Nothing


def planned(text: str) -> Plan:
    return plan(tiny.policy(), text, public=Nothing())


CUTS: dict[str, tuple[str, str, Callable[[Fraction], int]]] = {
    "FLOOR(age / 10)": ("patients", "age", lambda x: math.floor(x / 10)),
    "FLOOR(age / 10) * 10": ("patients", "age", lambda x: math.floor(x / 10) * 10),
    "10 * FLOOR(age / 10)": ("patients", "age", lambda x: math.floor(x / 10) * 10),
    "5 + FLOOR((age - 5) / 10) * 10": ("patients", "age", lambda x: math.floor((x - 5) / 10) * 10 + 5),
    "FLOOR((age + 3) / 7)": ("patients", "age", lambda x: math.floor((x + 3) / 7)),
    "FLOOR(age * 0.3)": ("patients", "age", lambda x: math.floor(x * 3 / 10)),
    "age // 10": ("patients", "age", lambda x: int(x // 10)),
    "WIDTH_BUCKET(age, 0, 100, 30)": ("patients", "age", lambda x: bucket(x, 0, 100, 30)),
    "WIDTH_BUCKET(age, 20, 60, 4)": ("patients", "age", lambda x: bucket(x, 20, 60, 4)),
    "FLOOR(cost / 25)": ("visits", "cost", lambda x: math.floor(x / 25)),
    "WIDTH_BUCKET(x, -10, 10, 8)": ("beds", "x", lambda x: bucket(x, -10, 10, 8)),
    "FLOOR(n / 2)": ("beds", "n", lambda x: math.floor(x / 2)),
}


def bucket(value: Fraction, low: int, high: int, count: int) -> int:
    if value < low:
        return 0
    return count + 1 if value >= high else math.floor((value - low) / Fraction(high - low, count)) + 1


def values(column: str) -> Iterator[Fraction]:
    low, high, step = {"age": (0, 110, 1), "n": (-7, 7, 1), "cost": (0, 120, 2), "x": (-12, 12, 2)}[column]
    return (Fraction(each, step) for each in range(low * step, high * step + 1))


@pytest.mark.parametrize("cut", CUTS)
def test_a_range_says_which_values_have_a_key(cut: str) -> None:
    """For all values of the column, from below its bounds to above them."""
    table, column, computed = CUTS[cut]
    found = planned(f"SELECT {cut} AS part, COUNT(*) AS n FROM {table} GROUP BY part")
    buckets = found.buckets["part"]
    held = defaultdict(list)
    for value in values(column):
        held[computed(value)].append(value)
    for key, inside in list(held.items())[1:-1]:  # the first and the last go on beyond the values that are tried
        if buckets.first is not None and not buckets.first <= key <= (buckets.last or 0):
            continue
        first, last = float(inside[0]), float(inside[-1])
        label = buckets.label(key)
        if buckets.whole:
            assert label in (f"{first:g}–{last:g}", f"{first:g} to {last:g}", f"{first:g}"), (key, inside)
        else:
            low, high = label.split(" to below ")
            assert float(low) <= first <= last < float(high) <= last + 0.5, (key, inside)
    assert found.words == {"part": column, "n": "number of rows"}


@pytest.mark.parametrize("key", ["nights", "CEIL(cost)", "ROUND(cost)", "FLOOR(FLOOR(cost) / 2)", "FLOOR(-cost)",
                                 "FLOOR(cost / nights)", "FLOOR(100 / (cost + 1))", "FLOOR(cost) % 3"])  # fmt: skip
def test_what_is_not_undone_has_no_ranges(key: str) -> None:
    assert planned(f"SELECT {key} AS part, COUNT(*) AS n FROM visits GROUP BY part").buckets == {}


def test_truncation_of_negative_numbers_has_no_ranges() -> None:
    assert planned("SELECT n // 2 AS part, COUNT(*) FROM beds GROUP BY part").buckets == {}


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("COUNT(*)", "number of rows"),
        ("COUNT(DISTINCT note)", "number of different values of note"),
        ("SUM(cost) AS x", "total cost"),
        ("AVG(nights)", "average nights"),
        ("MEDIAN(cost)", "median cost"),
        ("QUANTILE(cost, 0.9)", "90 % quantile of cost"),
        ("STDDEV(cost)", "standard deviation of cost"),
        ("CORR(cost, nights)", "correlation of cost and nights"),
        ("SUM(cost) / COUNT(*)", "total cost divided by number of rows"),
        ("SUM(cost) FILTER (WHERE urgent)", "total cost (of some rows)"),
        ("AVG(CLAMP(cost, 0, 10))", "average cost, clamped"),
        ("HISTOGRAM(cost, 5)", "histogram of cost"),
        ("(SUM(cost) + 1) / COUNT(*)", None),
        ("SUM(CASE WHEN urgent THEN cost ELSE 0 END)", None),
    ],
)
def test_columns_in_words(item: str, words: str | None) -> None:
    found = planned(f"SELECT {item} FROM visits")
    assert list(found.words.values()) == ([] if words is None else [words])
    assert set(found.words) <= set(found.columns)


def test_several_selects_and_subqueries_have_no_words_of_their_own() -> None:
    assert planned("SELECT COUNT(*) AS n FROM visits UNION ALL SELECT COUNT(*) FROM patients").words == {}
    nested = planned("SELECT part, n FROM (SELECT FLOOR(age / 10) AS part, COUNT(*) AS n FROM patients GROUP BY part)")
    assert set(nested.words.values()) <= {"part", "n"}


def test_words_end() -> None:
    """Neither a long name nor a long sum makes a long title."""
    deep = "+".join(["SUM(cost)"] * 40)
    assert planned(f"SELECT {deep} AS s FROM visits").words == {}
