"""Strategies for marginals: tables over some of the attributes, in closed form and for any number of attributes.

Functions of the cells fall apart into orthogonal spaces V_A, one for each set A of attributes: those that depend on the
attributes in A alone and add up to 0 along each of them. A marginal over B needs V_A for all A ⊆ B and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.mechanisms.arrays import Integers
from discreet.release.attributes import OUTSIDE
from discreet.release.codec import demand_type, stored
from discreet.release.queries import Floats

Subset = tuple[int, ...]
"""Attributes by number, ascending."""
MOST_SUBSETS = 200_000
MOST_NUMBERS = 2**24
"""That are measured in all."""


def closure(subsets: Iterable[Subset]) -> list[Subset]:
    """All subsets of them, small ones first."""
    subsets_below: set[Subset] = set()
    for subset in subsets:
        if len(subset) > 20 or len(subsets_below) > MOST_SUBSETS:
            raise Refused("too-complex", "these are too many marginals", "use marginals of fewer attributes")
        subsets_below.update(chain.from_iterable(combinations(subset, k) for k in range(len(subset) + 1)))
    return sorted(subsets_below, key=lambda each: (len(each), each))


def needs(shape: Sequence[int], wanted: Mapping[Subset, float]) -> dict[Subset, float]:
    """c_A = tr(WᵀW·P_A) for the marginals that are wanted, with the squares of their weights.

    Proof   WᵀW of the marginal over B is a Kronecker product of I for attributes in B and 11ᵀ for others. With P_A,
            which has I − 11ᵀ/n for attributes in A and 11ᵀ/n for others, the trace is a product: n − 1 in A, 1 in B and
            not in A, n beyond B; and 0 unless A ⊆ B.
    """
    needed = dict.fromkeys(closure(wanted), 0.0)
    everything = sum(math.log(size) for size in shape)
    for subset, weight in wanted.items():
        beyond = math.exp(everything - sum(math.log(shape[i]) for i in subset))
        for inner in closure([subset]):
            needed[inner] += weight * beyond * math.prod(shape[i] - 1 for i in inner)
    return needed


@stored
@dataclass(frozen=True, eq=False)
class Marginals:
    """Marginal tables, each times an integer weight: as they are, or their part in V_A alone (`residual`).

    The residual of the marginal over A is measured as whole numbers: (n_i·I − 11ᵀ) along each attribute i of A.

    Theorem  A row moves the table over A by w_A in L1 and w_A² in L2²; its residual by w_A·∏ 2(n_i − 1), and
             w_A²·∏ n_i(n_i − 1). All tables together by the sums. On V_A, with m_B the number of cells under one
             of the marginal over B, AᵀA is λ_A times the identity: λ_A = Σ_{B ⊇ A} w_B²·m_B for tables, and
             w_A²·∏_{i ∈ A} n_i²·m_A for residuals.
    Proof    A row is in one cell of each table. A column of n·I − 11ᵀ has n − 1 once and −1 (n − 1) times: L1 2(n − 1),
             and L2² n(n − 1); norms of Kronecker products are products. (n·I − 11ᵀ)² is n² times the projection onto
             what adds up to 0, and 1ᵀ along other attributes gives m_A; tables give m_B times the projection onto
             functions of the attributes in B, which contain V_A where A ⊆ B and are orthogonal to it else.
    Source   Xiao, He, Zhang & Kifer 2023 (ResidualPlanner), with the noise on integers: a residual has
             ∏ (n_i − 1)/n_i of the cost of its table, and the other directions are not measured.
    """

    shape: tuple[int, ...]
    subsets: tuple[Subset, ...]
    weights: tuple[int, ...]
    residual: bool = True

    def __post_init__(self) -> None:
        demand_type(
            shape=(self.shape, tuple), subsets=(self.subsets, tuple), weights=(self.weights, tuple),
            residual=(self.residual, bool),
        )  # fmt: skip
        if len(self.subsets) != len(self.weights) or not self.subsets or len(self.subsets) > MOST_SUBSETS:
            raise ValueError("each marginal has a weight")
        if not all(type(each) is int and each > 0 for each in (*self.shape, *self.weights)):
            raise ValueError("sizes and weights are whole numbers above 0")
        for subset in self.subsets:
            demand_type(subset=(subset, tuple))
            known = all(type(i) is int and 0 <= i < len(self.shape) for i in subset)
            if not known or list(subset) != sorted(set(subset)):
                raise ValueError("marginals name attributes in order")
        if self.rows > MOST_NUMBERS:
            raise ValueError("these are too many numbers")

    @property
    def name(self) -> str:
        return f"{len(self.subsets)} {'residuals of marginals' if self.residual else 'marginals'}"

    @property
    def rows(self) -> int:
        return sum(self._size(subset) for subset in self.subsets)

    def _size(self, subset: Subset) -> int:
        return math.prod(self.shape[i] for i in subset)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        l1 = l2_squared = 0
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            sides = [self.shape[i] for i in subset] if self.residual else []
            l1 += weight * math.prod(2 * (n - 1) for n in sides)
            l2_squared += weight**2 * math.prod(n * (n - 1) for n in sides)
        return Sensitivity(Fraction(l1), Fraction(l2_squared))

    def measured(self, codes: Integers) -> Integers:
        """From the codes of rows: no table over all attributes is made. Rows outside of the domain are left out."""
        inside = codes[(codes != OUTSIDE).all(axis=1)]
        parts = []
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            sides = tuple(self.shape[i] for i in subset)
            cells = np.zeros(len(inside), dtype=np.int64)
            for i in subset:
                cells = cells * self.shape[i] + inside[:, i]
            table = np.bincount(cells, minlength=self._size(subset)).astype(np.int64).reshape(sides)
            if self.residual:
                for axis, n in enumerate(sides):
                    table = n * table - table.sum(axis=axis, keepdims=True)
            parts.append(weight * table.ravel())
        return np.concatenate(parts)

    # back

    @cached_property
    def eigenvalues(self) -> dict[Subset, float]:
        """λ_A, divided by the number of all cells: that may be beyond any float."""
        share = {subset: 1 / self._size(subset) for subset in self.subsets}
        squares = {subset: float(weight) ** 2 for subset, weight in zip(self.subsets, self.weights, strict=True)}
        if self.residual:
            return {subset: squares[subset] * self._size(subset) ** 2 * share[subset] for subset in self.subsets}
        parts = dict.fromkeys(closure(self.subsets), 0.0)
        for subset in self.subsets:
            for inner in closure([subset]):
                parts[inner] += squares[subset] * share[subset]
        return parts

    def trace(self, needed: Mapping[Subset, float]) -> float:
        """Σ c_A/λ_A: the variance of all answers together, for noise of variance 1."""
        cells = math.exp(-sum(math.log(size) for size in self.shape))
        return sum(need * cells / self.eigenvalues[subset] for subset, need in needed.items())

    def components(self, values: Floats) -> dict[Subset, Floats]:
        """Of the least-squares estimate its part in each V_A, summed over all cells under one of the table over A."""
        tables, start = {}, 0
        for subset, weight in zip(self.subsets, self.weights, strict=True):
            size = self._size(subset)
            sides = tuple(self.shape[i] for i in subset)
            tables[subset] = weight * values[start : start + size].reshape(sides)
            start += size
        parts = {subset: np.zeros(tuple(self.shape[i] for i in subset)) for subset in self.eigenvalues}
        for subset, table in tables.items():
            if self.residual:
                for axis, n in enumerate(table.shape):
                    table = n * table - table.sum(axis=axis, keepdims=True)
                parts[subset] = table
                continue
            for inner in closure([subset]):
                others = tuple(axis for axis, i in enumerate(subset) if i not in inner)
                parts[inner] = parts[inner] + _without_means(table.mean(axis=others))
        return {A: part / self.eigenvalues[A] / self._size(A) for A, part in parts.items()}

    def table(self, components: Mapping[Subset, Floats], subset: Subset) -> Floats:
        """The marginal over some attributes, of the estimate."""
        sides = tuple(self.shape[i] for i in subset)
        total = np.zeros(sides)
        for inner in closure([subset]):
            if inner not in components:
                raise Refused("release-invalid", "this marginal was not measured", "ask for those of the workload")
            spread = math.prod(self.shape[i] for i in subset if i not in inner)
            wide = components[inner].reshape([self.shape[i] if i in inner else 1 for i in subset])
            total = total + wide / spread
        return total


def _without_means(table: Floats) -> Floats:
    """Its part that adds up to 0 along each axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def residual_weights(shape: Sequence[int], needed: Mapping[Subset, float], *, pure: bool) -> dict[Subset, float]:
    """The weights of residuals with the least error, up to a common factor.

    Theorem  With c_A = needed, λ_A = w_A²·k_A, and a cost Σ w_A²·p_A (L2²) or Σ w_A·p_A (L1), the sum Σ c_A/λ_A
             at cost 1 is least where w_A² ∝ √(c_A/(k_A·p_A)), or w_A ∝ (c_A/(k_A·p_A))^(1/3).
    Proof    Lagrange: the derivatives −c_A/(k_A·w_A⁴) of a convex sum in w_A², and −2c_A/(k_A·w_A³) in w_A, are the
             same multiple of p_A.
    """
    weights = {}
    for subset, need in needed.items():
        sides = [shape[i] for i in subset]
        gain = math.prod(sides)  # k_A, divided by the number of all cells
        if pure:
            weights[subset] = (need / (gain * math.prod(2 * (n - 1) for n in sides))) ** (1 / 3)
        else:
            weights[subset] = (need / (gain * math.prod(n * (n - 1) for n in sides))) ** (1 / 4)
    return weights
