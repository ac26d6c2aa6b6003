"""The statement that owners publish: what it says is true, and nothing in it is private."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import rho_for
from discreet.curator.state import balances, open_ledger
from discreet.owner.statement import FORM, PURE, WITH_DELTA, statement
from discreet.owner.statement_page import SAID, page
from discreet.policy import Policy, PolicyError, fingerprint, protected, read
from discreet.policy.read import STATEMENT
from discreet.version import __version__
from tests.cli.runs import spend
from tests.curator.streams import world
from tests.curator.worlds import SOURCES, hospital

CANARY = "Jane-Roe-1961"
OWNER_SAYS = (
    '[statement]\ncurator = "The <b>hospital</b> & co"\npurpose = "planning"\ncontact = "privacy@example.org"\n'
)


def saying(policy: Policy, more: str) -> Policy:
    policy.path.write_text(policy.path.read_text(encoding="utf-8") + "\n" + more, encoding="utf-8")
    return read(policy.path)


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (str(key), *strings(each))]
    return [text for each in value for text in strings(each)] if isinstance(value, list) else [str(value)]


def test_no_source_is_needed_and_no_question_repeated(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    spend(policy, 0.1, f"SELECT COUNT(*) AS n FROM patients WHERE zip = '{CANARY}'")
    for file in SOURCES:
        (policy.folder / file).unlink()
    made = statement(policy)
    assert made["released"]["charges"] == 1
    for text in (json.dumps(made), page(made)):
        assert CANARY not in text
        assert str(policy.folder) not in text
        assert not any(file in text for file in SOURCES)


def test_what_is_code_is_shown_as_code(tmp_path: Path) -> None:
    shown = page(statement(hospital(tmp_path)))
    assert "<code>[statement]</code> in the policy" in shown
    assert "`" not in shown


def test_what_is_said_is_what_the_ledger_says(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    before = statement(policy)
    assert before["released"]["charges"] == 0
    assert before["guarantee"]["means"]["spent"]["after"] == 0.5
    spend(policy, 0.25)
    made = statement(policy)
    assert made["guarantee"]["spent"] == asdict(balances(policy)[None].spent)
    rho = made["guarantee"]["spent"]["rho"]
    exponent = rho + 2 * math.sqrt(rho * math.log(1000))
    assert 0 <= made["guarantee"]["means"]["spent"]["after"] - 1 / (1 + math.exp(-exponent)) < 1e-4
    assert made["form"] == FORM
    assert json.loads(json.dumps(made)) == made


def test_names_may_be_left_out(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    spend(policy, 0.1, analyst="fraud")
    spend(policy, 0.1)
    counts = {each["analyst"]: each["charges"] for each in statement(policy)["released"]["by"]}
    assert counts == {"epidemiology": 0, "fraud": 1, "owner": 1}
    numbered = statement(policy, names=False)
    assert [each["analyst"] for each in numbered["released"]["by"]] == ["analyst 1", "analyst 2", "owner"]
    assert not {"epidemiology", "fraud"} & set(strings(numbered))


@pytest.mark.parametrize("delta", [None, 1e-6, 0.4])
def test_beliefs_and_theorems_of_both_kinds_of_budgets(tmp_path: Path, delta: float | None) -> None:
    policy = hospital(tmp_path, {"delta = 1e-6\n": "" if delta is None else f"delta = {delta}\n"})
    made = statement(policy)
    assert [each["name"] for each in made["mechanisms"]] == [
        each.__name__ for each in (PURE if delta is None else WITH_DELTA)
    ]
    assert all(each["theorem"] and each["source"] for each in made["mechanisms"])
    means = made["guarantee"]["means"]["budget"]
    if delta is None:
        assert means == {"before": 0.5, "after": 0.9526, "failure": 0.0}
    else:
        assert 0.5 < means["after"] <= 1
        assert means["failure"] > delta / 2
        assert made["guarantee"]["budget"]["rho"] == pytest.approx(float(rho_for(3, Fraction(str(delta)) / 2)))
    assert all(each["within"] > 0 for each in made["accuracy"])


def test_an_owner_s_words_are_only_words(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    said = saying(policy, OWNER_SAYS)
    assert (fingerprint(said), protected(said)) == (fingerprint(policy), protected(policy))
    made = statement(said)
    assert made["registry"]["data_curator"] == "The <b>hospital</b> & co"
    shown = page(made)
    assert "<b>hospital</b> & co" not in shown
    assert "The &lt;b&gt;hospital&lt;/b&gt; &amp; co" in shown
    assert "<script" not in shown
    assert set(SAID) == set(STATEMENT)


@pytest.mark.parametrize("wrong", ["curator = 3", 'curator = ""', 'nonsense = "x"', 'curator = "a\\u0007"'])
def test_what_an_owner_cannot_say(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(PolicyError, match="statement"):
        saying(hospital(tmp_path), f"[statement]\n{wrong}\n")


def test_an_audit_is_told_and_a_stream_listed(tmp_path: Path) -> None:
    verdict = {"questions": 3, "refused": 0, "pairs": 9, "comparisons": 27, "differences": 1, "sensitivity_used": 2.0}
    policy = read(world(tmp_path))
    open_ledger(policy).close()
    made = statement(policy, audit=verdict)
    assert made["audit"] == verdict
    assert [each["name"] for each in made["released"]["streams"]] == ["rides"]
    shown = page(made)
    assert "1 of 3 questions distinguish two neighbours" in shown
    assert "None was run" in page(statement(policy))


ORDER = [
    "The guarantee",
    "In the owner's words",
    "What was released",
    "Accuracy",
    "Mechanisms and theorems",
    "What is bounded, and what is public",
    "Trust",
    "Security and side channels",
    "What it assumes",
    "What is not covered",
    "Audit",
    "Software",
    "For registries of deployments",
]
"""From the top of a claim to its ground, as NIST SP 800-226 builds it."""
REGISTRY = {
    *("data_curator", "intended_use", "data_product", "publication_date", "flavor", "privacy_unit", "contact"),
    *("neighbouring_relation", "privacy_loss_parameters", "model", "unprotected_quantities", "composition"),
    *("post_processing", "mechanisms", "implementation", "justification"),
}
"""What public registries of deployments ask for."""


def test_it_goes_from_the_top_of_a_claim_to_its_ground(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    spend(policy, 0.1, analyst="fraud")
    made = statement(policy)
    shown = page(made)
    assert re.findall(r"<h2>(.*?)</h2>", shown) == ORDER
    assert set(made["registry"]) == REGISTRY
    assert made["registry"]["privacy_unit"].startswith(f"one {policy.unit} ")
    guarantee, released = made["guarantee"], made["released"]
    assert (guarantee["unit"], guarantee["budget"]["epsilon"]) == (policy.unit, policy.budget.epsilon)
    assert guarantee["spent"]["epsilon"] > 0
    assert {each["analyst"]: each["charges"] for each in released["by"]}["fraud"] == 1
    assert [(each["version"], each["charges"]) for each in released["data_versions"]] == [(1, 1)]
    assert made["software"]["discreet"] == __version__
    assert {"python", "duckdb", "sqlite"} <= set(made["software"])
    for key in ("trust", "security", "assumptions", "not_covered"):
        assert made[key]
        assert all(escape(each) in shown for each in made[key]), key
