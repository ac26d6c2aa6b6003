"""Private rows for tasks that take them as they are: bounded for each unit, and read column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.composed import Sql, joined, sql
from discreet.curator.public import PublicTables
from discreet.errors import Refused
from discreet.exact import whole
from discreet.policy import Policy
from discreet.sql.nodes import Bound, Field, Node
from discreet.sql.plan import private_rows


def bounded_rows(policy: Policy, text: Any, max_rows: object, *, public: PublicTables) -> Node:
    """The private rows of a SELECT, at most `max_rows` of each unit: one, unless the caller says more."""
    node = private_rows(policy, text, public=public)
    try:
        most = 1 if max_rows is None else whole(max_rows, "max_rows")
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "give a number such as 1") from None
    if node.owner.column is not None and (node.rows is None or node.rows > most):
        return Bound(node, most)
    return node


def columns_of(node: Node, fields: Sequence[Field], *, with_unit: bool = False) -> Sql:
    """A query for these columns of the rows; with the unit of each row before them, where rows have one."""
    columns = [field.expr.sql for field in fields]
    if with_unit and node.owner.column is not None:
        columns.insert(0, node.owner.column)
    return sql("SELECT {} FROM ({})", joined(", ", columns), node.sql())
