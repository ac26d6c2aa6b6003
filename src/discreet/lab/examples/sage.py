"""Sage: data that grows, in blocks; every block has a budget, and a model is let out if it is surely good enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms import Laplace
from discreet.stream.scheduling import Demand
from discreet.stream.simulation import simulate

Floats = NDArray[np.float64]
FINE: Final = 1000
"""Costs are whole thousandths."""
TRIES: Final = 200
"""Test sets that are drawn for each model."""


@dataclass(frozen=True, slots=True)
class Trained:
    """How many models were trained, day after day."""

    by_blocks: tuple[int, ...]
    """Up to each day, with a budget for each block."""
    by_one: tuple[int, ...]
    """With one budget for everything."""
    spent: tuple[float, ...]
    """Of each block's budget."""


def trained(days: int, window: int, epsilon: float, budget: float) -> Trained:
    """One model a day, each from the blocks of the last days: who is granted, by block and with one budget.

    >>> trained(30, 3, 0.5, 1.5).by_blocks[-1], trained(30, 3, 0.5, 1.5).by_one[-1]
    (30, 3)
    """
    cost, capacity = round(FINE * epsilon), round(FINE * budget)
    arrivals = [
        (float(day), Demand.of(str(day), range(max(0, day - window + 1), day + 1), (cost,))) for day in range(days)
    ]
    done = simulate(arrivals, (capacity,), opened=[float(day) for day in range(days)], rule="first", patience=0.0)
    granted = [str(day) in done.waits for day in range(days)]
    by_blocks = np.cumsum(granted).tolist()
    by_one = [min(day + 1, capacity // cost) for day in range(days)]
    spent = [done.spent[day][0] / FINE for day in range(days)]
    return Trained(tuple(by_blocks), tuple(by_one), tuple(spent))


@dataclass(frozen=True, slots=True)
class Rule:
    """Sage's test of a model: rows, ε of the test, and η, how often a bad model may pass."""

    rows: int
    epsilon: float
    eta: float
    target: float
    """The loss that a model must be below."""

    def passes(self, loss: float, noisy_rows: float) -> bool:
        """Whether noisy sums of losses and of rows show that the expected loss is below the target.

        Each of three things may go wrong with η/3: the noise of the sum, that of the count, and the draw of the rows.
        Source: Lecuyer et al. 2019, for losses from 0 to 1.
        """
        slack = 2 / self.epsilon * math.log(3 / (2 * self.eta))
        least = noisy_rows - slack
        if least <= 0:
            return False
        mean = max(loss + slack, 0.0) / least
        rare = math.log(3 / self.eta)
        return mean + math.sqrt(2 * mean * rare / least) + 4 * rare / least <= self.target

    def passes_naively(self, loss: float, noisy_rows: float) -> bool:
        """The same without correction: the noisy mean against the target."""
        return noisy_rows > 0 and loss / noisy_rows <= self.target


@dataclass(frozen=True, slots=True)
class Accepted:
    """How often a model of an expected loss passes, of so many test sets."""

    loss: float
    corrected: float
    naive: float


def accepted(loss: float, rule: Rule) -> Accepted:
    """Test sets of rows that are wrong with probability `loss`, with noise, by both tests."""
    wrong = _binomials(rule.rows, loss, TRIES)
    mechanism = Laplace(epsilon=rule.epsilon / 2, sensitivity=1)
    # two vectors stand for many pairs of releases: each number of them has the noise of one
    sums = wrong + np.asarray(mechanism.release(np.zeros(TRIES, dtype=np.int64)))
    rows = rule.rows + np.asarray(mechanism.release(np.zeros(TRIES, dtype=np.int64)))
    both = [(float(a), float(b)) for a, b in zip(sums, rows, strict=True)]
    corrected = sum(rule.passes(*pair) for pair in both) / TRIES
    return Accepted(loss, corrected, sum(rule.passes_naively(*pair) for pair in both) / TRIES)


def _binomials(many: int, chance: float, draws: int) -> Floats:
    """How many of so many rows are wrong, drawn again and again: by the inverse of the exact distribution."""
    uniforms = (noise.below(2**53, draws).astype(np.float64) + 0.5) / 2**53
    return np.searchsorted(_steps(many, chance), uniforms).astype(np.float64)


@lru_cache(maxsize=64)
def _steps(many: int, chance: float) -> Floats:
    """P(wrong ≤ k) for k = 0, 1, …"""
    k = np.arange(many + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, many + 1)))])
    logs = (
        factorials[many]
        - factorials[k]
        - factorials[many - k]
        + k * math.log(chance)
        + (many - k) * math.log1p(-chance)
    )
    return np.cumsum(np.exp(logs))
