"""Values that a query compares a column with and that the policy does not declare: said beside the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlglot import exp

from discreet.policy import suggest
from discreet.policy.model import Kind
from discreet.sql.expression import Expr
from discreet.sql.places import MAX_WORD
from discreet.sql.work import remark, spend

COMPARED: Final = frozenset({"=", "<>", "IN", "IS DISTINCT FROM"})
MAX_REMARKS: Final = 5
"""Values of one comparison that something is said about: looking for the nearest takes a while for each."""
MAX_COMPARED: Final = 1_000
"""Declared values among which the nearest is looked for."""


def remark_undeclared(nodes: Sequence[Any], arguments: Sequence[Expr]) -> None:
    """Say which texts are none of a column's declared values, and which value is spelled most like each."""
    columns = [
        (node.name, argument.domain.values)
        for node, argument in zip(nodes, arguments, strict=True)
        if isinstance(node, exp.Column) and argument.function is None and argument.domain.kind is Kind.TEXT
    ]
    texts = [argument.value for argument in arguments if isinstance(argument.value, str)]
    for name, values in columns:
        if values is None:
            continue
        declared = dict.fromkeys(value for value in values if isinstance(value, str))
        spend(len(declared) // 10)
        undeclared = [text for text in texts if text not in declared]
        for text in undeclared[:MAX_REMARKS]:
            near = suggest(text, declared) if len(declared) <= MAX_COMPARED else None
            instead = f"; did you mean '{near}'?" if near else ""
            shown = text if len(text) <= MAX_WORD else f"{text[:MAX_WORD]} …"
            remark(f"'{shown}' is not a declared value of {name[:MAX_WORD]}{instead}")
