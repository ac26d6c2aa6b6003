"""Fitted models as bytes, to be kept beside their charge: JSON in which arrays are base64, and nothing is executed.

Values are those of `answers.values`, and estimators of the registry.
"""

from __future__ import annotations

import json
from typing import Any, Final

from discreet.answers.documents import Fitted, Model
from discreet.answers.values import UNREADABLE as UNREADABLE
from discreet.answers.values import VALUES, Codec
from discreet.learn.core import ESTIMATORS, Estimator, learned, name_of
from discreet.ledger import LedgerDamaged
from discreet.ledger.entries import CHANGED

VERSION: Final = 2
NOT_PARAMETERS: Final = ("ledger",)


def encode(model: Estimator) -> bytes:
    """A fitted model; ValueError if it holds what cannot be written."""
    return json.dumps(document_of(model), separators=(",", ":"), allow_nan=False).encode("ascii")


def document_of(model: Estimator) -> Model:
    """A fitted model as JSON has it."""
    return {"version": VERSION, "model": _estimator(CODEC, model)}


def decode(stored: bytes) -> Estimator | None:
    """None if another version of discreet wrote it; `LedgerDamaged` if it is not what any of them wrote."""
    try:
        document = json.loads(stored)
        if document["version"] != VERSION:
            return None
        model = read(document["model"])
    except UNREADABLE:
        model = None
    if not isinstance(model, Estimator):
        raise LedgerDamaged("a cached model cannot be read", CHANGED)
    return model


def parameters_of(model: Estimator) -> dict[str, Any]:
    """What the estimator was made with, as JSON has it."""
    held = model.get_params(deep=False)
    return {name: CODEC.written(value) for name, value in sorted(held.items()) if name not in NOT_PARAMETERS}


def read(value: Any) -> Any:
    """What was written."""
    return CODEC.read(value)


def read_estimator(value: Any) -> Estimator:
    """Of the registry; only its parameters and names that a fit would set are set."""
    kind, parameters = ESTIMATORS[value["estimator"]], value["parameters"]
    estimator = kind(**{name: read(item) for name, item in parameters.items()})
    for name, item in value["fitted"].items():
        if name.startswith("_") or not name.endswith("_"):
            raise ValueError(name)
        setattr(estimator, name, read(item))
    return estimator


def _estimator(codec: Codec, model: Estimator) -> Fitted:
    fitted = {name: codec.written(value) for name, value in sorted(learned(model).items())}
    return {"estimator": name_of(type(model)), "parameters": parameters_of(model), "fitted": fitted}


CODEC: Final = VALUES.also(((Estimator, _estimator),), {"estimator": lambda _, value: read_estimator(value)})
