"""Draws with their arguments checked: what `discreet.noise` offers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, overload

from discreet.exact import Number, not_below, number, whole
from discreet.late import np
from discreet.noise import samplers, uniform
from discreet.noise.bits import Bits, resolve
from discreet.noise.interval import Booleans
from discreet.noise.uniform import COIN_BITS, Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_SCALE: Final = Fraction(1, 10**6)
MOST_SCALE: Final = 10**12
_LEAST_VARIANCE: Final = LEAST_SCALE**2
_READY: Final = tuple(range(-5, 257))
"""The ints that CPython keeps ready."""

Shape = int | tuple[int, ...]


@overload
def laplace(scale: Number, size: None = None, *, bits: Bits | None = None) -> int: ...
@overload
def laplace(scale: Number, size: Shape, *, bits: Bits | None = None) -> Integers: ...
def laplace(scale: Number, size: Shape | None = None, *, bits: Bits | None = None) -> int | Integers:
    """Discrete Laplace noise: P(z) ∝ exp(−|z|/scale)."""
    exact = _within(not_below(scale, "scale"), "scale", LEAST_SCALE, MOST_SCALE)
    return _shaped(size, lambda n: samplers.laplace(resolve(bits), n, exact))


@overload
def gaussian(variance: Number, size: None = None, *, bits: Bits | None = None) -> int: ...
@overload
def gaussian(variance: Number, size: Shape, *, bits: Bits | None = None) -> Integers: ...
def gaussian(variance: Number, size: Shape | None = None, *, bits: Bits | None = None) -> int | Integers:
    """Discrete Gaussian noise: P(z) ∝ exp(−z²/(2·variance))."""
    exact = _within(not_below(variance, "variance"), "variance", _LEAST_VARIANCE, MOST_SCALE**2)
    return _shaped(size, lambda n: samplers.gaussian(resolve(bits), n, exact))


@overload
def geometric(scale: Number, size: None = None, *, bits: Bits | None = None) -> int: ...
@overload
def geometric(scale: Number, size: Shape, *, bits: Bits | None = None) -> Integers: ...
def geometric(scale: Number, size: Shape | None = None, *, bits: Bits | None = None) -> int | Integers:
    """One-sided geometric noise: P(y) ∝ exp(−y/scale), y ≥ 0."""
    exact = _within(not_below(scale, "scale"), "scale", LEAST_SCALE, MOST_SCALE)
    return _shaped(size, lambda n: samplers.geometric(resolve(bits), n, exact))


@overload
def bernoulli_exp(gamma: Number, size: None = None, *, bits: Bits | None = None) -> bool: ...
@overload
def bernoulli_exp(gamma: Number, size: Shape, *, bits: Bits | None = None) -> Booleans: ...
@overload
def bernoulli_exp(gamma: Sequence[Number], size: None = None, *, bits: Bits | None = None) -> Booleans: ...
def bernoulli_exp(
    gamma: Number | Sequence[Number], size: Shape | None = None, *, bits: Bits | None = None
) -> bool | Booleans:
    """True with probability exp(−γ), for one γ ≥ 0 or for each of several."""
    if isinstance(gamma, (Sequence, np.ndarray)):
        if size is not None:
            raise TypeError("size must be left out when gamma is a sequence: one draw is made for each")
        return samplers.bernoulli_exp(resolve(bits), [_rate(value) for value in gamma])
    count = 1 if size is None else math.prod(_shape(size))
    drawn = samplers.bernoulli_exp(resolve(bits), [_rate(gamma)] * count)
    return bool(drawn[0]) if size is None else drawn.reshape(_shape(size))


@overload
def below(limit: int, size: None = None, *, bits: Bits | None = None) -> int: ...
@overload
def below(limit: int | NDArray[np.int64], size: Shape, *, bits: Bits | None = None) -> Integers: ...
def below(limit: int | NDArray[np.int64], size: Shape | None = None, *, bits: Bits | None = None) -> int | Integers:
    """Integers uniform on 0 … limit − 1; a scalar limit may have any size."""
    if size is None:
        return uniform.below_scalar(resolve(bits), whole(limit, "limit"))
    limits = np.broadcast_to(np.asarray(limit), _shape(size))
    if limits.dtype.kind not in "iu":
        raise TypeError(f"limit must be an integer or an array of integers below 2**63, not {limits.dtype}")
    if limits.size and not 1 <= limits.min() <= limits.max() < 2**63:
        raise ValueError("limit must be at least 1, and below 2**63 in an array")
    flat = limits.astype(np.int64).ravel()
    return uniform.below(resolve(bits), flat).reshape(limits.shape)


def shuffle(count: int, *, bits: Bits | None = None) -> Integers:
    """A uniform permutation of 0 … count − 1: `values[shuffle(len(values))]` is shuffled."""
    return uniform.permutation(resolve(bits), whole(count, "count", least=0))


@overload
def coins(chance: int, size: None = None, *, bits: Bits | None = None) -> bool: ...
@overload
def coins(chance: int | NDArray[np.int64], size: Shape, *, bits: Bits | None = None) -> Booleans: ...
def coins(chance: int | NDArray[np.int64], size: Shape | None = None, *, bits: Bits | None = None) -> bool | Booleans:
    """True with probability chance/2⁵³, exactly; an array of chances has the shape of `size`."""
    chances = np.asarray(chance)
    if chances.dtype.kind not in "iu":
        raise TypeError(f"chance must be an integer or an array of integers, not {chances.dtype}")
    if chances.size and not 0 <= chances.min() <= chances.max() <= 2**COIN_BITS:
        raise ValueError("chance must lie between 0 and 2**53")
    if chances.ndim and chances.shape != (() if size is None else _shape(size)):
        raise ValueError("chance must be one integer, or have the shape of size")
    flat = chances.astype(np.int64).ravel() if chances.ndim else chances.astype(np.int64)
    count = 1 if size is None else math.prod(_shape(size))
    drawn = uniform.coins(resolve(bits), count, flat)
    return bool(drawn[0]) if size is None else drawn.reshape(_shape(size))


def subsets(size: int, chosen: int, count: int, *, bits: Bits | None = None) -> Booleans:
    """`count` uniform subsets of 0 … size − 1 with `chosen` members each: rows of booleans."""
    elements, members = whole(size, "size"), whole(chosen, "chosen", least=0)
    if members > elements:
        raise ValueError(f"chosen must be at most size = {elements}, not {members}")
    return uniform.subsets(resolve(bits), whole(count, "count", least=0), elements, members)


def untruths(epsilon: Fraction, others: int, size: int, *, bits: Bits | None = None) -> Booleans:
    """True with probability others/(exp(ε) + others): when randomised response lies."""
    exact = number(epsilon, "epsilon")
    return samplers.untruths(resolve(bits), whole(size, "size", least=0), exact, whole(others, "others"))


def _within(scale: Fraction, name: str, least: Fraction, most: int) -> Fraction:
    """A scale within the samplers' range. Tiny ones are rounded up: their noise is zero all the same."""
    if scale > most:
        shown = Decimal(scale.numerator) / scale.denominator
        raise ValueError(f"{name} must be at most {most:.0e}, not {shown:.3g}: use a coarser step")
    return scale if scale > least else least


def _rate(value: Number) -> Fraction:
    exact = number(value, "gamma")
    if exact < 0:
        raise ValueError(f"gamma must be at least 0, not {value}")
    return exact


def _shape(size: Shape) -> tuple[int, ...]:
    return tuple(whole(n, "size", least=0) for n in (size if isinstance(size, tuple) else (size,)))


def _shaped(size: Shape | None, draw: Callable[[int], Integers]) -> int | Integers:
    if size is None:
        drawn = draw(1)[0]
        sum(_READY)  # all of them are near now, so that the time of fetching one does not tell which
        return int(drawn)
    shape = _shape(size)
    return draw(math.prod(shape)).reshape(shape)
