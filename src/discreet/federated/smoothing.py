"""Discrete Gaussian noise, drawn in one place or by many, costs what continuous Gaussian noise costs.

Lemma    Let Z be the sum of n ≥ 1 independent discrete Gaussian draws on each of d coordinates, of variances v_i ≥ 8
         that add up to V. For every whole vector x there is a randomised map K, the same for all x, such that the law
         of x + Z and that of K(x + N(0, V − 4)) differ by a factor of at most exp(±d·(2n + 1)·e) in every point, with
         e = −ln(1 − r) and r = 2.01·exp(−8π²) ≈ 10⁻³⁴.
Proof    Write φ_s for the normal density of variance s. By Poisson summation the sum of φ_s over a shifted copy of
         the whole numbers is 1 + 2·Σ_{k≥1} exp(−2π²sk²)·cos(…), so it lies within 1 ± r for s ≥ 4.
         (i) A discrete Gaussian of variance s ≥ 4, with any real centre, has the masses φ_s divided by such a sum.
         (ii) Let S be the sum of some draws, of variances that add up to s, and let the law of S be φ_s but for some
         factor. With one more draw, of variance v, it has the factors of both, and one more: Σ_w φ_s(w)·φ_v(z − w) =
         φ_{s+v}(z)·Σ_w φ_m(w − c) with m = s·v/(s + v) ≥ 4, since both are at least 8. So the law of the sum of all is
         φ_V but for n factors by (i) and n − 1 by (ii).
         (iii) Let K round y to a discrete Gaussian around y of variance 4. The law of K(x + N(0, V − 4)) is φ_4
         convolved with φ_{V−4}, which is φ_V, but for one factor by (i). Coordinates multiply.
Theorem  A training whose releases have the laws x + Z is (ε + 2H, e^H·δ)-DP if the one with Gaussian noise of variance
         V − 4 in their place is (ε, δ)-DP, H being the sum of the exponents above over all rounds. Poisson samples,
         and rounds that depend on earlier ones, change nothing: mixtures and products keep factors.
Proof    P(E) ≤ e^H·P'(E) ≤ e^H·(e^ε·Q'(E) + δ) ≤ e^(2H+ε)·Q(E) + e^H·δ, and K is post-processing.
Source   The idea of comparing with a smoothed continuous law is that of Canonne, Kamath & Steinke 2020 and Kairouz, Liu
         & Steinke 2021 (Theorem 9: sums of discrete Gaussians); here it carries over to Poisson samples.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

BLUR: Final = 4
"""Variance that discreteness uses up."""
LEAST_SHARE: Final = 8
"""Of each draw that is added to others."""
_FACTOR: Final = -math.log1p(-2.01 * math.exp(-8 * math.pi**2))


def drawn_variance(continuous: Fraction) -> int:
    """What is drawn so that it counts for `continuous`."""
    return max(math.ceil(continuous + BLUR), LEAST_SHARE)


def slack(draws: int, coordinates: int, rounds: int) -> float:
    """H of the theorem."""
    return (2 * draws + 1) * _FACTOR * coordinates * rounds
