"""Replay with a unit that is replaced by another:
twice the sensitivity and no more; and final rows, to the last bit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from discreet.accounting.losses import Sensitivity
from discreet.answers import Answer
from discreet.audit import Replay, Report, audit_policy, replay
from discreet.audit.neighbours import replaced, units, without
from discreet.audit.worlds import replacements
from discreet.composed import sql as composed
from discreet.curator.curator import Curator
from discreet.exit.sampler import Sampler
from discreet.mechanisms import Laplace
from discreet.noise import SYSTEM
from discreet.policy import Policy
from discreet.sql.measures import Contribution
from discreet.sql.release import Release
from tests.audit.worlds import (
    OWNED,
    OWNED_LIMITS,
    OWNED_QUESTIONS,
    PRIVATE_KEYS,
    WORLDS,
    Data,
    made_owned,
    made_rows,
    questions,
    read,
    row,
)

module = sys.modules[Replay.__module__]
"""The module: its name in the package is that of the function."""
TWO = WORLDS["two rows"]
ONE = TWO.data([row(1), row(2)])
OTHER = TWO.data([row(1, ward="B", cost=-2), row(1, ward="B", cost=-2), row(3)])


def test_a_replaced_unit_has_its_other_rows_and_nobody_else_does() -> None:
    found = replaced(TWO.policy, ONE, OTHER, "1")
    assert found == {"visits": [row(2), row(1, ward="B", cost=-2), row(1, ward="B", cost=-2)]}
    assert without(TWO.policy, found, "1") == without(TWO.policy, ONE, "1")
    assert replaced(TWO.policy, ONE, OTHER, "2") == without(TWO.policy, ONE, "2")


def checked(auditor: Replay, data: Data, other: Data, asked: Sequence[str]) -> list[Report]:
    """Every question, with every unit replaced by what it is in another database."""
    reports = []
    for unit in units(auditor.policy, {name: [*data[name], *other[name]] for name in data}):
        changed = replaced(auditor.policy, data, other, unit)
        for text in asked:
            report = auditor.compare(text, data, changed, units=2, epsilon=1)
            assert report.same, f"{report}\n{data}\n{changed}"
            reports.append(report)
    return reports


@pytest.mark.parametrize("place", range(len(WORLDS)), ids=WORLDS)
def test_one_table(place: int) -> None:
    world = list(WORLDS.values())[place]
    data, other = (world.data(made_rows(Random(seed), 4)) for seed in (place, 100 + place))
    if "->" in world.unit:
        data, other = ({**held, "accounts": ACCOUNTS} for held in (data, other))
    asked = [*questions(world)[place::90], *(PRIVATE_KEYS[:2] if world.delta else ())]
    with Replay(world.policy) as auditor:
        if world.unit == "row":
            assert checked_rows(auditor, data, other, asked)
        else:
            assert any(report.calls for report in checked(auditor, data, other, asked))


ACCOUNTS = [{"account": f"a{person}", "person": person} for person in (1, 2, 3)]


def checked_rows(auditor: Replay, data: Data, other: Data, asked: Sequence[str]) -> bool:
    """Where rows are units: another row in the place of the first."""
    changed = {"visits": [*data["visits"][1:], other["visits"][0]]}
    reports = [auditor.compare(text, data, changed, units=2, epsilon=1) for text in asked]
    assert all(report.same for report in reports)
    return any(report.calls for report in reports)


@pytest.mark.parametrize("place", range(len(OWNED_LIMITS)))
def test_several_tables(place: int) -> None:
    policy = read(OWNED.format(visits=OWNED_LIMITS[place][0], stays=OWNED_LIMITS[place][1]))
    data, other = (made_owned(Random(seed), 6) for seed in (place, 100 + place))
    with Replay(policy) as auditor:
        assert any(report.calls for report in checked(auditor, data, other, OWNED_QUESTIONS[place::18]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 6, 2))
@pytest.mark.parametrize("limits", OWNED_LIMITS)
def test_several_tables_often(limits: tuple[str, str], seed: int) -> None:
    policy = read(OWNED.format(visits=limits[0], stays=limits[1]))
    data, other = (made_owned(Random(1000 * seed + more), 3 + seed) for more in (0, 1))
    with Replay(policy) as auditor:
        checked(auditor, data, other, OWNED_QUESTIONS)


# what is found


def test_twice_the_sensitivity_is_used_and_once_would_be_too_little() -> None:
    asked = "SELECT SUM(cost) FROM visits"
    here, there = TWO.data([row(1, cost=10)] * 2), TWO.data([row(1, cost=-10)] * 2)
    report = replay(TWO.policy, asked, here, there, units=2, epsilon=1)
    assert report.same
    assert float(report.l1) == pytest.approx(0.6), "from 2 · 10 to 2 · (−2), where 2 · 10 is the sensitivity"
    assert "one unit moves it by 48 " in str(replay(TWO.policy, asked, here, there, epsilon=1))


def test_an_understated_contribution_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Release, "contribution", Contribution(1, 1, 1))
    asked = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    here, there = TWO.data([row(1)] * 2), TWO.data([row(1, ward="B")] * 2)
    report = replay(TWO.policy, asked, here, there, units=2, epsilon=1)
    assert report.difference
    assert (
        "replacing one unit moves it by 4 (squares 8), beyond the declared sensitivity of 2 times 1"
        in report.difference
    )


def test_a_policy_is_audited_with_replaced_units(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = TWO.policy
    pairs = list(replacements(policy))
    assert pairs
    for pair in pairs:
        unit = changed_unit(policy, pair.data, pair.neighbour)
        assert without(policy, pair.data, unit) == without(policy, pair.neighbour, unit)
    distances: list[int] = []
    original = Replay.compare

    def compare(self: Replay, *given: Any, units: int, **more: Any) -> Report:
        distances.append(units)
        return original(self, *given, units=units, **more)

    monkeypatch.setattr(Replay, "compare", compare)
    assert audit_policy(policy, most=1).passed
    assert set(distances) == {1, 2}


def changed_unit(policy: Policy, data: Data, neighbour: Data) -> str:
    """The one unit whose rows differ."""
    found = [
        unit
        for unit in units(policy, data)
        if without(policy, data, unit) == without(policy, neighbour, unit) and data != neighbour
    ]
    (unit,) = found
    return unit


# final rows


class Peeking(Curator):
    """Computes after the noise with what nobody may know."""

    def query(self, sql: str, **options: Any) -> Answer:
        (found,) = self._engine(1).rows(composed('SELECT COUNT(*) FROM "visits"'))
        answer = super().query(sql, **options)
        return self.peeked(int(found[0]), answer)

    def peeked(self, rows: int, answer: Answer) -> Answer:
        raise NotImplementedError


class Ordering(Peeking):
    def peeked(self, rows: int, answer: Answer) -> Answer:
        return replace(answer, rows=answer.rows[:: 1 if rows % 2 else -1])


class Retyping(Peeking):
    """An integer that is a float on one side only."""

    def peeked(self, rows: int, answer: Answer) -> Answer:
        return replace(answer, rows=[(key, float(n) if rows % 2 else n) for key, n in answer.rows])


class Signing(Peeking):
    """A zero with a sign on one side only."""

    def peeked(self, rows: int, answer: Answer) -> Answer:
        return replace(answer, rows=[(key, -0.0 if rows % 2 else 0.0) for key, _ in answer.rows])


class Listing(Peeking):
    """The same intervals, in another order."""

    def peeked(self, rows: int, answer: Answer) -> Answer:
        turned = [{"x": (0.0, 1.0), **each} if rows % 2 else {**each, "x": (0.0, 1.0)} for each in answer.intervals]
        return replace(answer, intervals=turned)


@pytest.mark.parametrize(
    ("broken", "part"), [(Ordering, "rows"), (Retyping, "rows"), (Signing, "rows"), (Listing, "intervals")]
)
def test_final_rows_are_compared_to_the_last_bit(
    monkeypatch: pytest.MonkeyPatch, broken: type[Curator], part: str
) -> None:
    asked = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    neighbour = without(TWO.policy, ONE, "1")
    assert replay(TWO.policy, asked, ONE, neighbour, epsilon=1).same
    monkeypatch.setattr(module, "Curator", broken)
    report = replay(TWO.policy, asked, ONE, neighbour, epsilon=1)
    assert report.kind == "outcome", report
    assert f"the {part} differ, first number 1" in str(report)


POSTPROCESSED = [
    "SELECT ward, COUNT(*) AS n, COUNT(*) * 0 AS z FROM visits GROUP BY ward HAVING n > 0 ORDER BY n DESC LIMIT 1",
    "SELECT ward, AVG(cost) / COUNT(*) AS a, ROUND(SUM(cost) / 3, 1) AS b FROM visits GROUP BY ward ORDER BY b, a",
    "SELECT MAX(n), MIN(n), COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t WHERE n > 1",
    "SELECT DISTINCT n > 1 FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t",
    "SELECT STDDEV(cost), VAR_POP(cost), MEDIAN(age), MODE(ward) FROM visits",
]


@pytest.mark.parametrize("asked", POSTPROCESSED)
def test_post_processing_shows_nothing_but_noise(asked: str) -> None:
    data, other = (TWO.data(made_rows(Random(seed), 6)) for seed in (3, 4))
    with Replay(TWO.policy) as auditor:
        assert any(report.calls for report in checked(auditor, data, other, [asked]))


def test_functions_may_return_what_they_like() -> None:
    def told(_: str, data: Data, sampler: Sampler) -> object:
        noisy = sampler.add_noise(Laplace(1, sensitivity=1), Sensitivity.cells(1, 1), [len(data["visits"])], SYSTEM)
        return {"n": float("nan"), "values": list(noisy), "as": object}

    report = replay(told, "rows", {"visits": [{}]}, {"visits": []})
    assert report.same, report
