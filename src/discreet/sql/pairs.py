"""Two sources of FROM that meet: whose the rows are that they make, and what they are called."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from discreet.composed import Sql, literal, name, sql
from discreet.errors import Refused
from discreet.policy import Policy
from discreet.policy.model import Hop, Kind
from discreet.sql import fanout
from discreet.sql.bind import Binder
from discreet.sql.expression import Expr
from discreet.sql.nodes import Bound, Field, Join, Node, Semi, Side, lowered
from discreet.sql.nodes.join import joined_fields
from discreet.sql.nodes.lookup import Lookup, public_fields
from discreet.sql.nodes.semi import OTHER
from discreet.sql.relation import PUBLIC, Joined, Public, Relation, Stored, known_rows
from discreet.sql.scope import Scope, truth

Source = Node | Relation
Divided = Callable[[int, int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sources that are about to be joined."""

    left: Source
    names: Scope
    right: Source
    others: Scope
    side: Side
    policy: Policy
    tell: Callable[[str], object]
    using: tuple[str, ...] = ()
    """Columns that are one after the join."""
    on_unit: bool = False
    """Whether one of these is the unit on both sides."""
    clause: str = "ON"
    """Where it stands how they meet."""

    def links(self, test: Any) -> bool:
        """Whether a condition is about rows of both, and of nothing else."""
        if test.find(exp.Query) is not None:
            return False
        met = {(self.names.knows(column), self.others.knows(column)) for column in test.find_all(exp.Column)}
        return met == {(True, False), (False, True)}

    def is_linked(self, tests: list[Any]) -> bool:
        """Whether conditions bring them together as they have to be."""
        links = [test for test in tests if self.links(test)]
        if isinstance(self.left, PUBLIC) or isinstance(self.right, PUBLIC):
            return bool(links)
        return any(map(self._on_owner, links)) or self._foreign_key(links) is not None

    def private(self, tests: list[Any]) -> tuple[Node, Scope]:
        others = [part for test in tests for part in self._beyond_unit(test)]
        one, other = bounded(self.left), bounded(self.right)
        on_unit = self.on_unit or any(map(self._on_owner, tests))
        leads = None if on_unit else self._foreign_key(tests)
        if leads is not None:
            self.tell(f"rows of {leads} meet within one {self.policy.unit}")
        elif not on_unit:
            raise self._refusal()
        if one.owner.column is None or other.owner.column is None:
            raise self._refusal()
        sides = {
            "l": joined_fields(one, "l", self.side, once=True),
            "r": joined_fields(other, "r", self.side, once=True),
        }
        once = _once(others, self._scope([*sides["l"], *sides["r"]]), sides)
        divided = fanout.united if once else fanout.paired_and_alone if self.side is Side.FULL else fanout.paired
        once |= {letter for letter, partner in (("l", other), ("r", one)) if partner.rows == 1}
        join = Join(*fitting(one, other, divided, "a join", self.policy, self.tell), self.side, None, once)
        scope = self._scope(list(join.fields))
        return replace(join, condition=_all(others, scope.bind)), scope

    def _on_owner(self, test: Any) -> bool:
        if not isinstance(test, exp.EQ):
            return False
        a, b = test.this, test.expression
        return any(
            _is_unit(self.names, x) and _is_unit(self.others, y)
            and not (_is_unit(self.names, y) or _is_unit(self.others, x))
            for x, y in ((a, b), (b, a))
        )  # fmt: skip

    def _beyond_unit(self, test: Any) -> list[Any]:
        """What a condition says beside that the units are equal: that they are there, where they may be missing."""
        if not self._on_owner(test):
            return [test]
        missing = [
            part for part in (test.this, test.expression) if self.names.is_missing(part) or self.others.is_missing(part)
        ]
        return [exp.Not(this=exp.Is(this=part.copy(), expression=exp.Null())) for part in missing]

    def _foreign_key(self, tests: list[Any]) -> str | None:
        """Two tables, if the foreign key along which rows of one have their unit must equal the key that it leads to.

        A key is unique within its unit only: rows meet where their units are equal as well.
        """
        for test in tests:
            columns = [self._column(part) for part in (test.this, test.expression)] if isinstance(test, exp.EQ) else []
            sides = dict(column for column in columns if column is not None)
            for (table, column), (other, key) in itertools.permutations(sides.values(), 2):
                owner, leads = self.policy.tables[table].owner, self.policy.tables[other].columns[key].unique
                if leads and owner is not None and owner.path[:1] == (Hop(column, other, key),):
                    return f"{table} and {other}"
        return None

    def _column(self, node: Any) -> tuple[str, tuple[str, str]] | None:
        """The side on which an expression is a column, and the column of a private table that it is."""
        for side, scope, other in (("l", self.names, self.others), ("r", self.others, self.names)):
            if isinstance(node, exp.Column) and scope.knows(node) and not other.knows(node):
                field = scope.find(node)
                return None if field is None or field.column is None else (side, field.column)
        return None

    def _refusal(self) -> Refused:
        mine, other = _unit_name(self.names), _unit_name(self.others)
        if mine is None or other is None:
            return off_unit("rows that are their own unit meet no other private rows", "name a unit in the policy")
        return off_unit(
            "private tables are joined where their rows belong to the same unit",
            f"add {mine} = {other} to {self.clause}",
        )

    def semi(self, tests: list[Any], *, anti: bool, inner_first: bool) -> Semi:
        """The rows of the left whose unit has a row on the right for which all tests hold, or none such.

        `inner_first` says what a name means that both have: in a subquery its own column, else nothing.
        """
        return self.among(tests, self._on_outer if inner_first else self._on_units, anti=anti, inner_first=inner_first)

    def _on_units(self, test: Any) -> bool:
        """Whether a condition equates units that are both there."""
        return self._on_owner(test) and not self._beyond_unit(test)

    def among(self, tests: list[Any], on_unit: Callable[[Any], bool], *, anti: bool, inner_first: bool = True) -> Semi:
        """Likewise, where `on_unit` knows the test that equates the units."""
        others = [test for test in tests if not on_unit(test)]
        one, other = bounded(self.left), bounded(self.right)
        leads = None if self.on_unit or len(others) < len(tests) else self._foreign_key(tests)
        if leads is not None:
            self.tell(f"rows of {leads} meet within one {self.policy.unit}")
        if (
            (len(others) == len(tests) and not self.on_unit and leads is None)
            or one.owner.column is None
            or other.owner.column is None
        ):
            raise replace(self, clause="its WHERE")._beyond() if inner_first else self._refusal()
        if others:
            one, other = fitting(one, other, fanout.paired, "a comparison of rows", self.policy, self.tell)
        fields = joined_fields(other, OTHER, Side.INNER)
        right = replace(
            self.others,
            fields=tuple((alias, field) for (alias, _), field in zip(self.others.fields, fields, strict=True)),
        )

        def resolve(column: exp.Column) -> Expr:
            inner = right.knows(column)
            if inner and not inner_first and self.names.knows(column):
                raise Refused("unknown-column", "a column name is ambiguous", "write the table before it: t.x")
            return (right if inner else self.names).resolve(column)

        return Semi(one, other, anti, _all(others, Binder(resolve, self.names.special)))

    def _beyond(self) -> Refused:
        """The refusal of a subquery that looks at rows of other units."""
        refused = self._refusal()
        return Refused("private-subquery", "a subquery looks at private rows of other units", refused.fix)

    def _on_outer(self, test: Any) -> bool:
        """Whether a condition of a subquery says that its unit is that of the row outside."""
        sides = (test.this, test.expression) if isinstance(test, exp.EQ) else ()
        return any(
            self.others.is_owner(x) and self.names.is_owner(y) and not self.others.is_owner(y)
            for x, y in itertools.permutations(sides, 2)
        )

    def looked_up(self, tests: list[Any], public: Public) -> tuple[Node, Scope]:
        swapped = isinstance(self.left, PUBLIC)
        child, relation = (self.right, self.left) if swapped else (self.left, self.right)
        assert isinstance(relation, PUBLIC)
        assert not isinstance(child, PUBLIC)
        side = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}.get(self.side, self.side) if swapped else self.side
        if side in (Side.RIGHT, Side.FULL):
            # public rows that meet nobody belong to nobody: they are no rows, but their keys are keys all the same
            side = Side.INNER if side is Side.RIGHT else Side.LEFT
            self.tell(f"public rows that match no row of a {self.policy.unit} add keys, and no rows")
        node = bounded(child)
        private = joined_fields(node, "l", side)
        looked = public_fields(relation, side)
        scope = self._scope([*looked, *private] if swapped else [*private, *looked])
        condition, alike = _all(tests, scope.bind), _alike(tests, scope, looked)
        known, matches, among = self._matched(node, relation, alike, public)
        return Lookup(known, relation, side, condition, matches, node.limits.rows, among, swapped), scope

    def _matched(
        self, node: Node, relation: Relation, alike: list[tuple[int, bool]], public: Public
    ) -> tuple[Node, int, tuple[Sql, ...]]:
        """The private rows that may meet public ones, how many of these each, and among which columns to count them.

        Of a subquery that matches too often, or that is not known yet because this query releases something in it, only
        the first rows are looked at.
        """
        rows, most = node.rows or 1, self.policy.unit_rows
        among: tuple[Sql, ...] = ()
        known = relation.sql() if isinstance(relation, Stored) else known_rows(relation)
        matches = most + 1
        if known is not None:
            columns = [_compared(relation.columns[index].expr.sql, numeric=numeric) for index, numeric in alike]
            matches = max(1, public.repeats(known, columns))
        elif relation.single:
            matches = 1
        if matches > most and not isinstance(relation, Stored):
            matches = most // rows
            among = tuple(_compared(name(f"r{index}"), numeric=numeric) for index, numeric in alike) or (literal(True),)
        if node.owner.column is None and matches > 1:
            raise off_unit(
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
        scope = self._scope(public_columns(Joined(self.left, self.right, self.side.value, None)))
        joined = Joined(self.left, self.right, self.side.value, _all(tests, scope.bind))
        return joined, self._scope(public_columns(joined))

    def _scope(self, fields: list[Field]) -> Scope:
        """The names of both; the unit of a side that can be missing is NULL then, and a field at the end says so."""
        aliases = [alias for alias, _ in (*self.names.fields, *self.others.fields)]
        shift, end = len(self.names.fields), len(aliases)
        missing = [*self.names.missing, *((alias, label, at + shift) for alias, label, at in self.others.missing)]
        owners: list[tuple[str, str]] = []
        private = not isinstance(self.left, PUBLIC) and not isinstance(self.right, PUBLIC)
        for letter, scope in (("l", self.names), ("r", self.others)):
            if private and self.side.extends(letter):
                missing += [(alias, label, end) for alias, label in scope.owners]
                end += 1
            else:
                owners += scope.owners
        given = zip([*aliases, *[""] * (len(fields) - len(aliases))], fields, strict=True)
        return Scope(tuple(given), tuple(owners), self.names.special, self._merged(fields), tuple(missing))

    def _merged(self, fields: list[Field]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Columns that USING makes one, here or in one of the sides, by their indices.

        As in SQL it is the column of the side that is kept; where both are and are equal, that which is public.
        """
        shift = len(self.names.fields)
        left = dict(self.names.merged)
        right = {label: tuple(index + shift for index in indices) for label, indices in self.others.merged}
        merged = {**left, **right}
        for label in self.using:
            mine, other = left.get(label) or self._index(self.names, label), right.get(label)
            other = other or tuple(index + shift for index in self._index(self.others, label))
            if mine and other:
                merged[label] = self._preserved(fields, mine, other)
        return tuple(merged.items())

    @staticmethod
    def _index(scope: Scope, label: str) -> tuple[int, ...]:
        return tuple(index for index, (_, field) in enumerate(scope.fields) if field.name.lower() == label)[:1]

    def _preserved(self, fields: list[Field], mine: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
        if self.side is Side.FULL:
            return (*mine, *other)
        if self.side is not Side.INNER:
            return mine if self.side is Side.LEFT else other
        a, b = fields[mine[0]], fields[other[0]]
        public = a.listed is None and b.listed is not None and a.expr.domain.kind is b.expr.domain.kind
        return other if public else mine


def _is_unit(scope: Scope, node: Any) -> bool:
    return scope.is_owner(node) or scope.is_missing(node)


def _unit_name(scope: Scope) -> str | None:
    """What the unit is called: by the first of its names that is always there, or by all."""
    names = [_dotted(alias, label) for alias, label in scope.owners[:1]]
    names = names or [_dotted(alias, label) for alias, label, _ in scope.missing]
    return f"COALESCE({', '.join(names)})" if len(names) > 1 else next(iter(names), None)


def _dotted(alias: str, column: str) -> str:
    return f"{alias}.{column}" if alias else column


def off_unit(reason: str, fix: str) -> Refused:
    return Refused("join-off-unit", reason, fix)


def public_columns(relation: Relation) -> list[Field]:
    """The columns of public rows, as those of private ones are."""
    return [Field(column.name, column.expr, listed=column.listed) for column in relation.columns]


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


def _all(tests: list[Any], bind: Binder) -> Expr | None:
    if not tests:
        return None
    tree = tests[0]
    for test in tests[1:]:
        tree = exp.And(this=tree, expression=test)
    return truth(bind(tree), "ON")


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
