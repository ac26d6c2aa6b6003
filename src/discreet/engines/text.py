"""Pieces of DuckDB's SQL that are put together from names and values."""

from __future__ import annotations

import glob
from collections.abc import Sequence

from discreet.policy.layout import TYPES
from discreet.policy.model import Column, Source
from discreet.quoting import literal, name, stored


def typed(expression: str, column: Column) -> str:
    """An expression of any type as the declared one (`STORED`); NULL what cannot be cast or is not among the values."""
    cast = f"TRY_CAST({expression} AS {TYPES[column.kind]})"
    if column.values is not None:
        return f"CASE WHEN {cast} IN ({', '.join(literal(value) for value in column.values)}) THEN {cast} END"
    return stored(cast, column.kind)


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
