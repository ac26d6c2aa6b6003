"""PyDP, which wraps Google's C++ library: mechanisms of sensitivity 1, and algorithms over values between 0 and 1."""

from __future__ import annotations

from typing import Any

from pydp.algorithms import laplacian, numerical_mechanisms  # type: ignore[import-not-found, unused-ignore]

from benchmarks.peers.sampling import Primitive, Sampler, each, serve


def laplace(kind: type) -> Primitive:
    """Which of its two samplers is taken follows from the type of the value."""

    def make(epsilon: float, _: float) -> Sampler:
        mechanism = numerical_mechanisms.LaplaceMechanism(epsilon, 1.0)
        return each(lambda value: mechanism.add_noise(kind(value)))

    return make


def gaussian(epsilon: float, delta: float) -> Sampler:
    mechanism = numerical_mechanisms.GaussianMechanism(epsilon, delta, 1.0)
    return each(lambda value: mechanism.add_noise(float(value)))


def bounded(algorithm: Any, dtype: str) -> Primitive:
    """A new object for each answer, since it may be asked once only."""
    options = {"lower_bound": 0, "upper_bound": 1, "dtype": dtype}
    return lambda epsilon, _: each(lambda rows: algorithm(epsilon=epsilon, **options).quick_result(rows))


def count(epsilon: float, _: float) -> Sampler:
    return each(lambda rows: laplacian.Count(epsilon=epsilon, dtype="int").quick_result(rows))


PRIMITIVES = {
    "LaplaceMechanism, int": laplace(int),
    "LaplaceMechanism, float": laplace(float),
    "GaussianMechanism, float": gaussian,
    "Count": count,
    "BoundedSum, int": bounded(laplacian.BoundedSum, "int"),
    "BoundedSum, float": bounded(laplacian.BoundedSum, "float"),
    "BoundedMean, float": bounded(laplacian.BoundedMean, "float"),
    "BoundedVariance, float": bounded(laplacian.BoundedVariance, "float"),
    "Median, float": bounded(laplacian.Median, "float"),
}

if __name__ == "__main__":
    serve(PRIMITIVES, "python-dp")
