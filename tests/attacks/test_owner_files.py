"""A state folder that is also the owner's: sweeping and refreshing would delete their files, and others on the machine
could read private rows. Such folders are refused, and only names that discreet makes are ever deleted."""

from __future__ import annotations

import stat
from pathlib import Path

import duckdb
import pytest

import discreet
from discreet.curator.refreshing import refresh
from discreet.ledger import LedgerError
from discreet.policy import PolicyError, read
from tests.attacks.worlds import HEAD

TABLE = """
[tables.visits]
source = "data/visits.duckdb"
table = "visits"
unit = "person"
"""
OWNERS = ["notes.tmp", "x.tmp.csv", "1.duckdb", "visits.2.duckdb", "3.0123456789abcdef.duckdb.bak", "12.tmp.zip", "tmp"]


def world(folder: Path, state: str = "") -> Path:
    (folder / "data").mkdir(exist_ok=True)
    with duckdb.connect(str(folder / "data" / "visits.duckdb")) as connection:
        connection.execute("CREATE OR REPLACE TABLE visits AS SELECT 'ann' AS person")
    (folder / "world.toml").write_text(state + HEAD + TABLE, encoding="utf-8")
    return folder / "world.toml"


@pytest.mark.parametrize("state", [".", "..", "data", "./x/..", "data/../data"])
def test_a_state_folder_with_other_things_is_refused(tmp_path: Path, state: str) -> None:
    with pytest.raises(PolicyError, match="lies in it"):
        read(world(tmp_path, f'state = "{state}"\n'))
    given = tmp_path / state
    (tmp_path / "x").mkdir()
    given.chmod(0o700)
    with pytest.raises(LedgerError, match="lies in the state folder"):
        discreet.open(world(tmp_path), state=given)


def test_links_do_not_hide_what_lies_in_it(tmp_path: Path) -> None:
    path = world(tmp_path)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "data")
    (tmp_path / "data").chmod(0o700)
    with pytest.raises(LedgerError, match="lies in the state folder"):
        discreet.open(path, state=tmp_path / "elsewhere")


def test_nothing_is_deleted_that_others_made(tmp_path: Path) -> None:
    path = world(tmp_path)
    data = tmp_path / "world.discreet" / "data"
    data.mkdir(parents=True)
    for folder in (data.parent, data):
        folder.chmod(0o700)
        for name in OWNERS:
            (folder / name).write_text("mine", encoding="utf-8")
    with discreet.open(path) as curator:
        curator.query("SELECT COUNT(*) FROM visits", epsilon=1)
    for _ in range(2):
        refresh(read(path), "again")
    for folder in (data.parent, data):
        assert {name for name in OWNERS if (folder / name).read_text(encoding="utf-8") == "mine"} == set(OWNERS)
    assert [path.name.split(".")[0] for path in data.glob("*.????????????????.duckdb")] == ["3"]


def test_private_rows_are_for_their_owner_only(tmp_path: Path) -> None:
    path = world(tmp_path)
    with discreet.open(path) as curator:
        curator.query("SELECT COUNT(*) FROM visits", epsilon=1)
        state = curator.policy.state
        for made in [state, *state.rglob("*")]:
            assert not stat.S_IMODE(made.stat().st_mode) & 0o077 or made.suffix in (".sqlite", ".sqlite-wal"), made
    (state / "data").chmod(0o750)
    with discreet.open(path) as curator, pytest.raises(discreet.QueryFailed):
        curator.query("SELECT COUNT(*) FROM visits", epsilon=0.5, fresh=True)
    state.chmod(0o705)
    with pytest.raises(LedgerError, match="others may enter"):
        discreet.open(path)
