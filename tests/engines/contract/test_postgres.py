"""PostgreSQL as the engine: whose rows are bounded and how, what a role needs, and what happens when a server fails."""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from psycopg import errors

import discreet
from discreet.composed import sql
from discreet.curator.curator import Curator
from discreet.engines.copy import secret
from discreet.engines.memory import Memory
from discreet.engines.postgres_copy import session
from discreet.engines.postgres_engine import Postgres, UnansweredError
from discreet.engines.problems import SourceError
from discreet.engines.rehearsal import demand_runnable
from discreet.engines.rewriting import UnknownError
from discreet.engines.stopping import Stop
from discreet.errors import QueryFailed, Refused
from discreet.exit.sampler import Sampler
from discreet.owner.check import check
from discreet.policy import Policy, PolicyError
from tests.budget import later
from tests.engines.contract.worlds import NUMBERS, Recording, World, in_postgres, load, pushed
from tests.postgres.cluster import Cluster, running, until
from tests.sql import tiny
from tests.sql.worlds import ledger_of, quiet
from tests.threads import at_once

TEXT = """
name = "clinic"
[budget]
epsilon = 100
[unit]
name = "person"
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 4
max_groups = 2
max_rows_per_group = 2
[tables.visits.columns]
ward = { values = ["A", "B", "C"], nullable = true }
note = { type = "text" }
cost = { min = 0, max = 50, step = 0.5 }
flag = { type = "boolean" }
"""
CANARY = "canary7f3a"
LASTING = sql("SELECT COUNT(LOWER(note)) FROM visits")


def visits(units: int, each: int) -> list[dict[str, Any]]:
    """Units with more rows than they may have; some of them twice, and with NULL."""
    return [
        {
            "person": f"u{unit}",
            "ward": ("A", "B", "C", None, "Z")[(unit + row) % 5],
            "note": None if row == 3 else f"{CANARY} {row % 6}",
            "cost": float((unit * 7 + row * 3) % 60) - 5,
            "flag": (None, True, False)[row % 3],
        }
        for unit in range(units)
        for row in range(each)
    ]


@contextmanager
def opened(database: Cluster, folder: Path, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Policy, Postgres]]:
    """Every world has the same secret."""
    folder.mkdir(exist_ok=True)
    world = World(TEXT, {"visits": rows}, folder, secret="5e" * 32)
    with in_postgres(database)(world) as (policy, engine):
        assert isinstance(engine, Postgres)
        yield policy, engine


def copied(database: Cluster, policy: Policy, engine: Postgres) -> list[tuple[Any, ...]]:
    """The rows of the copy, as its owner sees them."""
    columns = ", ".join(f'"{column}"' for column in engine.schema("visits"))
    table = f'{policy.engine_schema}."{engine._names.table(policy, "visits")}"'
    with database.connect() as connection:
        return connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, _discreet_row".encode()).fetchall()


def test_a_copy_is_bounded_and_ranked_as_duckdb_s_is(database: Cluster, tmp_path: Path) -> None:
    """Other rows of a unit may be here: which ones, the hash of an engine says. How many, and what ranks mean, not."""
    rows = visits(6, 9)
    with opened(database, tmp_path, rows) as (policy, engine):
        here = [dict(zip(engine.schema("visits"), row, strict=True)) for row in copied(database, policy, engine)]
        local = Memory(policy, {"visits": rows})
        there = local.execute("SELECT _discreet_unit, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1")
        local.close()
    units = sorted({row["_discreet_unit"] for row in here})
    own = {unit: [row for row in here if row["_discreet_unit"] == unit] for unit in units}
    assert [(unit, len(own[unit])) for unit in units] == there
    for held in own.values():
        assert [row["_discreet_row"] for row in held] == [1, 2, 3, 4]
        for key in ("ward", "note", "flag"):
            ranks = {row[key]: row[f"_discreet_key_{key}"] for row in held}
            assert sorted(ranks.values()) == list(range(1, len(ranks) + 1))
            if key != "ward" and None in ranks:
                assert ranks[None] == len(ranks)
            for row in held:
                alike = [other["_discreet_row"] for other in held if other[key] == row[key]]
                assert row[f"_discreet_same_{key}"] == sum(1 << rank - 1 for rank in alike)
                assert row[f"_discreet_nth_{key}"] == alike.index(row["_discreet_row"]) + 1
        for row in held:
            assert row["ward"] in ("A", "B", "C", None)
            assert row["_discreet_steps_cost"] == min(max(round(row["cost"] * 2), 0), 100)
            source = {"person": row["_discreet_unit"], "note": row["note"], "cost": row["cost"], "flag": row["flag"]}
            assert any(source.items() <= each.items() for each in rows)


