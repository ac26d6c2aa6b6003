"""Somebody reaches one ledger by two names, or removes a file of it under those who have it open, and spends twice.

A symlink, a hard link and a removed -shm each gave 1.9 of a budget of 1.0, and `verify` called the result sound.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

import discreet
from discreet.accounting import Pure
from discreet.errors import BudgetExhausted
from discreet.ledger import Grant, Ledger, LedgerError, back_up, verify
from discreet.ledger.sqlite.files import OwnLock, beside, refuse_mounted
from tests.forked import CODE, forked

ONE = Grant.of(Fraction(1), None)
TENTH = Pure(Fraction(1, 10))
SPEND = """
import sys
from pathlib import Path
from tests.attacks.test_ledger_links import spent
print(spent(Path(sys.argv[1]), 20))
"""


def opened(path: Path) -> Ledger:
    return Ledger.open(path, ONE, shares={}, protected="people")


def tenths(book: Ledger, times: int) -> int:
    """How many tenths were given."""
    given = 0
    with suppress(BudgetExhausted, LedgerError):
        for _ in range(times):
            with book.charge(TENTH, why="q"):
                given += 1
    return given


def spent(path: Path, times: int) -> int:
    with suppress(LedgerError), opened(path) as book:
        return tenths(book, times)
    return 0


def elsewhere(path: Path) -> int:
    """What another process is given that comes by this name."""
    other = forked(CODE, SPEND, str(path), environment=os.environ, printed=True)
    said, complained = other.communicate(timeout=120)
    assert other.poll() == 0, complained
    return int(said)


def remove(ending: str) -> Callable[[Path], Path]:
    def act(path: Path) -> Path:
        beside(path, ending).unlink()
        return path

    return act


def renewed(ending: str) -> Callable[[Path], Path]:
    """Another file with the same bytes."""

    def act(path: Path) -> Path:
        held = beside(path, ending)
        content = held.read_bytes()
        held.unlink()
        held.write_bytes(content)
        return path

    return act


def other_name(link: Callable[[Path, Path], None], ending: str = "") -> Callable[[Path], Path]:
    def act(path: Path) -> Path:
        folder = path.parent / "elsewhere"
        folder.mkdir()
        link(beside(path, ending), folder / f"{path.name}{ending}")
        return folder / path.name if not ending else path

    return act


def folder_link(path: Path) -> Path:
    (path.parent.parent / "beside").symlink_to(path.parent)
    return path.parent.parent / "beside" / path.name


ATTACKS: dict[str, Callable[[Path], Path]] = {
    "symlink": other_name(lambda old, new: new.symlink_to(old)),
    "symlink of the folder": folder_link,
    "hard link": other_name(lambda old, new: os.link(old, new)),
    "hard link of the WAL": other_name(lambda old, new: os.link(old, new), "-wal"),
    "-shm removed": remove("-shm"),
    "-wal removed": remove("-wal"),
    "lock removed": remove(".lock"),
    "-shm renewed": renewed("-shm"),
    "lock renewed": renewed(".lock"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nobody_spends_more_than_the_budget(tmp_path: Path, attack: str) -> None:
    """Five tenths, the attack, all that another process gets, and what the first one still gets."""
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "ledger.sqlite"
    book = opened(path)
    given = tenths(book, 5)
    assert given == 5
    other = ATTACKS[attack](path)
    given += elsewhere(other)
    given += tenths(book, 20)
    with suppress(LedgerError):
        book.close()
    given += spent(path, 20)
    assert given <= 10, f"{given} tenths of a budget of one"
    if attack.startswith("symlink"):
        assert given == 10, "links to the one file are followed"
        assert verify(other).records == verify(path).records


@pytest.mark.parametrize("attack", ["-shm removed", "-wal removed", "lock removed", "-shm renewed", "lock renewed"])
def test_who_has_it_open_is_told(tmp_path: Path, attack: str) -> None:
    book = opened(tmp_path / "ledger.sqlite")
    tenths(book, 1)
    ATTACKS[attack](tmp_path / "ledger.sqlite")
    with pytest.raises(LedgerError, match=r"was replaced while it was open → verify it"), book.charge(TENTH, why="q"):
        pytest.fail("bits were given")
    with suppress(LedgerError):
        book.close()


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", ".lock"])
def test_a_second_name_is_refused_with_the_way_out(tmp_path: Path, ending: str) -> None:
    """Also when it is made under an open ledger; when it is gone, all is well again."""
    path = tmp_path / "ledger.sqlite"
    with opened(path) as book:
        tenths(book, 1)
        os.link(beside(path, ending), tmp_path / "copy")
        for act in (lambda: book.charge(TENTH, why="q").__enter__(), lambda: opened(path)):
            with pytest.raises(LedgerError, match=r"more than one name .* → remove the other name"):
                act()
        (tmp_path / "copy").unlink()
        assert tenths(book, 1) == 1
    assert verify(path).problems == ()


@pytest.mark.parametrize("ending", ["-wal", "-shm", ".lock"])
def test_files_beside_it_that_are_links_are_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "ledger.sqlite"
    with opened(path) as book:
        tenths(book, 1)
    beside(path, ending).unlink(missing_ok=True)
    beside(path, ending).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerError):
        opened(path)


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").symlink_to(tmp_path / "ledger.sqlite")
    with pytest.raises(LedgerError):
        opened(tmp_path / "ledger.sqlite")


def test_a_file_that_is_mounted_by_itself_is_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\n/dev/sda1 {tmp_path}/ledger.sqlite ext4 rw 0 0\n", encoding="utf-8")
    with pytest.raises(LedgerError, match="mount the whole state folder"):
        refuse_mounted(tmp_path / "ledger.sqlite", str(mounts))
    refuse_mounted(tmp_path / "other.sqlite", str(mounts))
    refuse_mounted(tmp_path / "ledger.sqlite", str(tmp_path / "none"))


def test_a_lock_that_stays_is_told(tmp_path: Path) -> None:
    one, other = (OwnLock(tmp_path / "lock") for _ in range(2))
    with one.held(1), pytest.raises(LedgerError, match="stays locked → try again"), other.held(0):
        pytest.fail("two held it")
    with other.held(0):
        pass
    one.close()
    other.close()


def test_a_state_folder_behind_a_link_is_one_state(tmp_path: Path) -> None:
    """Through public entry points: two policies' names for one folder share what is spent."""
    (tmp_path / "patients.csv").write_text("patient_id\n1\n2\n", encoding="utf-8")
    budget = '[budget]\nepsilon = 1.0\n[unit]\nname = "patient"\n'
    policy = budget + '[tables.patients]\nsource = "patients.csv"\nunit = "patient_id"\n'
    for name, state in (("a", "state"), ("b", "link")):
        (tmp_path / f"{name}.toml").write_text(f'name = "clinic"\nstate = "{state}"\n{policy}', encoding="utf-8")
    with discreet.open(tmp_path / "a.toml") as one:
        one.query("SELECT COUNT(*) FROM patients", epsilon=0.9)
        (tmp_path / "link").symlink_to(tmp_path / "state")
        with discreet.open(tmp_path / "b.toml") as other:
            assert other.budget() == one.budget()
            with pytest.raises(BudgetExhausted):
                other.query("SELECT COUNT(*) FROM patients", epsilon=0.2, fresh=True)


def test_a_backup_has_a_name_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite") as book:
        tenths(book, 3)
        (tmp_path / "link.sqlite").symlink_to(tmp_path / "ledger.sqlite")
        assert back_up(tmp_path / "link.sqlite", tmp_path / "backup.sqlite").charges == 3
