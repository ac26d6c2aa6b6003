"""Every metric: what scikit-learn says of the same rows, an interval that holds, a sensitivity that is declared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from sklearn import metrics as plain

from discreet.accounting import Concentrated, Pure
from discreet.accounting.distributions import DiscreteLaplace
from discreet.exit.cost import Cost
from discreet.learn import AdditiveRegressor, GaussianNB, private_score
from discreet.learn.intervals import Width, area, ratio
from discreet.learn.labels import Labels
from discreet.learn.readings import READINGS, Measured, _least_mean
from discreet.learn.statements import FROM, LEAST, OF_CLASSES, STATEMENTS, Facts, Said, statements_for
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.calibrated import noise_of
from tests.learn.cases import BOUNDS, data
from tests.learn.helpers import without
from tests.learn.outlets import check_loss, check_moves, outlets

ROWS, _ = data("numbers", 400, 1)
DICE: Final = np.random.default_rng(2)
TWO: Final = np.where(ROWS[:, 0] + DICE.normal(size=400) > 0, "yes", "no")
THREE: Final = np.where(ROWS[:, 1] > 4, "c", np.where(ROWS[:, 0] > 0, "b", "a"))
NUMBERS: Final = np.clip(2 * ROWS[:, 0] + DICE.normal(size=400), -2, 3)
PAIR: Final = GaussianNB(bounds=BOUNDS, classes=["no", "yes"], rho=100).fit(ROWS, TWO)
SEVERAL: Final = GaussianNB(bounds=BOUNDS, classes=["a", "b", "c"], rho=100).fit(ROWS, THREE)
REGRESSOR: Final = AdditiveRegressor(bounds=BOUNDS, y_bounds=(-2, 3), rho=10).fit(ROWS, NUMBERS)
SURE: Final = 1 - 1e-9


def _calibration(truth: Any, chances: Any) -> float:
    bins = np.minimum((chances * 10).astype(int), 9)
    return float(sum(abs((truth - chances)[bins == place].sum()) for place in range(10)) / len(truth))


def _clipped(model: Any, truth: Any) -> float:
    chances = np.clip(model.predict_proba(ROWS), LEAST, 1)
    return float(-np.mean(np.log(chances[np.arange(400), np.searchsorted(model.classes_, truth)])))


WANTED: Final[dict[tuple[str, str], Callable[[], float]]] = {
    ("pair", "accuracy"): lambda: plain.accuracy_score(TWO, PAIR.predict(ROWS)),
    ("pair", "balanced_accuracy"): lambda: plain.balanced_accuracy_score(TWO, PAIR.predict(ROWS)),
    ("several", "balanced_accuracy"): lambda: plain.balanced_accuracy_score(THREE, SEVERAL.predict(ROWS)),
    ("several", "confusion_matrix"): lambda: plain.accuracy_score(THREE, SEVERAL.predict(ROWS)),
    ("pair", "roc_auc"): lambda: plain.roc_auc_score(TWO == "yes", PAIR.predict_proba(ROWS)[:, 1]),
    ("pair", "log_loss"): lambda: _clipped(PAIR, TWO),
    ("several", "log_loss"): lambda: _clipped(SEVERAL, THREE),
    ("pair", "calibration"): lambda: _calibration(TWO == "yes", PAIR.predict_proba(ROWS)[:, 1]),
    ("number", "mean_absolute_error"): lambda: plain.mean_absolute_error(NUMBERS, _said()),
    ("number", "mean_squared_error"): lambda: plain.mean_squared_error(NUMBERS, _said()),
    ("number", "root_mean_squared_error"): lambda: plain.root_mean_squared_error(NUMBERS, _said()),
    ("number", "r2"): lambda: plain.r2_score(NUMBERS, _said()),
}
MODELS: Final = {"pair": (PAIR, TWO), "several": (SEVERAL, THREE), "number": (REGRESSOR, NUMBERS)}
each = pytest.mark.parametrize(("model", "metric"), WANTED)


def _said() -> Any:
    return np.clip(REGRESSOR.predict(ROWS), -2, 3)


def test_every_metric_is_here() -> None:
    assert {metric for _, metric in WANTED} == set(FROM) == set(READINGS)
    assert {name for names in FROM.values() for name in names} == set(STATEMENTS)


@each
def test_a_high_cost_tells_what_scikit_learn_says(model: str, metric: str) -> None:
    estimator, truth = MODELS[model]
    for cost in {"epsilon": 1e7}, {"rho": 1e7}:
        found = private_score(estimator, ROWS, truth, metric=metric, confidence=SURE, **cost)
        exact, near = WANTED[model, metric](), 0.01 if metric == "roc_auc" else 1e-4
        assert found.value == pytest.approx(exact, abs=near)
        assert found.interval[0] - 1e-12 <= exact <= found.interval[1] + 1e-12  # without noise both are one number
        assert found.interval[1] - found.interval[0] < (0.1 if metric == "roc_auc" else 1e-3)
        assert found.rows == pytest.approx(400, abs=0.01)


@each
def test_intervals_hold_at_low_costs(model: str, metric: str) -> None:
    """At a confidence of 1 − 10⁻⁹ in each of six draws, whatever the noise."""
    estimator, truth = MODELS[model]
    exact = WANTED[model, metric]()
    for cost in {"epsilon": 0.02}, {"epsilon": 1}, {"rho": 0.5}:
        for _ in range(2):
            found = private_score(estimator, ROWS, truth, metric=metric, confidence=SURE, **cost)
            assert found.interval[0] <= exact <= found.interval[1]
            assert found.interval[0] <= found.value <= found.interval[1]


@each
def test_intervals_miss_no_more_often_than_they_say(model: str, metric: str) -> None:
    """At a confidence of one half, 40 draws: more than 35 misses have a chance below 10⁻⁷."""
    estimator, truth = MODELS[model]
    exact = WANTED[model, metric]()
    cost: dict[str, Any]
    misses, cost = 0, {"epsilon": 2}
    for _ in range(40):
        low, high = private_score(estimator, ROWS, truth, metric=metric, confidence=0.5, **cost).interval
        misses += not low <= exact <= high
    assert misses <= 35


@each
def test_without_any_one_row_no_statement_moves_farther_than_declared(
    model: str, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator, truth = MODELS[model]
    for place, cost in itertools.product(range(0, 8, 3), ({"epsilon": 0.5}, {"rho": 0.5})):
        found = outlets(monkeypatch)
        check_loss(found, private_score(estimator, ROWS[:8], truth[:8], metric=metric, **cost).loss)
        found.again()
        private_score(estimator, without(ROWS[:8], place), without(truth[:8], place), metric=metric, **cost)
        check_moves(found)


def test_the_sensitivity_of_every_statement_is_exact() -> None:
    """The worst row of many: what is declared is reached, or nearly, and never exceeded."""
    steps, dice = 1000, np.random.default_rng(1)
    two, box = Labels.read(["a", "b", "c"], "classes"), REGRESSOR._facts(3, Cost(Pure(1))).target
    farthest = dict.fromkeys(STATEMENTS, (Fraction(0), Fraction(0)))
    for _ in range(300):
        shares = dice.dirichlet([0.3] * 3, 1)
        said = Said(dice.integers(-1, 3, 1), dice.integers(0, 3, 1), shares)
        number = Said(dice.choice([-2.0, 3.0, 0.5, -9.0, 9.0], 1), dice.choice([-2.0, 3.0, 0.5, math.nan], 1))
        for name, statement in STATEMENTS.items():
            numeric = name in ("absolute", "squared", "moments")
            facts = Facts(None, box) if numeric else Facts(two, None, int(dice.integers(0, 3)))
            moved = statement.vector(number if numeric else said, facts, steps)
            l1, l2 = Fraction(int(np.abs(moved).sum()), steps), Fraction(int((moved**2).sum()), steps**2)
            assert l1 <= statement.moved.l1
            assert l2 <= statement.moved.l2_squared
            farthest[name] = max(farthest[name][0], l1), max(farthest[name][1], l2)
    for name, (l1, l2) in farthest.items():
        assert l1 == STATEMENTS[name].moved.l1, name
        assert l2 >= STATEMENTS[name].moved.l2_squared * Fraction(9, 10), name


# several at once


def test_several_metrics_take_as_few_statements_as_there_can_be() -> None:
    assert statements_for(["accuracy", "confusion_matrix"]) == {
        "accuracy": "confusion",
        "confusion_matrix": "confusion",
    }
    assert set(statements_for(["balanced_accuracy", "accuracy"]).values()) == {"recalls"}
    assert set(statements_for(["r2", "root_mean_squared_error", "mean_squared_error"]).values()) == {"moments"}
    assert statements_for(["root_mean_squared_error"]) == {"root_mean_squared_error": "squared"}
    assert list(statements_for(["roc_auc", "accuracy"])) == ["roc_auc", "accuracy"]


def test_several_metrics_are_one_charge_and_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outlets(monkeypatch)
    scores = private_score(PAIR, ROWS, TWO, metric=["accuracy", "roc_auc", "balanced_accuracy"], epsilon=1)
    check_loss(found, scores.loss)
    assert [len(release.exact) for release in found.releases] == [256, 6]
    assert list(scores) == ["accuracy", "roc_auc", "balanced_accuracy"]
    assert scores.loss == Pure(1)
    assert "accuracy" in str(scores)
    with pytest.raises(KeyError):
        scores["r2"]


@pytest.mark.parametrize("metrics", [["accuracy", "balanced_accuracy", "confusion_matrix"], ["accuracy", "log_loss"]])
def test_what_is_read_from_a_larger_statement_is_the_same(metrics: list[str]) -> None:
    scores = private_score(SEVERAL, ROWS, THREE, metric=metrics, epsilon=1e7)
    for metric in metrics:
        alone = private_score(SEVERAL, ROWS, THREE, metric=metric, epsilon=1e7)
        assert scores[metric].value == pytest.approx(alone.value, abs=1e-3)
    numbers = private_score(REGRESSOR, ROWS, NUMBERS, metric=["r2", "root_mean_squared_error"], rho=1e7)
    assert numbers["root_mean_squared_error"].value == pytest.approx(
        WANTED["number", "root_mean_squared_error"](), abs=1e-3
    )


def test_a_confusion_matrix_has_counts_and_a_calibration_has_bins() -> None:
    strange = np.where(np.arange(400) < 7, "other", THREE)
    matrix = private_score(SEVERAL, ROWS, strange, metric="confusion_matrix", epsilon=1e6).details
    wanted = plain.confusion_matrix(THREE[7:], SEVERAL.predict(ROWS[7:]), labels=["a", "b", "c"])
    np.testing.assert_allclose(matrix["matrix"][:3], wanted, atol=0.01)
    assert sum(matrix["matrix"][3]) == pytest.approx(7, abs=0.01)
    assert matrix["classes"] == ["a", "b", "c"]
    bins = private_score(PAIR, ROWS, TWO, metric="calibration", epsilon=1e6).details["bins"]
    chances = PAIR.predict_proba(ROWS)[:, 1]
    for place, each_bin in enumerate(bins):
        inside = np.minimum((chances * 10).astype(int), 9) == place
        assert each_bin["rows"] == pytest.approx(inside.sum(), abs=0.01)
        if inside.any():
            assert each_bin["observed"] == pytest.approx(np.mean(TWO[inside] == "yes"), abs=1e-3)
            assert each_bin["predicted"] == pytest.approx(chances[inside].mean(), abs=1e-3)
            low, high = each_bin["interval"]  # of 95 %, so that some of ten are missed: by next to nothing at this cost
            assert low - 1e-3 <= np.mean(TWO[inside] == "yes") <= high + 1e-3


def test_the_class_that_is_ranked_can_be_named() -> None:
    for name in ("a", "c"):
        found = private_score(SEVERAL, ROWS, THREE, metric="roc_auc", positive=name, epsilon=1e7)
        chances = SEVERAL.predict_proba(ROWS)[:, ["a", "b", "c"].index(name)]
        assert found.value == pytest.approx(plain.roc_auc_score(name == THREE, chances), abs=0.01)
    wrongs: list[dict[str, Any]] = [{}, {"positive": "z"}, {"positive": []}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="positive"):
            private_score(SEVERAL, ROWS, THREE, metric="roc_auc", epsilon=1, **wrong)
    with pytest.raises(ValueError, match="positive"):
        private_score(REGRESSOR, ROWS, NUMBERS, positive=1, epsilon=1)


# where there is next to nothing


@pytest.mark.parametrize("metric", FROM)
def test_no_rows_are_noised_like_many(metric: str) -> None:
    estimator, truth = MODELS["pair" if metric in OF_CLASSES else "number"]
    for cost in {"epsilon": 1}, {"rho": 0.01}:
        found = private_score(estimator, ROWS[:0], truth[:0], metric=metric, **cost)
        assert found.interval[0] <= found.value <= found.interval[1]
        assert math.isfinite(found.interval[1])


def test_classes_without_rows_are_left_out_of_a_mean() -> None:
    assert _least_mean([0.5, 0.7], []) == pytest.approx(0.6)
    assert _least_mean([0.5, 0.7], [0.0, 0.9]) == pytest.approx(0.4)
    assert _least_mean([], [0.3, 0.1]) == pytest.approx(0.1)
    only = np.array(["a"] * 400)
    found = private_score(SEVERAL, ROWS, only, metric="balanced_accuracy", epsilon=1e6)
    assert found.interval[0] <= np.mean(SEVERAL.predict(ROWS) == "a") <= found.interval[1]


# widths


@pytest.mark.parametrize(
    "mechanism", [Laplace(Fraction(1, 3), sensitivity=1), Gaussian(rho=Fraction(1, 50), sensitivity=1)]
)
def test_widths_hold(mechanism: Any) -> None:
    """4,000 sums of 40 noises at a miss of 1 %: more than 120 beyond it have a chance below 10⁻¹⁵; and most are within
    half of it."""
    weights = np.linspace(-1, 2, 40)
    width = Width(noise_of(mechanism), Fraction(1, 100))
    draws = np.array(mechanism.release(np.zeros(160_000, dtype=np.int64))).reshape(4000, 40)
    assert (np.abs(draws @ weights) > width(weights)).sum() <= 120
    assert (np.abs(draws @ weights) > width(weights) / 4).mean() > 0.1
    largest = np.abs(np.cumsum(draws, axis=1)).max(axis=1)
    assert (largest > width(np.ones(40), partial=True)).sum() <= 120
    assert width(np.zeros(3)) == 0
    assert width(weights) < width(1.5 * weights)


def test_widths_of_two_noises_are_nearly_exact() -> None:
    """By enumeration: no more than the miss lies beyond, and a little less would be too little."""
    noise, miss = DiscreteLaplace(Fraction(4)), Fraction(1, 20)
    width = Width(noise, miss)(np.array([1.0, 1.0]))
    values = np.arange(-300, 301)
    chances = np.exp(-np.abs(values) / 4)
    both = np.convolve(chances / chances.sum(), chances / chances.sum())
    sums = np.arange(-600, 601)
    assert both[np.abs(sums) > width].sum() <= miss
    assert both[np.abs(sums) > width * 0.8].sum() > miss


def test_ratios_of_next_to_nothing_lie_anywhere() -> None:
    width = Width(noise_of(Laplace(1, sensitivity=1)), Fraction(1, 20))
    assert ratio(np.array([3.0, -5.0]), np.array([1.0, 0.0]), np.ones(2), width, (0.0, 1.0)) == (0.0, 1.0)
    low, high = ratio(np.array([300.0, 100.0]), np.array([1.0, 0.0]), np.ones(2), width, (0.0, 1.0))
    assert 0.72 < low < 0.75 < high < 0.78
    assert area(np.array([-1.0, 0.0]), np.array([0.0, -2.0]), width.noise, width.miss) == (0.0, 1.0)


def test_a_measurement_says_what_it_cost() -> None:
    facts = Facts(Labels.read([0, 1], "classes"), None)
    scores = Measured(Cost(Concentrated(1)), {"right": [3 * 2**20, 2**20]}, facts).scores(["accuracy"], Fraction(1, 2))
    assert scores["accuracy"].value == 0.75
    assert scores["accuracy"].rows == 4
    assert scores.loss == Concentrated(1)
