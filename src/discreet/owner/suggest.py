"""Contribution bounds that fit the data, proposed to the owner: from exact figures, or by private quantiles for a cost.

A bound in a policy is public, and one that is read off the data tells something about it. So what is proposed lies on
the grid 1, 2, 5, 10, 20, …, enough for 99 % of the units. From exact figures it is still exact: nothing of it is
written anywhere, and it is marked. For a cost it is differentially private, charged like any query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from discreet.curator.curator import Curator
from discreet.owner.inspection import inspected
from discreet.policy import Policy, Table
from discreet.printing import counted
from discreet.quoting import name

EXACT: Final = "contains exact values: do not share"
_USUAL: Final = "0.99"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A contribution bound of a table: what the policy says, and what is proposed."""

    table: str
    key: str
    """max_rows or max_groups."""
    now: int
    proposed: int
    why: str

    @property
    def text(self) -> str:
        if self.proposed == self.now:
            return f"{self.key} = {self.now} can stay"
        return f"{self.key} = {self.proposed} instead of {self.now}"


def on_grid(number: int) -> int:
    """The least of 1, 2, 5, 10, 20, 50, … that is not below.

    >>> [on_grid(number) for number in (0, 1, 3, 6, 11, 99, 101)]
    [1, 1, 5, 10, 20, 100, 200]
    """
    step = 1
    while True:
        for digit in (1, 2, 5):
            if digit * step >= number:
                return digit * step
        step *= 10


def from_exact_values(policy: Policy) -> tuple[Suggestion, ...]:
    """What the sources suggest. It contains exact values: do not share."""
    suggestions: list[Suggestion] = []
    with inspected(policy) as inspection:
        for table in bounded_tables(policy):
            figures = inspection.units(table)
            if figures is None or not figures.units:
                continue
            rows = on_grid(figures.usual)
            why = f"99 % of the units have at most {counted(rows, 'row')}"
            suggestions.append(Suggestion(table.name, "max_rows", table.max_rows, rows, why))
            groups = inspection.groups(table)
            if groups and rows > 1:
                most = min(on_grid(max(groups.values())), rows)
                why = f"99 % of the units are in at most {counted(most, 'group')} of any key column"
                suggestions.append(Suggestion(table.name, "max_groups", table.max_groups, most, why))
    return tuple(suggestions)


def by_quantiles(curator: Curator, epsilon: float) -> tuple[Suggestion, ...]:
    """What private quantiles suggest, all for one charge of this cost: a batch of queries, cached like any other.

    Of a unit no more rows than `max_rows` are ever read, so nothing above that can be proposed.
    """
    queries = list(_queries(curator.policy))
    if not queries:
        return ()
    answers = curator.batch([text for *_, text in queries], epsilon=epsilon)
    suggestions = []
    for (table, key, now, _), answer in zip(queries, answers, strict=True):
        about = min(max(round(float(answer.rows[0][0])), 1), table.max_rows)
        proposed = min(on_grid(about), now)
        limit = "; more are not read" if key == "max_rows" and proposed == now else ""
        what = "rows" if key == "max_rows" else "groups"
        why = f"by a private quantile, about 99 % of the units have at most {about} {what}{limit}"
        suggestions.append(Suggestion(table.name, key, now, proposed, why))
    return tuple(_widest(suggestions))


def _widest(suggestions: list[Suggestion]) -> Iterator[Suggestion]:
    """Of several key columns of a table, the one that needs the most groups."""
    best: dict[tuple[str, str], Suggestion] = {}
    for each in suggestions:
        known = best.get((each.table, each.key))
        if known is None or each.proposed > known.proposed:
            best[each.table, each.key] = each
    yield from best.values()


def _queries(policy: Policy) -> Iterator[tuple[Table, str, int, str]]:
    for table in bounded_tables(policy):
        if table.max_rows == 1 or table.owner is None or table.owner.column is None:
            continue
        unit, rows = name(table.owner.column), name(table.name)
        per_unit = f"SELECT {unit}, COUNT(*) AS n FROM {rows} GROUP BY {unit}"
        yield table, "max_rows", table.max_rows, _quantile(per_unit)
        if table.max_groups == 1:
            continue
        for column in table.columns.values():
            if column.is_key:
                per_key = f"SELECT {unit}, {name(column.name)} AS k FROM {rows} GROUP BY {unit}, {name(column.name)}"
                per_unit = f"SELECT {unit}, COUNT(*) AS n FROM ({per_key}) AS g GROUP BY {unit}"
                yield table, "max_groups", table.max_groups, _quantile(per_unit)


def _quantile(per_unit: str) -> str:
    return f"SELECT QUANTILE(n, {_USUAL}) AS n FROM ({per_unit}) AS u"


def bounded_tables(policy: Policy) -> list[Table]:
    """Private tables of which a unit can have several rows."""
    return [table for table in policy.private_tables.values() if table.owner is not None and table.owner.column]
