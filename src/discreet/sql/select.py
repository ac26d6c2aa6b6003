"""The parts of one SELECT: over private rows a release and what follows it, over public values just the latter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

from sqlglot import exp

from discreet.composed import Sql, form, name
from discreet.errors import Edit, Refused
from discreet.policy.model import Kind
from discreet.sql.aggregates import bound, is_named
from discreet.sql.arguments import Aggregate
from discreet.sql.bind import Binder, Special, written
from discreet.sql.common_measures import Sharing, shared
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr, Function, Result
from discreet.sql.keys import GroupKey, PublicKey, group_key, with_public_bounds
from discreet.sql.nodes import Field, Limits, Node
from discreet.sql.places import about, stands_once
from discreet.sql.postprocess import WINDOW, After, Column, Order, direction
from discreet.sql.relation import Public
from discreet.sql.release import Release
from discreet.sql.released_windows import released_window
from discreet.sql.scope import Scope, labels, truth
from discreet.sql.selected import from_selection
from discreet.sql.unknown import Search
from discreet.sql.wording import not_allowed
from discreet.sql.work import brief, few_measures

MAX_ROWS: Final = 10**12


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a SELECT; others are refused."""

    items: list[Any]
    source: Any
    joins: list[Any]
    where: Any
    group: Any
    having: Any
    orders: list[Any]
    limit: int | None
    offset: int | None
    distinct: bool
    ctes: Any

    @classmethod
    def of(cls, tree: exp.Select) -> Self:
        args = tree.args
        counted = any(is_aggregate(item) for item in tree.expressions)
        if not tree.expressions or (args.get("from_") is None and (counted or args.get("group"))):
            raise nothing_to_read()
        return cls(
            tree.expressions,
            _inner(args.get("from_")),
            args.get("joins") or [],
            _inner(args.get("where")),
            args.get("group"),
            _inner(args.get("having")),
            args["order"].expressions if args.get("order") else [],
            _count(args.get("limit"), "LIMIT"),
            _count(args.get("offset"), "OFFSET"),
            args.get("distinct") is not None,
            args.get("with_"),
        )

    @property
    def aggregated(self) -> bool:
        """Whether rows are counted, and not kept."""
        counted = any(is_aggregate(node) for node in (*self.items, *self.orders))
        return self.group is not None or self.having is not None or counted

    def refuse_rows(self) -> None:
        """Which private rows there are must not be asked."""
        for clause, word in ((self.limit, "LIMIT"), (self.offset, "OFFSET"), (self.distinct or None, "DISTINCT")):
            if clause is not None:
                raise RowsRefused(word)


class RowsRefused(Refused):
    """Of private rows some are chosen, and nothing says which they are."""

    def __init__(self, word: str) -> None:
        fix = f"use {word} on the released result"
        super().__init__("not-an-aggregate", f"{word} on private rows is not supported", fix)


def _is_preview(tree: exp.Query) -> bool:
    """Whether only the outermost SELECT chooses rows: it is the rows that are not shown, with a LIMIT or without."""
    inner = (node for node in tree.find_all(exp.Query) if node is not tree)
    return not any(node.args.get("limit") or node.args.get("offset") for node in inner)


def rows_shown(tree: exp.Query, unit: str, refused: RowsRefused | None = None) -> Refused:
    """What is said where nothing is counted."""
    if refused is not None and not _is_preview(tree):
        return refused
    if tree.args.get("group"):
        return Refused(
            "not-an-aggregate",
            f"GROUP BY the unit makes a row for each {unit}, and those are never shown",
            "leave the unit out of GROUP BY, or ask about such rows: "
            "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM … GROUP BY …)",
        )
    fix = "ask for a statistic, such as COUNT(*), SUM(x) or AVG(x), with GROUP BY"
    return Refused("not-an-aggregate", "rows of private tables are never shown", fix)


def nothing_to_read() -> Refused:
    return Refused("syntax", "there is nothing to read from", "write SELECT … FROM a_table")


def _inner(clause: Any) -> Any:
    return None if clause is None else clause.this


