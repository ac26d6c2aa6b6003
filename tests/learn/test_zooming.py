"""Bounds that are too wide: cells of a histogram, what one row moves, and which bounds are found or stay."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import core, zooming
from discreet.learn.box import Box
from discreet.learn.rulers import BLOCK
from discreet.learn.zooming import Grid, check, counted, promising, sensitivity, zoomed
from discreet.noise import SYSTEM
from tests.learn.helpers import recorder, repeating, without
from tests.learn.replaying import check_moved, hard_rows

BOXES = [(-1.0, 1.0), (0.0, 60.0), (-200.0, 1000.0), (7.0, 8.0), (-9.0, -1.0), (-1e-300, 1e-300), (0.0, 1e100)]
ROWS = 20_000


def grids_of(box: Box) -> list[Grid]:
    return [Grid(float(low), float(high)) for low, high in zip(box.low, box.high, strict=True)]


def find(rows: Any, bounds: Any, cost: Any, share: Fraction = WHOLE) -> Box:
    box = Box.read(bounds, rows.shape[1])
    return zoomed(rows, box, Exit(Cost.alone(**cost), SYSTEM, sampler=core.SAMPLER), share)


# cells


@pytest.mark.parametrize("bounds", BOXES)
def test_each_value_is_in_the_cell_between_its_edges(bounds: Any) -> None:
    """All edges, and what lies just beside them: off by rounding at most."""
    box, grid = Box.read(bounds, 1), Grid(*bounds)
    edges = grid.edges
    assert len(edges) == grid.cells + 1
    assert (edges[0], edges[-1]) == bounds
    assert (np.diff(edges) >= 0).all()
    values = np.concatenate(
        [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), edges[:-1] / 2 + edges[1:] / 2]
    )
    slack = 4 * np.finfo(np.float64).eps * max(abs(bounds[0]), abs(bounds[1]))
    for value in values:
        count, *cells = counted(np.array([[value]]), box, [grid]).tolist()
        assert (count, sum(cells)) == (1, 1)
        cell = cells.index(1)
        assert edges[cell] - slack <= np.clip(value, *bounds) <= edges[cell + 1] + slack


def test_cells_are_narrow_and_narrower_around_the_anchor() -> None:
    for low, high in BOXES:
        grid = Grid(low, high)
        assert np.diff(grid.edges).max() <= 4 * (high - low) / zooming.PARTS * (1 + 1e-9)
        assert grid.edges[grid.below] <= grid.anchor <= grid.edges[grid.below + 1]
        assert np.diff(grid.edges)[grid.below] <= 2 * (high - low) / zooming.PARTS / 2**12
        assert grid.cells <= zooming.PARTS + 2 * len(zooming.NEAR)


def test_a_row_is_counted_alike_wherever_it_stands() -> None:
    """Also NaN and infinity, and across blocks: the histogram is the sum of those of single rows."""
    bounds = list(zip(*BOXES, strict=True))
    box = Box.read(bounds, len(BOXES))
    with np.errstate(all="ignore"):
        rows = hard_rows(200, len(BOXES), 1) * np.random.default_rng(1).choice([1e-9, 1.0, 50.0, 1e99], (200, 1))
        rows[3], rows[4] = np.nan, -0.0
        one_by_one = sum(counted(rows[[place]], box, grids_of(box)) for place in range(len(rows)))
        np.testing.assert_array_equal(counted(rows, box, grids_of(box)), one_by_one)
        many = np.resize(rows, (BLOCK + 100, len(BOXES)))
        np.testing.assert_array_equal(counted(many, box, grids_of(box)), counted(many[::-1], box, grids_of(box)))
        np.testing.assert_array_equal(counted(np.asfortranarray(rows), box, grids_of(box)), one_by_one)


# what one row moves


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.1}], ids=["pure", "rho"])
def test_without_any_one_row_the_cells_move_by_their_sensitivity(cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (1, 5, 40):
        rows = hard_rows(9, width, width)
        rows[0] = np.nan
        for place in range(len(rows)):
            found = recorder(monkeypatch)
            with np.errstate(all="ignore"):
                find(rows, (-1, 1), cost)
                find(without(rows, place), (-1, 1), cost)
            here, there = found.releases
            assert here.mechanism == there.mechanism
            assert check_moved(here.exact.astype(object) - there.exact.astype(object), here.sensitivity) == 1


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.1}], ids=["pure", "rho"])
def test_one_release_costs_the_share(cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = recorder(monkeypatch)
    share = Fraction(1, 20)
    find(np.zeros((5, 3)), (-1, 1), cost, share)
    (release,) = found.releases
    loss = release.mechanism.loss_for(sensitivity(3))
    spent = loss.epsilon if "epsilon" in cost else loss.concentrated().rho
    declared = Fraction(str(next(iter(cost.values())))) * share
    assert declared * Fraction(99, 100) <= spent <= declared
    assert release.sensitivity == sensitivity(3)


def test_what_is_found_depends_on_what_was_released_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(2).normal(5, 0.3, (ROWS, 2))
    found = recorder(monkeypatch)
    first = find(rows, (0, 60), {"epsilon": 1})
    found.again()
    second = find(rows[:3] * 0, (0, 60), {"epsilon": 1})
    assert (first.low.tolist(), first.high.tolist()) == (second.low.tolist(), second.high.tolist())


def test_a_cost_that_is_too_low_is_refused_before() -> None:
    check(10, Cost.alone(epsilon=1e-3), Fraction(1, 20))
    for cost in (Cost.alone(epsilon=1e-8), Cost.alone(rho=1e-8)):
        with pytest.raises(Refused, match="too large to draw"):
            check(10**5, cost, Fraction(1, 20))


# what is found, at a cost at which noise is a few rows


def _rows(name: str) -> Any:
    dice = np.random.default_rng(3)
    made: dict[str, Any] = {
        "normal": lambda: dice.normal(size=ROWS),
        "around five": lambda: dice.normal(5, 0.33, ROWS),
        "around three": lambda: dice.normal(3, 1, ROWS),
        "far": lambda: dice.normal(700, 5, ROWS),
        "uniform": lambda: 0.5 + dice.random(ROWS) / 30,
        "skewed": lambda: dice.exponential(size=ROWS),
        "heavy": lambda: dice.standard_cauchy(ROWS),
        "counts": lambda: dice.poisson(2, ROWS).astype(np.float64),
        "two places": lambda: np.where(dice.random(ROWS) < 0.5, 100, 140) + dice.normal(size=ROWS),
        "indicator": lambda: (dice.random(ROWS) < 0.5).astype(np.float64),
        "rare": lambda: (dice.random(ROWS) < 0.01).astype(np.float64),
        "mostly zero": lambda: np.where(dice.random(ROWS) < 0.08, dice.lognormal(8.8, 0.7, ROWS), 0),
        "mostly one code": lambda: np.where(dice.random(ROWS) < 0.9, 39, dice.integers(0, 42, ROWS)).astype(np.float64),
        "constant": lambda: np.full(ROWS, 700.0),
    }
    return made[name]()


WIDE: dict[str, tuple[str, tuple[float, float], tuple[float, float]]] = {
    "thirty times": ("normal", (-120, 120), (-20, 20)),
    "a thousand": ("normal", (-1000, 1000), (-20, 20)),
    "a million": ("normal", (-1e6, 1e6), (-250, 250)),
    "sixty": ("around five", (0, 60), (1, 9)),
    "lopsided": ("around three", (-200, 1000), (-15, 25)),
    "off zero": ("far", (0, 1000), (640, 760)),
    "a thirtieth": ("uniform", (0, 1), (0.44, 0.59)),
    "skewed": ("skewed", (0, 300), (0, 30)),
    "heavy": ("heavy", (-1e4, 1e4), (-2000, 2000)),
    "counts": ("counts", (0, 100), (0, 18)),
    "two places": ("two places", (-1000, 1000), (20, 230)),
    "indicator": ("indicator", (0, 30), (0, 2)),
}


@pytest.mark.parametrize("name", list(WIDE))
@pytest.mark.parametrize("cost", [{"epsilon": 20}, {"rho": 8}], ids=["pure", "rho"])
def test_wide_bounds_are_narrowed_to_what_holds_nearly_all_rows(name: str, cost: Any) -> None:
    """Three features at a twentieth: noise of about 6 rows. Of 150,000 features at most 12 had wider bounds than that,
    where a window was a power of four too wide by chance: in two tries some are with about 10⁻⁷, in three with 10⁻¹⁰.
    """
    kind, bounds, within = WIDE[name]
    values = _rows(kind)
    for _ in range(3):
        box = find(np.column_stack([values] * 3), bounds, cost, Fraction(1, 20))
        for low, high in zip(box.low, box.high, strict=True):
            assert bounds[0] <= low < high <= bounds[1]
            assert np.mean((values >= low) & (values <= high)) > 0.98
        if within[0] <= box.low.min() and box.high.max() <= within[1]:
            return
    pytest.fail(f"three boxes of three are too wide, the last is {box}")


TIGHT: dict[str, tuple[str, tuple[float, float]]] = {
    "normal": ("normal", (-4, 4)),
    "generous": ("normal", (-10, 10)),
    "uniform": ("uniform", (0.45, 0.6)),
    "skewed": ("skewed", (0, 7)),
    "indicator": ("indicator", (0, 1)),
    "a rare indicator": ("rare", (0, 1)),
    "a rare indicator in wide bounds": ("rare", (0, 30)),
    "a far tail that few are in": ("mostly zero", (0, 1e5)),
    "one code of many": ("mostly one code", (0, 41)),
    "constant": ("constant", (0, 1000)),
    "beyond": ("normal", (-0.1, 0.1)),
}


@pytest.mark.parametrize("name", list(TIGHT))
def test_tight_bounds_stay_as_they_are(name: str) -> None:
    """To the bit. At ε = 1 and ten features the noise has 311 rows; at a lower cost there are too few to tell. Skewed
    values are narrowed in 7 of 10,000 draws, others in none of 3,000: four of ten features are with less than 10⁻⁹."""
    kind, bounds = TIGHT[name]
    rows = np.column_stack([_rows(kind)] * 10)
    for epsilon in (1, 0.05, 0.001):
        box = find(rows, bounds, {"epsilon": epsilon}, Fraction(1, 20))
        assert list(zip(box.low, box.high, strict=True)).count(bounds) >= 7


def test_few_rows_and_none_leave_bounds_as_they_are() -> None:
    for rows in (np.zeros((0, 3)), np.full((5, 3), np.nan), np.random.default_rng(4).normal(size=(300, 3))):
        with np.errstate(all="ignore"):
            box = find(rows, (-1000, 1000), {"epsilon": 0.1}, Fraction(1, 20))
        assert set(zip(box.low, box.high, strict=True)) == {(-1000, 1000)}


def test_few_rows_are_not_promising_and_many_are() -> None:
    cost, share = Cost.alone(epsilon=1), Fraction(1, 20)
    assert not promising(0, 3, cost, share)
    assert not promising(-50, 3, cost, share)
    assert not promising(500, 10, cost, share)
    assert promising(20_000, 10, cost, share)


@pytest.mark.parametrize("bounds", BOXES)
def test_whatever_leaves_gives_a_box_within_the_box(bounds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noisy numbers of all sizes, negative ones too: bounds stay in order, inside, and apart for float64."""
    box, dice = Box.read(bounds, 2), np.random.default_rng(5)
    for scale in (1.0, 1e3, 1e6, 1e15):
        for _ in range(20):
            drawn = (dice.standard_cauchy(2 * Grid(*bounds).cells + 1) * scale).clip(-1e18, 1e18).astype(np.int64)
            drawn[0] = abs(drawn[0])
            exit_ = Exit(Cost.alone(epsilon=1), repeating(1))
            monkeypatch.setattr(Exit, "release", lambda *_, drawn=drawn: drawn)
            with np.errstate(all="ignore"):
                found = zoomed(np.zeros((3, 2)), box, exit_, WHOLE)
            assert (found.low >= box.low).all()
            assert (found.high <= box.high).all()
            assert (found.half > 0).all()
