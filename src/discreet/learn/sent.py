"""Estimators and models that somebody else sent: requests for fits to a server, fitted models to a client.

Neither is believed (deserialisation of untrusted data). Values are numbers, texts, lists and arrays of plain types; an
estimator is one of those that `discreet.learn` offers, made by its constructor, which only stores; what would let a
small request do much work is limited by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from copy import copy
from dataclasses import fields
from typing import Any, Final

import numpy as np

from discreet.answers.documents import Model
from discreet.answers.models import MODEL_READERS, RECEIPT, demand_scattered, values_sent
from discreet.errors import Refused
from discreet.learn.codec import UNREADABLE, VERSION, document_of, read, read_estimator
from discreet.learn.core import COST_PARAMETERS, ESTIMATORS, Estimator, is_ours, learned
from discreet.learn.pipelines import Pipeline
from discreet.learn.search import PrivateSearchCV

DEEPEST: Final = 8
"""How deep lists stand in each other."""
MAX_SIZES: Final = {
    "expected_n": 2**53,
    "max_depth": 30,
    "max_iter": 1000,
    "n_clusters": 1000,
    "n_components": 1000,
    "n_estimators": 1000,
    "n_init": 100,
}
"""Parameters that say how much work a fit is, and the most that a request may say."""
NO_PARAMETERS: Final = ("", "estimator", "objects", "float", "pure", "concentrated")
"""Kinds of tables that no parameter has."""
MAX_STEPS: Final = 20
"""Of a pipeline."""
MOST_CATEGORIES: Final = 10_000
MOST_FEATURES: Final = 10_000
MOST_SETTINGS: Final = 100
"""Candidates of a search."""
SEARCH: Final = PrivateSearchCV.__name__
UNBOUNDED: Final = "coef_interval_"
"""What a fit may not know at all, and nothing is computed with: its ends may be infinite."""
PROBES: Final = 81
"""Rows that a model is tried on before it is scored."""
BESIDE: Final = (*COST_PARAMETERS, "verbose")
"""Parameters that a request says elsewhere, or not at all."""


def offered() -> dict[str, type[Estimator]]:
    """The estimators that can be fitted for others, by name: none that are parts of others, or hold others."""
    ours = {name: kind for name, kind in ESTIMATORS.items() if kind.__module__.startswith("discreet.learn.")}
    return {name: kind for name, kind in ours.items() if name[0] != "_" and _is_whole(kind)}


def _is_whole(kind: type[Estimator]) -> bool:
    return kind._learn is not Estimator._learn and not issubclass(kind, PrivateSearchCV)


# what a server is sent


def estimator_of(name: str, parameters: Mapping[str, Any]) -> Estimator:
    """The estimator that a request describes, or a refusal. Nothing is done that takes long."""
    if name == SEARCH:
        return _search_of(parameters)
    known = offered()
    if name not in known:
        raise Refused("fit-invalid", "there is no such estimator", f"use one of: {', '.join(sorted(known))}")
    kind = known[name]
    _demand_known(name, set(parameters), set(kind().get_params(deep=False)) - set(BESIDE))
    plain = {each: value for each, value in parameters.items() if not (each == "steps" and kind is Pipeline)}
    _demand_modest(plain)
    given = _read(plain)
    return kind(**given) if len(plain) == len(parameters) else kind(steps=_steps(parameters["steps"]), **given)


def _demand_known(name: str, given: set[str], takes: set[str]) -> None:
    other = given - takes
    if other & set(COST_PARAMETERS):
        raise Refused("cost-invalid", "the estimator has a cost or a ledger of its own", "give the cost to fit alone")
    if other:
        raise Refused("fit-invalid", f"{name} has no such parameter", f"it has: {', '.join(sorted(takes))}")


def _read(parameters: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {each: read(value) for each, value in parameters.items()}
    except UNREADABLE:
        raise _unreadable() from None


def _search_of(parameters: Mapping[str, Any]) -> PrivateSearchCV:
    """A search over an estimator that is offered itself, in a grid of few settings, each as modest as if it were alone.

    A search within a search is none of those, so that work is at most so many times that of one fit.
    """
    names = {each.name for each in fields(PrivateSearchCV)} - set(BESIDE)
    _demand_known(SEARCH, set(parameters), names)
    described = parameters.get("estimator")
    kind, inner = (
        (described.get("estimator"), described.get("parameters")) if isinstance(described, dict) else (None, None)
    )
    if not isinstance(kind, str) or kind == SEARCH:
        raise Refused("fit-invalid", "a search is over an estimator", "describe it: its name and its parameters")
    within = {name: value for name, value in _table(inner).items() if name not in BESIDE or value}
    rest = {name: value for name, value in parameters.items() if name != "estimator"}
    _demand_modest(rest)
    held = _read(rest)
    _demand_small(held.get("param_grid"))
    return PrivateSearchCV(estimator_of(kind, within), **{"param_grid": None, **held})


def _table(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _demand_small(grid: Any) -> None:
    """Lists of settings by the names of parameters, in one table or several: not many of them together."""
    tables = grid if isinstance(grid, list) else [grid]
    if not all(isinstance(table, dict) and all(map(_is_setting, table.items())) for table in tables):
        raise Refused("fit-invalid", "a param_grid has lists of settings by name", 'write {"C": [0.1, 1, 10]}')
    if sum(math.prod(map(len, table.values())) for table in tables) > MOST_SETTINGS:
        raise Refused("too-complex", "there are too many settings", f"use {MOST_SETTINGS} combinations or fewer")
    for table in tables:
        for name, values in table.items():
            for value in values:
                _demand_modest_size(name, value)


def _is_setting(item: tuple[Any, Any]) -> bool:
    return isinstance(item[0], str) and isinstance(item[1], list | tuple | np.ndarray)


def _steps(given: Any) -> list[tuple[str, Estimator]]:
    """The steps of a pipeline, each a pair of its name and of what describes it; none of them is fitted."""
    if not isinstance(given, list) or len(given) > MAX_STEPS:
        raise Refused("fit-invalid", f"steps are a list of at most {MAX_STEPS} pairs", "name each step: [name, step]")
    return [_step(each.get("tuple") if isinstance(each, dict) else each) for each in given]


def _step(pair: Any) -> tuple[str, Estimator]:
    described = pair[1] if isinstance(pair, list) and len(pair) == 2 else None
    if not isinstance(described, dict) or not isinstance(pair[0], str) or described.get("fitted"):
        raise _unreadable()
    kind, parameters = described.get("estimator"), described.get("parameters", {})
    if not isinstance(kind, str) or kind in (Pipeline.__name__, SEARCH) or not isinstance(parameters, dict):
        raise _unreadable()
    unset = {each for each in BESIDE if not parameters.get(each)}
    return pair[0], estimator_of(kind, {each: value for each, value in parameters.items() if each not in unset})


def _demand_modest(parameters: Mapping[str, Any]) -> None:
    """Refuse what is deep, long, or much work."""
    for value in values_sent(parameters, "parameters", DEEPEST):
        _demand_plain(value)
    for name, value in parameters.items():
        _demand_modest_size(name, value)
    _demand_few_categories(parameters.get("categories"))


def _demand_modest_size(name: str, value: Any) -> None:
    most = MAX_SIZES.get(name.rpartition("__")[2])  # of a step too
    if most is not None and isinstance(value, int | np.integer) and value > most:
        raise Refused("too-complex", f"{name} is more work than a server does", f"use {most} or less")


def _demand_plain(value: Any) -> None:
    """Numbers that are some, of a usual size; tables that name a kind which parameters have."""
    wrong = (
        (isinstance(value, float) and not math.isfinite(value))
        or (isinstance(value, int) and abs(value) >= 2**63)
        or (isinstance(value, dict) and next(iter(value), "") in NO_PARAMETERS)
    )
    if wrong:
        raise _unreadable()


def _demand_few_categories(given: Any) -> None:
    """A number of categories stands for all of them, which are listed before anything is charged."""
    if isinstance(given, dict) and isinstance(given.get("table"), list):  # by the names of columns
        given = [pair[1] if isinstance(pair, list) and len(pair) == 2 else pair for pair in given["table"]]
    listed = given if isinstance(given, list) else [given]
    if sum(each for each in listed if type(each) is int) > MOST_CATEGORIES:
        raise Refused("too-complex", "there are too many categories", f"use {MOST_CATEGORIES:,} or fewer")
    if isinstance(given, dict):  # an array, or a tuple of numbers: each would have to be looked into
        raise Refused("fit-invalid", "categories are a list", "pass a list with the values of each feature")


def _unreadable() -> Refused:
    return Refused("fit-invalid", "a parameter cannot be read", "give the estimator numbers, texts, lists and arrays")


# what a client is sent


def adopt(estimator: Estimator, document: Model) -> Estimator:
    """The caller's estimator with what a server says it learned; ValueError if that is no model of this kind."""
    other = model_of(document)
    if type(other) is not type(estimator):
        raise ValueError("another estimator")
    for name, value in learned(other).items():
        setattr(estimator, name, value)
    return estimator


