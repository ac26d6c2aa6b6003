"""Intervals of coefficients that are solved from noisy sums of products."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from discreet.accounting.distributions import Noise
from discreet.learn.box import Floats
from discreet.learn.intervals import Width

MISS: Final = Fraction(1, 20)
"""At most so often is any of the coefficients outside of its interval."""
ROUNDS: Final = 3


def intervals(matrix: Floats, right: Floats, noise: Noise, squares: float) -> Floats:
    """Where the coefficients lie that solve the exact equations: a low and a high end for each, maybe infinite.

    `noise` is that of every number of the upper triangle of `matrix` and of `right`, in parts of which one has
    `squares`.

    Theorem  With probability at least 1 − `MISS` all of them are within: for every β with Mβ = r.
    Proof    Let M̂ = M + E be noisy, with E symmetric, and r̂ = r + e. Then M̂β = r̂ − u with u = e − Eβ, so
             β − β̂ = −M̂⁻¹u where M̂β̂ = r̂. A number of u has one of e and a row of E, which are independent: by the
             theorem of `Width`, |uᵢ| ≤ t(1, |β|) but for a probability of `MISS`/p, and so for all p of them but for
             `MISS`. Then |β − β̂|ⱼ ≤ Σᵢ|M̂⁻¹|ⱼᵢ·t(1, |β|), however E and M̂⁻¹ depend on each other. As t grows with
             every weight and with their size in proportion, t(1, |β|) ≤ (1 + s)·t(1, …, 1) for s = max |βⱼ|: that
             bounds s where its factor is below 1, and bounds of |β| bound t again.
    Source   Every value is tested, as Fieller 1954 does for a ratio.
    """
    side = len(right)
    unknown = np.column_stack([np.full(side, -np.inf), np.full(side, np.inf)])
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return unknown
    width, solved = Width(noise, MISS / side), inverse @ right
    strays = np.abs(inverse).sum(axis=1)
    factor = strays.max() * width(np.ones(side + 1)) / squares
    if not factor < 1:
        return unknown
    most = np.full(side, (np.abs(solved).max() + factor) / (1 - factor))
    halves = strays * width(np.append(1.0, most)) / squares
    for _ in range(ROUNDS):
        most = np.minimum(most, np.abs(solved) + halves)
        halves = strays * width(np.append(1.0, most)) / squares
    return np.column_stack([solved - halves, solved + halves])
