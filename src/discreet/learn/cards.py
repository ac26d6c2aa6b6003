"""Model cards: what was fitted, on what, at which cost and within which limits, as text, HTML and JSON.

All of it is public: parameters, released numbers, and facts of the charge. Names and texts come from elsewhere, so they
are escaped where they are shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from itertools import starmap
from typing import Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.learn.box import Box, is_named, named
from discreet.markup import Head, Side, around, line, note, table, words
from discreet.printing import lines_of

FORMAT: Final = "discreet-card"
VERSION: Final = 1
FACTS: Final = ("bounds", "y_bounds", "classes", "categories", "class_weight", "missing", "shares")
"""Parameters that say what is public about the rows, or what is done with them."""
BESIDE: Final = (
    *("loss_", "receipt_", "cached_", "query_", "declared_", "n_features_in_", "feature_names_in_"),
    *("classes_", "categories_", "midpoint_", "class_log_weight_"),
)
"""What a fit sets that it did not measure."""
SHOWN: Final = 12
"""Of features, values and classes; JSON has all."""
LIMITS: Final = (
    "Values beyond the bounds were clamped to them before anything was learned.",
    "The loss is that of this fit alone: all that is released about the same people adds up.",
    "It protects who was in the rows. What is true of most people can be learned about each of them.",
    "Scores that were measured without noise on private rows are not covered by the loss.",
)
MISSING: Final = {
    None: "Rows with missing values were refused, or dropped by the curator.",
    "drop": "Rows with missing values were dropped.",
    "impute to midpoint": "Missing values of features were taken for the midpoint of their bounds.",
}


@dataclass(frozen=True, slots=True)
class Card:
    """A model card. `str(card)` is text, `card.html()` a piece of a page, and `card.json()` has all of it."""

    facts: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"format": FORMAT, "version": VERSION, **self.facts}

    def json(self) -> str:
        """The document as a text; letters beyond ASCII are escaped."""
        return json.dumps(self.document(), indent=2, allow_nan=False)

    def __str__(self) -> str:
        wide = max(len(name) for name, _ in self._lines())
        rows = [f"{name:<{wide}}  {lines_of(text)}" for name, text in self._lines()]
        return "\n".join([str(self.facts["model"]), str(self.facts["what"]), "", *rows, "", *self._notes("· ")])

    def html(self) -> str:
        """Without script or resource, whatever the names are."""
        rows = [(words(name, "faint"), words(text)) for name, text in self._lines()]
        heads = [Head(words("")), Head(words(""), Side.WORDS)]
        top = line(words(str(self.facts["model"]), "strong"), " ", words(str(self.facts["what"])))
        return around(top, table(heads, rows), *map(note, self.facts["limits"]))

    def _repr_html_(self) -> str:
        return self.html()

    def _notes(self, mark: str) -> list[str]:
        return [f"{mark}{limit}" for limit in self.facts["limits"]]

    def _lines(self) -> list[tuple[str, str]]:
        """What is shown, in order; what is not known is left out."""
        facts = self.facts
        query = facts["query"] or {}
        lines = [("cost", facts["cost"]), ("proof", facts["proof"])]
        lines += [(name.replace("_", " "), str(value)) for name, value in query.items() if value is not None]
        lines += [("columns", _listed(facts["columns"]))]
        lines += [(name.replace("_", " "), _said(value)) for name, value in facts["declared"].items()]
        lines += [("steps", _listed(facts["steps"]))] if facts["steps"] else []
        lines += [("measured", _listed(f"{name} {_sized(shape)}" for name, shape in facts["measured"].items()))]
        shares = sorted(facts["importances"].items(), key=lambda pair: -pair[1])
        lines += [("importances", _listed(f"{name} {share:.2f}" for name, share in shares))] if shares else []
        lines += [("coefficients", _listed(starmap(_within, facts["coefficients"].items())))] * bool(
            facts["coefficients"]
        )
        lines += [("score", score) for score in facts["scores"]]
        return lines + ([("receipt", facts["receipt"])] if facts["receipt"] else [])


def card_of(model: Any, scores: Iterable[Any]) -> Card:
    """The card of a fitted model."""
    check_is_fitted(model)
    doc = getdoc(type(model)) or ""
    names = names_of(model)
    return Card(
        {
            "model": type(model).__name__,
            "what": " ".join(doc.split("\n\n")[0].split()),
            "proof": _theorem(doc),
            "cost": str(model.loss_),
            "query": getattr(model, "query_", None),
            "columns": names,
            "declared": _declared(model, names),
            "steps": [
                f"{type(step).__name__}: {getattr(step, 'loss_', 'free')}" for step in getattr(model, "steps_", ())
            ],
            "measured": _measured(model),
            "importances": _importances(model),
            "coefficients": _coefficients(model),
            "scores": [str(score) for score in scores],
            "receipt": getattr(model, "receipt_", None),
            "limits": [*LIMITS, MISSING[model.missing]],
        }
    )


def names_of(model: Any) -> list[str]:
    """The names of its features."""
    held = getattr(model, "feature_names_in_", None)
    return [f"x{index}" for index in range(model.n_features_in_)] if held is None else [str(name) for name in held]


def seen_by(model: Any) -> list[str]:
    """The names of what the model, or the last step of a pipeline, learned from."""
    names: list[str] = model.features_seen() if hasattr(model, "features_seen") else names_of(model)
    return names


def _theorem(doc: str) -> str:
    """What the class proves, in its own words."""
    lines = doc.split("\n")
    start = next((index for index, text in enumerate(lines) if text.startswith("Theorem")), None)
    if start is None:
        return "nothing is learned from rows"
    end = next((index for index in range(start + 1, len(lines)) if not lines[index].startswith(" ")), len(lines))
    return " ".join(" ".join(lines[start:end]).split()).removeprefix("Theorem ")


def _declared(model: Any, names: list[str]) -> dict[str, Any]:
    """Public facts: the estimator's, or those that the policy declared."""
    held = {**model.get_params(deep=False), **getattr(model, "declared_", {})}
    facts = {name: held[name] for name in FACTS if held.get(name) is not None}
    if "bounds" in facts:
        coded = getattr(model, "categories_", None) or [None] * len(names)
        facts["bounds"] = _pairs(
            facts["bounds"], [name for name, values in zip(names, coded, strict=True) if values is None]
        )
    return {name: _plain(value) for name, value in facts.items()}


