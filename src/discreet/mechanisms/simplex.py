"""Noisy counts made consistent: not negative, and adding up."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from discreet.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


Floats: TypeAlias = "NDArray[np.float64]"


def projected(noisy: Floats, totals: Floats) -> Floats:
    """Each row's nearest point (in Euclid's sense) that is not negative and adds up to its total.

    Clipping negative counts instead would add, in expectation, to every empty cell.

    Source   Duchi, Shalev-Shwartz, Singer & Chandra 2008: subtract a threshold from the largest ones.
    """
    falling = -np.sort(-noisy, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, noisy.shape[1] + 1)
    support = np.maximum((falling > excess).sum(axis=1), 1)
    closest: Floats = np.maximum(noisy - np.take_along_axis(excess, support[:, None] - 1, axis=1), 0)
    return closest
