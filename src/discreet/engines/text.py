"""Pieces of DuckDB's SQL that are put together from names and values."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from discreet.policy.layout import TYPES
from discreet.policy.model import Column, Kind, Source
from discreet.quoting import literal, name, stored

INTEGERS: Final = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"]
)
FLOATS: Final = frozenset({"FLOAT", "DOUBLE"})
_NO_VALUE: Final = re.compile(r"BIGNUM|VARINT|STRUCT|TUPLE|MAP\(|UNION\(|VARIANT|GEOMETRY|LAMBDA|\[|\"NULL\"|TYPE")
"""Types that hold no single value, or whose casts fail: DuckDB 2.0 gives up the database for a large BIGNUM."""


def castable(kind: str) -> bool:
    """Whether a cast from this type is total: TRY_CAST gives NULL for what it cannot cast, and never fails.

    >>> castable("DECIMAL(18,2)"), castable("ENUM('MAP(')"), castable("BIGNUM"), castable("INTEGER[]")
    (True, True, False, False)
    """
    return kind.startswith("ENUM(") or not _NO_VALUE.search(kind)


def source_column(column: str, kind: str) -> str:
    """A column of a source, as a value that every cast survives.

    Before its own −infinity DuckDB 2.0 has one more time, and gives up the database when it is asked for its text.
    """
    value = name(column)
    return f"CASE WHEN {value} >= TIMESTAMP '-infinity' THEN {value} END" if kind == "TIMESTAMP" else value


def plain_text(expression: str, *, collated: bool) -> str:
    """Any value as text that is compared bytewise: a column's collation survives casts and functions, but not this."""
    cast = f"CAST({expression} AS VARCHAR)"
    return f"decode(encode({cast}))" if collated else cast


def named(expression: str, kind: str, *, collated: bool, whole: bool) -> str:
    """What a value says about whose it is, or which row it leads to: the same for the same value, whatever its type.

    NaN names nobody. `whole`: an integer of 64 bits, NULL for all else. Otherwise text, where 7 and 7.0 are one name,
    and 7 and 007 are two.
    """
    if kind in FLOATS or kind.startswith("DECIMAL"):
        exact = f"abs({expression}) < 9007199254740992 AND " if kind in FLOATS else ""
        number = f"CASE WHEN {exact}{expression} = trunc({expression}) THEN TRY_CAST({expression} AS BIGINT) END"
        if whole:
            return number
        said = f"coalesce(CAST({number} AS VARCHAR), {expression}::VARCHAR)"
        return f"CASE WHEN NOT isnan({expression}) THEN {said} END" if kind in FLOATS else said
    if not whole:
        return plain_text(expression, collated=collated)
    if kind in INTEGERS:
        return f"TRY_CAST({expression} AS BIGINT)"
    text = plain_text(expression, collated=collated)
    return f"CASE WHEN regexp_full_match({text}, '[+-]?[0-9]{{1,19}}') THEN TRY_CAST({text} AS BIGINT) END"


def typed(expression: str, column: Column, *, collated: bool = False) -> str:
    """An expression of any type as the declared one (`STORED`); NULL what cannot be cast or is not among the values."""
    cast = f"TRY_CAST({expression} AS {TYPES[column.kind]})"
    if column.kind is Kind.TEXT:
        cast = plain_text(expression, collated=collated)
    if column.values is not None:
        return f"CASE WHEN {cast} IN ({', '.join(literal(value) for value in column.values)}) THEN {cast} END"
    return stored(cast, column.kind)


def union(selects: Sequence[str]) -> str:
    """All rows of all of these, as a tree that is not deep however many they are."""
    if len(selects) == 1:
        return selects[0]
    half = len(selects) // 2
    return f"({union(selects[:half])}) UNION ALL ({union(selects[half:])})"


def attached_table(source: Source) -> str:
    """A table of an attached DuckDB file, without the name that it is attached by."""
    return ".".join(name(part) for part in (source.table or "").split("."))


