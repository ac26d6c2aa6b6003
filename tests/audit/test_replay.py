"""Record and replay: on every pair of neighbours the same is seen,
and exact numbers stay within the declared sensitivity.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import discreet
from discreet.accounting import Concentrated, Pure, compose
from discreet.accounting.losses import Sensitivity
from discreet.answers import Answer
from discreet.audit import Replay, Report, neighbours, replay
from discreet.audit.neighbours import claimants, units, without
from discreet.audit.replay import Run
from discreet.composed import form, literal
from discreet.composed import sql as composed
from discreet.curator import curator as door
from discreet.curator.curator import Curator
from discreet.engines import copy, memory
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.cost import Cost
from discreet.exit.sampler import Sampler
from discreet.mechanisms import Laplace
from discreet.policy import Policy
from discreet.sql import measures
from discreet.sql import plan as sql
from discreet.sql.functions import FUNCTIONS
from discreet.sql.measures import Contribution
from discreet.sql.plan import Plan
from discreet.sql.release import Release
from tests.audit.worlds import (
    ACCOUNTS_OF,
    AGGREGATES,
    DOMAINS,
    EMPTY,
    FURTHER,
    HEAD,
    LISTED,
    LONG_TAIL,
    NAMES,
    OWNED,
    OWNED_LIMITS,
    OWNED_QUESTIONS,
    PRIVATE_KEYS,
    PUBLIC,
    SPELLINGS,
    UNLISTED,
    WORLDS,
    Data,
    Row,
    World,
    aggregates_of,
    made_owned,
    made_question,
    made_rows,
    made_world,
    question,
    questions,
    read,
    row,
    small_tables,
)
from tests.budget import later

NAMES_OF_WORLDS = list(WORLDS)
audit = sys.modules[Replay.__module__]
"""The module: its name in the package is that of the function."""


class Once(Replay):
    """Asks each question of each database once, always with the same noisy values: any two runs can be compared."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._scripts: dict[str, Run] = {}
        self._runs: dict[tuple[str, str], Run] = {}

    def run(self, question: Any, data: Data, other: Run | None = None, **cost: Any) -> Run:
        key = question, repr(data)
        if key not in self._runs:
            found = super().run(question, data, self._scripts.get(question, other), **cost)
            self._scripts.setdefault(question, found)
            self._runs[key] = found
        return self._runs[key]

    def forget(self) -> None:
        self._scripts.clear()
        self._runs.clear()


@pytest.fixture
def planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans follow from text and policy alone, so each is made once."""
    original = sql.plan
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
    report = auditor.compare(text, data, neighbour, epsilon=1)
    assert report.same, f"{report}\n{data}\n{neighbour}"
    assert report.calls, f"{text} is not answered: {auditor.run(text, data, epsilon=1).outcome}"
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
    """A part of the questions for each world and domain, half of all for each world and for each domain, others each
    time. Tables have up to three rows, and always up to one more than a unit may have."""
    tables = list(small_tables(DOMAINS[domain], max(3, WORLDS[world].rows + 1)))
    first = (NAMES_OF_WORLDS.index(world) + list(DOMAINS).index(domain)) % len(DOMAINS)
    half = first + len(DOMAINS) * Random().randrange(2)
    assert check_everything(WORLDS[world], tables, questions(WORLDS[world])[half :: 2 * len(DOMAINS)]) > 50


@pytest.mark.long
@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("place", range(len(WORLDS)), ids=WORLDS)
def test_some_small_tables_with_every_neighbour(place: int) -> None:
    """A part of the product above that meets every world, domain, node, key and aggregate."""
    world = list(WORLDS.values())[place]
    domain = list(DOMAINS.values())[place % len(DOMAINS)]
    asked = questions(world)
    tables = [*small_tables(domain, 1), *list(small_tables(domain))[-15::5]]
    assert check_everything(world, tables, asked[place::18]) > 10


# how tight the sensitivity is


def shares(auditor: Replay, text: str, data: Data, neighbour: Data) -> list[Fraction]:
    """For each thing that is drawn: how much of its sensitivity this pair uses."""
    run = auditor.run(text, data, epsilon=1)
    first: Sequence[Any] = run.calls
    second: Sequence[Any] = auditor.run(text, neighbour, run, epsilon=1).calls
    return [
        sum((abs(x - y) for x, y in zip(a.exact, b.exact, strict=True)), Fraction(0)) / a.sensitivity.l1
        for a, b in zip(first, second, strict=True)
    ]


EXTREMES = ["", "A", "AA", "AAAA", "AB", "AAB", "ABB"]
"""Wards of one unit's rows, which hold the largest values."""


