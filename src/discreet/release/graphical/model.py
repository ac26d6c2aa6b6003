"""Distributions over many attributes that are products of factors over few: belief propagation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from string import ascii_letters
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.release.graphical.junction import Clique, JunctionTree

Floats = NDArray[np.float64]
LARGE: Final = 10**6
"""Products of more cells than that are left to BLAS."""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A distribution, by the marginal of every clique of its junction tree.

    Theorem  Of all distributions with these marginals it is the one of the largest entropy: the product of the
             cliques' marginals over that of the separators'. Source: Wainwright & Jordan 2008.
    """

    tree: JunctionTree
    marginals: tuple[Floats, ...]
    """Of the cliques; each adds up to 1, and neighbours agree on what they share."""

    @classmethod
    def of(cls, tree: JunctionTree, potentials: Sequence[Floats]) -> Model:
        """The distribution ∝ exp(Σ potentials), by messages to the root and back.

        Theorem  The marginals are those of the joint distribution. Proof: E over its sum is the conditional of a
                 clique given its separator, with all that lies behind it summed out; times the separator's marginal,
                 which the parent knows, it is the clique's. Source: Lauritzen & Spiegelhalter 1988.

        Logarithms keep what is far apart apart: each conditional is scaled by its own largest term.
        """
        count = len(tree.cliques)
        inside, sums, gathered = [_EMPTY] * count, [_EMPTY] * count, list(potentials)
        for index in range(count - 1, -1, -1):
            axes = outside(tree.cliques[index], tree.separators[index])
            total = gathered[index]
            top = total.max(axis=axes, keepdims=True)
            inside[index] = np.exp(total - top)
            sums[index] = inside[index].sum(axis=axes, keepdims=True)
            parent = tree.parents[index]
            if parent >= 0:
                message = (np.log(sums[index]) + top).squeeze(axis=axes)
                gathered[parent] = gathered[parent] + spread(message, tree.separators[index], tree.cliques[parent])
        marginals: list[Floats] = []
        for index, parent in enumerate(tree.parents):
            if parent < 0:
                marginals.append(inside[index] / sums[index])
                continue
            shared = project(marginals[parent], tree.cliques[parent], tree.separators[index])
            marginals.append(inside[index] * (shared.reshape(sums[index].shape) / sums[index]))
        return cls(tree, tuple(marginals))

    def marginal(self, attributes: Clique) -> Floats:
        """Of attributes that one clique holds together."""
        index = self.tree.home(attributes)
        return project(self.marginals[index], self.tree.cliques[index], attributes)

    def pairs(self, wanted: Collection[Clique] | None = None) -> dict[Clique, Floats]:
        """The marginals of all pairs of attributes, or of those that are wanted.

        Proof   Given a separator, what lies on its two sides is independent: P(i, D) = Σ P(i, S)·P(D | S), clique by
                clique away from one that has i.
        """
        around = self.tree.around()
        tables = _Tables(self)
        joints: dict[Clique, Floats] = {}
        named = set(pairs_of(len(self.tree.sizes)) if wanted is None else wanted)
        for attribute in range(len(self.tree.sizes)):
            start = self.tree.home((attribute,))
            walk = [(start, -1, self.tree.cliques[start], self.marginals[start])]
            while walk:
                index, before, names, joint = walk.pop()
                for other in self.tree.cliques[index]:
                    if (attribute, other) in named and (attribute, other) not in joints:
                        joints[attribute, other] = tables.reached(index, names, joint, attribute, other)
                walk += [
                    (next_, index, *tables.carried(index, next_, names, joint, attribute))
                    for next_ in around[index]
                    if next_ != before
                ]
        return joints


_EMPTY: Floats = np.zeros(0)


