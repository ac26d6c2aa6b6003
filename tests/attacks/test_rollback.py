"""Somebody with access to the state folder deletes it, brings an older copy back, or copies it without its WAL.

Every file of it then agrees with every other, and what was spent since could be spent again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.curator.state import (
    accept_ledger,
    back_up_ledger,
    balances,
    entries,
    open_ledger,
    restore_ledger,
    verify_ledger,
)
from discreet.ledger import Grant, Ledger, LedgerDamaged, LedgerError, Marks, back_up, ledger, restore, verify
from discreet.ledger.marks import Mark
from discreet.ledger.sqlite.files import beside
from discreet.policy import Policy, read
from tests.cli.runs import run
from tests.fixtures.build import HERE
from tests.forked import CODE, forked
from tests.ledger.helpers import forge, opened, rows, spend

POLICY = """
name = "clinic"
state = "state"
[budget]
epsilon = 1.0
[unit]
name = "patient"
[tables.patients]
source = "patients.csv"
unit = "patient_id"
"""


TENTH = Pure(Fraction(1, 10)).per("patient")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "clinic").mkdir()
    (tmp_path / "clinic" / "clinic.toml").write_text(POLICY, encoding="utf-8")
    return read(tmp_path / "clinic" / "clinic.toml")


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The marks of a user of one's own."""
    monkeypatch.setenv("DISCREET_MARKS", str(tmp_path / "marks"))
    return tmp_path / "marks"


def charge(policy: Policy, tenths: int = 1) -> float:
    with open_ledger(policy) as book:
        for _ in range(tenths):
            with book.charge(TENTH, why="q"):
                pass
        return book.balance().spent.epsilon


def kinds(policy: Policy) -> list[str]:
    return [json.loads(line)["kind"] for _, line, *_ in rows(policy.state / "ledger.sqlite")]


def last(policy: Policy) -> dict[str, Any]:
    return json.loads(rows(policy.state / "ledger.sqlite")[-1][1])  # type: ignore[no-any-return]


# rollback


def older_copy(policy: Policy) -> None:
    shutil.copytree(policy.state, policy.state.parent / "older")
    charge(policy, 2)
    shutil.rmtree(policy.state)
    (policy.state.parent / "older").rename(policy.state)


def without_wal(policy: Policy) -> None:
    """Copied while somebody had it open: what was charged last lies in the WAL."""
    with open_ledger(policy) as book:
        spend(book, TENTH)
        spend(book, TENTH)
        shutil.copy(policy.state / "ledger.sqlite", policy.state.parent / "copy")
    shutil.rmtree(policy.state)
    policy.state.mkdir(0o700)
    (policy.state.parent / "copy").rename(policy.state / "ledger.sqlite")


def cut(policy: Policy) -> None:
    """The newest records removed from the file, with its seal."""
    charge(policy, 2)
    path = policy.state / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM journal WHERE number > 4")
    beside(path, ".seal").unlink()


def another_way(policy: Policy) -> None:
    """An older copy that went on by itself, beyond where the other had come, on a host that keeps no marks."""
    shutil.copytree(policy.state, policy.state.parent / "older")
    charge(policy, 2)
    shutil.rmtree(policy.state)
    (policy.state.parent / "older").rename(policy.state)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_MARKS", "off")
        charge(policy, 4)


def deleted(policy: Policy) -> None:
    charge(policy, 2)
    shutil.rmtree(policy.state)


ROLLBACKS = {
    "older copy": older_copy,
    "without WAL": without_wal,
    "cut": cut,
    "another way": another_way,
    "deleted": deleted,
}


@pytest.mark.usefixtures("marks")
@pytest.mark.parametrize("attack", ROLLBACKS)
def test_what_was_spent_is_not_spent_again(policy: Policy, attack: str) -> None:
    charge(policy, 2)
    ROLLBACKS[attack](policy)
    for look in (lambda: charge(policy), lambda: balances(policy), lambda: entries(policy)):
        with pytest.raises(LedgerDamaged, match=r"(rolled back|is gone|had \d+ records)") as found:
            look()
        assert "discreet ledger" in found.value.fix or "restore" in found.value.fix
    if attack != "deleted":
        assert not verify_ledger(policy).sound


@pytest.mark.usefixtures("marks")
def test_a_new_ledger_in_the_place_of_another_is_noticed(policy: Policy) -> None:
    """Made elsewhere for the same policy, and put where the old one was."""
    charge(policy, 2)
    shutil.rmtree(policy.state)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_MARKS", "off")
        charge(policy)
    with pytest.raises(LedgerDamaged, match="had 4 records and is another one now"):
        charge(policy)


