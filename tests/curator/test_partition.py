"""Parts pay side by side: no unit is in more parts than was said, and what it loses in all was charged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

import discreet
from discreet.accounting import Pure, rho_for
from discreet.answers.call import Call
from discreet.answers.fluent import Rows
from discreet.curator.curator import Curator
from discreet.curator.refreshing import refresh
from discreet.engines.memory import Memory
from discreet.errors import BudgetExhausted, Refused
from discreet.lab.hospital import build
from discreet.sql.part import part_of
from tests.budget import later
from tests.curator.children import heard, start
from tests.curator.parts import (
    HEAD,
    OTHERS,
    VISITS,
    WORLDS,
    Session,
    Step,
    Transcript,
    all_parts,
    conversation,
    demand_theorem,
    inside,
    made,
)
from tests.sql.worlds import ledger_of, opened


@pytest.mark.parametrize("world", WORLDS)
def test_a_unit_loses_no_more_than_was_charged(world: str) -> None:
    chosen = WORLDS[world]
    random = Random(f"conversation {world}")
    data = made(random, chosen)
    transcript = conversation(chosen.policy, data, inside(chosen), random, 6 if chosen.unit == "row" else 12)
    found = demand_theorem(chosen, data, transcript)
    assert any(found), "no unit is in any part that was asked about: nothing was tested"


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", range(4))
def test_many_units_lose_no_more_than_was_charged(seed: int, world: str) -> None:
    chosen = WORLDS[world]
    random = Random(f"long conversation {world} {seed}")
    data = made(random, chosen)
    demand_theorem(chosen, data, conversation(chosen.policy, data, inside(chosen), random, 60))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("most", [2, *(pytest.param(most, marks=pytest.mark.slow) for most in (1, 3))])
def test_every_unit_is_in_as_many_parts_as_it_has_keys_up_to_the_number_that_was_said(world: str, most: int) -> None:
    """Every part once: the bound is met, and it holds."""
    chosen = WORLDS[world]
    data = made(Random(f"all parts {world}"), chosen)
    policy = chosen.policy
    transcript: Transcript = []
    with Session(policy, data) as session:
        for part in all_parts(policy):
            if part.most == most and part.column == "ward":
                step = Step("SELECT COUNT(*) FROM visits", part, Fraction(1))
                transcript.append((step, session.ask(step)))
        spent = session.curator.budget().spent
    found = demand_theorem(chosen, data, transcript)
    expected = min(most, 5)
    assert policy.budget.delta is not None or spent.epsilon == expected
    if policy.budget.delta is not None:
        assert spent.rho == pytest.approx(expected * rho_for(1, policy.budget.delta / 2), rel=1e-12)
    reached = 1 if world in ("one row", "rows are units") else most
    assert max(map(len, found)) == min(reached, 4)


def test_the_assignment_is_made_from_unfiltered_rows() -> None:
    """A condition leaves the parts as they are: no unit moves to another one when its first rows are filtered away."""
    world = WORLDS["four rows"]
    policy, data = world.policy, made(Random("unfiltered"), world)
    texts = [f"SELECT COUNT(*) FROM visits WHERE cost {test}" for test in (">= 0", "> 1", "< 1", "IS NULL", "= 10")]
    with Session(policy, data) as session:
        steps = [
            Step(text, part, Fraction(1))
            for text in texts
            for part in all_parts(policy)
            if part.most == 1 and part.column == "ward"
        ]
        transcript = [(step, session.ask(step)) for step in steps]
        assert session.curator.budget().spent.epsilon == len(texts)
    demand_theorem(world, data, transcript)


# what reaches outside

OUTSIDE: Final = (
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people AS visits",
    "SELECT COUNT(*) FROM visits FULL JOIN people ON visits.person = people.person",
    "SELECT COUNT(*) FROM visits RIGHT JOIN people ON visits.person = people.person",
    "SELECT COUNT(*) FROM people LEFT JOIN visits ON visits.person = people.person",
    "SELECT COUNT(*) FROM people FULL JOIN visits ON visits.person = people.person",
    (
        "SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person"
        " RIGHT JOIN people AS q ON q.person = people.person"
    ),
    "SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward FROM people) AS t",
    "SELECT COUNT(*) FROM (SELECT ward FROM people UNION ALL SELECT ward FROM visits) AS t",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(age) FROM people)",
    "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT sex FROM people GROUP BY sex HAVING COUNT(*) > 1)",
    (
        "SELECT COUNT(*) FROM visits WHERE cost >"
        " (SELECT AVG(n) FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS t)"
    ),
    "SELECT (SELECT COUNT(*) FROM people) AS n, COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > (SELECT COUNT(*) FROM people)",
    "WITH visits AS (SELECT * FROM people) SELECT COUNT(*) FROM visits",
    "WITH p AS (SELECT * FROM people) SELECT COUNT(*) FROM p",
    "WITH p AS (SELECT COUNT(*) AS n FROM people) SELECT n FROM p",
    "WITH p AS (SELECT COUNT(*) AS n FROM people) SELECT COUNT(*) FROM visits",
    "SELECT SUM(beds) FROM wards WHERE beds > (SELECT COUNT(*) FROM people)",
    "SELECT beds, (SELECT COUNT(*) FROM people) FROM wards",
    "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM people GROUP BY person) AS t",
    "SELECT COUNT(*) FROM people JOIN wards ON people.ward = wards.ward",
    "SELECT COUNT(*) FROM people JOIN (SELECT COUNT(*) AS n FROM visits) AS t ON people.age = t.n",
)


@pytest.fixture(scope="module")
def four() -> Iterator[Curator]:
    """Noise-free, one for all tests that leave nothing behind."""
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("four"), world)) as curator:
        yield curator


@pytest.mark.parametrize("sql", OUTSIDE)
def test_what_reaches_outside_is_refused(four: Curator, sql: str) -> None:
    part = part_of(four.policy, "visits", "ward", "A", 1)
    with suppress(Refused):
        four.preview(sql, epsilon=1)
    before = four.count()
    for act in (four.answer, four.preview_of):
        with pytest.raises(Refused) as refused:
            act(Call(sql=sql, part=part, epsilon=1))
        assert refused.value.code in ("outside-part", "join-off-unit"), str(refused.value)
        assert refused.value.fix
    assert four.count() == before


def test_most_of_what_is_refused_is_refused_for_reaching_outside(four: Curator) -> None:
    part = part_of(four.policy, "visits", "ward", "A", 1)
    codes = []
    for sql in OUTSIDE:
        with pytest.raises(Refused) as refused:
            four.preview_of(Call(sql=sql, part=part, epsilon=1))
        codes.append(refused.value.code)
    assert codes.count("outside-part") >= len(OUTSIDE) - 1


def test_a_question_about_public_tables_is_free(four: Curator) -> None:
    part = part_of(four.policy, "visits", "ward", "A", 1)
    answer = four.answer(Call(sql="SELECT beds FROM wards ORDER BY beds", part=part))
    assert (answer.rows, answer.loss) == ([(1,), (2,)], Pure(0))


# fragments of text that try to slip through

WHERE: Final = (
    "cost > 1",
    "TRUE) OR (TRUE",
    "TRUE) UNION ALL (SELECT COUNT(*) FROM people WHERE (TRUE",
    "TRUE) UNION ALL SELECT COUNT(*) FROM visits WHERE (TRUE",
    "cost > (SELECT AVG(cost) FROM visits)",
    "cost > (SELECT AVG(age) FROM people)",
    "EXISTS (SELECT 1 FROM people)",
    "cost > 1 -- and nothing else",
    "cost > 1 /* ) */",
    "TRUE) /* ",
    "TRUE); SELECT COUNT(*) FROM people; SELECT (1 = 1",
    "TRUE) GROUP BY ward HAVING (COUNT(*) > 0",
    "ward = 'A' OR ward <> 'A' OR ward IS NULL",
    "flag = (SELECT COUNT(*) > 3 FROM visits WHERE flag)",
    "visits.ward IN (SELECT ward FROM wards)",
    "ward IN (WITH visits AS (SELECT * FROM people) SELECT sex FROM visits GROUP BY sex)",
    '"_discreet_row" < 99',
    '"_discreet_key_ward" > 1',
    "person > 0",
    "ward = '\n) OR (1 = 1",
    "\u2028TRUE",
    "cost > $limit",
)
ITEMS: Final = (
    "COUNT(*)",
    "COUNT(*) FROM people --",
    "COUNT(*) FROM visits --",
    "COUNT(*) FROM visits, people --",
    "(SELECT COUNT(*) FROM people), COUNT(*)",
    "(SELECT COUNT(*) FROM visits) + COUNT(*)",
    "SUM(cost) FILTER (WHERE cost > (SELECT COUNT(*) FROM people))",
    "COUNT(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) AS t --",
    "COUNT(*) FROM people RIGHT JOIN visits ON people.person = visits.person --",
    "COUNT(*) FROM people LEFT JOIN visits ON people.person = visits.person --",
    "COUNT(*) FROM (SELECT visits.ward FROM visits RIGHT JOIN visits AS b ON visits.person = b.person) AS t --",
    "MAX(cost)",
    "COUNT(DISTINCT person)",
    "SUM(LENGTH(note))",
)
ASSIGN: Final = (
    "cost * 2",
    "1 FROM people) AS t --",
    "(SELECT COUNT(*) FROM people)",
    "(SELECT AVG(cost) FROM visits)",
    "SUM(cost) OVER (PARTITION BY person)",
    "SUM(cost) OVER ()",
    "1 FROM visits UNION ALL SELECT *, 1",
)
ON: Final = (
    "visits.person = people.person",
    "TRUE",
    "visits.person = people.person) RIGHT JOIN people AS q ON (q.person = people.person",
    "visits.person = people.person FULL JOIN people AS q ON q.person = people.person",
    "visits.person = people.person LEFT JOIN people AS q ON q.person = people.person",
    "visits.person = people.person OR TRUE",
    "visits.person = people.person AND age > (SELECT AVG(cost) FROM visits)",
    "visits.person = people.person AND age > (SELECT AVG(age) FROM people)",
)


def tricked(rows: Rows, random: Random) -> Step | None:
    """A question put together from such fragments; None if its steps are refused."""
    with suppress(Refused):
        for _ in range(random.choice((0, 1, 1, 2))):
            rows = rows.where(random.choice(WHERE))
        if random.random() < 0.3:
            rows = rows.assign(extra=random.choice(ASSIGN))
        if random.random() < 0.4:
            other = rows._asks.table("people")
            other = other.where("age > 1") if random.random() < 0.5 else other
            on = random.choice((None, *ON))
            rows = rows.join(other, on, random.choice(("inner", "left", "right", "full")))
        if random.random() < 0.3:
            rows = rows.group_by(random.choice(("visits.ward", "flag", "cost > 3", "ward, flag")))
        if random.random() < 0.2:
            rows = rows.bounded(max_rows=random.choice((1, 2)))
        params = {"limit": 3} if "$limit" in rows.sql("COUNT(*)") else None
        return Step(rows.call(random.choice(ITEMS)).sql, rows._steps.part, Fraction(1), params)
    return None


@pytest.mark.long
@pytest.mark.parametrize("seed", later(range(4)))
def test_no_text_slips_through(seed: int) -> None:
    """Whatever is answered about a part fulfils the theorem; whatever is refused charges nothing."""
    world = WORLDS["four rows"]
    random = Random(f"tricks {seed}")
    policy, data = world.policy, made(random, world)
    transcript: Transcript = []
    refusals = set()
    with Session(policy, data) as session:
        keys = ("A", "B", "C", None)
        parts = [session.curator.table("visits").partition("ward")[key] for key in keys]
        for _ in range(250):
            step = tricked(parts[0], random)
            if step is None:
                continue
            before = session.curator.count()
            try:
                found = [(replaced(step, rows), session.ask(replaced(step, rows))) for rows in parts]
            except Refused as refused:
                refusals.add(refused.code)
                assert session.curator.count() == before
                continue
            transcript += [(asked, told) for asked, told in found if told.passed]
            if len(transcript) > (100 if seed else 40):
                break
    assert any(demand_theorem(world, data, transcript))
    assert len({step.sql for step, _ in transcript}) >= 10
    assert {"outside-part", "syntax"} <= refusals


def replaced(step: Step, rows: Rows) -> Step:
    return Step(step.sql, rows._steps.part, step.epsilon, step.params)


# kept answers, and parts that are not mistaken for each other


def test_a_preview_tells_what_would_be_charged(four: Curator) -> None:
    """Another part has paid more already: asking is free, as often as that lasts."""
    parts = four.table("visits").partition("ward")
    parts["A"].count(epsilon=1, fresh=True)
    ahead = parts["B"].preview.count(epsilon=0.5)
    assert ahead.loss == Pure(Fraction(1, 2))
    assert ahead.notes[0].startswith("charged now: ε 0,")
    assert parts["B"].count(epsilon=0.5, fresh=True).loss == Pure(0)


def test_a_preview_of_a_part_tells_how_often_it_fits(tmp_path: Path) -> None:
    with discreet.open(build(tmp_path)) as hospital:
        parts = hospital.table("visits").partition("ward")
        parts["ICU"].count(rho=0.002)
        whole = hospital.table("visits").preview.count(rho=0.001).more
        part = next(part for name, part in parts.items() if name != "ICU").preview.count(rho=0.001).more
    assert whole is not None
    assert part == whole + 2


def test_a_preview_of_a_part_makes_no_copy(tmp_path: Path) -> None:
    with discreet.open(build(tmp_path)) as hospital:
        hospital.table("visits").partition("ward")["ICU"].preview.count(epsilon=0.1)
        assert not list(tmp_path.rglob("*.duckdb"))


def test_a_kept_answer_about_a_part_is_free(four: Curator) -> None:
    rows = four.table("visits").partition("ward", parts=2)["B"].where("cost > 2")
    first = rows.count(epsilon=1)
    again = rows.count(epsilon=1)
    less = rows.count(epsilon=0.5)
    assert (first.cached, again.cached, less.cached) == (False, True, True)
    assert (again.loss, less.loss, again.cost) == (Pure(0), Pure(0), Pure(1))
    assert first.rows == again.rows == less.rows
    assert not rows.count(epsilon=2).cached


def test_what_was_free_is_kept_at_its_cost() -> None:
    """A part that is asked second costs nothing, and its answer is as good as the first one's."""
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("kept"), world)) as curator:
        parts = curator.table("visits").partition("ward")
        parts["A"].count(epsilon=1)
        second = parts["B"].count(epsilon=1)
        assert (second.loss, second.cost) == (Pure(0), Pure(1))
        assert parts["B"].count(epsilon=1).cached
        assert parts["B"].preview.count(epsilon=1).cached
        assert not parts["B"].preview.count(epsilon=1.5).cached
        assert curator.budget().spent.epsilon == 1


