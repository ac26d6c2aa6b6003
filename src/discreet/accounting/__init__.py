"""What releases cost: losses, composition, conversion, budgets."""

from __future__ import annotations

from discreet.accounting.batch import (
    AnyPure,
    Batch,
    DiscreteNoise,
    GaussianNoise,
    LaplaceNoise,
    Sampled,
    epsilon_for_training,
    sigma_for_training,
    steps_for_training,
)
from discreet.accounting.curves import delta_of, gaussian_spread
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
from discreet.accounting.shuffling import amplify
from discreet.accounting.spectrum import LossDistribution, noise_losses, posterior, posterior_range, response_losses

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
