"""Texts and answers end when the policy says so and its owner acts: on the command line, at refreshes, for analysts."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

import discreet
from discreet.accounting.record import ERASED
from discreet.cli.failures import REFUSED, WRONG_USE
from discreet.curator import retention
from discreet.errors import Refused
from discreet.owner.retention import HISTORY, trim_history
from discreet.policy import PolicyError, read
from discreet.policy.retention import Span
from discreet.policy.section import RuleError
from tests.cli.runs import run, told
from tests.curator.test_erasing import found
from tests.curator.worlds import hospital

CANARY = f"c{secrets.token_hex(20)}"
SQL = f"SELECT COUNT(*) AS n FROM patients WHERE zip = '{CANARY}'"
COUNT = "SELECT COUNT(*) AS n FROM visits"
KEPT = {"[analysts.epidemiology]": '[retention]\nquestions = "90d"\nanswers = "1y"\n[analysts.epidemiology]'}


def later(patch: pytest.MonkeyPatch, days: int) -> None:
    """So many days from now."""

    clock = SimpleNamespace(now=lambda zone: datetime.now(zone) + timedelta(days=days))
    patch.setattr(retention, "datetime", clock)


def test_texts_go_first_then_answers_and_what_was_spent_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hospital(tmp_path, KEPT).path
    with discreet.open(path) as curator:
        assert "stays cached for 1 year" in " ".join(curator.preview(SQL, epsilon=0.1).notes)
        first = curator.query(SQL, epsilon=0.1, analyst="fraud")
        number = curator.entries()[-1].number
        curator.query(COUNT, epsilon=0.1)
        spent = curator.budget().spent
    state = read(path).state
    assert found(state, CANARY)
    assert told("ledger", "retain", path)["questions"] == 0
    later(monkeypatch, 91)
    assert told("ledger", "retain", path) == {"questions": 2, "answers": 0, "saved": 0, "gone": True, "left": []}
    assert found(state, CANARY) == []
    with discreet.open(path) as curator:
        assert curator.budget().spent == spent
        entry = curator.entry(number)
        assert entry is not None
        assert (entry.question, entry.is_erased, entry.analyst) == (ERASED, True, "fraud")
        with pytest.raises(Refused, match="too old"):
            curator.recall(number)
        again = curator.query(SQL, epsilon=0.1, analyst="fraud")
        assert (again.cached, again.rows) == (True, first.rows)
    later(monkeypatch, 366)
    done = told("refresh", path)
    assert done["retained"]["answers"] == 2
    assert "2 answers" in run("ledger", "show", path).output
    with discreet.open(path) as curator:
        assert not curator.preview(SQL, epsilon=0.1).cached
        fresh = curator.query(SQL, epsilon=0.1, analyst="fraud")
        assert not fresh.cached
        assert curator.budget().spent.epsilon > spent.epsilon
        assert any("erased, as too old" in line.words for line in curator.story())
    assert "sound" in run("ledger", "verify", path).output


def test_every_copy_of_the_ledger_that_lies_in_the_state_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies from before an upgrade hold all texts, too, and so does what a killed process left; the owner is told."""
    policy = hospital(tmp_path, KEPT)
    with discreet.open(policy.path) as curator:
        curator.query(SQL, epsilon=0.1)
    state = policy.state
    run("saved", "save", policy.path, "mine", COUNT)
    run("token", "create", policy.path, "--role", "owner")
    run("upgrade", policy.path)
    run("ledger", "backup", policy.path, state / "kept.sqlite")
    run("ledger", "restore", state / "kept.sqlite", policy.path)
    for left in ("ledger.sqlite.restoring", "ledger.sqlite.brought"):
        (state / left).write_bytes((state / "kept.sqlite").read_bytes())
    later(monkeypatch, 91)
    told_left = told("ledger", "retain", policy.path)["left"]
    kept = {"before-format-1.sqlite", "kept.sqlite", "ledger.sqlite.restoring", "ledger.sqlite.brought"}
    assert kept <= {name for name in told_left if "replaced" not in name}
    assert {path.partition("/")[0] for path in found(state, CANARY)} == set(told_left)


def test_models_batches_and_publications_go_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.learn import LinearRegression

    path = hospital(tmp_path, KEPT).path
    with discreet.open(path) as curator:
        curator.fit(LinearRegression(), "SELECT age, vip FROM patients", target="vip", epsilon=0.5)
        curator.batch([SQL, COUNT], epsilon=0.5)
        numbers = [entry.number for entry in curator.entries()]
    later(monkeypatch, 400)
    done = told("ledger", "retain", path)
    assert (done["questions"], done["answers"]) == (2, 2)
    assert found(read(path).state, CANARY) == []
    with discreet.open(path) as curator:
        for number in numbers:
            with pytest.raises(Refused):
                curator.recall(number)
    assert "sound" in run("ledger", "verify", path).output


def test_who_has_no_retention_is_told_how(tmp_path: Path) -> None:
    path = hospital(tmp_path).path
    refused = told("ledger", "retain", path, code=REFUSED)["error"]
    assert (refused["code"], "[retention]" in refused["fix"]) == ("no-retention", True)
    run("ledger", "retain", tmp_path / "none.toml", code=WRONG_USE)


@pytest.mark.parametrize(
    "wrong", ["", "0d", "90", "d", "90D", "１d", "1m", "-1d", "1.5y", "101y", "99999y", " 1d", 90, None, True, ["1d"]]
)
def test_a_span_is_whole_days_and_nothing_else(wrong: object) -> None:
    with pytest.raises(RuleError):
        Span.read(wrong)


def test_a_wrong_key_or_span_is_a_problem_of_the_policy(tmp_path: Path) -> None:
    path = hospital(tmp_path, KEPT).path
    for old, new in (('"90d"', '"soon"'), ("questions", "question")):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(PolicyError, match="retention"):
            read(path)
        path.write_text(text, encoding="utf-8")


def test_the_history_of_the_shell_is_cut_too(tmp_path: Path) -> None:
    policy = hospital(tmp_path, KEPT)
    policy.state.mkdir(mode=0o700)
    history = policy.state / HISTORY
    now = datetime.now()
    old = now - timedelta(days=100)
    history.write_text(f"\n# {old}\n+SELECT {CANARY}\n+FROM x;\n\n# {now}\n+SELECT 2;\n", encoding="utf-8")
    trim_history(policy)
    assert history.read_text(encoding="utf-8") == f"\n# {now}\n+SELECT 2;\n"
    assert history.stat().st_mode & 0o077 == 0
    trim_history(policy)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(f"\n# {old}\n+x\n", encoding="utf-8")
    history.unlink()
    history.symlink_to(elsewhere)
    trim_history(policy)
    assert elsewhere.read_text(encoding="utf-8") == f"\n# {old}\n+x\n", "what lies elsewhere is not ours"
