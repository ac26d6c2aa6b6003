"""Searching for the best settings of an estimator, at a cost that is known before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.errors import Refused
from discreet.exact import probability
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Floats
from discreet.learn.core import COST_PARAMETERS, Estimator, demand, parameters
from discreet.learn.counting import affordable
from discreet.learn.labels import Array
from discreet.learn.scoring import METRICS, UNIT, facts_for, metric_for, predictions

FIXED: Final = ("classes", "categories", "y_bounds")
"""What candidates must agree about, to be compared on the same rows."""
FINE: Final = 2**10
"""Steps to the best score that a row can give."""
MAX_SETTINGS: Final = 1000
"""Candidates."""


@parameters
class PrivateSearchCV(MetaEstimatorMixin, Estimator):  # type: ignore[misc]
    """Fits an estimator with every combination of settings, and chooses about the best on rows apart.

    Theorem  The declared loss. Proof: a coin of its own puts each row either among those of the k fits, which cost 1/k
             of the cost each, or among those of the choice, which costs the cost: a new row raises each score by 0
             to m. So whatever the coins, a row meets one cost; Rényi divergences are quasi-convex, so their mixture is
             no worse (van Erven & Harremoës 2014, Theorem 13).

    There are no scores to be seen: they would cost more. All candidates are charged and may be published. The
    estimator is a classifier or regressor of discreet without a cost; `test_size` is a row's chance to be kept apart.

    >>> from discreet.learn import GaussianNB
    >>> model = GaussianNB(bounds=(0, 1), classes=[0, 1])
    >>> PrivateSearchCV(model, {"var_smoothing": [1e-4, 1e-2]}, epsilon=1).loss_for(3)
    Pure(epsilon=1)
    """

    estimator: Any = field(kw_only=False)
    param_grid: Any = field(kw_only=False)
    test_size: float = 0.25

    def _facts(self, width: int | None, cost: Cost) -> list[Estimator]:
        """The candidates, each with its part of the cost; all of their facts are read."""
        probability(self.test_size, "test_size")
        _check(self.estimator)
        settings = list(ParameterGrid(self.param_grid))
        searched = {name for setting in settings for name in setting}
        demand(
            not searched & set(COST_PARAMETERS),
            "cost-invalid",
            "candidates share one cost",
            "give it to the search alone",
        )
        if searched & set(FIXED):
            raise ValueError(f"param_grid must leave out {', '.join(FIXED)}: candidates are compared on the same rows")
        if not 0 < len(settings) <= MAX_SETTINGS:
            raise ValueError(f"param_grid must have 1 to {MAX_SETTINGS} combinations, not {len(settings)}")
        each = Fraction(1, len(settings))
        affordable(cost, UNIT, each)
        named = cost.part(each).named
        candidates: list[Estimator] = [
            clone(self.estimator).set_params(**{"missing": self.missing, **setting, **named}) for setting in settings
        ]
        for candidate in candidates:
            candidate.loss_for(width)
        return candidates

    def _placed(self, names: Sequence[str] | None) -> Self:
        return self._with(estimator=self.estimator._placed(names)) if isinstance(self.estimator, Estimator) else self

    def _declared_columns(self) -> list[str] | None:
        names: list[str] | None = self.estimator._declared_columns()
        return names

    def _dtype(self) -> Any:
        return self.estimator._dtype()

    def _check_labels(self, labels: Any) -> None:
        self.estimator._check_labels(labels)

    def _middle(self, width: int | None) -> Floats | None:
        middle: Floats | None = self.estimator._middle(width)
        return middle

    def _deviation(self, width: int | None, cost: Cost) -> float:
        """That of the first candidate."""
        try:
            candidates = self._facts(width, cost)
        except (Refused, ValueError):
            return math.inf
        return candidates[0]._deviation(width, cost.part(Fraction(1, len(candidates))))

    def _read(self, X: Any, y: Any) -> tuple[Array, Array | None]:  # noqa: N803
        reader = self._facts(None, self._cost())[0]
        rows, labels = reader._read(X, y)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(reader, name):
                setattr(self, name, getattr(reader, name))
        return rows, labels

    def _learn(self, exact: Array, labels: Array | None, facts: list[Estimator], exit_: Exit) -> None:
        assert labels is not None
        held = self._coins(len(exact), exit_)
        for candidate in exit_.watched(facts, len(facts), "candidates"):
            candidate._learned(exact[~held], labels[~held], exit_.part(Fraction(1, len(facts))))
        scores = np.array([_score(candidate, exact[held], labels[held]) for candidate in facts], dtype=np.int64)
        self.best_index_ = exit_.parallel().choose(scores, FINE)
        for candidate in facts:
            if hasattr(self, "feature_names_in_"):
                candidate.feature_names_in_ = self.feature_names_in_
        self.candidates_ = facts
        self.best_params_ = list(ParameterGrid(self.param_grid))[self.best_index_]
        self.best_estimator_ = facts[self.best_index_]

    def _coins(self, count: int, exit_: Exit) -> Any:
        """For each row whether it is kept for the choice: by a coin that no other row has a part in."""
        return exit_.below(2**30, count) < round(probability(self.test_size, "test_size") * 2**30)

    @property
    def classes_(self) -> Array:
        check_is_fitted(self)
        classes: Array = self.best_estimator_.classes_
        return classes

    def predict(self, X: Any) -> Array:  # noqa: N803
        """What the chosen estimator predicts."""
        check_is_fitted(self)
        predicted: Array = self.best_estimator_.predict(X)
        return predicted

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The chosen estimator's score: exact, for rows that the caller may see."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(own, name))
        return tags

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """The probabilities of the classes, by the chosen estimator."""
        check_is_fitted(self)
        shares: Array = self.best_estimator_.predict_proba(X)
        return shares


def _check(estimator: Any) -> None:
    """Whether it can be searched over."""
    if not isinstance(estimator, Estimator) or not (is_classifier(estimator) or is_regressor(estimator)):
        raise TypeError("estimator must be a classifier or regressor of discreet.learn: others are not private")
    if any(getattr(estimator, name, None) is not None for name in COST_PARAMETERS):
        demand(
            False,
            "cost-invalid",
            "candidates share one cost",
            "give it to the search, and leave it out of the estimator",
        )


def _score(candidate: Any, exact: Array, labels: Array) -> int:
    """How good the candidate is on the rows of the choice: each adds from 0 to FINE."""
    name = metric_for(candidate, None)
    parts = METRICS[name].parts(
        predictions(candidate, exact, len(exact)), labels, facts_for(candidate, name, None), FINE
    )
    return int((parts if name == "accuracy" else FINE - parts).sum())
