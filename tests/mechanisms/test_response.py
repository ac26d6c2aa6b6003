from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.accounting import Pure, Relation
from discreet.mechanisms import RandomizedResponse, clopper_pearson
from tests.rigged import Rigged
from tests.statistics import ALARM, law, misfit

COINS = RandomizedResponse(epsilon=math.log(3))
COSTS = [1e-9, 0.1, math.log(3), 5, 40]


# The channel


@pytest.mark.parametrize("epsilon", COSTS)
@pytest.mark.parametrize("answers", [2, 3, 10, 1000])
def test_the_channel_is_stochastic_and_its_ratio_is_e_to_the_epsilon(epsilon: float, answers: int) -> None:
    channel = RandomizedResponse(epsilon, answers).channel()
    assert channel.shape == (answers, answers)
    assert channel.sum(axis=1) == pytest.approx(np.ones(answers), abs=1e-12)
    assert channel.max() / channel.min() == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert RandomizedResponse(epsilon, answers).loss == Pure(epsilon, relation=Relation.REPLACE_ONE)


def test_two_coins_tell_the_truth_three_times_out_of_four() -> None:
    assert COINS.channel() == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]), abs=1e-15)
    assert (COINS.truth, COINS.lie) == pytest.approx((0.75, 0.25))


def test_a_yes_to_the_tax_investigator_raises_two_percent_to_six() -> None:
    """Lecture 003: prior 0.02, two coins, a Yes."""
    no, yes = COINS.channel()[:, 1]
    posterior = 0.02 * yes / (0.02 * yes + 0.98 * no)
    assert round(posterior, 3) == 0.058


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_no_response_moves_a_prior_by_more_than_epsilon(epsilon: float) -> None:
    no, yes = RandomizedResponse(epsilon).channel()[:, 1]
    posterior = 0.4 * yes / (0.4 * yes + 0.6 * no)
    assert 0.4 < posterior <= 0.4 * math.exp(epsilon)


# The responses


@pytest.mark.parametrize("truth", [0, 1])
@pytest.mark.parametrize("epsilon", [0.1, math.log(3), 5])
def test_bits_are_answered_through_the_channel(epsilon: float, truth: int) -> None:
    mechanism = RandomizedResponse(epsilon)
    responses = mechanism.respond(np.full(200_000, truth))
    assert misfit(responses, law(list(mechanism.channel()[truth]))) > ALARM


@pytest.mark.parametrize(("answers", "truth"), [(3, 1), (5, 4), (17, 0)])
def test_one_of_several_answers_goes_through_the_channel(answers: int, truth: int) -> None:
    mechanism = RandomizedResponse(1, answers)
    responses = mechanism.respond(np.full(200_000, truth))
    assert misfit(responses, law(list(mechanism.channel()[truth]))) > ALARM


def test_every_answer_keeps_a_positive_probability_at_any_cost() -> None:
    """Words of zeros make E infinite for as long as they last, and E beyond the threshold is a lie."""
    zeros_then_ones = Rigged([0, 0, 0, 0, 0, 0, 0, 0, 2**64 - 1], then=noise.SYSTEM)
    assert RandomizedResponse(50).respond(True, zeros_then_ones) is False


def test_the_bits_drawn_do_not_depend_on_the_truth() -> None:
    taken = set()
    for truths in (np.zeros(64, dtype=int), np.ones(64, dtype=int), np.arange(64) % 2):
        bits = Rigged([], then=noise.SYSTEM)
        COINS.respond(truths, bits)
        taken.add(bits.taken)
    assert len(taken) == 1


def test_booleans_in_booleans_out() -> None:
    assert type(COINS.respond(True)) is bool
    assert COINS.respond([True, False]).dtype == np.bool_
    assert COINS.respond(np.zeros((2, 3), dtype=bool)).shape == (2, 3)


def test_integers_in_integers_out_of_any_shape() -> None:
    four = RandomizedResponse(1, answers=4)
    assert type(four.respond(3)) is int
    assert type(four.respond(np.int8(3))) is int
    assert four.respond(np.array(2, dtype=np.uint8)) in range(4)
    for shape in ((5,), (2, 3), (2, 1, 4), (0,)):
        responses = four.respond(np.zeros(shape, dtype=np.int64))
        assert responses.shape == shape
        assert responses.dtype == np.int64