def reading_parquet(files: Iterable[str], *, called: str | None = None) -> str:
    """Files of one shape. Nothing is taken from the folders that they lie in; `called`: a column for the file."""
    more = "" if called is None else f", filename = {literal(called)}"
    return f"read_parquet({_list(files)}, hive_partitioning = false, union_by_name = false{more})"


def reading_mixed_parquet(file: str, columns: Iterable[tuple[str, str]], *, called: str | None = None) -> str:
    """A file with texts that are no UTF-8: those are NULL, one by one, and everything else is as it is.

    Proof  Bytes that are no UTF-8 are replaced in one reading and left out in the other: texts are equal where all are.
    """
    more = ", file_row_number = true" + ("" if called is None else f", filename = {literal(called)}")
    replaced, ignored = (
        f"read_parquet({_list([file])}, hive_partitioning = false, utf8_validation = '{mode}'{more})"
        for mode in ("replace", "ignore")
    )
    shown = [] if called is None else [f"a.{name(called)}"]
    for column, kind in columns:
        if castable(kind):
            value = f"a.{name(column)}"
            same = f"CASE WHEN {value} = b.{name(column)} THEN {value} END AS {name(column)}"
            shown.append(same if kind == "VARCHAR" else value)
    return f"(SELECT {', '.join(shown)} FROM {replaced} AS a JOIN {ignored} AS b USING (file_row_number))"


def reading_public_csv(files: Iterable[str], delimiter: str, decimal: str | None = None) -> str:
    """CSV that is public: types may be guessed from the data."""
    point = f", decimal_separator = {literal(decimal)}" if decimal else ""
    return f"read_csv({_list(files)}, header = true, delim = {literal(delimiter)}, hive_partitioning = false{point})"


def with_point(value: str) -> str:
    """A text like 1.234,5 as 1234.5; what is no such number becomes a text that no number has.

    Proof  Each value is judged by itself. 1.5 is refused, not read as 15 or 1.5: nobody can tell which was meant.
    """
    number = r"\s*[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]+)?\s*"
    pointed = f"replace(replace({value}, '.', ''), ',', '.')"
    return f"CASE WHEN regexp_full_match({value}, {literal(number)}) THEN {pointed} ELSE 'no number: ' || {value} END"


def reading_records(files: Iterable[str], fields: int, delimiter: str, *, longer: bool, called: str) -> str:
    """Clean CSV without a header as text, with nothing guessed from the data. `longer`: records may have many lines."""
    columns = ", ".join(f"{literal(field(index))}: 'VARCHAR'" for index in range(fields))
    settings = {
        "auto_detect": "false",
        "header": "false",
        "columns": f"{{{columns}}}",
        "delim": literal(delimiter),
        "quote": literal('"'),
        "escape": literal('"'),
        "comment": "''",
        "skip": "0",
        "new_line": r"'\n'",
        "max_line_size": "4194304",
        "parallel": "false" if longer else "true",
        "compression": "'none'",
        "hive_partitioning": "false",
        "filename": literal(called),
    }
    return f"read_csv({_list(files)}, {', '.join(f'{key} = {value}' for key, value in settings.items())})"


def field(index: int) -> str:
    """A field of clean CSV, by its place: headers may repeat names, or have none."""
    return f"f{index}"


def beside_files(text: str, called: str, values: Mapping[str, Mapping[str, str | None]]) -> str:
    """Rows with further columns that depend on the file alone: for each file {column: text}."""
    columns = list(next(iter(values.values())))
    listed = ", ".join(f"({', '.join(map(literal, (file, *row.values())))})" for file, row in values.items())
    names = ", ".join(map(name, ("file", *columns)))
    return f"(SELECT * FROM {text} AS r JOIN (VALUES {listed}) AS f({names}) ON r.{name(called)} = f.file)"


def _list(files: Iterable[str]) -> str:
    """Files as they are, not as patterns."""
    return f"[{', '.join(literal(glob.escape(file)) for file in files)}]"
