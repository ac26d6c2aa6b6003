"""Junction trees: which attributes a graphical model holds together, and in which order messages pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

Clique = tuple[int, ...]
"""Attributes, in ascending order."""


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques of attributes, parents first; the attributes that two neighbours share lie in all cliques between.

    Theorem  For every set of attributes in `holds`, some clique has all of them; for each attribute, the cliques that
             have it are connected (the running intersection property).
    Proof    Eliminating attributes one by one, each with its neighbours, makes the graph chordal, and the eliminated
             sets that no other contains are its maximal cliques. A spanning tree of them whose separators have as many
             attributes as possible is a junction tree (Jensen & Jensen 1994).
    """

    sizes: tuple[int, ...]
    """How many values each attribute has."""
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    """The number of each clique's parent, before it; the first has none, and −1."""
    separators: tuple[Clique, ...]
    """What each clique shares with its parent; nothing, where they are independent."""

    @classmethod
    def of(cls, sizes: Sequence[int], holds: Iterable[Clique]) -> JunctionTree:
        """A tree whose cliques hold all of these sets, and every attribute."""
        cliques = _maximal(sizes, holds)
        order, parents, separators = [0], [-1], list[Clique]([()])
        best = {index: _joined(cliques, index, 0) for index in range(1, len(cliques))}
        at = {0: 0}
        while best:
            index = max(best, key=lambda each: (len(best[each][1]), -each))
            parent, separator = best.pop(index)
            at[index] = len(order)
            order.append(index)
            parents.append(at[parent])
            separators.append(separator)
            for other in best:
                joined = _joined(cliques, other, index)
                if len(joined[1]) > len(best[other][1]):
                    best[other] = joined
        return cls(tuple(sizes), tuple(cliques[index] for index in order), tuple(parents), tuple(separators))

    @property
    def cells(self) -> int:
        """Of all cliques together: what memory and time of a fit grow with."""
        return sum(cells_of(self.sizes, clique) for clique in self.cliques)

    def home(self, attributes: Clique) -> int:
        """The number of the smallest clique that has all of these."""
        places = [index for index, clique in enumerate(self.cliques) if set(attributes) <= set(clique)]
        return min(places, key=lambda index: cells_of(self.sizes, self.cliques[index]))

    def around(self) -> list[list[int]]:
        """For each clique the places of its neighbours."""
        neighbours: list[list[int]] = [[] for _ in self.cliques]
        for index, parent in enumerate(self.parents):
            if parent >= 0:
                neighbours[index].append(parent)
                neighbours[parent].append(index)
        return neighbours

    def cells_with_pairs(self) -> dict[Clique, int]:
        """For every pair of attributes: with how many cells a junction tree can hold it too.

        Proof   On the way from a clique that has i to one that has j, put between neighbours a clique of i and of what
                the separators S before and S' behind hold: it hangs on its predecessor by S and i, on the clique that
                it passes by S and S'. The last one has i, j and S. Where the way crosses an empty separator, a clique
                of i and j alone is enough.
        """
        around = self.around()
        here = self.cells
        cells: dict[Clique, int] = {}
        for attribute in range(len(self.sizes)):
            start = self.home((attribute,))
            walk: list[tuple[int, int, frozenset[int], int]] = [(start, -1, frozenset((attribute,)), 0)]
            while walk:
                index, before, held, more = walk.pop()
                for other in self.cliques[index]:
                    if other > attribute:
                        new = 0 if attribute in self.cliques[index] else self._product(held | {attribute, other})
                        pair = (attribute, other)
                        cells[pair] = min(cells.get(pair, here + more + new), here + more + new)
                walk += [
                    (next_, index, *self._passed(index, next_, attribute, held, more))
                    for next_ in around[index]
                    if next_ != before
                ]
        return cells

    def _passed(
        self, index: int, next_: int, attribute: int, held: frozenset[int], more: int
    ) -> tuple[frozenset[int], int]:
        """What the next clique shares with this one, and how many cells the way to it costs."""
        shared = frozenset(self.cliques[index]) & frozenset(self.cliques[next_])
        if attribute in self.cliques[index] or not shared:
            return shared, 0
        return shared, more + self._product(held | shared | {attribute})

    def _product(self, attributes: Iterable[int]) -> int:
        return math.prod(self.sizes[attribute] for attribute in attributes)


def cells_of(sizes: Sequence[int], clique: Clique) -> int:
    """How many combinations of values these attributes have."""
    return math.prod(sizes[attribute] for attribute in clique)


def _joined(cliques: Sequence[Clique], index: int, parent: int) -> tuple[int, Clique]:
    return parent, tuple(sorted(set(cliques[index]) & set(cliques[parent])))


def _maximal(sizes: Sequence[int], holds: Iterable[Clique]) -> list[Clique]:
    """The maximal cliques of a chordal graph over these sets: attributes go in the order that makes the least cells."""
    beside: dict[int, set[int]] = {attribute: set() for attribute in range(len(sizes))}
    for clique in holds:
        for one, other in combinations(clique, 2):
            beside[one].add(other)
            beside[other].add(one)
    maximal: list[Clique] = []
    while beside:
        attribute = min(beside, key=lambda each: (cells_of(sizes, (each, *beside[each])), each))
        around = beside.pop(attribute)
        clique = tuple(sorted({attribute, *around}))
        if not any(set(clique) <= set(other) for other in maximal):
            maximal.append(clique)
        for other in around:
            beside[other] |= around - {other}
            beside[other].discard(attribute)
    return maximal
