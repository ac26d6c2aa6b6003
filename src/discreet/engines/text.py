"""Pieces of DuckDB's SQL that are put together from names and values."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from datetime import date, datetime

from discreet.policy.model import Kind, Source

TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def name(identifier: str) -> str:
    """An identifier, quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(value: str | int | bool | date | datetime) -> str:
    """A value, quoted."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'"


def typed(expression: str, kind: Kind) -> str:
    """An expression of any type as the declared one: what cannot be cast is NULL, and so is NaN."""
    cast = f"TRY_CAST({expression} AS {TYPES[kind]})"
    return f"CASE WHEN NOT isnan({cast}) THEN {cast} END" if kind is Kind.NUMBER else cast


def attached_table(source: Source) -> str:
    """A table of an attached DuckDB file, without the name that it is attached by."""
    return ".".join(name(part) for part in (source.table or "").split("."))


def reading_parquet(files: Sequence[str]) -> str:
    return f"read_parquet({_list(files)})"


def reading_public_csv(files: Sequence[str]) -> str:
    """CSV that is public: types may be guessed from the data."""
    return f"read_csv({_list(files)}, header = true)"


def reading_csv(files: Sequence[str], header: Sequence[str], delimiter: str) -> str:
    """CSV as text, with nothing guessed from the data: not the types, not the header, not which rows are comments."""
    columns = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in header)
    settings = {
        "auto_detect": "false",
        "header": "true",
        "columns": f"{{{columns}}}",
        "delim": literal(delimiter),
        "quote": literal('"'),
        "escape": literal('"'),
        "comment": "''",
        "skip": "0",
    }
    return f"read_csv({_list(files)}, {', '.join(f'{key} = {value}' for key, value in settings.items())})"


def _list(files: Sequence[str]) -> str:
    """Files as they are, not as patterns."""
    return f"[{', '.join(literal(glob.escape(file)) for file in files)}]"
