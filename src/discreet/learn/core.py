"""What all estimators of `discreet.learn` share: cost first, then the charge, then the data, then noise.

How to write one
    Its parameters are annotated fields of a class marked with `@parameters`: public facts (`bounds`, `classes`, …); the
    cost, the ledger and `verbose` come from here. They are stored as they are and not checked. Three methods say the
    rest:

    _facts(width, cost)
                    reads the public facts, for so many features (None while nobody knows), into one frozen object.
                    A missing fact is `Refused("undeclared-…")`, never looked up in the data; a wrong one is a
                    ValueError or TypeError, and a cost that is too low is refused. It runs before anything is charged.
    _learn(exact, labels, facts, exit_)
                    learns. `exact` has one row for each unit, possibly none at all, `labels` is y or None. It must not
                    raise whatever the rows are: an error that depends on rows is a leak. Numbers leave it through
                    `exit_.release(integers, sensitivity, share)` alone: one vector, a sensitivity proven in the
                    docstring beside it, a share of the cost; shares add up to 1 at most. (A choice leaves it through
                    `exit_.choose(scores, most, share)`, a fit within it has `exit_.part(share)`.) All else is
                    post-processing of released values; its random numbers come from `exit_.below` or
                    `exit_.seed`. Long loops go through `exit_.watched`. Fitted attributes end in `_`; `predict`
                    and `transform` read only those.

    _typical(facts, cost)
                    names the release that the model is made of most: how far a row moves it, in units that do not
                    depend on the kind of noise, and its share of the cost. By that the less noisy kind is chosen where
                    a caller leaves the choice: see `_cost`.

    What each row does must depend on that row alone, bit by bit: elementwise arithmetic does, a matrix product does
    not (BLAS rounds a row by where it stands among others). Rows are summed as integers.

    `_read(X, y)` is scikit-learn's validation of arrays; NaN and infinity are errors there, because whoever passes
    arrays owns them. Rows of a curator come through `discreet.learn.fit`, which calls `learn_from` instead.

What callers see
    loss_for(n_features)  what `fit` will cost: known before it, from public facts alone.
    loss_                 what it did cost. With `ledger=`, one charge of that, on disk before the data is touched, and
                          its bits are the only randomness of the fit; without, the operating system's.
    verbose               whether a bar shows how far a long fit is.

The neighbouring relation is: add or remove one row. Where a person has k rows, `group(loss, k)` is the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Final, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.accounting.losses import Sensitivity
from discreet.answers.documents import Model
from discreet.answers.models import Learner
from discreet.answers.progress import shown
from discreet.errors import Refused
from discreet.exact import Number, flag, whole
from discreet.exit import SAMPLER as SAMPLER
from discreet.exit import Exit, Sampler, opened
from discreet.exit.charges import charge_for
from discreet.exit.cost import Cost, Loss
from discreet.learn.labels import Array
from discreet.learn.ledgers import LostLedger

Kind = TypeVar("Kind")
Typical = tuple[Sensitivity, Fraction]
"""A sensitivity, and a share of the cost."""
COST_PARAMETERS: Final = ("epsilon", "delta", "rho", "ledger")
"""Parameters that say what a fit costs and whom it is charged to."""


ESTIMATORS: Final[dict[str, type[Estimator]]] = {}
"""All estimators, by name."""


def name_of(kind: type) -> str:
    """The name of an estimator: of those in this package its own, of others with their module."""
    ours = kind.__module__.startswith("discreet.learn.")
    return kind.__qualname__ if ours else f"{kind.__module__}.{kind.__qualname__}"


def is_ours(model: object) -> bool:
    """Whether it is an estimator of this package, and none that somebody derived from one; and so all that it holds."""
    if isinstance(model, (list, tuple)):
        return all(is_ours(item) for item in model if isinstance(item, (list, tuple, BaseEstimator)))
    name = name_of(type(model))
    return "." not in name and ESTIMATORS.get(name) is type(model) and is_ours(list(vars(model).values()))


def learned(model: Any) -> dict[str, Any]:
    """What a fit sets."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(of: type[Kind]) -> type[Kind]:
    """Gives a class the constructor that scikit-learn wants: it takes the annotated fields, and only stores them."""
    return dataclass(kw_only=True, eq=False, repr=False)(of)


