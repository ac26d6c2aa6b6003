"""What everything that is counted of private rows keeps: all kinds are found in the plans of all fixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from discreet.composed import Sql, name
from discreet.engines.memory import Memory
from discreet.sql.measures import Contribution, Measure
from discreet.sql.release import Release
from tests.contracts.planned import TURNED, UNITS, classes, is_measure, measures, releases

Hospitals = Mapping[str, Memory]
Found = list[tuple[Release, int]]
UNIT: Final = name("u")
COLUMN: Final = name("x")
CONTRIBUTION: Final = Contribution(3, 2, 5)
WIDER: Final = (Contribution(4, 2, 5), Contribution(3, 3, 5), Contribution(3, 2, 6))
PHYSICAL: Final = ("rowid", "random", "any_value", "first(", "last(", "nextval", "sample")
"""What an engine would answer by where a row happens to lie."""


@pytest.fixture(params=classes(is_measure), ids=lambda kind: kind.__name__)
def found(request: pytest.FixtureRequest) -> Found:
    """Measures of one class, each as a release and its place there."""
    return measures()[request.param]


def counted(release: Release, place: int, engine: Memory) -> dict[str, Sequence[int]]:
    """The numbers of every group."""
    keys, measure = len(release.keys), release.measures[place]
    return {repr(row[:keys]): measure.vector(row[keys + place]) for row in engine.rows(release.sql())}


def test_every_kind_of_measure_is_met() -> None:
    assert set(measures()) == set(classes(is_measure))


def test_no_unit_moves_all_groups_farther_than_is_declared(found: Found, hospitals: Hospitals) -> None:
    for release, place in found:
        measure = release.measures[place]
        empty, limit = measure.vector(None), release.sensitivity(measure)
        everybody = counted(release, place, hospitals[""])
        for unit in UNITS:
            others = counted(release, place, hospitals[unit])
            moved = [
                a - b
                for group in everybody.keys() | others.keys()
                for a, b in zip(everybody.get(group, empty), others.get(group, empty), strict=True)
            ]
            assert sum(map(abs, moved)) <= limit.l1, (unit, measure)
            assert sum(each * each for each in moved) <= limit.l2_squared, (unit, measure)


def test_where_rows_lie_changes_no_number(found: Found, hospitals: Hospitals) -> None:
    for release, place in found:
        assert counted(release, place, hospitals[TURNED]) == counted(release, place, hospitals[""])


def test_a_group_has_as_many_integers_whoever_is_in_it(found: Found, hospitals: Hospitals) -> None:
    """What is drawn must not depend on the rows: so many numbers, also of an empty group."""
    for release, place in found:
        measure = release.measures[place]
        empty = measure.vector(None)
        assert not any(empty)
        for numbers in counted(release, place, hospitals[""]).values():
            assert len(numbers) == len(empty)
            assert {type(number) for number in numbers} == {int}
        assert min(measure.size, measure.adds, measure.length) >= 1
        assert measure.words


def test_more_rows_or_groups_of_a_unit_never_move_it_less(found: Found) -> None:
    for release, place in found:
        measure = release.measures[place]
        limit, single = measure.sensitivity(CONTRIBUTION), measure.sensitivity(Contribution(1, 1, 1))
        assert 0 < single.l1 <= limit.l1
        for more in map(measure.sensitivity, WIDER):
            assert more.l1 >= limit.l1
            assert more.l2_squared >= limit.l2_squared


def texts(measure: Measure) -> list[Sql | None]:
    return [measure.argument, measure.windowed(COLUMN, UNIT), measure.sql(COLUMN, UNIT), measure.sql(COLUMN, None)]


def test_no_text_asks_where_a_row_lies() -> None:
    for measure in (measure for release in releases() for measure in release.measures):
        for text in texts(measure):
            assert text is None or not any(word in text.text.lower() for word in PHYSICAL), text


def test_measures_that_differ_have_other_fingerprints() -> None:
    """A plan knows its measures by these: what was drawn for one must never be shown for another of the same rows."""
    known: dict[Any, Measure] = {}
    for rows, measure in ((release.child.sql(), measure) for release in releases() for measure in release.measures):
        shown = [rows, *texts(measure), measure.detail, measure.size, measure.length]
        limit = measure.sensitivity(CONTRIBUTION)
        mark = type(measure), *shown, limit.l1, limit.l2_squared
        assert known.setdefault(mark, measure) == measure
    assert len(known) > 30
