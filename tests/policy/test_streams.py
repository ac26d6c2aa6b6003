"""Streams in policies: what is read, what is refused, what is said to be protected, and the calendar of blocks."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy import Budget, Policy, PolicyError, Stream, fingerprint, protected
from discreet.policy.calendar import PERIODS, Cohorts, Days, after, begin, calendar
from discreet.policy.streams import block_budget, protection
from tests.curator.streams import STREAMS, policy


def problems(kind: str = "unit-day", **changes: str) -> list[str]:
    """What is wrong with a stream after some lines of it were changed."""
    stream = STREAMS[kind]
    for old, new in changes.items():
        line = next((line for line in stream.splitlines() if line.startswith(old)), None)
        stream = f"{stream}{new}\n" if line is None else stream.replace(line, new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STREAMS, kind, stream)
        try:
            policy(kind)
        except PolicyError as wrong:
            return [f"{problem.where}: {problem}" for problem in wrong.problems]
    return []


def test_a_stream_of_days() -> None:
    found = policy(delta=True)
    stream = found.tables["rides"].stream
    assert stream == Stream("day", Fraction(1), None, "unit-day", column="day")
    assert found.unit == "rider and day", "losses say whom they are about"
    delta = block_budget(found, found.tables["rides"]).delta
    assert delta is not None
    assert 0 <= Fraction(1, 3 * 10**6) - delta < Fraction(1, 10**23), "its part of the budget's, in whole units"
    assert block_budget(policy(), found.tables["rides"]) == Budget(Fraction(1), None)


WEEK = "in rides what a rider does in one week is protected, each week by itself: over several weeks losses add up"


@pytest.mark.parametrize(
    ("kind", "unit", "sentence"),
    [
        ("row", "rider", "each row of rides is protected on its own, not all rows of somebody"),
        (
            "unit-day",
            "rider and day",
            "in rides what a rider does in one day is protected, each day by itself: over several days losses add up",
        ),
        (
            "unit-week",
            "rider and week",
            WEEK,
        ),
        (
            "unit in days",
            "rider",
            "each rider is protected with all rows in rides: the first 2 days in which it comes count",
        ),
        (
            "unit",
            "rider",
            "each rider is protected with all rows in rides: it stays in the block in which it first came",
        ),
    ],
)
def test_what_is_protected_is_said_in_one_sentence(kind: str, unit: str, sentence: str) -> None:
    found = policy(kind)
    assert found.unit == unit
    assert protection(found.tables["rides"], found.unit) == sentence


@pytest.mark.parametrize(
    ("kind", "changes", "where", "said"),
    [
        ("unit-day", {"by": 'by = "year"'}, "by", "unknown blocks 'year'"),
        ("unit-day", {"column": ""}, "column", "missing"),
        ("unit-day", {"column": 'column = "when"'}, "column", "'when' is not declared"),
        ("unit-day", {"column": 'column = "fare"'}, "column", "is no time with min and max"),
        ("unit-day", {"by": 'by = "hour"', "protects": 'protects = "unit-hour"'}, "column", "has no hours"),
        ("unit-day", {"epsilon": ""}, "epsilon", "missing"),
        ("unit-day", {"epsilon": "epsilon = 3.5"}, "epsilon", "more than the whole budget"),
        ("unit-day", {"delta": "delta = 1e-9"}, "delta", "the budget has none"),
        ("unit-day", {"protects": ""}, "protects", "missing: rows of a unit lie in many blocks"),
        ("unit-day", {"protects": 'protects = "unit"'}, "most", "a unit that comes again has rows in many days"),
        ("unit-day", {"protects": 'protects = "unit-week"'}, "protects", "is not what these blocks protect"),
        ("unit-day", {"protects": 'protects = "row"'}, "protects", "rows are units of their own where"),
        ("unit-day", {"most": "most = 2"}, "most", "what is protected lies in one block"),
        ("unit-day", {"buckets": "buckets = 2"}, "buckets", "is for blocks of units"),
        ("unit in days", {"most": "most = 7"}, "epsilon", "most · epsilon of all streams is more"),
        ("row", {"protects": 'protects = "unit"'}, "protects", "without a column that names units there are none"),
        ("row", {"by": 'by = "unit"'}, "by", "every row is its own unit"),
        ("unit", {"buckets": "buckets = 20000"}, "buckets", "at most 10,000"),
        ("unit", {"protects": 'protects = "unit-day"'}, "protects", "is not what these blocks protect"),
        ("unit", {"colour": 'colour = "blue"'}, "colour", "unknown key"),
    ],
)
def test_a_stream_that_cannot_be(kind: str, changes: dict[str, str], where: str, said: str) -> None:
    found = problems(kind, **changes)
    assert any(f"stream.{where}" in problem and said in problem for problem in found), found


BESIDE = """
[tables.riders]
source = "riders.csv"
unit = "rider_id"
[tables.riders.columns]
age = { min = 0, max = 110 }
"""


UNITS = """
[tables.{}.stream]
by = "unit"
epsilon = 1.0
"""


def test_one_budget_counts_one_kind_of_unit() -> None:
    """A loss per rider and day and one per rider have no sum."""
    with pytest.raises(PolicyError, match="is protected otherwise than 'rides'"):
        policy("unit-day", more=BESIDE)
    assert policy("unit", more=BESIDE).private_tables.keys() == {"rides", "riders"}
    assert policy("unit in days", more=BESIDE).unit == "rider"


def test_rows_of_a_stream_are_owned_by_themselves() -> None:
    fines = '[tables.fines]\nsource = "fines.csv"\nunit = "day -> rides.rider_id"\n'
    through = f'{fines}[tables.fines.columns]\nday = {{ type = "date" }}\n'
    with pytest.raises(PolicyError, match="leads through a stream"):
        policy("unit", more=through)
    with pytest.raises(PolicyError, match="a stream has the column of its unit itself"):
        policy("unit", more=BESIDE.replace('"rider_id"', '"card -> cards.rider_id"') + UNITS.format("riders"))


def test_one_table_of_units_says_what_is_new() -> None:
    with pytest.raises(PolicyError, match="of one table it says which rows are new"):
        policy("unit", source="rides.parquet")


def test_a_public_table_is_no_stream() -> None:
    with pytest.raises(PolicyError, match="a public table has no budget"):
        policy("unit", more=UNITS.format("zones"))


def test_the_fingerprint_says_how_a_stream_is_cut() -> None:
    """And what one block may cost is not part of what an answer means."""

    def changed(found: Policy, **change: object) -> Policy:
        table = found.tables["rides"]
        assert table.stream is not None
        return replace(found, tables={**found.tables, "rides": replace(table, stream=replace(table.stream, **change))})  # type: ignore[arg-type]

    found = policy()
    for change in ({"by": "week"}, {"protects": "unit"}, {"most": 2}, {"column": None}, {"buckets": 2}):
        other = changed(found, **change)
        assert fingerprint(other) != fingerprint(found)
        assert protected(other) != protected(found)
    dearer = changed(found, epsilon=Fraction(2))
    assert (fingerprint(dearer), protected(dearer)) == (fingerprint(found), protected(found))
    plain = replace(found, tables={**found.tables, "rides": replace(found.tables["rides"], stream=None)})
    assert protected(plain) != protected(found)


@pytest.mark.parametrize(
    ("by", "labels"),
    [
        ("hour", ["2024-01-01T00", "2024-01-01T01"]),
        ("day", ["2024-01-01", "2024-01-02"]),
        ("week", ["2024-W01", "2024-W02"]),
        ("month", ["2024-01", "2024-02"]),
    ],
)
def test_labels_name_their_blocks(by: str, labels: list[str]) -> None:
    days = Days.of(by, date(2024, 1, 1), date(2025, 12, 31))
    assert [days.label(0), days.label(1)] == labels
    assert all(days.named(days.label(number)) == (number, number) for number in range(0, days.last + 1, 13))


def test_periods_name_the_blocks_that_begin_in_them() -> None:
    days = Days.of("day", date(2024, 1, 15), date(2024, 12, 31))
    assert days.named("2024-02") == (17, 45)
    assert days.named("2024") == (-14, 351)
    assert days.named("2024-W03") == (0, 6)
    weeks = Days.of("week", date(2024, 1, 1), date(2024, 12, 31))
    assert weeks.named("2024-02") == (5, 8)
    assert weeks.named("2024-02-07") == (6, 5), "no week begins on a Wednesday"
    assert Days.of("month", date(2024, 1, 15), date(2026, 1, 1)).named("2025") == (12, 23)
    assert [days.named(said) for said in ("2024-13", "2024-02-30", "2024-W60", "today", "")] == [None] * 5


def test_cohorts_name_their_buckets() -> None:
    cohorts = Cohorts(4)
    assert cohorts.label(6) == "1.2"
    assert cohorts.named("1.2") == (6, 6)
    assert cohorts.named("1") == (4, 7)
    assert [cohorts.named(said) for said in ("1.4", "-1", "x", "1.")] == [None] * 4


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PERIODS),
    st.datetimes(datetime(1990, 1, 1), datetime(2050, 1, 1)),
    st.integers(0, 3000),
    st.integers(0, 10**9),
)
def test_a_block_has_ended_when_the_next_begins(by: str, low: datetime, block: int, within: int) -> None:
    days = Days.of(by, low, datetime(2300, 1, 1))
    start, end = after(by, days.start, block), after(by, days.start, block + 1)
    assert begin(by, start) == start <= end
    inside = start + timedelta(microseconds=within % ((end - start) // timedelta(microseconds=1)))
    assert days.passed(inside) == block, "the block in which we are has not ended"
    assert days.passed(end) == block + 1
    assert days.passed(low - timedelta(days=400)) == 0


def test_blocks_end_with_the_calendar() -> None:
    days = calendar(policy().tables["rides"])
    assert isinstance(days, Days)
    assert days.passed(datetime(2100, 1, 1)) == days.last + 1 == 366
