"""The ledger of a stream with ten thousand blocks: CPU of a charge about many of them, beside one about none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from benchmarks.figures import Figure, at_most, best_of, cpu_of
from discreet.accounting import Concentrated
from discreet.accounting.record import BlockNames
from discreet.ledger import Grant, Ledger, Sqlite

BLOCKS = 10_000
REQUESTS = 100_000
LOSS = Concentrated(Fraction(1, 10**9))
ABOUT = {
    "all": BlockNames("rides", ((0, BLOCKS - 1),)),
    "the newest 30": BlockNames("rides", ((BLOCKS - 30, BLOCKS - 1),)),
    "8 ranges of 600": BlockNames("rides", tuple((1200 * each + 17, 1200 * each + 616) for each in range(8))),
}


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        path = Path(folder) / "ledger.sqlite"
        with _ledger(path) as ledger:
            ledger.declare_stream("rides", Concentrated(1, Fraction(1, 10**8)), 2)
            for number in range(BLOCKS):
                ledger.open_block("rides", f"{number:016x}", f"block {number}")
            plain = cpu_of(3, partial(_charges, ledger, None, 200)) / 200
            for name, blocks in ABOUT.items():
                each = cpu_of(3, partial(_charges, ledger, blocks, 200)) / 200
                ours, peer = f"{1000 * each:.2f} ms of CPU", f"about no block: {1000 * plain:.2f} ms"
                yield at_most(f"a charge about {name}, of {BLOCKS:,} blocks", ours, peer, each / plain, 8)
            took = cpu_of(1, partial(_requests, ledger)) / REQUESTS * 1000
            yield at_most(f"{REQUESTS:,} charges, by turns", f"{took:.2f} s of CPU per 1,000", "limit 2 s", took, 2)
        opening = best_of(2, lambda: _ledger(path).close())
        yield at_most("opening it", f"{opening:.2f} s", "limit 1 s", opening, 1)


def _ledger(path: Path) -> Ledger:
    """One that does not wait for the disk: the CPU is what differs."""
    ledger = Ledger.open(path, Grant.of(Fraction(100), Fraction(1, 10**6)), shares={})
    assert isinstance(ledger._store, Sqlite)
    ledger._store._connection.execute("PRAGMA synchronous = OFF")
    return ledger


def _charges(ledger: Ledger, blocks: BlockNames | None, count: int) -> None:
    for _ in range(count):
        with ledger.charge(LOSS, why="SELECT COUNT(*) FROM rides", blocks=blocks):
            pass


def _requests(ledger: Ledger) -> None:
    """Those about a thousand blocks and those about few, a thousand in a transaction."""
    turns = cycle(ABOUT.values())
    for _ in range(REQUESTS // 1000):
        batch = [ledger.charge(LOSS, why="SELECT COUNT(*) FROM rides", blocks=each) for each in islice(turns, 1000)]
        ledger._settle(batch)
