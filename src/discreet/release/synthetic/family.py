"""Synthetic parents with synthetic children: two tables whose keys fit, of two that one unit's key joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.answers.frames import Column, to_pandas
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.exact import Number
from discreet.mechanisms.arrays import Integers
from discreet.policy import Kind, Policy, Table
from discreet.quoting import name as quoted
from discreet.release.domain import Bins
from discreet.release.synthetic.marginals import MarginalSynthesizer
from discreet.release.synthetic.table import SyntheticTable, write_parquet

if TYPE_CHECKING:
    import pandas

MOST_CONTEXTS: Final = 64
"""Combinations of the parents' values that children are told apart by, unless the caller names columns."""
ALONE: Final = "synthesize each table by itself, or a SELECT that joins them"


@dataclass(frozen=True, eq=False)
class SyntheticFamily:
    """A synthetic parent table, and a synthetic child table whose keys are those of the parents.

    Post-processing of two releases: parents with their numbers of children, and children with some columns of their
    parents (the context). A parent gets children of its own context, drawn at random; where there are too few they are
    used again. Beside the context, children of one parent are independent of each other and of their parent.
    """

    parent: SyntheticTable
    """With the number of children as its last column."""
    child: SyntheticTable
    """With the context as its last columns."""
    names: tuple[str, str]
    """Of the two tables."""
    key: str
    """The column that joins them."""
    context: tuple[str, ...]

    @cached_property
    def links(self) -> tuple[Integers, Integers]:
        """For each child in the result the number of its parent, and the row of `child` that it is."""
        counts = np.array(self.parent.to_dict()[self.parent.columns[-1]], dtype=np.int64)
        slots = np.repeat(np.arange(len(counts)), counts)
        if not len(self.child):
            return slots[:0], slots[:0]
        order = np.argsort(self.child._uniform(0), kind="stable")
        here, there = self._contexts(self.parent)[slots], self._contexts(self.child)[order]
        rows = np.empty(len(slots), dtype=np.int64)
        for context in np.unique(here).tolist():
            wanted, known = np.flatnonzero(here == context), order[there == context]
            known = known if len(known) else order
            rows[wanted] = known[np.arange(len(wanted)) % len(known)]
        return slots, rows

    def _contexts(self, table: SyntheticTable) -> Integers:
        indices = [table.domain.index(name) for name in self.context]
        if not indices:
            return np.zeros(len(table), dtype=np.int64)
        sizes = [table.domain.shape[index] for index in indices]
        cells: Integers = np.ravel_multi_index([table.codes[index].astype(np.int64) for index in indices], sizes)
        return cells

    @cached_property
    def _columns(self) -> dict[str, list[Column]]:
        slots, rows = self.links
        parents = self.parent.frame_columns()[:-1]
        children = self.child.frame_columns()[: len(self.child.columns) - len(self.context)]
        numbers = Column(self.key, Kind.INTEGER, list(range(1, len(self.parent) + 1)))
        picked = [Column(each.name, each.kind, [each.values[row] for row in rows.tolist()]) for each in children]
        links = Column(self.key, Kind.INTEGER, (slots + 1).tolist())
        return {self.names[0]: [numbers, *parents], self.names[1]: [links, *picked]}

    def to_dict(self) -> dict[str, dict[str, list[Any]]]:
        """By table and column its values."""
        tables = self._columns.items()
        return {name: {column.name: list(column.values) for column in columns} for name, columns in tables}

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """By table its frame."""
        return {name: to_pandas(columns) for name, columns in self._columns.items()}

    def save(self, folder: str | PathLike[str], suffix: str = "_synthetic") -> str:
        """Write a Parquet file for each; returns the lines that make them public tables of a policy."""
        lines = ""
        for name, columns in self._columns.items():
            lines += write_parquet(columns, Path(folder) / f"{name}{suffix}.parquet")
        return lines


