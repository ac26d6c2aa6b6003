"""A ledger is moved from a file to PostgreSQL and back: its chain goes on, and never are two of them open."""

from __future__ import annotations

import json
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Final

import pytest

from discreet.accounting import Pure
from discreet.accounting.record import Key
from discreet.curator.state import back_up_ledger, balances, open_ledger, verify_ledger
from discreet.ledger import Acceptance, Ledger, LedgerDamaged, LedgerError, Marks, moving
from discreet.ledger.codec import encode, link
from discreet.ledger.homes import Home, InDatabase, InFile
from discreet.ledger.postgres import session, store
from discreet.ledger.postgres.session import SERVER
from discreet.ledger.sqlite.store import Sqlite
from discreet.ledger.state import State
from discreet.policy import read
from tests.cli.runs import run
from tests.ledger.crowds import TEN, is_open, moved
from tests.ledger.helpers import child, spend
from tests.postgres import ledgers
from tests.postgres.cluster import OWNER, Cluster


def opened(home: Home, marks: Marks | None, accept: Acceptance | None = None) -> Ledger:
    return Ledger(home.store(marks, accept), TEN, shares={}, protected="p")


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


@pytest.fixture
def homes(postgres: Cluster, quick: Path) -> dict[str, Home]:
    return {"file": InFile(quick / "ledger.sqlite"), "database": InDatabase(ledgers.prepared(postgres))}


SECRET: Final = "hunter2"
WAYS: Final = [("file", "database"), ("database", "file")]


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("marked", [True, False])
def test_a_ledger_goes_on_where_it_was_moved(
    homes: dict[str, Home], marks: Marks, way: tuple[str, str], marked: bool
) -> None:
    """All that was recorded is there with the same hashes, and so are answers, keys and receipts; also back again."""
    old, new = (homes[each] for each in way)
    known = marks if marked else None
    with opened(old, known) as ledger:
        receipt = spend(ledger, Pure(1), answer=b"42", plan="p", key=Key("k", "r"))
        rows = list(ledger._store.rows())
    assert moved(old, new, known) == len(rows) + 2
    assert is_open(new, known)
    assert not is_open(old, known)
    with opened(new, known) as ledger:
        assert list(ledger._store.rows())[: len(rows)] == rows
        assert ledger.balance().spent.epsilon == 1.01
        assert ledger.charged(Key("k", "r")) == 3
        cached = ledger.answer(3)
        assert cached is not None
        assert (cached.answer, cached.receipt) == (b"42", receipt)
    report = old.verify([receipt], known)
    assert (report.problems, report.moved) == ((), str(new))
    assert new.verify([receipt], known).problems == ()
    assert moved(new, old, known) == len(rows) + 5
    assert is_open(old, known)
    assert not is_open(new, known)
    assert moved(old, new, known) == len(rows) + 8
    assert is_open(new, known)
    assert new.verify([receipt], known).problems == old.verify([receipt], known).problems == ()


def test_whoever_has_it_open_is_refused_once_it_is_moved(homes: dict[str, Home], marks: Marks) -> None:
    old, new = homes["database"], homes["file"]
    with opened(old, marks) as ledger:
        spend(ledger, Pure(1))
        moved(old, new, marks)
        with pytest.raises(LedgerError, match="was moved to"):
            spend(ledger, Pure(1))
        assert ledger.count() == 1
    assert is_open(new, marks)


