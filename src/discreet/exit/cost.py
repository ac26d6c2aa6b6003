"""What a release may cost, and the noise that this is enough for: the only place where noise is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.accounting import Concentrated, Pure, labels, rho_for
from discreet.accounting.balance import Amount
from discreet.accounting.conversion import epsilon_of_laplace
from discreet.accounting.losses import Sensitivity
from discreet.accounting.rounding import float_down
from discreet.errors import Edit, Refused
from discreet.exact import LEAST_EPSILON, Number, probability
from discreet.exact import epsilon as positive
from discreet.mechanisms import BestOfSome, Exponential, Gaussian, KeySelection, Laplace, PermuteAndFlip
from discreet.mechanisms.calibrated import noise_of as noise_of
from discreet.mechanisms.calibrated import root
from discreet.policy import Policy

Loss = Pure | Concentrated
Additive = Laplace | Gaussian
WHOLE: Final = Fraction(1)
FINEST: Final = 20
"""Coordinates are at most so many bits fine: 2³² rows of them still add up exactly in float64."""
WIDEST: Final = 38
"""Noise on coordinates is at most so many bits wide, well within what the samplers draw."""


ONE_GROUP: Final = Sensitivity.cells(1, 1)


@dataclass(frozen=True, slots=True)
class Choices:
    """A choice among candidates in every group, of which one unit moves several.

    `moved` is about the vector that has for each group how far a unit moves its scores, in multiples of the mechanism's
    sensitivity: its L1 norm, and the square of its L2 norm. With the sensitivity that of one row, it has the numbers of
    the unit's rows.

    Theorem  moved.l1·ε-DP, and by the exponential mechanism moved.l2²·ρ-zCDP, for all groups together, with ε or ρ the
             cost of a choice whose scores move by the mechanism's sensitivity.
    Proof    Which groups there are is listed in advance, or was released before. Given that, choices are drawn
             independently, each from the rows of its own group, so the log-ratio of all of them is the sum of those of
             the groups, and so are Rényi divergences. Scores that move r times as far make a choice that is rε-DP and
             r²ε²/8-zCDP, by the theorem of the mechanism at the sensitivity rΔ and the cost rε, which has the same
             exponents. Σr ≤ l1 and Σr² ≤ l2².
    """

    mechanism: Exponential | PermuteAndFlip
    moved: Sensitivity = ONE_GROUP

    @property
    def loss(self) -> Loss:
        one = self.mechanism.loss
        return one.times(self.moved.l1 if one.is_pure else self.moved.l2_squared)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a release may cost: ε of Laplace noise, or ρ of whichever noise is more accurate."""

    loss: Loss
    """Of everything that is released for it, the δ of partition selections aside."""
    delta: Fraction | None = None
    """What all partition selections may add, if the caller said it."""

    @classmethod
    def read(
        cls,
        policy: Policy,
        *,
        epsilon: object = None,
        rho: object = None,
        delta: object = None,
        private_keys: bool = False,
    ) -> Cost:
        """The cost that a caller names for a release from the budget of a policy, or a refusal.

        What the names mean is the theorem of `accounting.labels`.
        """
        if epsilon is None and rho is None:
            raise cost_missing(policy, "question", ", or the error that you want, such as error=10")
        if epsilon is not None and rho is not None:
            raise Refused("cost-invalid", "epsilon and rho are two costs", "give one of them")
        if rho is not None and (policy.budget.delta is None or delta is not None):
            raise Refused("cost-invalid", "rho is a cost only in budgets with delta, and alone", "give epsilon")
        try:
            cost = _of_budget(
                policy,
                None if epsilon is None else positive(epsilon, "epsilon"),
                None if rho is None else positive(rho, "rho"),
                None if delta is None else probability(delta, "delta"),
                private_keys=private_keys,
            )
        except (TypeError, ValueError) as wrong:
            raise Refused("cost-invalid", str(wrong), f"give a number such as {usual_cost(policy):g}") from None
        most = policy.max_cost
        if most is not None and cost.is_above_limit(policy):
            raise Refused(
                "cost-too-high",
                "the cost is above the policy's max_cost",
                f"use epsilon {float(most):g} or less",
                edit=Edit(arguments={"epsilon": float(most), "rho": None, "delta": None, "error": None}),
            )
        return cost

    @classmethod
    def alone(cls, *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None) -> Cost:
        """On rows that the caller owns: ε is pure; ε with δ is the largest ρ that implies (ε, δ)-DP; or ρ itself."""
        if epsilon is None and rho is None:
            raise Refused("cost-missing", "the fit has no cost", "give epsilon, epsilon with delta, or rho")
        if rho is not None and (epsilon is not None or delta is not None):
            raise Refused("cost-invalid", "rho is a cost of its own", "give rho alone, or epsilon (with delta)")
        if rho is not None:
            return cls(Concentrated(positive(rho, "rho")))
        if delta is None:
            return cls(Pure(positive(epsilon)))
        return cls(Concentrated(positive(rho_for(positive(epsilon), delta), "the rho of epsilon and delta")))

    @classmethod
    def less_noisy(cls, noise: Callable[[Cost], float], *, epsilon: Number, delta: Number) -> Cost:
        """On rows that the caller owns, of (ε, δ): ε alone or ρ, whichever has less noise; ε where they are alike.

        Theorem  What is released for it is (ε, δ)-DP. Proof: ε-DP implies it, and so does ρ-zCDP with
                 ρ = rho_for(ε, δ). `noise` knows public facts alone, so the choice tells nothing.

        On one vector of l1 and l2 for the whole cost, Laplace noise has a variance of 2·(l1/ε)² and Gaussian noise one
        of l2²/2ρ; on each of k that share it alike k² and k times that. So Laplace noise is the less where
        k·(l1/l2)² < ε²/4ρ, which is 8 at ε = 1, δ = 10⁻⁵: for few numbers, and few turns.
        """
        pure = cls.alone(epsilon=epsilon)
        probability(delta, "delta")
        try:
            concentrated = cls.alone(epsilon=epsilon, delta=delta)
        except ValueError:  # a ρ too small to be drawn for
            return pure
        return min(pure, concentrated, key=noise)

    def is_above_limit(self, policy: Policy) -> bool:
        """Whether the policy's max_cost, an ε that means what that of a query means, is less."""
        most = policy.max_cost
        return most is not None and self.amount > _of_budget(policy, most, None, None).amount

    @property
    def pure(self) -> bool:
        return self.loss.is_pure

    @property
    def amount(self) -> Fraction:
        """The ε or the ρ."""
        return self.loss.amount

    @property
    def named(self) -> dict[str, Fraction]:
        """The amount under its name, as `read` takes it."""
        return self.loss.named

    def of(self, amount: Fraction) -> Cost:
        """The same kind of cost, of another amount."""
        return replace(self, loss=Pure(amount) if self.pure else Concentrated(amount))

    def part(self, share: Fraction) -> Cost:
        """A share of it."""
        return replace(self, loss=self.loss.times(share))

    # the noise that a share of the cost is enough for

    def noise(self, sensitivity: Sensitivity, share: Fraction = WHOLE) -> Additive:
        """On a vector of integers of this sensitivity.

        Theorem  It costs at most the share. Proof: Laplace's at ε·share, Gaussian's at ρ·share (`mechanisms`).
        """
        if self.pure:
            return Laplace(self.amount * share, sensitivity=sensitivity.l1)
        return most_accurate(sensitivity, self.amount * share)

    def selection(self, groups: int, share: Fraction, delta: Fraction) -> KeySelection:
        """For partition selection: which private keys appear, of which one unit holds at most `groups`."""
        return KeySelection(delta=delta, max_groups=groups, **self.part(share).named)

    def choices(self, moved: Sensitivity, sensitivity: int, share: Fraction) -> Choices:
        """For a choice in each group, where one unit moves the scores of all by `moved` times the sensitivity.

        Under ε by permute-and-flip, which is never worse; under ρ by the exponential mechanism, which costs a quarter.
        """
        if self.pure:
            return Choices(PermuteAndFlip(self.amount * share / moved.l1, sensitivity=sensitivity), moved)
        return Choices(Exponential(rho=self.amount * share / moved.l2_squared, sensitivity=sensitivity), moved)

    def choice(self, most: int, share: Fraction) -> Choices:
        """For one choice, by scores that a unit raises by `most` at most, and lowers none of."""
        if self.pure:
            return Choices(PermuteAndFlip(self.amount * share, sensitivity=most, monotone=True))
        return Choices(Exponential(rho=self.amount * share, sensitivity=most, monotone=True))

    def choice_among(self, copies: Sequence[int], sensitivity: int, share: Fraction) -> Choices:
        """For one choice among many candidates that share few scores, by the exponential mechanism."""
        if self.pure:
            return Choices(Exponential(self.amount * share, sensitivity=sensitivity, copies=copies))
        return Choices(Exponential(rho=self.amount * share, sensitivity=sensitivity, copies=copies))

    def best_of_some(self, candidates: int, share: Fraction = WHOLE) -> BestOfSome:
        """For the best of candidates that cost something themselves, each an ε: see there."""
        return BestOfSome(candidates=candidates, **self.part(share).named)

    def deviation(self, sensitivity: Sensitivity, share: Fraction = WHOLE) -> float:
        """About the standard deviation of the noise on a vector."""
        mechanism = self.noise(sensitivity, share)
        return float(mechanism.spread) * (math.sqrt(2) if isinstance(mechanism, Laplace) else 1)

    def fineness(self, sensitivity: Sensitivity, share: Fraction = WHOLE) -> int:
        """How many steps 1 has: so many that rounding disappears, yet not so many that the noise gets too wide.

        `sensitivity` is that of the vector before it is put on the grid.
        """
        try:
            width = math.ceil(math.log2(float(self.noise(sensitivity, share).spread)))
        except ValueError:  # a share of the cost is below all that is accepted
            width = WIDEST
        if width >= WIDEST:
            raise Refused("cost-invalid", "the noise would be too large to draw", "allow the fit a higher cost")
        return int(2 ** min(FINEST, WIDEST - width))


