"""From a question to its plan: releases of private rows, and the SELECT over what they gave.

A plan follows from text and policy alone (and from public tables). It knows nothing of costs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Final

from sqlglot import exp

from discreet.accounting.part import Part
from discreet.composed import Sql, sql
from discreet.errors import Refused
from discreet.policy import Policy, fingerprint
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.bind import Binder, Special
from discreet.sql.clause import AUTO, NOTHING, Options
from discreet.sql.domain import BOOLEAN, Domain
from discreet.sql.expression import Expr
from discreet.sql.fanout import demand, united
from discreet.sql.formulas import Listing
from discreet.sql.functions import FUNCTIONS
from discreet.sql.keys import GroupKey, PublicKey
from discreet.sql.nodes import Bound, Filter, Node, Project, Union
from discreet.sql.per_unit import per_unit, window
from discreet.sql.postprocess import ROW_NUMBER, After
from discreet.sql.public_select import public_select
from discreet.sql.read import statement
from discreet.sql.relation import PUBLIC, Derived, Public, Relation, Released
from discreet.sql.release import Release
from discreet.sql.scope import Scope
from discreet.sql.select import Clauses, grouped_by, release_select, row_items
from discreet.sql.sources import Known, Source, Tables, bounded, fitting
from discreet.sql.unknown import Found, Search, Unknown
from discreet.sql.work import few_measures, few_numbers, planning

VERSION: Final = 1
"""Of what a plan's fingerprint covers: counts up when the same text starts to mean something else."""
DROPPED: Final = "rows with NULL unit id are dropped"