def test_nobody_changes_the_ranks_of_others(database: Cluster, tmp_path: Path) -> None:
    """Neighbours: without one unit, in another order, and with rows of nobody, all other units' rows are the same."""
    rows = visits(5, 8)
    without = [row for row in reversed(rows) if row["person"] != "u2"] + [{**rows[0], "person": None}]
    with opened(database, tmp_path, rows) as (policy, engine):
        one = copied(database, policy, engine)
    with opened(database, tmp_path, without) as (policy, engine):
        other = copied(database, policy, engine)
    assert [row for row in one if row[0] != "u2"] == other
    assert len(one) == len(other) + 4


def asked(policy: Policy, engine: Postgres, question: str, **more: Any) -> Any:
    with ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=engine, sampler=Sampler(quiet, tiny.every, tiny.best))
        return curator.query(question, epsilon=1, **more).rows


def test_bounds_hold_after_filters(database: Cluster, tmp_path: Path) -> None:
    """A unit counts in two groups and twice in each, whatever of its rows pass."""
    with opened(database, tmp_path, visits(7, 9)) as (policy, engine):
        for question in (
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
            "SELECT ward, COUNT(*) FROM visits WHERE cost > 3 GROUP BY ward",
            "SELECT ward, flag, COUNT(*) FROM visits GROUP BY ward, flag",
            "SELECT flag, COUNT(*) FROM visits WHERE ward = 'A' OR ward = 'B' GROUP BY flag",
        ):
            counts = [row[-1] for row in asked(policy, engine, question)]
            assert 0 < sum(counts) <= 7 * 4
            assert max(counts) <= 7 * 2


def test_rows_do_not_leave(database: Cluster, tmp_path: Path) -> None:
    """Neither for queries nor for tasks that read rows: before anything is charged, by the text alone."""
    with opened(database, tmp_path, visits(3, 2)) as (policy, engine):
        for query in (
            sql("SELECT cost FROM visits"),
            sql("SELECT cost FROM (SELECT * FROM visits)"),
            sql("SELECT cost FROM visits WHERE cost IN (SELECT MAX(cost) FROM visits)"),
            sql("SELECT note, COUNT(*) OVER () FROM visits"),
        ):
            with pytest.raises(UnknownError, match="rows that leave"):
                engine.rows(query)
            with pytest.raises(Refused, match="may not leave"):
                demand_runnable(policy, policy.engine_schema, [query], {})


@pytest.mark.slow
def test_estimators_are_refused_and_free(database: Cluster, tmp_path: Path) -> None:
    from discreet.learn import StandardScaler
    from discreet.opening import MAKERS

    with opened(database, tmp_path, visits(3, 2)) as (policy, engine), ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=engine, makers=MAKERS)
        with pytest.raises(Refused, match="may not leave"):
            curator.fit(StandardScaler(), "SELECT cost FROM visits", epsilon=1)
        assert not ledger.entries()


@contextmanager
def replaced(database: Cluster, policy: Policy, body: str) -> Iterator[None]:
    """LOWER does something else meanwhile."""
    function = f"{policy.engine_schema}.discreet_lower(a text)"
    head = f"CREATE OR REPLACE FUNCTION {function} RETURNS text LANGUAGE sql STABLE AS"
    database.run(f"{head} $$ {body} $$")
    yield


def chain(error: BaseException | None) -> str:
    """All that an error and what it came from say."""
    return "" if error is None else f"{error!r} {error} {chain(error.__cause__)} {chain(error.__context__)}"


