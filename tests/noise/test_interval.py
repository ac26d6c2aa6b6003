from __future__ import annotations

import decimal
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.noise import SYSTEM, interval
from discreet.noise.interval import (
    MARGIN,
    WIDEST,
    ZERO,
    Exponentials,
    Interval,
    Real,
    Uniform,
    exceeds,
    floors,
    odds_threshold,
    rational,
    symmetric_offset,
)
from tests.rigged import OutOfBitsError, Rigged, repeated

TOP = 2**63
SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(10), Fraction(1000), Fraction(10**6), Fraction(WIDEST)]
GAMMAS = [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(10), Fraction(40)]
ODDS = [
    (Fraction(1, 10), 1),
    (Fraction(1), 1),
    (Fraction(5), 1),
    (Fraction(3, 2), 9),
    (Fraction(2), 10**6),
    (Fraction(40), 3),
]
STEPS = (0, 1, 2, 2**10, 2**16, 2**17, 2**18, 2**20, 2**24, 2**30, 2**40)


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def drawn(words: Iterable[int], extension: int = 0) -> Exponentials:
    """Exponentials from these 63-bit words; words that must be lengthened go on with the same byte for ever."""
    raw = [word << 1 for word in words]
    return Exponentials.draw(Rigged(raw, then=repeated(extension)), len(raw))


def around(cuts: Iterable[Any]) -> list[int]:
    """The words that hold the cut points, and others at growing distances from them."""
    centres = [int(mpmath.floor(cut * TOP)) for cut in cuts]
    words = {centre + sign * step for centre in centres for step in STEPS for sign in (1, -1)}
    return sorted(word for word in words | {1, 2, 3, TOP - 2, TOP - 1} if 0 < word < TOP)


class Outcome:
    """A sampler to be exhausted: how it decides one word, and the probability of each outcome."""

    def __init__(self, decide: Callable[[Uniform], int], probability: Callable[[int], Any]) -> None:
        self.decide = decide
        self.probability = probability


def cached(exact: Real) -> Real:
    return Real(exact.approximate, exact.margin, cache(exact.enclose))


def one_sided(scale: Fraction) -> Outcome:
    q = mpmath.exp(-1 / real(scale))
    return Outcome(lambda uniform: interval._floor(uniform, scale, ZERO), lambda k: (1 - q) * q**k)


def two_sided(scale: Fraction) -> Outcome:
    q = mpmath.exp(-1 / real(scale))
    offset = cached(symmetric_offset(scale))
    return Outcome(
        lambda uniform: interval._floor(uniform, scale, offset), lambda k: (2 if k else 1) * (1 - q) / (1 + q) * q**k
    )


def above(gamma: Fraction) -> Outcome:
    threshold, p = cached(rational(gamma)), mpmath.exp(-real(gamma))
    return Outcome(lambda uniform: int(interval._exceeds(uniform, threshold)), lambda k: (1 - p, p, 0)[min(k, 2)])


def odds(epsilon: Fraction, others: int) -> Outcome:
    threshold, p = cached(odds_threshold(epsilon, others)), others / (mpmath.exp(real(epsilon)) + others)
    return Outcome(lambda uniform: int(interval._exceeds(uniform, threshold)), lambda k: (1 - p, p, 0)[min(k, 2)])


def exhaust(outcome: Outcome, width: int) -> None:
    """Put every word of `width` bits through the sampler's own decision, with no further bits to be had.

    An outcome is one stretch of the unit line, so its probability is that of the words decided for it, and parts of at
    most two words more: the two that hold its ends.
    """
    decided: Counter[int] = Counter()
    undecided = 0
    for word in range(2**width):
        try:
            decided[outcome.decide(Uniform(Rigged([]), word, width))] += 1
        except OutOfBitsError:
            undecided += 1
    for k in range(max(decided) + 5):
        missing = outcome.probability(k) * 2**width - decided[k]
        assert 0 <= missing <= undecided
        assert missing < 2


