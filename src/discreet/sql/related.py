"""How two columns are related, from noisy moments: covariance, correlation, slope and intercept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from discreet.accounting.fieller import Noisy, Sums
from discreet.sql.formulas import HALF_A_ROW, Interval, Part, rows_within, spared
from discreet.sql.measures import Steps

ROOT_ERROR: Final = Fraction(1, 2**40)
"""How far a root of a float may be off, relatively, with much to spare."""


class Moments(Protocol):
    """Where moments of the rows (x, y) about the middles lie, each but with a given probability; x is 0 and y is 1."""

    def covariance(self, miss: Fraction) -> Interval: ...
    def variance(self, axis: int, miss: Fraction) -> Interval: ...
    def mean(self, axis: int, miss: Fraction) -> Interval: ...


@dataclass(frozen=True, slots=True)
class Separate:
    """Of n, Σx, Σy, Σxy and the squares Σ(2x² − r²), released apart."""

    noisy: Sequence[Noisy]
    radii: tuple[int, int]

    def covariance(self, miss: Fraction) -> Interval:
        count, x, y, product = self.noisy[:4]
        return Sums(count, x, y, product, self.radii).covariance(miss)

    def variance(self, axis: int, miss: Fraction) -> Interval:
        radius = self.radii[axis]
        half, shift = Fraction(1, 2), Fraction(radius**2, 2)
        total, square = self.noisy[1 + axis], self.noisy[4 + axis]
        return Sums(self.noisy[0], total, None, square, (radius, radius), half, shift).covariance(miss)

    def mean(self, axis: int, miss: Fraction) -> Interval:
        count, x, y, product = self.noisy[:4]
        return Sums(count, x, y, product, self.radii).mean(axis, miss)


@dataclass(frozen=True, slots=True)
class Related:
    """Covariance, correlation, slope and intercept of y on x, from n, Σx, Σy, Σxy and, where needed, the squares.

    NULL where there are too few rows for it, or where they do not differ, as SQL has it.
    """

    x: Steps
    y: Steps
    kind: str

    def value(self, noisy: Sequence[Sequence[float]]) -> float | None:
        if noisy[0][0] < self.fewest - HALF_A_ROW:
            return None
        n, sx, sy, sxy, *squares = (float(part[0]) for part in noisy)
        mx, my = sx / n, sy / n
        covariance = sxy / n - mx * my
        variances = [
            max((square / n + steps.radius**2) / 2 - mean**2, 0.0)
            for square, steps, mean in zip(squares, (self.x, self.y), (mx, my), strict=False)
        ]
        return self._shown(n, mx, my, covariance, variances)

    @property
    def fewest(self) -> int:
        return 2 if self.kind == "COVAR_SAMP" else 1

    def _shown(self, n: float, mx: float, my: float, covariance: float, variances: list[float]) -> float | None:
        a, b = float(self.x.step), float(self.y.step)
        if self.kind in ("COVAR_POP", "COVAR_SAMP"):
            most = self.x.radius * self.y.radius
            held = min(max(covariance, -most), most) * a * b
            return held * n / max(n - 1, 1.0) if self.kind == "COVAR_SAMP" else held
        if self.kind == "CORR":
            spread = math.sqrt(variances[0] * variances[1])
            return min(max(covariance / spread, -1.0), 1.0) if spread > 0 else None
        if variances[0] <= 0:
            return None
        slope = covariance / variances[0] * b / a
        if self.kind == "REGR_SLOPE":
            return slope
        return (my + self.y.middle) * b - slope * (mx + self.x.middle) * a

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        if parts[0].values[0] < self.fewest:
            return None
        known = Separate([part.noisy for part in parts], (self.x.radius, self.y.radius))
        return self.between(known, spared(parts), rows_within(parts), self.value([part.values for part in parts]))

    def between(self, known: Moments, miss: Fraction, rows: Interval, value: float | None) -> Interval | None:
        """Where it lies, if moments lie where they are known to, and the number of rows within these.

        Theorem  It misses with probability at most `miss`. Proof: the intervals of the moments that it is made of share
                 that evenly, so all of them hold but with that probability; the rest is interval arithmetic, in which
                 a quotient needs a denominator that is surely above 0. What is shown is put in.
        """
        if self.kind in ("COVAR_POP", "COVAR_SAMP"):
            return self._covariance(known.covariance(miss), rows)
        if self.kind == "CORR":
            return _with(value, self._correlation(known, miss / 3), (Fraction(-1), Fraction(1)))
        each = miss / (2 if self.kind == "REGR_SLOPE" else 4)
        spread = known.variance(0, each)
        if value is None or spread[0] <= 0:
            return None
        b, a = self.y.step, self.x.step
        corners = [b * c / (a * v) for c in known.covariance(each) for v in spread]
        slope = min(corners), max(corners)
        if self.kind == "REGR_SLOPE":
            return _with(value, slope)
        (mx, nx), (my, ny) = known.mean(0, each), known.mean(1, each)
        shifts = [edge * (mean + self.x.middle) * a for edge in slope for mean in (mx, nx)]
        return _with(value, ((my + self.y.middle) * b - max(shifts), (ny + self.y.middle) * b - min(shifts)))

    def _correlation(self, known: Moments, miss: Fraction) -> Interval:
        """C/√(VW): nearer to 0 for larger variances."""
        (low, high), spreads = known.covariance(miss), (known.variance(0, miss), known.variance(1, miss))
        least, most = (Fraction(math.sqrt(spreads[0][end] * spreads[1][end])) for end in (0, 1))
        if least <= 0:
            return Fraction(-1), Fraction(1)
        narrow, wide = least * (1 - ROOT_ERROR), most * (1 + ROOT_ERROR)
        return low / (narrow if low < 0 else wide), high / (narrow if high > 0 else wide)

    def _covariance(self, ends: Interval, rows: Interval) -> Interval:
        low, high = ends
        scale = self.x.step * self.y.step
        if self.kind == "COVAR_SAMP":
            fewest, _ = rows
            grow = fewest / (fewest - 1) if fewest >= 2 else Fraction(2)
            low, high = low * (grow if low < 0 else 1), high * (grow if high > 0 else 1)
        return low * scale, high * scale


def _with(value: float | None, ends: Interval, within: Interval | None = None) -> Interval:
    """An interval with what is shown in it, clipped."""
    low, high = ends
    if value is not None:
        low, high = min(low, Fraction(value)), max(high, Fraction(value))
    return (low, high) if within is None else (max(low, within[0]), min(high, within[1]))
