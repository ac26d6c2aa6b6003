"""How models are measured and set beside others: what is called worse, and what chance may do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.figures import Figure
from benchmarks.learn import measured
from benchmarks.learn.compared import at_least, most, no_worse, recovered
from benchmarks.learn.models import Cost
from benchmarks.peers.environments import Failed
from benchmarks.peers.measures import best, cost_of, of_classes, of_numbers, of_probabilities, share_of
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss, roc_auc_score

DICE = np.random.default_rng(0)


def test_measures_of_probabilities_are_those_of_scikit_learn() -> None:
    labels = DICE.integers(0, 2, 200)
    found = np.clip(DICE.normal(0.5 + 0.2 * labels, 0.2), 0.01, 0.99)
    both = np.stack([1 - found, found], axis=1)
    measures = of_probabilities(both, labels, np.array([0, 1]))
    assert measures["auc"] == pytest.approx(roc_auc_score(labels, found))
    assert measures["logloss"] == pytest.approx(log_loss(labels, found))
    assert measures["accuracy"] == np.mean((found > 0.5) == labels)


def test_the_area_of_three_classes_is_the_mean_of_each_against_the_rest() -> None:
    labels = DICE.integers(0, 3, 300)
    found = DICE.dirichlet([1, 1, 1], 300) + 0.3 * np.eye(3)[labels]
    found /= found.sum(axis=1, keepdims=True)
    measures = of_probabilities(found, labels, np.arange(3))
    assert measures["auc"] == pytest.approx(roc_auc_score(labels, found, multi_class="ovr"))


def test_a_class_that_a_model_never_saw_has_no_probability() -> None:
    model = DummyClassifier(strategy="prior").fit(np.zeros((4, 1)), ["a", "a", "c", "c"])
    measures = of_classes(model, np.zeros((2, 1)), np.array(["b", "c"]), np.array(["a", "b", "c"]))
    assert measures["logloss"] > 10
    assert np.isfinite(measures["logloss"])


def test_an_error_is_in_standard_deviations_and_nonsense_is_no_good_prediction() -> None:
    class Says:
        def __init__(self, value: float) -> None:
            self.value = value

        def predict(self, rows: Any) -> Any:
            return np.full(len(rows), self.value)

    labels = np.array([1.0, 3.0])
    assert of_numbers(Says(2.0), labels[:, None], labels) == {"error": 1.0}
    assert of_numbers(Says(np.nan), labels[:, None], labels) == {"error": np.inf}


def test_cost_and_share_of_variance() -> None:
    rows = np.array([[0.0, 0], [2, 0], [10, 0], [12, 2]])
    assert cost_of(np.array([[1.0, 0], [11, 1]]), rows) == pytest.approx(1 + 1 + 2 + 2)
    assert share_of([[3.0, 0]], rows) == pytest.approx(rows[:, 0].var() / rows.var(axis=0).sum())
    assert share_of(np.eye(2), rows) == pytest.approx(1)


def test_the_best_option_is_chosen_on_the_first_splits() -> None:
    options = [lambda split: {"error": split}, lambda split: {"error": 2 - split}]
    assert best(options, [0.5, 1.9], 1, "error") == {"error": [0.5, 1.9]}
    assert best(options, [1.9, 0.5], 1, "error") == {"error": [pytest.approx(0.1), 1.5]}


def test_worse_is_what_chance_does_not_explain() -> None:
    ours, theirs = np.array([0.80, 0.82, 0.81, 0.79]), np.array([0.81, 0.80, 0.83, 0.80])
    assert no_worse("x", [ours], [theirs], "peer", least=False).held
    assert not no_worse("x", [ours], [ours + 0.01], "peer", least=False).held
    assert no_worse("x", [ours], [ours + 0.01], "peer", least=True).held
    assert not no_worse("x", [ours, ours], [ours, ours + 0.01], "peer", least=False).held, "the worst pair counts"
    failed = no_worse("x", [ours], Failed("no index"), "peer", least=False)
    assert not failed.held
    assert "no index" in failed.peer


def test_limits_in_ratios() -> None:
    two, three = np.array([2.0]), np.array([3.0])
    assert most("x", three, two, "peer", 1.5).held
    assert not most("x", three, two, "peer", 1.4).held
    assert at_least("x", two, three, 0.6).held
    assert not at_least("x", two, three, 0.7).held


@pytest.mark.parametrize(("constant", "tight", "least"), [(0.5, 0.9, False), (2.0, 1.0, True)])
def test_wide_bounds_are_to_keep_most_of_the_gain(constant: float, tight: float, least: bool) -> None:
    """Whether more is better or less is."""

    def at(share: float, limit: float | None = 0.9) -> Figure:
        values = np.full(5, constant + share * (tight - constant))
        return recovered("x", values, np.full(5, tight), constant, limit, least=least)

    assert at(0.95).held
    assert not at(0.8).held
    assert at(0.8).ratio == pytest.approx(0.8)
    assert at(0.8, None).held


def test_no_share_is_asked_of_a_gain_that_is_none() -> None:
    for tight in (0.51, 0.3):
        figure = recovered("x", np.full(5, 0.4), np.full(5, tight), 0.5, 0.9, least=False)
        assert (figure.held, figure.to_hold) == (True, "–")


def test_scores_of_a_file_are_not_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scores.jsonl"
    monkeypatch.setenv("DISCREET_SCORES", str(path))
    line = measured.described("discreet", "PCA", "weather", Cost(1.0, 1e-5))
    measured._file.cache_clear()
    first = measured.taken(line, 2, lambda: {"share": [0.5, 0.75]})
    assert json.loads(path.read_text(encoding="utf-8"))["delta"] == 1e-5
    measured._file.cache_clear()
    again = measured.taken(line, 2, lambda: {"share": [0.0, 0.0]})
    assert again["share"].tolist() == first["share"].tolist() == [0.5, 0.75]
    more = measured.taken(line, 3, lambda: {"share": [1.0, 1.0, 1.0]})
    assert more["share"].tolist() == [1.0, 1.0, 1.0], "the file has too few"
    measured._file.cache_clear()
