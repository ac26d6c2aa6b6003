"""How features vary together: one noisy matrix of products, in units that were measured first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.gram import (
    Size,
    norm_for,
    products,
    radius,
    square,
    triangle,
)
from discreet.learn.scaling import GRAIN, Scaling, measured
from discreet.learn.scaling import sensitivity as spread_sensitivity

MEASURING: Final = Fraction(1, 4)
"""Of a share, what tells where features lie and how widely they spread."""
LIMITS: Final = (Fraction(12), Fraction(6), Fraction(3), Fraction(2), Fraction(3, 2), WHOLE, Fraction(7, 10))
"""Rows longer than so many usual ones are shortened: the longest limit is taken whose noise is low, or the last."""
QUIET: Final = 0.05
"""Noise is low that is so much of what a feature varies by itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """Released: means of the features, and covariances in squares of the widest half-width of their box."""

    means: Floats
    matrix: Floats
    noise: float
    """About the largest eigenvalue that noise alone would have."""


def covariance(exact: Floats, box: Box, size: float, exit_: Exit, share: Fraction, quiet: float = QUIET) -> Covariance:
    """Means and covariances of about `size` rows; what noise is low is said by `quiet`.

    Theorem  A share of the cost. Proof: a quarter of it is for `scaling.measured`. The rest is for one release of the
             upper triangle of Σ aᵀa, where a = (1, x) in those units is shortened to a limit
             (`gram.products`): with the bounds of `gram.Size.within` its sensitivity is that of `Size.gram`.
             What the limit is follows from `size`, public numbers and the first release; the rest is post-processing.
    Source   Dwork, Talwar, Thakurta & Zhang 2014 (Analyze Gauss), with Laplace noise where ε is pure. Rows that are
             shortened weigh less, which leaves the principal directions of elliptical distributions where they are
             (Marden 1999, spatial signs).

    A corner of the box is many times as long as a usual row, and noise goes by the square of the length: so few rows
    are shortened much, and only as far as the noise asks for.
    """
    cost, norm, rest = exit_.cost, norm_for(exit_.cost), share * (1 - MEASURING)
    scaling = measured(exact, box, 1, norm, exit_, share * MEASURING)
    limit = _limit(scaling, box.width, size * quiet, cost, rest)
    steps = min(radius(cost, partial(sensitivity, scaling, box.width, limit, norm), rest), scaling.finest)
    moved = sensitivity(scaling, box.width, limit, norm, steps)
    sums = products(exact, scaling.ruler(steps, 1), _length(scaling, limit, norm, steps), norm)
    noisy = exit_.release(sums[triangle(box.width + 1)], moved, rest) / steps**2
    matrix = square(noisy, box.width + 1)
    count = max(float(matrix[0, 0]), 1.0)
    means = np.clip(matrix[0, 1:] / count, -scaling.most, scaling.most)
    widths = scaling.width / box.half.max()
    spread = (matrix[1:, 1:] / count - np.outer(means, means)) * np.outer(widths, widths)
    deviation = cost.deviation(moved, rest) / steps**2 / count
    noise = deviation * float(widths.max()) * math.sqrt(float((widths**2).sum()))
    return Covariance(np.clip(scaling.middle + means * scaling.width, box.low, box.high), spread, noise)


def check(box: Box, cost: Cost, share: Fraction) -> None:
    """Refuse, before the charge, what could not be drawn after it. Longer limits are taken where noise is low."""
    norm, largest = norm_for(cost), Scaling.largest(box, 1)
    radius(cost, lambda steps: spread_sensitivity(box.width, steps, norm), share * MEASURING)
    radius(cost, partial(sensitivity, largest, box.width, LIMITS[-1], norm), share * (1 - MEASURING))


def typical(box: Box, cost: Cost, share: Fraction) -> tuple[Sensitivity, Fraction]:
    """About how far a row of usual length moves the products, in steps of `GRAIN`, and the share they are released for.

    Rows are taken to be as long as they get, in units of their spread.
    """
    moved = sensitivity(Scaling.plain(box, 1), box.width, LIMITS[-1], norm_for(cost), GRAIN)
    return moved, share * (1 - MEASURING)


def expected_noise(box: Box, size: float, cost: Cost, share: Fraction) -> float:
    """About the largest eigenvalue that noise would have, if every feature's own variance were 1."""
    return cost.deviation(*typical(box, cost, share)) / GRAIN**2 * math.sqrt(box.width) / size


def sensitivity(scaling: Scaling, width: int, limit: Fraction, norm: int, steps: int) -> Sensitivity:
    """How far a row moves the triangle of products, in squares of steps."""
    length = _length(scaling, limit, norm, steps)
    return Size.within([scaling.most * steps] * (width + 1), length, norm).gram


def _length(scaling: Scaling, limit: Fraction, norm: int, steps: int) -> int:
    return max(math.floor(scaling.limit(steps, norm) * limit), 1)


def _limit(scaling: Scaling, width: int, most: float, cost: Cost, share: Fraction) -> Fraction:
    """The longest with no more noise than that in all products together, by released numbers."""
    norm, least = norm_for(cost), most / math.sqrt(width) * GRAIN**2
    quiet = (
        limit for limit in LIMITS[:-1] if cost.deviation(sensitivity(scaling, width, limit, norm, GRAIN), share) < least
    )
    return next(quiet, LIMITS[-1])
