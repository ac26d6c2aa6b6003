"""From syntax to expressions: names become columns, nodes become rows of the table of functions, kinds are checked.

Everything goes by list: a node or a function that is not named here is refused; modifiers were, by `syntax`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.date_forms import of_dates
from discreet.sql.domain import DATED
from discreet.sql.expression import Expr
from discreet.sql.literals import folded
from discreet.sql.places import about, dialect, spelled
from discreet.sql.readers import READERS
from discreet.sql.syntax import IntervalSub, RealDiv, plain
from discreet.sql.typos import COMPARED, remark_undeclared
from discreet.sql.wording import not_allowed
from discreet.sql.work import NODE, remembered, spend

Resolve = Callable[[exp.Column], Expr]
Special = Callable[[exp.Expression, "Binder"], Expr | None]

_PLAIN: Final[dict[type[exp.Expression], tuple[str, tuple[str, ...]]]] = {
    exp.Add: ("+", ("this", "expression")),
    exp.Sub: ("-", ("this", "expression")),
    exp.Mul: ("*", ("this", "expression")),
    IntervalSub: ("-", ("this", "expression")),
    exp.Div: ("/", ("this", "expression")),
    exp.SafeDivide: ("/", ("this", "expression")),
    RealDiv: ("/", ("this", "expression")),
    exp.IntDiv: ("//", ("this", "expression")),
    exp.Mod: ("%", ("this", "expression")),
    exp.Neg: ("NEGATE", ("this",)),
    exp.EQ: ("=", ("this", "expression")),
    exp.NEQ: ("<>", ("this", "expression")),
    exp.NullSafeNEQ: ("IS DISTINCT FROM", ("this", "expression")),
    exp.LT: ("<", ("this", "expression")),
    exp.LTE: ("<=", ("this", "expression")),
    exp.GT: (">", ("this", "expression")),
    exp.GTE: (">=", ("this", "expression")),
    exp.Between: ("BETWEEN", ("this", "low", "high")),
    exp.In: ("IN", ("this", "expressions")),
    exp.Like: ("LIKE", ("this", "expression")),
    exp.ILike: ("ILIKE", ("this", "expression")),
    exp.And: ("AND", ("this", "expression")),
    exp.Or: ("OR", ("this", "expression")),
    exp.Not: ("NOT", ("this",)),
    exp.Coalesce: ("COALESCE", ("this", "expressions")),
    exp.Nullif: ("NULLIF", ("this", "expression")),
    exp.Abs: ("ABS", ("this",)),
    exp.Round: ("ROUND", ("this", "decimals")),
    exp.Floor: ("FLOOR", ("this",)),
    exp.Ceil: ("CEIL", ("this",)),
    exp.Sign: ("SIGN", ("this",)),
    exp.Trunc: ("TRUNC", ("this",)),
    exp.Sqrt: ("SQRT", ("this",)),
    exp.Exp: ("EXP", ("this",)),
    exp.Ln: ("LN", ("this",)),
    exp.Log: ("LOG", ("this", "expression")),
    exp.Pow: ("POWER", ("this", "expression")),
    exp.Least: ("LEAST", ("this", "expressions")),
    exp.Greatest: ("GREATEST", ("this", "expressions")),
    exp.Lower: ("LOWER", ("this",)),
    exp.Upper: ("UPPER", ("this",)),
    exp.Trim: ("TRIM", ("this",)),
    exp.Length: ("LENGTH", ("this",)),
    exp.StartsWith: ("STARTS_WITH", ("this", "expression")),
    exp.EndsWith: ("ENDS_WITH", ("this", "expression")),
    exp.Contains: ("CONTAINS", ("this", "expression")),
    exp.Substring: ("SUBSTR", ("this", "start", "length")),
    exp.DPipe: ("||", ("this", "expression")),
    exp.Concat: ("CONCAT", ("expressions",)),
    exp.WidthBucket: ("WIDTH_BUCKET", ("this", "min_value", "max_value", "num_buckets")),
}
"""Nodes that are functions of their arguments, in this order."""
_LONGER: Final = {("ROUND", 2): "ROUND TO", ("SUBSTR", 3): "SUBSTR TO", ("LOG", 1): "LOG10"}
"""Functions whose form depends on how many arguments there are."""


class Binder:
    """Binds syntax in one scope. `special` may take a node before anybody else does.

    Each node is bound once, however often it is asked for: what stands around it may be looked at in many ways.
    """

    def __init__(self, resolve: Resolve, special: Special = lambda *_: None) -> None:
        self._resolve = resolve
        self._special = special
        self._known: dict[int, tuple[exp.Expression, Expr | Refused]] = {}
        """By identity; nodes are held, so that none gets the place of another."""

    def __call__(self, node: exp.Expression | None) -> Expr:
        if node is None:
            raise Refused("syntax", "an argument is missing", "write it between the parentheses")
        if id(node) not in self._known:
            spend(NODE)
            try:
                self._known[id(node)] = node, self._bound(node)
            except Refused as refused:
                self._known[id(node)] = node, about(refused, node)
        bound = self._known[id(node)][1]
        if isinstance(bound, Refused):
            raise bound
        return bound

    def _bound(self, node: exp.Expression) -> Expr:
        expr = self._special(node, self)
        if expr is not None:
            return expr
        if isinstance(node, (exp.Paren, exp.Alias)):
            return self(node.this)
        if isinstance(node, exp.Column):
            return self._resolve(node)
        if type(node) in _PLAIN:
            return self._plain(node)
        reader = READERS.get(type(node))
        if reader is None:
            raise not_allowed(node)
        return reader(self, node)

    def _plain(self, node: exp.Expression) -> Expr:
        name, indices = _PLAIN[type(node)]
        nodes: list[exp.Expression] = []
        for index in indices:
            given = node.args.get(index)
            nodes += given if isinstance(given, list) else [] if given is None else [given]
        arguments = [self(part) for part in nodes]
        if name in COMPARED:
            remark_undeclared(nodes, arguments)
        known = folded(name, arguments)
        if known is not None:
            return known
        if isinstance(node, RealDiv):
            _refuse_whole(arguments)
        if name in "+-" and any(argument.domain.kind in DATED for argument in arguments):
            return of_dates(name, arguments, days=not isinstance(node, IntervalSub))
        if _null_if_any_is(node):
            name = _STRICT[name]
        return apply(_LONGER.get((name, len(arguments)), name), arguments)


def _refuse_whole(arguments: Sequence[Expr]) -> None:
    if all(argument.domain.kind is Kind.INTEGER for argument in arguments):
        raise Refused(
            "function-not-allowed",
            "the quotient of two whole numbers is cut or rounded in this dialect",
            "cast one of them: a / CAST(b AS DOUBLE PRECISION)",
        )


def _null_if_any_is(node: exp.Expression) -> bool:
    """Whether sqlglot says that the dialect's function is NULL where one of its arguments is."""
    return node.args.get("coalesce") is False or node.args.get("ignore_nulls") is False


_STRICT: Final = {"CONCAT": "CONCAT OF ALL", "LEAST": "LEAST OF ALL", "GREATEST": "GREATEST OF ALL"}


@remembered
def written(node: Any) -> str:
    """The text of a node, for people. Plain columns are common, and sqlglot takes its time."""
    if node is None:
        return ""
    if isinstance(node, exp.Column) and not node.table and not node.this.args.get("quoted"):
        return str(node.name)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "COUNT(*)"
    if type(node) in (exp.Sum, exp.Avg) and isinstance(node.this, exp.Column):
        return f"{spelled(node)}({written(node.this)})"
    return str(plain(node).sql(dialect=dialect()))
