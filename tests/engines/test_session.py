"""Engines whose database died are opened again; those that were closed are not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pytest

from discreet.engines import connection, filled, session
from discreet.engines.duckdb import DuckDB
from discreet.engines.memory import Memory
from discreet.engines.session import Scratch, Session
from tests.curator.worlds import hospital
from tests.sql.worlds import policy_of

TABLE = '[tables.t]\nsource = "t.csv"\nunit = "row"\n[tables.t.columns]\nx = { type = "text" }'
ENDLESS = "SELECT COUNT(*) FROM range(1000000000000) WHERE hash(range) = 42"
ENGINES: dict[str, Callable[[Path], Session]] = {
    "copy": lambda folder: DuckDB(hospital(folder), 0),
    "memory": lambda _: Memory(policy_of(TABLE), {"t": [{"x": "a"}, {"x": "b"}]}),
    "scratch": lambda _: Scratch(),
}


def killed(engine: Session) -> None:
    assert engine._connection is not None
    engine._connection.close()


@pytest.mark.parametrize("kind", ENGINES)
def test_a_dead_database_fails_once_and_is_opened_again(kind: str, tmp_path: Path) -> None:
    engine = ENGINES[kind](tmp_path)
    tables = "SELECT table_name FROM information_schema.tables ORDER BY ALL"
    before = engine.execute(tables)
    killed(engine)
    with pytest.raises(duckdb.Error):
        engine.execute(tables)
    assert engine.execute(tables) == before
    with pytest.raises(duckdb.Error):  # what the new one may not do either
        engine.execute("SELECT * FROM read_csv('/etc/passwd')")
    engine.close()


def test_an_error_that_kills_nothing_reopens_nothing() -> None:
    engine = Scratch()
    alive = engine._connection
    for wrong in ("SELECT", "SELECT error('x')", ENDLESS):
        with pytest.raises(duckdb.Error):
            engine.execute(wrong, 0.05)
    assert engine._connection is alive
    engine.close()


def test_a_closed_engine_stays_closed(tmp_path: Path) -> None:
    for make in ENGINES.values():
        engine = make(tmp_path)
        engine.close()
        for _ in range(2):
            with pytest.raises(duckdb.Error):
                engine.execute("SELECT 1")


def connection_of(engine: Session) -> duckdb.DuckDBPyConnection:
    assert engine._connection is not None
    return engine._connection


def test_a_connection_is_used_again_and_nothing_of_the_rows_before_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filled, "MOST_WAITING", 0)
    filled._close_waiting()  # of other tests
    policy = policy_of(TABLE)
    first = Memory(policy, {"t": [{"x": "a"}, {"x": "b"}]})
    used = connection_of(first)
    first.close()
    first.close()  # once given back, it is not given back again
    second = Memory(policy, {})
    third = Memory(policy, {"t": [{"x": "c"}]})
    assert used in (connection_of(second), connection_of(third))
    assert connection_of(second) is not connection_of(third)
    assert (second.execute("SELECT x FROM t"), third.execute("SELECT x FROM t")) == ([], [("c",)])
    for engine in (second, third):
        engine.close()
    empty = Scratch(threads=1)
    for catalogue in ("duckdb_tables()", "duckdb_views()", "duckdb_functions()", "duckdb_schemas()"):
        assert empty.execute(f"SELECT * FROM {catalogue} WHERE NOT internal AND database_name = 'memory'") == []
    empty.close()


OTHERS: dict[str, Callable[[], Memory]] = {
    "rows": lambda: Memory(policy_of(TABLE), {"t": [{"x": "b"}, {"x": "a"}]}),
    "fewer rows": lambda: Memory(policy_of(TABLE), {"t": [{"x": "a"}]}),
    "NULL": lambda: Memory(policy_of(TABLE), {"t": [{"x": "a"}, {"x": None}]}),
    "columns": lambda: Memory(policy_of(TABLE), {"t": [{"x": "a", "y": 1}, {"x": "b", "y": 1}]}),
    "key": lambda: Memory(policy_of(TABLE), {"t": [{"x": "a"}, {"x": "b"}]}, key="another"),
    "policy": lambda: Memory(policy_of(TABLE.replace("text", "integer")), {"t": [{"x": "a"}, {"x": "b"}]}),
    "share": lambda: Memory(policy_of(TABLE), {"t": [{"x": "a"}, {"x": "b"}]}, among=2),
}


def test_the_same_rows_wait_filled_and_no_others_are_taken_for_them() -> None:
    def made() -> Memory:
        return Memory(policy_of(TABLE), {"t": [{"x": "a"}, {"x": "b"}]})

    first = made()
    used, beside = connection_of(first), made()
    assert connection_of(beside) is not used  # nobody takes one that is asked
    for engine in (first, beside):
        engine.close()
    for label, other in OTHERS.items():
        engine = other()
        assert connection_of(engine) is not used, label
        engine.close()
    again = made()
    assert connection_of(again) is used
    assert again.execute("SELECT x FROM t ORDER BY x") == [("a",), ("b",)]
    assert again.copy != first.copy
    killed(again)
    again.close()
    last = made()
    assert connection_of(last) is not used
    assert last.execute("SELECT x FROM t ORDER BY x") == [("a",), ("b",)]
    last.close()


def test_not_many_wait_and_none_that_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filled, "MOST_WAITING", 2)
    for count in range(4):
        Memory(policy_of(TABLE), {"t": [{"x": "many"}] * count}).close()
    rows = [[len(column) for _, columns in contents.making for column in columns] for _, contents in filled._waiting]
    assert rows == [[2], [3]]
    monkeypatch.setattr(filled, "LARGEST", 4)
    Memory(policy_of(TABLE), {"t": [{"x": "many"}] * 5}).close()
    assert len(filled._waiting) == 2


def test_a_connection_that_died_is_not_used_again() -> None:
    for make in (lambda: Memory(policy_of(TABLE), {}), lambda: Scratch(threads=1)):
        engine = make()
        dead = connection_of(engine)
        killed(engine)
        engine.close()
        assert all(each is not dead for waiting in connection._idle.values() for each in waiting)
        assert all(each is not dead for each, _ in filled._waiting.values())


def test_a_fork_inherits_no_connection_that_waits_and_ends_well() -> None:
    """A child that closed what DuckDB started in its parent would crash."""
    code = (
        "import os\nfrom discreet.engines import connection, filled\nfrom discreet.engines.session import Scratch\n"
        "engine = Scratch()\nengine.execute('SELECT 1')\nengine.close()\nassert any(connection._idle.values())\n"
        "filled.rest(filled.filled(filled.Contents((), ()), 1), filled.Contents((), ()), 1)\nassert filled._waiting\n"
        "child = os.fork()\nassert not any(connection._idle.values())\nassert not filled._waiting\n"
        "if not child: raise SystemExit(7)\n"
        "assert os.waitpid(child, 0)[1] == 7 << 8\nengine = Scratch()\nassert engine.execute('SELECT 1') == [(1,)]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_connections_of_other_means_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Scratch(threads=1)
    used = connection_of(engine)
    engine.close()
    others = [Scratch(threads=2), Scratch(2, threads=1)]
    with monkeypatch.context() as changed:
        changed.setenv(connection.MEMORY, "300MB")
        others.append(Scratch(threads=1))
    assert all(connection_of(other) is not used for other in others)
    assert connection_of(Scratch(threads=1)) is used


def test_a_limit_is_insisted_on() -> None:
    """The first interrupt may come before the engine has begun; without further ones this would never end."""
    engine, interrupts = Scratch(), []

    class Deaf:
        """A cursor that does not notice the first interrupt."""

        def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
            self._cursor = cursor
            self.execute, self.close = cursor.execute, cursor.close

        def interrupt(self) -> None:
            interrupts.append(1)
            if len(interrupts) > 1:
                self._cursor.interrupt()

    class Shared:
        def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
            self._connection = connection

        def cursor(self) -> Deaf:
            return Deaf(self._connection.cursor())

    assert engine._connection is not None
    with pytest.raises(duckdb.InterruptException):
        session.rows(Shared(engine._connection), ENDLESS, 0.01)  # type: ignore[arg-type]
    assert len(interrupts) > 1
    engine.close()


@pytest.mark.parametrize("read", [session.rows, session.columns])
def test_a_query_sees_no_variable_of_python_and_ends_in_time(read: Callable[..., object]) -> None:
    """DuckDB's relations look for tables among the variables of whoever asks, unless that is forbidden."""
    secret = {"a": np.arange(3)}
    engine = Scratch()
    for wrong, seconds in (("SELECT * FROM secret", None), (ENDLESS, 0.05)):
        with pytest.raises(duckdb.Error):
            read(engine.alive(), wrong, seconds)
    assert len(secret) == 1
    engine.close()


