"""How values of Spark leave it: as Parquet, by expressions that never fail.

Theorem  No value makes a file that cannot be read, or changes another value.
Proof    Which expressions are used follows from the types of columns. They compare, cut and validate, which are total
         for these types. Days and times lie in the years 1 to 9999, texts are UTF-8, and a value has at most
         `VALUE_BYTES` bytes, or is a part and its digest, and nothing else has that length.

Casts to the types of the policy are not Spark's: TRY_CAST accepts '1d', '2024-2' and 'today' there. DuckDB makes them,
by the rules that it has for files. Texts are written as they are, whatever their collation, and compared bytewise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from discreet.engines.postgres_types import CUT_BYTES, CUT_LENGTH, VALUE_BYTES
from discreet.engines.spark.building import functions
from discreet.quoting import TEXT_LENGTH

PLAIN: Final = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
}
DATED: Final = {
    "date": ("DATE", "0001-01-01", "9999-12-31"),
    "timestamp_ntz": ("TIMESTAMP", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    "timestamp": ("TIMESTAMP WITH TIME ZONE", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT: Final = re.compile(r"string|string collate [A-Za-z0-9_.]+|(?:var)?char\(\d+\)(?: collate [A-Za-z0-9_.]+)?")


VARIABLE: Final = "${"
"""Where Parquet is written and read, Hadoop puts a setting of the machine into the place of `${its name}`, in names of
columns too: such a column would be another, or be empty."""


@dataclass(frozen=True, slots=True)
class Written:
    """How a column leaves: what Spark writes of it, and the type that DuckDB finds; None: it holds no single value."""

    of: Callable[[Any], Any] | None
    kind: str


def written_as(label: str, type_: str) -> Written:
    """A column by its name and Spark's name of its type."""
    return Written(None, f"TYPE {type_}") if VARIABLE in label else written(type_)


def written(type_: str) -> Written:
    """By Spark's name of a type."""
    if type_ in PLAIN:
        return Written(lambda column: column, PLAIN[type_])
    if type_ in DATED:
        return Written(lambda column: _dated(column, type_), DATED[type_][0])
    if _DECIMAL.fullmatch(type_):
        return Written(lambda column: column, type_.upper())
    if type_ == "binary":
        return Written(_bytes, "BLOB")
    if _TEXT.fullmatch(type_):
        return Written(_text, "VARCHAR")
    return Written(None, f"TYPE {type_}")


def _dated(column: Any, type_: str) -> Any:
    f = functions()

    _, low, high = DATED[type_]  # from texts: a day of Python's goes through a calendar of Java's, which is another
    return f.when(column.between(f.lit(low).cast(type_), f.lit(high).cast(type_)), column)


def _text(column: Any) -> Any:
    f = functions()

    value = f.try_validate_utf8(f.collate(column, "UTF8_BINARY"))
    cut = f.concat(f.left(value, f.lit(TEXT_LENGTH)), f.sha2(value, 256))
    is_cut = (f.octet_length(value) > VALUE_BYTES) | (f.char_length(value) == CUT_LENGTH)
    return f.when(is_cut, cut).otherwise(value)


def _bytes(column: Any) -> Any:
    f = functions()

    cut = f.concat(f.substring(column, 1, TEXT_LENGTH), f.unhex(f.sha2(column, 256)))
    is_cut = (f.octet_length(column) > VALUE_BYTES) | (f.octet_length(column) == CUT_BYTES)
    return f.when(is_cut, cut).otherwise(column)
