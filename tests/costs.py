"""What costs mean, as the tests compute it: by the theorem of `accounting.labels`, from the conversion itself."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting import rho_for
from discreet.exact import Number


def rho_of(epsilon: Number, delta: Number = 1e-6) -> float:
    """The ρ that `epsilon=` buys under a budget with this δ."""
    return rho_for(epsilon, Fraction(str(delta)) / 2)
