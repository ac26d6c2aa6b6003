"""Trees and forests: what leaves them, what it costs, and what they are good for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from discreet import Refused
from discreet.accounting.losses import Sensitivity
from discreet.audit import estimate
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    growing,
    zooming,
)
from discreet.learn.box import Box
from discreet.learn.growing import CHOICE, FIRST, SAY, SIZE, Trees
from discreet.learn.leaves import FINE, Classes, First, Range, Shares, prior_of, shrunk
from discreet.learn.thresholds import CUTS, HEAVIEST, PLACES, Rows, codes_of, crowded, evenly, weights_of
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from discreet.noise import SYSTEM
from tests.learn.cases import BOUNDS, COSTS, data
from tests.learn.helpers import Till, learn, repeating
from tests.learn.outlets import check_loss, check_neighbours, check_nobody, outlets

CLASSES: Final[dict[str, Any]] = {"bounds": BOUNDS, "classes": ["a", "b", "c"]}
NUMBERS: Final[dict[str, Any]] = {"bounds": BOUNDS, "y_bounds": (-2, 3)}
MODELS: Final[dict[str, tuple[str, Callable[..., Any]]]] = {
    "tree": ("numbers", lambda **more: DecisionTreeClassifier(**{"max_depth": 2, **CLASSES, **more})),
    "forest": (
        "numbers",
        lambda **more: RandomForestClassifier(**{"n_estimators": 4, "max_depth": 2, **CLASSES, **more}),
    ),
    "number": ("targets", lambda **more: DecisionTreeRegressor(**{"max_depth": 2, **NUMBERS, **more})),
    "numbers": (
        "targets",
        lambda **more: RandomForestRegressor(**{"n_estimators": 4, "max_depth": 2, **NUMBERS, **more}),
    ),
}
# those whose shape rows decide are in the tests of all estimators
every = pytest.mark.parametrize(("kind", "make"), MODELS.values(), ids=MODELS)
costed = pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if rows were so many that everything is released that ever is."""
    monkeypatch.setattr(zooming, "promising", lambda *_: True)
    monkeypatch.setattr(growing, "is_dense", lambda *_: True)
    monkeypatch.setattr(growing, "FEWEST", -np.inf)
    monkeypatch.setattr(growing, "MANY", -np.inf)
    monkeypatch.setattr(growing, "_levels", lambda _: 3)
    monkeypatch.setattr(growing, "RANDOM_TREES", (3, 3))


# privacy


