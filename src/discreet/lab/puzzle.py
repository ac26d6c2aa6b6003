"""Tables of a small block as a census publishes them, and the search for all databases that have them.

Published are the numbers of people by sex, race and band of age, those of one ethnicity by sex and band, and, of every
group of three or more, the mean (to one digit) and the median of ages: as in the 2010 census of the United States and
in the example of Garfinkel, Abowd & Martindale. Smaller groups are suppressed.

The search goes through the people one by one (those of one cell in order, so that no database is found twice) and tries
all records that fit their cell. A branch ends where the number of members of a group, the sum of their ages or their
median can no longer be as published. What is left are all databases that have these tables, no more and no fewer.

Source   Garfinkel, Abowd & Martindale 2018 (Understanding database reconstruction attacks on public data).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate, product
from typing import Any, Final, NamedTuple

import numpy as np

from discreet.lab.invented import SEED, uniform


class Person(NamedTuple):
    """A record."""

    age: int
    sex: str
    race: str
    ethnicity: str


SEXES: Final = ("female", "male")
RACES: Final = {"white": 0.6, "black": 0.25, "asian": 0.15}
ETHNICITIES: Final = {"other": 0.8, "hispanic": 0.2}
HISPANIC: Final = "hispanic"
OLDEST: Final = 99
STARTS: Final = (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85)
"""Where bands of age begin, in table P12 of 2010."""
BANDS: Final = tuple(range(start, end) for start, end in zip(STARTS, (*STARTS[1:], OLDEST + 1), strict=True))
LEAST: Final = 3
"""Of smaller groups no age is published."""
MOST_NODES: Final = 200_000
"""Steps of the search after which it stops and says so."""


@cache
def law() -> dict[Person, float]:
    """The population of which blocks are drawn: how likely each record is. Ages thin out from sixty on."""
    ages = {age: min(1.0, (OLDEST + 1 - age) / 40) for age in range(OLDEST + 1)}
    total = sum(ages.values()) * len(SEXES)
    return {
        Person(age, sex, race, kind): ages[age] / total * RACES[race] * ETHNICITIES[kind]
        for age, sex, race, kind in product(ages, SEXES, RACES, ETHNICITIES)
    }


def block(people: int, purpose: object = SEED) -> tuple[Person, ...]:
    """Invented neighbours, in order of age."""
    records, chances = list(law()), np.cumsum(list(law().values()))
    indices = np.searchsorted(chances, uniform(f"discreet.lab.census {purpose}", people) * chances[-1])
    return tuple(sorted(records[index] for index in indices.tolist()))


def likeliest(many: int) -> float:
    """The mass of so many records, at most."""
    return sum(sorted(law().values(), reverse=True)[:many])


# what is published


@dataclass(frozen=True, slots=True)
class Group:
    """What is published of a group: how many, and of enough of them the median and the mean of ages, in tenths."""

    count: int
    median: Fraction | None = None
    mean: Fraction | None = None
    sex: str | None = None
    race: str | None = None
    ethnicity: str | None = None
    band: int | None = None

    def holds(self, person: Person) -> bool:
        return (
            self.sex in (None, person.sex)
            and self.race in (None, person.race)
            and self.ethnicity in (None, person.ethnicity)
            and (self.band is None or person.age in BANDS[self.band])
        )

    def sums(self) -> tuple[int, int]:
        """The least and the largest sum of ages with that mean."""
        if self.mean is None:
            return 0, OLDEST * self.count
        low, high = ((self.mean + half) * self.count for half in (Fraction(-1, 20), Fraction(1, 20)))
        return -(-low.numerator // low.denominator), (high.numerator - 1) // high.denominator


@dataclass(frozen=True, slots=True)
class Tables:
    """All that is published of a block: for everybody the records that fit their cell, and the groups."""

    cells: tuple[tuple[Person, ...], ...]
    groups: tuple[Group, ...]


def median(ages: Sequence[int]) -> Fraction:
    """The middle one, or the mean of the two."""
    ordered = sorted(ages)
    return Fraction(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2], 2)


def tenths(value: Fraction) -> Fraction:
    """Rounded to one digit, halves up, as published."""
    return Fraction((20 * value.numerator + value.denominator) // (2 * value.denominator), 10)


def band_of(age: int) -> int:
    return sum(start <= age for start in STARTS) - 1


def published(people: Sequence[Person]) -> Tables:
    """The tables of a block."""
    seen = Counter((person.sex, person.race, band_of(person.age)) for person in people)
    cells = [
        tuple(Person(age, sex, race, kind) for age in BANDS[band] for kind in ETHNICITIES)
        for (sex, race, band), many in sorted(seen.items())
        for _ in range(many)
    ]
    return Tables(tuple(cells), tuple(_groups(people)))


def _groups(people: Sequence[Person]) -> Iterator[Group]:
    """With ages: all, by sex, by race, by both, and Hispanics. Without: Hispanics by race, and by sex and band."""
    yield _aged(people)
    for sex in SEXES:
        yield _aged(people, sex=sex)
    for race in RACES:
        yield _aged(people, race=race)
        yield _counted(people, race=race, ethnicity=HISPANIC)
    for sex, race in product(SEXES, RACES):
        yield _aged(people, sex=sex, race=race)
    yield _aged(people, ethnicity=HISPANIC)
    for sex, band in sorted({(person.sex, band_of(person.age)) for person in people}):
        yield _counted(people, sex=sex, band=band, ethnicity=HISPANIC)


def _counted(people: Sequence[Person], **which: Any) -> Group:
    return Group(sum(map(Group(0, **which).holds, people)), **which)


def _aged(people: Sequence[Person], **which: Any) -> Group:
    ages = [person.age for person in people if Group(0, **which).holds(person)]
    if len(ages) < LEAST:
        return Group(len(ages), **which)
    return Group(len(ages), median(ages), tenths(Fraction(sum(ages), len(ages))), **which)


# the search


@dataclass(frozen=True, slots=True)
class Solutions:
    """All databases that have the tables."""

    databases: int
    complete: bool
    """Whether the search came to its end; else there may be more."""
    agreed: tuple[Person, ...]
    """Records that are in all of them."""
    first: tuple[Person, ...]
    """One of them, whichever was found first; empty if there is none."""


class _Watch:
    """A group during the search: its members so far, and what those to come can add."""

    def __init__(self, group: Group, cells: Sequence[Sequence[Person]]) -> None:
        self.group, self.ages, self.total, self.beside = group, list[int](), 0, [0, 0]
        self.low, self.high = group.sums()
        self.double = None if group.median is None else int(2 * group.median)
        self.lows, self.highs, self.must = [[0]], [[0]], [0]
        own = [[one.age for one in cell if group.holds(one)] for cell in cells]
        youngest, oldest = list[int](), list[int]()
        for cell, ages in zip(reversed(cells), reversed(own), strict=True):
            if ages:
                youngest, oldest = sorted([*youngest, min(ages)]), sorted([*oldest, max(ages)], reverse=True)
            self.lows.append([0, *accumulate(youngest)])
            self.highs.append([0, *accumulate(oldest)])
            self.must.append(self.must[-1] + (len(ages) == len(cell)))
        for ends in (self.lows, self.highs, self.must):
            ends.reverse()

    def add(self, age: int, many: int = 1) -> None:
        """A member more, or less."""
        if many > 0:
            self.ages.append(age)
        else:
            self.ages.pop()
        self.total += many * age
        if self.double is not None and 2 * age != self.double:
            self.beside[2 * age > self.double] += many

    def possible(self, index: int) -> bool:
        """Whether people from this index on can complete it. At most half may lie on either side of a median."""
        missing = self.group.count - len(self.ages)
        if not self.must[index] <= missing < len(self.lows[index]) or max(self.beside) > self.group.count // 2:
            return False
        if not self.low - self.highs[index][missing] <= self.total <= self.high - self.lows[index][missing]:
            return False
        return bool(missing) or self.double is None or 2 * median(self.ages) == self.double


def solve(tables: Tables, most: int = MOST_NODES) -> Solutions:
    """All databases that have these tables, unless that takes more than so many steps."""
    search = _Search(tables, most)
    search.go(0, 0)
    return Solutions(search.databases, search.left > 0, tuple(sorted(search.agreed.elements())), search.first)


class _Search:
    def __init__(self, tables: Tables, most: int) -> None:
        self.cells, self.left = tables.cells, most
        watches = [_Watch(group, tables.cells) for group in tables.groups]
        self.touched = [[each for each in watches if any(map(each.group.holds, cell))] for cell in tables.cells]
        self.inside = [
            [[each.group.holds(one) for each in touched] for one in cell]
            for cell, touched in zip(tables.cells, self.touched, strict=True)
        ]
        self.chosen: list[Person] = []
        self.databases, self.agreed = 0, Counter[Person]()
        self.first: tuple[Person, ...] = ()

    def go(self, index: int, start: int) -> None:
        """Try all records for the person at this index, from one on."""
        if index == len(self.cells):
            self._found()
            return
        cell, touched = self.cells[index], self.touched[index]
        alike = index + 1 < len(self.cells) and self.cells[index + 1] == cell
        for number in range(start, len(cell)):
            if self.left <= 0:
                return
            self.left -= 1
            joined = [each for each, is_in in zip(touched, self.inside[index][number], strict=True) if is_in]
            for each in joined:
                each.add(cell[number].age)
            self.chosen.append(cell[number])
            if all(each.possible(index + 1) for each in touched):
                self.go(index + 1, number if alike else 0)
            self.chosen.pop()
            for each in joined:
                each.add(cell[number].age, -1)

    def _found(self) -> None:
        seen = Counter(self.chosen)
        self.agreed = seen & self.agreed if self.databases else seen
        self.first = self.first or tuple(self.chosen)
        self.databases += 1


# the example of the paper

SEVEN: Final = Tables(
    cells=tuple(
        tuple(Person(age, sex, race, "other") for age in range(OLDEST + 1))
        for sex, race, many in (
            ("female", "black", 3),
            ("female", "white", 1),
            ("male", "black", 1),
            ("male", "white", 2),
        )
        for _ in range(many)
    ),
    groups=(
        Group(7, Fraction(30), Fraction(38)),
        Group(4, Fraction(30), Fraction("33.5"), sex="female"),
        Group(3, Fraction(30), Fraction(44), sex="male"),
        Group(4, Fraction(51), Fraction("48.5"), race="black"),
        Group(3, Fraction(24), Fraction(24), race="white"),
        Group(3, Fraction(36), Fraction("36.7"), sex="female", race="black"),
    ),
)
"""Garfinkel, Abowd & Martindale's block, without the marriages. Sizes of cells follow from those of the groups."""
