"""Models and statistics on data that grows: validated, privacy-adaptive training.

Names are imported on first use: who schedules needs no scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from discreet.stream.arrays import validate as validate
    from discreet.stream.queries import query as query
    from discreet.stream.runs import Ending as Ending
    from discreet.stream.runs import Run as Run
    from discreet.stream.training import Plan as Plan
    from discreet.stream.training import plan as plan
    from discreet.stream.training import train as train
    from discreet.stream.validation import Decision as Decision

_HOMES: Final = {
    "Decision": "validation",
    "Ending": "runs",
    "Plan": "training",
    "Run": "runs",
    "plan": "training",
    "query": "queries",
    "train": "training",
    "validate": "arrays",
}
__all__ = ["Decision", "Ending", "Plan", "Run", "plan", "query", "train", "validate"]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet.stream' has no attribute {name!r}") from None
    return getattr(import_module(f"discreet.stream.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
