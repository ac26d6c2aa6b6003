"""The channels: exact probabilities of all reports, by running the code along every path of its choices."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import local
from discreet.accounting import Pure, Relation
from discreet.local import chances, means
from discreet.noise import Bits
from tests.local.cases import EACH, FREQUENCIES, HITTERS, exp_of, largest_ratio, named, outcomes
from tests.rigged import Rigged

SEEDS = [(0, 0), (1, 2**63), (3 << 61, 17), (0x9E3779B97F4A7C15, 0xDEADBEEF), (2**64 - 1, 2**64 - 1)]
WIDE = [
    kind(size, epsilon)
    for kind in (
        local.KaryResponse, local.SymmetricUnary, local.OptimizedUnary, local.LocalHashing, local.HadamardResponse,
        local.SubsetSelection,
    )
    for size in (2, 3, 10, 1024, 2**20)
    for epsilon in (0.001, 0.1, 1, math.log(3), 4, 10, 20)
]  # fmt: skip


def laws(mechanism: Any, monkeypatch: pytest.MonkeyPatch, bits: Bits | None = None) -> list[dict[bytes, Fraction]]:
    return [
        outcomes(lambda value=value: mechanism.encode(value, bits), monkeypatch)  # type: ignore[misc]
        for value in range(mechanism.size)
    ]


def seeded(seeds: tuple[int, int]) -> Bits:
    """The same words whenever 16 bytes are asked for."""
    return Rigged(lambda _: b"".join(seed.to_bytes(8, "little") for seed in seeds))


@pytest.mark.parametrize("mechanism", [each for each in FREQUENCIES if each.name != "local-hashing"], ids=named)
def test_every_channel_is_what_the_theorem_says(
    mechanism: local.FrequencyMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stochastic; two values of the ratio only; for the true value with p, for others with q: so without bias."""
    channel = laws(mechanism, monkeypatch)
    assert all(sum(law.values()) == 1 for law in channel)
    assert largest_ratio(channel) == mechanism.ratio
    for value, law in enumerate(channel):
        speaking = np.zeros(mechanism.size, dtype=object)
        for report, weight in law.items():
            accepted = mechanism.read([report])
            assert not accepted.bad
            supported = mechanism.supports(accepted.payloads)[0]
            speaking += supported * weight
            unsupported = [channel[other][report] for other in range(mechanism.size) if not supported[other]]
            assert set(unsupported) in ({weight}, {weight / mechanism.ratio}, set())
        assert speaking[value] == mechanism.truth
        assert {speaking[other] for other in range(mechanism.size) if other != value} == {mechanism.lie}


