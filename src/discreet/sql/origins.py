"""Which row of which release stands behind a row that is shown: through UNION ALL, grouping sets, and SELECTs that
choose rows and columns of them. So what is shown keeps its intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.composed import Sql
from discreet.sql.expression import Expr
from discreet.sql.plan import Plan
from discreet.sql.postprocess import After
from discreet.sql.relation import Derived, Relation, Released, Stacked

Run = Callable[[Sql], Sequence[tuple[Any, ...]]]
Origin = tuple[int, int]
"""Which branch, and which row of its release."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One release among those whose rows are shown: for each column what it is there, None where that is not known."""

    below: Released
    items: tuple[Expr | None, ...]
    having: Expr | None = None


def branches(relation: Relation) -> list[Branch] | None:
    """All releases whose rows are shown, one below the other; None where rows are something else."""
    if isinstance(relation, Released):
        return [Branch(relation, tuple(column.expr for column in relation.columns))]
    if isinstance(relation, Stacked):
        upper, lower = branches(relation.upper), branches(relation.lower)
        return None if upper is None or lower is None else [*upper, *lower]
    if not isinstance(relation, Derived) or not relation.after.keeps_rows:
        return None
    below = branches(relation.below)
    return None if below is None else [_through(relation.after, relation.below, branch) for branch in below]


def _through(after: After, below: Relation, branch: Branch) -> Branch:
    """What a SELECT makes of the columns of a branch."""
    if isinstance(below, Released):
        return replace(branch, items=tuple(expr for _, expr in after.items), having=after.having)
    known = dict(zip((column.expr.sql for column in below.columns), branch.items, strict=True))
    return replace(branch, items=tuple(_passed_on(expr, known) for _, expr in after.items))


def _passed_on(expr: Expr, known: dict[Sql, Expr | None]) -> Expr | None:
    """A column as it is in the branch, or the end of its interval."""
    if expr.sql in known:
        return known[expr.sql]
    inner = known.get(expr.arguments[0].sql) if expr.is_interval_end else None
    return None if inner is None else replace(expr, arguments=(inner,))


def origins(relation: Relation, sizes: Sequence[int], run: Run) -> list[Origin]:
    """For each row of a relation that has branches, whence it comes; `sizes` are how many rows each release has.

    Theorem  The nth of them is the row whose number is n. Proof: releases number their rows from 0, all others from 1
             in the order in which they are given, which SELECTs that keep rows state: by the numbers below at last.
    """
    if isinstance(relation, Released):
        return [(0, row) for row in range(sizes[relation.number])]
    if isinstance(relation, Stacked):
        upper = origins(relation.upper, sizes, run)
        first = len(branches(relation.upper) or ())
        return [*upper, *((first + branch, row) for branch, row in origins(relation.lower, sizes, run))]
    assert isinstance(relation, Derived)
    below = origins(relation.below, sizes, run)
    if relation.after.plain:
        return below
    start = 0 if isinstance(relation.below, Released) else 1
    selected = run(relation.after.sql(relation.below.sql()))
    return [below[int(row[len(relation.after.items)]) - start] for row in selected]


def views(plan: Plan) -> list[Plan]:
    """The plan as one of each release whose rows it shows: columns of which that is known, by their names."""
    if isinstance(plan.below, Released):
        return [plan] if plan.after.keeps_rows else []
    shown = []
    for branch in branches(Derived(plan.after, plan.below)) or ():
        named = zip(plan.columns, branch.items, strict=True)
        items = tuple((label, expr) for label, expr in named if expr is not None)
        shown.append(replace(plan, below=branch.below, after=After(items, having=branch.having)))
    return shown
