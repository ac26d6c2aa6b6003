"""From a question to its plan: releases of private rows, and the SELECT over what they gave.

A plan follows from text and policy alone (and from the columns of public tables). It knows nothing of prices.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy import Policy, fingerprint, suggest
from discreet.sql.after import After
from discreet.sql.nodes import Filter, Node, Project, Scan
from discreet.sql.read import statement
from discreet.sql.relation import Derived, Relation, Released, Stored
from discreet.sql.release import Release
from discreet.sql.scope import Scope
from discreet.sql.select import Clauses, public_select, release_select, row_items

VERSION: Final = 1
"""Of what a plan's fingerprint covers: counts up when the same text starts to mean something else."""
DROPPED: Final = "rows that belong to nobody are left out"


@dataclass(frozen=True)
class Plan:
    """What a question needs: releases, drawn in this order, and the SELECT that shows them."""

    policy: Policy
    releases: tuple[Release, ...]
    below: Relation
    after: After
    notes: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return self.after.columns

    @property
    def _unknown(self) -> list[str]:
        """Stand-ins for what is released before."""
        return [f"released_{place}" for place in range(len(self.releases))]

    @cached_property
    def fingerprint(self) -> str:
        """The digest of what is drawn: the same for questions that differ only in what follows the noise."""
        drawn = [
            [release.sql(self._unknown), [list(map(str, key.values())) for key in release.keys], str(release.contribution)]
            + [[measure.words, str(release.reach(measure))] for measure in release.measures]
            for release in self.releases
        ]
        written = json.dumps([VERSION, fingerprint(self.policy), drawn], sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()


Schema = Callable[[str], Mapping[str, str]]
"""The columns of a public table with the engine's types."""


def plan(
    policy: Policy,
    text: object,
    *,
    schema: Schema,
    dialect: str | None = None,
    params: Mapping[str, object] | None = None,
) -> Plan:
    """The plan of a question, or a refusal."""
    tree = statement(text, dialect, params)
    try:
        return _Planner(policy, schema).plan(tree)
    except RecursionError:
        raise Refused("too-complex", "the question is nested too deeply", "ask a simpler one") from None


class _Planner:
    """One planning: collects releases on its way."""

    def __init__(self, policy: Policy, schema: Schema) -> None:
        self.policy = policy
        self.schema = schema
        self.releases: list[Release] = []
        self.notes: list[str] = []

    def plan(self, tree: exp.Query) -> Plan:
        found = self.query(tree, {})
        if not isinstance(found, Derived):
            raise Refused(
                "not-an-aggregate",
                "rows of private tables are never shown",
                "ask for a statistic, such as COUNT(*), SUM(x) or AVG(x), with GROUP BY",
            )
        return Plan(self.policy, tuple(self.releases), found.below, found.after, tuple(dict.fromkeys(self.notes)))

    def query(self, tree: Any, known: Mapping[str, Node | Relation]) -> Node | Relation:
        """A SELECT: private rows stay private rows until something is counted."""
        if isinstance(tree, exp.Subquery):
            tree = tree.this
        if not isinstance(tree, exp.Select):
            word = tree.key.upper()
            raise Refused("statement-not-allowed", f"{word} is not answered", "ask with one SELECT")
        clauses = Clauses.of(tree)
        if clauses.ctes:
            known = self._ctes(clauses.ctes, known)
        source, scope = self._source(clauses, known)
        if isinstance(source, Stored | Released | Derived):
            return Derived(public_select(clauses, scope), source)
        return self._private(clauses, source, scope)

    def _private(self, clauses: Clauses, source: Node, scope: Scope) -> Node | Relation:
        if clauses.where is not None:
            source = Filter(source, scope.condition(clauses.where, "WHERE"))
        if not clauses.aggregated:
            items = row_items(clauses, scope)
            return Project(source, tuple(items))
        release, columns, after = release_select(clauses, source, scope)
        self.releases.append(release)
        self._note(release)
        return Derived(after, Released(len(self.releases) - 1, columns))

    def _note(self, release: Release) -> None:
        bound, unit = release.contribution, self.policy.unit
        if release.child.owner.column is not None:
            rows = (
                f"one row of each {unit} counts"
                if bound.total == 1
                else f"at most {bound.total} rows of each {unit} count"
            )
            groups = f", in at most {bound.cells} groups" if bound.cells > 1 else ""
            self.notes += [f"{rows}{groups}, chosen at random before WHERE applies", DROPPED]
        self.notes += [aggregate.note for aggregate in release.aggregates if aggregate.note]
        if any(not key.domain.nullable for key in release.keys):
            self.notes.append("rows whose key is NULL or not listed are left out")

    # FROM

    def _ctes(self, tree: exp.With, known: Mapping[str, Node | Relation]) -> dict[str, Node | Relation]:
        if tree.args.get("recursive"):
            raise Refused("statement-not-allowed", "recursion is not answered", "write it without RECURSIVE")
        found = dict(known)
        for cte in tree.expressions:
            found[str(cte.alias).lower()] = self.query(cte.this, found)
        return found

    def _source(self, clauses: Clauses, known: Mapping[str, Node | Relation]) -> tuple[Node | Relation, Scope]:
        source, alias = self._table(clauses.source, known)
        return source, Scope.over(source, alias)

    def _table(self, tree: Any, known: Mapping[str, Node | Relation]) -> tuple[Node | Relation, str]:
        if isinstance(tree, exp.Subquery):
            _only_alias(tree, "this")
            return self.query(tree.this, known), str(tree.alias)
        if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Identifier):
            raise Refused("function-not-allowed", "only declared tables can be read", self._tables())
        _only_alias(tree, "this", "db", "catalog")
        wanted = tree.name
        if not tree.db and wanted.lower() in known:
            return known[wanted.lower()], str(tree.alias) or wanted
        table = next((t for t in self.policy.tables.values() if t.name.lower() == wanted.lower()), None)
        if table is None or tree.db:
            raise Refused(
                "unknown-table", "there is no such table", suggest(wanted, self.policy.tables) or self._tables()
            )
        alias = str(tree.alias) or table.name
        return (Stored.of(table, self.schema(table.name)) if table.is_public else Scan(table)), alias

    def _tables(self) -> str:
        return f"tables: {', '.join(self.policy.tables)}"


def _only_alias(tree: exp.Expression, *places: str) -> None:
    """A table as it is: no sample, no pivot, no version, no columns renamed."""
    for place, value in tree.args.items():
        if value not in (None, False, [], "") and place not in (*places, "alias"):
            raise Refused(
                "statement-not-allowed", f"{place.upper()} on a table is not answered", "name the table alone"
            )
    alias = tree.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise Refused("statement-not-allowed", "columns cannot be renamed here", "rename them in SELECT")
