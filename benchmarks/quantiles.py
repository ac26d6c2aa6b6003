"""How exact quantiles are, in ranks, beside opendp's and a plain exponential mechanism at the same cost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import numpy as np

import discreet
from benchmarks.figures import Figure, at_most
from discreet.mechanisms import Quantile

UNITS = 1_000
HIGH = 1_000.0
TIMES = 200
SHARES = (0.5, 0.9)
POLICY = """
name = "bench"
[budget]
epsilon = 1000000
[unit]
name = "person"
[tables.people]
source = "people.parquet"
unit = "id"
[tables.people.columns]
x = { type = "number", min = 0, max = 1000 }
"""


def samples() -> dict[str, np.ndarray]:
    dice = np.random.default_rng(7)
    return {
        "uniform": dice.uniform(0, HIGH, UNITS),
        "skewed": np.minimum(dice.exponential(50, UNITS), HIGH),
        "heavy-tailed": np.minimum(dice.pareto(1, UNITS) * 5, HIGH),
    }


def figures() -> Iterator[Figure]:
    for name, data in samples().items():
        for share in SHARES:
            ours = _error(data, share, _ours(data, share))
            peers = {"plain exponential mechanism": _error(data, share, _plain(data, share))}
            if find_spec("opendp"):
                peers["opendp"] = _error(data, share, _opendp(data, share))
            for peer, error in peers.items():
                what = f"quantile {share} of {UNITS:,} {name} numbers at ε = 1"
                # both are random: a fifth of room for the luck of so many draws
                yield at_most(what, f"{ours:.2f} ranks", f"{peer} {error:.2f}", ours / max(error, 0.01), 1.2)


def _error(data: np.ndarray, share: float, found: list[float]) -> float:
    ordered = np.sort(data)
    return fmean(abs(float(np.searchsorted(ordered, value)) - share * len(ordered)) for value in found)


def _ours(data: np.ndarray, share: float) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        (folder / "bench.toml").write_text(POLICY, encoding="utf-8")
        rows = ", ".join(f"({place}, {value!r}e0)" for place, value in enumerate(data.tolist()))
        with duckdb.connect() as connection:
            target = folder / "people.parquet"
            connection.execute(f"COPY (SELECT * FROM (VALUES {rows}) AS t(id, x)) TO '{target}' (FORMAT parquet)")
        with discreet.open(folder / "bench.toml") as curator:
            sql = f"SELECT PERCENTILE_CONT(x, {share}) FROM people"
            return [float(curator.query(sql, epsilon=1, fresh=True).rows[0][0]) for _ in range(TIMES)]


def _plain(data: np.ndarray, share: float) -> list[float]:
    mechanism = Quantile(share, bounds=(0, HIGH), epsilon=1, method="exponential")
    return [float(mechanism.release(data)) for _ in range(TIMES)]


def _opendp(data: np.ndarray, share: float) -> list[float]:
    """Over a thousand candidates, which is what its documentation does."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = np.linspace(0, HIGH, 1001).tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    scores = space >> dp.t.then_quantile_score_candidates(candidates, alpha=share)

    def build(scale: float) -> Any:
        return scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)

    mechanism = dp.binary_search_chain(build, d_in=1, d_out=1.0)
    return [float(candidates[mechanism(data.tolist())]) for _ in range(TIMES)]
