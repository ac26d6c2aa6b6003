"""A disk that is full is nobody's rows: nothing is left out for it, and nothing is half done."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path

import pytest

import discreet
from discreet.cli.failures import FAILED
from discreet.curator.refreshing import refresh
from discreet.curator.state import recorded_grant
from discreet.engines.copy import copy_path
from discreet.engines.library import duckdb
from discreet.engines.problems import SourceError
from discreet.engines.sources import demand_room
from discreet.ledger import LedgerError
from discreet.owner import raising
from discreet.owner.raising import grant_less, grant_more
from discreet.policy import Policy, read
from tests.cli.runs import run
from tests.curator.worlds import hospital

ROOM = 2**20
POLICY = """
[budget]
epsilon = 9
[unit]
name = "person"
[tables.visits]
source = "visits*.csv"
unit = "person"
"""


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As on a disk that is full: what is written to beyond that fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_file_is_left_out_because_the_disk_is_full(tmp_path: Path) -> None:
    """A file was taken for one without a header, everybody in it was gone, and the refresh said nothing."""
    path = tmp_path / "clinic.toml"
    path.write_text(POLICY, encoding="utf-8")
    (tmp_path / "visits1.csv").write_text("person,note\nann,a\n", encoding="utf-8")
    (tmp_path / "visits2.csv").write_text("person,note\nbob,b\n", encoding="utf-8")
    refresh(read(path), "begun")
    long = "".join(f"p{number},{'b' * 2000}\n" for number in range(ROOM // 2000 + 100))
    (tmp_path / "visits2.csv").write_text(f"person,note\n{long}", encoding="utf-8")
    with files_of_at_most(ROOM), pytest.raises(SourceError, match="no room to read it"):
        refresh(read(path), "again")
    assert copy_path(read(path), 2).exists()
    assert refresh(read(path), "again") == 3


def test_no_name_of_a_file_is_taken_for_a_full_disk() -> None:
    """One that cannot be opened is left out, alone: whoever chose its name would else end every refresh."""
    path = "/clinic/visits No space left on device.csv"
    for error in (duckdb.IOException(f'IO Error: Cannot open file "{path}": Permission denied'), ValueError(path)):
        demand_room("visits", error, path)
    with pytest.raises(SourceError, match="no room to read it"):
        demand_room("visits", duckdb.IOException(f'Cannot write file "{path}": No space left on device'), path)


def test_a_copy_for_which_there_is_no_room_is_no_riddle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What DuckDB said where it made the file of the copy came out as something that nobody had foreseen."""
    policy = hospital(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise duckdb.IOException("IO Error: Could not write file: No space left on device")

    monkeypatch.setattr("discreet.engines.copy.connect", full)
    assert "No space left" in run("refresh", policy.path, code=FAILED).output
    with discreet.open(policy.path) as curator, pytest.raises(discreet.QueryFailed, match="nothing was charged"):
        curator.query("SELECT COUNT(*) FROM visits", epsilon=1)


@pytest.mark.parametrize("change", [grant_more, grant_less])
def test_a_budget_that_cannot_be_recorded_is_not_left_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: object
) -> None:
    """To put the file back took room, too: it said another budget, and the message that nothing had changed."""
    policy = hospital(tmp_path)
    refresh(policy, "begun")
    before = policy.path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    def fails(changed: Policy, _: str) -> None:
        assert policy.path.read_bytes() != before
        monkeypatch.setattr(tempfile, "mkstemp", full)
        raise LedgerError("could not write", f"free some space for {changed.name}")

    for act in ("raise_budget", "lower_budget"):
        monkeypatch.setattr(raising, act, fails)
    with pytest.raises(LedgerError, match="could not write"):
        (grant_more(policy, 5, "") if change is grant_more else grant_less(policy, 2, ""))
    assert policy.path.read_bytes() == before
    assert recorded_grant(policy).epsilon == read(policy.path).budget.epsilon
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
