"""How near synthetic rows are to their source, beside MST on mbi and in smartnoise-synth, and how long they take.

Errors are total-variation distances of marginals of *rows*, not of the model. Adult is 48,842 × 14, at ε = 1 and
δ = 10⁻⁹ (ρ = 0.015). Constants of `MarginalSynthesizer` (shares, rounds, groups, where a fit ends) were chosen on
tables of the same shape that a latent-factor model generated, never on Adult; what is reported on Adult was looked at
while the code was written, and its defects were repaired, not its constants. `DISCREET_PEERS=0` leaves peers out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.figures import Figure, at_most
from benchmarks.learn.bundled import everybody
from benchmarks.peers.adult import SIZES, STEPS
from benchmarks.peers.environments import Failed, Peer, result
from discreet.accounting import rho_for
from discreet.release.synthetic.compress import nonnegative

EPSILON, DELTA = 1.0, 1e-9
RHO: Final = float(rho_for(1, 1e-9))
MST: Final = Peer("mbi's MST", "mbi_mst", ("mbi==2.0.0",), "mbi")
SMARTNOISE: Final = Peer(
    "smartnoise-synth's MST",
    "smartnoise_synth",
    ("mbi==1.1.0", "disjoint-set==0.9.0", "smartnoise-sql==1.0.10", "Faker", "setuptools"),
    alone=("smartnoise-synth==1.0.8",),  # its networks need torch, MST does not
)
RUNS: Final = {MST: 3, SMARTNOISE: 1}
"""Of each peer, for the mean: one run differs from the next by a tenth."""
PATIENCE: Final = 900
"""Seconds for a run of a peer."""
WIDE, MANY = 40, 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Codes, how many each column has, and whether they are ordered."""

    rows: Any
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]

    def save(self, path: Path) -> Path:
        sizes, ordered = np.array(self.sizes), np.array(self.ordered)
        np.savez(path, rows=self.rows, sizes=sizes, ordered=ordered, rho=RHO, epsilon=EPSILON, delta=DELTA)
        return path

    def distance(self, other: Any, count: int) -> float:
        """The mean distance of all marginals of so many columns."""
        chosen = list(combinations(range(len(self.sizes)), count))
        return float(np.mean([_distance(self._shares(self.rows, each), self._shares(other, each)) for each in chosen]))

    def independent(self) -> float:
        """The mean distance of pairs, were all columns independent and exact."""
        pairs = list(combinations(range(len(self.sizes)), 2))
        ones = [self._shares(self.rows, (index,)) for index in range(len(self.sizes))]
        return float(
            np.mean([_distance(self._shares(self.rows, (i, j)), np.outer(ones[i], ones[j]).ravel()) for i, j in pairs])
        )

    def measured_alone(self) -> float:
        """The mean distance of pairs, of rows with independent columns that all of the cost was spent on."""
        dice, count = np.random.default_rng(), len(self.rows)
        scale = np.sqrt(len(self.sizes) / (2 * RHO)) / count
        columns = []
        for index, size in enumerate(self.sizes):
            shares = nonnegative(self._shares(self.rows, (index,)) + dice.normal(0, scale, size), 1.0)
            columns.append(dice.choice(size, count, p=shares / shares.sum()))
        return self.distance(np.stack(columns, axis=1), 2)

    def _shares(self, rows: Any, columns: tuple[int, ...]) -> Any:
        sizes = [self.sizes[each] for each in columns]
        cells = np.ravel_multi_index([rows[:, each].astype(np.int64) for each in columns], sizes)
        return np.bincount(cells, minlength=int(np.prod(sizes))) / max(len(rows), 1)


def _distance(one: Any, other: Any) -> float:
    return float(np.abs(one - other).sum() / 2)


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        path = Path(name) / "codes.npz"
        rows = everybody()
        if rows is not None:
            adult = Table(rows, tuple(SIZES.values()), tuple(name in STEPS for name in SIZES))
            yield from _adult(path, adult)
            yield from _learned(path, adult)
        yield from _grown(path)


def _ours(path: Path, table: Table) -> tuple[Any, dict[str, float]]:
    command = [sys.executable, "-m", "benchmarks.synthetic_ours", str(table.save(path))]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    measured: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return np.load(path.with_suffix(".npy")), measured


