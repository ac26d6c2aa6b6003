"""Reading a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.accounting.part import Part
from discreet.composed import Sql, joined, keyword, literal, name, sql
from discreet.policy.layout import (
    ROW,
    UNIT,
    coded_keys,
    counted_keys,
    key_code,
    key_mask,
    key_rank,
    mask_type,
    ranked_keys,
    ranked_pairs,
    row_in_key,
    seen_count,
    seen_keys,
    seen_rank,
    steps_of,
    stored_steps,
)
from discreet.policy.model import Column, Kind, Table
from discreet.quoting import TEXT_LENGTH
from discreet.sql.blocks import condition
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import Field, Limits, Owner
from discreet.sql.part import conditions
from discreet.sql.work import once

SECRET = sql("discreet_secret()")
"""The key of all hashes: a macro of the engine's, which analysts cannot name."""


@dataclass(frozen=True)
class Scan:
    """The first `max_rows` rows of each unit, or fewer where a join could not bear so many.

    Theorem  At most `rows` of them belong to one unit, and which ones depends on that unit's own rows alone.
    Proof    The rank is a position within the unit, stored in the private copy, by keyed hash of the
             unit and all declared columns; ties are between identical rows.
    """

    table: Table
    part: Part | None = None
    """Of this table: only its rows are read."""
    most: int | None = None
    """Fewer rows of each unit than the policy says."""

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        ranked = frozenset(ranked_keys(self.table))
        return tuple(self._field(column, ranked) for column in self.table.columns.values())

    def _field(self, column: Column, ranked: frozenset[str]) -> Field:
        stored = name(steps_of(column.name)) if self.owner.column is not None and stored_steps(column) else None
        expr = Expr(name(column.name), domain_of(column), stored=stored)
        facts = Field(
            column.name,
            expr,
            unique=column.unique,
            column=(self.table.name, column.name),
            declared=column.is_key,
            apart=self.table.apart,
        )
        if column.name not in ranked:
            return facts
        whole = self.part is None and self.rows == self.table.max_rows
        nth = whole and self.table.max_rows_per_group < self.table.max_rows
        kind = mask_type(self.table)
        return replace(
            facts,
            rank=name(key_rank(column.name)),
            nth=name(row_in_key(column.name)) if nth else None,
            mask=name(key_mask(column.name)) if kind else None,
            below=sql("((1::{0} << CAST({1} - 1 AS {0})) - 1)", keyword(kind), name(ROW)) if kind and whole else None,
            whole=whole,
            seen=name(seen_rank(column.name)) if column.name in seen_keys(self.table) else None,
            many=name(seen_count(column.name)) if column.name in counted_keys(self.table) else None,
            code=name(key_code(column.name)) if column.name in coded_keys(self.table) else None,
            values=column.values or (),
        )

    def pair_rank(self, fields: Sequence[Field | None]) -> Sql | None:
        """The rank of two keys together among those of the unit's ranked rows, if it is stored.

        Theorem  Rows of a unit with both keys have the same rank if and only if they have the same keys, and ranks are
                 1, 2, … without a gap. Rows that lack a key that cannot be NULL have none.
        Proof    The rank is one more than the number of pairs of the unit whose first row comes before that of this
                 one: `copy.by_rows` counts them by the bits of first rows, of which each pair has one of its own
                 (`policy.layout.mask_type`).
        """
        known = [field.column[1] for field in fields if field is not None and field.column is not None]
        stored = ranked_pairs(self.table).get((min(known), max(known))) if len(known) == len(fields) == 2 else None
        return None if stored is None else name(stored)

    @cached_property
    def owner(self) -> Owner:
        owner = self.table.owner
        if owner is None or owner.column is None:
            return Owner(None, frozenset())
        own = {column.lower() for column in self.table.columns} if owner.path else set()
        return Owner(name(UNIT), frozenset({owner.column.lower()} - own))  # a column of that name is another one

    @cached_property
    def rows(self) -> int:
        return self.table.max_rows if self.most is None else min(self.table.max_rows, self.most)

    @cached_property
    def work(self) -> int:
        return self.rows

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        return () if self.owner.column is None else (name(ROW),)

    @cached_property
    def limits(self) -> Limits:
        rows, groups, each = self.rows, self.table.max_groups, self.table.max_rows_per_group
        return Limits(rows, groups if groups < rows else None, each if each < rows else None)

    @cached_property
    def inside(self) -> bool:
        return self.part is not None

    @once
    def sql(self) -> Sql:
        tests = condition(self.table)
        if self.part is not None:
            tests += conditions(self.part, self.table)
        if self.owner.column is not None:
            tests.append(sql("{} <= {}", name(ROW), literal(self.rows)))
        return where(sql("SELECT * FROM {}", name(self.table.name)), tests)


def where(rows: Sql, tests: Sequence[Sql]) -> Sql:
    """The rows for which all tests hold."""
    return sql("{} WHERE {}", rows, joined(" AND ", tests)) if tests else rows


def hashed(unit: Sequence[Sql], columns: Sequence[Sql]) -> list[Sql]:
    """An order by keyed hash of the unit and these columns, then by the columns: ties are between identical rows."""
    return [sql("hash({})", joined(", ", [SECRET, *unit, *columns])), *columns]


def row_number(partition: Sequence[Sql], order: Sequence[Sql]) -> Sql:
    """The place of a row in the order of its partition."""
    return sql("row_number() OVER (PARTITION BY {} ORDER BY {})", joined(", ", partition), joined(", ", order))


def domain_of(column: Column) -> Domain:
    """What the policy says about a column."""
    low, high = column.bounds or (None, None)
    values = column.values
    if values is not None and column.kind is Kind.INTEGER and low is None:
        whole = [int(value) for value in values if isinstance(value, int)]
        edges = Domain.of(min(whole)).low, Domain.of(max(whole)).high
        return Domain(column.kind, *edges, values, nullable=column.nullable)
    length = max((len(str(value)) for value in values or ()), default=TEXT_LENGTH)
    return Domain(column.kind, low, high, values, nullable=column.nullable, step=column.step, length=length)
