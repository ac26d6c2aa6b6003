"""Expressions, printed from the leaves up: each kind of node has one entry in a table, and others do not exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Protocol

from discreet.engines.rewriting.dialect import Dialect, Order
from discreet.engines.rewriting.terms import (
    DAY,
    HUGE,
    NOTHING,
    RANGES,
    REAL,
    TEXT,
    TIME,
    TRUTH,
    TYPES,
    WHOLE,
    Column,
    Scope,
    Term,
    Type,
    list_of,
)
from discreet.engines.rewriting.tree import Node, UnknownError

COMPARISONS: Final = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_DISTINCT: Final = {"COMPARE_NOT_DISTINCT_FROM": "{}", "COMPARE_DISTINCT_FROM": "(NOT {})"}
_WORDS: Final = {"CONJUNCTION_AND": " AND ", "CONJUNCTION_OR": " OR "}
_FRAMES: Final = {
    "UNBOUNDED_PRECEDING": "UNBOUNDED PRECEDING",
    "UNBOUNDED_FOLLOWING": "UNBOUNDED FOLLOWING",
    "CURRENT_ROW_ROWS": "CURRENT ROW",
    "EXPR_PRECEDING_ROWS": "{} PRECEDING",
    "EXPR_FOLLOWING_ROWS": "{} FOLLOWING",
}
_USUAL_FRAME: Final = ("UNBOUNDED_PRECEDING", "CURRENT_ROW_RANGE")
_RANKS: Final = {
    "WINDOW_ROW_NUMBER": ("row_number", "row_number()"),
    "WINDOW_RANK": ("rank", "rank()"),
    "WINDOW_RANK_DENSE": ("dense_rank", "dense_rank()"),
}
_SHIFTS: Final = {"WINDOW_LAG": "lag", "WINDOW_LEAD": "lead"}
LARGEST_WHOLE: Final = 2**63


class Subqueries(Protocol):
    """What prints the statements inside of expressions."""

    def subquery(self, held: object, scope: Scope) -> tuple[str, tuple[Column, ...]]: ...


@dataclass(frozen=True)
class Printer:
    """Prints the expressions of one query."""

    dialect: Dialect
    subqueries: Subqueries
    numbers: count[int]

    def alias(self) -> str:
        """A name that nothing else in the query has."""
        return self.dialect.identifier(own_name(next(self.numbers)))

    def term(self, node: Node, scope: Scope) -> Term:
        """An expression; its own alias is of no interest here."""
        node.take("alias")
        kind = str(node.take("class"))
        if kind not in _KINDS:
            raise UnknownError(kind)
        printed = _KINDS[kind](self, node, scope)
        node.done()
        return printed

    def truth(self, node: Node, scope: Scope) -> str:
        """A condition."""
        return self.dialect.as_type(self.term(node, scope), TRUTH)

    def terms(self, nodes: Sequence[Node], scope: Scope) -> list[Term]:
        return [self.term(node, scope) for node in nodes]

    # leaves

    def constant(self, node: Node, _: Scope) -> Term:
        literal = Node({"type": "literal", **node.take("literal")})
        kind, text = literal.word("kind"), literal.word("text")
        literal.done()
        if kind == "NULL_LITERAL":
            return Term("NULL", NOTHING)
        if kind == "INTEGER":
            type_ = WHOLE if -LARGEST_WHOLE <= int(text) < LARGEST_WHOLE else HUGE
        elif kind == "NUMERIC":
            if "e" not in text.lower():
                raise UnknownError("a decimal")
            type_ = REAL
        elif kind in ("STRING", "BOOLEAN"):
            type_ = TEXT if kind == "STRING" else TRUTH
        else:
            raise UnknownError(f"constant: {kind}")
        return Term(self.dialect.literal(type_, text), type_, constant=text)

    def column(self, node: Node, scope: Scope) -> Term:
        matching = scope.column(list(node.take("column_names")))
        if isinstance(matching, Term):
            return matching
        table, column = matching
        return self.held(table, column)

    def held(self, table: str | None, column: Column) -> Term:
        """A column of a relation; of a struct there is one for each field."""
        prefix = "" if table is None else f"{self.dialect.identifier(table)}."
        if not column.type.fields:
            return Term(prefix + self.dialect.identifier(column.name), column.type)
        parts = zip(column.type.fields, column.type.of, strict=True)
        fields = {
            label: Term(prefix + self.dialect.identifier(field_name(column.name, label)), type_)
            for label, type_ in parts
        }
        return Term("", column.type, fields=fields)

    # operators

    def comparison(self, node: Node, scope: Scope) -> Term:
        left, right = (self._child(node, key, scope) for key in ("left", "right"))
        return self.compared(node.kind, left, right)

    def compared(self, kind: str, left: Term, right: Term) -> Term:
        texts, type_ = self.dialect.alike([left, right])
        if kind in _DISTINCT:
            return Term(_DISTINCT[kind].format(self.dialect.same.format(*texts)), TRUTH)
        if kind not in COMPARISONS:
            raise UnknownError(kind)
        if COMPARISONS[kind] not in ("=", "<>"):
            texts = [self.sortable(Term(text, type_)) for text in texts]
        return Term(f"({texts[0]} {COMPARISONS[kind]} {texts[1]})", TRUTH)

    def sortable(self, term: Term) -> str:
        if term.type.name in ("list", "struct"):
            raise UnknownError(f"values of the type {term.type.name} in an order")
        return self.dialect.comparable(term)

    def between(self, node: Node, scope: Scope) -> Term:
        terms = [self._child(node, key, scope) for key in ("input", "lower", "upper")]
        texts, type_ = self.dialect.alike(terms)
        value, low, high = (self.sortable(Term(text, type_)) for text in texts)
        return Term(f"({value} BETWEEN {low} AND {high})", TRUTH)

    def conjunction(self, node: Node, scope: Scope) -> Term:
        if node.kind not in _WORDS:
            raise UnknownError(node.kind)
        return Term(f"({_WORDS[node.kind].join(self.truth(each, scope) for each in node.nodes('children'))})", TRUTH)

    def operator(self, node: Node, scope: Scope) -> Term:
        children = node.nodes("children")
        if node.kind == "ARRAY_EXTRACT":
            return self._named_value(children, scope)
        terms = self.terms(children, scope)
        if node.kind == "OPERATOR_NOT":
            return Term(f"(NOT {self.dialect.as_type(terms[0], TRUTH)})", TRUTH)
        if node.kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            if not terms[0].text:
                raise UnknownError("a struct that is NULL")
            return Term(f"({terms[0].text} IS {'NOT ' if 'NOT' in node.kind else ''}NULL)", TRUTH)
        texts, type_ = self.dialect.alike(terms)
        if node.kind == "OPERATOR_COALESCE":
            return Term(f"COALESCE({', '.join(texts)})", type_)
        if node.kind == "COMPARE_IN":
            return Term(f"({texts[0]} IN ({', '.join(texts[1:])}))", TRUTH)
        raise UnknownError(node.kind)

    def _named_value(self, children: Sequence[Node], scope: Scope) -> Term:
        """list_transform([value], lambda name: body)[1]: how a query calls a long value by a name."""
        made, index = children
        index.take("class")
        call = Node(index.take("literal") or {})
        if (call.word("kind"), call.word("text")) != ("INTEGER", "1") or made.take("class") != "FUNCTION":
            raise UnknownError("an item of a list")
        if _called(made) != "list_transform":
            raise UnknownError("an item of a list")
        values, body = (Node(argument["expression"]) for argument in made.take("arguments"))
        made.done()
        values.take("class")
        if _called(values) != "list_value" or body.take("class") != "LAMBDA":
            raise UnknownError("list_transform")
        (item,) = (Node(argument["expression"]) for argument in values.take("arguments"))
        values.done()
        value = self.term(item, scope)
        (label,) = Node(body.take("lhs")).take("column_names")
        body.take("syntax_type")
        called = self.alias()
        inner = self.term(
            Node(body.take("expr")), Scope(values={label.lower(): Term(called, value.type)}, around=scope)
        )
        body.done()
        return Term(self.dialect.named.format(value.text, called, inner.text, self.alias()), inner.type)

    def case(self, node: Node, scope: Scope) -> Term:
        checks = [
            (self.truth(Node(check["when_expr"]), scope), self.term(Node(check["then_expr"]), scope))
            for check in node.take("case_checks")
        ]
        other = self._child(node, "else_expr", scope)
        texts, type_ = self.dialect.alike([*(then for _, then in checks), other])
        branches = "".join(f" WHEN {when} THEN {then}" for (when, _), then in zip(checks, texts, strict=False))
        return Term(f"(CASE{branches} ELSE {texts[-1]} END)", type_)

    def cast(self, node: Node, scope: Scope) -> Term:
        """Every cast is total here: what a type cannot hold is NULL, whatever the query calls it."""
        node.take("try_cast")
        value, wanted = self._child(node, "child", scope), Node(node.take("type_expr"))
        label = wanted.word("type_name")
        if label not in TYPES or Node(wanted.take("qualified_name")).take("path") != [label]:
            raise UnknownError(f"a cast to {label}")
        wanted.take("class")
        wanted.done()
        return self.converted(value, label)

    def converted(self, value: Term, label: str) -> Term:
        type_ = TYPES[label]
        if value.type == NOTHING:
            return Term(f"CAST(NULL AS {self.dialect.type(type_)})", type_)
        if value.constant is not None and value.type == TEXT and type_ in (DAY, TIME, REAL):
            return Term(self.dialect.literal(type_, value.constant), type_)
        if value.constant is not None and value.type == WHOLE and type_ in (WHOLE, REAL):
            return Term(self.dialect.literal(type_, value.constant), type_, constant=value.constant)
        if value.type == type_ and label in ("BIGINT", "HUGEINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP"):
            return Term(value.text, type_)
        if (value.type, type_) not in self.dialect.casts:
            raise UnknownError(f"a cast from {value.type.name} to {type_.name}")
        low, high = RANGES.get(label, (0, 0))
        texts = {"low": self.dialect.literal(WHOLE, str(low)), "high": self.dialect.literal(WHOLE, str(high))}
        return Term(self.dialect.casts[value.type, type_].format(value.text, **texts), type_)

    # calls

    def function(self, node: Node, scope: Scope) -> Term:
        function = _called(node)
        node.take("is_operator")
        orders = self.orders(Node(node.take("order_bys") or {}).take("orders") or (), scope)
        chosen, distinct = node.node("filter"), bool(node.take("distinct"))
        given = node.take("arguments") or []
        arguments = self.terms([Node(argument["expression"]) for argument in given], scope)
        if function == "struct_pack":
            fields = {argument["name"]: term for argument, term in zip(given, arguments, strict=True)}
            return Term("", Type("struct", tuple(term.type for term in arguments), tuple(fields)), fields=fields)
        if is_aggregate(self.dialect, function):
            called = self._aggregate(function, arguments, orders, distinct=distinct)
            if chosen is None:
                return called
            return Term(self.dialect.filters.format(called.text, self.truth(chosen, scope)), called.type)
        if orders or distinct or chosen is not None:
            raise UnknownError(f"{function} with clauses of an aggregate")
        return self.called(function, arguments)

    def called(self, function: str, arguments: Sequence[Term]) -> Term:
        dialect = self.dialect
        if function == "struct_extract":
            held, label = arguments
            if label.constant is None or label.constant not in held.fields:
                raise UnknownError("struct_extract")
            return held.fields[label.constant]
        if function == "list_value":
            texts, type_ = dialect.alike(arguments)
            return Term(dialect.listed.format(", ".join(texts)), list_of(type_))
        if function == "list_extract":
            held, index = arguments
            return Term(dialect.item.format(held.text, dialect.as_type(index, WHOLE)), held.type.of[0])
        if function in ("least", "greatest"):
            texts, type_ = dialect.alike(arguments)
            return Term(f"{function}({', '.join(self.sortable(Term(text, type_)) for text in texts)})", type_)
        if function in dialect.rules:
            return dialect.rules[function](arguments)
        return dialect.call(function, arguments, dialect.functions.get(function, ()))

    def _aggregate(self, function: str, arguments: Sequence[Term], orders: Sequence[Order], *, distinct: bool) -> Term:
        dialect = self.dialect
        if function == "count_star" and not distinct and not orders:
            return Term("count(*)", WHOLE)
        (argument,) = arguments
        if function in ("first", "last") and orders and dialect.first is not None and not distinct:
            return Term(dialect.first(argument.text, orders, function == "last"), argument.type)
        if orders:
            raise UnknownError(f"{function} in an order")
        if not argument.text:
            raise UnknownError(f"{function} of a struct")
        if function == "count":
            return Term(f"count({'DISTINCT ' if distinct else ''}{argument.text})", WHOLE)
        if distinct:
            raise UnknownError(f"{function} of distinct values")
        if function in ("min", "max"):
            return Term(f"{function}({self.sortable(argument)})", argument.type)
        if function == "list":
            return Term(dialect.collected.format(argument.text), list_of(argument.type))
        return dialect.call(function, arguments, dialect.aggregates.get(function, ()))

    def orders(self, held: Sequence[object], scope: Scope) -> list[Order]:
        listed = []
        for each in held:
            assert isinstance(each, dict)
            node = Node(each)
            nulls, expression = node.word("null_order"), node.node("expression")
            if node.kind not in ("ORDER_DEFAULT", "ASCENDING", "DESCENDING") or expression is None:
                raise UnknownError(node.kind)
            if nulls not in ("ORDER_DEFAULT", "NULLS LAST", "NULLS FIRST"):
                raise UnknownError(nulls)
            node.done()
            listed.append(Order(self.term(expression, scope), node.kind == "DESCENDING", nulls == "NULLS FIRST"))
        return listed

    def ordered(self, orders: Sequence[Order]) -> str:
        """Items of an ORDER BY: NULL comes last unless told otherwise, as in DuckDB, and engines are told so."""
        return ", ".join(
            f"{self.sortable(each.term)} {'DESC' if each.descending else 'ASC'} "
            f"NULLS {'FIRST' if each.nulls_first else 'LAST'}"
            for each in orders
        )

    def window(self, node: Node, scope: Scope) -> Term:
        function, kind = _called(node), node.kind
        arguments = self.terms([Node(each["expression"]) for each in node.take("arguments") or ()], scope)
        partitions = self.terms(node.nodes("partitions"), scope)
        orders = self.orders(node.take("orders") or (), scope)
        frame = self._frame(node, scope)
        if kind in _RANKS and function == _RANKS[kind][0] and not arguments and not frame:
            called = Term(_RANKS[kind][1], WHOLE)
        elif kind in _SHIFTS and function == _SHIFTS[kind] and not frame:
            value, distance = arguments
            if distance.constant is None:
                raise UnknownError(f"{function} by what is no constant")
            called = Term(f"{function}({value.text}, {int(distance.constant)})", value.type)
        elif kind == "WINDOW_AGGREGATE":
            if not arguments and function == "count":
                function = "count_star"
            called = self._aggregate(function, arguments, (), distinct=False)
        else:
            raise UnknownError(kind)
        over = f"PARTITION BY {', '.join(term.text for term in partitions)} " if partitions else ""
        over += f"ORDER BY {self.ordered(orders)} " if orders else self.dialect.unordered if kind in _RANKS else ""
        return Term(f"({called.text} OVER ({over}{frame}))", called.type)

    def _frame(self, node: Node, scope: Scope) -> str:
        ends = [node.word(key) for key in ("start", "end")]
        distances = [node.node(f"{key}_expr") for key in ("start", "end")]
        if tuple(ends) == _USUAL_FRAME:
            return ""
        said = []
        for end, distance in zip(ends, distances, strict=True):
            if end not in _FRAMES:
                raise UnknownError(end)
            constant = None if distance is None else self.term(distance, scope).constant
            if ("{}" in _FRAMES[end]) != (constant is not None):
                raise UnknownError("a frame by what is no constant")
            said.append(_FRAMES[end].format(constant and int(constant)))
        return f"ROWS BETWEEN {said[0]} AND {said[1]}"

    def subquery(self, node: Node, scope: Scope) -> Term:
        kind, compared = node.word("subquery_type"), node.word("comparison_type")
        text, columns = self.subqueries.subquery(node.take("subquery"), scope)
        if kind == "EXISTS":
            return Term(f"EXISTS ({text})", TRUTH)
        (column,) = columns
        if kind == "SCALAR":
            return Term(f"({text})", column.type)
        if kind == "ANY" and compared == "COMPARE_EQUAL":
            value = self._child(node, "child", scope)
            if value.type != column.type:
                raise UnknownError("IN over another type")
            return Term(f"({value.text} IN ({text}))", TRUTH)
        raise UnknownError(f"subquery: {kind}")

    def _child(self, node: Node, key: str, scope: Scope) -> Term:
        child = node.node(key)
        if child is None:
            raise UnknownError(f"{node.kind} without {key}")
        return self.term(child, scope)


def own_name(number: int) -> str:
    """A name that no column or table has: policies may not begin theirs like this."""
    return f"_discreet_{number}"


def field_name(column: str, label: str) -> str:
    """The column that holds a field of a struct."""
    return f"{column}.{label}"


def _called(node: Node) -> str:
    """The name of a function, which no schema stands before."""
    function = node.word("function_name").lower()
    path = Node(node.take("qualified_name") or {}).take("path")
    if path is None or [part.lower() for part in path] != [function]:
        raise UnknownError("a function of a schema")
    return function


_AGGREGATES: Final = frozenset({"count_star", "count", "min", "max", "list", "first", "last"})


def is_aggregate(dialect: Dialect, function: str) -> bool:
    return function in _AGGREGATES or function in dialect.aggregates


_KINDS: Final[Mapping[str, Callable[[Printer, Node, Scope], Term]]] = {
    "CONSTANT": Printer.constant,
    "COLUMN_REF": Printer.column,
    "COMPARISON": Printer.comparison,
    "BETWEEN": Printer.between,
    "CONJUNCTION": Printer.conjunction,
    "OPERATOR": Printer.operator,
    "CASE": Printer.case,
    "CAST": Printer.cast,
    "FUNCTION": Printer.function,
    "WINDOW": Printer.window,
    "SUBQUERY": Printer.subquery,
}
