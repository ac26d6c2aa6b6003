from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.accounting import Pure
from discreet.mechanisms import Exponential, PermuteAndFlip
from tests.mechanisms.test_selection import neighbours
from tests.rigged import Rigged
from tests.statistics import ALARM, law, misfit

DRAWS = 2500
MANY_DRAWS = 4000
SCORES = [3, 0, 5, 5, 1]


def coins(scores: Sequence[int], unit: float) -> list[float]:
    """With which probability each candidate is taken when its turn comes."""
    return [math.exp(unit * (score - max(scores))) for score in scores]


def by_permutations(scores: Sequence[int], unit: float) -> list[float]:
    """Every order of the candidates, each as likely as the other."""
    heads = coins(scores, unit)
    chances = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        reached = 1 / math.factorial(len(scores))
        for candidate in order:
            chances[candidate] += reached * heads[candidate]
            reached *= 1 - heads[candidate]
    return chances


def by_subsets(scores: Sequence[int], unit: float) -> list[float]:
    """pᵣ·Σ (−1)^|S|/(|S| + 1)·Π p over the sets S of other candidates (McKenna & Sheldon 2020)."""
    heads = coins(scores, unit)
    chances = []
    for candidate, own in enumerate(heads):
        others = heads[:candidate] + heads[candidate + 1 :]
        terms = [
            (-1) ** size / (size + 1) * math.prod(subset)
            for size in range(len(others) + 1)
            for subset in itertools.combinations(others, size)
        ]
        chances.append(own * math.fsum(terms))
    return chances


def flipped(scores: Sequence[int], unit: Fraction) -> int:
    """Permute and flip to the letter, by exact trials: no race."""
    for candidate in noise.shuffle(len(scores)).tolist():
        if noise.bernoulli_exp(unit * (max(scores) - scores[candidate])):
            return int(candidate)
    raise AssertionError("the best candidate is always taken")


# The distribution


@pytest.mark.parametrize("scores", [[4], [0, 0], [2, 0, 1], [7, 7, 3, 0], SCORES])
@pytest.mark.parametrize("epsilon", [0.1, 1, 6])
def test_probabilities_are_those_of_all_permutations(scores: list[int], epsilon: float) -> None:
    found = PermuteAndFlip(epsilon, sensitivity=1).probabilities(scores)
    assert found == pytest.approx(by_permutations(scores, epsilon / 2), rel=1e-12)


@pytest.mark.parametrize("sensitivity", [2, 5])
def test_scores_that_a_unit_moves_further_count_for_less(sensitivity: int) -> None:
    found = PermuteAndFlip(3, sensitivity=sensitivity).probabilities(SCORES)
    assert found == pytest.approx(by_permutations(SCORES, 3 / (2 * sensitivity)), rel=1e-12)


@pytest.mark.parametrize("scores", [[2, 0, 1], list(range(8)), [0] * 10, [9, 0, 0, 0, 4, 4, 8, 8, 2]])
def test_probabilities_are_those_of_the_subset_formula(scores: list[int]) -> None:
    found = PermuteAndFlip(1, sensitivity=1, monotone=True).probabilities(scores)
    assert found == pytest.approx(by_subsets(scores, 1), rel=1e-9)


def test_a_thousand_equal_candidates_are_equally_likely() -> None:
    found = PermuteAndFlip(1, sensitivity=1).probabilities([7] * 1200)
    assert found == pytest.approx(np.full(1200, 1 / 1200), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 50])
def test_scores_at_the_ends_of_64_bits_give_no_nan(epsilon: float) -> None:
    mechanism = PermuteAndFlip(epsilon, sensitivity=1)
    assert mechanism.probabilities([-(2**63), 2**63 - 1, 2**63 - 1]).tolist() == [0, 0.5, 0.5]
    assert mechanism.choose([-(2**63), 2**63 - 1]) == 1


def test_candidates_are_chosen_with_their_probabilities() -> None:
    """And not with those of the exponential mechanism, from which so many draws tell them."""
    mechanism, scores = PermuteAndFlip(3, sensitivity=1), [5, 4, 4, 3, 0]
    chosen = [mechanism.choose(scores) for _ in range(DRAWS)]
    assert misfit(chosen, law(by_permutations(scores, 3 / 2))) > ALARM
    assert misfit(chosen, law(list(Exponential(3, sensitivity=1).probabilities(scores)))) < ALARM


