"""Additive models: integers all the way, so that what a row can do is proven and not hoped for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from discreet import Refused
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn import AdditiveClassifier, AdditiveRegressor, boosting
from discreet.learn.boosting import (
    BINS,
    MOST_MOVE,
    MOST_TURNS,
    MOST_VISITS,
    Cuts,
    Plan,
    Rows,
    binned,
    by_class,
    scored,
)
from discreet.learn.box import Box
from discreet.learn.residuals import FAR, GRAIN, POWERS, OneClass, Values
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import SYSTEM
from tests.learn.cases import BOUNDS, COSTS, data
from tests.learn.helpers import Till, learn, repeating
from tests.learn.outlets import NAMES, check_moves, outlets

MODELS: Final[dict[str, Callable[..., Any]]] = {
    "two": lambda **more: AdditiveClassifier(**{"bounds": BOUNDS, "classes": ["a", "b"], **more}),
    "three": lambda **more: AdditiveClassifier(**{"bounds": BOUNDS, "classes": ["a", "b", "c"], **more}),
    "number": lambda **more: AdditiveRegressor(**{"bounds": BOUNDS, "y_bounds": (-2, 3), **more}),
}
every = pytest.mark.parametrize("name", MODELS)
costed = pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)


def given(name: str, rows: int, seed: int) -> tuple[Any, Any]:
    """Rows with labels, or with numbers of which some are beyond the bounds."""
    features, labels = data("numbers", rows, seed)
    return features, np.random.default_rng(seed).uniform(-4, 4, rows) if name == "number" else labels


# privacy


@every
def test_the_same_with_a_histogram_and_scores_far_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows beside one that changes: each of the others must do the same, bit by bit."""
    rows, labels = given(name, 300, 4)
    monkeypatch.setattr(boosting, "MOST_TURNS", 25)
    found = outlets(monkeypatch)
    learn(MODELS[name](rho=5), rows, labels, NAMES, SYSTEM)
    assert found.releases[1].exact.size == 3 * BINS
    for place in range(3):
        _check_one(MODELS[name], rows, labels, 100 * place, monkeypatch)


