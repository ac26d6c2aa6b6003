"""Buckets: which values a number that stands for a range stands for, so that 2 can be shown as 20–29."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

NO_VALUE: Final = "no value"
_EXACT: Final = re.compile(r"-?[0-9]{1,60}(?:/[1-9][0-9]{0,59})?")
"""A fraction as it is sent; nothing that would take long to read."""
_FRACTIONS: Final = ("start", "step", "width", "anchor")


@dataclass(frozen=True, slots=True)
class Buckets:
    """A key k stands for the values from start + k·step to below start + k·step + width.

    Keys before `first` and after `last`, where there are such, stand for all that is smaller or larger.
    """

    start: Fraction
    step: Fraction
    width: Fraction
    anchor: Fraction
    """Where one of the ranges begins: all others begin whole widths from here, and keys that do not stand for none."""
    whole: bool
    """Whether all values are whole numbers: then a range ends with the last one in it."""
    first: int | None = None
    last: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: numbers are exact, such as 10/3."""
        ends = {name: end for name, end in (("first", self.first), ("last", self.last)) if end is not None}
        exact = {name: str(getattr(self, name)) for name in _FRACTIONS}
        return {**exact, "whole": self.whole, **ends}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Buckets:
        exact = [document[name] for name in _FRACTIONS]
        if not all(isinstance(text, str) and _EXACT.fullmatch(text) for text in exact):
            raise ValueError("the numbers of buckets are fractions such as 10/3")
        if Fraction(document["width"]) <= 0:
            raise ValueError("buckets are wider than nothing")
        start, step, width, anchor = map(Fraction, exact)
        return cls(start, step, width, anchor, document["whole"], document.get("first"), document.get("last"))

    def label(self, key: float) -> str:
        """
        >>> decades = Buckets(Fraction(-10), Fraction(10), Fraction(10), Fraction(0), True, 1, 11)
        >>> [decades.label(key) for key in (0, 1, 3, 12)]
        ['below 0', '0–9', '20–29', '110 and more']
        >>> Buckets(Fraction(0), Fraction(5, 2), Fraction(5, 2), Fraction(0), False).label(1)
        '2.5 to below 5'
        >>> tens = Buckets(Fraction(0), Fraction(1), Fraction(10), Fraction(0), True)
        >>> [tens.label(key) for key in (-20, 20, 21)]
        ['-20 to -11', '20–29', 'no value']
        """
        if not math.isfinite(key):
            return NO_VALUE
        exact = Fraction(key)
        if self.first is not None and exact < self.first:
            return f"below {_written(self._low(Fraction(self.first)))}"
        if self.last is not None and exact > self.last:
            return f"{_written(self._low(Fraction(self.last)) + self.width)} and more"
        low = self._low(exact)
        if ((low - self.anchor) / self.width).denominator != 1:
            return NO_VALUE
        if not self.whole:
            return f"{_written(low)} to below {_written(low + self.width)}"
        least, most = math.ceil(low), math.ceil(low + self.width) - 1
        if least >= most:
            return str(least) if least == most else NO_VALUE
        return f"{least} to {most}" if least < 0 else f"{least}–{most}"

    def _low(self, key: Fraction) -> Fraction:
        return self.start + key * self.step


def _written(edge: Fraction) -> str:
    return f"{float(edge):.6g}"
