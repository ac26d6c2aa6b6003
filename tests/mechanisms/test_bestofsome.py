"""The best of some candidates: its theorem by enumeration, on the very distribution that is drawn."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pytest

from discreet.accounting import Pure
from discreet.mechanisms import BestOfSome
from discreet.mechanisms.bestofsome import ETA, best, loss_of

Law = tuple[float, ...]
"""The probabilities of the outputs of a candidate, by their scores 0, 1, 2, …"""
Chances = dict[tuple[int, int], float]
ODDS: Final = 2
"""e^ε₀"""
EACH: Final = Fraction(math.log(2))
MORE, LESS = ODDS / (1 + ODDS), 1 / (1 + ODDS)


@lru_cache
def looked(count: int) -> dict[tuple[int, ...], Fraction]:
    """With which probability each set is looked at: by all draws that there are, through the code that draws."""
    mechanism, found = BestOfSome(epsilon=1, candidates=count), Counter[tuple[int, ...]]()
    draws = math.comb(count + ETA, ETA) - 1
    orders = list(itertools.permutations(range(count)))
    for draw, order in itertools.product(range(draws), orders):
        script = iter([np.array([draw]), np.array(order)])
        limits: list[int] = []

        def below(limit: int, size: int, script: Any = script, limits: list[int] = limits) -> Any:
            limits.append(limit)
            drawn = next(script)
            assert drawn.shape == (size,)
            return drawn

        some = mechanism.some(below)
        assert limits[0] == draws
        found[tuple(np.flatnonzero(some).tolist())] += 1
    return {chosen: Fraction(times, draws * len(orders)) for chosen, times in found.items()}


def outcomes(laws: list[Law], sets: dict[tuple[int, ...], Fraction]) -> Chances:
    """The distribution of who is chosen, and with which output: over all outputs of all candidates, and all sets."""
    found: Chances = defaultdict(float)
    masks = [(np.isin(np.arange(len(laws)), chosen), float(chance)) for chosen, chance in sets.items()]
    for drawn in itertools.product(*(range(len(law)) for law in laws)):
        chance = math.prod(law[output] for law, output in zip(laws, drawn, strict=True))
        for mask, probability in masks:
            place = best(drawn, mask)
            found[place, drawn[place]] += chance * probability
    return found


def furthest(one: Chances, other: Chances) -> float:
    """The largest log-ratio of probabilities, both ways."""
    assert {key for key in one if one[key]} == {key for key in other if other[key]}
    return max(abs(math.log(one[key] / other[key])) for key in one if one[key])


def pair(outputs: int, chance: random.Random) -> tuple[Law, Law]:
    """Two laws as far apart as e^ε₀ allows: some outputs are likelier on one side, the others on the other side."""
    weights = [chance.random() ** 3 for _ in range(outputs)]
    likelier = [True, False, *(chance.random() < 0.5 for _ in range(outputs - 2))]
    chance.shuffle(likelier)
    mass = {side: sum(w for w, more in zip(weights, likelier, strict=True) if more is side) for side in (True, False)}

    def law(side: bool) -> Law:
        shares = {side: MORE, not side: LESS}
        return tuple(w / mass[more] * shares[more] for w, more in zip(weights, likelier, strict=True))

    return law(True), law(False)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_sets_are_as_likely_as_the_theorem_says(count: int) -> None:
    weights = {k: math.comb(k + ETA - 1, k) for k in range(1, count + 1)}
    sets = looked(count)
    assert len(sets) == 2**count - 1
    for chosen, probability in sets.items():
        size = len(chosen)
        assert probability == Fraction(weights[size], sum(weights.values())) / math.comb(count, size)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_loss_is_that_of_the_worst_candidates_and_of_no_others(count: int) -> None:
    sets, chance = looked(count), random.Random(count)
    declared = float(loss_of(EACH, count))
    for _ in range(5):
        pairs = [pair(3, chance) for _ in range(count)]
        sides = [outcomes([laws[side] for laws in pairs], sets) for side in (0, 1)]
        assert furthest(*sides) <= declared + 1e-12
    first = (LESS, MORE), (MORE, LESS)  # score 1 is twice as likely on one side,
    other = (MORE, 0.0, LESS), (LESS, 0.0, MORE)  # and so it is there that others come behind it
    worst = [outcomes([first[side], *[other[side]] * (count - 1)], sets) for side in (0, 1)]
    assert math.log(worst[0][0, 1] / worst[1][0, 1]) == pytest.approx(declared, rel=1e-12)
    assert furthest(*worst) <= declared + 1e-12


def test_mechanisms_that_ignore_what_is_asked_of_them_would_be_found() -> None:
    """Were all candidates looked at, or sizes drawn as if they were alike, the loss would be another."""
    sets = looked(3)
    every: dict[tuple[int, ...], Fraction] = {(0, 1, 2): Fraction(1)}
    first, other = ((LESS, MORE), (MORE, LESS)), ((MORE, 0.0, LESS), (LESS, 0.0, MORE))
    declared = float(loss_of(EACH, 3))
    for wrong, expected in ((every, 3 * math.log(2)), (sets, declared)):
        sides = [outcomes([first[side], other[side], other[side]], wrong) for side in (0, 1)]
        assert furthest(*sides) == pytest.approx(expected, rel=1e-12)
    assert declared < 3 * math.log(2) - 0.1


@pytest.mark.parametrize("count", [1, 2, 3, 8, 60])
def test_the_loss_is_within_both_of_its_limits_and_costs_are_spent(count: int) -> None:
    """As for independent runs (Papernot & Steinke 2022, Theorem 2), and as for all of them together."""
    earlier, rounded = Fraction(0), 1 + Fraction(1, 10**20)
    for each in map(Fraction, ("0.001", "1", "5")):
        loss = loss_of(each, count)
        assert earlier < loss <= min(2 + ETA, count) * each * rounded
        assert loss * rounded >= loss_of(each, max(count - 1, 1))
        earlier = loss
    for epsilon in map(Fraction, ("1e-9", "1", "1000")):
        mechanism = BestOfSome(epsilon=epsilon, candidates=count)
        assert mechanism.loss == Pure(epsilon)
        assert loss_of(mechanism.each, count) <= epsilon * rounded
        assert loss_of(mechanism.each * (1 + Fraction(1, 10**8)), count) > epsilon


def test_rho_is_that_of_the_whole() -> None:
    """ε·tanh(ε/2) ≤ ρ for the ε of all together."""
    mechanism = BestOfSome(rho=0.02, candidates=6)
    whole = Pure(loss_of(mechanism.each, 6)).concentrated().rho
    assert Fraction("0.01999") < whole <= Fraction("0.02")


@pytest.mark.parametrize("count", [2, 4])
def test_the_rank_of_what_is_chosen(count: int) -> None:
    sets, mechanism = looked(count), BestOfSome(epsilon=1, candidates=count)
    for rank in range(1, count + 1):
        none = sum(chance for chosen, chance in sets.items() if min(chosen) >= rank)
        assert mechanism.missed(rank) == none
        assert mechanism.error(1 - none if none else Fraction(999_999, 10**6)) == rank
    assert BestOfSome(epsilon=1, candidates=1000).error(0.95) == 5


def test_ties_go_to_the_first_and_equal_draws_are_drawn_again() -> None:
    mask = np.array([False, True, True, True])
    assert best([9, 4, 5, 5], mask) == 2
    draws = iter([np.array([4]), np.array([7, 7]), np.array([3, 1])])
    assert BestOfSome(epsilon=1, candidates=2).some(lambda *_: next(draws)).tolist() == [True, True]
    draws = iter([np.array([0]), np.array([3, 1])])
    assert BestOfSome(epsilon=1, candidates=2).some(lambda *_: next(draws)).tolist() == [False, True]


def test_too_many_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 1,000"):
        BestOfSome(epsilon=1, candidates=1001)
    with pytest.raises(TypeError, match="give one of them"):
        BestOfSome(epsilon=1, rho=1, candidates=2)
