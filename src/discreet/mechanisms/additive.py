"""Mechanisms that add integer noise: what Laplace and Gaussian share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.distributions import Noise
from discreet.exact import Number
from discreet.late import np
from discreet.mechanisms.arrays import Array, Integers, integers, some_numbers
from discreet.mechanisms.grid import INTEGERS, Grid
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Additive(ABC):
    """Adds independent noise to every number of a vector.

    Integers in, integers out, if no step is given and the sensitivity is at least 1. Everything else is put on a grid:
    of the step given, or of a power of two so small that the grid adds less than 1 % to the error. The type of what is
    released must not depend on the data: dtypes do not, Python's `sum` of mixed numbers may.
    """

    __slots__ = ()

    sensitivity: Fraction
    step: Fraction | None

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """The size of the noise, in units of the values."""

    @abstractmethod
    def noise(self, moved: Fraction, length: int) -> Noise:
        """The noise on each of `length` integers that one unit moves by `moved` in the mechanism's norm."""

    @abstractmethod
    def slack(self, length: int) -> int:
        """By how many steps rounding every number can lengthen a vector in the mechanism's norm."""

    @abstractmethod
    def draw(self, noise: Any, length: int, bits: Bits | None) -> Integers:
        """Fresh noise."""

    def error(self, confidence: Number = 0.95, *, like: ArrayLike | Fraction | Decimal = 0) -> float:
        """The half-width t: each released number lies within t of the exact one with this confidence.

        `like` stands for what will be released: only its type and length matter.
        """
        example = some_numbers(like, "like")
        grid = self._grid_for(example)
        width = self.noise(self._moved(grid, example.size), example.size).width(confidence)
        return width if grid is INTEGERS else grid.value(width) + float(grid.step) / 2

    def release(self, exact: ArrayLike | int | Fraction | Decimal, bits: Bits | None = None) -> Any:
        """The number, or the array as one vector, plus noise. Like in, like out: int, float or array."""
        if isinstance(exact, int) and not isinstance(exact, bool) and self._own_grid is INTEGERS:
            return exact + int(self.draw(self.noise(self.sensitivity, 1), 1, bits)[0])
        array = some_numbers(exact, "exact")
        flat = array.ravel()
        grid = self._grid_for(array)
        if grid is INTEGERS:
            values = self._noisy(flat, self.sensitivity, bits)
        else:
            values = grid.values(self._noisy(grid.steps(flat, "exact"), self._moved(grid, flat.size), bits))
        return values.reshape(array.shape) if array.ndim else values.item()

    def grid(self, length: int) -> Grid:
        """The grid for vectors of real numbers of this length."""
        if self.step is not None:
            return Grid(self.step)
        fine = min(self.sensitivity / self.slack(length), self.spread) / 200
        return Grid.at_most(max(fine, self.spread / 2**38))

    @property
    def _own_grid(self) -> Grid:
        """The grid for a single number: the integers, where those can be."""
        is_whole = self.step is None and self.sensitivity.numerator >= self.sensitivity.denominator
        return INTEGERS if is_whole else self.grid(1)

    def _grid_for(self, array: Array) -> Grid:
        return INTEGERS if array.dtype.kind != "f" and self._own_grid is INTEGERS else self.grid(array.size)

    def _need_integers(self) -> None:
        if self._own_grid is not INTEGERS:
            raise ValueError("on a grid rounding costs as well: leave step out and use a sensitivity of at least 1")

    def _moved(self, grid: Grid, length: int) -> Fraction:
        """The sensitivity in steps, with what rounding adds."""
        if length == 1 or grid is INTEGERS:
            return grid.distance(self.sensitivity)
        return self.sensitivity / grid.step + self.slack(length) * (1 if grid.dyadic else 2)

    def _noisy(self, exact: Array, moved: Fraction, bits: Bits | None) -> Array:
        noise = self.draw(self.noise(moved, exact.size), exact.size, bits)
        largest = max(abs(int(exact.max())), abs(int(exact.min()))) + max(int(noise.max()), -int(noise.min()))
        if exact.dtype != object and largest <= np.iinfo(np.int64).max:
            return np.asarray(exact + noise)
        # whether the result is of int64 may depend on the released values only
        return integers(exact.astype(object) + noise.astype(object))