def model_of(document: Model) -> Estimator:
    """The model of a document. It is tried on two rows, so that shapes and types that do not fit are found here."""
    described = document["model"]
    name = described["estimator"]
    if document["version"] != VERSION or (name not in offered() and name != SEARCH):
        raise ValueError("no model that this version knows")
    if "ledger" in described["parameters"]:
        raise ValueError("a ledger")
    try:
        model = read_estimator(described)
        _try(copy(_alone(model)))
    except (*UNREADABLE, MemoryError) as wrong:
        raise ValueError("no model") from wrong
    return model


def _alone(model: Any) -> Any:
    """Itself; of a search what it chose, which is of the kind that was searched over, as all of its candidates are."""
    if not isinstance(model, PrivateSearchCV):
        return model
    best, others = model.best_estimator_, getattr(model, "candidates_", [])
    for other in (best, *others):
        if type(other) is not type(model.estimator) or other.n_features_in_ != model.n_features_in_:
            raise ValueError("no model")
        _try(copy(other))
    if type(model.best_index_) is not int or not isinstance(model.best_params_, dict):
        raise ValueError("no model")
    return best


# what is scored


def own(model: Any) -> Estimator:
    """A fitted model, made anew from its data as one of our own classes, or a refusal.

    No code of the caller's comes along: neither methods of classes derived from ours, nor functions among the
    attributes, nor arrays that are more than numbers and texts.
    """
    if not is_ours(model) or any(callable(getattr(type(model), name, None)) for name in vars(model)):
        raise Refused("not-private", "that is no model of discreet.learn as it is", "score what a fit of it returned")
    if not hasattr(model, "n_features_in_"):
        raise Refused("score-invalid", "the model is not fitted", "fit it first")
    try:
        return model_to_score(json.loads(json.dumps(document_of(model), allow_nan=False)))
    except UNREADABLE:
        raise _unscorable() from None


