"""From a tree of syntax to releases of private rows and SELECTs over what they gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from sqlglot import exp

from discreet.accounting.part import Part
from discreet.composed import sql
from discreet.errors import Edit, Refused
from discreet.policy import Policy
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.bind import Binder, Special
from discreet.sql.clause import AUTO, NOTHING, PUBLIC_GROUPS, Options
from discreet.sql.common_measures import Sharing
from discreet.sql.domain import BOOLEAN, Domain
from discreet.sql.expression import Expr
from discreet.sql.fanout import demand, united
from discreet.sql.formulas import Listing
from discreet.sql.functions import FUNCTIONS
from discreet.sql.grouping_sets import has_sets, one_by_one, wrapped
from discreet.sql.membership import Memberships, conjunction
from discreet.sql.nodes import Bound, Node, PerUnit, Project, Semi, Union
from discreet.sql.pairs import Source, bounded, fitting
from discreet.sql.per_unit import per_unit, window
from discreet.sql.places import placed
from discreet.sql.postprocess import ROW_NUMBER, After
from discreet.sql.public_select import public_select
from discreet.sql.qualify import unqualified
from discreet.sql.ranks import Rising
from discreet.sql.relation import PUBLIC, Derived, Public, Relation, Released, Stacked
from discreet.sql.release import Release
from discreet.sql.scope import Scope
from discreet.sql.select import (
    Clauses,
    RowsRefused,
    grouped_by,
    nothing_to_read,
    release_select,
    row_items,
    rows_shown,
)
from discreet.sql.sources import Known, Tables
from discreet.sql.unknown import Found, Search, Unknown
from discreet.sql.work import few_measures, few_numbers

DROPPED: Final = "rows with NULL unit id are dropped"


class Planner:
    """One planning: collects releases on its way."""

    def __init__(
        self,
        policy: Policy,
        public: Public,
        clauses: Sequence[Options],
        part: Part | None,
        bounds: Found | None = None,
        *,
        apart: bool = False,
        promised: bool = False,
    ) -> None:
        self._policy = policy
        self._sharing = Sharing(
            policy.budget.delta is None, apart, promised or any(c.error is not None for c in clauses)
        )
        self._search = Search(bounds or {}, allowed=policy.implicit_bounds)
        self._public = public
        self._clauses = clauses
        self._options = clauses[0] if len(clauses) == 1 else NOTHING
        """What the privacy clause says that holds here: the only one, or that of the SELECT or of one around it."""
        self._number: int | None = None
        """Of the clause that holds here, where there are several."""
        self.releases: list[Release] = []
        self.notes: list[str] = []
        self._tables = Tables(policy, public, self.query, self._subqueries, part, self.notes.append)
        self._where = Memberships(policy, self._tables, self.query)
        self._subquery: dict[int, tuple[Any, Relation]] = {}
        """Subqueries by their identity; nodes are held, so that none gets the place of another."""
        self.reads_tables = False

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """Bounds that have to be found first."""
        return self._search.unknown

    def shown(self, tree: exp.Query) -> Derived:
        """What a whole query shows."""
        if isinstance(tree, exp.Select) and not tree.args.get("from_") and not tree.find(exp.Subquery):
            raise nothing_to_read()
        try:
            planned = self.query(tree, {})
        except RowsRefused as refused:
            raise placed(rows_shown(tree, self._policy.unit, refused), tree) from None
        if not isinstance(planned, Derived):
            raise placed(rows_shown(tree, self._policy.unit), tree)
        shows_lists = any(expr.domain.kind is None and not expr.constant for _, expr in planned.after.items)
        if shows_lists and not isinstance(planned.below, Released) and any(map(_has_lists, self.releases)):
            fix = "ask for it in a SELECT of its own, without UNION ALL, ROLLUP, joins or a LIMIT around it"
            raise Refused("function-not-allowed", "a list is shown by the SELECT that counts it, and no other", fix)
        if not planned.after.keeps_rows and self._lists(planned):
            raise Refused(
                "function-not-allowed", "lists of counts cannot be compared", "leave DISTINCT and GROUP BY out"
            )
        demand(sum(release.child.work for release in self.releases), self._policy.unit_rows)
        for release in self.releases:
            release.sql()
        self.reads_tables |= planned.below.reads_tables
        return planned

    def _lists(self, relation: Relation) -> bool:
        """Whether lists of counts are shown."""
        if isinstance(relation, Derived):
            return self._lists(relation.below)
        if isinstance(relation, Stacked):
            return self._lists(relation.upper) or self._lists(relation.lower)
        if not isinstance(relation, Released):
            return False
        return _has_lists(self.releases[relation.number])

    def query(self, tree: Any, known: Known) -> Source:
        """A query: private rows stay private rows until something is counted."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if isinstance(tree, exp.Union):
            return self._union(tree, known)
        if isinstance(tree, (exp.Intersect, exp.Except)):
            return self._shared(tree, known)
        if not isinstance(tree, exp.Select):
            raise Refused("statement-not-allowed", f"{tree.key.upper()} is not supported", "ask with one SELECT")
        if tree.args.get("qualify"):
            return self.query(unqualified(tree), known)
        if has_sets(tree):
            return self.query(one_by_one(tree), known)
        try:
            return self._clausal(tree, known)
        except Refused as refused:
            raise placed(refused, tree) from None

    def _clausal(self, tree: exp.Select, known: Known) -> Source:
        """A SELECT under the clause that stands in it, if one does."""
        clause = tree.args.get("privacy")
        if clause is None:
            return self._select(tree, known)
        before = self._options, self._number
        self._options, self._number = self._clauses[clause.args["number"]], clause.args["number"]
        try:
            return self._select(tree, known)
        finally:
            self._options, self._number = before

    def _select(self, tree: exp.Select, known: Known) -> Source:
        clauses, released = Clauses.of(tree), len(self.releases)
        if clauses.ctes:
            known = self._ctes(clauses.ctes, known)
        source, scope, tests = self._tables.source(clauses, known)
        result: Source
        if isinstance(source, PUBLIC):
            if tree.args.get("privacy") and len(self.releases) == released:
                raise Refused(
                    "wrong-unit",
                    f"nothing that is read here belongs to a {self._policy.unit}",
                    "leave WITH DIFFERENTIAL_PRIVACY out: what is public costs nothing",
                )
            clauses = replace(clauses, where=conjunction(tests))
            result = _seen_through(clauses, source, scope) or Derived(public_select(clauses, scope), source)
        else:
            demand(source.work, self._policy.unit_rows)
            result = self._private(clauses, self._where.filtered(source, scope, tests, known), scope)
        result.sql()  # what is used twice by what is used twice is refused here, before it grows beyond all bounds
        return result

    def _private(self, clauses: Clauses, source: Node, scope: Scope) -> Source:
        if clauses.distinct and not clauses.aggregated:
            clauses = _grouped(clauses)
        if not clauses.aggregated:
            windowed = replace(scope, special=window(scope, bounded(source)))
            windows = sum(1 for item in clauses.items for _ in item.find_all(exp.Window))
            node = Project(bounded(source), tuple(row_items(clauses, windowed)), windows, _names(clauses, scope))
            demand(node.work, self._policy.unit_rows)
            return node
        source = self._within(self._chosen_again(source))
        grouping = grouped_by(clauses, scope)
        if any(scope.is_owner(node) for node in grouping):
            clauses.refuse_rows()
            keys = [node for node in grouping if not scope.is_owner(node)]
            per_units = per_unit(clauses.items, clauses.having, keys, source, scope)
            return replace(per_units, names=_names(clauses, scope))
        return self._released(clauses, source, scope)

    def _released(self, clauses: Clauses, source: Node, scope: Scope) -> Derived:
        options = self._options
        most = options.max_groups_contributed
        limits = source.limits.within(None if most == AUTO else most, options.max_rows_per_group)
        release, columns, after = release_select(
            clauses,
            source,
            scope,
            self._public,
            limits,
            other=options.other,
            search=self._search,
            sharing=self._sharing,
        )
        if most == AUTO:
            keys = [key.sql for key in release.keys]
            groups = self._search.contributions(source, keys, release.contribution.cells)
            release = replace(release, limits=limits.within(groups, None))
        _check_keys(release, options)
        clause = (
            (self._number, options) if self._number is not None and len(self._clauses) > 1 and options.cost else None
        )
        self.releases.append(replace(release, least_units=options.min_privacy_units_per_group or 1, clause=clause))
        few_measures(sum(len(release.measures) for release in self.releases))
        few_numbers(sum(r.groups * sum(measure.length for measure in r.measures) for r in self.releases))
        self._note(release)
        return Derived(after, Released(len(self.releases) - 1, columns, single=not release.keys))

    def _chosen_again(self, source: Node) -> Node:
        """Private rows of which a unit has few: where public rows multiplied them, as many as the question asks for."""
        wanted, made = self._options.max_rows_contributed, source.limits.multiplied
        if source.rows is not None or made is None:
            return bounded(source)
        if isinstance(wanted, int) and wanted > source.limits.rows:
            return Bound(source, min(wanted, made))
        if wanted is None:
            counted = f"of {made}, {source.limits.rows} count; max_rows_contributed = {made} counts all"
            self.notes.append(f"public rows may multiply those of a {self._policy.unit}: {counted}")
        return bounded(source)

    def _within(self, source: Node) -> Node:
        """Private rows as the question bounds them, never more widely than the policy."""
        unit = self._options.privacy_unit_column
        rows_are_units = source.owner.column is None and unit is not None and unit.lower() == "row"
        if unit is not None and unit.lower() not in source.owner.names and not rows_are_units:
            known = ", ".join(sorted(source.owner.names)) or "row"
            right = f"privacy_unit_column = {known}"
            edit = Edit(f"privacy_unit_column = {unit}", right) if len(source.owner.names) < 2 else None
            raise Refused("wrong-unit", "the policy protects another unit", f"write {right}", edit=edit)
        most = self._options.max_rows_contributed
        if most == AUTO:
            assert source.rows is not None, "rows are bounded before they are searched"
            most = self._search.contributions(source, (), source.rows)
        if most is not None and source.rows is not None and most < source.rows and source.owner.column is not None:
            return Bound(source, most)
        return source

    def _note(self, release: Release) -> None:
        bound, unit = release.contribution, self._policy.unit
        if release.child.owner.column is not None:
            groups = f", max_groups {bound.cells}" if bound.cells > 1 else ""
            self.notes += [f"contribution bounds: max_rows {bound.total}{groups} per {unit}", DROPPED]
        self.notes += [aggregate.note for aggregate in release.aggregates if aggregate.note]
        if any(not key.domain.nullable for key in release.keys):
            self.notes.append("rows whose key is NULL or not listed are dropped")
        if release.private_keys:
            self.notes.append("partition selection: keys that few units have do not appear")

    # CTEs, unions, subqueries

    def _ctes(self, tree: exp.With, known: Known) -> Known:
        named = dict(known)
        for cte in tree.expressions:
            named[str(cte.alias).lower()] = self.query(cte.this, named)
        return named

    def _union(self, tree: exp.Union, known: Known) -> Source:
        if any(tree.args.get(clause) for clause in ("order", "limit", "offset")):
            return self.query(wrapped(tree), known)
        if tree.args.get("with_"):
            known = self._ctes(tree.args["with_"], known)
        left, right = self.query(tree.this, known), self.query(tree.expression, known)
        distinct = bool(tree.args.get("distinct"))
        if distinct and not (isinstance(left, PUBLIC) and isinstance(right, PUBLIC)):
            edit = Edit("UNION SELECT", "UNION ALL SELECT")
            raise Refused(
                "statement-not-allowed", "UNION without ALL merges rows of units", "write UNION ALL", edit=edit
            )
        if isinstance(left, PUBLIC) != isinstance(right, PUBLIC):
            raise Refused(
                "statement-not-allowed", "UNION ALL takes private rows on both sides, or on none", "ask both questions"
            )
        _same_columns(left, right)
        if isinstance(left, PUBLIC) and isinstance(right, PUBLIC):
            stacked = Stacked(left, right)
            shown = After(tuple((column.name, column.expr) for column in stacked.columns), distinct=distinct)
            return Derived(shown, stacked)
        assert not isinstance(left, PUBLIC)
        assert not isinstance(right, PUBLIC)
        if left.owner.column is None or right.owner.column is None:
            raise Refused(
                "statement-not-allowed",
                "rows that are their own unit could appear on both sides of UNION ALL",
                "name a unit column in the policy, or ask both questions",
            )
        union = Union(*fitting(left, right, united, "UNION ALL", self._policy, self.notes.append))
        demand(union.work, self._policy.unit_rows)
        union.sql()
        return union

    def _shared(self, tree: exp.Intersect | exp.Except, known: Known) -> Node:
        """The units that two subqueries share, or that one has and the other does not."""
        left, right = self.query(tree.this, known), self.query(tree.expression, known)
        alone = [s for s in (left, right) if not isinstance(s, PUBLIC) and s.owner.column is not None and not s.fields]
        if len(alone) < 2 or not tree.args.get("distinct"):
            raise Refused(
                "statement-not-allowed",
                f"{tree.key.upper()} takes the unit alone, on both sides",
                f"write SELECT unit FROM … {tree.key.upper()} SELECT unit FROM …, or ask with one SELECT",
            )
        one, other = map(bounded, alone)
        return Semi(PerUnit(one, (), ()), other, isinstance(tree, exp.Except), None)

    def _subqueries(self, known: Known) -> Special:
        """What takes subqueries inside of expressions: public ones, or such that are released first."""

        def special(node: exp.Expression, bind: Binder) -> Expr | None:
            if isinstance(node, exp.Exists):
                return self._some(node.this, known, bind)
            if isinstance(node, exp.In) and node.args.get("query") is not None:
                return self._among(bind(node.this), self._of_one_column(node.args["query"], known))
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

    def _some(self, tree: Any, known: Known, bind: Binder) -> Expr:
        """Whether a subquery over public or released rows gives any, at all or with a value of the row outside."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        linked = self._where.linked(tree, known)
        if linked is not None:
            value, rows = linked
            among = self._among(bind(value), self._of_one_column(rows, known))
            return apply("COALESCE", [among, Expr.literal(False)])
        relation = self.query(tree, known)
        if not isinstance(relation, PUBLIC):
            raise Refused(
                "private-subquery",
                "EXISTS over private rows stands where only released values can",
                "use it in WHERE, with the unit of its rows equal to that outside",
            )
        self.reads_tables |= relation.reads_tables
        return Expr(sql("EXISTS (SELECT 1 FROM {})", relation.sql()), BOOLEAN.but(certain=True), single=True)

    @staticmethod
    def _among(given: Expr, relation: Relation) -> Expr:
        column = relation.columns[0].expr
        value = apply("IN", [given, Expr(column.sql, column.domain)]).arguments[0]
        text = sql("({} IN (SELECT {} FROM {}))", value.sql, column.sql, relation.sql())
        return Expr(text, BOOLEAN, FUNCTIONS["CAST BOOLEAN"], (value,))

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
        self.reads_tables |= relation.reads_tables
        self._subquery[id(tree)] = tree, relation
        return relation


def _grouped(clauses: Clauses) -> Clauses:
    """SELECT DISTINCT x, y as SELECT x, y … GROUP BY x, y: of each unit, if it is among them; else keys alone."""
    if any(isinstance(item, exp.Star) for item in clauses.items):
        return clauses
    keys = [item.this if isinstance(item, exp.Alias) else item for item in clauses.items]
    return replace(clauses, group=exp.Group(expressions=[key.copy() for key in keys], distinct=True), distinct=False)


def _names(clauses: Clauses, scope: Scope) -> frozenset[str]:
    """The names that a SELECT gives the unit."""
    given = (item for item in clauses.items if isinstance(item, exp.Alias) and scope.is_owner(item.this))
    return frozenset(item.alias.lower() for item in given)


def _has_lists(release: Release) -> bool:
    return any(isinstance(aggregate.formula, (Listing, Rising)) for aggregate in release.aggregates)


def _check_keys(release: Release, options: Options) -> None:
    """Refuse what a clause says of keys that are others."""
    if options.group_selection_strategy == PUBLIC_GROUPS and release.private_keys:
        raise Refused(
            "undeclared-bounds",
            "PUBLIC_GROUPS takes public keys, and some keys are private",
            "group by a column of a public table: RIGHT JOIN (SELECT DISTINCT key FROM a_public_table) USING (key)",
        )
    if options.min_privacy_units_per_group is not None and release.keys and not release.private_keys:
        raise Refused(
            "syntax",
            "min_privacy_units_per_group is for private keys, and all keys are public",
            "leave it out, or choose among noisy counts: HAVING COUNT(DISTINCT unit) >= 10",
        )


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


def _same_columns(left: Source, right: Source) -> None:
    kinds = [
        [column.expr.domain.kind for column in (side.columns if isinstance(side, PUBLIC) else side.fields)]
        for side in (left, right)
    ]
    if len(kinds[0]) != len(kinds[1]):
        raise Refused("statement-not-allowed", "both sides of UNION ALL need the same columns", "select the same ones")
    for pair in zip(*kinds, strict=True):
        known = set(pair) - {None}
        if len(known) > 1 and not known <= {Kind.INTEGER, Kind.NUMBER}:
            raise Refused("function-not-allowed", "a column of UNION ALL mixes kinds", "cast one of them")
