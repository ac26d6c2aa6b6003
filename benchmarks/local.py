"""Reports of a million people over 1,024 values: encoded and estimated, beside multi-freq-ldpy and pure-ldp.

Seconds of the processor. The peers encode one person after the other; they get 5,000 people, and what they take is
multiplied: it grows with people alone. `DISCREET_PEERS=0` leaves them out.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.peers.environments import Failed, Peer, result
from discreet import local

PEOPLE, FEWER, SIZE, EPSILON = 1_000_000, 5_000, 1024, 1
NEEDS: Final = ("numpy==2.4.6", "scikit-learn==1.9.1", "statsmodels==0.15.0", "bitstring==5.0.0", "bitarray==3.12.3",
                "matplotlib==3.11.2", "xxhash==3.8.2", "multi-freq-ldpy==0.2.5", "pure-ldp==1.2.0")  # fmt: skip
PEER: Final = Peer("local DP", "ldp", NEEDS)
TASKS: Final = {"multi-freq": "multi-freq-ldpy", "pure": "pure-ldp"}
KINDS: Final = (
    local.KaryResponse,
    local.HadamardResponse,
    local.LocalHashing,
    local.OptimizedUnary,
    local.SubsetSelection,
)
ENOUGH: Final = 60
"""Seconds that a collector may wait for a million reports."""


def values(people: int) -> NDArray[np.int64]:
    """Values of which the first are frequent and most are rare."""
    drawn = np.random.default_rng(0).geometric(0.01, people) - 1
    return np.minimum(drawn, SIZE - 1).astype(np.int64)


def ours() -> dict[str, tuple[float, float, float]]:
    """Encoding, estimating, and the error over what the formula says."""
    exact, timed = values(PEOPLE), {}
    shares = np.bincount(exact, minlength=SIZE) / PEOPLE
    for kind in KINDS:
        mechanism = kind(SIZE, EPSILON)
        start = time.process_time()
        reports = mechanism.encode(exact)
        middle = time.process_time()
        estimates = mechanism.estimate(reports)
        end = time.process_time()
        error = float(np.sqrt(((estimates.values - shares) ** 2).mean() / mechanism.variance(1 / SIZE, PEOPLE)))
        timed[mechanism.name] = middle - start, end - middle, error
    return timed


def theirs() -> Iterator[tuple[str, dict[str, tuple[float, float]]]]:
    if os.environ.get("DISCREET_PEERS") == "0":
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values.npz"
        np.savez(path, values=values(FEWER), size=np.array(SIZE), epsilon=np.array(float(EPSILON)))
        for task, name in TASKS.items():
            timed = result(PEER, task, path)
            if isinstance(timed, Failed):
                print(f"not compared with {name}: {timed.reason}")
            else:
                yield name, timed


def figures() -> Iterator[Figure]:
    timed = ours()
    for name, (encoding, estimating, error) in timed.items():
        what = f"{name}: 10⁶ reports of {SIZE} values"
        shown = f"{encoding:.2f} + {estimating:.2f} s"
        yield at_most(what, shown, f"{ENOUGH} s", (encoding + estimating) / ENOUGH, 1)
        yield at_most(f"{name}: error", f"{error:.3f}", "its formula", error, 1.15)
    for peer, seconds in theirs():
        for name, pair in seconds.items():
            scaled = sum(pair) * PEOPLE / FEWER
            mine = sum(timed[name][:2])
            yield at_least(f"{name}: 10⁶ reports", f"{mine:.2f} s", f"{peer}, scaled: {scaled:.1f} s", scaled / mine, 1)
