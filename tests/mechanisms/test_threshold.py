from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from discreet import noise
from discreet.accounting import Pure
from discreet.errors import BudgetExhausted
from discreet.exact import Number
from discreet.mechanisms import AboveThreshold
from tests.rigged import Rigged
from tests.statistics import ALARM, law, misfit

DRAWS = 2500
MANY_DRAWS = 4000

Answers = tuple[bool, ...]
Stream = tuple[int, ...]
Scales = tuple[float, float]


def scales_of(mechanism: AboveThreshold) -> Scales:
    """Of the noise on the threshold and on each number."""
    level, each = mechanism.scales
    return float(level), float(each)


@cache
def levels(scale: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All noisy thresholds about 0 with their probabilities; what is left out is below 10⁻¹⁶."""
    sensitivity = math.ceil(40 * scale)
    values = np.arange(-sensitivity, sensitivity + 1)
    return values, math.tanh(1 / (2 * scale)) * np.exp(-np.abs(values) / scale)


@cache
def says(answer: bool, value: int, scales: Scales) -> NDArray[np.float64]:
    """How likely each noisy threshold makes this answer: P(value + Z ≥ level), or P(value + Z < level)."""
    gaps = levels(scales[0])[0] - value
    least = gaps if answer else 1 - gaps
    ratio = math.exp(-1 / scales[1])
    tail = ratio ** np.maximum(least, 1) / (1 + ratio)
    return np.where(least >= 1, tail, 1 - ratio ** np.maximum(1 - least, 1) / (1 + ratio))


def chance(stream: Sequence[int], answers: Sequence[bool], scales: Scales) -> float:
    """How likely the stream gets these answers: summed over the noisy threshold, given which they are independent."""
    each = [says(answer, value, scales) for value, answer in zip(stream, answers, strict=False)]
    return float(np.prod([levels(scales[0])[1], *each], axis=0).sum())


def outcomes(length: int, limit: int) -> list[Answers]:
    """All lists of answers to a stream: it ends with the last Yes that the limit allows."""
    if length == 0 or limit == 0:
        return [()]
    return [(answer, *rest) for answer in (False, True) for rest in outcomes(length - 1, limit - (1 if answer else 0))]


def neighbours(domain: Sequence[int]) -> Iterator[tuple[Stream, Stream]]:
    """All streams of three numbers, and what a unit with Δ = 1 can make of them."""
    for stream in itertools.product(domain, repeat=3):
        for move in itertools.product((-1, 0, 1), repeat=3):
            yield stream, tuple(value + step for value, step in zip(stream, move, strict=True))


def hard_case(limit: int, length: int) -> tuple[Stream, Stream, Answers]:
    """Numbers at the threshold that stay below it, then `limit` far below that come above; and their neighbours."""
    here, there = (0,) * length + (-19,) * limit, (1,) * length + (-20,) * limit
    return here, there, (False,) * length + (True,) * limit


def loss(here: Stream, there: Stream, answers: Answers, scales: Scales) -> float:
    return math.log(chance(here, answers, scales) / chance(there, answers, scales))


# Privacy, exactly


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_exact_law_is_complete(limit: int) -> None:
    scales = scales_of(AboveThreshold(1, sensitivity=1, threshold=0, limit=limit))
    assert math.fsum(chance((0, -3, 2), answers, scales) for answers in outcomes(3, limit)) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("domain", [(-1, 0, 1), (-20, 0, 5)])
def test_on_all_neighbouring_streams_no_answers_are_likelier_by_more_than_epsilon(
    epsilon: float, limit: int, domain: tuple[int, ...]
) -> None:
    """Adaptive streams are covered: how likely answers are depends only on the numbers asked on the way to them."""
    scales = scales_of(AboveThreshold(epsilon, sensitivity=1, threshold=0, limit=limit))
    possible = outcomes(3, limit)
    law_of = cache(lambda stream: np.log([chance(stream, answers, scales) for answers in possible]))
    worst = max(float((law_of(here) - law_of(there)).max()) for here, there in neighbours(domain))
    assert 0.3 * epsilon < worst <= epsilon + 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_long_stream_loses_epsilon_and_nothing_more(epsilon: float, limit: int) -> None:
    scales = scales_of(AboveThreshold(epsilon, sensitivity=1, threshold=0, limit=limit))
    losses = [loss(*hard_case(limit, length), scales) for length in (3, 10, 30, 100)]
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx(epsilon, abs=1e-6)
    assert losses[-1] <= epsilon + 1e-12


@pytest.mark.parametrize("limit", [2, 3, 5])
def test_noise_that_does_not_grow_with_the_limit_is_caught_by_the_same_sums(limit: int) -> None:
    level, each = scales_of(AboveThreshold(1, sensitivity=1, threshold=0, limit=limit))
    assert loss(*hard_case(limit, 10), (level, each / limit)) > 1.5


def test_numbers_without_noise_are_caught_by_the_same_sums() -> None:
    level, _ = scales_of(AboveThreshold(1, sensitivity=1, threshold=0))
    assert loss((0, 0), (1, -1), (False, True), (level, 1e-2)) > 10


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_noise_is_that_of_the_proof(limit: int) -> None:
    """Δ/scale₁ + limit·2Δ/scale₂ = ε, in fractions."""
    mechanism = AboveThreshold(Fraction(3, 7), sensitivity=5, threshold=100, limit=limit)
    level, each = mechanism.scales
    assert 5 / level + limit * 2 * 5 / each == Fraction(3, 7)


def test_the_split_makes_comparisons_as_sharp_as_possible() -> None:
    """Lyu, Su & Li 2017: ε₁ : ε₂ = 1 : (2·limit)^(2/3) minimises the sum of the variances, 2/ε₁² + 2·(2·limit/ε₂)²."""
    level, each = scales_of(AboveThreshold(1, sensitivity=1, threshold=0, limit=4))
    for share in np.linspace(0.01, 0.99, 99):
        assert level**2 + each**2 <= (1 / share**2 + (8 / (1 - share)) ** 2) * (1 + 1e-6)


def test_the_whole_stream_is_charged_once_however_long() -> None:
    for limit in (1, 50):
        assert AboveThreshold(0.5, sensitivity=1, threshold=0, limit=limit).loss == Pure(0.5)


@settings(deadline=None)
@given(
    st.fractions(-1000, 1000, max_denominator=10**6),
    st.fractions(-1, 1, max_denominator=10**6),
    st.sampled_from([None, 1, 0.3, Fraction(1, 1024), 7]),
)
def test_a_unit_moves_rounded_numbers_no_farther_than_counted(
    value: Fraction, way: Fraction, step: Number | None
) -> None:
    for sensitivity in (Fraction(1), Fraction(5, 2), Fraction(1, 100)):
        mechanism = AboveThreshold(1, sensitivity=sensitivity, threshold=Fraction(1, 2), step=step)
        apart = mechanism.grid.nearest(value) - mechanism.grid.nearest(value + way * sensitivity)
        level, each = mechanism.scales
        assert abs(apart) / level + 2 * abs(apart) / each <= mechanism.epsilon


# The answers


def test_streams_are_answered_as_the_exact_law_says() -> None:
    mechanism = AboveThreshold(2, sensitivity=1, threshold=10, limit=2)
    possible = outcomes(3, 2)
    expected = law([chance((1, -2, 0), answers, scales_of(mechanism)) for answers in possible])
    drawn = [possible.index(tuple(mechanism.release([11, 8, 10]))) for _ in range(DRAWS)]
    assert misfit(drawn, expected) > ALARM


@pytest.mark.long
def test_the_next_number_may_depend_on_the_answers_so_far() -> None:
    """After a Yes ask about 13, after a No about 9: every path has the law of the numbers asked on it."""
    mechanism = AboveThreshold(2, sensitivity=1, threshold=10, limit=2)
    possible = outcomes(3, 2)

    def adaptive() -> Answers:
        watch = mechanism.start()
        answers: list[bool] = []
        while watch.left and len(answers) < 3:
            answers.append(watch.ask(10 if not answers else 13 if answers[-1] else 9))
        return tuple(answers)

    def asked(answers: Answers) -> Stream:
        return 0, *(3 if answer else -1 for answer in answers[:-1])

    expected = law([chance(asked(answers), answers, scales_of(mechanism)) for answers in possible])
    assert misfit([possible.index(adaptive()) for _ in range(MANY_DRAWS)], expected) > ALARM


def test_a_stream_ends_with_the_last_yes_that_the_limit_allows() -> None:
    mechanism = AboveThreshold(50, sensitivity=1, threshold=0, limit=2)
    watch = mechanism.start()
    assert [watch.ask(1000), watch.ask(-1000), watch.ask(1000)] == [True, False, True]
    assert (watch.mechanism, watch.positives, watch.left) == (mechanism, 2, 0)
    with pytest.raises(BudgetExhausted, match="all 2 answers above the threshold were given") as refusal:
        watch.ask(1000)
    assert refusal.value.fix == "start a new AboveThreshold, at its cost"
    with pytest.raises(BudgetExhausted):
        watch.ask(-1000)


def test_a_list_is_answered_up_to_the_limit() -> None:
    mechanism = AboveThreshold(50, sensitivity=1, threshold=0, limit=1)
    assert mechanism.release([-1000, -1000]) == [False, False]
    assert mechanism.release([-1000, 1000, 1000, -1000]) == [False, True]
    assert mechanism.release([]) == []


def test_nos_are_free() -> None:
    watch = AboveThreshold(1, sensitivity=1, threshold=10**6).start()
    assert not any(watch.ask(0) for _ in range(1000))
    assert watch.left == 1


def test_answers_are_plain_booleans_from_fresh_noise() -> None:
    bits = Rigged([], then=noise.SYSTEM)
    watch = AboveThreshold(1, sensitivity=1, threshold=0, limit=9).start(bits)
    assert bits.taken == 8
    assert type(watch.ask(0)) is bool
    assert bits.taken == 16


@pytest.mark.parametrize("value", [Decimal("10.7"), 10.7, Fraction(107, 10), np.float64(10.7)])
def test_real_numbers_are_rounded_half_up_to_the_grid(value: Number) -> None:
    """At ε = 10⁶ there is no noise to speak of: 10.7 is 11 on the integers, and 10.7 on a finer grid."""
    assert AboveThreshold(10**6, sensitivity=1, threshold=11).release([value]) == [True]
    assert AboveThreshold(10**6, sensitivity=1, threshold=11, step=0.1).release([value]) == [False]
    assert AboveThreshold(10**6, sensitivity=0.5, threshold=11).release([value]) == [False]


def test_a_fractional_threshold_has_a_grid_of_its_own() -> None:
    mechanism = AboveThreshold(10**6, sensitivity=1, threshold=10.5)
    assert mechanism.grid.step <= Fraction(1, 100)
    assert mechanism.release([10.4]) == [False]
    assert mechanism.release([10.6]) == [True]


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "7", True])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError), match="exact must be"):
        AboveThreshold(1, sensitivity=1, threshold=0).start().ask(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"sensitivity": 0},
        {"threshold": math.nan},
        {"limit": 0},
        {"step": -1},
        {"sensitivity": math.inf},
    ],
)
def test_streams_that_promise_nothing_are_refused(wrong: dict[str, float]) -> None:
    right = {"epsilon": 1, "sensitivity": 1, "threshold": 0}
    with pytest.raises(ValueError, match="must be"):
        AboveThreshold(**(right | wrong))  # type: ignore[arg-type]


def test_a_stream_under_way_cannot_be_copied_and_does_not_show_its_noise() -> None:
    watch = AboveThreshold(1, sensitivity=1, threshold=0).start()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="secret noise"):
            attempt(watch)
    assert "level" not in repr(watch)


# Usefulness


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("limit", [1, 3])
def test_numbers_beyond_the_error_are_answered_right_as_often_as_promised(confidence: float, limit: int) -> None:
    """Ten numbers just beyond the error, the last `limit` of them above: exactly."""
    mechanism = AboveThreshold(1, sensitivity=1, threshold=0, limit=limit)
    far = math.floor(mechanism.error(confidence, questions=10)) + 1
    stream, answers = (-far,) * (10 - limit) + (far,) * limit, (False,) * (10 - limit) + (True,) * limit
    assert chance(stream, answers, scales_of(mechanism)) >= confidence


@pytest.mark.parametrize("epsilon", [1, pytest.param(0.3, marks=pytest.mark.long)])
def test_real_numbers_beyond_the_error_are_answered_right_as_often_as_promised(epsilon: float) -> None:
    mechanism = AboveThreshold(epsilon, sensitivity=0.5, threshold=1.25, limit=2)
    far = mechanism.error(0.9, questions=4) * 1.0001
    stream: list[Number] = [1.25 - far, 1.25 + far, 1.25 - far, 1.25 + far]
    right = sum(mechanism.release(stream) == [False, True, False, True] for _ in range(800))
    assert stats.binom.cdf(right, 800, 0.9) > ALARM


def test_real_numbers_on_the_integers_keep_the_promise_too() -> None:
    """Almost without noise, 4.7 is rounded to the threshold 5 and answered Yes: within the error."""
    mechanism = AboveThreshold(50, sensitivity=1, threshold=5)
    assert mechanism.release([4.7]) == [True]
    assert mechanism.error(0.9, questions=1) > 0.3


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("questions", [1, 100])
def test_either_noise_may_be_missed_with_half_of_what_the_confidence_leaves(limit: int, questions: int) -> None:
    """The least widths of P(|Z| > w) = 2·q^(w + 1)/(1 + q), found by counting up, and one step for rounding."""
    mechanism = AboveThreshold(1, sensitivity=1, threshold=0, limit=limit)
    widths = [
        next(w for w in itertools.count() if 2 * math.exp(-(w + 1) / scale) / (1 + math.exp(-1 / scale)) <= missed)
        for scale, missed in zip(scales_of(mechanism), (0.05, 0.05 / questions), strict=True)
    ]
    assert mechanism.error(0.9, questions=questions) == sum(widths) + 1


def test_more_questions_have_a_larger_error() -> None:
    mechanism = AboveThreshold(1, sensitivity=1, threshold=0)
    errors = [mechanism.error(questions=questions) for questions in (1, 10, 1000)]
    assert errors == sorted(set(errors))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2, 30])
def test_real_numbers_live_on_a_grid_as_fine_as_they_need(epsilon: float) -> None:
    """A hundredth of the sensitivity and a fiftieth of the noise, or up to half of that: the step is a power of two."""
    sensitivity = Fraction(7, 3)
    step = AboveThreshold(epsilon, sensitivity=sensitivity, threshold=1).grid.step
    finest = min(sensitivity / 100, sensitivity / Fraction(repr(epsilon)) / 50)
    assert finest / 2 < step <= finest
