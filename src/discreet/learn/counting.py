"""Noisy counts at any price, and prices that are too low for any."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.accounting import Pure
from discreet.accounting.losses import Reach
from discreet.exact import LEAST_EPSILON
from discreet.learn.box import Floats
from discreet.learn.core import demand
from discreet.learn.price import WHOLE, Allowance, Price
from discreet.mechanisms.arrays import Integers


def counted(exact: Integers, reach: Reach, allowance: Allowance, share: Fraction = WHOLE) -> Floats:
    """Counts plus noise, in parts of one: on whole numbers, noise of a high price would be too narrow to draw.

    Theorem  Counts of m parts each move by m times their reach (m² in l2²). Below 2³² rows they stay below 2⁵³.
    """
    fine = allowance.price.fineness(reach, share)
    moved = Reach(reach.l1 * fine, reach.l2_squared * fine**2)
    return allowance.release(exact * fine, moved, share).astype(np.float64) / fine


def affordable(price: Price, reach: Reach, share: Fraction) -> None:
    """Refuse a price of which so small a share buys no noise that can be drawn: before anything is charged."""
    amount = price.loss.epsilon if isinstance(price.loss, Pure) else price.loss.rho
    demand(
        amount * share >= LEAST_EPSILON, "price-invalid", "the price is too low to be shared", "pay more for the fit"
    )
    price.fineness(reach, share)