def _count(clause: Any, word: str) -> int | None:
    if clause is None:
        return None
    literal = clause.expression if isinstance(clause, (exp.Limit, exp.Offset)) else None
    if not isinstance(literal, exp.Literal) or literal.is_string or not str(literal.this).isdecimal():
        raise about(Refused("syntax", f"{word} takes a whole number", f"write {word} 10"), clause)
    return min(int(str(literal.this)[:13]), MAX_ROWS)


def is_aggregate(tree: exp.Expression, known: Known | None = None) -> bool:
    """Whether something in it is counted over rows; what stands in subqueries is their own affair."""
    known = {} if known is None else known
    if id(tree) not in known:
        known[id(tree)] = tree, _is_aggregate(tree, known)
    return known[id(tree)][1]


Known = dict[int, tuple[exp.Expression, bool]]
"""What was found out about nodes, by their identity."""


def is_counted(node: exp.Expression) -> bool:
    """Whether it is an aggregate itself."""
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup)) or is_named(node)


def _is_aggregate(tree: exp.Expression, known: Known) -> bool:
    if isinstance(tree, (exp.Query, exp.Window)):
        return False
    if is_counted(tree):
        return True
    return any(is_aggregate(child, known) for child in tree.iter_expressions())


# private rows


def row_items(clauses: Clauses, scope: Scope) -> list[tuple[str, Expr]]:
    """The columns of a subquery that keeps rows."""
    clauses.refuse_rows()
    items: list[tuple[str, Expr]] = []
    for node, label in zip(clauses.items, labels(clauses.items), strict=True):
        if isinstance(node, exp.Star) or scope.is_star(node):
            items += [
                (field.name, field.expr if instead is None else scope.bind(instead))
                for _, field, instead in scope.starred(node)
            ]
        elif not scope.is_owner(node.this if isinstance(node, exp.Alias) else node):
            items.append((label, scope.bind(node)))
    return items


def release_select(
    clauses: Clauses,
    source: Node,
    scope: Scope,
    public: Public,
    limits: Limits,
    *,
    other: bool,
    search: Search,
    sharing: Sharing,
) -> tuple[Release, tuple[Column, ...], After]:
    """What is counted, and what is shown of it."""
    grouping = _Grouping(clauses, source, scope, public, search)
    after = grouping.after()
    aggregates = tuple(shared(grouping.aggregates, sharing))
    release = Release(source, tuple(grouping.keys), aggregates, limits, other)
    if release.counts_units and not other and not sharing.promised:
        units = from_selection(aggregates, one_row=release.contribution.rows == 1)
        release = replace(release, aggregates=units)
    if not aggregates and not release.private_keys:
        reason = "nothing is counted, and public keys all appear" if release.keys else "nothing is counted"
        distinct = clauses.group is not None and clauses.group.args.get("distinct")
        fix = "write GROUP BY x instead of DISTINCT, with COUNT(*)" if distinct else "add COUNT(*) to the SELECT"
        edit = Edit("FROM", ", COUNT(*) FROM") if stands_once("FROM") and not distinct else None
        raise Refused("not-an-aggregate", reason, fix, edit=edit)
    _ = release.groups  # refuses if there are too many
    if other and not release.private_keys:
        raise Refused("syntax", "OTHER stands for private keys, and there are none", "leave other = true out")
    return release, columns_of(release), after


def _bounded(clauses: Clauses, scope: Scope, public: Public) -> Scope:
    """With the bounds of public columns that are counted, where the policy declares none."""
    counted = [node for node in (*clauses.items, clauses.having, *clauses.orders) if node is not None]
    names = {column.name.lower() for node in counted for column in node.find_all(exp.Column)}
    fields = tuple(
        (alias, with_public_bounds(field, public) if field.name.lower() in names else field)
        for alias, field in scope.fields
    )
    return scope if fields == scope.fields else replace(scope, fields=fields)


