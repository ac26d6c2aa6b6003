"""Mechanisms: cost, error and draw on one object, with the theorem beside the code.

Every mechanism has `.loss` (what it costs), `.error(confidence)` (what it promises) and a method that draws.
"""

from __future__ import annotations

from discreet.mechanisms.bestofsome import BestOfSome
from discreet.mechanisms.estimate import Estimate, clopper_pearson
from discreet.mechanisms.exponential import Exponential, TopK
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.keys import KeySelection
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.means import BoundedMean
from discreet.mechanisms.noisymax import NoisyMax
from discreet.mechanisms.permute import PermuteAndFlip
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.response import RandomizedResponse
from discreet.mechanisms.sums import BoundedSum
from discreet.mechanisms.threshold import AboveThreshold
from discreet.mechanisms.variance import Variance

__all__ = [
    "AboveThreshold",
    "BestOfSome",
    "BoundedMean",
    "BoundedSum",
    "Estimate",
    "Exponential",
    "Gaussian",
    "Histogram",
    "KeySelection",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "Quantile",
    "RandomizedResponse",
    "TopK",
    "Variance",
    "clopper_pearson",
]