def _check_one(make: Any, rows: Any, labels: Any, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outlets(monkeypatch)
    learn(make(rho=5), rows, labels, NAMES, repeating(place))
    found.again()
    learn(make(rho=5), np.delete(rows, place, 0), np.delete(labels, place, 0), NAMES, repeating(place))
    check_moves(found)


WHOLE_LINE: Final = slice(None)


def test_no_residuals_pass_their_sensitivity_and_some_attain_it() -> None:
    """All scores of a grid, also far apart: in integers, for whatever number of steps."""
    for classes, fine in itertools.product((2, 3, 4), (2, 64, 2**20)):
        levels = np.array([-(2**40), -20_000, -700, 0, 1, 900, 2**40], dtype=np.float64)
        scores = np.array(list(itertools.product(levels, repeat=1 if classes == 2 else classes))).T
        for own in range(classes):
            target = OneClass(own, classes)
            found = target.residuals(scores, WHOLE_LINE, fine).astype(np.int64)
            assert found.shape == scores.shape
            assert np.abs(found).sum(axis=0).max() == target.sensitivity.l1 * fine
            assert (found**2).sum(axis=0).max() == target.sensitivity.l2_squared * fine**2
    numbers = Values(np.arange(-GRAIN, GRAIN + 1))
    for score in (0, 2**40, -(2**40), 17):
        lengths = np.abs(numbers.residuals(np.full((1, 2 * GRAIN + 1), float(score)), WHOLE_LINE, 64))
        assert lengths.max() == 32


@pytest.mark.parametrize("fine", [2, 64, 2**13, 2**20])
def test_residuals_are_what_python_s_integers_give(fine: int) -> None:
    """Quotients too are exact in float64."""
    dice = np.random.default_rng(fine)
    for classes in (2, 3, 10):
        outputs = 1 if classes == 2 else classes
        wide = dice.choice(np.array([3, 900, 9_000, 10**6]), 1_500)
        scores = np.rint(dice.normal(size=(outputs, 1_500)) * wide)
        for own in {0, 1, classes - 1}:
            found = OneClass(own, classes).residuals(scores, WHOLE_LINE, fine)
            expected = [_lacking([int(score) for score in row], own, fine) for row in scores.T]
            assert found.T.tolist() == expected
    steps, scores = dice.integers(-GRAIN, GRAIN + 1, 1_500), np.rint(dice.normal(size=(1, 1_500)) * 900)
    found = Values(steps).residuals(scores, WHOLE_LINE, fine)
    for value, step, score in zip(found[0], steps.tolist(), scores[0], strict=True):
        length = min(abs(step - int(score)), GRAIN // 2) * fine // GRAIN
        assert value == (length if step > score else -length)


def _lacking(scores: list[int], own: int, fine: int) -> list[int]:
    every = [0, *scores] if len(scores) == 1 else scores
    weights = [int(POWERS[min(max(every) - score, FAR * GRAIN)]) for score in every]
    chances = [weight * fine // sum(weights) for weight in weights]
    longest = max(fine - chances[own], fine // 2)
    found = [-(chance * (fine // 2) // longest) for chance in chances]
    found[own] = (fine - chances[own]) * (fine // 2) // longest
    return found[-len(scores) :]


def test_the_noise_of_a_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a unit for a number or two classes, one for more (√½ in l2); a visit pays its part of what is left."""
    for name, l1, l2_squared in ("two", 0.5, 0.25), ("three", 1, 0.5), ("number", 0.5, 0.25):
        found = outlets(monkeypatch)
        MODELS[name](epsilon=2).fit(*given(name, 20, 1))
        size, *visits = found.releases
        assert isinstance(size.mechanism, Laplace)
        assert size.mechanism.scale / 2**20 == Fraction(20, 2)
        for visit in visits:
            assert visit.mechanism.epsilon == Fraction(2) * Fraction(19, 20) / len(visits)
            assert visit.sensitivity.l1 / 2**20 == l1
        found = outlets(monkeypatch)
        MODELS[name](rho=0.1).fit(*given(name, 20, 1))
        turns = found.releases[1:]
        wide = (4 * l2_squared * len(turns) / (2 * 0.1 * 0.95)) ** 0.5
        for turn in turns:
            assert isinstance(turn.mechanism, Gaussian)
            assert turn.exact.shape[0] == 4 * (3 if name == "three" else 1)
            assert float(turn.mechanism.spread) / 2**20 == pytest.approx(wide)


def test_plans_stay_within_their_limits() -> None:
    target = OneClass(0, 3)
    for width, rows in itertools.product((1, 7, 300), (1.0, 1e3, 1e9)):
        for cost in (Cost.alone(epsilon=value) for value in (1e-5, 1, 1e6)):
            plan = Plan.choose(target, width, rows, cost)
            assert 4 <= plan.visits <= MOST_VISITS
            assert plan.together == 1
        for cost in (Cost.alone(rho=value) for value in (1e-6, 1, 1e6)):
            plan = Plan.choose(target, width, rows, cost)
            assert 20 * (width + 1) <= plan.visits <= MOST_TURNS * (width + 1)
            assert plan.rate <= max(0.1, 2 / (width + 1))
    exit_ = Exit(Cost.alone(epsilon=1), SYSTEM)
    visited = list(Plan(9, 1, 1.0).blocks(3, exit_))
    assert [len(block) for block in visited] == [1] * 9
    assert sorted(int(block[0]) for block in visited[:4]) == [0, 1, 2, 3]
    assert visited[0] == visited[4] == visited[8] == 3
    assert [len(block) for block in Plan(8, 4, 0.1).blocks(3, exit_)] == [4, 4]


def test_bins_depend_on_their_own_value_alone_and_cover_the_bounds() -> None:
    box = Box.read((0, 1), 1)
    rows = np.array([[-5.0], [0.0], [0.5], [1.0], [9.0], [1 / 32 + 1e-6], [1 / 32 - 1e-6]])
    assert binned(rows, box).tolist() == [[0, 0, 16, 31, 31, 1, 0], [0] * 7]
    many = np.random.default_rng(1).normal(size=(50_000, 3))
    for cut in (1, 8, 49_999):
        np.testing.assert_array_equal(
            binned(many, Box.read((-2, 2), 3))[:, cut:], binned(many[cut:], Box.read((-2, 2), 3))
        )


@dataclass(frozen=True)
class Huge:
    """As much as the residuals of 2³² rows can be, from few; of ten classes."""

    values: Any
    outputs: int = 10

    def residuals(self, scores: Any, rows: slice, fine: int) -> Any:  # noqa: ARG002
        return self.values[:, rows]


def huge_rows(dice: np.random.Generator, width: int) -> Rows:
    """Scores and residuals that are as large as they can ever be."""
    bins = np.vstack([dice.integers(0, BINS, (width, 40)), np.zeros((1, 40))]).astype(np.uint8)
    signs = dice.choice(np.array([-1, 1]), (10, 40))
    target: Any = Huge((signs * (2**51 // 40 - dice.integers(0, 99, (10, 40)))).astype(np.float64))
    return Rows(bins, target, (signs * (2**52 - MOST_MOVE * width - 1)).astype(np.float64))


def any_cuts(dice: np.random.Generator, width: int) -> Cuts:
    """Of all features, with the constant at the end."""
    return Cuts(np.arange(width + 1), np.append(dice.integers(1, BINS, width), 0).astype(np.uint8))


@pytest.mark.parametrize("width", [1, 30, 5_000])
def test_the_largest_sums_and_scores_are_exact(width: int) -> None:
    """As Python's integers would add them, by signs; beyond 2²⁴ also for one visit alone."""
    dice = np.random.default_rng(width)
    rows, cuts = huge_rows(dice, width), any_cuts(dice, width)
    before = [[int(score) for score in line] for line in rows.scores]
    moves = dice.choice(np.array([-MOST_MOVE, MOST_MOVE, MOST_MOVE - 1]), (width, 10))
    signs = np.take_along_axis(cuts.signs, rows.bins[:-1].astype(np.int64), axis=1).tolist()
    found = rows.sums(cuts, 2**20)
    rows.move(cuts, moves.astype(np.float64))
    for output in range(10):
        residuals = [int(value) for value in rows.target.residuals(rows.scores, WHOLE_LINE, 1)[output]]
        for line, total in zip(signs[:50], found[:, output], strict=False):
            assert total == sum(sign * value for sign, value in zip(line, residuals, strict=True))
        for place, score in enumerate(before[output]):
            moved = sum(int(move) * line[place] for move, line in zip(moves[:, output], signs, strict=True))
            assert rows.scores[output, place] == score + moved


def test_the_limits_of_the_docstring_stay_below_what_float64_adds_exactly() -> None:
    assert 2 * 2**32 * (2**20 // 2) < 2**53
    assert max(MOST_TURNS * 2**32, MOST_VISITS) * MOST_MOVE < 2**53


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_rows_do_the_same_wherever_they_stand(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In passes of any length, in any order, with or without rows of no class: the same sums and scores."""
    dice = np.random.default_rng(classes)
    bins, places = binned(dice.normal(size=(3_000, 6)), Box.read((-2, 2), 6)), dice.integers(-1, classes, 3_000)
    cuts = [any_cuts(dice, 6) for _ in range(4)]
    moves = dice.integers(-900, 900, (4, 6, 1 if classes == 2 else classes)).astype(np.float64)

    def run(order: Any, size: int) -> list[Any]:
        monkeypatch.setattr(boosting, "PASS", size)
        parts, found = by_class(bins[:, order], places[order], classes), []
        for cut, move in zip(cuts, moves, strict=True):
            found.append(np.sum([rows.sums(cut, 2**20) for rows in parts], axis=0).tolist())
            for rows in parts:
                rows.move(cut, move)
        return found

    every = np.arange(3_000)
    first = run(every, 2**14)
    assert any(value for line in first[-1] for value in line)
    assert run(dice.permutation(3_000), 2**14) == first
    assert run(every, 7) == first
    assert run(every[places >= 0], 100) == first


@every
@costed
def test_what_was_learned_from_is_what_the_tables_say(name: str, cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that were moved visit by visit are those of the tables, exactly."""
    made: list[Rows] = []
    keep = Rows.of

    def kept(*given: Any) -> Rows:
        made.append(keep(*given))
        return made[-1]

    monkeypatch.setattr(Rows, "of", kept)
    model = MODELS[name](**cost).fit(*given(name, 500, 6))
    assert sum(rows.count for rows in made) > 200
    for rows in made:
        np.testing.assert_array_equal(rows.scores.T, scored(rows.bins, model.tables_))


def test_progress_is_told_of_every_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, str]] = []

    def watched(_: Exit, steps: Any, total: int, what: str) -> Any:
        found = list(steps)
        seen.append((len(found), total, what))
        return found

    monkeypatch.setattr(Exit, "watched", watched)
    for cost in {"epsilon": 1}, {"rho": 0.1}:
        MODELS["two"](**cost).fit(*given("two", 300, 1))
    assert [made for made, _, _ in seen] == [total for _, total, _ in seen]
    assert [what for _, _, what in seen] == ["visits", "visits"]


# use


def test_curves_say_what_the_model_does() -> None:
    rows, labels = given("number", 200, 2)
    model = MODELS["number"](rho=100).fit(rows, labels)
    assert model.edges_.shape == (3, BINS + 1)
    assert model.edges_[:, 0].tolist() == list(BOUNDS[0])
    places = binned(rows, Box.read(BOUNDS, 3))
    sums = model.intercept_ + sum(model.curves_[feature][places[feature]] for feature in range(3))
    expected = np.clip(0.5 + 2.5 * sums[:, 0], -2, 3)
    np.testing.assert_allclose(model.predict(rows), expected)
    assert scored(places, model.tables_).dtype == np.int64


WRONG: Final[list[tuple[str, dict[str, Any], Any, str]]] = [
    ("two", {"classes": ["a"]}, ValueError, "at least 2"),
    ("two", {"classes": None}, Refused, "classes"),
    ("three", {"bounds": None}, Refused, "bounds"),
    ("number", {"y_bounds": None}, Refused, "y_bounds"),
    ("number", {"y_bounds": (3, 3)}, ValueError, "low < high"),
    ("number", {"y_bounds": ([0, 1], [2, 3])}, ValueError, "one number"),
    ("number", {"epsilon": 1e-8}, Refused, "higher cost"),
    ("two", {"epsilon": None, "rho": 1e-9}, Refused, "higher cost"),
    ("two", {"epsilon": None}, Refused, "cost"),
]


@pytest.mark.parametrize(("name", "wrong", "kind", "words"), WRONG)
def test_wrong_arguments_are_explained_before_anything_is_charged(
    name: str, wrong: dict[str, Any], kind: Any, words: str
) -> None:
    till = Till(repeating(0))
    with pytest.raises(kind, match=words):
        MODELS[name](**{"epsilon": 1, "ledger": till, **wrong}).fit(*given(name, 5, 0))
    assert not till.events


def test_breast_cancer_and_diabetes() -> None:
    """Means over five fits: about 0.94 of 0.97 without noise, and an R² of 0.37 of about 0.5."""
    cost: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
    rows, labels = load_breast_cancer(return_X_y=True)
    bounds = (rows.min(axis=0), rows.max(axis=0))
    models = [AdditiveClassifier(bounds=bounds, classes=[0, 1], **cost).fit(rows, labels) for _ in range(5)]
    assert np.mean([model.score(rows, labels) for model in models]) > 0.88
    rows, numbers = load_diabetes(return_X_y=True)
    bounds = (rows.min(axis=0), rows.max(axis=0))
    fits = [AdditiveRegressor(bounds=bounds, y_bounds=(25, 350), **cost).fit(rows, numbers) for _ in range(5)]
    assert np.mean([fit.score(rows, numbers) for fit in fits]) > 0.15