@pytest.mark.parametrize("seeds", SEEDS)
def test_given_its_function_hashing_is_randomised_response_of_hashes(
    seeds: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = local.LocalHashing(5, 1)
    width = mechanism.hashed.width
    channel = laws(mechanism, monkeypatch, seeded(seeds))
    hashes = [(seeds[0] * value + seeds[1]) % 2**64 >> (64 - width) for value in range(5)]
    for value, law in enumerate(channel):
        assert {int.from_bytes(report[-4:], "little") for report in law} == set(range(2**width))
        honest = [weight for report, weight in law.items() if report[-4:] == hashes[value].to_bytes(4, "little")]
        assert honest == [mechanism.truth]
        for report in law:
            supported = mechanism.supports(mechanism.read([report]).payloads)[0].tolist()
            assert supported == [one.to_bytes(4, "little") == report[-4:] for one in hashes]
    assert largest_ratio(channel) == (mechanism.ratio if len(set(hashes)) > 1 else 1)


@pytest.mark.parametrize("seeds", SEEDS[2:4])
def test_given_its_function_a_string_is_randomised_alike_at_every_level(
    seeds: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ("abba", "abcd", "d", "")
    channel = [outcomes(lambda text=text: HITTERS.encode(text, seeded(seeds)), monkeypatch) for text in texts]  # type: ignore[misc]
    assert all(sum(law.values()) == 1 for law in channel)
    assert largest_ratio(channel) == HITTERS.ratio <= exp_of(HITTERS.epsilon)
    assert {report[10] for law in channel for report in law} == {0, 1}


def test_pairs_of_hashes_are_uniform() -> None:
    """The theorem of Dietzfelbinger in small: words of 6 bits, values below 2^(7 − 2), all functions enumerated."""
    functions = [(a, b) for a in range(64) for b in range(64)]
    for x, y in ((0, 1), (1, 2), (3, 7), (30, 31), (0, 31), (5, 21)):
        pairs = np.zeros((4, 4), dtype=int)
        for a, b in functions:
            pairs[(a * x + b) % 64 >> 4, (a * y + b) % 64 >> 4] += 1
        assert np.unique(pairs).tolist() == [len(functions) // 16]


@pytest.mark.parametrize("kind", [local.OneBitMean, local.PiecewiseMean])
@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_channels_of_means_are_what_the_theorem_says(
    kind: Any, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On eight steps instead of 2¹⁶, so that all paths can be walked; the code is the same."""
    monkeypatch.setattr(means, "STEPS", 8)
    mechanism = kind((0, 8), epsilon)
    channel = [outcomes(lambda step=step: mechanism.encode(step), monkeypatch) for step in range(9)]  # type: ignore[misc]
    assert all(sum(law.values()) == 1 for law in channel)
    assert largest_ratio(channel) == mechanism.ratio <= exp_of(mechanism.epsilon)
    offset, slope = mechanism.line
    for step, law in enumerate(channel):
        told = {int.from_bytes(report[10:], "little"): weight for report, weight in law.items()}
        assert max(told) <= mechanism.most
        assert sum(number * weight for number, weight in told.items()) == offset + slope * step
        assert sum(number**2 * weight for number, weight in told.items()) == mechanism.moment(step)


# The ratio


@pytest.mark.parametrize("mechanism", WIDE, ids=lambda each: f"{each.name}-{each.size}-{float(each.epsilon):g}")
def test_the_ratio_is_e_to_the_epsilon_but_for_the_grain_and_never_above(mechanism: local.FrequencyMechanism) -> None:
    bound = exp_of(mechanism.epsilon)
    assert mechanism.ratio <= bound
    # one grain of 2⁻⁵³ of the smallest probability there is, on both sides
    least = min(mechanism.lie, 1 - mechanism.truth, mechanism.truth, Fraction(1, mechanism.size))
    assert mechanism.ratio >= bound * (1 - 4 / (2**53 * least))
    assert 0 < mechanism.lie < mechanism.truth < 1


@EACH
def test_every_mechanism_says_its_loss(mechanism: local.Mechanism) -> None:
    assert mechanism.ratio <= exp_of(mechanism.epsilon)
    assert mechanism.loss == Pure(mechanism.epsilon, relation=Relation.REPLACE_ONE)


@pytest.mark.parametrize("kind", [local.OneBitMean, local.PiecewiseMean])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1, 4, 20])
def test_the_ratio_of_means_is_nearly_e_to_the_epsilon(kind: Any, epsilon: float) -> None:
    mechanism = kind((-1, 1), epsilon)
    assert 1 - 1e-2 < mechanism.ratio / exp_of(mechanism.epsilon) <= 1


def test_epsilon_is_rounded_down_to_millionths() -> None:
    assert local.KaryResponse(3, math.log(3)).epsilon == Fraction(1098612, 10**6)
    for bad in (0, -1, 0.0009, 20.1, math.nan, None, "1", True):
        with pytest.raises((TypeError, ValueError), match="epsilon"):
            local.KaryResponse(3, bad)  # type: ignore[arg-type]


def test_chances_are_the_largest_that_are_allowed() -> None:
    for odds in (Fraction(1, 3), Fraction(1), Fraction(3), Fraction(271828, 100000), Fraction(10**8)):
        chance = chances.chance_of_odds(odds)
        assert chances.odds(chance) <= odds < chances.odds(chance + 1)
    assert (
        chances.exp_below(Fraction(1))
        <= exp_of(Fraction(1))
        < chances.exp_below(Fraction(1)) * (1 + Fraction(1, 10**25))
    )


# The lecture


def test_two_coins_cost_exactly_ln_3() -> None:
    coins = local.TwoCoins()
    assert (coins.truth, coins.lie, coins.ratio) == (Fraction(3, 4), Fraction(1, 4), Fraction(3))
    assert 0 < float(coins.epsilon) - math.log(3) < 1e-6


def test_a_yes_to_the_tax_investigator_raises_two_percent_to_six() -> None:
    coins = local.TwoCoins()
    yes = coins.header + (1).to_bytes(4, "little")
    assert round(float(coins.posterior(yes, [0.98, 0.02])[1]), 3) == 0.058


@pytest.mark.parametrize(("share", "factor"), [(0.5, 4), (0.02, 39.27)])
def test_two_coins_multiply_the_variance_by_four_at_a_half_and_by_39_at_two_percent(
    share: float, factor: float
) -> None:
    coins = local.TwoCoins()
    assert coins.population_variance(share, 1000) == pytest.approx((0.75 + share * (1 - share)) / 1000)
    assert coins.population_variance(share, 1000) / (share * (1 - share) / 1000) == pytest.approx(factor, rel=2e-4)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_no_report_moves_a_prior_by_more_than_epsilon(epsilon: float) -> None:
    """Lecture 003: prior 0.4, between 0.4·e^−ε and 0.4·e^ε."""
    for mechanism in (local.warner(epsilon), local.HadamardResponse(2, epsilon), local.SubsetSelection(2, epsilon)):
        for report in {mechanism.encode(1) for _ in range(60)}:
            after = mechanism.posterior(report, [0.6, 0.4])[1]
            assert 0.4 * math.exp(-epsilon) <= after <= 0.4 * math.exp(epsilon)


def test_a_posterior_needs_a_prior_and_a_report() -> None:
    coins = local.TwoCoins()
    for prior in ([0.5], [0.6, 0.6], [1.5, -0.5], [[0.5, 0.5]]):
        with pytest.raises(ValueError, match="prior"):
            coins.posterior(coins.encode(1), prior)
    for report in (b"", b"x" * 14, coins.header + (2).to_bytes(4, "little")):
        with pytest.raises(ValueError, match="report"):
            coins.posterior(report, [0.5, 0.5])
