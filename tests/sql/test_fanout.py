"""Rows that one unit makes at every step: the arithmetic, the plan, the engine, and what neighbours can see of it."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from discreet.audit import Replay, neighbours
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.policy import Policy
from discreet.sql import plan as planning
from discreet.sql.fanout import STEPS, paired, paired_and_alone, united
from discreet.sql.plan import Plan
from tests.attacks.work import counted as counted_work
from tests.audit.worlds import OWNED, OWNED_LIMITS, OWNED_QUESTIONS, PUBLIC, made_owned, read
from tests.sql import tiny
from tests.sql.bombs import fanned
from tests.sql.worlds import opened

SIZES = (1, 2, 3, 7, 10, 31, 100, 101, 999, 10_000)
LIMITS = (2, 3, 10, 100, 10_000)


def sizes() -> list[tuple[int, int, int]]:
    return [(m, n, most) for most in LIMITS for m, n in itertools.product(SIZES, SIZES) if max(m, n) <= most]


def test_pairs_fit_and_no_row_is_dropped_in_vain() -> None:
    for m, n, most in sizes():
        a, b = paired(m, n, most)
        assert 1 <= a <= m
        assert 1 <= b <= n
        assert a * b <= most
        assert (a, b) == (m, n) or (a + 1) * (b + 1) > most or (a == m and (b + 1) * a > most), (m, n, most)
        assert m == n or paired(n, m, most) == (b, a)


def test_sums_fit_and_no_row_is_dropped_in_vain() -> None:
    for m, n, most in sizes():
        a, b = united(m, n, most)
        assert 1 <= a <= m
        assert 1 <= b <= n
        assert a + b == min(m + n, most)


def test_a_full_join_fits_with_and_without_partners() -> None:
    for m, n, most in sizes():
        a, b = paired_and_alone(m, n, most)
        assert 1 <= a <= m
        assert 1 <= b <= n
        assert max(a * b, a + b) <= most


# plans

FEW = OWNED.replace('name = "person"\n', 'name = "person"\nmax_rows = {most}\n')


def few(most: int, visits: str = "", stays: str = "") -> Policy:
    return read(FEW.format(most=most, visits=visits, stays=stays))


class Nothing:
    """Public tables of which no row is like another."""

    def schema(self, table: str) -> dict[str, str]:
        raise NotImplementedError(table)

    def keys(self, rows: object, column: object) -> tuple[Any, ...]:
        raise NotImplementedError(rows, column)

    def repeats(self, rows: object, columns: object) -> int:  # noqa: ARG002
        return 1

    def computed(self, query: object) -> None:
        """Nothing is listed by computing it."""


def planned(most: int, text: str) -> Plan:
    return planning.plan(few(most), text, public=Nothing())


JOINED = "SELECT COUNT(*) FROM visits v {side} stays s ON v.person = s.who {side} visits w ON v.person = w.person"


@pytest.mark.parametrize("side", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
@pytest.mark.parametrize("most", [3, 4, 5, 6, 9, 17, 18])
def test_the_sensitivity_is_that_of_the_rows_that_are_left(side: str, most: int) -> None:
    (release,) = planned(most, JOINED.format(side=side)).releases
    assert release.contribution.total == release.child.rows
    assert (release.child.rows or 0) <= most
    assert release.sensitivity(release.measures[0]).l1 == release.child.rows


def test_joins_that_fit_are_left_alone() -> None:
    text = JOINED.format(side="JOIN")
    assert planned(18, text).notes == planned(10_000, text).notes
    assert planned(18, text).releases[0].sql() == planned(10_000, text).releases[0].sql()
    assert planned(17, text).releases[0].sql() != planned(18, text).releases[0].sql()


@pytest.mark.parametrize(
    ("most", "asked", "note"),
    [
        (17, JOINED.format(side="JOIN"), "a join takes at most 5 and 3 rows of each person"),
        (4, "SELECT COUNT(*) FROM visits v FULL JOIN stays s ON v.person = s.who", "a join takes at most 2 and 2 rows"),
        (
            4,
            "SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward FROM stays) AS t",
            "UNION ALL takes at most 2 and 2 rows",
        ),
        (
            7,
            "SELECT COUNT(*) FROM visits v JOIN (SELECT ward, COUNT(*) FROM stays GROUP BY ward) AS f USING (ward)",
            "each row meets at most 2 rows of a public subquery",
        ),
        (
            7,
            "SELECT COUNT(*) FROM visits v JOIN (SELECT ward, COUNT(*) FROM stays GROUP BY ward) AS f USING (ward)",
            "public rows may multiply those of a person: of 6, 3 count; max_rows_contributed = 6 counts all",
        ),
    ],
)
def test_what_is_left_out_is_said(most: int, asked: str, note: str) -> None:
    assert any(told.startswith(note) for told in planned(most, asked).notes), planned(most, asked).notes


def test_a_question_in_many_steps_is_refused_from_its_text() -> None:
    joins = " ".join(f"JOIN visits v{n} ON v.person = v{n}.person" for n in range(30))
    with pytest.raises(Refused) as refused:
        planned(9, f"SELECT COUNT(*) FROM visits v {joins}")
    assert refused.value.code == "too-complex"
    halves = " UNION ALL ".join(["SELECT ward FROM visits"] * 40)
    with pytest.raises(Refused, match="one unit could make"):
        planned(9, f"SELECT COUNT(*) FROM ({halves}) AS t")


def test_releases_of_one_question_add_up() -> None:
    joins = " ".join(f"JOIN visits v{n} ON v.person = v{n}.person" for n in range(5))
    one = f"SELECT COUNT(*) FROM visits v {joins}"
    assert planned(9, one).releases
    with pytest.raises(Refused, match="one unit could make"):
        planned(9, f"{one} WHERE v.cost > (SELECT AVG(v.cost) FROM visits v {joins})")


# engines

FLOORS = {"floors": [{"ward": "A", "floor": floor} for floor in ("one", "two", "one", "two", "one")]}
VISITS = {"visits": [{"person": 1, "ward": "A", "cost": place} for place in range(9)]}


def counted(most: int, asked: str, **tables: Any) -> int:
    """The exact answer."""
    with opened(few(most), {**VISITS, **PUBLIC, **tables}) as curator:
        return int(curator.query(asked, epsilon=1).rows[0][0])


STAYS = [{"who": 1, "ward": "A", "length": 1}, {"who": 1, "ward": "B", "length": 2}]


@pytest.mark.parametrize("side", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
@pytest.mark.parametrize("most", [3, 4, 5, 10, 18])
def test_engines_count_as_many_rows_as_plans_say(side: str, most: int) -> None:
    asked = JOINED.format(side=side)
    rows = planned(most, asked).releases[0].child.rows or 0
    assert counted(most, asked, stays=STAYS) == rows - (side == "FULL JOIN" and rows < 4)


@pytest.mark.parametrize(("most", "found"), [(5, 3), (10, 3), (15, 3)])
def test_public_rows_take_fewer_private_ones(most: int, found: int) -> None:
    """One, two or three visits meet five floors each; of these rows three count, as of the visits themselves."""
    asked = "SELECT COUNT(*) FROM visits v JOIN floors f ON v.ward = f.ward"
    assert counted(most, asked, **FLOORS) == found
    joined = "visits v JOIN floors f ON v.ward = f.ward"
    each = f"SELECT v.person, v.cost, COUNT(*) AS n FROM {joined} GROUP BY v.person, v.cost"
    assert counted(most, f"SELECT COUNT(*) FROM ({each}) AS t", **FLOORS) <= most // 5


def test_public_rows_that_match_too_often_are_refused() -> None:
    with pytest.raises(Refused, match="one row may match 5 public rows, and a person makes at most 4 rows"):
        counted(4, "SELECT COUNT(*) FROM visits v JOIN floors f ON v.ward = f.ward", **FLOORS)


def test_only_the_first_rows_of_a_public_subquery_are_met() -> None:
    """By their values, never by where they lie."""
    subquery = "(SELECT ward, floor FROM floors WHERE (SELECT COUNT(*) FROM visits) > 0) AS f"
    asked = f"SELECT COUNT(*) FROM visits v JOIN {subquery} ON v.ward = f.ward AND f.floor = 'two'"
    floors = FLOORS["floors"]
    for rows in (floors, floors[::-1], floors[2:] + floors[:2]):
        assert counted(12, asked, floors=rows) == 3, "four of each ward: three are called one, one is called two"
        assert counted(9, asked, floors=rows) == 0, "three of each ward are called one"


def test_numbers_that_are_equal_as_floats_are_alike() -> None:
    asked = "SELECT COUNT(*) FROM visits v JOIN numbers n ON v.big = n.id"
    visits = [{"person": 1, "big": 2**53}]
    twins = [{"id": 2**53 + place} for place in (0, 1)]
    assert counted(3, asked, visits=visits, numbers=twins) == 2
    with pytest.raises(Refused, match="one row may match 4 public rows"):
        counted(3, asked, visits=visits, numbers=twins * 2)


MANY = 60
HOSPITAL = tiny.policy("pure")


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_made_up_fan_outs_make_no_more_rows_of_one_patient(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Asked with and without a patient who has many rows everywhere: the engine does no more than a little more."""
    policy = replace(HOSPITAL, unit_rows=MANY)
    mine = [{"patient": "me", "visit_id": 1000 + n, "ward": "ABC"[n % 3], "cost": n, "nights": 1} for n in range(9)]
    labs = [{"visit_id": 1000 + n, "level": n} for n in range(9)]
    crowded = {
        **tiny.DATA,
        "visits": [*tiny.DATA["visits"], *mine],
        "labs": [*tiny.DATA["labs"], *labs],
        "patients": [*tiny.DATA["patients"], {"patient": "me", "age": 4}],
    }
    dice, most, answered = Random(f"fan {seed}"), 0, 0
    with opened(policy, crowded) as there, opened(policy, tiny.DATA) as gone:
        for _ in range(15):
            asked, works = fanned(dice), []
            for curator in (there, gone):
                with counted_work(monkeypatch, "visits", Memory) as work, suppress(Refused):
                    curator.query(asked, epsilon=1)
                works.append(work)
            answered += bool(works[0].operators)
            assert not works[0].loops, asked
            most = max(most, works[0].rows - works[1].rows)
    assert answered > 5
    assert 0 < most <= 6 * STEPS * MANY, "each row passes a few operators: window, filter, projection"


# neighbours


def replayed(most: int, limits: tuple[str, str], seed: int, asked: list[str]) -> int:
    policy = few(most, *limits)
    data = made_owned(Random(seed), 8)
    answered = 0
    with Replay(policy) as auditor:
        others = list(neighbours(policy, data))
        for text in asked:
            for report, neighbour in zip(auditor.compare_each(text, data, others, epsilon=1), others, strict=True):
                assert report.same, f"{report}\n{data}\n{neighbour}"
                answered += bool(report.calls)
    return answered


@pytest.mark.parametrize("place", range(len(OWNED_LIMITS)))
def test_neighbours_differ_by_no_more_than_the_rows_that_are_left(place: int) -> None:
    asked = [text for text in OWNED_QUESTIONS if "JOIN" in text or "UNION" in text]
    assert replayed((3, 4, 5, 7)[place], OWNED_LIMITS[place], place, asked[place::6]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 4, 5, 7, 11])
@pytest.mark.parametrize("limits", OWNED_LIMITS)
def test_neighbours_of_many_tables(most: int, limits: tuple[str, str]) -> None:
    assert replayed(most, limits, most + len("".join(limits)), OWNED_QUESTIONS) > 25
