"""About how many rows there are, and the bounds that nearly all of them are in: what most fits begin with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.rulers import MOST_ROWS
from discreet.learn.zooming import SHARES, promising, zoomed
from discreet.learn.zooming import check as check_zoom

SIZING: Final = Fraction(1, 50)
"""What the number of rows costs: methods choose their shape by it."""
LEFT: Final = WHOLE - SIZING - SHARES[-1]
"""What is left at least."""
ONE: Final = Sensitivity.cells(1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Sized:
    """Released: about how many rows there are, and bounds that nearly all are in."""

    size: float
    box: Box
    left: Fraction
    """The share of the cost that is left."""


@dataclass(frozen=True, slots=True)
class Search:
    """How bounds are narrowed: for at least this share, and only to such a part of what was declared or less."""

    least: Fraction = Fraction(0)
    narrow: float = 1.0


USUAL: Final = Search()


def sized(exact: Floats, box: Box, exit_: Exit, expected: int | None = None, search: Search = USUAL) -> Sized:
    """The number of rows, unless it is known what to expect, and the bounds that `zoomed` finds.

    Theorem  What is not `left` of the cost. Proof: that of `about`, and the share of `zoomed`; how large that is, and
             whether it is spent at all, follows from the number, which was released or is public.
    """
    size, left = about(exact, exit_, expected)
    enough = (share for share in SHARES if promising(size / 2, box.width, exit_.cost, share))
    share = next(enough, Fraction(0))
    if not share:
        return Sized(size, box, left)
    share = max(share, search.least)
    narrower = zoomed(exact, box, exit_, share)
    narrow = narrower.half <= search.narrow * box.half
    return Sized(
        size, Box(np.where(narrow, narrower.low, box.low), np.where(narrow, narrower.high, box.high)), left - share
    )


def about(exact: Floats, exit_: Exit, expected: int | None = None) -> tuple[float, Fraction]:
    """About how many rows there are, and what share of the cost is left: a row moves their number by 1."""
    if expected is not None:
        return float(min(expected, MOST_ROWS)), WHOLE
    noisy = exit_.release(np.array([len(exact)], dtype=np.int64), ONE, SIZING)
    return float(np.clip(noisy[0], 1, MOST_ROWS)), WHOLE - SIZING


def check(width: int, cost: Cost) -> None:
    """Refuse, before the charge, what could not be drawn after it."""
    cost.fineness(ONE, SIZING)
    check_zoom(width, cost, SHARES[0])
