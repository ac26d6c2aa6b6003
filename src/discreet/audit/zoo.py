"""Mechanisms that break their claim, each in a way that real systems have, and beside each one that keeps it.

All randomness comes from `discreet.noise`; what is wrong is what is done with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.audit.blackbox import Claim
from discreet.audit.outputs import Floats
from discreet.mechanisms import KeySelection

EPSILON: Final = 1.0
DELTA: Final = 1e-5
PURE: Final = Claim(EPSILON)
NO, NOT_ASKED = 0.0, -1.0
Integers = NDArray[np.int64]
Draw = Callable[[Any, int], Any]


@dataclass(frozen=True, slots=True)
class Specimen:
    """A broken mechanism, what is wrong with it, its correct twin, and the neighbours that show the difference."""

    name: str
    wrong: str
    broken: Draw
    twin: Draw
    data: Any
    neighbour: Any
    claim: Claim = PURE
    samples: int = 20_000
    """So many suffice."""


def laplace(scale: float, *shape: int) -> Integers:
    return np.asarray(noise.laplace(scale, size=shape))


def uniform(n: int) -> Floats:
    """Floats between 0 and 1."""
    return np.asarray((noise.below(2**53 - 1, size=n) + 1) / 2**53)


# numbers


def scaled(factor: float) -> Draw:
    return lambda exact, n: exact + laplace(factor / EPSILON, n)


def floating(exact: float, n: int) -> Floats:
    """exact ± ln(u)/ε in floats, as every textbook has it."""
    return np.asarray(exact + np.where(uniform(n) < 0.5, 1.0, -1.0) * np.log(uniform(n)) / EPSILON)


def one_sided(exact: int, n: int) -> Integers:
    return np.asarray(exact + np.abs(laplace(1 / EPSILON, n)))


def summed(values: Sequence[int], *, most: int | None, bits: int) -> int:
    held = [value if most is None else min(max(value, 0), most) for value in values]
    total = sum(held)
    half = 1 << (bits - 1)
    return (total + half) % (2 * half) - half


def sums(*, most: int | None, scale: float, bits: int = 64) -> Draw:
    return lambda values, n: summed(values, most=most, bits=bits) + laplace(scale / EPSILON, n)


def doubled_sum(clamp_last: bool) -> Draw:
    """SUM(2·x) of x between 0 and 1, with noise for sums of numbers between 0 and 1."""

    def draw(values: Sequence[int], n: int) -> Integers:
        clamped = [min(2 * x, 1) for x in values] if clamp_last else [2 * min(x, 1) for x in values]
        return np.asarray(sum(clamped) + laplace(1 / EPSILON, n))

    return draw


def average(share: float) -> Draw:
    """A sum and a count, each with this share of ε."""

    def draw(values: Sequence[int], n: int) -> Integers:
        totals = sum(values) + laplace(1 / (share * EPSILON), n)
        return np.column_stack([totals, len(values) + laplace(1 / (share * EPSILON), n)])

    return draw


def mean_of_none(values: Sequence[float], n: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.float64(sum(values)) / len(values) + laplace(1 / EPSILON, n))


def mean_over_noisy_count(values: Sequence[float], n: int) -> Floats:
    counts = np.maximum(len(values) + laplace(2 / EPSILON, n), 1)
    return np.asarray((sum(values) + laplace(2 / EPSILON, n)) / counts)


# many numbers


def gaussian_cells(root: float) -> Draw:
    """σ = 3.73 is right for one cell at (1, 10⁻⁵)."""
    return lambda exact, n: np.array(exact) + np.asarray(noise.gaussian((3.73 * root) ** 2, size=(n, len(exact))))


def counts_of(keys_seen: bool) -> Draw:
    """A count for every key that is present, or for every key that was declared."""

    def draw(values: Sequence[str], n: int) -> list[list[tuple[str, int]]]:
        keys = sorted(set(values)) if keys_seen else ["a", "b"]
        exact = np.array([values.count(key) for key in keys])
        return [list(zip(keys, row, strict=True)) for row in (exact + laplace(1 / EPSILON, n, len(keys))).tolist()]

    return draw


def thresholded(delta: float) -> Draw:
    """How many of the keys that are present pass a noisy threshold; its δ is claimed to be 10⁻⁵."""
    selection = KeySelection(delta=delta, max_groups=1, epsilon=EPSILON)

    def draw(counts: dict[str, int], n: int) -> Floats:
        noisy = np.array(list(counts.values())) + laplace(1 / EPSILON, n, len(counts))
        return np.asarray((noisy >= selection.threshold).sum(axis=1), dtype=np.float64)

    return draw


def first_groups(by_place: bool) -> Draw:
    """Two rows of everybody count: the first two in the file, or two that the unit's own rows decide."""

    def draw(rows: Sequence[tuple[str, str]], n: int) -> Integers:
        counted, seen = [], dict[str, int]()
        for index, (unit, group) in enumerate(rows):
            rank = index if by_place else seen.setdefault(unit, 0)
            seen[unit] = seen.get(unit, 0) + 1
            if rank < 2:
                counted.append(group)
        exact = np.array([counted.count("a"), counted.count("b")])
        return np.asarray(exact + laplace(2 / EPSILON, n, 2))

    return draw