def test_an_error_says_nothing_of_a_row_and_the_charge_stays(database: Cluster, tmp_path: Path) -> None:
    with opened(database, tmp_path, visits(3, 2)) as (policy, engine), ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=engine)
        with replaced(database, policy, "SELECT (a::int8)::text"):
            with pytest.raises(UnansweredError) as failed:
                engine.rows(LASTING)
            with pytest.raises(QueryFailed) as told:
                curator.query("SELECT COUNT_IF(LOWER(note) = 'x') FROM visits", epsilon=1)
        assert CANARY in database.log
        assert CANARY not in chain(failed.value) + chain(told.value)
        assert str(failed.value) == "PostgreSQL did not answer"
        assert len(ledger.entries()) == 1
        assert engine.rows(sql("SELECT COUNT(*) FROM visits")) == [(6,)]


ASLEEP = "FROM pg_stat_activity WHERE usename = 'reader' AND wait_event = 'PgSleep'"
"""Not whoever only plans such a query: `EXPLAIN` has the same text, and is over before one looks again."""


@contextmanager
def lasting(database: Cluster, policy: Policy) -> Iterator[None]:
    """LOWER does not end meanwhile; whatever a test leaves in it is ended."""
    try:
        with replaced(database, policy, "SELECT a FROM pg_sleep(600)"):
            yield
    finally:
        database.run(f"SELECT pg_terminate_backend(pid) {ASLEEP}")


def running_there(database: Cluster) -> list[int]:
    with database.connect() as connection:
        return [row[0] for row in connection.execute(f"SELECT pid {ASLEEP}".encode()).fetchall()]


def test_what_takes_too_long_is_ended_by_the_server(database: Cluster, tmp_path: Path) -> None:
    with opened(database, tmp_path, visits(1, 1)) as (policy, engine), lasting(database, policy):
        with pytest.raises(UnansweredError):
            engine.rows(LASTING, 0.02)
        until(lambda: not running_there(database))


def test_a_stop_reaches_the_server(database: Cluster, tmp_path: Path) -> None:
    with opened(database, tmp_path, visits(1, 1)) as (policy, engine), lasting(database, policy):
        stop, ended = Stop(), []

        def ask() -> None:
            with stop:
                try:
                    engine.rows(LASTING)
                except UnansweredError as error:
                    ended.append(error)

        worker = threading.Thread(target=ask)
        worker.start()
        until(lambda: bool(running_there(database)))
        stop.now()
        worker.join()
        until(lambda: not running_there(database))
        assert len(ended) == 1


def test_a_session_that_is_ended_answers_nothing_and_the_next_one_does(database: Cluster, tmp_path: Path) -> None:
    with opened(database, tmp_path, visits(2, 1)) as (policy, engine), ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=engine)
        assert engine.rows(sql("SELECT COUNT(*) FROM visits")) == [(2,)]
        with database.connect() as connection:  # one that waits: nobody notices
            connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'reader'")
        assert engine.rows(sql("SELECT COUNT(*) FROM visits")) == [(2,)]
        with lasting(database, policy):
            told: list[str] = []

            def ask() -> None:
                with pytest.raises(QueryFailed) as failed:
                    curator.query("SELECT COUNT_IF(LOWER(note) = 'x') FROM visits", epsilon=1)
                told.append(str(failed.value))

            worker = threading.Thread(target=ask)
            worker.start()
            until(lambda: bool(running_there(database)))
            database.run(f"SELECT pg_terminate_backend(pid) {ASLEEP}")
            worker.join()
        assert told == [str(QueryFailed())]
        assert len(ledger.entries()) == 1


@pytest.mark.slow
def test_a_server_that_is_restarted_in_the_middle(tmp_path: Path) -> None:
    """The charge stays, the error has one text, and the copy is there afterwards."""
    with running() as own:
        own.run("CREATE ROLE reader LOGIN")
        with opened(own, tmp_path, visits(2, 1)) as (policy, engine), ledger_of(policy) as ledger:
            curator = Curator(policy, ledger, engine=engine)
            told: list[str] = []

            def ask() -> None:
                with pytest.raises(QueryFailed) as failed:
                    curator.query("SELECT COUNT_IF(LOWER(note) = 'x') FROM visits", epsilon=1)
                told.append(str(failed.value))

            with lasting(own, policy):
                worker = threading.Thread(target=ask)
                worker.start()
                until(lambda: bool(running_there(own)))
                own.crash()
                worker.join()
            assert told == [str(QueryFailed())]
            assert len(ledger.entries()) == 1
            assert engine.rows(sql("SELECT COUNT(*) FROM visits")) == [(2,)]


