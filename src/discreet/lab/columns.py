"""Tables of the caller as columns of codes: for each row a number that stands for its value, in the order of values.

What is measured here is the caller's own table. Nothing is private towards whoever calls, nothing is charged, and no
ledger is touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any, Final

import numpy as np

from discreet.errors import Refused
from discreet.lab.invented import Floats, Integers
from discreet.lab.table_files import Texts, read
from discreet.printing import printable

MISSING: Final = frozenset({"na", "n/a", "nan", "none", "null", "\\n"})
"""What stands for a missing value among numbers and dates; among words it may be one (NA is also Namibia)."""
SHOWN: Final = 12
"""Names of columns that a refusal lists."""
_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,399})")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,399})?(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FAR: Final = 1e300


class Kind(StrEnum):
    """What the values of a column are: only numbers and dates are near each other or far apart."""

    NUMBER = "number"
    DATE = "date"
    TEXT = "text"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column: its distinct values in order (None first, where some are missing), and the place of each row's value.

    >>> column = column_of("age", [50, None, 7, 50])
    >>> column.values, column.codes.tolist(), column.kind.value
    ((None, 7, 50), [2, 0, 1, 2], 'number')
    """

    name: str
    values: tuple[Any, ...]
    codes: Integers
    kind: Kind

    @property
    def ordered(self) -> bool:
        return self.kind is not Kind.TEXT

    @property
    def gaps(self) -> int:
        """How many of the first values are None: one or none."""
        return int(bool(self.values) and self.values[0] is None)

    def positions(self) -> Floats:
        """Where each value lies between the least, 0, and the greatest, 1; words by their rank. None lies at 0."""
        known = self.values[self.gaps :]
        ranked = list(range(len(known))) if self.kind is Kind.TEXT else _comparable(known)
        span = ranked[-1] - ranked[0] if len(ranked) > 1 else None
        placed = [(value - ranked[0]) / span for value in ranked] if span else [0.0] * len(ranked)
        return np.array([0.0] * self.gaps + placed, dtype=np.float64)


def _comparable(values: Sequence[Any]) -> list[Any]:
    """Values that can be taken from each other: exact integers and dates, or floats that do not overflow."""
    if all(isinstance(value, int | date) for value in values):
        return list(values)
    return [float(min(max(value, -_FAR), _FAR)) for value in values]


def columns_of(table: Any, names: Sequence[str]) -> tuple[Column, ...]:
    """The named columns of a table: a mapping of columns, a pandas, polars or pyarrow table, or the path of a file.

    >>> age, sex = columns_of({"age": [3, 4], "sex": ["f", "m"], "name": ["x", "y"]}, ["age", "sex"])
    >>> sex.values
    ('f', 'm')
    """
    source = read(Path(table)) if isinstance(table, str | Path) else table
    keys = _keys(source)
    known = [str(key) for key in keys]
    for name in names:
        _demand(name, known)
    columns = tuple(column_of(name, _values(source, keys[known.index(name)])) for name in names)
    rows = {column.codes.size for column in columns}
    if len(rows) > 1:
        raise Refused("table-invalid", "columns differ in length", "give each row a value in every column, or None")
    if rows == {0}:
        raise Refused("table-invalid", "the table has no rows", "name a table with at least one row")
    return columns


def _keys(table: Any) -> list[Any]:
    """What the table calls its columns: mostly words, in pandas also numbers."""
    names = getattr(table, "column_names", None)  # pyarrow
    if names is None:
        names = table.keys() if isinstance(table, Mapping) else getattr(table, "columns", None)
    if names is None or callable(names):
        raise Refused(
            "table-invalid",
            f"a {type(table).__name__} is no table",
            "give a mapping of columns, a pandas, polars or pyarrow table, or the path of a CSV or Parquet file",
        )
    return list(names)


def _demand(name: str, known: list[str]) -> None:
    if known.count(name) == 1:
        return
    if name in known:
        raise Refused("unknown-column", f"two columns are called {printable(name)}", "rename one of them")
    folded = {other.casefold(): other for other in reversed(known)}
    near = [folded[match] for match in get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)]
    listed = ", ".join(map(printable, known[:SHOWN])) + (", …" if len(known) > SHOWN else "")
    fix = f"did you mean {' or '.join(map(printable, near))}?" if near else f"the columns are {listed}"
    raise Refused("unknown-column", f"no column is called {printable(name) or 'by an empty name'}", fix)


