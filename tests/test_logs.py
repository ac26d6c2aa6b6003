"""The log: one line of JSON for each event, of fields with fixed forms; nothing private comes out of them."""

from __future__ import annotations

import ast
import io
import json
import logging
import signal
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.logged import DESTINATION, padded_ms
from discreet.logs import EVENTS, FIELDS, LOGGERS, UNFIT, log_to, note
from discreet.noise import SYSTEM
from tests.cli.runs import program, run
from tests.server.running import build, environment, until

CANARY = "xyzzy-4711"
SOURCES = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """The log, until the test ends."""
    before = {name: logging.getLogger(name) for name in LOGGERS}
    kept = {name: (each.handlers[:], each.propagate, each.level) for name, each in before.items()}
    made = io.StringIO()
    log_to(made)
    yield made
    for name, (handlers, propagate, level) in kept.items():
        before[name].handlers[:], before[name].propagate = handlers, propagate
        before[name].setLevel(level)


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_with_its_time_its_level_and_its_event(stream: io.StringIO) -> None:
    note("request", request="0" * 16, route="/x/{y}", status=200, ms=3, token=None)
    (line,) = written(stream)
    assert datetime.fromisoformat(line.pop("at")).tzinfo is not None
    known = {"request": "0" * 16, "route": "/x/{y}", "status": 200, "ms": 3}
    assert line == {"level": "info", "event": "request", **known}


