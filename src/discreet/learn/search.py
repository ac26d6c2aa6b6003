"""Searching for the best settings of an estimator, at a cost that is known before."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from discreet.accounting.losses import Pure, Sensitivity
from discreet.errors import Refused
from discreet.exact import probability
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import core
from discreet.learn.box import Floats
from discreet.learn.core import COST_PARAMETERS, Estimator, demand, parameters
from discreet.learn.counting import affordable
from discreet.learn.labels import Array
from discreet.learn.scoring import METRICS, UNIT, facts_for, metric_for, predictions
from discreet.printing import counted

Booleans = NDArray[np.bool_]
FIXED: Final = ("classes", "categories", "y_bounds")
"""What candidates must agree about, to be compared on the same rows."""
FINE: Final = 2**10
"""Steps to the best score that a row can give."""
MAX_SETTINGS: Final = 1000
"""Candidates."""
METHODS: Final = ("auto", "every", "some")
COIN: Final = 2**30
CLEARLY: Final = 3
"""A few candidates are looked at where that makes the noise of fits so many times smaller."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The candidates, and how they share the cost."""

    candidates: list[Estimator]
    each: Cost
    """Of a candidate."""
    some: bool
    """Whether only a random few of them are looked at."""


@parameters
class PrivateSearchCV(MetaEstimatorMixin, Estimator):  # type: ignore[misc]
    """Fits an estimator with every combination of settings, and chooses about the best on rows apart.

    Theorem  The declared loss, for a unit with all of its rows.
    Proof    A coin puts each unit among those of the fits or among those of the choice. It is a function of the unit
             and of a key that is drawn beside the data (`sides`), or a draw of the row's own. Given the key and the
             draws of all others, a unit is on one side alone, whichever that is.
             "every": the k fits cost 1/k of the cost each, and the choice costs the cost, as a new row raises each
             score by 0 to m: on either side a row meets one cost ε or ρ, and r rows of a unit meet rε, or r²ρ.
             "some": a candidate is a fit, and the noisy sum of the scores of the rows apart; it costs ε₀ on one side or
             on the other. By the theorem of `BestOfSome` the one that is chosen costs ε; r rows make rε₀ and rε of it.
             What is shown is a mixture over keys and draws, and Rényi divergences are quasi-convex, so it costs no more
             (van Erven & Harremoës 2014, Theorem 13). Were rows of one unit on both sides, j of r among the fits, it
             would still be jε + (r − j)ε, or j²ρ + (r − j)²ρ ≤ r²ρ.

    `method` is "every" or "some", or "auto": that one for which public facts say that fits have clearly less noise.
    With "every", all candidates are charged and may be published (`candidates_`). With "some" a fit has a quarter of
    the cost or more, however many candidates there are, and about a third of them is not looked at; all are fitted, and
    which ones counted, and how many, is never told: there are no candidates to be seen, and no progress. Neither shows
    scores. The estimator is a classifier or regressor of discreet without a cost; `test_size` is a unit's chance to be
    kept apart. In arrays each row is a unit, or `fit(X, y, groups=…)` says which rows go the same way; the loss is that
    of a row.

    >>> from discreet.learn import GaussianNB
    >>> model = GaussianNB(bounds=(0, 1), classes=[0, 1])
    >>> PrivateSearchCV(model, {"var_smoothing": [1e-4, 1e-2]}, epsilon=1).loss_for(3)
    Pure(epsilon=1)
    """

    estimator: Any = field(kw_only=False)
    param_grid: Any = field(kw_only=False)
    test_size: float = 0.25
    method: str = "auto"
    reads_units: ClassVar[bool] = True

    # facts

    def _facts(self, width: int | None, cost: Cost) -> _Plan:
        """The candidates, each with its part of the cost; all of their facts are read."""
        probability(self.test_size, "test_size")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")
        _check(self.estimator)
        settings = self._settings()
        some, each = self._way(settings, width, cost)
        affordable(each, UNIT, WHOLE)
        candidates: list[Estimator] = [self._candidate(setting, each) for setting in settings]
        for candidate in candidates:
            candidate.loss_for(width)
        return _Plan(candidates, each, some)

    def _settings(self) -> list[dict[str, Any]]:
        grid = ParameterGrid(self.param_grid)
        count = sum(math.prod(map(len, table.values())) for table in grid.param_grid)
        if not 0 < count <= MAX_SETTINGS:
            raise ValueError(f"param_grid must have 1 to {MAX_SETTINGS} combinations, not {count}")
        settings = list(grid)
        searched = {name for setting in settings for name in setting}
        demand(
            not searched & set(COST_PARAMETERS),
            "cost-invalid",
            "candidates share one cost",
            "give it to the search alone",
        )
        if searched & set(FIXED):
            raise ValueError(f"param_grid must leave out {', '.join(FIXED)}: candidates are compared on the same rows")
        return settings

    def _candidate(self, setting: Mapping[str, Any], each: Cost) -> Estimator:
        facts = {"missing": self.missing, **setting, **each.named}
        candidate: Estimator = clone(self.estimator).set_params(**facts)
        return candidate

    def _way(self, settings: Sequence[Mapping[str, Any]], width: int | None, cost: Cost) -> tuple[bool, Cost]:
        """Whether a few of the candidates are looked at, and what each then costs: by public facts alone."""
        ways = {"every": cost.part(Fraction(1, len(settings)))}
        if self.method != "every":
            ways["some"] = Cost(Pure(cost.best_of_some(len(settings)).each))
        if self.method != "auto":
            return self.method == "some", ways[self.method]
        noise = {way: self._candidate(settings[0], each)._deviation(width, each) for way, each in ways.items()}
        some = CLEARLY * noise["some"] < noise["every"]
        return some, ways["some" if some else "every"]

    def _placed(self, names: Sequence[str] | None) -> Self:
        return self._with(estimator=self.estimator._placed(names)) if isinstance(self.estimator, Estimator) else self

    def _declared_columns(self) -> list[str] | None:
        return self._taught._declared_columns()

    def _with_values(self, values: Mapping[str, Callable[[], list[Any]]]) -> Self:
        return self._with(estimator=self._taught._with_values(values))

    def _encoded(self, names: Sequence[str] | None) -> list[str]:
        return self._taught._encoded(names)

    def _check_options(self) -> None:
        self._taught._check_options()

    def _dtype(self) -> Any:
        return self._taught._dtype()

    def _check_labels(self, labels: Any) -> None:
        self._taught._check_labels(labels)

    def _middle(self, width: int | None) -> Floats | None:
        return self._taught._middle(width)

    def _deviation(self, width: int | None, cost: Cost) -> float:
        """That of the first candidate."""
        try:
            plan = self._facts(width, cost)
        except (Refused, ValueError):
            return math.inf
        return plan.candidates[0]._deviation(width, plan.each)

    def _notes(self, width: int, cost: Cost) -> tuple[str, ...]:
        plan = self._facts(width, cost)
        count = len(plan.candidates)
        fits = f"each of {counted(count, 'candidate')} is fitted for {plan.each.loss.words} of a row"
        if not plan.some:
            return (f"{fits}; all of them are released",)
        return (f"{fits}; a random set of them is looked at, and which is never told",)

    @property
    def _taught(self) -> Estimator:
        _check(self.estimator)
        within: Estimator = self.estimator
        return within

    def _declare(self, known: Mapping[str, Callable[[], Any]]) -> None:
        """Facts of all candidates; what each of them says itself is not asked for."""
        settings = self._settings()
        self._taught._declare({name: fact for name, fact in known.items() if not all(name in one for one in settings)})

    # rows

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: N803
        """Learn from rows, one for each unit; rows of one group are fitted, or kept apart, together."""
        if groups is None:
            return super().fit(X, y)
        check_consistent_length(X, groups)
        return self._fit(X, y, core.SAMPLER, np.asarray(groups))

    def _read(self, X: Any, y: Any) -> tuple[Array, Array | None]:  # noqa: N803
        reader = self._facts(None, self._cost()).candidates[0]
        rows, labels = reader._read(X, y)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(reader, name):
                setattr(self, name, getattr(reader, name))
        return rows, labels

    def _learn(self, exact: Array, labels: Array | None, facts: _Plan, exit_: Exit) -> None:
        self._learn_units(exact, labels, None, facts, exit_)

    def _learn_units(self, exact: Array, labels: Array | None, units: Array | None, facts: _Plan, exit_: Exit) -> None:
        assert labels is not None
        held = self._coins(len(exact), units, exit_)
        fitted, apart = _Rows(exact[~held], labels[~held]), _Rows(exact[held], labels[held])
        learn = self._some if facts.some else self._every
        self.best_index_ = learn(facts.candidates, fitted, apart, exit_)
        if hasattr(self, "feature_names_in_"):
            for candidate in facts.candidates:  # now that all were tried on rows without names
                candidate.feature_names_in_ = self.feature_names_in_
        self.best_params_ = self._settings()[self.best_index_]
        self.best_estimator_ = facts.candidates[self.best_index_]

    def _every(self, candidates: list[Estimator], fitted: _Rows, apart: _Rows, exit_: Exit) -> int:
        for candidate in exit_.watched(candidates, len(candidates), "candidates"):
            candidate._learned(fitted.exact, fitted.labels, exit_.part(Fraction(1, len(candidates))))
        scores = np.array([_score(candidate, apart, FINE) for candidate in candidates], dtype=np.int64)
        self.candidates_ = candidates
        return exit_.parallel().choose(scores, FINE)

    def _some(self, candidates: list[Estimator], fitted: _Rows, apart: _Rows, exit_: Exit) -> int:
        """What the others found is dropped with them. To have been chosen costs the whole, so that is its loss."""

        def run(index: int, exit_: Exit) -> tuple[int, int]:
            candidates[index].verbose = False
            candidates[index]._learned(fitted.exact, fitted.labels, exit_)
            fine = exit_.cost.fineness(UNIT)
            score = np.array([_score(candidates[index], apart, fine)], dtype=np.int64)
            return int(exit_.parallel().release(score, Sensitivity(Fraction(fine), Fraction(fine**2)))[0]), index

        index = exit_.best_of_some([partial(run, index) for index in range(len(candidates))])
        candidates[index].loss_ = exit_.cost.loss
        return index

    def _coins(self, count: int, units: Array | None, exit_: Exit) -> Booleans:
        """For each row whether it is kept for the choice: by its unit, or by a coin that no other row has a part in."""
        share = round(probability(self.test_size, "test_size") * COIN)
        if units is None:
            return np.asarray(exit_.below(COIN, count) < share)
        return sides(units, exit_.below(2**62, 4).tobytes(), share)

    # what was learned

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


