"""What answers would be worth under a policy that is still being written: from its text alone, as previews are.

No source is opened and no ledger begun: the errors follow from bounds, contribution bounds and the cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from discreet.accounting.balance import Amount
from discreet.curator.curator import Curator
from discreet.curator.dummy import NO_STATE
from discreet.curator.state import ledger_over
from discreet.errors import Refused
from discreet.ledger import Ledger, Memory
from discreet.owner.statement import belief
from discreet.policy import Kind, Policy
from discreet.quoting import name

GROUP: Final = 1000
"""Rows of a group of which an average is told."""
COST: Final = 0.1
"""What a typical query costs, before there is a budget."""
ERRORS: Final = (100, 30, 10, 5)
NUMBERS: Final = (Kind.INTEGER, Kind.NUMBER)


@dataclass(frozen=True, slots=True)
class Expected:
    """The half-width of a typical query at a cost, at 95 %."""

    column: str
    """Empty of a count."""
    count: float | None = None
    total: float | None = None
    average: float | None = None
    """Of a group of `GROUP` rows."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a budget means: how sure somebody can get that a certain unit is in the data, and what may be asked."""

    after: float
    """From one half, when all of it is spent."""
    failure: float
    """How often it may be more."""
    counts: dict[int, int]
    """For each error, how many counts fit into it."""
    table: str
    """Whose rows are counted; nothing if no table is private."""


def expected(policy: Policy, table: str, epsilon: float = COST) -> list[Expected]:
    """Of a private table: the errors of a count, and of the sum and the average of each bounded column of numbers."""
    known = policy.tables[table]
    with _imagined(policy) as curator:
        rows = [Expected("", count=_error(curator, f"SELECT COUNT(*) AS n FROM {name(table)}", epsilon))]
        for column in known.columns.values():
            if column.bounds is None or column.kind not in NUMBERS:
                continue
            about = f"{name(column.name)}) AS x FROM {name(table)}"
            total = _error(curator, f"SELECT SUM({about}", epsilon)
            average = _average(curator, f"SELECT AVG({about}", epsilon)
            rows.append(Expected(column.name, total=total, average=average))
    return rows


def meaning(policy: Policy) -> Meaning:
    """What the policy's budget means."""
    counts: dict[int, int] = {}
    with _imagined(policy) as curator:
        held = belief(_whole(curator), halved=True)
        table = next(iter(policy.private_tables), "")
        if table:
            for error in ERRORS:
                try:
                    preview = curator.preview(f"SELECT COUNT(*) AS n FROM {name(table)}", error=error)
                    counts[error] = preview.more or 0
                except Refused:
                    counts[error] = 0
    return Meaning(held["after"], held["failure"], counts, table)


def _whole(curator: Curator) -> Amount:
    return curator.budget().total


@contextmanager
def _imagined(policy: Policy) -> Iterator[Curator]:
    """A curator without rows, state or record: good for previews."""
    tables = {name: replace(table, stream=None) for name, table in policy.tables.items()}  # as if it were one block
    policy = replace(policy, state=NO_STATE, ledger=None, tables=tables)
    with closing(Curator(policy, ledger_over(Memory.bounded(), policy, Ledger))) as curator:
        yield curator


def _error(curator: Curator, sql: str, epsilon: float) -> float | None:
    try:
        return next(iter(curator.preview(sql, epsilon=epsilon).error.values()), None)
    except Refused:
        return None


def _average(curator: Curator, sql: str, epsilon: float) -> float | None:
    try:
        sizes = next(iter(curator.preview(sql, epsilon=epsilon).averages.values()), {})
    except Refused:
        return None
    return sizes.get(GROUP)
