"""Pipelines: steps of this package that are fitted one after the other, as one fit with one cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.errors import Refused
from discreet.exact import positive
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Box, Floats, is_named, named, placed
from discreet.learn.core import REMEDY, Estimator, demand, parameters
from discreet.learn.encoding import (
    OneHot,
    Tables,
    column_tables,
    declared_tables,
    dtype_of,
    indicator_box,
    indicators,
    names_out,
    placed_categories,
    tables_of,
    values_of,
)
from discreet.learn.labels import Array
from discreet.learn.missing import is_there
from discreet.learn.pca import PCA
from discreet.learn.shapes import check_numbers
from discreet.learn.steps import (
    INNER,
    bounded,
    check_step,
    column_box,
    count_numbers,
    first_bounds,
    is_stage,
    numbers_in,
)

LAST: Final = 4
"""The last step has so many times the share of each step before it that costs something, unless shares are given."""
FACTS: Final = ("classes", "y_bounds")
"""What the last step may leave to the pipeline."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A step with its share of the cost, and for how many features it is fitted."""

    model: Estimator
    share: Fraction
    width: int | None


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    tables: Tables | None
    """What is declared of each column, if some are encoded."""
    box: Box
    """Of the columns that hold numbers."""
    steps: tuple[_Step, ...]


def _last_has(name: str) -> Callable[[Any], bool]:
    return lambda self: _are_steps(self.steps) and len(self.steps) > 0 and hasattr(self.steps[-1][1], name)


