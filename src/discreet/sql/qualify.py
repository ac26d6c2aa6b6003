"""QUALIFY as what it stands for: a SELECT around the one whose windows it looks at."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

from discreet.sql.nodes.join import HIDDEN
from discreet.sql.scope import labels

_AROUND: Final = ("limit", "offset", "distinct")
"""Clauses that come after QUALIFY; an order is kept by what stands around it."""


def unqualified(tree: exp.Select) -> exp.Select:
    """SELECT … QUALIFY test as SELECT * FROM (SELECT …, test) WHERE it holds; * leaves the test out."""
    inner, outer, label = tree.copy(), exp.Select(expressions=[exp.Star()]), f"{HIDDEN}qualify"
    for clause in _AROUND:
        outer.set(clause, inner.args.get(clause))
        inner.set(clause, None)
    test = _without_aliases(inner.args["qualify"].this, inner.expressions)
    inner.set("qualify", None)
    plain = [isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in inner.expressions]
    named = [
        item if star or isinstance(item, (exp.Alias, exp.Column)) else exp.alias_(item, name, quoted=True)
        for item, star, name in zip(inner.expressions, plain, labels(inner.expressions), strict=True)
    ]
    inner.set("expressions", [*named, exp.alias_(exp.Paren(this=test), label, quoted=True)])
    outer.set("from_", exp.From(this=exp.Subquery(this=inner)))
    return outer.where(exp.column(label, quoted=True))


def _without_aliases(test: Any, items: list[Any]) -> Any:
    """A condition with what an alias stands for in its place, unless that has a column of the name in it."""
    named = {
        item.alias.lower(): item.this
        for item in items
        if isinstance(item, exp.Alias)
        and all(column.name.lower() != item.alias.lower() for column in item.this.find_all(exp.Column))
    }
    test = exp.Paren(this=test.copy())
    for column in list(test.find_all(exp.Column)):
        meant = None if column.table else named.get(column.name.lower())
        if meant is not None:
            column.replace(exp.Paren(this=meant.copy()))
    return test.this
