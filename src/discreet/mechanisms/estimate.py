"""A value with its interval."""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar

from discreet.exact import Number, probability, whole

Value = TypeVar("Value")


class Estimate(NamedTuple, Generic[Value]):
    """A released value and the interval that holds the truth with the confidence asked for."""

    value: Value
    interval: tuple[Value, Value]


def clopper_pearson(successes: int, trials: int, confidence: Number = 0.95) -> tuple[float, float]:
    """The interval for a probability that holds it at least this often, whatever it is (Clopper & Pearson 1934)."""
    n, k = whole(trials, "trials"), whole(successes, "successes", least=0)
    if k > n:
        raise ValueError(f"successes must be at most trials = {n}, not {k}")
    side = float((1 - probability(confidence, "confidence")) / 2)
    low = 0.0 if k == 0 else _beta_quantile(side, k, n - k + 1)
    high = 1.0 if k == n else 1 - _beta_quantile(side, n - k, k + 1)
    return low, high


def _beta_quantile(level: float, a: int, b: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_cdf(middle, a, b) < level else (low, middle)
    return (low + high) / 2


def _beta_cdf(x: float, a: int, b: int) -> float:
    """The regularised incomplete beta function by its continued fraction, on the side where that converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_cdf(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction / a
