"""Private queries beside the raw ones and beside peers: grouped, small, growing; and how exact a report is."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import duckdb

import discreet
from benchmarks import query_data, query_ours, query_shapes
from benchmarks.figures import Figure, at_least, at_most, best_of
from benchmarks.peers.environments import PEERS, Failed, result
from benchmarks.query_setting import (
    EPSILON,
    GROUPED,
    HIGHEST,
    MAX_GROUPS,
    MAX_ROWS,
    MAX_ROWS_PER_GROUP,
    REPETITIONS,
    REPORT,
    SMALL,
    SMALL_ROWS,
)
from discreet.ledger import Sqlite

ROWS = 10_000_000
SIZES = (100_000, 1_000_000, ROWS, 30_000_000)
BOUNDS = {"max_rows": 100, "max_groups": MAX_GROUPS, "max_rows_per_group": MAX_ROWS_PER_GROUP}
CLAMPED = GROUPED.replace("value", f"CASE WHEN value < 0 THEN 0 WHEN value > {HIGHEST} THEN {HIGHEST} ELSE value END")


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        yield from _small(folder / "small")
        yield from _accuracy(folder / "report")
        measured = {}
        for size in (SMALL_ROWS, *SIZES):
            query_data.events(folder / str(size), size)
            measured[size] = query_ours.grouped(query_data.policy(folder / str(size), "bench", BOUNDS))
        yield from _grouped(folder / str(ROWS), measured[ROWS][0])
        yield from _growth(measured)
        yield from query_shapes.figures(folder / "shapes")


def _small(folder: Path) -> Iterator[Figure]:
    """What any question costs: with texts that are new, so that parsing and planning are counted, and with one text."""
    source = query_data.events(folder, SMALL_ROWS)
    with discreet.open(query_data.policy(folder, "bench", {"max_rows": 1})) as curator:
        texts = (SMALL.replace("AS n", f"AS n{number}") for number in count())

        def ask() -> object:
            return curator.query(next(texts), epsilon=EPSILON, fresh=True)

        ask()
        store = curator._ledger._store
        assert isinstance(store, Sqlite)
        taken: dict[str, list[float]] = {"FULL": [], "OFF": []}
        for _ in range(200):  # in turn, so that what else the machine does slows both alike
            for synchronous, times in taken.items():
                store._connection.execute(f"PRAGMA synchronous = {synchronous}")
                times.append(best_of(1, ask))
        durable, ours = map(median, taken.values())
        again = median(best_of(1, lambda: curator.query(SMALL, epsilon=EPSILON, fresh=True)) for _ in range(200))
    what = f"SELECT COUNT(*), {SMALL_ROWS:,} rows"
    peers = _reached("small", source, _milliseconds)
    yield at_most(f"{what}, durable", _milliseconds(durable), f"limit 8 ms; {peers.shown}", durable / 8e-3, 1)
    commit = f"limit 3 ms; the disk takes {_milliseconds(durable - ours)}"
    yield at_most(f"{what}, no sync, one text", _milliseconds(again), "limit 3 ms", again / 3e-3, 1)
    yield at_most(f"{what}, no sync, new texts", _milliseconds(ours), commit, ours / 3e-3, 1)


def _grouped(folder: Path, ours: float) -> Iterator[Figure]:
    """The raw queries run on a DuckDB file with the same types in the same order as the private copy."""
    path = folder / "raw.duckdb"
    with duckdb.connect(str(path)) as connection:
        select = f"SELECT user_id, category, value FROM '{folder}/events.parquet' ORDER BY user_id"
        connection.execute(f"CREATE TABLE events AS {select}")
    with duckdb.connect(str(path), read_only=True) as connection:
        raw = best_of(5, lambda: connection.execute(GROUPED).fetchall())
        clamped = best_of(5, lambda: connection.execute(CLAMPED).fetchall())
    rows_only, _ = query_ours.grouped(query_data.policy(folder, "rows", {"max_rows": MAX_ROWS}))
    what = f"grouped COUNT+SUM, 10⁷ rows, {MAX_GROUPS}×{MAX_ROWS_PER_GROUP} per unit"
    yield at_most(what, _seconds(ours), f"raw {_seconds(raw)}", ours / raw, 10)
    peers = _reached("grouped", folder / "events.parquet", _seconds)
    yield at_least(what, _seconds(ours), peers.shown, peers.best / ours, 15)
    what = f"grouped COUNT+SUM, 10⁷ rows, {MAX_ROWS} rows per unit"
    yield at_most(what, _seconds(rows_only), f"raw, clamped {_seconds(clamped)}", rows_only / clamped, 2)


def _growth(measured: Mapping[int, tuple[float, float]]) -> Iterator[Figure]:
    """What one row costs must not rise with their number.

    Memory is counted beyond that of a process with few rows; 10⁵ rows take no more than such processes differ by.
    """
    start = measured[SMALL_ROWS][1]
    times = [measured[size][0] / size * 1e9 for size in SIZES]
    memory = [max(measured[size][1] - start, 1) / size for size in SIZES[1:]]
    for what, unit, costs, sizes in (
        ("time", "ns", times, "10⁵, 10⁶, 10⁷, 3·10⁷ rows"),
        ("memory", "B", memory, "10⁶, 10⁷, 3·10⁷ rows"),
    ):
        rise = max(later / earlier for earlier, later in pairwise(costs))
        shown = ", ".join(f"{cost:.3g}" for cost in costs)
        yield at_most(f"grouped, {what} per row", f"{shown} {unit}", sizes, rise, 1.5)


def _accuracy(folder: Path) -> Iterator[Figure]:
    """The report as people write it, and with the one count that the mean needs as well."""
    source = query_data.report(folder)
    with duckdb.connect() as connection:
        exact = _by_key(connection.execute(REPORT.replace("FROM report", f"FROM '{source}'")).fetchall())
    peers = _reached("report", source, _percent, lambda released: _error(released, exact))
    with discreet.open(query_data.policy(folder, "bench", {"max_rows": 1}, table="report")) as curator:
        for counted in ("*", "value"):
            query = REPORT.replace("COUNT(*)", f"COUNT({counted})")
            answers = [curator.query(query, epsilon=EPSILON, fresh=True).rows for _ in range(REPETITIONS)]
            ours = _error(answers, exact)
            what = f"error of COUNT({counted}), SUM, AVG; 20 groups, ε = {EPSILON:g}"
            yield at_most(what, _percent(ours), peers.shown, ours / peers.best, 1)


def _error(answers: Iterable[Iterable[Sequence[Any]]], exact: Mapping[object, tuple[float, ...]]) -> float:
    """The mean relative error over all numbers of all answers."""
    return fmean(
        abs(value - true) / abs(true)
        for answer in answers
        for key, values in _by_key(answer).items()
        for value, true in zip(values, exact[key], strict=True)
    )


def _by_key(rows: Iterable[Sequence[Any]]) -> dict[object, tuple[float, ...]]:
    return {key: tuple(map(float, values)) for key, *values in rows}


@dataclass(frozen=True, slots=True)
class Reached:
    """What the peers reached in a task: all of them in words, failures too; the best in numbers, if there is one."""

    shown: str
    best: float


def _reached(task: str, source: Path, shown: Callable[[float], str], figure: Callable[[Any], float] = float) -> Reached:
    words, figures = [], []
    for peer in PEERS:
        found = result(peer, task, source)
        if isinstance(found, Failed):
            words.append(f"{peer.name} failed: {found.reason}")
        else:
            figures.append(figure(found))
            words.append(f"{peer.name} {shown(figures[-1])}")
    return Reached(", ".join(words), min(figures, default=math.nan))


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


def _percent(share: float) -> str:
    return f"{share:.2%}"