def _pairs(bounds: Any, names: list[str]) -> dict[str, Any]:
    if is_named(bounds):
        return {name: named(bounds)[name] for name in names}
    box = Box.read(bounds, len(names))
    return dict(zip(names, zip(box.low.tolist(), box.high.tolist(), strict=True), strict=True))


def _measured(model: Any) -> dict[str, list[int]]:
    """The released numbers and what was made of them, by name, with their shapes."""
    if hasattr(model, "steps_"):
        each = [(type(step).__name__, _measured(step)) for step in model.steps_]
        return {f"{step}.{name}": shape for step, shapes in each for name, shape in shapes.items()}
    held = {name: value for name, value in vars(model).items() if name.endswith("_") and name not in BESIDE}
    return {name: _shape(value) for name, value in sorted(held.items()) if not name.startswith("_")}


def _shape(value: Any) -> list[int]:
    return list(value.shape) if isinstance(value, np.ndarray) else [len(value)] if isinstance(value, list) else []


def _coefficients(model: Any) -> dict[str, list[float | None]]:
    """Each with the low and the high end of its interval, of models that have them; None where noise hides it."""
    last = model.steps_[-1] if hasattr(model, "steps_") else model
    if not hasattr(last, "coef_interval_"):
        return {}
    table = np.column_stack([last.coef_, last.coef_interval_]).tolist()
    return {
        name: [value if math.isfinite(value) else None for value in row]
        for name, row in zip(seen_by(model), table, strict=True)
    }


def _within(name: str, row: list[float | None]) -> str:
    value, low, high = row
    return f"{name} {value:.4g}" + ("" if low is None or high is None else f" ({low:.4g} to {high:.4g})")


def _importances(model: Any) -> dict[str, float]:
    last = model.steps_[-1] if hasattr(model, "steps_") else model
    try:
        shares = last.feature_importances_.tolist()
    except AttributeError:
        return {}
    return dict(zip(seen_by(model), shares, strict=True))


def _plain(value: Any) -> Any:
    """As JSON has it; numbers that it has not are texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if is_named(value):
        return _plain(named(value))
    if value is None or isinstance(value, bool | int | str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return _listed(f"{name}: {_said(item)}" for name, item in value.items())
    return f"({_listed(map(_said, value))})" if isinstance(value, list) else str(value)


def _listed(texts: Iterable[str]) -> str:
    every = list(texts)
    more = len(every) - SHOWN
    return ", ".join(every[:SHOWN]) + (f", … ({more} more)" if more > 0 else "")


def _sized(shape: list[int]) -> str:
    return "×".join(map(str, shape)) or "1"
