"""A state folder states its format: older ones are brought up to date, newer ones are refused, nothing is ever half."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import discreet
from discreet.accounting.record import Key
from discreet.curator import formats
from discreet.curator.formats import FILE, FORMAT, backup_of, demand_known, stated, upgrade
from discreet.curator.saved import SavedQueries
from discreet.curator.state import accept_ledger
from discreet.ledger import LedgerError, verify
from discreet.policy import read
from discreet.server.tokens import Tokens
from tests.cli.runs import run, spend, told
from tests.curator.worlds import hospital
from tests.fixtures.build_format3 import HERE, KEY, QUERIES, TABLES, facts

EXPECTED: Final[dict[str, Any]] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
NEWER: Final = json.dumps({"format": FORMAT + 1, "program": "9.8.7"})


def copied(name: str, folder: Path) -> Path:
    """The state as its owner would have it; where its policy is."""
    target = folder / name
    shutil.copytree(HERE / name, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    accept_ledger(read(target / "policy.toml"), "it came from another host", forget=True)
    return target / "policy.toml"


@pytest.mark.parametrize("name", TABLES)
def test_todays_state_is_what_it_was_for_ever(name: str, tmp_path: Path) -> None:
    """Spending, charges, cached answers, request keys, blocks of streams, tokens and saved queries."""
    policy, expected = copied(name, tmp_path), EXPECTED[name]
    known = read(policy)
    with discreet.open(policy) as hospital:
        assert facts(hospital) == {key: value for key, value in expected.items() if key != "token"}
        sql, cost = QUERIES[name][0]
        assert hospital.query(sql, **cost).cached
        if name == "hospital":
            assert hospital._ledger.charged(Key(KEY.name, KEY.request)) is not None
    tokens, saved = Tokens.of(known), SavedQueries.of(known)
    found = tokens.find(expected["token"])
    assert found is not None
    assert found.analyst == "ann"
    assert [each.sql for each in saved.all("ann")] == [QUERIES[name][0][0]]
    tokens.close()
    saved.close()
    assert upgrade(known.state) == 0
    assert (stated(known.state).number, upgrade(known.state)) == (FORMAT, None)
    assert verify(backup_of(known.state, FORMAT)).problems == ()
    with discreet.open(policy) as hospital:
        assert facts(hospital) == {key: value for key, value in expected.items() if key != "token"}
    assert verify(known.state / "ledger.sqlite").problems == ()


def test_whoever_only_looks_changes_nothing(tmp_path: Path) -> None:
    policy = copied("hospital", tmp_path)
    run("budget", policy)
    run("ledger", "show", policy)
    run("ledger", "verify", policy)
    state = read(policy).state
    assert stated(state).number == 0
    assert not backup_of(state, FORMAT).exists()


def test_the_command_says_what_it_does(tmp_path: Path) -> None:
    policy = copied("hospital", tmp_path)
    state = read(policy).state
    assert "format 0: would be brought to 1" in run("upgrade", policy, "--check").output
    assert told("upgrade", policy, "--check") == {"format": 0, "before": 0, "knows": 1}
    assert stated(state).number == 0
    assert "the ledger before is before-format-1.sqlite" in run("upgrade", policy).output
    assert "up to date: format 1" in run("upgrade", policy).output
    assert told("upgrade", policy) == {"format": 1, "before": 1, "knows": 1}


@pytest.mark.parametrize(
    "act",
    [
        lambda policy: run("query", policy, "SELECT COUNT(*) FROM patients", "--epsilon", "0.1", code=5),
        lambda policy: run("budget", policy, code=5),
        lambda policy: run("ledger", "show", policy, code=5),
        lambda policy: run("upgrade", policy, code=5),
        lambda policy: run("upgrade", policy, "--check", code=5),
        lambda policy: run("token", "create", policy, "--role", "owner", code=5),
        lambda policy: run("token", "list", policy, code=5),
        lambda policy: run("refresh", policy, code=5),
    ],
    ids=["query", "budget", "show", "upgrade", "check", "token", "tokens", "refresh"],
)
def test_what_a_newer_program_wrote_is_refused_and_left_alone(act: Callable[[Path], Any], tmp_path: Path) -> None:
    policy = copied("hospital", tmp_path)
    state = read(policy).state
    (state / FILE).write_text(NEWER, encoding="utf-8")
    before = {path: path.read_bytes() for path in state.rglob("*") if path.is_file()}
    output = act(policy).output
    assert "written by discreet 9.8.7" in output
    assert "use discreet 9.8.7 or newer" in output
    assert {path: path.read_bytes() for path in state.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", "1", "\x00", "[" * 9999, '{"format": 0, "program": "x"}', '{"format": true, "program": "x"}'),
        *('{"format": 1, "program": 7}', '{"format": -1, "program": "x"}', '{"format": "1", "program": "x"}'),
    ],
)
def test_a_statement_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match="does not state a format"):
        demand_known(tmp_path)
    with pytest.raises(LedgerError, match="does not state a format"):
        upgrade(tmp_path)


def test_a_ledger_that_is_not_sound_is_not_upgraded(tmp_path: Path) -> None:
    import sqlite3

    state = read(copied("hospital", tmp_path)).state
    with sqlite3.connect(state / "ledger.sqlite") as connection:
        connection.execute("UPDATE journal SET line = replace(line, 'SELECT', 'SELEKT')")
    connection.close()
    with pytest.raises(LedgerError):
        upgrade(state)
    assert stated(state).number == 0
    assert not backup_of(state, FORMAT).exists()


def test_a_full_disk_leaves_the_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = read(copied("hospital", tmp_path)).state

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    for name in ("back_up", "flush", "state_format"):
        with monkeypatch.context() as patch:
            patch.setattr(formats, name, full)
            with pytest.raises(LedgerError, match="No space left"):
                upgrade(state)
        assert stated(state).number == 0
        assert verify(state / "ledger.sqlite").problems == ()
    assert upgrade(state) == 0


def test_a_folder_that_is_too_old_is_refused_with_the_command_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = copied("hospital", tmp_path)
    state = read(policy).state
    monkeypatch.setattr(formats, "OLDEST", FORMAT)
    before = {path: path.read_bytes() for path in state.rglob("*") if path.is_file()}
    for words in (("budget",), ("serve",), ("token", "list"), ("refresh",), ("saved", "list")):
        output = run(*words, policy, code=5).output
        assert "has format 0" in output, words
        assert "type: discreet upgrade POLICY" in output, words
    assert {path: path.read_bytes() for path in state.rglob("*") if path.is_file()} == before
    run("upgrade", policy)
    run("budget", policy)


def test_two_at_once_do_it_once(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    state = read(copied("hospital", tmp_path)).state
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: upgrade(state), range(4)))
    assert sorted(map(str, results)) == ["0", "None", "None", "None"]


@pytest.mark.long
@pytest.mark.parametrize("most", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_killed_anywhere_it_is_never_half(most: int, tmp_path: Path) -> None:
    state = read(copied("hospital", tmp_path)).state
    command = [sys.executable, "-m", "tests.curator.upgrades", str(state), str(tmp_path / "work"), str(most)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["kills"] >= most // 4
    assert found["formats"] == [0, 1]


def test_what_an_upgrade_that_was_killed_left_of_its_copy_goes(tmp_path: Path) -> None:
    """All texts of the ledger were in it, under the number of a process that nobody has again."""
    policy = hospital(tmp_path)
    spend(policy, 0.1)
    for left in (
        "before-format-1.tmp",
        "before-format-1.tmp.651.unfinished",
        "before-format-1.tmp.651.unfinished.lock",
    ):
        (policy.state / left).write_bytes(b"SELECT")
    (policy.state / FILE).unlink(missing_ok=True)
    assert upgrade(policy.state) == 0
    assert [path.name for path in policy.state.glob("before-*")] == ["before-format-1.sqlite"]
