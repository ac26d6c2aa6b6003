"""Counting queries that are about the same rows, recognised in their plans: which of their cells each of them counts.

Rows fall into cells by the columns that the queries mention: by value where values are listed, by the constants that
they are compared with where they are numbers. Whether a query counts a cell, and under which keys, the engine says: it
computes the query's own conditions and keys on one public value of each cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from discreet.composed import Sql, joined, keyword, lines, literal, name, sql
from discreet.curator.task import Context
from discreet.errors import QueryFailed
from discreet.mechanisms.arrays import Integers
from discreet.policy import Kind
from discreet.policy.layout import TYPES
from discreet.release.queries import Floats
from discreet.sql.expression import Expr
from discreet.sql.keys import PublicKey
from discreet.sql.measures import Rows
from discreet.sql.nodes import Field, Filter, Node
from discreet.sql.plan import Plan
from discreet.sql.release import Release

COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN"})
MOST_VALUES: Final = 2_000
"""Of one column."""
MOST_CELLS: Final = 200_000
SPARSE: Final = 8
"""Codes that are so many times as large as they are many are sorted: a table over all of them would be larger."""


@dataclass(frozen=True)
class Axis:
    """A column by which rows fall into cells: the last one is NULL, and for all that has no cell."""

    field: Field
    values: tuple[Any, ...]
    """One of each cell: listed values, or numbers below, at and between the constants."""
    cuts: tuple[Any, ...] | None
    """The constants that it is compared with; None where values are listed."""

    @property
    def cells(self) -> int:
        return len(self.values) + 1

    @property
    def column(self) -> Sql:
        """For each row its value, or the number of its cell."""
        column = self.field.expr.sql
        if self.cuts is None:
            return column
        tests = [
            part
            for index, cut in enumerate(self.cuts)
            for part in (
                sql("WHEN {} < {} THEN {}", column, literal(cut), literal(2 * index)),
                sql("WHEN {} = {} THEN {}", column, literal(cut), literal(2 * index + 1)),
            )
        ]
        return sql("CASE {} WHEN {} IS NOT NULL THEN {} END", joined(" ", tests), column, literal(2 * len(self.cuts)))

    def code(self, read: Any) -> int:
        """The cell of what an engine read."""
        if self.cuts is not None:
            return self.cells - 1 if read is None else int(read)
        return self._codes.get(read, self.cells - 1)

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {value: index for index, value in enumerate(self.values)}

    def sample(self, label: str) -> Sql:
        """One public value for each cell, under the column's own name, with the number of the cell."""
        kind = self.field.expr.domain.kind or Kind.TEXT
        held = TYPES[Kind.NUMBER if self.cuts is not None else kind]
        numbered = [(value, index) for index, value in enumerate((*self.values, None))]
        rows = sql("(VALUES {}) AS {}(v, {})", lines(numbered), name(f"t{label}"), name(label))
        return sql("(SELECT CAST(v AS {}) AS {}, {} FROM {})", keyword(held), self.field.expr.sql, name(label), rows)


@dataclass(frozen=True, eq=False)
class Family:
    """Counting queries over one relation, as rows of a matrix over classes of cells that none of them tells apart."""

    members: tuple[int, ...]
    """Their places in the batch."""
    node: Node
    axes: tuple[Axis, ...]
    classes: Integers
    """Of each cell; −1 where no query counts it."""
    matrix: Floats
    """A row for each answer, over the classes."""
    answers: tuple[int, ...]
    """How many answers each member has."""

    @property
    def query(self) -> Sql:
        """How many rows each combination of values has."""
        columns = [axis.column for axis in self.axes]
        if not columns:
            return sql("SELECT COUNT(*) FROM ({})", self.node.sql())
        labels = [name(f"v{index}") for index in range(len(columns))]
        named = [sql("{} AS {}", column, label) for column, label in zip(columns, labels, strict=True)]
        rows = sql("SELECT {} FROM ({})", joined(", ", named), self.node.sql())
        return sql("SELECT {0}, COUNT(*) FROM ({1}) GROUP BY {0}", joined(", ", labels), rows)

    def counted(self, rows: Sequence[tuple[Any, ...]]) -> Integers:
        """How many rows each class has.

        Theorem  A unit of at most r rows moves it by some v ≥ 0 with Σv ≤ r. Proof: each row is in one cell, by its
                 own values, and each cell in one class at most.
        """
        exact = np.zeros(self.matrix.shape[1], dtype=np.int64)
        shape = tuple(axis.cells for axis in self.axes)
        for *values, count in rows:
            codes = tuple(axis.code(value) for axis, value in zip(self.axes, values, strict=True))
            cell = int(np.ravel_multi_index(codes, shape)) if codes else 0
            if self.classes[cell] >= 0:
                exact[self.classes[cell]] += int(count)
        return exact


