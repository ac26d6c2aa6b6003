"""What `epsilon=e` means: a release satisfies by itself what its label says, and a budget counts by the same measure.

Theorem  Under a pure budget the release is e-DP. Under a budget (ε, δ) it is (e, δ)-DP, and with a δ_q of its own
         (e, δ_q)-DP, its partition selections included.
Proof    Pure: the losses of its mechanisms add up to e. With δ: its mechanisms cost ρ in all, and its selections δ_s,
         so that it is δ_s-approximate ρ-zCDP, hence (epsilon_of(ρ, c), c + δ_s)-DP for every c.
             no δ_q                  c = δ/2,    ρ = rho_for(e, c),  δ_s ≤ δ/2    (see `selection_delta`)
             δ_q, private keys       c = δ_q/2,  ρ = rho_for(e, c),  δ_s = δ_q/2
             δ_q, public keys alone  c = δ_q,    ρ = rho_for(e, c),  δ_s = 0
         ρ is rounded down, to 15 digits and to the ledger's units, and epsilon_of(ρ, c) ≤ e is true of that as well.
Totals   ρ and δ add up over releases. What is spent is shown as epsilon_of(Σρ, δ/2) with Σδ beside it; it is at most e
         after one release for e without a δ of its own, and grows more slowly than the sum of the labels. The whole
         budget has ρ = rho_for(ε, δ/2): one release for epsilon=ε fits, and nothing after it.
Source   Canonne, Kamath & Steinke 2020 (the conversion); `filters` for sums of adaptively chosen releases.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from discreet.accounting.conversion import REMEMBERED, epsilon_nearby, epsilon_of_rho, rho_of_epsilon
from discreet.accounting.losses import Concentrated, Pure
from discreet.accounting.rounding import UNITS, float_down, float_up, granted
from discreet.exact import LEAST_EPSILON
from discreet.printing import at_least

DIGITS: Final = 12
"""Of the largest ε that is offered."""


class Meaning(NamedTuple):
    """What a label stands for: ρ for all mechanisms, and δ for all partition selections."""

    rho: Fraction
    delta: Fraction | None
    """None: as much as `selection_delta` says."""


def read(epsilon: Fraction, budget: Fraction, own: Fraction | None = None, *, private_keys: bool = False) -> Meaning:
    """What `epsilon=` and perhaps `delta=` stand for, under a budget with this δ."""
    if own is None:
        return Meaning(rho_of_label(epsilon, budget / 2), None)
    half = own / 2
    return Meaning(rho_of_label(epsilon, half if private_keys else own), half)


@lru_cache(maxsize=REMEMBERED)
def rho_of_label(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ of 15 digits, in the ledger's units, with epsilon_of(ρ, δ) ≤ ε: that of `rho_for`."""
    return _short(rho_of_epsilon(epsilon, delta))


def selection_delta(rho: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The δ of all partition selections of a release that costs ρ, under a budget (ε, δ), where it names none.

    Theorem  At most δ/2. And as long as Σρ fits the budget, so does Σδ: selections never end before the budget does.
    Proof    It is the same part of δ/2 as ρ is of the budget's ρ (no more than all of it), rounded down; sums
             of the parts are at most the part of the sum. (One unit, 10⁻²⁴, is the least: a probability is not 0.)
    """
    part = min(rho / rho_of_label(epsilon, delta / 2), Fraction(1))
    return max(_short(part * delta / 2), Fraction(1, UNITS))


def _short(amount: Fraction) -> Fraction:
    """Rounded down to 15 digits, so that its float says the same, and to whole units."""
    return Fraction(granted(Fraction(repr(float_down(amount)))), UNITS)


@lru_cache(maxsize=REMEMBERED)
def label_of_rho(rho: Fraction, delta: Fraction) -> float:
    """The largest ε, to 11 digits, with rho_of_label(ε, δ) ≤ ρ: what a release may cost where ρ is left; 0 if none.

    That it fits is looked at, so that it may be guessed: the guess is the same for many ρ, and so is what it costs. One
    that is rounded up does not fit; then the one below does.
    """
    if not rho:
        return 0.0
    nearby = epsilon_nearby(rho, delta)
    guess = Fraction(f"{nearby:.{DIGITS}g}")
    if guess and rho_of_label(guess, delta) <= rho:
        return float(guess)
    lower = float_down(Decimal(nearby * (1 - 10.0 ** (1 - DIGITS))), DIGITS)
    if lower and rho_of_label(Fraction(repr(lower)), delta) <= rho:
        return lower
    bound = epsilon_of_rho(rho, delta)
    nearest = Fraction(f"{float(bound):.{DIGITS}g}")
    fits = rho_of_label(nearest, delta) <= rho
    return float(nearest) if fits else float_down(bound * (1 - Fraction(1, 10 ** (DIGITS - 1))), DIGITS)


def usual(epsilon: Fraction, delta: Fraction | None) -> float:
    """An ε to begin with: a tenth of the budget, or a little less so that it is 1, 2 or 5 in its first digit; never
    below the least that there is.

    >>> usual(Fraction(3), None), usual(Fraction(3), Fraction("1e-6")), usual(Fraction(1), Fraction("1e-6"))
    (0.2, 0.5, 0.2)
    """
    tenth = float(epsilon / 10) if delta is None else label_of_rho(rho_of_label(epsilon, delta / 2) / 10, delta / 2)
    if not tenth:  # so small a budget is not shared
        return float_down(epsilon)
    return rounded(tenth)


def rounded(tenth: float) -> float:
    """So much, or a little less so that it is 1, 2 or 5 in its first digit; never below the least that there is."""
    step = Fraction(10) ** math.floor(math.log10(tenth))
    digit = max((digit for digit in (2, 5) if float(digit * step) <= tenth), default=1)
    return float(max(digit * step, LEAST_EPSILON))


def labelled(loss: Pure | Concentrated, delta: Fraction | None) -> str:
    """A loss in words, under a budget with this δ: the ε of the release by itself, and what adds up.

    >>> labelled(Concentrated(0.005), Fraction("1e-6"))
    'ε 0.4452 (ρ 0.005)'
    """
    if delta is None:
        return loss.words
    return f"ε {at_least(label_of(loss, delta))} ({loss.concentrated().words})"


def label_of(loss: Pure | Concentrated, delta: Fraction | None) -> float:
    """The ε of a release by itself, under a budget with this δ, rounded up."""
    if delta is None:
        assert isinstance(loss, Pure), "a budget without δ has pure losses alone"
        return float_up(loss.epsilon)
    return float_up(epsilon_of_rho(loss.concentrated().rho, delta / 2))


def part_of(loss: Pure | Concentrated, epsilon: Fraction, delta: Fraction) -> Fraction:
    """How much of the ρ of a budget (ε, δ) a loss is."""
    return loss.concentrated().rho / rho_of_label(epsilon, delta / 2)
