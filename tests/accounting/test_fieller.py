"""Intervals of ratios and moments hold as often as they say: exactly, over all noises of small worlds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from discreet.accounting import fieller
from discreet.accounting.combination import Terms, width_of_sum, width_up_to
from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.accounting.fieller import Noisy, Sums, ratio
from discreet.accounting.points import Points
from tests.budget import crossed

MISS = Fraction(1, 5)
ONE, NONE = Fraction(1), Fraction(0)
NOISES: list[tuple[Noise, Noise]] = [
    (DiscreteLaplace(Fraction(5)), DiscreteLaplace(Fraction(3, 2))),
    (DiscreteGaussian(Fraction(36)), DiscreteGaussian(Fraction(4))),
    (DiscreteLaplace(Fraction(4)), DiscreteGaussian(Fraction(5))),
    (DiscreteGaussian(Fraction(1, 4)), DiscreteLaplace(Fraction(1, 3))),
]


def masses(noise: Noise, cut: float = 4e-3) -> dict[int, float]:
    """The probabilities of noise values; what is cut off counts as missed."""
    if isinstance(noise, DiscreteLaplace):
        q = math.exp(-1 / float(noise.scale))
        law = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-80, 81)}
    else:
        weights = {z: math.exp(-z * z / (2 * float(noise.spread))) for z in range(-80, 81)}
        law = {z: weight / math.fsum(weights.values()) for z, weight in weights.items()}
    return {z: mass for z, mass in law.items() if mass > cut}


RATIOS = [
    (37, 12, ((1, 0), (0, 1))),
    (90, -30, ((1, 0), (0, 1))),
    (2, 3, ((1, 0), (0, 1))),
    (-80, 20, ((1, 0), (5, 1))),
    (3, 40, ((1, 1), (0, 1))),
]


@pytest.mark.parametrize(("top", "bottom", "weights", "noises"), crossed(RATIOS, [*NOISES[::3], *NOISES[1:3]]))
def test_a_ratio_is_missed_no_more_often_than_asked(
    noises: tuple[Noise, Noise], top: int, bottom: int, weights: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    """A sum over a count, a sum that holds the count, and a share of a whole; None holds everything."""
    terms = [(noise, Fraction(a), Fraction(b)) for noise, (a, b) in zip(noises, weights, strict=True)]
    true, missed, shown, whole = Fraction(top, bottom), 0.0, 0.0, 0.0
    cut = 5e-4 if top == -80 else 4e-3  # there it is so tight that a twentieth of all noises would hide it
    for (y, p), (z, q) in itertools.product(masses(noises[0], cut).items(), masses(noises[1], cut).items()):
        above = Fraction(top + y * weights[0][0] + z * weights[1][0])
        below = Fraction(bottom + y * weights[0][1] + z * weights[1][1])
        ends = ratio(above, below, terms, MISS)
        whole += p * q
        shown += p * q if ends is not None else 0.0
        missed += p * q if ends is not None and not ends[0] <= true <= ends[1] else 0.0
    assert missed + 1 - whole <= MISS
    assert (shown > 0.5) == (bottom != 3) or noises == NOISES[3]


def test_a_ratio_is_narrower_than_the_ratio_of_intervals() -> None:
    """1.6 times for Laplace noise, 1.4 times for Gaussian noise, in groups of some hundred rows."""
    kinds: list[tuple[Noise, Noise, float]] = [
        (DiscreteLaplace(Fraction(60)), DiscreteLaplace(Fraction(15)), 1.5),
        (DiscreteGaussian(Fraction(60**2)), DiscreteGaussian(Fraction(15**2)), 1.35),
    ]
    for first, second, factor in kinds:
        ends = ratio(Fraction(20_000), Fraction(5000), [(first, ONE, NONE), (second, NONE, ONE)], Fraction(1, 20))
        assert ends is not None
        halves = [noise.width(Fraction(39, 40)) for noise in (first, second)]
        corners = [Fraction(20_000 + a * halves[0], 5000 + b * halves[1]) for a in (-1, 1) for b in (-1, 1)]
        assert (max(corners) - min(corners)) / (ends[1] - ends[0]) > factor


def test_a_ratio_with_itself_is_known() -> None:
    ends = ratio(Fraction(500), Fraction(500), [(NOISES[0][1], ONE, ONE)], Fraction(1, 20))
    assert ends is not None
    assert ends[0] <= 1 <= ends[1]
    assert ends[1] - ends[0] < Fraction(1, 100)


def test_where_the_denominator_may_be_zero_nothing_is_known() -> None:
    terms = [(NOISES[0][0], ONE, NONE), (NOISES[0][1], NONE, ONE)]
    assert ratio(Fraction(9), Fraction(2), terms, Fraction(1, 20)) is None
    assert ratio(Fraction(9), Fraction(0), terms, Fraction(1, 20), (NONE, ONE)) == (NONE, ONE)


ROWS = [(3, -1), (2, 2), (-3, 0), (0, 1), (3, 2), (3, 2), (-1, -2), (2, 1)] * 2


def moments(rows: list[tuple[int, int]]) -> tuple[int, int, int, int, int]:
    squares = sum(2 * x * x - 9 for x, _ in rows)
    return len(rows), sum(x for x, _ in rows), sum(y for _, y in rows), sum(x * y for x, y in rows), squares


@pytest.mark.parametrize("copies", [2])
@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_a_variance_is_missed_no_more_often_than_asked(kind: type[Noise], copies: int) -> None:
    """All noises that matter, of coarse probabilities: what is left out counts as missed."""
    rows = ROWS * copies
    n, total, _, _, square = moments(rows)
    true = Fraction(int(np.sum(np.array([x for x, _ in rows]) ** 2)), n) - Fraction(total, n) ** 2
    sizes = [Fraction(1, 2), Fraction(3, 2), Fraction(9, 2)]
    noises = [kind(size if kind is DiscreteLaplace else size**2) for size in sizes]
    covered = 0.0
    parts = [list(masses(noise, cut).items()) for noise, cut in zip(noises, (0.02, 0.01, 0.01), strict=True)]
    for (a, p), (b, q), (c, r) in itertools.product(*parts):
        count, x, z = (Noisy(v, noise) for v, noise in zip((n + a, total + b, square + c), noises, strict=True))
        low, high = Sums(count, x, None, z, (3, 3), Fraction(1, 2), Fraction(9, 2)).covariance(MISS)
        covered += p * q * r if low <= true <= high else 0.0
    whole = math.prod(math.fsum(mass for _, mass in part) for part in parts)
    assert covered >= whole * float(1 - MISS)


def drawn(random: Random, noise: Noise) -> int:
    law = masses(noise, 0)
    return random.choices(list(law), list(law.values()))[0]


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_a_covariance_is_missed_no_more_often_than_asked(kind: type[Noise]) -> None:
    """60 draws from one seed; 12 may be missed, and far fewer are."""
    random, rows = Random(5), ROWS * 4
    n, sx, sy, sxy, _ = moments(rows)
    true = Fraction(sxy, n) - Fraction(sx, n) * Fraction(sy, n)
    sizes = [Fraction(1), Fraction(3), Fraction(2), Fraction(6)]
    noises = [kind(size if kind is DiscreteLaplace else size**2) for size in sizes]
    missed = 0
    for _ in range(60):
        values = [v + drawn(random, noise) for v, noise in zip((n, sx, sy, sxy), noises, strict=True)]
        count, x, y, product = (Noisy(v, noise) for v, noise in zip(values, noises, strict=True))
        low, high = Sums(count, x, y, product, (3, 2)).covariance(MISS)
        missed += not low <= true <= high
    assert missed <= 12


def test_without_rows_anything_is_possible() -> None:
    noisy = Noisy(0, NOISES[0][1])
    assert Sums(noisy, noisy, None, noisy, (3, 3)).covariance(MISS) == (NONE, Fraction(9))
    assert Sums(noisy, noisy, noisy, noisy, (3, 2)).covariance(MISS) == (Fraction(-6), Fraction(6))


def test_one_row_is_enough_where_noise_is_little() -> None:
    little = DiscreteLaplace(Fraction(1, 20))
    terms, anyway = [(little, ONE, NONE), (little, NONE, ONE)], (Fraction(-9), Fraction(9))
    assert ratio(Fraction(3), ONE, terms, MISS, anyway) == (Fraction(3), Fraction(3))
    assert ratio(Fraction(3), NONE, terms, MISS, anyway) == anyway, "and none is not"


def test_a_variance_that_noise_makes_negative_is_shown_as_none() -> None:
    n, nothing, square = (Noisy(value, NOISES[0][1]) for value in (10, 0, -30))
    assert Sums(n, nothing, None, square, (3, 3)).covariance(MISS)[0] == NONE
    assert Sums(n, nothing, nothing, square, (3, 3)).covariance(MISS)[0] < -1, "a covariance may be"


RANGES = [(-3, 2), (1, 2), (-2, -1), (0, 0), (-1, 3)]


def within(ends: tuple[Fraction | int, Fraction | int]) -> list[Fraction]:
    """Both ends, and what lies between."""
    low, high = map(Fraction, ends)
    return [low + (high - low) * Fraction(part, 4) for part in range(5)]


def fractions(ends: tuple[int, int]) -> tuple[Fraction, Fraction]:
    return Fraction(ends[0]), Fraction(ends[1])


@pytest.mark.parametrize("first", RANGES)
def test_a_product_lies_between_those_of_the_ends(first: tuple[int, int]) -> None:
    for second in RANGES:
        low, high = fieller.product([fractions(first), fractions(second)], squared=False)
        products = [a * b for a in within(first) for b in within(second)]
        assert (low, high) == (min(products), max(products))
    low, high = fieller.product([fractions(first), fractions(first)], squared=True)
    squares = [a * a for a in within(first)]
    assert 0 <= low <= min(squares)
    assert high == max(squares)


@pytest.mark.parametrize("first", RANGES)
@pytest.mark.parametrize("second", [None, *RANGES])
def test_the_weights_of_the_proof_are_bounded_by_those_of_the_ends(
    first: tuple[int, int], second: tuple[int, int] | None
) -> None:
    """1, m, k and mk − C for all means and moments that the ends leave, and no more than the farthest of them needs."""
    count, x, y, product = (Noisy(20, DiscreteLaplace(Fraction(scale))) for scale in (2, 3, 5, 7))
    scale, shift, means = Fraction(1, 2), Fraction(9, 2), [fractions(first), fractions(second or first)]
    sums = Sums(count, x, None if second is None else y, product, (3, 3), scale, shift)
    for ends in ((0, 9), (-4, -1), (2, 2)):
        bounds = dict(sums._weights(means, fractions(ends)))
        pairs = [(m, k) for m in within(first) for k in within(second or first) if second is not None or m == k]
        far = max(abs(m * k + shift - c) for m, k in pairs for c in within(ends))
        assert bounds[product.noise] == scale
        assert bounds[count.noise] >= far
        assert bounds[count.noise] <= far + (0 if second else max(abs(m) for m, _ in pairs) ** 2)
        if second is None:
            assert bounds[x.noise] == max(abs(m + k) for m, k in pairs)
        else:
            assert bounds[x.noise] == max(abs(k) for _, k in pairs)
            assert bounds[y.noise] == max(abs(m) for m, _ in pairs)


@pytest.mark.parametrize("second", [None, (-1, 2), (1, 2)])
def test_a_moment_about_zero_less_the_product_of_the_means_is_the_central_one(second: tuple[int, int] | None) -> None:
    """For every Σxy/n that its own interval leaves, and all means; both ends are reached."""
    first, scale, shift = (-2, 1), Fraction(1, 2), Fraction(9, 2)
    count, x, product = Noisy(400, TRIPLES[0][0]), Noisy(20, TRIPLES[0][1]), Noisy(900, TRIPLES[1][1])
    sums = Sums(count, x, None if second is None else x, product, (3, 3), scale, shift)
    over = ratio(
        Fraction(900), Fraction(400), [(product.noise, ONE, NONE), (count.noise, NONE, ONE)], MISS, (-9 * ONE, 9 * ONE)
    )
    assert over is not None
    products = [0, 4] if second is None else [m * k for m in first for k in second]
    low, high = sums._about_zero([fractions(first), fractions(second or first)], MISS)
    assert (low, high) == (scale * over[0] + shift - max(products), scale * over[1] + shift - min(products))


TRIPLES: list[tuple[Noise, ...]] = [
    (DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(7)), DiscreteLaplace(Fraction(7))),
    (DiscreteGaussian(Fraction(9)), DiscreteGaussian(Fraction(25)), DiscreteGaussian(Fraction(16))),
    (DiscreteLaplace(Fraction(1, 2)), DiscreteGaussian(Fraction(1)), DiscreteLaplace(Fraction(3))),
]
WEIGHTS: list[Terms] = [
    tuple((noise, Fraction(weight)) for noise, weight in zip(noises, weights, strict=True))
    for noises in TRIPLES
    for weights in (("1", "1", "1"), ("3", "1", "0"), ("0", "0", "0"))
]


@pytest.mark.parametrize("terms", WEIGHTS, ids=str)
def test_a_width_for_weights_holds_for_smaller_ones(terms: Terms) -> None:
    """By exact convolution, with some weights smaller."""
    for confidence in (Fraction(4, 5), Fraction(19, 20)):
        most = width_up_to(terms, confidence)
        for shrunk in itertools.product((Fraction(1), Fraction(1, 2)), repeat=3):
            fewer = tuple((noise, weight * part) for (noise, weight), part in zip(terms, shrunk, strict=True))
            assert width_up_to(fewer, confidence) <= most
            law = {Fraction(0): 1.0}
            for noise, weight in fewer:
                if not weight:
                    continue
                more: dict[Fraction, float] = {}
                for (value, p), (z, q) in itertools.product(law.items(), masses(noise, 5e-3).items()):
                    more[value + weight * z] = more.get(value + weight * z, 0.0) + p * q
                law = more
            outside = math.fsum(mass for value, mass in law.items() if abs(value) > most)
            assert outside <= 1 - confidence


def test_three_laplaces_are_about_as_wide_as_they_are() -> None:
    noises = [DiscreteLaplace(Fraction(40)), DiscreteLaplace(Fraction(60)), DiscreteLaplace(Fraction(61))]
    terms = tuple((noise, Fraction(1)) for noise in noises)
    exact = width_of_sum(terms, Fraction(19, 20))
    assert exact <= width_up_to(terms, Fraction(19, 20)) <= Fraction(21, 20) * exact


# cells


def test_cells_only_narrow_and_stop_where_they_would_take_long() -> None:
    """What is not looked at is not left out; where only one of both sums is noisy there is nothing to cut."""
    noise = DiscreteLaplace(Fraction(4))
    terms = [(noise, ONE, NONE), (noise, NONE, ONE)]
    far = Fraction(-1000), Fraction(1000)
    for top, bottom in ((0, 3), (500, 3), (20, 60), (-7, 2)):
        with_cells = ratio(Fraction(top), Fraction(bottom), terms, Fraction(1, 20), far)
        without = ratio(Fraction(top), Fraction(bottom), terms, Fraction(1, 20), far, cells=False)
        assert with_cells is not None
        assert without is not None
        assert without[0] <= with_cells[0] <= with_cells[1] <= without[1]
        assert with_cells[0] <= Fraction(top, bottom) <= with_cells[1] or bottom == 2
    nothing = ratio(NONE, Fraction(50), [(noise, NONE, ONE)], Fraction(1, 20), (NONE, ONE))
    assert nothing is not None
    assert nothing[0] == 0
    assert nothing[1] < Fraction(1, 100)


# means


def test_means_of_both_columns_lie_where_they_are() -> None:
    rows = [(x, y) for x, y in ROWS for _ in range(20)]
    n, sx, sy, sxy, squares = moments(rows)
    noise = DiscreteGaussian(Fraction(4))
    count, x, y, product = (Noisy(value, noise) for value in (n, sx, sy, sxy))
    sums = Sums(count, x, y, product, (3, 2))
    for axis, total in enumerate((sx, sy)):
        low, high = sums.mean(axis, Fraction(1, 20))
        assert low <= Fraction(total, n) <= high
        assert high - low < Fraction(1, 10)
    variance = Sums(
        Noisy(n, noise), Noisy(sx, noise), None, Noisy(squares, noise), (3, 3), Fraction(1, 2), Fraction(9, 2)
    )
    assert variance.mean(1, Fraction(1, 20)) == sums.mean(0, Fraction(1, 20))


def test_one_column_of_pairs_has_the_variance_of_its_own() -> None:
    """Three anchors for x and two for y; a row shares itself out, and without noise that is exact."""
    xs, ys = (-3, 0, 3), (-2, 2)
    basis = {-3: lambda v: v * (v - 3), 0: lambda v: 2 * (9 - v * v), 3: lambda v: v * (v + 3)}
    points = tuple(itertools.product(xs, ys))
    rows = [(x, y) for x, y in ROWS for _ in range(30)]
    values = [sum(basis[a](x) * (2 + y if b > 0 else 2 - y) for x, y in rows) for a, b in points]
    pairs = Points(points, values, DiscreteLaplace(Fraction(30)))
    mean = Fraction(sum(x for x, _ in rows), len(rows))
    variance = Fraction(sum(x * x for x, _ in rows), len(rows)) - mean**2
    low, high = pairs.alone(0).covariance(Fraction(1, 20), (3, 3))
    assert low <= variance <= high
    assert high - low < 1
    assert pairs.rows == 18 * 4 * len(rows)


@pytest.mark.parametrize("bottom", [Fraction(1, 2), Fraction(40)])
def test_a_ratio_is_the_same_whichever_sign_both_have(bottom: Fraction) -> None:
    law = DiscreteLaplace(Fraction(1, 9))
    terms = [(law, Fraction(1), Fraction(0)), (law, Fraction(1, 3), Fraction(1, 50))]
    turned = [(noise, -a, -b) for noise, a, b in terms]
    within = Fraction(-200), Fraction(200)
    found = ratio(Fraction(5), bottom, terms, Fraction(1, 20), within)
    assert found == ratio(Fraction(-5), -bottom, turned, Fraction(1, 20), within)
    assert found not in (None, within)
