"""The ledger in PostgreSQL: all that every store keeps, and what its own schema adds. The server is a real one."""

from __future__ import annotations

import contextlib
import inspect
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.accounting import Pure
from discreet.accounting.record import Key
from discreet.ledger import LedgerDamaged, LedgerError, Memory, Repeated
from discreet.ledger.codec import encode, link
from discreet.ledger.homes import InDatabase
from discreet.ledger.postgres import Address, Postgres, session
from discreet.ledger.postgres import store as module
from discreet.ledger.postgres.reading import PostgresReader
from discreet.ledger.postgres.schema import prepare
from discreet.ledger.postgres.session import AGAIN, LOST
from discreet.ledger.problems import LedgerUnreachable
from discreet.policy.databases import read_address
from tests.contracts import test_stores as contract
from tests.contracts.test_stores import HISTORY, STORES, Opening, ledger, live_on, read, spend
from tests.postgres import ledgers
from tests.postgres.cluster import OWNER, Cluster, until


@pytest.fixture
def opening(postgres: Cluster) -> Opening:
    return ledgers.opening(postgres)


def _takes_a_store(test: Any) -> bool:
    return inspect.isfunction(test) and "opening" in inspect.signature(test).parameters


globals().update(
    {name: test for name, test in vars(contract).items() if name.startswith("test_") and _takes_a_store(test)}
)


def test_it_says_what_other_stores_say(opening: Opening) -> None:
    with contextlib.ExitStack() as stack:
        said = []
        for open_ in (opening, STORES[Memory](stack)):
            with ledger(open_) as book:
                for facts in HISTORY:
                    spend(book, **facts)
                live_on(book)
                said.append(read(book))
        assert said[0] == said[1]


# only appended to


def journal(opening: Opening) -> Address:
    where: Address = opening.args[0]  # type: ignore[attr-defined]
    return where


@pytest.mark.parametrize("user", ["curator", OWNER])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {s}.journal SET line = line",
        "DELETE FROM {s}.journal",
        "TRUNCATE {s}.journal",
        "DELETE FROM {s}.head",
        "TRUNCATE {s}.head",
        "INSERT INTO {s}.journal SELECT number + 100, line, hash, kind, NULL, NULL, NULL, false FROM {s}.journal",
        "INSERT INTO {s}.journal SELECT -number, line, hash, kind, NULL, NULL, NULL, false FROM {s}.journal",
        "INSERT INTO {s}.journal SELECT number + 1, 'x', hash, 'x', NULL, NULL, NULL, false FROM {s}.head",
    ],
)
def test_nobody_changes_what_was_written(postgres: Cluster, shared: Opening, user: str, statement: str) -> None:
    where = journal(shared)
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException)):
        postgres.run(statement.format(s=where.schema), user=user)


@pytest.fixture(scope="module")
def shared(postgres: Cluster) -> Opening:
    """A ledger that tests look at and leave as it is."""
    made = ledgers.opening(postgres)
    with ledger(made) as book:
        for facts in HISTORY:
            spend(book, **facts)
    return made


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {s}.head SET number = 0",
        "SELECT FROM {s}.head FOR UPDATE",
        "CREATE TABLE {s}.mine ()",
        "ALTER TABLE {s}.journal DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "DROP SCHEMA {s} CASCADE",
    ],
)
def test_a_curator_can_do_nothing_to_what_guards_it(postgres: Cluster, shared: Opening, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        postgres.run(statement.format(s=journal(shared).schema), user=ledgers.ROLE)


def test_several_records_at_once_follow_each_other(opening: Opening, postgres: Cluster) -> None:
    """The same rows in the right order are taken, and with one hash that is wrong none of them is."""
    with ledger(opening) as book:
        rows = [contract.record(book._store)]
        rows.append((rows[0][0] + 1, rows[0][1], link(rows[0][2], rows[0][1])))
    insert = f"INSERT INTO {journal(opening).schema}.journal VALUES (%s, %s, %s, 'epoch', NULL, NULL, NULL, false), "
    insert += "(%s, %s, %s, 'epoch', NULL, NULL, NULL, false)"
    with postgres.connect(user=ledgers.ROLE) as connection:
        for wrong in ([*rows[0], *rows[1][:2], rows[0][2]], [*rows[0][:2], rows[1][2], *rows[1]]):
            with pytest.raises(psycopg.errors.RaiseException):
                connection.execute(insert, wrong)
        connection.execute(insert, [*rows[1], *rows[0]])
    with ledger(opening) as book:
        assert list(book._store.rows())[2:4] == rows


# what is not as it should be


def test_a_role_that_may_do_more_is_refused(postgres: Cluster, shared: Opening) -> None:
    where = ledgers.address(postgres, journal(shared).schema, OWNER)
    with pytest.raises(LedgerError, match="may change or remove"):
        Postgres(where)
    assert InDatabase(where).verify([], None).sound


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {s}.journal DISABLE TRIGGER follows",
        "ALTER TABLE {s}.journal DISABLE TRIGGER fixed",
        "DROP TRIGGER whole ON {s}.journal",
        "ALTER TABLE {s}.journal ADD COLUMN note text",
        "CREATE OR REPLACE FUNCTION {s}.fixed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "ALTER FUNCTION {s}.follows() SECURITY INVOKER",
    ],
)
def test_a_journal_without_its_guards_is_not_opened(opening: Opening, postgres: Cluster, change: str) -> None:
    postgres.run(change.format(s=journal(opening).schema))
    with pytest.raises(LedgerDamaged, match="another layout"):
        opening()
    report = InDatabase(journal(opening)).verify([], None)
    assert not report.sound