def usual_cost(policy: Policy, left: Amount | None = None) -> float:
    """An ε for whoever has no other: a tenth of the budget, or of what is left, within the policy's max_cost."""
    usual = labels.usual(policy.budget.epsilon, policy.budget.delta)
    if left is not None and (tenth := _tenth(policy, left)) >= float(LEAST_EPSILON):
        usual = min(usual, labels.rounded(tenth))
    return usual if policy.max_cost is None else min(usual, float_down(policy.max_cost))


def _tenth(policy: Policy, left: Amount) -> float:
    delta = policy.budget.delta
    if delta is None or left.rho is None:
        return left.epsilon / 10
    return labels.label_of_rho(Fraction(repr(left.rho)) / 10, delta / 2)


def cost_missing(policy: Policy, what: str, otherwise: str = "") -> Refused:
    """The refusal of what has no cost."""
    usual = usual_cost(policy)
    fix, edit = f"add epsilon, such as epsilon={usual:g}{otherwise}", Edit(arguments={"epsilon": usual})
    return Refused("cost-missing", f"the {what} has no cost", fix, edit=edit)


def _of_budget(
    policy: Policy,
    epsilon: Fraction | None,
    rho: Fraction | None,
    delta: Fraction | None,
    *,
    private_keys: bool = False,
) -> Cost:
    """What a cost means in the budget of a policy."""
    whole = policy.budget.delta
    if rho is not None:
        return Cost(Concentrated(rho))
    assert epsilon is not None
    if whole is None:
        return Cost(Pure(epsilon))
    if delta is not None and delta > whole:
        fix = f"give delta {float(whole):g} or less, or leave it out"
        raise Refused("cost-invalid", "the delta is above the budget's", fix)
    meaning = labels.read(epsilon, whole, delta, private_keys=private_keys)
    return Cost(Concentrated(meaning.rho), meaning.delta)


LEAST_LAPLACE: Final = Fraction(1, 2)
"""Below this ρ, the ε of Laplace noise is less than 1.3, where it costs ε²/2 within a third: it is the wider one."""


@lru_cache(maxsize=4096)
def most_accurate(sensitivity: Sensitivity, rho: Fraction) -> Additive:
    """Of the two kinds of noise that cost ρ on integers, the one with the narrower interval."""
    gaussian = Gaussian(rho=rho, sensitivity=root(sensitivity.l2_squared))
    if rho < LEAST_LAPLACE:
        return gaussian
    if sensitivity.l1 >= 1:
        laplace = Laplace(rho=rho, sensitivity=sensitivity.l1)
    else:  # before it is put on a grid: it costs less on any
        laplace = Laplace(epsilon_of_laplace(rho, WHOLE), sensitivity=sensitivity.l1)
    sigma = math.sqrt(sensitivity.l2_squared / (2 * rho))
    return laplace if float(laplace.scale) * math.log(20) < 1.96 * sigma else gaussian
