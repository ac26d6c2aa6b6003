"""Tries to break the rest of discreet, and says what it found."""

from discreet.audit.estimate import Claim, Estimate, estimate
from discreet.audit.neighbours import neighbours
from discreet.audit.outputs import batch
from discreet.audit.replay import Replay, Report, replay

__all__ = ["Claim", "Estimate", "Replay", "Report", "batch", "estimate", "neighbours", "replay"]