def _values(table: Any, key: Any) -> Any:
    column = table[key]
    if hasattr(column, "to_pylist"):  # pyarrow's own arrays lose what is missing, and dates
        return column.to_pylist()
    return column.to_numpy() if hasattr(column, "to_numpy") else column


def column_of(name: str, values: Any) -> Column:
    """A column of any values: numbers, dates and words, or texts of a file that may stand for such."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufU":
        distinct, codes = np.unique(values, return_inverse=True)
        return _column(name, distinct.tolist(), codes.astype(np.int64))
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "M":
        fine = "us" if np.datetime_data(values.dtype)[0] not in ("Y", "M", "W", "D") else "D"
        distinct, codes = np.unique(values.astype(f"datetime64[{fine}]"), return_inverse=True)
        return _column(name, distinct.tolist(), codes.astype(np.int64))
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise Refused("table-invalid", f"{printable(name)} is no column", "give a sequence with one value for each row")
    listed = list(values)
    try:
        places = {value: code for code, value in enumerate(dict.fromkeys(listed))}
    except TypeError:
        raise Refused(
            "table-invalid", f"{printable(name)} has values that are lists or such", "give numbers, dates or words"
        ) from None
    codes = np.fromiter((places[value] for value in listed), dtype=np.int64, count=len(listed))
    distinct_values = list(places)
    return _column(name, _of_texts(distinct_values) if isinstance(values, Texts) else distinct_values, codes)


def _column(name: str, distinct: Sequence[Any], codes: Integers) -> Column:
    """Sort what is distinct; values that are the same when all is said (1 and 1.0, two NaN) become one."""
    plain = [None if _missing(value) else value for value in distinct]
    known = list(dict.fromkeys(value for value in plain if value is not None))
    kind = _kind(known)
    if kind is Kind.TEXT:
        plain = [None if value is None else str(value) for value in plain]
        known = list(dict.fromkeys(value for value in plain if value is not None))
    values = (*([None] if any(value is None for value in plain) else []), *sorted(known))
    code = {value: rank for rank, value in enumerate(values)}
    ranks = np.array([code[value] for value in plain], dtype=np.int64)
    return Column(name, values, ranks[codes], kind)


def _kind(values: Sequence[Any]) -> Kind:
    if not values or any(isinstance(value, bool | np.bool_) for value in values):
        return Kind.TEXT
    if all(isinstance(value, Real | Decimal) for value in values):
        exact = {Decimal, Fraction} & {type(value) for value in values}
        return Kind.NUMBER if len(exact) < 2 else Kind.TEXT  # Python does not compare the two
    if all(isinstance(value, date) for value in values):
        aware = {value.tzinfo is not None if isinstance(value, datetime) else None for value in values}
        return Kind.DATE if len(aware) == 1 else Kind.TEXT
    return Kind.TEXT


def _missing(value: Any) -> bool:
    """None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real | Decimal) and value != value


def _of_texts(texts: Sequence[str]) -> list[Any]:
    """What the texts of a file stand for: numbers, if all are; else dates, if all are; else words.

    A number with a leading zero is a word, as ZIP codes and telephone numbers are.

    >>> _of_texts(["7", "", "NA", "-1.50"]), _of_texts(["02138", "NA"]), _of_texts(["2026-01-02"])
    ([7, None, None, Decimal('-1.50')], ['02138', 'NA'], [datetime.date(2026, 1, 2)])
    """
    given = [text for text in texts if text and text.casefold() not in MISSING]
    reader = next((reader for pattern, reader in _READERS if given and all(map(pattern.fullmatch, given))), None)
    if reader is not None:
        try:
            return [reader(text) if text and text.casefold() not in MISSING else None for text in texts]
        except (ValueError, ArithmeticError):  # 2026-02-30, or a lone minus
            pass
    return [text or None for text in texts]


def _number(text: str) -> int | Decimal:
    return int(text) if _WHOLE.fullmatch(text) else Decimal(text)


_READERS: Final = ((_NUMBER, _number), (_DATE, date.fromisoformat))
