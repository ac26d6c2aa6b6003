from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet import noise
from discreet.accounting import Concentrated, Pure
from discreet.mechanisms import Exponential, Laplace, RandomizedResponse, TopK
from tests.mechanisms.test_selection import Scores, neighbours
from tests.rigged import Rigged, repeated
from tests.statistics import ALARM, law, misfit

ORDERS = (1.0001, 1.5, 2, 3, 5, 10, 40, 200)
DRAWS = 2500
MANY_DRAWS = 4000
QUARTER, HALF, ONES = 2**62, 2**63, 2**64 - 1

Floats = NDArray[np.float64]


def softmax(scores: Sequence[float], unit: float) -> list[float]:
    """exp(unit·score) over its sum, to 50 digits."""
    with mpmath.workdps(50):
        weights = [mpmath.exp(mpmath.mpf(score) * mpmath.mpf(unit)) for score in scores]
        return [float(weight / mpmath.fsum(weights)) for weight in weights]


def renyi(p: Floats, q: Floats, order: float) -> float:
    return float(np.logaddexp.reduce(order * np.log(p) - (order - 1) * np.log(q))) / (order - 1)


def plackett_luce(weights: Sequence[float], k: int) -> dict[Scores, float]:
    """Choose k times without replacement, in proportion to the weights that are left."""
    orders = {}
    for order in itertools.permutations(range(len(weights)), k):
        chance, left = 1.0, math.fsum(weights)
        for index in order:
            chance *= weights[index] / left
            left -= weights[index]
        orders[order] = chance
    return orders


def ranking(mechanism: TopK, scores: Sequence[int]) -> Floats:
    """The probabilities of all outcomes, in a fixed order."""
    unit = mechanism.epsilon / (1 if mechanism.monotone else 2)
    return np.array(list(plackett_luce([math.exp(unit * score) for score in scores], mechanism.k).values()))


# The distribution


@pytest.mark.parametrize("scores", [[5, 3], [3, 0, 5, 5, 1], [7], [0] * 9, [-4, 1000, 997]])
@pytest.mark.parametrize("epsilon", [0.01, 1, 7.5])
def test_probabilities_are_the_softmax_of_half_epsilon_times_the_scores(scores: list[int], epsilon: float) -> None:
    found = Exponential(epsilon, sensitivity=1).probabilities(scores)
    assert found == pytest.approx(softmax(scores, epsilon / 2), rel=1e-12)


def test_monotone_scores_count_twice() -> None:
    found = Exponential(1, sensitivity=1, monotone=True).probabilities([5, 3, 4])
    assert found == pytest.approx(softmax([5, 3, 4], 1), rel=1e-12)


def test_scores_count_in_units_of_their_sensitivity() -> None:
    found = Exponential(1, sensitivity=10).probabilities([50, 30, 40])
    assert found == pytest.approx(softmax([5, 3, 4], 0.5), rel=1e-12)


def test_real_scores_are_off_by_no_more_than_the_grid() -> None:
    scores = [0.0, 0.3, 1.7, math.pi]
    found = Exponential(1, sensitivity=0.7).probabilities(scores)
    assert found == pytest.approx(softmax(scores, 1 / 1.4), rel=4e-3)


def test_candidates_are_chosen_with_their_probabilities() -> None:
    mechanism, scores = Exponential(1, sensitivity=1), [3, 0, 5, 5, 1]
    chosen = [mechanism.choose(scores) for _ in range(DRAWS)]
    assert misfit(chosen, law(softmax(scores, 1 / 2))) > ALARM


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "scores"),
    [
        (Exponential(1, sensitivity=1), [3, 0, 5, 5, 1]),
        (Exponential(1, sensitivity=1, monotone=True), [3, 0, 2, 2, 1]),
        (Exponential(0.5, sensitivity=0.3), [0.1, 0.75, -0.2, 0.6]),
        (Exponential(rho=0.5, sensitivity=1), [3, 0, 2, 2, 1]),
    ],
)
def test_candidates_of_all_kinds_are_chosen_with_their_probabilities(
    mechanism: Exponential, scores: list[float]
) -> None:
    chosen = [mechanism.choose(scores) for _ in range(MANY_DRAWS)]
    assert misfit(chosen, law(list(mechanism.probabilities(scores)))) > ALARM


