"""However it ends: the right code, one clear message, never a traceback."""

from __future__ import annotations

import io
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from discreet.cli import failures, main, output
from discreet.cli.failures import Failure, failure_of
from discreet.cli.program import COMMANDS, discreet
from discreet.engines.problems import SourceError
from discreet.errors import BudgetExhausted, Refused
from discreet.files import locked
from discreet.ledger import LedgerDamaged, LedgerError
from discreet.policy import Finding, PolicyError
from tests.cli.runs import program, run, spend, told
from tests.curator.worlds import hospital

HEAVY = {"numpy", "duckdb", "sqlglot", "rich", "msgspec", "tomllib", "sqlite3"}
IMPORTED = """
import sys
from discreet.cli import discreet
try:
    discreet.main({args!r})
finally:
    print(*sys.modules, file=sys.stderr)
"""
ALL = [
    ["check"], ["init"], ["refresh"], ["budget"], ["budget", "show"], ["budget", "raise"], ["ledger"],
    *(["ledger", command] for command in ("show", "verify", "export", "backup", "restore")),
]  # fmt: skip
ON_POLICY = [
    *(["check", "{}"], ["refresh", "{}"], ["budget", "{}"], ["budget", "raise", "{}"], ["ledger", "show", "{}"]),
    *(["ledger", "verify", "{}"], ["ledger", "export", "{}"], ["ledger", "backup", "{}", "x"]),
    ["ledger", "restore", "x", "{}"],
]


# help


@pytest.mark.parametrize(
    "args", [["--help"], ["check", "--help"], ["ledger", "--help"], ["budget", "show", "--help"], []]
)
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    code = IMPORTED.format(args=args)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: discreet")
    assert not HEAVY & {name.partition(".")[0] for name in done.stderr.split()}


