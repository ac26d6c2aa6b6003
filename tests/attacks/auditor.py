"""A black-box auditor: it sees outputs only, and what it says comes with a certificate.

Outputs on two neighbours are told apart by scores. A quarter of the samples trains them; a quarter picks one score, one
cut and one direction; and the other half, which no choice has seen, bounds how likely the one event {score ≥ cut} is on
each side (Clopper & Pearson 1934). An (ε, δ)-DP mechanism has P(event) ≤ e^ε·P′(event) + δ, so
ε ≥ ln((p_low − δ)/q_high): a mechanism that keeps its claim is accused with probability at most `alpha`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]
Sampler = Callable[[Any, int], ArrayLike]
"""Outputs of a mechanism for a data set, so many of them: numbers, or rows of numbers."""
Score = Callable[[Floats], Floats]

ALPHA: Final = 1e-8
"""How often a correct mechanism is accused: 100 audits raise a false alarm at a rate of 10⁻⁶ at most."""
FEWEST_REPEATS: Final = 20
BINS: Final = 200
CUTS: Final = 80
ENOUGH: Final = 10_000
"""Samples of each side that the logistic score learns from: its few weights need no more."""


class Claim(NamedTuple):
    """(ε, δ)-DP."""

    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """The certified lower bound on ε at the claim's δ, and the event that shows it."""

    claim: Claim
    epsilon: float
    event: str
    hits: int
    misses: int
    trials: int

    @property
    def caught(self) -> bool:
        return self.epsilon > self.claim.epsilon

    def __str__(self) -> str:
        rates = f"{self.hits} against {self.misses} of {self.trials}"
        return f"ε ≥ {self.epsilon:.3f} (claim {self.claim.epsilon:g}) by {self.event}: {rates}"


@dataclass(frozen=True)
class Event:
    """The score at or above the cut; `forward` if it is the likelier on the first data set."""

    name: str
    score: Score
    cut: float
    forward: bool

    def count(self, outputs: Floats) -> int:
        return int((self.score(outputs) >= self.cut).sum())


def audit(mechanism: Sampler, d: Any, d1: Any, claim: Claim, n: int, alpha: float = ALPHA) -> Verdict:
    """What `n` outputs of the mechanism on each of two neighbours prove about its ε."""
    here, there = (_rows(mechanism(data, n), n) for data in (d, d1))
    quarter, half = n // 4, n // 2
    event = _best_event((here[:quarter], there[:quarter]), (here[quarter:half], there[quarter:half]), claim, alpha)
    hits, misses = event.count(here[half:]), event.count(there[half:])
    if not event.forward:
        hits, misses = misses, hits
    bound = float(_bound(np.array([hits]), np.array([misses]), n - half, claim.delta, alpha)[0])
    return Verdict(claim, max(bound, 0.0), event.name, hits, misses, n - half)


def _rows(outputs: ArrayLike, n: int) -> Floats:
    array = np.asarray(outputs, dtype=np.float64)
    if array.shape[0] != n:
        raise ValueError(f"the mechanism gave {array.shape[0]} outputs, not {n}")
    return array.reshape(n, -1)


def _bound(hits: NDArray[np.int64], misses: NDArray[np.int64], trials: int, delta: float, alpha: float) -> Floats:
    """ln((p_low − δ)/q_high), each bound at α/2; −∞ where nothing is proven."""
    low = np.where(hits == 0, 0.0, stats.beta.ppf(alpha / 2, np.maximum(hits, 1), trials - hits + 1))
    high = np.where(misses == trials, 1.0, stats.beta.isf(alpha / 2, misses + 1, np.maximum(trials - misses, 1)))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0)) - np.log(high))


def _best_event(training: tuple[Floats, Floats], choosing: tuple[Floats, Floats], claim: Claim, alpha: float) -> Event:
    """Of all scores, cuts and directions, the one that proves most on the samples for choosing."""
    best, most = None, -math.inf
    for name, score in _scores(*training):
        for forward in (True, False):
            signed = score if forward else _negated(score)
            here, there = (np.sort(signed(outputs)) for outputs in choosing)
            likely, unlikely = (here, there) if forward else (there, here)
            cuts = np.unique(np.quantile(np.concatenate([here, there]), 1 - np.geomspace(1e-5, 0.6, CUTS)))
            hits, misses = (part.size - np.searchsorted(part, cuts, side="left") for part in (likely, unlikely))
            bounds = _bound(hits, misses, here.size, claim.delta, alpha)
            place = int(np.argmax(bounds))
            if best is None or bounds[place] > most:
                best, most = Event(name, signed, float(cuts[place]), forward), float(bounds[place])
    assert best is not None
    return best