# choices


def noisy_max(scale: float) -> Draw:
    """The place of the largest noisy score, where scores may move either way; ties go to the first."""

    def draw(scores: Sequence[int], n: int) -> Integers:
        return np.asarray(np.argmax(np.array(scores) * 1000 + laplace(1000 * scale / EPSILON, n, len(scores)), axis=1))

    return draw


def noisy_max_value(scores: Sequence[int], n: int) -> Integers:
    return np.asarray((np.array(scores) + laplace(1 / EPSILON, n, len(scores))).max(axis=1))


def largest_place(scores: Sequence[int], n: int) -> Integers:
    return noisy_max(2)(scores, n)  # type: ignore[no-any-return]


def exponential(factor: float) -> Draw:
    """exp(factor·score) each, where scores may move either way by 1."""

    def draw(scores: Sequence[int], n: int) -> Integers:
        weights = np.exp(factor * EPSILON * np.array(scores))
        return np.asarray(np.searchsorted(np.cumsum(weights / weights.sum()), uniform(n)))

    return draw


def sparse_vector(level: float, each: float | None, *, cutoff: int | None, values: bool = False) -> Draw:
    """Which numbers lie above a noisy threshold 0, with noise of scale `each` on the numbers."""

    def draw(stream: Sequence[int], n: int) -> Floats:
        out = np.full((n, len(stream)), NOT_ASKED)
        threshold, passed = laplace(level, n), np.zeros(n, dtype=np.int64)
        for index, exact in enumerate(stream):
            open_ = np.ones(n, dtype=bool) if cutoff is None else passed < cutoff
            noisy = exact + (laplace(each, n) if each else np.zeros(n, dtype=np.int64))
            above = noisy >= threshold
            out[:, index] = np.where(open_, np.where(above, noisy + 1000.0 if values else 1.0, NO), NOT_ASKED)
            passed += above & open_
        return out

    return draw


# sessions


def session(refunded: bool) -> Draw:
    """Questions at ε = 1 until the budget of 1 is spent; some fail on some data, and that may give the cost back."""

    def draw(values: Sequence[int], n: int) -> Floats:
        out = np.full((n, 5), NOT_ASKED)
        left = EPSILON
        for index in range(5):
            if left <= 0:
                break
            left -= EPSILON
            out[:, index] = len(values) + laplace(1 / EPSILON, n)
            if 0 in values and refunded:
                left += EPSILON  # "division by zero", after the answer was drawn
        return out

    return draw


def responses(flip: float) -> Draw:
    """One bit, told truly with probability 1 − flip."""
    return lambda bit, n: np.where(uniform(n) < flip, 1 - bit, bit)


