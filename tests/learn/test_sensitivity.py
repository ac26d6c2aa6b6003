"""Every vector that leaves a fit moves no farther than it says, and its noise is that of the theorem."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn import CategoricalNB, Estimator, GaussianNB, KMeans, StandardScaler
from discreet.learn.box import Box
from discreet.learn.kmeans.directions import Directions, Flat
from discreet.learn.kmeans.geometry import closest, nearest, squared_distances
from discreet.learn.moments import sensitivity as moments_sensitivity
from discreet.learn.moments import sums
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import SYSTEM
from tests.learn.cases import BOUNDS, FITS, IDS, data
from tests.learn.helpers import Till, learn, noises, recorder, repeating
from tests.learn.outlets import check_loss, check_neighbours, check_nobody, outlets

WORLDS = 3
# a search decides by coins which rows are fitted on: its own tests hold those coins
EVERY = {name: (make, kind) for name, make, kind in FITS if not name.startswith("search")}
every = pytest.mark.parametrize(("make", "kind"), EVERY.values(), ids=EVERY)


@every
def test_without_any_one_row_every_vector_moves_at_most_its_sensitivity(
    make: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given what was released before, as adaptive composition wants it; also where no row is left at all."""
    for world in (0, 2):
        check_neighbours(make, *data(kind, 1 + 3 * world, world), monkeypatch)


