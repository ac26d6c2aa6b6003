"""Ibis: tables to write expressions about, and the expressions as SQL. Needs ibis only when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.answers.facts import Facts
from discreet.errors import Refused
from discreet.policy import Kind

_TYPES: Final = {
    Kind.INTEGER: "int64",
    Kind.NUMBER: "float64",
    Kind.TEXT: "string",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}
_UNIT: Final = "string"
"""Units are only compared with each other: any type that both have will do."""


_STORED: Final = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "int64"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float64"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
}


def table_of(table: Facts, stored: Mapping[str, str]) -> Any:
    """An unbound ibis table with the columns that may be asked about, and the unit's.

    `stored`: of a public table, the engine's types.
    """
    import ibis

    schema = {column: _STORED.get(kind, "float64" if kind.startswith("DECIMAL") else "string")
              for column, kind in stored.items()}  # fmt: skip
    schema |= {column.name: _TYPES[column.kind] for column in table.columns.values()}
    if table.unit not in (None, "row"):
        schema.setdefault(str(table.unit), _UNIT)
    return ibis.table(schema, name=table.name)


def is_expression(query: object) -> bool:
    return type(query).__module__.partition(".")[0] == "ibis"


def text_of(expression: Any) -> str:
    """An ibis expression as SQL that discreet reads, and reads like any other text: nothing is run or opened for it.

    Tables of a database, rows in memory, SQL of its own and functions in Python are refused: their text would name
    something else here than what they were written about.
    """
    import ibis

    try:
        foreign = _foreign(expression)
        text = "" if foreign else str(ibis.to_sql(expression, dialect="duckdb"))
    except Exception as wrong:
        raise Refused(
            "syntax", f"this expression cannot be written as SQL ({type(wrong).__name__})", "ask in SQL"
        ) from wrong
    if foreign:
        raise Refused("syntax", f"this expression is about {foreign}", "begin with curator.table(name).to_ibis()")
    return text


def _foreign(expression: Any) -> str | None:
    """What an expression is about beside tables that are known by name, if anything."""
    import ibis.expr.operations as ops

    kinds = {
        ops.DatabaseTable: "a table of a database",
        ops.InMemoryTable: "rows in memory",
        ops.SQLQueryResult: "SQL of its own",
        ops.SQLStringView: "SQL of its own",
        ops.ScalarUDF: "a function of its own",
        ops.AggUDF: "a function of its own",
    }
    nodes = expression.op().find(tuple(kinds))
    return next((reason for kind, reason in kinds.items() for node in nodes if isinstance(node, kind)), None)
