"""Random trees: what leaves them, what it costs, and what they are good for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from discreet import Refused
from discreet.accounting.losses import Sensitivity
from discreet.audit import estimate
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn import DecisionTreeClassifier, RandomForestClassifier, trees
from discreet.learn.box import Box
from discreet.learn.thresholds import HEAVIEST, OFFERS, Rows, offered, weights_of
from discreet.learn.trees import counts_of, grown
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from discreet.noise import SYSTEM
from tests.learn.cases import BOUNDS, COSTS, data
from tests.learn.helpers import Till, learn, repeating
from tests.learn.outlets import NAMES, check_loss, check_neighbours, check_nobody, outlets

FACTS: Final[dict[str, Any]] = {"bounds": BOUNDS, "classes": ["a", "b", "c"]}
MODELS: Final[dict[str, Callable[..., Any]]] = {
    "forest": lambda **more: RandomForestClassifier(**{**FACTS, **more}),
    "shaped forest": lambda **more: RandomForestClassifier(4, **{"max_depth": 3, **FACTS, **more}),
    "tree": lambda **more: DecisionTreeClassifier(**{"candidates": 9, **FACTS, **more}),
    "shaped tree": lambda **more: DecisionTreeClassifier(**{"candidates": 5, "max_depth": 2, **FACTS, **more}),
}
# the others are in the tests of all estimators
shaped = pytest.mark.parametrize("make", [MODELS["shaped forest"], MODELS["shaped tree"]], ids=["forest", "tree"])
costed = pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)


# privacy


@shaped
@costed
def test_without_any_one_row_nothing_moves_farther_than_it_says(
    make: Any, cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_neighbours(lambda: make(**cost), *data("numbers", 7, 3), monkeypatch)


@shaped
@costed
def test_nobody_is_noised_like_everybody(make: Any, cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = check_nobody(lambda: make(**cost), *data("numbers", 30, 4), monkeypatch)
    assert (np.diff(np.unique(model.counts_)) > 0).any()


@shaped
@costed
def test_all_that_leaves_costs_the_declared_loss(make: Any, cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outlets(monkeypatch)
    model = make(**cost).fit(*data("numbers", 40, 1))
    assert model.loss_ == model.loss_for(3)
    check_loss(found, model.loss_)


@costed
def test_chosen_cuts_keep_to_what_they_say(cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as above for forests that have rows enough to choose their cuts."""
    monkeypatch.setattr(trees, "ENOUGH", -np.inf)
    for make in (partial(MODELS[name], **cost) for name in ("forest", "shaped forest")):
        check_neighbours(make, *data("numbers", 5, 3), monkeypatch)
        check_nobody(make, *data("numbers", 30, 4), monkeypatch)
        found = outlets(monkeypatch)
        model = make().fit(*data("numbers", 40, 1))
        assert len(found.choices) == len(model.counts_) * model.max_depth_
        check_loss(found, model.loss_)


