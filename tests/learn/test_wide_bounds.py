"""Bounds that an owner who may not look declares are far too wide: every estimator learns about as much with them.

A row of the table is an estimator on made-up rows with tight bounds and with thirty times as wide ones, not centred on
the rows. What it reaches is at least the score of the best constant model and nine tenths of what tight bounds add: in
most of seven fits (slow), and in one of eight at least. Of 8 fits each, none or one did not reach it: where one in
eight does not, most of seven do not with 6·10⁻³, and in three series in a row with 2·10⁻⁷.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pytest

import discreet.learn
from discreet.learn import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    RandomForestClassifier,
    RandomForestRegressor,
    StandardScaler,
)
from discreet.learn.core import Estimator

ROWS: Final = 20_000
TIGHT: Final = ([-4.0, 3.5, 0.0], [4.0, 6.5, 6.0])
WIDE: Final = ([-120.0, 0.0, -200.0], [120.0, 60.0, 1000.0])
Y_TIGHT, Y_WIDE = (-3.0, 9.0), (-200.0, 1000.0)
COSTS: Final = {"pure": {"epsilon": 1.0}, "approximate": {"epsilon": 1.0, "delta": 1e-6}}


def rows() -> tuple[Any, Any]:
    """Values around 0, 5 and 3, and what of them is to be predicted, beside as much noise."""
    dice = np.random.default_rng(1)
    shares = dice.normal(size=(ROWS, 3))
    return shares * [1.0, 0.5, 1.0] + [0.0, 5.0, 3.0], shares @ [1.0, -1.0, 0.5] + dice.normal(size=ROWS)


@dataclass(frozen=True)
class Case:
    """How to make an estimator with bounds and those of y, what it is to predict, and its score."""

    make: Callable[[Any, Any], Any]
    labels: Callable[[Any], Any]
    score: Callable[[Any, Any, Any], float]
    constant: Callable[[Any, Any], float]
    """Of rows and labels: what the best constant model scores."""


def _classifier(kind: Any) -> Case:
    return Case(
        lambda bounds, _: kind(bounds=bounds, classes=[0, 1]),
        lambda target: (target > 0).astype(np.int64),
        lambda model, exact, labels: float(model.score(exact, labels)),
        lambda _, labels: max(float(np.mean(labels)), 1 - float(np.mean(labels))),
    )


def _regressor(kind: Any) -> Case:
    return Case(
        lambda bounds, y_bounds: kind(bounds=bounds, y_bounds=y_bounds),
        lambda target: target + 3,
        lambda model, exact, labels: float(model.score(exact, labels)),
        lambda *_: 0.0,
    )


def _scaled(model: Any, exact: Any, _: Any) -> float:
    """1 where scaled rows have means of 0 and deviations of 1; 0 where they are a deviation and a factor of e off."""
    scaled = model.transform(exact)
    return 1 - float(np.abs(scaled.mean(axis=0)).mean() + np.abs(np.log(scaled.std(axis=0))).mean()) / 2


def _seen(model: Any, exact: Any, _: Any) -> float:
    """The share of the variance along the components."""
    along = model.transform(exact)
    return float(along.var(axis=0).sum() / exact.var(axis=0).sum())


def _near(model: Any, exact: Any, _: Any) -> float:
    return float(model.score(exact))


CASES: Final[dict[type, Case]] = {
    **{
        kind: _classifier(kind)
        for kind in (
            LogisticRegression, GaussianNB, DecisionTreeClassifier, RandomForestClassifier, AdditiveClassifier
        )
    },
    **{
        kind: _regressor(kind)
        for kind in (LinearRegression, DecisionTreeRegressor, RandomForestRegressor, AdditiveRegressor)
    },
    StandardScaler: Case(lambda bounds, _: StandardScaler(bounds=bounds), np.asarray, _scaled, lambda *_: 0.0),
    PCA: Case(lambda bounds, _: PCA(1, bounds=bounds), np.asarray, _seen, lambda *_: 1 / 3),
    KMeans: Case(
        lambda bounds, _: KMeans(4, bounds=bounds),
        np.asarray,
        _near,
        lambda exact, _: -float(len(exact) * exact.var(axis=0).sum()),
    ),
}  # fmt: skip
ELSEWHERE: Final = {"MinMaxScaler": "learns nothing of rows", "Pipeline": "does what its steps do"}
"""Estimators that are not in the table, and why."""


@pytest.mark.parametrize("typical", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("cost", list(COSTS))
@pytest.mark.parametrize("kind", list(CASES), ids=lambda kind: kind.__name__)
def test_thirty_times_too_wide_is_nearly_as_good(kind: type, cost: str, typical: bool) -> None:
    case = CASES[kind]
    exact, target = rows()
    labels = case.labels(target)
    constant = case.constant(exact, labels)

    def score(bounds: Any, y_bounds: Any) -> float:
        return case.score(case.make(bounds, y_bounds).set_params(**COSTS[cost]).fit(exact, labels), exact, labels)

    def goal(tight: float) -> float:
        assert tight > constant
        return constant + 0.9 * (tight - constant)

    def typically() -> bool:
        reached = goal(float(np.median([score(TIGHT, Y_TIGHT) for _ in range(3)])))
        return float(np.median([score(WIDE, Y_WIDE) for _ in range(7)])) >= reached

    if typical:
        assert any(typically() for _ in range(3))
    else:
        reached = goal(score(TIGHT, Y_TIGHT))
        assert any(score(WIDE, Y_WIDE) >= reached for _ in range(8))


def test_bounds_of_a_thousand_deviations() -> None:
    """Features of N(0, 1) that are declared to lie within ±1000. Models with ±4 have 0.865, and so have nearly all of
    these: a few of a thousand have less than the goal, 0.83, because bounds of some feature stayed wide; none of four
    fits reaches it with 10⁻⁸."""
    dice = np.random.default_rng(2)
    exact = dice.normal(size=(ROWS, 10))
    labels = (exact[:, :5].sum(axis=1) + dice.normal(size=ROWS) > 0).astype(np.int64)

    def score(far: float) -> float:
        model = LogisticRegression(bounds=(-far, far), classes=[0, 1], epsilon=1).fit(exact, labels)
        return float(model.score(exact, labels))

    goal = 0.5 + 0.9 * (score(4) - 0.5)
    assert any(score(1000) >= goal for _ in range(4))


def test_every_estimator_that_takes_bounds_is_in_the_table() -> None:
    public = {getattr(discreet.learn, name) for name in discreet.learn.__all__}
    every = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Estimator)} - {Estimator}
    bounded = {kind.__name__ for kind in every if "bounds" in kind._get_param_names()}
    assert bounded - {kind.__name__ for kind in CASES} == set(ELSEWHERE)


def test_far_values_count_as_they_did_in_the_fit() -> None:
    """A feature with a far tail, in bounds that are wider still: R² is 0.37 to 0.51 in 48 fits, and was −0.9 where
    `predict` went beyond the bounds that the fit found; none of three is above 0.3 with less than 10⁻⁶.
    """
    dice = np.random.default_rng(3)
    rows = np.column_stack([np.exp(dice.normal(3, 2, 20_000)), dice.normal(0, 1, 20_000)])
    numbers = 0.3 * np.log(rows[:, 0]) + rows[:, 1] + dice.normal(0, 1, 20_000)
    known: dict[str, Any] = {"bounds": ([0, -5], [1e6, 5]), "epsilon": 1}
    model = LinearRegression(**known, y_bounds=(-10, 10))
    assert any(model.fit(rows, numbers).score(rows, numbers) > 0.3 for _ in range(3))
    classes = (numbers > 1).astype(int)
    chooser = LogisticRegression(**known, classes=[0, 1])
    assert any(chooser.fit(rows, classes).score(rows, classes) > 0.65 for _ in range(3))
