"""Tries to break the rest of discreet, and says what it found."""

from discreet.audit.neighbours import neighbours
from discreet.audit.replay import Replay, Report, replay

__all__ = ["Replay", "Report", "neighbours", "replay"]
