"""Ways to measure a series so that its running totals have little noise: plainly, by a tree, or by a square root.

A series x of n whole numbers has the running totals A·x, where A is the lower triangle of ones. Each way measures M·x
with noise, for a matrix M of integers, and post-processes to A·M⁻¹(M·x + z): unbiased, with the noise A·M⁻¹·z. One unit
adds to some steps, whoever it is; how far that moves M·x is `moved`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from discreet.accounting.losses import Sensitivity
from discreet.late import np
from discreet.mechanisms.arrays import Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
FINE: Final = 2**20
"""Steps that 1 has in the square root, unless noise would get too wide to be drawn."""


class Factor(Protocol):
    """A matrix M of integers and what is to be known of it. `count` is the number of steps."""

    def measured(self, exact: Integers) -> Integers:
        """M·x, exactly."""

    def moved(self, rows: int, *, once: bool) -> Sensitivity:
        """How far a unit moves M·x that adds at most `rows` in all; `once`: at most 1 to each step."""

    def totals(self, noisy: Integers) -> Floats:
        """A·M⁻¹ times what was measured: the running totals."""

    def variances(self) -> Floats:
        """Of the noise on each running total, where that on each measured number has variance 1."""


class Plain:
    """Every step is measured, and totals add them up: M is the identity.

    Theorem  A unit that adds r rows moves it by L1 ≤ r, L2² ≤ r² (all in one step), or r where steps differ.
    Error    The total of t steps has t times the variance of one.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def measured(self, exact: Integers) -> Integers:
        return exact

    def moved(self, rows: int, *, once: bool) -> Sensitivity:
        return Sensitivity.cells(min(rows, self.count), 1) if once else Sensitivity.cells(1, rows)

    def totals(self, noisy: Integers) -> Floats:
        return np.cumsum(noisy).astype(np.float64)

    def variances(self) -> Floats:
        return np.arange(1, self.count + 1, dtype=np.float64)


class Tree:
    """The binary tree, as Fenwick lays it out: node t is the sum of the steps t − lowbit(t) + 1 … t.

    Theorem  A unit that adds r rows moves it by L1 ≤ r·m and L2² ≤ r²·m, with m = ⌊log₂ n⌋ + 1; where its steps differ,
             by L2² ≤ Σ_l r·min(r, 2^l) over the levels l < m.
    Proof    A step is in one node at most of each of m levels (nodes with lowbit 2^l are disjoint), so the rows move a
             level by v ≥ 0 with Σv ≤ r, hence Σv² ≤ r·max v ≤ r². Where steps differ, a node of 2^l steps moves by at
             most 2^l: max v ≤ min(r, 2^l).
    Error    The total of t steps is the sum of as many nodes as t has ones in binary: at most m.
    Source   Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        steps = np.arange(1, count + 1)
        self._starts = steps - (steps & -steps)

    @property
    def levels(self) -> int:
        return self.count.bit_length()

    def measured(self, exact: Integers) -> Integers:
        sums = np.concatenate([[0], np.cumsum(exact)])
        measured: Integers = sums[1:] - sums[self._starts]
        return measured

    def moved(self, rows: int, *, once: bool) -> Sensitivity:
        most = min(rows, self.count) if once else rows
        squares = (most * (min(most, 2**level) if once else most) for level in range(self.levels))
        return Sensitivity(Fraction(most * self.levels), Fraction(sum(squares)))

    def totals(self, noisy: Integers) -> Floats:
        sums = np.zeros(self.count + 1)
        for step in range(1, self.count + 1):
            sums[step] = sums[self._starts[step - 1]] + noisy[step - 1]
        return sums[1:]

    def variances(self) -> Floats:
        return np.array([step.bit_count() for step in range(1, self.count + 1)], dtype=np.float64)


class SquareRoot:
    """The square root of A, a lower-triangular Toeplitz matrix, on a grid of 1/f, f being `fine`.

    M = ⌊f·C⌉ with C_st = c_{s−t}, c_0 = 1, c_k = c_{k−1}·(2k − 1)/(2k): then C·C = A.

    Theorem  A unit that adds r rows moves M·x by L1 ≤ r·Σ m_k and L2² ≤ r²·Σ m_k², with m the first column of M; where
             its steps differ, by no more than one that adds 1 to each of the first r steps.
    Proof    M·x moves by Σ u_t·M_t, with the columns M_t and u ≥ 0, Σu ≤ r. Norms are convex and each column is the
             first one shifted and cut off, so the norm is at most r·‖M_1‖: several contributions of a unit need no
             distance between them. Where u is 0 or 1 in r places s_1 < s_2 < …, L2² is Σ_ij ⟨M_{s_i}, M_{s_j}⟩, and
             ⟨M_s, M_t⟩ = Σ_k m_k·m_{k+|s−t|} over k < n − max(s, t) rises neither with |s − t| nor with max(s, t),
             because m ≥ 0 falls (its rounding is monotone). Since s_i ≥ i and |s_i − s_j| ≥ |i − j|, the first r
             columns have all of these products at least as large. For L1, columns have no negative entries, and their
             sums fall with t.
    Error    A·M⁻¹ is a Toeplitz matrix again; with b its first column, the total of t steps has Σ_{k<t} b_k² times the
             variance of one number: about (1 + ln(t)/π)/f².
    Source   Fichtenberger, Henzinger & Upadhyay 2023; Henzinger, Upadhyay & Upadhyay 2023; participations as in Kalinin
             & Lampert 2024.
    """

    def __init__(self, count: int, fine: int = FINE) -> None:
        self.count = count
        self.fine = fine
        ratio = np.arange(1, 2 * count - 1, 2) / np.arange(2, 2 * count, 2)
        root = np.cumprod(np.concatenate([[1.0], ratio]))
        self.column: Integers = np.rint(root * fine).astype(np.int64)
        """The first column of M. Rounding is monotone, so it falls as the root does."""

    def measured(self, exact: Integers) -> Integers:
        return np.convolve(self.column, exact)[: self.count].astype(np.int64)

    def moved(self, rows: int, *, once: bool) -> Sensitivity:
        if not once:
            l1, squares = sum(self.column.tolist()), sum(each**2 for each in self.column.tolist())
            return Sensitivity(Fraction(rows * l1), Fraction(rows**2 * squares))
        first = np.zeros(self.count, dtype=np.int64)
        first[:rows] = 1
        moved = self.measured(first).tolist()
        return Sensitivity(Fraction(sum(moved)), Fraction(sum(each**2 for each in moved)))

    def totals(self, noisy: Integers) -> Floats:
        return np.cumsum(self._solved(noisy.astype(np.float64)))

    def variances(self) -> Floats:
        impulse = np.zeros(self.count)
        impulse[0] = 1.0
        return np.cumsum(np.cumsum(self._solved(impulse)) ** 2)

    def _solved(self, values: Floats) -> Floats:
        """M⁻¹ times the values, one step after the other."""
        column = self.column / self.fine
        solved = np.zeros(self.count)
        for step in range(self.count):
            known = column[1 : step + 1] @ solved[step - 1 :: -1] if step else 0.0
            solved[step] = values[step] / self.fine - known
        return solved


FACTORS: Final[dict[str, type[Plain] | type[Tree] | type[SquareRoot]]] = {
    "plain": Plain,
    "tree": Tree,
    "root": SquareRoot,
}