@parameters
class Estimator(Learner, BaseEstimator):  # type: ignore[misc]
    """A private estimator; the module says how to write one."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    ledger: Any = None
    verbose: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Known by name, so that what was fitted can be read again."""
        super().__init_subclass__(**options)
        ESTIMATORS[name_of(cls)] = cls

    # to be written

    def _facts(self, width: int | None, cost: Cost) -> Any:
        raise NotImplementedError

    def _typical(self, facts: Any, cost: Cost) -> Typical:
        raise NotImplementedError

    def _learn(self, exact: Array, labels: Array | None, facts: Any, exit_: Exit) -> None:
        raise NotImplementedError

    def _read(self, X: Any, y: Any) -> tuple[Array, Array | None]:  # noqa: ARG002, N803  (scikit-learn's names)
        """The caller's arrays, checked as scikit-learn does."""
        return validate_data(self, X, dtype=self._dtype()), None

    def _dtype(self) -> Any:
        return np.float64

    # given

    def loss_for(self, n_features: int | None = None) -> Loss:
        """What `fit` will cost for so many features. No data is needed."""
        width = None if n_features is None else whole(n_features, "n_features")
        cost = self._cost(width)
        self._facts(width, cost)
        return cost.loss

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn from rows, one for each unit: charged first, then read; only noisy numbers are learned from."""
        return self._fit(X, y, SAMPLER)

    def _fit(self, X: Any, y: Any, sampler: Sampler) -> Self:  # noqa: N803
        width = _width(X)
        cost = self._cost(width)
        flag(self.verbose, "verbose")
        _check_shapes(self, X, y)
        self._facts(width, cost)
        if self.ledger is not None and not hasattr(self.ledger, "charge"):
            raise TypeError(f"ledger must be a discreet ledger or None, not a {type(self.ledger).__name__}")
        charge = charge_for(self.ledger, cost.loss, f"{type(self).__name__}.fit")
        with opened(charge, cost, sampler=sampler) as exit_:
            exact, labels = self._read(X, y)
            return self._learned(exact, labels, exit_)

    def learn_from(self, exact: Array, labels: Array | None, names: list[str], exit_: Exit) -> Self:
        """Learn from rows that are bounded already, through the exit of a charge."""
        self.feature_names_in_ = np.array(names, dtype=object)
        return self._learned(exact, labels, exit_)

    def _learned(self, exact: Array, labels: Array | None, exit_: Exit) -> Self:
        self.n_features_in_ = exact.shape[1]  # scikit-learn sets it for arrays and frames, not for all that becomes one
        exit_.watch = shown if flag(self.verbose, "verbose") else exit_.watch
        with np.errstate(all="ignore"):  # which row over- or underflowed is private, and so is whether one did
            self._learn(exact, labels, self._facts(self.n_features_in_, exit_.cost), exit_)
        self.loss_ = exit_.cost.loss
        return self

    def task(self, sql: Any, **options: Any) -> Any:
        """The task of fitting a copy of it on the rows of a SELECT, for `curator.perform` and `curator.preview`.

        Options are those of `curator.fit`: epsilon (with delta) or rho, target, max_rows, analyst, fresh, key.
        """
        from discreet.learn.fit import Fit

        return Fit(self, sql, **options)

    def document(self) -> Model:
        """What it learned, as JSON has it."""
        from discreet.learn.codec import document_of

        return document_of(self)

    def _cost(self, width: int | None = None) -> Cost:
        """ε or ρ. Of (ε, δ) it is the one with less noise on a typical release, by parameters and number of features.

        With a ledger it is ρ: there ε counts as ε·tanh(ε/2), which is more than rho_for(ε, δ).
        """
        stated = self._stated_cost()
        if self.epsilon is None or self.delta is None or self.ledger is not None:
            return stated
        return Cost.less_noisy(partial(self._deviation, width), epsilon=self.epsilon, delta=self.delta)

    def _stated_cost(self) -> Cost:
        return Cost.alone(epsilon=self.epsilon, delta=self.delta, rho=self.rho)

    def _deviation(self, width: int | None, cost: Cost) -> float:
        """Of the noise on a typical release; infinite where the cost is too low for any."""
        try:
            return cost.deviation(*self._typical(self._facts(width, cost), cost))
        except (Refused, ValueError):  # whichever is chosen is refused for it, in words
            return math.inf

    def _again(self, X: Any) -> Array:  # noqa: N803
        """Rows for what was learned, checked against those of the fit."""
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=self._dtype(), reset=False)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    # copies

    def __getstate__(self) -> dict[str, Any]:
        """A ledger is open in one process only."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("ledger") is None:
            return state
        return {**state, "ledger": LostLedger()}

    def __sklearn_clone__(self) -> Self:
        """Clones charge the same ledger, which cannot be copied."""
        if getattr(self, "ledger", None) is None:
            return super().__sklearn_clone__()  # type: ignore[no-any-return]
        clone: Self = BaseEstimator.__sklearn_clone__(copy(self))
        clone.ledger = self.ledger
        return clone


def _check_shapes(model: Estimator, rows: object, labels: object) -> None:
    """Explain mistakes that no value has to be looked at for, before anything is charged."""
    if labels is None and get_tags(model).target_tags.required:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None: fit(X, y)")
    shape = getattr(rows, "shape", (0, 0))
    if isinstance(shape, tuple) and len(shape) != 2:
        raise ValueError(f"X must have 2 dimensions, not {len(shape)}. Reshape your data: X.reshape(-1, 1)")


def _width(rows: object) -> int | None:
    """The number of features, if it can be told without looking at values."""
    shape = getattr(rows, "shape", None)
    if isinstance(rows, Sequence) and len(rows) and isinstance(rows[0], Sequence | np.ndarray):
        shape = len(rows), len(rows[0])
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 and shape[1] else None


def demand(condition: bool, code: str, reason: str, fix: str) -> None:
    """Refuse unless it holds."""
    if not condition:
        raise Refused(code, reason, fix)
