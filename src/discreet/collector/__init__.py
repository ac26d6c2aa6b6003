"""Surveys whose answers are randomised before they leave the person's device: a collector, its page, and a client.

`discreet collect survey.toml` is the collector. `fetch(url).answer({…})` answers from Python; it loads neither a
database nor a server.
"""

from __future__ import annotations

from discreet.collector.client import Respondent, fetch
from discreet.collector.reading import parse, read
from discreet.collector.survey import Question, Survey

__all__ = ["Question", "Respondent", "Survey", "fetch", "parse", "read"]