@pytest.mark.long
@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("world", later([*NAMES_OF_WORLDS[::2], *NAMES_OF_WORLDS[1::2]], 5))
def test_noise_is_not_wasted(world: str) -> None:
    """Everything that is drawn has a pair of neighbours that uses its whole sensitivity, with and without groups."""
    found = list(pairs(WORLDS[world], [[row(1, ward=ward) for ward in wards] for wards in EXTREMES]))
    with Once(WORLDS[world].policy) as auditor:
        for key in ("all", "declared"):
            text = question("plain", key, aggregates_of(WORLDS[world]))
            used = [shares(auditor, text, *pair) for pair in found]
            most = [max(column) for column in zip(*used, strict=True)]
            assert max(check(auditor, text, *pair).l1 for pair in found) == 1
            assert most == [1] * len(most), list(zip(AGGREGATES, most, strict=False))


# what is charged


def covered(run: Run) -> bool:
    """Whether the charge pays for the noise, if one unit moves exact numbers by as much as was declared."""
    (charged,) = run.charges
    calls: Sequence[Any] = run.calls
    losses = [call.mechanism.loss_for(call.sensitivity) for call in calls]
    if isinstance(charged, Concentrated):
        return bool(losses) and sum(loss.concentrated().rho for loss in losses) <= charged.rho
    return bool(losses) and compose(*losses) == charged


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_charged_covers_what_is_drawn(world: str) -> None:
    found = WORLDS[world]
    with Replay(found.policy) as auditor:
        for text in questions(found)[::9]:
            assert covered(auditor.run(text, found.data([row(1)]), epsilon=1)), text


# made-up policies, tables and questions


def check_made(seed: int, databases: int, asked: int) -> tuple[int, int]:
    """Questions on made-up databases; how many were answered, and how many refused (the same on both sides)."""
    random = Random(seed)
    answered = refused = 0
    world = made_world(random)
    policy = world.policy
    with Replay(policy) as auditor:
        for _ in range(databases):
            data = world.data(made_rows(random, 9))
            found = list(neighbours(policy, data))[:2] or [data]
            for _ in range(asked):
                text = made_question(random)
                neighbour = random.choice(found)
                report = auditor.compare(text, data, neighbour, epsilon=1)
                assert report.same, f"seed {seed}, {world}\n{report}\n{data}\n{neighbour}"
                answered += bool(report.calls)
                refused += not report.calls
                if not report.calls:
                    outcome = auditor.run(text, data, epsilon=1).outcome
                    assert outcome[0] == "refused", f"seed {seed}: {text}\n{data}\n{outcome}"
    return answered, refused


@pytest.mark.long
def test_made_up_worlds() -> None:
    assert check_made(0, 1, 15)[0] > 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_made_up_worlds(part: int) -> None:
    answered = sum(check_made(1000 * (part + 1) + seed, 4, 12)[0] for seed in range(3))
    assert answered > 100


def check_further(name: str, seed: int, most: int) -> None:
    world = WORLDS[name]
    policy = world.policy
    data = world.data(made_rows(Random(seed), most))
    with Once(policy) as auditor:
        for neighbour in neighbours(policy, data):
            for text in (*FURTHER, *(PRIVATE_KEYS if world.delta else ())):
                check(auditor, text, data, neighbour)


@pytest.mark.long
@pytest.mark.parametrize("world", ["all limits", "gaussian"])
def test_further_aggregates_and_private_keys(world: str) -> None:
    check_further(world, 1, 6)


@pytest.mark.slow
@pytest.mark.parametrize("world", [name for name in WORLDS if name != "rows are units"])
def test_further_aggregates_and_private_keys_of_many_tables(world: str) -> None:
    for seed in range(0, 12, 3):
        check_further(world, seed, 3 + seed)