ZEROS, MIXED = [0] * 10, [1] * 5 + [-1] * 5
TRUE_FLIP: Final = 1 / (1 + math.exp(EPSILON))
SVT: Final = sparse_vector(2, 4, cutoff=1)
ZOO: Final = (
    Specimen("half the noise", "the scale is for half the sensitivity", scaled(0.5), scaled(1), 0, 1),
    Specimen("a tenth less noise", "the scale is 10 % too small", scaled(0.9), scaled(1), 0, 1, PURE, 200_000),
    Specimen("replace-one, halved", "noise for adding one unit, claimed for changing one", scaled(1), scaled(2), 0, 2),
    Specimen("floating-point noise", "the sum keeps the last bits of the exact value (Mironov 2012)",
             floating, scaled(1), 0.0, 1.0),
    Specimen("one-sided noise", "only upwards: the exact value is a bound", one_sided, scaled(1), 0, 1),
    Specimen("unclamped sum", "the noise is for values up to 1; nobody clamps them",
             sums(most=None, scale=1), sums(most=1, scale=1), [1, 1], [1, 1, 5]),
    Specimen("clamped too early", "x is clamped and then doubled", doubled_sum(False), doubled_sum(True), [1], [1, 1],
             PURE, 200_000),
    Specimen("32-bit sum", "sums wrap around", sums(most=2**31, scale=1, bits=32), sums(most=1, scale=1),
             [2**31 - 1], [2**31 - 1, 1]),
    Specimen("average charged once", "sum and count each take the whole ε", average(1), average(0.5), [1], [1, 1]),
    Specimen("mean of nothing", "0/0 is NaN, with or without noise", mean_of_none, mean_over_noisy_count, [], [1.0]),
    Specimen("Gaussian without the root", "σ for one cell, on sixteen that move together", gaussian_cells(1),
             gaussian_cells(4), [0] * 16, [1] * 16, Claim(1, DELTA)),
    Specimen("keys that are present", "the shape of the answer says who is there", counts_of(True), counts_of(False),
             ["a", "a"], ["a", "a", "b"]),
    Specimen("threshold without δ", "a lonely key appears too often for the δ that is claimed", thresholded(0.2),
             thresholded(DELTA), {}, {"x": 1}, Claim(1, DELTA)),
    Specimen("rows by their place in the file", "removing one person moves others' rows into the sample",
             first_groups(True), first_groups(False),
             [("p", "a"), ("p", "a"), ("q", "b"), ("q", "b")], [("q", "b"), ("q", "b")]),
    Specimen("noisy max, too little noise", "scale 1/ε, though scores may move either way", noisy_max(1), noisy_max(2),
             [0] * 5, [1, -1, -1, -1, -1], PURE, 200_000),
    Specimen("noisy max with its value", "the largest noisy score is released as well", noisy_max_value, largest_place,
             [0] * 5, [1] * 5),
    Specimen("exponential without the half", "exp(ε·score), though scores may move either way", exponential(1),
             exponential(0.5), [0, 0], [1, -1]),
    Specimen("sparse vector with values", "the numbers above are released with the noise that compared them",
             sparse_vector(2, 2, cutoff=1, values=True), SVT, [-1] * 12 + [1], [0] * 13, PURE, 200_000),
    Specimen("sparse vector, small noise", "the noise does not grow with the number of finds",
             sparse_vector(4, 4 / 3, cutoff=5), SVT, ZEROS, MIXED),
    Specimen("sparse vector, bare numbers", "only the threshold has noise", sparse_vector(2, None, cutoff=None), SVT,
             ZEROS, MIXED),
    Specimen("sparse vector without end", "no limit on the number of finds", sparse_vector(2, 2, cutoff=None), SVT,
             ZEROS, MIXED),
    Specimen("refund on error", "a question that fails gives its cost back", session(True), session(False),
             [1], [1, 0]),
    Specimen("randomised response, shy coin", "the coin lies less often than ε allows", responses(TRUE_FLIP * 0.8),
             responses(TRUE_FLIP), 0, 1),
)  # fmt: skip
