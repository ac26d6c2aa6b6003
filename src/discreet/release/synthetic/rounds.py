"""Which marginals are measured: chosen round by round, where the model of what was measured before errs most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.mechanisms.arrays import Integers
from discreet.release.graphical import Clique, Fitted, Floats, Measured, cells_of, fit, pairs_of
from discreet.release.graphical.estimate import STEPS
from discreet.release.synthetic.compress import Compression, nonnegative

FIRST: Final = Fraction(1, 3)
"""The share of one-way marginals, where there are pairs."""
CHOICE: Final = Fraction(1, 10)
"""Of a round's share, what its choice takes."""
ROUNDS: Final = 2
"""At first so many rounds are planned for each attribute; those that find little beside noise get longer."""
NOISE: Final = 0.7
"""Of the error that noise alone makes, what is left once a model was fitted to it: counts below 0 are no more."""
REFIT: Final = 30
"""Steps of a fit between rounds."""
LEAST: Final = 0.1
"""Rows that a group has at least in the model that a fit starts from."""
ONE: Final = Sensitivity.cells(1, 1)


Codes = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """A marginal as it was measured: of attributes, in groups of their values."""

    attributes: Clique
    values: Integers
    deviation: float


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """What was measured, and the model of it."""

    ones: tuple[Marginal, ...]
    """Of every attribute, in all of its values."""
    pairs: tuple[Marginal, ...]
    compressions: tuple[Compression, ...]
    fitted: Fitted
    total: float
    """About how many rows there are."""


def moved_ones(attributes: int, most: int) -> Sensitivity:
    """How far a unit of at most r rows moves the histograms of d attributes, side by side.

    Theorem  l1 ≤ d·r and l2² ≤ d·r². Proof: each histogram changes by some v ≥ 0 with Σv ≤ r (`Domain.histogram`), so
             its L1 norm is at most r, and so is its L2 norm.
    """
    return Sensitivity(Fraction(attributes * most), Fraction(attributes * most**2))


def moved_pair(most: int) -> Sensitivity:
    """How far a unit of at most r rows moves one marginal: as it does any histogram."""
    return Sensitivity.cells(1, most)


def selected(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    ordered: Sequence[bool],
    most: int,
    exit_: Exit,
    max_cells: int,
    steps: int | None = None,
) -> Selected:
    """Measure all one-way marginals; then, round by round, the pair that the model knows least of.

    Theorem  It costs what the exit is given, for units of at most `most` rows.
    Proof    One vector of all one-way marginals moves by `moved_ones`. Values are grouped, and the model is fitted, by
             released numbers alone. A round chooses a pair by the score ‖M − m‖₁ − c, with M its exact marginal, in
             whole rows, and m and c whole numbers that depend on what was released before: a unit moves M by r at most
             in L1, hence the score (by the triangle inequality), up or down. Then M is released with `moved_pair`.
             Shares add up to 1, whichever lengths the rounds have: the exit counts them (sequential composition).
    Source   McKenna, Miklau & Sheldon 2021 (MST); McKenna, Mullins, Sheldon & Miklau 2022 (AIM), of which are the score
             and the rounds that get longer.
    """
    share = FIRST if len(sizes) > 1 else Fraction(1)
    ones, deviation = _ones(columns, sizes, most, exit_, share)
    compressions = tuple(
        Compression.of(one.astype(np.float64), deviation, ordered=is_ordered)
        for one, is_ordered in zip(ones, ordered, strict=True)
    )
    begun = [_grouped(index, one, deviation, compressions[index]) for index, one in enumerate(ones)]
    grouped = zip(compressions, columns, strict=True)
    exact = [compression.groups.astype(np.int32)[column] for compression, column in grouped]
    rounds = _Rounds(exact, [each.size for each in compressions], most, exit_, max_cells, begun, _total(ones))
    pairs = rounds.measured(Fraction(1) - share) if len(sizes) > 1 else []
    rounds.finish(STEPS if steps is None else steps)
    singles = tuple(Marginal((index,), one, deviation) for index, one in enumerate(ones))
    return Selected(singles, tuple(pairs), compressions, rounds.fitted, rounds.total)


def _ones(
    columns: Sequence[Codes], sizes: Sequence[int], most: int, exit_: Exit, share: Fraction
) -> tuple[list[Integers], float]:
    """All one-way marginals with noise, and its deviation."""
    exact = [np.bincount(column, minlength=size) for column, size in zip(columns, sizes, strict=True)]
    moved = moved_ones(len(sizes), most)
    noisy = exit_.release(np.concatenate(exact).astype(np.int64), moved, share)
    return np.split(noisy, np.cumsum(sizes)[:-1]), exit_.cost.deviation(moved, share)


