"""The types of parameters whose clients leave them open, from where they stand in the text; and values to plan with.

A driver that prepares a statement wants to know before it sends values. What a parameter is compared with says it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.policy import Column
from discreet.server.wire import types
from discreet.server.wire.lexer import Sort, tokens
from discreet.sql.parser import parsed_text

NUMBER: Final = re.compile(r"\$(\d{1,5})")
NUMBERED: Final = re.compile(r"[0-9]{1,5}")
CASTS: Final = {
    **dict.fromkeys(("SMALLINT", "INT", "BIGINT"), types.INT8),
    **dict.fromkeys(("DOUBLE", "FLOAT"), types.FLOAT8),
    "DECIMAL": types.NUMERIC,
    "BOOLEAN": types.BOOL,
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
}
"""By sqlglot's names of types; all others are texts."""


def is_numbered(node: exp.Parameter) -> bool:
    """Whether a parameter has a number: ² is a digit to Python, and none that it reads."""
    return bool(NUMBERED.fullmatch(str(node.this)))


def count(text: str) -> int:
    """How many parameters a text has: the largest number of any."""
    words = (word.text for word in tokens(text) if word.sort is Sort.SIGN)
    return max((int(match[1]) for word in words if (match := NUMBER.fullmatch(word))), default=0)


def inferred(text: str, given: Sequence[int], columns: Mapping[str, int]) -> tuple[int, ...]:
    """The types of all parameters: as the client gave them, else by what they stand beside, else texts.

    columns   the types of columns by their names, in small letters.
    """
    many = max(count(text), len(given))
    known = {index + 1: oid for index, oid in enumerate(given) if oid}
    if len(known) < many:
        for number, oid in _beside(text, columns).items():
            known.setdefault(number, oid)
    return tuple(known.get(number, types.TEXT) for number in range(1, many + 1))


def _beside(text: str, columns: Mapping[str, int]) -> dict[int, int]:
    try:
        trees = parsed_text(text, "postgres")
        nodes = [node for tree in trees if tree is not None for node in tree.find_all(exp.Parameter)]
    except (SqlglotError, RecursionError):
        return {}
    return {int(str(node.this)): _type(node, columns) for node in nodes if is_numbered(node)}


def _type(node: exp.Expr, columns: Mapping[str, int]) -> int:
    parent: Any = node.parent
    while isinstance(parent, (exp.Paren, exp.Neg, exp.Tuple)):
        parent = parent.parent
    if isinstance(parent, exp.Cast):
        to = parent.args["to"].this
        return CASTS.get(str(getattr(to, "name", to)), types.TEXT)
    if isinstance(parent, (exp.Limit, exp.Offset)):
        return types.INT8
    if isinstance(parent, (exp.Predicate, exp.Binary, exp.Between, exp.In)):
        beside = [columns[each.name.lower()] for each in parent.find_all(exp.Column) if each.name.lower() in columns]
        if beside:
            return beside[0]
    return types.TEXT


def samples(text: str, oids: Sequence[int], columns: Mapping[str, Column]) -> dict[str, Any]:
    """A value for each parameter that a plan accepts where it accepts any: only its type matters."""
    values: dict[str, Any] = {str(number): _sample(oid, number) for number, oid in enumerate(oids, 1)}
    try:
        trees = parsed_text(text, "postgres")
        nodes = [node for tree in trees if tree is not None for node in tree.find_all(exp.Parameter)]
    except (SqlglotError, RecursionError):
        return values
    for node in nodes:
        beside = node.parent.find_all(exp.Column) if isinstance(node.parent, (exp.EQ, exp.In)) else ()
        column = next((columns[each.name.lower()] for each in beside if each.name.lower() in columns), None)
        if column is not None and column.values and str(node.this) in values:
            values[str(node.this)] = _plain(column.values[0])
    return values


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _sample(oid: int, number: int) -> Any:
    day = min(28, number)
    by_type: dict[int, Any] = {
        types.BOOL: True,
        types.DATE: date(2000, 1, day),
        types.TIMESTAMP: datetime(2000, 1, day),
        types.TIMESTAMPTZ: datetime(2000, 1, day),
        **dict.fromkeys((types.INT2, types.INT4, types.INT8, types.OID), number),
        **dict.fromkeys((types.FLOAT4, types.FLOAT8, types.NUMERIC), number + 0.5),
    }
    return by_type.get(oid, "x")
