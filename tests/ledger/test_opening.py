"""What is at the path: a ledger that this version knows, nothing yet, or something that must not be touched."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from discreet.accounting import Pure
from discreet.files import NETWORKS, file_system
from discreet.ledger import LedgerDamaged, LedgerError, verify
from discreet.ledger.codec import Record, decode
from discreet.ledger.sqlite.files import beside, refuse_network
from discreet.ledger.sqlite.schema import FORMAT, LAYOUTS, SCHEMA
from discreet.ledger.sqlite.store import Sqlite
from discreet.ledger.state import State
from discreet.ledger.store import Row
from tests.ledger.helpers import CENT, answers, change, filled, forge, hurried, moved, opened, rows, spend
from tests.threads import at_once


@pytest.mark.parametrize("change_", [{"v": 9}, {"v": 0}, {"v": "1"}, {"kind": "refund"}, {"kind": "Charge"}])
def test_a_record_of_another_version_or_kind_refuses_the_ledger(path: Path, change_: Record) -> None:
    filled(path, 3)

    def edit(number: int, record: Record) -> None:
        if number == 4:
            record.update(change_)

    forge(path, edit)
    message = (
        r"record 4 is of version .* and kind .*, which this discreet does not know → open the ledger with the version"
    )
    with pytest.raises(LedgerDamaged, match=message):
        opened(path)
    (problem,) = verify(path).problems
    assert "which this discreet does not know" in problem


@pytest.mark.parametrize(
    "line", ["", "{", "7", "[]", "null", '"x"', "{}", '{"v":1}', '{"kind":"charge"}', "[" * 100_000, None]
)
def test_a_line_that_is_no_record(line: str | None) -> None:
    with pytest.raises(LedgerDamaged, match="record 9"):
        decode(9, line)


def test_an_unknown_format_is_refused(path: Path) -> None:
    filled(path, 1)
    change(path, "PRAGMA user_version = 4")
    with pytest.raises(LedgerDamaged, match="has format 4, this discreet knows 3 → open it with the version"):
        opened(path)


@pytest.mark.parametrize("version", sorted(LAYOUTS.keys() - {FORMAT}))
def test_indexes_that_came_later_are_added_where_it_is_opened_and_not_where_it_is_verified(
    path: Path, version: int
) -> None:
    filled(path, 2)
    later = SCHEMA.keys() - LAYOUTS[version].keys()
    for statement in (*(f"DROP INDEX {name}" for name in later), f"PRAGMA user_version = {version}"):
        change(path, statement)
    beside(path, ".seal").unlink()  # of the bytes before
    assert verify(path).problems == ()
    assert known(path) == (version, set(LAYOUTS[version]))
    opened(path).close()
    assert known(path) == (FORMAT, set(SCHEMA))


def known(path: Path) -> tuple[int, set[str]]:
    """The format that a ledger states, and what is there of its layout."""
    with closing(sqlite3.connect(path)) as connection:
        ((stated,),) = connection.execute("PRAGMA user_version").fetchall()
        return stated, {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")} & SCHEMA.keys()


def test_the_database_of_somebody_else_is_left_as_it_is(path: Path) -> None:
    change(path, "CREATE TABLE letters (text)")
    before = path.read_bytes()
    with pytest.raises(LedgerDamaged, match="is not a ledger of discreet → name another state folder"):
        opened(path)
    assert verify(path).problems[0].endswith("name another state folder")
    assert path.read_bytes() == before


def test_an_empty_database_of_somebody_else(path: Path) -> None:
    change(path, "PRAGMA application_id = 7")
    with pytest.raises(LedgerDamaged, match="is not a ledger of discreet"):
        opened(path)


@pytest.mark.parametrize(
    "content", [b"dear diary\n", b"x" * 5000, b"SQLite format 3\x00", b"SQLite format 3\x00" + bytes(5000)]
)
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerDamaged, match=r"could not open .* → restore a backup"):
        opened(path)
    report = verify(path)
    assert report.problems
    assert (report.records, report.charges, report.head, report.sealed) == (0, 0, "", False)
    assert path.read_bytes() == content


def test_a_folder_in_the_way(path: Path) -> None:
    path.mkdir()
    for act in (opened, verify):
        with pytest.raises(LedgerError, match=r"could not (open|read) .* → (see that it is a file|check the state)"):
            act(path)


def test_a_folder_with_a_seal(path: Path) -> None:
    filled(path, 1)
    path.unlink()
    path.mkdir()
    with pytest.raises(LedgerError, match=r"could not read .*: Is a directory"):
        verify(path)


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    """It is what a process leaves that dies while it makes the file."""
    path.touch()
    with opened(path) as ledger:
        spend(ledger)
    assert verify(path).problems == ()


def test_where_there_is_none(path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there is no ledger at .* → the first question begins one"):
        verify(path)
    assert not path.exists()


def test_a_file_system_without_wal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLite cannot share memory it stays with its old journal, and says so."""

    class Stubborn(sqlite3.Connection):
        def execute(self, sql: str, *arguments: object) -> sqlite3.Cursor:
            return super().execute("SELECT 'delete'" if sql == "PRAGMA journal_mode = WAL" else sql, *arguments)  # type: ignore[arg-type]

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, factory=Stubborn, **k))
    with pytest.raises(LedgerError, match=r"cannot be written safely \(no WAL here\) → move it to a local disk"):
        opened(path)


