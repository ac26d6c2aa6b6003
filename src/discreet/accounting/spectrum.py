"""Privacy loss as a random variable, for pictures and for teaching; and what an attacker can conclude from an answer.

The privacy loss of an outcome o is ln(P(o | D)/P(o | D′)); its distribution under D shows how often a release gives
away how much. These are float64 figures, good to about 13 digits: no filter counts by them, and whoever decides a cost
by them leaves room for that (`loss_grid.ROOM`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.exact import Number, epsilon, number, positive, probability, whole
from discreet.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """Privacy losses, ascending, with their probabilities under the data as it is."""

    losses: Floats
    masses: Floats

    def beyond(self, epsilon: float) -> float:
        """The probability of a loss above ε: the bad events of the lecture's picture."""
        return float(self.masses[self.losses > epsilon * (1 + 1e-12)].sum())

    def delta(self, epsilon: float) -> float:
        """The δ at ε: the bad events, each weighted by how far it lies beyond ε (the area in the lecture's picture)."""
        excess = -np.expm1(np.minimum(epsilon - self.losses, 0.0))
        return float((self.masses * excess).sum())

    @property
    def mean(self) -> float:
        """The expected loss: the Kullback–Leibler divergence."""
        return float((self.masses * self.losses).sum())

    @property
    def worst(self) -> float:
        return float(self.losses[-1])

    def ratios(self) -> tuple[Floats, Floats]:
        """The lecture's axes: all events by their probability, from 0 to 1, and e^loss of each."""
        return np.cumsum(self.masses), np.exp(self.losses)


def noise_losses(noise: Noise, sensitivity: int) -> LossDistribution:
    """The losses of discrete noise on an integer that one unit moves by `sensitivity`.

    Laplace     never above Δ/scale in size: half of the outcomes and a little more lose exactly that.
    Gaussian    a linear function of the outcome, hence unbounded, with Gaussian probabilities.
    """
    shift = whole(sensitivity, "sensitivity")
    spread = float(noise.scale) if isinstance(noise, DiscreteLaplace) else math.sqrt(noise.spread)
    width = math.ceil(40 * spread) + shift
    if width > 2**22:
        raise ValueError(f"a picture of {2 * width} outcomes is too fine: use a coarser step")
    z = np.arange(-width, width + 1, dtype=np.float64)
    if isinstance(noise, DiscreteGaussian):
        size, unit = z**2, 2 * float(noise.spread)
        moved = 2 * z * shift + shift**2
    else:
        size, unit = np.abs(z), float(noise.scale)
        moved = np.abs(z + shift) - size
    masses = np.exp(-size / unit)
    steps, places = np.unique(moved, return_inverse=True)
    return LossDistribution(steps / unit, np.bincount(places, weights=masses / masses.sum()).astype(np.float64))


def response_losses(cost: Number, answers: int = 2) -> LossDistribution:
    """The losses of randomised response among so many answers: ε for the truth, −ε for the other's truth, else 0."""
    odds = math.exp(-epsilon(cost))
    others = whole(answers, "answers", least=2) - 1
    losses = np.array([-1.0, 0.0, 1.0]) * float(epsilon(cost))
    masses = np.array([odds, (others - 1) * odds, 1.0]) / (1 + others * odds)
    return LossDistribution(losses[masses > 0], masses[masses > 0])


def posterior(prior: Number, ratio: Number) -> float:
    """What an attacker believes after an answer that is `ratio` times as likely if the suspicion is true.

    >>> round(posterior(0.02, 3), 3)  # a Yes to two coins: the lecture's tax investigator
    0.058
    """
    before, weight = probability(prior, "prior"), positive(ratio, "ratio")
    return float(before * weight / (before * weight + (1 - before)))


def posterior_range(prior: Number, cost: Number) -> tuple[float, float]:
    """The least and the most that any attacker can believe after an ε-DP release.

    Both lie between prior·e^−ε and prior·e^ε.
    """
    before, ratio = float(number(probability(prior, "prior"), "prior")), math.exp(-float(epsilon(cost)))
    return before * ratio / (before * ratio + 1 - before), before / (before + (1 - before) * ratio)