def test_parts_are_not_mistaken_for_each_other() -> None:
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("mistaken"), world)) as curator:
        visits = curator.table("visits")
        asked = [
            visits,
            visits.where("ward = 'A'"),
            visits.partition("ward")["A"],
            visits.partition("ward")["B"],
            visits.partition("ward")[None],
            visits.partition("ward", parts=2)["A"],
            visits.partition("ward", parts=3)["A"],
            visits.partition("room")[1],
            visits.partition("flag")[True],
        ]
        answers = [rows.count(epsilon=1) for rows in asked]
        assert not any(answer.cached for answer in answers)
        assert [answer.loss for answer in answers] == [Pure(cost) for cost in (1, 1, 1, 0, 0, 1, 1, 1, 1)]
        assert all(rows.count(epsilon=1).cached for rows in asked)


def test_partitions_of_two_columns_add_up() -> None:
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("two"), world)) as curator:
        visits = curator.table("visits")
        for key in visits.partition("ward"):
            visits.partition("ward")[key].count(epsilon=1)
        for key in visits.partition("room"):
            visits.partition("room")[key].count(epsilon=1)
        assert curator.budget().spent.epsilon == 2


def test_two_tables_with_a_column_of_the_same_name_add_up() -> None:
    """A part of one table is no other part of the other: it is paid in full."""
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("tables"), world)) as curator:
        visits, people = (curator.table(table).partition("ward") for table in ("visits", "people"))
        losses = [rows.count(epsilon=1).loss for rows in (visits["A"], people["B"], visits["C"], people["D"])]
        assert losses == [Pure(1), Pure(1), Pure(0), Pure(0)]


