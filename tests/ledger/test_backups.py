"""Backups: complete, sound, and never a way to forget spending."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from discreet.ledger import LedgerDamaged, LedgerError, back_up, restore, verify
from discreet.ledger.sqlite.files import beside
from discreet.ledger.sqlite.store import Sqlite
from tests.ledger.helpers import change, filled, hurried, moved, opened, rows, spend
from tests.threads import at_once


def test_there_and_back(path: Path, tmp_path: Path) -> None:
    receipts = filled(path, 10)
    backup = tmp_path / "backup.sqlite"
    report = back_up(path, backup)
    assert report.sound
    assert report.charges == 10
    assert rows(backup) == rows(path)
    assert not beside(backup, ".lock").exists()
    path.unlink()
    assert restore(backup, path).sound
    assert verify(path, receipts).problems == ()
    with opened(path) as ledger:
        spend(ledger)


@pytest.mark.parametrize("name", ["ledger.bak", "ledger.backup", "ledger", "ledger.sqlite.bak", "ledger.lock.sqlite"])
def test_a_backup_beside_the_ledger_has_its_own_files(path: Path, name: str) -> None:
    """Its lock and its seal are not those of the ledger, however alike the names."""
    filled(path, 3)
    lock = beside(path, ".lock").stat().st_ino
    assert back_up(path, path.with_name(name)).problems == ()
    assert verify(path.with_name(name)).problems == ()
    assert verify(path).sealed
    assert beside(path, ".lock").stat().st_ino == lock
    path.write_bytes(b"")
    assert restore(path.with_name(name), path).charges == 3


def test_a_backup_while_others_spend(path: Path, tmp_path: Path) -> None:
    ledger = hurried(path)
    done = threading.Event()
    receipts: list[str] = []

    def work() -> None:
        while not done.is_set():
            receipts.append(spend(ledger, answer=b"42"))

    thread = threading.Thread(target=work)
    thread.start()
    for index in range(4):
        before = len(receipts)
        assert back_up(path, tmp_path / f"backup{index}").problems == ()
        assert verify(tmp_path / f"backup{index}", receipts[:before]).problems == ()
    done.set()
    thread.join()
    ledger.close()
    assert verify(path, receipts).problems == ()


def test_a_backup_replaces_nothing(path: Path, tmp_path: Path) -> None:
    filled(path, 1)
    (tmp_path / "taken").write_text("precious")
    with pytest.raises(LedgerError, match="exists already → name a new file"):
        back_up(path, tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "precious"


def test_of_two_backups_at_once_each_has_a_file_of_its_own(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads of one process wrote to one unfinished file: the second failed, and took that of the first away."""
    filled(path, 3)
    both = threading.Barrier(2)
    copy_to = Sqlite.copy_to

    def together(store: Sqlite, target: Path) -> None:
        both.wait(60)
        copy_to(store, target)

    monkeypatch.setattr(Sqlite, "copy_to", together)
    target = tmp_path / "backup.sqlite"
    ended = at_once(2, lambda: back_up(path, target))
    (failed,) = [each for each in ended if isinstance(each, BaseException)]
    assert isinstance(failed, LedgerError)
    assert "exists already" in str(failed)
    assert verify(target).charges == 3
    assert [each.name for each in tmp_path.iterdir() if "unfinished" in each.name] == []


