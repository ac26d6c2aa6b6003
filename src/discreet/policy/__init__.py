"""The policy file: tables, unit, columns, budget, analysts."""

from __future__ import annotations

from discreet.policy.fingerprint import fingerprint, protected
from discreet.policy.model import (
    Bound,
    Budget,
    Column,
    Format,
    Hop,
    Key,
    Kind,
    Owner,
    Percentage,
    Policy,
    Serving,
    Share,
    Source,
    Stream,
    Table,
)
from discreet.policy.problems import Finding, PolicyError, Severity, meant, suggest
from discreet.policy.read import parse, read

__all__ = [
    "Bound",
    "Budget",
    "Column",
    "Finding",
    "Format",
    "Hop",
    "Key",
    "Kind",
    "Owner",
    "Percentage",
    "Policy",
    "PolicyError",
    "Serving",
    "Severity",
    "Share",
    "Source",
    "Stream",
    "Table",
    "fingerprint",
    "meant",
    "parse",
    "protected",
    "read",
    "suggest",
]