# texts are parsed once


class Counted:
    """A connection that notes what it parses."""

    def __init__(self, real: duckdb.DuckDBPyConnection) -> None:
        self._real, self.texts = real, list[str]()

    def extract_statements(self, text: str) -> object:
        self.texts.append(text)
        return self._real.extract_statements(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


@pytest.fixture
def counted() -> Iterator[tuple[Scratch, list[str]]]:
    engine = Scratch()
    watched = Counted(engine.alive())
    engine._connection = watched  # type: ignore[assignment]
    yield engine, watched.texts
    engine.close()
    assert not engine._statements


def test_a_text_is_parsed_once_and_answered_each_time(counted: tuple[Scratch, list[str]]) -> None:
    engine, texts = counted
    for text in ("SELECT 1", "SELECT 'ü', NULL, 1.50::DECIMAL(9,2)", "VALUES (1), (2)"):
        assert engine.execute(text) == engine.execute(text) == session.rows(engine.alive(), text, None)
    assert texts == sorted(set(texts), key=texts.index)
    assert engine.execute("SELECT random()") != engine.execute("SELECT random()")  # answered, not remembered


def test_few_short_texts_are_held(counted: tuple[Scratch, list[str]]) -> None:
    engine, texts = counted
    for number in range(session.MAX_STATEMENTS + 10):
        assert engine.execute(f"SELECT {number}") == [(number,)]
    assert len(engine._statements) == 10
    long = f"SELECT '{'x' * session.LONGEST_TEXT}'"
    assert engine.execute(long) == engine.execute(long)
    assert long not in texts


@pytest.mark.parametrize("text", ["SELECT 1; SELECT 2", "SET VARIABLE a = 1", "EXPLAIN SELECT 1"])
def test_what_is_no_single_query_is_not_held(counted: tuple[Scratch, list[str]], text: str) -> None:
    engine, _ = counted
    assert engine.execute(text) == engine.execute(text)
    assert text not in engine._statements


@pytest.mark.parametrize("text", ["SELECT", "SELECT no_such", "SELECT error('x')", "\0"])
def test_errors_are_the_same_each_time(counted: tuple[Scratch, list[str]], text: str) -> None:
    engine, _ = counted
    told = []
    for ask in (engine.execute, engine.execute, lambda text: session.rows(engine.alive(), text, None)):
        try:
            told.append(str(ask(text)))
        except duckdb.Error as wrong:
            told.append(f"{type(wrong).__name__} {wrong}")
    assert len(set(told)) == 1


def test_threads_share_what_was_parsed(counted: tuple[Scratch, list[str]]) -> None:
    engine, _ = counted
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda number: engine.execute(f"SELECT SUM(range) + {number % 4} FROM range(1000)"), range(200))
        )
    assert found == [[(499500 + number % 4,)] for number in range(200)]


def test_what_was_parsed_answers_of_the_database_that_was_opened_again(tmp_path: Path) -> None:
    engine = ENGINES["memory"](tmp_path)
    query = "SELECT COUNT(*) FROM t"
    assert engine.execute(query) == [(2,)]
    killed(engine)
    with pytest.raises(duckdb.Error):
        engine.execute(query)
    assert engine.execute(query) == [(2,)]
    engine.close()