def columns_of(release: Release) -> tuple[Column, ...]:
    """What a release gives: keys k0, k1, …, then aggregates a0, a1, …"""
    columns = [Column(f"k{index}", _leaf("k", index, key.domain)) for index, key in enumerate(release.keys)]
    columns += [Column(f"a{index}", _leaf("a", index, a.domain)) for index, a in enumerate(release.aggregates)]
    return tuple(columns)


def _leaf(letter: str, index: int, domain: Domain) -> Expr:
    return Expr(name(f"{letter}{index}"), domain)


class _Grouping:
    """One grouping while it is bound: aggregates are collected as they are met."""

    def __init__(self, clauses: Clauses, source: Node, scope: Scope, public: Public, search: Search) -> None:
        self.clauses = clauses
        self._search = partial(search.bounds, source)
        self.scope = scope
        self._bind = _bounded(clauses, scope, public).bind
        self.aggregates: list[Aggregate] = []
        self._indices: dict[tuple[object, ...], int] = {}
        self._aggregated: Known = {}
        fields = {field.expr.sql: field for field in source.fields}
        bound_keys = [(node, scope.bind(node)) for node in grouped_by(clauses, scope)]
        unique = {expr.sql: (node, expr) for node, expr in bound_keys}
        self.keys = [_key_of(node, expr, fields, public) for node, expr in unique.values()]
        self._groups = math.prod(key.count for key in self.keys if isinstance(key, PublicKey))
        self._texts = {key.expr.sql: index for index, key in enumerate(self.keys)}

    def after(self) -> After:
        return shown(self.clauses, self.scope, self._resolve, self._special)

    def _special(self, node: exp.Expression, bind: Binder) -> Expr | None:
        node = self.scope.counted(node)
        aggregate = bound(node, self._bind, self.scope.is_owner, self._groups, self._search)
        if aggregate is not None:
            index = self._indices.setdefault(aggregate.key, len(self.aggregates))
            if index == len(self.aggregates):
                self.aggregates.append(aggregate)
                few_measures(len(self.aggregates))
            return aggregate.shown(_leaf("a", index, aggregate.domain))
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
            node = node.this
        if isinstance(node, exp.AnyValue):
            return self._any_value(node)
        if isinstance(node, exp.Window):
            return released_window(node, bind)
        if isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup)):
            raise not_allowed(node)
        key = self._key(node)
        return self.scope.special(node, bind) if key is None else key

    def _any_value(self, node: exp.AnyValue) -> Expr:
        """Of a key: all rows of a group have the same."""
        key = self._key(node.this)
        if key is None:
            raise Refused(
                "function-not-allowed",
                "ANY_VALUE shows a row's own value, unless that is a key of GROUP BY",
                f"add {brief(written(node.this))} to GROUP BY, or take MODE of it",
            )
        return key

    def _key(self, node: exp.Expression) -> Expr | None:
        """The key that an expression is, if it is one."""
        if not self.keys or isinstance(node, (exp.Literal, exp.Star)) or is_aggregate(node, self._aggregated):
            return None
        try:
            text = self.scope.bind(node).sql
        except Refused:
            return None
        index = self._texts.get(text)
        return None if index is None else _leaf("k", index, self.keys[index].domain)

    def _resolve(self, column: exp.Column) -> Expr:
        self.scope.resolve(column)
        raise Refused(
            "not-an-aggregate",
            "a column of private rows stands outside of an aggregate",
            f"add {column.name} to GROUP BY, or count it: COUNT({column.name})",
            edit=None if self.keys else Edit(new=f"GROUP BY {column.name}"),
        )


def _key_of(node: exp.Expression, expr: Expr, fields: Mapping[Sql, Field], public: Public) -> GroupKey:
    try:
        return group_key(expr, fields, brief(written(node)), public)
    except Refused as refused:
        raise about(refused, node) from None


def grouped_by(clauses: Clauses, scope: Scope) -> list[exp.Expression]:
    """The expressions of GROUP BY: by name, by alias, by number, or all that are not counted."""
    group = clauses.group
    if group is None:
        return []
    if group.args.get("all"):
        return [_bare(item) for item in clauses.items if not is_aggregate(item) and _varies(item)]
    named = {item.alias.lower(): item.this for item in clauses.items if isinstance(item, exp.Alias)}
    keys = []
    for node in group.expressions:
        if isinstance(node, exp.Literal) and not node.is_string:
            node = _numbered(node, clauses.items)
        elif isinstance(node, exp.Column) and not node.table and scope.find(node) is None:
            node = named.get(node.name.lower(), node)
        keys.append(node)
    return keys


