"""Answers as data frames: each noisy column is followed by the ends of its interval; the items of lists hold theirs.

The type of a column is the declared one where its values fit, so that the frame of an empty answer, or of one full of
NULL, has the types that it would have with values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib import import_module
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, Final

from discreet.answers.figures import is_listing, item_ends, number_ends
from discreet.policy import Kind

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

INT64: Final = range(-(2**63), 2**63)
INT128: Final = (-(2**127), 2**127 - 1)
KINDS: Final[dict[type, Kind]] = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.NUMBER,
    str: Kind.TEXT,
    date: Kind.DATE,
    datetime: Kind.TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a frame: values of one kind and None; without a kind there is nothing but None."""

    name: str
    kind: Kind | None
    values: list[Any]
    fields: tuple[Column, ...] = ()
    """Of a column of lists: the fields of all their items, one list after the other."""

    @property
    def has_nulls(self) -> bool:
        return any(value is None for value in self.values)

    @property
    def fits_int64(self) -> bool:
        return all(value is None or value in INT64 for value in self.values)

    def floats(self) -> list[float | None]:
        return [None if value is None else _float(value) for value in self.values]

    def regrouped(self, fields: Sequence[Iterable[Any]]) -> list[list[dict[str, Any]] | None]:
        """The lists again, from the values that their fields have in a library."""
        names = [field.name for field in self.fields]
        items = (dict(zip(names, item, strict=True)) for item in zip(*fields, strict=True))
        return [None if value is None else list(islice(items, len(value))) for value in self.values]


def columns_of(
    names: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    intervals: Sequence[Mapping[str, Any]],
    kinds: Mapping[str, Kind],
    noisy: Sequence[str],
) -> list[Column]:
    """The columns in order, each noisy one followed by its ends; no two of one name."""
    taken, frame = set(names), list[Column]()
    for index, name in enumerate(names):
        label = _free(name, taken) if name in names[:index] else name
        values, known = [row[index] for row in rows], [row.get(name) for row in intervals]
        if _holds_lists(values, is_named=name in kinds or not kinds, is_noisy=name in noisy):
            frame.append(_list_column(label, values, known))
            continue
        column = _column(label, values, kinds.get(name), name in noisy)
        frame.append(column)
        if name not in noisy:
            continue
        pairs = [number_ends(each) or (None, None) for each in known]
        for end, side in enumerate(("low", "high")):
            ends = [pair[end] for pair in pairs]
            frame.append(_column(_free(f"{name}_{side}", taken), ends, column.kind, True))
    return frame


def to_pandas(columns: Sequence[Column]) -> pandas.DataFrame:
    pd = _library("pandas")
    text = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "object"
    plain = {
        Kind.NUMBER: "float64",
        Kind.TEXT: text,
        Kind.DATE: "datetime64[us]",
        Kind.TIMESTAMP: "datetime64[us]",
        None: "object",
    }

    def series(column: Column) -> Any:
        match column.kind:
            case Kind.INTEGER if not column.fits_int64:
                kind = "object"
            case Kind.INTEGER:
                kind = "Int64" if column.has_nulls else "int64"
            case Kind.BOOLEAN:
                kind = "boolean" if column.has_nulls else "bool"
            case _:
                kind = plain[column.kind]
        if column.fields:
            values: list[Any] = column.regrouped([field.values for field in column.fields])
        else:
            values = column.floats() if column.kind is Kind.NUMBER else column.values
        return pd.Series(values, dtype=kind)

    return pd.DataFrame({column.name: series(column) for column in columns})