def test_whoever_previews_a_count_waits_for_no_arrays_and_no_engine(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    code = IMPORTED.format(args=["preview", str(policy.path), "SELECT COUNT(*) FROM visits", "--epsilon", "0.1"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "error (95 %)" in done.stdout
    imported = set(done.stderr.split())
    assert not {"numpy", "duckdb", "scipy", "psycopg", "msgspec"} & imported
    assert not {"discreet.engines.sources", "discreet.engines.copy", "discreet.engines.rewriting"} & imported


def test_help_takes_next_to_no_time() -> None:
    """In processor time, so that a busy machine changes nothing."""

    def spent() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "discreet.cli", "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(spent() for _ in range(3)) < 0.3


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_every_command_explains_itself(command: list[str]) -> None:
    shown = run(*command, "-h").stdout
    assert shown.startswith(f"Usage: discreet {' '.join(command)}")
    if command not in (["budget"], ["ledger"]):
        assert "--json" in shown


def test_the_list_of_commands_is_the_one_shown() -> None:
    shown = run().stdout
    assert all(f"\n  {command} " in shown for command in COMMANDS)
    assert run("--version").stdout.startswith("discreet, version ")


# wrong use


@pytest.mark.parametrize(
    "args", [["nonsense"], ["check"], ["budget"], ["ledger"], ["ledger", "nonsense"], ["check", "--nonsense", "x"]]
)
def test_wrong_use_ends_with_two_and_says_where_to_look(args: list[str]) -> None:
    result = run(*args, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "--help`" in result.stderr
    error = told(*args, code=2)["error"]
    assert (error["code"], error["spent"]) == ("usage", 0)
    assert error["fix"].startswith("see `discreet")


@pytest.mark.parametrize("command", ON_POLICY, ids=" ".join)
def test_policies_that_cannot_be_read_end_with_two(command: list[str], tmp_path: Path) -> None:
    folder, garbage, wrong = tmp_path / "folder.toml", tmp_path / "garbage.toml", tmp_path / "wrong.toml"
    folder.mkdir()
    garbage.write_bytes(bytes(range(256)))
    wrong.write_text("[budget]\nepsilon = -1\n[unit]\n", encoding="utf-8")
    for path in (tmp_path / "none.toml", folder, garbage, wrong):
        error = told(*(part.format(path) for part in command), code=2)["error"]
        assert error["code"] == "policy"
        assert error["reason"].startswith(path.name)
        assert error["fix"]


def test_a_policy_without_permission_ends_with_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    policy = hospital(tmp_path)
    monkeypatch.setattr(Path, "open", refuse)
    assert "cannot be read: Permission denied" in run("check", policy.path, code=2).stderr


def test_all_problems_of_a_policy_are_told(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("[budget]\nepsilon = -1\n[unit]\n", encoding="utf-8")
    lines = run("check", path, code=2).stderr.splitlines()
    assert lines[-1] == "→ fix these 3 problems"
    assert all("p.toml: " in line for line in lines[:-1])


# other ends


@pytest.mark.parametrize(
    ("error", "exit_", "code"),
    [
        (Refused("too-complex", "why", "fix"), 3, "too-complex"),
        (BudgetExhausted("why", "fix"), 4, "budget-exhausted"),
        (SourceError("t", "why", "fix"), 5, "source"),
        (LedgerError("why", "fix"), 5, "ledger"),
        (LedgerDamaged("why", "fix"), 5, "ledger"),
        (PolicyError("f", [Finding.error("", "why", "fix")]), 2, "policy"),
        (PolicyError("f", [Finding.error("x", "why", "fix"), Finding.error("y", "why", "fix")]), 2, "policy"),
        (PermissionError(13, "Permission denied", "/x"), 5, "file"),
        (OSError(), 5, "file"),
        (click.UsageError("why"), 2, "usage"),
        (click.ClickException("why"), 2, "usage"),
        (RuntimeError("Query interrupted"), 130, "interrupted"),
        (ZeroDivisionError("secret 42"), 5, "internal"),
    ],
)
def test_every_error_has_its_exit_code(error: Exception, exit_: int, code: str) -> None:
    failure = failure_of(error)
    assert (failure.exit, failure.code) == (exit_, code)
    assert "secret" not in failure.reason


def test_unforeseen_errors_are_seen_by_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(failures.TRACEBACK, "1")
    with pytest.raises(ZeroDivisionError):
        failure_of(ZeroDivisionError())


@pytest.mark.parametrize("error", [KeyboardInterrupt, EOFError, lambda: RuntimeError("Query interrupted")])
def test_an_interrupt_ends_with_130(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_it(*_: object) -> None:
        raise error()

    monkeypatch.setattr("discreet.owner.check.checked", raise_it)
    run("check", hospital(tmp_path).path, code=130)


def test_unforeseen_errors_tell_no_more_than_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret 42")

    monkeypatch.setattr("discreet.owner.check.checked", fail)
    result = run("check", hospital(tmp_path).path, code=5)
    assert result.stderr.startswith("error: something unforeseen happened (ZeroDivisionError)\n→ please report it")
    assert "secret" not in result.output


def test_a_message_is_told_to_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    Failure(3, "code", "why\nand \x1b[2J", "fix").tell(json=True)
    shown = capsys.readouterr()
    error = {"code": "code", "reason": "why\nand \x1b[2J", "fix": "fix", "spent": 0}
    assert json.loads(shown.out) == {"error": error}
    assert shown.err == "error: why\nand \\x1b[2J\n→ fix\n"
    Failure(3, "code", "why").tell(json=False)
    assert capsys.readouterr() == ("", "error: why\n")


def test_output_that_nobody_reads_ends_with_141(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    policy = hospital(tmp_path)
    monkeypatch.setattr(click, "echo", closed)
    run("ledger", "export", policy.path, code=141)


def test_streams_that_are_no_files_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with failures.ending(json=False) as end:
        end.code = 7
    assert end.code == 7


@pytest.mark.parametrize("start", [main, lambda: runpy.run_module("discreet.cli", run_name="__main__")])
def test_the_command_reads_its_arguments(
    start: Callable[[], object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["discreet", "--version"])
    with pytest.raises(SystemExit) as ended:
        start()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("discreet, version")


# processes


def test_ctrl_c_ends_a_process_with_130(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    spend(policy, 0.1)
    with locked(policy.state / "refresh.lock"), program("refresh", policy.path) as process:
        deadline = time.monotonic() + 300
        while f"{policy.state}/refresh.lock" not in _opened(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


def _opened(process: int) -> set[str]:
    folder = Path(f"/proc/{process}/fd")
    return {os.readlink(link) for link in folder.iterdir() if link.exists()}


def test_a_broken_pipe_is_quiet(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    spend(policy, 0.01, "SELECT " + "x" * 100_000)
    for args in (["ledger", "export"], ["ledger", "show"]):
        reading, writing = os.pipe()
        os.close(reading)
        with program(*args, policy.path, stdout=writing) as process:
            os.close(writing)
            _, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (141, b"")


def test_failing_into_a_broken_pipe_keeps_its_code(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with program("check", tmp_path / "none.toml", "--json", stdout=writing) as process:
        os.close(writing)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert b"Traceback" not in err
    assert b"Exception ignored" not in err


def test_a_terminal_of_few_characters_gets_codes(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with program("budget", policy.path, env={**os.environ, "PYTHONIOENCODING": "latin-1"}) as process:
        out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, b"")
    assert b"\\u03b5 0 of 3" in out


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "check", tmp_path / "none.toml", "--json"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "policy"


# drawing


class Terminal:
    """Standard error that says it is a terminal."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.shown = ""

    def write(self, text: str) -> int:
        self.shown += text
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with output.progress(shown=True) as tell:
        assert tell is None
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with output.progress(shown=False) as tell:
        assert tell is None
    with output.progress(shown=True) as tell:
        assert tell is not None
        tell("visits", 0.0)
        tell("visits", 0.5)
        tell("visits", 1.0)
    assert "visits" in terminal.shown


@pytest.mark.parametrize(("share", "filled"), [(0.0, 0), (0.5, 10), (0.95, 19), (1.0, 20), (1.7, 20)])
def test_bars_are_as_long_as_what_is_gone(share: float, filled: int) -> None:
    assert output.bar(share).plain == "█" * filled + "░" * (20 - filled)


def test_the_group_can_be_used_by_other_programs() -> None:
    assert discreet.list_commands(click.Context(discreet)) == list(COMMANDS)
    assert discreet.get_command(click.Context(discreet), "nonsense") is None


def test_a_command_that_asked_duckdb_ends_without_a_word_of_its_own(tmp_path: Path) -> None:
    """What is frozen is not freed, and DuckDB's binding would print a list of it behind every answer."""
    (tmp_path / "my.csv").write_text("patient,cost\np1,1\n", encoding="utf-8")
    command = [sys.executable, "-m", "discreet.cli", "init", "my.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "next, decide" in done.stderr
    assert "leaked" not in done.stderr
