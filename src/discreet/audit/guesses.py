"""Guesses on which of two sides an output was drawn, and what it proves how often they are right.

A guess is a score with two cuts: outputs with a high score are called the data's, those with a low score the
neighbour's, and of the others nothing is said.

Theorem  Let a fair coin decide for each of N outputs, by itself, on which side it is drawn, and let the guess be fixed
         before. If the mechanism is (ε, δ)-DP, `proven` exceeds ε with probability at most α.
Proof    Let P and Q be the distributions on the data and on the neighbour, A and B the outputs that are called the
         first's and the second's, and k how many of A and B are in use. An output is guessed rightly with chance
         c = (P(A) + Q(B))/2 and wrongly with chance w = (Q(A) + P(B))/2. As P(A) ≤ e^ε·Q(A) + δ and
         Q(B) ≤ e^ε·P(B) + δ, c ≤ e^ε·w + kδ/2; with g = c + w and r = c/g that is r − kδ/(2g) ≤ e^ε·(1 − r).
         G ~ Bin(N, g) outputs are guessed, and given G, Bin(G, r) of them rightly. So the lower bounds of Clopper and
         Pearson hold: that of r except with probability α − γ, that of g except with γ. While both do,
         ln((r_low − kδ/(2·g_low))/(1 − r_low)) ≤ ε, as the left side grows with r and with g. If δ = 0, g does not
         matter, and γ = 0. Outputs that could not be had count as wrong in r_low and as not guessed in g_low, so both
         bounds are at most what they would have been.
Source   Clopper & Pearson 1934; a part γ of α that confines a nuisance parameter: Berger & Boos 1994; ε from the share
         of right guesses: Steinke, Nasr & Jagielski 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from discreet.audit.outputs import Floats
from discreet.audit.scores import Score, scores

CUTS: Final = 50
"""In each tail of a score, and in its middle."""
CONFINED: Final = 1 / 50
"""γ/α."""
CAUTION: Final = 3.0
"""Standard errors that a choice among many is taken to flatter itself by."""
TINY: Final = 1e-300
NORMAL: Final = NormalDist()
Sides = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Guess:
    """Scores from `high` on are called the data's, those up to `low` the neighbour's; infinity is for neither."""

    score: Score
    high: float
    low: float

    @property
    def events(self) -> int:
        """How many of the two are in use."""
        return int(self.high < math.inf) + int(self.low > -math.inf)

    def words(self) -> tuple[str | None, str | None]:
        """The outputs that are called the data's, and those that are called the neighbour's."""
        high = self.score.words(self.high, above=True) if self.high < math.inf else None
        low = self.score.words(self.low, above=False) if self.low > -math.inf else None
        return high, low

    def calls(self, scores: Floats) -> tuple[int, int]:
        """How many of these scores are called the data's, and how many the neighbour's."""
        return int((scores >= self.high).sum()), int((scores <= self.low).sum())


def at_least(count: int, trials: int, alpha: float) -> float:
    """What a rate falls short of with probability α at most, by Clopper and Pearson."""
    return float(_beta().betaincinv(count, trials - count + 1, alpha)) if count else 0.0


def at_most(count: int, trials: int, alpha: float) -> float:
    """What a rate exceeds with probability α at most, by Clopper and Pearson."""
    return float(_beta().betainccinv(count + 1, trials - count, alpha)) if count < trials else 1.0


def _beta() -> Any:
    try:
        from scipy import special
    except ImportError:
        raise ImportError("the auditor needs scipy: pip install 'discreet[audit]'") from None
    return special


def proven(right: int, wrong: int, outputs: int, *, delta: float, alpha: float, missing: int = 0) -> float:
    """The bound of the theorem, where `delta` is kδ/2; −∞ if nothing is proven."""
    gamma = alpha * CONFINED if delta else 0.0
    # 1 − r_low as a bound of its own: nothing cancels where it is tiny
    missed = at_most(wrong + missing, right + wrong + missing, alpha - gamma)
    guessed = at_least(right + wrong, outputs, gamma) if delta else 1.0
    left = 1 - missed - delta / max(guessed, TINY)
    return math.log(left) - math.log(missed) if left > 0 else -math.inf


def best_guess(training: Sides, choosing: Sides, *, delta: float, alpha: float, outputs: int) -> Guess:
    """Of all scores and pairs of cuts, those that seem to prove most; nothing is certified by that."""
    best, most = None, -math.inf
    for score in scores(*training):
        pairs = zip(training, choosing, strict=True)
        seen = choosing if score.memorises else tuple(np.concatenate(pair) for pair in pairs)
        here, there = (np.sort(score(side)) for side in seen)
        value, guess = _best_cuts(score, here, there, delta=delta, alpha=alpha, outputs=outputs)
        if best is None or value > most:
            best, most = guess, value
    assert best is not None
    return best


def _best_cuts(
    score: Score, here: Floats, there: Floats, *, delta: float, alpha: float, outputs: int
) -> tuple[float, Guess]:
    """The pair of cuts of one score that seems to prove most with so many outputs, and how much."""
    cuts = _cuts(np.sort(np.concatenate([here, there])))
    below = [np.searchsorted(side, cuts, side="left") / side.size for side in (here, there)]
    # high scores in rows, low scores in columns; the first of each is no event at all, and wins ties
    high = [np.append(0.0, 1 - rates)[:, None] for rates in below]
    low = [np.append(0.0, rates)[None, :] for rates in below]
    used = np.sign(np.arange(cuts.size + 1))
    values = _promise(
        (high[0] + low[1]) / 2,
        (high[1] + low[0]) / 2,
        delta=delta * (used[:, None] + used) / 2,
        alpha=alpha,
        seen=here.size + there.size,
        outputs=outputs,
    )
    values[1:, 1:][np.triu(np.ones((cuts.size, cuts.size), dtype=bool), 1)] = -math.inf  # where they overlap
    row, column = (int(index) for index in np.unravel_index(int(np.argmax(values)), values.shape))
    chosen_high = float(cuts[row - 1]) if row else math.inf
    chosen_low = _last_below(float(cuts[column - 1]), here, there) if column else -math.inf
    return float(values[row, column]), Guess(score, chosen_high, chosen_low)


def _cuts(both: Floats) -> Floats:
    """Scores at which to cut, from all of them in order: the tails finer than the middle."""
    tail = np.geomspace(1e-5, 0.5, CUTS)
    shares = np.concatenate([tail, 1 - tail, np.linspace(0.1, 0.9, CUTS)])
    return np.unique(both[np.rint(shares * (both.size - 1)).astype(np.int64)])


def _last_below(cut: float, here: Floats, there: Floats) -> float:
    """The largest score that was seen below the cut: in words it is the rounder number."""
    seen = [side[index - 1] for side in (here, there) if (index := int(np.searchsorted(side, cut, side="left")))]
    return float(max(seen, default=-math.inf))


def _promise(right: Floats, wrong: Floats, *, delta: Floats, alpha: float, seen: int, outputs: int) -> Floats:
    """About what `proven` will say if the rates are these, less what they flatter themselves by.

    Wilson's bound instead of Clopper and Pearson's, for as many outputs as make both errors into one.
    """
    z = max(NORMAL.inv_cdf(1 - alpha), 1.0)
    count = (right + wrong) / (CAUTION / z / math.sqrt(seen) + 1 / math.sqrt(outputs)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = wrong / (right + wrong)
        spread = z * np.sqrt(rate * (1 - rate) / count + z * z / (4 * count**2))
        missed = (rate + z * z / (2 * count) + spread) / (1 + z * z / count)
        values = np.log(np.maximum(1 - missed - delta / (right + wrong), TINY)) - np.log(missed)
    return np.asarray(np.where(count > 0, values, -math.inf))