@pytest.mark.parametrize(
    "value",
    [
        "SELECT COUNT(*) FROM patients WHERE zip = 'x'\n",
        f"discreet_0a0b0c0d_{'f' * 64}",
        3.14159,
        -1,
        2**70,
        ["02139"],
        {"zip": "02139"},
        "line\nbreak",
        "x" * 1000,
        "\ud800\x00",
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_field_has_room_for_a_question_a_secret_or_a_value(stream: io.StringIO, value: object) -> None:
    note("request", **dict.fromkeys(FIELDS, value))  # type: ignore[arg-type]
    (line,) = written(stream)
    assert {line[field] for field in FIELDS} == {UNFIT}


@pytest.mark.parametrize(("letters", "fits"), [(31, True), (32, False), (33, False)])
def test_what_may_be_a_secret_is_not_written(stream: io.StringIO, letters: int, fits: bool) -> None:
    """One letter less is none; and so it is of the names that owners give, and of routes."""
    for field, before in (("dataset", ""), ("dataset", "ward "), ("route", "/")):
        note("request", **{field: before + "a" * letters})  # type: ignore[arg-type]
        written = json.loads(stream.getvalue().splitlines()[-1])
        assert (written[field] == before + "a" * letters) is fits


def test_what_is_no_field_is_not_written(stream: io.StringIO) -> None:
    note("request", sql=CANARY, status=200)
    assert CANARY not in stream.getvalue()
    assert written(stream)[0]["status"] == 200
    with pytest.raises(KeyError):
        note(CANARY)


def test_an_error_has_its_kind_and_its_places_and_not_its_message(stream: io.StringIO) -> None:
    def inner() -> None:
        zip_code = CANARY
        raise ValueError(f"could not convert {zip_code}")

    try:
        inner()
    except ValueError as wrong:
        wrong.add_note(CANARY)
        note("unforeseen", "unforeseen: ValueError", error=wrong)
    (line,) = written(stream)
    assert CANARY not in stream.getvalue()
    assert (line["kind"], line["level"]) == ("ValueError", "error")
    assert line["frames"][-1].startswith("test_logs.py:")
    assert line["frames"][-1].endswith(" inner")


def test_records_of_others_that_get_here_say_nothing(stream: io.StringIO) -> None:
    logging.getLogger("discreet.server").error("%s", CANARY, exc_info=ValueError(CANARY))
    (line,) = written(stream)
    assert CANARY not in stream.getvalue()
    assert line["event"] == "unforeseen"


def test_a_full_disk_stops_nobody(capsys: pytest.CaptureFixture[str], stream: io.StringIO) -> None:
    assert stream is not None  # the loggers are what they were afterwards
    full = Path("/dev/full").open("w", encoding="utf-8", buffering=1)  # noqa: SIM115  (closing it fails)
    log_to(full)
    note("request", status=200)
    with pytest.raises(OSError, match="No space left"):
        full.close()
    note("request", status=200)
    assert capsys.readouterr().err == ""


def test_everything_is_written_in_one_place() -> None:
    """No module but `logs` has a logger to write to; what it gives `note` is an event of the table, by name."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)] if "note(" in text else []
        for call in calls:
            if isinstance(call.func, ast.Name) and call.func.id == "note" and "logs import" in text:
                assert isinstance(call.args[0], ast.Constant), path
                assert call.args[0].value in EVENTS, path
        if path.name != "logs.py":
            assert 'getLogger("discreet' not in text, path


def test_commands_say_how_they_ended_and_not_what_they_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, log = build(tmp_path, patients=3), tmp_path / "commands.log"
    monkeypatch.setenv(DESTINATION, str(log))
    run("token", "create", policy, "--role", "owner")
    run("query", policy, f"SELECT COUNT(*) FROM patients WHERE zip = '{CANARY}'", "--epsilon", "0.0123")
    run("query", policy, f"SELECT {CANARY}", "--epsilon", "0.0123", code=3)
    run(CANARY, code=2)
    run("refresh", policy, "--reason", CANARY)
    run("ledger", "backup", policy, tmp_path / "backups" / CANARY, code=5)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    commands = [(line["command"], line["exit"], line["code"]) for line in lines if line["event"] == "command"]
    assert commands == [
        ("token create", 0, ""),
        ("query", 0, ""),
        ("query", 3, "syntax"),
        ("discreet", 2, "usage"),
        ("refresh", 0, ""),
        ("ledger backup", 5, "ledger"),
    ]
    assert [(line["dataset"], line["data_version"]) for line in lines if line["event"] == "refreshed"] == [
        ("hospital", 2)
    ]
    assert all(line["ms"] % 100 == 0 for line in lines if line["event"] == "command")
    text = log.read_text(encoding="utf-8")
    assert CANARY not in text
    assert "0.0123" not in text
    assert str(tmp_path) not in text
    assert log.stat().st_mode & 0o077 == 0


def test_a_log_that_cannot_be_opened_ends_a_command_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = build(tmp_path, patients=3)
    monkeypatch.setenv(DESTINATION, str(tmp_path / "no" / "such" / "folder"))
    assert DESTINATION in run("query", policy, "SELECT COUNT(*) FROM patients", "--epsilon", "1", code=3).output
    assert not (tmp_path / "hospital.discreet").exists()


def test_times_of_commands_are_on_the_grid_of_padded_answers() -> None:
    assert [padded_ms(seconds) for seconds in (0.0, 0.1, 0.100001, 3.3)] == [100, 100, 200, 6400]


@pytest.mark.long
def test_backups_under_a_service_manager_are_lines_of_json_alone(tmp_path: Path) -> None:
    policy, folder = build(tmp_path, patients=3), tmp_path / SYSTEM.bytes(4).hex()
    given = {**environment(), DESTINATION: "-"}
    run("query", policy, "SELECT COUNT(*) FROM patients", "--epsilon", "0.1")
    process = program("ledger", "backup", policy, folder, "--every", "1h", env=given)
    try:
        until(lambda: list(folder.glob("*.sqlite")) and not list(folder.glob("*.lock")))
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert out == b""
    first, last = (json.loads(line) for line in errors.splitlines())
    assert (first["event"], first["dataset"], first["sound"]) == ("backed-up", "hospital", True)
    assert (last["event"], last["command"], last["exit"]) == ("command", "ledger backup", 0)