def to_polars(columns: Sequence[Column]) -> polars.DataFrame:
    pl = _library("polars")
    kinds = {
        Kind.TEXT: pl.String,
        Kind.BOOLEAN: pl.Boolean,
        Kind.DATE: pl.Date,
        Kind.TIMESTAMP: pl.Datetime("us"),
        None: pl.Null,
    }

    def series(column: Column) -> Any:
        if column.fields:
            fields = [series(field) for field in column.fields]
            items = pl.Struct({field.name: field.dtype for field in fields})
            return pl.Series(column.name, column.regrouped(fields), dtype=pl.List(items))
        if column.kind is Kind.INTEGER and column.fits_int64:
            return pl.Series(column.name, column.values, dtype=pl.Int64)
        if column.kind is Kind.INTEGER and _within(column, INT128):
            return pl.Series(column.name, column.values, dtype=pl.Int128)
        if column.kind in (Kind.INTEGER, Kind.NUMBER):
            return pl.Series(column.name, column.floats(), dtype=pl.Float64)
        return pl.Series(column.name, column.values, dtype=kinds[column.kind])

    frame: polars.DataFrame = pl.DataFrame([series(column) for column in columns])
    return frame


def to_arrow(columns: Sequence[Column]) -> pyarrow.Table:
    pa = _library("pyarrow")
    kinds = {
        Kind.TEXT: pa.string(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.DATE: pa.date32(),
        Kind.TIMESTAMP: pa.timestamp("us"),
        None: pa.null(),
    }

    def array(column: Column) -> Any:
        if column.fields:
            fields = {field.name: array(field) for field in column.fields}
            items = pa.struct({name: field.type for name, field in fields.items()})
            return pa.array(column.regrouped([field.to_pylist() for field in fields.values()]), type=pa.list_(items))
        if column.kind is Kind.INTEGER and column.fits_int64:
            return pa.array(column.values, type=pa.int64())
        if column.kind is Kind.INTEGER and _within(column, (1 - 10**38, 10**38 - 1)):
            return pa.array(column.values, type=pa.decimal128(38, 0))
        if column.kind in (Kind.INTEGER, Kind.NUMBER):
            return pa.array(column.floats(), type=pa.float64())
        return pa.array(column.values, type=kinds[column.kind])

    return pa.table([array(column) for column in columns], names=[column.name for column in columns])


def _holds_lists(values: Sequence[Any], *, is_named: bool, is_noisy: bool) -> bool:
    """Where there are no values: an answer names the types of its noisy numbers, so what it leaves out are lists."""
    some = [value for value in values if value is not None]
    return all(map(is_listing, some)) if some else is_noisy and not is_named


def _list_column(name: str, values: list[Any], known: Sequence[Any]) -> Column:
    """A list stays one value; its items are value, count, low and high."""
    items = [item for value in values for item in value or ()]
    ends = [
        pair or (None, None) for value, each in zip(values, known, strict=True) for pair in item_ends(value or (), each)
    ]
    fields = (
        _column("value", [item["value"] for item in items], None, False),
        _column("count", [item["count"] for item in items], Kind.INTEGER, True),
        _column("low", [low for low, _ in ends], Kind.INTEGER, True),
        _column("high", [high for _, high in ends], Kind.INTEGER, True),
    )
    return Column(name, None, values, fields)


def _column(name: str, values: list[Any], declared: Kind | None, noisy: bool) -> Column:
    seen = {_kind(value) for value in values if value is not None}
    kind: Kind | None
    if not seen:
        kind = declared or (Kind.NUMBER if noisy else None)
    elif seen == {declared} or (declared is Kind.NUMBER and seen <= {Kind.INTEGER, Kind.NUMBER}):
        kind = declared
    elif seen == {Kind.INTEGER, Kind.NUMBER}:
        kind = Kind.NUMBER
    else:
        kind = seen.pop() if len(seen) == 1 else Kind.TEXT
    if kind is Kind.TEXT:
        values = [None if value is None else _text(value) for value in values]
    return Column(name, kind, values)


def _kind(value: object) -> Kind:
    """Exact types: a bool is no int, a datetime no date; one with a time zone has no type that all libraries share."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return Kind.TEXT
    return KINDS.get(type(value), Kind.TEXT)


def _text(value: object) -> str:
    """Any value as text that can be stored: halves of surrogate pairs cannot."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _within(column: Column, bounds: tuple[int, int]) -> bool:
    return all(value is None or bounds[0] <= value <= bounds[1] for value in column.values)


def _free(wanted: str, taken: set[str]) -> str:
    names = chain([wanted], (f"{wanted}_{number}" for number in count(2)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed: pip install {name}", name=name) from None