FEW: list[tuple[Callable[..., Outcome], tuple[Any, ...]]] = [
    (one_sided, (Fraction(5, 2),)),
    (two_sided, (Fraction(10),)),
    (odds, (Fraction(1), 1)),
]
MANY: list[tuple[Callable[..., Outcome], tuple[Any, ...]]] = [
    *((one_sided, (scale,)) for scale in (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(10), Fraction(50))),
    *((two_sided, (scale,)) for scale in (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(10), Fraction(50))),
    *((above, (gamma,)) for gamma in (Fraction(0), Fraction(1, 3), Fraction(5, 2))),
    *((odds, pair) for pair in ((Fraction(0), 1), (Fraction(1), 1), (Fraction(3, 2), 9))),
]


@pytest.mark.parametrize(("outcome", "parameters"), FEW)
def test_all_words_of_twelve_bits_give_the_exact_probabilities(
    outcome: Callable[..., Outcome], parameters: tuple[Any, ...]
) -> None:
    with mpmath.workdps(60):
        exhaust(outcome(*parameters), width=12)


@pytest.mark.parametrize("width", [10, pytest.param(13, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("outcome", "parameters"), MANY)
def test_all_words_of_some_bits_give_the_exact_probabilities(
    outcome: Callable[..., Outcome], parameters: tuple[Any, ...], width: int
) -> None:
    with mpmath.workdps(60):
        exhaust(outcome(*parameters), width=width)


def outcomes_near_and_far(scale: Fraction) -> list[int]:
    """The first outcomes, and some of every size that one word can give."""
    far = {math.floor(scale * Fraction(tenths, 10)) + step for tenths in range(1, 430, 36) for step in (0, 1)}
    return sorted({*range(1, 13), *(k for k in far if k)})


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("symmetric", [False, True], ids=["one-sided", "two-sided"])
def test_floors_change_exactly_at_the_cut_points(scale: Fraction, symmetric: bool) -> None:
    with mpmath.workdps(60):
        factor = real(scale)
        offset = symmetric_offset(scale) if symmetric else ZERO
        shift = mpmath.log(2 / (1 + mpmath.exp(-1 / factor))) if symmetric else mpmath.mpf(0)
        words = around(mpmath.exp(shift - k / factor) for k in outcomes_near_and_far(scale))

        def outcome(point: int) -> int:
            return int(mpmath.floor((shift - mpmath.log(mpmath.mpf(point) / TOP)) * factor))

        assert floors(drawn(words, 0), scale, offset).tolist() == [outcome(word) for word in words]
        assert floors(drawn(words, 255), scale, offset).tolist() == [outcome(word + 1) for word in words]


def exceeds_at(cut: Any, threshold: Real) -> None:
    """E > threshold means U < cut: true up to the word that holds the cut, where the further bits decide."""
    words = around([cut])
    centre = int(mpmath.floor(cut * TOP))
    for extension, last in ((0, centre), (255, centre - 1)):
        got = exceeds(drawn(words, extension), threshold.approximate, threshold.margin, lambda _: threshold)
        assert got.tolist() == [word <= last for word in words]


@pytest.mark.parametrize("gamma", GAMMAS)
def test_trials_change_exactly_at_the_cut_point(gamma: Fraction) -> None:
    with mpmath.workdps(60):
        exceeds_at(mpmath.exp(-real(gamma)), rational(gamma))


@pytest.mark.parametrize(("epsilon", "others"), ODDS)
def test_untruths_change_exactly_at_the_cut_point(epsilon: Fraction, others: int) -> None:
    with mpmath.workdps(60):
        exceeds_at(others / (mpmath.exp(real(epsilon)) + others), odds_threshold(epsilon, others))


def test_a_trial_of_certain_success_never_fails() -> None:
    zero = rational(Fraction(0))
    words = around([mpmath.mpf(1)])
    # the word of ones alone leaves U = 1 possible, so it is lengthened
    assert exceeds(drawn(words, 0), 0.0, 0.0, lambda _: zero).all()


@pytest.mark.parametrize("extension", [2**40, 2**63, 2**64 - 1])
def test_the_word_zero_is_lengthened(extension: int) -> None:
    bits = Rigged([0, extension])
    with mpmath.workdps(60):
        outcome = int(-mpmath.log(mpmath.mpf(extension) / 2**127) * 1000)
    assert floors(Exponentials.draw(bits, 1), Fraction(1000)).tolist() == [outcome]
    assert bits.taken == 16


def test_a_word_is_lengthened_as_often_as_it_takes() -> None:
    with mpmath.workdps(200):
        cut = int(mpmath.floor(mpmath.exp(-1) * 2**319))
    pieces = [(cut >> shift) % 2**64 for shift in (192, 128, 64, 0)]
    for last, outcome in ((pieces[3] - 1, 1), (pieces[3] + 1, 0)):
        bits = Rigged([cut >> 256 << 1, *pieces[:3], last])
        assert floors(Exponentials.draw(bits, 1), Fraction(1)).tolist() == [outcome]
        assert bits.taken == 40


def awkward_words() -> list[int]:
    """Words where a logarithm may go wrong: small, large, next to powers of two, and any."""
    powers = {2**power + step for power in range(63) for step in (-2, -1, 0, 1, 2)}
    ends = {*range(1, 2000), *range(TOP - 2000, TOP)}
    halves = {TOP // 2 + step * 2**power for power in range(61) for step in (-1, 1)}
    chosen = {word for word in powers | ends | halves if 0 < word < TOP}
    return [*sorted(chosen), *(SYSTEM.words(8_000) >> np.uint64(1)).tolist()]


def test_the_margin_holds_at_both_ends_of_every_word() -> None:
    words = awkward_words()
    draw = drawn(words)
    with mpmath.workdps(40):
        for word, value, margin in zip(words, draw.values.tolist(), draw.margins.tolist(), strict=True):
            for point in (word, word + 1):
                assert abs(mpmath.mpf(value) + mpmath.log(mpmath.mpf(point) / TOP)) <= margin


@pytest.mark.parametrize("length", [1, 3, 8, 10**6], ids=str)
def test_the_platform_logarithm_uses_less_than_a_tenth_of_its_share_of_the_margin(length: int) -> None:
    points = (np.array(awkward_words(), dtype=np.float64) + 0.5) * 2.0**-63
    # short arrays and the ends of long ones may take another path through the vector units
    if length < 10:
        points = points[::40]
    pieces = [np.log(piece) for piece in np.array_split(points, math.ceil(points.size / length))]
    with mpmath.workdps(40):
        exact = [mpmath.log(mpmath.mpf(point)) for point in points.tolist()]
        shares = [
            float(abs(got - log) / (MARGIN / 2 * (-log + 0.25)))
            for got, log in zip(np.concatenate(pieces).tolist(), exact, strict=True)
        ]
    assert max(shares) < 0.1, f"the logarithm's error reaches {max(shares):.1%} of the margin assumed for it"


def test_the_word_zero_has_no_margin_and_no_upper_bound() -> None:
    draw = drawn([0])
    assert math.isinf(draw.margins[0])
    assert draw.uniform(0).exponential()[1] == Decimal("Infinity")


def test_the_highest_word_gives_a_positive_zero() -> None:
    assert math.copysign(1, drawn([TOP - 1]).values[0]) == 1
    assert draw_bounds(TOP - 1, 63)[0] == 0


def test_the_lowest_bit_of_a_word_is_its_coin_alone() -> None:
    draw = Exponentials.draw(Rigged([6, 7, 2**64 - 2, 2**64 - 1]), 4)
    assert draw.coins().tolist() == [False, True, False, True]
    assert draw.values[0] == draw.values[1]
    assert draw.uniform(2) == draw.uniform(3) == Uniform(draw.bits, TOP - 1)


def draw_bounds(word: int, width: int) -> Interval:
    return Uniform(SYSTEM, word, width).exponential()


def inside(bounds: Interval, value: Any) -> bool:
    low, high = (mpmath.mpf(str(bound)) for bound in bounds)
    return bool(low <= value <= high)


@given(st.integers(1, 260).flatmap(lambda width: st.tuples(st.integers(0, 2**width - 1), st.just(width))))
@settings(deadline=None)
def test_bounds_on_an_exponential_hold_and_are_tight(word_and_width: tuple[int, int]) -> None:
    word, width = word_and_width
    low, high = draw_bounds(word, width)
    with mpmath.workdps(2 * width + 100):
        least = -mpmath.log(mpmath.mpf(word + 1) / 2**width)
        assert 0 <= mpmath.mpf(str(low)) <= least
        assert least - mpmath.mpf(str(low)) < mpmath.mpf(10) ** -width
        if word:
            most = -mpmath.log(mpmath.mpf(word) / 2**width)
            assert most <= mpmath.mpf(str(high)) < most + mpmath.mpf(10) ** -width


fractions = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)


@given(fractions, st.integers(40, 200))
@settings(deadline=None)
def test_bounds_on_the_offset_hold_and_are_tight(scale: Fraction, digits: int) -> None:
    offset = symmetric_offset(scale)
    with mpmath.workdps(digits + 50):
        truth = mpmath.log(2 / (1 + mpmath.exp(-1 / real(scale))))
        check_real(offset, truth, digits)


@given(fractions, st.integers(1, 10**9), st.integers(40, 200))
@settings(deadline=None)
def test_bounds_on_the_odds_hold_and_are_tight(epsilon: Fraction, others: int, digits: int) -> None:
    threshold = odds_threshold(epsilon % 500, others)
    with mpmath.workdps(digits + 300):
        truth = mpmath.log1p(mpmath.exp(real(epsilon % 500)) / others)
        check_real(threshold, truth, digits)


@given(st.fractions(min_value=0, max_value=10**30), st.integers(40, 200))
@settings(deadline=None)
def test_bounds_on_a_fraction_hold_and_are_tight(value: Fraction, digits: int) -> None:
    with mpmath.workdps(digits + 50):
        check_real(rational(value), real(value), digits)


def check_real(found: Real, truth: Any, digits: int) -> None:
    assert abs(mpmath.mpf(found.approximate) - truth) <= found.margin
    bounds = found.enclose(digits)
    # a fraction that has fewer digits than asked for is its own bound, in decimal but not in binary
    slack = mpmath.mpf(10) ** (-digits - 20) * max(truth, 1)
    low, high = (mpmath.mpf(str(bound)) for bound in bounds)
    assert low - slack <= truth <= high + slack
    assert high - low < mpmath.mpf(10) ** (15 - digits) * max(truth, 1)


@pytest.mark.parametrize("precision", [1, 3, 28])
def test_the_caller_s_decimal_context_has_no_say(precision: int) -> None:
    """Bounds must not be rounded by whatever precision the program around has set, nor trip over its traps."""
    undisturbed = (
        draw_bounds(5**50, 127),
        symmetric_offset(Fraction(3)).enclose(90),
        odds_threshold(*ODDS[3]).enclose(90),
    )
    with decimal.localcontext(prec=precision) as context:
        context.traps[decimal.Inexact] = True
        disturbed = (
            draw_bounds(5**50, 127),
            symmetric_offset(Fraction(3)).enclose(90),
            odds_threshold(*ODDS[3]).enclose(90),
        )
    assert disturbed == undisturbed
    with mpmath.workdps(120):
        assert inside(undisturbed[1], mpmath.log(2 / (1 + mpmath.exp(-mpmath.mpf(1) / 3))))


@pytest.mark.parametrize("scale", [Fraction(5, 2), Fraction(1000), Fraction(WIDEST)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_float_and_exact_arithmetic_agree_word_by_word(
    monkeypatch: pytest.MonkeyPatch, scale: Fraction, symmetric: bool
) -> None:
    offset = symmetric_offset(scale) if symmetric else None
    words = (SYSTEM.words(200) >> np.uint64(1)).tolist()
    fast = floors(drawn(words), scale, offset).tolist()
    monkeypatch.setattr(interval, "MARGIN", 1e9)
    slow = floors(drawn(words), scale, offset).tolist()
    assert fast == slow


def test_undecided_words_are_rare() -> None:
    """About one in a million at the widest scale: 2·2⁻⁴⁵·(E + ¼)·scale, so ten of 2¹⁸ happen at a rate below 10⁻¹⁰."""
    undecided = 0

    def enclose(digits: int) -> Interval:
        nonlocal undecided
        undecided += 1
        return ZERO.enclose(digits)

    floors(Exponentials.draw(SYSTEM, 2**18), Fraction(WIDEST), Real(0.0, 0.0, enclose))
    assert undecided < 10


def test_settling_asks_until_there_is_an_answer() -> None:
    answers = itertools.chain([None, None], itertools.repeat(7))
    uniform = Uniform(Rigged([1, 2]), 0)
    assert interval.settle(uniform, lambda _: next(answers)) == 7
    assert (uniform.word, uniform.width) == (1 << 64 | 2, 63 + 128)
