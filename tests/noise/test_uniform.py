from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import noise
from discreet.noise import SYSTEM, uniform
from tests.rigged import OutOfBitsError, Rigged
from tests.statistics import ALARM, law, misfit

DRAWS = 300_000


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 100, 128, 1000])
def test_each_value_comes_from_equally_many_words(limit: int) -> None:
    width = (limit - 1).bit_length()
    # the high bits of a word are masked away: they are set here to show it
    words = [2**64 - 2**width + low for low in range(2**width)]
    drawn = []
    for word in words:
        try:
            drawn.append(int(uniform.below(Rigged([word]), np.array([limit]))[0]))
        except OutOfBitsError:
            assert word % 2**width >= limit
    assert sorted(drawn) == list(range(limit))


@given(st.integers(1, 2**63 - 1), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
@settings(deadline=None)
def test_words_too_large_are_thrown_away(limit: int, words: list[int]) -> None:
    mask = 2 ** (limit - 1).bit_length() - 1
    kept = next((word & mask for word in words if word & mask < limit), 0)
    assert uniform.below(Rigged([*words, 0]), np.array([limit])).tolist() == [kept]


def test_each_limit_has_its_own_draw() -> None:
    limits = np.array([1, 3, 2**40, 2**63 - 1])
    bits = Rigged([5, 3, 2**40 - 1, 2**63 - 1, 5, 9])
    assert uniform.below(bits, limits).tolist() == [0, 1, 2**40 - 1, 9]
    assert bits.taken == 8 * (4 + 2)


@pytest.mark.parametrize("limit", [2, 6, 64, 100])
def test_below_is_uniform(limit: int) -> None:
    assert misfit(noise.below(limit, size=DRAWS), law([1 / limit] * limit)) > ALARM


def test_mixed_limits_are_uniform() -> None:
    limits = np.tile([3, 7], DRAWS)
    drawn = noise.below(limits, size=limits.shape)
    assert misfit(drawn[::2], law([1 / 3] * 3)) > ALARM
    assert misfit(drawn[1::2], law([1 / 7] * 7)) > ALARM


@pytest.mark.parametrize("limit", [2**63 - 1, 2**62 + 1, 3 * 2**60])
def test_wide_limits_are_uniform_in_high_and_low_bits(limit: int) -> None:
    drawn = noise.below(limit, size=DRAWS)
    assert int(drawn.min()) >= 0
    assert int(drawn.max()) < limit
    assert misfit(drawn // (limit // 50 + 1), law([1 / 50] * 50)) > ALARM
    assert misfit(drawn % 64, law([1 / 64] * 64)) > ALARM


@pytest.mark.parametrize(("limit", "word", "drawn"), [(1, b"", 0), (5, b"\x80", 4), (2**100, b"\xff" * 13, 2**100 - 1)])
def test_a_scalar_limit_may_have_any_size(limit: int, word: bytes, drawn: int) -> None:
    bits = Rigged([word])
    assert noise.below(limit, bits=bits) == drawn
    assert bits.taken == len(word)


def test_a_scalar_draw_too_large_is_thrown_away() -> None:
    assert noise.below(5, bits=Rigged([b"\xff\xa0\x60"])) == 3


def test_scalar_draws_are_uniform_by_exhaustion() -> None:
    drawn: Counter[int] = Counter()
    for byte in range(256):
        try:
            drawn[noise.below(100, bits=Rigged([bytes([byte])]))] += 1
        except OutOfBitsError:
            drawn[-1] += 1
    assert drawn == Counter({**dict.fromkeys(range(100), 2), -1: 56})


def test_every_order_of_the_words_gives_its_own_permutation() -> None:
    orders = {
        tuple(noise.shuffle(4, bits=Rigged(words)).tolist()) for words in itertools.permutations([3, 9, 27, 2**64 - 1])
    }
    assert orders == set(itertools.permutations(range(4)))


def test_words_that_tie_are_thrown_away() -> None:
    bits = Rigged([7, 1, 7, 30, 20, 10])
    assert noise.shuffle(3, bits=bits).tolist() == [2, 1, 0]
    assert bits.taken == 48


def test_permutations_are_uniform() -> None:
    index = {order: place for place, order in enumerate(itertools.permutations(range(4)))}
    drawn = [index[tuple(noise.shuffle(4).tolist())] for _ in range(30_000)]
    assert misfit(drawn, law([1 / math.factorial(4)] * math.factorial(4))) > ALARM


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_a_shuffle_moves_every_index_once(count: int) -> None:
    order = uniform.permutation(SYSTEM, count)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(count))


def test_masks_have_no_holes() -> None:
    for width in range(64):
        top = np.array([2**width, 2**width + (width > 0)], dtype=np.uint64)
        assert uniform._masks(top).tolist() == [2 ** (width + 1) - 1] * 2
    assert uniform._masks(np.zeros(1, dtype=np.uint64)).tolist() == [0]


# coins


@pytest.mark.parametrize("chance", [0, 1, 2**45, 3 * 2**51, 2**53 - 1, 2**53, 0x123456789ABCDE, 77 * 2**45 + 1])
def test_a_coin_compares_53_bits_with_its_chance(chance: int) -> None:
    """The first byte decides; where it is the chance's own, 45 bits more do."""
    first, rest = divmod(chance, 2**45)
    for byte in range(256):
        for low in {0, max(rest - 1, 0), rest, 2**45 - 1} - {2**45}:
            bits = Rigged([bytes([byte]), low << 19 | 2**19 - 1])
            assert noise.coins(chance, 1, bits=bits).tolist() == [byte * 2**45 + low < chance]
            assert bits.taken == (9 if byte == first else 1)


def test_each_coin_may_have_its_own_chance() -> None:
    chances = np.array([[0, 2**53], [2**52, 5 * 2**45 + 9]])
    # ties: the first byte of chance 0 with byte 0, and 5 with 5; a tie of the third would be at 128
    below = Rigged([bytes([0, 255, 127, 5]), 0, 8 << 19])
    assert noise.coins(chances, (2, 2), bits=below).tolist() == [[False, True], [True, True]]
    above = Rigged([bytes([0, 255, 128, 5]), 0, 0, 9 << 19])
    assert noise.coins(chances, (2, 2), bits=above).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("chance", [2**53 // 3, 3 * 2**51, 2**53 // 400])
def test_coins_fall_as_often_as_they_should(chance: int) -> None:
    heads = chance / 2**53
    assert misfit(noise.coins(chance, DRAWS), law([1 - heads, heads])) > ALARM


def test_one_coin_is_a_truth_value() -> None:
    assert noise.coins(2**53) is True
    assert noise.coins(0) is False
    assert noise.coins(2**52, (0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("chance", "size", "error"),
    [
        (-1, 1, ValueError),
        (2**53 + 1, 1, ValueError),
        (0.5, 1, TypeError),
        ([1, 2], 3, ValueError),
        ([1], None, ValueError),
    ],
)
def test_what_is_no_chance_is_refused(chance: object, size: int | None, error: type[Exception]) -> None:
    with pytest.raises(error, match="chance"):
        noise.coins(chance, size)  # type: ignore[call-overload]


# subsets


@pytest.mark.parametrize(
    ("size", "chosen"), [(5, 2), (5, 3), (4, 1), (4, 3), (40, 1), (40, 39), (3, 0), (3, 3), (1, 1), (300, 2)]
)
def test_subsets_are_uniform(size: int, chosen: int) -> None:
    """Each subset as likely as any other: by coins and repairs, and from none or all where few are missing."""
    drawn = noise.subsets(size, chosen, 100_000 if size < 300 else 3_000)
    assert (drawn.sum(axis=1) == chosen).all()
    every = {members: i for i, members in enumerate(itertools.combinations(range(size), chosen))}
    if 1 < len(every) <= 40:
        numbers = [every[tuple(np.flatnonzero(row).tolist())] for row in drawn]
        assert misfit(numbers, law([1 / len(every)] * len(every))) > ALARM


def test_subsets_that_are_too_large_are_refused() -> None:
    for size, chosen, count in ((3, 4, 1), (0, 0, 1), (3, -1, 1), (3, 1, -1), (3.0, 1, 1)):
        with pytest.raises((TypeError, ValueError)):
            noise.subsets(size, chosen, count)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count"):
        noise.subsets(3, 1, -1)
    assert noise.subsets(4, 2, 0).shape == (0, 4)


def test_a_subset_may_be_of_nobody_or_of_all() -> None:
    assert not noise.subsets(5, 0, 3).any()
    assert noise.subsets(5, 5, 3).all()