@dataclass(frozen=True)
class Plan:
    """What a question needs: releases, drawn in this order, and the SELECT that shows them."""

    policy: Policy
    releases: tuple[Release, ...]
    below: Any
    after: After
    notes: tuple[str, ...]
    options: Options = NOTHING
    explain: bool = False
    reads_tables: bool = False
    """Whether public tables are read for what is shown."""
    digest: str = ""
    """Of the policy."""
    schemas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Columns and types of public tables of which the policy declares none."""
    unknown: tuple[Unknown, ...] = ()
    """What is searched for first: the releases then are those of the plan with what was found."""

    @property
    def columns(self) -> list[str]:
        return self.after.columns

    @property
    def groups(self) -> int | None:
        """How many rows there are before HAVING and the like; None where private keys or public rows decide it."""
        if not isinstance(self.below, Released) or self.releases[self.below.number].private_keys:
            return None
        return self.releases[self.below.number].groups

    @property
    def searched_first(self) -> tuple[Unknown, ...]:
        """The searches that depend on no other: which rows count is found one after the other, and before the rest."""
        return tuple(unknown for unknown in self.unknown if unknown.first)[:1] or self.unknown

    @cached_property
    def fingerprint(self) -> str:
        """The digest of what is drawn: the same for questions that differ only in what follows the noise."""
        drawn = [
            [release.sql().text, [_listed(key) for key in release.keys], str(release.contribution)]
            + [[type(m).__name__, m.detail, m.size, m.length, str(release.sensitivity(m))] for m in release.measures]
            + [release.other]
            for release in self.releases
        ]
        searched = [[unknown.key for unknown in self.unknown]] if self.unknown else []
        written = json.dumps([VERSION, self.digest, drawn, *searched], sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()

    @cached_property
    def queries(self) -> tuple[Sql, ...]:
        """Everything that an engine will be asked, but for the values of earlier releases."""
        texts = [self.after.sql(self.below.sql()), *(unknown.sql() for unknown in self.unknown)]
        for release in self.releases:
            texts.append(release.sql())
            if release.private_keys:
                texts.append(release.selection_sql())
            if release.other:
                texts.append(release.other_sql(()))
        return tuple(texts)


def plan(
    policy: Policy,
    text: object,
    *,
    public: Public,
    digest: str = "",
    dialect: str | None = None,
    params: Mapping[str, object] | None = None,
    part: Part | None = None,
    bounds: Found | None = None,
) -> Plan:
    """The plan of a question, or a refusal; where a part is given, of a question about that part alone.

    `bounds` are those that the text leaves out.
    """
    query = statement(text, dialect, params)
    with planning():
        planned = _Planner(policy, public, query.options, part, bounds).plan(query.tree)
    if part is not None:
        planned = _inside(planned, part)
    return replace(planned, options=query.options, explain=query.explain, digest=digest or fingerprint(policy))


def private_rows(policy: Policy, text: object, *, public: Public) -> Node:
    """The private rows that a SELECT describes, for what learns from them; they never leave as they are."""
    select = statement(text, None, None)
    planner = _Planner(policy, public, select.options, None)
    with planning():
        node = planner.query(select.tree, {})
    if isinstance(node, PUBLIC) or planner.releases or select.explain or select.options != NOTHING:
        raise Refused(
            "not-rows",
            "a model learns from private rows, and this is something else",
            "write SELECT columns FROM a private table, without aggregates, EXPLAIN or WITH DIFFERENTIAL_PRIVACY",
        )
    return bounded(node)


def _inside(planned: Plan, part: Part) -> Plan:
    """The plan, if every unit that it counts is in the part."""
    if not all(release.child.inside for release in planned.releases):
        raise Refused(
            "outside-part",
            "the query reads units outside of the part",
            f"ask about {part.table}, or join other tables to it on the unit with JOIN or LEFT JOIN",
        )
    return replace(planned, notes=(f"only the part with {part.label}", *planned.notes))


class _Planner:
    """One planning: collects releases on its way."""

    def __init__(
        self, policy: Policy, public: Public, options: Options, part: Part | None, bounds: Found | None = None
    ) -> None:
        self._policy = policy
        self._search = Search(bounds or {}, allowed=policy.implicit_bounds)
        self._public = public
        self._options = options
        self._releases: list[Release] = []
        self._notes: list[str] = []
        self._tables = Tables(policy, public, self.query, self._subqueries, part, self._notes.append)
        self._subquery: dict[int, tuple[Any, Relation]] = {}
        """Subqueries by their identity; nodes are held, so that none gets the place of another."""
        self._reads_tables = False

    def plan(self, tree: exp.Query) -> Plan:
        planned = self.query(tree, {})
        if not isinstance(planned, Derived):
            if tree.args.get("group"):
                raise Refused(
                    "not-an-aggregate",
                    f"GROUP BY the unit makes a row for each {self._policy.unit}, and those are never shown",
                    "leave the unit out of GROUP BY, or ask about such rows: "
                    "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM … GROUP BY …)",
                )
            raise Refused(
                "not-an-aggregate",
                "rows of private tables are never shown",
                "ask for a statistic, such as COUNT(*), SUM(x) or AVG(x), with GROUP BY",
            )
        if not planned.after.keeps_rows and self._lists(planned):
            raise Refused(
                "function-not-allowed", "lists of counts cannot be compared", "leave DISTINCT and GROUP BY out"
            )
        demand(sum(release.child.work for release in self._releases), self._policy.unit_rows)
        notes = tuple(dict.fromkeys(self._notes))
        for release in self._releases:
            release.sql()
        reads = planned.below.reads_tables or self._reads_tables
        unknown = self._search.unknown
        return Plan(
            self._policy, self.releases, planned.below, planned.after, notes, reads_tables=reads, unknown=unknown
        )

    def _lists(self, derived: Derived) -> bool:
        """Whether lists of counts are shown."""
        below = derived.below
        while isinstance(below, Derived):
            below = below.below
        if not isinstance(below, Released):
            return False
        return any(isinstance(a.formula, Listing) for a in self._releases[below.number].aggregates)

    @property
    def releases(self) -> tuple[Release, ...]:
        return tuple(self._releases)

    def query(self, tree: Any, known: Known) -> Source:
        """A query: private rows stay private rows until something is counted."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if isinstance(tree, exp.Union):
            return self._union(tree, known)
        if not isinstance(tree, exp.Select):
            raise Refused("statement-not-allowed", f"{tree.key.upper()} is not supported", "ask with one SELECT")
        clauses = Clauses.of(tree)
        if clauses.ctes:
            known = self._ctes(clauses.ctes, known)
        source, scope = self._tables.source(clauses.source, clauses.joins, known)
        result: Source
        if isinstance(source, PUBLIC):
            result = _seen_through(clauses, source, scope) or Derived(public_select(clauses, scope), source)
        else:
            demand(source.work, self._policy.unit_rows)
            result = self._private(clauses, source, scope)
        result.sql()  # what is used twice by what is used twice is refused here, before it grows beyond all bounds
        return result

    def _private(self, clauses: Clauses, source: Node, scope: Scope) -> Source:
        if clauses.where is not None:
            source = Filter(source, scope.condition(clauses.where, "WHERE"))
        if not clauses.aggregated:
            windowed = replace(scope, special=window(scope, bounded(source)))
            windows = sum(1 for item in clauses.items for _ in item.find_all(exp.Window))
            node = Project(bounded(source), tuple(row_items(clauses, windowed)), windows)
            demand(node.work, self._policy.unit_rows)
            return node
        source = self._within(bounded(source))
        grouping = grouped_by(clauses, scope)
        if any(scope.is_owner(node) for node in grouping):
            clauses.refuse_rows()
            own = [node for node in grouping if not scope.is_owner(node)]
            return per_unit(clauses.items, clauses.having, own, source, scope)
        most = self._options.max_groups_contributed
        limits = source.limits.within(None if most == AUTO else most, self._options.max_rows_per_group)
        release, columns, after = release_select(
            clauses, source, scope, self._public, limits, other=self._options.other, search=self._search
        )
        if most == AUTO:
            keys = [key.sql for key in release.keys]
            groups = self._search.contributions(source, keys, release.contribution.cells)
            release = replace(release, limits=limits.within(groups, None))
        self._releases.append(release)
        few_measures(sum(len(release.measures) for release in self._releases))
        few_numbers(sum(r.groups * sum(measure.length for measure in r.measures) for r in self._releases))
        self._note(release, chosen_first=clauses.where is not None)
        return Derived(after, Released(len(self._releases) - 1, columns, single=not release.keys))

    def _within(self, source: Node) -> Node:
        """Private rows as the question bounds them, never more widely than the policy."""
        unit = self._options.privacy_unit_column
        rows_are_units = source.owner.column is None and unit is not None and unit.lower() == "row"
        if unit is not None and unit.lower() not in source.owner.names and not rows_are_units:
            known = ", ".join(sorted(source.owner.names)) or "row"
            raise Refused("wrong-unit", "the policy protects another unit", f"write privacy_unit_column = {known}")
        most = self._options.max_rows_contributed
        if most == AUTO:
            assert source.rows is not None, "rows are bounded before they are searched"
            most = self._search.contributions(source, (), source.rows)
        if most is not None and source.rows is not None and most < source.rows and source.owner.column is not None:
            return Bound(source, most)
        return source

    def _note(self, release: Release, *, chosen_first: bool) -> None:
        bound, unit = release.contribution, self._policy.unit
        if release.child.owner.column is not None:
            groups = f", max_groups {bound.cells}" if bound.cells > 1 else ""
            order = ", chosen before WHERE applies" if chosen_first else ""
            self._notes += [f"contribution bounds: max_rows {bound.total}{groups} per {unit}{order}", DROPPED]
        self._notes += [aggregate.note for aggregate in release.aggregates if aggregate.note]
        if any(not key.domain.nullable for key in release.keys):
            self._notes.append("rows whose key is NULL or not listed are dropped")
        if release.private_keys:
            self._notes.append("partition selection: keys that few units have do not appear")

    # CTEs, unions, subqueries

    def _ctes(self, tree: exp.With, known: Known) -> Known:
        named = dict(known)
        for cte in tree.expressions:
            named[str(cte.alias).lower()] = self.query(cte.this, named)
        return named

    def _union(self, tree: exp.Union, known: Known) -> Source:
        if tree.args.get("with_"):
            known = self._ctes(tree.args["with_"], known)
        left, right = self.query(tree.this, known), self.query(tree.expression, known)
        if isinstance(left, PUBLIC) or isinstance(right, PUBLIC):
            raise Refused("statement-not-allowed", "UNION ALL takes private rows on both sides", "ask both questions")
        if left.owner.column is None or right.owner.column is None:
            raise Refused(
                "statement-not-allowed",
                "rows that are their own unit could appear on both sides of UNION ALL",
                "name a unit column in the policy, or ask both questions",
            )
        if len(left.fields) != len(right.fields):
            raise Refused(
                "statement-not-allowed", "both sides of UNION ALL need the same columns", "select the same ones"
            )
        _same_kinds(left, right)
        union = Union(*fitting(left, right, united, "UNION ALL", self._policy, self._notes.append))
        demand(union.work, self._policy.unit_rows)
        union.sql()
        return union

    def _subqueries(self, known: Known) -> Special:
        """What takes subqueries inside of expressions: public ones, or such that are released first."""

        def special(node: exp.Expression, bind: Binder) -> Expr | None:
            if isinstance(node, exp.In) and node.args.get("query") is not None:
                relation = self._of_one_column(node.args["query"], known)
                column = relation.columns[0].expr
                value = apply("IN", [bind(node.this), Expr(column.sql, column.domain)]).arguments[0]
                text = sql("({} IN (SELECT {} FROM {}))", value.sql, column.sql, relation.sql())
                return Expr(text, BOOLEAN, FUNCTIONS["CAST BOOLEAN"], (value,))
            if isinstance(node, (exp.Subquery, exp.Select)):
                relation = self._of_one_column(node, known)
                if not relation.single:
                    raise Refused(
                        "syntax", "a subquery that is used as a value has one row", "count in it, or add LIMIT 1"
                    )
                column = relation.columns[0].expr
                text = sql("(SELECT {} FROM {} ORDER BY {} LIMIT 1)", column.sql, relation.sql(), ROW_NUMBER)
                return Expr(text, Domain(column.domain.kind, *column.domain.numbers), single=True)
            return None

        return special

    def _of_one_column(self, tree: Any, known: Known) -> Relation:
        """A subquery, planned once however often what is around it is looked at: each planning would be charged."""
        if id(tree) in self._subquery:
            return self._subquery[id(tree)][1]
        relation = self.query(tree, known)
        if not isinstance(relation, PUBLIC):
            raise Refused(
                "private-subquery",
                "a subquery over private rows stands where only released values can",
                "count in it, such as (SELECT AVG(x) FROM t), or join it on the unit",
            )
        if len(relation.columns) != 1:
            raise Refused("syntax", "a subquery here has one column", "select one column in it")
        self._reads_tables |= relation.reads_tables
        self._subquery[id(tree)] = tree, relation
        return relation


