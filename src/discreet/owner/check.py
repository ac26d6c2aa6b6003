"""A policy beside its sources: what its owner should know before anybody asks.

What is found here is exact and never leaves the owner's terminal: counts, and whether bounds are the data's extremes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from discreet.owner import column_lints, database_lints, unit_lints
from discreet.owner.column_lints import Lint
from discreet.owner.inspection import inspected
from discreet.policy import Finding, Policy, Severity
from discreet.policy.problems import shown

LINTS: Final[tuple[Lint, ...]] = (
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


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found and what the owner has acknowledged. For the owner only: findings tell what the data holds."""

    findings: tuple[Finding, ...]
    """The gravest first."""
    acknowledged: tuple[Finding, ...]


def check(policy: Policy) -> tuple[Finding, ...]:
    """What the owner should look at, the gravest first."""
    return checked(policy).findings


def checked(policy: Policy) -> Checked:
    """All findings. What the policy acknowledges is set apart, unless it is an error."""
    with inspected(policy) as inspection:
        findings = [replace(finding, lint=name_of(lint)) for lint in LINTS for finding in lint(inspection)]
    order = list(Severity)
    findings.sort(key=lambda finding: order.index(finding.severity))
    known = [each for each in findings if each.severity is not Severity.ERROR and key_of(each) in policy.acknowledged]
    rest = [finding for finding in findings if finding not in known]
    return Checked((*rest, *_outdated(policy, findings)), tuple(known))


def name_of(lint: Lint) -> str:
    """A lint as policies name it."""
    return lint.__name__.replace("_", "-")


def key_of(finding: Finding) -> str:
    """A finding as the policy acknowledges it. Figures are not in it: they change with the data."""
    return f"{finding.where}: {finding.lint}"


def _outdated(policy: Policy, findings: list[Finding]) -> Iterator[Finding]:
    keys = {key_of(finding) for finding in findings}
    for key in policy.acknowledged:
        if key not in keys:
            message = f"{shown(key)} is not found, or not any more"
            yield Finding(Severity.NOTE, "acknowledged", message, "remove it")