@pytest.mark.long
@pytest.mark.parametrize(("sensitivity", "scores"), [(1, [2, 0, 1]), (0.3, [0.1, 0.75, -0.2, 0.6])])
def test_monotone_and_real_scores_are_chosen_with_their_probabilities(sensitivity: float, scores: list[float]) -> None:
    mechanism = PermuteAndFlip(0.5, sensitivity=sensitivity, monotone=True)
    chosen = [mechanism.choose(scores) for _ in range(MANY_DRAWS)]
    assert misfit(chosen, law(list(mechanism.probabilities(scores)))) > ALARM


@pytest.mark.long
def test_the_race_and_the_trials_in_random_order_are_the_same_mechanism() -> None:
    expected = law(list(PermuteAndFlip(1, sensitivity=1).probabilities(SCORES)))
    assert misfit([flipped(SCORES, Fraction(1, 2)) for _ in range(MANY_DRAWS)], expected) > ALARM
    race = PermuteAndFlip(1, sensitivity=1)
    assert misfit([race.choose(SCORES) for _ in range(MANY_DRAWS)], expected) > ALARM


def test_the_number_of_words_drawn_does_not_depend_on_the_scores() -> None:
    taken = set()
    for scores in ([0, 0, 0, 0], [0, 0, 0, 1000], [1000, 0, 999, 5]):
        bits = Rigged([], then=noise.SYSTEM)
        PermuteAndFlip(1, sensitivity=1).choose(scores, bits)
        taken.add(bits.taken)
    assert taken == {4 * 8}


# Privacy


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_on_all_neighbours_no_candidate_is_likelier_by_more_than_epsilon(epsilon: float, monotone: bool) -> None:
    unit = epsilon / (1 if monotone else 2)
    pairs = list(neighbours(monotone=monotone))
    laws = {scores: np.array(by_subsets(scores, unit)) for pair in pairs for scores in pair}
    worst = max(float(np.log(laws[here] / laws[there]).max()) for here, there in pairs)
    assert 0.5 * epsilon < worst <= epsilon + 1e-12
    assert PermuteAndFlip(epsilon, sensitivity=1, monotone=monotone).loss == Pure(epsilon)


def test_scores_that_are_not_monotone_must_not_be_declared_so() -> None:
    worst = max(
        float(np.log(np.array(by_subsets(here, 1)) / by_subsets(there, 1)).max())
        for here, there in neighbours(monotone=False)
    )
    assert worst > 1.5


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0, 1), (math.inf, 1), (1, 0), (1, -1), (1, math.nan)])
def test_costs_and_sensitivities_that_promise_nothing_are_refused(epsilon: float, sensitivity: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        PermuteAndFlip(epsilon, sensitivity=sensitivity)


# Usefulness


def ratio_of_shortfalls(scores: Sequence[int], epsilon: float) -> float:
    """How many times larger the expected shortfall of the exponential mechanism is."""
    gaps = max(scores) - np.array(scores)
    exponential = Exponential(epsilon, sensitivity=1).probabilities(scores) @ gaps
    return float(exponential / (PermuteAndFlip(epsilon, sensitivity=1).probabilities(scores) @ gaps))


@pytest.mark.parametrize(("epsilon", "ratio"), [(0.5, 1.08), (1, 1.20), (2, 1.44)])
def test_six_candidates_give_the_known_figures(epsilon: float, ratio: float) -> None:
    assert round(ratio_of_shortfalls(range(6), epsilon), 2) == ratio


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_the_expected_shortfall_is_at_most_the_exponential_mechanisms_and_at_least_half_of_it(epsilon: float) -> None:
    for scores in itertools.product(range(4), repeat=4):
        if len(set(scores)) > 1:
            assert 1 - 1e-12 <= ratio_of_shortfalls(scores, epsilon) <= 2 + 1e-12


def test_two_candidates_far_apart_halve_the_expected_shortfall() -> None:
    assert ratio_of_shortfalls([0, 40], 1) == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_chosen_score_falls_short_as_seldom_as_promised(confidence: float, monotone: bool) -> None:
    mechanism = PermuteAndFlip(1, sensitivity=1, monotone=monotone)
    for scores in ([0, 1, 2, 3], [0] * 50 + [100], list(range(0, 300, 3)), [5]):
        gaps = max(scores) - np.array(scores)
        bound = mechanism.error(confidence, candidates=len(scores))
        assert mechanism.probabilities(scores)[gaps >= bound].sum() <= 1 - confidence


def test_release_is_choose() -> None:
    assert PermuteAndFlip(50, sensitivity=1).release([0, 1000]) == 1
