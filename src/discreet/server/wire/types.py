"""Values and the bytes that PostgreSQL's types have for them, as text and in binary."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

from discreet.policy import Kind
from discreet.server.wire.problems import Failed
from discreet.server.wire.protocol import BINARY, Field

BOOL, INT8, INT2, INT4, TEXT, OID, JSON = 16, 20, 21, 23, 25, 26, 114
FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR, NAME, CHAR = 700, 701, 705, 1042, 1043, 19, 18
DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC = 1082, 1114, 1184, 1700
TEXTS, INT8S, BOOLS = 1009, 1016, 1000
SIZES: Final = {BOOL: 1, INT2: 2, INT4: 4, INT8: 8, OID: 4, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, TIMESTAMPTZ: 8}
NAMES: Final = {
    BOOL: "boolean", INT2: "smallint", INT4: "integer", INT8: "bigint", TEXT: "text", JSON: "json", OID: "oid",
    FLOAT8: "double precision", DATE: "date", TIMESTAMP: "timestamp without time zone", VARCHAR: "character varying",
    NUMERIC: "numeric", FLOAT4: "real", TIMESTAMPTZ: "timestamp with time zone", NAME: "name", CHAR: '"char"',
}  # fmt: skip
"""As `format_type` writes them."""
OF_KINDS: Final = {
    Kind.BOOLEAN: BOOL, Kind.INTEGER: INT8, Kind.NUMBER: FLOAT8, Kind.TEXT: TEXT, Kind.DATE: DATE,
    Kind.TIMESTAMP: TIMESTAMP,
}  # fmt: skip
INT64: Final = range(-(2**63), 2**63)
FIRST: Final = datetime(2000, 1, 1)
MAX_DIGITS: Final = 4000
"""Characters of a parameter that is a number, and its digits: Python writes no whole numbers with many more."""


def field(name: str, oid: int) -> Field:
    return Field(name, oid, SIZES.get(oid, -1))


# values that are shown


def shown(value: Any, oid: int, format_: int) -> bytes | None:
    """A value as its column's type has it. What does not fit a type in binary is told: the answer is cached by then."""
    if value is None:
        return None
    if format_ == BINARY and oid in PACKED:
        try:
            return PACKED[oid](value)
        except (struct.error, OverflowError, ValueError, TypeError, AttributeError):
            text = "a value does not fit the type of its column in binary"
            raise Failed("22003", text, "ask again (it is cached, and free) with results as text") from None
    return written(value).encode("utf-8", "replace")