@every
@costed
def test_without_any_one_row_nothing_moves_farther_than_it_says(
    kind: str, make: Any, cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_neighbours(lambda: make(**cost), *data(kind, 7, 3), monkeypatch)


@every
@costed
@pytest.mark.usefixtures("many")
def test_nor_where_rows_are_many(kind: str, make: Any, cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then bounds are zoomed, histograms released, cuts chosen, random trees stand beside them and are weighed."""
    shaped = {"max_depth": None, **({"n_estimators": None} if "n_estimators" in make().get_params() else {})}
    check_neighbours(lambda: make(**shaped, **cost), *data(kind, 5, 3), monkeypatch)
    check_nobody(lambda: make(**shaped, **cost), *data(kind, 30, 4), monkeypatch)
    found = outlets(monkeypatch)
    model = make(**shaped, **cost).fit(*data(kind, 40, 1))
    forest = "n_estimators" in shaped
    assert [len(model.features_), model.max_depth_] == [4 if forest else 1, 3]
    assert len(found.choices) == 3 + forest
    assert len(found.releases) == (kind == "targets") + 1 + 1 + 1 + 1 + forest  # range, size, zoom, histograms, leaves
    check_loss(found, model.loss_)


@every
@costed
def test_nobody_is_noised_like_everybody(kind: str, make: Any, cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = check_nobody(lambda: make(**cost), *data(kind, 30, 4), monkeypatch)
    assert len(np.unique(model.counts_[0])) > 1


@every
@costed
def test_all_that_leaves_costs_the_declared_loss(
    kind: str, make: Any, cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outlets(monkeypatch)
    model = make(**cost).fit(*data(kind, 40, 1))
    assert model.loss_ == model.loss_for(3)
    check_loss(found, model.loss_)


def test_the_noise_of_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twentieth counts the classes; half of the rest chooses a cut for each level, the other half is for leaves."""
    found = outlets(monkeypatch)
    DecisionTreeClassifier(max_depth=3, **CLASSES, epsilon=0.5).fit(*data("numbers", 20, 1))
    DecisionTreeClassifier(max_depth=3, **CLASSES, rho=0.5).fit(*data("numbers", 20, 1))
    each = Fraction(1, 2) * (1 - SIZE) * CHOICE
    most, other = ({choice.mechanism.sensitivity for choice in each} for each in np.split(np.array(found.choices), 2))
    pure, concentrated = (choice.mechanism for choice in (found.choices[0], found.choices[3]))
    assert len(found.choices) == 6
    assert pure == PermuteAndFlip(each / 3, sensitivity=most.pop(), monotone=True)
    assert concentrated == Exponential(rho=each / 3, sensitivity=other.pop(), monotone=True)
    assert not most | other, "one sensitivity for all levels"
    sizes, leaves = found.releases[:2]
    assert sizes.exact.size == 3
    assert sizes.mechanism.scale == 40 * 2**20
    assert leaves.exact.size == 8 * 3
    assert leaves.mechanism.scale == 2**20 / each


def test_the_noise_of_a_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    """T/ε on each count of T random trees, or a variance of T/(2ρ), in 2²⁰ parts of one."""
    costs: list[tuple[dict[str, Any], Any]] = [
        ({"epsilon": Fraction(1, 2)}, Laplace),
        ({"rho": Fraction(1, 50)}, Gaussian),
    ]
    for cost, kind in costs:
        found = outlets(monkeypatch)
        RandomForestClassifier(8, max_depth=2, **CLASSES, **cost).fit(*data("numbers", 20, 1))
        _, first, others = found.releases
        share = (1 - SIZE - SAY) * (1 - FIRST) * next(iter(cost.values()))
        assert isinstance(others.mechanism, kind)
        assert [first.exact.size, others.exact.size] == [4 * 3, 7 * 4 * 3]
        wide = float(others.mechanism.spread) / 2**20
        assert wide == pytest.approx(7 / share if kind is Laplace else (7 / (2 * share)) ** 0.5)
        assert len(found.choices) == 3


def _targets(dice: Any, count: int) -> list[tuple[Any, Any]]:
    """Both kinds of rows, and the same without the first."""
    places, shares = dice.integers(0, 3, count), dice.choice([0.0, 0.2, 0.5, 1.0, 1.5, -0.5], count)
    return [(Classes(places, 3), Classes(places[1:], 3)), (Shares(shares), Shares(shares[1:]))]


def test_scores_of_cuts_never_fall_and_never_rise_farther() -> None:
    dice = np.random.default_rng(4)
    for _ in range(100):
        count = int(dice.integers(1, 30))
        codes, part = dice.integers(0, 4, (2, count)).astype(np.uint8), dice.integers(0, 4, count)
        for target, fewer in _targets(dice, count):
            weights = dice.integers(1, HEAVIEST + 1, (3, target.outputs))
            with_, without = Rows(codes, target, weights), Rows(codes[:, 1:], fewer, weights)
            moved = with_.scores(part, 4, 1, 3) - without.scores(part[1:], 4, 1, 3)
            assert ((moved >= 0) & (moved <= with_.most)).all()


def test_a_lone_row_raises_a_score_by_all_that_it_may() -> None:
    """The bound is reached: in an empty part a row is the heaviest in all ways of comparing."""
    weights = np.array([[16, 64], [64, 32]])
    for target in Classes(np.array([1]), 2), Shares(np.array([1.0])):
        rows = Rows(np.zeros((1, 1), dtype=np.uint8), target, weights)
        assert rows.scores(np.zeros(1, dtype=np.int64), 1, 0, 1).tolist() == [96 * target.steps] == [rows.most]


def test_masses_of_a_row_add_up_to_one_in_whatever_steps() -> None:
    """By enumeration: what is released of a row has l1 ≤ s, so l2² ≤ s² as well."""
    for share, steps in product(
        [*np.linspace(-0.2, 1.2, 57), 1e-9, 1 - 1e-9, np.nextafter(1, 0)], [1, 2, 3, 1000, 2**20]
    ):
        target, one = Shares(np.array([share])), np.zeros(1, dtype=np.int64)
        for vector in target.whole(steps), target.sums(one, 1, steps)[0]:
            assert (vector >= 0).all()
            assert vector.sum() == steps
    assert Shares(np.array([0.25])).whole(16).tolist() == [9, 6, 1]


def test_what_rows_say_of_trees_is_bounded() -> None:
    """Whatever was said of them, a row is worth 0 to FINE; the better of two sayings is worth more."""
    dice = np.random.default_rng(1)
    scores = dice.integers(-20_000, 20_000, (3, 400))
    classes, shares = Classes(dice.integers(0, 3, 400), 3), Shares(dice.uniform(0, 1, 400))
    for row in range(400):
        one = slice(row, row + 1)
        assert 0 <= classes.gain(scores[:, one], one) <= FINE
        assert 0 <= shares.gain(scores[:1, one], one) <= FINE
    everybody = slice(0, 400)
    right = np.where(np.arange(3)[:, None] == classes.places, 1000, 0)
    assert classes.gain(right, everybody) > classes.gain(0 * right, everybody) > classes.gain(-right, everybody)
    near = np.rint(shares.shares * 1024).astype(np.int64)[None]
    assert shares.gain(near, everybody) == 400 * FINE > shares.gain(near + 100, everybody)


def test_rare_classes_weigh_more() -> None:
    np.testing.assert_array_equal(weights_of(np.array([1600.0, 100.0]))[0], [4, 64])
    for odd in [-5.0, -1.0], [0.0, 1e12], [2.0**32, -(2.0**32)], [1.0] * 20, [7.0], [3.0, 2.0, 1.0]:
        found = weights_of(np.array(odd))
        assert (found.max(axis=1) == HEAVIEST).all()
        assert found.min() >= 1


def test_cuts_are_offered_within_the_bounds_and_where_rows_lie() -> None:
    exit_ = Exit(Cost.alone(epsilon=1000), SYSTEM)
    box = Box.read(([0.0, -3.0], [100.0, 3.0]), 2)
    cuts = evenly(box)
    assert cuts.shape == (2, len(PLACES))
    rows = np.column_stack([np.linspace(0, 10, 5000), np.linspace(-3, 3, 5000)])
    near = crowded(rows, box, 5000.0, exit_, Fraction(1))
    assert near.shape == (2, CUTS)
    assert (near[0, :-1] < 12).all()
    np.testing.assert_allclose(near[1], np.linspace(-3, 3, CUTS + 2)[1:-1], atol=0.3)
    for each in cuts, near:
        assert (np.diff(each, axis=1) >= 0).all()
        assert ((each > box.low[:, None]) & (each < box.high[:, None])).all()


def test_a_code_says_which_cuts_a_value_is_above() -> None:
    cuts = np.array([[1.0, 2.0, 2.0, 3.0]])
    values = np.array([0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])[:, None]
    np.testing.assert_array_equal(codes_of(values, cuts)[0], (values > cuts[0]).sum(axis=1))


def test_rows_and_models_agree_where_a_row_ends() -> None:
    dice = np.random.default_rng(1)
    exact, cuts = dice.uniform(0, 1, (500, 3)), np.sort(dice.uniform(0, 1, (3, 7)), axis=1)
    rows = Rows(codes_of(exact, cuts), Classes(np.zeros(500, dtype=np.int64), 1), np.ones((1, 1), dtype=np.int64))
    tree = np.array([[2, 3], [0, 6], [2, 1]])
    trees = Trees([tree[:, 0]], [cuts[tree[:, 0], tree[:, 1]]])
    np.testing.assert_array_equal(rows.part(tree), trees.leaf(exact, 0))
    for cut in (1, 17, 499):
        np.testing.assert_array_equal(trees.leaf(exact, 0)[cut:], trees.leaf(exact[cut:], 0))
    assert rows.target.sums(rows.part(tree), 8, 1).sum() == 500


@pytest.mark.long
def test_an_audit_finds_nothing_and_would_find_too_little_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarms: 10⁻⁶."""
    rows = np.array([[0.2], [0.7], [0.4]])

    def leaves(count: int) -> Any:
        model = DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1], max_depth=1, epsilon=1)
        return learn(model, rows[:count], np.array([0, 1, 1])[:count], ["a"], SYSTEM).counts_[0].sum()

    assert not estimate(leaves, 3, 2, claim=1, samples=400, confidence=1 - 1e-6).violated
    monkeypatch.setattr(growing, "sensitivity", lambda count: Sensitivity(Fraction(count, 16), Fraction(count, 256)))
    assert estimate(leaves, 3, 2, claim=1, samples=400, confidence=1 - 1e-6).violated


# what leaves say


def test_leaves_without_noise_say_what_is_in_them() -> None:
    noisy = np.array([[[900.0, 100.0], [700.0, 300.0], [200.0, 800.0], [500.0, 500.0]]]) * 1000
    prior = noisy.sum(axis=(0, 1)) / noisy.sum()
    found = shrunk(noisy, 1e-3, prior, prior * (1 - prior))
    np.testing.assert_allclose(found[0], noisy[0] / noisy[0].sum(axis=1, keepdims=True), atol=1e-3)


def test_leaves_that_are_all_noise_say_what_all_rows_are() -> None:
    """Their differences are believed in a few of a hundred cases, and then by a little."""
    dice, prior = np.random.default_rng(3), np.array([0.7, 0.3])
    found = shrunk(100 * prior + dice.normal(0, 50, (1, 256, 2)), 50.0, prior, prior * (1 - prior))
    assert np.abs(found - prior).mean() < 0.05
    assert np.isfinite(np.log(found)).all()


def test_shares_of_all_rows_are_equal_where_noise_hides_them() -> None:
    np.testing.assert_allclose(prior_of(np.array([9000.0, 1000.0]), 1.0), [0.9, 0.1], atol=1e-3)
    for hidden in [-5.0, 2.0], [0.0, 0.0], [1.0, 4.0]:
        np.testing.assert_allclose(prior_of(np.array(hidden), 1000.0), [0.5, 0.5], atol=0.01)


def test_numbers_are_looked_at_where_they_lie() -> None:
    """Shares around 0.3 with a deviation of 0.05, from released sums; with much noise, in the whole range."""
    shares = Shares(np.random.default_rng(1).normal(0.3, 0.05, 10_000))
    sums = shares.whole(2**20) / 2**20
    near = Range.of(sums, 1e-3)
    assert (near.low, near.high) == pytest.approx((0.3 - 0.125, 0.3 + 0.125), abs=0.01)
    assert near.first.masses.tolist() == pytest.approx([5000, 5000], rel=0.02)
    assert near.first.variance[0] == pytest.approx(0.04, rel=0.05)
    assert 0.3 < near.first.clear < 0.5
    for noisy in np.zeros(3), np.array([-90.0, 3.0, 50.0]), np.array([1e9, -1e9, 0.0]):
        hidden = Range.of(noisy, 1e4)
        assert 0 <= hidden.low < hidden.high <= 1
        assert np.isfinite(hidden.first.masses).all()
    assert First.of_classes(np.array([30.0, 10.0]), 1e-6).variance == pytest.approx([3 / 16, 3 / 16])


# use


WRONG: Final[list[tuple[str, dict[str, Any], Any, str]]] = [
    ("forest", {"n_estimators": 0}, ValueError, "at least 1"),
    ("forest", {"n_estimators": 2.5}, TypeError, "integer"),
    ("forest", {"max_depth": 0}, ValueError, "at least 1"),
    ("forest", {"max_depth": 10**12}, ValueError, "fewer trees or less depth"),
    ("forest", {"n_estimators": 10**9}, ValueError, "fewer trees or less depth"),
    ("tree", {"max_depth": "deep"}, TypeError, "integer"),
    ("tree", {"bounds": None}, Refused, "bounds"),
    ("tree", {"classes": None}, Refused, "classes"),
    ("forest", {"classes": "ab"}, TypeError, "list"),
    ("forest", {"epsilon": None}, Refused, "cost"),
    ("tree", {"epsilon": -1}, ValueError, "above 0"),
    ("number", {"y_bounds": None}, Refused, "y_bounds"),
    ("numbers", {"y_bounds": (3, 1)}, ValueError, "low < high"),
    ("numbers", {"epsilon": 1e-8}, Refused, "cost"),
]


@pytest.mark.parametrize(("name", "wrong", "kind", "words"), WRONG)
def test_wrong_arguments_are_explained_before_anything_is_charged(
    name: str, wrong: dict[str, Any], kind: Any, words: str
) -> None:
    till = Till(repeating(0))
    rows, make = MODELS[name]
    with pytest.raises(kind, match=words):
        make(**{"epsilon": 1, "ledger": till, **wrong}).fit(*data(rows, 5, 0))
    assert not till.events


def test_cuts_are_chosen_where_they_tell_something() -> None:
    """Nine features say nothing, and one tells all; the base rate is 0.75. No cut of it is found with a probability
    below 10⁻⁸: it is worth thousands of rows, and the noise of a choice a few hundred."""
    dice = np.random.default_rng(5)
    rows = dice.uniform(0, 1, (20_000, 10))
    labels = dice.uniform(0, 1, 20_000) < 0.25
    rows[:, 4] = np.where(labels, 0.4, 0.001)
    for cost in {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}:
        for kind in DecisionTreeClassifier, RandomForestClassifier:
            model = kind(bounds=(0, 1), classes=[False, True], **cost).fit(rows, labels)
            assert 4 in model.features_[0]
            assert model.score(rows, labels) > 0.9


def test_a_forest_of_few_rows_is_one_tree_and_of_many_more() -> None:
    rows, labels = data("numbers", 200, 1)
    assert len(RandomForestClassifier(**CLASSES, epsilon=1).fit(rows, labels).features_) == 1
    assert RandomForestClassifier(**CLASSES, epsilon=0.01).fit(rows, labels).max_depth_ == 0
    many = RandomForestClassifier(**CLASSES, epsilon=1000).fit(rows, labels)
    assert len(many.features_) > 1
    assert len(RandomForestClassifier(3, **CLASSES, epsilon=1).fit(rows, labels).features_) == 3


@pytest.mark.parametrize("model", [RandomForestClassifier, DecisionTreeClassifier], ids=["forest", "tree"])
def test_breast_cancer(model: Any) -> None:
    """Means over five fits are about 0.88 with a deviation below 0.02; the larger class alone gives 0.63."""
    rows, labels = load_breast_cancer(return_X_y=True)
    bounds = (rows.min(axis=0), rows.max(axis=0))
    for cost in {"epsilon": 1}, {"epsilon": 1, "delta": 1e-5}:
        fits = [model(bounds=bounds, classes=[0, 1], **cost).fit(rows, labels).score(rows, labels) for _ in range(5)]
        assert np.mean(fits) > 0.75


@pytest.mark.parametrize("model", [RandomForestRegressor, DecisionTreeRegressor], ids=["forest", "tree"])
def test_steps_of_a_number_are_learned(model: Any) -> None:
    """The mean explains nothing; trees explain about nine tenths, and with bounds of the number that are far too wide
    hardly less."""
    dice = np.random.default_rng(6)
    rows = dice.uniform(0, 1, (10_000, 3))
    numbers = np.where(rows[:, 0] < 0.3, 5.0, np.where(rows[:, 1] < 0.5, 1.0, 2.0)) + dice.normal(0, 0.3, 10_000)
    for bounds in (0, 6), (-200, 1000):
        fitted = model(bounds=(0, 1), y_bounds=bounds, epsilon=1).fit(rows, numbers)
        assert fitted.score(rows, numbers) > 0.6
        assert bounds[0] <= fitted.predict(rows).min() <= fitted.predict(rows).max() <= bounds[1]


@pytest.mark.long
@pytest.mark.parametrize(("count", "epsilon"), [(500, 0.05), (500, 0.8)], ids=["no cut", "some cuts"])
@pytest.mark.parametrize("told", [0.0, 3.0], ids=["nothing to learn", "something"])
def test_a_tree_is_not_worse_than_how_many_rows_each_class_has(told: float, count: int, epsilon: float) -> None:
    """In the mean of a hundred fits, by the logarithmic loss; within three thousandths, and six standard errors."""
    dice = np.random.default_rng(7)
    rows = dice.uniform(-1, 1, (count, 4))
    labels = (dice.uniform(0, 1, count) < 1 / (1 + np.exp(-told * rows[:, 0] + 1))).astype(np.int64)
    shares = np.bincount(labels, minlength=2) / count

    def constant() -> float:
        noisy = np.maximum(np.bincount(labels, minlength=2) + dice.laplace(0, 1 / epsilon, 2), 1)
        return -float(shares @ np.log(noisy / noisy.sum()))

    def tree() -> float:
        model = DecisionTreeClassifier(bounds=(-1, 1), classes=[0, 1], epsilon=epsilon).fit(rows, labels)
        return -float(model.predict_log_proba(rows)[np.arange(count), labels].mean())

    ours, theirs = np.array([tree() for _ in range(100)]), np.array([constant() for _ in range(100)])
    assert ours.mean() <= theirs.mean() + 0.003 + 6 * np.sqrt((ours.var() + theirs.var()) / 100)


@pytest.mark.long
@pytest.mark.parametrize(
    ("tree", "forest", "about", "fits", "less"),
    [
        (DecisionTreeClassifier, RandomForestClassifier, {"classes": [0, 1]}, 6, 0.02),
        (DecisionTreeRegressor, RandomForestRegressor, {"y_bounds": (-5, 5)}, 10, 0.15),
    ],
)
def test_a_forest_is_not_below_its_tree(tree: Any, forest: Any, about: Any, fits: int, less: float) -> None:
    """Of 12 fits each, accuracies were 0.739 ± 0.021 and 0.792 ± 0.012, R² 0.49 ± 0.12 and 0.60 ± 0.07: the means are
    five to seven deviations from failing this. A forest of random trees alone does not come near."""
    dice = np.random.default_rng(5)
    rows = dice.uniform(-1, 1, (30_000, 6))
    numbers = rows[:, 0] + 2 * rows[:, 1] * rows[:, 2] + np.sin(3 * rows[:, 3]) / 2 + dice.normal(0, 0.5, len(rows))
    labels = (numbers > 0).astype(np.int64) if "classes" in about else numbers

    def quality(kind: Any) -> float:
        scores = [kind(bounds=(-1, 1), epsilon=20, **about).fit(rows, labels).score(rows, labels) for _ in range(fits)]
        return float(np.mean(scores))

    assert quality(forest) >= quality(tree) - less
