"""GROUPING SETS, ROLLUP and CUBE as what they stand for: one SELECT for each set, below each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import reduce
from typing import Any, Final, NamedTuple

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.bind import written
from discreet.sql.select import is_counted
from discreet.sql.work import spend

_AROUND: Final = ("with_", "order", "limit", "offset")
"""Clauses that are about all sets together."""
_SETS: Final = (exp.Cube, exp.GroupingSets, exp.Rollup)
MOST_SETS: Final = 64
Keys = tuple[Any, ...]


def has_sets(tree: exp.Select) -> bool:
    """Whether GROUP BY names several sets of keys."""
    group = tree.args.get("group")
    return group is not None and any(isinstance(node, _SETS) for node in group.expressions)


def one_by_one(tree: exp.Select) -> Any:
    """The same as a UNION ALL of plain groupings, in which keys that are not grouped by are NULL.

    Theorem  The releases of all sets cost together what the query costs. Proof: they are releases of one plan, which
             share its cost (sequential composition); sets of the same rows are not disjoint, so that no cost is saved.
    """
    sets = _sets_of(tree)
    every = {_shape(key) for keys in sets for key in keys}
    united: Any
    united, *others = [_part(tree, keys, every) for keys in sets]
    for part in others:
        united = exp.Union(this=united, expression=part, distinct=False)
    for clause in _AROUND:
        if tree.args.get(clause):
            united.set(clause, tree.args[clause].copy())
    return united


def wrapped(tree: exp.Union) -> exp.Select:
    """A UNION with ORDER BY, LIMIT or OFFSET as a SELECT around it."""
    inner = tree.copy()
    outer = exp.Select(expressions=[exp.Star()])
    for clause in _AROUND:
        outer.set(clause, inner.args.get(clause))
        inner.set(clause, None)
    outer.set("from_", exp.From(this=exp.Subquery(this=inner)))
    return outer


def _sets_of(tree: exp.Select) -> list[Keys]:
    """Every set: one of each element of GROUP BY, together."""
    elements = [list(_element(node, tree)) for node in tree.args["group"].expressions]
    spend(sum(map(len, elements)))
    count = reduce(lambda a, b: a * b, map(len, elements), 1)
    if count > MOST_SETS:
        raise Refused("too-complex", f"GROUP BY names {count} sets of keys, and at most {MOST_SETS} are counted",
                      "name fewer with GROUPING SETS")  # fmt: skip
    return [tuple(itertools.chain(*chosen)) for chosen in itertools.product(*elements)]


def _element(node: Any, tree: exp.Select) -> Iterator[Keys]:
    """The sets that an element of GROUP BY stands for."""
    if isinstance(node, exp.Rollup):
        keys = [_keys(part, tree) for part in node.expressions]
        yield from (tuple(itertools.chain(*keys[:count])) for count in range(len(keys), -1, -1))
    elif isinstance(node, exp.Cube):
        keys = [_keys(part, tree) for part in node.expressions[:10]]
        for count in range(len(keys), -1, -1):
            yield from (tuple(itertools.chain(*chosen)) for chosen in itertools.combinations(keys, count))
    elif isinstance(node, exp.GroupingSets):
        for part in node.expressions:
            yield from _element(part, tree) if isinstance(part, _SETS) else iter([_keys(part, tree)])
    else:
        yield _keys(node, tree)


def _keys(node: Any, tree: exp.Select) -> Keys:
    """The keys of one set: (a, b), a, or none; as they are written in SELECT where a number stands. An alias stays: it
    may be the name of a column, too, and then the column is meant."""
    if isinstance(node, exp.Tuple):
        return tuple(key for part in node.expressions for key in _keys(part, tree))
    if isinstance(node, exp.Paren):
        return _keys(node.this, tree)
    if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdecimal():
        position = int(str(node.this)[:9])
        if not 1 <= position <= len(tree.expressions):
            raise Refused("syntax", "there is no item of this number", f"use 1 to {len(tree.expressions)}")
        node = tree.expressions[position - 1]
    return (node.this if isinstance(node, exp.Alias) else node,)


def _shape(node: Any) -> Any:
    """An expression as it is compared with others: names in any case, quoted or not."""
    shape = node.copy()
    for name in shape.find_all(exp.Identifier):
        name.set("this", name.name.lower())
        name.set("quoted", False)
    return shape


def _part(tree: exp.Select, keys: Keys, every: set[Any]) -> Any:
    """The SELECT of one set."""
    part = tree.copy()
    for clause in _AROUND:
        part.set(clause, None)
    here = {_shape(key) for key in keys}
    shapes = _Shapes(*(_with_names(shapes, tree) for shapes in (every - here, here)))
    part.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
    part.set("expressions", [_item(item, shapes) for item in tree.expressions])
    having = part.args.get("having")
    if having is not None:
        having.set("this", _without(having.this, shapes))
    return part


class _Shapes(NamedTuple):
    """Keys that a set does not group by, and those that it does."""

    absent: set[Any]
    present: set[Any]


def _with_names(shapes: set[Any], tree: exp.Select) -> set[Any]:
    """Keys, and what they are called in SELECT, or what is called so there."""
    named = [(_shape(exp.column(item.alias)), _shape(item.this)) for item in tree.expressions if item.alias]
    return shapes | {shape for pair in named if not shapes.isdisjoint(pair) for shape in pair}


def _is_one(node: Any, shapes: set[Any]) -> bool:
    return any(type(node) is type(shape) for shape in shapes) and _shape(node) in shapes


def _item(item: Any, shapes: _Shapes) -> Any:
    """An item of SELECT under the name that it has, with NULL for keys that are not grouped by."""
    shown = _without(item.this if isinstance(item, exp.Alias) else item, shapes)
    label = item.alias or (item.name if isinstance(item, exp.Column) else written(item))
    return exp.alias_(shown, label, quoted=True)


def _without(node: Any, shapes: _Shapes) -> Any:
    """An expression in which keys that are not grouped by are NULL, and GROUPING(key) says which are.

    What is within a key that is grouped by stays, even if another key that is not is a part of it.
    """
    if _is_one(node, shapes.absent):
        return exp.Null()
    if isinstance(node, (exp.Grouping, exp.GroupingId)):
        bits = "".join(str(int(_is_one(key, shapes.absent))) for key in node.expressions)
        return exp.Literal.number(int(bits or "0", 2))
    if is_counted(node) or _is_one(node, shapes.present):
        return node.copy()
    made = node.copy()
    for child, other in zip(list(made.iter_expressions()), list(node.iter_expressions()), strict=True):
        child.replace(_without(other, shapes))
    return made
