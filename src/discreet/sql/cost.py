"""What a question costs: how a cost is read, shared among measures, and turned into noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.accounting import Concentrated, Pure, compose
from discreet.accounting.conversion import rho_of_pure
from discreet.accounting.distributions import Noise
from discreet.accounting.losses import Sensitivity
from discreet.errors import Edit, Refused
from discreet.exact import epsilon as positive
from discreet.exact import probability
from discreet.mechanisms import Exponential, Gaussian, KeySelection, Laplace
from discreet.mechanisms.payment import root
from discreet.policy import Policy
from discreet.sql.measures import Measure
from discreet.sql.release import Release
from discreet.sql.vectors import Chosen
from discreet.sql.work import brief

Additive = Laplace | Gaussian
WIDEST: Final = 9 * 10**11
"""Noise that is drawn at most, in steps."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The exponential mechanism in every group, of which one unit moves at most `count`.

    Theorem  count·ε-DP, or count·ρ-zCDP, for all groups together, with ε or ρ the cost of one choice.
    Proof    Which groups there are is listed in advance, or was released before. Given that, choices are drawn
             independently, each from the rows of its own group, so the log-ratio of all of them is the sum of those of
             the groups. A unit has rows in at most `count` groups (the theorem of `Release`), whose scores move by the
             sensitivity at most (that of `Chosen`); in all others both sides have the same scores, and the sum has
             `count` terms. This is composition over a unit's groups: `parallel` would need each unit in one group.
    """

    mechanism: Exponential
    count: int

    @property
    def loss(self) -> Pure | Concentrated:
        return compose(*[self.mechanism.loss] * self.count)

    def ranks(self, measure: Chosen, confidence: Fraction) -> int:
        """How many rows lie between the quantile and the chosen cell at most."""
        return math.ceil(self.mechanism.error(confidence, candidates=measure.layout.cells) / measure.share.denominator)


Mechanism = Laplace | Gaussian | Choices
_ROOTS = {1: Fraction(1), 2: Fraction(7, 5)}
"""Square roots, about: shares need not be perfect."""


@dataclass(frozen=True, slots=True)
class Line:
    """What has to be paid: in words, its sensitivity, what one row adds at most,
    and how many noisy numbers a value adds.
    """

    words: str
    sensitivity: Sensitivity
    size: int
    adds: int
    release: int
    measure: Measure | None
    """None for the selection of keys."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a question is bought for: ε of Laplace noise, or ρ of whichever noise is more accurate."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None
    concentrated: bool
    """Whether the budget counts in ρ."""

    @classmethod
    def read(cls, policy: Policy, *, epsilon: object = None, rho: object = None, delta: object = None) -> Cost:
        """The cost that a caller names, or a refusal."""
        if epsilon is None and rho is None:
            raise Refused(
                "cost-missing",
                "the question has no cost",
                "add epsilon, such as epsilon=0.1, or the error that you want, such as error=10",
                edit=Edit(arguments={"epsilon": 0.1}),
            )
        if epsilon is not None and rho is not None:
            raise Refused("cost-invalid", "epsilon and rho are two costs", "give one of them")
        if rho is not None and (policy.budget.delta is None or delta is not None):
            raise Refused("cost-invalid", "rho is a cost only in budgets with delta, and alone", "give epsilon")
        concentrated = policy.budget.delta is not None
        try:
            amount = positive(epsilon, "epsilon") if rho is None else positive(rho, "rho")
            limit = None if delta is None else probability(delta, "delta")
        except (TypeError, ValueError) as wrong:
            raise Refused("cost-invalid", str(wrong), "give a number such as 0.1") from None
        if concentrated and limit is None and rho is None:
            found = cls(None, amount**2 / 2, None, concentrated)
        else:
            found = cls(amount if rho is None else None, amount if rho is not None else None, limit, concentrated)
        found._check_limit(policy)
        return found

    def _check_limit(self, policy: Policy) -> None:
        most = policy.max_cost
        if most is not None and self.square > most**2:
            raise Refused(
                "cost-too-high",
                "the cost is above the policy's max_cost",
                f"use epsilon {float(most):g} or less",
                edit=Edit(arguments={"epsilon": float(most), "rho": None, "error": None}),
            )

    @property
    def square(self) -> Fraction:
        """The square of the ε that it is the cost of."""
        return self.epsilon**2 if self.epsilon is not None else 2 * (self.rho or Fraction(0))

    def shares(self, lines: Sequence[Line]) -> list[Fraction]:
        """How the cost is split: the worst error is smallest relative to what one row can add to each measure.

        Laplace noise of share w has scale l1/(ε·w), Gaussian noise variance l2²/(2ρ·w), and a value that adds up n
        noisy numbers has √n times the error: the errors relative to the sizes are all the same where w grows with
        √n·l1/size, or with n·l2²/size².
        """
        if self.epsilon is not None:
            weights = [line.sensitivity.l1 / line.size * _ROOTS[line.adds] for line in lines]
        else:
            weights = [line.sensitivity.l2_squared / line.size**2 * line.adds for line in lines]
        total = sum(weights, Fraction(0))
        return [weight / total for weight in weights]

    def noise(self, sensitivity: Sensitivity, share: Fraction) -> Additive:
        """The noise that a share of the cost buys for a measure of this sensitivity."""
        if self.epsilon is not None:
            return Laplace(self.epsilon * share, sensitivity=sensitivity.l1)
        assert self.rho is not None
        return most_accurate(sensitivity, self.rho * share)

    def selection(self, groups: int, share: Fraction, delta: Fraction) -> KeySelection:
        """The noise that a share of the cost buys for the selection of private keys."""
        if self.epsilon is not None:
            return KeySelection(delta=delta, max_groups=groups, epsilon=self.epsilon * share)
        assert self.rho is not None
        return KeySelection(delta=delta, max_groups=groups, rho=self.rho * share)

    def choices(self, groups: int, sensitivity: int, share: Fraction) -> Choices:
        """The choice in each group that a share of the cost buys."""
        if self.epsilon is not None:
            return Choices(Exponential(self.epsilon * share / groups, sensitivity=sensitivity), groups)
        assert self.rho is not None
        return Choices(Exponential(rho=self.rho * share / groups, sensitivity=sensitivity), groups)

    def bought(self, release: Release, measure: Measure, share: Fraction) -> Mechanism:
        """What a share of the cost buys for a measure."""
        if isinstance(measure, Chosen):
            bound = release.contribution
            return self.choices(bound.cells, measure.score_sensitivity(bound), share)
        found = self.noise(release.sensitivity(measure), share)
        if found.spread > WIDEST:
            raise Refused(
                "cost-invalid",
                f"the noise on {measure.words} would be too large to draw",
                "pay more, or ask for it in a larger unit, such as SUM(x / 1000)",
            )
        return found

    def loss(self, mechanisms: Sequence[Mechanism | KeySelection]) -> Pure | Concentrated:
        """What these cost together, in the budget's currency."""
        losses = [mechanism.loss for mechanism in mechanisms]
        return compose(*(loss.concentrated() if self.concentrated else loss for loss in losses))