def test_another_format_is_not_read(opening: Opening, postgres: Cluster) -> None:
    postgres.run(f"UPDATE {journal(opening).schema}.head SET format = 2")
    with pytest.raises(LedgerDamaged, match="format 2"):
        opening()


def test_where_nothing_was_prepared_the_way_is_said(postgres: Cluster, opening: Opening) -> None:
    with pytest.raises(LedgerError, match="discreet ledger prepare"):
        Postgres(ledgers.address(postgres, "nowhere"))
    postgres.run(f"REVOKE USAGE ON SCHEMA {journal(opening).schema} FROM {ledgers.ROLE}")
    with pytest.raises(LedgerError, match="discreet ledger prepare"):
        opening()


def test_preparing_says_what_is_missing(postgres: Cluster, opening: Opening) -> None:
    schema = journal(opening).schema
    with postgres.connect() as connection:
        assert not prepare(connection, schema, ledgers.ROLE)
        with pytest.raises(LedgerError, match="CREATE ROLE"):
            prepare(connection, schema, "no such role")
    with postgres.connect(user=ledgers.ROLE) as connection, pytest.raises(LedgerError, match="as the owner"):
        prepare(connection, "another", ledgers.ROLE)
    with postgres.connect() as connection:
        connection.close()
        with pytest.raises(LedgerError, match="did not prepare"):
            prepare(connection, schema, ledgers.ROLE)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_nothing_is_charged_where_it_could_be_forgotten(postgres: Cluster, opening: Opening, setting: str) -> None:
    """The cluster begins with both; a configuration that is read again counts from the next charge on."""
    with ledger(opening) as book:
        spend(book)

        def is_(value: str) -> Callable[[], bool]:
            return lambda: postgres.value(f"SHOW {setting}") == value

        postgres.set(setting, "off")
        postgres.reload(is_("off"))
        try:
            with pytest.raises(LedgerError, match="turned off"):
                spend(book)
            with pytest.raises(LedgerError, match=f"{setting} is off"):
                opening()
        finally:
            postgres.set(setting, "on")
            postgres.reload(is_("on"))
        spend(book)
        assert book.count() == 2


def test_columns_that_say_something_else_are_noticed(opening: Opening, postgres: Cluster) -> None:
    where = journal(opening)
    home = InDatabase(where)
    with ledger(opening) as book:
        number = spend(book, plan="p", answer=b"1")
        assert home.verify([], None).problems == ()
        postgres.run(
            "SET session_replication_role = replica",
            f"UPDATE {where.schema}.journal SET plan = 'q' WHERE number = {number}",
        )
        assert home.verify([], None).problems == (f"record {number} is filed wrongly",)
        postgres.run(
            "SET session_replication_role = replica",
            f"UPDATE {where.schema}.journal SET line = 'x' WHERE number = {number}",
        )
        problems = home.verify([f"{number}:x"], None).problems
        assert f"record {number} is filed wrongly" in problems
        assert any("does not match" in each for each in problems)


def test_a_record_that_is_gone_is_noticed(opening: Opening, postgres: Cluster) -> None:
    where = journal(opening)
    with ledger(opening) as book:
        spend(book)
    gone = f"DELETE FROM {where.schema}.journal WHERE number = 3"
    postgres.run("SET session_replication_role = replica", gone)
    with pytest.raises(LedgerDamaged, match="record 3 of the ledger is gone"):
        ledger(opening)
    assert InDatabase(where).verify([], None).problems == ("the head of the journal is not its last record",)
    postgres.run("SET session_replication_role = replica", f"DELETE FROM {where.schema}.head")
    with pytest.raises(LedgerDamaged):
        opening()


# connections that are lost


def backend(store: object) -> int:
    assert isinstance(store, Postgres)
    return store._connection.info.backend_pid


def end(postgres: Cluster, *processes: int) -> None:
    for process in processes:
        postgres.value(f"SELECT pg_terminate_backend({process}, 60000)")