@parameters
class Pipeline(Estimator):
    """Steps of discreet.learn one after the other: one fit, one cost, one charge.

    Theorem  The declared loss. Proof: sequential composition of the steps, whose shares add up to 1. Each step changes
             a row by what that row is alone and by what earlier steps released; so a row more before a step is a row
             more after it, and the next step's bounds and their noise are as its own theorem has them.

    steps     (name, step) pairs: StandardScaler, MinMaxScaler, PCA, OneHot, and any estimator after them; none has a
              cost or a ledger of its own. `make_pipeline` names them.
    shares    {name: share} of the steps that cost something; by default the last has four times that of each other
    bounds    of the columns that hold numbers. After a step, bounds are known: from what it released, or from its
              `feature_range`. A step may have bounds of its own, in units of what it is given.
    classes, y_bounds
              of the last step, which may have them itself

    Columns that OneHot encodes pass by the steps before it. `steps_` are the fitted steps.

    >>> from discreet.learn import LogisticRegression, StandardScaler
    >>> model = make_pipeline(StandardScaler(), LogisticRegression(), bounds=(0, 110), classes=["no", "yes"], epsilon=1)
    >>> model.loss_for(1)
    Pure(epsilon=1)
    """

    steps: Any = field(default=(), kw_only=False)
    shares: Any = None
    bounds: Any = None
    classes: Any = None
    y_bounds: Any = None

    # what scikit-learn asks of what is made of others

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its parameters, and with `deep` its steps by name, and their parameters as step__parameter."""
        params: dict[str, Any] = super().get_params(deep=False)
        for name, step in self.steps if deep and _are_steps(self.steps) else ():
            params[name] = step
            params |= {f"{name}__{each}": value for each, value in step.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters, steps by name, and parameters of steps as step__parameter."""
        if "steps" in params:
            self.steps = params.pop("steps")
        if _are_steps(self.steps) and any(name in params for name, _ in self.steps):
            self.steps = [(name, params.pop(name, step)) for name, step in self.steps]
        super().set_params(**params)
        return self

    def _stages(self) -> list[tuple[str, Any]]:
        """The steps, if a pipeline can be made of them."""
        stages = self.steps
        if not _are_steps(stages) or not stages:
            raise TypeError("steps must be a list of (name, step) pairs: make_pipeline(StandardScaler(), …) makes one")
        names = [name for name, _ in stages]
        taken = self.get_params(deep=False)
        if len(set(names)) < len(names) or any("__" in name or name in taken for name in names):
            raise ValueError(f"steps need names of their own, without __, that are no parameters: {', '.join(names)}")
        for index, (name, step) in enumerate(stages):
            check_step(name, step, last=index == len(stages) - 1)
        if sum(isinstance(step, OneHot) for _, step in stages) > 1:
            raise ValueError("a pipeline has one OneHot at most: declare all categories in it")
        return list(stages)

    @property
    def _encoder(self) -> OneHot | None:
        return next((step for _, step in self._stages() if isinstance(step, OneHot)), None)

    # facts

    def _facts(self, width: int | None, cost: Cost) -> _Facts:
        stages, encoder = self._stages(), self._encoder
        tables = None if encoder is None else column_tables(encoder.categories, width)
        box = column_box(self.bounds, stages, width if tables is None else count_numbers(tables))
        shares, after = self._shares(stages), box.width
        steps: list[_Step] = []
        for index, (name, step) in enumerate(stages):
            model = self._told(clone(step), last=index == len(stages) - 1)
            if isinstance(step, OneHot):
                after += 0 if tables is None else indicator_box(tables).width
            elif shares[name]:
                part = cost.part(shares[name])
                bounded(model, None if steps else box)._facts(after, part)
            steps.append(_Step(model, shares[name], after))
            if type(step) in INNER:
                after = INNER[type(step)].width(step, after)
        return _Facts(tables, box, tuple(steps))

    def _told(self, step: Any, *, last: bool) -> Any:
        """A step, the last with the facts that it leaves to the pipeline."""
        held = step.get_params(deep=False)
        facts = {name: getattr(self, name) for name in FACTS if last and name in held and held[name] is None}
        return step.set_params(**facts)

    def _shares(self, stages: Sequence[tuple[str, Any]]) -> dict[str, Fraction]:
        """The share of each step; 0 of those that are free."""
        costly = [name for name, step in stages if "epsilon" in step.get_params(deep=False)]
        demand(bool(costly), "cost-invalid", "no step of the pipeline has a cost", "use the steps without a pipeline")
        given = dict.fromkeys(costly, 1) | {costly[-1]: LAST} if self.shares is None else self.shares
        if not isinstance(given, Mapping) or set(given) != set(costly):
            raise ValueError(f"shares must be a share for each of {', '.join(costly)}, and for no other step")
        weights = {name: positive(given[name], f"shares[{name!r}]") for name in costly}
        return {name: weights.get(name, Fraction(0)) / sum(weights.values()) for name, _ in stages}

    def _deviation(self, width: int | None, cost: Cost) -> float:
        """That of the last step that has a cost."""
        try:
            facts = self._facts(width, cost)
        except (Refused, ValueError):
            return math.inf
        step = next(step for step in reversed(facts.steps) if step.share)
        return float(bounded(step.model, None)._deviation(step.width, cost.part(step.share)))

    def _placed(self, names: Sequence[str] | None) -> Self:
        """With bounds and categories in the order of the columns."""
        facts: dict[str, Any] = {}
        encoded = self._encoded(names)
        numbers = None if names is None else [name for name in names if name not in encoded]
        if is_named(self.bounds):
            facts["bounds"] = placed(self.bounds, numbers, "bounds")
        stages = [(name, step) for name, step in self._stages()]
        for index, (name, step) in enumerate(stages):
            if isinstance(step, OneHot):
                stages[index] = name, step._placed(names)
            elif is_named(getattr(step, "bounds", None)):
                stages[index] = name, step._placed(numbers)
        return self._with(steps=stages, **facts)

    def _declared_columns(self) -> list[str] | None:
        bounds = first_bounds(self.bounds, self._stages())
        encoder = self._encoder
        coded = named(encoder.categories) if encoder is not None and is_named(encoder.categories) else {}
        return list(dict.fromkeys([*named(bounds), *coded])) if is_named(bounds) else None

    def _encoded(self, names: Sequence[str] | None) -> list[str]:
        """Which of these columns OneHot encodes."""
        encoder = self._encoder
        if encoder is None or names is None:
            return []
        given = placed_categories(encoder.categories, names) if is_named(encoder.categories) else encoder.categories
        tables = column_tables(given, len(names))
        return [name for name, labels in zip(names, tables, strict=True) if labels is not None]

    def _declare(self, known: Mapping[str, Callable[[], Any]]) -> None:
        """The facts that its steps leave open."""
        last = self.steps[-1][1].get_params(deep=False)
        wanted = [name for name in FACTS if name in last and last[name] is None]
        if first_bounds(self.bounds, self._stages()) is None:
            wanted.append("bounds")
        super()._declare({name: fact for name, fact in known.items() if name in wanted})

    def _with_values(self, values: Mapping[str, Callable[[], list[Any]]]) -> Self:
        """On a curator: OneHot encodes columns that hold no numbers, by the values that the policy declares."""
        encoder = self._encoder
        if encoder is None or not (encoder.categories is None or is_named(encoder.categories)):
            return self
        given = {} if encoder.categories is None else named(encoder.categories)
        table = {name: declared() for name, declared in values.items() if name not in given} | given
        steps = [
            (name, clone(step).set_params(categories=table) if step is encoder else step) for name, step in self.steps
        ]
        return self._with(steps=steps)

    def _middle(self, width: int | None) -> Floats | None:
        encoder, stages = self._encoder, self._stages()
        if encoder is None:
            return column_box(self.bounds, stages, width).middle
        tables = column_tables(encoder.categories, width)
        box = column_box(self.bounds, stages, count_numbers(tables))
        middle = np.full(len(tables), np.nan)  # what is missing of an encoded column is a value that nobody declared
        middle[[labels is None for labels in tables]] = box.middle
        return middle

    # rows

    def _dtype(self) -> Any:
        known = getattr(self, "categories_", None)
        if known is not None:
            return dtype_of(tables_of(known))
        encoder = self._encoder
        return np.float64 if encoder is None else dtype_of(declared_tables(encoder.categories))

    def _check_kinds(self, X: Any) -> None:  # noqa: N803
        names = list(getattr(X, "columns", []))
        if self._encoder is None or names:
            check_numbers(X, self._encoded(names))

    def _check_labels(self, labels: Any) -> None:
        self._told(clone(self.steps[-1][1]), last=True)._check_labels(labels)

    def _read(self, X: Any, y: Any) -> tuple[Array, Array | None]:  # noqa: N803
        reader = self._told(clone(self.steps[-1][1]), last=True)
        rows = self._validated(X, reset=True)
        if self.missing is None and not is_there(numbers_in(rows, self._tables(rows.shape[1]))).all():
            raise ValueError(f"Input X contains NaN. {REMEDY}")
        if not get_tags(self).target_tags.required:
            return rows, None
        reader.missing = self.missing
        labels: Array = reader._read(np.zeros((len(rows), 1)), y)[1]
        return rows, labels

    def _tables(self, width: int) -> Tables | None:
        """What is declared of each column that was read; those of a frame are by name."""
        encoder = self._encoder
        if encoder is None:
            return None
        names = getattr(self, "feature_names_in_", None)
        return column_tables(encoder._placed(None if names is None else list(names)).categories, width)

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:
        self.categories_ = None if facts.tables is None else values_of(facts.tables)
        rows = np.clip(numbers_in(exact, facts.tables), facts.box.low, facts.box.high)
        box, fitted = facts.box, []
        for index, step in enumerate(facts.steps):
            model = step.model
            if isinstance(model, OneHot):
                assert facts.tables is not None
                rows = np.hstack([rows, indicators(exact, facts.tables)])
                beside = indicator_box(facts.tables)
                box = Box(np.append(box.low, beside.low), np.append(box.high, beside.high))
                model.categories_, model.n_features_in_ = values_of(facts.tables), len(facts.tables)
            else:
                model = bounded(model, box)
                model._learned(rows, labels, exit_.part(step.share))
            fitted.append(model)
            if index < len(facts.steps) - 1 and type(model) in INNER:
                inner = INNER[type(model)]
                rows, box = inner.changed(model, rows), inner.bounds(model, box)
        self.steps_ = fitted

    # what it learned

    def _seen(self, X: Any, most: int | None = -1) -> Floats:  # noqa: N803
        """Rows as the last step sees them, or after it."""
        exact = self._again(X)
        tables = None if self.categories_ is None else tables_of(self.categories_)
        rows = numbers_in(exact, tables)
        for model in self.steps_[:most]:
            if isinstance(model, OneHot):
                assert tables is not None
                rows = np.hstack([rows, indicators(exact, tables)])
            else:
                rows = INNER[type(model)].changed(model, rows)
        return rows

    @property
    def _last(self) -> Any:
        check_is_fitted(self)
        return self.steps_[-1]

    @property
    def classes_(self) -> Array:
        classes: Array = self._last.classes_
        return classes

    @available_if(_last_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Array:  # noqa: N803
        """What the last step predicts."""
        predicted: Array = self._last.predict(self._seen(X))
        return predicted

    @available_if(_last_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """The probabilities of the classes, by the last step."""
        shares: Array = self._last.predict_proba(self._seen(X))
        return shares

    @available_if(_last_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:  # noqa: N803
        """Their logarithms."""
        logs: Array = self._last.predict_log_proba(self._seen(X))
        return logs

    @available_if(_last_has("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The rows after all steps."""
        if type(self._last) in INNER or isinstance(self._last, OneHot):
            return self._seen(X, None)
        changed: Floats = self._last.transform(self._seen(X))
        return changed

    @available_if(_last_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The last step's score: exact, for rows that the caller may see."""
        return float(self._last.score(self._seen(X), y))

    def features_seen(self) -> list[str]:
        """The names of what the last step learns from."""
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", [f"x{index}" for index in range(self.n_features_in_)]))
        tables = None if self.categories_ is None else tables_of(self.categories_)
        seen = names if tables is None else [name for name, labels in zip(names, tables, strict=True) if labels is None]
        for model in self.steps_[:-1]:
            if isinstance(model, OneHot):
                assert tables is not None
                seen = seen + names_out(names, tables)[count_numbers(tables) :]
            elif isinstance(model, PCA):
                seen = [str(name) for name in model.get_feature_names_out()]
        return seen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not _are_steps(self.steps) or not self.steps:
            return tags
        own = get_tags(self.steps[-1][1])
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "transformer_tags", "target_tags"):
            setattr(tags, name, getattr(own, name))
        return tags


def _are_steps(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(is_stage(stage) for stage in given)


def make_pipeline(*steps: Any, **options: Any) -> Pipeline:
    """A pipeline of these steps, each named by its class; options are those of `Pipeline`: its cost, bounds, …"""
    names = [type(step).__name__.lower() for step in steps]
    counted = [
        f"{name}-{names[: index + 1].count(name)}" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]
    return Pipeline(list(zip(counted, steps, strict=True)), **options)
