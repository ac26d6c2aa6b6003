"""What all estimators of `discreet.learn` share: cost first, then the charge, then the data, then noise.

How to write one
    Its parameters are annotated fields of a class marked with `@parameters`: public facts (`bounds`, `classes`, …); the
    cost, the ledger, `missing` and `verbose` come from here. They are stored as they are and not checked. Three methods
    say the rest:

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

    `_read(X, y)` is scikit-learn's validation of arrays; NaN and infinity are errors there unless `missing` is
    declared, because whoever passes arrays owns them. Rows of a curator come through `discreet.learn.fit`, which calls
    `learn_from` instead. What can be wrong with arrays without a look at their values is explained before the charge.

    Facts by the names of columns are put into the order of the columns by `_placed`, before `_facts` reads them. A fit
    within a fit (`_learned`, with `exit_.part(share)`) is told which ones those are.

What callers see
    loss_for(n_features)  what `fit` will cost: known before it, from public facts alone.
    loss_                 what it did cost. With `ledger=`, one charge of that, on disk before the data is touched, and
                          its bits are the only randomness of the fit; without, the operating system's.
    missing               what becomes of rows with NULL, NaN or infinity (`discreet.learn.missing`): "drop", or "impute
                          to midpoint" of the bounds, when predicting too. None is an error; a curator drops them.
    verbose               whether a bar shows how far a long fit is.

The neighbouring relation is: add or remove one row. Where a person has k rows, `group(loss, k)` is the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, dataclass_transform

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
from discreet.learn.box import Box, Floats, is_named, named, placed
from discreet.learn.labels import Array
from discreet.learn.leaks import warn_of_leaks
from discreet.learn.ledgers import LostLedger
from discreet.learn.missing import DROP, IMPUTE, complete, imputed, is_there, known
from discreet.learn.missing import check as check_missing
from discreet.learn.shapes import check_labels, check_numbers, check_rows, names_of, width_of

if TYPE_CHECKING:
    from altair.typing import ChartType

    from discreet.learn.cards import Card

Kind = TypeVar("Kind")
Typical = tuple[Sensitivity, Fraction]
"""A sensitivity, and a share of the cost."""
COST_PARAMETERS: Final = ("epsilon", "delta", "rho", "ledger")
"""Parameters that say what a fit costs and whom it is charged to."""
REMEDY: Final = f'Declare missing="{DROP}" or missing="{IMPUTE}", or fill the values in.'


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
    missing: str | None = None
    verbose: bool = False
    reads_units: ClassVar[bool] = False
    """Whether it wants to know which rows are of one unit."""

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
        return self._validated(X, reset=True), None

    def _validated(self, X: Any, *, reset: bool) -> Array:  # noqa: N803
        try:
            rows: Array = validate_data(
                self, X, dtype=self._dtype(), reset=reset, ensure_all_finite=self.missing is None
            )
        except ValueError as wrong:
            raise _said(wrong) from None
        return rows

    def _dtype(self) -> Any:
        return np.float64

    def _check_labels(self, labels: Any) -> None:
        """Explain labels of a wrong kind, by their type alone."""

    def _check_options(self) -> None:
        """Explain wrong parameters that change what is made of released numbers."""

    def _finish(self) -> None:
        """What is made of released numbers after learning."""

    # to be written by those that hold others

    @property
    def _taught(self) -> Estimator:
        """Whose facts are those of the columns: itself, or an estimator within."""
        return self

    def _declare(self, known: Mapping[str, Callable[[], Any]]) -> None:
        """Take the facts that are missing from those that are known otherwise."""
        held = self.get_params(deep=False)
        self.set_params(**{name: fact() for name, fact in known.items() if name in held and held[name] is None})

    def _learn_units(self, exact: Array, labels: Array | None, units: Array | None, facts: Any, exit_: Exit) -> None:  # noqa: ARG002
        """Learn where it matters which rows are of one unit (`reads_units`); None where every row is one."""
        self._learn(exact, labels, facts, exit_)

    def _notes(self, width: int, cost: Cost) -> tuple[str, ...]:  # noqa: ARG002
        """What a preview says of it."""
        return ()

    def _with_values(self, values: Mapping[str, Callable[[], list[Any]]]) -> Self:  # noqa: ARG002
        """Itself, told the declared values of columns that hold no numbers."""
        return self

    def _encoded(self, names: Sequence[str] | None) -> list[str]:  # noqa: ARG002
        """Which of these columns it makes numbers of."""
        return []

    # given

    def loss_for(self, n_features: int | Sequence[str] | None = None) -> Loss:
        """What `fit` will cost for so many features, or for columns of these names. No data is needed."""
        names = self._declared_columns()
        if isinstance(n_features, list | tuple):
            names, n_features = list(n_features), len(n_features)
        width = None if n_features is None else whole(n_features, "n_features")
        if names is not None and width not in (None, len(names)):
            raise ValueError(f"the facts are of {len(names)} columns: name the {width}, as loss_for([…])")
        declared = self if names is None else self._placed(names)
        cost = declared._cost(width)
        declared._facts(width, cost)
        declared._check_options()
        return cost.loss

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn from rows, one for each unit: charged first, then read; only noisy numbers are learned from."""
        return self._fit(X, y, SAMPLER)

    def _fit(self, X: Any, y: Any, sampler: Sampler, units: Array | None = None) -> Self:  # noqa: N803
        flag(self.verbose, "verbose")
        declared, width = self._placed(names_of(X)), width_of(X)
        cost = declared._cost(width)
        declared._facts(width, cost)
        check_missing(self.missing, declared._middle(width))
        declared._check_options()
        declared._check(X, y)
        if self.ledger is not None and not hasattr(self.ledger, "charge"):
            raise TypeError(f"ledger must be a discreet ledger or None, not a {type(self.ledger).__name__}")
        if not cost.loss.is_zero:
            warn_of_leaks(self)
        charge = charge_for(self.ledger, cost.loss, f"{type(self).__name__}.fit")
        with opened(charge, cost, sampler=sampler) as exit_:
            with np.errstate(all="ignore"):  # scikit-learn adds values up to see whether one is NaN
                exact, labels = self._read(X, y)
            middle = declared._middle(exact.shape[1])
            units = None if units is None else units[known(exact, labels, self.missing, middle)]
            exact, labels = complete(exact, labels, self.missing, middle)
            return self._learned(exact, labels, exit_, declared, units)

    def learn_from(
        self, exact: Array, labels: Array | None, names: list[str], exit_: Exit, units: Array | None = None
    ) -> Self:
        """Learn from rows that are bounded already, through the exit of a charge; `units` says whose they are."""
        self.feature_names_in_ = np.array(names, dtype=object)
        declared = self._placed(names)
        middle = declared._middle(exact.shape[1])
        units = None if units is None else units[known(exact, labels, self.missing, middle)]
        exact, labels = complete(exact, labels, self.missing, middle)
        return self._learned(exact, labels, exit_, declared, units)

    def _learned(
        self,
        exact: Array,
        labels: Array | None,
        exit_: Exit,
        declared: Estimator | None = None,
        units: Array | None = None,
    ) -> Self:
        """Learn through an exit; `declared` is the estimator with its facts in the order of the columns."""
        stated = self if declared is None else declared
        self.n_features_in_ = exact.shape[1]  # scikit-learn sets it for arrays and frames, not for all that becomes one
        exit_.watch = shown if flag(self.verbose, "verbose") else exit_.watch
        with np.errstate(all="ignore"):  # which row over- or underflowed is private, and so is whether one did
            self._learn_units(exact, labels, units, stated._facts(self.n_features_in_, exit_.cost), exit_)
            self._finish()
        if self.missing == IMPUTE:
            self.midpoint_: Floats | None = stated._middle(self.n_features_in_)
        self.loss_ = exit_.cost.loss
        return self

    def _check(self, X: Any, y: Any) -> None:  # noqa: N803
        """Explain mistakes that no value has to be looked at for, before anything is charged."""
        supervised = bool(get_tags(self).target_tags.required)
        if supervised and y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None: fit(X, y)")
        check_rows(X)
        self._check_kinds(X)
        if supervised:
            check_labels(X, y)
            self._check_labels(y)

    def _check_kinds(self, X: Any) -> None:  # noqa: N803
        """Explain columns that hold no numbers where those are needed, by their types alone."""
        if self._dtype() is np.float64:
            check_numbers(X)

    def _placed(self, names: Sequence[str] | None) -> Self:
        """Itself, or a copy in which bounds that are given by name stand in the order of the columns."""
        bounds = getattr(self, "bounds", None)
        return self._with(bounds=placed(bounds, names, "bounds")) if is_named(bounds) else self

    def _declared_columns(self) -> list[str] | None:
        """The columns that its facts name, if they are by name."""
        bounds = getattr(self, "bounds", None)
        return list(named(bounds)) if is_named(bounds) else None

    def _with(self, **facts: Any) -> Self:
        """A copy with other facts, which charges the same ledger."""
        twin = copy(self)
        twin.__dict__.update(facts)
        if getattr(self, "ledger", None) is not None:
            twin.ledger = self.ledger
        return twin

    def _middle(self, width: int | None) -> Floats | None:
        """The midpoint of the bounds of each feature, if they have any."""
        bounds = getattr(self, "bounds", None)
        return None if bounds is None else Box.read(bounds, width).middle

    def task(self, sql: Any, **options: Any) -> Any:
        """The task of fitting a copy of it on the rows of a SELECT, for `curator.perform` and `curator.preview`.

        Options are those of `curator.fit`: epsilon (with delta) or rho, target, max_rows, analyst, fresh, key.
        """
        from discreet.learn.fit import Fit

        return Fit(self, sql, **options)

    @property
    def feature_importances_(self) -> Floats:
        """How much each feature matters, with sum 1: post-processing, which costs nothing."""
        from discreet.learn.importances import importances_of

        return importances_of(self)

    def card(self, *scores: Any) -> Card:
        """What was fitted, on what, at which cost and within which limits, with scores that you measured."""
        from discreet.learn.cards import card_of

        return card_of(self, scores)

    def export(self) -> dict[str, Any]:
        """The model as plain JSON that anything can evaluate, as the guide says; ValueError where there is none."""
        from discreet.learn.export import exported

        return exported(self)

    def plot(self, theme: str = "light") -> ChartType:
        """The curve of each feature, or how much each one matters. It needs altair."""
        from discreet.learn.terms import plotted

        return plotted(self, theme)

    def score_task(self, sql: Any, **options: Any) -> Any:
        """The task of scoring what it learned on the rows of a SELECT, for `curator.perform` and `curator.preview`.

        Options are those of `curator.score`.
        """
        from discreet.learn.score import ScoreTask

        return ScoreTask(self, sql, **options)

    def document(self) -> Model:
        """What it learned, as JSON has it."""
        from discreet.learn.codec import document_of

        return document_of(self)

    def _cost(self, width: int | None = None) -> Cost:
        """ε or ρ. Of (ε, δ) it is the one with less noise on a typical release, by parameters and number of features.

        With a ledger it is ρ: there ε counts as ε·tanh(ε/2), which is more than rho_for(ε, δ).
        """
        if self.epsilon is None or self.delta is None or self.rho is not None or self.ledger is not None:
            return self._stated_cost()
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
        rows = self._validated(X, reset=False)
        if self.missing == IMPUTE and self.midpoint_ is not None:
            return imputed(rows, self.midpoint_)
        if self.missing is not None and not is_there(rows).all():
            raise ValueError("Input X contains NaN or infinity, and a row to predict cannot be dropped: fill it in")
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


def _said(wrong: ValueError) -> ValueError:
    """The error of scikit-learn about values that are missing, with what helps here."""
    first = str(wrong).split("\n")[0]
    return ValueError(f"{first.rstrip('.')}. {REMEDY}") if "contains NaN" in first else wrong


def demand(condition: bool, code: str, reason: str, fix: str) -> None:
    """Refuse unless it holds."""
    if not condition:
        raise Refused(code, reason, fix)
