"""A policy beside its sources: what its owner should know before anybody asks.

What is found here is exact and never leaves the owner's terminal: counts, and whether bounds are the data's extremes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from discreet.owner import column_lints, database_lints, unit_lints
from discreet.owner.inspection import Inspection, inspected
from discreet.policy import Finding, Policy, Severity

LINTS: Final[tuple[Callable[[Inspection], Iterator[Finding]], ...]] = (
    unit_lints.network_state,
    unit_lints.open_state,
    unit_lints.share_sums,
    unit_lints.writable_sources,
    database_lints.rights,
    database_lints.hidden_rows,
    database_lints.unchecked_servers,
    unit_lints.public_units,
    column_lints.missing_columns,
    unit_lints.missing_unit_columns,
    unit_lints.unlike_units,
    unit_lints.unlike_keys,
    unit_lints.repeated_keys,
    unit_lints.shared_files,
    unit_lints.unreadable_files,
    unit_lints.dropped_records,
    unit_lints.long_records,
    unit_lints.dangling_keys,
    unit_lints.ownerless_rows,
    unit_lints.empty_tables,
    unit_lints.single_rows,
    unit_lints.repeated_identifiers,
    unit_lints.narrow_joins,
    unit_lints.cut_rows,
    unit_lints.streams,
    unit_lints.large_delta,
    column_lints.uncastable,
    column_lints.fractional,
    column_lints.infinite,
    column_lints.unbounded,
    column_lints.tight_bounds,
    column_lints.outside_bounds,
    column_lints.undeclared_values,
    column_lints.undeclared_nulls,
    column_lints.unseen_values,
    unit_lints.unreadable_sources,
)
"""One function for each thing to look at."""


def check(policy: Policy) -> tuple[Finding, ...]:
    """All findings, the gravest first. For the owner only: they tell what the data holds."""
    with inspected(policy) as inspection:
        findings = [finding for lint in LINTS for finding in lint(inspection)]
    order = list(Severity)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))