def test_a_ledger_is_moved_to_an_empty_place_only(homes: dict[str, Home], marks: Marks, tmp_path: Path) -> None:
    old, new = homes["file"], homes["database"]
    with pytest.raises(LedgerError, match="there is no ledger"):
        moved(new, old, None)
    with opened(new, None) as ledger:
        spend(ledger, Pure(1))
    with opened(old, marks) as ledger:
        spend(ledger, Pure(1))
    with pytest.raises(LedgerError, match="there is another ledger"):
        moved(old, new, marks)
    with pytest.raises(LedgerError, match=r"is at .* already"):
        moved(old, old, marks)
    assert is_open(old, marks)
    third = InFile(tmp_path / "third" / "ledger.sqlite")
    third.path.parent.mkdir()
    moved(old, third, marks)
    with pytest.raises(LedgerError, match="finish that move"):
        moved(old, InFile(tmp_path / "fourth.sqlite"), marks)
    with pytest.raises(LedgerError, match="arrived there already"):
        moved(old, third, marks)
    with pytest.raises(LedgerError, match="was moved to"):
        opened(old, marks, Acceptance("let me in", forget=True))
    assert [is_open(home, marks) for home in (old, third)] == [False, True]


def test_a_record_after_the_last_is_damage(path: Path) -> None:
    with opened(InFile(path), None) as ledger:
        state = State.replayed(ledger._store.rows())
        line = encode("moved", {"arrived": "there", "to": "there", "at": ""})
        state = state.after((3, line, link(state.digest, line)))
    for kind, fields in (
        ("epoch", {"protected": "q", "name": ""}),
        ("moved", {"arrived": "there", "to": "there", "at": ""}),
        ("accepted", {"id": "a", "host": "h", "known": 3, "reason": "", "at": ""}),
        ("accepted", {"id": "a", "host": "h", "known": 3, "reason": "", "at": "", "arrived": "elsewhere"}),
        ("accepted", {"id": "a", "host": "h", "known": 3, "reason": "", "at": "", "arrived": "there", "home": 7}),
    ):
        line = encode(kind, fields)
        with pytest.raises(LedgerDamaged, match="does not add up"):
            state.after((4, line, link(state.digest, line)))
    for kind, fields in (
        ("moved", {"arrived": 1, "to": "there", "at": ""}),
        ("accepted", {"id": "a", "host": "h", "known": 3, "reason": "", "at": "", "arrived": "there"}),
    ):
        line = encode(kind, fields)
        with opened(InFile(path), None) as ledger:
            state = State.replayed(ledger._store.rows())
        with pytest.raises(LedgerDamaged, match="does not add up"):
            state.after((3, line, link(state.digest, line)))


# copies that are not it


def test_a_backup_of_a_database_is_a_file_that_is_not_spent_from(
    homes: dict[str, Home], marks: Marks, tmp_path: Path
) -> None:
    home, backup = homes["database"], tmp_path / "backup.sqlite"
    with pytest.raises(LedgerError, match="there is no ledger"):
        home.back_up(backup)
    with opened(home, None) as ledger:
        receipt = spend(ledger, Pure(1), answer=b"42", plan="p")
        report = home.back_up(backup)
        assert (report.problems, report.records) == ((), 4)
        assert InFile(backup).verify([receipt], None).sound
        with pytest.raises(LedgerError, match="exists already"):
            home.back_up(backup)
    with pytest.raises(LedgerDamaged, match="is a copy of one that is in a database"):
        opened(InFile(backup), None)
    with opened(InFile(backup), None, Acceptance("the database is gone", forget=False)) as ledger:
        assert ledger.balance().spent.epsilon == 1
    with pytest.raises(LedgerError, match="restored with PostgreSQL"):
        home.restore(backup, forget="", marks=marks)


