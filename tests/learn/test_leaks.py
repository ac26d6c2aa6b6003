"""Somebody else's code around our estimators: noticed on arrays, refused on a curator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.pipeline
import sklearn.preprocessing
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import FunctionTransformer

from discreet.errors import Refused
from discreet.learn import (
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    PrivacyLeakWarning,
    StandardScaler,
    learning_curve,
    make_pipeline,
)
from tests.learn.helpers import Till, repeating
from tests.learn.test_tables import curator

ROWS = np.random.default_rng(0).uniform(0, 1, (60, 2))
LABELS = np.where(np.arange(60) % 2, 1, 0)


def model(**more: Any) -> GaussianNB:
    return GaussianNB(**{"bounds": (0, 1), "classes": [0, 1], "epsilon": 1, **more})


AROUND: dict[str, Callable[[], Any]] = {
    "cross_val_score": lambda: cross_val_score(model(), ROWS, LABELS, cv=2),
    "cross_val_predict": lambda: cross_val_predict(model(), ROWS, LABELS, cv=2),
    "GridSearchCV": lambda: GridSearchCV(model(), {"var_smoothing": [1e-4, 1e-3]}, cv=2).fit(ROWS, LABELS),
    "CalibratedClassifierCV": lambda: CalibratedClassifierCV(model(), cv=2).fit(ROWS, LABELS),
    "BaggingClassifier": lambda: BaggingClassifier(model(), 2).fit(ROWS, LABELS),
    "VotingClassifier": lambda: VotingClassifier([("a", model())]).fit(ROWS, LABELS),
    "OneVsRestClassifier": lambda: OneVsRestClassifier(model()).fit(ROWS, LABELS),
    "SelectFromModel": lambda: SelectFromModel(LinearRegression(bounds=(0, 1), y_bounds=(0, 1), epsilon=1)).fit(
        ROWS, LABELS
    ),
    "StandardScaler is fitted": lambda: sklearn.pipeline.make_pipeline(
        sklearn.preprocessing.StandardScaler(), model()
    ).fit(ROWS, LABELS),
    "LogisticRegression is fitted": lambda: sklearn.pipeline.make_pipeline(
        StandardScaler(bounds=(0, 1), epsilon=1), sklearn.linear_model.LogisticRegression()
    ).fit(ROWS, LABELS),
}


@pytest.mark.parametrize("name", AROUND)
def test_what_leaks_around_an_estimator_is_noticed(name: str) -> None:
    with pytest.warns(PrivacyLeakWarning, match=name):
        AROUND[name]()


def test_a_warning_comes_before_the_charge_and_can_be_an_error() -> None:
    till = Till(repeating(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        with pytest.raises(PrivacyLeakWarning):
            CalibratedClassifierCV(model(ledger=till), cv=2).fit(ROWS, LABELS)
    assert not till.events


def test_what_does_not_leak_is_left_alone() -> None:
    """Warnings are errors in these tests."""
    ours = sklearn.pipeline.make_pipeline
    ours(StandardScaler(bounds=(0, 1), epsilon=1), model(bounds=(-5, 5))).fit(ROWS, LABELS)
    ours(FunctionTransformer(), "passthrough", model()).fit(ROWS, LABELS)
    ours(MinMaxScaler(bounds=(0, 1)), sklearn.linear_model.LogisticRegression()).fit(ROWS, LABELS)
    StandardScaler(bounds=(0, 1), epsilon=1).fit_transform(ROWS)
    learning_curve(LogisticRegression(bounds=(0, 1), classes=[0, 1]), ROWS, LABELS, [1], fits=1)
    make_pipeline(StandardScaler(), GaussianNB(), bounds=(0, 1), classes=[0, 1], epsilon=1).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "other",
    [
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-4, 1e-3]}),
        CalibratedClassifierCV(GaussianNB()),
        BaggingClassifier(GaussianNB()),
        sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), GaussianNB()),
        sklearn.pipeline.make_pipeline(StandardScaler(), GaussianNB()),
        sklearn.preprocessing.StandardScaler(),
        GaussianNB,
    ],
)
def test_a_curator_refuses_them(other: Any) -> None:
    with curator() as found:
        with pytest.raises(Refused, match="not-private"):
            found.fit(other, "SELECT age, sex FROM people", target="sex", epsilon=1)
        assert not found.entries()
