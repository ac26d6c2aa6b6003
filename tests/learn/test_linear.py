"""Linear regression: exact sums, their sensitivity, the noise on them, and what is made of them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.datasets import load_diabetes

from discreet.audit import estimate
from discreet.errors import Refused
from discreet.exit import Sampler
from discreet.learn import LinearRegression, core, linear
from discreet.learn.box import Box
from discreet.learn.gram import Size
from discreet.learn.scaling import Scaling
from discreet.learn.sizing import Sized
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import SYSTEM, Bits
from tests.budget import later
from tests.learn.helpers import Till, learn, noises, repeating
from tests.learn.replaying import hard_rows, replay

FACTS: dict[str, Any] = {"bounds": (-1, 1), "y_bounds": (-1, 1)}
COSTS: dict[str, dict[str, Any]] = {"pure": {"epsilon": 1.0}, "rho": {"rho": 0.1}, "dear": {"rho": 50.0}}


# sensitivity


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("paid", list(COSTS))
def test_without_any_one_row_the_sums_move_at_most_their_sensitivity(
    paid: str, constant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    for width in (1, 3, 20):
        rows, targets = hard_rows(9, width, width), hard_rows(9, 1, width + 50)[:, 0]
        for place in range(len(rows)):
            used += replay(
                lambda: LinearRegression(**FACTS, **COSTS[paid], fit_intercept=constant),
                rows,
                targets,
                place,
                monkeypatch,
            )
    assert max(used) > 0.6


def test_the_sensitivity_is_attained_in_a_box() -> None:
    """By a corner: bounds are tight there, and a smaller one would be wrong."""
    for radii in ([8], [8, 8, 8], [8, 3, 5, 1]):
        moved = np.outer(radii, radii)[np.triu_indices(len(radii))].tolist()
        sensitivity = Size.of(radii).gram
        assert sum(map(abs, moved)) == sensitivity.l1
        assert sum(step**2 for step in moved) == sensitivity.l2_squared


# noise


def test_the_noise_is_that_of_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of usual length 9 = 3² in L2 are shortened to 2: l2² = (16 + 16)/2 + 4·4; of 6 in L1, to 4: 16 + 4·2."""
    rows = np.zeros((4, 6))
    count, spread, _ = noises(lambda: LinearRegression(**FACTS, rho=0.1), monkeypatch, rows, rows[:, 0])
    assert float(count.spread) == pytest.approx(math.sqrt(1 / (0.2 * 0.01)), rel=1e-3)
    assert float(spread.spread) / 2**15 == pytest.approx(math.sqrt(1.7 / (0.2 * 0.15)), rel=1e-3)
    _, spread, mean = noises(lambda: LinearRegression(**FACTS, epsilon=0.5), monkeypatch, rows, rows[:, 0])
    assert float(spread.scale) / 2**15 == pytest.approx(1.7 / (0.5 * 0.15), rel=1e-3)
    assert float(mean.scale) / 2**15 == pytest.approx(2 / (0.5 * 0.84), rel=1e-3), "noise hides all but the mean of y"
    cases: list[tuple[int, dict[str, Any], Any, float]] = [
        (9, {"rho": 0.1}, Gaussian, math.sqrt(32 / (0.2 * 0.84))),
        (6, {"epsilon": 0.5}, Laplace, 24 / (0.5 * 0.84)),
    ]
    for length, paid, kind, expected in cases:
        scaling = Scaling(
            Box.read((-1, 1), 7), np.zeros(7), np.ones(7), 10, Fraction(length), 1e6, (1.0,) * 7, (0.0,) * 7
        )
        monkeypatch.setattr(linear, "measured", lambda *_, scaling=scaling: scaling)
        _, noise = noises(partial(LinearRegression, **FACTS, **paid), monkeypatch, rows, rows[:, 0])
        assert isinstance(noise, kind)
        assert float(noise.spread) / 2**22 == pytest.approx(expected, rel=1e-3)


def test_the_noise_does_not_know_where_the_boxes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured with the same bits; a box that begins at zero is measured from there, with the same noise."""
    rows = np.full((3, 2), 0.5)
    found = [
        noises(
            partial(
                LinearRegression,
                bounds=(at - 1, at + 1),
                y_bounds=(-at - 1, 1 - at),
                rho=0.1,
                ledger=Till(repeating(1)),
            ),
            monkeypatch,
            rows + at,
            rows[:, 0] - at,
        )
        for at in (0, 2**20, 1)
    ]
    assert found[0] == found[1]
    assert found[0][0] == found[2][0]


def test_shifted_data_give_the_same_slopes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same bits; the cells of a histogram around zero are others elsewhere, and take others."""
    monkeypatch.setattr(linear, "sized", lambda _, box, __, search: Sized(300.0, box, search.left))
    dice = np.random.default_rng(0)
    rows, targets = dice.integers(-8, 9, (300, 2)) / 8, dice.integers(-8, 9, 300) / 8
    here, there = (
        LinearRegression(
            bounds=(at - 1, at + 1), y_bounds=(2 * at - 1, 2 * at + 1), rho=1, ledger=Till(repeating(1))
        ).fit(rows + at, targets + 2 * at)
        for at in (0, 1024)
    )
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-9)
    np.testing.assert_allclose(here.predict(rows) + 2048, there.predict(rows + 1024), rtol=1e-9)


def test_far_out_rows_count_as_their_bounds() -> None:
    rows, targets = np.array([[5.0, -1e250], [0.5, 0.25]]), np.array([1e99, -0.5])
    here, there = (
        LinearRegression(**FACTS, epsilon=1, ledger=Till(repeating(2))).fit(x, y)
        for x, y in ((rows, targets), (np.clip(rows, -1, 1), np.clip(targets, -1, 1)))
    )
    np.testing.assert_array_equal(here.coef_, there.coef_)


