"""Tries to break the rest of discreet, and says what it found.

`replay` compares what a question does on two neighbouring databases; `estimate` bounds ε from outputs alone; `question`
and `session` make mechanisms of SQL for it; `audit_policy` does all of the first for an owner's policy.
"""

from discreet.audit.blackbox import Claim, Estimate, estimate
from discreet.audit.neighbours import neighbours
from discreet.audit.outputs import batch
from discreet.audit.policies import Audit, audit_policy
from discreet.audit.replay import Replay, Report, replay
from discreet.audit.sessions import session
from discreet.audit.sql_mechanism import question

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
    "question",
    "replay",
    "session",
]
