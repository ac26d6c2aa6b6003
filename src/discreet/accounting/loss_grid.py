"""Privacy losses on a grid, composed by Fourier transforms, never below the truth.

Cutting   The losses between two points of the grid are moved to these points, so that the cell keeps its P and its Q.
Theorem   The pair on the grid dominates the pair.
Proof     A hockey-stick divergence is the sum over outcomes of Q·f(P/Q) with f(x) = max(x − e^ε, 0), which is convex. A
          cell with P/Q between a and b that is split so that both masses stay the same is a mean-preserving spread of
          P/Q under Q, which raises the mean of every convex function (Blackwell; "connect the dots", Doroshenko et al.
          2022). What lies above the grid is lost: it counts as δ. What lies below it is raised to its lowest point.

Composing P of a sum of losses is a convolution. It is computed of masses times e^(θ·loss), normalised, with θ such that
          the sum is likely to be near ε: rounding errors are then small beside δ and not beside 1.
Theorem   `Composed.delta` is at least the δ of the composition at ε.
Proof     With M the product of the normalisers, δ(ε) = M·Σ over s > ε of (1 − e^(ε − s))·e^(−θs)·T(s), with T the
          tilted distribution of the sum. A circular convolution adds to T(s) what lies some windows away, and
          that is not negative. Sums above the window have weight e^(−θs) at most. Transforms have a relative error of
          8u·log₂N in L2 norm (Higham 2002, Theorem 24.2, has about 7u·log₂N); a power, 8u for each factor; both are
          carried through the product, and their sum is added to every T(s). What steps lost adds at most the sum of
          that to δ.
Source    Koskela, Jälkö & Honkela 2020; Gopi, Lee & Wutschitz 2021; tilting: Esscher 1932.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from discreet.accounting.pairs import Floats, Pair
from discreet.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNIT: Final = 2.0**-53
SLIP: Final = 4e-15
"""How far off masses of cells may be: `erfc` and `exp` err by a few units in the last place."""
ROOM: Final = 1 + 1e-9
"""For roundings of sums and products of float64 that are all of one sign."""
MOST_POINTS: Final = 2**21
WIDTHS: Final = 9.0
"""Standard deviations of the tilted sum that the window holds below its mean."""
RARE: Final = 1e-15
"""How likely sums above the window are to be, if it can be had."""


@dataclass(frozen=True)
class LossGrid:
    """Masses of P at the losses (first + j)·step, and what was lost above them."""

    step: float
    first: int
    masses: Floats
    lost: float

    @classmethod
    def of(cls, pair: Pair, step: float, miss: float) -> LossGrid:
        """The pair on a grid; at most `miss` is lost."""
        low, high = pair.support(miss)
        first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
        if last - first > MOST_POINTS:
            raise ValueError(f"losses from {low:g} to {high:g} in steps of {step:g} are too many: take larger steps")
        edges = np.arange(first, last + 1, dtype=np.float64) * step
        p, q = pair.cells(edges)
        inner, other = p[1:-1], q[1:-1] * np.exp(np.minimum(edges[:-1], 700.0))
        raised = (inner - other + SLIP * (inner > 0)) / -math.expm1(-step)
        upper = np.clip(raised, 0.0, inner)
        masses = np.zeros(len(edges))
        masses[:-1] += inner - upper
        masses[1:] += upper
        masses[0] += p[0]
        return cls(step, first, masses, float(p[-1]) * ROOM)

    @cached_property
    def losses(self) -> Floats:
        return (self.first + np.arange(len(self.masses), dtype=np.float64)) * self.step

    def log_moment(self, order: float) -> float:
        """ln Σ P·e^(order·loss), of what is not lost."""
        return _log_sum(self.masses, order * self.losses)

    def tilted(self, order: float) -> tuple[Floats, float]:
        """The masses times e^(order·loss), normalised, and ln of the normaliser."""
        log = self.log_moment(order)
        return self.masses * np.exp(order * self.losses - log), log


Steps = Sequence[tuple[LossGrid, int]]


@dataclass(frozen=True)
class Composed:
    """The losses of many steps together, exact near one ε: each grid so many times."""

    steps: Steps
    tilt: float
    start: float = math.inf
    """The window begins there, if not below."""

    @classmethod
    def near_delta(cls, steps: Steps, delta: float) -> Composed:
        """Exact near the ε at which δ is about this: θ makes Markov's bound on ε least."""
        log_delta = math.log(delta)
        return cls(steps, _tilt(steps, lambda theta, log_moment: (log_moment - log_delta) / theta))

    @classmethod
    def near_epsilon(cls, steps: Steps, epsilon: float) -> Composed:
        """Exact near this ε: θ makes Markov's bound on δ least."""
        return cls(steps, _tilt(steps, lambda theta, log_moment: log_moment - theta * epsilon), epsilon)

    def delta(self, epsilon: float) -> float:
        """A bound on δ at ε."""
        points, above, scaled = self._tails
        if epsilon < points[0] > self._least:  # what lies below the window is not known
            return 1.0
        index = int(np.searchsorted(points, epsilon, side="right"))
        inside = 0.0
        if index < len(points):
            inside = float(above[index] - math.exp(min(epsilon - self._middle, 700.0)) * scaled[index])
        return min(self._scale * ROOM * (max(inside, 0.0) + self._beyond) + self.lost, 1.0)

    def epsilon(self, delta: float) -> float:
        """A bound on ε at δ: the δ of it, as bounded, is at most this. Infinite if more than that was lost."""
        low, high = 0.0, max(float(self._points[-1]), self.step)
        if self.delta(0.0) <= delta:
            return 0.0
        if self.delta(high) > delta:
            return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    @property
    def step(self) -> float:
        return self.steps[0][0].step

    @cached_property
    def lost(self) -> float:
        return min(math.fsum(times * grid.lost for grid, times in self.steps) * ROOM, 1.0)

    # the window

    @cached_property
    def _least(self) -> float:
        """The least sum that there is."""
        return sum(times * grid.first for grid, times in self.steps) * self.step

    @cached_property
    def _tilted(self) -> list[tuple[Floats, float]]:
        return [grid.tilted(self.tilt) for grid, _ in self.steps]

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the tilted sum: a guide for where to look."""
        mean = variance = 0.0
        for (grid, times), (masses, _) in zip(self.steps, self._tilted, strict=True):
            centre = float(masses @ grid.losses)
            mean += times * centre
            variance += times * float(masses @ (grid.losses - centre) ** 2)
        return mean, math.sqrt(variance)

    @cached_property
    def _most(self) -> float:
        """The largest sum that there is."""
        return sum(times * (grid.first + len(grid.masses) - 1) for grid, times in self.steps) * self.step

    @cached_property
    def _points(self) -> Floats:
        """Nearly all sums, as the tilted distribution has them."""
        mean, deviation = self._moments
        low = max(min(mean - WIDTHS * deviation, self.start), self._least)
        _, far = self._far
        first, count = math.floor(low / self.step), math.ceil((min(far, self._most) - low) / self.step) + 2
        size = min(1 << count.bit_length(), MOST_POINTS)
        return (first + np.arange(size, dtype=np.float64)) * self.step

    @cached_property
    def _far(self) -> tuple[float, float]:
        """An exponent for Markov's bound, and a sum that is exceeded with probability `RARE` by that bound."""
        coarse = [(*_coarse(grid), times) for grid, times in self.steps]

        def log_moment(theta: float) -> float:
            return sum(times * _log_sum(masses, theta * losses) for losses, masses, times in coarse)

        here = log_moment(self.tilt)
        exponents = [2.0**power / self.step / 64 for power in range(-18, 1)]
        ends = [(log_moment(self.tilt + more) - here - math.log(RARE)) / more for more in exponents]
        best = int(np.argmin(ends))
        return exponents[best], ends[best]

    @property
    def _middle(self) -> float:
        return float(self._points[len(self._points) // 2])

    @cached_property
    def _scale(self) -> float:
        """M·e^(−θ·middle), with room for the rounding of logarithms."""
        logs = [times * log for (_, times), (_, log) in zip(self.steps, self._tilted, strict=True)]
        moved = self.tilt * self._middle
        slack = 1e-14 * (1 + math.fsum(map(abs, logs)) + abs(moved))
        return math.exp(min(math.fsum(logs) - moved + slack, 700.0))

    @cached_property
    def _beyond(self) -> float:
        """What sums above the window weigh at most: e^(−θ·(end − middle)) times their tilted mass, by Markov."""
        end = float(self._points[-1]) + self.step
        if self._most < end - self.step / 2:
            return 0.0  # there are none
        more, _ = self._far
        raised = [
            times * (grid.log_moment(self.tilt + more) - log)
            for (grid, times), (_, log) in zip(self.steps, self._tilted, strict=True)
        ]
        far = min(math.fsum(raised) - more * end + 1e-6, 0.0)
        return math.exp(min(far - self.tilt * (end - self._middle), 700.0))

    # the sum

    @cached_property
    def _sums(self) -> Floats:
        """The tilted distribution of the sum at the points of the window, each mass at least as large as it is."""
        count = len(self._points)
        product = np.ones(count // 2 + 1, dtype=np.complex128)
        log_size, relative = np.zeros(len(product)), np.zeros(len(product))
        rounding, start = 8 * UNIT * math.log2(count), 0
        for (grid, times), (masses, _) in zip(self.steps, self._tilted, strict=True):
            folded = np.bincount(np.arange(len(masses)) % count, weights=masses, minlength=count)
            transformed = np.fft.rfft(folded)
            error = rounding * math.sqrt(count) * float(np.linalg.norm(folded)) + len(masses) * UNIT
            size = np.abs(transformed) + error
            log_size += times * np.log(size)
            relative += times * (error / size + 8 * UNIT)
            product *= _power(transformed, times)
            start += times * grid.first
        errors = np.exp(log_size) * relative
        spread = rounding * math.sqrt(2 * float((np.abs(product) ** 2).sum()) / count)
        error = 2 * float(errors.sum()) / count + spread
        first = round(float(self._points[0]) / self.step)
        return np.maximum(np.roll(np.fft.irfft(product, count), start - first), 0.0) + error * ROOM

    @cached_property
    def _tails(self) -> tuple[Floats, Floats, Floats]:
        """For each point from where float64 holds them: Σ over it and all above of mass·e^(−θ(s − middle)), and of
        that times e^(−(s − middle))."""
        away = self._points - self._middle
        held = (self.tilt + 1) * -away < 600
        masses = self._sums[held] * np.exp(-self.tilt * away[held])
        scaled = masses * np.exp(-away[held])
        above, below = (np.cumsum(each[::-1])[::-1] for each in (masses, scaled))
        return self._points[held], above, below


def _power(values: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """By squaring: the relative error grows by a few units for each of the factors."""
    result = np.ones_like(values)
    while times:
        if times & 1:
            result = result * values
        times >>= 1
        if times:
            values = values * values
    return result


def _log_sum(masses: Floats, exponents: Floats) -> float:
    held = masses > 0
    most = float(exponents[held].max())
    return most + math.log(float((masses[held] * np.exp(exponents[held] - most)).sum()))


def _tilt(steps: Steps, bound: Callable[[float, float], float]) -> float:
    """θ at which a bound, of θ and Σ ln M(θ), is least. Any θ gives a true result; this one a close one."""
    coarse = [(*_coarse(grid), times) for grid, times in steps]

    def at(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return bound(theta, sum(times * _log_sum(masses, theta * losses) for losses, masses, times in coarse))

    low, high = math.log(1e-3), math.log(0.5 / steps[0][0].step)
    for _ in range(40):
        left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return math.exp((low + high) / 2)


def _coarse(grid: LossGrid, most: int = 1024) -> tuple[Floats, Floats]:
    """Losses and masses in blocks."""
    block = -(-len(grid.masses) // most)
    starts = np.arange(0, len(grid.masses), block)
    masses = np.add.reduceat(grid.masses, starts)
    centres = np.add.reduceat(grid.masses * grid.losses, starts) / np.maximum(masses, 1e-300)
    return centres, masses