# several tables


def check_owned(limits: tuple[str, str], seed: int, most: int, asked: Sequence[str]) -> None:
    policy = read(OWNED.format(visits=limits[0], stays=limits[1]))
    data = made_owned(Random(seed), most)
    with Once(policy) as auditor:
        for neighbour in neighbours(policy, data):
            for text in asked:
                check(auditor, text, data, neighbour)


@pytest.mark.long
@pytest.mark.parametrize("place", range(len(OWNED_LIMITS)))
def test_joins_unions_and_subqueries(place: int) -> None:
    check_owned(OWNED_LIMITS[place], place, 5, OWNED_QUESTIONS[place :: len(OWNED_LIMITS)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 8, 2))
@pytest.mark.parametrize("limits", OWNED_LIMITS)
def test_joins_unions_and_subqueries_of_many_tables(limits: tuple[str, str], seed: int) -> None:
    check_owned(limits, 1000 + 10 * seed, 2 + seed, OWNED_QUESTIONS)


def test_a_union_of_a_table_with_itself_where_rows_are_units() -> None:
    """It would count twice: refused."""
    asked = "SELECT COUNT(*) FROM (SELECT * FROM rows UNION ALL SELECT * FROM rows) AS t"
    with Replay(read(OWNED.format(visits="", stays=""))) as auditor:
        run = auditor.run(asked, {"rows": [{"ward": "A", "cost": 1}]}, epsilon=1)
    assert run.outcome[:2] == ("refused", "statement-not-allowed")


def test_a_public_table_that_is_unique_is_so_in_the_comparison() -> None:
    data = {"visits": [{"person": 1, "big": 2**53} for _ in range(3)], **PUBLIC}
    asked = "SELECT COUNT(*) FROM visits JOIN numbers ON visits.big = numbers.id"
    check_once(read(OWNED.format(visits="", stays="")), data, [asked])


@pytest.mark.parametrize(
    ("kind", "value"), [("UUID", "00000000-0000-0000-0000-000000000001"), ("UBIGINT", "7"), ("TIME", "10:00:00")]
)
def test_public_columns_of_any_type_fail_nothing(tmp_path: Path, kind: str, value: str) -> None:
    """In memory everything undeclared is text, so this one asks the real engine."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT '{value}'::{kind} AS id) TO '{tmp_path}/things.parquet' (FORMAT parquet)")
        visits = f"VALUES ('p', 'no {kind}'), ('q', '{value}')) AS t(person, note)"
        connection.execute(f"COPY (SELECT * FROM ({visits}) TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
    text = (
        HEAD.format(delta="")
        + """