def test_the_noise_of_chosen_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twentieth counts the classes; half of the rest chooses seven times two cuts, the other half is for leaves."""
    monkeypatch.setattr(trees, "ENOUGH", -np.inf)
    found = outlets(monkeypatch)
    RandomForestClassifier(7, max_depth=2, **FACTS, epsilon=0.5).fit(*data("numbers", 20, 1))
    sizes, leaves = found.releases
    assert sizes.exact.size == 3
    assert sizes.mechanism.scale == 40 * 2**20
    each = Fraction(1, 2) * Fraction(19, 40)
    assert {choice.mechanism for choice in found.choices} == {PermuteAndFlip(each / 14, sensitivity=64, monotone=True)}
    assert len(found.choices) == 14
    assert leaves.mechanism.scale == 7 / each * 2**20
    RandomForestClassifier(7, max_depth=2, **FACTS, rho=0.5).fit(*data("numbers", 20, 1))
    assert found.choices[-1].mechanism == Exponential(rho=each / 14, sensitivity=64, monotone=True)


def test_a_new_row_raises_the_score_of_a_cut_by_at_most_the_heaviest_weight() -> None:
    """By all of it where the rarest class is alone, by nothing where it is outvoted; counted by hand elsewhere."""
    rows, held = np.array([[0.2], [0.3], [0.8], [0.9]]), np.array([0, 0, 0, 1])
    weights = np.array([16, HEAVIEST])
    for value, place, gain in (0.1, 0, 16), (0.1, 1, 32), (0.95, 1, HEAVIEST), (0.95, 0, 0), (0.1, -1, 0):
        more = Rows.of(np.vstack([rows, [[value]]]), np.append(held, place), weights)
        before, after = (each.score(each.held, 1, 0, 0.5) for each in (Rows.of(rows, held, weights), more))
        assert before == 2 * 16 + HEAVIEST
        assert after - before == gain


def test_scores_never_fall_and_never_rise_farther() -> None:
    dice = np.random.default_rng(4)
    for _ in range(200):
        count = int(dice.integers(1, 30))
        exact, places = dice.integers(0, 4, (count, 2)).astype(np.float64), dice.integers(-1, 3, count)
        weights, part = dice.integers(1, HEAVIEST + 1, 3), dice.integers(0, 4, count)
        scores = []
        for some in slice(None), slice(1, None):
            rows = Rows.of(exact[some], places[some], weights)
            scores.append(rows.score(6 * part[some][places[some] >= 0] + rows.held, 4, 1, 1.5))
        assert 0 <= scores[0] - scores[1] <= HEAVIEST


def test_rare_classes_weigh_more() -> None:
    np.testing.assert_array_equal(weights_of(np.array([1600.0, 100.0, 400.0])), [16, 64, 32])
    for odd in [-5.0, -1.0], [0.0, 1e12], [2.0**32, -(2.0**32)]:
        found = weights_of(np.array(odd))
        assert found.max() == HEAVIEST
        assert found.min() >= HEAVIEST / 5


def test_offers_know_the_bounds_alone_and_crowd_at_their_low_end() -> None:
    exit_ = Exit(Cost.alone(epsilon=1), SYSTEM)
    for width in 1, 10, 10**4:
        box = Box.read((np.full(width, -3.0), np.arange(width) + 5.0), width)
        features, cuts = offered(box, 20, 3, exit_)
        assert features.shape == cuts.shape == (20, 3, np.clip(4 * width, *OFFERS))
        shares = (cuts - box.low[features]) / (box.high - box.low)[features]
        assert ((shares > 0) & (shares <= 1)).all()
        # below an eighth lie an eighth of one half and four sevenths of the other; at least 960 offers, 6 deviations
        assert 0.25 < np.mean(shares < 1 / 8) < 0.45


def test_cuts_are_chosen_where_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine features say nothing, and one tells all; the base rate is 0.75. A tree is offered no cut of it that helps
    with a probability below 10⁻⁸.
    """
    dice = np.random.default_rng(5)
    rows = dice.uniform(0, 1, (20_000, 10))
    labels = dice.uniform(0, 1, 20_000) < 0.25
    rows[:, 4] = np.where(labels, 0.4, 0.001)
    for cost in {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}:
        found = outlets(monkeypatch)
        model = RandomForestClassifier(bounds=(0, 1), classes=[False, True], **cost).fit(rows, labels)
        assert found.choices
        assert model.score(rows, labels) > 0.9
        for level in range(model.max_depth_):
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            assert (np.ptp(model.features_[:, nodes], axis=1) == 0).all()
            assert (np.ptp(model.thresholds_[:, nodes], axis=1) == 0).all()
        few = outlets(monkeypatch)
        RandomForestClassifier(bounds=(0, 1), classes=[False, True], **cost).fit(rows[:50], labels[:50])
        assert not few.choices


def test_the_noise_of_a_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    """T/ε on each count, or a variance of T/(2ρ), in 2²⁰ parts of one, where ε and ρ are 19/20 of the cost."""
    costs: list[tuple[dict[str, Any], Any]] = [({"epsilon": 0.5}, Laplace), ({"rho": 0.02}, Gaussian)]
    for cost, kind in costs:
        found = outlets(monkeypatch)
        RandomForestClassifier(7, max_depth=2, **FACTS, **cost).fit(*data("numbers", 20, 1))
        _, release = found.releases
        assert isinstance(release.mechanism, kind)
        assert release.exact.size == 7 * 4 * 3
        wide = float(release.mechanism.spread) / 2**20
        assert wide == pytest.approx(7 / 0.475 if kind is Laplace else (7 / 0.038) ** 0.5)
        assert not found.choices


