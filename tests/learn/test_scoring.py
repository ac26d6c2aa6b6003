"""Private scores: a value, an interval that holds, and a cost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.pipeline import make_pipeline

from discreet import Refused
from discreet.accounting import Concentrated, Pure
from discreet.learn import AdditiveRegressor, GaussianNB, MinMaxScaler, private_score
from discreet.learn.intervals import Width
from discreet.learn.scoring import predictions
from discreet.mechanisms import Laplace
from discreet.mechanisms.calibrated import noise_of
from tests.learn.cases import BOUNDS, data
from tests.learn.helpers import Till, repeating, without
from tests.learn.outlets import check_loss, check_moves, outlets, told
from tests.ledger.helpers import opened

ROWS, LABELS = data("numbers", 300, 1)
NUMBERS: Final = np.random.default_rng(1).uniform(-3, 4, 300)
CLASSIFIER: Final = GaussianNB(bounds=BOUNDS, classes=["a", "b", "c"], rho=100).fit(ROWS, LABELS)
REGRESSOR: Final = AdditiveRegressor(bounds=BOUNDS, y_bounds=(-2, 3), rho=10).fit(ROWS, NUMBERS)
CASES: Final = {
    "accuracy": (CLASSIFIER, LABELS),
    "mean_absolute_error": (REGRESSOR, NUMBERS),
    "mean_squared_error": (REGRESSOR, NUMBERS),
}
every = pytest.mark.parametrize("metric", CASES)


def truth(metric: str) -> float:
    """The exact score, with the targets clipped."""
    model, labels = CASES[metric]
    if metric == "accuracy":
        return float(np.mean(model.predict(ROWS) == labels))
    error = np.abs(model.predict(ROWS) - np.clip(labels, -2, 3))
    return float(np.mean(error if metric == "mean_absolute_error" else error**2))


@every
def test_a_high_cost_tells_the_score(metric: str) -> None:
    model, labels = CASES[metric]
    found = private_score(model, ROWS, labels, epsilon=1e6, metric=metric)
    assert found.metric == metric
    assert found.value == pytest.approx(truth(metric), abs=1e-4)
    assert found.rows == pytest.approx(300, abs=1e-3)
    assert found.loss == Pure(10**6)
    assert metric in str(found)


@every
def test_intervals_hold(metric: str) -> None:
    """At a confidence of 1 − 10⁻⁹ in each of forty draws; and they are not trivial."""
    model, labels = CASES[metric]
    for cost in {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}:
        for _ in range(20):
            found = private_score(model, ROWS, labels, metric=metric, confidence=1 - 1e-9, **cost)
            low, high = found.interval
            assert low <= truth(metric) <= high
            assert low <= found.value <= high
        limit = {"accuracy": 1, "mean_absolute_error": 5, "mean_squared_error": 25}[metric]
        assert high - low < limit


def test_a_likelier_interval_is_wider_and_takes_both_noises_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Laplace, "release", lambda _self, exact, _bits: exact)
    sides = [private_score(CLASSIFIER, ROWS, LABELS, epsilon=0.5, confidence=sure).interval for sure in (0.5, 0.95)]
    assert sides[1][0] < sides[0][0] < truth("accuracy") < sides[0][1] < sides[1][1]
    share = truth("accuracy")
    steps = 2**20
    noise = noise_of(Laplace(Fraction(1, 2), sensitivity=steps))
    # at an end e, right − e·all is (1 − e)·noise − e·other noise
    for end in sides[1]:
        wide = Width(noise, Fraction(1, 20))(np.array([1 - end, end])) / steps
        assert abs(share - end) * 300 == pytest.approx(wide, rel=0.1)
    apart = np.log(2 / 0.05) / 0.5  # each of the two numbers apart, with a chance of 0.025
    assert sides[1][1] - sides[1][0] < 2 * apart / 300


@every
def test_without_any_one_row_the_numbers_move_by_their_sensitivity_at_most(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, labels = CASES[metric]
    for place in range(6):
        found = outlets(monkeypatch)
        declared = private_score(model, ROWS[:6], labels[:6], epsilon=0.5, metric=metric).loss
        check_loss(found, declared)
        found.again()
        private_score(model, without(ROWS[:6], place), without(labels[:6], place), epsilon=0.5, metric=metric)
        check_moves(found)
        (release,) = found.releases
        assert release.mechanism.scale == 2 * 2**20
        moved = found.earlier[0].exact - release.exact
        assert moved.min() >= 0
        assert moved.sum() == 2**20


def test_nobody_is_noised_like_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outlets(monkeypatch)
    score = private_score(CLASSIFIER, ROWS[:0], LABELS[:0], epsilon=1)
    private_score(CLASSIFIER, ROWS, LABELS, epsilon=1)
    assert found.releases[0].exact.tolist() == [0, 0]
    assert found.releases[0].mechanism == found.releases[1].mechanism
    assert 0 <= score.interval[0] <= score.value <= score.interval[1] <= 1


def test_labels_that_nobody_declared_are_never_right() -> None:
    strangers = np.array(["other"] * 300)
    assert private_score(CLASSIFIER, ROWS, strangers, epsilon=1e6).value == pytest.approx(0, abs=1e-4)


def test_models_that_may_multiply_matrices_see_one_row_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    known = LABELS != "other"
    plain = make_pipeline(MinMaxScaler(bounds=BOUNDS), Plain()).fit(ROWS[known], LABELS[known])
    lengths: list[int] = []
    whole = plain.predict

    def alone(rows: Any) -> Any:
        lengths.append(len(rows))
        return whole(rows)

    monkeypatch.setattr(plain, "predict", alone)
    found = private_score(plain, ROWS, LABELS, rho=1e6)
    assert set(lengths) == {1}
    assert found.value == pytest.approx(np.mean(whole(ROWS) == LABELS), abs=1e-3)
    assert found.loss == Concentrated(10**6)
    assert predictions(plain, ROWS.tolist(), 300).tolist() == whole(ROWS).tolist()


def test_predictions_of_row_wise_models_do_not_depend_on_other_rows() -> None:
    for model in (CLASSIFIER, REGRESSOR):
        for cut in (1, 37, 299):
            np.testing.assert_array_equal(model.predict(ROWS)[cut:], model.predict(ROWS[cut:]))


def test_the_charge_comes_before_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    till = Till(repeating(1))
    monkeypatch.setattr(GaussianNB, "predict", told(till.events, "read", GaussianNB.predict))
    private_score(CLASSIFIER, ROWS, LABELS, epsilon=0.5, ledger=till)
    assert till.events == [(Pure(0.5), "private_score"), "read"]
    with opened(tmp_path / "ledger.sqlite") as ledger:
        private_score(CLASSIFIER, ROWS, LABELS, epsilon=0.5, ledger=ledger)
        (entry,) = ledger.entries()
        assert entry.loss == Pure(0.5)


WRONG: Final[list[tuple[Any, dict[str, Any], Any, str]]] = [
    (CLASSIFIER, {"metric": "recall"}, ValueError, "one of accuracy"),
    (CLASSIFIER, {"metric": []}, ValueError, "one of accuracy"),
    (CLASSIFIER, {"metric": ["accuracy", "accuracy"]}, ValueError, "once"),
    (CLASSIFIER, {"metric": ["accuracy", "r2"]}, ValueError, "does not suit"),
    (CLASSIFIER, {"metric": [["accuracy"]]}, ValueError, "one of accuracy"),
    (CLASSIFIER, {"metric": {"accuracy"}}, ValueError, "one of accuracy"),
    (CLASSIFIER, {"metric": "mean_squared_error"}, ValueError, "does not suit"),
    (REGRESSOR, {"metric": "accuracy"}, ValueError, "does not suit"),
    (REGRESSOR, {"y_bounds": (2, 1)}, ValueError, "low < high"),
    (CLASSIFIER, {"confidence": 1}, ValueError, "between 0 and 1"),
    (CLASSIFIER, {"epsilon": None}, Refused, "cost"),
    (CLASSIFIER, {"rho": 1}, Refused, "rho"),
    (GaussianNB(), {}, Exception, "not fitted"),
    ("a model", {}, TypeError, "estimator"),
]


@pytest.mark.parametrize(("model", "wrong", "kind", "words"), WRONG)
def test_wrong_arguments_are_explained_before_anything_is_charged(
    model: Any, wrong: dict[str, Any], kind: Any, words: str
) -> None:
    till = Till(repeating(0))
    with pytest.raises(kind, match=words):
        private_score(model, ROWS, LABELS, **{"epsilon": 1, "ledger": till, **wrong})
    assert not till.events


def test_arrays_that_are_wrong_are_explained() -> None:
    with pytest.raises(ValueError, match="inconsistent"):
        private_score(CLASSIFIER, ROWS, LABELS[:5], epsilon=1)
    with pytest.raises(ValueError, match="NaN"):
        private_score(REGRESSOR, ROWS, np.full(300, np.nan), epsilon=1)
