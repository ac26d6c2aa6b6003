"""Mechanisms: cost, error and draw on one object, with the theorem beside the code.

Every mechanism has `.loss` (what it costs), `.error(confidence)` (what it promises) and a method that draws.

Each is imported on first use: who previews a count waits for no other mechanism, and for no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from discreet.mechanisms.bestofsome import BestOfSome as BestOfSome
    from discreet.mechanisms.estimate import Estimate as Estimate
    from discreet.mechanisms.estimate import clopper_pearson as clopper_pearson
    from discreet.mechanisms.exponential import Exponential as Exponential
    from discreet.mechanisms.exponential import TopK as TopK
    from discreet.mechanisms.gaussian import Gaussian as Gaussian
    from discreet.mechanisms.histogram import Histogram as Histogram
    from discreet.mechanisms.keys import KeySelection as KeySelection
    from discreet.mechanisms.laplace import Laplace as Laplace
    from discreet.mechanisms.means import BoundedMean as BoundedMean
    from discreet.mechanisms.noisymax import NoisyMax as NoisyMax
    from discreet.mechanisms.permute import PermuteAndFlip as PermuteAndFlip
    from discreet.mechanisms.quantile import Quantile as Quantile
    from discreet.mechanisms.response import RandomizedResponse as RandomizedResponse
    from discreet.mechanisms.sums import BoundedSum as BoundedSum
    from discreet.mechanisms.threshold import AboveThreshold as AboveThreshold
    from discreet.mechanisms.variance import Variance as Variance

_HOMES: Final = {
    "AboveThreshold": "threshold",
    "BestOfSome": "bestofsome",
    "BoundedMean": "means",
    "BoundedSum": "sums",
    "Estimate": "estimate",
    "Exponential": "exponential",
    "Gaussian": "gaussian",
    "Histogram": "histogram",
    "KeySelection": "keys",
    "Laplace": "laplace",
    "NoisyMax": "noisymax",
    "PermuteAndFlip": "permute",
    "Quantile": "quantile",
    "RandomizedResponse": "response",
    "TopK": "exponential",
    "Variance": "variance",
    "clopper_pearson": "estimate",
}
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


def __getattr__(name: str) -> Any:
    """What is looked up stays."""
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet.mechanisms' has no attribute {name!r}") from None
    value = globals()[name] = getattr(import_module(f"discreet.mechanisms.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
