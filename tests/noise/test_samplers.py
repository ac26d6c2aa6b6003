from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.noise import SYSTEM, Bits, interval, samplers
from discreet.noise.interval import WIDEST
from discreet.noise.uniform import Integers
from tests.budget import later
from tests.rigged import OutOfBitsError, Rigged
from tests.statistics import (
    ALARM,
    Law,
    bernoulli_law,
    fair,
    gaussian_law,
    geometric_law,
    laplace_law,
    law,
    misfit,
    strays,
)

DRAWS = 10**6
SCALES = [
    Fraction(1, 3),
    Fraction(5, 2),
    Fraction(1000),
    *(pytest.param(scale, marks=pytest.mark.long) for scale in (Fraction(1), Fraction(10), Fraction(333, 10))),
]
WIDE = later([2**24 + 1, 10**12, 2**30, 10**9], 2)
"""The first that is split, and the widest; what the split does is tested exactly below."""
ONES = 2**64 - 1
MIDDLE = 2**63
Sampler = Callable[[Bits, int, Fraction], Integers]


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_has_its_distribution(scale: Fraction) -> None:
    assert misfit(noise.laplace(scale, size=DRAWS), laplace_law(scale)) > ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_geometric_has_its_distribution(scale: Fraction) -> None:
    assert misfit(noise.geometric(scale, size=DRAWS), geometric_law(scale)) > ALARM


@pytest.mark.parametrize("sigma", SCALES)
def test_gaussian_has_its_distribution(sigma: Fraction) -> None:
    assert misfit(noise.gaussian(sigma**2, size=DRAWS), gaussian_law(sigma**2)) > ALARM


@pytest.mark.long
@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(1, 3), Fraction(9999, 10**4), Fraction(7, 2)])
def test_gaussian_has_its_distribution_where_few_proposals_are_kept(variance: Fraction) -> None:
    assert misfit(noise.gaussian(variance, size=DRAWS), gaussian_law(variance)) > ALARM


