"""Durable charges beside a bare SQLite loop of one-row durable commits, and how fast a long ledger opens."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most, best_of
from discreet.accounting import Concentrated
from discreet.ledger import Grant, Ledger, Sqlite

CHARGES = 400
THREADS = 16
LONG = 100_000
LOSS = Concentrated(Fraction(1, 10**9))


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        yield from _speed(Path(folder))
        yield _opening(Path(folder))
        yield from _looking(Path(folder))


def _speed(folder: Path) -> Iterator[Figure]:
    bare = CHARGES / _bare(folder / "bare.sqlite")
    with _ledger(folder / "ledger.sqlite") as ledger:
        single = CHARGES / best_of(2, lambda: _charges(ledger, CHARGES))
        many = CHARGES / best_of(2, lambda: _threads(ledger))
    commit = f"bare commit {1000 / bare:.2f} ms"
    yield at_least("charges, 1 thread", f"{single:.0f}/s", f"{commit}, {bare:.0f}/s", single / bare, 0.6)
    yield at_least(
        f"charges, {THREADS} threads",
        f"{many:.0f}/s",
        f"1 thread {single:.0f}/s",
        many / single,
        3 if bare < 500 else 1,
    )


def _opening(folder: Path) -> Figure:
    path = folder / "long.sqlite"
    with _ledger(path) as ledger:
        _hurry(ledger)
        for _ in range(LONG // 1000):
            _batch(ledger, 1000)
    took = best_of(3, lambda: _ledger(path).close())
    return at_most(f"opening {LONG:,} entries", f"{took:.3f} s", "limit 1 s", took, 1)


def _looking(folder: Path) -> Iterator[Figure]:
    """What a page and a cached answer cost in a long ledger, beside a short one."""
    pages, answers = {}, {}
    for name, draws in (("short", 100), ("long", 5_000)):
        with _ledger(folder / f"{name}.sqlite") as ledger:
            _hurry(ledger)
            for _ in range(draws):
                charge = ledger.charge(LOSS, why="SELECT COUNT(*) FROM visits", plan="p")
                with charge:
                    charge.keep(b"42")
            pages[name] = best_of(5, partial(ledger.latest, limit=100))
            answers[name] = best_of(5, partial(_cached, ledger))
    for what, found, entries in (
        ("a page of the ledger", pages, LONG),
        ("a cached answer, drawn 5,000 times", answers, 0),
    ):
        length = f", {entries:,} entries" if entries else ""
        ours, peer = (f"{1000 * found[name]:.2f} ms" for name in ("long", "short"))
        yield at_most(f"{what}{length}", ours, f"among 100: {peer}", found["long"] / found["short"], 2)


def _cached(ledger: Ledger) -> object:
    return next(ledger.cached("p", 1, LOSS))


def _batch(ledger: Ledger, count: int) -> None:
    """Many charges in one transaction: only to fill a ledger quickly."""
    ledger._settle([ledger.charge(LOSS, why="SELECT COUNT(*) FROM visits") for _ in range(count)])


def _ledger(path: Path) -> Ledger:
    return Ledger.open(path, Grant.of(Fraction(100), Fraction(1, 10**6)), shares={})


def _hurry(ledger: Ledger) -> None:
    """Do not wait for the disk any more."""
    assert isinstance(ledger._store, Sqlite)
    ledger._store._connection.execute("PRAGMA synchronous = OFF")


def _charges(ledger: Ledger, count: int) -> None:
    for _ in range(count):
        with ledger.charge(LOSS, why="SELECT COUNT(*) FROM visits"):
            pass


def _threads(ledger: Ledger) -> None:
    workers = [threading.Thread(target=_charges, args=(ledger, CHARGES // THREADS)) for _ in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _bare(path: Path) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE journal (number INTEGER PRIMARY KEY, line TEXT)")
    start = time.perf_counter()
    for _ in range(CHARGES):
        connection.execute("INSERT INTO journal (line) VALUES ('SELECT COUNT(*) FROM visits')")
    took = time.perf_counter() - start
    connection.close()
    return took