def test_copies_count_as_so_many_candidates_of_their_score() -> None:
    scores, copies = [0, 3, 1], (5, 1, 20)
    among = Exponential(1, sensitivity=1, copies=copies).probabilities(scores)
    apart = Exponential(1, sensitivity=1).probabilities(
        [s for s, m in zip(scores, copies, strict=True) for _ in range(m)]
    )
    np.testing.assert_allclose(among, [apart[:5].sum(), apart[5], apart[6:].sum()])
    with pytest.raises(ValueError, match="copies of 3 scores, not of 2"):
        Exponential(1, sensitivity=1, copies=copies).probabilities([0, 1])


@pytest.mark.parametrize(
    ("copies", "error"),
    [(3, TypeError), ("12", TypeError), ((1, 2.5), TypeError), ((0, 1), ValueError), ((2**63,), ValueError)],
)
def test_copies_are_whole_numbers(copies: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="copies"):
        Exponential(1, sensitivity=1, copies=copies)


def test_scores_of_any_integer_type_give_a_python_int() -> None:
    scores = np.array([1, 200, 3], dtype=np.uint8)
    assert type(Exponential(9, sensitivity=1).choose(scores)) is int


# Privacy


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_on_all_neighbours_the_exponents_differ_by_a_range_of_epsilon_exactly(
    epsilon: Fraction, monotone: bool
) -> None:
    """P(r)/P′(r) = exp(aᵣ − a′ᵣ)·Σexp(a′ₛ)/Σexp(aₛ) ≤ exp(max(a − a′) − min(a − a′)): in fractions, no rounding."""
    mechanism = Exponential(epsilon, sensitivity=1, monotone=monotone)
    ranges = set()
    for here, there in neighbours(monotone=monotone):
        before, after = mechanism._exponents(here), mechanism._exponents(there)
        assert before.unit == after.unit
        shifts = [int(shift) * before.unit for shift in before.scores - after.scores]
        ranges.add(max(shifts) - min(shifts))
    assert max(ranges) == epsilon


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_on_all_neighbours_no_candidate_is_likelier_by_more_than_epsilon(epsilon: float, monotone: bool) -> None:
    mechanism = Exponential(epsilon, sensitivity=1, monotone=monotone)
    worst = max(
        float(np.log(mechanism.probabilities(here) / mechanism.probabilities(there)).max())
        for here, there in neighbours(monotone=monotone)
    )
    assert 0.5 * epsilon < worst <= epsilon + 1e-12


def test_scores_that_are_not_monotone_must_not_be_declared_so() -> None:
    mechanism = Exponential(1, sensitivity=1, monotone=True)
    worst = max(
        float(np.log(mechanism.probabilities(here) / mechanism.probabilities(there)).max())
        for here, there in neighbours(monotone=False)
    )
    assert worst > 1.5


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("rho", [0.001, 0.125, 2])
def test_with_rho_the_renyi_divergence_of_all_neighbours_and_orders_is_paid_for(rho: float, monotone: bool) -> None:
    mechanism = Exponential(rho=rho, sensitivity=1, monotone=monotone)
    assert mechanism.loss == Concentrated(rho)
    laws = {scores: mechanism.probabilities(scores) for pair in neighbours(monotone=monotone) for scores in pair}
    worst = max(
        renyi(laws[here], laws[there], order) / order
        for here, there in set(neighbours(monotone=monotone))
        for order in ORDERS
    )
    assert 0.5 * rho < worst <= rho * (1 + 1e-9)


