"""Scores that tell outputs on two neighbours apart: high where the first is the likelier. They learn from samples.

Each is a value with its parameters, so that the event {score ≥ cut} can be said in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.audit.outputs import Floats

FEWEST_REPEATS: Final = 20
BINS: Final = 200
ENOUGH: Final = 50_000
"""Samples of each side that the linear score learns from: its few weights need no more."""
PLENTY: Final = 1000
"""Samples for each weight of the linear score, from which on it learns no accidents."""
CLEAR: Final = 10
"""How many times larger than their errors odds must be, not to be taken for accidents."""
SHOWN: Final = 4
FAR: Final = 1e100
"""Beyond this, squares would overflow."""


class Score(Protocol):
    """How much likelier each output is on the first side, about."""

    @property
    def memorises(self) -> bool:
        """Whether the samples that it learnt from would flatter it: then it must not choose its cuts by them."""

    def __call__(self, outputs: Floats) -> Floats: ...
    def words(self, cut: float, *, above: bool) -> str:
        """The outputs whose score is at or above the cut (or at or below it)."""


def scores(here: Floats, there: Floats) -> Iterator[Score]:
    """All scores, trained on samples of both sides; of two that promise the same, the first is taken."""
    table = Table.of(here, there)
    if table is not None and table.complete:
        yield table
    yield Bins.of(here, there)
    yield Grain(Bins.of(last_bits(here), last_bits(there)))
    yield Linear.of(here[:ENOUGH], there[:ENOUGH])
    if np.isfinite(here).all() and np.isfinite(there).all():
        what = "the output" if here.shape[1] == 1 else "the sum of its numbers"
        yield Total(what, grows=True)
        yield Total(what, grows=False)
    if table is not None and not table.complete:
        yield table


@dataclass(frozen=True, slots=True)
class Table:
    """Each output as a whole; only where outputs repeat."""

    odds: dict[bytes, float]
    complete: bool
    """Whether all outputs came twice or more: then hardly any is still to come (Good 1953)."""
    memorises: bool

    @classmethod
    def of(cls, here: Floats, there: Floats) -> Table | None:
        both = np.concatenate([here, there]) + 0.0
        _, first, places = np.unique(_packed(both), return_index=True, return_inverse=True)
        if len(first) > len(here) / FEWEST_REPEATS:
            return None
        counts = [np.bincount(part, minlength=len(first)) for part in (places[: len(here)], places[len(here) :])]
        keys = [both[index].tobytes() for index in first]
        odds, seen = log_odds(*counts), counts[0] + counts[1]
        complete = bool((seen > 1).all())
        return cls(
            dict(zip(keys, odds.tolist(), strict=True)),
            complete,
            not complete or faint(float(seen @ odds**2), odds.size),
        )

    def __call__(self, outputs: Floats) -> Floats:
        whole = np.ascontiguousarray(outputs + 0.0)
        _, first, places = np.unique(_packed(whole), return_index=True, return_inverse=True)
        odds = np.array([self.odds.get(whole[index].tobytes(), 0.0) for index in first])
        return np.asarray(odds[places.ravel()])

    def words(self, cut: float, *, above: bool) -> str:
        chosen = [(odds, key) for key, odds in self.odds.items() if (odds >= cut if above else odds <= cut)]
        chosen.sort(key=lambda pair: pair[0], reverse=above)
        outputs = [_output(np.frombuffer(key)) for _, key in chosen[:SHOWN]]
        more = f" or {len(chosen) - SHOWN} others" if len(chosen) > SHOWN else ""
        return f"the output is {', '.join(outputs)}{more}" if outputs else "the output is one that was not seen before"


@dataclass(frozen=True, slots=True)
class Bins:
    """The bin of each number, odds added up as if the numbers were independent."""

    columns: tuple[tuple[Floats, Floats], ...]
    """Edges and odds of each number; NaN and infinity have columns of their own."""
    memorises: bool

    @classmethod
    def of(cls, here: Floats, there: Floats) -> Bins:
        columns, signal = [], 0.0
        for a, b in zip(flagged(here).T, flagged(there).T, strict=True):
            edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, BINS + 1)[1:-1]))
            counts = [
                np.bincount(np.searchsorted(edges, part, side="right"), minlength=edges.size + 1) for part in (a, b)
            ]
            odds = log_odds(*counts)
            columns.append((edges, odds))
            signal += float((counts[0] + counts[1]) @ odds**2)
        return cls(tuple(columns), faint(signal, sum(odds.size for _, odds in columns)))

    def __call__(self, outputs: Floats) -> Floats:
        places = [
            odds[np.searchsorted(edges, part, side="right")]
            for (edges, odds), part in zip(self.columns, flagged(outputs).T, strict=True)
        ]
        return np.asarray(np.sum(places, axis=0))

    def words(self, cut: float, *, above: bool) -> str:
        if len(self.columns) > 2:
            count = len(self.columns) // 2
            return f"the odds of its {count} numbers, taken one by one, add up to {_sign(above)} {cut:.3g}"
        (edges, odds), (marks, flags) = self.columns
        number, none = flags[np.searchsorted(marks, [0.0, 1.0], side="right")]
        odd = odds[np.searchsorted(edges, 0.0, side="right")] + none
        if 1.0 in marks and (odd >= cut if above else odd <= cut):
            return "the output is no number"
        good = odds + number >= cut if above else odds + number <= cut
        if good.all():
            return "the output is a number"
        return f"the output {'is a number that ' if 1.0 in marks else ''}lies {_ranges(edges, good)}"


@dataclass(frozen=True, slots=True)
class Grain:
    """The last set bit of every float: exact values leave theirs in sums with floating-point noise."""

    bins: Bins

    @property
    def memorises(self) -> bool:
        return self.bins.memorises

    def __call__(self, outputs: Floats) -> Floats:
        return self.bins(last_bits(outputs))

    def words(self, cut: float, *, above: bool) -> str:
        words = self.bins.words(cut, above=above)
        return words.replace("the output lies", "the place of its last set bit lies").replace(
            "the odds of its", "the odds of the last set bits of its"
        )


@dataclass(frozen=True, slots=True)
class Linear:
    """The best linear combination of the numbers."""

    mean: Floats
    spread: Floats
    weights: Floats
    memorises: bool

    @classmethod
    def of(cls, here: Floats, there: Floats) -> Linear:
        """By Newton's method, with a little ridge."""
        a, b = (np.clip(flagged(side), -FAR, FAR) for side in (here, there))
        both = np.concatenate([a, b])
        many = len(both) < PLENTY * both.shape[1]
        standard = cls(both.mean(axis=0), both.std(axis=0) + 1e-9, np.zeros(both.shape[1] + 1), many)
        x, first = standard._design(both), np.repeat([1.0, 0.0], [len(a), len(b)])
        weights = standard.weights
        for _ in range(8):
            guess = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
            slope = x.T @ (first - guess) - 1e-3 * weights
            curvature = (x * (guess * (1 - guess))[:, None]).T @ x + 1e-3 * np.eye(len(weights))
            weights = weights + np.linalg.solve(curvature, slope)
        return cls(standard.mean, standard.spread, weights, many)

    def _design(self, features: Floats) -> Floats:
        return np.column_stack([np.ones(len(features)), (features - self.mean) / self.spread])

    def __call__(self, outputs: Floats) -> Floats:
        return np.asarray(self._design(np.clip(flagged(outputs), -FAR, FAR)) @ self.weights)

    def words(self, cut: float, *, above: bool) -> str:
        slopes = self.weights[1:] / self.spread
        level = cut - self.weights[0] + float(slopes @ self.mean)
        numbers = slopes[: len(slopes) // 2]
        if len(numbers) == 1 and slopes[0]:
            return f"the output is {_sign((slopes[0] > 0) == above)} {level / slopes[0] + 0.0:.6g}"
        largest = np.argsort(-np.abs(numbers))[:SHOWN]
        terms = " + ".join(f"{numbers[index]:.3g}·x{index + 1}" for index in sorted(largest))
        return f"{terms}{' + …' if len(numbers) > SHOWN else ''} is {_sign(above)} {level:.4g}"


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of the numbers: nothing to learn."""

    what: str
    grows: bool
    """Whether a large sum speaks for the first side, or a small one."""

    memorises = False

    def __call__(self, outputs: Floats) -> Floats:
        total = np.clip(np.where(np.isfinite(outputs), outputs, 0.0), -FAR, FAR).sum(axis=1)
        return np.asarray(total if self.grows else -total)

    def words(self, cut: float, *, above: bool) -> str:
        level = cut if self.grows else -cut
        return f"{self.what} is {_sign(above == self.grows)} {level + 0.0:.6g}"


def log_odds(first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """How much likelier the first is by these counts, one standard error nearer to 0: a few counts say little."""
    odds = np.log((first + 0.5) / (second + 0.5))
    error = np.sqrt(1 / (first + 0.5) + 1 / (second + 0.5))
    return np.asarray(np.sign(odds) * np.maximum(np.abs(odds) - error, 0.0))


def faint(signal: float, learnt: int) -> bool:
    """Whether so many odds could be accidents: each adds 4, about, to what their squares sum up to over all samples."""
    return signal < CLEAR**2 * 4 * learnt


def flagged(outputs: Floats) -> Floats:
    """The numbers, then flags for those that are NaN or infinite."""
    odd = ~np.isfinite(outputs)
    return np.concatenate([np.where(odd, 0.0, outputs), odd], axis=1)


def last_bits(outputs: Floats) -> Floats:
    """The place value of the last set bit of every float: 2⁻¹⁰ has −10, 0 has 64."""
    mantissas, exponents = np.frexp(np.where(np.isfinite(outputs), outputs, 0.0))
    whole = np.abs(mantissas * 2.0**53).astype(np.int64)
    last = np.log2(np.maximum(whole & -whole, 1)) + exponents - 53
    return np.where(whole == 0, 64.0, last)


def _packed(outputs: Floats) -> NDArray[np.void]:
    """Each row as one value that can be sorted."""
    whole = np.ascontiguousarray(outputs)
    return whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).ravel()


def _output(numbers: Floats) -> str:
    digits = [f"{number + 0.0:.6g}" for number in numbers[:SHOWN]]
    if len(numbers) == 1:
        return digits[0]
    return f"({', '.join(digits)}{', …' if len(numbers) > SHOWN else ''})"


def _ranges(edges: Floats, good: NDArray[np.bool_]) -> str:
    """Which of the bins between the edges are good, in words."""
    ends = [-np.inf, *edges.tolist(), np.inf]
    ranges: list[tuple[float, float]] = []
    for index in np.flatnonzero(good):
        if ranges and ranges[-1][1] == ends[index]:
            ranges[-1] = ranges[-1][0], ends[index + 1]
        else:
            ranges.append((ends[index], ends[index + 1]))
    words = [_range(low, high) for low, high in ranges[:SHOWN]]
    more = f" or in {len(ranges) - SHOWN} other ranges" if len(ranges) > SHOWN else ""
    return (" or ".join(words) or "nowhere") + more


def _range(low: float, high: float) -> str:
    if low == -np.inf:
        return f"below {high:.6g}"
    return f"from {low:.6g} on" if high == np.inf else f"from {low:.6g} to below {high:.6g}"


def _sign(above: bool) -> str:
    return "at least" if above else "at most"