def test_a_narrow_type_holds_all_answers() -> None:
    responses = RandomizedResponse(0.1, answers=250).respond(np.full(1000, 100, dtype=np.int8))
    assert responses.min() >= 0
    assert responses.max() > 127


def test_the_truth_is_left_as_it_was() -> None:
    truth = np.zeros(1000, dtype=np.int64)
    COINS.respond(truth)
    assert not truth.any()


@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        ([0, 2], ValueError, "between 0 and 1"),
        ([-1], ValueError, "between 0 and 1"),
        (7, ValueError, "between 0 and 1"),
        (1.0, TypeError, "integers from 0 to 1"),
        ([0.5, 1.0], TypeError, "integers from 0 to 1"),
        (None, TypeError, "integers from 0 to 1"),
        ([None, 1], TypeError, "integers from 0 to 1"),
        ("yes", TypeError, "number the answers first"),
        (["yes", "no"], TypeError, "number the answers first"),
        ([2**70], TypeError, "integers from 0 to 1"),
        ([[0, 1], [1]], ValueError, "equally long rows"),
    ],
)
def test_what_is_no_answer_is_refused(answers: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        COINS.respond(answers)  # type: ignore[arg-type]
    with pytest.raises(error, match=words):
        COINS.estimate(answers)  # type: ignore[arg-type]


def test_booleans_are_no_answers_to_a_question_with_more_than_two() -> None:
    with pytest.raises(TypeError, match="integers from 0 to 2"):
        RandomizedResponse(1, answers=3).respond([True])


@pytest.mark.parametrize(
    ("epsilon", "answers", "error"),
    [(0, 2, ValueError), (math.inf, 2, ValueError), (1, 1, ValueError), (1, 2.5, TypeError)],
)
def test_channels_that_promise_nothing_are_refused(epsilon: float, answers: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        RandomizedResponse(epsilon, answers)


# The estimate


@pytest.mark.parametrize("yes", [0, 1, 37, 100])
def test_two_coins_estimate_twice_the_mean_less_a_half(yes: int) -> None:
    responses = np.arange(100) < yes
    assert COINS.estimate(responses).value == pytest.approx(2 * yes / 100 - 1 / 2)


@pytest.mark.parametrize("epsilon", [0.1, math.log(3), 5])
@pytest.mark.parametrize("answers", [2, 3, 10])
def test_the_estimate_has_no_bias(epsilon: float, answers: int) -> None:
    """The expected share of each response, put through the estimate, is the share of the truth."""
    mechanism = RandomizedResponse(epsilon, answers)
    shares = np.arange(1, answers + 1) / (answers * (answers + 1) / 2)
    expected = shares @ mechanism.channel()
    assert (expected - mechanism.lie) / (mechanism.truth - mechanism.lie) == pytest.approx(shares, rel=1e-9)


def test_several_answers_give_a_share_each_and_they_sum_to_one() -> None:
    mechanism = RandomizedResponse(2, answers=3)
    found = mechanism.estimate([0, 0, 1, 2, 2, 2, 2, 1])
    gap = mechanism.truth - mechanism.lie
    assert found.value == pytest.approx((np.array([2, 2, 4]) / 8 - mechanism.lie) / gap)
    assert found.value.sum() == pytest.approx(1)
    low, high = found.interval
    assert low.shape == high.shape == (3,)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def test_answers_that_nobody_gave_have_a_share_too() -> None:
    assert RandomizedResponse(2, answers=4).estimate([0, 0]).value.shape == (4,)


def test_no_responses_give_no_estimate() -> None:
    with pytest.raises(ValueError, match="empty"):
        COINS.estimate(np.zeros(0, dtype=np.int64))


def test_the_variance_of_two_coins_is_three_quarters_more_than_the_truthful_one() -> None:
    """(3/4 + μ(1 − μ))/N: four times the truthful variance at μ = 1/2, 39 times at μ = 0.02, never less than four."""
    for share in np.linspace(0.001, 0.999, 99):
        truthful = share * (1 - share) / 1000
        assert COINS.variance(share, 1000) == pytest.approx((0.75 + share * (1 - share)) / 1000)
        assert COINS.variance(share, 1000) >= 4 * truthful * (1 - 1e-12)
    assert COINS.variance(0.5, 1) / 0.25 == pytest.approx(4)
    assert round(COINS.variance(0.02, 1) / (0.02 * 0.98)) == 39


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("answers", [2, 5])
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 1])
def test_the_variance_is_that_of_the_noise_and_that_of_the_sample(epsilon: float, answers: int, share: float) -> None:
    """q(1 − q)/(n(p − q)²) + f(1 − p − q)/(n(p − q)) for given people; drawing them adds f(1 − f)/n."""
    mechanism = RandomizedResponse(epsilon, answers)
    p, q, n = mechanism.truth, mechanism.lie, 500
    of_the_noise = q * (1 - q) / (n * (p - q) ** 2) + share * (1 - p - q) / (n * (p - q))
    assert mechanism.variance(share, n) == pytest.approx(of_the_noise + share * (1 - share) / n, rel=1e-9)


