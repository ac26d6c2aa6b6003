"""Tries to break the rest of discreet, and says what it found."""

from discreet.audit.blackbox import Claim, Estimate, estimate
from discreet.audit.neighbours import neighbours
from discreet.audit.outputs import batch
from discreet.audit.policies import Audit, audit_policy
from discreet.audit.replay import Replay, Report, replay

__all__ = [
    "Audit",
    "Claim",
    "Estimate",
    "Replay",
    "Report",
    "audit_policy",
    "batch",
    "estimate",
    "neighbours",
    "replay",
]
