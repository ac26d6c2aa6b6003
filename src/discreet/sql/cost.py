"""What a query costs: how a cost is shared among its measures, and the noise that each share is enough for."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from discreet.accounting import Concentrated, Pure, compose
from discreet.accounting.distributions import Noise
from discreet.accounting.labels import selection_delta
from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit.cost import Additive, Choices, Cost, Loss, noise_of
from discreet.mechanisms import KeySelection
from discreet.policy import Policy
from discreet.sql.measures import Measure
from discreet.sql.release import Release
from discreet.sql.selected import SelectedUnits
from discreet.sql.vectors import Chosen

WIDEST: Final = 9 * 10**11
"""Noise that is drawn at most, in steps."""
MAX_QUOTED: Final = 200
"""Of what a refusal quotes, which may have grown as long as free work allows."""

Mechanism = Additive | Choices | KeySelection
"""The last where a measure is read off the selection of private keys."""
_ROOTS = {n: Fraction(root) for n, root in {1: "1", 2: "7/5", 3: "7/4", 4: "2", 6: "5/2", 9: "3"}.items()}
"""Square roots, about: shares need not be perfect."""


@dataclass(frozen=True, slots=True)
class Line:
    """What costs something: in words, its sensitivity, what one row adds at most,
    and how many noisy numbers a value adds.
    """

    words: str
    sensitivity: Sensitivity
    size: int
    adds: int
    release: int
    measure: Measure | None
    """None for the selection of keys."""


def shares_of(cost: Cost, lines: Sequence[Line]) -> list[Fraction]:
    """How the cost is split: the worst error is smallest relative to what one row can add to each measure.

    Laplace noise of share w has scale l1/(ε·w), Gaussian noise variance l2²/(2ρ·w), and a value that adds up n
    noisy numbers has √n times the error: the errors relative to the sizes are all the same where w grows with
    √n·l1/size, or with n·l2²/size².
    """
    if cost.pure:
        weights = [line.sensitivity.l1 / line.size * _ROOTS[line.adds] for line in lines]
    else:
        weights = [line.sensitivity.l2_squared / line.size**2 * line.adds for line in lines]
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def mechanism_for(cost: Cost, release: Release, measure: Measure, share: Fraction) -> Mechanism:
    """The mechanism that a share of the cost is enough for: the one that the exit will use."""
    if isinstance(measure, Chosen):
        return cost.choices(release.sensitivity(measure), measure.score_sensitivity, share)
    mechanism = cost.noise(release.sensitivity(measure), share)
    if mechanism.spread > WIDEST:
        raise Refused(
            "cost-invalid",
            f"the noise on {textwrap.shorten(measure.words, MAX_QUOTED, placeholder=' …')} would be too large to draw",
            "raise the cost, or ask for it in a larger unit, such as SUM(x / 1000)",
        )
    return mechanism


def ranks(choices: Choices, measure: Chosen, confidence: Fraction) -> int:
    """How many rows lie between the quantile and the chosen cell at most."""
    candidates = measure.layout.cells
    return math.ceil(choices.mechanism.error(confidence, candidates=candidates) / measure.share.denominator)


@dataclass(frozen=True)
class Mechanisms:
    """Those of one release: for each measure, and for the selection of private keys if it has any."""

    measures: tuple[Mechanism, ...]
    selection: KeySelection | None = None

    @cached_property
    def noises(self) -> tuple[Noise | None, ...]:
        """The noise of each measure; None where something is chosen and nothing is added."""
        return tuple(map(noise_drawn, self.measures))

    @property
    def losses(self) -> Iterator[Loss]:
        """That of the selection counts once, whatever is read off it."""
        apart = (part for part in self.measures if not isinstance(part, KeySelection))
        return (part.loss for part in (*apart, self.selection) if part is not None)


def noise_drawn(mechanism: Mechanism) -> Noise | None:
    """The noise that a mechanism adds; None where something is chosen and nothing is added."""
    if isinstance(mechanism, Choices):
        return None
    return noise_of(mechanism.mechanism if isinstance(mechanism, KeySelection) else mechanism)


def lines_of(releases: Sequence[Release]) -> list[Line]:
    """What costs something: of each release first the selection of its private keys, if it has any."""
    lines: list[Line] = []
    for index, release in enumerate(releases):
        if release.private_keys:
            shown = ", and their units" if SelectedUnits() in release.measures else ""
            moved = Sensitivity.cells(release.contribution.cells, 1)
            lines.append(Line(f"which keys appear{shown}", moved, 1, 1, index, None))
        charged = (m for m in release.measures if not isinstance(m, SelectedUnits))
        lines += [Line(m.words, release.sensitivity(m), m.size, m.adds, index, m) for m in charged]
    return lines


@dataclass(frozen=True, slots=True)
class Allocation:
    """A cost with how it is shared."""

    cost: Cost
    shares: tuple[Fraction, ...]
    """Of each line."""
    mechanisms: tuple[Mechanisms, ...]
    """Of each release."""
    by_words: dict[str, float]
    """How the cost is shared, in words."""
    loss: Loss

    @property
    def noises(self) -> tuple[tuple[Noise | None, ...], ...]:
        return tuple(each.noises for each in self.mechanisms)


def free(policy: Policy) -> Allocation:
    """What is not private costs nothing."""
    nothing = Pure(0, unit=policy.unit) if policy.budget.delta is None else Concentrated(0, unit=policy.unit)
    return Allocation(Cost(nothing), (), (), {}, nothing)


def allocate(
    policy: Policy, cost: Cost, releases: Sequence[Release], shares: Sequence[Fraction] | None = None
) -> Allocation:
    """The mechanisms that a cost is enough for in every release, shared as given or as usual."""
    lines = lines_of(releases)
    split = tuple(_by_clause(cost, lines, releases, shares_of(cost, lines)) if shares is None else shares)
    by_words: dict[str, float] = {}
    for line, share in zip(lines, split, strict=True):
        by_words[line.words] = by_words.get(line.words, 0) + float(share)
    try:
        mechanisms = _mechanisms(policy, cost, releases, split)
    except ValueError:
        raise Refused(
            "cost-invalid",
            "shared among all that is asked, the cost is beyond what can be drawn",
            "raise the cost, or ask for less at once",
        ) from None
    losses = [loss for each in mechanisms for loss in each.losses]
    loss = compose(*(loss if cost.pure else loss.concentrated() for loss in losses))
    return Allocation(cost, split, mechanisms, by_words, loss.per(policy.unit))


def _by_clause(
    cost: Cost, lines: Sequence[Line], releases: Sequence[Release], shares: Sequence[Fraction]
) -> list[Fraction]:
    """Shares where several clauses of a query each name a cost: of ε as they say, of ρ as the squares of their ε do."""
    clauses = [releases[line.release].clause for line in lines]
    parts: dict[int, Fraction] = {}
    given: dict[int, Fraction] = {}
    for clause, share in zip(clauses, shares, strict=True):
        if clause is None:
            return list(shares)
        number, options = clause
        epsilon = options.epsilon or Fraction(0)
        given[number] = options.rho or (epsilon if cost.pure else epsilon * epsilon)
        parts[number] = parts.get(number, Fraction(0)) + share
    total = sum(given.values(), Fraction(0))
    if not total:
        return list(shares)
    return [
        share / parts[clause[0]] * given[clause[0]] / total
        for clause, share in zip(clauses, shares, strict=True)
        if clause is not None
    ]


def _mechanisms(
    policy: Policy, cost: Cost, releases: Sequence[Release], shares: Sequence[Fraction]
) -> tuple[Mechanisms, ...]:
    left = iter(shares)
    deltas = _deltas(policy, cost, releases)
    allocated = []
    for release in releases:
        selection = None
        if release.private_keys:
            selection = cost.selection(release.contribution.cells, next(left), deltas)
        mechanisms: list[Mechanism] = []
        for measure in release.measures:
            if isinstance(measure, SelectedUnits):
                assert selection is not None, "units are read off a selection"
                mechanisms.append(selection)
            else:
                mechanisms.append(mechanism_for(cost, release, measure, next(left)))
        allocated.append(Mechanisms(tuple(mechanisms), selection))
    return tuple(allocated)


def _deltas(policy: Policy, cost: Cost, releases: Sequence[Release]) -> Fraction:
    """The δ of each selection of private keys."""
    count = sum(bool(release.private_keys) for release in releases)
    if not count:
        return Fraction(0)
    if policy.budget.delta is None:
        keys = " and ".join(key.shown for release in releases for key in release.private_keys)
        raise Refused(
            "private-keys-need-delta",
            f"the keys of {keys} are private, and the budget has no delta to select them",
            "declare their values in the policy, give its budget a delta, or group by CASE … over values you name",
        )
    return (cost.delta or selection_delta(cost.amount, policy.budget.epsilon, policy.budget.delta)) / count


def rank_notes(releases: Sequence[Release], allocation: Allocation, confidence: Fraction) -> list[str]:
    """What is known about the error of quantiles: how far their ranks are off."""
    return [
        f"{measure.words}: {float(100 * confidence):.4g} % rank error ≤ {ranks(mechanism, measure, confidence)} rows"
        for release, noise in zip(releases, allocation.mechanisms, strict=True)
        for measure, mechanism in zip(release.measures, noise.measures, strict=True)
        if isinstance(measure, Chosen) and isinstance(mechanism, Choices)
    ]
