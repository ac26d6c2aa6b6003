"""Learning curves: exact scores at several costs, beside those without privacy, for rows that the caller owns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes

from discreet import Refused
from discreet.learn import GaussianNB, KMeans, LearningCurve, MinMaxScaler, curves, learning_curve
from discreet.learn.curves import PLAIN
from tests.learn.cases import BOUNDS, CASES, data
from tests.learn.helpers import Till, repeating

MODEL = GaussianNB(bounds=(-1, 1), classes=["low", "high"])


def made(rows: int) -> tuple[Any, Any]:
    x = np.random.default_rng(1).uniform(-1, 1, (rows, 2))
    return x, np.where(x[:, 0] > 0, "high", "low")


def test_more_epsilon_is_better_and_almost_as_good_as_no_privacy() -> None:
    found = learning_curve(MODEL, *made(2000), epsilons=[0.003, 10], fits=4)
    few, much = found.means
    assert few < 0.9 < much
    assert much == pytest.approx(np.mean(found.plain), abs=0.02)
    assert [len(scores) for scores in found.scores] == [4, 4]


def test_the_scores_are_exact_and_on_rows_that_were_not_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin without privacy is scikit-learn's, on the same splits."""
    seen: list[tuple[Any, Any]] = []

    def kept(model: Any, rows: Any, labels: Any) -> float:
        seen.append((model, rows))
        return float(model.score(rows, labels))

    monkeypatch.setattr(curves, "_score", kept)
    rows, labels = made(40)
    found = learning_curve(MODEL, rows, labels, epsilons=[1e6], fits=3, test_size=0.2)
    assert [len(test) for _, test in seen] == [8] * 6
    for place in range(3):
        private, plain = seen[2 * place : 2 * place + 2]
        np.testing.assert_array_equal(private[1], plain[1])
        held = {tuple(row) for row in plain[1].tolist()}
        train = np.array([tuple(row) not in held for row in rows.tolist()])
        again = sklearn.naive_bayes.GaussianNB().fit(rows[train], labels[train])
        np.testing.assert_allclose(plain[0].theta_, again.theta_)
        np.testing.assert_allclose(private[0].theta_, np.sort(again.theta_, axis=0)[::-1][[0, 1]], atol=1)
        assert found.plain[place] == again.score(rows[~train], labels[~train])


@pytest.mark.parametrize("case", [case for case in CASES if type(case.make()) in PLAIN], ids=lambda case: case.name)
def test_every_estimator_with_a_score_has_a_twin(case: Any) -> None:
    rows, labels = data(case.data, 60, 3)
    if case.data == "places":
        rows = np.clip(rows, 0, 2)
    delta = None if "pure" in case.costs else 1e-6
    found = learning_curve(case.make(), rows, labels, epsilons=[1], fits=1, delta=delta)
    assert np.isfinite([*found.means, *found.plain]).all()


def test_a_cost_may_come_twice() -> None:
    found = learning_curve(MODEL, *made(30), epsilons=[1, 1.0, 2], fits=3)
    assert list(found.epsilons) == [1, 1, 2]
    assert [len(scores) for scores in (*found.scores, found.plain)] == [3] * 4


def test_frames_and_lists() -> None:
    rows, labels = made(30)
    for features in pd.DataFrame(rows, columns=["a", "b"]), rows.tolist():
        assert len(learning_curve(MODEL, features, labels, epsilons=[1], fits=2).plain) == 2
    assert len(learning_curve(KMeans(2, bounds=(-1, 1)), rows, epsilons=[1], fits=2).plain) == 2


WRONG: list[tuple[dict[str, Any], Any, str]] = [
    ({"estimator": sklearn.naive_bayes.GaussianNB()}, TypeError, "one of KMeans"),
    ({"estimator": MinMaxScaler(bounds=BOUNDS)}, TypeError, "one of KMeans"),
    ({"estimator": GaussianNB(bounds=BOUNDS, classes=[0, 1], epsilon=1)}, Refused, "cost"),
    ({"estimator": GaussianNB(bounds=BOUNDS, classes=[0, 1], ledger=Till(repeating(1)))}, Refused, "own"),
    ({"epsilons": []}, ValueError, "at least one"),
    ({"epsilons": [0]}, ValueError, "above 0"),
    ({"epsilons": ["1"]}, TypeError, "number"),
    ({"fits": 0}, ValueError, "at least 1"),
    ({"test_size": 1}, ValueError, "between 0 and 1"),
    ({"delta": 2}, ValueError, "between 0 and 1"),
    ({"verbose": "yes"}, TypeError, "verbose"),
    ({"X": [[0.0, 1.0]], "y": ["low"]}, ValueError, "at least 2 rows"),
    ({"y": ["low"]}, ValueError, "inconsistent"),
]


@pytest.mark.parametrize(("wrong", "kind", "words"), WRONG)
def test_wrong_arguments_are_explained(wrong: dict[str, Any], kind: Any, words: str) -> None:
    rows, labels = made(20)
    with pytest.raises(kind, match=words):
        learning_curve(**{"estimator": MODEL, "X": rows, "y": labels, "epsilons": [1], "fits": 1, **wrong})


def test_words_and_picture() -> None:
    found = LearningCurve("GaussianNB", (0.1, 1.0), ((0.5, 0.7), (0.9, 0.9)), (0.95, 0.97), 1e-5)
    assert str(found) == "epsilon=0.1  0.6 ± 0.1\nepsilon=1    0.9 ± 0\nnot private  0.96 ± 0.01"
    drawn = found.plot(theme="dark").to_dict()
    assert drawn["title"] == {"text": "GaussianNB", "subtitle": ["mean and spread of 2 fits, delta 1e-05"]}
    values = [record for layer in drawn["layer"] for record in layer["data"]["values"]]
    assert {"epsilon": 0.1, "mean": pytest.approx(0.6), "spread": pytest.approx(0.1)} in values
    assert {"plain": pytest.approx(0.96)} in values
    with pytest.raises(ValueError, match="theme"):
        found.plot(theme="pink")
