"""What a model says of a row is the same to the last bit, whichever rows stand beside it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as Plain

from discreet.learn import GaussianNB, LinearRegression
from discreet.learn.core import ESTIMATORS, is_ours
from discreet.learn.rowwise import product
from discreet.learn.scoring import predictions
from discreet.learn.sent import offered
from tests.learn.cases import CASES, COSTS, FREE, data

METHODS: Final = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples")
SIZES: Final = (1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 65, 127, 129)
"""Odd ones, and those on either side of what a processor takes at once."""
MODELS: Final[dict[str, tuple[Any, str]]] = {
    **{case.name: (case.make(**COSTS[case.costs[0]]), case.data) for case in CASES},
    "min-max": (FREE, "numbers"),
}


def test_every_estimator_is_here() -> None:
    """Those of `tests.learn.cases`, which the contract asks for; a search holds others, a pipeline has `OneHot`."""
    assert {type(model).__name__ for model, _ in MODELS.values()} >= set(offered()) - {"OneHot"}


@pytest.mark.parametrize("name", MODELS)
def test_a_row_has_no_part_in_what_is_said_of_another(name: str) -> None:
    """All rows at once, each alone, some left out, in another order, and as views: bit by bit the same."""
    model, kind = MODELS[name]
    rows, labels = data(kind, 300, 3)
    model.fit(rows, labels)
    wild = np.random.default_rng(5).normal(size=rows.shape) * np.array([1e-3, 1.0, 1e3]) + rows
    rows = np.vstack([rows, wild if kind != "places" else rows])[:521]
    assert is_ours(model)
    order = np.random.default_rng(4).permutation(len(rows))
    for method in filter(lambda each: hasattr(model, each), METHODS):
        said = getattr(model, method)
        whole = _bits(said(rows))
        np.testing.assert_array_equal(_bits(said(rows[order])), whole[order])
        np.testing.assert_array_equal(_bits(said(np.asfortranarray(rows))), whole)
        for size in SIZES:
            np.testing.assert_array_equal(_bits(said(rows[size : 2 * size])), whole[size : 2 * size])
        for place in (0, 1, 255, 519, 520):
            np.testing.assert_array_equal(_bits(said(np.delete(rows, place, axis=0))), np.delete(whole, place, axis=0))


def _bits(values: Any) -> Any:
    """Numbers as the bits that they are, so that −0.0 is not 0.0."""
    array = np.ascontiguousarray(values)
    return array.view(np.uint64) if array.dtype == np.float64 else array


def test_a_product_is_a_product() -> None:
    dice = np.random.default_rng(1)
    for length, width, outputs in [(0, 3, 2), (1, 1, 1), (7, 5, 3), (40, 30, 1)]:
        rows, weights = dice.normal(size=(length, width)), dice.normal(size=(width, outputs))
        np.testing.assert_allclose(product(rows, weights), rows @ weights, atol=1e-12)
        np.testing.assert_allclose(product(rows, weights[:, 0]), rows @ weights[:, 0], atol=1e-12)
    with pytest.raises(ValueError, match="argument"):
        product(np.ones((2, 3)), np.ones(2))


def test_models_of_others_see_one_row_at_a_time() -> None:
    """So do classes that somebody derived from ours, and ours that hold such."""

    class Derived(LinearRegression):
        def predict(self, X: Any) -> Any:  # noqa: N803
            assert len(X) == 1
            return super().predict(X)

    rows, targets = data("targets", 40, 1)
    bounds: dict[str, Any] = {"bounds": (rows.min(axis=0), rows.max(axis=0)), "y_bounds": (-4, 4), "epsilon": 1}
    derived = Derived(**bounds).fit(rows, targets)
    assert not is_ours(derived)
    assert predictions(derived, rows, 40).shape == (40,)
    assert not is_ours(Plain())
    assert not is_ours(GaussianNB(classes=[("a", Plain())]))
    assert not is_ours(5)
    ESTIMATORS.pop(next(name for name, kind in ESTIMATORS.items() if kind is Derived))
