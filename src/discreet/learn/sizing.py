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
from discreet.learn.zooming import CELLS, SHARES, SURELY, share_for, zoomed
from discreet.learn.zooming import check as check_zoom

SIZING: Final = Fraction(1, 50)
"""What the number of rows costs where methods choose their shape by it."""
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
    """How bounds are narrowed."""

    count: Fraction = SIZING
    """What the number of rows costs."""
    cells: int = 1
    surely: float = 2.0
    """A share is large enough that finds windows of so many cells among so many times fewer rows."""
    least: Fraction = Fraction(0)
    """Where any is, at least this one is taken."""

    @property
    def left(self) -> Fraction:
        """What is left of the cost at least."""
        return WHOLE - self.count - max(self.least, SHARES[-1])


USUAL: Final = Search()
LEFT: Final = USUAL.left
SURE: Final = Search(Fraction(1, 100), CELLS, SURELY)
"""For those who need the number of rows for nothing else."""
THOROUGH: Final = Search(least=SHARES[-1])
"""For those in whose noise one feature with bounds that stayed too wide hides all others."""


def sized(exact: Floats, box: Box, exit_: Exit, expected: int | None = None, search: Search = USUAL) -> Sized:
    """The number of rows, unless it is known what to expect, and the bounds that `zoomed` finds.

    Theorem  What is not `left` of the cost. Proof: that of `about`, and the share of `zoomed`; how large that is, and
             whether it is spent at all, follows from the number, which was released or is public.
    """
    size, left = about(exact, exit_, expected, search.count)
    share = share_for(size, box.width, exit_.cost, search.cells, search.surely)
    if not share:
        return Sized(size, box, left)
    share = max(share, search.least)
    return Sized(size, zoomed(exact, box, exit_, share), left - share)


def about(exact: Floats, exit_: Exit, expected: int | None = None, share: Fraction = SIZING) -> tuple[float, Fraction]:
    """About how many rows there are, and what share of the cost is left: a row moves their number by 1."""
    if expected is not None:
        return float(min(expected, MOST_ROWS)), WHOLE
    noisy = exit_.release(np.array([len(exact)], dtype=np.int64), ONE, share)
    return float(np.clip(noisy[0], 1, MOST_ROWS)), WHOLE - share


def check(width: int, cost: Cost, search: Search = USUAL) -> None:
    """Refuse, before the charge, what could not be drawn after it."""
    cost.fineness(ONE, search.count)
    check_zoom(width, cost, SHARES[0])