def test_partitions_into_more_and_into_fewer_parts_add_up() -> None:
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("numbers"), world)) as curator:
        twice, once = (curator.table("visits").partition("ward", parts=parts) for parts in (2, 1))
        losses = [rows.count(epsilon=1).loss for rows in (twice["A"], twice["B"], once["C"], once["D"], twice["C"])]
        assert losses == [Pure(1), Pure(1), Pure(1), Pure(0), Pure(0)]


def test_a_partition_after_where() -> None:
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("where"), world)) as curator:
        visits = curator.table("visits")
        a = visits.where("cost > $least", least=1).partition("ward")["A"]
        b = visits.partition("ward")["A"].where("cost > $least", least=1)
        assert a.count(epsilon=1).rows == b.count(epsilon=1).rows
        assert b.count(epsilon=1).cached
        parts = visits.where("cost > 1").partition("ward")
        parts["B"].count(epsilon=1)
        visits.where("cost < 1").partition("ward")["B"].count(epsilon=1)
        assert curator.budget().spent.epsilon == 2


def test_parts_add_up_to_the_whole_where_each_unit_has_one_key() -> None:
    world = WORLDS["one row"]
    with opened(world.policy, made(Random("whole"), world)) as curator:
        visits = curator.table("visits")
        parts = visits.partition("ward")
        assert sum(rows.count(epsilon=1).rows[0][0] for rows in parts.values()) == visits.count(epsilon=1).rows[0][0]


