"""Cells of the guide's tables on models: `python -m benchmarks models` measures and prints them, `--docs` keeps them.

With names of sets only those are measured; what was kept of the others stays, with its own day and commit. A set is
kept when all its cells are there. Ours are fitted five times, k-means and PCA twenty times, others three times.
"""

from __future__ import annotations

import datetime
import resource
import sys
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console

from benchmarks import machine
from benchmarks.learn import clusters
from benchmarks.learn.measured import DIFFPRIVLIB, DP_EBM, of_ours, of_peer, of_plain
from benchmarks.learn.models import Cost
from benchmarks.learn.page import PAGE, TABLES, Column, Kept, measure_of, read, tables, write, written
from benchmarks.learn.sets import ALL, CLUSTERS, REPORTED, held
from benchmarks.peers.environments import Failed, Peer

FITS: Final = 5
PEERS: Final[dict[str, Peer]] = {"diffprivlib": DIFFPRIVLIB, "DP-EBM": DP_EBM}
DIGITS: Final = 5


def main(arguments: Sequence[str]) -> None:
    docs, names = "--docs" in arguments, [name for name in arguments if name != "--docs"]
    if set(names) - set(REPORTED):
        sys.exit(f"wrong use: python -m benchmarks models [--docs] [SET…], of {', '.join(map(repr, REPORTED))}")
    console = Console()
    for name in names or REPORTED:
        found = measured(name)
        if isinstance(found, Failed):
            console.print(f"skipped: {name} ({found.reason})", markup=False)
            continue
        kept: Kept = {name: found}
        console.print(tables(kept), markup=False)
        if docs:
            write({**read(), **kept})
    if docs:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")


def measured(name: str) -> dict[str, Any] | Failed:
    """All cells of a set, with what has to be known about them."""
    found = held(name)
    if isinstance(found, Failed):
        return found
    task = REPORTED[name].task
    facts = {"date": str(datetime.datetime.now(tz=datetime.UTC).date()), "commit": machine.commit()}
    load, before = machine.load(), _processor()
    cells = [_cell(name, column, measure_of(task, column)) for column in TABLES[task][2]]
    spent = round(_processor() - before, 1)
    return {**facts, "load": load, "processor": spent, "shape": [int(n) for n in found.rows.shape], "cells": cells}


def _cell(name: str, column: Column, measure: str) -> dict[str, Any]:
    values = _values(name, column, measure)
    if isinstance(values, Failed):
        return {**column.asked, "failed": values.reason}
    return {**column.asked, "values": [float(f"{value:.{DIGITS}g}") for value in values]}


def _values(name: str, column: Column, measure: str) -> Any | Failed:
    grouped = REPORTED[name].task == CLUSTERS
    if column.who in PEERS:
        more = {"clusters": ALL[name].clusters, "components": clusters.COMPONENTS} if grouped else {}
        found = of_peer(PEERS[column.who], column.model, name, (column.epsilon or 0.0,), **more)
        if isinstance(found, Failed):
            return found
        scores = found[column.epsilon or 0.0]
        return clusters.relative(column.model, name, scores) if grouped else scores[measure]
    if column.epsilon is None:
        return of_plain(column.model, name)[measure]
    cost = Cost(column.epsilon, column.delta)
    if grouped:
        return clusters.ours(column.model, name, cost, wide=column.wide)
    return of_ours(column.model, name, cost, wide=column.wide, fits=FITS)[measure]


def _processor() -> float:
    """Of this process and of peers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
