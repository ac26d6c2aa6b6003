"""Rows as whole numbers in float64: what integers say, to the last bit, whatever the rows and wherever they stand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.exit import Exit
from discreet.learn import GaussianNB, LinearRegression, LogisticRegression, rulers
from discreet.learn.box import Box, Floats
from discreet.learn.gram import FINEST, products
from discreet.learn.moments import FEW, _vector
from discreet.learn.rulers import BLOCK, FEWEST, MOST_ROWS, Ruler, beside, blocks, lengths, shorten
from discreet.learn.scaling import _sums as spread_sums

TINY, HUGE = 5e-324, 1.7e308
EDGES = np.array([0.0, -0.0, TINY, -TINY, 1e-310, 1.0, -1.0, 0.5, 1 - 2**-53, HUGE, -HUGE, 3.0, 1e-5])


def short(columns: Any, sizes: Any, limit: int) -> list[Any]:
    shortened = np.array(columns, dtype=np.float64)
    shorten(shortened, np.array(sizes, dtype=np.float64), limit)
    return [list(map(int, column)) for column in shortened.T]


# rounding


@pytest.mark.parametrize("box", [(-1.0, 1.0), (0.0, 60.0), (-HUGE, HUGE), (-1e-307, 1e-307), (7.0, 8.0)])
def test_a_value_is_the_nearest_number_of_steps(box: Any) -> None:
    """As fractions say, for values at the bounds, beside and beyond them, for zeros of both signs and subnormals."""
    low, high = box
    values = np.concatenate([EDGES, np.linspace(low / 2, high / 2, 9), box, np.nextafter(box, 0)])
    bounds = Box(np.array([low]), np.array([high]))
    found = Ruler.of(bounds, bounds.middle, bounds.half, 2**15, 2**15).columns(values[:, None])[0]
    middle, half = Fraction(float(bounds.middle[0])), Fraction(float(bounds.half[0]))
    for value, steps in zip(values.tolist(), found.tolist(), strict=True):
        exact = (Fraction(min(max(value, low), high)) - middle) / half * 2**15
        assert abs(Fraction(steps) - exact) <= Fraction(1, 2) + Fraction(1, 1000)
        assert steps == int(steps)


def test_what_is_no_number_is_at_the_lower_bound() -> None:
    ruler = Ruler.of(Box.read((-1, 1), 2), np.zeros(2), np.full(2, 0.5), 8, 12, 1)
    rows = np.array([[np.nan, 0.25], [np.inf, -np.inf], [-0.0, 99.0]])
    assert ruler.columns(rows).tolist() == [[8, 8, 8], [-12, 12, 0], [4, -12, 12]]


def test_squares_are_those_of_integers() -> None:
    for unit in (1, 2, 2**15, 2**20):
        ruler = Ruler.of(Box.read((-1, 1), 1), np.zeros(1), np.ones(1), unit, unit)
        values = np.unique(np.concatenate([np.arange(-min(unit, 99), min(unit, 99) + 1), [-unit, unit, unit - 1]]))
        squares = np.empty((1, len(values)))
        ruler.squares(values[None].astype(np.float64), squares)
        assert squares[0].tolist() == [value * value // unit for value in values.tolist()]


# lengths


def test_quotients_are_cut_where_whole_numbers_say() -> None:
    """Just below, at and just above whole quotients, up to what is assumed: float64 says what integers say."""
    dice = np.random.default_rng(4)
    for limit in (1, 3, 2**11 + 1, 2**20, 2**31 - 1):
        sizes = np.concatenate([dice.integers(1, 2**32, 700), limit + dice.integers(0, 9, 300)])
        most = (2**48 - 1) // np.maximum(sizes, limit)
        whole = dice.integers(0, most + 1) // sizes * sizes // limit
        columns = np.clip(whole + np.array([[-1], [0], [1]]), 0, most) * dice.choice([-1, 1], (3, 1000))
        wanted = [
            [(abs(value) * limit // size) * (1 if value > 0 else -1) if size > limit else value for value in row]
            for row, size in zip(columns.T.tolist(), sizes.tolist(), strict=True)
        ]
        assert short(columns, sizes, limit) == wanted


@pytest.mark.parametrize("norm", [1, 2])
def test_shortened_rows_keep_to_the_limit_and_their_direction(norm: int) -> None:
    dice = np.random.default_rng(norm)
    rows = dice.integers(-(2**15), 2**15 + 1, (500, 7))
    rows[:3] = [[2**15] * 7, [0] * 7, [2**15, 0, 0, 0, 0, 0, 0]]
    limit = 40_000
    after_all = short(rows.T, lengths(rows.T.astype(np.float64), norm), limit)
    for before, after in zip(rows.tolist(), after_all, strict=True):
        size = sum(map(abs, after)) if norm == 1 else math.isqrt(sum(step**2 for step in after))
        full = sum(map(abs, before)) if norm == 1 else math.sqrt(sum(step**2 for step in before))
        assert size <= limit
        assert norm == 1 or sum(step**2 for step in after) <= limit**2
        factor = min(1, limit / full) if full else 1
        np.testing.assert_allclose(after, np.array(before) * factor, atol=2)


def test_lengths_are_never_too_short() -> None:
    """Also where a root lies just above a whole number."""
    roots = [2, 2**15, 2**24 + 1, 2**25 - 1]
    for root in roots:
        for square in (root**2, root**2 + 1, root**2 - 1):
            parts = np.array(_as_squares(square), dtype=np.float64)
            found = int(lengths(parts[:, None], 2)[0])
            assert found == math.isqrt(square - 1) + 1


def _as_squares(total: int) -> list[int]:
    parts = []
    while total:
        parts.append(math.isqrt(total))
        total -= parts[-1] ** 2
    return parts


# blocks


def test_blocks_hold_every_row_once_and_few_values() -> None:
    for rows, width in ((0, 3), (1, 1), (BLOCK, 3), (2 * BLOCK + 5, 3), (4000, 1000), (10, 10**6)):
        parts = list(blocks(rows, width))
        assert [place for part in parts for place in range(*part.indices(rows))] == list(range(rows))
        assert all(part.stop - part.start <= BLOCK for part in parts)
        assert all((part.stop - part.start) * width <= max(rulers.VALUES, FEWEST * width) for part in parts)
    with pytest.raises(OverflowError, match="fit a part"):
        blocks(MOST_ROWS, 1)


def test_a_target_stands_beside_the_features() -> None:
    exact = np.random.default_rng(1).normal(size=(BLOCK + 7, 3))
    np.testing.assert_array_equal(beside(exact, exact[:, 0]), np.column_stack([exact, exact[:, 0]]))
    assert beside(np.zeros((0, 2)), np.zeros(0)).shape == (0, 3)


@pytest.mark.parametrize("groups", [2, FEW + 1])
def test_the_largest_numbers_add_up_exactly(groups: int) -> None:
    """As many rows at a bound as make a float32, or a float64 without care, round."""
    rows, width, fine = 3 * BLOCK + 1, 2, 2**20
    exact = np.full((rows, width), 5.0)
    exact[:, 1] = -7.0
    places = np.arange(rows) % 3 - 1
    found = _vector(exact, places, groups, Box.read((-5, 5), width), fine)
    for group in (0, 1):
        count = int((places == group).sum())
        assert found[group].tolist() == [count * fine, count * fine, -count * fine, *[count * fine // 2] * 2]
    assert not found[2:].any()


@pytest.mark.parametrize("norm", [1, 2])
def test_sums_of_a_spread_are_those_of_integers(norm: int) -> None:
    """Against Python's integers, row by row, where features begin at zero and where they do not."""
    dice, steps = np.random.default_rng(norm), 2**FINEST
    box, near = Box.read(([0, -1], [1, 1]), 2), Box.read((-1, 1), 2)
    exact: Floats = np.vstack([dice.normal(0.3, 0.5, (300, 2)), [[0, 0], [-0.0, 1], [1, -1], [9, -9]]])
    limit = math.floor(1.2 * steps) if norm == 1 else math.isqrt(math.floor(1.2 * steps**2))
    total = [0] * 5
    for row in exact:
        one, two = (
            round(Fraction(float(np.clip(value, low, 1))) * steps) for value, low in zip(row, (0, -1), strict=True)
        )
        numbers = [steps, one, two, abs(one - one * one // steps), two * two // steps]
        square = sum(number**2 for number in numbers)
        size = sum(map(abs, numbers)) if norm == 1 else math.isqrt(square - 1) + 1
        for place, number in enumerate(numbers):
            total[place] += abs(number) * limit // max(size, limit) * (1 if number > 0 else -1)
    assert spread_sums(exact, box, near, steps, norm).tolist() == total


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("beside", [0, 1])
@pytest.mark.parametrize("limit", [2**20, 40_000])
def test_products_are_those_of_integers(norm: int, beside: int, limit: int) -> None:
    """Against Python's integers, across blocks, mostly of the largest; the last may not count for the length."""
    few = np.vstack([np.random.default_rng(norm).integers(-(2**15), 2**15 + 1, (5, 3)), [[2**15] * 3, [0] * 3]])
    times = np.array([1, 1, 1, 1, 1, 2 * BLOCK + 3, 1])
    far = np.full(3, 2.0**15)
    ruler = Ruler.of(Box(-far, far), np.zeros(3), far, 2**15, 2**15, 1)
    total = [[0] * 4 for _ in range(4)]
    for many, row in zip(times.tolist(), few.tolist(), strict=True):
        numbers = [2**15, *row]
        counted = numbers[: 4 - beside]
        size = sum(map(abs, counted)) if norm == 1 else math.isqrt(sum(number**2 for number in counted) - 1) + 1
        cut = [abs(number) * limit // max(size, limit) * (1 if number > 0 else -1) for number in numbers]
        for i, one in enumerate(cut):
            for j, other in enumerate(cut):
                total[i][j] += many * one * other
    assert products(np.repeat(few, times, axis=0).astype(np.float64), ruler, limit, norm, beside).tolist() == total


# whole fits

FACTS: dict[str, Any] = {"bounds": (-3, 3), "epsilon": 1}
FITS: dict[str, Any] = {
    "linear": lambda: LinearRegression(y_bounds=(-9, 9), **FACTS),
    "logistic": lambda: LogisticRegression(classes=[0, 1], **FACTS),
    "several": lambda: LogisticRegression(classes=[0, 1, 2], **FACTS),
    "bayes": lambda: GaussianNB(classes=[0, 1, 2], **FACTS),
}


@pytest.mark.parametrize("name", list(FITS))
def test_no_order_of_rows_and_no_layout_changes_a_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that enters the noise, of every release, across blocks."""
    dice = np.random.default_rng(8)
    labels = dice.integers(0, 3, BLOCK + 900)
    rows = dice.normal(labels[:, None] / 2, 1, (len(labels), 4))
    rows[:40, 0], rows[40:80, 1], rows[80:99] = -0.0, 99.0, 1e-310
    found: list[list[int]] = []

    def release(_: Exit, exact: Any, *__: Any) -> Any:
        found[-1].extend(np.ravel(exact).tolist())
        return np.asarray(exact)

    monkeypatch.setattr(Exit, "release", release)
    order = dice.permutation(len(rows))
    for exact, label in ((rows, labels), (rows[order], labels[order]), (np.asfortranarray(rows[::-1]), labels[::-1])):
        found.append([])
        FITS[name]().fit(exact, label)
    assert found[0] == found[1] == found[2]
    assert len(found[0]) > 20


@pytest.mark.parametrize("norm", [1, 2])
def test_a_million_equal_rows_are_a_million_times_one(norm: int) -> None:
    """At a corner of the bounds, where numbers are largest."""
    exact, box = np.broadcast_to(np.array([[1.0, -1.0]]), (1_000_000, 2)), Box.read((-1, 1), 2)
    one, all_ = (spread_sums(exact[:rows], box, box, 2**FINEST, norm) for rows in (1, len(exact)))
    assert all_.tolist() == (one * len(exact)).tolist()
