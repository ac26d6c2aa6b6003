"""Publications, and what they publish, as bytes: JSON of registered values, and nothing is executed.

Values are those of `answers.values`, and frozen dataclasses that are marked with `@stored`: written by the names of
their fields, and read by their constructor, which checks them. So a marked class must check in `__post_init__` all
that its methods rely on: the bytes may have been written by somebody else.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeVar

from discreet.answers.values import UNREADABLE, VALUES, Codec
from discreet.ledger import LedgerDamaged
from discreet.ledger.entries import CHANGED

VERSION: Final = 1
MOST_BYTES: Final = 2**28
"""Of one published value."""
STORED: Final[dict[str, type[Any]]] = {}
"""By name: what can be read."""
Class = TypeVar("Class", bound=type[Any])
Value = TypeVar("Value")


def stored(kind: Class) -> Class:
    """A frozen dataclass whose values can be written and read."""
    if not is_dataclass(kind) or STORED.setdefault(kind.__name__, kind) is not kind:
        raise TypeError(f"{kind.__name__} is no dataclass, or there are two of this name")
    return kind


def demand_type(**values: tuple[object, type[Any] | tuple[type[Any], ...]]) -> None:
    """ValueError unless each value is of its type: for `__post_init__`, since whoever wrote the bytes is not known."""
    for name, (value, kind) in values.items():
        if not isinstance(value, kind):
            raise ValueError(f"{name} is a {type(value).__name__}")


def _value(codec: Codec, value: Any) -> dict[str, Any]:
    if STORED.get(type(value).__name__) is not type(value):
        raise ValueError(f"a {type(value).__name__} cannot be put on record")
    written = {field.name: codec.written(getattr(value, field.name)) for field in fields(value) if _is_stored(field)}
    return {"stored": type(value).__name__, "fields": written}


def _is_stored(field: Any) -> bool:
    return field.init and not field.metadata.get("unstored", False)


def _read(codec: Codec, value: dict[str, Any]) -> Any:
    kind = STORED[value["stored"]]
    named = {field.name for field in fields(kind) if _is_stored(field)}
    if set(value["fields"]) - named:
        raise ValueError(value["stored"])
    return kind(**{name: codec.read(item) for name, item in value["fields"].items()})


CODEC: Final = VALUES.also(((object, _value),), {"stored": _read})


def document(value: Any) -> dict[str, Any]:
    """As JSON has it, with the version of the form; ValueError if it holds what cannot be written."""
    return {"version": VERSION, "value": CODEC.written(value)}


def encode(value: Any) -> bytes:
    """As bytes; ValueError if it holds what cannot be written, or is too large."""
    written = json.dumps(document(value), separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(written) > MOST_BYTES:
        raise ValueError("what would be published is too large to be kept")
    return written


def value_of(read: Any) -> Any:
    """The value of a document; None if another version of discreet wrote it."""
    return CODEC.read(read["value"]) if read["version"] == VERSION else None


def decode(written: bytes, kind: type[Value]) -> Value | None:
    """A value of this kind; None if another version wrote it, `LedgerDamaged` if it is not what any of them wrote."""
    value: Any = ...
    try:
        if len(written) <= MOST_BYTES:
            value = value_of(json.loads(written))
    except UNREADABLE:
        value = ...
    if value is None or isinstance(value, kind):
        return value
    raise LedgerDamaged("a published value cannot be read", CHANGED)
