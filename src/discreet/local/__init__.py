"""Randomised at the source: people report noisy answers, and nobody has to be trusted with true ones.

>>> from discreet import local
>>> survey = local.best(domain_size=4, epsilon=1)
>>> reports = survey.encode([0, 0, 1, 3] * 2500)      # each person's own report, as bytes
>>> estimates = survey.estimate(reports)
>>> estimates.count, abs(float(estimates.values[0]) - 0.5) < 0.2
(10000, True)
"""

from __future__ import annotations

from discreet.accounting.shuffling import amplify
from discreet.local.choice import best, best_mean, from_parameters
from discreet.local.client import Client
from discreet.local.core import MECHANISMS, Estimates, FrequencyMechanism, Mechanism, Tally
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import LocalHashing
from discreet.local.heavy import Found, HeavyHitter, HeavyHitters
from discreet.local.means import MeanMechanism, OneBitMean, PiecewiseMean
from discreet.local.reports import Header
from discreet.local.response import KaryResponse, TwoCoins, warner
from discreet.local.subset import SubsetSelection
from discreet.local.unary import OptimizedUnary, SymmetricUnary

__all__ = [
    "MECHANISMS",
    "Client",
    "Estimates",
    "Found",
    "FrequencyMechanism",
    "HadamardResponse",
    "Header",
    "HeavyHitter",
    "HeavyHitters",
    "KaryResponse",
    "LocalHashing",
    "MeanMechanism",
    "Mechanism",
    "OneBitMean",
    "OptimizedUnary",
    "PiecewiseMean",
    "SubsetSelection",
    "SymmetricUnary",
    "Tally",
    "TwoCoins",
    "amplify",
    "best",
    "best_mean",
    "from_parameters",
    "warner",
]
