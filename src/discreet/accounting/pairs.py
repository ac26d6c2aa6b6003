"""Pairs of distributions that say all about a release: what an attacker may see with a unit (P), and without it (Q).

Definition  A pair dominates a release if for every ε its hockey-stick divergence sup over events of P − e^ε·Q is at
            least that of the release on any two neighbours. Pairs of steps that are chosen in advance, or adaptively
            among releases with the same pairs, may be multiplied: the product dominates the composition.
Source      Zhu, Dong & Wang 2022, Theorems 10 and 11.

A pair is asked for one thing only: how much of P and of Q lies between given privacy losses L = ln(P/Q). That is all
that any divergence depends on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

from discreet.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


Floats: TypeAlias = "NDArray[np.float64]"


class Pair(Protocol):
    """P over Q."""

    @property
    def size(self) -> float:
        """About how large losses are: a guide for how finely to cut them, and nothing rests on it."""

    def support(self, miss: float) -> tuple[float, float]:
        """Losses below which, and above which, P and Q have at most `miss` each."""

    def cells(self, edges: Floats) -> tuple[Floats, Floats]:
        """P and Q of the losses up to the first edge, between each two, and above the last: one more than edges."""


@dataclass(frozen=True, slots=True)
class GaussianPair:
    """N(μ, 1) over N(0, 1): noise of standard deviation σ on what a unit moves by μσ in L2 norm.

    The loss μ·x − μ²/2 is itself normal, with mean ±μ²/2 and standard deviation μ. A vector has the pair of its norm:
    rotate it (Dong, Roth & Su 2022).
    """

    shift: float

    @property
    def size(self) -> float:
        return self.shift

    def support(self, miss: float) -> tuple[float, float]:
        far = self.shift**2 / 2 + self.shift * math.sqrt(-2 * math.log(miss))
        return -far, far

    def cells(self, edges: Floats) -> tuple[Floats, Floats]:
        centred = edges / self.shift
        return _normal_cells(centred - self.shift / 2), _normal_cells(centred + self.shift / 2)


@dataclass(frozen=True, slots=True)
class LaplacePair:
    """Laplace noise on a number that a unit moves by ε scales: losses from −ε to ε, much of P at ε and of Q at −ε.

    P(L > l) = 1 − e^(−(ε − l)/2)/2 and Q(L > l) = e^(−(ε + l)/2)/2 for −ε ≤ l < ε.
    """

    epsilon: float

    @property
    def size(self) -> float:
        return min(self.epsilon, 1.0)

    def support(self, miss: float) -> tuple[float, float]:  # noqa: ARG002  (there is nothing beyond)
        return -self.epsilon, self.epsilon

    def cells(self, edges: Floats) -> tuple[Floats, Floats]:
        inside = np.clip(edges, -self.epsilon, self.epsilon)
        near, far = np.exp((inside - self.epsilon) / 2) / 2, np.exp(-(inside + self.epsilon) / 2) / 2
        low, high = edges < -self.epsilon, edges >= self.epsilon
        p_below, p_above = _within(near, low, high), _within(1 - near, high, low)
        q_below, q_above = _within(1 - far, low, high), _within(far, high, low)
        return _between(p_below, p_above), _between(q_below, q_above)


@dataclass(frozen=True)
class Atoms:
    """Finitely many losses, ascending, each with its P; its Q is that times e^−loss."""

    losses: Floats
    masses: Floats

    @cached_property
    def size(self) -> float:
        return math.sqrt(float((self.masses * np.minimum(self.losses**2, 1.0)).sum()))

    def support(self, miss: float) -> tuple[float, float]:
        """Beyond which both have at most half of `miss`, as sums of masses in float64 may err a little."""
        others = self.masses * np.exp(-self.losses)
        below = np.maximum(np.cumsum(self.masses), np.cumsum(others))
        above = np.maximum(np.cumsum(self.masses[::-1]), np.cumsum(others[::-1]))
        first, last = np.searchsorted(below, miss / 2), np.searchsorted(above, miss / 2)
        return float(self.losses[first]), float(self.losses[len(self.losses) - 1 - last])

    def cells(self, edges: Floats) -> tuple[Floats, Floats]:
        places, count = np.searchsorted(edges, self.losses, side="left"), len(edges) + 1
        others = self.masses * np.exp(-self.losses)
        p, q = (np.bincount(places, weights=each, minlength=count) for each in (self.masses, others))
        return p.astype(np.float64), q.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Swapped:
    """Q over P: the other direction, from without the unit to with it."""

    pair: Pair

    @property
    def size(self) -> float:
        return self.pair.size

    def support(self, miss: float) -> tuple[float, float]:
        low, high = self.pair.support(miss)
        return -high, -low

    def cells(self, edges: Floats) -> tuple[Floats, Floats]:
        p, q = self.pair.cells(-edges[::-1])
        return q[::-1], p[::-1]


@dataclass(frozen=True, slots=True)
class SampledPair:
    """(1 − r)·Q + r·P over Q: each unit takes part with probability r, by a coin of its own that nobody sees.

    Theorem  If P over Q dominates a release for adding a unit, this does so for the release on a Poisson sample.
    Source   Zhu, Dong & Wang 2022, Theorem 11; the other direction is that of `Swapped`.
    """

    pair: Pair
    rate: float

    @property
    def size(self) -> float:
        base = self.pair.size
        return min(base, self.rate * math.sqrt(math.expm1(min(base**2, 600.0))))

    def support(self, miss: float) -> tuple[float, float]:
        low, high = self.pair.support(miss)
        return self._moved(low), self._moved(high)

    def _moved(self, loss: float) -> float:
        """ln(1 − r + r·e^loss)."""
        return loss + math.log(self.rate + (1 - self.rate) * math.exp(-loss)) if loss > 0 else (
            math.log1p(self.rate * math.expm1(loss))
        )  # fmt: skip

    def cells(self, edges: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore", over="ignore"):
            small = np.log(np.maximum(1 + np.expm1(np.minimum(edges, 30.0)) / self.rate, 0.0))
            large = edges + np.log((1 - (1 - self.rate) * np.exp(-edges)) / self.rate, where=edges > 30, out=edges * 1)
        p, q = self.pair.cells(np.where(edges > 30, large, small))
        return (1 - self.rate) * q + self.rate * p, q


def _within(values: Floats, nothing: NDArray[np.bool_], everything: NDArray[np.bool_]) -> Floats:
    return np.where(nothing, 0.0, np.where(everything, 1.0, values))


def _between(below: Floats, above: Floats) -> Floats:
    """Cells from both tails: differences of the smaller ones, which are exact to the last digits."""
    left = np.diff(below, prepend=0.0)
    right = -np.diff(above, append=0.0)
    inner = np.where(below[1:] <= 0.5, left[1:], right[:-1]) if len(below) > 1 else np.empty(0)
    return np.asarray(np.maximum(np.concatenate([below[:1], inner, above[-1:]]), 0.0))


def _normal_cells(edges: Floats) -> Floats:
    below, above = _normal_below(edges), _normal_below(-edges)
    return _between(below, above)


def _normal_below(points: Floats) -> Floats:
    """Φ, one by one: NumPy has no erfc."""
    root = math.sqrt(0.5)
    return np.array([0.5 * math.erfc(-root * x) for x in points.tolist()])