def test_the_noise_of_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the cost chooses, the other half tells the leaves; choosing is by counts, so without a factor of 2."""
    found = outlets(monkeypatch)
    DecisionTreeClassifier(max_depth=3, **FACTS, epsilon=0.5).fit(*data("numbers", 20, 1))
    DecisionTreeClassifier(max_depth=3, **FACTS, rho=0.5).fit(*data("numbers", 20, 1))
    pure, concentrated = (choice.mechanism for choice in found.choices)
    assert pure == PermuteAndFlip(Fraction(1, 4), sensitivity=1, monotone=True)
    assert concentrated == Exponential(rho=Fraction(1, 4), sensitivity=1, monotone=True)
    assert found.releases[0].mechanism.scale == 4 * 2**20
    assert found.releases[0].exact.size == 8 * 3
    assert found.choices[0].exact.max() <= 20


def test_splits_know_the_bounds_alone() -> None:
    """The same bits give the same splits, whatever the rows; thresholds lie within what the ancestors leave."""
    rows, labels = data("numbers", 20, 1)
    shaped = MODELS["shaped forest"]
    here = learn(shaped(epsilon=1), rows, labels, NAMES, repeating(5))
    there = learn(shaped(epsilon=1), rows[:0], labels[:0], NAMES, repeating(5))
    np.testing.assert_array_equal(here.features_, there.features_)
    np.testing.assert_array_equal(here.thresholds_, there.thresholds_)
    box = Box.read(BOUNDS, 3)
    found = grown(50, 5, box, Exit(Cost.alone(epsilon=1), SYSTEM))
    for tree in range(found.count):
        _check_ranges(found, tree, 0, box.low.copy(), box.high.copy())


def _check_ranges(found: Any, tree: int, node: int, low: Any, high: Any) -> None:
    if node >= found.features.shape[1]:
        return
    feature, threshold = found.features[tree, node], found.thresholds[tree, node]
    assert low[feature] < threshold < high[feature]
    left, right = high.copy(), low.copy()
    left[feature] = right[feature] = threshold
    _check_ranges(found, tree, 2 * node + 1, low, left)
    _check_ranges(found, tree, 2 * node + 2, right, high)


def test_every_row_is_counted_once_in_each_tree_unless_its_class_is_unknown() -> None:
    rows = np.random.default_rng(1).uniform(-1, 1, (500, 3))
    places = np.random.default_rng(2).integers(-1, 3, 500)
    found = grown(6, 4, Box.read((-1, 1), 3), Exit(Cost.alone(epsilon=1), SYSTEM))
    counts = counts_of(found, rows, places, 3, Exit(Cost.alone(epsilon=1), SYSTEM))
    for place in range(3):
        assert (counts[:, :, place].sum(axis=1) == np.count_nonzero(places == place)).all()
    for cut in (1, 17, 499):
        np.testing.assert_array_equal(found.leaf(rows, 2)[cut:], found.leaf(rows[cut:], 2))


@pytest.mark.long
def test_an_audit_finds_nothing_and_would_find_too_little_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarms: 10⁻⁶."""
    rows = np.array([[0.2], [0.7], [0.4]])

    def leaves(count: int) -> Any:
        model = DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1], candidates=2, max_depth=1, epsilon=1)
        return learn(model, rows[:count], np.array([0, 1, 1])[:count], ["a"], SYSTEM).counts_.sum()

    assert not estimate(leaves, 3, 2, claim=1, samples=400, confidence=1 - 1e-6).violated
    monkeypatch.setattr(trees, "sensitivity", lambda count: Sensitivity(Fraction(count, 16), Fraction(count, 256)))
    assert estimate(leaves, 3, 2, claim=1, samples=400, confidence=1 - 1e-6).violated


# use


WRONG: Final[list[tuple[str, dict[str, Any], Any, str]]] = [
    ("forest", {"n_estimators": 0}, ValueError, "at least 1"),
    ("forest", {"n_estimators": 2.5}, TypeError, "integer"),
    ("forest", {"max_depth": 0}, ValueError, "at least 1"),
    ("forest", {"max_depth": 10**12}, ValueError, "fewer trees or less depth"),
    ("forest", {"n_estimators": 10**9}, ValueError, "fewer trees or less depth"),
    ("tree", {"candidates": 1}, ValueError, "at least 2"),
    ("tree", {"max_depth": "deep"}, TypeError, "integer"),
    ("tree", {"bounds": None}, Refused, "bounds"),
    ("tree", {"classes": None}, Refused, "classes"),
    ("forest", {"classes": "ab"}, TypeError, "list"),
    ("forest", {"epsilon": None}, Refused, "cost"),
    ("tree", {"epsilon": -1}, ValueError, "above 0"),
]


@pytest.mark.parametrize(("name", "wrong", "kind", "words"), WRONG)
def test_wrong_arguments_are_explained_before_anything_is_charged(
    name: str, wrong: dict[str, Any], kind: Any, words: str
) -> None:
    till = Till(repeating(0))
    with pytest.raises(kind, match=words):
        MODELS[name](**{"epsilon": 1, "ledger": till, **wrong}).fit(*data("numbers", 5, 0))
    assert not till.events


@pytest.mark.parametrize(
    ("model", "least"), [(RandomForestClassifier, 0.80), (DecisionTreeClassifier, 0.80)], ids=["forest", "tree"]
)
def test_breast_cancer(model: Any, least: float) -> None:
    """Means over five fits are about 0.90 with a deviation below 0.02; the larger class alone gives 0.63."""
    rows, labels = load_breast_cancer(return_X_y=True)
    bounds = (rows.min(axis=0), rows.max(axis=0))
    for cost in {"epsilon": 1}, {"epsilon": 1, "delta": 1e-5}:
        fits = [model(bounds=bounds, classes=[0, 1], **cost).fit(rows, labels).score(rows, labels) for _ in range(5)]
        assert np.mean(fits) > least
