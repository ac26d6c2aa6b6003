"""opendp's measurements, with the scale that its own privacy map allows for what is claimed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp

from benchmarks.peers.sampling import Primitive, Sampler, each, serve

ROWS = 10
THRESHOLDS = range(2, 200)

dp.enable_features("contrib", "honest-but-curious")


def laplace(kind: type) -> Primitive:
    """Noise is drawn for each number of a vector on its own, so one call gives many samples."""

    def make(epsilon: float, _: float) -> Sampler:
        one, many = _spaces(kind, dp.l1_distance(T=kind), dp.absolute_distance(T=kind))
        scale = _scale(lambda scale: dp.m.make_laplace(*one, scale=scale), kind(1), epsilon)
        measurement = dp.m.make_laplace(*many, scale=scale)
        return lambda value, n: measurement([kind(value)] * n)

    return make


def gaussian(kind: type) -> Primitive:
    def make(epsilon: float, delta: float) -> Sampler:
        one, many = _spaces(kind, dp.l2_distance(T=float), dp.absolute_distance(T=float))

        def approximate(scale: float) -> Any:
            return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*one, scale=scale)), delta)

        measurement = dp.m.make_gaussian(*many, scale=_scale(approximate, 1.0, (epsilon, delta)))
        return lambda value, n: measurement([kind(value)] * n)

    return make


def response(epsilon: float, _: float) -> Sampler:
    measurement = dp.m.make_randomized_response_bool(prob=(1 - 1e-12) / (1 + math.exp(-epsilon)))
    return each(_checked(measurement, 1, epsilon))


def selection(make_for: Callable[..., Any], *measure: Any) -> Primitive:
    """The data are scores, of which each may move by 1."""

    def make(epsilon: float, _: float) -> Sampler:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
        scale = _scale(lambda scale: make_for(*space, *measure, scale=scale), 1, epsilon)
        return each(make_for(*space, *measure, scale=scale))

    return make


def threshold(epsilon: float, delta: float) -> Sampler:
    """The count of one private key, or no number where the key stays hidden."""
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
    )
    measurements = (dp.m.make_laplace_threshold(*space, scale=1 / epsilon, threshold=least) for least in THRESHOLDS)
    measurement = next(found for found in measurements if found.check((1, 1, 1), (epsilon, delta)))
    return each(lambda counts: measurement(counts).get("key", math.nan))


def total(epsilon: float, _: float) -> Sampler:
    """Of floats between 0 and 1; what is no number counts as 0."""
    space = dp.vector_domain(dp.atom_domain(T=float, nan=True)), dp.symmetric_distance()
    steps: Any = dp.t  # one of its functions has no types
    exact = (
        space
        >> steps.then_impute_constant(0.0)
        >> steps.then_clamp((0.0, 1.0))
        >> steps.then_resize(size=ROWS, constant=0.0)
        >> steps.then_sum()
    )
    scale = _scale(lambda scale: exact >> dp.m.then_laplace(scale=scale), 1, epsilon)
    return each(exact >> dp.m.then_laplace(scale=scale))


def _spaces(kind: type, vectors: Any, scalars: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    atoms = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T=int)
    return (atoms, scalars), (dp.vector_domain(atoms), vectors)


def _scale(make: Callable[[float], Any], d_in: object, d_out: object) -> float:
    return float(dp.binary_search_param(make, d_in=d_in, d_out=d_out, T=float))


def _checked(measurement: Any, d_in: object, d_out: object) -> Any:
    if not measurement.check(d_in, d_out):
        raise ValueError(f"its privacy map gives {measurement.map(d_in)}, more than what is claimed")
    return measurement


PRIMITIVES = {
    "make_laplace, int": laplace(int),
    "make_laplace, float": laplace(float),
    "make_gaussian, int": gaussian(int),
    "make_gaussian, float": gaussian(float),
    "make_randomized_response_bool": response,
    "make_noisy_max": selection(dp.m.make_noisy_max, dp.max_divergence()),
    "make_report_noisy_max_gumbel": selection(dp.m.make_report_noisy_max_gumbel),
    "make_laplace_threshold": threshold,
    "impute, clamp, resize, sum, laplace": total,
}

if __name__ == "__main__":
    serve(PRIMITIVES, "opendp")
