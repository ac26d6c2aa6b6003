"""Batches that are fixed in advance: many steps of known noise, counted by the distributions of their losses.

Adding up ρ holds when every next step is chosen after the answers before it, and costs more for that. Where steps are
fixed before the first answer (a training of so many steps), the loss of all of them together is known much more
exactly. So a batch is one release: it enters a ledger as one entry, (ε, δ), and is never continued.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace
from discreet.accounting.loss_grid import WIDTHS, Composed, LossGrid, Steps
from discreet.accounting.losses import Approximate
from discreet.accounting.pairs import Atoms, GaussianPair, LaplacePair, Pair, SampledPair, Swapped
from discreet.accounting.renyi import gaussian_divergence, laplace_divergence, sampled_divergence
from discreet.accounting.spectrum import noise_losses, response_losses
from discreet.exact import Number, extent, largest, not_below, number, positive, probability, whole
from discreet.exact import epsilon as accepted
from discreet.late import np

FINENESS: Final = 0.02
"""Of the grid, in typical losses of a step: what it adds to ε is about the square of this, relative."""
LOST: Final = 1e-4
"""Part of δ that may be lost above the grid."""
LEAST_DELTA: Final = 1e-15
"""What may be lost where δ is not known yet."""
LEAST_POINTS: Final = 2**12
MOST_POINTS: Final = 2**16
"""Of the sum and of a step, about: few steps are cut more finely, and very many more coarsely."""
MOST_STEPS: Final = 10**9


class Event(Protocol):
    """One step: what an attacker may see of it."""

    @property
    def pair(self) -> Pair:
        """With the unit over without it."""

    @property
    def pure(self) -> float:
        """Its ε, if it is ε-DP; else infinite."""

    def divergence(self, order: float) -> float:
        """The Rényi divergence of this order, of the worse direction; an upper bound."""


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Gaussian noise of standard deviation `sigma` on what a unit moves by 1 in L2 norm."""

    sigma: float

    def __post_init__(self) -> None:
        extent(self.sigma, "sigma")

    @property
    def pair(self) -> Pair:
        return GaussianPair(1 / float(self.sigma))

    @property
    def pure(self) -> float:
        return math.inf

    def divergence(self, order: float) -> float:
        return gaussian_divergence(float(self.sigma), order)


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Laplace noise of this scale on one number that a unit moves by 1; of vectors `AnyPure(1 / scale)` is true."""

    scale: float

    def __post_init__(self) -> None:
        extent(self.scale, "scale")

    @property
    def pair(self) -> Pair:
        return LaplacePair(1 / float(self.scale))

    @property
    def pure(self) -> float:
        return 1 / float(self.scale)

    def divergence(self, order: float) -> float:
        return laplace_divergence(1 / float(self.scale), order)


@dataclass(frozen=True, slots=True)
class DiscreteNoise:
    """Discrete noise on an integer that a unit moves by `sensitivity`: as the mechanisms here draw it."""

    noise: DiscreteLaplace | DiscreteGaussian
    sensitivity: int = 1

    @property
    def pair(self) -> Pair:
        known = noise_losses(self.noise, self.sensitivity)
        return Atoms(known.losses, known.masses)

    @property
    def pure(self) -> float:
        return float(self.sensitivity / self.noise.scale) if isinstance(self.noise, DiscreteLaplace) else math.inf

    def divergence(self, order: float) -> float:
        return _of_atoms(self.pair, order)


@dataclass(frozen=True, slots=True)
class AnyPure:
    """Whatever is ε-DP: randomised response is the worst of it (Kairouz, Oh & Viswanath 2015)."""

    epsilon: float

    @property
    def pair(self) -> Pair:
        known = response_losses(self.epsilon)
        return Atoms(known.losses, known.masses)

    @property
    def pure(self) -> float:
        return float(self.epsilon)

    def divergence(self, order: float) -> float:
        return _of_atoms(self.pair, order)


@dataclass(frozen=True, slots=True)
class Sampled:
    """An event on a Poisson sample: each unit takes part with probability `rate`, and nobody sees who."""

    event: GaussianNoise | LaplaceNoise | DiscreteNoise | AnyPure
    rate: float

    def __post_init__(self) -> None:
        if not 0 < number(self.rate, "rate") <= 1:
            raise ValueError(f"rate must lie above 0 and be at most 1, not {self.rate}")

    @property
    def pair(self) -> Pair:
        return self.event.pair if self.rate == 1 else SampledPair(self.event.pair, float(self.rate))

    @property
    def pure(self) -> float:
        return math.log1p(self.rate * math.expm1(self.event.pure)) if self.event.pure < 700 else self.event.pure

    def divergence(self, order: float) -> float:
        return sampled_divergence(self.event.divergence, self.event.pair, float(self.rate), order)


@dataclass(frozen=True)
class Batch:
    """Steps that are fixed in advance, each so many times.

    >>> training = Batch([(Sampled(GaussianNoise(1.1), 256 / 60_000), 14_062)])  # MNIST, 60 epochs
    >>> round(training.epsilon(1e-5), 2)
    2.38
    """

    steps: tuple[tuple[Event, int], ...]

    def __init__(self, steps: Iterable[tuple[Event, int]]) -> None:
        listed = tuple((event, whole(times, "times")) for event, times in steps)
        if sum(times for _, times in listed) > MOST_STEPS:
            raise ValueError(f"a batch has at most {MOST_STEPS:.0e} steps")
        object.__setattr__(self, "steps", listed)

    def epsilon(self, delta: Number) -> float:
        """An ε for which the batch is (ε, δ)-DP: hardly above the least one, never below it."""
        wanted = float(probability(delta, "delta"))
        composed = (Composed.near_delta(steps, wanted) for steps in self._cut(LOST * wanted))
        cost = max((each.epsilon(wanted) for each in composed), default=0.0)
        return min(cost, self._pure)

    def delta(self, epsilon: Number) -> float:
        """A δ for which the batch is (ε, δ)-DP."""
        cost = float(number(epsilon, "epsilon"))
        if cost < 0:
            raise ValueError(f"epsilon must not be below 0, not {epsilon}")
        if cost >= self._pure:
            return 0.0
        composed = (Composed.near_epsilon(steps, cost) for steps in self._cut(LEAST_DELTA))
        return max((each.delta(cost) for each in composed), default=0.0)

    def renyi(self, order: Number) -> float:
        """A bound on the Rényi divergence of this order: the classical way, which conversion to (ε, δ) makes larger."""
        exact = number(order, "order")
        if exact <= 1:
            raise ValueError(f"order must be above 1, not {order}")
        return math.fsum(times * event.divergence(float(exact)) for event, times in self.steps) * (1 + 1e-12)

    def loss(self, delta: Number) -> Approximate:
        """What it costs as one entry of a ledger: see `Approximate`."""
        return Approximate(not_below(max(self.epsilon(delta), 1e-9), "epsilon"), probability(delta, "delta"))

    @property
    def _pure(self) -> float:
        """The ε at which nothing is left for δ."""
        return math.fsum(times * event.pure for event, times in self.steps) * (1 + 1e-15)

    def _cut(self, miss: float) -> list[Steps]:
        """The steps on grids, in both directions: from with a unit to without it, and back. At most `miss` is lost."""
        if not self.steps:
            return []
        pairs = [(event.pair, times) for event, times in self.steps]
        total = sum(times for _, times in pairs)
        square = math.fsum(times * pair.size**2 for pair, times in pairs)
        width = 2 * WIDTHS * math.sqrt(square)
        ends = [pair.support(miss / total) for pair, _ in pairs]
        step = min(FINENESS * math.sqrt(square / total), width / LEAST_POINTS)
        step = max(step, 2 * width / MOST_POINTS, *((high - low) / MOST_POINTS for low, high in ends))
        swapped: list[tuple[Pair, int]] = [(Swapped(pair), times) for pair, times in pairs]
        return [[(LossGrid.of(pair, step, miss / total), times) for pair, times in each] for each in (pairs, swapped)]


def _of_atoms(pair: Pair, order: float) -> float:
    assert isinstance(pair, Atoms)
    both = []
    for losses, masses in ((pair.losses, pair.masses), (-pair.losses, pair.masses * np.exp(-pair.losses))):
        exponents = (order - 1) * losses
        most = float(exponents.max())
        both.append((most + math.log(float((masses * np.exp(exponents - most)).sum()))) / (order - 1))
    return max(both) * (1 + 1e-12)


# training: noisy sums of clipped gradients over Poisson samples


def epsilon_for_training(sigma: Number, rate: Number, steps: int, delta: Number) -> float:
    """The ε of a training: so many steps, each on a Poisson sample of this rate, with noise of `sigma` clipping norms.

    >>> round(epsilon_for_training(sigma=1.0, rate=0.01, steps=1000, delta=1e-5), 3)
    1.828
    """
    return _training(sigma, rate, steps).epsilon(delta)


def sigma_for_training(epsilon: Number, rate: Number, steps: int, delta: Number) -> float:
    """About the least noise, to four digits, for which a training is (ε, δ)-DP."""
    wanted = float(accepted(epsilon))

    def fits(sigma: float) -> bool:
        return epsilon_for_training(sigma, rate, steps, delta) <= wanted

    low = high = 1.0
    while not fits(high):
        low, high = high, 2 * high
        if high > 1e7:
            raise ValueError("no noise is enough for so small an epsilon and delta")
    while low == high or (low > 1e-2 and fits(low)):
        low, high = low / 2, low
    while high / low > 1 + 1e-4:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def steps_for_training(epsilon: Number, sigma: Number, rate: Number, delta: Number) -> int:
    """The most steps for which a training is (ε, δ)-DP, up to 10⁹; 0 if one is too many."""
    wanted = float(accepted(epsilon))

    def fits(steps: int) -> bool:
        return epsilon_for_training(sigma, rate, steps, delta) <= wanted

    most = largest(fits, MOST_STEPS)
    return MOST_STEPS if most is None else most


def _training(sigma: Number, rate: Number, steps: int) -> Batch:
    noise = GaussianNoise(float(positive(sigma, "sigma")))
    return Batch([(Sampled(noise, float(number(rate, "rate"))), whole(steps, "steps"))])
