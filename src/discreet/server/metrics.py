"""Counters in Prometheus' text format, and the same figures for OpenTelemetry. Nothing here is private: no value, no
question, no time that data took.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from discreet.server.datasets import Datasets
from discreet.server.queue import Queue

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]
Samples = list[tuple[Labels, float]]


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one name."""

    name: str
    kind: str
    """counter or gauge."""
    help: str
    samples: Callable[[], Samples]
    """As they are now."""


class Metrics:
    """What happened since the server was started."""

    def __init__(self, datasets: Datasets, queue: Queue) -> None:
        self._datasets, self._queue = datasets, queue
        self._lock = threading.Lock()
        self._requests: Counter[Labels] = Counter()

    def count(self, method: str, route: str, status: int, code: str) -> None:
        with self._lock:
            self._requests[("method", method), ("route", route), ("status", str(status)), ("code", code)] += 1

    def families(self) -> list[Family]:
        """All of them."""
        budgets = [
            Family(f"discreet_budget_{part}_epsilon", "gauge", f"Epsilon: {part}.", partial(self._budget, part))
            for part in ("total", "spent", "remaining")
        ]
        return [
            Family("discreet_requests_total", "counter", "Requests answered.", self._counted),
            Family("discreet_answers_total", "counter", "Answers: charged, cached, free, dummy.", self._answers),
            Family("discreet_waiting", "gauge", "Questions that wait.", lambda: [((), self._queue.waiting)]),
            Family("discreet_running", "gauge", "Questions being answered.", lambda: [((), self._queue.running)]),
            Family("discreet_budget_used_ratio", "gauge", "Part of the budget that is used.", self._used),
            *budgets,
        ]

    def _counted(self) -> Samples:
        with self._lock:
            return [(labels, float(count)) for labels, count in sorted(self._requests.items())]

    def _answers(self) -> Samples:
        return [
            ((("dataset", name), ("kind", kind)), count)
            for name, dataset in self._datasets.items()
            for kind, count in sorted(dataset.answers.items())
        ]

    def _used(self) -> Samples:
        return [((("dataset", name),), each.curator.budget().used.part) for name, each in self._datasets.items()]

    def _budget(self, part: str) -> Samples:
        return [
            ((("dataset", name),), getattr(each.curator.budget(), part).epsilon)
            for name, each in self._datasets.items()
        ]

    def text(self) -> str:
        """All of them."""
        return "\n".join([*(line for family in self.families() for line in _written(family)), ""])


def _written(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.samples():
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        written = int(value) if family.kind == "counter" else value
        yield f"{family.name}{{{shown}}} {written}" if shown else f"{family.name} {written}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