@pytest.mark.usefixtures("marks")
def test_two_copies_do_not_go_on_beside_each_other(policy: Policy, tmp_path: Path) -> None:
    """A copy of everything, policy included, spends; then the first one is behind what this host knows."""
    charge(policy, 2)
    shutil.copytree(tmp_path / "clinic", tmp_path / "copy")
    charge(read(tmp_path / "copy" / "clinic.toml"), 2)
    with pytest.raises(LedgerDamaged, match="rolled back"):
        charge(policy)


@pytest.mark.usefixtures("marks")
def test_a_folder_that_was_moved_goes_on_and_is_not_missed(policy: Policy, tmp_path: Path) -> None:
    charge(policy, 2)
    (tmp_path / "clinic").rename(tmp_path / "moved")
    assert charge(read(tmp_path / "moved" / "clinic.toml")) == pytest.approx(0.3)
    (tmp_path / "clinic").mkdir()
    (tmp_path / "clinic" / "clinic.toml").write_text(POLICY, encoding="utf-8")
    assert charge(policy) == pytest.approx(0.1), "a new project where the old one was"


@pytest.mark.usefixtures("marks")
def test_a_link_that_leads_elsewhere_now_is_noticed(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir(0o700)
    (tmp_path / "two").mkdir(0o700)
    policy.state.symlink_to(tmp_path / "one")
    charge(policy, 2)
    policy.state.unlink()
    policy.state.symlink_to(tmp_path / "two")
    with pytest.raises(LedgerDamaged, match="is gone"):
        charge(policy)


# accepting


@pytest.mark.usefixtures("marks")
@pytest.mark.parametrize("attack", ["older copy", "deleted", "another way"])
def test_the_owner_may_forget_on_the_record(policy: Policy, attack: str) -> None:
    charge(policy, 2)
    ROLLBACKS[attack](policy)
    with pytest.raises(LedgerDamaged):
        accept_ledger(policy, "it was me", forget=False)
    accept_ledger(policy, "the disk was lost", forget=True)
    told = last(policy)
    assert (told["kind"], told["reason"]) == ("accepted", "the disk was lost")
    assert told["known"] >= 6
    charge(policy)
    assert verify_ledger(policy).problems == ()


def test_a_new_host_accepts_a_ledger_once(
    policy: Policy, marks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge(policy, 2)
    monkeypatch.setenv("DISCREET_MARKS", str(tmp_path / "another host"))
    with pytest.raises(LedgerDamaged, match="comes from elsewhere → if you know why, let `discreet ledger accept`"):
        charge(policy)
    run("ledger", "accept", policy.path, "--reason", "moved to the new server")
    assert charge(policy) == pytest.approx(0.3)
    assert kinds(policy).count("accepted") == 1
    monkeypatch.setenv("DISCREET_MARKS", str(marks))
    assert charge(policy) == pytest.approx(0.4), "the first host knows an earlier record of the same ledger"
    monkeypatch.setenv("DISCREET_MARKS", str(tmp_path / "another host"))
    assert charge(policy) == pytest.approx(0.5)
    assert verify_ledger(policy).problems == ()


def copied(source: Path, target: Path) -> None:
    """A folder for its owner alone, as states are."""
    shutil.copytree(source, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)


@pytest.mark.usefixtures("marks")
def test_ledgers_from_before_there_were_marks_are_known_from_their_first_opening_on(tmp_path: Path) -> None:
    copied(HERE / "pure", tmp_path / "pure")
    found = read(tmp_path / "pure" / "hospital.toml")
    before = balances(found)[None]
    assert "accepted" not in kinds(found), "looking records nothing"
    open_ledger(found).close()
    assert last(found)["kind"] == "accepted"
    assert balances(found)[None] == before
    shutil.rmtree(found.state)
    copied(HERE / "pure" / "state", found.state)
    with pytest.raises(LedgerDamaged, match="is another one now"):
        open_ledger(found)


def test_totals_repeat_who_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "TOTALS_EVERY", 5)
    kept, path = Marks(tmp_path / "marks"), tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir()
    for _ in range(3):
        with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept) as book:
            for _ in range(3):
                spend(book)
    assert verify(path, marks=kept).problems == ()
    with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept) as book:
        assert book._state.hosts == {kept.host}


@pytest.mark.parametrize(("delta", "loss"), [(None, Pure(1)), (Fraction(1, 10**6), Concentrated(Fraction(1, 10)))])
def test_a_ledger_without_its_mark_is_not_known_once_anything_is_spent(
    tmp_path: Path, delta: Fraction | None, loss: Any
) -> None:
    """Also where one currency is spent and the other not: only what died before its first mark has none by itself."""
    kept, path = Marks(tmp_path / "marks"), tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir()
    grant = Grant.of(Fraction(9), delta)
    Ledger.open(path, grant, shares={}, marks=kept).close()
    for place in kept.folder.glob("*.mark"):
        place.unlink()
    with Ledger.open(path, grant, shares={}, marks=kept) as book, book.charge(loss, why="q"):
        pass
    for place in kept.folder.glob("*.mark"):
        place.unlink()
    with pytest.raises(LedgerDamaged, match="does not know the ledger"):
        Ledger.open(path, grant, shares={}, marks=kept)