# network file systems

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local ext4 rw 0 0
//share/two\\040words /media/two\\040words cifs rw 0 0
tmpfs /media/two\\040words/inner tmpfs rw 0 0
/dev/sdc1 /over ext4 rw 0 0
server:/over /over nfs rw 0 0
broken line
sshfs#me@host: /mnt/ssh fuse.sshfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path: Path) -> str:
    file = tmp_path / "mounts"
    file.write_text(MOUNTS)
    return str(file)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/srv/state", "ext4"),
        ("/home", "nfs4"),
        ("/home/ann/state", "nfs4"),
        ("/homes/ann", "ext4"),
        ("/home/local/state", "ext4"),
        ("/home/local/../ann", "nfs4"),
        ("/media/two words", "cifs"),
        ("/media/two words/x", "cifs"),
        ("/media/two words/inner/x", "tmpfs"),
        ("/media/two", "ext4"),
        ("/over/x", "nfs"),
        ("/mnt/ssh/x", "fuse.sshfs"),
    ],
)
def test_the_file_system_is_that_of_the_innermost_mount(mounts: str, place: str, kind: str) -> None:
    assert file_system(Path(place), mounts) == kind
    if kind in NETWORKS:
        with pytest.raises(LedgerError, match=rf"network file system \({kind}\).* → move it to a local disk"):
            refuse_network(Path(place), mounts)
    else:
        refuse_network(Path(place), mounts)


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert file_system(tmp_path, str(tmp_path / "missing")) is None
    (tmp_path / "empty").touch()
    assert file_system(tmp_path, str(tmp_path / "empty")) is None
    refuse_network(tmp_path, str(tmp_path / "missing"))


def test_a_ledger_on_a_network_is_refused_before_anything_is_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.ledger.sqlite.files.file_system", lambda *_: "nfs4")
    with pytest.raises(LedgerError, match="network file system"):
        opened(path)
    assert list(path.parent.iterdir()) == []


# the tail

EVERY = 100


@pytest.fixture(autouse=True, scope="module")
def totals_every_hundred() -> Iterator[None]:
    """As after every thousand records, in less time; the real number has its test among the forgeries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.ledger.ledger.TOTALS_EVERY", EVERY)
        yield


@pytest.fixture(scope="module")
def large(shared: Path) -> Path:
    """A closed ledger of 250 records, with totals after the 100th and the 200th."""
    path = shared / "ledger.sqlite"
    with hurried(path) as ledger:
        while ledger._state.head < 250:
            spend(ledger, Pure(0.001), analyst="ann" if ledger._state.head % 3 == 0 else None)
        ledger.advance_data("a new week")
    return path


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the records that are read from now on."""
    seen: list[int] = []
    original = Sqlite.rows

    def counting(self: Sqlite, *bounds: int, **named: int) -> Iterator[Row]:
        for row in original(self, *bounds, **named):
            seen.append(row[0])
            yield row

    monkeypatch.setattr(Sqlite, "rows", counting)
    return seen


