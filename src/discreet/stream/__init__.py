"""Models and statistics on data that grows: validated training, running totals, and who gets which blocks.

Names are imported on first use: who schedules needs no scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from discreet.stream.arrays import validate as validate
    from discreet.stream.continual import Running as Running
    from discreet.stream.continual import Total as Total
    from discreet.stream.continual import running as running
    from discreet.stream.queries import query as query
    from discreet.stream.queue import Done as Done
    from discreet.stream.queue import Queue as Queue
    from discreet.stream.runs import Ending as Ending
    from discreet.stream.runs import Run as Run
    from discreet.stream.scheduling import Demand as Demand
    from discreet.stream.scheduling import Scheduler as Scheduler
    from discreet.stream.simulation import Simulated as Simulated
    from discreet.stream.simulation import simulate as simulate
    from discreet.stream.training import Plan as Plan
    from discreet.stream.training import plan as plan
    from discreet.stream.training import train as train
    from discreet.stream.validation import Decision as Decision

_HOMES: Final = {
    "Decision": "validation",
    "Demand": "scheduling",
    "Done": "queue",
    "Ending": "runs",
    "Plan": "training",
    "Queue": "queue",
    "Run": "runs",
    "Running": "continual",
    "Scheduler": "scheduling",
    "Simulated": "simulation",
    "Total": "continual",
    "plan": "training",
    "query": "queries",
    "running": "continual",
    "simulate": "simulation",
    "train": "training",
    "validate": "arrays",
}
__all__ = [
    "Decision",
    "Demand",
    "Done",
    "Ending",
    "Plan",
    "Queue",
    "Run",
    "Running",
    "Scheduler",
    "Simulated",
    "Total",
    "plan",
    "query",
    "running",
    "simulate",
    "train",
    "validate",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet.stream' has no attribute {name!r}") from None
    return getattr(import_module(f"discreet.stream.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