[tables.visits]
source = "visits.parquet"
unit = "person"
[tables.visits.columns]
note = { type = "text" }
[tables.things]
source = "things.parquet"
public = true
"""
    )
    (tmp_path / "world.toml").write_text(text, encoding="utf-8")
    with discreet.open(tmp_path / "world.toml") as curator:
        for asked in (
            "SELECT COUNT(*) FROM visits JOIN things ON note = id",
            "SELECT COUNT(*) FROM visits WHERE note IN (SELECT id FROM things)",
        ):
            with suppress(Refused):  # from the text alone: says nothing about notes
                curator.query(asked, epsilon=1)


# strange data


def check_once(policy: Policy, data: Data, asked: Sequence[str], most: int | None = None) -> None:
    """Every question on a database and its neighbours."""
    found = list(neighbours(policy, data))[:most]
    assert found
    with Once(policy) as auditor:
        for text in asked:
            for neighbour in found:
                check(auditor, text, data, neighbour)


def check_one_unit_with_many_rows(count: int) -> None:
    start = date(2000, 1, 1)
    rows: list[Row] = [{"person": 1, "number": place, "day": start + timedelta(days=place)} for place in range(count)]
    asked = [
        "SELECT COUNT(*), SUM(number), COUNT(DISTINCT person) FROM visits",
        "SELECT number, COUNT(*), SUM(number) FROM visits GROUP BY number",
        "SELECT DATE_TRUNC('day', day), COUNT(DISTINCT person) FROM visits GROUP BY 1",
        "SELECT number < 5, COUNT(*), AVG(number) FROM visits WHERE number IS NOT NULL GROUP BY 1",
    ]
    others: list[Row] = [{"person": 2, "number": 7, "day": None}, {"person": None, "number": 8, "day": start}]
    check_once(read(LONG_TAIL), {"visits": [*others, *rows]}, asked)


@pytest.mark.long
def test_one_unit_with_many_rows_in_as_many_groups() -> None:
    check_one_unit_with_many_rows(40)


@pytest.mark.slow
def test_one_unit_with_10_000_rows_in_as_many_groups() -> None:
    check_one_unit_with_many_rows(10_000)


POISON = (
    "nan",
    "inf",
    "-inf",
    1e308,
    -1e308,
    10**30,
    -(10**30),
    2**63 - 1,
    -(2**63),
    5e-324,
    -0.0,
    10.25,
    "",
    "x",
    None,
)
"""Put into every column at once: most do not fit most of them."""
DAYS = ("0001-01-01", "9999-12-31", "infinity", "-infinity", "10000-01-01", "0000-01-01", "2026-02-30", "epoch")


@pytest.mark.long
@pytest.mark.usefixtures("planned_once")
def test_one_poison_row_moves_nothing_beyond_its_sensitivity() -> None:
    rows = [row(place, **dict.fromkeys(EMPTY, poison)) for place, poison in enumerate(POISON)]
    rows += [row(100 + place, day=day, moment=day) for place, day in enumerate(DAYS)]
    world = WORLDS["two rows"]
    functions = (
        "SELECT DATE_TRUNC('week', day), EXTRACT(year FROM moment) > 2000, COUNT(*), SUM(CLAMP(EXP(cost), 0, 5)),"
        " AVG(CLAMP(POWER(cost, age) % ratio, 0, 9)), SUM(CLAMP(DATE_DIFF('minute', moment, day), 0, 9)),"
        " SUM(CLAMP(CAST(note AS INTEGER) * 1e300 * cost, 1, 2)) FROM visits GROUP BY 1, 2"
    )
    asked = [question("plain", "two cut", aggregates_of(world)), functions]
    check_once(world.policy, world.data(rows), asked)


@pytest.mark.parametrize("world", later([*NAMES_OF_WORLDS[1::2], *NAMES_OF_WORLDS[::2]], 5))
def test_empty_tables_and_a_single_unit(world: str) -> None:
    found = WORLDS[world]
    asked = questions(found)[:2]
    with Replay(found.policy) as auditor:
        for text in asked:
            check(auditor, text, found.data([]), found.data([]))
            check(auditor, text, {}, {})
            single = found.data([row(1), row(1)])
            for neighbour in neighbours(found.policy, single):
                check(auditor, text, single, neighbour)


def test_spellings_of_keys_and_units_stay_apart() -> None:
    texts = [*LISTED, *UNLISTED]
    data = {"visits": [{"person": text, "ward": text, "note": text} for text in texts]}
    asked = [
        "SELECT ward, COUNT(*), COUNT(DISTINCT person) FROM visits GROUP BY ward",
        "SELECT UPPER(note) = 'A', COUNT(*), SUM(CLAMP(LENGTH(note), 0, 3)) FROM visits GROUP BY 1",
    ]
    with Replay(read(SPELLINGS)) as auditor:
        by_ward = auditor.run(asked[0], data, epsilon=1)
        assert [call.exact for call in by_ward.calls] == [(1,) * len(LISTED)] * 2
        (units,) = auditor.run("SELECT COUNT(DISTINCT person) FROM visits", data, epsilon=1).calls
        assert units.exact == (len(texts),)
    check_once(read(SPELLINGS), data, asked, most=6)


def test_columns_may_be_named_like_those_of_plans() -> None:
    random = Random(5)
    rows = [
        {
            "o": random.choice((1, 2)),
            **{key: random.choice("ABCD") for key in ("k0", "k1", "place")},
            **{number: random.randint(-2, 9) for number in ("x0", "u", "r0", "m0", "c0_rank")},
            "one": random.choice((True, False, None)),
        }
        for _ in range(16)
    ]
    asked = [
        "SELECT k1, SUM(u), SUM(x0), AVG(r0), COUNT(*) FROM u GROUP BY k1",
        "SELECT k1, k0, SUM(u), SUM(x0) FROM u GROUP BY k1, k0",
        "SELECT place, COUNT(DISTINCT o), SUM(m0) FROM u GROUP BY place",
        "SELECT k1, SUM(c0_rank) FROM (SELECT k1, c0_rank, u FROM u) AS k0 GROUP BY k1",
        "SELECT one, SUM(u) FROM u WHERE u > 1 GROUP BY one",
        "SELECT k0 AS k1, k1 AS k0, SUM(x0) AS u, COUNT(*) AS x0 FROM u GROUP BY u.k0, u.k1",
    ]
    check_once(read(NAMES), {"u": rows}, asked)


def test_ranks_do_not_depend_on_where_rows_lie() -> None:
    world = WORLDS["one row"]
    text = "SELECT COUNT_IF(CAST(cost AS VARCHAR) = '-0.0'), COUNT_IF(POWER(cost, 0 - 1) < 0) FROM visits"
    rows = [row(1, cost=0.0), row(1, cost=-0.0)]
    with Replay(world.policy) as auditor:
        one, other = (auditor.run(text, world.data(held), epsilon=1) for held in (rows, rows[::-1]))
    assert [call.exact for call in one.calls] == [call.exact for call in other.calls]


def test_a_foreign_key_that_is_no_number_fails_nothing() -> None:
    text = ACCOUNTS_OF.replace("cost =", 'account = { type = "integer" }\ncost =')
    visits: list[Row] = [{"account": 1, "cost": 2}, {"account": 2, "cost": 2}]
    accounts: list[Row] = [{"id": "1", "branch": "x"}, {"id": "oops", "branch": "y"}]
    branches: list[Row] = [{"branch": "x", "owner": "p"}, {"branch": "y", "owner": "q"}]
    data = {"branches": branches, "accounts": accounts, "visits": visits}
    check_once(read(text), data, ["SELECT COUNT(*) FROM visits"])


# what a replay finds


class Curious(Curator):
    """Looks at the data before it answers."""

    def query(self, sql: str, **options: Any) -> Answer:
        (found,) = self._engine(1).rows(composed("SELECT COUNT(*) FROM visits"))
        return self.knowing(int(found[0]), sql, **options)

    def knowing(self, rows: int, sql: str, **options: Any) -> Answer:
        raise NotImplementedError


class Charging(Curious):
    def knowing(self, rows: int, sql: str, **options: Any) -> Answer:
        self._ledger.charge(Pure(rows), why="rows")
        return Curator.query(self, sql, **options)


class Asking(Curious):
    def knowing(self, rows: int, sql: str, **options: Any) -> Answer:
        self._engine(1).rows(composed("SELECT {}", literal(rows)))
        return Curator.query(self, sql, **options)


class Telling(Curious):
    def knowing(self, rows: int, sql: str, **options: Any) -> Answer:
        return replace(Curator.query(self, sql, **options), notes=(f"{rows} rows",))


class Complaining(Curious):
    def knowing(self, rows: int, sql: str, **options: Any) -> Answer:  # noqa: ARG002
        raise RuntimeError(f"{sql} has {rows} rows")


class Refusing(Curious):
    def knowing(self, rows: int, sql: str, **options: Any) -> Answer:
        if rows > 1:
            raise Refused("too-complex", "there are many rows", "ask less")
        return Curator.query(self, sql, **options)


Blurred = Callable[..., Sequence[int]]


class Swaying(Curator):
    """Does something of its own where noise is added."""

    def __init__(self, *given: Any, sampler: Sampler, **options: Any) -> None:
        super().__init__(*given, sampler=replace(sampler, add_noise=partial(self.swayed, sampler.add_noise)), **options)

    def swayed(
        self, add_noise: Blurred, mechanism: Any, sensitivity: Any, exact: Sequence[int], *rest: Any
    ) -> Sequence[int]:
        raise NotImplementedError


class Scaling(Swaying):
    def swayed(self, add_noise: Blurred, _: Any, sensitivity: Any, exact: Sequence[int], *rest: Any) -> Sequence[int]:
        return add_noise(Laplace(1, sensitivity=1 + sum(exact)), sensitivity, exact, *rest)


class Declaring(Swaying):
    def swayed(self, add_noise: Blurred, mechanism: Any, _: Any, exact: Sequence[int], *rest: Any) -> Sequence[int]:
        return add_noise(mechanism, Sensitivity.cells(1, max(exact) + 1), exact, *rest)


class Sparing(Swaying):
    def swayed(
        self, add_noise: Blurred, mechanism: Any, sensitivity: Any, exact: Sequence[int], *rest: Any
    ) -> Sequence[int]:
        """One of the sums, that of unit 2 alone, is shown as it is."""
        return add_noise(mechanism, sensitivity, exact, *rest) if sum(exact) != 20 else exact


class Shortening(Swaying):
    def swayed(
        self, add_noise: Blurred, mechanism: Any, sensitivity: Any, exact: Sequence[int], *rest: Any
    ) -> Sequence[int]:
        add_noise(mechanism, sensitivity, [number for number in exact if number], *rest)
        return exact


class Forgetting(Swaying):
    """Releases exact numbers."""

    def swayed(
        self, add_noise: Blurred, mechanism: Any, sensitivity: Any, exact: Sequence[int], *rest: Any
    ) -> Sequence[int]:
        add_noise(mechanism, sensitivity, exact, *rest)
        return exact


TWO = WORLDS["two rows"]
DATA = TWO.data([row(1), row(1, ward="B"), row(2)])
WITHOUT_1, WITHOUT_2 = neighbours(TWO.policy, DATA)
COUNTED = "SELECT ward, COUNT(age), SUM(cost) FROM visits GROUP BY ward"


@pytest.mark.parametrize(
    ("broken", "difference"),
    [
        (Charging, r"the charges differ: ε 3 and ε 1 on one side, ε 1 and ε 1 on the other"),
        (Asking, r"the queries differ, first number 2: SELECT 3 on one side, SELECT 1 on the other"),
        (Telling, r"the notes differ, first number 1: 3 rows on one side, 1 rows on the other"),
        (Complaining, r"the outcomes differ: the error RuntimeError .*has 3 rows.* on one side, .*has 1 rows"),
        (Refusing, r"noise is drawn 0 times on one side, 2 times on the other"),
        (Scaling, r"call 1: Laplace noise of scale 4 on one side, Laplace noise of scale 2 on the other"),
        (Declaring, r"call 1: the declared sensitivity is 3 \(squares 9\) on one side, 2 \(squares 4\) on the other"),
        (Sparing, r"noise is drawn 2 times on one side, 1 time on the other"),
        (Shortening, r"call 1: 2 numbers on one side, 1 number on the other"),
        (Forgetting, r"the rows differ, first number 1: "),
    ],
)
def test_a_door_that_leaks_is_found(monkeypatch: pytest.MonkeyPatch, broken: type[Curator], difference: str) -> None:
    assert replay(TWO.policy, COUNTED, DATA, WITHOUT_1, epsilon=1).same
    monkeypatch.setattr(audit, "Curator", broken)
    report = replay(TWO.policy, COUNTED, DATA, WITHOUT_1, epsilon=1)
    assert report.difference
    assert re.search(difference, report.difference, re.DOTALL), report.difference
    assert report.difference in str(report)


def found_in(world: World, asked: str, tables: Sequence[Sequence[Row]]) -> str:
    """What is found on some pair."""
    with Replay(world.policy) as auditor:
        reports = (auditor.compare(asked, *pair, epsilon=1) for pair in pairs(world, tables))
        return next((report.difference for report in reports if report.difference), "nothing")


def test_an_understated_contribution_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Release, "contribution", Contribution(1, 1, 1))
    found = found_in(TWO, "SELECT COUNT(*) FROM visits", [[row(1), row(1)]])
    assert "one unit moves it by 2 (squares 4), beyond the declared sensitivity of 1 (squares 1)" in found


def test_understated_squares_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows in one group are further than two rows in two groups."""
    monkeypatch.setattr(Release, "contribution", Contribution(2, 1, 2))
    assert found_in(TWO, COUNTED, [[row(1), row(1, ward="B")]]) == "nothing"
    assert "moves it by 2 (squares 4), beyond" in found_in(TWO, COUNTED, [[row(1), row(1)]])


