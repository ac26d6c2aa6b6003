"""One of each mechanism, and the exact probabilities of all that it can report."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import local, noise

FREQUENCIES: list[local.FrequencyMechanism] = [
    local.TwoCoins(),
    local.warner(1),
    local.KaryResponse(4, 1),
    local.SymmetricUnary(3, 1),
    local.OptimizedUnary(3, 1),
    local.LocalHashing(5, 1),
    local.HadamardResponse(5, 1),
    local.SubsetSelection(5, 1),
]
MEANS: list[local.MeanMechanism] = [local.OneBitMean((0, 10), 1), local.PiecewiseMean((0, 10), 2)]
HITTERS = local.HeavyHitters(2, length=4, alphabet="abcd")
ALL: list[local.Mechanism] = [*FREQUENCIES, *MEANS, HITTERS]


def named(mechanism: local.Mechanism) -> str:
    return f"{mechanism.name}-{mechanism.size}"


EACH_FREQUENCY = pytest.mark.parametrize("mechanism", FREQUENCIES, ids=named)
EACH = pytest.mark.parametrize("mechanism", ALL, ids=named)


def value_of(mechanism: local.Mechanism) -> Any:
    return "abba" if isinstance(mechanism, local.HeavyHitters) else 1


def exp_of(epsilon: Fraction) -> Fraction:
    """e^ε to 80 digits."""
    context = Context(prec=80)
    return Fraction(context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))))


class Branches:
    """Stands for `discreet.noise`: takes one branch of every choice, and knows how likely the path is."""

    def __init__(self, path: list[int]) -> None:
        self.path = path
        self.taken: list[int] = []
        self.open: list[list[int]] = []
        self.weight = Fraction(1)

    def choose(self, weights: list[Fraction]) -> int:
        at = len(self.taken)
        if at < len(self.path):
            branch = self.path[at]
        else:
            branch = 0
            self.open += [[*self.taken, other] for other in range(1, len(weights))]
        self.taken.append(branch)
        self.weight *= weights[branch]
        return branch

    def coins(self, chance: Any, size: Any, bits: Any = None) -> Any:  # noqa: ARG002
        chances = np.broadcast_to(chance, size).ravel().tolist()
        heads = [Fraction(each, 2**53) for each in chances]
        return np.array([self.choose([1 - each, each]) for each in heads], dtype=bool).reshape(size)

    def below(self, limit: int, size: int, bits: Any = None) -> Any:  # noqa: ARG002
        return np.array([self.choose([Fraction(1, limit)] * limit) for _ in range(size)], dtype=np.int64)

    def subsets(self, size: int, chosen: int, count: int, bits: Any = None) -> Any:  # noqa: ARG002
        every = list(itertools.combinations(range(size), chosen))
        picked = [every[self.choose([Fraction(1, len(every))] * len(every))] for _ in range(count)]
        return np.array([[i in one for i in range(size)] for one in picked], dtype=bool).reshape(count, size)


def outcomes(encode: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch) -> dict[bytes, Fraction]:
    """All reports with their probabilities: the code is run along every path of its random choices."""
    law: dict[bytes, Fraction] = defaultdict(Fraction)
    todo: list[list[int]] = [[]]
    while todo:
        branches = Branches(todo.pop())
        with monkeypatch.context() as patched:
            for name in ("coins", "below", "subsets"):
                patched.setattr(noise, name, getattr(branches, name))
            report = encode()
        law[report] += branches.weight
        todo += branches.open
    return {report: weight for report, weight in law.items() if weight}


def largest_ratio(laws: list[dict[bytes, Fraction]]) -> Fraction | float:
    reports = {report for law in laws for report in law}
    if any(report not in law for report in reports for law in laws):
        return math.inf
    return max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in reports)
