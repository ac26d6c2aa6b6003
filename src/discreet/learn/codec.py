"""Fitted models as bytes, to be kept beside their charge: JSON in which arrays are base64, and nothing is executed.

Serialisation is explicit because the bytes may have been written by somebody else: reading them makes numbers, texts,
lists, arrays of plain types and estimators of the registry, and calls nothing that they name.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting import Concentrated, Pure
from discreet.answers.documents import Fitted, Model
from discreet.exact import number
from discreet.learn.core import ESTIMATORS, Estimator, learned, name_of
from discreet.ledger import LedgerDamaged
from discreet.ledger.entries import CHANGED

VERSION: Final = 1
PLAIN: Final = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
"""Types of arrays that are written as their bytes."""
UNREADABLE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    binascii.Error,
)
NOT_PARAMETERS: Final = ("ledger",)
FRACTION: Final = re.compile(r"-?[0-9]+(?:/[0-9]+)?")
MOST_LETTERS: Final = 2**26
"""Of an array of texts."""


def encode(model: Estimator) -> bytes:
    """A fitted model; ValueError if it holds what cannot be written."""
    return json.dumps(document_of(model), separators=(",", ":"), allow_nan=False).encode("ascii")


def document_of(model: Estimator) -> Model:
    """A fitted model as JSON has it."""
    return {"version": VERSION, "model": _estimator(model)}


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
    return {name: written(value) for name, value in sorted(held.items()) if name not in NOT_PARAMETERS}


def _estimator(model: Estimator) -> Fitted:
    fitted = {name: written(value) for name, value in sorted(learned(model).items())}
    return {"estimator": name_of(type(model)), "parameters": parameters_of(model), "fitted": fitted}


# values


def written(value: Any) -> Any:
    """As JSON has it; what JSON cannot say is a table that names its kind. ValueError for anything else."""
    if value is None or isinstance(value, bool | str):
        return value
    for kind, write in WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise ValueError(f"a {type(value).__name__} cannot be put on record")


def _array(value: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(value)
    held = array.dtype.newbyteorder("<").str.replace("=", "<") if array.dtype.kind in "biuf" else ""
    shape = list(np.shape(value))
    if held in PLAIN:
        data = base64.b64encode(array.astype(held).tobytes()).decode("ascii")
        return {"array": data, "dtype": held, "shape": shape}
    if array.dtype.kind not in "OU":
        raise ValueError(f"an array of {array.dtype} cannot be put on record")
    kind = "texts" if array.dtype.kind == "U" else "objects"
    return {kind: [written(item) for item in np.asarray(value).ravel().tolist()], "shape": shape}


def _real(value: float) -> Any:
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {"table": [[written(key), written(item)] for key, item in value.items()]}


def _pure(value: Pure) -> dict[str, Any]:
    return {"pure": str(value.epsilon), **_unit(value)}


def _concentrated(value: Concentrated) -> dict[str, Any]:
    return {"concentrated": [str(value.rho), str(value.delta)], **_unit(value)}


def _unit(value: Pure | Concentrated) -> dict[str, Any]:
    return {} if value.unit is None else {"unit": value.unit}


def _texts(value: Any) -> Any:
    return [written(item) for item in value]


WRITERS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (np.ndarray, _array),
    (np.generic, lambda value: {"scalar": _array(np.array([value]))}),
    (int, int),
    (float, _real),
    (Estimator, _estimator),
    (Pure, _pure),
    (Concentrated, _concentrated),
    (Fraction, lambda value: {"fraction": str(value)}),
    (Decimal, lambda value: {"decimal": str(value)}),
    (datetime, lambda value: {"timestamp": value.isoformat()}),
    (date, lambda value: {"date": value.isoformat()}),
    (list, _texts),
    (tuple, lambda value: {"tuple": _texts(value)}),
    (Mapping, _mapping),
)


def read(value: Any) -> Any:
    """What was written."""
    if isinstance(value, list):
        return [read(item) for item in value]
    if not isinstance(value, dict):
        return value
    return READERS[next(iter(value), "")](value)


def _read_array(value: dict[str, Any]) -> Any:
    held = value["dtype"]
    if held not in PLAIN:
        raise ValueError(held)
    data = base64.b64decode(value["array"], validate=True)
    return np.frombuffer(data, dtype=np.dtype(held)).reshape(_shape(value)).copy()


def _read_texts(value: dict[str, Any]) -> Any:
    items = value["texts"]
    if not all(isinstance(item, str) for item in items):
        raise ValueError("texts")
    if len(items) * max(map(len, items), default=0) > MOST_LETTERS:  # each gets the room of the longest
        raise ValueError("texts")
    return np.array(items, dtype=str).reshape(_shape(value))


def _read_objects(value: dict[str, Any]) -> Any:
    items = [read(item) for item in value["objects"]]
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(_shape(value))


def _fraction(text: str) -> Fraction:
    """As Fraction writes itself: an exponent, which it also reads, would fill the memory."""
    if not FRACTION.fullmatch(text):
        raise ValueError("fraction")
    return Fraction(text)


def _decimal(text: str) -> Decimal:
    decimal = Decimal(text)
    number(decimal, "a number")
    return decimal


def _shape(value: dict[str, Any]) -> tuple[int, ...]:
    shape = tuple(value["shape"])
    if not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError("shape")
    return shape


def read_estimator(value: Any) -> Estimator:
    """Of the registry; only its parameters and names that a fit would set are set."""
    kind, parameters = ESTIMATORS[value["estimator"]], value["parameters"]
    estimator = kind(**{name: read(item) for name, item in parameters.items()})
    for name, item in value["fitted"].items():
        if name.startswith("_") or not name.endswith("_"):
            raise ValueError(name)
        setattr(estimator, name, read(item))
    return estimator


READERS: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "array": _read_array,
    "texts": _read_texts,
    "objects": _read_objects,
    "scalar": lambda value: _read_array(value["scalar"])[0],
    "float": lambda value: float(value["float"]),
    "estimator": read_estimator,
    "pure": lambda value: Pure(_fraction(value["pure"]), unit=value.get("unit")),
    "concentrated": lambda value: Concentrated(*map(_fraction, value["concentrated"]), unit=value.get("unit")),
    "fraction": lambda value: _fraction(value["fraction"]),
    "decimal": lambda value: _decimal(value["decimal"]),
    "timestamp": lambda value: datetime.fromisoformat(value["timestamp"]),
    "date": lambda value: date.fromisoformat(value["date"]),
    "tuple": lambda value: tuple(read(item) for item in value["tuple"]),
    "table": lambda value: {read(key): read(item) for key, item in value["table"]},
}
"""By the first key of what was written."""