# the ledger


def test_refusals_cost_nothing() -> None:
    till = Till(SYSTEM)
    for wrong, error in (
        ({"bounds": None}, Refused),
        ({"y_bounds": None}, Refused),
        ({"epsilon": None}, Refused),
        ({"bounds": (1, 0)}, ValueError),
        ({"bounds": ([0, 0, 0], [1, 1, 1])}, ValueError),
        ({"y_bounds": ([0, 0], [1, 1])}, ValueError),
        ({"fit_intercept": "no"}, TypeError),
        ({"epsilon": 0}, ValueError),
        ({"rho": 1}, Refused),
    ):
        with pytest.raises(error):
            LinearRegression(**{**FACTS, "epsilon": 1, "ledger": till, **wrong}).fit(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(Refused, match="too large to draw"):
        LinearRegression(**FACTS, epsilon=1e-9, ledger=till).fit(np.zeros((3, 50)), np.zeros(3))
    with pytest.raises(Refused, match="too many features"):
        LinearRegression(**FACTS, epsilon=1, ledger=till).fit(np.zeros((2, 4097)), [0.0, 1.0])
    assert not till.events


# what is learned


def test_nobody_gives_numbers_too() -> None:
    for paid in COSTS.values():
        model = learn(LinearRegression(**FACTS, **paid), np.zeros((0, 3)), np.zeros(0), list("abc"), SYSTEM)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("paid", [{"epsilon": 1e7}, {"rho": 1e9}])
def test_at_a_high_cost_it_is_least_squares(paid: Any, constant: bool) -> None:
    """Rows are weighed by their length, so what is compared is the true line."""
    dice = np.random.default_rng(4)
    rows = dice.uniform([10, -3], [14, 5], (20_000, 2))
    targets = rows @ [2.0, -1.5] + (7 if constant else 0) + dice.normal(0, 0.1, len(rows))
    model = LinearRegression(bounds=([10, -3], [14, 5]), y_bounds=(0, 60), fit_intercept=constant, **paid)
    model.fit(rows, targets)
    np.testing.assert_allclose(model.coef_, [2, -1.5], atol=0.01)
    assert model.intercept_ == pytest.approx(7 if constant else 0, abs=0.15)
    assert model.score(rows, targets) > 0.999


def test_noise_shrinks_what_it_hides() -> None:
    """At a cost that shows nothing the model predicts nearly a constant, not something wild."""
    dice = np.random.default_rng(5)
    rows = dice.uniform(-1, 1, (200, 10))
    targets = rows[:, 0] / 2
    sizes = [float(np.abs(LinearRegression(**FACTS, rho=1e-4).fit(rows, targets).coef_).max()) for _ in range(30)]
    assert np.median(sizes) < 1


def test_where_noise_hides_all_else_the_model_is_a_mean_of_y() -> None:
    """500 rows at ε = 0.02: noise on products is twenty times their number, and to be believed, the noise on that would
    have to be 17 times its scale (10⁻⁷). The mean has a deviation of 2/(0.84·0.02·500), a quarter of the half-width."""
    dice = np.random.default_rng(6)
    rows = dice.uniform(-1, 1, (500, 10))
    for constant in (True, False):
        model = LinearRegression(**FACTS, epsilon=0.02, fit_intercept=constant).fit(rows, rows[:, 0])
        assert not model.coef_.any()
        assert abs(model.intercept_) <= constant


def test_means_that_were_measured_twice_count_by_their_noise() -> None:
    """Sums say 1 where the measurement before said 0: in between, the nearer to the one that has less noise."""
    matrix, right = np.diag([100.0, 100.0]), np.array([100.0, 0.0])
    for news in (0.0, 0.5, 1.0):
        start, slopes = linear._solved(matrix, right, 1, 1.0, 0.0, np.array([news, news]))
        assert [start, *slopes] == pytest.approx([news, 0])


def test_diabetes() -> None:
    """R² is 0.5 for least squares on its own rows; at ε = 1 with δ = 10⁻⁵ most of it remains."""
    rows, targets = load_diabetes(return_X_y=True)
    bounds: dict[str, Any] = {"bounds": (-0.2, 0.2), "y_bounds": (0, 350)}
    scores = [
        LinearRegression(**bounds, epsilon=1, delta=1e-5).fit(rows, targets).score(rows, targets) for _ in "12345"
    ]
    best = sklearn.linear_model.LinearRegression().fit(rows, targets).score(rows, targets)
    assert 0.1 < np.mean(scores) < best


# attack


def _intercept(rows: Any) -> float:
    model = learn(LinearRegression(**FACTS, epsilon=1), rows[:, :1], rows[:, 1], ["x"], SYSTEM)
    return float(model.intercept_)


def too_little(mechanism: Any, _: Any, exact: Any, bits: Bits) -> Any:
    return Laplace(mechanism.epsilon * 20, sensitivity=mechanism.sensitivity).release(exact, bits)


@pytest.mark.long
@pytest.mark.parametrize("samples", later([300, 1000]))
def test_an_auditor_finds_no_leak_and_would_find_one(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarms: 10⁻⁶."""
    rows = np.array([[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    found = estimate(_intercept, rows, rows[:2], claim=1, samples=samples, confidence=1 - 1e-6)
    assert not found.violated, str(found)
    monkeypatch.setattr(core, "SAMPLER", Sampler(add_noise=too_little))
    assert estimate(_intercept, rows, rows[:2], claim=1, samples=samples, confidence=1 - 1e-6).violated
