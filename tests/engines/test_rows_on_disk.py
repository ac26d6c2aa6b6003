"""What of a folder that engines write to is rows."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from discreet.engines.connection import HUSHED, connect, has_files, lock_of


def test_a_lock_and_what_hushes_machines_are_no_rows(tmp_path: Path) -> None:
    """A file of settings held erasures beside a cluster up for ever. Other files do, however deep."""
    folder = tmp_path / "own"
    (folder / "0" / "blockmgr").mkdir(parents=True)
    (folder / "lock").touch()
    (folder / "0" / HUSHED).touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "1").symlink_to(folder / "0")
    assert not has_files(folder)
    assert not has_files(tmp_path / "other")
    (folder / "0" / "blockmgr" / "lock").touch()
    assert has_files(folder)
    assert has_files(tmp_path / "other")


def test_what_locks_a_folder_that_is_gone_is_closed(tmp_path: Path) -> None:
    """Of each state folder that was ever removed, or made anew, one descriptor was left."""
    state = tmp_path / "state"
    before = _removed_files()
    for folder in (state, state, tmp_path / "a", tmp_path / "b"):
        connect(spill=folder).close()
        shutil.rmtree(folder)
    connect(spill=state).close()
    assert not _removed_files() - before
    assert os.fstat(lock_of(state)).st_nlink == 1


def _removed_files() -> set[tuple[int, int]]:
    """Files that are open in this process and have no name any more."""
    found = set()
    for descriptor in os.listdir("/dev/fd"):
        with suppress(OSError):
            status = os.fstat(int(descriptor))
            if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                found.add((status.st_dev, status.st_ino))
    return found