def _varies(item: exp.Expression) -> bool:
    """Whether it can be something else in another row."""
    return item.find(exp.Column, exp.Query) is not None


def _bare(node: exp.Expression) -> Any:
    return node.this if isinstance(node, exp.Alias) else node


def _numbered(node: exp.Literal, items: Sequence[exp.Expression]) -> Any:
    index = str(node.this)
    if not index.isdecimal() or not 1 <= int(index[:9]) <= len(items):
        raise Refused("syntax", "there is no item of this number", f"use 1 to {len(items)}")
    return _bare(items[int(index[:9]) - 1])


# public values

UNKNOWN: Final = form("CAST(NULL AS DOUBLE)")
INTERVAL_ENDS: Final = {
    word: Function(word, "n", UNKNOWN, lambda _: Domain(Kind.NUMBER), Result.DOUBLE, own_nulls=True)
    for word in ("DP_INTERVAL_LOW", "DP_INTERVAL_HIGH")
}


def shown(clauses: Clauses, scope: Scope, resolve: Callable[[exp.Column], Expr], special: Special) -> After:
    """SELECT, HAVING, ORDER BY, LIMIT over values that are public by then.

    As in DuckDB, a name in an expression is a column if there is one, else an item before it; one that stands alone in
    ORDER BY is an item first.
    """
    known: dict[str, Expr] = {}

    def named(column: exp.Column) -> Expr:
        if not column.table and column.name.lower() in known and not scope.knows(column):
            return known[column.name.lower()]
        return resolve(column)

    bind = Binder(named, special)
    items = []
    for node, label in zip(clauses.items, labels(clauses.items), strict=True):
        expr = _end_of_interval(node, bind) or bind(node)
        items.append((label, expr))
        if node.alias:
            known.setdefault(node.alias.lower(), expr)
    having = None if clauses.having is None else truth(bind(clauses.having), "HAVING")
    if having is not None and having.uses(WINDOW):
        raise Refused(
            "function-not-allowed", "a window cannot stand in HAVING", "put it into SELECT, and ask WHERE around that"
        )
    orders = tuple(_order(node, items, known, bind) for node in clauses.orders)
    return After(
        tuple(items),
        having=having,
        orders=orders,
        limit=clauses.limit,
        offset=clauses.offset,
        distinct=clauses.distinct,
    )


def _end_of_interval(node: exp.Expression, bind: Binder) -> Expr | None:
    """DP_INTERVAL_LOW(x) and DP_INTERVAL_HIGH(x), as a column: filled in when intervals are known."""
    call = _bare(node)
    if not isinstance(call, exp.Anonymous) or str(call.this).upper() not in INTERVAL_ENDS:
        return None
    if len(call.expressions) != 1:
        raise Refused("syntax", f"{str(call.this).upper()} takes one column", "write DP_INTERVAL_LOW(n)")
    inner = bind(call.expressions[0])
    return Expr(UNKNOWN(()), Domain(Kind.NUMBER), INTERVAL_ENDS[str(call.this).upper()], (inner,))


def _aliased(node: exp.Expression, known: dict[str, Expr], bind: Binder) -> Expr:
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in known:
        return known[node.name.lower()]
    return bind(node)


def _order(node: exp.Ordered, items: list[tuple[str, Expr]], known: dict[str, Expr], bind: Binder) -> Order:
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        index = str(inner.this)
        if not index.isdecimal() or not 1 <= int(index[:9]) <= len(items):
            raise Refused("syntax", "there is no item of this number", f"use 1 to {len(items)}")
        expr = items[int(index[:9]) - 1][1]
    else:
        expr = _aliased(inner, known, bind)
    return Order(expr, direction(node))
