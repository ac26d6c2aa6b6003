"""Statements: SELECT with what belongs to it, printed with all columns by name.

Stars are written out, because engines differ in EXCLUDE and REPLACE, and every relation has a name of its own.

Theorem  If `rewritten` returns, every node of DuckDB's tree was printed by a rule, with everything that it holds.
Proof    A node is printed by the one entry of a table that has its kind, else it is refused. What a rule does not take
         out of a node is refused by `Node.done`, unless it is empty or says what holds anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from discreet.composed import Sql
from discreet.engines.rewriting.dialect import Dialect
from discreet.engines.rewriting.expressions import Printer, field_name, is_aggregate, own_name
from discreet.engines.rewriting.terms import TYPES, WHOLE, Column, Relation, Scope, Term, Type, common
from discreet.engines.rewriting.tree import Json, Node, UnknownError, calls, statement
from discreet.policy.layout import ROW
from discreet.policy.model import Table

_JOINS: Final = {"INNER": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN", "FULL": "FULL JOIN"}
_MATERIALIZED: Final[Mapping[str, Callable[[Dialect], str]]] = {
    "CTE_MATERIALIZE_ALWAYS": lambda dialect: dialect.materialized,
    "CTE_MATERIALIZE_NEVER": lambda dialect: dialect.inlined,
    "CTE_MATERIALIZE_DEFAULT": lambda _: "",
}


@dataclass(frozen=True, slots=True)
class Stored:
    """A table of the engine: what it is called there, and its columns with DuckDB's types."""

    text: str
    columns: Mapping[str, str]
    holds: frozenset[str] = frozenset()
    """Conditions, as the engine's language writes them, that all of its rows meet: they need not be asked."""


def ranked_rows(table: Table, dialect: Dialect) -> frozenset[str]:
    """What all rows of a copy meet, as queries ask it: it holds no row of a higher rank."""
    if table.owner is None or table.owner.column is None:
        return frozenset()
    return frozenset({f"({dialect.identifier(ROW)} <= {dialect.literal(WHOLE, str(table.max_rows))})"})


