"""`discreet score`: a model of a charge or of a file, on private rows, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet
from discreet.learn import GaussianNB
from discreet.learn.codec import document_of
from discreet.policy import Policy
from tests.cli.runs import run, told
from tests.curator.worlds import hospital

SQL = "SELECT age, sex FROM patients"
ASKED = (SQL, "--target", "sex")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    """A hospital with one charge, that of a fit."""
    found = hospital(tmp_path, {"epsilon = 3.0\ndelta = 1e-6": "epsilon = 3.0"})
    with discreet.open(found.path) as curator:
        model = curator.fit(GaussianNB(), SQL, target="sex", epsilon=0.5)
        (tmp_path / "model.json").write_text(json.dumps(document_of(model)), encoding="utf-8")
        (tmp_path / "number").write_text(model.receipt_.partition(":")[0], encoding="utf-8")
    return found


def test_it_scores_the_model_of_a_charge_and_tells_what_it_cost(policy: Policy) -> None:
    number = (policy.path.parent / "number").read_text(encoding="utf-8")
    preview = run("score", policy.path, number, *ASKED, "-e", "0.5", "--preview").stdout
    assert "0.5" in preview
    shown = run("score", policy.path, number, *ASKED, "-e", "0.5").stdout
    assert shown.startswith("accuracy")
    assert "cost ε 0.5; receipt " in shown
    assert "free: it was scored before" in run("score", policy.path, number, *ASKED, "-e", "0.5").stdout


def test_several_metrics_of_a_model_in_a_file_are_one_charge(policy: Policy, tmp_path: Path) -> None:
    said = ("-m", "accuracy", "-m", "roc_auc", "-e", "0.5", "--confidence", "0.9")
    found = told("score", policy.path, tmp_path / "model.json", *ASKED, *said)
    assert {score["metric"] for score in found["scores"]} == {"accuracy", "roc_auc"}
    with discreet.open(policy.path) as curator:
        assert len(curator.entries()) == 2


@pytest.mark.parametrize(
    ("model", "words"),
    [("7", "no charge"), ("nowhere.json", "no model"), ("hospital.toml", "no model")],
)
def test_what_is_no_model_is_refused_and_costs_nothing(policy: Policy, model: str, words: str) -> None:
    named = model if model.isdigit() else str(policy.path.parent / model)
    code = 3 if model.isdigit() else 2
    result = run("score", policy.path, named, *ASKED, "-e", "0.5", code=code)
    assert words in result.output
    with discreet.open(policy.path) as curator:
        assert len(curator.entries()) == 1


def test_the_charge_of_a_query_is_no_model(policy: Policy) -> None:
    number = told("query", policy.path, "SELECT COUNT(*) FROM patients", "-e", "0.1")["receipt"].partition(":")[0]
    assert "fitted no model" in run("score", policy.path, number, *ASKED, "-e", "0.5", code=3).output