def test_opening_reads_the_tail_only(large: Path, quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = moved(large, quick)
    last = len(rows(copied))
    with opened(copied) as whole:
        expected = whole._state
    seen = counted(monkeypatch)
    with opened(copied) as ledger:
        assert seen == [200, 201, *range(202, last + 1)]
        assert ledger._state == expected
        spend(ledger)
        assert ledger.balance().spent.epsilon == (last - 2 - 2 - 1) / 1000 + 0.01
        assert max(seen) == last
    assert verify(copied).problems == ()


def test_totals_repeat_everything(large: Path, quick: Path) -> None:
    """A state that was read from the start is the one that was taken from the totals."""
    copied = moved(large, quick)
    with opened(copied) as ledger:
        short = ledger._state
    with closing(sqlite3.connect(copied)) as connection:
        lines = list(connection.execute('SELECT number FROM journal WHERE line LIKE \'%"kind":"totals"%\''))
    assert [number for (number,) in lines] == [EVERY + 1, 2 * EVERY + 1]
    state = State()
    for number, line, digest, *_ in rows(copied):
        state = state.after((number, line, digest))
    assert state == short


def test_without_totals_in_their_place_everything_is_read(large: Path, quick: Path) -> None:
    """The newest records are gone, and the totals with them: found by seal or receipt, and no reason to give up."""
    copied = moved(large, quick, only=[""])
    change(copied, f"DELETE FROM journal WHERE number > {2 * EVERY}")
    with opened(copied) as ledger:
        assert len(ledger.entries()) == 2 * EVERY - 3
        spend(ledger)
    assert verify(copied).problems == ()


@pytest.mark.parametrize("kind", ["charge", "answer", "data"])
def test_the_record_before_the_totals(quick: Path, kind: str) -> None:
    """Whatever it is, the totals come after it, and a charge keeps its own number."""
    path = quick / "ledger.sqlite"
    with hurried(path) as ledger:
        while ledger._state.head < EVERY - (2 if kind == "answer" else 1):
            spend(ledger)
        if kind == "data":
            ledger.advance_data("a new week")
        charge = ledger.charge(CENT, why="this one", plan="p")
        with charge:
            charge.keep(b"42")
        (kept,) = answers(ledger, "p")
        entry = ledger.entries()[-1]
        assert charge.number == entry.number == kept.charge
        assert charge.receipt == kept.receipt
        assert entry.answered
        assert entry.question == "this one"
    assert verify(path, [charge.receipt]).problems == ()
    with opened(path) as ledger:
        assert answers(ledger, "p") == [kept]


# where from


def test_a_relative_path_stays_where_it_was(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    ledger = opened(Path(path.name))
    monkeypatch.chdir(tmp_path)
    receipt = spend(ledger)
    ledger.close()
    assert list(tmp_path.iterdir()) == []
    report = verify(path, [receipt])
    assert report.problems == ()
    assert report.sealed


# many who open


def test_many_threads_begin_one_ledger(path: Path) -> None:
    def begin() -> None:
        with opened(path) as ledger:
            spend(ledger)

    assert at_once(8, begin) == [None] * 8
    report = verify(path)
    assert report.problems == ()
    assert report.charges == 8
    assert report.records == 8 + 2


def test_an_opening_that_fails_leaves_no_connection(path: Path) -> None:
    filled(path, 1)
    change(path, "UPDATE journal SET hash = 'x' WHERE number = 2")
    with pytest.raises(LedgerDamaged):
        opened(path)
    assert not beside(path, "-wal").exists()