def families(context: Context, plans: Sequence[Plan]) -> list[Family]:
    """The queries that are recognised, those over the same rows together; a query alone gains nothing."""
    by_relation: dict[str, list[int]] = {}
    for index, plan in enumerate(plans):
        if _is_counting(plan):
            node, _ = _stripped(plan.releases[0].child)
            by_relation.setdefault(node.sql().text, []).append(index)
    made = [_family(context, plans, members) for members in by_relation.values() if len(members) > 1]
    return [family for family in made if family is not None]


def _is_counting(plan: Plan) -> bool:
    """COUNT(*) by listed keys, where no bound on groups changes which rows count."""
    if len(plan.releases) != 1 or plan.unknown or plan.reads_tables:
        return False
    (release,) = plan.releases
    contribution = release.contribution
    unbound = contribution.total == release.child.rows and contribution.cells >= min(contribution.total, release.groups)
    return (
        all(type(measure) is Rows for measure in release.measures)
        and len(release.measures) == 1
        and not release.other
        and release.clause is None
        and all(isinstance(key, PublicKey) for key in release.keys)
        and contribution.rows == contribution.total
        and unbound
    )


def _stripped(node: Node) -> tuple[Node, list[Expr]]:
    """What is below WHERE, and its conditions."""
    conditions = []
    while isinstance(node, Filter):
        conditions.append(node.condition)
        node = node.child
    return node, conditions


def _family(context: Context, plans: Sequence[Plan], members: Sequence[int]) -> Family | None:
    releases = [plans[index].releases[0] for index in members]
    node, _ = _stripped(releases[0].child)
    conditions = [_stripped(release.child)[1] for release in releases]
    keys = [[key for key in release.keys if isinstance(key, PublicKey)] for release in releases]
    axes = _axes(node, [c for each in conditions for c in each], [key.expr for each in keys for key in each])
    if axes is None or math.prod(axis.cells for axis in axes) > MOST_CELLS:
        return None
    try:
        groups = [_groups(context, axes, *each) for each in zip(releases, conditions, keys, strict=True)]
    except QueryFailed:
        return None
    classes, firsts = _classes(groups)
    matrix = np.concatenate(
        [
            np.equal.outer(np.arange(release.groups), each[firsts])
            for release, each in zip(releases, groups, strict=True)
        ]
    ).astype(np.float64)
    answers = tuple(release.groups for release in releases)
    return Family(tuple(members), node, axes, classes, matrix, answers)


def _groups(
    context: Context, axes: Sequence[Axis], release: Release, tests: Sequence[Expr], keys: Sequence[PublicKey]
) -> Integers:
    """For each cell under which of its groups a query counts it; −1 where it does not."""
    used = {column for expr in (*tests, *(key.expr for key in keys)) for column in expr.columns()}
    own = [axis for axis in axes if axis.field.expr.sql in used]
    index_of = {label: index for index, label in enumerate(release.cells())}
    table = np.full([axis.cells for axis in own], -1, dtype=np.int64)
    for row in context.compute(_samples(own, tests, keys), None):
        cell, counts, key = row[: len(own)], row[len(own)], row[len(own) + 1 :]
        if counts:
            table[cell] = index_of.get(key, -1)
    wide = table.reshape([axis.cells if axis in own else 1 for axis in axes])
    return np.broadcast_to(wide, [axis.cells for axis in axes]).reshape(-1)