def written(value: Any) -> str:
    """A value as PostgreSQL writes it."""
    kind = type(value)
    if kind is bool:
        return "t" if value else "f"
    if kind is float:
        return _float(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, list | tuple):
        if any(isinstance(each, dict) for each in value):
            return _json(value)
        return "{" + ",".join(_element(each) for each in value) + "}"
    if isinstance(value, dict):
        return _json(value)
    if isinstance(value, Fraction):
        return _float(float(value))
    return str(value)


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if not isinstance(value, str):
        return written(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _microseconds(value: datetime) -> int:
    plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return (plain - FIRST) // timedelta(microseconds=1)


def _days(value: date) -> int:
    return (date(value.year, value.month, value.day) - FIRST.date()).days


def _whole(value: Any) -> int:
    if value != int(value):
        raise ValueError
    return int(value)


def _array(oid: int, element: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    def packed(values: Any) -> bytes:
        cells = [
            struct.pack("!i", -1) if each is None else struct.pack("!i", len(cell := element(each))) + cell
            for each in values
        ]
        shape = struct.pack("!ii", len(cells), 1) if cells else b""
        nulls = any(each is None for each in values)
        return struct.pack("!iiI", 1 if cells else 0, nulls, oid) + shape + b"".join(cells)

    return packed


def _numeric(value: Any) -> bytes:
    """Digits of base 10,000, the weight of the first, the sign, and how many decimals are shown."""
    sign, digits, exponent = Decimal(str(value)).as_tuple()
    if not isinstance(exponent, int):
        return struct.pack("!hhHh", 0, 0, 0xC000, 0)
    scale = max(0, -exponent)
    whole = int("".join(map(str, digits))) * 10 ** max(0, exponent)
    shifted, groups = whole * 10 ** (-scale % 4), []
    while shifted:
        shifted, group = divmod(shifted, 10_000)
        groups.append(group)
    weight = len(groups) - 1 - (scale + 3) // 4
    while groups and not groups[0]:
        groups.pop(0)
    header = struct.pack("!hhHh", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale)
    return header + b"".join(struct.pack("!h", group) for group in reversed(groups))


def _text(value: Any) -> bytes:
    return written(value).encode("utf-8", "replace")


PACKED: Final[dict[int, Callable[[Any], bytes]]] = {
    BOOL: lambda value: b"\1" if value else b"\0",
    INT2: lambda value: struct.pack("!h", _whole(value)),
    INT4: lambda value: struct.pack("!i", _whole(value)),
    INT8: lambda value: struct.pack("!q", _whole(value)),
    OID: lambda value: struct.pack("!I", _whole(value)),
    FLOAT8: lambda value: struct.pack("!d", float(value)),
    DATE: lambda value: struct.pack("!i", _days(value)),
    TIMESTAMP: lambda value: struct.pack("!q", _microseconds(value)),
    TIMESTAMPTZ: lambda value: struct.pack("!q", _microseconds(value)),
    NUMERIC: _numeric,
    TEXTS: _array(TEXT, _text),
    INT8S: _array(INT8, lambda value: struct.pack("!q", value)),
    BOOLS: _array(BOOL, lambda value: b"\1" if value else b"\0"),
}
"""Types whose binary form is not their text."""


# values that are sent


def received(data: bytes | None, oid: int, format_: int) -> Any:
    """The value of a parameter."""
    if data is None:
        return None
    read = (UNPACKED if format_ == BINARY else READ).get(oid)
    if read is None:
        known = ", ".join(sorted({NAMES[each] for each in READ if each in NAMES}))
        raise Failed("0A000", f"parameters of type {oid} are not understood", f"types: {known}")
    try:
        return read(data)
    except (ValueError, OverflowError, struct.error, InvalidOperation):
        raise Failed("22P02", "the value of a parameter is not one of its type", "") from None


def _decoded(data: bytes) -> str:
    text = data.decode()
    if "\0" in text:
        raise ValueError
    return text


def _digits(data: bytes) -> str:
    """A number as PostgreSQL writes it: Python would also take 1_0, and digits of other scripts."""
    text = _decoded(data).strip()
    if len(text) > MAX_DIGITS or not text.isascii() or "_" in text:
        raise ValueError
    return text


def _number(data: bytes) -> int | Decimal:
    text = _digits(data)
    value = Decimal(text)
    if not value.is_finite() or abs(value.adjusted()) > MAX_DIGITS:
        raise ValueError
    return int(value) if value == value.to_integral_value() and "." not in text else value


def _integer(data: bytes) -> int:
    text = _digits(data)
    if len(text) > 20:
        raise ValueError
    value = int(text)
    if value not in INT64:
        raise ValueError
    return value


def _real(data: bytes) -> float:
    return float(_digits(data))


def _bool(data: bytes) -> bool:
    text = _decoded(data).strip().lower()
    if text not in TRUE | FALSE:
        raise ValueError
    return text in TRUE


TRUE: Final = frozenset({"t", "true", "y", "yes", "on", "1"})
FALSE: Final = frozenset({"f", "false", "n", "no", "off", "0"})


def _moment(data: bytes) -> datetime:
    value = datetime.fromisoformat(_decoded(data).strip())
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def _from_numeric(data: bytes) -> int | Decimal:
    count, weight, sign, scale = struct.unpack("!hhHh", data[:8])
    if sign not in (0, 0x4000) or count < 0 or len(data) != 8 + 2 * count or not 0 <= scale <= 1000:
        raise ValueError
    groups = struct.unpack(f"!{count}h", data[8:])
    if abs(weight) > 250 or any(not 0 <= group < 10_000 for group in groups):
        raise ValueError
    whole = sum(group * 10_000 ** (count - 1 - index) for index, group in enumerate(groups))
    value = Fraction(whole) * Fraction(10_000) ** (weight - count + 1) * (-1 if sign else 1)
    if value.denominator == 1 and not scale:
        return int(value)
    return Decimal(round(value * 10**scale)).scaleb(-scale)


def _unpacked(form: str) -> Callable[[bytes], Any]:
    def read(data: bytes) -> Any:
        (value,) = struct.unpack(form, data)
        return value

    return read


_whole_texts: Final = dict.fromkeys((INT2, INT4, INT8, OID), _integer)
_texts: Final = dict.fromkeys((TEXT, VARCHAR, BPCHAR, NAME, CHAR, UNKNOWN, 0), _decoded)
READ: Final[dict[int, Callable[[bytes], Any]]] = {
    **_whole_texts,
    **_texts,
    **dict.fromkeys((FLOAT4, FLOAT8), _real),
    NUMERIC: _number,
    BOOL: _bool,
    DATE: lambda data: date.fromisoformat(_decoded(data).strip()),
    TIMESTAMP: _moment,
    TIMESTAMPTZ: _moment,
}
UNPACKED: Final[dict[int, Callable[[bytes], Any]]] = {
    **_texts,
    BOOL: lambda data: _unpacked("!b")(data) != 0,
    INT2: _unpacked("!h"),
    INT4: _unpacked("!i"),
    INT8: _unpacked("!q"),
    OID: _unpacked("!I"),
    FLOAT4: _unpacked("!f"),
    FLOAT8: _unpacked("!d"),
    NUMERIC: _from_numeric,
    DATE: lambda data: FIRST.date() + timedelta(days=_unpacked("!i")(data)),
    TIMESTAMP: lambda data: FIRST + timedelta(microseconds=_unpacked("!q")(data)),
    TIMESTAMPTZ: lambda data: FIRST + timedelta(microseconds=_unpacked("!q")(data)),
}
