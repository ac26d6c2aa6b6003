"""Laplace against Gaussian: a loss that is never above ε, and one that sometimes is."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet.accounting.distributions import DiscreteLaplace
from discreet.answers.plots.losses import Curve
from discreet.mechanisms import Gaussian, Laplace

SENSITIVITY: Final = 20
"""How far one person moves the number: far enough that its steps look smooth."""
POINTS: Final = 60


def beyond(curve: Curve, epsilon: float) -> float:
    """P(loss > ε), from the exact tail."""
    if isinstance(curve.noise, DiscreteLaplace):
        return 0.0
    exact = Laplace(epsilon=epsilon, sensitivity=1).epsilon
    least = math.floor((2 * curve.noise.spread * exact - curve.shift**2) / (2 * curve.shift)) + 1
    return float(curve.noise.tail(least)[1])


def errors(epsilon: float, delta: float, numbers: int) -> tuple[float, float]:
    """Half-widths of one of so many numbers that one person moves by one each: Laplace's and Gaussian's."""
    laplace = Laplace(epsilon=epsilon, sensitivity=numbers)
    length = (
        math.nextafter(math.sqrt(numbers), math.inf) if math.isqrt(numbers) ** 2 != numbers else math.isqrt(numbers)
    )
    gaussian = Gaussian(epsilon=epsilon, delta=delta, sensitivity=length)
    return laplace.error(0.95), gaussian.error(0.95, like=[0] * numbers)


def ordered(name: str, curve: Curve) -> list[dict[str, Any]]:
    """The outcomes in order of their loss, each at the probability up to it, with e to its loss."""
    noise = curve.noise
    size = float(noise.scale) if isinstance(noise, DiscreteLaplace) else math.sqrt(noise.spread)
    extent = max(2 * curve.shift, math.ceil((8 if isinstance(noise, DiscreteLaplace) else 4) * size))
    places = sorted({round(extent * step / POINTS) for step in range(-POINTS, POINTS + 1)})
    return [
        {"kind": name, "place": 1 - float(noise.tail(z + 1)[1]), "ratio": math.exp(float(curve.loss(z)))}
        for z in places
    ]
