"""Durable charges of several processes: in PostgreSQL, in a file of SQLite, and bare inserts that are committed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.postgres import ledgers
from tests.postgres.cluster import MISSING, Cluster, is_here, running

from benchmarks.figures import Figure, at_least
from discreet.accounting import Concentrated
from discreet.ledger import Grant, Ledger, Store
from discreet.ledger.homes import InDatabase, InFile

WRITERS = (1, 8, 32)
CHARGES = 960
LOSS = Concentrated(Fraction(1, 10**9))
GRANT = Grant.of(Fraction(100), Fraction(1, 10**6))

Act = Callable[[], object]
"""One durable write, of a process that is ready for it."""


def figures() -> Iterator[Figure]:
    if not is_here():
        print(f"the ledger in PostgreSQL: {MISSING}")
        return
    with running() as cluster, tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        for writers in WRITERS:
            home = InDatabase(ledgers.prepared(cluster))
            file = InFile(Path(folder) / f"{writers}.sqlite")
            ours = _rate(writers, lambda home=home: _charging(home.store()))  # type: ignore[misc]
            beside = _rate(writers, lambda file=file: _charging(file.store()))  # type: ignore[misc]
            bare = _rate(writers, lambda: _inserting(cluster))
            peer = f"bare INSERT and COMMIT {bare:.0f}/s; SQLite {beside:.0f}/s"
            what = f"charges in PostgreSQL, {writers} {'process' if writers == 1 else 'processes'}"
            yield at_least(what, f"{ours:.0f}/s", peer, ours / bare, 0.2 if writers == 1 else 0.02)


def _charging(store: Store) -> Act:
    ledger = Ledger(store, GRANT, shares={})

    def act() -> None:
        with ledger.charge(LOSS, why="SELECT COUNT(*) FROM visits"):
            pass

    return act


def _inserting(cluster: Cluster) -> Act:
    connection = cluster.connect()
    connection.execute("CREATE TABLE IF NOT EXISTS bare (number bigserial PRIMARY KEY, line text)")
    return lambda: connection.execute("INSERT INTO bare (line) VALUES ('SELECT COUNT(*) FROM visits')")


def _rate(writers: int, prepared: Callable[[], Act]) -> float:
    """Acts in a second, of all processes together, from when all are ready until the last has ended."""
    prepared()  # who comes first makes tables
    ready, go = os.pipe(), os.pipe()
    children = [_forked(prepared, CHARGES // writers, ready, go) for _ in range(writers)]
    for _ in children:
        os.read(ready[0], 1)
    start = time.perf_counter()
    os.write(go[1], b"x" * writers)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    took = time.perf_counter() - start
    for end in (*ready, *go):
        os.close(end)
    assert not any(statuses)
    return CHARGES // writers * writers / took


def _forked(prepared: Callable[[], Act], times: int, ready: tuple[int, int], go: tuple[int, int]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        act: Any = prepared()
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        for _ in range(times):
            act()
    except BaseException:
        os._exit(1)
    os._exit(0)
