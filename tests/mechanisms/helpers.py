"""The grey box: what the additive mechanisms hand to the door of the noise, and what that would cost on neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from discreet import noise
from discreet.accounting import Concentrated, DiscreteGaussian, DiscreteLaplace, Pure
from discreet.accounting.losses import Loss
from discreet.mechanisms.additive import Additive

Row = TypeVar("Row")
Table = tuple[float, ...]

FALSE_ALARM: Final = 1e-9
"""The rate at which one binomial verdict below raises a false alarm. There are fewer than 100 of them."""

STEADY: Final = settings(deadline=None, max_examples=30)
"""For properties whose time depends on what else the machine does."""

LAPLACE: Final = "laplace"
GAUSSIAN: Final = "gaussian"


@dataclass(frozen=True)
class Draw:
    """One draw: of which noise, of which size (the scale, or σ²), and the exact integers that it hides."""

    kind: str
    spread: Fraction
    exact: tuple[int, ...]

    @property
    def public(self) -> tuple[str, Fraction, int]:
        """What must be the same on neighbours."""
        return self.kind, self.spread, len(self.exact)


class Releasing(Protocol):
    def release(self, exact: Any, /, bits: noise.Bits | None = None) -> Any: ...


def recorded(mechanism: Releasing, exact: Any) -> list[Draw]:
    """The draws of a release."""
    return released_with(0, mechanism, exact)[1]


def noiseless(mechanism: Releasing, exact: Any) -> Any:
    """What is released if all Laplace and Gaussian noise is 0."""
    return released_with(0, mechanism, exact)[0]


def released_with(forced: int | Sequence[int], mechanism: Releasing, exact: Any) -> tuple[Any, list[Draw]]:
    """What is released, and the draws, if all Laplace and Gaussian noise is `forced`, or one for each draw."""
    draws: list[Draw] = []
    pending: list[tuple[str, Fraction]] = []
    add_noise = Additive._noisy
    release = Additive.release

    def door(kind: str) -> Callable[..., NDArray[np.int64]]:
        def draw(spread: Fraction, size: int, *, bits: noise.Bits | None = None) -> NDArray[np.int64]:
            assert bits is None
            pending.append((kind, spread))
            return np.full(size, forced if isinstance(forced, int) else forced[len(draws)], dtype=np.int64)

        return draw

    def seen(values: ArrayLike) -> None:
        if pending:
            kind, spread = pending.pop()
            draws.append(Draw(kind, spread, tuple(np.asarray(values).tolist())))

    def spied_noise(self: Additive, values: Any, moved: Fraction, bits: noise.Bits | None) -> Any:
        result = add_noise(self, values, moved, bits)
        seen(values)
        return result

    def spied_release(self: Additive, value: Any, bits: noise.Bits | None = None) -> Any:
        result = release(self, value, bits)
        seen([value])
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "laplace", door(LAPLACE))
        patch.setattr(noise, "gaussian", door(GAUSSIAN))
        patch.setattr(Additive, "_noisy", spied_noise)
        patch.setattr(Additive, "release", spied_release)
        return mechanism.release(exact), draws


def loss_between(draws: Sequence[Draw], others: Sequence[Draw]) -> Fraction:
    """The exact ε (Laplace) or ρ (Gaussian) that tells two runs apart: Σ|x − x'|/scale, or Σ(x − x')²/2σ²."""
    assert [draw.public for draw in draws] == [draw.public for draw in others]
    total = Fraction(0)
    for draw, other in zip(draws, others, strict=True):
        gaps = [abs(a - b) for a, b in zip(draw.exact, other.exact, strict=True)]
        total += sum(gaps) / draw.spread if draw.kind == LAPLACE else sum(g * g for g in gaps) / (2 * draw.spread)
    return total


def cost(loss: Loss) -> Fraction:
    """The ε or ρ that was promised."""
    if isinstance(loss, Pure):
        return loss.epsilon
    assert isinstance(loss, Concentrated)
    assert not loss.delta
    return loss.rho


def small_tables(domain: Sequence[Row], rows: int = 3) -> Iterator[tuple[Row, ...]]:
    """All tables of at most so many rows."""
    for count in range(rows + 1):
        yield from product(domain, repeat=count)


def enlarged(table: tuple[Row, ...], domain: Sequence[Row]) -> Iterator[tuple[Row, ...]]:
    """All tables with one unit more."""
    for value in domain:
        yield (*table, value)


def farthest(mechanism: Additive, values: Sequence[float]) -> Fraction:
    """The most that any two of these numbers cost which are no farther apart than the sensitivity."""
    runs = [recorded(mechanism, value) for value in values]
    exact = [Fraction(value) for value in values]
    most = max(
        abs(run[0].exact[0] - other[0].exact[0])
        for run, a in zip(runs, exact, strict=True)
        for other, b in zip(runs, exact, strict=True)
        if abs(a - b) <= mechanism.sensitivity
    )
    (draw,) = runs[0]
    return loss_between([replace(draw, exact=(0,))], [replace(draw, exact=(most,))])


def probability_of(noise_law: DiscreteLaplace | DiscreteGaussian, value: int) -> Decimal:
    """P(Z = value), from the tails."""
    size = abs(value)
    return noise_law.tail(size)[0] - noise_law.tail(size + 1)[0]


def too_many(misses: int, trials: int, most: float) -> bool:
    """Whether so many misses are incredible if each has at most this probability; false alarm ≤ FALSE_ALARM."""
    return float(stats.binomtest(misses, trials, most, alternative="greater").pvalue) < FALSE_ALARM