@dataclass(frozen=True, slots=True)
class _Known:
    """A table, or a common table expression, as FROM finds it."""

    text: str
    columns: tuple[Column, ...]
    holds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A query in the language of an engine, and the types of its columns."""

    text: str
    types: tuple[Type, ...]
    aggregates: bool
    """Whether each of its rows stands for a group."""


def rewritten(query: Sql, dialect: Dialect, tables: Mapping[str, Stored]) -> Rewritten:
    """A query as an engine reads it; `UnknownError` if it holds what the dialect has no rule for.

    tables   by their names in lower case.
    """
    known = {
        label.lower(): _Known(
            stored.text, tuple(Column(column, _type(kind)) for column, kind in stored.columns.items()), stored.holds
        )
        for label, stored in tables.items()
    }
    try:
        held = statement(query)
        text, columns = _Statements(dialect, known).printed(Node(held), Scope())
    except RecursionError:
        raise UnknownError("a query that is nested this deep") from None
    except (ValueError, KeyError, TypeError, IndexError):  # more or fewer parts than a rule knows
        raise UnknownError("a shape that no rule knows") from None
    return Rewritten(text, tuple(column.type for column in columns), _aggregates(held, dialect))


def _aggregates(held: Json, dialect: Dialect) -> bool:
    """Whether a statement gives groups and not rows: it has keys, or calls an aggregate itself, or reads groups."""
    if held["type"] == "SET_OPERATION_NODE":
        return all(_aggregates(child, dialect) for child in held["children"])
    source = held["from_table"]
    if held["group_expressions"] or any(is_aggregate(dialect, each) for each in calls(held["select_list"])):
        return True
    return source["type"] == "SUBQUERY" and _aggregates(source["subquery"]["node"], dialect)


def _type(kind: str) -> Type:
    if kind not in TYPES:
        raise UnknownError(f"columns of the type {kind}")
    return TYPES[kind]


class _Statements:
    """Prints the statements of one query."""

    def __init__(
        self,
        dialect: Dialect,
        tables: Mapping[str, _Known],
        numbers: count[int] | None = None,
    ) -> None:
        self._dialect = dialect
        self._tables = tables
        self._numbers = count() if numbers is None else numbers
        self._printer = Printer(dialect, self, self._numbers)

    def subquery(self, held: Any, scope: Scope) -> tuple[str, tuple[Column, ...]]:
        return self.printed(Node(held["node"]), Scope(around=scope))

    def printed(self, node: Node, scope: Scope) -> tuple[str, tuple[Column, ...]]:
        """A statement with its columns; `scope` is what lies around it."""
        named = (node.take("cte_map") or {}).get("map") or ()
        inside, head = self, []
        for each in named:
            text, relation = inside._common(each, scope)
            head.append(text)
            inside = inside._with(*relation)
        text, columns = inside._statement(node, scope)
        return (f"WITH {', '.join(head)} {text}" if head else text), columns

    def _common(self, held: Any, scope: Scope) -> tuple[str, tuple[str, tuple[Column, ...]]]:
        """A common table expression."""
        made = Node({"type": "CTE", **held["value"]})
        how, query, label = made.word("materialized"), made.take("query_node"), str(held["key"])
        made.done()
        if how not in _MATERIALIZED:
            raise UnknownError(how)
        text, columns = self.printed(Node(query), scope)
        return f"{self._dialect.identifier(label)} AS {_MATERIALIZED[how](self._dialect)}({text})", (label, columns)

    def _with(self, label: str, columns: tuple[Column, ...]) -> _Statements:
        known = {**self._tables, label.lower(): _Known(self._dialect.identifier(label), columns)}
        return _Statements(self._dialect, known, self._numbers)

    def _statement(self, node: Node, scope: Scope) -> tuple[str, tuple[Column, ...]]:
        if node.kind == "SELECT_NODE":
            return self._select(node, scope)
        if node.kind == "SET_OPERATION_NODE":
            return self._union(node, scope)
        raise UnknownError(node.kind)

    def _union(self, node: Node, scope: Scope) -> tuple[str, tuple[Column, ...]]:
        if node.word("setop_type") != "UNION" or not node.take("setop_all"):
            raise UnknownError("a set operation that is not UNION ALL")
        parts = [self.printed(child, scope) for child in node.nodes("children")]
        node.done()
        columns = []
        for index, column in enumerate(parts[0][1]):
            matching = {each[1][index].type for each in parts}
            if len(matching) != 1:
                raise UnknownError("UNION of columns of several types")
            columns.append(replace(column, type=common(matching)))
        return " UNION ALL ".join(f"({text})" for text, _ in parts), tuple(columns)

    def _select(self, node: Node, scope: Scope) -> tuple[str, tuple[Column, ...]]:
        printer = self._printer
        relations, source = self._from(Node(node.take("from_table")), scope)
        inner = Scope(relations, around=scope)
        items = self._items(node.nodes("select_list"), inner)
        where, having = node.node("where_clause"), node.node("having")
        text = "".join(
            [
                self._listed(items),
                f" FROM {source}" if source else "",
                self._where(where, inner),
                self._grouped(node, inner),
                f" HAVING {printer.truth(having, inner)}" if having else "",
            ]
        )
        head, tail = self._modifiers(node.nodes("modifiers"), inner, items)
        node.done()
        columns = tuple(Column(label, term.type) for label, term in items)
        return f"SELECT {head}{text}{tail}", columns

    def _where(self, node: Node | None, scope: Scope) -> str:
        """The condition of a SELECT, unless all rows of the one table that it reads meet it anyway."""
        test = "" if node is None else self._printer.truth(node, scope)
        held = scope.relations[0].holds if len(scope.relations) == 1 else frozenset()
        return f" WHERE {test}" if test and test not in held else ""

    def _items(self, nodes: Sequence[Node], scope: Scope) -> list[tuple[str, Term]]:
        items: list[tuple[str, Term]] = []
        for node in nodes:
            if node.kind == "STAR":
                items += self._star(node, scope)
                continue
            label = node.word("alias") or node.last_name() or self._fresh()
            items.append((label, self._printer.term(node, scope)))
        return items

    def _star(self, node: Node, scope: Scope) -> list[tuple[str, Term]]:
        node.take("class")
        left_out = {str(label).lower() for label in node.take("exclude_list") or ()}
        replaced = {each["key"].lower(): Node(each["value"]) for each in node.take("replace_list") or ()}
        node.done()
        items = []
        for relation in scope.relations:
            for column in relation.columns:
                label = column.name.lower()
                if label in left_out:
                    continue
                other = replaced.get(label)
                held = self._printer.held(relation.alias, column)
                items.append((column.name, held if other is None else self._printer.term(other, scope)))
        return items

    def _listed(self, items: Sequence[tuple[str, Term]]) -> str:
        """The list of a SELECT; of a struct its fields."""
        named = self._dialect.identifier
        listed = []
        for label, term in items:
            if term.fields:
                listed += [f"{held.text} AS {named(field_name(label, part))}" for part, held in term.fields.items()]
            else:
                listed.append(f"{term.text} AS {named(label)}")
        return ", ".join(listed)

    def _grouped(self, node: Node, scope: Scope) -> str:
        keys, sets = node.nodes("group_expressions"), node.take("group_sets") or []
        if not keys:
            return ""
        if sets != [list(range(len(keys)))]:
            raise UnknownError("grouping sets")
        return f" GROUP BY {', '.join(term.text for term in self._printer.terms(keys, scope))}"

    def _modifiers(self, nodes: Sequence[Node], scope: Scope, items: Sequence[tuple[str, Term]]) -> tuple[str, str]:
        """What stands before the list of a SELECT, and behind everything."""
        head, tail = "", ""
        for node in nodes:
            if node.kind == "DISTINCT_MODIFIER":
                head = "DISTINCT "
            elif node.kind == "ORDER_MODIFIER":
                aliases = {label.lower(): Term(self._dialect.identifier(label), term.type) for label, term in items}
                orders = self._printer.orders(node.take("orders"), Scope(scope.relations, aliases, scope.around))
                if any(order.term.constant is not None for order in orders):
                    raise UnknownError("ORDER BY a index")
                tail += f" ORDER BY {self._printer.ordered(orders)}"
            elif node.kind == "LIMIT_MODIFIER":
                limit = node.node("limit")
                most = None if limit is None else self._printer.term(limit, scope).constant
                if node.word("limit_type") != "ROW_COUNT" or most is None:
                    raise UnknownError("LIMIT by what is no constant")
                tail += f" LIMIT {int(most)}"
            else:
                raise UnknownError(node.kind)
            node.done()
        return head, tail

    # FROM

    def _from(self, node: Node, scope: Scope) -> tuple[tuple[Relation, ...], str]:
        relations: tuple[Relation, ...]
        if node.kind == "EMPTY":
            relations, text = (), ""
        elif node.kind == "BASE_TABLE":
            relations, text = self._table(node)
        elif node.kind == "SUBQUERY":
            relations, text = self._derived(node, scope)
        elif node.kind == "EXPRESSION_LIST":
            relations, text = self._values(node, scope)
        elif node.kind == "JOIN":
            relations, text = self._join(node, scope)
        else:
            raise UnknownError(node.kind)
        node.done()
        return relations, text

    def _fresh(self) -> str:
        return own_name(next(self._numbers))

    def _table(self, node: Node) -> tuple[tuple[Relation, ...], str]:
        label, alias = node.word("table_name"), node.word("alias")
        if Node(node.take("qualified_name")).take("path") != [label]:
            raise UnknownError("a table of a schema")
        if label.lower() not in self._tables:
            raise UnknownError("a table that is not here")
        known = self._tables[label.lower()]
        called = alias or label
        return (Relation(called, known.columns, known.holds),), f"{known.text} AS {self._dialect.identifier(called)}"

    def _derived(self, node: Node, scope: Scope) -> tuple[tuple[Relation, ...], str]:
        text, columns = self.printed(Node(node.take("subquery")["node"]), scope)
        called, names = node.word("alias") or self._fresh(), node.take("column_name_alias") or []
        if not names:
            return (Relation(called, columns),), f"({text}) AS {self._dialect.identifier(called)}"
        if len(names) != len(columns):
            raise UnknownError("names for some columns")
        renamed = tuple(Column(label, column.type) for label, column in zip(names, columns, strict=True))
        listed = ", ".join(map(self._dialect.identifier, names))
        return (Relation(called, renamed),), f"({text}) AS {self._dialect.identifier(called)} ({listed})"

    def _values(self, node: Node, scope: Scope) -> tuple[tuple[Relation, ...], str]:
        """Rows of literals: the first row names the columns, so that no engine has to."""
        node.take("alias")
        rows = [self._printer.terms([Node(each) for each in row], scope) for row in node.take("values")]
        if node.take("expected_names"):
            raise UnknownError("VALUES with names")
        columns, texts = [], [list[str]() for _ in rows]
        for index in range(len(rows[0])):
            printed, type_ = self._dialect.alike([row[index] for row in rows])
            columns.append(Column(f"col{index}", type_))
            for text, value in zip(texts, printed, strict=True):
                text.append(f"{value} AS {self._dialect.identifier(f'col{index}')}")
        called = self._fresh()
        union = " UNION ALL ".join(f"SELECT {', '.join(text)}" for text in texts)
        return (Relation(called, tuple(columns)),), f"({union}) AS {self._dialect.identifier(called)}"

    def _join(self, node: Node, scope: Scope) -> tuple[tuple[Relation, ...], str]:
        left, before = self._from(Node(node.take("left")), scope)
        right, after = self._from(Node(node.take("right")), scope)
        kind, condition = node.word("join_type"), node.node("condition")
        if condition is None:
            raise UnknownError("a join without a condition")
        on = self._printer.truth(condition, Scope((*left, *right), around=scope))
        if kind in ("SEMI", "ANTI"):
            return self._half(kind, left, before, after, on)
        if kind not in _JOINS:
            raise UnknownError(f"join: {kind}")
        return (*left, *right), f"{before} {_JOINS[kind]} {after} ON {on}"

    def _half(
        self, kind: str, left: tuple[Relation, ...], before: str, after: str, on: str
    ) -> tuple[tuple[Relation, ...], str]:
        """SEMI and ANTI joins: rows of the left side alone."""
        word = self._dialect.semi if kind == "SEMI" else self._dialect.anti
        if word is not None:
            return left, f"{before} {word} {after} ON {on}"
        if len(left) != 1:
            raise UnknownError(f"join: {kind} of several tables")
        (relation,) = left
        items = [(column.name, self._printer.held(relation.alias, column)) for column in relation.columns]
        exists = f"{'NOT ' if kind == 'ANTI' else ''}EXISTS (SELECT 1 FROM {after} WHERE {on})"
        text = f"(SELECT {self._listed(items)} FROM {before} WHERE {exists})"
        return left, f"{text} AS {self._dialect.identifier(relation.alias)}"
