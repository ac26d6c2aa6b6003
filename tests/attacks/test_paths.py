"""Paths that mean something to somebody on the way: to DuckDB, to patterns, to a policy that is read from elsewhere."""

from __future__ import annotations

import os
import resource
import tomllib
from contextlib import suppress
from pathlib import Path

import click
import pytest

import discreet
from discreet.cli.failures import WRONG_USE
from discreet.cli.output import write_new
from discreet.curator.state import balances
from discreet.ledger import LedgerError
from discreet.policy import Policy, PolicyError, read
from tests.attacks.test_owner_files import world
from tests.cli.runs import run, spend
from tests.curator.worlds import hospital

ODD = ["what?", "a?access_mode=READ_WRITE", "back\\slash", os.fsdecode(b"caf\xe9")]
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policy:
    for name in ("hospital", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return hospital(tmp_path / "hospital")


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_rows_are_not_copied_to_where_duckdb_would_look_for_them_elsewhere(tmp_path: Path, name: str) -> None:
    """DuckDB writes what belongs to `a?b/1.duckdb` beside it to `a.wal?b/1.duckdb`: out of the state folder."""
    (tmp_path / name).mkdir()
    with pytest.raises(PolicyError, match="state: lies at a path"):
        hospital(tmp_path / name)
    assert "state: lies at a path" in run("check", tmp_path / name / "hospital.toml", code=WRONG_USE).output
    plain = world(tmp_path)
    with pytest.raises(LedgerError, match="lies at a path"):
        discreet.open(plain, state=tmp_path / name / "state")
    (tmp_path / "link").symlink_to(tmp_path / name)
    with pytest.raises(LedgerError, match="lies at a path"):
        discreet.open(plain, state=tmp_path / "link" / "state")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "data", "link", "world.toml"])


def test_a_policy_whose_file_has_an_odd_name_works(tmp_path: Path) -> None:
    """It is called like its file where it does not say otherwise: the ledger writes that down, and pages show it."""
    path = world(tmp_path, 'state = "state"\n')
    path.write_text(path.read_text(encoding="utf-8").replace('name = "world"\n', ""), encoding="utf-8")
    odd = path.rename(tmp_path / os.fsdecode(b"caf\xe9\x1b[2J.toml"))
    assert read(odd).name == "caf\\udce9\\x1b[2J"
    with discreet.open(odd) as curator:
        assert curator.query(COUNT, epsilon=1).rows
    assert "\x1b" not in run("ledger", "show", odd).output + run("report", odd, "-o", tmp_path / "r.json").output


def test_state_stays_where_it_was_when_the_program_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows were copied into a folder of that name where the program was by then, away from their ledger."""
    path = world(tmp_path)
    for name in ("before", "after", "after/state"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.chdir(tmp_path / "before")
    with discreet.open(path, state="state") as curator:
        monkeypatch.chdir(tmp_path / "after")
        assert curator.query(COUNT, epsilon=1).rows
    assert list((tmp_path / "after" / "state").iterdir()) == []
    assert list((tmp_path / "before" / "state" / "data").iterdir())


def test_a_ledger_that_was_moved_from_elsewhere_is_named_so_that_the_policy_finds_it(policy: Policy) -> None:
    """A relative path was repeated as it was typed: beside the policy nothing lies there, and a ledger began anew."""
    spend(policy, 0.1)
    spent = balances(policy)[None].spent
    advice = run("ledger", "move", policy.path, "--to", 'n"ew').output.splitlines()[-1]
    line = advice.partition("and write ")[2].removesuffix(" unless it is the usual folder")
    assert tomllib.loads(line)["state"] == os.path.abspath('n"ew')
    policy.path.write_text(f"{line}\n{policy.path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert balances(read(policy.path))[None].spent == spent


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`data[1].csv` as a pattern is `data1.csv`: other columns were drafted, and other rows would have been read."""
    folder = tmp_path / "gl[ob]*"
    for name in ("gl[ob]*", "globs", "policies[1]"):
        (tmp_path / name).mkdir()
    for place, column in ((folder / "data[1].csv", "right"), (folder / "data1.csv", "wrong"),
                          (tmp_path / "globs" / "data[1].csv", "wrong"), (folder / "all?.csv", "right")):  # fmt: skip
        place.write_text(f"person,{column}\nann,1\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    target = tmp_path / "policies[1]" / "drafted.toml"
    decided = ["--unit", "person", "--max-rows", "1", "--epsilon", "1", "--look"]
    for named in ("data[1].csv", "./data[1].csv", folder / "data[1].csv", "all*.csv"):
        run("init", named, "-o", target, *decided)
        drafted = read(target)
        (table,) = drafted.tables.values()
        assert list(table.columns) == ["right"], named
        with discreet.open(drafted.path) as curator:
            assert curator.query(f'SELECT COUNT(*) AS n FROM "{table.name}"', epsilon=0.5).rows
        target.unlink()


def test_a_disk_that_is_full_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    """Half an export was left, and whoever tried again was told that it exists."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        for text in ("short", "long" * 4096, "\ud800"):
            with suppress(click.UsageError):
                write_new(tmp_path / f"{len(text)}.txt", text)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "5.txt": "short",
        "1.txt": "\\ud800",
    }
    write_new(tmp_path / "16384.txt", "short")
