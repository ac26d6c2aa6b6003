"""Pieces of DuckDB's SQL that are put together from names and values."""

from __future__ import annotations

from datetime import date, datetime

from discreet.policy.model import Format, Kind, Source

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


def reading(source: Source, path: str) -> str:
    """What to select from, for a source at this path. CSV is read as text, so that no type is guessed from the data."""
    if source.format is Format.CSV:
        delimiter = "\\t" if ".tsv" in path else ","
        return (
            f"read_csv({literal(path)}, all_varchar = true, header = true, delim = {literal(delimiter)}, quote = '\"')"
        )
    if source.format is Format.PARQUET:
        return f"read_parquet({literal(path)})"
    return ".".join(name(part) for part in (source.table or "").split("."))
