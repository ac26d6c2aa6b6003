"""Disks that are full, read-only or somebody else's: a clear error, nothing charged, and no bits."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import LedgerError, back_up, restore, verify
from discreet.ledger.sqlite.files import beside
from tests.ledger.helpers import CENT, child, hurried, moved, opened, rows, spend

SMALL = 'mount -t tmpfs -o size=900k none "$0" && exec "$@"'
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def mounted(script: str, folder: Path) -> tuple[str, ...]:
    """A command's beginning: in a mount namespace of its own, which ends with it."""
    return ("unshare", "--mount", "sh", "-c", script, str(folder))


def mountable(script: str) -> bool:
    """Whether this user may mount here."""
    if not shutil.which("unshare"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [*mounted(script, Path(folder)), "true"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def check_full(found: dict[str, Any], message: str) -> None:
    assert message in found["message"]
    assert "nothing was answered" in found["message"]
    assert found["failures"] == 5
    assert found["bodies"] == found["seen"] - 2  # two were spent after there was room again
    assert found["charges"] == found["seen"] > 2
    assert round(found["spent"] * 100) == found["seen"]
    assert found["problems"] == []


@pytest.mark.parametrize(
    "size", [65_000, *(pytest.param(n, marks=pytest.mark.long) for n in (70_000, 81_921, 200_000))]
)
def test_a_file_that_cannot_grow(path: Path, size: int) -> None:
    """The system refuses the write (EFBIG); when it takes it again, the same ledger goes on."""
    check_full(child("file_limit", path, size), "disk I/O error → check the disk")


@pytest.mark.skipif(not mountable(SMALL), reason="this user may not mount")
def test_a_disk_that_is_full(tmp_path: Path) -> None:
    found = child("small_disk", tmp_path, wrapped=mounted(SMALL, tmp_path))
    check_full(found, "database or disk is full → free some space")


@pytest.mark.parametrize("size", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 4_096, 5_000, 32_767))])
def test_no_room_to_begin(path: Path, size: int) -> None:
    spending, _, backup = child("full_from_the_start", path, size)
    assert spending.startswith("LedgerError: could not open")
    assert "→ check the disk; nothing was answered" in spending
    assert backup.startswith("LedgerError: ")
    with opened(path) as ledger:  # now there is room
        assert ledger.entries() == []
        spend(ledger)
    assert verify(path).problems == ()


@pytest.fixture
def readable() -> Iterator[Path]:
    """A ledger in a folder that everybody may read."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "state" / "ledger.sqlite"
        place.parent.mkdir()
        with hurried(place) as ledger:
            spend(ledger)
        for file in (place.parent.parent, place.parent):
            file.chmod(0o755)
        for file in place.parent.iterdir():
            file.chmod(0o644)
        yield place


@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
def test_a_folder_that_one_may_only_read(readable: Path) -> None:
    before = rows(readable)
    found = child("refused_by_the_system", readable, 65534)
    assert len(found) == 3
    for line in found:
        assert line.startswith("LedgerError: could not")
        assert "Permission denied → " in line
    assert rows(readable) == before


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
def test_a_file_that_one_may_only_read(readable: Path) -> None:
    """The folder and all else may be written: SQLite opens the file read-only and fails at the first change."""
    readable.parent.chmod(0o777)
    beside(readable, ".lock").chmod(0o666)
    spending, *_ = child("refused_by_the_system", readable, 65534)
    assert spending.startswith("LedgerError: could not")
    assert "readonly database → make the state folder writable" in spending


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
def test_a_folder_that_one_may_not_even_see(readable: Path) -> None:
    readable.parent.chmod(0o700)
    for line in child("refused_by_the_system", readable, 65534):
        assert line.startswith("LedgerError: could not")
        assert "Permission denied" in line


@pytest.mark.long
@pytest.mark.skipif(not mountable(READ_ONLY), reason="this user may not mount")
def test_a_disk_that_is_mounted_to_be_read(readable: Path) -> None:
    folder = readable.parent
    found = child("refused_by_the_system", readable, 0, wrapped=mounted(READ_ONLY, folder))
    assert len(found) == 3
    for line in found:
        assert line.startswith("LedgerError: could not")
        assert "Read-only file system → " in line
    assert verify(readable).problems == ()


def test_a_seal_that_cannot_be_written_is_left_out(path: Path) -> None:
    """The ledger is closed and sound all the same."""
    ledger = hurried(path)
    spend(ledger)
    beside(path, ".seal").mkdir()
    ledger.close()
    assert not beside(path, ".sealing").exists()
    report = verify(path)
    assert report.sound
    assert not report.sealed


def test_a_ledger_whose_folder_went_away_can_be_closed(tmp_path: Path) -> None:
    ledger = hurried(tmp_path / "state.sqlite")
    for file in list(tmp_path.iterdir()):
        file.unlink()
    with pytest.raises(LedgerError, match="was replaced while it was open"), ledger.charge(CENT, why="q"):
        pytest.fail("the body must not run")
    ledger.close()
    assert not (tmp_path / "state.sqlite").exists()


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="No such file or directory → create the folder first"):
        opened(tmp_path / "missing" / "ledger.sqlite")


def test_the_ledger_and_what_lies_beside_it_belong_to_their_owner_alone(path: Path, tmp_path: Path) -> None:
    with hurried(path) as ledger:
        spend(ledger)
        kinds = ("", "-wal", "-shm", ".lock")
        assert {ending: oct(beside(path, ending).stat().st_mode & 0o777) for ending in kinds} == dict.fromkeys(
            kinds, "0o600"
        )
    back_up(path, tmp_path / "backup")
    path.unlink()
    restore(tmp_path / "backup", path)
    assert {file.stat().st_mode & 0o777 for file in (path, tmp_path / "backup")} == {0o600}


def test_a_copy_made_meanwhile_is_the_ledger_of_that_moment(path: Path, tmp_path: Path) -> None:
    receipts = child("unfinished", path, 3, "keep")
    assert verify(moved(path, tmp_path / "copy"), receipts).problems == ()