# what a mark costs, and where it may be


def test_a_mark_never_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It moves after commits that waited for the disk, and names a record that they hold; answers do not move it."""
    kept, path = Marks(tmp_path / "marks"), tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir()
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(descriptor))
    with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept) as book:
        name = str(book._state.id)
        assert kept.of(name) == Mark(book._state.head, book._state.digest)
        flushed.clear()
        charge = book.charge(Pure(Fraction(1, 10)), why="q", plan="p")
        with charge:
            assert kept.of(name) == Mark(charge.number, charge.digest)
            charge.keep(b"42")
        assert book._state.head == charge.number + 1
        assert kept.of(name) == Mark(charge.number, charge.digest), "an answer may be lost with the power"
        with suppress(Exception), book.charge(Pure(100), why="too much"):
            pass
        assert kept.of(name) == Mark(charge.number, charge.digest), "nothing was appended"
        charge = book.charge(Pure(Fraction(1, 10)), why="q")
        with charge:
            assert kept.of(name) == Mark(charge.number, charge.digest), "the next charge moves it again"
        assert flushed == [], "no flush of its own"
    with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept):
        assert kept.of(name) == Mark(charge.number, charge.digest), "looking moves nothing"


def test_a_mark_that_lags_is_no_alarm(tmp_path: Path) -> None:
    """A power cut may bring an older mark back."""
    kept, path = Marks(tmp_path / "marks"), tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir()
    with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept) as book:
        spend(book)
        (place,) = kept.folder.glob("*.mark")
        older = place.read_bytes()
        spend(book)
    place.write_bytes(older)
    with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept) as book:
        spend(book)
    assert verify(path, marks=kept).problems == ()


def test_a_mark_that_cannot_be_read_is_told(policy: Policy, marks: Path) -> None:
    charge(policy)
    (place,) = marks.glob("*.mark")
    place.write_bytes(b"9" + place.read_bytes()[1:])
    with pytest.raises(LedgerDamaged, match=r"has a high-water mark in .* that cannot be read"):
        charge(policy)
    assert not verify_ledger(policy).sound
    accept_ledger(policy, "the mark was damaged, not the ledger", forget=True)
    assert charge(policy) == pytest.approx(0.2)
    assert verify_ledger(policy).problems == ()


@pytest.mark.parametrize("place", ["state", "state/deep", "file/in", "relative"])
def test_no_place_for_marks_is_an_error_with_two_ways_out(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A folder that goes with the ledger, one that cannot be made, none at all: never silently without."""
    (tmp_path / "clinic" / "file").write_text("", encoding="utf-8")
    named = place if place == "relative" else str(tmp_path / "clinic" / place)
    monkeypatch.setenv("DISCREET_MARKS", named)
    with pytest.raises(LedgerError, match=r"set DISCREET_MARKS to a folder .* or to off"):
        charge(policy)
    monkeypatch.setenv("DISCREET_MARKS", "off")
    assert charge(policy) == pytest.approx(0.1)