def test_threads_share_it_and_a_closed_one_answers_nothing(database: Cluster, tmp_path: Path) -> None:
    with opened(database, tmp_path, visits(4, 1)) as (_, engine):
        query = sql("SELECT COUNT(*), SUM(_discreet_row) FROM visits")
        assert at_once(4, lambda: [engine.rows(query) for _ in range(3)]) == [[[(4, 4)]] * 3] * 4
        engine.close()
        assert not engine._idle


# what a role needs


def later_pairs(first: Any, *others: Any) -> list[Any]:
    """Of several the first always, and the others in `make test-slow`: each makes a copy."""
    return [first, *(pytest.param(*each, marks=pytest.mark.slow) for each in others)]


def test_a_role_that_reads_is_enough(database: Cluster, tmp_path: Path) -> None:
    """It may not write where the rows come from, and what it is asked is in transactions that write nowhere."""
    with opened(database, tmp_path, visits(1, 1)) as (policy, engine):
        engine.rows(sql("SELECT COUNT(*) FROM visits"))
        connection = engine._idle[0]
        with pytest.raises(errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE more (n int)")
        source = policy.tables["visits"].source.table
        with database.connect(user="reader") as other, pytest.raises(errors.InsufficientPrivilege):
            other.execute(f"DELETE FROM {source}".encode())


def made(database: Cluster, folder: Path, *before: str, text: str = TEXT, columns: str | None = None) -> None:
    """Make a copy, after something was done to the database; %s is the number of the world."""
    number = next(NUMBERS)
    world = World(text, {"visits": visits(1, 1)}, folder)
    policy = world.policy(pushed(text, database, number))
    load(database, f"rows{number}", policy, world.rows)
    database.run(*(each.replace("%s", str(number)) for each in before))
    if columns is not None:
        database.run(f"ALTER TABLE rows{number}.visits {columns}")
    try:
        Postgres(policy, 1).close()
    finally:
        database.run(f"DROP SCHEMA rows{number} CASCADE", f"DROP SCHEMA IF EXISTS copy{number} CASCADE")


OWN = "CREATE SCHEMA copy%s AUTHORIZATION reader"


@pytest.mark.parametrize(
    ("before", "reason"),
    later_pairs(
        ([], "there is no schema copy"),
        (["CREATE SCHEMA copy%s"], "is not this role's own"),
        ([OWN, "GRANT USAGE ON SCHEMA copy%s TO PUBLIC"], "others may enter the schema"),
        ([OWN, "CREATE ROLE other%s", "GRANT CREATE ON SCHEMA copy%s TO other%s"], "others may enter the schema"),
        ([OWN, "REVOKE SELECT ON ALL TABLES IN SCHEMA rows%s FROM reader"], "may not read it"),
        ([OWN, "DROP TABLE rows%s.visits"], "there is no table"),
    ),
)
def test_what_is_wrong_is_told_to_the_owner(database: Cluster, tmp_path: Path, before: list[str], reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        made(database, tmp_path, *before)


@pytest.mark.parametrize(
    ("columns", "reason"),
    later_pairs(
        ("ALTER cost TYPE text", "'cost' is text, which is not read as number"),
        ("ALTER flag TYPE text", "'flag' is text, which is not read as boolean"),
        ("ALTER person TYPE float8 USING 1", "'person' is double precision, which is not read as text"),
        ("DROP note", "the source has no column 'note'"),
    ),
)
def test_types_are_those_of_the_policy(database: Cluster, tmp_path: Path, columns: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        made(database, tmp_path, OWN, columns=columns)


@pytest.mark.parametrize(
    "columns",
    later([
        "ALTER cost TYPE numeric", "ALTER cost TYPE int2", "ALTER cost TYPE float4", "ALTER person TYPE varchar(9)",
        "ALTER ward TYPE char(1)", "ALTER note TYPE json USING '1'",
    ]),
)  # fmt: skip
def test_types_that_hold_the_same_are_read(database: Cluster, tmp_path: Path, columns: str) -> None:
    made(database, tmp_path, OWN, columns=columns)


def problems(text: str) -> str:
    with pytest.raises(PolicyError) as wrong:
        World(text, {}, Path("/nowhere")).policy()
    return str(wrong.value)


def test_a_policy_says_what_it_cannot_have() -> None:
    assert "is no engine" in problems('engine = "oracle"\n' + TEXT)
    assert "lies outside of the database" in problems('engine = "postgres"\n' + TEXT)
    assert "is for an engine that is a database" in problems('engine_schema = "x"\n' + TEXT)
    there = TEXT.replace('"visits.csv"', '"postgresql://a/b"\ntable = "public.visits"')
    table = there[there.index("[tables.visits]") :]
    two = there + table.replace("tables.visits", "tables.other").replace("//a/", "//c/")
    assert "is another address" in problems('engine = "postgres"\n' + two)
    assert "is for rows that leave" in problems(
        'engine = "postgres"\n' + there.replace("max_rows = 4", 'max_rows = 4\nnewer_by = "id"')
    )


# from the policy to an answer


def test_a_curator_over_a_policy_file(database: Cluster, tmp_path: Path) -> None:
    number = next(NUMBERS)
    text = pushed(TEXT, database, number)
    path = tmp_path / "clinic.toml"
    path.write_text(text, encoding="utf-8")
    world = World(TEXT, {"visits": visits(5, 3)}, tmp_path)
    load(database, f"rows{number}", world.policy(text), world.rows)
    database.run(OWN.replace("%s", str(number)))

    def tables() -> int:
        """Those that are no part of another."""
        with database.connect() as connection:
            query = f"SELECT count(*) FROM pg_tables WHERE schemaname = 'copy{number}' AND tablename !~ '_({PART})$'"
            return int(connection.execute(query.encode()).fetchall()[0][0])

    assert [str(finding) for finding in check(world.policy(text))] == []
    with discreet.open(path) as curator:
        before = curator.preview("SELECT COUNT(*) FROM visits", epsilon=1)
        assert tables() == 0
        answer = curator.query("SELECT COUNT(*) FROM visits", epsilon=1)
        assert before.loss == answer.loss
        assert tables() == 1
    with discreet.open(path) as curator:
        assert curator.query("SELECT COUNT(*) FROM visits", epsilon=1).rows == answer.rows
        assert tables() == 1
        curator.refresh(reason="new rows")
        assert tables() == 1
        curator.query("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=50)
    database.run(f"DROP SCHEMA rows{number} CASCADE", f"DROP SCHEMA copy{number} CASCADE")


def test_units_that_cannot_have_too_many_groups_lie_apart_and_are_not_put_together(
    database: Cluster, tmp_path: Path
) -> None:
    """What the server is told of rows it enforces. Of the part without crowded units it reads each row once, and of
    the others those of late groups alone are looked up: they are put together in the order that they lie in."""
    rows = [*visits(4, 9), *({**row, "person": "calm", "ward": "A", "note": "n", "flag": True} for row in visits(1, 3))]
    with opened(database, tmp_path, rows) as (policy, engine):
        table = f'{policy.engine_schema}."{engine._names.table(policy, "visits")}'
        crowded, late = (
            " OR ".join(f"_discreet_{stored}_{key} > 2" for key in ("ward", "note", "flag"))
            for stored in ("many", "seen")
        )
        every = [database.value(f'SELECT count(*) FROM {table}{part}"') for part in PARTS]
        assert every[3] == 0 < min(every[:3])
        many = [database.value(f'SELECT count(*) FROM {table}{part}" WHERE {crowded}') for part in PARTS]
        assert many == [0, *every[1:]]
        beyond = [database.value(f'SELECT count(*) FROM {table}{part}" WHERE {late}') for part in PARTS]
        assert beyond == [0, 0, *every[2:]]
        assert database.value(f"SELECT count(*) FROM {table}_few\" WHERE _discreet_unit = 'calm'") == 3
        plan = planned(policy, engine, "SELECT ward, COUNT(*) FROM visits WHERE cost > 3 GROUP BY ward")
        scans = re.findall(r"Scan (?:using \S+ )?on \S+(_few|_early|_late|_long)\b", plan)
        assert [scans.count(part) for part in PARTS] == [1, 2, 3, 3]
        assert len(re.findall(r"GroupAggregate.*\n *Group Key: visits_\d+\._discreet_unit", plan)) == 1
        assert not re.search(r"(Filter|Cond):.*_discreet_row", plan)
        for part in PARTS[:3]:
            with database.connect() as connection, pytest.raises(errors.CheckViolation):
                connection.execute(f'UPDATE {table}{part}" SET _discreet_row = 5'.encode())
        for part, column in (("_few", "many"), ("_few", "seen"), ("_early", "seen")):
            with database.connect() as connection, pytest.raises(errors.CheckViolation):
                connection.execute(f'UPDATE {table}{part}" SET _discreet_{column}_ward = 3'.encode())


PARTS = ("_few", "_early", "_late", "_long")
PART = "|".join(part[1:] for part in PARTS)


def test_names_that_no_index_takes_make_nothing_fail_and_change_nobody_elses_place(
    database: Cluster, tmp_path: Path
) -> None:
    """Names of 256 bytes, of one more, and of three pages that cannot be compressed; answers are those of masks."""
    dice, plain = random.Random(3), visits(3, 9)
    names = ["n" * 256, "n" * 257, "".join(chr(dice.randrange(0x4E00, 0x9000)) for _ in range(8000))]
    rows = [*plain, *({**row, "person": each} for each in names for row in visits(1, 9))]
    question = "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 3 GROUP BY ward"
    with opened(database, tmp_path / "without", plain) as (policy, engine):
        others = copied(database, policy, engine)
    with opened(database, tmp_path / "with", rows) as (policy, engine):
        table = f'{policy.engine_schema}."{engine._names.table(policy, "visits")}'
        held = [database.value(f"SELECT count(*) FROM {table}{part}\" WHERE _discreet_unit !~ '^u'") for part in PARTS]
        assert held[3] == 8
        assert sum(held[:3]) == 4
        assert [row for row in copied(database, policy, engine) if row[0].startswith("u")] == others
        query = bounded(policy, engine, question)
        assert sorted(engine.rows(query), key=repr) == sorted(kept(copied(database, policy, engine), engine), key=repr)


def bounded(policy: Policy, engine: Any, question: str) -> Any:
    """The last query that a question asks."""
    recording = Recording(engine)
    with ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=recording, sampler=Sampler(quiet, tiny.every, tiny.best))
        curator.query(question, epsilon=1)
    return recording.asked[-1]


def kept(rows: list[tuple[Any, ...]], engine: Postgres) -> list[tuple[Any, int]]:
    """By hand: of each unit two of the wards of rows that cost more than 3, in the order of their first rows of any
    cost; and two rows of each."""
    counts, units = Counter[Any](), dict[str, list[tuple[Any, bool]]]()
    for row in rows:
        held = dict(zip(engine.schema("visits"), row, strict=True))
        passes = held["cost"] is not None and held["cost"] > 3
        units.setdefault(held["_discreet_unit"], []).append((held["ward"], passes))
    for own in units.values():
        here = Counter(ward for ward, passes in own if passes)
        for ward in [ward for ward in dict.fromkeys(ward for ward, _ in own) if here[ward]][:2]:
            counts[ward] += min(here[ward], 2)
    return list(counts.items())


def planned(policy: Policy, engine: Postgres, question: str) -> str:
    """How the server answers what it is asked for a question."""
    text = f"EXPLAIN {engine.text(bounded(policy, engine, question))}"
    with session(policy, secret(policy.state), "test") as connection:
        return "\n".join(row[0] for row in connection.execute(text.encode()).fetchall())
