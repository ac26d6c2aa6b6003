"""Public values: classes and categories, and how labels become their places."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.exact import whole
from discreet.mechanisms.arrays import Integers

Array = NDArray[Any]
LARGE: Final = 2**53
"""From here on two integers may be one float64."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Values known without looking at the data, in ascending order where they have one.

    A label's place depends on that label alone; what is not among them has place −1 and is not counted.
    """

    values: Array

    @classmethod
    def read(cls, given: object, name: str, least: int = 1) -> Labels:
        if given is None:
            raise Refused(
                "undeclared-classes" if name == "classes" else "undeclared-categories",
                f"{name} is missing, and the data must not say it",
                f"pass {name}=[…] with all values that there may be",
            )
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise TypeError(f"{name} must be a list of values, such as [0, 1] or ['no', 'yes']")
        listed = [value.item() if isinstance(value, np.generic) else value for value in given]
        if not all(isinstance(value, Hashable) and value is not None and value == value for value in listed):
            raise TypeError(f"{name} must hold numbers or texts, and neither None nor NaN")
        if len(listed) < least or len(set(listed)) < len(listed):
            raise ValueError(f"{name} must hold at least {least} values, each once")
        return cls(_array(_ordered(listed, name)))

    @property
    def count(self) -> int:
        return int(self.values.size)

    @property
    def numeric(self) -> bool:
        return all(isinstance(value, (int, float)) for value in self.values.tolist())

    @property
    def small(self) -> bool:
        """Whether all are numbers that float64 tells apart from every other number: NumPy compares in it."""
        if self.values.dtype.kind not in "biuf":
            return False
        return bool(np.all((self.values > -LARGE) & (self.values < LARGE)))

    def places(self, labels: Array) -> Integers:
        """The place of each label among the values; −1 where it is none of them."""
        if self.small and labels.dtype.kind in "biuf":
            indices = np.clip(np.searchsorted(self.values, labels), 0, self.count - 1)
            return np.where(self.values[indices] == labels, indices, -1).astype(np.int64)
        known: dict[Any, int] = {value: index for index, value in enumerate(self.values.tolist())}
        return np.array([_place(label, known) for label in labels.tolist()], dtype=np.int64)


def _ordered(listed: list[Any], name: str) -> list[Any]:
    try:
        return sorted(listed)
    except TypeError:
        raise TypeError(f"{name} mixes values that have no order, such as texts and numbers: use one kind") from None


def _array(listed: list[Any]) -> Array:
    """As NumPy would hold them; texts as objects, so that none is cut; whole numbers never as floats that are not."""
    array = np.asarray(listed)
    if array.ndim == 1 and array.dtype.kind in "biufU" and array.tolist() == listed:
        return array
    objects = np.empty(len(listed), dtype=object)
    objects[:] = listed
    return objects


def _place(label: object, known: dict[Any, int]) -> int:
    try:
        return known.get(label, -1)
    except TypeError:  # not hashable, so none of them either
        return -1


def category_labels(given: object, width: int | None) -> tuple[Labels, ...]:
    """The values of every feature."""
    if given is None:
        raise Refused(
            "undeclared-categories",
            "categories is missing, and the data must not say it",
            "pass categories=[…] with the list of values of each feature, or with how many there are",
        )
    if isinstance(given, (int, np.integer)):
        return (_values(given),) * (1 if width is None else width)
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)) or not len(given):
        raise TypeError("categories must be a number, or a list with the values of each feature")
    if width is not None and len(given) != width:
        raise ValueError(f"categories must be given for each of the {width} features, not for {len(given)}")
    return tuple(_values(each) for each in given)


def _values(given: object) -> Labels:
    if isinstance(given, (int, np.integer)):
        return Labels(np.arange(whole(given, "categories")))
    return Labels.read(given, "categories")