@pytest.mark.long
def test_the_estimates_spread_as_their_variance_says() -> None:
    """Means of 500 people are all but normal, so the sum of their standardised squares is all but chi-square."""
    people, trials, share = 500, 4000, 0.3
    truths = np.random.default_rng().random((trials, people)) < share
    estimates = 2 * COINS.respond(truths).mean(axis=1) - 0.5
    spread = float(np.mean((estimates - share) ** 2)) / COINS.variance(share, people)
    tail = stats.chi2.cdf(spread * trials, trials)
    assert min(tail, 1 - tail) > ALARM


# The interval


@cache
def intervals(mechanism: RandomizedResponse, people: int) -> list[tuple[float, float]]:
    """For every number of Yes among so many people."""
    return [mechanism.estimate(np.arange(people) < yes).interval for yes in range(people + 1)]


@pytest.mark.parametrize("share", [0, 0.02, 0.3, 0.5, 0.97, 1])
@pytest.mark.parametrize("epsilon", [0.5, math.log(3), 4])
def test_the_interval_holds_the_share_as_often_as_promised(epsilon: float, share: float) -> None:
    """Exactly: summed over every number of Yes among 60 people."""
    mechanism = RandomizedResponse(epsilon)
    rate = mechanism.lie + share * (mechanism.truth - mechanism.lie)
    held = np.array([low <= share <= high for low, high in intervals(mechanism, 60)])
    assert stats.binom.pmf(np.arange(61), 60, rate)[held].sum() >= 0.95


@pytest.mark.long
@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_the_interval_of_real_responses_holds_the_share_as_often_as_promised(share: float) -> None:
    trials, people = 400, 150
    truths = np.random.default_rng().random((trials, people)) < share
    found = [intervals(COINS, people)[yes] for yes in COINS.respond(truths).sum(axis=1)]
    held = sum(low <= share <= high for low, high in found)
    assert stats.binom.cdf(held, trials, 0.95) > ALARM


def test_the_interval_of_each_of_several_answers_is_clopper_and_pearsons() -> None:
    mechanism = RandomizedResponse(1, answers=3)
    low, high = mechanism.estimate([0] * 20 + [1] * 30 + [2] * 50, confidence=0.9).interval
    for answer, count in enumerate((20, 30, 50)):
        for side, bound in zip((low, high), clopper_pearson(count, 100, 0.9), strict=True):
            share = (bound - mechanism.lie) / (mechanism.truth - mechanism.lie)
            assert side[answer] == pytest.approx(min(max(share, 0), 1))


@pytest.mark.parametrize("share", [0, 0.2, 0.5, 1])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_error_promised_beforehand_holds_whatever_the_truth(share: float, confidence: float) -> None:
    people = 200
    yes = np.arange(people + 1)
    chances = stats.binom.pmf(yes, people, COINS.lie + share * (COINS.truth - COINS.lie))
    off = np.abs(2 * yes / people - 0.5 - share) > COINS.error(confidence, size=people)
    assert chances[off].sum() <= 1 - confidence


def test_costs_are_kept_as_written() -> None:
    assert RandomizedResponse(0.1).epsilon == Fraction(1, 10)


def test_release_is_respond() -> None:
    assert RandomizedResponse(1e9).release([1, 0, 1]).tolist() == [1, 0, 1]