@dataclass(frozen=True, slots=True)
class _Rows:
    """Of one side."""

    exact: Array
    labels: Array


def sides(units: Array, key: bytes, share: int) -> Booleans:
    """Which rows are kept apart, about `share` of 2³⁰ units: by a keyed hash of the unit, whoever else is there."""
    coins: dict[str, bool] = {}
    for unit in map(repr, units.tolist()):
        if unit not in coins:
            digest = hashlib.blake2b(unit.encode(), key=key, digest_size=8).digest()
            coins[unit] = int.from_bytes(digest, "big") % COIN < share
    return np.array([coins[repr(unit)] for unit in units.tolist()], dtype=np.bool_)


def _check(estimator: Any) -> None:
    """Whether it can be searched over."""
    if isinstance(estimator, PrivateSearchCV):
        raise TypeError("estimator must not be a search itself: give one param_grid with all settings")
    if not isinstance(estimator, Estimator) or not (is_classifier(estimator) or is_regressor(estimator)):
        raise TypeError("estimator must be a classifier or regressor of discreet.learn: others are not private")
    if any(getattr(estimator, name, None) is not None for name in COST_PARAMETERS):
        demand(
            False,
            "cost-invalid",
            "candidates share one cost",
            "give it to the search, and leave it out of the estimator",
        )


def _score(candidate: Any, rows: _Rows, fine: int) -> int:
    """How good the candidate is on the rows of the choice: each adds from 0 to `fine`."""
    name = metric_for(candidate, None)
    parts = METRICS[name].parts(
        predictions(candidate, rows.exact, len(rows.exact)), rows.labels, facts_for(candidate, name, None), fine
    )
    return int((parts if name == "accuracy" else fine - parts).sum())
