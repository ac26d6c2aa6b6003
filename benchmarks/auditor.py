"""What the black-box auditor takes and finds: beside its limits, and beside the table that it was designed to reach."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.figures import Figure, at_least, at_most
from discreet.audit import batch, estimate
from discreet.audit.zoo import ZOO, Specimen
from discreet.mechanisms import Laplace

SAMPLES = 200_000
REACHED = {
    "half the noise": (1.82, 1.91),
    "floating-point noise": (5.8, 8.1),
    "noisy max with its value": (3.2, 4.2),
    "Gaussian without the root": (2.16, 2.81),
    "unclamped sum": (4.1, 4.8),
    "keys that are present": (7.2, 9.5),
    "mean of nothing": (7.2, 9.5),
    "32-bit sum": (7.1, 9.4),
}
"""ε that a prototype certified at 20,000 and 200,000 samples, confidence 0.999."""


def figures() -> Iterator[Figure]:
    zoo = {specimen.name: specimen for specimen in ZOO}
    yield _timed("audit of a number, 200,000 samples", zoo["half the noise"], 3.0)
    yield _timed("audit of 16 cells, 200,000 samples", zoo["Gaussian without the root"], 15.0)
    for epsilon, reached in ((1, 0.975), (3, 2.94)):
        found = estimate(Laplace(epsilon, sensitivity=1), 0, 1, samples=SAMPLES).epsilon
        yield at_least(
            f"certified of exact Laplace noise, ε {epsilon}", f"{found:.3f}", f"{reached}", found / reached, 0.97
        )
    for name, both in REACHED.items():
        for samples, wanted in zip((20_000, SAMPLES), both, strict=True):
            found = median(_found(zoo[name], samples) for _ in range(5))
            yield at_least(f"certified of {name}, {samples:,}", f"ε {found:.2f}", f"ε {wanted}", found / wanted, 0.97)


def _found(specimen: Specimen, samples: int) -> float:
    sides = specimen.data, specimen.neighbour
    return estimate(batch(specimen.broken), *sides, claim=specimen.claim, samples=samples).epsilon


def _timed(what: str, specimen: Specimen, limit: float) -> Figure:
    start = time.perf_counter()
    _found(specimen, SAMPLES)
    seconds = time.perf_counter() - start
    return at_most(what, f"{seconds:.2f} s", f"{limit:g} s", seconds / limit, 1)
