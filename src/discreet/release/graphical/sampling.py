"""Rows from a graphical model, so that their marginals are almost exactly the model's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.arrays import Integers
from discreet.release.graphical.model import Floats, Model, project

Codes = NDArray[np.int32]
Uniform = Callable[[int], Floats]
"""So many numbers, uniform between 0 and 1."""
BLOCK = 2**22
"""Cells of conditionals that are computed at once."""


def sample(model: Model, count: int, uniform: Uniform) -> list[Codes]:
    """So many rows: for each attribute its column.

    Theorem  Each row is drawn from the model, and of the rows that share the values which an attribute depends on, each
             value of it gets the expected number, rounded up or down.
    Proof    An attribute depends on those drawn before it through the clique that it is new in, and there on all that
             are not new (the running intersection property). Its rows in a group of equal values are put into random
             order, and value v gets ⌊C(v) + u⌋ − ⌊C(v − 1) + u⌋ of them, with C the expected numbers added up and one
             uniform u: that is C(v) − C(v − 1) on average, and never farther from it than 1 (systematic sampling).
    """
    tree = model.tree
    columns: dict[int, Codes] = {}
    for clique, separator, marginal in zip(tree.cliques, tree.separators, model.marginals, strict=True):
        given = separator
        for attribute in clique:
            if attribute in columns:
                continue
            names = tuple(sorted((*given, attribute)))
            table = np.moveaxis(project(marginal, clique, names), names.index(attribute), -1)
            columns[attribute] = drawn(table, [columns[each] for each in given], count, uniform)
            given = names
    return [columns[attribute] for attribute in range(len(tree.sizes))]


def drawn(table: Floats, given: list[Codes], count: int, uniform: Uniform) -> Codes:
    """A column, given others: the last axis of the table is its own."""
    shape = table.shape[:-1]
    group = np.ravel_multi_index(given, shape) if given else np.zeros(count, dtype=np.int64)
    flat = table.reshape(-1, table.shape[-1])
    order = np.argsort(group + uniform(count))  # by group, and within it at random
    there, sizes = np.unique(group, return_counts=True)
    column = np.empty(count, dtype=np.int32)
    step, begin = max(1, BLOCK // flat.shape[1]), 0
    for start in range(0, len(there), step):
        part, size = there[start : start + step], sizes[start : start + step]
        values = _rounded(flat[part], size, uniform)
        column[order[begin : begin + len(values)]] = values
        begin += len(values)
    return column


def _rounded(weights: Floats, sizes: NDArray[np.int64], uniform: Uniform) -> Integers:
    """For each row of weights so many values, in about these proportions."""
    ends = np.cumsum(weights, axis=1)
    whole = ends[:, -1:]
    even = np.arange(1, weights.shape[1] + 1) / weights.shape[1]
    ends = np.where(whole > 0, ends / np.where(whole > 0, whole, 1), even)  # nobody was expected here: as good as any
    last = np.floor(ends * sizes[:, None] + uniform(len(sizes))[:, None]).astype(np.int64)
    last = np.minimum(last, sizes[:, None])
    last[:, -1] = sizes
    counts = np.diff(last, axis=1, prepend=0)
    return np.repeat(np.tile(np.arange(weights.shape[1]), len(sizes)), counts.ravel())