def test_without_a_home(policy: Policy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("DISCREET_MARKS")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(LedgerError, match=r"no home folder .* set DISCREET_MARKS"):
        charge(policy)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    charge(policy)
    assert list((tmp_path / "xdg" / "discreet" / "ledgers").glob("*.mark"))


@pytest.mark.usefixtures("marks")
def test_processes_share_a_mark(policy: Policy) -> None:
    """Each moves it up under the ledger's lock; at the end it names the last charge."""
    charge(policy)
    act = "import sys; from tests.attacks.test_rollback import charge, read; charge(read(sys.argv[1]), 2)"
    running = [forked(CODE, act, str(policy.path), environment=os.environ) for _ in range(3)]
    said = [each.communicate(timeout=120)[1] for each in running]
    assert [each.poll() for each in running] == [0, 0, 0], said
    found = Marks.default()
    assert found is not None
    with open_ledger(policy) as book:
        assert found.of(str(book._state.id)) == Mark(book._state.head, book._state.digest)
        assert book.balance().spent.epsilon == pytest.approx(0.7)


# restoring


def flip(path: Path, where: bytes) -> None:
    """One bit, in the page that holds these bytes."""
    content = bytearray(path.read_bytes())
    content[content.rindex(where) + 3] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("where", [b"SELECT 7", b'"kind":"charge"', b"CREATE TABLE", b"SQLite format"])
def test_one_flipped_bit_forgets_nothing(tmp_path: Path, where: bytes) -> None:
    """Spending since the backup was forgotten as soon as the ledger was damaged anywhere."""
    path = tmp_path / "ledger.sqlite"
    with opened(path) as book:
        spend(book, why="SELECT 1")
    back_up(path, tmp_path / "backup")
    with opened(path) as book:
        spend(book, why="SELECT 7")
    flip(path, where)
    damaged = path.read_bytes()
    assert not verify(path).sound
    with pytest.raises(LedgerError, match=r"restoring would forget spending → restore a newer backup; or .* --forget"):
        restore(tmp_path / "backup", path)
    assert path.read_bytes() == damaged
    report = restore(tmp_path / "backup", path, forget="the disk is failing")
    assert report.sound
    told = json.loads(rows(path)[-1][1])
    assert (told["kind"], told["reason"], told["known"] > report.records - 1) == (
        "accepted",
        "the disk is failing",
        True,
    )
    assert beside(path, ".replaced-1").read_bytes() == damaged, "what was there is kept"


def test_a_damaged_ledger_that_was_not_closed_is_not_replaced_in_silence(tmp_path: Path) -> None:
    """Nothing is known of what it held last: no seal, no mark."""
    path = tmp_path / "ledger.sqlite"
    with opened(path) as book:
        spend(book)
    back_up(path, tmp_path / "backup")
    beside(path, ".seal").unlink()
    path.write_bytes(b"rubbish")
    with pytest.raises(LedgerError, match="how many records it had is not known"):
        restore(tmp_path / "backup", path)
    restore(tmp_path / "backup", path, forget="rubbish")
    restore(tmp_path / "backup", path, forget="and again")
    assert {found.name for found in tmp_path.glob("*.replaced-?")} == {f"{path.name}.replaced-{n}" for n in (1, 2)}


@pytest.mark.usefixtures("marks")
def test_restoring_is_compared_with_the_mark(policy: Policy, tmp_path: Path) -> None:
    charge(policy, 2)
    older, newer = tmp_path / "older", tmp_path / "newer"
    back_up_ledger(policy, older)
    charge(policy, 2)
    back_up_ledger(policy, newer)
    shutil.rmtree(policy.state)
    with pytest.raises(LedgerError, match="is known here, and the backup lacks it: restoring would forget spending"):
        restore_ledger(policy, older)
    restore_ledger(policy, newer)
    assert charge(policy) == pytest.approx(0.5)
    shutil.rmtree(policy.state)
    assert restore_ledger(policy, older, "the newer one is lost").sound
    assert charge(policy) == pytest.approx(0.3), "accepted by restoring"
    assert verify_ledger(policy).problems == ()


def test_who_cannot_move_the_mark_gets_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, path = Marks(tmp_path / "marks"), tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept) as book:
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(LedgerError, match="could not write the high-water mark"):
            spend(book)


def test_a_ledger_of_dummy_data_may_be_forgotten(tmp_path: Path) -> None:
    kept, path = Marks(tmp_path / "marks"), tmp_path / "state" / "ledger.sqlite"

    def begun() -> None:
        path.parent.mkdir(exist_ok=True)
        with Ledger.open(path, Grant.of(Fraction(9), None), shares={}, marks=kept) as book:
            spend(book)

    begun()
    shutil.rmtree(path.parent)
    with pytest.raises(LedgerError):
        begun()
    kept.forget(path)
    begun()


@pytest.mark.usefixtures("marks")
@pytest.mark.parametrize("values", [{"known": -1}, {"known": "1"}, {"host": 7}, {"id": None}, {"reason": None}])
def test_a_forged_acceptance_does_not_add_up(tmp_path: Path, values: dict[str, object]) -> None:
    copied(HERE / "pure", tmp_path / "pure")
    found = read(tmp_path / "pure" / "hospital.toml")
    open_ledger(found).close()
    path = found.state / "ledger.sqlite"
    assert verify(path).sound
    forge(path, lambda _, record: record.update(values) if record["kind"] == "accepted" else None)
    assert not verify(path).sound


@pytest.mark.usefixtures("marks")
def test_an_old_ledger_that_was_never_sealed_goes_on(tmp_path: Path) -> None:
    copied(HERE / "pure", tmp_path / "pure")
    found = read(tmp_path / "pure" / "hospital.toml")
    beside(found.state / "ledger.sqlite", ".seal").unlink()
    before = balances(found)[None]
    open_ledger(found).close()
    assert balances(found)[None] == before
    assert verify_ledger(found).problems == ()