def model_to_score(document: Mapping[str, Any]) -> Estimator:
    """The model of a document that somebody sent, or a refusal. It is tried on rows of nobody."""
    try:
        described = document["model"]
        kind = ESTIMATORS[described["estimator"]]
        if document["version"] != VERSION or not hasattr(kind, "predict") or "ledger" in described["parameters"]:
            raise _unscorable()
        _demand_shallow(described)
        demand_scattered(described, "model")
        model = read_estimator({"parameters": {}, "fitted": {}, **described})
        if not is_ours(model) or not _is_finite(model):
            raise _unscorable()
        _try(copy(model))
        _probe(copy(model))
    except (*UNREADABLE, MemoryError):
        raise _unscorable() from None
    for name in COST_PARAMETERS:  # they cost what is said to the score
        setattr(model, name, None)
    return model


def _unscorable() -> Refused:
    return Refused(
        "score-invalid", "the model cannot be read", "send what a fit returned: numbers, texts, lists, arrays"
    )


def _demand_shallow(described: Any, depth: int = 3 * DEEPEST) -> None:
    if not depth:
        raise ValueError("too deep")
    if isinstance(described, dict | list):
        for value in described.values() if isinstance(described, dict) else described:
            _demand_shallow(value, depth - 1)


def _is_finite(value: Any) -> bool:
    """Whether all numbers of it are some, those of estimators that it holds too."""
    if isinstance(value, Estimator):
        return _is_finite([each for name, each in learned(value).items() if name != UNBOUNDED])
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, np.ndarray):
        return bool(np.isfinite(value).all()) if value.dtype.kind == "f" else _is_finite(_inner(value))
    return not isinstance(value, float | np.floating) or math.isfinite(value)


def _inner(value: Any) -> list[Any]:
    return list(value.ravel()) if value.dtype.kind == "O" else []


def _probe(model: Any) -> None:
    """Try a model on rows of all sizes and signs, or with all categories: most that would fail on some, fail here."""
    width = model.n_features_in_
    vars(model).pop("feature_names_in_", None)
    sizes = np.array([0, 1, -1, 30, -30, 1e4, -1e4, 1e12, -1e12])
    rows: Any = sizes[(np.arange(PROBES)[:, None] * (1 + np.arange(width)) + np.arange(PROBES)[:, None] // 9) % 9]
    if getattr(model, "categories_", None) is not None:
        rows = rows.astype(object)
        for column, values in enumerate(model.categories_):
            if values is not None:
                rows[:, column] = [values[row % len(values)] for row in range(PROBES)]
    with np.errstate(all="ignore"):
        if np.shape(model.predict(rows)) != (PROBES,):
            raise ValueError("no model")
        if hasattr(model, "predict_proba") and np.shape(model.predict_proba(rows)) != (PROBES, len(model.classes_)):
            raise ValueError("no model")


def _try(model: Any) -> None:
    """See that a model can be used."""
    width, receipt = model.n_features_in_, getattr(model, "receipt_", "0:")
    if type(width) is not int or not 0 < width <= MOST_FEATURES or not RECEIPT.fullmatch(receipt):
        raise ValueError("no model")
    rows: Any = np.zeros((2, width))
    if getattr(model, "categories_", None) is not None:
        rows = np.array([[0.0 if values is None else values[0] for values in model.categories_]] * 2, dtype=object)
    names = vars(model).pop("feature_names_in_", None)  # rows without names are enough
    if rows.shape != (2, width) or (names is not None and not _are_names(names, width)):
        raise ValueError("no model")
    with np.errstate(all="ignore"):
        wanted = (2,) if hasattr(model, "predict") else (2, len(model.get_feature_names_out()))
        used = (model.predict if hasattr(model, "predict") else model.transform)(rows)
    if np.shape(used) != wanted:
        raise ValueError("no model")


def _are_names(names: Any, width: int) -> bool:
    listed = names.tolist() if isinstance(names, np.ndarray) else names
    return isinstance(listed, list) and len(listed) == width and all(isinstance(name, str) for name in listed)


MODEL_READERS[VERSION] = model_of