@pytest.mark.parametrize("gamma", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(6)])
def test_bernoulli_exp_has_its_probability(gamma: Fraction) -> None:
    assert misfit(noise.bernoulli_exp(gamma, size=DRAWS // 4), bernoulli_law(math.exp(-gamma))) > ALARM


def test_each_gamma_has_its_own_probability() -> None:
    drawn = noise.bernoulli_exp([Fraction(1, 7), Fraction(3)] * 100_000)
    assert misfit(drawn[::2], bernoulli_law(math.exp(-1 / 7))) > ALARM
    assert misfit(drawn[1::2], bernoulli_law(math.exp(-3))) > ALARM


@pytest.mark.parametrize(
    ("epsilon", "others"), [(Fraction(0), 1), (Fraction(1, 3), 1), (Fraction(2), 9), (Fraction(5), 1000)]
)
def test_untruths_have_their_probability(epsilon: Fraction, others: int) -> None:
    lies = noise.untruths(epsilon, others, DRAWS)
    assert misfit(lies, bernoulli_law(others / (math.exp(epsilon) + others))) > ALARM


@pytest.mark.parametrize(
    "scale",
    [Fraction(1000), *(pytest.param(scale, marks=pytest.mark.long) for scale in (Fraction(5, 2), Fraction(333, 10)))],
)
def test_the_low_bits_have_their_distribution(scale: Fraction) -> None:
    assert misfit(noise.laplace(scale, size=DRAWS) % 64, laplace_law(scale).wrapped(64)) > ALARM
    assert misfit(noise.geometric(scale, size=DRAWS) % 64, geometric_law(scale).wrapped(64)) > ALARM
    assert misfit(noise.gaussian(scale**2, size=DRAWS) % 64, gaussian_law(scale**2).wrapped(64)) > ALARM


def wide_and_even(values: Integers, cdf: Callable[[Any], Any]) -> None:
    """Sizes follow the continuous law, signs are fair, and the low bits, which no continuous law shows, are uniform."""
    assert strays(np.abs(values), cdf) > ALARM
    assert fair(int((values > 0).sum()), int((values != 0).sum())) > ALARM
    assert misfit(values % 64, law([1 / 64] * 64)) > ALARM
    assert fair(int((values % 2).sum()), values.size) > ALARM


@pytest.mark.long
@pytest.mark.parametrize("scale", WIDE)
def test_wide_laplace_has_its_distribution(scale: int) -> None:
    wide_and_even(noise.laplace(scale, size=DRAWS), stats.expon(scale=scale).cdf)


@pytest.mark.long
@pytest.mark.parametrize("sigma", WIDE)
def test_wide_gaussian_has_its_distribution(sigma: int) -> None:
    wide_and_even(noise.gaussian(sigma**2, size=DRAWS), stats.halfnorm(scale=sigma).cdf)


@pytest.mark.long
@pytest.mark.parametrize("scale", WIDE)
def test_wide_geometric_has_its_distribution(scale: int) -> None:
    values = noise.geometric(scale, size=DRAWS)
    assert strays(values, stats.expon(scale=scale).cdf) > ALARM
    assert misfit(values % 64, law([1 / 64] * 64)) > ALARM


@pytest.mark.parametrize("scale", [5, pytest.param(64, marks=pytest.mark.long)])
def test_the_split_for_wide_scales_has_the_exact_distribution(monkeypatch: pytest.MonkeyPatch, scale: int) -> None:
    """Splitting a narrow scale shows the split's own law, where a continuous one would hide errors of a step."""
    monkeypatch.setattr(samplers, "WIDEST", Fraction(3, 2))
    assert misfit(noise.geometric(scale, size=DRAWS), geometric_law(scale)) > ALARM
    assert misfit(noise.laplace(scale, size=DRAWS), laplace_law(scale)) > ALARM
    assert misfit(noise.gaussian(scale**2, size=DRAWS), gaussian_law(scale**2)) > ALARM


def trials(bits: Bits, count: int, gamma: Fraction) -> Integers:
    return samplers.bernoulli_exp(bits, [gamma] * count).astype(np.int64)


def lies(bits: Bits, count: int, epsilon: Fraction) -> Integers:
    return samplers.untruths(bits, count, epsilon, 3).astype(np.int64)


LAWS: list[tuple[Sampler, Fraction, Law]] = [
    (samplers.laplace, Fraction(1), laplace_law(1)),
    (samplers.laplace, Fraction(5, 2), laplace_law(Fraction(5, 2))),
    (samplers.geometric, Fraction(10), geometric_law(10)),
    (samplers.gaussian, Fraction(25, 4), gaussian_law(Fraction(25, 4))),
    (trials, Fraction(3, 2), bernoulli_law(math.exp(-3 / 2))),
    (lies, Fraction(1), bernoulli_law(3 / (math.e + 3))),
]


@pytest.mark.parametrize("draws", later([1000, 5000]))
@pytest.mark.parametrize(("sampler", "parameter", "expected"), LAWS)
def test_exact_arithmetic_alone_gives_the_same_distribution(
    monkeypatch: pytest.MonkeyPatch, sampler: Sampler, parameter: Fraction, expected: Law, draws: int
) -> None:
    monkeypatch.setattr(interval, "MARGIN", 1e9)
    assert misfit(sampler(SYSTEM, draws, parameter), expected) > ALARM


@pytest.mark.parametrize(
    ("sampler", "parameter"),
    [
        *((samplers.laplace, scale) for scale in (Fraction(1, 10**6), Fraction(1, 3), Fraction(1000), Fraction(10**9))),
        *((samplers.geometric, scale) for scale in (Fraction(5, 2), Fraction(10**12))),
        *((samplers.gaussian, variance) for variance in (Fraction(1, 3), Fraction(10**6), Fraction(10**24))),
        *((trials, gamma) for gamma in (Fraction(0), Fraction(1, 2))),
        *((lies, epsilon) for epsilon in (Fraction(0), Fraction(1))),
    ],
)
def test_exact_arithmetic_alone_gives_the_same_draws(
    monkeypatch: pytest.MonkeyPatch, sampler: Sampler, parameter: Fraction
) -> None:
    script = SYSTEM.bytes(8 * 10**4)
    fast_bits, slow_bits = Rigged([script]), Rigged([script])
    fast = sampler(fast_bits, 100, parameter).tolist()
    monkeypatch.setattr(interval, "MARGIN", 1e9)
    assert sampler(slow_bits, 100, parameter).tolist() == fast
    assert slow_bits.taken == fast_bits.taken


def test_a_laplace_draw_takes_one_word_and_its_sign_from_the_last_bit() -> None:
    bits = Rigged([2**51, 2**51 + 1])
    positive, negative = noise.laplace(10, size=2, bits=bits).tolist()
    assert positive == -negative == math.floor((13 * math.log(2) + math.log(2 / (1 + math.exp(-0.1)))) * 10)
    assert bits.taken == 16


@pytest.mark.parametrize("count", [0, 1, samplers.BLOCK - 1, samplers.BLOCK, samplers.BLOCK + 1, 3 * samplers.BLOCK])
def test_one_word_is_taken_for_each_draw_whatever_its_value(count: int) -> None:
    for sampler in (samplers.laplace, samplers.geometric, lies):
        bits = Rigged([], then=SYSTEM)
        assert sampler(bits, count, Fraction(10)).shape == (count,)
        assert bits.taken == 8 * count


@pytest.mark.parametrize("count", [0, 1, samplers.BLOCK + 1])
def test_samplers_that_reject_still_give_what_was_asked_for(count: int) -> None:
    assert samplers.gaussian(SYSTEM, count, Fraction(1, 10)).shape == (count,)
    assert samplers.gaussian(SYSTEM, count, Fraction(10**20)).shape == (count,)
    assert samplers.laplace(SYSTEM, count, Fraction(10**10)).shape == (count,)


def test_a_wide_draw_is_put_together_from_a_high_and_a_low_part() -> None:
    scale = Fraction(2**30)
    bits = Rigged([2**50 << 1, 5 << 58, MIDDLE])
    high = math.floor(13 * math.log(2) * 2**24)
    assert samplers.geometric(bits, 1, scale).tolist() == [high * 2**6 + 5]


def test_a_wide_draw_is_tried_again_when_its_low_part_is_rejected() -> None:
    # E of the third word is below 10⁻¹⁸, and the low part is kept only above 63/2³⁰
    bits = Rigged([MIDDLE, ONES, ONES, MIDDLE, 5 << 58, MIDDLE])
    assert samplers.geometric(bits, 1, Fraction(2**30)).tolist() == [math.floor(math.log(2) * 2**24) * 2**6 + 5]
    assert bits.taken == 48


def test_negative_zero_is_thrown_away() -> None:
    zero, one = [0, MIDDLE], [1 << 58, MIDDLE]
    assert samplers.laplace(Rigged([ONES - 1, *zero]), 1, Fraction(2**30)).tolist() == [0]
    assert samplers.laplace(Rigged([ONES, *one]), 1, Fraction(2**30)).tolist() == [-1]
    assert samplers.laplace(Rigged([ONES, *zero, ONES, *one]), 1, Fraction(2**30)).tolist() == [-1]


@pytest.mark.parametrize(
    "scale", [Fraction(WIDEST) + Fraction(1, 7), Fraction(3 * 2**24), Fraction(2**25), Fraction(10**12)]
)
def test_the_high_part_of_a_wide_draw_is_narrow(monkeypatch: pytest.MonkeyPatch, scale: Fraction) -> None:
    seen: list[Fraction] = []
    plain = interval.floors

    def watched(exponentials: interval.Exponentials, scale: Fraction) -> Integers:
        seen.append(scale)
        return plain(exponentials, scale)

    monkeypatch.setattr(samplers, "floors", watched)
    samplers.geometric(SYSTEM, 1, scale)
    assert all(WIDEST / 2 < high <= WIDEST for high in seen)
    assert seen


def test_noise_that_does_not_fit_64_bits_is_refused_before_it_wraps() -> None:
    fits, too_wide = Fraction(2**56), Fraction(2**60)
    large = [2**41, ONES, MIDDLE]
    assert samplers.geometric(Rigged(large), 1, fits)[0] // 2**32 == math.floor(23 * math.log(2) * 2**24)
    for sampler in (samplers.geometric, samplers.laplace):
        with pytest.raises(OverflowError, match=r"noise of scale 1\.15292e\+18 does not fit .* use a coarser step"):
            sampler(Rigged(large), 1, too_wide)


def test_the_widest_scale_leaves_room_for_any_word() -> None:
    """The largest outcome of a first word is 44·scale, ten thousand times below what 64 bits hold."""
    most = samplers.geometric(Rigged([2, 0, ONES, MIDDLE]), 1, Fraction(noise.MOST_SCALE))[0]
    assert 43 * noise.MOST_SCALE < most < 44 * noise.MOST_SCALE < 2**62 // 10**4


@pytest.mark.parametrize("variance", [Fraction(5, 2), Fraction(100), Fraction(10**12), Fraction(10**12, 7)])
@pytest.mark.parametrize("deviations", [0, 1, 3])
def test_gaussian_proposals_are_kept_exactly_up_to_their_threshold(variance: Fraction, deviations: int) -> None:
    scale = math.isqrt(math.floor(variance)) + 1
    size = round(deviations * math.sqrt(variance))
    gamma = (size - variance / scale) ** 2 / (2 * variance)
    with mpmath.workdps(60):
        shift = mpmath.log(2 / (1 + mpmath.exp(-mpmath.mpf(1) / scale)))
        proposal = int(mpmath.exp(shift - (size + mpmath.mpf(1) / 2) / scale) * 2**63) if size else 2**63 - 1
        centre = int(mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator) * 2**63)

    def kept(word: int, further: list[int]) -> bool:
        """Whether one proposal is kept, when all others that are drawn along with it are not."""
        bits = Rigged([*[proposal << 1] * 10, word << 1, *[ONES] * 9, *further])
        try:
            return bool(samplers.gaussian(bits, 1, variance)[0] == size)
        except OutOfBitsError:
            return False

    for step in (1, 2, 2**10, 2**16, 2**20, 2**30):
        assert kept(centre - step, [])
        assert centre + step >= 2**63 or not kept(centre + step, [])
    assert kept(centre, [0])
    assert not kept(centre, [ONES])


def test_a_trial_with_a_rate_too_large_for_any_word_fails() -> None:
    assert not samplers.bernoulli_exp(Rigged([2, 0, 1]), [Fraction(10**300), Fraction(10**300)]).any()
    assert samplers.bernoulli_exp(Rigged([0, 0]), [Fraction(80)]).tolist() == [True]


@pytest.mark.parametrize(
    ("sampler", "parameter"),
    [
        *((samplers.gaussian, variance) for variance in (Fraction(1, 3), Fraction(10**12, 7), Fraction(10**24, 3))),
        *((samplers.geometric, scale) for scale in (Fraction(2**26, 3), Fraction(10**12))),
        *((trials, gamma) for gamma in (Fraction(1, 10**9), Fraction(1, 3), Fraction(10**20, 7))),
        *((lies, epsilon) for epsilon in (Fraction(1, 3), Fraction(100))),
    ],
)
def test_the_margins_of_thresholds_cover_their_rounding(
    monkeypatch: pytest.MonkeyPatch, sampler: Sampler, parameter: Fraction
) -> None:
    seen = 0

    def watched(
        draw: interval.Exponentials, thresholds: Any, margins: Any, exact: Callable[[int], interval.Real]
    ) -> interval.Booleans:
        nonlocal seen
        for i, (threshold, margin) in enumerate(np.broadcast(np.atleast_1d(thresholds), margins)):
            low, high = (Fraction(bound) for bound in exact(i).enclose(60))
            assert Fraction(threshold) - Fraction(margin) <= low
            assert high <= Fraction(threshold) + Fraction(margin)
            seen += 1
        return interval.exceeds(draw, thresholds, margins, exact)

    monkeypatch.setattr(samplers, "exceeds", watched)
    sampler(SYSTEM, 300, parameter)
    assert seen