@every
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_what_is_no_number_moves_no_farther(
    make: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody lets such rows through; if somebody did, no more would leak."""
    rows, labels = data(kind, 4, 7)
    rows[0, 0], rows[1, 1], rows[2, 2], rows[3] = np.nan, np.inf, -np.inf, np.nan
    check_neighbours(make, rows, labels, monkeypatch)


@every
def test_all_releases_of_a_fit_together_cost_its_loss(
    make: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outlets(monkeypatch)
    model = make().fit(*data(kind, 50, 1))
    check_loss(found, model.loss_for(3))


def test_the_sensitivity_of_moments_is_attained_and_never_passed() -> None:
    for fine in (2, 4, 16, 64):
        steps = np.arange(-fine, fine + 1)
        squares = steps * steps // fine - fine // 2
        one = moments_sensitivity(0, 1)
        assert (np.abs(steps) + np.abs(squares)).max() == one.l1 * fine
        assert (steps**2 + squares**2).max() == one.l2_squared * fine**2


# scales


def test_the_lecture_s_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """2T/ε on counts and 2T·|dom|/ε on sums, with |dom| the sum of the half-widths, in steps of the widest one."""
    for bounds in (([0, 0], [2, 4]), ([1000, -5], [1002, -1])):
        make = partial(KMeans, 3, bounds=bounds, epsilon=0.5, method="lloyd", max_iter=4)
        found = noises(make, monkeypatch, np.array([[1.0, 1.0], [1.5, 3.0]]))
        assert len(found) == 8
        assert all(isinstance(noise, Laplace) for noise in found)
        step = Fraction(2, 2**20)
        assert [noise.scale for noise in found[::2]] == [Fraction(2 * 4 * 2)] * 4
        assert [noise.scale * step for noise in found[1::2]] == [Fraction(2 * 4 * 2 * (1 + 2))] * 4


def test_the_noise_of_naive_bayes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = data("places", 20, 0)
    facts: dict[str, Any] = {"categories": 3, "classes": ["a", "b"]}
    (pure,) = noises(lambda: CategoricalNB(epsilon=0.1, **facts), monkeypatch, rows, labels)
    assert pure.scale == 30
    (cheaper,) = noises(lambda: CategoricalNB(rho=0.1, **facts), monkeypatch, rows, labels)
    assert isinstance(cheaper, Gaussian)
    assert float(cheaper.spread) ** 2 == pytest.approx(3 / (2 * 0.1))
    (dear,) = noises(lambda: CategoricalNB(rho=100, categories=3, classes=["a"]), monkeypatch, rows[:, :1], labels)
    assert isinstance(dear, Laplace)
    assert dear.loss.concentrated().rho <= 100


def test_gaussian_naive_bayes_is_one_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = data("numbers", 20, 0)
    count, noise = noises(lambda: GaussianNB(bounds=BOUNDS, classes=["a", "b"], rho=0.1), monkeypatch, rows, labels)
    assert float(count.spread) == pytest.approx(np.sqrt(50 / 0.2))
    assert float(noise.spread) / 2**20 == pytest.approx(np.sqrt((1 + 1.25 * 3) / (0.2 * 0.98)))


@pytest.mark.parametrize("method", ["grid", "lloyd", "laplace-lloyd"])
def test_noise_does_not_know_where_the_box_is(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).uniform(-1, 1, (30, 2))
    facts: dict[str, Any] = {"epsilon": 1, "method": method, "expected_n": 30, "max_iter": 2}
    here, there = (
        noises(partial(KMeans, 2, bounds=(shift - 1, shift + 1), **facts), monkeypatch, rows + shift)
        for shift in (0, 10_000)
    )
    assert [noise.scale for noise in here] == [noise.scale for noise in there]


@every
def test_nobody_is_noised_like_everybody(make: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty clusters, classes and tables: as many numbers leave, with the same noise, and all are finite."""
    check_nobody(make, *data(kind, 40, 5), monkeypatch)


def test_every_number_gets_its_own_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    found = recorder(monkeypatch)
    learn(
        KMeans(40, bounds=(0, 1), epsilon=0.001, method="lloyd", max_iter=1), np.zeros((0, 2)), None, ["a", "b"], SYSTEM
    )
    for release in found.releases:
        assert len(set(release.values.tolist())) > release.values.size * 0.9


# arithmetic


def test_what_a_row_does_depends_on_that_row_alone() -> None:
    """Bit by bit, wherever it stands: a matrix product would not do."""
    dice = np.random.default_rng(11)
    rows, centres = dice.normal(size=(20_000, 7)), dice.normal(size=(30, 7))
    box = Box.read((-3, 3), 7)
    axes, _ = np.linalg.qr(dice.normal(size=(7, 4)))
    directions = Directions(
        dice.normal(size=7), axes, -np.ones(4), np.ones(4), (np.full(4, -9.0), np.full(4, 9.0)), 0.0
    )
    flat = Flat(box, box)
    for cut in (1, 5, 8191, 12_345):
        np.testing.assert_array_equal(nearest(rows, centres)[cut:], nearest(rows[cut:], centres))
        np.testing.assert_array_equal(squared_distances(rows, centres)[cut:], squared_distances(rows[cut:], centres))
        np.testing.assert_array_equal(closest(rows, centres)[cut:], closest(rows[cut:], centres))
        np.testing.assert_array_equal(directions.seen(rows)[cut:], directions.seen(rows[cut:]))
        np.testing.assert_array_equal(flat.rows(rows)[cut:], flat.rows(rows[cut:]))
        np.testing.assert_array_equal(box.steps(rows, 2**20)[cut:], box.steps(rows[cut:], 2**20))


def test_coordinates_stay_within_the_radius_whatever_floats_do() -> None:
    for bounds in ((0.1, 0.3), (-1e100, 1e100), (1e15, 1e15 + 1), (5e-324, 1e-300), (-1e-9, 1e9)):
        box = Box.read(bounds, 1)
        rows = np.array([[-np.inf], [np.inf], [1e308], [-1e308], [bounds[0]], [bounds[1]], [0.2], [0.0]])
        for radius in (2, 2**20):
            steps = box.steps(rows, radius)
            assert np.abs(steps).max() == radius
        assert (
            (box.low <= box.points(np.array([[-1.0], [1.0], [7.0]]))) & (box.points(np.ones((1, 1))) <= box.high)
        ).all()


def test_sums_are_exact() -> None:
    dice = np.random.default_rng(2)
    columns = dice.integers(-(2**20), 2**20, (10_000, 2))
    places = dice.integers(-1, 4, 10_000)
    found = sums(places, columns, 5)
    for group in range(5):
        assert found[group].tolist() == [sum(column[places == group].tolist()) for column in columns.T]


def test_an_exit_is_not_overdrawn() -> None:
    exit_ = Exit(Cost.alone(epsilon=1), SYSTEM)
    one = Sensitivity.cells(1, 1)
    exit_.release(np.zeros(3, dtype=np.int64), one, Fraction(2, 3))
    with pytest.raises(RuntimeError, match="more than was charged"):
        exit_.release(np.zeros(3, dtype=np.int64), one, Fraction(1, 2))
    exit_.release(np.zeros(3, dtype=np.int64), one, Fraction(1, 3))


def test_a_till_is_asked_once_and_its_bits_decide_everything() -> None:
    for _, make, kind in FITS:
        rows, labels = data(kind, 30, 9)
        pair = []
        for _ in range(2):
            till = Till(repeating(4))
            pair.append(make(ledger=till).fit(rows, labels))
            assert till.events == [(pair[-1].loss_for(3), f"{type(pair[-1]).__name__}.fit")]
        np.testing.assert_equal(_learned(pair[0]), _learned(pair[1]))


def _learned(model: Any) -> dict[str, Any]:
    found = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "candidates_"}
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    """Estimators, also those in a list, as what they learned."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return _learned(value) if isinstance(value, Estimator) else value


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in FITS], ids=IDS)
def test_costs_at_the_ends_are_drawn_or_refused_before_the_charge(make: Callable[..., Any], kind: str) -> None:
    for amount in (1e-9, 1e-8, 1e-6, 1e6, 1e9):
        till = Till(SYSTEM)
        model = make(ledger=till)
        model.set_params(**{name: amount for name in ("rho", "epsilon") if getattr(model, name) is not None})
        refused = False
        try:
            model.fit(*data(kind, 20, 0))
        except (Refused, ValueError) as wrong:
            refused = "higher cost" in getattr(wrong, "fix", "") or "must lie between" in str(wrong)
        assert refused is not bool(till.events)
        assert not (refused and amount > 1e-6)


@pytest.mark.parametrize(("width", "cost"), [(10**4, 1e-9), (10**6, 1e-6)])
def test_so_many_features_are_refused_before_the_charge(width: int, cost: float) -> None:
    with pytest.raises(Refused, match="cost-invalid"):
        StandardScaler(bounds=(0, 1), epsilon=cost).loss_for(width)
