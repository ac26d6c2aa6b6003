"""Noisy counts at any cost, and costs that are too low for any."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exact import LEAST_EPSILON
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Floats
from discreet.learn.core import demand
from discreet.mechanisms.arrays import Integers


def counted(exact: Integers, sensitivity: Sensitivity, exit_: Exit, share: Fraction = WHOLE) -> Floats:
    """Counts plus noise, in parts of one: on whole numbers, noise of a high cost would be too narrow to draw.

    Theorem  Counts of m parts each move by m times their sensitivity (m² in l2²). Below 2³² rows they stay below 2⁵³.
    """
    fine = exit_.cost.fineness(sensitivity, share)
    moved = Sensitivity(sensitivity.l1 * fine, sensitivity.l2_squared * fine**2)
    return exit_.release(exact * fine, moved, share).astype(np.float64) / fine


def affordable(cost: Cost, sensitivity: Sensitivity, share: Fraction) -> None:
    """Refuse a cost of which so small a share allows no noise that can be drawn: before anything is charged."""
    amount = cost.amount
    demand(
        amount * share >= LEAST_EPSILON,
        "cost-invalid",
        "the cost is too low to be shared",
        "allow the fit a higher cost",
    )
    cost.fineness(sensitivity, share)