def test_a_choice_costs_epsilon_or_rho() -> None:
    assert Exponential(0.1, sensitivity=3).loss == Pure(0.1)
    assert Exponential(rho=0.125, sensitivity=1).epsilon == 1


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"sensitivity": 1}, TypeError, "either epsilon or rho"),
        ({"epsilon": 1, "rho": 1, "sensitivity": 1}, TypeError, "either epsilon or rho"),
        ({"epsilon": 1, "sensitivity": 0}, ValueError, "above 0"),
        ({"epsilon": 1, "sensitivity": math.inf}, ValueError, "finite"),
        ({"epsilon": 0, "sensitivity": 1}, ValueError, "above 0"),
        ({"rho": math.nan, "sensitivity": 1}, ValueError, "finite"),
    ],
)
def test_costs_and_sensitivities_that_promise_nothing_are_refused(
    arguments: dict[str, float], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        Exponential(**arguments)  # type: ignore[arg-type]


# Positivity


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1, 50])
def test_every_one_of_a_million_candidates_keeps_a_positive_probability(epsilon: float) -> None:
    scores = np.arange(10**6) % 11
    mechanism = Exponential(epsilon, sensitivity=1)
    probabilities = mechanism.probabilities(scores)
    assert probabilities.min() > 0
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    assert 0 <= mechanism.choose(scores) < 10**6


@pytest.mark.parametrize("epsilon", [1e-6, 1, 50])
def test_the_worst_of_a_million_candidates_wins_if_the_bits_say_so(epsilon: float) -> None:
    """U → 1 makes a clock ring at once; e^(−250) is out of reach for one word, but not for those that follow it."""
    scores = np.full(10**6, 10)
    scores[123_456] = 0
    words = np.full(10**6, QUARTER, dtype="<u8")
    words[:1], words[123_456] = HALF, ONES
    bits = Rigged([words.tobytes()], then=repeated(255))
    assert Exponential(epsilon, sensitivity=1).choose(scores, bits) == 123_456


@pytest.mark.parametrize("epsilon", [1e-6, 50])
def test_scores_at_the_ends_of_64_bits_give_no_nan(epsilon: float) -> None:
    probabilities = Exponential(epsilon, sensitivity=1).probabilities([-(2**63), 2**63 - 1, 2**63 - 1])
    assert probabilities.tolist() == [0, 0.5, 0.5]
    assert Exponential(epsilon, sensitivity=1).choose([-(2**63), 2**63 - 1]) == 1


# Usefulness


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_chosen_score_falls_short_as_seldom_as_promised(epsilon: float, confidence: float, monotone: bool) -> None:
    mechanism = Exponential(epsilon, sensitivity=1, monotone=monotone)
    for scores in ([0, 1, 2, 3], [0] * 50 + [100], list(range(0, 300, 3)), [5]):
        shortfalls = max(scores) - np.array(scores)
        probabilities = mechanism.probabilities(scores)
        bound = mechanism.error(confidence, candidates=len(scores))
        assert probabilities[shortfalls >= bound].sum() <= 1 - confidence
        for gap in (1, 10, 100):
            limit = len(scores) * math.exp(-epsilon * gap / (1 if monotone else 2))
            assert probabilities[shortfalls >= gap].sum() <= limit


def test_the_most_common_nationality_is_nearly_always_found() -> None:
    """Lecture 003: counts have Δ = 1; falling short by R has probability ≤ |Y|·exp(−εR/2)."""
    census = {"Swiss": 5_900, "Italian": 340, "German": 320, "French": 150, "Portuguese": 140}
    mechanism = Exponential(0.1, sensitivity=1)
    probabilities = mechanism.probabilities(list(census.values()))
    assert 1 - probabilities[0] <= 5 * math.exp(-0.1 * 5_560 / 2)
    assert list(census)[mechanism.choose(list(census.values()))] == "Swiss"


def coin_scores(heads: int, tails: int, biases: Floats) -> Floats:
    """The log-likelihood of each bias."""
    return np.asarray(heads * np.log(biases) + tails * np.log1p(-biases))


