"""Record and replay: on every pair of neighbours the same is seen, and exact numbers stay within the declared reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import pytest

from discreet.accounting import Concentrated, compose
from discreet.audit import Replay, Report, neighbours
from discreet.audit.replay import Call, Run
from discreet.curator import door
from discreet.policy import Policy
from discreet.sql.plan import Plan
from tests.audit.worlds import (
    AGGREGATES,
    DOMAINS,
    WORLDS,
    Data,
    Row,
    World,
    aggregates_of,
    made_question,
    made_rows,
    made_world,
    question,
    questions,
    row,
    small_tables,
)

PRICE = {"epsilon": 1}


class Once(Replay):
    """Asks each question of each database once, always with the same noisy values, so that any two runs can be compared."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._scripts: dict[str, Sequence[Call]] = {}
        self._runs: dict[tuple[str, str], Run] = {}

    def run(self, question: str, data: Data, script: Sequence[Call] = (), **price: Any) -> Run:
        key = question, repr(data)
        if key not in self._runs:
            found = super().run(question, data, self._scripts.get(question, script), **price)
            self._scripts.setdefault(question, found.calls)
            self._runs[key] = found
        return self._runs[key]

    def forget(self) -> None:
        self._scripts.clear()
        self._runs.clear()


@pytest.fixture
def planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans follow from text and policy alone, so each is made once."""
    original = door.plan
    plans: dict[tuple[int, object], Plan] = {}

    def plan(policy: Policy, text: object, **facts: Any) -> Plan:
        key = id(policy), text
        if key not in plans:
            plans[key] = original(policy, text, **facts)
        return plans[key]

    monkeypatch.setattr(door, "plan", plan)


def pairs(world: World, tables: Sequence[Sequence[Row]]) -> Iterator[tuple[Data, Data]]:
    policy = world.policy
    for rows in tables:
        data = world.data(rows)
        yield from ((data, neighbour) for neighbour in neighbours(policy, data))


def check(auditor: Replay, text: str, data: Data, neighbour: Data) -> Report:
    """Nothing differs, and the question was answered: what fails on both sides shows nothing."""
    report = auditor.compare(text, data, neighbour, **PRICE)
    assert report.same, f"{report}\n{data}\n{neighbour}"
    assert report.calls, f"{text} is not answered: {auditor.run(text, data, **PRICE).outcome}"
    return report


def check_everything(world: World, tables: Sequence[Sequence[Row]], asked: Sequence[str]) -> int:
    """Every question on every pair; how many comparisons that was."""
    found = list(pairs(world, tables))
    with Once(world.policy) as auditor:
        for text in asked:
            for data, neighbour in found:
                check(auditor, text, data, neighbour)
            auditor.forget()
    return len(found) * len(asked)


# every small table


@pytest.mark.slow
@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_small_table_with_every_neighbour(world: str, domain: str) -> None:
    tables = list(small_tables(DOMAINS[domain]))
    assert check_everything(WORLDS[world], tables, questions(WORLDS[world])) > 1000


@pytest.mark.long
@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("place", range(len(WORLDS)), ids=WORLDS)
def test_some_small_tables_with_every_neighbour(place: int) -> None:
    """A part of the product above that meets every world, domain, node, key and aggregate."""
    world = list(WORLDS.values())[place]
    domain = list(DOMAINS.values())[place % len(DOMAINS)]
    asked = questions(world)
    tables = [*small_tables(domain, 1), *list(small_tables(domain))[-15::4]]
    assert check_everything(world, tables, asked[place % 7 :: 7]) > 50
