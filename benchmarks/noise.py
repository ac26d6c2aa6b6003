"""Exact noise against numpy's float noise, which is fast and unsafe, and against opendp's exact noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np

from benchmarks.figures import Figure, at_least, at_most, best_of, median_of
from discreet import noise
from discreet.mechanisms import Gaussian, Laplace

SIZE = 1_000_000
PEER_SIZE = 50_000
SCALE = 10.0


def figures() -> Iterator[Figure]:
    generator = np.random.default_rng()
    laplace = SIZE / best_of(7, lambda: noise.laplace(SCALE, SIZE))
    gaussian = SIZE / best_of(5, lambda: noise.gaussian(SCALE**2, SIZE))
    floats = SIZE / best_of(7, lambda: generator.laplace(0.0, SCALE, SIZE))
    rate = _millions
    yield at_least("discrete Laplace, 10⁶", rate(laplace), f"numpy floats {rate(floats)}", laplace / floats, 0.25)
    if find_spec("opendp"):
        peers = {kind: PEER_SIZE / best_of(2, _opendp(kind)) for kind in ("laplace", "gaussian")}
        for kind, ours in (("laplace", laplace), ("gaussian", gaussian)):
            peer = peers[kind]
            yield at_least(f"discrete {kind.title()}, 10⁶", rate(ours), f"opendp {rate(peer)}", ours / peer, 50)
    limit = 100e-6
    scalars: dict[str, Callable[[], object]] = {
        "one Laplace draw": lambda: noise.laplace(10),
        "one Gaussian draw": lambda: noise.gaussian(100),
        "Laplace.release(42)": _release(Laplace(0.1, sensitivity=1)),
        "Gaussian.release(42)": _release(Gaussian(rho=0.02, sensitivity=1)),
    }
    for name, draw in scalars.items():
        took = median_of(2000, draw)
        yield at_most(name, f"{took * 1e6:.0f} µs", "limit 100 µs", took / limit, 1)


def _release(mechanism: Laplace | Gaussian) -> Callable[[], object]:
    return lambda: mechanism.release(42)


def _opendp(kind: str) -> Callable[[], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    values = [0] * PEER_SIZE
    if kind == "laplace":
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        measurement = dp.m.make_laplace(*space, scale=SCALE)
    else:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        measurement = dp.m.make_gaussian(*space, scale=SCALE)
    return lambda: measurement(values)


def _millions(rate: float) -> str:
    return f"{rate / 1e6:.2f} M/s"
