"""`discreet collect` as a program: what it prints, what it refuses, and what is left when it dies."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from discreet.cli import discreet as command
from discreet.client import Unreachable
from discreet.collector import fetch, parse
from discreet.collector.store import Store
from tests.collector.running import ANSWERS, SURVEY, Running, collecting
from tests.server.running import until

ASKED = parse(SURVEY.encode())
INVITED = "invitations = true\n" + SURVEY


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["collect", *map(str, arguments)])


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    file = tmp_path / "survey.toml"
    file.write_text(SURVEY, encoding="utf-8")
    return file


def send_until_it_dies(running: Running) -> int:
    """How many submissions were acknowledged."""
    acknowledged = 0
    try:
        while acknowledged < 500:
            with fetch(running.url) as me:
                me.answer(ANSWERS)
            acknowledged += 1
    except Unreachable:
        pass
    return acknowledged


@pytest.mark.long
def test_a_killed_server_loses_nothing_that_was_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.client.http.TRIES", 1)
    monkeypatch.setattr("discreet.client.http.FIRST_TRIES", 1)
    with collecting(tmp_path) as running, ThreadPoolExecutor(4) as pool, ExitStack() as idle:
        port = int(running.url.rpartition(":")[2])
        for _ in range(50):  # they say nothing, and shut out nobody
            idle.enter_context(socket.create_connection(("127.0.0.1", port)))
        with fetch(running.url) as first:
            first.answer(ANSWERS)
        senders = [pool.submit(send_until_it_dies, running) for _ in range(4)]
        with httpx.Client(trust_env=False) as client:
            until(lambda: client.get(f"{running.url}/estimates.json").json()["questions"][0]["reports"] >= 20)
        running.kill()
        acknowledged = 1 + sum(sender.result() for sender in senders)
    assert acknowledged >= 17
    store = Store(running.database, ASKED)
    assert acknowledged <= store.count() <= acknowledged + 4  # what was stored, and not yet said
    assert all(len(store.reports(question.id)) == store.count() for question in ASKED.questions)
    store.close()


def test_the_example_can_be_written_and_read(tmp_path: Path) -> None:
    assert run(tmp_path / "survey.toml", "--example").exit_code == 0
    assert run("--example").stdout == (tmp_path / "survey.toml").read_text("utf-8")
    again = run(tmp_path / "survey.toml", "--example")
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)


def test_estimates_in_the_terminal(survey: Path) -> None:
    early = run(survey, "--estimates")
    assert (early.exit_code, "no reports yet" in early.stderr) == (2, True)
    store = Store(survey.with_suffix(".duckdb"), ASKED)
    store.close()
    assert "0 reports" in run(survey, "--estimates").stdout
    told = run(survey, "--estimates", "--json")
    assert json.loads(told.stdout)["questions"][0]["reports"] == 0


def test_invitations_are_printed_once(survey: Path, tmp_path: Path) -> None:
    refused = run(survey, "--invite", 2)
    assert (refused.exit_code, "invitations = true" in refused.stderr) == (2, True)
    survey.write_text(INVITED, encoding="utf-8")
    plain = run(survey, "--invite", 2).stdout.split()
    links = run(survey, "--invite", 2, "--url", "https://survey.example.org/").stdout.split()
    assert [len(each) for each in plain] == [32, 32]
    assert all(link.startswith("https://survey.example.org/#") for link in links)
    store = Store(tmp_path / "survey.duckdb", parse(INVITED.encode()))
    assert store.invitations() == (4, 0)
    store.close()


def test_wrong_use_is_said(survey: Path) -> None:
    assert "name a survey file" in run().stderr
    broken = survey.with_name("broken.toml")
    broken.write_text(SURVEY.replace("epsilon = 1.0", "epsilon = 100"), encoding="utf-8")
    found = run(broken)
    assert (found.exit_code, "is above 8" in found.stderr) == (2, True)
    alone = run(survey, "--certificate", "a.pem")
    assert (alone.exit_code, "go together" in alone.stderr) == (2, True)
    store = Store(survey.with_suffix(".duckdb"), ASKED)
    store.close()
    changed = survey.with_name("changed.toml")
    changed.write_text(SURVEY.replace("Habits", "Other habits"), encoding="utf-8")
    other = run(changed, "--database", survey.with_suffix(".duckdb"))
    assert (other.exit_code, "another version" in other.stderr) == (3, True)
