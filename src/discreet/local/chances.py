"""Chances that are whole multiples of 2⁻⁵³, so that a randomiser is exact in every language that has 53-bit integers.

A chance t stands for the probability t/2⁵³. It is rounded to the private side: the ratio of probabilities that it
leads to is a fraction, and certainly not above e^ε.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.accounting.rounding import NEAREST, decimal, down, up
from discreet.exact import Number, positive
from discreet.noise import COIN_BITS

WHOLE: Final[int] = 2**COIN_BITS
"""The chance of what always happens."""
MICRO: Final = 10**6
"""ε is a whole multiple of a millionth: so it stands in reports."""
LEAST_EPSILON: Final = Fraction(1, 1000)
MOST_EPSILON: Final = 20


def local_epsilon(value: Number) -> Fraction:
    """An ε for one report, rounded down to millionths."""
    exact = positive(value, "epsilon")
    if not LEAST_EPSILON <= exact <= MOST_EPSILON:
        raise ValueError(f"epsilon must lie between 0.001 and 20, not {value}: usual values are 0.5 to 4")
    return Fraction(math.floor(exact * MICRO), MICRO)


def exp_below(epsilon: Fraction) -> Fraction:
    """A fraction that is hardly below e^ε, and certainly not above it."""
    return down(NEAREST.exp(decimal(epsilon)))


def ln_above(ratio: Fraction) -> Fraction:
    """A fraction that is hardly above ln(ratio), and certainly not below it."""
    return up(NEAREST.ln(decimal(ratio)))


def chance_of_odds(odds: Fraction) -> int:
    """The largest chance t with t/(2⁵³ − t) ≤ odds.

    >>> chance_of_odds(Fraction(3)) == 3 * 2**51
    True
    """
    return math.floor(WHOLE * odds / (1 + odds))


def odds(chance: int) -> Fraction:
    """How much likelier it is that it happens than that it does not."""
    return Fraction(chance, WHOLE - chance)
