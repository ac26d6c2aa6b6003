"""`discreet federated`: what people type, and what they are told when it cannot be."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from discreet.cli import discreet

PLAN = """
clients = 3
rounds = 2
sigma = 0.7
delta = 1e-5
noise = "distributed"
dropout = 0
target = "ill"
features.age = { min = 0, max = 100 }
"""
ROWS = "age,ill\n10,0\n80,1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    (tmp_path / "rows.csv").write_text(ROWS, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(*words: str) -> Result:
    return CliRunner().invoke(discreet, ["federated", *words])


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


@pytest.mark.usefixtures("folder")
def test_a_preview_tells_what_is_promised_to_whom() -> None:
    shown = ran("preview", "plan.toml")
    assert shown.exit_code == 0
    assert "against whoever sees the models" in shown.output
    assert "against the coordinator" in shown.output
    found = json.loads(ran("preview", "plan.toml", "--json").stdout)
    assert [promise["delta"] for promise in found["guarantees"]] == [1e-5, 1e-5]
    assert all(promise["epsilon"] > 1 for promise in found["guarantees"])


def test_a_whole_training_in_one_process(folder: Path) -> None:
    port = free_port()
    ended: list[Result] = []

    def client() -> None:
        ended.append(ran("client", f"http://127.0.0.1:{port}", "rows.csv", "--max-epsilon", "1000"))

    threads = [threading.Thread(target=client) for _ in range(3)]
    for thread in threads:
        thread.start()
    done = ran("coordinator", "plan.toml", "-o", "model.json", "--port", port, "--json")
    for thread in threads:
        thread.join()
    assert done.exit_code == 0, done.output
    assert [result.exit_code for result in ended] == [0, 0, 0]
    document = json.loads((folder / "model.json").read_text("utf-8"))
    assert document["task"]["target"] == "ill"
    assert len(document["weights"]) == 2
    assert (folder / "plan.journal").stat().st_mode & 0o777 == 0o600
    again = ran("coordinator", "plan.toml", "-o", "model.json", "--port", port)
    assert (again.exit_code, "exists already" in again.output) == (2, True)


@pytest.mark.parametrize(
    ("change", "exit_code", "said"),
    [
        (("rounds = 2", "rounds = 0"), 3, "rounds must be at least 1"),
        (("rounds = 2", "round = 2"), 3, "nothing here is called round"),
        (("clients = 3", "clients = ["), 3, "not TOML"),
        (('"ill"', '"age"'), 3, "target is none of them"),
        (('"distributed"', '"nowhere"'), 3, "noise must be one of"),
    ],
)
def test_plans_that_are_none_are_refused_before_anybody_is_asked(
    change: tuple[str, str], exit_code: int, said: str, folder: Path
) -> None:
    (folder / "plan.toml").write_text(PLAN.replace(*change), "utf-8")
    for words in (("preview", "plan.toml"), ("coordinator", "plan.toml", "-o", "model.json", "--port", "0")):
        shown = ran(*words)
        assert shown.exit_code == exit_code, shown.output
        assert said in shown.output
        assert "→" in shown.output
    assert not (folder / "plan.journal").exists()


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_is_told_with_its_exit_code() -> None:
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("preview", "no.toml"), 2, "does not exist"),
        (("client", "http://127.0.0.1:1", "rows.csv"), 2, "--max-epsilon"),
        (("client", "http://127.0.0.1:1", "no.csv", "--max-epsilon", "1"), 2, "does not exist"),
        (("client", "http://example.org", "rows.csv", "--max-epsilon", "1"), 3, "use https"),
        (("client", f"http://127.0.0.1:{free_port()}", "rows.csv", "--max-epsilon", "1", "--patience", "0"), 5, "runs"),
        (("coordinator", "plan.toml"), 2, "--output"),
        (("coordinator", "plan.toml", "-o", "no/model.json"), 2, "folder"),
    ]
    for words, exit_code, said in cases:
        shown = ran(*words)
        assert (shown.exit_code, said in shown.output) == (exit_code, True), (words, shown.output)


@pytest.mark.usefixtures("folder")
def test_a_port_that_is_taken_is_told_and_nothing_is_spent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        shown = ran("coordinator", "plan.toml", "-o", "model.json", "--port", str(taken.getsockname()[1]))
    assert (shown.exit_code, "cannot listen" in shown.output) == (3, True)
    events: list[dict[str, Any]] = [json.loads(line) for line in Path("plan.journal").read_text("utf-8").splitlines()]
    assert not any("begun" in event for event in events)
