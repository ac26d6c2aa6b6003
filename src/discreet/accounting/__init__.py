"""What releases cost: losses, composition, conversion, budgets.

Names that need arrays are imported on first use: who looks at a budget waits for no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace
from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.accounting.losses import (
    Approximate,
    Concentrated,
    Loss,
    Pure,
    Sensitivity,
    compose,
    epsilon_of,
    group,
    parallel,
    replace_one,
    rho_for,
)
from discreet.accounting.relations import Relation

if TYPE_CHECKING:
    from discreet.accounting.batch import AnyPure as AnyPure
    from discreet.accounting.batch import Batch as Batch
    from discreet.accounting.batch import DiscreteNoise as DiscreteNoise
    from discreet.accounting.batch import GaussianNoise as GaussianNoise
    from discreet.accounting.batch import LaplaceNoise as LaplaceNoise
    from discreet.accounting.batch import Sampled as Sampled
    from discreet.accounting.batch import epsilon_for_training as epsilon_for_training
    from discreet.accounting.batch import sigma_for_training as sigma_for_training
    from discreet.accounting.batch import steps_for_training as steps_for_training
    from discreet.accounting.curves import delta_of as delta_of
    from discreet.accounting.curves import gaussian_spread as gaussian_spread
    from discreet.accounting.shuffling import amplify as amplify
    from discreet.accounting.spectrum import LossDistribution as LossDistribution
    from discreet.accounting.spectrum import noise_losses as noise_losses
    from discreet.accounting.spectrum import posterior as posterior
    from discreet.accounting.spectrum import posterior_range as posterior_range
    from discreet.accounting.spectrum import response_losses as response_losses

_HOMES: Final = {
    "AnyPure": "batch",
    "Batch": "batch",
    "DiscreteNoise": "batch",
    "GaussianNoise": "batch",
    "LaplaceNoise": "batch",
    "LossDistribution": "spectrum",
    "Sampled": "batch",
    "amplify": "shuffling",
    "delta_of": "curves",
    "epsilon_for_training": "batch",
    "gaussian_spread": "curves",
    "noise_losses": "spectrum",
    "posterior": "spectrum",
    "posterior_range": "spectrum",
    "response_losses": "spectrum",
    "sigma_for_training": "batch",
    "steps_for_training": "batch",
}
__all__ = [
    "AnyPure",
    "Approximate",
    "Batch",
    "Concentrated",
    "ConcentratedFilter",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteNoise",
    "GaussianNoise",
    "LaplaceNoise",
    "Loss",
    "LossDistribution",
    "Pure",
    "PureFilter",
    "Relation",
    "Sampled",
    "Sensitivity",
    "amplify",
    "compose",
    "delta_of",
    "epsilon_for_training",
    "epsilon_of",
    "gaussian_spread",
    "group",
    "noise_losses",
    "parallel",
    "posterior",
    "posterior_range",
    "replace_one",
    "response_losses",
    "rho_for",
    "sigma_for_training",
    "steps_for_training",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet.accounting' has no attribute {name!r}") from None
    return getattr(import_module(f"discreet.accounting.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
