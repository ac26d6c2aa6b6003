"""The words of the language, for those who complete and colour what people write."""

from __future__ import annotations

import re
from typing import Any, Final

from discreet import quoting
from discreet.sql.aggregates import AGGREGATES, NAMED
from discreet.sql.functions import FUNCTIONS
from discreet.sql.wording import NAMES

_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_OPERATORS: Final = frozenset({"AND", "BETWEEN", "CASE", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR"})
"""Rows of the table of functions that are written without parentheses."""
_UNWRITTEN: Final = frozenset({"NEGATE", "DAYS", "MINUTES"})
"""Rows that have no name in SQL."""
KEYWORDS: Final = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AS", "DISTINCT", "ASC", "DESC"),
    *("JOIN", "LEFT JOIN", "ON", "USING", "UNION ALL", "WITH", "FILTER (WHERE", "OVER (", "PARTITION BY"),
    *("WHEN", "THEN", "ELSE", "END", "NULL", "TRUE", "FALSE", "DATE", "TIMESTAMP", "INTERVAL"),
    *("EXPLAIN PRIVACY", "WITH DIFFERENTIAL_PRIVACY OPTIONS("),
    *sorted(_OPERATORS),
)


def functions() -> tuple[str, ...]:
    """Everything that is called, aggregates first."""
    aggregates = [_name_of(node) for node in AGGREGATES] + list(NAMED)
    rows = {name.partition(" ")[0] for name in FUNCTIONS} - _OPERATORS - _UNWRITTEN
    return tuple(f"{name}(" for name in (*sorted(aggregates), *sorted(filter(_PLAIN.fullmatch, rows))))


def _name_of(node: Any) -> str:
    return next((name for name in node.sql_names() if name in NAMES), str(node.sql_names()[0]))


def written(name: str) -> str:
    """A name as it stands in SQL, in quotes where it must."""
    return name if _PLAIN.fullmatch(name) and name.upper() not in KEYWORDS else quoting.name(name)
