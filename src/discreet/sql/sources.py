"""FROM: tables, subqueries and joins, with whose rows they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlglot import exp

from discreet.accounting.part import Part
from discreet.composed import Sql, name, sql
from discreet.errors import Edit, Refused
from discreet.policy import Policy, suggest
from discreet.policy.model import Hop, Kind
from discreet.sql import fanout
from discreet.sql.bind import Special
from discreet.sql.expression import Expr
from discreet.sql.nodes import Bound, Field, Join, Node, Scan, Side, lowered
from discreet.sql.nodes.join import joined_fields
from discreet.sql.nodes.lookup import Lookup, public_fields
from discreet.sql.relation import PUBLIC, Joined, Public, Relation, Stored
from discreet.sql.scope import Scope, truth

Source = Node | Relation
Known = Mapping[str, Source]
Query = Callable[[Any, Known], Source]
Divided = Callable[[int, int, int], tuple[int, int]]
_KINDS: Final = ("", "INNER", "OUTER")


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

    def source(self, first: Any, joins: list[Any], known: Known) -> tuple[Source, Scope]:
        """What is read, and the names that it has."""
        source, scope = self._one(first, known)
        for join in joins:
            source, scope = self._join(source, scope, join, known)
        return source, scope

    def _one(self, tree: Any, known: Known) -> tuple[Source, Scope]:
        source, alias = self._table(tree, known)
        special = self._special(known)
        if isinstance(source, PUBLIC):
            fields = [Field(column.name, column.expr, listed=column.listed) for column in source.columns]
            return source, Scope.of(alias, fields, (), special)
        return source, Scope.of(alias, source.fields, source.owner.names, special)

    def _table(self, tree: Any, known: Known) -> tuple[Source, str]:
        if isinstance(tree, exp.Subquery):
            return self._query(tree.this, known), str(tree.alias)
        if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Identifier):
            raise Refused("function-not-allowed", "only declared tables can be read", self._tables())
        wanted = tree.name
        if not tree.db and wanted.lower() in known:
            return known[wanted.lower()], str(tree.alias) or wanted
        table = next((t for t in self._policy.tables.values() if t.name.lower() == wanted.lower()), None)
        if table is None or tree.db:
            near = suggest(wanted, self._policy.tables)
            fix = f"did you mean {near}?" if near else self._tables()
            raise Refused("unknown-table", "there is no such table", fix, edit=Edit(wanted, near or ""))
        alias = str(tree.alias) or table.name
        if table.is_public:
            return Stored.of(table, self._public), alias
        part = self._part if self._part is not None and self._part.table == table.name else None
        return Scan(table, part), alias

    def _tables(self) -> str:
        return f"tables: {', '.join(self._policy.tables)}"

    # joins

    def _join(self, left: Source, names: Scope, tree: exp.Join, known: Known) -> tuple[Source, Scope]:
        side = _side(tree)
        right, others = self._one(tree.this, known)
        if names.aliases & others.aliases - {""}:
            raise Refused("unknown-table", "two tables of the join have one name", "give them aliases: t AS a")
        pair = _Pair(left, names, right, others, side, self._policy, self._tell)
        tests = _conjuncts(tree, names, others)
        if isinstance(left, PUBLIC) and isinstance(right, PUBLIC):
            return pair.public(tests)
        if isinstance(left, PUBLIC) or isinstance(right, PUBLIC):
            return pair.looked_up(tests, self._public)
        return pair.private(tests)


def _side(tree: exp.Join) -> Side:
    kind = str(tree.args.get("kind") or "").upper()
    if kind not in _KINDS or not (tree.args.get("on") or tree.args.get("using")):
        raise _off_unit("a join needs a condition", "write JOIN … ON a.id = b.id")
    return Side(str(tree.args.get("side") or "INNER").upper())


def _off_unit(reason: str, fix: str) -> Refused:
    return Refused("join-off-unit", reason, fix)


def _conjuncts(tree: exp.Join, left: Scope, right: Scope) -> list[Any]:
    """The parts of ON that are joined by AND; USING (x) is left.x = right.x."""
    using = tree.args.get("using")
    if using:
        pairs = []
        for column in using:
            sides = [_holder(scope, column.name) for scope in (left, right)]
            pairs.append(exp.EQ(this=exp.column(column.name, sides[0]), expression=exp.column(column.name, sides[1])))
        return pairs
    waiting, conjuncts = [tree.args["on"]], []
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Paren):
            waiting.append(node.this)
        elif isinstance(node, exp.And):
            waiting += [node.expression, node.this]
        else:
            conjuncts.append(node)
    return conjuncts


def _holder(scope: Scope, column: str) -> str:
    wanted = column.lower()
    holders = [alias for alias, field in scope.fields if field.name.lower() == wanted]
    holders += [alias for alias, name in scope.owners if name == wanted]
    if len(set(holders)) != 1:
        raise Refused("unknown-column", "a column of USING is not on both sides", "write ON instead")
    return holders[0]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two sources that are about to be joined."""

    left: Source
    names: Scope
    right: Source
    others: Scope
    side: Side
    policy: Policy
    tell: Callable[[str], object]

    def private(self, tests: list[Any]) -> tuple[Node, Scope]:
        others = [test for test in tests if not self._on_owner(test)]
        one, other = bounded(self.left), bounded(self.right)
        on_unit = len(others) < len(tests) or self._on_foreign_key(tests)
        if not on_unit or one.owner.column is None or other.owner.column is None:
            raise self._refusal()
        sides = {
            "l": joined_fields(one, "l", self.side, once=True),
            "r": joined_fields(other, "r", self.side, once=True),
        }
        once = _once(others, self._scope([*sides["l"], *sides["r"]]), sides)
        divided = fanout.united if once else fanout.paired_and_alone if self.side is Side.FULL else fanout.paired
        join = Join(*fitting(one, other, divided, "a join", self.policy, self.tell), self.side, None, once)
        scope = self._scope(list(join.fields))
        return replace(join, condition=_all(others, scope)), scope

    def _on_owner(self, test: Any) -> bool:
        if not isinstance(test, exp.EQ):
            return False
        a, b = test.this, test.expression
        return any(
            self.names.is_owner(x)
            and self.others.is_owner(y)
            and not (self.names.is_owner(y) or self.others.is_owner(x))
            for x, y in ((a, b), (b, a))
        )

    def _on_foreign_key(self, tests: list[Any]) -> bool:
        """Whether a row's foreign key, along which it has its unit, must equal the key that it leads to.

        A key is unique within its unit only: rows meet where their units are equal as well.
        """
        for test in tests:
            columns = [self._column(part) for part in (test.this, test.expression)] if isinstance(test, exp.EQ) else []
            sides = dict(column for column in columns if column is not None)
            for (table, column), (other, key) in itertools.permutations(sides.values(), 2):
                owner, leads = self.policy.tables[table].owner, self.policy.tables[other].columns[key].unique
                if leads and owner is not None and owner.path[:1] == (Hop(column, other, key),):
                    self.tell(f"rows of {table} and {other} meet within one {self.policy.unit}")
                    return True
        return False

    def _column(self, node: Any) -> tuple[str, tuple[str, str]] | None:
        """The side on which an expression is a column, and the column of a private table that it is."""
        for side, scope, other in (("l", self.names, self.others), ("r", self.others, self.names)):
            if isinstance(node, exp.Column) and scope.knows(node) and not other.knows(node):
                field = scope.find(node)
                return None if field is None or field.column is None else (side, field.column)
        return None

    def _refusal(self) -> Refused:
        if not self.names.owners or not self.others.owners:
            return _off_unit("rows that are their own unit meet no other private rows", "name a unit in the policy")
        (a, x), (b, y) = self.names.owners[0], self.others.owners[0]
        return _off_unit(
            "private tables are joined where their rows belong to the same unit", f"add {a}.{x} = {b}.{y} to ON"
        )

    def looked_up(self, tests: list[Any], public: Public) -> tuple[Node, Scope]:
        swapped = isinstance(self.left, PUBLIC)
        child, relation = (self.right, self.left) if swapped else (self.left, self.right)
        assert isinstance(relation, PUBLIC)
        assert not isinstance(child, PUBLIC)
        side = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}.get(self.side, self.side) if swapped else self.side
        if side in (Side.RIGHT, Side.FULL):
            raise _off_unit(
                "a join cannot keep public rows that match no private one", "keep the private side, or use INNER JOIN"
            )
        node = bounded(child)
        private = joined_fields(node, "l", side)
        looked = public_fields(relation, side)
        scope = self._scope([*looked, *private] if swapped else [*private, *looked])
        condition = _all(tests, scope)
        alike = _alike(tests, scope, looked)
        if condition is None or not alike:
            raise _off_unit("a public table is joined by equality", "write ON private.x = public.x")
        known, matches, among = self._matched(node, relation, alike, public)
        return Lookup(known, relation, side, condition, matches, node.limits.rows, among), scope

    def _matched(
        self, node: Node, relation: Relation, alike: list[tuple[int, bool]], public: Public
    ) -> tuple[Node, int, tuple[Sql, ...]]:
        """The private rows that may meet public ones, how many of these each, and among which columns to count them.

        What a subquery holds is not known yet, so that only its first rows are looked at.
        """
        rows, most = node.rows or 1, self.policy.unit_rows
        among: tuple[Sql, ...] = ()
        if isinstance(relation, Stored):
            columns = [_compared(relation.columns[index].expr.sql, numeric=numeric) for index, numeric in alike]
            matches = max(1, public.repeats(relation.sql(), columns))
        else:
            matches = most // rows
            among = tuple(_compared(name(f"r{index}"), numeric=numeric) for index, numeric in alike)
        if node.owner.column is None and matches > 1:
            raise _off_unit(
                "rows that are their own unit may match one public row only", "join on a column that is unique there"
            )
        if matches > most:
            raise Refused(
                "too-complex",
                f"one row may match {matches} public rows, and a {self.policy.unit} makes at most {most} rows",
                "join on more columns, or let the owner raise max_rows of [unit] in the policy",
            )
        if among and matches > 1:
            self.tell(f"each row meets at most {matches} rows of a public subquery")
        if rows * matches > most:
            rows = most // matches
            self.tell(_fewer("a join with public rows", f"{rows}", self.policy))
        return lowered(node, rows), matches, among

    def public(self, tests: list[Any]) -> tuple[Relation, Scope]:
        assert isinstance(self.left, PUBLIC)
        assert isinstance(self.right, PUBLIC)
        joined = Joined(self.left, self.right, self.side.value, None)
        scope = self._scope([Field(column.name, column.expr, listed=column.listed) for column in joined.columns])
        return Joined(self.left, self.right, self.side.value, _all(tests, scope)), scope

    def _scope(self, fields: list[Field]) -> Scope:
        aliases = [alias for alias, _ in (*self.names.fields, *self.others.fields)]
        owners = (*self.names.owners, *self.others.owners)
        return Scope(tuple(zip(aliases, fields, strict=True)), owners, self.names.special)


