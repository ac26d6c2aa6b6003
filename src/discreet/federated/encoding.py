"""Updates as whole numbers: clipped, put on a grid, and summed modulo 2³².

A client's update is a vector of floats of any size. What it sends is a vector of whole numbers of which the L2 norm is
bounded; that bound is checked on the whole numbers themselves, so no float stands between it and the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits

Floats = NDArray[np.float64]
Words = NDArray[np.uint32]
MODULUS: Final = 2**32
MOST_STEPS: Final = 2**24
"""Of a clipping norm: beyond it rounding is long since negligible."""
LEAST_STEPS: Final = 200
TRIES: Final = 64
VOTE: Final = 10
"""The vote on the clipping norm moves a coordinate by a tenth of what the update may move."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Vectors of whole numbers: `steps` to the clipping norm; with `votes` one coordinate more.

    Theorem  What `encode` returns has an L2 norm of which the square is at most `sensitivity_squared`, whatever the
             update is, whatever the random bits are; a client without rows sends zeros. So that is how far the rows of
             one client move the sum of a round.
    Proof    Randomised rounding is repeated until the square of the norm, computed in whole numbers, is at most
             `update_squared`; after `TRIES` the update is rounded towards zero, and if floats erred even then, it is
             zero. A vote is `vote` or −`vote`, in a coordinate of its own: squares add up.
    Error    Rounding is unbiased but for the repetition: with s = steps, the bound s² + s + d/4 + √d/2 is kept with
             probability at least 1 − e^(−1/2) in each try.
    Source   Kairouz, Liu & Steinke 2021 (conditional randomised rounding); Andrew et al. 2021 (the vote).
    """

    parameters: int
    steps: int
    votes: bool = False

    @property
    def width(self) -> int:
        return self.parameters + self.votes

    @property
    def update_squared(self) -> int:
        return self.steps**2 + self.steps + -(-self.parameters // 4) + math.isqrt(self.parameters) // 2 + 1

    @property
    def vote(self) -> int:
        return max(math.isqrt(self.update_squared) // VOTE, 1)

    @property
    def sensitivity_squared(self) -> int:
        return self.update_squared + (self.vote**2 if self.votes else 0)

    def encode(self, exact_update: Floats | None, *, clip: float, bits: Bits | None = None) -> Integers:
        """The update of a client on the grid; None is a client without rows. What is not finite counts as zero."""
        vector = np.zeros(self.width, dtype=np.int64)
        if exact_update is None:
            return vector
        update = np.asarray(exact_update, dtype=np.float64)
        if update.shape != (self.parameters,):
            raise ValueError(f"an update must have {self.parameters} numbers, not the shape {update.shape}")
        if not np.isfinite(update).all():
            update = np.zeros(self.parameters)
        norm = _norm(update)
        # a large update would overflow when it is multiplied first
        scaled = update / norm * self.steps if norm > clip else update * (self.steps / clip)
        vector[: self.parameters] = self._rounded(scaled, bits)
        if self.votes:
            vector[self.parameters] = self.vote if norm <= clip else -self.vote
        return vector

    def _rounded(self, scaled: Floats, bits: Bits | None) -> Integers:
        low = np.floor(scaled)
        chances = np.minimum(((scaled - low) * 2**32).astype(np.int64), 2**32 - 1)
        for _ in range(TRIES):
            rounded = low.astype(np.int64) + (noise.below(2**32, self.parameters, bits=bits) < chances)
            if self._fits(rounded):
                return rounded
        towards_zero = np.trunc(scaled).astype(np.int64)
        return towards_zero if self._fits(towards_zero) else np.zeros(self.parameters, dtype=np.int64)

    def _fits(self, rounded: Integers) -> bool:
        """Exactly: whole numbers are added where their sum is known to be small."""
        about = float((rounded.astype(np.float64) ** 2).sum())
        return about <= 2 * self.update_squared and int((rounded**2).sum()) <= self.update_squared

    def decode(self, total: Floats, *, clip: float) -> tuple[Floats, float]:
        """A sum of updates in the caller's unit, and the sum of votes: half of a client for each that was clipped not,
        minus half for each that was."""
        update = total[: self.parameters] * (clip / self.steps)
        return update, float(total[self.parameters]) / (2 * self.vote) if self.votes else 0.0


def steps_for(clients: int, spread: float, numbers: int) -> int:
    """Steps to the clipping norm for which no sum of a training wraps around, except with probability 10⁻¹².

    clients   that may take part in one round: each adds at most its norm to a coordinate
    spread    the standard deviation of all noise of a round, in norms
    numbers   coordinates of all rounds

    Proof    Discrete Gaussian noise is sub-Gaussian, and so are sums: P(|Z| > t) ≤ 2·exp(−t²/(2s²)); union bound. A
             norm is at most 1.02 times the clipping norm after rounding and votes, for 200 and 10·√d steps or more.
             A sum that wraps around is wrong and no less private: remainders are post-processing.
    """
    return min(int((MODULUS // 2 - 1) / (1.02 * (clients + tail(numbers) * spread))), MOST_STEPS)


def tail(numbers: int) -> float:
    """Deviations that none of so many noises is from zero, except with probability 10⁻¹²: they are sub-Gaussian."""
    return math.sqrt(2 * math.log(2 * numbers / 1e-12))


def to_words(vector: Integers) -> Words:
    """The remainders modulo 2³²."""
    return (vector % MODULUS).astype(np.uint32)


def from_words(words: Words) -> Integers:
    """The whole numbers between −2³¹ and 2³¹ − 1 with these remainders."""
    return words.view(np.int32).astype(np.int64)


def _norm(update: Floats) -> float:
    """Also of numbers whose squares would overflow or vanish."""
    most = float(np.abs(update).max(initial=0.0))
    return most * float(np.linalg.norm(update / most)) if most > 0 else 0.0
