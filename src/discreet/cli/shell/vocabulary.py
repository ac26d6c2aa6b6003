"""The words that can be completed: what the policy tells analysts, and what the language allows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from discreet import quoting
from discreet.policy.model import Key
from discreet.sql.aggregates import AGGREGATES, NAMED
from discreet.sql.clause import Options
from discreet.sql.functions import FUNCTIONS

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_OPERATORS: Final = frozenset({"AND", "BETWEEN", "CASE", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR"})
"""Rows of the table of functions that are written without parentheses."""
_UNWRITTEN: Final = frozenset({"NEGATE"})
"""Rows that have no name in SQL."""
KEYWORDS: Final = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AS", "DISTINCT", "ASC", "DESC"),
    *("JOIN", "LEFT JOIN", "ON", "USING", "UNION ALL", "WITH", "FILTER (WHERE", "OVER (", "PARTITION BY"),
    *("WHEN", "THEN", "ELSE", "END", "NULL", "TRUE", "FALSE", "DATE", "TIMESTAMP", "INTERVAL"),
    *("EXPLAIN PRIVACY", "WITH DIFFERENTIAL_PRIVACY OPTIONS("),
    *sorted(_OPERATORS),
)
OPTIONS: Final = tuple(field.name for field in fields(Options))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names as they are written in SQL, in the policy's order."""

    tables: Mapping[str, tuple[str, ...]]
    """Of each table its columns."""
    values: Mapping[str, tuple[str, ...]]
    """Of each column, in small letters, the declared values that stand between quotes."""
    analysts: tuple[str, ...]
    functions: tuple[str, ...]

    @classmethod
    def of(cls, curator: Curator) -> Vocabulary:
        tables, values = {}, dict[str, tuple[str, ...]]()
        for name, facts in curator.tables().items():
            unit = [] if facts.unit in (None, "row") else [str(facts.unit)]
            tables[written(name)] = tuple(dict.fromkeys(map(written, [*facts.columns, *unit])))
            for column in facts.columns.values():
                known = values.get(column.name.lower(), ())
                values[column.name.lower()] = tuple(dict.fromkeys((*known, *_quoted(column.values or ()))))
        return cls(tables, values, tuple(curator.policy.analysts), functions())


def functions() -> tuple[str, ...]:
    """Everything that is called, aggregates first."""
    aggregates = [_name_of(node) for node in AGGREGATES] + list(NAMED)
    rows = {name.partition(" ")[0] for name in FUNCTIONS} - _OPERATORS - _UNWRITTEN
    return tuple(f"{name}(" for name in (*sorted(aggregates), *sorted(filter(_PLAIN.fullmatch, rows))))


def _name_of(node: Any) -> str:
    return str(node.sql_names()[0])


def written(name: str) -> str:
    """A name as it stands in SQL, in quotes where it must."""
    return name if _PLAIN.fullmatch(name) and name.upper() not in KEYWORDS else quoting.name(name)


def _quoted(values: Iterable[Key]) -> Iterable[str]:
    """Values of texts and dates as they stand between single quotes."""
    for value in values:
        if isinstance(value, str):
            yield value.replace("'", "''")
        elif isinstance(value, date):
            yield value.isoformat()
