"""A black-box auditor: it sees outputs only, and what it says comes with a certificate.

Outputs on two neighbours are told apart by scores. A quarter of the samples trains them; a quarter picks one score, one
cut and one direction; and the other half, which no choice has seen, bounds how likely the one event {score ≥ cut} is on
each side.

Theorem  If the mechanism is (ε, δ)-DP, the bound exceeds ε with probability at most 1 − confidence.
Proof    P(event) ≤ e^ε·P′(event) + δ. Each side's rate lies within its Clopper–Pearson bound except with probability
         (1 − confidence)/2, so ε ≥ ln((p_low − δ)/q_high) except with 1 − confidence; the event is fixed by then.
Source   Clopper & Pearson 1934; Ding, Wang, Wang, Zhang & Kifer 2018; Jagielski, Ullman & Oprea 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Concentrated, Pure, epsilon_of
from discreet.audit.outputs import Batch, Floats, Progress, rows, sampler
from discreet.audit.scores import Score, scores
from discreet.exact import number, probability, whole

CUTS: Final = 80
FEWEST: Final = 40
DELTA: Final = 1e-5
"""At which a concentrated loss is read as an (ε, δ) claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """(ε, δ)-DP."""

    epsilon: float
    delta: float = 0.0

    @classmethod
    def of(cls, claim: Any, mechanism: Any = None) -> Claim:
        """A claim as a number, a pair, a loss, or what the mechanism itself says."""
        if claim is None:
            claim = getattr(mechanism, "loss", None)
        if isinstance(claim, Claim):
            return claim
        if isinstance(claim, Pure):
            return cls(float(claim.epsilon))
        if isinstance(claim, Concentrated):
            delta = max(DELTA, 2 * float(claim.delta))
            return cls(epsilon_of(claim, delta), delta)
        if isinstance(claim, tuple) and len(claim) == 2:
            return cls(float(number(claim[0], "epsilon")), float(probability(claim[1], "delta")))
        if claim is None:
            raise TypeError("what is claimed? pass claim=1 for ε-DP, claim=(1, 1e-6) for (ε, δ)-DP, or a loss")
        return cls(float(number(claim, "epsilon")))

    @property
    def advantage(self) -> float:
        """How much more often than chance anybody can guess on which side an output was drawn, at most.

        Proof  With P ≤ e^ε·Q + δ both ways, P − Q is largest where both bounds meet: (e^ε − 1 + 2δ)/(e^ε + 1).
        Source Kairouz, Oh & Viswanath 2015.
        """
        return math.tanh(self.epsilon / 2) + 2 * self.delta / (math.exp(min(self.epsilon, 700)) + 1)

    def __str__(self) -> str:
        return f"ε {self.epsilon:g}" + (f", δ {self.delta:g}" if self.delta else "")


@dataclass(frozen=True, slots=True)
class Event:
    """The outputs whose score is at or above the cut; `above` is False for at or below."""

    score: Score
    cut: float
    above: bool
    forward: bool
    """Whether it is the likelier on the data, and not on the neighbour."""

    def count(self, outputs: Floats) -> int:
        found = self.score(outputs)
        return int((found >= self.cut if self.above else found <= self.cut).sum())

    def __str__(self) -> str:
        return self.score.words(self.cut, above=self.above)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The certified lower bound on ε at the claim's δ, and the event that shows it."""

    claim: Claim
    epsilon: float
    witness: str
    """The event in words."""
    likelier: str
    """On which side: "data" or "neighbour"."""
    hits: int
    misses: int
    trials: int
    confidence: float
    data: Any
    neighbour: Any

    @property
    def violated(self) -> bool:
        """Whether the claim is wrong, with this confidence."""
        return self.epsilon > self.claim.epsilon

    @property
    def advantage(self) -> tuple[float, float, float]:
        """How much likelier the event is on one side: the difference of the rates, and its confidence interval."""
        alpha = 1 - self.confidence
        low, high = (_rates(count, self.trials, alpha) for count in (self.hits, self.misses))
        difference = (self.hits - self.misses) / self.trials
        return difference, low[0] - high[1], low[1] - high[0]

    def __str__(self) -> str:
        verdict = "violated" if self.violated else "not disproved"
        rates = f"{self.hits:,} of {self.trials:,} times on the {self.likelier}, {self.misses:,} on the other side"
        found = f"ε ≥ {self.epsilon:.3f} ({self.confidence:.4g})"
        return f"{self.claim} is {verdict}: {found}, because {self.witness}: {rates}"


