"""What a benchmark reports, and how it is timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: a measured value, what it is compared with, and what must hold."""

    what: str
    ours: str
    peer: str
    ratio: float
    to_hold: str
    held: bool


def at_least(what: str, ours: str, peer: str, ratio: float, least: float) -> Figure:
    return Figure(what, ours, peer, ratio, f"≥ {least:g}×", ratio >= least)


def at_most(what: str, ours: str, peer: str, ratio: float, most: float) -> Figure:
    return Figure(what, ours, peer, ratio, f"≤ {most:g}×", ratio <= most)


def best_of(times: int, work: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds: what the work takes when nothing else gets in its way."""
    return min(_times(times, work))


def cpu_of(times: int, work: Callable[[], object]) -> float:
    """The least CPU of several runs, in seconds of all threads together: other programs change this little."""
    return min(_times(times, work, time.process_time))


def cpu_beside(times: int, ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """The same of two, in turns: what changes from one minute to the next changes both."""
    turns = [(cpu_of(1, ours), cpu_of(1, theirs)) for _ in range(times)]
    return min(here for here, _ in turns), min(there for _, there in turns)


def median_of(times: int, work: Callable[[], object]) -> float:
    """The median of many short runs, in seconds."""
    return median(_times(times, work))


def _times(times: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> Iterator[float]:
    for _ in range(times):
        start = clock()
        work()
        yield clock() - start
