"""What a mechanism gave, as rows of numbers: whatever can be told apart stays apart."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]
"""Told what is being done, and how far it is, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A mechanism that gives many outputs at once: f(data, n)."""

    draw: Callable[[Any, int], Any]
    name: str = "mechanism"

    def __call__(self, data: Any, n: int) -> Any:
        return self.draw(data, n)


def batch(draw: Callable[[Any, int], Any]) -> Batch:
    """Mark a function f(data, n) as one that gives n outputs at once."""
    return Batch(draw, getattr(draw, "__name__", "mechanism"))


def sampler(mechanism: Any) -> Batch:
    """Any mechanism as a batch: a function of data, a batch, or an object that releases or chooses."""
    if isinstance(mechanism, Batch):
        return mechanism
    vectorised = getattr(mechanism, "samples", None)
    if vectorised is not None:
        return Batch(vectorised, type(mechanism).__name__)
    release = getattr(mechanism, "release", None) or getattr(mechanism, "choose", None)
    if release is not None:
        return Batch(lambda data, n: _released(release, data, n), type(mechanism).__name__)
    if not callable(mechanism):
        raise TypeError(f"a mechanism is a function of data, a batch, or has release(): not {mechanism!r}")
    return Batch(lambda data, n: [mechanism(data) for _ in range(n)], getattr(mechanism, "__name__", "mechanism"))


def _released(release: Callable[[Any], Any], data: Any, n: int) -> Any:
    """Draws of numbers are independent of each other, so many of them are one vector; others are drawn one by one."""
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        outputs = np.asarray(release(np.full(n, data)))
        if outputs.shape == (n,):
            return outputs
    return [release(data) for _ in range(n)]


def rows(outputs: Any, n: int) -> Floats:
    """Outputs as rows of numbers of one width."""
    try:
        array = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = _flattened(outputs)
    if array.shape[:1] != (n,):
        raise ValueError(f"the mechanism gave {len(array)} outputs, not {n}")
    return array.reshape(n, -1)


def _flattened(outputs: Any) -> Floats:
    """Outputs of any shape: their numbers side by side, behind how many there are."""
    lists = [_numbers(output) for output in outputs]
    width = max((len(numbers) for numbers in lists), default=0)
    flat = np.full((len(lists), width + 1), np.nan)
    for row, numbers in zip(flat, lists, strict=True):
        row[0] = len(numbers)
        row[1 : len(numbers) + 1] = numbers
    return flat


def _numbers(output: Any) -> list[float]:
    if output is None:
        return [math.nan]
    if isinstance(output, (float, np.number)) or (isinstance(output, int) and abs(output) < 2**1023):
        return [float(output)]
    if isinstance(output, Mapping):
        return [number for item in sorted(output.items(), key=repr) for number in _numbers(item)]
    if isinstance(output, (Sequence, set, frozenset, np.ndarray)) and not isinstance(output, (str, bytes)):
        ordered = sorted(output, key=repr) if isinstance(output, (set, frozenset)) else output
        return [number for part in ordered for number in _numbers(part)]
    return [code(output)]


def code(output: Any) -> float:
    """A number for what is none: other things, other numbers, but for one in 2⁴⁸."""
    digest = hashlib.blake2b(repr(output).encode("utf-8", "backslashreplace"), digest_size=6).digest()
    return float(int.from_bytes(digest, "big"))
