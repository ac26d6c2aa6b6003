"""Report noisy max."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import noise
from discreet.accounting.distributions import DiscreteLaplace
from discreet.exact import Number, probability, whole
from discreet.late import np
from discreet.mechanisms.grid import INTEGERS, Grid
from discreet.mechanisms.selection import Selection, factor, fine_grid, score_grid, units
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, init=False, slots=True)
class NoisyMax(Selection):
    """Add discrete Laplace noise of scale 2Δ/ε to every score and report which is largest, but not its value.

    Theorem  ε-DP, where `sensitivity` Δ bounds how far one unit can move any score (`monotone=True` drops the 2, for
             scores that are monotone as `selection` says).
    Proof    Fix the noise of all others and the order in which ties are broken: r wins where its noise is at least an
             integer t, the largest of the others' less u(r) (and 1 where it loses ties). On a neighbour t moves by 2Δ
             at most; monotone, by Δ, as the largest and u(r) move within [0, Δ] both, or within [−Δ, 0]. And
             P(Z ≥ t) ≤ e^(1/scale)·P(Z ≥ t + 1) for integers. The order of ties is drawn without the scores.
    Error    The reported score is the best but for twice the largest noise.
    Source   Dwork & Roth 2014, Claim 3.9; ties in random order, so that no index is favoured.
    """

    def choose(self, scores: ArrayLike, bits: Bits | None = None) -> int:
        """The index of the candidate whose noisy score is largest."""
        exact, moved = units(scores, self.sensitivity)
        if max(abs(int(exact.max())), abs(int(exact.min()))) > 2**61:
            raise OverflowError("scores must stay within 2**61: use a larger unit")
        drawn = noise.laplace(factor(monotone=self.monotone) * moved / self.epsilon, exact.size, bits=bits)
        order = noise.shuffle(exact.size, bits=bits)
        return int(order[np.argmax((exact + drawn)[order])])

    release = choose

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """How far below the best score the reported one lies at most, with this confidence, integers or not."""
        each = 1 - (1 - probability(confidence, "confidence")) / whole(candidates, "candidates")
        return max(
            self._sensitivity(grid, each) for grid in (score_grid(self.sensitivity), fine_grid(self.sensitivity))
        )

    def _sensitivity(self, grid: Grid, confidence: Fraction) -> float:
        """Twice the width of the noise on scores of this grid, and what rounding to it adds."""
        scale = factor(monotone=self.monotone) * grid.distance(self.sensitivity) / self.epsilon
        return 2 * grid.value(DiscreteLaplace(scale).width(confidence)) + float(grid.step) * (grid is not INTEGERS)