def _negated(score: Score) -> Score:
    return lambda outputs: -score(outputs)


# Scores: high where the first data set is likelier


def _scores(here: Floats, there: Floats) -> Iterator[tuple[str, Score]]:
    table = _table(here, there)
    if table is not None:
        yield "table", table
    yield "histogram", _on(_numbers, _histogram(_numbers(here), _numbers(there)))
    yield "last bit", _on(_grain, _histogram(_grain(here), _grain(there)))
    yield "logistic", _on(_numbers, _logistic(_numbers(here[:ENOUGH]), _numbers(there[:ENOUGH])))


def _on(features: Callable[[Floats], Floats], score: Score) -> Score:
    return lambda outputs: score(features(outputs))


def _numbers(outputs: Floats) -> Floats:
    """The outputs, with NaN and infinity as flags of their own."""
    odd = ~np.isfinite(outputs)
    return np.concatenate([np.where(odd, 0.0, outputs), odd], axis=1)


def _grain(outputs: Floats) -> Floats:
    """The place value of the last set bit of every float: 2⁻¹⁰ has −10, 0 has 64."""
    mantissas, exponents = np.frexp(np.where(np.isfinite(outputs), outputs, 0.0))
    whole = np.abs(mantissas * 2.0**53).astype(np.int64)
    last = np.log2(np.maximum(whole & -whole, 1)) + exponents - 53
    return np.where(whole == 0, 64.0, last)


def _log_odds(first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """How much likelier the first is by these counts, one standard error nearer to 0: a few counts say little."""
    odds = np.log((first + 0.5) / (second + 0.5))
    error = np.sqrt(1 / (first + 0.5) + 1 / (second + 0.5))
    return np.asarray(np.sign(odds) * np.maximum(np.abs(odds) - error, 0.0))


def _table(here: Floats, there: Floats) -> Score | None:
    """How much likelier each output is as a whole; only where outputs repeat."""
    counts: dict[bytes, list[int]] = {}
    for side, outputs in enumerate((here, there)):
        for key in _keys(outputs):
            counts.setdefault(key, [0, 0])[side] += 1
    if len(counts) > len(here) / FEWEST_REPEATS:
        return None
    first, second = np.array(list(counts.values())).T
    odds = dict(zip(counts, _log_odds(first, second).tolist(), strict=True))
    return lambda outputs: np.array([odds.get(key, 0.0) for key in _keys(outputs)])


def _keys(outputs: Floats) -> list[bytes]:
    width = outputs.shape[1] * outputs.itemsize
    whole = np.ascontiguousarray(outputs + 0.0).tobytes()
    return [whole[start : start + width] for start in range(0, len(whole), width)]


def _histogram(here: Floats, there: Floats) -> Score:
    """How much likelier the bin of each column is, summed over the columns as if they were independent."""
    columns = []
    for a, b in zip(here.T, there.T, strict=True):
        edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, BINS + 1)[1:-1]))
        first, second = (
            np.bincount(np.searchsorted(edges, part, side="right"), minlength=edges.size + 1) for part in (a, b)
        )
        columns.append((edges, _log_odds(first, second)))

    def score(features: Floats) -> Floats:
        places = [
            odds[np.searchsorted(edges, part, side="right")]
            for (edges, odds), part in zip(columns, features.T, strict=True)
        ]
        return np.asarray(np.sum(places, axis=0))

    return score


def _logistic(here: Floats, there: Floats) -> Score:
    """The best linear combination of the columns, by Newton's method with a little ridge."""
    both = np.concatenate([here, there])
    mean, spread = both.mean(axis=0), both.std(axis=0) + 1e-9

    def design(features: Floats) -> Floats:
        return np.column_stack([np.ones(len(features)), (features - mean) / spread])

    x, first = design(both), np.repeat([1.0, 0.0], [len(here), len(there)])
    weights = np.zeros(x.shape[1])
    for _ in range(8):
        guess = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (first - guess) - 1e-3 * weights
        curvature = (x * (guess * (1 - guess))[:, None]).T @ x + 1e-3 * np.eye(len(weights))
        weights = weights + np.linalg.solve(curvature, slope)
    return lambda features: np.asarray(design(features) @ weights)