def _seen_through(clauses: Clauses, source: Relation, scope: Scope) -> Derived | None:
    """A SELECT around a release that only chooses rows and columns, as if it stood where the release does.

    So its columns keep their intervals: SELECT * FROM (SELECT ward, COUNT(*) AS n … GROUP BY ward) WHERE n > 100.
    """
    simple = isinstance(source, Derived) and isinstance(source.below, Released) and source.after.open
    if not simple or clauses.aggregated or not isinstance(source, Derived):
        return None
    inner = source.after
    fields = tuple(
        (alias, replace(field, expr=expr)) for (alias, field), (_, expr) in zip(scope.fields, inner.items, strict=True)
    )
    after = public_select(clauses, replace(scope, fields=fields))
    if not after.keeps_rows:
        return None
    tests = [test for test in (inner.having, after.condition) if test is not None]
    having = reduce(lambda a, b: apply("AND", [a, b]), tests) if tests else None
    return Derived(replace(after, condition=None, having=having), source.below)


def _listed(key: GroupKey) -> object:
    return list(map(str, key.values())) if isinstance(key, PublicKey) else "selected"


def _same_kinds(left: Node, right: Node) -> None:
    numeric = {Kind.INTEGER, Kind.NUMBER, None}
    for a, b in zip(left.fields, right.fields, strict=True):
        kinds = {a.expr.domain.kind, b.expr.domain.kind} - {None}
        if len(kinds) > 1 and not kinds <= numeric:
            raise Refused("function-not-allowed", "a column of UNION ALL mixes kinds", "cast one of them")