def test_a_missing_clamp_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (measures, copy):  # the copy stores numbers in steps already
        monkeypatch.setattr(module, "whole_steps", lambda value, *_: f"TRY_CAST({value} AS BIGINT)")
    assert found_in(TWO, "SELECT SUM(cost) FROM visits", [[row(1, cost=10)]]) == "nothing"
    assert "one unit moves it by 1000 " in found_in(TWO, "SELECT SUM(cost) FROM visits", [[row(1, cost=1000)]])


def everything(*given: Any) -> str:
    """A copy that holds all rows of every unit."""
    return re.sub(r'QUALIFY "_discreet_row" <= \d+', "", copy.selection(*given))


@pytest.mark.parametrize(
    ("world", "asked", "rows", "moved"),
    [
        ("one row", "SELECT COUNT(*) FROM visits", [row(1)] * 3, 3),
        ("one group", "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward", [row(1), row(1, ward="B")], 2),
        ("one group", "SELECT age, COUNT(DISTINCT person) FROM visits GROUP BY age", [row(1), row(1, age=2)], 2),
        ("one group", "SELECT ward, region, COUNT(DISTINCT person) FROM visits WHERE age < 9 GROUP BY ward, region",
         [row(1), row(1, ward="B")], 2),
        ("gaussian", "SELECT ward, COUNT(*) FROM visits GROUP BY ward", [row(1)] * 2, 2),
        ("all limits", "SELECT age, COUNT(*) FROM visits GROUP BY age", [row(1)] * 4, 4),
    ],
)  # fmt: skip
def test_an_engine_that_ignores_ranks_is_found(
    monkeypatch: pytest.MonkeyPatch, world: str, asked: str, rows: list[Row], moved: int
) -> None:
    assert found_in(WORLDS[world], asked, [rows]) == "nothing"
    original = Memory.execute
    ranks = re.compile(r'"(_discreet_(row|key_\w+|nth_\w+)|r\d?)" <= \d+|bit_count\(f & \("bit" - 1\)\) < \d+')

    def unbounded(self: Memory, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        return original(self, ranks.sub("TRUE", text), seconds)

    monkeypatch.setattr(Memory, "execute", unbounded)
    monkeypatch.setattr(memory, "selection", everything)
    assert f"one unit moves it by {moved} " in found_in(WORLDS[world], asked, [rows])


def test_ranks_by_the_place_of_rows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a hash of each row's place in the table: removing one unit changes which rows of all others count."""

    def by_place(*given: Any) -> str:
        numbered = f"SELECT *, hash(row_number() OVER ()) AS place FROM ({everything(*given)})"
        rank = "row_number() OVER (PARTITION BY _discreet_unit ORDER BY place)"
        return f"SELECT * EXCLUDE (place) REPLACE ({rank} AS _discreet_row) FROM ({numbered})"

    world = WORLDS["one row"]
    asked = "SELECT COUNT_IF(flag) FROM visits"
    rows = [row(person, flag=flag) for person in range(12) for flag in (True, False, True, False)]
    assert found_in(world, asked, [rows]) == "nothing"
    monkeypatch.setattr(memory, "selection", by_place)
    assert re.search(r"one unit moves it by [2-9] ", found_in(world, asked, [rows]))


def test_a_question_that_fails_on_one_side_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = dataclasses.replace(FUNCTIONS["ABS"], form=form("CASE WHEN {0} > 9 THEN error('too much') ELSE {0} END"))
    monkeypatch.setitem(FUNCTIONS, "ABS", failing)
    asked = "SELECT SUM(CLAMP(ABS(cost), 0, 5)) FROM visits"
    assert found_in(TWO, asked, [[row(1, cost=3)]]) == "nothing"
    assert found_in(TWO, asked, [[row(1)]]) == "noise is drawn 0 times on one side, 1 time on the other"


def test_a_charge_for_less_than_the_declared_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Cost.noise

    def halved(self: Cost, sensitivity: Sensitivity, share: Fraction) -> Any:
        return original(self, Sensitivity(sensitivity.l1 / 2, sensitivity.l2_squared / 4), share)

    with Replay(TWO.policy) as auditor:
        assert covered(auditor.run(COUNTED, DATA, epsilon=1))
        monkeypatch.setattr(Cost, "noise", halved)
        assert not covered(auditor.run(COUNTED, DATA, epsilon=1))


def test_reports_say_how_much_of_the_sensitivity_is_used() -> None:
    report = replay(TWO.policy, "SELECT COUNT(*) FROM visits", DATA, WITHOUT_2, epsilon=1)
    assert (report.same, report.calls, report.l1) == (True, 1, Fraction(1, 2))
    assert str(report) == "SELECT COUNT(*) FROM visits: no difference (1 calls, 50% of the sensitivity)"


def test_refusals_are_the_same_on_both_sides() -> None:
    report = replay(
        TWO.policy, "SELECT note, COUNT(*) AS x, nothing FROM visits GROUP BY note", DATA, WITHOUT_1, epsilon=1
    )
    assert (report.same, report.calls, report.l1) == (True, 0, Fraction(0))


def test_engines_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MOST_ENGINES", 2)
    with Replay(TWO.policy) as auditor:
        for _ in range(2):
            for neighbour in (WITHOUT_1, WITHOUT_2):
                assert auditor.compare(COUNTED, DATA, neighbour, epsilon=1).calls == 2


# neighbours


def test_neighbours_lack_one_unit_with_all_its_rows() -> None:
    policy = WORLDS["two rows"].policy
    rows: list[Row] = [{"person": 1, "ward": "A"}, {"person": None}, {"person": 2}, {"person": 1}, {"person": "1"}, {}]
    found = list(neighbours(policy, {"visits": rows}))
    assert units(policy, {"visits": rows}) == ["1", "2"]
    assert found == [
        {"visits": [{"person": None}, {"person": 2}, {}]},
        {"visits": [rows[0], {"person": None}, {"person": 1}, {"person": "1"}, {}]},
    ]
    assert list(neighbours(policy, {})) == []
    assert list(neighbours(policy, {"visits": [{"person": None}]})) == []


def test_neighbours_lack_one_row_where_rows_are_units() -> None:
    policy = WORLDS["rows are units"].policy
    rows: list[Row] = [{"ward": "A"}, {"ward": "A"}, {"ward": None, "person": 1}]
    assert units(policy, {"visits": rows}) == []
    assert list(neighbours(policy, {"visits": rows})) == [
        {"visits": rows[1:]},
        {"visits": [rows[0], rows[2]]},
        {"visits": rows[:2]},
    ]


def test_units_are_found_along_foreign_keys() -> None:
    policy = read(ACCOUNTS_OF)
    data: Data = {
        "branches": [{"branch": "x", "owner": "p"}, {"branch": "y", "owner": "q"}, {"branch": "z", "owner": None}],
        "accounts": [{"id": 1, "branch": "x"}, {"id": 2, "branch": "y"}, {"id": 3, "branch": "z"}, {"id": 4}],
        "visits": [{"account": account} for account in (1, 2, 3, 4, 5, None)],
        "wards": [{"ward": "A"}],
    }
    visits = policy.tables["visits"]
    assert [claimants(policy, data, visits, visit) for visit in data["visits"]] == [{"p"}, {"q"}, *[set()] * 4]
    assert claimants(policy, data, policy.tables["wards"], data["wards"][0]) == set()
    assert units(policy, data) == ["p", "q"]
    assert without(policy, data, "p") == {
        "branches": data["branches"][1:],
        "accounts": data["accounts"][1:],
        "visits": data["visits"][1:],
        "wards": data["wards"],
    }
    assert without(policy, data, "nobody") == data
    assert [len(neighbour["visits"]) for neighbour in neighbours(policy, data)] == [5, 5]
    check_once(policy, data, ["SELECT COUNT(*), SUM(cost) FROM visits"])


def test_units_are_those_of_the_engine() -> None:
    policy = read(LONG_TAIL.replace("number =", 'person = { type = "integer" }\nnumber ='))
    data = {"visits": [{"person": person, "number": 1} for person in (1, "01", " 1", 1.0)]}
    with Replay(policy) as auditor:
        (call,) = auditor.run("SELECT COUNT(DISTINCT person) FROM visits", data, epsilon=1).calls
    assert call.exact == (len(units(policy, data)),)
