"""Many analysts at once, servers that are killed, and two of them on one state folder: nothing is overspent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.state import entries, ledger_path
from discreet.ledger import verify
from discreet.policy import read
from tests.budget import later
from tests.cli.runs import run
from tests.server.running import Running, build, environment, serving, until

pytestmark = pytest.mark.long

COST = 0.1
HEAD = """\
name = "hospital"
[unit]
name = "patient"
[tables.patients]
source = "patients.csv"
unit = "id"
[tables.patients.columns]
age = { min = 0, max = 120 }
[server]
requests_per_minute = 60000
pad_ms = 0
"""


def hospital(folder: Path, *, answers: int, analysts: int, share: int) -> Path:
    """A budget for so many answers, and analysts who may have so many of them each."""
    shares = [f"[analysts.a{number}]\nepsilon = {share * COST:.1f}" for number in range(analysts)]
    budget = f"[budget]\nepsilon = {answers * COST:.1f}"
    return build(folder, patients=100, text="\n".join([HEAD, budget, *shares, ""]))


class Crowd:
    """Processes that wait for the word, then ask until they are refused."""

    def __init__(self, urls: Sequence[str], tokens: Sequence[str], processes: int) -> None:
        size = -(-len(tokens) // processes)
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.server.crowd"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            for _ in range(processes)
        ]
        for place, process in enumerate(self._processes):
            part = list(tokens[place * size : (place + 1) * size])
            assert process.stdin is not None
            process.stdin.write(json.dumps({"urls": list(urls), "tokens": part, "epsilon": COST}) + "\n")
            process.stdin.flush()
        for process in self._processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"

    def go(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    def results(self) -> list[dict[str, Any]]:
        """What became of each analyst."""
        found = [process.communicate(timeout=1200) for process in self._processes]
        ended = [(process.returncode, said) for process, (_, said) in zip(self._processes, found, strict=True)]
        assert not [each for each in ended if each[0]], ended
        return [each for text, _ in found for each in json.loads(text)]

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


def demand_sound(policy: Path, results: list[dict[str, Any]], answers: int) -> None:
    """The ledger is whole, within the budget, and has the charge of every answer that anybody got."""
    receipts = [receipt for each in results for receipt in each["receipts"]]
    assert len(set(receipts)) == len(receipts)
    report = verify(ledger_path(read(policy)), receipts)
    assert report.problems == ()
    assert report.sound
    assert "sound" in run("ledger", "verify", policy).output
    charged = entries(read(policy))
    spent = sum((entry.loss.epsilon for entry in charged), Fraction(0))  # type: ignore[union-attr]
    assert spent <= answers * Fraction(str(COST))
    answered = {entry.number for entry in charged if entry.answered}
    assert {int(receipt.split(":")[0]) for receipt in receipts} <= answered
    for analyst, share in read(policy).analysts.items():
        own = [entry.loss.epsilon for entry in charged if entry.analyst == analyst]  # type: ignore[union-attr]
        assert isinstance(share, Fraction)
        assert sum(own, Fraction(0)) <= share


@pytest.mark.parametrize("many", later([30, 100]))
def test_many_analysts_spend_the_budget_to_the_last_bit(tmp_path: Path, many: int) -> None:
    answers = many * 5 // 2
    policy = hospital(tmp_path, answers=answers, analysts=many, share=3)
    with serving(policy) as running:
        tokens = [running.tokens[f"a{number}"] for number in range(many)]
        with Crowd([running.url], tokens, many // 20 + 1) as crowd:
            crowd.go()
            results = crowd.results()
        with running.client("owner") as owner:
            assert owner.get("health").json() == {"status": "ok", "waiting": 0, "running": 0}
            assert owner.get("datasets/hospital/budget").json()["remaining"]["epsilon"] == 0
    assert {each["code"] for each in results} == {"budget-exhausted"}
    assert {each["lost"] for each in results} == {0}
    assert all(each["fix"] for each in results)
    assert sum(len(each["receipts"]) for each in results) == answers
    assert min(len(each["receipts"]) for each in results) >= 1  # everybody was served
    assert max(len(each["receipts"]) for each in results) <= 3
    demand_sound(policy, results, answers)
    assert len(entries(read(policy))) == answers


@pytest.mark.parametrize("answers", later([60, 120]))
def test_two_servers_on_one_state_folder_and_one_is_killed(tmp_path: Path, answers: int) -> None:
    policy = hospital(tmp_path, answers=answers, analysts=20, share=10)
    with serving(policy) as one, serving(policy, tokens=one.tokens) as two:
        tokens = [one.tokens[f"a{number}"] for number in range(20)]
        with Crowd([one.url, two.url], tokens, 2) as crowd:
            crowd.go()
            until(lambda: _charges(one) >= 20 and _answered_by(two) >= 5)
            two.kill()  # in the middle of whatever it does
            results = crowd.results()
        assert "budget-exhausted" in {each["code"] for each in results}
        assert {each["code"] for each in results} <= {"budget-exhausted"}
        with one.client("owner") as owner:
            assert owner.get("datasets/hospital/budget").json()["remaining"]["epsilon"] == 0
    demand_sound(policy, results, answers)
    assert len(entries(read(policy))) == answers


def _charges(server: Running) -> int:
    with server.client("auditor") as client:
        return len(client.get("datasets/hospital/ledger").json()["entries"])


def _answered_by(server: Running) -> int:
    lines = [json.loads(line) for line in server.log.read_text(encoding="utf-8").splitlines()]
    return sum(line.get("route", "").endswith("/query") and line["status"] in (200, 202) for line in lines)