@dataclass(frozen=True, slots=True)
class Bought:
    """The noise of one release: for each measure, and for the selection of private keys if it has any."""

    measures: tuple[Mechanism, ...]
    selection: KeySelection | None = None

    @property
    def noises(self) -> tuple[Noise | None, ...]:
        """The noise of each measure; None where something is chosen and nothing is added."""
        return tuple(None if isinstance(part, Choices) else noise_of(part) for part in self.measures)


def lines_of(releases: Sequence[Release]) -> list[Line]:
    """What has to be paid for: of each release first the selection of its private keys, if it has any."""
    lines: list[Line] = []
    for place, release in enumerate(releases):
        if release.private_keys:
            lines.append(Line("which keys appear", Sensitivity.cells(release.contribution.cells, 1), 1, 1, place, None))
        lines += [Line(m.words, release.sensitivity(m), m.size, m.adds, place, m) for m in release.measures]
    return lines


@dataclass(frozen=True, slots=True)
class Offer:
    """A cost with what it buys."""

    cost: Cost
    shares: tuple[Fraction, ...]
    """Of each line."""
    bought: tuple[Bought, ...]
    told: dict[str, float]
    """How the cost is shared, in words."""
    loss: Pure | Concentrated


def free(policy: Policy) -> Offer:
    """What is not private costs nothing."""
    concentrated = policy.budget.delta is not None
    nothing = Concentrated(0, unit=policy.unit) if concentrated else Pure(0, unit=policy.unit)
    return Offer(Cost(None, None, None, concentrated), (), (), {}, nothing)