def test_parts_that_are_asked_with_an_error_are_paid_side_by_side() -> None:
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("error"), world)) as curator:
        parts = curator.table("visits").partition("ward")
        first = parts["A"].count(error=20)
        second = parts["B"].count(error=20)
        assert first.loss == first.cost == second.cost
        assert second.loss == Pure(0)


def test_an_error_is_reachable_where_the_part_costs_nothing() -> None:
    world = WORLDS["four rows"]
    policy = world.policy
    engine = Memory(policy, {})
    with ledger_of(policy, generous=False) as ledger, Curator(policy, ledger, engine=engine) as curator:
        parts = curator.table("visits").partition("ward")
        parts["A"].count(epsilon=3)
        assert parts["B"].count(epsilon=1).loss == Pure(0)
        assert parts["C"].count(error=30).loss == Pure(0)


def test_a_part_stays_within_the_budget() -> None:
    policy = WORLDS["four rows"].policy
    engine = Memory(policy, {})
    with ledger_of(policy, generous=False) as ledger, Curator(policy, ledger, engine=engine) as curator:
        parts = curator.table("visits").partition("ward", parts=2)
        parts["A"].count(epsilon=1.5)
        parts["B"].count(epsilon=1.5)
        parts["C"].count(epsilon=1.5)
        with pytest.raises(BudgetExhausted) as refused:
            parts["C"].sum("cost", epsilon=0.1)
        assert refused.value.fix
        with pytest.raises(BudgetExhausted):
            curator.table("visits").count(epsilon=0.1)


