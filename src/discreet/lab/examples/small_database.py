"""The small database: of all databases of a few rows, one that answers all queries about as the real one does.

Beside it MWEM, its practical heir, on the same invented patients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.lab.invented import uniform
from discreet.release import MWEM, Domain, SmallDatabase

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
NAMES: Final = {"smokes": ("no smoker", "smoker"), "coughs": ("no cough", "cough"), "old": ("under 60", "over 60")}
"""Columns, and the words for their two values."""
DOMAIN: Final = Domain.of({name: list(words) for name, words in NAMES.items()})
CELLS: Final = 2 ** len(NAMES)
MOST_ROWS: Final = 9
"""Of a small database: there are 11,440 of them then."""
ROUNDS: Final = 4


@cache
def patients(many: int) -> Integers:
    """Invented patients, three bits each; smokers cough more."""
    smokes, coughs, old = (uniform(f"small database {name}", many) for name in NAMES)
    bits = np.stack([smokes < 0.3, coughs < np.where(smokes < 0.3, 0.7, 0.2), old < 0.4], axis=1)
    return bits.astype(np.int64)


@cache
def queries() -> tuple[tuple[str, ...], Integers]:
    """All counts of all marginals, with their names: which patients have each combination of values."""
    complete = SmallDatabase(domain=DOMAIN, size=2).declared(None)
    assert complete.queries is not None
    places = np.indices(DOMAIN.shape).reshape(len(NAMES), -1)
    listed = []
    for row in complete.queries.astype(bool):
        words = [
            both[int(column[row][0])]
            for both, column in zip(NAMES.values(), places, strict=True)
            if len(set(column[row].tolist())) == 1
        ]
        listed.append(", ".join(words))
    return tuple(listed), complete.queries.astype(np.int64)


def fractions(counts: NDArray[np.generic]) -> Floats:
    """Which part of the rows each query counts."""
    cells = np.asarray(counts, dtype=np.float64).ravel()
    return np.asarray(queries()[1] @ cells / cells.sum())


@dataclass(frozen=True, slots=True)
class Answered:
    """The same queries to the real data, the small database and a synthetic table."""

    exact: Floats
    small: Floats
    synthetic: Floats
    rows: list[tuple[str, ...]]
    """Of the small database."""

    @property
    def worst(self) -> tuple[float, float]:
        """The largest error of each."""
        return float(np.abs(self.small - self.exact).max()), float(np.abs(self.synthetic - self.exact).max())


def answered(many: int, size: int, epsilon: float) -> Answered:
    """Both releases of the patients, each at the whole ε."""
    table = patients(many)
    columns = {name: np.array(both)[table[:, column]].tolist() for column, (name, both) in enumerate(NAMES.items())}
    small = SmallDatabase(domain=DOMAIN, size=size).release(columns, epsilon=epsilon)
    made = MWEM(domain=DOMAIN, rounds=ROUNDS).release(columns, epsilon=epsilon)
    exact = np.bincount(table @ (4, 2, 1), minlength=CELLS)
    synthetic = np.bincount(np.stack(made.codes, axis=1).astype(np.int64) @ (4, 2, 1), minlength=CELLS)
    if not synthetic.sum():
        synthetic = np.ones(CELLS, dtype=np.int64)
    return Answered(fractions(exact), fractions(small.counts), fractions(synthetic), small.rows())


def rows_for(many_queries: int, alpha: float) -> float:
    """How many rows the lecture's small database has: log₂K/α².

    >>> round(rows_for(26, 0.5), 1)
    18.8
    """
    return math.log2(many_queries) / alpha**2


def alpha_of(many_queries: int, size: int) -> float:
    """The α that a size stands for."""
    return math.sqrt(math.log2(many_queries) / size)


def bound(many: int, many_queries: int, size: int, epsilon: float, failure: float) -> float:
    """The lecture's bound of the worst error: α + 2/(εN)·(m·ln|X| − ln δ)."""
    alpha = alpha_of(many_queries, size)
    return alpha + 2 / (epsilon * many) * (size * math.log(CELLS) - math.log(failure))


def databases(size: int) -> tuple[int, int]:
    """How many small databases there are: as sequences, |X|^m, and as sets of rows.

    >>> databases(2)
    (64, 36)
    """
    return CELLS**size, math.comb(CELLS + size - 1, size)