def test_a_connection_that_was_lost_while_idle_is_made_anew(opening: Opening, postgres: Cluster) -> None:
    with ledger(opening) as book:
        spend(book, plan="p", answer=b"1")
        book.entries()
        reader = book._store.reader
        assert isinstance(reader, PostgresReader)
        assert reader._connection is not None
        end(postgres, reader._connection.info.backend_pid, backend(book._store))
        spend(book)
        assert len(book.entries()) == 2
        end(postgres, backend(book._store))
        with pytest.raises(LedgerUnreachable, match="nothing was released"):
            book.balance()
        assert book.balance().spent.epsilon == 2
        assert book._store.openings == 3


@pytest.mark.parametrize("moment", ["locked", "inserted"])
def test_a_backend_that_ends_in_the_middle_gives_no_bits(
    opening: Opening, postgres: Cluster, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    key = Key("k", "r")
    with ledger(opening) as book:
        store = book._store
        step = "append" if moment == "locked" else "_commit"
        plain = getattr(store, step)

        def failing(*arguments: Any) -> None:
            plain(*arguments)
            end(postgres, backend(store))
            if moment == "inserted":
                store._connection.execute("SELECT 1")  # type: ignore[attr-defined]

        monkeypatch.setattr(store, step, failing)
        with pytest.raises((LedgerUnreachable, psycopg.OperationalError)), book.charge(Pure(1), why="q", key=key):
            raise AssertionError("bits were given")
        monkeypatch.undo()
        assert (book.charged(key) is None) == (moment == "locked")
        assert book.balance().spent.epsilon == (moment == "inserted")
        spend(book)


def test_a_connection_that_is_cut_while_it_commits(opening: Opening, postgres: Cluster) -> None:
    """The server has the charge; nobody got bits for it; the key says so, and nothing is charged twice."""
    key = Key("k", "r")
    ledger(opening).close()
    with Cut(postgres) as (port, arm):
        where = replace(journal(opening), login=replace(journal(opening).login, host="localhost", port=port))
        with ledger(lambda: Postgres(where)) as book:
            arm()
            with pytest.raises(LedgerUnreachable) as told, book.charge(Pure(1), why="secret-4f1c", key=key):
                raise AssertionError("bits were given")
            assert str(told.value) == f"{LOST} → {AGAIN}"
            number = book.charged(key)
            assert number is not None
            with pytest.raises(Repeated), book.charge(Pure(1), why="secret-4f1c", key=key):
                raise AssertionError("bits were given")
            assert book.balance().spent.epsilon == 1


def test_whoever_stands_still_with_the_lock_loses_it(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that hangs in the middle of a charge, and does not end its connection, stops the others for a while.

    It had to wait for the lock: then the server has told it more than once that it is ready.
    """
    monkeypatch.setitem(session.SETTINGS, "idle_in_transaction_session_timeout", "'100ms'")
    monkeypatch.setitem(session.SETTINGS, "lock_timeout", "'20s'")
    where = ledgers.prepared(postgres)
    waiting = "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

    def hang() -> None:
        with hanging._store.transaction(lambda: hanging._newest):
            begun.set()
            charged.wait()

    def hangs() -> None:
        with pytest.raises(LedgerUnreachable, match="nothing was released"):
            hang()

    begun, charged = threading.Event(), threading.Event()
    with ledger(lambda: Postgres(where)) as book, ledger(lambda: Postgres(where)) as hanging:
        thread = threading.Thread(target=hangs)
        with postgres.connect() as holder, holder.transaction():
            holder.execute(f"SELECT * FROM {where.table('locked()')}".encode())
            thread.start()
            until(lambda: bool(postgres.value(waiting)))
        begun.wait()
        try:
            spend(book)
        finally:
            charged.set()
            thread.join()
        assert book.count() == hanging.count() == 1


def test_the_server_notices_that_a_host_is_gone(postgres: Cluster) -> None:
    """Also one that acknowledges nothing of what it is sent: the system alone would try for a quarter of an hour."""
    login = read_address(f"postgresql://{ledgers.ROLE}@localhost:{postgres.port}/postgres")
    query = (
        "SELECT setting::int FROM pg_settings WHERE name IN ('tcp_keepalives_idle', 'tcp_user_timeout') ORDER BY name"
    )
    with session.connected(replace(ledgers.prepared(postgres), login=login)) as connection:
        assert connection.execute(query.encode()).fetchall() == [(30,), (60_000,)]


def test_failures_have_fixed_words(
    opening: Opening, postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = journal(opening)
    nobody = replace(where, login=replace(where.login, host=str(tmp_path)))
    with pytest.raises(LedgerError, match="could not connect"):
        Postgres(nobody)
    with monkeypatch.context() as patch:
        patch.setitem(session.SETTINGS, "no_such_setting", "1")
        with pytest.raises(LedgerUnreachable, match="nothing was released"):
            opening()
    with monkeypatch.context() as patch:
        patch.setattr(session, "_one", lambda *_: (True,))
        with pytest.raises(LedgerError, match="is a standby"):
            opening()
    with ledger(opening) as book:
        spend(book)
        store = book._store
        assert isinstance(store, Postgres)
        with ledger(opening) as other, store.transaction(lambda: book._state):
            other._store._connection.execute("SET lock_timeout = '1ms'")  # type: ignore[attr-defined]
            with pytest.raises(LedgerError, match="stays locked"):
                spend(other)
        postgres.run(f"REVOKE INSERT ON {where.schema}.journal FROM {ledgers.ROLE}")
        with pytest.raises(LedgerError, match="this role may not use the ledger"):
            spend(book)
        postgres.run(f"GRANT INSERT ON {where.schema}.journal TO {ledgers.ROLE}")
        with pytest.raises(LedgerDamaged, match="refused a record"), store.transaction(lambda: book._state):
            store.append(99, encode("epoch", {"protected": "", "name": ""}), "x")
        with store.transaction(lambda: book._state), pytest.raises(LedgerError, match="being written"), store.relaxed():
            raise AssertionError
        reader = store.reader
        spend(book)
    with pytest.raises(LedgerError, match="closed"):
        reader.charge(3)


def test_a_server_that_does_not_come_back_gives_no_bits(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    with ledger(opening) as book:
        store = book._store
        assert isinstance(store, Postgres)
        for failure, words in ((LedgerError("gone"), "cannot be reached"), (LedgerDamaged("other"), "other")):
            store._connection.close()
            with monkeypatch.context() as patch:
                patch.setattr(module, "opened", raising(failure))
                with pytest.raises(LedgerError, match=words):
                    spend(book)

        def lost() -> None:
            store.append(*contract.record(store))
            store._connection.close()

        def broken() -> None:
            monkeypatch.setattr(store._connection, "execute", raising(KeyError("broken")))
            raise KeyError("in the middle")

        for act, error in ((lost, LedgerUnreachable), (broken, KeyError)):
            with pytest.raises(error), store.transaction(lambda: book._state):
                act()
        assert store._connection.closed
        store._durable = None
        assert spend(book) == 3
        assert list(book._store.rows(5, 4)) == []


def raising(error: Exception) -> Callable[..., Any]:
    def act(*_: object, **__: object) -> None:
        raise error

    return act


def test_a_long_journal_is_read_page_by_page(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    with ledger(opening) as book:
        for _ in range(4):
            spend(book, plan="p", answer=b"1")
        store = book._store
        assert isinstance(store, Postgres)
        store._rows = store._rows.replace("LIMIT 500", "LIMIT 3")
        assert [row[0] for row in store.rows()] == [record[0] for record in store.records()] == list(range(1, 11))
        assert InDatabase(journal(opening)).verify([], None).problems == ()


def test_an_amount_that_is_no_whole_number_is_damage(opening: Opening, postgres: Cluster) -> None:
    with ledger(opening) as book:
        spend(book, plan="p", answer=b"1")
        update = f"UPDATE {journal(opening).schema}.journal SET first = first + 0.5 WHERE first IS NOT NULL"
        postgres.run("SET session_replication_role = replica", update)
        with pytest.raises(LedgerDamaged, match="record 3 cannot be read"):
            list(book.cached("p", 1))


class Cut:
    """A way to the server that, once armed, passes a COMMIT on and is gone before the server's answer comes back."""

    def __init__(self, postgres: Cluster) -> None:
        self._server = f"{postgres.folder}/.s.PGSQL.{postgres.port}"
        self.armed, self._cutting = threading.Event(), threading.Event()
        self._listening = socket.create_server(("localhost", 0))
        self._opened = [self._listening]
        self._threads = [threading.Thread(target=self._serve)]

    def __enter__(self) -> tuple[int, Callable[[], None]]:
        self._threads[0].start()
        return self._listening.getsockname()[1], self.armed.set

    def __exit__(self, *_: object) -> None:
        for each in self._opened:
            ended(each)
        for thread in self._threads:
            thread.join()
        for each in self._opened:
            each.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, far = self._listening.accept()[0], socket.socket(socket.AF_UNIX)
                self._opened += [near, far]
                far.connect(self._server)
                for act, pair in ((self._out, (near, far)), (self._back, (far, near))):
                    self._threads.append(threading.Thread(target=act, args=pair))
                    self._threads[-1].start()

    def _out(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                if self.armed.is_set() and b"COMMIT\0" in data:
                    self.armed.clear()
                    self._cutting.set()
                far.sendall(data)
        ended(far)

    def _back(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                if not self._cutting.is_set():
                    near.sendall(data)
                elif b"COMMIT\0" in data:  # the server has done it, and says so
                    self._cutting.clear()
                    break
        ended(near)


def ended(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
