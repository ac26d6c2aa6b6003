"""The lecture's naïve Bayes: counts of every pair of a class and a feature's value, of which one person moves D."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.lab.invented import uniform
from discreet.mechanisms import Laplace

Integers = NDArray[np.int64]
MOST_FEATURES: Final = 12
CLASSES: Final = 2
TESTED: Final = 4000
"""People who are not in the data, on whom models are tried."""
SICK: Final = 0.4


@dataclass(frozen=True, slots=True)
class People:
    """Symptoms (0 or 1) and whether ill."""

    symptoms: Integers
    ill: Integers


@cache
def people(many: int, purpose: str) -> People:
    """Invented people: each symptom is somewhat likelier where somebody is ill, the first ones most of all."""
    ill = (uniform(f"bayes ill {purpose}", many) < SICK).astype(np.int64)
    draws = uniform(f"bayes symptoms {purpose}", many * MOST_FEATURES).reshape(many, MOST_FEATURES)
    gap = np.linspace(0.25, 0.08, MOST_FEATURES)
    return People((draws < 0.3 + gap * ill[:, None]).astype(np.int64), ill)


def tables(those: People, features: int) -> Integers:
    """How often each value of each feature occurs in each class: D tables of four counts."""
    counts = np.zeros((features, CLASSES, 2), dtype=np.int64)
    for feature in range(features):
        np.add.at(counts[feature], (those.ill, those.symptoms[:, feature]), 1)
    return counts


@dataclass(frozen=True, slots=True)
class Model:
    """A classifier from counts."""

    counts: NDArray[np.float64]

    def accuracy(self, those: People) -> float:
        """How often it is right; counts below 1 stand for 1."""
        held = np.maximum(self.counts, 1.0)
        classes = held.sum(axis=2).mean(axis=0)
        given = np.log(held / held.sum(axis=2, keepdims=True))
        scores = np.tile(np.log(classes / classes.sum()), (len(those.ill), 1))
        for feature in range(len(held)):
            scores += given[feature][:, those.symptoms[:, feature]].T
        return float((scores.argmax(axis=1) == those.ill).mean())


@dataclass(frozen=True, slots=True)
class Fitted:
    """The same model from exact counts and from noisy ones."""

    exact: Model
    private: Model
    mechanism: Laplace


def fitted(those: People, features: int, epsilon: float) -> Fitted:
    """Laplace noise on all counts at once.

    Theorem  ε-DP. Proof: a person is in one cell of each of the D tables, so Δ = D and the scale is D/ε.

    >>> [float(fitted(people(100, "an example"), features, 0.1).mechanism.scale) for features in (1, 5)]
    [10.0, 50.0]
    """
    counts = tables(those, features)
    mechanism = Laplace(epsilon=epsilon, sensitivity=features)
    noisy = np.asarray(mechanism.release(counts.ravel()), dtype=np.float64).reshape(counts.shape)
    return Fitted(Model(counts.astype(np.float64)), Model(noisy), mechanism)
