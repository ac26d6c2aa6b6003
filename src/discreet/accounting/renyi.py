"""Rényi divergences of noise, also on Poisson samples.

The classical accountant of private training: divergences of one order add up over steps, and D_α ≤ d gives (ε, δ)-DP
for ε = d + (ln(1/δ) + (α − 1)·ln(1 − 1/α) − ln α)/(α − 1) (Canonne, Kamath & Steinke 2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

from discreet.accounting.loss_grid import LossGrid
from discreet.accounting.pairs import GaussianPair, Pair, SampledPair, Swapped
from discreet.late import np

ORDERS: Final = (*(1 + x / 10 for x in range(1, 100)), *range(11, 64), *range(64, 512, 16), 512, 1024, 2048)
CUTS: Final = 4096


def gaussian_divergence(sigma: float, order: float) -> float:
    """α/(2σ²) (Gil, Alajaji & Linder 2013)."""
    return order / (2 * sigma**2)


def laplace_divergence(epsilon: float, order: float) -> float:
    """ln(α/(2α−1)·e^((α−1)ε) + (α−1)/(2α−1)·e^(−αε))/(α − 1) (Mironov 2017, Table II)."""
    near = math.log(order / (2 * order - 1)) + (order - 1) * epsilon
    far = math.log((order - 1) / (2 * order - 1)) - order * epsilon
    return (near + math.log1p(math.exp(far - near))) / (order - 1)


def sampled_divergence(whole: Callable[[float], float], pair: Pair, rate: float, order: float) -> float:
    """Of an event on a Poisson sample, of the worse direction.

    Theorem  Let A(α) = ln E_Q[(1 − r + r·P/Q)^α] = (α − 1)·D_α. For whole α it is the binomial sum
             Σ C(α, k)·(1 − r)^(α−k)·r^k·e^((k−1)·D_k(P‖Q)). Between whole orders A lies below its chord.
    Proof    The sum is the binomial theorem, with E_Q[(P/Q)^k] = e^((k−1)·D_k). ln E[X^α] is convex in α (Hölder).
    Source   Mironov, Talwar & Zhang 2019: for Gaussian noise this direction is the worse one. For bounded losses the
             other one is bounded by cutting losses into cells, which raises every f-divergence (`loss_grid`).
    """
    if rate == 1:
        return whole(order)
    below = max(math.floor(order), 1)
    low, high = _binomial(whole, rate, below), _binomial(whole, rate, below + 1)
    grown = (low + (order - below) * (high - low)) / (order - 1)
    if isinstance(pair, GaussianPair):
        return grown
    other = Swapped(SampledPair(pair, rate))
    ends = other.support(1e-300)
    grid = LossGrid.of(other, (ends[1] - ends[0]) / CUTS, 1e-300)
    return max(grown, grid.log_moment(order - 1) / (order - 1))


def _binomial(whole: Callable[[float], float], rate: float, order: int) -> float:
    """A at a whole order; 0 at 1."""
    if order == 1:
        return 0.0
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    terms = [
        math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
        + k * log_rate + (order - k) * log_rest + ((k - 1) * whole(k) if k > 1 else 0.0)
        for k in range(order + 1)
    ]  # fmt: skip
    most = max(terms)
    return most + math.log(math.fsum(math.exp(term - most) for term in terms)) + 1e-12


def epsilon_of_renyi(divergence: Callable[[float], float], delta: float, orders: Iterable[float] = ORDERS) -> float:
    """The least ε over these orders."""
    least = math.inf
    for order in orders:
        rest = (order - 1) * math.log1p(-1 / order) - math.log(order) - math.log(delta)
        least = min(least, divergence(order) + rest / (order - 1))
    return max(float(np.nextafter(least, math.inf)), 0.0)
