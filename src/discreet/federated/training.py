"""A training, round after round: whoever calls it brings sums of contributions, from wherever clients are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet import noise
from discreet.exact import number
from discreet.federated.encoding import Floats
from discreet.federated.journal import Journal, unpacked
from discreet.federated.places import filled
from discreet.federated.plan import Plan, demand
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits

CLIP_RATE: Final = 0.2
"""How fast the clipping norm follows its quantile (Andrew et al. 2021)."""
LEAST_CLIP: Final = 1e-12
MOST_CLIP: Final = 1e12


@dataclass(frozen=True, slots=True)
class Round:
    """What the members of a round are told. Weights and clipping norm are released; who takes part is not."""

    number: int
    members: tuple[int, ...]
    weights: Floats
    clip: float


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a round: for the coordinator. Sampling hides clients from those who do not see how many came."""

    number: int
    members: int
    survivors: int
    used: bool
    """Whether there were enough survivors: else the model stays as it was."""
    clip: float
    weights: Floats


class Training:
    """The state of a training: model, clipping norm, and how many rounds began.

    Theorem  All models together satisfy `plan.guarantees()`.
    Proof    A round begins once: its number is written down first (`Journal`), and no more of them begin than the plan
             has. Members are drawn independently of data, each by a coin of its own; or clients take turns. The sum of
             a round has the noise of `places`, or is not looked at when there are too few survivors. Weights and
             clipping norm are post-processing of such sums. With correlated noise, the root's M·x is measured row by
             row: each depends on sums of rounds up to it, and has noise of its own (`Plan.moved_squared`).
    """

    def __init__(
        self,
        plan: Plan,
        weights: Floats,
        *,
        rate: float = 1.0,
        journal: Journal | None = None,
        bits: Bits | None = None,
    ) -> None:
        demand(weights.shape == (plan.parameters,), "the weights are not those of the plan", "pass model.initial()")
        self.plan, self.weights, self.clip = plan, weights, float(plan.clip)
        self.begun = 0
        self._rate, self._journal, self._bits = float(rate), journal, bits
        self._round: Round | None = None
        self._taken = np.zeros(plan.clients, dtype=np.int64)
        self._exact_sums: list[Integers] = []
        self._estimates: list[Floats] = []
        if journal is not None and journal.begun:
            self._resume(journal)

    def _resume(self, journal: Journal) -> None:
        demand(
            not self.plan.correlated and self.plan.participations is None,
            "correlated noise, and who took part how often, were in the memory of the process that ended",
            "begin a new training with a new journal; what this one spent stays spent",
        )
        self.begun = journal.begun
        if journal.done is not None:
            self.weights, self.clip = unpacked(journal.done["weights"]), float(journal.done["clip"])

    @property
    def over(self) -> bool:
        return self.begun >= self.plan.rounds

    def begin(self) -> Round:
        """The next round: spent from here on. One that was not finished is given up."""
        demand(not self.over, f"all {self.plan.rounds} rounds were begun", "make a new plan: it has a cost of its own")
        if self._round is not None:
            self.give_up()
        if self._journal is not None:
            self._journal.begin(self.begun + 1)
        self.begun += 1
        self._round = Round(self.begun, self._members(), self.weights, self.clip)
        return self._round

    def _members(self) -> tuple[int, ...]:
        """Those who take part: by coins of their own, or in turns."""
        plan = self.plan
        if plan.correlated:
            return tuple(range((self.begun - 1) % plan.turns, plan.clients, plan.turns))
        rate = number(plan.rate, "rate")
        coins = noise.below(rate.denominator, plan.clients, bits=self._bits) < rate.numerator
        if plan.participations is not None:
            coins &= self._taken < plan.participations
            self._taken += coins
        return tuple(np.flatnonzero(coins).tolist())

    def give_up(self) -> Done:
        """End the round without its sum: what it cost stays spent."""
        return self.finish(np.zeros(self.plan.grid.width, dtype=np.int64), 0)

    def finish(self, exact_total: Integers, survivors: int, *, members: int | None = None) -> Done:
        """Learn from the sum of what the survivors sent; too few of them, and it is not looked at.

        members   how many knew of each other when they drew their noise, if not all that were drawn
        """
        demand(self._round is not None, "no round is under way", "call begin() first")
        assert self._round is not None
        plan, count = self.plan, len(self._round.members) if members is None else members
        self._round = None
        used = plan.noise == "central" or survivors >= max(plan.least(count), 1)
        if used:
            noisy = filled(plan, self._measured(exact_total), members=count, survivors=survivors, bits=self._bits)
            self._learn(noisy)
        done = Done(self.begun, count, survivors, used, self.clip, self.weights)
        if self._journal is not None:
            self._journal.finish(done.number, self.weights, self.clip, survivors=survivors, used=used)
        return done

    def _measured(self, exact_total: Integers) -> Integers:
        """The sum itself, or with correlated noise this round's row of M·x."""
        if not self.plan.correlated:
            return exact_total
        self._exact_sums.append(exact_total)
        weights = self.plan.root.column[: len(self._exact_sums)][::-1]
        return np.asarray(weights @ np.stack(self._exact_sums), dtype=np.int64)

    def _learn(self, noisy: Integers) -> None:
        plan = self.plan
        total, votes = plan.grid.decode(self._solved(noisy), clip=self.clip)
        self.weights = self.weights + self._rate * total / plan.expected
        if plan.quantile is not None:
            below = 0.5 + votes / plan.expected
            moved = self.clip * math.exp(-CLIP_RATE * min(max(below - plan.quantile, -1.0), 1.0))
            self.clip = min(max(moved, LEAST_CLIP), MOST_CLIP)

    def _solved(self, noisy: Integers) -> Floats:
        """This round's sum; with correlated noise, this row of M⁻¹ times what was measured."""
        if not self.plan.correlated:
            return noisy.astype(np.float64)
        column = self.plan.root.column.astype(np.float64)
        earlier = column[1 : len(self._estimates) + 1][::-1]
        known = earlier @ np.stack(self._estimates) if self._estimates else 0.0
        estimate: Floats = (noisy - known) / column[0]
        self._estimates.append(estimate)
        return estimate
