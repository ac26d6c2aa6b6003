"""Counts of a private column, in cells known beforehand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.accounting.losses import Loss, Sensitivity
from discreet.exact import MOST_EXTENT, Number, number
from discreet.late import np
from discreet.mechanisms.arrays import Integers, column
from discreet.mechanisms.calibrated import Additive, additive
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, init=False, slots=True)
class Histogram:
    """Count the units in each cell and add noise to every count, also where there is nobody.

    Theorem  ε-DP (Laplace noise of scale 1/ε) or ρ-zCDP: a unit is in one cell at most, so k disjoint cells together
             have sensitivity 1.
    Error    That of the noise, for one cell at a time.
    Source   Dwork, McSherry, Nissim & Smith 2006, Example 3.

    Cells are `keys` (labels), or the intervals between `edges`: [e₀, e₁), …, the last one closed. Whatever lies in no
    cell is not counted.
    """

    keys: tuple[Hashable, ...] | None
    edges: tuple[Fraction, ...] | None
    mechanism: Additive

    def __init__(
        self,
        *,
        keys: Iterable[Hashable] | None = None,
        edges: Sequence[Number] | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        if (keys is None) == (edges is None):
            raise TypeError("give either keys (labels) or edges (numbers), known without looking at the data")
        object.__setattr__(self, "keys", None if keys is None else _distinct(keys))
        object.__setattr__(self, "edges", None if edges is None else _ascending(edges))
        object.__setattr__(self, "mechanism", additive(Sensitivity.cells(1, 1), epsilon=epsilon, rho=rho))

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss

    def release(self, values: ArrayLike | Sequence[Hashable], bits: Bits | None = None) -> Integers:
        """The noisy count of every cell, in the order of the keys or edges."""
        counts = self._by_key(values) if self.keys is not None else self._by_edge(values)
        return np.asarray(self.mechanism.release(counts, bits), dtype=np.int64)

    def error(self, confidence: Number = 0.95) -> float:
        """The half-width of the interval of one count."""
        return self.mechanism.error(confidence)

    def _by_key(self, values: ArrayLike | Sequence[Hashable]) -> Integers:
        assert self.keys is not None
        places = {key: index for index, key in enumerate(self.keys)}
        if isinstance(values, np.ndarray):
            values = values.tolist()
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError("values must be a list or array of labels, one for each unit")
        indices = [index for value in values if (index := _place(value, places)) is not None]
        return np.bincount(np.array(indices, dtype=np.int64), minlength=len(places)).astype(np.int64)

    def _by_edge(self, values: ArrayLike | Sequence[Hashable]) -> Integers:
        assert self.edges is not None
        numbers = column(values)  # type: ignore[arg-type]
        counts, _ = np.histogram(numbers, bins=np.array([float(edge) for edge in self.edges]))
        return counts.astype(np.int64)


def _place(value: object, places: dict[Hashable, int]) -> int | None:
    try:
        return places.get(value)
    except TypeError:  # not hashable, so no label either
        return None


def _distinct(keys: Iterable[Hashable]) -> tuple[Hashable, ...]:
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError("keys must be a list of labels")
    labels = tuple(keys)
    try:
        different = len(set(labels))
    except TypeError:
        raise TypeError("keys must be hashable: strings, numbers, tuples of such") from None
    if not labels or different < len(labels):
        raise ValueError("keys must be at least one label, each once")
    return labels


def _ascending(edges: Sequence[Number]) -> tuple[Fraction, ...]:
    if not isinstance(edges, Iterable):
        raise TypeError("edges must be a list of numbers")
    numbers = tuple(number(edge, "edges") for edge in edges)
    if len(numbers) < 2 or any(a >= b for a, b in pairwise(numbers)):
        raise ValueError("edges must be at least two numbers in ascending order")
    if max(-numbers[0], numbers[-1]) > MOST_EXTENT:
        raise ValueError("edges must be numbers between -1e100 and 1e100: use another unit")
    return numbers
