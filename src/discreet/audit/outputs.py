"""What a mechanism gave, as rows of numbers: whatever can be told apart stays apart."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]
"""Told what is being done, and how far it is, from 0 to 1."""
_PLAIN: Final[Mapping[type, type]] = {
    **dict.fromkeys((float, np.float16, np.float32, np.float64), float),
    **dict.fromkeys((int, *(np.dtype(f"{sign}{size}").type for sign in "iu" for size in (1, 2, 4, 8))), int),
    **dict.fromkeys((bool, np.bool_), bool),
}
"""Types whose values an array holds, each as what it is in Python."""
_HELD: Final[Mapping[Any, Any]] = {float: np.float64, int: np.int64, bool: np.bool_}
_WHOLE: Final = 2**53
"""Up to here a float tells all integers apart."""


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
    return beside([outputs], n)[0]


def beside(sides: Sequence[Any], n: int) -> list[Floats]:
    """The outputs of several sides as rows of numbers, all of one width, and all written in the same way.

    In the same way, because else one output in a million that is a list, or None, would set all others of its side
    apart from those of the neighbour. What is the same in all of them is left out.
    """
    given = [side if isinstance(side, np.ndarray) else list(side) for side in sides]
    for side in given:
        if np.shape(side)[:1] != (n,) if isinstance(side, np.ndarray) else len(side) != n:
            raise ValueError(f"the mechanism gave {len(side) if np.ndim(side) else 1} outputs, not {n}")
    arrays = _arrays(given)
    both = _spelled(given) if arrays is None else _exact(np.concatenate(arrays))
    bits = np.ascontiguousarray(both).view(np.uint64)
    differs = (bits != bits[:1]).any(axis=0) if len(bits) else np.zeros(both.shape[1], dtype=bool)
    differs[:1] |= not differs.any()
    return list(np.ascontiguousarray(both[:, differs]).reshape(len(given), n, -1))


def _arrays(sides: Sequence[Any]) -> list[NDArray[Any]] | None:
    """Numbers of one type in the same shape on all sides, where an array holds them as they are."""
    arrays = [each for each in map(_array, sides) if each is not None]
    alike = {(around, array.dtype.kind, array.shape[1:]) for around, array in arrays}
    if len(arrays) < len(sides) or len(alike) > 1:
        return None
    return [array.reshape(len(array), -1) for _, array in arrays]


def _array(outputs: Any) -> tuple[frozenset[type], NDArray[Any]] | None:
    """The array of the outputs, and what each number or row of numbers stands in; None if there are other things."""
    if isinstance(outputs, np.ndarray):
        return (frozenset(), outputs) if outputs.dtype.type in _PLAIN else None
    around = frozenset(map(type, outputs))
    if around == {np.ndarray}:
        held = {_PLAIN.get(output.dtype.type) for output in outputs}
    elif around in (frozenset({list}), frozenset({tuple})):
        held = {_PLAIN.get(kind) for kind in {type(part) for output in outputs for part in output}}
    else:
        around, held = frozenset(), {_PLAIN.get(kind) for kind in around}
    if len(held) != 1 or None in held:
        return None
    try:
        return around, np.asarray(outputs, dtype=_HELD[held.pop()])
    except (ValueError, OverflowError):  # of several lengths, or too large
        return None


def _exact(array: NDArray[Any]) -> Floats:
    """Numbers as floats; what floats do not tell apart stands beside them."""
    beside_them: list[Floats] = []
    if array.dtype.kind in "iu" and bool(((array > _WHOLE) | (array < -_WHOLE)).any()):
        beside_them.append((array & array.dtype.type(2**32 - 1)).astype(np.float64))
    if array.dtype.kind == "f" and bool((zeros := (array == 0) & np.signbit(array)).any()):
        beside_them.append(zeros.astype(np.float64))
    return np.concatenate([array.astype(np.float64), *beside_them], axis=1)


def _spelled(sides: Sequence[Any]) -> Floats:
    """Outputs of any shape: what they are and their numbers, side by side."""
    lists = [_numbers(output) for side in sides for output in side]
    flat = np.full((len(lists), max(map(len, lists), default=1)), np.nan)
    for row, numbers in zip(flat, lists, strict=True):
        row[: len(numbers)] = numbers
    return flat


def _numbers(output: Any) -> list[float]:
    """What it is, then what is in it: so that neither a text, nor a list in a list, is taken for a number in it."""
    if isinstance(output, np.generic) and type(output) in _PLAIN:
        output = output.item()
    kind = code(type(output))
    if isinstance(output, Mapping):
        order, parts = code(list(output)), sorted(output.items(), key=repr)
        return [kind, len(parts), order, *(number for item in parts for number in _numbers(item))]
    if isinstance(output, np.ndarray):
        order = code((output.shape, output.dtype.str))
        return [kind, order, *(number for part in output.ravel() for number in _numbers(part))]
    if isinstance(output, (Sequence, set, frozenset)) and not isinstance(output, (str, bytes)):
        ordered = sorted(output, key=repr) if isinstance(output, (set, frozenset)) else output
        return [kind, len(output), *(number for part in ordered for number in _numbers(part))]
    return [kind, *_pair(output)]


def _pair(output: Any) -> tuple[float, float]:
    """A number that grows with the output, if it is a number, and one for what the first does not tell."""
    if isinstance(output, complex):
        return output.real, output.imag
    if isinstance(output, float):
        return output, math.copysign(1.0, output) if output == 0 else 0.0
    if isinstance(output, int) and abs(output) < 2**1023:
        rest = output - int(float(output))
        return float(output), float(rest) if abs(rest) <= _WHOLE else code(rest)
    if isinstance(output, (Decimal, Fraction, np.floating)):
        with suppress(ValueError, OverflowError):
            return float(output), code(output)
    return code(output), 0.0


def code(output: Any) -> float:
    """A number for what is none: other things, other numbers, but for one in 2⁴⁸."""
    digest = hashlib.blake2b(repr(output).encode("utf-8", "backslashreplace"), digest_size=6).digest()
    return float(int.from_bytes(digest, "big"))
