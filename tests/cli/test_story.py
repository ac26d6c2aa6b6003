"""`discreet budget raise | lower | window`, `ledger withdraw`, tokens: what they do to the file and the record."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.state import ledger_path, open_ledger, recorded_grant
from discreet.ledger import LedgerError, verify
from discreet.owner.statement import statement
from discreet.owner.statement_page import page
from discreet.policy import Policy, read
from tests.cli.runs import program, run, spend, told
from tests.curator.worlds import hospital

WHY = ("--why", "a new year")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    """With a pure budget of ε 3, and windows."""
    return hospital(tmp_path, {"epsilon = 3.0\ndelta = 1e-6": "epsilon = 3.0  # all of it\nmax_windows = 3"})


def story(policy: Policy, *kinds: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = told("ledger", "show", policy.path)["entries"]
    return [each for each in entries if each["kind"] in kinds]


# budgets


def test_a_raise_edits_the_file_and_records_the_reason(policy: Policy) -> None:
    spend(policy, 1)
    before = policy.path.read_text(encoding="utf-8")
    assert "may spend epsilon 4" in run("budget", "raise", policy.path, "--epsilon", "4", "--why", "a study").stdout
    assert policy.path.read_text(encoding="utf-8") == before.replace("3.0  # all of it", "4.0  # all of it")
    assert told("budget", "lower", policy.path, "--epsilon", "2", "--reason", "less")["epsilon"] == 2
    raised, lowered = story(policy, "budget")[1:]
    assert (raised["question"], raised["reason"]) == ("the budget was raised from ε 3 to ε 4", "a study")
    assert (lowered["question"], lowered["reason"]) == ("the budget was lowered from ε 4 to ε 2", "less")
    assert recorded_grant(policy).epsilon == read(policy.path).budget.epsilon == 2


def test_what_is_no_raise_or_below_what_is_spent_is_refused_and_the_file_stays(policy: Policy) -> None:
    spend(policy, 2.5)
    before = policy.path.read_bytes()
    assert told("budget", "raise", policy.path, "--epsilon", "2", code=3)["error"]["code"] == "not-a-raise"
    assert told("budget", "lower", policy.path, "--epsilon", "4", code=3)["error"]["code"] == "not-a-raise"
    refused = told("budget", "lower", policy.path, "--epsilon", "2.2", code=5)["error"]
    assert "less than what is spent already (epsilon 2.5)" in refused["reason"]
    assert (
        "more than the whole budget"
        in told("budget", "lower", policy.path, "--epsilon", "1", code=3)["error"]["reason"]
    )
    assert policy.path.read_bytes() == before
    assert story(policy, "budget")[1:] == []
    assert told("budget", "lower", policy.path, "--epsilon", "2.5", *WHY)["epsilon"] == 2.5
    assert told("budget", policy.path)["remaining"]["epsilon"] == 0


def test_a_raise_that_was_killed_before_its_record_is_told_and_ended_by_the_same_command(policy: Policy) -> None:
    spend(policy, 1)
    policy.path.write_text(policy.path.read_text(encoding="utf-8").replace("3.0  #", "4.0  #"), encoding="utf-8")
    with pytest.raises(LedgerError, match="discreet budget raise"):
        open_ledger(read(policy.path))
    assert told("budget", "raise", policy.path, "--epsilon", "4", "--why", "a study")["epsilon"] == 4
    assert story(policy, "budget")[-1]["reason"] == "a study"
    open_ledger(read(policy.path)).close()


def test_a_file_of_several_names_is_left_alone(policy: Policy) -> None:
    spend(policy, 1)
    os.link(policy.path, policy.path.with_name("twin.toml"))
    assert "hard links" in told("budget", "raise", policy.path, "--epsilon", "4", code=3)["error"]["reason"]
    assert recorded_grant(policy).epsilon == 3


# windows


def test_a_window_is_the_owners_recorded_act(policy: Policy) -> None:
    spend(policy, 3)
    missing = told("budget", "window", policy.path, *WHY, code=3)["error"]
    assert (missing["code"], "--number 2" in missing["fix"]) == ("not-the-next-window", True)
    run("budget", "window", policy.path, "--number", "2", code=2)  # without a reason
    assert run("budget", "window", policy.path, "--number", "2", *WHY).stdout.splitlines() == [
        "window 2 of at most 3 is open; each lets the whole budget be spent again",
        "over all 2 windows everybody is protected with ε 6 at most; ε 3 of it is spent",
    ]
    again = told("budget", "window", policy.path, "--number", "2", *WHY, code=3)["error"]
    assert again["code"] == "not-the-next-window"
    assert "over all 2 windows" in run("budget", policy.path).stdout
    life = told("budget", policy.path)["lifetime"]
    assert (life["window"], life["total"]["epsilon"], life["spent"]["epsilon"]) == (2, 6, 3)
    spend(policy, 3)
    told("budget", "window", policy.path, "--number", "3", *WHY)
    assert told("budget", "window", policy.path, "--number", "4", *WHY, code=3)["error"]["code"] == "no-more-windows"
    assert [each["reason"] for each in story(policy, "window")] == ["a new year"] * 2


def test_more_windows_than_the_policy_says_need_a_policy_that_says_more_on_record(policy: Policy) -> None:
    without = policy.path.read_text(encoding="utf-8").replace("max_windows = 3", "")
    policy.path.write_text(without, encoding="utf-8")
    spend(read(policy.path), 1)
    refused = told("budget", "window", policy.path, "--number", "2", *WHY, code=3)["error"]
    assert (refused["code"], "max_windows = 2" in refused["fix"]) == ("no-more-windows", True)
    policy.path.write_text(without.replace("# all of it", "# all of it\nmax_windows = 2"), encoding="utf-8")
    told("budget", "window", policy.path, "--number", "2", *WHY)
    changed, window = story(policy, "policy", "window")[1:]
    assert changed["changes"] == {"budget.max_windows": [None, 2]}
    assert changed["number"] < window["number"]


def test_two_processes_open_one_window(policy: Policy) -> None:
    spend(policy, 3)
    both = [program("budget", "window", policy.path, "--number", "2", *WHY) for _ in range(2)]
    for each in both:
        each.communicate(timeout=300)
    assert sorted(each.returncode for each in both) == [0, 3]
    assert len(story(policy, "window")) == 1


def test_a_ledger_that_was_rolled_back_before_a_window_is_not_opened(policy: Policy, tmp_path: Path) -> None:
    """Else a window could be opened, spent and forgotten, again and again."""
    spend(policy, 3)
    told("budget", "window", policy.path, "--number", "2", *WHY)
    spend(policy, 3)
    kept = tmp_path / "kept"
    shutil.copytree(policy.state, kept)
    told("budget", "window", policy.path, "--number", "3", *WHY)
    shutil.rmtree(policy.state)
    shutil.copytree(kept, policy.state)
    refused = told("budget", "window", policy.path, "--number", "3", *WHY, code=5)["error"]
    assert refused["code"] == "ledger"


def test_the_statement_says_what_all_windows_mean(policy: Policy) -> None:
    assert statement(policy)["guarantee"]["budget"]["epsilon"] == 9  # nothing was opened, and it may be
    spend(policy, 3)
    assert statement(policy)["guarantee"]["budget"]["epsilon"] == 9
    told("budget", "window", policy.path, "--number", "2", *WHY)
    spend(policy, 1)
    made = statement(policy)["guarantee"]
    assert (made["budget"]["epsilon"], made["spent"]["epsilon"]) == (9, 4)
    assert made["windows"] == {"open": 2, "most": 3}
    text = page(statement(policy))
    assert "(9)-differentially private" in text
    assert "2 of at most 3" in text


# withdrawals and tokens


def test_an_answer_is_withdrawn_once_with_a_reason(policy: Policy) -> None:
    number = int(spend(policy, 1).split(":")[0])
    run("ledger", "withdraw", policy.path, str(number), code=2)
    assert "withdrawn" in run("ledger", "withdraw", policy.path, str(number), "--why", "wrong").stdout
    assert told("ledger", "withdraw", policy.path, str(number), "--why", "x", code=3)["error"]["code"] == "answer-gone"
    assert told("ledger", "withdraw", policy.path, "99", "--why", "x", code=3)["error"]["code"] == "unknown-answer"
    assert story(policy, "query")[0]["answered"] is False
    assert verify(ledger_path(policy)).problems == ()


def test_tokens_are_on_record_by_their_public_names(policy: Policy) -> None:
    made = told("token", "create", policy.path, "--role", "analyst", "--analyst", "fraud")
    told("token", "revoke", made["id"], policy.path)
    assert [each["question"] for each in story(policy, "token")] == [
        f"token {made['id']} of analyst fraud was {act}" for act in ("made", "revoked")
    ]
    secret = made["token"].split("_")[2]
    held = b"".join(path.read_bytes() for path in policy.state.glob("ledger.sqlite*"))
    assert secret.encode() not in held
    assert made["id"].encode() in held
    exported = run("ledger", "export", policy.path).stdout
    assert secret not in exported
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT.*", json.loads(line)["at"]) for line in exported.splitlines())
