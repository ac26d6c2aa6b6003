"""diffprivlib's mechanisms and tools, each with ε (and δ) for sensitivity 1 or for values between 0 and 1."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from diffprivlib import mechanisms, tools  # type: ignore[import-not-found, unused-ignore]

from benchmarks.peers.sampling import Primitive, Sampler, each, serve

BOUNDS = (0.0, 1.0)
RANGE = {"lower": -4, "upper": 5}
"""Of mechanisms that keep to one; wider than their inputs."""

warnings.simplefilter("ignore")  # leaks are warned of, and the table says so


def pure(kind: Any, **options: Any) -> Primitive:
    def make(epsilon: float, _: float) -> Sampler:
        return each(kind(epsilon=epsilon, sensitivity=1, **options).randomise)

    return make


def approximate(kind: Any) -> Primitive:
    def make(epsilon: float, delta: float) -> Sampler:
        return each(kind(epsilon=epsilon, delta=delta, sensitivity=1).randomise)

    return make


def selection(kind: Any) -> Primitive:
    """The data are the candidates' utilities."""

    def make(epsilon: float, _: float) -> Sampler:
        def many(utility: list[float], n: int) -> Any:
            mechanism = kind(epsilon=epsilon, sensitivity=1, utility=utility)
            return each(lambda _: mechanism.randomise())(None, n)

        return many

    return make


def tool(ask: Callable[[Any, float], Any], *, width: int = 1) -> Primitive:
    return lambda epsilon, _: each(lambda data: ask(data, epsilon), width=width)


def _histogram(data: Any, epsilon: float) -> Any:
    return tools.histogram(data, epsilon=epsilon, bins=2, range=BOUNDS)[0]


def _weighted(data: Any, epsilon: float) -> Any:
    """Pairs of a value and its weight."""
    values, weights = zip(*data, strict=True)
    return tools.histogram(values, epsilon=epsilon, bins=2, range=BOUNDS, weights=weights)[0]


PRIMITIVES = {
    "Laplace": pure(mechanisms.Laplace),
    "LaplaceTruncated": pure(mechanisms.LaplaceTruncated, **RANGE),
    "LaplaceFolded": pure(mechanisms.LaplaceFolded, **RANGE),
    "LaplaceBoundedDomain": pure(mechanisms.LaplaceBoundedDomain, **RANGE),
    "Snapping": pure(mechanisms.Snapping, **RANGE),
    "Staircase": pure(mechanisms.Staircase),
    "Geometric": pure(mechanisms.Geometric),
    "Gaussian": approximate(mechanisms.Gaussian),
    "GaussianAnalytic": approximate(mechanisms.GaussianAnalytic),
    "GaussianDiscrete": approximate(mechanisms.GaussianDiscrete),
    "Exponential": selection(mechanisms.Exponential),
    "PermuteAndFlip": selection(mechanisms.PermuteAndFlip),
    "tools.mean": tool(lambda data, epsilon: tools.mean(data, epsilon=epsilon, bounds=BOUNDS)),
    "tools.nanmean": tool(lambda data, epsilon: tools.nanmean(data, epsilon=epsilon, bounds=BOUNDS)),
    "tools.mean without bounds": tool(lambda data, epsilon: tools.mean(data, epsilon=epsilon)),
    "tools.var": tool(lambda data, epsilon: tools.var(data, epsilon=epsilon, bounds=BOUNDS)),
    "tools.quantile, 0.5": tool(lambda data, epsilon: tools.quantile(data, 0.5, epsilon=epsilon, bounds=BOUNDS)),
    "tools.quantile, 0": tool(lambda data, epsilon: tools.quantile(data, 0.0, epsilon=epsilon, bounds=BOUNDS)),
    "tools.histogram": tool(_histogram, width=2),
    "tools.histogram with weights": tool(_weighted, width=2),
}

if __name__ == "__main__":
    serve(PRIMITIVES, "diffprivlib")