def coin_biases(cells: int) -> Floats:
    """The middles of equal cells of (0.1, 0.9)."""
    return np.asarray(0.1 + 0.8 * (np.arange(cells) + 0.5) / cells)


@pytest.mark.parametrize(("heads", "tails"), [(600, 400), (10, 90), (0, 0), (3000, 7000)])
def test_the_bias_of_a_coin_follows_a_truncated_beta_distribution(heads: int, tails: int) -> None:
    """Lecture 003: θ in (0.1, 0.9), Δ = −ln 0.1 ≈ 2.3; at ε = 0.1 every flip counts ε/(2Δ) ≈ 0.022."""
    per_flip = 0.1 / (2 * -math.log(0.1))
    assert round(per_flip, 3) == 0.022
    mechanism = Exponential(0.1, sensitivity=-math.log(0.1))
    found = mechanism.probabilities(coin_scores(heads, tails, coin_biases(800)))
    beta = stats.beta(1 + per_flip * heads, 1 + per_flip * tails)
    expected = np.diff(beta.cdf(np.linspace(0.1, 0.9, 801)))
    assert np.abs(found - expected / expected.sum()).sum() < 1e-3


def test_one_flip_moves_no_score_farther_than_the_sensitivity() -> None:
    biases = coin_biases(800)
    for heads, tails in ((1, 0), (0, 1)):
        moved = coin_scores(7 + heads, 9 + tails, biases) - coin_scores(7, 9, biases)
        assert np.abs(moved).max() <= -math.log(0.1)


def test_a_coin_of_unbounded_range_is_refused() -> None:
    """With θ down to 0 one flip can cost −ln 0 = ∞."""
    with pytest.raises(ValueError, match="finite"):
        Exponential(0.1, sensitivity=math.inf)
    with pytest.raises(ValueError, match="infinity"):
        Exponential(0.1, sensitivity=1).choose([-math.inf, -1.0])


def test_laplace_adds_variance_of_order_one_over_n_squared_the_others_of_order_one_over_n() -> None:
    """Lecture 003, at ε = 1 for a coin of bias 0.4: what each mechanism adds to the sampling variance, exactly."""
    biases = coin_biases(8000)
    exponential, coins = Exponential(1, sensitivity=-math.log(0.1)), RandomizedResponse(1)
    added: dict[str, list[float]] = {"laplace": [], "response": [], "exponential": []}
    for size in (100, 1000, 10_000):
        heads = size * 2 // 5
        chances = exponential.probabilities(coin_scores(heads, size - heads, biases))
        mean = float(chances @ biases)
        added["laplace"].append(Laplace(1, sensitivity=1).variance() / size**2)
        added["response"].append(coins.variance(0.4, size) - 0.4 * 0.6 / size)
        added["exponential"].append(float(chances @ (biases - mean) ** 2))
    falls = {name: [a / b for a, b in itertools.pairwise(values)] for name, values in added.items()}
    assert falls["laplace"] == pytest.approx([100, 100])
    assert falls["response"] == pytest.approx([10, 10])
    assert falls["exponential"] == pytest.approx([10, 10], rel=0.15)
    assert all(added["laplace"][i] < added[name][i] / 5 for name in ("response", "exponential") for i in range(3))


# The best few


@pytest.mark.long
@pytest.mark.parametrize(
    "mechanism",
    [
        TopK(2, epsilon=3, sensitivity=1),
        TopK(2, rho=0.5, sensitivity=1),
        TopK(2, epsilon=2, sensitivity=1, monotone=True),
    ],
)
def test_the_best_two_of_four_are_ranked_as_by_repeated_choices(mechanism: TopK) -> None:
    scores = [2, 0, 3, 3]
    outcomes = list(itertools.permutations(range(4), 2))
    drawn = [outcomes.index((a, b)) for a, b in (mechanism.choose(scores) for _ in range(MANY_DRAWS))]
    assert misfit(drawn, law(list(ranking(mechanism, scores)))) > ALARM