def test_a_backup_that_fails_leaves_nothing(
    homes: dict[str, Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(homes["database"], None) as ledger:
        spend(ledger, Pure(1))
    monkeypatch.setattr(Sqlite, "append", lambda *_: (_ for _ in ()).throw(LedgerError("the disk is full")))
    with pytest.raises(LedgerError, match="full"):
        homes["database"].back_up(tmp_path / "backup.sqlite")
    assert not (tmp_path / "backup.sqlite").exists()


def test_a_copy_in_another_schema_is_not_the_ledger(postgres: Cluster, homes: dict[str, Home]) -> None:
    """Rows that somebody copied, as a dump that is restored elsewhere does."""
    home, other = homes["database"], InDatabase(ledgers.prepared(postgres))
    assert isinstance(home, InDatabase)
    with opened(home, None) as ledger:
        spend(ledger, Pure(1))
    postgres.run(f"INSERT INTO {other.where.schema}.journal SELECT * FROM {home.where.schema}.journal ORDER BY number")
    with pytest.raises(LedgerDamaged, match="is a copy of one in another database"):
        opened(other, None)
    with opened(other, None, Acceptance("it is the only one now", forget=False)) as ledger:
        assert ledger.balance().spent.epsilon == 1
    assert is_open(other, None)


def test_a_file_that_was_copied_into_a_database_is_not_the_ledger(homes: dict[str, Home]) -> None:
    with opened(homes["file"], None) as ledger:
        spend(ledger, Pure(1))
        with closing(homes["database"].store()) as journal, journal.transaction(State):
            for row in ledger._store.rows():
                journal.append(*row)
    with pytest.raises(LedgerDamaged, match="is a copy of one that is a file"):
        opened(homes["database"], None)


@pytest.mark.parametrize("timeline", [True, False])
def test_a_server_that_was_restored_is_noticed(
    homes: dict[str, Home], marks: Marks, monkeypatch: pytest.MonkeyPatch, timeline: bool
) -> None:
    """By another timeline or system, at the next charge and at the next opening; the owner may accept it."""
    home = homes["database"]
    server = "SELECT '7', '00000001'" if not timeline else SERVER.replace("left(", "'0000000' || right(")
    with opened(home, marks) as ledger:
        spend(ledger, Pure(1))
        monkeypatch.setattr(ledger._store, "_enter", ledger._store._enter.replace(SERVER, server))  # type: ignore[attr-defined]
        with pytest.raises(LedgerDamaged, match="restored or replaced while it was open"):
            spend(ledger, Pure(1))
    for module in (session, store):
        monkeypatch.setattr(module, "SERVER", server)
    with pytest.raises(LedgerDamaged, match="standby" if timeline else "in another database"):
        opened(home, marks)
    assert home.is_begun(marks)
    with opened(home, marks, Acceptance("a failover", forget=False)) as ledger:
        assert ledger.balance().spent.epsilon == 1


def test_a_database_that_lost_records_is_noticed_where_they_were_seen(
    postgres: Cluster, homes: dict[str, Home], marks: Marks
) -> None:
    """As after a restore that has the same system and timeline."""
    home = homes["database"]
    assert isinstance(home, InDatabase)
    with opened(home, marks) as ledger:
        spend(ledger, Pure(1))
        spend(ledger, Pure(1))
        digest = list(ledger._store.rows())[2][2]
        postgres.run(
            "SET session_replication_role = replica",
            f"DELETE FROM {home.where.schema}.journal WHERE number > 3",
            f"UPDATE {home.where.schema}.head SET number = 3, hash = '{digest}'",
        )
        with pytest.raises(LedgerDamaged, match="gone or another"):
            spend(ledger, Pure(1))
        ledger._store._connection.close()  # type: ignore[attr-defined]
        with pytest.raises(LedgerDamaged, match="record 4 of the ledger is gone"):
            spend(ledger, Pure(1))
    with pytest.raises(LedgerDamaged, match="was rolled back"):
        opened(home, marks)
    assert not home.verify([], marks).sound
    with opened(home, marks, Acceptance("the disk burnt", forget=True)) as ledger:
        assert ledger.balance().spent.epsilon == 1


def test_another_host_may_open_it_at_once(homes: dict[str, Home], marks: Marks, tmp_path: Path) -> None:
    home = homes["database"]
    assert not home.is_begun(marks)
    with opened(home, marks) as ledger:
        spend(ledger, Pure(1))
    with opened(home, Marks(tmp_path / "other")) as ledger:
        assert len(ledger._newest.hosts) == 2
        spend(ledger, Pure(1))
    with opened(home, None) as ledger:
        assert ledger.balance().spent.epsilon == 2
    assert home.is_begun(None)


def test_totals_say_where_the_journal_is(homes: dict[str, Home], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens it from totals on knows the place as well; a last record is followed by no totals."""
    monkeypatch.setattr("discreet.ledger.ledger.TOTALS_EVERY", 4)
    old, new = homes["database"], homes["file"]
    with opened(old, None) as ledger:
        for _ in range(4):
            spend(ledger, Pure(1))
    with opened(old, None) as ledger:
        state = ledger._newest
        assert state.home is not None
        assert state == State.replayed(ledger._store.rows())
        while (ledger._newest.head + 1) % 4:
            spend(ledger, Pure(Fraction(1, 100)))
    moved(old, new, None)
    assert is_open(new, None)
    assert new.verify([], None).problems == ()


# killed in the middle


def test_a_move_that_was_begun_is_finished_by_the_same_command(
    homes: dict[str, Home], marks: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = homes["file"], homes["database"]
    with opened(old, marks) as ledger:
        spend(ledger, Pure(1))
    with monkeypatch.context() as broken:
        broken.setattr(moving, "_arrive", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            moved(old, new, marks)
    assert not is_open(old, marks)
    moved(old, new, marks)
    assert is_open(new, marks)


@pytest.mark.parametrize("points", [4, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("outward", [True, False])
def test_a_move_that_dies_leaves_at_most_one_open_and_is_finished(
    postgres: Cluster, quick: Path, outward: bool, points: int
) -> None:
    ends = child("dying_moves", postgres.folder, postgres.port, quick, outward, points, module="crowds")
    print(ends)
    assert ends["two"] == 0
    assert ends["old"] + ends["new"] + ends["none"] == points + 1
    assert min(ends["old"], ends["new"]) > 0


# as people do it


def test_a_ledger_is_prepared_and_moved_by_commands(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_MARKS", str(tmp_path / "marks"))
    (tmp_path / "visits.csv").write_text("id\n1\n2\n", encoding="utf-8")
    path, schema = tmp_path / "clinic.toml", ledgers.prepared(postgres).schema
    text = 'budget = { epsilon = 3 }\nunit = { name = "p" }\ntables.t = { source = "visits.csv", unit = "id" }\n'
    path.write_text(text, encoding="utf-8")
    policy = read(path)
    with open_ledger(policy) as ledger:
        spend(ledger, Pure(1, unit="p"), answer=b"42", plan="p")
    owner, curator = (postgres.address(user=user) for user in (OWNER, ledgers.ROLE))
    assert "there already" in run("ledger", "prepare", owner, "--role", ledgers.ROLE, "--schema", schema).output
    told = run("ledger", "prepare", owner, "--role", ledgers.ROLE, "--schema", f"{schema}_2", "--json")
    assert json.loads(told.output)["prepared"] is True
    refused = run("ledger", "prepare", f"postgresql://me:{SECRET}@db/x", "--role", "r", code=5)
    assert SECRET not in refused.output
    run("ledger", "move", str(path), "--to", curator, "--schema", "nowhere", code=5)
    out = run("ledger", "move", str(path), "--to", curator, "--schema", schema).output
    assert f'url = "{curator}", schema = "{schema}"' in out
    assert "closed here for good" in run("ledger", "verify", str(path)).output
    with pytest.raises(LedgerError, match="was moved to"):
        open_ledger(policy)
    path.write_text(f'{text}[ledger]\nurl = "{curator}"\nschema = "{schema}"\n', encoding="utf-8")
    policy = read(path)
    assert balances(policy)[None].spent.epsilon == 1
    assert verify_ledger(policy).sound
    assert back_up_ledger(policy, tmp_path / "backup.sqlite").charges == 1
    back = json.loads(run("ledger", "move", str(path), "--to", str(policy.state), "--json").output)
    assert back["moved"] == str(policy.state / "ledger.sqlite")
    path.write_text(text, encoding="utf-8")
    with open_ledger(read(path)) as ledger:
        assert ledger.balance().spent.epsilon == 1
    assert "remove [ledger]" in run("ledger", "move", str(path), "--to", str(tmp_path / "s")).output