def test_many_threads_ask_about_parts() -> None:
    """Each part is asked as often, so that in all it costs as much as one of them."""
    world = WORLDS["four rows"]
    with opened(world.policy, made(Random("threads"), world)) as curator:
        parts = curator.table("visits").partition("ward")

        def work(key: str) -> None:
            for _ in range(5):
                parts[key].count(epsilon=0.5, fresh=True)

        workers = [threading.Thread(target=work, args=(key,)) for key in "ABCD"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert curator.budget().spent.epsilon == 2.5
        assert len(curator.entries()) == 20


# what is no partition, and what is no part


@pytest.mark.parametrize(
    ("table", "column", "code"),
    [
        ("visits", "cost", "unknown-column"),
        ("visits", "person", "unknown-column"),
        ("visits", "nowhere", "unknown-column"),
        ("visits", "", "unknown-column"),
        ("visits", 7, "unknown-column"),
        ("visits", ["ward"], "unknown-column"),
        ("visits", None, "unknown-column"),
        ("visits", 'ward" = 1 --', "unknown-column"),
        ("people", "age", "unknown-column"),
        ("wards", "ward", "unknown-table"),
    ],
)
def test_what_is_no_partition(four: Curator, table: str, column: Any, code: str) -> None:
    with pytest.raises(Refused) as refused:
        four.table(table).partition(column)
    assert refused.value.code == code
    assert refused.value.fix


@pytest.mark.parametrize("parts", [0, -1, True, 1.0, "2", None, [1]])
def test_a_unit_is_in_a_whole_number_of_parts(four: Curator, parts: Any) -> None:
    with pytest.raises(Refused, match="parts must be"):
        four.table("visits").partition("ward", parts=parts)


@pytest.mark.parametrize(
    ("column", "key"),
    [
        ("ward", "Z"),
        ("ward", "a"),
        ("ward", "A "),
        ("ward", 1),
        ("ward", b"A"),
        ("ward", ["A"]),
        ("ward", "A' OR '1' = '1"),
        ("room", "1"),
        ("room", 1.0),
        ("room", True),
        ("room", 4),
        ("room", None),
        ("flag", 1),
        ("flag", "true"),
        ("flag", None),
        ("day", "2026-01-01"),
        ("day", datetime(2026, 1, 1)),
        ("day", date(2026, 1, 3)),
        ("note", None),
        ("note", 5),
    ],
)
def test_what_is_no_part(four: Curator, column: str, key: Any) -> None:
    """One part has one key: no two keys that are equal in the engine may have lines of their own."""
    before = four.count()
    with pytest.raises(Refused) as refused:
        four.table("visits").partition(column)[key]
    assert refused.value.code == "unknown-part"
    assert four.count() == before


def test_the_parts_of_a_partition(four: Curator) -> None:
    visits = four.table("visits")
    assert list(visits.partition("ward")) == ["A", "B", "C", "D", None]
    assert list(visits.partition("flag")) == [False, True]
    assert list(visits.partition("day")) == [date(2026, 1, 1), date(2026, 1, 2)]
    assert (len(visits.partition("room")), list(visits.partition("room"))) == (3, [1, 2, 3])
    assert "A" in visits.partition("ward")
    with pytest.raises(Refused, match="private"):
        list(visits.partition("note"))
    assert repr(visits.partition("ward")) == "<partition of visits by ward: each unit is in one part>"
    assert "at most 2 parts" in repr(visits.partition("ward", parts=2))
    assert "ward = 'A'" in repr(visits.partition("ward")["A"])


def test_a_key_that_is_none_is_not_in_the_partition(four: Curator) -> None:
    parts = four.table("visits").partition("ward")
    assert "Z" not in parts
    assert parts.get("Z") is None


def test_more_parts_than_anybody_has(four: Curator) -> None:
    assert four.table("visits").partition("ward", parts=10**40)["A"].count(epsilon=1).rows


def test_a_key_that_no_text_can_hold(four: Curator) -> None:
    with pytest.raises(Refused):
        four.table("visits").partition("note")["\ud800"].count(epsilon=1)


@pytest.mark.parametrize("key", ["", "'", '"', "x' OR TRUE --", "Å", "A\u030a", "🦆", "a\x00b", "%", "x\ny"])
def test_odd_keys_are_keys(four: Curator, key: str) -> None:
    found = four.table("visits").partition("note", parts=2)[key].count(epsilon=1, fresh=True)
    assert (found.rows[0][0] > 0) == (key in ("", "Å"))


def test_only_a_table_is_divided(four: Curator) -> None:
    visits = four.table("visits")
    for rows in (visits.join("people"), visits.partition("ward")["A"]):
        with pytest.raises(Refused, match="statement-not-allowed"):
            rows.partition("room")
    for grouped in (visits.partition("ward")["A"], four.table("people").group_by("sex")):
        with pytest.raises(Refused, match="statement-not-allowed"):
            four.table("people").join(grouped)


def test_every_step_keeps_the_part(four: Curator) -> None:
    part = four.table("visits").partition("ward")["A"]
    steps = [part.where("cost > 1"), part.group_by("flag"), part.assign(y="cost"), part.join("people")]
    steps += [part.bounded(max_rows=1), part.preview, part["cost"].rows]
    assert part._steps.part is not None
    assert {step._steps.part for step in steps} == {part._steps.part}
    assert {step.call("COUNT(*)").part for step in steps} == {part._steps.part}


def test_a_part_joined_to_other_rows(four: Curator) -> None:
    part = four.table("visits").partition("ward")["A"]
    assert part.join("people").count(epsilon=1).rows
    assert part.join("people", how="left").count(epsilon=1).rows
    for joined in (part.join("people", how="right"), part.join("people", how="full")):
        with pytest.raises(Refused) as refused:
            joined.count(epsilon=1)
        assert refused.value.code == "outside-part"


def test_the_ledger_and_the_answer_name_the_part(four: Curator) -> None:
    rows = four.table("visits").partition("ward", parts=3)["B"]
    answer = rows.count(epsilon=1, fresh=True)
    assert answer.notes[0] == "only the part with ward = 'B'"
    assert four.entries()[-1].question.endswith("-- of visits, ward = 'B'")
    assert rows.preview.count(epsilon=1).notes[0] == "only the part with ward = 'B'"


def test_parts_of_made_up_rows(four: Curator) -> None:
    """Free, whatever was asked, and with the refusals of the real ones."""
    with four.dummy(rows=200) as dummy:
        parts = dummy.table("visits").partition("ward")
        for key in parts:
            answer = parts[key].group_by("flag").count(epsilon=1)
            assert len(answer.rows) == 2
            assert answer.cost == Pure(1)
        assert dummy.budget().spent.epsilon == 0
        with pytest.raises(Refused) as refused:
            dummy.answer(Call(sql=OUTSIDE[0], part=parts["A"]._steps.part, epsilon=1))
        assert refused.value.code == "outside-part"


# on disk


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(
        "person,ward,room,flag,day,note,cost\n"
        + "".join(f"{i % 40},{'ABCD'[i % 3]},{1 + i % 3},true,2026-01-01,x,{i % 10}\n" for i in range(120))
    )
    (tmp_path / "people.csv").write_text("person,age,sex,ward\n" + "".join(f"{i},{i},F,A\n" for i in range(40)))
    (tmp_path / "wards.csv").write_text("ward,beds\nA,1\nB,2\n")
    path = tmp_path / "world.toml"
    analysts = "[analysts.ann]\nepsilon = 1\n"
    tables = VISITS.format(unit="person", limits="max_rows = 4") + OTHERS
    path.write_text("max_cost = 10\n" + HEAD.format(delta="") + tables + analysts)
    return path


def test_two_curators_share_the_lines(policy_file: Path) -> None:
    with discreet.open(policy_file) as one, discreet.open(policy_file) as other:
        one.table("visits").partition("ward")["A"].count(epsilon=1)
        assert other.table("visits").partition("ward")["A"].count(epsilon=1).cached
        assert other.table("visits").partition("ward")["B"].count(epsilon=1).loss == Pure(0)
        assert one.table("visits").partition("ward")["B"].sum("cost", epsilon=1).loss == Pure(1)
        assert other.table("visits").partition("ward")["A"].sum("cost", epsilon=1).loss == Pure(0)
        assert one.budget() == other.budget()
        assert one.budget().spent.epsilon == 2


def test_lines_survive_closing(policy_file: Path) -> None:
    with discreet.open(policy_file) as curator:
        curator.table("visits").partition("ward")["A"].count(epsilon=1)
    with discreet.open(policy_file) as curator:
        assert curator.table("visits").partition("ward")["B"].count(epsilon=1).loss == Pure(0)
        assert curator.table("visits").partition("ward")["A"].count(epsilon=1, fresh=True).loss == Pure(1)


@pytest.mark.long
def test_other_processes_share_the_lines(policy_file: Path) -> None:
    """They ask about B while this one asks about A: each time nothing, but for the first of both."""
    with discreet.open(policy_file) as curator:
        curator.table("visits").partition("ward")["A"].count(epsilon=1)
        found, _ = heard(start("part", policy_file, "B", "1"))
        assert found == {"loss": 0.0, "spent": 1.0, "cached": False}
        found, _ = heard(start("part", policy_file, "A", "1"))
        assert found["cached"]
        assert curator.table("visits").partition("ward")["B"].count(epsilon=1).cached
        assert curator.budget().spent.epsilon == 1


def test_the_share_of_whoever_asks_pays(policy_file: Path) -> None:
    with discreet.open(policy_file) as curator:
        parts = curator.table("visits").partition("ward")
        parts["A"].count(epsilon=0.75, analyst="ann")
        parts["B"].count(epsilon=0.75, analyst="ann")
        assert curator.budget("ann").spent.epsilon == 0.75
        with pytest.raises(BudgetExhausted):
            parts["B"].sum("cost", epsilon=0.5, analyst="ann")
        assert curator.budget("ann").spent.epsilon == 0.75


def test_new_data_are_paid_anew(policy_file: Path) -> None:
    """Units are divided again when the data change: the lines of the copy before are no discount."""
    with discreet.open(policy_file) as curator:
        parts = curator.table("visits").partition("ward")
        parts["A"].count(epsilon=1)
        refresh(curator.policy, "a new week")
        assert parts["B"].count(epsilon=1).loss == Pure(1)
        assert parts["A"].count(epsilon=1).loss == Pure(0)
        assert curator.budget().spent.epsilon == 2


def test_a_copy_that_is_made_anew_is_paid_anew(policy_file: Path) -> None:
    """Its sources, or its secret, may be others: who is in which part may have changed."""
    with discreet.open(policy_file) as curator:
        curator.table("visits").partition("ward")["A"].count(epsilon=1)
        (copy,) = (curator.policy.state / "data").glob("*.duckdb")
    copy.unlink()
    with discreet.open(policy_file) as curator:
        assert curator.table("visits").partition("ward")["B"].count(epsilon=1).loss == Pure(1)


def test_another_policy_over_the_same_rows_is_paid_anew(policy_file: Path) -> None:
    """More rows are read: a unit's keys are ranked among more."""
    with discreet.open(policy_file) as curator:
        curator.table("visits").partition("ward")["A"].count(epsilon=1)
    policy_file.write_text(policy_file.read_text().replace("max_rows = 4", "max_rows = 3"))
    with discreet.open(policy_file) as curator:
        assert curator.table("visits").partition("ward")["B"].count(epsilon=1).loss == Pure(1)


def test_what_is_on_record_says_cost_and_cost(policy_file: Path) -> None:
    with discreet.open(policy_file) as curator:
        parts = curator.table("visits").partition("ward")
        for key in "ABC":
            parts[key].count(epsilon=1)
        assert [(entry.loss, entry.cost) for entry in curator.entries()] == [
            (Pure(1), Pure(1)),
            (Pure(0), Pure(1)),
            (Pure(0), Pure(1)),
        ]
