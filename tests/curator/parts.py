"""Worlds whose units have rows in several parts, and the theorem: asked of a database and of all its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any, Final, Self

from discreet.accounting import Concentrated, Pure
from discreet.accounting.losses import Sensitivity
from discreet.accounting.part import Part
from discreet.answers.call import Call
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.exit.sampler import Sampler, add_noise, choose, select
from discreet.policy import Policy
from discreet.sql.part import part_of
from tests.sql.worlds import ledger_of, policy_of

Data = Mapping[str, Sequence[Mapping[str, Any]]]

# worlds

VISITS: Final = """
[tables.visits]
source = "visits.csv"
unit = "{unit}"
{limits}
[tables.visits.columns]
ward = {{ values = ["A", "B", "C", "D"], nullable = true }}
room = {{ values = [1, 2, 3] }}
flag = {{ type = "boolean" }}
day = {{ values = [2026-01-01, 2026-01-02] }}
note = {{ type = "text" }}
cost = {{ min = 0, max = 10, step = 0.5 }}
"""
OTHERS: Final = """
[tables.people]
source = "people.csv"
unit = "person"
max_rows = 2
[tables.people.columns]
age = { type = "integer", min = 0, max = 100 }
sex = { values = ["F", "M"] }
ward = { values = ["A", "B", "C", "D"] }
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { values = ["A", "B", "C", "D"] }
beds = { values = [1, 2] }
"""
ACCOUNTS: Final = """
[tables.accounts]
source = "accounts.csv"
unit = "person"
max_rows = 3
[tables.accounts.columns]
kind = { values = ["x", "y"] }
"""
HEAD: Final = '[budget]\nepsilon = 3\n{delta}[unit]\nname = "person"\n'


@dataclass(frozen=True)
class World:
    limits: str = "max_rows = 4"
    unit: str = "person"
    delta: str = ""

    @cached_property
    def policy(self) -> Policy:
        tables = [VISITS.format(unit=self.unit, limits=self.limits), OTHERS]
        if "->" in self.unit:
            tables.append(ACCOUNTS)
        return policy_of(*tables, head=HEAD.format(delta=self.delta))


WORLDS: Final[Mapping[str, World]] = {
    "four rows": World(),
    "one row": World("max_rows = 1"),
    "one group": World("max_rows = 4\nmax_groups = 1\nmax_rows_per_group = 2"),
    "foreign key": World("max_rows = 4", "account -> accounts.person"),
    "rows are units": World("", "row"),
    "with delta": World("max_rows = 3", delta="delta = 1e-4\n"),
}


def made(random: Random, world: World) -> Data:
    """A few units with rows of several keys, with NULL and undeclared ones, and more rows than are ever read."""
    visits: list[dict[str, Any]] = []
    for person in (1, 2, 3, None):
        for _ in range(random.choice((3, 5, 8)) if world.unit != "row" else 2):
            row: dict[str, Any] = {
                "ward": random.choice(("A", "B", "C", "D", None, "Z")),
                "room": random.choice((1, 2, 3, 3, 99, None)),
                "flag": random.choice((True, False, None)),
                "day": random.choice(("2026-01-01", "2026-01-02", "1999-01-01", None)),
                "note": random.choice(("x", "y", "", "Å", None)),
                "cost": random.choice((0, 0.5, 3, 10, 99, -1, None)),
            }
            who: dict[str, Any] = (
                {"account": f"{person}{random.choice('ab')}"} if "->" in world.unit else {"person": person}
            )
            who = {} if world.unit == "row" else who
            visits.append({**row, **who})
    random.shuffle(visits)
    people = [
        {"person": person, "age": random.choice((1, 30, 99, None)), "sex": random.choice("FM"), "ward": "A"}
        for person in (1, 2, 2, 3, 4)
    ]
    data: dict[str, Any] = {
        "visits": visits,
        "people": people,
        "wards": [{"ward": "A", "beds": 1}, {"ward": "B", "beds": 2}],
    }
    if "->" in world.unit:
        data["accounts"] = [{"account": f"{person}{x}", "person": person} for person in (1, 2, 3) for x in "ab"]
    return data


# questions that stay inside of a part of visits

ALONE: Final = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward",
    "SELECT flag, AVG(cost) FROM visits WHERE cost >= 0 GROUP BY flag",
    "SELECT room, COUNT(*) FROM visits WHERE ward IS NULL OR ward <> 'Z' GROUP BY room",
    "SELECT MEDIAN(cost), MODE(room) FROM visits",
    "SELECT VAR_POP(cost) FROM visits",
    "SELECT COUNT(*) FROM visits AS people",
    "WITH v AS (SELECT * FROM visits WHERE flag), w AS (SELECT * FROM v) SELECT COUNT(*) FROM w",
    "WITH visits AS (SELECT * FROM visits) SELECT SUM(cost) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
    "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 1)",
    "SELECT (SELECT COUNT(*) FROM visits WHERE flag) AS n, COUNT(*) FROM visits",
    "SELECT SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t",
    "SELECT beds, COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY beds",
    "SELECT COUNT(beds) FROM visits LEFT JOIN wards ON visits.ward = wards.ward",
)
OF_UNITS: Final = (
    "SELECT COUNT(DISTINCT person) FROM visits",
    "SELECT COUNT(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) AS t",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.person = b.person",
    "SELECT COUNT(*) FROM visits AS a FULL JOIN visits AS b ON a.person = b.person AND a.flag = b.flag",
    "SELECT sex, COUNT(*) FROM visits JOIN people ON visits.person = people.person GROUP BY sex",
    "SELECT SUM(age) FROM people JOIN visits ON visits.person = people.person",
    "SELECT SUM(age) FROM visits LEFT JOIN people ON visits.person = people.person",
    "SELECT SUM(age) FROM people RIGHT JOIN visits ON visits.person = people.person",
    "SELECT COUNT(*) FROM visits LEFT JOIN people USING (person) LEFT JOIN people AS q ON q.person = people.person",
    "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS t",
    (
        "SELECT SUM(age) FROM visits LEFT JOIN (SELECT person, MAX(age) AS age FROM people GROUP BY person) AS p"
        " ON visits.person = p.person"
    ),
    (
        "SELECT COUNT(*) FROM"
        " (SELECT cost, ROW_NUMBER() OVER (PARTITION BY person ORDER BY cost) AS nth FROM visits) AS t WHERE nth = 1"
    ),
    (
        "SELECT COUNT(*) FROM visits AS a JOIN (SELECT * FROM people UNION ALL SELECT * FROM people) AS b"
        " ON a.person = b.person"
    ),
)
WITH_DELTA: Final = (
    "SELECT note, COUNT(*) FROM visits GROUP BY note",
    "SELECT COUNT(DISTINCT note) FROM visits",
)


def inside(world: World) -> list[str]:
    return [
        *ALONE,
        *(OF_UNITS if world.unit == "person" else ()),
        *(WITH_DELTA if world.delta else ()),
    ]


# asking, and asking the same of a neighbour


@dataclass(frozen=True)
class Step:
    """One question: about a part, or about everything."""

    sql: str
    part: Part | None
    epsilon: Fraction
    params: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Passed:
    """What passed the door: the mechanism, how far one unit may move it, exact numbers, and what was seen of them."""

    mechanism: object
    sensitivity: Sensitivity | None
    exact: Any
    seen: Any


@dataclass
class Recorder:
    """Stands at the door. With a script it shows what was seen in another run."""

    script: Sequence[Passed] = ()
    passed: list[Passed] = field(default_factory=list)

    def note(self, mechanism: object, sensitivity: Sensitivity | None, exact: Any, draw: Callable[[], Any]) -> Any:
        told = self.script[len(self.passed)].seen if self.script else draw()
        self.passed.append(Passed(mechanism, sensitivity, exact, told))
        return told

    def add_noise(self, mechanism: Any, sensitivity: Sensitivity, exact: Sequence[int], bits: Any) -> Any:
        return self.note(mechanism, sensitivity, tuple(exact), lambda: add_noise(mechanism, sensitivity, exact, bits))

    def select(self, mechanism: Any, exact: Mapping[Any, int], bits: Any) -> Any:
        return self.note(mechanism, None, dict(exact), lambda: select(mechanism, exact, bits))

    def choose(self, mechanism: Any, scores: Sequence[Sequence[int]], bits: Any) -> Any:
        return self.note(mechanism, None, [list(group) for group in scores], lambda: choose(mechanism, scores, bits))


@dataclass(frozen=True)
class Told:
    """What came of it: what passed the door, what it was bought for and what it cost."""

    passed: tuple[Passed, ...]
    cost: tuple[Fraction, ...]
    increase: tuple[Fraction, ...]

    def exact(self) -> tuple[object, ...]:
        return tuple(passed.exact for passed in self.passed)


def amounts(loss: Pure | Concentrated) -> tuple[Fraction, ...]:
    return (loss.epsilon,) if isinstance(loss, Pure) else (loss.rho, loss.delta)


def plus(*several: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return tuple(map(sum, zip(*several, strict=True))) if several else (Fraction(0), Fraction(0))  # type: ignore[arg-type]


PLANS: Final[dict[int, dict[object, Any]]] = {}
"""A plan follows from text and policy alone: it is made once for a database and all its neighbours."""


class Session:
    """A curator over rows in memory, at whose door everything is noted; it can be told what noise to give."""

    def __init__(self, policy: Policy, data: Data) -> None:
        self.recorder = Recorder()
        self._stack = ExitStack()
        engine = Memory(policy, data)
        self._stack.callback(engine.close)
        ledger = self._stack.enter_context(ledger_of(policy))
        door = Sampler(
            lambda *given: self.recorder.add_noise(*given),
            lambda *given: self.recorder.select(*given),
            lambda *given: self.recorder.choose(*given),
        )
        self.curator = self._stack.enter_context(Curator(policy, ledger, engine=engine, sampler=door))
        self.curator._plans = PLANS.setdefault(id(policy), {})

    def ask(self, step: Step, script: Sequence[Passed] = ()) -> Told:
        self.recorder = Recorder(script)
        call = Call(sql=step.sql, part=step.part, epsilon=step.epsilon, params=step.params, fresh=True)
        answer = self.curator.answer(call)
        return Told(tuple(self.recorder.passed), amounts(answer.cost), amounts(answer.loss))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()


Transcript = list[tuple[Step, Told]]


def neighbours(world: World, data: Data) -> Iterator[Data]:
    """The database without one of its units, for each in turn, with all its rows in all tables."""
    for person in (1, 2, 3, 4):
        accounts = {row["account"] for row in data.get("accounts", ()) if row["person"] == person}
        yield {
            table: [row for row in rows if row.get("person") != person and row.get("account") not in accounts]
            for table, rows in data.items()
        }
    if world.unit == "row":
        for place in range(len(data["visits"])):
            yield {**data, "visits": [*data["visits"][:place], *data["visits"][place + 1 :]]}


def demand_theorem(world: World, data: Data, transcript: Transcript) -> list[set[Part]]:
    """For every unit: it is in no more parts than was said, and all that it loses was charged. Its parts."""
    found = []
    for neighbour in neighbours(world, data):
        changed: Transcript = []
        with Session(world.policy, neighbour) as session:
            for step, told in transcript:
                again = session.ask(step, told.passed)
                assert (again.cost, again.increase) == (told.cost, told.increase), step
                demand_sensitivity(told, again)
                if again.exact() != told.exact():
                    changed.append((step, told))
        for partition in {partition_of(step) for step, _ in transcript}:
            demand_charged(partition, transcript, changed)
        demand_charged(..., transcript, changed)
        found.append({step.part for step, _ in changed if step.part is not None})
    return found


def partition_of(step: Step) -> object:
    return None if step.part is None else (step.part.table, step.part.column, step.part.most)


def demand_charged(partition: object, transcript: Transcript, changed: Transcript) -> None:
    """What a unit lost in one partition, or in all (...), is no more than what was charged for it."""
    asked, lost = (
        [(step, told) for step, told in some if partition in (..., partition_of(step))]
        for some in (transcript, changed)
    )
    parts = {step.part for step, _ in lost}
    assert not isinstance(partition, tuple) or len(parts) <= partition[2], parts
    charged, cost = plus(*(told.increase for _, told in asked)), plus(*(told.cost for _, told in lost))
    assert all(a <= b for a, b in zip(cost, charged, strict=False)), (partition, lost)


def demand_sensitivity(told: Told, again: Told) -> None:
    assert len(told.passed) == len(again.passed)
    for a, b in zip(told.passed, again.passed, strict=True):
        assert a.mechanism == b.mechanism
        if a.sensitivity is not None:
            moved = [abs(x - y) for x, y in zip(a.exact, b.exact, strict=True)]
            assert sum(moved) <= a.sensitivity.l1
            assert sum(x * x for x in moved) <= a.sensitivity.l2_squared


def noisy(told: Told) -> int:
    """A number that follows from what was seen alone."""
    return sum(len(repr(passed.seen)) + sum(map(ord, repr(passed.seen))) for passed in told.passed)


def all_parts(policy: Policy) -> list[Part]:
    keys: Mapping[str, Sequence[Any]] = {
        "ward": ("A", "B", "C", "D", None),
        "room": (1, 2, 3),
        "flag": (True, False),
        "day": (date(2026, 1, 1),),
        "note": ("x", "", "Å", "nowhere"),
    }
    return [
        part_of(policy, "visits", column, key, most)
        for column, known in keys.items()
        for key in known
        for most in (1, 2, 3)
        if most == 1 or column in ("ward", "room")
    ]


def conversation(policy: Policy, data: Data, texts: Sequence[str], random: Random, length: int) -> Transcript:
    """Questions of which each, its part and its cost depend on the noisy answers before; some about everything."""
    transcript: Transcript = []
    parts: list[Part | None] = [*all_parts(policy), None]
    with Session(policy, data) as session:
        seen = 0
        for place in range(length):
            text = texts[(seen + random.randrange(len(texts))) % len(texts)]
            step = Step(text, parts[(seen + random.randrange(len(parts))) % len(parts)], Fraction(1 + seen % 7, 10))
            told = session.ask(step)
            transcript.append((step, told))
            seen = noisy(told) + place
        recorded = plus(*(amounts(entry.loss) for entry in session.curator.entries()))
        assert recorded == plus(*(told.increase for _, told in transcript))
    return transcript