def _adult(path: Path, adult: Table) -> Iterator[Figure]:
    made, measured = _ours(path, adult)
    two, three = adult.distance(made, 2), adult.distance(made, 3)
    what, alone = "synthetic Adult, ε = 1, δ = 10⁻⁹", adult.independent()
    yield at_most(f"{what}: error of pairs", f"{two:.4f}", f"0.055 (independent columns {alone:.3f})", two / 0.055, 1)
    yield at_most(f"{what}: error of triples", f"{three:.4f}", "0.10", three / 0.10, 1)
    seconds, memory = measured["seconds"], measured["megabytes"]
    processor = f"{seconds:.1f} s ({measured['processor']:.1f} s of the processor)"
    yield at_most(f"{what}: time", processor, "30 s", seconds / 30, 1)
    yield at_most(f"{what}: memory", f"{memory:.0f} MB", "500 MB", memory / 500, 1)
    if os.environ.get("DISCREET_PEERS") == "0":
        return
    for peer, runs in RUNS.items():
        theirs = [_theirs(peer, path, adult) for _ in range(runs)]
        failed = next((each for each in theirs if isinstance(each, Failed)), None)
        if failed is not None:
            Console().print(f"{peer.name} is not compared: {failed.reason}")
            continue
        error, other = (float(np.mean([each[at] for each in theirs if isinstance(each, tuple)])) for at in (0, 1))
        told = f"{peer.name}, mean of {runs}: {error:.4f}" if runs > 1 else f"{peer.name} {error:.4f}"
        yield at_most(f"{what}: error of pairs", f"{two:.4f}", told, two / error, 1)
        yield at_most(f"{what}: time", f"{seconds:.1f} s", f"{peer.name} {other:.0f} s", seconds / other, 1)


def _theirs(peer: Peer, path: Path, table: Table) -> tuple[float, float] | Failed:
    """The error of pairs of a peer's rows, and the seconds that they took."""
    path.with_suffix(".npy").unlink(missing_ok=True)
    measured = result(peer, "mst", table.save(path), PATIENCE)
    if isinstance(measured, Failed):
        return measured
    return table.distance(np.load(path.with_suffix(".npy")), 2), measured["seconds"]


def _learned(path: Path, adult: Table) -> Iterator[Figure]:
    """Train on synthetic rows, test on real ones that were not synthesized."""
    train = np.random.default_rng(5).permutation(len(adult.rows)) < 0.75 * len(adult.rows)
    made, _ = _ours(path, Table(adult.rows[train], adult.sizes, adult.ordered))
    models: dict[str, Callable[[], Any]] = {
        "logistic regression": lambda: make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1000)
        ),
        "boosted trees": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    test = adult.rows[~train]
    for name, make in models.items():
        scores = [
            make().fit(rows[:, :-1], rows[:, -1]).score(test[:, :-1], test[:, -1]) for rows in (made, adult.rows[train])
        ]
        ours, real = scores
        what = f"trained on synthetic Adult, tested on real rows: {name}"
        yield at_most(what, f"{ours:.3f}", f"trained on real rows {real:.3f}; 3 points", (real - ours) / 0.03, 1)


def _grown(path: Path) -> Iterator[Figure]:
    """Tables that grow: wide ones, and long ones."""
    for what, table in (
        (f"{WIDE} columns, 20,000 rows", generated(20_000, WIDE)),
        ("10⁶ rows × 14", generated(MANY, 14)),
    ):
        made, measured = _ours(path, table)
        two, alone = table.distance(made, 2), table.measured_alone()
        peer = f"independent rows at the same cost {alone:.4f}; distribution without noise {table.independent():.4f}"
        yield at_most(f"synthetic {what}: error of pairs", f"{two:.4f}", peer, two / alone, 1)
        shown = f"{measured['seconds']:.0f} s, {measured['megabytes']:.0f} MB"
        yield at_most(f"synthetic {what}: time", shown, "300 s", measured["seconds"] / 300, 1)


def generated(count: int, width: int, seed: int = 1) -> Table:
    """A table by three latent factors: numbers of several shapes, categories by logits, some of them rare."""
    dice = np.random.default_rng(seed)
    hidden = dice.normal(size=(count, 3))
    columns, sizes = [], []
    for index in range(width):
        if index % 2:
            size = int(dice.choice([2, 5, 7, 15, 42]))
            logits = hidden @ dice.normal(size=(3, size)) - 1.2 * np.log(np.arange(1, size + 1))
            columns.append((logits + dice.gumbel(size=(count, size))).argmax(axis=1))
        else:
            size = int(dice.choice([16, 50, 100]))
            value = hidden @ dice.normal(size=3) + dice.normal(size=count)
            columns.append(np.clip(np.rint(value * size / 10 + size / 2), 0, size - 1).astype(np.int64))
        sizes.append(size)
    return Table(np.stack(columns, axis=1), tuple(sizes), tuple(index % 2 == 0 for index in range(width)))