def synthesize_family(
    curator: Curator,
    parent: str,
    child: str,
    *,
    context: Sequence[str] | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    bins: Mapping[str, Bins] | None = None,
    analyst: str | None = None,
    fresh: bool = False,
) -> SyntheticFamily:
    """Synthetic rows of two tables that share the unit's key: one row of each unit in `parent`, several in `child`.

    It is two releases, each at this cost (sequential composition): of parents with their numbers of children, and of
    children beside the columns of their parent that `context` names. `bins` are by table, then by column.
    """
    policy = _policy(curator)
    one, other = _table(policy, parent), _table(policy, child)
    _demand_family(one, other)
    chosen = _context(one, other) if context is None else tuple(context)
    _demand_context(one, other, chosen)
    cuts = dict(bins or {})
    options: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta, "analyst": analyst, "fresh": fresh}
    parents = curator.release(MarginalSynthesizer(bins=cuts.get(one.name)), _parents(one, other), **options)
    children = curator.release(
        MarginalSynthesizer(bins=cuts.get(other.name)),
        _children(one, other, chosen),
        max_rows=other.max_rows,
        **options,
    )
    return SyntheticFamily(parents, children, (one.name, other.name), _key(one), chosen)


# from the policy


def _policy(curator: object) -> Policy:
    if not isinstance(curator, Curator):
        raise Refused("release-invalid", "families are of a curator's tables", "open the policy with discreet.open")
    return curator.policy


def _table(policy: Policy, name: str) -> Table:
    if name not in policy.tables:
        known = ", ".join(policy.tables)
        raise Refused("unknown-table", "there is no such table in the policy", f"tables: {known}")
    return policy.tables[name]


def _demand_family(parent: Table, child: Table) -> None:
    """Refuse what is no family: the keys of others would have to be invented."""
    for table in (parent, child):
        if table.owner is None:
            raise Refused("release-invalid", f"{table.name} is public", "read it as it is")
        if table.owner.column is None or table.owner.path:
            reason = f"{table.name} does not have the unit's key itself: other keys would have to be invented"
            raise Refused("release-invalid", reason, ALONE)
    if parent.max_rows != 1 or parent.name == child.name:
        reason = f"{parent.name} is no parent: several rows of one unit are read, or it is the child itself"
        raise Refused("release-invalid", reason, f"name a table with max_rows = 1 first, or {ALONE}")


def _context(parent: Table, child: Table) -> tuple[str, ...]:
    """The first columns of the parent with few public values, that the child does not have."""
    names: list[str] = []
    many = 1
    for column in _declared(parent):
        values = parent.columns[column].values
        if values and column not in child.columns and prod((many, len(values) + 1)) <= MOST_CONTEXTS:
            names.append(column)
            many *= len(values) + 1
    return tuple(names)


def _demand_context(parent: Table, child: Table, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in parent.columns or name in child.columns or not parent.columns[name].values:
            reason = "the context is of columns with listed values, which the parent has and the child has not"
            usual = ", ".join(_context(parent, child)) or "none"
            raise Refused("release-invalid", reason, f"leave it out to have the usual one: {usual}")


def _key(table: Table) -> str:
    """The column of the unit."""
    assert table.owner is not None
    assert table.owner.column is not None
    return table.owner.column


def _declared(table: Table) -> list[str]:
    return [name for name in table.columns if name != _key(table)]


def _count_name(parent: Table, child: Table) -> str:
    """A name that no column of the parent has."""
    name = f"number of {child.name}"
    while name in parent.columns:
        name += "_"
    return name


def _parents(parent: Table, child: Table) -> str:
    one, other = quoted(_key(parent)), quoted(_key(child))
    columns = ", ".join(f"p.{quoted(name)}" for name in _declared(parent))
    counts = f"SELECT {other}, COUNT(*) AS n FROM {quoted(child.name)} GROUP BY {other}"
    number = f"COALESCE(c.n, 0) AS {quoted(_count_name(parent, child))}"
    return f"SELECT {columns}, {number} FROM {quoted(parent.name)} p LEFT JOIN ({counts}) c ON p.{one} = c.{other}"


def _children(parent: Table, child: Table, context: tuple[str, ...]) -> str:
    one, other = quoted(_key(parent)), quoted(_key(child))
    own = [f"c.{quoted(name)}" for name in _declared(child)]
    columns = ", ".join([*own, *(f"p.{quoted(name)}" for name in context)])
    return f"SELECT {columns} FROM {quoted(child.name)} c JOIN {quoted(parent.name)} p ON c.{other} = p.{one}"
