"""Which claims of other libraries are audited, and on which neighbours: pairs that have broken such claims before.

`caveat` is what the library itself says about such a case; where it breaks, the table says that too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.peers.environments import PEERS, Peer
from discreet.audit import Claim

NO_NUMBER = math.nan
MANY, SOME, FEW, LEAST = 100_000, 40_000, 20_000, 2_000
"""Samples of each side: as many as a minute or so allows; fewest where one answer takes milliseconds."""

ONE = Claim(1.0)
LOG_3 = Claim(math.log(3))
APPROXIMATE = Claim(1.0, 1e-5)
KEYS = Claim(1.0, 0.01)
"""A δ large enough that twice as much would show in 20,000 samples."""


@dataclass(frozen=True, slots=True)
class Case:
    """A primitive, what is claimed of it, and two neighbours, in words and as they are."""

    primitive: str
    pair: str
    data: Any
    neighbour: Any
    claim: Claim = ONE
    samples: int = MANY
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """A peer with the cases to try."""

    peer: Peer
    cases: tuple[Case, ...]


Pair = tuple[str, Any, Any]

ZEROS, MIXED = [0] * 5, [1, -1, -1, -1, -1]
TEN, NINE_AND_ONE = [0.0] * 10, [0.0] * 9 + [1.0]
NUMBERS = ("0 or 1", 0, 1)
FLOATS = ("0.0 or 1.0", 0.0, 1.0)
SCORES = ("scores 0,0,0,0,0 or 1,−1,−1,−1,−1", ZEROS, MIXED)
REPLACED = ("ten zeros, one replaced by 1", TEN, NINE_AND_ONE)
POISONED = ("ten zeros, one replaced by NaN", TEN, [0.0] * 9 + [NO_NUMBER])
OUTSIDE = ("ten zeros, one replaced by 10⁹", TEN, [0.0] * 9 + [1e9])
ADDED = ("one row or two", [0.0], [0.0, 1.0])
FIRST: Pair = ("no row or one", [], [1.0])

HARDENED = "its documentation says that the sampler guards against attacks on floating point"
UNGUARDED = "its documentation says nothing about floating point"
WARNS = "it warns of this (PrivacyLeakWarning)"
IGNORES = "its documentation offers a twin that ignores NaN, and does not warn of this"
KNOWN = "a comment in its source names this as open"
RELATION = (
    "its documentation does not say what neighbours are; the noise of this one is for rows that are added, not replaced"
)
TOO_FINE = "the project that it wraps calls such noise robust; its grid of 2⁻⁵⁴ is finer than floats near 1 can hold"
UNSAID = "its documentation says nothing about this"

DIFFPRIVLIB = Library(
    Peer("diffprivlib", "diffprivlib_audit", ("diffprivlib==0.6.6", "scikit-learn==1.6.1"), "diffprivlib"),
    (
        Case("Laplace", *FLOATS, samples=SOME, caveat=HARDENED),
        Case("LaplaceTruncated", *FLOATS, samples=SOME, caveat=UNGUARDED),
        Case("LaplaceFolded", *FLOATS, samples=SOME, caveat=UNGUARDED),
        Case("LaplaceBoundedDomain", *FLOATS, samples=SOME, caveat=UNGUARDED),
        Case("Snapping", *FLOATS, samples=SOME),
        Case("Staircase", *FLOATS, samples=SOME, caveat=UNGUARDED),
        Case("Geometric", *NUMBERS),
        Case("Gaussian", *FLOATS, claim=APPROXIMATE, samples=SOME, caveat=HARDENED),
        Case("GaussianAnalytic", *FLOATS, claim=APPROXIMATE, samples=SOME, caveat=UNGUARDED),
        Case("GaussianDiscrete", *NUMBERS, claim=APPROXIMATE),
        Case("Exponential", *SCORES),
        Case("PermuteAndFlip", *SCORES),
        Case("tools.mean", *REPLACED, samples=FEW, caveat=UNGUARDED),
        Case("tools.mean", *POISONED, samples=LEAST, caveat=IGNORES),
        Case("tools.mean", *OUTSIDE, samples=FEW, caveat=UNGUARDED),
        Case(
            "tools.nanmean",
            "nine NaN, and a row of 0 or 1",
            [NO_NUMBER] * 9 + [0.0],
            [NO_NUMBER] * 9 + [1.0],
            samples=LEAST,
            caveat=UNSAID,
        ),
        Case("tools.mean without bounds", *REPLACED, samples=LEAST, caveat=WARNS),
        Case("tools.var", *REPLACED, samples=FEW // 2, caveat=UNGUARDED),
        Case("tools.var", *POISONED, samples=LEAST, caveat=IGNORES),
        Case("tools.quantile, 0.5", *REPLACED, samples=FEW),
        Case("tools.quantile, 0.5", *POISONED, samples=LEAST, caveat=KNOWN),
        Case(
            "tools.quantile, 0", "1,490 zeros or 1,491", [0.0] * 1490, [0.0] * 1491, samples=LEAST // 2, caveat=UNSAID
        ),
        Case("tools.histogram", "one row in the second bin or none", [0.2], [0.2, 0.7], samples=FEW),
        Case("tools.histogram", "one row moves to the other bin", [0.2], [0.7], samples=FEW, caveat=RELATION),
        Case("tools.histogram", "one row that is NaN or none", [0.2], [0.2, NO_NUMBER], samples=FEW),
        Case(
            "tools.histogram with weights",
            "one row of weight 5 or none",
            [[0.2, 1]],
            [[0.2, 1], [0.7, 5]],
            samples=FEW,
            caveat=UNSAID,
        ),
    ),
)

OPENDP = Library(
    replace(next(peer for peer in PEERS if peer.name == "opendp"), module="opendp_audit", environment="opendp"),
    (
        Case("make_laplace, int", *NUMBERS),
        Case("make_laplace, float", *FLOATS),
        Case("make_gaussian, int", *NUMBERS, claim=APPROXIMATE, samples=SOME),
        Case("make_gaussian, float", *FLOATS, claim=APPROXIMATE, samples=SOME),
        Case("make_randomized_response_bool", "true or false", True, False, LOG_3, SOME),
        Case("make_noisy_max", *SCORES, samples=SOME),
        Case("make_report_noisy_max_gumbel", *SCORES, samples=SOME),
        Case("make_laplace_threshold", "no row with the key or one", {}, {"key": 1}, KEYS, SOME),
        Case("impute, clamp, resize, sum, laplace", *ADDED, samples=FEW),
        Case("impute, clamp, resize, sum, laplace", "one row that is NaN or none", [1.0], [1.0, NO_NUMBER], ONE, FEW),
        Case("impute, clamp, resize, sum, laplace", "one row of 10⁹ or none", [0.0], [0.0, 1e9], ONE, FEW),
    ),
)

SMARTNOISE = Library(
    replace(
        next(peer for peer in PEERS if peer.name == "smartnoise-sql"),
        module="smartnoise_audit",
        environment="smartnoise",
    ),
    (
        Case("COUNT(*)", *ADDED, KEYS, FEW),
        Case("COUNT(*), private keys", "no row with the key or one", [], [1.0], KEYS, FEW),
        Case("COUNT(DISTINCT person), private keys", "no row with the key or one", [], [1.0], KEYS, FEW),
        Case("SUM, int", *ADDED, KEYS, FEW),
        Case("SUM, float", *ADDED, KEYS, FEW),
        Case("SUM, float", "one row of 10⁹ or none", [0.0], [0.0, 1e9], KEYS, FEW),
        Case("SUM, float", "a row, and one with NULL or none", [1.0], [1.0, None], KEYS, FEW),
        Case("SUM, float", "only NULL, and one row or none", [None], [None, 1.0], KEYS, FEW, UNSAID),
        Case("AVG, float", *ADDED, KEYS, FEW),
    ),
)

PYDP = Library(
    Peer("python-dp", "pydp_audit", ("python-dp==1.1.5", "numpy==2.4.6"), "pydp"),
    (
        Case("LaplaceMechanism, int", *NUMBERS),
        Case("LaplaceMechanism, float", *FLOATS),
        Case("GaussianMechanism, float", *FLOATS, claim=APPROXIMATE, caveat=TOO_FINE),
        Case("Count", "no row or one", [], [1]),
        Case("BoundedSum, int", "no row or one", [], [1]),
        Case("BoundedSum, float", *FIRST),
        Case("BoundedSum, float", "one row that is NaN or none", [1.0], [1.0, NO_NUMBER]),
        Case("BoundedMean, float", *FIRST, samples=SOME),
        Case("BoundedMean, float", "one row of 10³⁰⁰ or none", [0.0], [0.0, 1e300], samples=SOME),
        Case("BoundedMean, float", "one row that is NaN or none", [1.0], [1.0, NO_NUMBER], samples=SOME),
        Case("BoundedVariance, float", *FIRST, samples=SOME),
        Case("Median, float", *ADDED, samples=FEW),
    ),
)

LIBRARIES = (DIFFPRIVLIB, OPENDP, SMARTNOISE, PYDP)
