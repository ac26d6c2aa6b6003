"""WHERE: conditions on a row's own values, and on other rows of its unit: IN, EXISTS, alone or within OR and NOT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy import Policy
from discreet.sql.fanout import demand
from discreet.sql.nodes import Field, Filter, Mark, Node, Semi
from discreet.sql.nodes.join import HIDDEN
from discreet.sql.pairs import Source
from discreet.sql.relation import PUBLIC
from discreet.sql.scope import Scope
from discreet.sql.select import Clauses
from discreet.sql.sources import Known, Tables

Query = Callable[[Any, Known], Source]


class Memberships:
    """Reads WHERE clauses of one question."""

    def __init__(self, policy: Policy, tables: Tables, query: Query) -> None:
        self._policy = policy
        self._tables = tables
        self._query = query
        self._marks = 0

    def filtered(self, source: Node, scope: Scope, tests: list[Any], known: Known) -> Node:
        """The rows for which all parts of WHERE hold; some are about other rows of the unit."""
        alone = [test for test in tests if self._is_private(_positive(test), scope, known)]
        others = []
        for test in (test for test in tests if all(test is not each for each in alone)):
            source, scope, test = self._marked(source, scope, test, known)
            others.append(test)
        condition = conjunction(others)
        if condition is not None:
            source = Filter(source, scope.condition(condition, "WHERE"))
        for test in alone:
            source = self._member(source, scope, _positive(test), known, anti=isinstance(test, exp.Not))
            demand(source.work, self._policy.unit_rows)
        return source

    def _marked(self, source: Node, scope: Scope, test: Any, known: Known) -> tuple[Node, Scope, Any]:
        """With a column for each membership that stands within a condition, in its place."""
        if not any(self._is_private(node, scope, known) for node in _within(test)):
            return source, scope, test
        test = exp.Paren(this=test.copy())
        for node in list(_within(test)):
            if not self._is_private(node, scope, known):
                continue
            semi = self._member(source, scope, node, known, anti=False)
            source = Mark(semi.child, semi.other, semi.condition, self._marks)
            demand(source.work, self._policy.unit_rows)
            label = f"{HIDDEN}mark{self._marks}"
            fields = (*scope.fields, ("", Field(label, source.mark)))
            scope, self._marks = replace(scope, fields=fields), self._marks + 1
            node.replace(exp.column(label))
        return source, scope, test

    def linked(self, tree: Any, known: Known) -> tuple[Any, exp.Select] | None:
        """EXISTS (SELECT … FROM public WHERE x = outside AND …) as what stands outside, and SELECT x … AND …; None if
        nothing in it is from outside."""
        if not isinstance(tree, exp.Select) or tree.args.get("group") or tree.args.get("with_"):
            return None
        _, scope, tests = self._tables.source(Clauses.of(tree), known)
        outside = [test for test in tests if not all(map(scope.knows, _columns(test)))]
        sides = [outside[0].this, outside[0].expression] if len(outside) == 1 and isinstance(outside[0], exp.EQ) else []
        inner = [side for side in sides if _columns(side) and all(map(scope.knows, _columns(side)))]
        if len(inner) != 1 or any(map(scope.knows, _columns(sides[1 - sides.index(inner[0])]))):
            return None
        rest = conjunction([test.copy() for test in tests if test is not outside[0]])
        rows = exp.Select(expressions=[inner[0].copy()], where=None if rest is None else exp.Where(this=rest))
        for clause in ("from_", "joins"):
            rows.set(clause, tree.args.get(clause) and tree.copy().args[clause])
        return sides[1 - sides.index(inner[0])], rows

    def _is_private(self, node: Any, scope: Scope, known: Known) -> bool:
        """Whether it asks for other rows of the unit: unit IN (SELECT …), EXISTS (SELECT … of private rows)."""
        if isinstance(node, exp.Exists):
            return not self._tables.is_public(node.this, known)
        return isinstance(node, exp.In) and node.args.get("query") is not None and scope.is_owner(node.this)

    def _member(self, source: Node, scope: Scope, test: Any, known: Known, *, anti: bool) -> Semi:
        """The rows whose unit is, or is not, among those of a subquery."""
        if isinstance(test, exp.Exists):
            return self._exists(source, scope, test.this, known, anti=anti)
        right = self._query(test.args["query"], known)
        if isinstance(right, PUBLIC) or right.fields or not right.owner.names:
            raise Refused(
                "private-subquery",
                "the unit is compared with something else",
                "select the unit alone in the subquery: IN (SELECT unit FROM …)",
            )
        pair = self._tables.pair(source, scope, right, Scope.of("", (), right.owner.names, scope.special))
        return pair.among([test], lambda _: True, anti=anti)

    def _exists(self, source: Node, scope: Scope, tree: Any, known: Known, *, anti: bool) -> Semi:
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if not isinstance(tree, exp.Select) or tree.args.get("with_"):
            raise Refused("private-subquery", "EXISTS takes a SELECT", "write EXISTS (SELECT 1 FROM t WHERE …)")
        clauses = Clauses.of(tree)
        clauses.refuse_rows()
        if clauses.aggregated:
            raise Refused("private-subquery", "EXISTS over what is counted is always true", "use IN (SELECT unit …)")
        right, others, tests = self._tables.source(clauses, known)
        own = [
            test
            for test in tests
            if all(map(others.knows, test.find_all(exp.Column))) or self._is_private(_positive(test), others, known)
        ]
        if not isinstance(right, PUBLIC):
            right = self.filtered(right, others, own, known)
        pair = self._tables.pair(source, scope, right, others)
        correlated = [test for test in tests if all(test is not part for part in own)]
        return self._tables.semi(pair, correlated, anti=anti, inner_first=True)


def _columns(node: Any) -> list[exp.Column]:
    return list(node.find_all(exp.Column))


def _positive(test: Any) -> Any:
    """What a condition asks, or denies."""
    inner = test.this if isinstance(test, exp.Not) else test
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return inner


def _within(test: Any) -> Iterator[Any]:
    """The memberships that stand in a condition, and in no subquery of it."""
    for node in test.walk(prune=lambda node: isinstance(node, (exp.Exists, exp.Query))):
        if isinstance(node, (exp.Exists, exp.In)):
            yield node


def conjunction(tests: list[Any]) -> Any:
    return reduce(lambda a, b: exp.And(this=a, expression=b), tests) if tests else None