def test_a_backup_takes_the_place_of_no_other_that_came_meanwhile(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else writes a file of that name at the very last moment."""
    filled(path, 1)
    target = tmp_path / "taken"
    exists, looked = Path.exists, [False, True]

    def late(each: Path) -> bool:
        there = exists(each)
        if each == target and not there and looked.pop(0):
            target.write_text("precious")
        return there

    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", late)
        with pytest.raises(LedgerError, match="exists already"):
            back_up(path, target)
    assert target.read_text() == "precious"


def test_a_backup_on_a_disk_without_links(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, 1)

    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.link", forbidden)
    assert back_up(path, tmp_path / "backup").sound
    assert verify(tmp_path / "backup").charges == 1


def test_there_is_nothing_to_back_up(path: Path, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        back_up(path, tmp_path / "backup")
    assert list(tmp_path.iterdir()) == []


def test_a_backup_that_fails_leaves_nothing(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, 1)

    def fails(_: Sqlite, target: Path) -> None:
        target.write_bytes(b"half")
        raise LedgerError("no room")

    monkeypatch.setattr(Sqlite, "copy_to", fails)
    with pytest.raises(LedgerError, match="no room"):
        back_up(path, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_a_folder_for_the_backup_that_is_missing(path: Path, tmp_path: Path) -> None:
    filled(path, 1)
    with pytest.raises(LedgerError, match=r"could not copy .*: No such file or directory → create the folder first"):
        back_up(path, tmp_path / "missing" / "backup")


def test_restoring_forgets_no_spending(path: Path, tmp_path: Path) -> None:
    filled(path, 3)
    back_up(path, tmp_path / "backup")
    with opened(path) as ledger:
        receipt = spend(ledger)
    with pytest.raises(
        LedgerError, match="has records that the backup lacks: restoring would forget spending → restore a newer backup"
    ):
        restore(tmp_path / "backup", path)
    assert verify(path, [receipt]).problems == ()


def test_a_damaged_ledger_is_replaced(path: Path, tmp_path: Path) -> None:
    receipts = filled(path, 3)
    back_up(path, tmp_path / "backup")
    change(path, "UPDATE journal SET hash = 'x' WHERE number = 3")
    assert restore(tmp_path / "backup", path).sound
    assert verify(path, receipts).problems == ()


@pytest.mark.parametrize("content", [b"", b"rubbish", b"SQLite format 3\x00" + bytes(84)])
def test_a_ledger_that_is_no_ledger_any_more_is_replaced(path: Path, tmp_path: Path, content: bytes) -> None:
    receipts = filled(path, 3)
    back_up(path, tmp_path / "backup")
    path.write_bytes(content)
    assert restore(tmp_path / "backup", path).sound
    assert verify(path, receipts).problems == ()


def test_a_ledger_that_the_backup_contains_is_replaced(path: Path, tmp_path: Path) -> None:
    """An older copy was put in the place of the ledger: the backup holds all of it, and more."""
    filled(path, 3)
    older = moved(path, tmp_path / "older")
    with opened(path) as ledger:
        receipt = spend(ledger)
    back_up(path, tmp_path / "backup")
    moved(older, path.parent / "now")
    now = path.parent / "now" / path.name
    assert not verify(now, [receipt]).sound
    assert restore(tmp_path / "backup", now).sound
    assert verify(now, [receipt]).problems == ()


def test_a_ledger_in_use_is_not_replaced(path: Path, tmp_path: Path) -> None:
    """Whoever has it open would go on spending from a file that is gone."""
    filled(path, 3)
    back_up(path, tmp_path / "backup")
    with opened(path) as ledger:
        with pytest.raises(LedgerError, match="is in use: what is spent meanwhile would be lost → close it everywhere"):
            restore(tmp_path / "backup", path)
        receipt = spend(ledger)
    assert verify(path, [receipt]).problems == ()


def test_nothing_is_written_beside_a_backup(path: Path, tmp_path: Path) -> None:
    """It may lie on a disk that is mounted read-only; and what lies beside it is taken for a part of it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    filled(path, 3)
    back_up(path, folder / "backup")
    with opened(path) as ledger:
        spend(ledger)
    with pytest.raises(LedgerError, match="has records that the backup lacks"):
        restore(folder / "backup", path)
    assert [each.name for each in folder.iterdir()] == ["backup"]
    assert restore(folder / "backup", path, forget="a drill").sound
    assert [each.name for each in folder.iterdir()] == ["backup"]
    assert [each.name for each in path.parent.iterdir() if "brought" in each.name or "restoring" in each.name] == []


def test_a_damaged_backup_restores_nothing(path: Path, tmp_path: Path) -> None:
    filled(path, 3)
    back_up(path, tmp_path / "backup")
    beside(tmp_path / "backup", ".seal").unlink(missing_ok=True)
    change(tmp_path / "backup", "UPDATE journal SET hash = 'x' WHERE number = 3")
    path.unlink()
    with pytest.raises(LedgerDamaged, match=r"is damaged itself: .* → use another backup"):
        restore(tmp_path / "backup", path)
    assert not path.exists()
    with pytest.raises(LedgerError, match="there is no ledger"):
        restore(tmp_path / "missing", path)


def test_what_a_killed_restore_left_is_no_obstacle(path: Path, tmp_path: Path) -> None:
    filled(path, 3)
    back_up(path, tmp_path / "backup")
    path.unlink()
    beside(path, ".restoring").write_bytes(b"half")
    assert restore(tmp_path / "backup", path).sound
    assert not beside(path, ".restoring").exists()


def test_a_backup_may_be_named_from_where_one_stands(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path, 2)
    monkeypatch.chdir(tmp_path)
    back_up(path, Path("here.sqlite"))
    path.unlink()
    assert restore(Path("here.sqlite"), path).charges == 2
