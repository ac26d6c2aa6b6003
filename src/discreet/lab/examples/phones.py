"""Federated averaging over phones that keep their rows: a model from noisy updates, with noise in three places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.federated import History, Logistic, Plan, simulate
from discreet.lab.invented import uniform

Floats = NDArray[np.float64]
FEATURES: Final = 2
ROWS: Final = 12
"""On each phone."""
DELTA: Final = 1e-5
NO_NOISE: Final = 1e-3
"""In place of sigma: so little noise that it protects nothing, which is what plain federated learning has."""
RATE: Final = 2.0
TRUE: Final = (1.5, -1.0)
"""What decides, with a little chance."""


@cache
def phones(many: int, purpose: str = "training") -> tuple[tuple[Floats, Floats], ...]:
    """Invented rows of every phone: two numbers from −1 to 1, and a class."""
    draws = uniform(f"phones {purpose}", many * ROWS * (FEATURES + 1)).reshape(many, ROWS, FEATURES + 1)
    rows = 2 * draws[..., :FEATURES] - 1
    classes = (rows @ np.array(TRUE) + 0.8 * (draws[..., FEATURES] - 0.5) > 0).astype(np.float64)
    return tuple((rows[phone], classes[phone]) for phone in range(many))


@lru_cache(maxsize=256)
def planned(many: int, rounds: int, epsilon: float) -> Plan:
    """The least noise in one place with (ε, δ) for all rows of a phone, against whoever sees all models."""
    return Plan.within(epsilon, clients=many, parameters=FEATURES + 1, rounds=rounds, delta=DELTA)


@dataclass(frozen=True, slots=True)
class Run:
    """A training and how often its models are right, round after round."""

    plan: Plan
    scores: tuple[float, ...]


def trained(many: int, rounds: int, epsilon: float, places: Sequence[str]) -> dict[str, Run]:
    """One training for each place of noise, and one with (almost) none under the name "none"."""
    # every phone takes part in every round, so the same sigma is (ε, δ)-DP against the coordinator where noise is local
    plan = planned(many, rounds, epsilon)
    return {
        "none": _run(replace(plan, sigma=NO_NOISE)),
        **{where: _run(replace(plan, noise=where)) for where in places},
    }


def _run(plan: Plan) -> Run:
    rows, classes = zip(*phones(200, "test"), strict=True)
    test = np.concatenate(rows), np.concatenate(classes)
    history: History = simulate(plan, Logistic(FEATURES), phones(plan.clients), test=test, rate=RATE)
    return Run(plan, history.scores)


def update(phone: int, many: int) -> Floats:
    """What a phone would send in the first round without noise: its gradient, which says much about its rows."""
    rows, classes = phones(many)[phone]
    model = Logistic(FEATURES)
    return -RATE * model.gradient(model.initial(), rows, classes)