def bounded(source: Source) -> Node:
    """Private rows of which a unit has no more than a stated number."""
    assert not isinstance(source, PUBLIC)
    return source if source.rows is not None else Bound(source, source.limits.rows)


def fitting(
    left: Source, right: Source, divided: Divided, what: str, policy: Policy, tell: Callable[[str], object]
) -> tuple[Node, Node]:
    """Two private relations of which each unit has few enough rows to be brought together."""
    one, other = bounded(left), bounded(right)
    given = one.rows or 1, other.rows or 1
    m, n = divided(*given, policy.unit_rows)
    if (m, n) != given:
        tell(_fewer(what, f"{m} and {n}", policy))
    return lowered(one, m), lowered(other, n)


def _fewer(what: str, rows: str, policy: Policy) -> str:
    return f"{what} takes at most {rows} rows of each {policy.unit}, which makes no more than {policy.unit_rows} then"


def _all(tests: list[Any], scope: Scope) -> Expr | None:
    if not tests:
        return None
    tree = tests[0]
    for test in tests[1:]:
        tree = exp.And(this=tree, expression=test)
    return truth(scope.bind(tree), "ON")


def _alike(tests: list[Any], scope: Scope, looked: list[Field]) -> list[tuple[int, bool]]:
    """The places of public columns that must equal something private, and whether that is compared as float64."""
    public = {field.expr.sql: index for index, field in enumerate(looked)}
    pairs = []
    for test in tests:
        if not isinstance(test, exp.EQ):
            continue
        sides = [scope.bind(part) for part in (test.this, test.expression)]
        for mine, other in (sides, sides[::-1]):
            if mine.sql in public and other.columns() and not other.columns() & public.keys():
                pairs.append((public[mine.sql], Kind.NUMBER in (mine.domain.kind, other.domain.kind)))
    return pairs


def _once(tests: list[Any], scope: Scope, sides: Mapping[str, Sequence[Field]]) -> frozenset[str]:
    """The sides whose rows have one partner at most, because what is unique there equals something of their own."""
    columns = {letter: {field.expr.sql for field in fields} for letter, fields in sides.items()}
    unique = {letter: {field.expr.sql for field in fields if field.unique} for letter, fields in sides.items()}
    once = set()
    for test in tests:
        if not isinstance(test, exp.EQ):
            continue
        bound = [scope.bind(part) for part in (test.this, test.expression)]
        for mine, other in (bound, bound[::-1]):
            alike = mine.domain.kind is other.domain.kind and other.columns()
            for letter, partner in (("l", "r"), ("r", "l")):
                if alike and mine.sql in unique[partner] and other.columns() <= columns[letter]:
                    once.add(letter)
    return frozenset(once)


def _compared(column: Sql, *, numeric: bool) -> Sql:
    """A column as it is compared: two large integers may equal one float."""
    return sql("CAST({} AS DOUBLE)", column) if numeric else column