class _Tables:
    """Conditionals that walks over a model share, each computed once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._conditional = lru_cache(maxsize=None)(self._computed)

    def reached(self, index: int, names: Clique, joint: Floats, attribute: int, other: int) -> Floats:
        """P(attribute, other), for an attribute of the clique, by the joint of the attribute and a separator of it."""
        if attribute in names and other in names and attribute != other:
            axes = tuple(axis for axis, name in enumerate(names) if name not in (attribute, other))
            summed: Floats = joint.sum(axis=axes)
            return summed if names.index(attribute) < names.index(other) else summed.T
        return self._product(names, joint, index, (other,), (attribute, other))

    def carried(self, index: int, next_: int, names: Clique, joint: Floats, attribute: int) -> tuple[Clique, Floats]:
        """The joint of an attribute and of what the next clique shares with this one."""
        shared = tuple(sorted(set(self._model.tree.cliques[index]) & set(self._model.tree.cliques[next_])))
        wanted = shared if attribute in shared else (attribute, *shared)
        if set(wanted) <= set(names):
            axes = tuple(axis for axis, name in enumerate(names) if name not in wanted)
            left = tuple(name for name in names if name in wanted)
            return wanted, np.transpose(joint.sum(axis=axes), [left.index(name) for name in wanted])
        return wanted, self._product(names, joint, index, shared, wanted)

    def _product(self, names: Clique, joint: Floats, index: int, more: Clique, wanted: Clique) -> Floats:
        """Σ P(attribute, S)·P(more | S), for what is known of the clique by S."""
        known = tuple(name for name in names if name in self._model.tree.cliques[index])
        all_, conditional = self._conditional(index, known, more)
        letter = dict(zip(dict.fromkeys(names + all_), ascii_letters, strict=False))
        one, other, out = ("".join(letter[name] for name in listed) for listed in (names, all_, wanted))
        large = joint.size * conditional.size > LARGE  # for small ones to look for a better way takes longer
        product: Floats = np.einsum(f"{one},{other}->{out}", joint, conditional, optimize=large)
        return product

    def _computed(self, index: int, known: Clique, more: Clique) -> tuple[Clique, Floats]:
        clique = self._model.tree.cliques[index]
        all_ = tuple(name for name in clique if name in known or name in more)
        joint = project(self._model.marginals[index], clique, all_)
        below = joint.sum(axis=tuple(axis for axis, name in enumerate(all_) if name not in known), keepdims=True)
        return all_, np.divide(joint, below, out=np.zeros_like(joint), where=below > 0)


def independent(sizes: Sequence[int]) -> Model:
    """The uniform distribution."""
    tree = JunctionTree.of(sizes, ())
    return Model.of(tree, [np.zeros([sizes[each] for each in clique]) for clique in tree.cliques])


def outside(clique: Clique, attributes: Clique) -> tuple[int, ...]:
    """The axes of a clique that are not among the attributes."""
    return tuple(axis for axis, attribute in enumerate(clique) if attribute not in attributes)


def project(array: Floats, clique: Clique, attributes: Clique) -> Floats:
    """Summed over all axes but these attributes'."""
    summed: Floats = array.sum(axis=outside(clique, attributes))
    return summed


def spread(array: Floats, attributes: Clique, clique: Clique) -> Floats:
    """As a factor of the clique: with an axis of length 1 for each attribute that it does not depend on."""
    lengths = dict(zip(attributes, array.shape, strict=True))
    return array.reshape([lengths.get(attribute, 1) for attribute in clique])


def brute_force(model: Model) -> Floats:
    """The joint distribution as one array: for tests, and for domains that are small."""
    every = tuple(range(len(model.tree.sizes)))
    joint = np.ones(model.tree.sizes)
    for clique, separator, marginal in zip(model.tree.cliques, model.tree.separators, model.marginals, strict=True):
        below = marginal.sum(axis=outside(clique, separator), keepdims=True)
        conditional = np.divide(marginal, below, out=np.zeros_like(marginal), where=below > 0)
        joint = joint * spread(conditional, clique, every)
    return joint


def pairs_of(count: int) -> list[Clique]:
    """All pairs of so many attributes."""
    return list(combinations(range(count), 2))
