"""What of a folder that engines write to is rows."""

from __future__ import annotations

from pathlib import Path

from discreet.engines.connection import HUSHED, has_files


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
