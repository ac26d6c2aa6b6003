"""Blocks from their tables: every solution and no other, and no more than the theorem allows from private tables."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet import noise
from discreet.lab import census
from discreet.lab.census import CELLS, HISPANICS, YEARS, best_fit, fitted, found_in, most_found, released, run
from discreet.lab.puzzle import (
    BANDS,
    SEVEN,
    Group,
    Person,
    Tables,
    band_of,
    block,
    law,
    likeliest,
    median,
    published,
    solve,
    tenths,
)

Block = tuple[Person, ...]


def drawn(people: int) -> Block:
    """Neighbours whom nobody knows: the theorem is about those."""
    records, chances = list(law()), np.cumsum(list(law().values()))
    places = np.searchsorted(chances, (noise.below(2**50, people) + 0.5) / 2**50 * chances[-1])
    return tuple(sorted(records[number] for number in places.tolist()))


def has(people: Block, tables: Tables) -> bool:
    """Whether a database has the groups' numbers, said again without the search."""
    for group in tables.groups:
        ages = [person.age for person in people if group.holds(person)]
        if len(ages) != group.count:
            return False
        if group.median is not None and median(ages) != group.median:
            return False
        if group.mean is not None and tenths(Fraction(sum(ages), len(ages))) != group.mean:
            return False
    return True


@pytest.mark.parametrize("number", range(6))
def test_the_search_finds_all_databases_and_no_other(number: int) -> None:
    """Beside all ways to fill the cells, for blocks of three and four."""
    people = block(3 + number % 2, f"brute {number}")
    tables = published(people)
    every = {tuple(sorted(each)) for each in product(*tables.cells) if has(each, tables)}
    found = solve(tables)
    assert tuple(sorted(people)) in every
    assert (found.databases, found.complete) == (len(every), True)
    assert tuple(sorted(found.first)) in every
    shared = Counter(next(iter(every)))
    for each in every:
        shared &= Counter(each)
    assert Counter(found.agreed) == shared


def test_the_seven_people_of_the_literature() -> None:
    found = solve(SEVEN)
    assert (found.databases, found.complete) == (1, True)
    expected = [
        (8, "f", "b"),
        (18, "m", "w"),
        (24, "f", "w"),
        (30, "m", "w"),
        (36, "f", "b"),
        (66, "f", "b"),
        (84, "m", "b"),
    ]
    assert [(one.age, one.sex[0], one.race[0]) for one in found.agreed] == expected


def test_exact_tables_of_larger_blocks_give_most_people_away() -> None:
    """Invented blocks and no noise: the same in every run. What all solutions have is true."""
    found = agreed = 0
    for people in (5, 8, 12):
        for number in range(4):
            own = block(people, f"1 {people} {number}")
            each = solve(published(own), most=20_000)
            if each.complete:
                assert not Counter(each.agreed) - Counter(own)
                agreed += len(each.agreed)
            found += people
    assert agreed / found > 0.5 > 5 * likeliest(12)


def test_a_search_that_is_too_long_says_so() -> None:
    tables = published(block(12, "1 12 0"))
    assert not solve(tables, most=10).complete
    wide = tuple(Person(age, "male", "white", "other") for age in range(100))
    assert not solve(Tables((wide,) * 6, (Group(6, Fraction(50), Fraction(50)),)), most=1000).complete


def test_tables_that_nobody_has_have_no_solution() -> None:
    tables = published(block(6, "none"))
    first = tables.groups[0]
    wrong = Group(first.count, first.median, Fraction(99))
    found = solve(Tables(tables.cells, (wrong, *tables.groups[1:])))
    assert (found.databases, found.complete, found.agreed, found.first) == (0, True, (), ())


@pytest.mark.parametrize(("value", "rounded"), [("36.65", "36.7"), ("36.6", "36.6"), ("0", "0"), ("2.25", "2.3")])
def test_means_are_rounded_halves_up(value: str, rounded: str) -> None:
    assert tenths(Fraction(value)) == Fraction(rounded)
    low, high = Group(20, mean=Fraction(rounded)).sums()
    assert low <= 20 * Fraction(value) <= high
    assert tenths(Fraction(low, 20)) == tenths(Fraction(high, 20)) == Fraction(rounded)


def test_bands_cover_all_ages() -> None:
    assert [age for band in BANDS for age in band] == list(range(100))
    assert all(age in BANDS[band_of(age)] for age in range(100))
    assert sum(law().values()) == pytest.approx(1)


def test_tables_without_noise_give_the_cells_back() -> None:
    """At this ε noise is 0, but with probability e^−5000; sums of ages have a scale of 0.02."""
    people = block(9, "exact")
    tables = released(people, 20_000)
    assert sum(tables.tables[CELLS].values()) == 9
    assert tables.tables[HISPANICS][people[0].sex, band_of(people[0].age)] == sum(
        (one.sex, band_of(one.age)) == (people[0].sex, band_of(people[0].age)) and one.ethnicity == "hispanic"
        for one in people
    )
    assert sum(tables.tables[YEARS].values()) == pytest.approx(sum(one.age for one in people), abs=5)
    fit = best_fit(tables, 9)
    assert Counter((one.sex, one.race, band_of(one.age)) for one in fit.people) == Counter(
        (one.sex, one.race, band_of(one.age)) for one in people
    )


def test_private_tables_give_away_no_more_than_the_theorem() -> None:
    """More than that many people with probability 10⁻⁶ at most, whatever the attack, and nothing fits."""
    people = [drawn(8) for _ in range(3)]
    found = fitted(people, epsilon=0.5)
    assert found.right <= most_found(found.sizes, 0.5) < sum(found.sizes)
    assert found.misfit > 0  # no database has such tables but with a chance of about e^−100


def test_who_is_found() -> None:
    people = block(5, "found")
    assert found_in(people, people) == 5
    assert found_in(people, people[:1]) >= 1
    assert found_in(people, ()) == 0


def test_what_the_experiment_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "SIZES", (5,))
    monkeypatch.setattr(census, "BLOCKS", 2)
    monkeypatch.setattr(census, "NOISY_BLOCKS", 1)
    outcome = run(seed=4)
    assert len(outcome.tables[0].rows) == 1
    assert outcome.figures.items[2].value == "1"
    assert len(outcome.tables[2].rows) == 7
    assert outcome.pictures[0].chart().to_dict()["mark"]