def estimate(
    mechanism: Any,
    data: Any = None,
    neighbour: Any = None,
    *,
    claim: Any = None,
    patterns: Sequence[tuple[Any, Any]] = (),
    samples: int = 200_000,
    confidence: float = 0.999,
    progress: Progress | None = None,
) -> Estimate:
    """What so many outputs on each of two neighbours prove about a mechanism's ε.

    `mechanism`: a function f(data), a batch f(data, n) marked with `batch`, a mechanism of discreet, or a `question`.
    Instead of two neighbours, `patterns` may name many pairs: a tenth of the samples looks for the most telling one.
    """
    draws, stated = sampler(mechanism), Claim.of(claim, mechanism)
    total, sure = whole(samples, "samples", least=FEWEST), float(probability(confidence, "confidence"))
    tell = progress or (lambda *_: None)
    if patterns:
        data, neighbour = _most_telling(draws, patterns, stated, total // 10, sure, tell)
        total -= total // 10
    tell("drawing", 0.0)
    here = rows(draws(data, total), total)
    tell("drawing", 0.5)
    there = rows(draws(neighbour, total), total)
    tell("looking for a witness", 0.0)
    here, there = _same_width(here, there)
    found = _estimated(here, there, stated, sure, data, neighbour)
    tell("looking for a witness", 1.0)
    return found


def _most_telling(
    draws: Batch, patterns: Sequence[tuple[Any, Any]], claim: Claim, samples: int, confidence: float, tell: Progress
) -> tuple[Any, Any]:
    """The pair that proves most with a few samples; what is certified later comes from others."""
    each = max(samples // len(patterns), FEWEST)
    best, most = patterns[0], -math.inf
    for place, pair in enumerate(patterns):
        tell("looking for telling data", place / len(patterns))
        sides = _same_width(*(rows(draws(side, each), each) for side in pair))
        found = _estimated(*sides, claim, min(confidence, 0.9), *pair)
        if found.epsilon > most:
            best, most = pair, found.epsilon
    return best


def _same_width(here: Floats, there: Floats) -> tuple[Floats, Floats]:
    """Outputs of other lengths on one side: what is missing is no number, and that shows."""
    width = max(here.shape[1], there.shape[1])
    wide = [np.pad(side, ((0, 0), (0, width - side.shape[1])), constant_values=np.nan) for side in (here, there)]
    return wide[0], wide[1]


def _estimated(here: Floats, there: Floats, claim: Claim, confidence: float, data: Any, neighbour: Any) -> Estimate:
    alpha, n = 1 - confidence, len(here)
    quarter, half = n // 4, n // 2
    event = _best_event((here[:quarter], there[:quarter]), (here[quarter:half], there[quarter:half]), claim, alpha)
    hits, misses = event.count(here[half:]), event.count(there[half:])
    if not event.forward:
        hits, misses = misses, hits
    bound = float(_bound(np.array([hits]), np.array([misses]), n - half, claim.delta, alpha)[0])
    return Estimate(
        claim=claim,
        epsilon=max(bound, 0.0),
        witness=str(event),
        likelier="data" if event.forward else "neighbour",
        hits=hits,
        misses=misses,
        trials=n - half,
        confidence=confidence,
        data=data,
        neighbour=neighbour,
    )


def _beta() -> Any:
    try:
        from scipy import stats
    except ImportError:
        raise ImportError("the auditor needs scipy: pip install 'discreet[audit]'") from None
    return stats.beta


def _rates(count: int, trials: int, alpha: float) -> tuple[float, float]:
    """The Clopper–Pearson interval of a rate, each end at α/4: two rates hold together except with probability α."""
    low = float(_beta().ppf(alpha / 4, count, trials - count + 1)) if count else 0.0
    high = float(_beta().isf(alpha / 4, count + 1, trials - count)) if count < trials else 1.0
    return low, high


def _bound(hits: NDArray[np.int64], misses: NDArray[np.int64], trials: int, delta: float, alpha: float) -> Floats:
    """ln((p_low − δ)/q_high), each bound at α/2; −∞ where nothing is proven."""
    beta = _beta()
    low = np.where(hits == 0, 0.0, beta.ppf(alpha / 2, np.maximum(hits, 1), trials - hits + 1))
    high = np.where(misses == trials, 1.0, beta.isf(alpha / 2, misses + 1, np.maximum(trials - misses, 1)))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0)) - np.log(high))


def _best_event(training: tuple[Floats, Floats], choosing: tuple[Floats, Floats], claim: Claim, alpha: float) -> Event:
    """Of all scores, cuts and directions, the one that proves most on the samples for choosing."""
    best, most = None, -math.inf
    for score in scores(*training):
        # what learns nothing may choose from the samples for training, too
        pairs = zip(training, choosing, strict=True)
        seen = choosing if score.learns else tuple(np.concatenate(pair) for pair in pairs)
        found = [score(outputs) for outputs in seen]
        for forward in (True, False):
            signed = [np.sort(values if forward else -values) for values in found]
            here, there = signed
            likely, unlikely = (here, there) if forward else (there, here)
            cuts = np.unique(np.quantile(np.concatenate([here, there]), 1 - np.geomspace(1e-5, 0.6, CUTS)))
            hits, misses = (part.size - np.searchsorted(part, cuts, side="left") for part in (likely, unlikely))
            bounds = _bound(hits, misses, here.size, claim.delta, alpha)
            place = int(np.argmax(bounds))
            if best is None or bounds[place] > most:
                cut = float(cuts[place]) if forward else -float(cuts[place])
                best, most = Event(score, cut, forward, forward), float(bounds[place])
    assert best is not None
    return best