def buy(policy: Policy, cost: Cost, releases: Sequence[Release], shares: Sequence[Fraction] | None = None) -> Offer:
    """What a cost buys for every release, shared as given or as usual."""
    lines = lines_of(releases)
    split = tuple(cost.shares(lines) if shares is None else shares)
    told: dict[str, float] = {}
    for line, share in zip(lines, split, strict=True):
        told[line.words] = told.get(line.words, 0) + float(share)
    try:
        bought = _bought(policy, cost, releases, split)
    except ValueError:
        raise Refused(
            "cost-invalid",
            "shared among all that is asked, the cost is beyond what can be drawn",
            "ask for less at once",
        ) from None
    parts = [part for noise in bought for part in (*noise.measures, noise.selection) if part is not None]
    return Offer(cost, split, bought, told, cost.loss(parts).per(policy.unit))


def _bought(policy: Policy, cost: Cost, releases: Sequence[Release], shares: Sequence[Fraction]) -> tuple[Bought, ...]:
    left = iter(shares)
    deltas = _deltas(policy, cost, releases)
    found = []
    for release in releases:
        selection = None
        if release.private_keys:
            selection = cost.selection(release.contribution.cells, next(left), deltas)
        paid = [(measure, next(left)) for measure in release.measures]
        found.append(Bought(tuple(cost.bought(release, measure, share) for measure, share in paid), selection))
    return tuple(found)


def _deltas(policy: Policy, cost: Cost, releases: Sequence[Release]) -> Fraction:
    """The δ of each selection of private keys."""
    count = sum(bool(release.private_keys) for release in releases)
    if not count:
        return Fraction(0)
    if policy.budget.delta is None:
        keys = " and ".join(brief(key.expr.sql.text) for release in releases for key in release.private_keys)
        raise Refused(
            "private-keys-need-delta",
            f"the keys of {keys} are private, and the budget has no delta to select them",
            "declare their values in the policy, give its budget a delta, or group by CASE … over values you name",
        )
    return (cost.delta or policy.budget.delta / 2 / 1000) / count


def rank_notes(releases: Sequence[Release], bought: Sequence[Bought], confidence: Fraction) -> list[str]:
    """What is known about the error of quantiles: how far their ranks are off."""
    return [
        f"{measure.words}: {float(100 * confidence):.4g} % rank error ≤ {mechanism.ranks(measure, confidence)} rows"
        for release, noise in zip(releases, bought, strict=True)
        for measure, mechanism in zip(release.measures, noise.measures, strict=True)
        if isinstance(measure, Chosen) and isinstance(mechanism, Choices)
    ]


@lru_cache(maxsize=4096)
def most_accurate(sensitivity: Sensitivity, rho: Fraction) -> Additive:
    """Of the two kinds of noise that cost ρ, the one with the narrower interval."""
    gaussian = Gaussian(rho=rho, sensitivity=root(sensitivity.l2_squared))
    sigma = math.sqrt(sensitivity.l2_squared / (2 * rho))
    epsilon = epsilon_within(rho)
    if epsilon is not None and float(sensitivity.l1 / epsilon) * math.log(20) < 1.96 * sigma:
        return Laplace(epsilon, sensitivity=sensitivity.l1)
    return gaussian


@lru_cache(maxsize=4096)
def epsilon_within(rho: Fraction) -> Fraction | None:
    """Nearly the largest ε with ε·tanh(ε/2) ≤ ρ; None where Gaussian noise is better anyway.

    Below ρ = ½ that ε is less than 1.1, where tanh(ε/2) is ε/2 within a tenth: Laplace noise is the wider one.
    """
    if rho < Fraction(1, 2):
        return None
    low, high = 0.0, max(2.0, float(rho) * 1.2 + 1)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.tanh(middle / 2) <= rho else (low, middle)
    epsilon = Fraction(math.floor(low * 10**9 * (1 - 1e-12)), 10**9)
    return epsilon if rho_of_pure(epsilon) <= rho else None


def noise_of(mechanism: Additive) -> Noise:
    """The distribution of the noise on integers."""
    return mechanism.noise(mechanism.sensitivity, 1)
