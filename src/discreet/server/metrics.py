"""Counters in Prometheus' text format. Nothing here is private: no value, no question, no time that data took."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from discreet.server.datasets import Datasets
from discreet.server.queue import Queue

MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What happened since the server was started."""

    def __init__(self, datasets: Datasets, queue: Queue) -> None:
        self._datasets, self._queue = datasets, queue
        self._lock = threading.Lock()
        self._requests: Counter[Labels] = Counter()

    def count(self, method: str, route: str, status: int, code: str) -> None:
        with self._lock:
            self._requests[("method", method), ("route", route), ("status", str(status)), ("code", code)] += 1

    def text(self) -> str:
        """All of them."""
        with self._lock:
            requests = sorted(self._requests.items())
        balances = {name: dataset.curator.budget() for name, dataset in self._datasets.items()}
        lines = [
            *_family("discreet_requests_total", "counter", "Requests answered.", requests),
            *_family("discreet_waiting", "gauge", "Questions that wait.", [((), self._queue.waiting)]),
            *_family("discreet_running", "gauge", "Questions being answered.", [((), self._queue.running)]),
        ]
        for part in ("total", "spent", "remaining"):
            values = [((("dataset", name),), getattr(balance, part).epsilon) for name, balance in balances.items()]
            lines += _family(f"discreet_budget_{part}_epsilon", "gauge", f"Epsilon: {part}.", values)
        return "\n".join([*lines, ""])


def _family(name: str, kind: str, help_text: str, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