def _classes(groups: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Cells that no query tells apart, by number in the order of cells, −1 where nothing counts; a cell of each."""
    classes = np.zeros(len(groups[0]), dtype=np.int64)
    counted = np.zeros(len(groups[0]), dtype=np.bool_)
    for each in groups:
        counted |= each >= 0
        classes = renumbered(classes * (each.max() + 2) + each + 1)
    _, firsts, numbers = np.unique(classes[counted], return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    numbered = np.full(len(classes), -1, dtype=np.int64)
    numbered[counted] = ranks[numbers]
    return numbered, np.flatnonzero(counted)[firsts[order]]


def renumbered(codes: Integers) -> Integers:
    """Numbers from 0 on instead of these, in their order and without gaps; not sorted where they are not much larger
    than they are many."""
    most = int(codes.max()) + 1
    if most > SPARSE * len(codes):
        return np.unique(codes, return_inverse=True)[1]
    present = np.zeros(most, dtype=np.bool_)
    present[codes] = True
    return (np.cumsum(present) - 1)[codes]


def _axes(node: Node, conditions: Sequence[Expr], keys: Sequence[Expr]) -> tuple[Axis, ...] | None:
    """The columns that are mentioned; None where one of them cannot be cut into cells."""
    if any(expr.has_subquery for expr in (*conditions, *keys)):
        return None
    grouped = {column for key in keys for column in key.columns()}
    mentioned = grouped | {column for condition in conditions for column in condition.columns()}
    fields = {field.expr.sql: field for field in node.fields}
    if not mentioned <= fields.keys():
        return None
    axes = []
    for column in sorted(mentioned, key=lambda each: each.text):
        axis = _axis(fields[column], conditions, is_key=column in grouped)
        if axis is None:
            return None
        axes.append(axis)
    return tuple(axes)


def _axis(field: Field, conditions: Sequence[Expr], *, is_key: bool) -> Axis | None:
    domain = field.expr.domain
    cuts = None if is_key or domain.kind not in (Kind.INTEGER, Kind.NUMBER) else _cuts(field.expr.sql, conditions)
    if cuts is not None:
        wide = [max(Fraction(1), abs(cut)) for cut in cuts]
        between = [(low + high) / 2 for low, high in pairwise(cuts)]
        inner = [value for pair in zip(cuts, [*between, cuts[-1] + wide[-1]], strict=True) for value in pair]
        return Axis(field, tuple(float(value) for value in (cuts[0] - wide[0], *inner)), tuple(cuts))
    count = domain.count()
    if count is None or not 0 < count <= MOST_VALUES:
        return None
    return Axis(field, tuple(domain.keys()), None)


def _cuts(column: Sql, conditions: Sequence[Expr]) -> list[Fraction] | None:
    """The numbers that a column is compared with, ascending; None where something else is done with it."""
    cuts: set[Fraction] = set()
    for part in (part for condition in conditions for part in condition.parts()):
        others = [argument for argument in part.arguments if argument.sql != column]
        if len(others) == len(part.arguments):
            continue
        known = all(isinstance(other.value, int | Fraction) and not isinstance(other.value, bool) for other in others)
        if part.function is None or part.function.name not in COMPARISONS or not known or not others:
            return None
        cuts |= {Fraction(other.value) for other in others if isinstance(other.value, int | Fraction)}
    return sorted(cuts) or None


def _samples(axes: Sequence[Axis], tests: Sequence[Expr], keys: Sequence[PublicKey]) -> Sql:
    """For each combination of cells: its numbers, whether a query counts it, and under which keys."""
    test = joined(" AND ", [sql("({})", each.sql) for each in tests]) if tests else literal(True)
    labels = [name(f"i{index}") for index in range(len(axes))]
    columns = joined(", ", [*labels, sql("COALESCE({}, FALSE)", test), *(key.sql for key in keys)])
    if not axes:
        return sql("SELECT {}", columns)
    tables = joined(" CROSS JOIN ", [axis.sample(f"i{index}") for index, axis in enumerate(axes)])
    return sql("SELECT {} FROM {}", columns, tables)