def _grouped(index: int, noisy: Integers, deviation: float, compression: Compression) -> Measured:
    """A one-way marginal in groups: deviations grow with the square root of their members."""
    values = np.bincount(compression.groups, weights=noisy, minlength=compression.size)
    return Measured((index,), values.astype(np.float64), deviation * np.sqrt(compression.members()))


def _total(ones: Sequence[Integers]) -> float:
    """About how many rows there are, by all sums: each has as much noise as it has values."""
    precisions = np.array([1 / len(one) for one in ones])
    return max(float(precisions @ [float(one.sum()) for one in ones] / precisions.sum()), 0.0)


class _Rounds:
    """What was measured so far, the model of it, and what may be measured next."""

    def __init__(
        self,
        exact: Sequence[Codes],
        sizes: Sequence[int],
        most: int,
        exit_: Exit,
        max_cells: int,
        begun: Sequence[Measured],
        total: float,
    ) -> None:
        self.total = total
        self._sizes, self._most, self._exit, self._max_cells = sizes, most, exit_, max_cells
        self._measured = list(begun)
        small = [pair for pair in pairs_of(len(sizes)) if cells_of(sizes, pair) <= max_cells]
        self._exact = {pair: _pair(exact, sizes, pair) for pair in small}
        alone = {each.attributes: _log(each.values, total) for each in begun}
        self.fitted = fit(sizes, self._measured, total, steps=range(REFIT), start=alone)
        self._before: dict[Clique, Floats] = {}

    def measured(self, left: Fraction) -> list[Marginal]:
        """Rounds, until nothing is left of the cost."""
        planned = round(ROUNDS * len(self._sizes))
        marginals: list[Marginal] = []
        each = left / planned
        for _ in self._exit.watched(range(planned), planned, "measuring pairs"):
            share = left if left < 2 * each else each
            pairs = self._affordable(1 - left + share)
            if not pairs:
                break
            marginals.append(self._round(pairs, share))
            left -= share
            if not left:
                break
            if self._is_noise(marginals[-1]):
                each *= 2
        return marginals

    def finish(self, steps: int) -> None:
        """The last fit."""
        watched = self._exit.watched(range(steps), steps, "fitting the model")
        self.fitted = fit(self._sizes, self._measured, self.total, steps=watched, start=self.fitted.potentials)

    def _round(self, pairs: list[Clique], share: Fraction) -> Marginal:
        """Choose a pair, measure it, and fit the model to it."""
        moved, measuring = moved_pair(self._most), share * (1 - CHOICE)
        deviation = self._exit.cost.deviation(moved, measuring)
        self._before = self.fitted.model.pairs(pairs)
        scores = [self._score(pair, self._before[pair], deviation) for pair in pairs]
        pair = pairs[self._exit.choose_each([scores], ONE, self._most, share * CHOICE)[0]]
        noisy = self._exit.release(self._exact[pair], moved, measuring)
        self._measured.append(Measured(pair, noisy.astype(np.float64), deviation))
        steps = range(REFIT)
        self.fitted = fit(self._sizes, self._measured, self.total, steps=steps, start=self.fitted.potentials)
        return Marginal(pair, noisy, deviation)

    def _score(self, pair: Clique, known: Floats, deviation: float) -> int:
        """How far the model is off, less what noise would put it off: in whole rows."""
        exact = self._exact[pair]
        model = np.rint(known * self.total).astype(np.int64)
        return int(np.abs(exact - model).sum()) - _noise(exact.size, deviation)

    def _is_noise(self, last: Marginal) -> bool:
        """Whether the model was moved by no more than noise would move it: the next rounds need more of the cost."""
        moved = np.abs(self.fitted.model.marginal(last.attributes) - self._before[last.attributes]).sum() * self.total
        return bool(moved <= _noise(last.values.size, last.deviation))

    def _affordable(self, spent: Fraction) -> list[Clique]:
        """The pairs with which the model is small enough: at first smaller than in the end, if there are such."""
        tree = self.fitted.model.tree
        cells = tree.cells_with_pairs()
        for most in (self._max_cells * float(spent), self._max_cells):
            pairs = [pair for pair in self._exact if cells[pair] <= max(most, tree.cells)]
            if pairs:
                return pairs
        return []


def _noise(cells: int, deviation: float) -> int:
    """The L1 error that noise on so many cells leaves in a model, in whole rows."""
    return round(NOISE * math.sqrt(2 / math.pi) * deviation * cells)


def _log(noisy: Floats, total: float) -> Floats:
    """The potential that makes counts of one attribute what they are; those below 0 become less than one row."""
    return np.log(np.maximum(nonnegative(noisy, total), LEAST))


def _pair(exact: Sequence[Codes], sizes: Sequence[int], pair: Clique) -> Integers:
    """The exact marginal of two attributes."""
    one, other = pair
    cells = exact[one] * sizes[other] + exact[other]
    return np.bincount(cells, minlength=sizes[one] * sizes[other]).astype(np.int64).reshape(sizes[one], sizes[other])
