"""Values as JSON has them: numbers, texts, dates, losses, lists and arrays of plain types, and nothing that executes.

Serialisation is explicit because what is read may have been written by somebody else: reading makes values of the kinds
in one table, and calls nothing that the text names. Packages add kinds of their own (`Codec.also`).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting import Concentrated, Pure
from discreet.exact import number

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
"""What reading raises where the text is not what was written."""
FRACTION: Final = re.compile(r"-?[0-9]+(?:/[0-9]+)?")
MOST_LETTERS: Final = 2**26
"""Of an array of texts."""

Writer = Callable[["Codec", Any], Any]
Reader = Callable[["Codec", dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """How values are written and read: a table of each. What JSON cannot say is a table that names its kind first."""

    writers: tuple[tuple[Any, Writer], ...]
    """By type; the first that fits is used."""
    readers: Mapping[str, Reader]
    """By the first key of what was written."""

    def also(self, writers: tuple[tuple[Any, Writer], ...], readers: Mapping[str, Reader]) -> Codec:
        """The same with more kinds."""
        return Codec((*self.writers, *writers), {**self.readers, **readers})

    def written(self, value: Any) -> Any:
        """As JSON has it; ValueError for what no kind fits."""
        if value is None or isinstance(value, bool | str):
            return value
        for kind, write in self.writers:
            if isinstance(value, kind):
                return write(self, value)
        raise ValueError(f"a {type(value).__name__} cannot be put on record")

    def read(self, value: Any) -> Any:
        """What was written; one of UNREADABLE if it was not."""
        if isinstance(value, list):
            return [self.read(item) for item in value]
        if not isinstance(value, dict):
            return value
        return self.readers[next(iter(value), "")](self, value)


# writing


def _array(codec: Codec, value: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(value)
    held = array.dtype.newbyteorder("<").str.replace("=", "<") if array.dtype.kind in "biuf" else ""
    shape = list(np.shape(value))
    if held in PLAIN:
        data = base64.b64encode(array.astype(held).tobytes()).decode("ascii")
        return {"array": data, "dtype": held, "shape": shape}
    if array.dtype.kind not in "OU":
        raise ValueError(f"an array of {array.dtype} cannot be put on record")
    kind = "texts" if array.dtype.kind == "U" else "objects"
    return {kind: [codec.written(item) for item in np.asarray(value).ravel().tolist()], "shape": shape}


def _real(_: Codec, value: float) -> Any:
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


def _mapping(codec: Codec, value: Mapping[Any, Any]) -> dict[str, Any]:
    return {"table": [[codec.written(key), codec.written(item)] for key, item in value.items()]}


def _pure(_: Codec, value: Pure) -> dict[str, Any]:
    return {"pure": str(value.epsilon), **_unit(value)}


def _concentrated(_: Codec, value: Concentrated) -> dict[str, Any]:
    return {"concentrated": [str(value.rho), str(value.delta)], **_unit(value)}


def _unit(value: Pure | Concentrated) -> dict[str, Any]:
    return {} if value.unit is None else {"unit": value.unit}


def _listed(codec: Codec, value: Any) -> Any:
    return [codec.written(item) for item in value]


# reading


def _read_array(_: Codec, value: dict[str, Any]) -> Any:
    held = value["dtype"]
    if held not in PLAIN:
        raise ValueError(held)
    data = base64.b64decode(value["array"], validate=True)
    return np.frombuffer(data, dtype=np.dtype(held)).reshape(_shape(value)).copy()


def _read_texts(_: Codec, value: dict[str, Any]) -> Any:
    items = value["texts"]
    if not all(isinstance(item, str) for item in items):
        raise ValueError("texts")
    if len(items) * max(map(len, items), default=0) > MOST_LETTERS:  # each gets the room of the longest
        raise ValueError("texts")
    return np.array(items, dtype=str).reshape(_shape(value))


def _read_objects(codec: Codec, value: dict[str, Any]) -> Any:
    items = [codec.read(item) for item in value["objects"]]
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


VALUES: Final = Codec(
    writers=(
        (np.ndarray, _array),
        (np.generic, lambda codec, value: {"scalar": _array(codec, np.array([value]))}),
        (int, lambda _, value: int(value)),
        (float, _real),
        (Pure, _pure),
        (Concentrated, _concentrated),
        (Fraction, lambda _, value: {"fraction": str(value)}),
        (Decimal, lambda _, value: {"decimal": str(value)}),
        (datetime, lambda _, value: {"timestamp": value.isoformat()}),
        (date, lambda _, value: {"date": value.isoformat()}),
        (list, _listed),
        (tuple, lambda codec, value: {"tuple": _listed(codec, value)}),
        (Mapping, _mapping),
    ),
    readers={
        "array": _read_array,
        "texts": _read_texts,
        "objects": _read_objects,
        "scalar": lambda codec, value: _read_array(codec, value["scalar"])[0],
        "float": lambda _, value: float(value["float"]),
        "pure": lambda _, value: Pure(_fraction(value["pure"]), unit=value.get("unit")),
        "concentrated": lambda _, value: Concentrated(*map(_fraction, value["concentrated"]), unit=value.get("unit")),
        "fraction": lambda _, value: _fraction(value["fraction"]),
        "decimal": lambda _, value: _decimal(value["decimal"]),
        "timestamp": lambda _, value: datetime.fromisoformat(value["timestamp"]),
        "date": lambda _, value: date.fromisoformat(value["date"]),
        "tuple": lambda codec, value: tuple(codec.read(item) for item in value["tuple"]),
        "table": lambda codec, value: {codec.read(key): codec.read(item) for key, item in value["table"]},
    },
)
