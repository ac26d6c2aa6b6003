"""Noise, losses, reaches and keys in few words."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from discreet.accounting.losses import Sensitivity
from discreet.exit.cost import Additive
from discreet.exit.sampler import Cell
from discreet.mechanisms import KeySelection, Laplace
from discreet.printing import printable

MAX_LENGTH: Final = 200
"""Letters of an answer or a query that are told."""


def noise_words(mechanism: Additive) -> str:
    """
    >>> noise_words(Laplace(epsilon=0.5, sensitivity=3))
    'Laplace noise of scale 6'
    """
    if isinstance(mechanism, Laplace):
        return f"Laplace noise of scale {number(mechanism.scale)}"
    return f"Gaussian noise of σ {mechanism.sigma:.4g}"


def apart(words: Callable[[Any], str], one: Any, other: Any) -> tuple[str, str]:
    """In words; in full where the words are the same."""
    both = words(one), words(other)
    return both if both[0] != both[1] else (repr(one), repr(other))


def sensitivity_words(sensitivity: Sensitivity) -> str:
    return f"{number(sensitivity.l1)} (squares {number(sensitivity.l2_squared)})"


def selection_words(mechanism: KeySelection) -> str:
    return f"{noise_words(mechanism.mechanism)} and threshold {mechanism.threshold}"


def key_words(key: Cell) -> str:
    return printable(", ".join("NULL" if part is None else str(part) for part in key)) or "''"


def number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.4g}"


def short(value: object) -> str:
    text = printable(value if isinstance(value, str) else str(value))
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"
