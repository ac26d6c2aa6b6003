"""What a pipeline knows of its steps: which may follow each other, and what each does to rows and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from discreet.learn.box import Box, Floats
from discreet.learn.core import COST_PARAMETERS, Estimator, demand
from discreet.learn.encoding import OneHot, Tables, numbers_of
from discreet.learn.labels import Array
from discreet.learn.pca import PCA
from discreet.learn.rowwise import product
from discreet.learn.scalers import MinMaxScaler, StandardScaler

STAND_IN: Final = (-1, 1)
"""Bounds that stand for those which only the fit of an earlier step will tell, to refuse before the charge."""


@dataclass(frozen=True, slots=True)
class Inner:
    """What a pipeline knows of a step that others follow. Each row is changed by what it is alone, bit by bit."""

    changed: Callable[[Any, Floats], Floats]
    """Rows after the step."""
    bounds: Callable[[Any, Box], Box]
    """Bounds after the step, by released numbers."""
    width: Callable[[Any, int], int] = lambda _, width: width
    """The number of features after the step."""


def _standard(model: StandardScaler, rows: Floats) -> Floats:
    scaled: Floats = (rows - model.mean_) / model.scale_
    return scaled


def _ranged(model: MinMaxScaler, rows: Floats) -> Floats:
    return np.clip(rows, model.data_min_, model.data_max_) * model.scale_ + model.min_


def _range(model: MinMaxScaler, box: Box) -> Box:
    low, high = (np.full(box.width, float(end)) for end in model.feature_range)
    return Box(low, high)


def _components(model: PCA, box: Box) -> Box:
    """No component is longer than the farthest corner of the box allows."""
    farthest = np.maximum(np.abs(box.low - model.mean_), np.abs(box.high - model.mean_))
    length = np.abs(model.components_) @ farthest
    return Box(-length, length)


INNER: Final[Mapping[type, Inner]] = {
    StandardScaler: Inner(_standard, lambda model, box: Box(_standard(model, box.low), _standard(model, box.high))),
    MinMaxScaler: Inner(_ranged, _range),
    PCA: Inner(
        lambda model, rows: product(rows - model.mean_, model.components_.T),
        _components,
        lambda model, width: width if model.n_components is None else model.n_components,
    ),
}
"""Steps that others may follow, beside OneHot."""


def is_stage(stage: object) -> bool:
    """Whether it is a pair of a name and something that may be a step."""
    return isinstance(stage, list | tuple) and len(stage) == 2 and isinstance(stage[0], str)


def check_step(name: str, step: Any, *, last: bool) -> None:
    if not isinstance(step, Estimator):
        what = step.__name__ if isinstance(step, type) else type(step).__name__
        demand(False, "not-private", f"{name} is a {what}, which is not private", "use steps of discreet.learn")
    held = step.get_params(deep=False)
    if any(held.get(each) is not None for each in COST_PARAMETERS):
        demand(False, "cost-invalid", "steps share one cost", "give it to the pipeline, and leave it out of its steps")
    if held.get("missing") is not None:
        raise ValueError(f"{name} is given rows without missing values: give missing to the pipeline")
    if hasattr(step, "steps") or hasattr(step, "param_grid") or ("categories" in held and not isinstance(step, OneHot)):
        raise TypeError(f"{name} cannot be a step: pipelines are made of scalers, PCA, OneHot, and a model of numbers")
    if not last and type(step) not in INNER and not isinstance(step, OneHot):
        raise TypeError(f"{name} can only be the last step: others follow StandardScaler, MinMaxScaler, PCA and OneHot")


def first_bounds(bounds: Any, stages: Sequence[tuple[str, Any]]) -> Any:
    """The bounds of the columns: the pipeline's, else those of the first step, if it sees the columns as they are."""
    return stages[0][1].get_params(deep=False).get("bounds") if bounds is None else bounds


def column_box(bounds: Any, stages: Sequence[tuple[str, Any]], numbers: int | None) -> Box:
    """The bounds of the columns that hold numbers, if there are any."""
    return Box(np.zeros(0), np.zeros(0)) if numbers == 0 else Box.read(first_bounds(bounds, stages), numbers)


def count_numbers(tables: Tables) -> int:
    return sum(labels is None for labels in tables)


def bounded(step: Any, box: Box | None) -> Any:
    """A step with its own bounds, or with those that are known by now."""
    if step.get_params(deep=False).get("bounds") is not None:
        return step
    return step._with(bounds=STAND_IN if box is None else (box.low, box.high))


def numbers_in(exact: Array, tables: Tables | None) -> Floats:
    return exact.astype(np.float64) if tables is None else numbers_of(exact, tables)
