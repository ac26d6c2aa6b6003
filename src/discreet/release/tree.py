"""Trees of public places: node numbers, least squares up and down, and whole numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected
from discreet.release.codec import demand_type
from discreet.release.queries import Floats

MOST_LEAVES: Final = 500_000
MOST_LEVELS: Final = 12
Path = tuple[Any, ...]


@dataclass(frozen=True)
class Places:
    """A tree by the paths to its leaves; level 0 is everything."""

    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        for path in self.paths:
            demand_type(path=(path, tuple))
        lengths = {len(path) for path in self.paths}
        if not 0 < len(self.paths) <= MOST_LEAVES or len(lengths) != 1 or not 0 < lengths.pop() <= MOST_LEVELS:
            raise ValueError(f"paths are 1 to {MOST_LEAVES:,} tuples of the same length")
        if len(set(self.paths)) != len(self.paths):
            raise ValueError("each path is given once")

    @property
    def levels(self) -> int:
        return len(self.paths[0]) + 1

    @cached_property
    def nodes(self) -> tuple[tuple[Path, ...], ...]:
        """The nodes of each level, in the order of their first leaf."""
        return tuple(tuple(dict.fromkeys(path[:level] for path in self.paths)) for level in range(self.levels))

    @cached_property
    def numbers(self) -> tuple[dict[Path, int], ...]:
        """The number of each node within its level."""
        return tuple({node: index for index, node in enumerate(nodes)} for nodes in self.nodes)

    @cached_property
    def parents(self) -> tuple[Integers, ...]:
        """For each level below the first the number of each node's parent."""
        above = zip(self.nodes[1:], self.numbers, strict=False)
        return tuple(np.array([known[node[:-1]] for node in nodes], dtype=np.int64) for nodes, known in above)

    def added(self, leaves: NDArray[Any]) -> list[NDArray[Any]]:
        """Numbers of leaves added up to every level: exact where they are integers."""
        totals = [leaves]
        for level in range(self.levels - 2, -1, -1):
            sums = np.zeros(len(self.nodes[level]), dtype=leaves.dtype)
            np.add.at(sums, self.parents[level], totals[0])
            totals.insert(0, sums)
        return totals

    def _sums(self, level: int, values: Floats) -> Floats:
        sums = np.bincount(self.parents[level], weights=values, minlength=len(self.nodes[level]))
        return sums.astype(np.float64)

    # least squares

    def smoothed(self, noisy: Sequence[Floats], variances: Sequence[Floats]) -> list[Floats]:
        """The least-squares estimate of all levels: what is below adds up to what is above.

        Theorem  For independent noise of these variances it is the best linear unbiased estimate; 0 is a number that is
                 known.
        Proof    Upwards each node combines its own measurement with the sum of its children's estimates, by inverse
                 variances: the best estimate from its subtree. Downwards the difference between a node's final estimate
                 and that sum is shared among its children by their variances: the smoother of Rauch, Tung & Striebel
                 1965 on a tree.
        Source   Hay, Rastogi, Miklau & Suciu 2010, for any tree.
        """
        means, spreads = self._upwards(noisy, variances)
        final = [means[0]]
        for level in range(self.levels - 1):
            parent = self.parents[level]
            gap = final[level] - self._sums(level, means[level + 1])
            final.append(means[level + 1] + self._shares(level, spreads[level + 1]) * gap[parent])
        return final

    def spreads(self, variances: Sequence[Floats]) -> list[Floats]:
        """The variance of each estimate."""
        nothing = [np.zeros(len(nodes)) for nodes in self.nodes]
        _, spreads = self._upwards(nothing, variances)
        final = [spreads[0]]
        for level in range(self.levels - 1):
            below = self._sums(level, spreads[level + 1])
            change = (final[level] - below)[self.parents[level]]
            final.append(spreads[level + 1] + self._shares(level, spreads[level + 1]) ** 2 * change)
        return final

    def _shares(self, level: int, spreads: Floats) -> Floats:
        """Of each node among its siblings by their variances; alike where all of them are known."""
        parent = self.parents[level]
        total, count = self._sums(level, spreads)[parent], self._sums(level, np.ones(len(parent)))[parent]
        return np.where(total > 0, spreads / np.where(total > 0, total, 1.0), 1 / count)

    def _upwards(self, noisy: Sequence[Floats], variances: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
        means, spreads = [noisy[-1]], [variances[-1]]
        for level in range(self.levels - 2, -1, -1):
            below, spread = self._sums(level, means[0]), self._sums(level, spreads[0])
            own = variances[level]
            weight = np.where(own + spread > 0, spread / np.where(own + spread > 0, own + spread, 1.0), 1.0)
            means.insert(0, weight * noisy[level] + (1 - weight) * below)
            spreads.insert(0, own * weight)
        return means, spreads

    # whole numbers

    def whole(self, estimates: Sequence[Floats], known: Sequence[Mapping[int, int]]) -> list[Integers]:
        """Whole numbers that are not negative, add up, and are what is known where that is: from the top down.

        Children are the nearest point (in Euclid's sense) to their estimates that is not negative and adds up to their
        parent, rounded by largest remainders.
        """
        root = known[0].get(0, max(0, round(float(estimates[0][0]))))
        final = [np.array([root], dtype=np.int64)]
        for level in range(self.levels - 1):
            parent = self.parents[level]
            order = np.argsort(parent, kind="stable")
            starts = np.searchsorted(parent[order], np.arange(len(self.nodes[level]) + 1))
            children = np.zeros(len(parent), dtype=np.int64)
            for node, total in enumerate(final[level].tolist()):
                members = order[starts[node] : starts[node + 1]]
                children[members] = _shared(estimates[level + 1][members], total, members, known[level + 1])
            final.append(children)
        return final


def _shared(estimates: Floats, total: int, members: Integers, known: Mapping[int, int]) -> Integers:
    """A total shared among siblings; known numbers stay."""
    fixed = np.array([known.get(member, -1) for member in members.tolist()], dtype=np.int64)
    free = fixed < 0
    shared = np.where(free, 0, fixed)
    left = max(total - int(shared.sum()), 0)
    if free.any():
        nearest = projected(estimates[free].reshape(1, -1), np.array([float(left)]))[0]
        floors = np.floor(nearest).astype(np.int64)
        missing = left - int(floors.sum())
        ranked = np.argsort(floors - nearest, kind="stable")
        floors[ranked[: max(missing, 0)]] += 1
        shared[free] = floors
    return shared