def test_the_first_of_the_best_two_is_chosen_at_half_the_cost() -> None:
    mechanism = TopK(2, epsilon=4, sensitivity=1)
    drawn = [mechanism.choose([2, 0, 1])[0] for _ in range(DRAWS)]
    assert misfit(drawn, law(softmax([2, 0, 1], 1))) > ALARM


@pytest.mark.parametrize("monotone", [False, True])
def test_on_all_neighbours_no_ranking_is_likelier_by_more_than_epsilon(monotone: bool) -> None:
    mechanism = TopK(2, epsilon=1, sensitivity=1, monotone=monotone)
    worst = max(
        float(np.log(ranking(mechanism, here) / ranking(mechanism, there)).max())
        for here, there in neighbours(monotone=monotone)
    )
    assert 0.5 < worst <= 1 + 1e-12
    assert mechanism.loss == Pure(1)


@pytest.mark.parametrize("monotone", [False, True])
def test_with_rho_the_renyi_divergence_of_all_rankings_is_paid_for(monotone: bool) -> None:
    mechanism = TopK(2, rho=0.2, sensitivity=1, monotone=monotone)
    laws = {scores: ranking(mechanism, scores) for pair in neighbours(monotone=monotone) for scores in pair}
    worst = max(
        renyi(laws[here], laws[there], order) / order
        for here, there in set(neighbours(monotone=monotone))
        for order in ORDERS
    )
    assert 0.05 < worst <= 0.2 * (1 + 1e-9)
    assert mechanism.loss == Concentrated(0.2)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_every_one_of_the_best_few_falls_short_as_seldom_as_promised(confidence: float) -> None:
    mechanism = TopK(2, epsilon=4, sensitivity=1)
    scores = np.array([0, 2, 4, 6, 8, 10])
    bound = mechanism.error(confidence, candidates=6)
    misses = 0.0
    for (first, second), chance in zip(
        itertools.permutations(range(6), 2), ranking(mechanism, scores.tolist()), strict=True
    ):
        left = np.delete(scores, first).max()
        misses += chance * (scores.max() - scores[first] >= bound or left - scores[second] >= bound)
    assert misses <= 1 - confidence


def test_all_candidates_can_be_ranked_but_no_more() -> None:
    assert sorted(TopK(3, epsilon=1, sensitivity=1).choose([1, 2, 3])) == [0, 1, 2]
    with pytest.raises(ValueError, match="at least k = 3 candidates, not 2"):
        TopK(3, epsilon=1, sensitivity=1).choose([1, 2])
    with pytest.raises(ValueError, match="k must be at least 1"):
        TopK(0, epsilon=1, sensitivity=1)


def test_release_is_choose() -> None:
    assert Exponential(50, sensitivity=1).release([0, 1000]) == 1
    assert TopK(2, epsilon=100, sensitivity=1).release([0, 1000, 2000]) == [2, 1]


def test_seeds_are_refused() -> None:
    with pytest.raises(TypeError, match="seeds"):
        Exponential(1, sensitivity=1).choose([1, 2], bits=42)  # type: ignore[arg-type]
    assert Exponential(1, sensitivity=1).choose([1, 2], bits=noise.SYSTEM) in (0, 1)


def test_a_ranking_counts_scores_in_units_of_their_sensitivity_too() -> None:
    """The same words give the same order, whatever the unit."""
    source, orders = random.Random(1), set()
    one, ten = (TopK(2, epsilon=1, sensitivity=sensitivity) for sensitivity in (1, 10))
    for _ in range(50):
        words = [source.getrandbits(64) for _ in range(3)]
        found = one.choose([5, 3, 4], Rigged(words, then=noise.SYSTEM))
        assert ten.choose([50, 30, 40], Rigged(words, then=noise.SYSTEM)) == found
        orders.add(tuple(found))
    assert len(orders) > 3
