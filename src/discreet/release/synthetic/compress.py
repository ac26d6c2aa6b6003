"""Fewer values: what is too rare to be told from noise is held together with others, and told apart in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected
from discreet.release.graphical import Floats
from discreet.release.graphical.sampling import Uniform

RARE: Final = 3.0
"""Deviations of its noise below which a count is too small to be told from none."""
BINS: Final = 20
"""Of ordered values about so many groups are told apart together with other attributes."""


@dataclass(frozen=True, slots=True, eq=False)
class Compression:
    """For one attribute: which values are held together, and how often each of them is among those.

    Post-processing: it is made of a noisy histogram alone. What is held together is one value in all marginals of
    several attributes; within it, values are independent of other attributes.
    """

    groups: Integers
    """For each value the number of its group."""
    weights: Floats
    """Of each value within its group: they add up to 1."""

    @classmethod
    def of(cls, noisy: Floats, deviation: float, *, ordered: bool) -> Compression:
        """By noisy counts. Neighbours in order are held together until they are many; others if they are rare."""
        counts = nonnegative(noisy, float(noisy.sum()))
        groups = _runs(counts, deviation) if ordered else _rare(noisy, deviation)
        whole = np.bincount(groups, weights=counts)[groups]
        even = 1 / np.bincount(groups)[groups]
        return cls(groups, np.where(whole > 0, counts / np.where(whole > 0, whole, 1.0), even))

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.groups.max()) + 1

    def members(self) -> Integers:
        """How many values each group has."""
        return np.bincount(self.groups, minlength=self.size)

    def split(self, places: NDArray[Any], uniform: Uniform) -> Integers:
        """A value of each row's group: of each the expected number, rounded.

        Proof   Weights, added up group by group, fill an interval of length 1 for each group. Of a group's n rows, in
                random order, row k takes the value in whose part of the interval (k + u)/n lies, with one uniform u:
                a part of length w has nw such points on average, and never more than 1 beside that.
        """
        by_group = np.argsort(self.groups, kind="stable")
        ends = np.cumsum(self.weights[by_group])
        first = np.searchsorted(self.groups[by_group], np.arange(self.size + 1))
        order = np.argsort(places + uniform(len(places)))  # by group, and within it at random
        counts = np.bincount(places, minlength=self.size)
        begins = np.cumsum(counts) - counts
        groups = places[order]
        ranks = np.arange(len(places)) - begins[groups]
        points = np.concatenate([[0.0], ends])[first[groups]] + (ranks + uniform(self.size)[groups]) / counts[groups]
        chosen = np.clip(np.searchsorted(ends, points, side="right"), first[groups], first[groups + 1] - 1)
        values = np.empty(len(places), dtype=np.int64)
        values[order] = by_group[chosen]
        return values


def _rare(noisy: Floats, deviation: float) -> Integers:
    """Rare values share the last group, if there are two of them."""
    rare = noisy < RARE * deviation
    if rare.sum() < 2:
        return np.arange(len(noisy))
    groups = np.cumsum(~rare) - 1
    groups[rare] = int((~rare).sum())
    return groups.astype(np.int64)


def _runs(counts: Floats, deviation: float) -> Integers:
    """Neighbours share a group until it is a fair part of all, and not rare. What is that by itself stays alone."""
    rare = RARE * deviation
    fair = max(rare, float(counts.sum()) / BINS)
    groups, group, held = np.zeros(len(counts), dtype=np.int64), 0, 0.0
    for value, count in enumerate(counts.tolist()):
        if value and (held >= fair or (count >= fair and held > rare)):
            group, held = group + 1, 0.0
        groups[value] = group
        held += count
    if group and held < rare:  # what is left over at the end joins its neighbours
        groups[groups == group] = group - 1
    return groups


def nonnegative(noisy: Floats, total: float) -> Floats:
    """The nearest numbers that are not below 0 and add up to the total, if that is above 0."""
    nearest: Floats = projected(noisy[None], np.array([total]))[0]
    return nearest
