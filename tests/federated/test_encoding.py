"""Updates on a grid: nobody moves a sum farther than is said, whatever they send and whatever is drawn."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from discreet.federated.encoding import MODULUS, Grid, from_words, steps_for, to_words
from tests.rigged import repeated

HOSTILE = [
    [0.0, 0.0, 0.0],
    [1e300, 1e300, -1e300],
    [5e-324, 0.0, 0.0],
    [math.nan, 1.0, 2.0],
    [math.inf, 0.0, -math.inf],
    [0.6, -0.6, 0.5291502622129181],
    [1e-9, 1.0, -1e-9],
    [-1.0, 0.0, 0.0],
]


def squared(vector: Any) -> int:
    return sum(int(each) ** 2 for each in vector)


@pytest.mark.parametrize("votes", [False, True])
@pytest.mark.parametrize("bits", [None, repeated(0), repeated(255)])
@pytest.mark.parametrize("update", HOSTILE, ids=str)
def test_no_update_is_longer_than_the_sensitivity(update: list[float], bits: Any, votes: bool) -> None:
    for steps, clip in itertools.product((200, 2**24), (1e-12, 0.3, 1.0, 1e12)):
        grid = Grid(3, steps, votes)
        vector = grid.encode(np.array(update), clip=clip, bits=bits)
        assert squared(vector) <= grid.sensitivity_squared
        assert squared(vector[:3]) <= grid.update_squared


def test_every_update_of_a_fine_lattice_stays_within_the_bound() -> None:
    """Enumeration: all directions of a small cube, at the clipping norm and just beyond it."""
    grid = Grid(3, 200)
    for direction in itertools.product((-1.0, -0.37, 0.0, 0.005, 0.9), repeat=3):
        for stretch in (0.5, 1.0, 1.0000001, 50.0):
            norm = math.dist(direction, (0,) * 3) or 1.0
            vector = grid.encode(np.array(direction) / norm * stretch, clip=1.0, bits=repeated(0))
            assert squared(vector) <= grid.update_squared


def test_a_client_without_rows_sends_zeros() -> None:
    assert not Grid(5, 1000, votes=True).encode(None, clip=1.0).any()


def test_updates_that_rounding_would_make_too_long_are_rounded_towards_zero() -> None:
    """Bits that round everything up: each entry is just above a whole number, and there are very many of them."""
    count, steps = 40_000, 2100
    grid = Grid(count, steps)
    update = np.full(count, 1 / math.sqrt(count))
    rounded_up = np.ceil(update * steps).astype(np.int64)
    assert squared(rounded_up) > grid.update_squared
    vector = grid.encode(update, clip=1.0, bits=repeated(0))
    assert squared(vector) <= grid.update_squared
    assert (vector == np.floor(update * steps)).all()


def test_rounding_keeps_the_mean() -> None:
    """10,000 times a coordinate of 100.25 steps: the mean is off by more than 0.05 with probability below 10⁻²⁰."""
    grid = Grid(10_000, 2**20)
    update = np.full(10_000, 100.25 / 2**20)
    vector = grid.encode(update, clip=1.0)
    assert set(vector.tolist()) == {100, 101}
    assert abs(vector.mean() - 100.25) < 0.05


def test_what_is_decoded_is_what_was_encoded() -> None:
    grid = Grid(3, 2**20, votes=True)
    update = np.array([0.1, -0.2, 0.05])
    total = sum(grid.encode(update, clip=0.5) for _ in range(4)) + grid.encode(10 * update, clip=0.5)
    decoded, votes = grid.decode(np.asarray(total, dtype=np.float64), clip=0.5)
    assert np.allclose(decoded, 4 * update + 10 * update * 0.5 / np.linalg.norm(10 * update), atol=1e-5)
    assert votes == pytest.approx(4 / 2 - 1 / 2)


def test_the_wrong_number_of_weights_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 numbers"):
        Grid(3, 1000).encode(np.zeros(4), clip=1.0)


def test_words_and_whole_numbers_are_the_same_modulo_two_to_the_32() -> None:
    values = np.array([0, 1, -1, 2**31 - 1, -(2**31)])
    assert (from_words(to_words(values)) == values).all()
    assert from_words(to_words(np.array([2**31])))[0] == -(2**31)


@pytest.mark.parametrize(("clients", "spread"), [(1, 0.1), (1000, 5.0), (10**6, 1000.0)])
def test_no_sum_wraps_around_before_its_noise_is_ten_deviations_off(clients: int, spread: float) -> None:
    steps = steps_for(clients, spread, 10**6)
    grid = Grid(100, steps, votes=True)
    longest = math.sqrt(grid.sensitivity_squared)
    assert clients * longest + 8 * spread * longest < MODULUS / 2
    assert 2 * 10**6 * math.exp(-((MODULUS / 2 - 1 - clients * longest) ** 2) / (2 * (spread * longest) ** 2)) <= 1e-12
