"""FROM: tables, subqueries and joins, with whose rows they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from discreet.accounting.part import Part
from discreet.errors import Edit, Refused
from discreet.policy import Policy, suggest
from discreet.sql.bind import Special, written
from discreet.sql.blocks import demand_readable
from discreet.sql.nodes import Scan, Semi, Side
from discreet.sql.pairs import Pair, Source, off_unit, public_columns
from discreet.sql.places import about
from discreet.sql.relation import ONE_ROW, PUBLIC, Public, Stored
from discreet.sql.scope import Scope
from discreet.sql.select import Clauses

Known = Mapping[str, Source]
Query = Callable[[Any, Known], Source]
_KINDS: Final = ("", "INNER", "OUTER", "SEMI", "ANTI")


class Tables:
    """Reads FROM clauses of one question."""

    def __init__(
        self,
        policy: Policy,
        public: Public,
        query: Query,
        special: Callable[[Known], Special],
        part: Part | None,
        tell: Callable[[str], object],
    ) -> None:
        self._policy = policy
        self._public = public
        self._query = query
        self._special = special
        self._part = part
        self._tell = tell

    def source(self, clauses: Clauses, known: Known) -> tuple[Source, Scope, list[Any]]:
        """What is read, the names that it has, and the parts of WHERE that say more than which rows meet."""
        tests = conjuncts(clauses.where)
        if clauses.source is None:
            return ONE_ROW, Scope((), special=self._special(known)), tests
        source, scope = self._one(clauses.source, known)
        return *self._beside(source, scope, clauses.joins, known, tests), tests

    def _beside(
        self, source: Source, scope: Scope, joins: list[Any], known: Known, tests: list[Any]
    ) -> tuple[Source, Scope]:
        """A source with those that are joined to it, one after the other."""
        waiting: list[tuple[Source, Scope]] = []
        said = len(tests)
        for join in joins:
            if _is_open(join):
                waiting.append(self._one(join.this, known))
                continue
            source, scope = self._met(source, scope, waiting, tests)
            if len(tests) < said and str(join.args.get("side")).upper() in ("RIGHT", "FULL"):
                raise off_unit("WHERE joins what comes before a RIGHT or FULL join", "write JOIN … ON for all of them")
            try:
                source, scope = self._join(source, scope, join, known)
            except Refused as refused:
                refused.edit = refused.edit or _on_unit(refused, join)
                raise about(refused, join) from None
        return self._met(source, scope, waiting, tests)

    def _met(
        self, source: Source, scope: Scope, waiting: list[tuple[Source, Scope]], tests: list[Any]
    ) -> tuple[Source, Scope]:
        """All that stand side by side, brought together by parts of WHERE, which are used up: first those that have one
        that says how."""
        while waiting:
            pairs = [replace(self.pair(source, scope, *other), clause="WHERE") for other in waiting]
            index = next((index for index, pair in enumerate(pairs) if pair.is_linked(tests)), 0)
            links = [test for test in tests if pairs[index].links(test)]
            source, scope = self._joined(pairs[index], links)
            waiting.pop(index)
            tests[:] = [test for test in tests if all(test is not link for link in links)]
        return source, scope

    def _one(self, tree: Any, known: Known) -> tuple[Source, Scope]:
        source, scope = self._alone(tree, known)
        joins = tree.args.get("joins")
        return self._beside(source, scope, joins, known, []) if joins else (source, scope)

    def _alone(self, tree: Any, known: Known) -> tuple[Source, Scope]:
        if isinstance(tree, exp.Subquery) and _is_parenthesis(tree):
            source, scope = self._one(tree.this, known)
            return source, scope.renamed(str(tree.alias)) if tree.alias else scope
        source, alias = self._table(tree, known)
        special = self._special(known)
        if isinstance(source, PUBLIC):
            return source, Scope.of(alias, public_columns(source), (), special)
        return source, Scope.of(alias, source.fields, source.owner.names, special)

    def _table(self, tree: Any, known: Known) -> tuple[Source, str]:
        if isinstance(tree, exp.Subquery):
            return self._query(tree.this, known), str(tree.alias)
        if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Identifier):
            raise about(Refused("function-not-allowed", "only declared tables can be read", self._tables()), tree)
        wanted = tree.name
        if not tree.db and wanted.lower() in known:
            return known[wanted.lower()], str(tree.alias) or wanted
        table = next((t for t in self._policy.tables.values() if t.name.lower() == wanted.lower()), None)
        if table is None or tree.db:
            near = suggest(wanted, self._policy.tables)
            fix = f"did you mean {near}?" if near else self._tables()
            raise about(Refused("unknown-table", "there is no such table", fix, edit=Edit(wanted, near or "")), tree)
        alias = str(tree.alias) or table.name
        if table.is_public:
            return Stored.of(table, self._public), alias
        demand_readable(self._policy, table)
        part = self._part if self._part is not None and self._part.table == table.name else None
        return Scan(table, part), alias

    def is_public(self, tree: Any, known: Known) -> bool:
        """Whether a query reads public tables, and what is public by then, and nothing else."""
        named = {table.name.lower(): table.is_public for table in self._policy.tables.values()}
        named |= {label: isinstance(source, PUBLIC) for label, source in known.items()}
        return all(named.get(table.name.lower(), False) for table in tree.find_all(exp.Table))

    def _tables(self) -> str:
        return f"tables: {', '.join(self._policy.tables)}"

    # joins

    def _join(self, left: Source, names: Scope, tree: exp.Join, known: Known) -> tuple[Source, Scope]:
        kind, side = (str(tree.args.get(word) or "").upper() for word in ("kind", "side"))
        right, others = self._one(tree.this, known)
        if kind not in _KINDS or not (tree.args.get("on") or tree.args.get("using")):
            raise off_unit("a join needs a condition", "write JOIN … ON a.id = b.id")
        using = tuple(column.name.lower() for column in tree.args.get("using") or ())
        units = [label for label in using if all(scope.is_owner(exp.column(label)) for scope in (names, others))]
        tests = [_equal(label, names, others) for label in using if label not in units]
        tests += conjuncts(tree.args.get("on"))
        if kind in ("SEMI", "ANTI"):
            if side not in ("", "LEFT"):
                raise off_unit(f"{side} {kind} joins are not supported", "put the table whose rows are kept first")
            pair = replace(self.pair(left, names, right, others), on_unit=bool(units))
            return self.semi(pair, tests, anti=kind == "ANTI", inner_first=False), names
        pair = self.pair(left, names, right, others, Side(side or "INNER"), using)
        return self._joined(replace(pair, on_unit=bool(units)), tests)

    def pair(
        self,
        left: Source,
        names: Scope,
        right: Source,
        others: Scope,
        side: Side = Side.INNER,
        using: tuple[str, ...] = (),
    ) -> Pair:
        return Pair(left, names, right, others, side, self._policy, self._tell, using)

    def _joined(self, pair: Pair, tests: list[Any]) -> tuple[Source, Scope]:
        if pair.names.aliases & pair.others.aliases - {""}:
            raise Refused("unknown-table", "two tables of the join have one name", "give them aliases: t AS a")
        if isinstance(pair.left, PUBLIC) and isinstance(pair.right, PUBLIC):
            return pair.public(tests)
        if isinstance(pair.left, PUBLIC) or isinstance(pair.right, PUBLIC):
            return pair.looked_up(tests, self._public)
        return pair.private(tests)

    def semi(self, pair: Pair, tests: list[Any], *, anti: bool, inner_first: bool) -> Semi:
        """The rows of the left whose unit has a row on the right for which all tests hold, or none such."""
        if isinstance(pair.left, PUBLIC) or isinstance(pair.right, PUBLIC):
            raise off_unit("rows are kept for others of the same unit", "write x IN (SELECT x FROM …) for public rows")
        return pair.semi(tests, anti=anti, inner_first=inner_first)


def _on_unit(refused: Refused, join: exp.Join) -> Edit | None:
    """The condition that a join lacks, put where the fix says."""
    said = _LACKING.fullmatch(refused.fix)
    on = join.args.get("on")
    if said is None or refused.code != "join-off-unit":
        return None
    if on is not None:
        return Edit(f"ON {written(on)}", f"ON ({written(on)}) AND {said[1]}")
    table = written(join.this)
    return Edit(f"CROSS JOIN {table}", f"JOIN {table} ON {said[1]}") if join.args.get("kind") == "CROSS" else None


_LACKING: Final = re.compile(r"add (\S+ = \S+) to (?:ON|WHERE)")


def _is_parenthesis(tree: exp.Subquery) -> bool:
    """Whether it holds tables that are joined, and no query."""
    inner: Any = tree.this
    while isinstance(inner, exp.Subquery) and not inner.args.get("joins"):
        inner = inner.this
    return isinstance(inner, (exp.Table, exp.Subquery))


def _is_open(tree: exp.Join) -> bool:
    """Whether two stand side by side, with a comma or CROSS JOIN between them."""
    args = tree.args
    comma = not args.get("kind") and "pivots" not in args  # which sqlglot sets for the word JOIN, and for no comma
    return (comma or str(args.get("kind")).upper() == "CROSS") and not any(
        args.get(word) for word in ("side", "on", "using")
    )


def _equal(label: str, left: Scope, right: Scope) -> exp.EQ:
    """What USING (x) says: left.x = right.x."""
    return exp.EQ(this=_holder(left, label), expression=_holder(right, label))


def conjuncts(tree: Any) -> list[Any]:
    """The parts of a condition that are joined by AND."""
    waiting, parts = [] if tree is None else [tree], []
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Paren):
            waiting.append(node.this)
        elif isinstance(node, exp.And):
            waiting += [node.expression, node.this]
        else:
            parts.append(node)
    return parts


def _holder(scope: Scope, label: str) -> exp.Expression:
    """The column of this name under the alias of its table; what USING made one before, as that."""
    merged = dict(scope.merged).get(label)
    if merged is not None:
        first, *others = [exp.column(label, scope.fields[index][0] or None) for index in merged]
        return exp.Coalesce(this=first, expressions=others) if others else first
    holders = scope.holders(label)
    if len(holders) != 1:
        raise Refused("unknown-column", "a column of USING is not on both sides", "write ON instead")
    return exp.column(label, holders.pop() or None)
