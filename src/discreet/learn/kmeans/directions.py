"""Directions along which rows are counted: principal ones where there are rows enough to find them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Box, Floats
from discreet.learn.covariance import covariance, expected_noise
from discreet.learn.gram import WIDEST_MATRIX, norm_for
from discreet.learn.kmeans.geometry import BLOCK
from discreet.learn.scaling import mean_noise, measured
from discreet.learn.sizing import ONE

DIRECTIONS: Final = 12
"""Directions of a grid: two cells along each of them are few enough to count and enough to tell clusters apart."""
FEWEST: Final = 3
"""Features for which directions are looked for."""
CLEAR: Final = 1.0
"""Noise in covariances may be so much of a feature's own variance."""
QUIET: Final = 0.1
"""So much is called low: rows far from most others make clusters, and are not to weigh much less for that."""
SPAN: Final = 4.0
"""A grid goes so many standard deviations from the mean, or to the end of the box."""
ENOUGH: Final = 8.0
"""Of random directions so many are taken that cells of two halves of each have so many rows, in units of noise,"""
NEARER: Final = 2.5
"""and they go so many standard deviations from the mean."""
THINNEST: Final = 1e-12
"""No feature is narrower than so much of the widest one: it could not be told from a constant."""


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """Rows around zero, in units of the widest half-width: distances are those of the features as they are."""

    box: Box
    """Of the features as they are declared: beyond nothing lies."""
    near: Box
    """Where nearly all rows lie."""

    @property
    def unit(self) -> float:
        return float(self.near.half.max())

    @property
    def half(self) -> Floats:
        return np.maximum(self.near.half / self.unit, THINNEST)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Of the declared box."""
        low, high = ((end - self.near.middle) / self.unit for end in (self.box.low, self.box.high))
        return np.minimum(low, -self.half), np.maximum(high, self.half)

    def rows(self, exact: Floats) -> Floats:
        """Elementwise, so that each row stands alone."""
        rows = np.clip(exact, self.box.low, self.box.high)
        rows -= self.near.middle
        rows /= self.unit
        return rows

    def points(self, rows: Floats) -> Floats:
        """Back, within the box."""
        return np.clip(self.near.middle + rows * self.unit, self.box.low, self.box.high)


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Orthonormal columns of `axes`, seen from `origin`; along each, nearly all rows lie from `low` to `high`."""

    origin: Floats
    axes: Floats
    low: Floats
    high: Floats
    ends: tuple[Floats, Floats]
    """How far the declared box goes."""
    rest: float
    """About the mean squared length of what these directions do not see."""

    def seen(self, rows: Floats) -> Floats:
        """Rows along the directions: each by itself, bit by bit."""
        columns = np.zeros((len(self.low), len(rows)))
        for start in range(0, len(rows), BLOCK):
            part = columns[:, start : start + BLOCK]
            for column, sides in zip((rows[start : start + BLOCK] - self.origin).T, self.axes, strict=True):
                part += np.multiply.outer(sides, column)
        return columns.T

    def points(self, seen: Floats) -> Floats:
        """Released points back in all features."""
        points: Floats = self.origin + seen @ self.axes.T
        return points


def finds(box: Box, size: float, cost: Cost, share: Fraction) -> bool:
    """Whether about so many rows show their principal directions, by public and released numbers."""
    few = FEWEST <= box.width <= WIDEST_MATRIX
    return few and expected_noise(box, size, cost, share) < CLEAR


def shows_means(box: Box, size: float, cost: Cost, share: Fraction) -> bool:
    """Whether there are more features than a grid has directions, and rows enough to show their means."""
    return box.width > DIRECTIONS and mean_noise(cost, box.width, norm_for(cost), share) < CLEAR * size


def principal(exact: Floats, flat: Flat, size: float, exit_: Exit, share: Fraction) -> Directions:
    """The directions of largest variance, as far as they stand out of the noise.

    Theorem  A share of the cost. Proof: all else is post-processing of `covariance`.
    Source   Clusters of k-means lie near the span of few principal directions: Kannan & Vempala 2009.
    """
    released = covariance(exact, flat.near, size, exit_, share, QUIET)
    values, vectors = np.linalg.eigh(released.matrix)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    count = int(np.clip((values > released.noise).sum(), 1, DIRECTIONS))
    origin, axes = flat.rows(released.means), vectors[:, :count]
    far = np.maximum(SPAN * np.sqrt(np.maximum(values[:count], released.noise)), THINNEST)
    low, high = _ends(axes, origin, flat)
    return Directions(
        origin, axes, np.maximum(low, -far), np.minimum(high, far), (low, high), float(values[count:].sum())
    )


def centred(exact: Floats, flat: Flat, size: float, exit_: Exit, share: Fraction) -> Directions:
    """Few random directions, seen from about the mean of the rows: what they do not see of centres is that of the mean.

    Theorem  A share of the cost. Proof: all else is post-processing of `scaling.measured`.

    There are as many as leave cells rows enough.
    """
    scaling = measured(exact, flat.near, 1, norm_for(exit_.cost), exit_, share)
    cells = size / (ENOUGH * exit_.cost.deviation(ONE, share))
    count = int(np.clip(math.log2(max(cells, 2.0)), 1, DIRECTIONS))
    return _random(flat, flat.rows(scaling.middle), scaling.width / flat.unit, count, exit_)


def fixed(flat: Flat, exit_: Exit) -> Directions:
    """The features themselves, or random directions if there are many. No data is used."""
    half, width = flat.half, len(flat.half)
    if width > DIRECTIONS:
        return _random(flat, np.zeros(width), half, DIRECTIONS, exit_)
    return Directions(np.zeros(width), np.eye(width), -half, half, flat.ends, 0.0)


def _random(flat: Flat, origin: Floats, spread: Floats, count: int, exit_: Exit) -> Directions:
    """Directions in which all features have a part, as wide as their standard deviations say.

    Source   Random signs: Achlioptas 2003.
    """
    width = len(spread)
    signs = 2.0 * exit_.below(2, (width, count)) - 1
    axes, _ = np.linalg.qr(signs + np.eye(width, count) / 2)  # of full rank, whatever the signs are
    variances = (axes**2).T @ spread**2
    low, high = _ends(axes, origin, flat)
    far = np.maximum(NEARER * np.sqrt(variances), THINNEST)
    rest = max(float((spread**2).sum() - variances.sum()), 0.0)
    return Directions(origin, axes, np.maximum(low, -far), np.minimum(high, far), (low, high), rest)


def _ends(axes: Floats, origin: Floats, flat: Flat) -> tuple[Floats, Floats]:
    """How far the box goes along each direction, from the origin."""
    low, high = (axes * (end - origin)[:, None] for end in flat.ends)
    return np.minimum(low, high).sum(axis=0), np.maximum(low, high).sum(axis=0)
