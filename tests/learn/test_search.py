"""Searching for settings: one cost for all candidates and the choice, and rows that are in one part only."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.naive_bayes import GaussianNB as Plain

from discreet import Refused
from discreet.accounting import Pure, compose
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn import AdditiveRegressor, DecisionTreeClassifier, GaussianNB, KMeans, PrivateSearchCV
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.noise import SYSTEM
from tests.learn.cases import BOUNDS, COSTS, data
from tests.learn.helpers import Till, learn, repeating
from tests.learn.outlets import NAMES, check_moves, outlets, ratio

BAYES: Final = GaussianNB(bounds=BOUNDS, classes=["a", "b", "c"])
GRID: Final = {"var_smoothing": [1e-6, 1e-4, 1e-2]}
NUMBER: Final = AdditiveRegressor(bounds=BOUNDS, y_bounds=(-2, 3))
SEARCHES: Final[dict[str, Callable[..., Any]]] = {
    "class": lambda **more: PrivateSearchCV(BAYES, GRID, **more),
    "number": lambda **more: PrivateSearchCV(NUMBER, {"bounds": [BOUNDS, ([-2, -1, 90], [2, 6, 110])]}, **more),
}
every = pytest.mark.parametrize("name", SEARCHES)
costed = pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)


def given(name: str, rows: int, seed: int) -> tuple[Any, Any]:
    features, labels = data("numbers", rows, seed)
    return features, np.random.default_rng(seed).uniform(-4, 4, rows) if name == "number" else labels


# privacy


@every
@costed
def test_a_row_moves_fits_or_choice_and_never_both(name: str, cost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same coins for the rows that stay."""
    rows, labels = given(name, 8, 2)
    coins = np.array([False, True] * 4)
    for place in range(8):
        found = outlets(monkeypatch)
        _search(name, cost, rows, labels, coins, monkeypatch)
        found.again()
        fewer = [np.delete(part, place, axis=0) for part in (rows, labels, coins)]
        _search(name, cost, fewer[0], fewer[1], fewer[2], monkeypatch)
        check_moves(found)
        fits = any((here.exact != there.exact).any() for here, there in zip(found.releases, found.earlier, strict=True))
        choice = (found.choices[0].exact != found.chosen[0].exact).any()
        assert not (fits if coins[place] else choice)


def _search(name: str, cost: Any, rows: Any, labels: Any, coins: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateSearchCV, "_coins", lambda *_: coins)
    learn(SEARCHES[name](**cost), rows, labels, NAMES, repeating(1))


@every
@costed
def test_fits_share_the_cost_and_the_choice_has_it_beside(
    name: str, cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outlets(monkeypatch)
    model = SEARCHES[name](**cost).fit(*given(name, 40, 1))
    fits = compose(*(release.mechanism.loss_for(release.sensitivity) for release in found.releases))
    (choice,) = found.choices
    for loss in (fits, choice.mechanism.loss):
        assert 0.99 <= ratio(loss, model.loss_) <= 1 + 1e-12
    assert choice.mechanism.monotone
    assert isinstance(choice.mechanism, PermuteAndFlip if isinstance(model.loss_, Pure) else Exponential)
    assert compose(*(candidate.loss_ for candidate in model.candidates_)) == model.loss_ == model.loss_for(3)


def test_coins_are_fair() -> None:
    """4000 coins of a quarter: false alarms below 10⁻⁶."""
    search, rows = PrivateSearchCV(BAYES, GRID, epsilon=1), 4_000
    held = search._coins(rows, Exit(Cost.alone(epsilon=1), SYSTEM))
    assert abs(held.sum() - rows / 4) < 5.2 * (rows * 3 / 16) ** 0.5
    assert len(search._coins(0, Exit(Cost.alone(epsilon=1), SYSTEM))) == 0


@every
def test_nobody_is_noised_like_everybody(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outlets(monkeypatch)
    rows, labels = given(name, 0, 1)
    model = learn(SEARCHES[name](rho=1), rows, labels, NAMES, repeating(1))
    assert not any(release.exact.any() for release in found.releases)
    assert not found.choices[0].exact.any()
    assert model.best_estimator_ is model.candidates_[model.best_index_]


# use


def test_it_finds_what_works() -> None:
    """Wrong bounds hide the classes; a thousand rows at ε = 4 tell (false alarms far below 10⁻⁶)."""
    rows = np.random.default_rng(3).uniform(0, 1, (2_000, 2))
    labels = (rows[:, 0] > 0.5).astype(int)
    model = PrivateSearchCV(
        DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1], max_depth=3),
        {"bounds": [(0, 1), (5, 6), (-9, -8)]},
        epsilon=4,
    ).fit(rows, labels)
    assert model.best_params_ == {"bounds": (0, 1)}
    assert model.best_index_ == 0
    assert model.score(rows, labels) > 0.6
    assert model.predict_proba(rows).shape == (2_000, 2)
    assert model.classes_.tolist() == [0, 1]
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "best_score_")


@every
def test_it_is_of_the_kind_of_its_estimator(name: str) -> None:
    rows, labels = given(name, 60, 2)
    model = SEARCHES[name](epsilon=5).fit(rows, labels)
    assert (is_classifier(model), is_regressor(model)) == ((True, False) if name == "class" else (False, True))
    assert hasattr(model, "predict_proba") is (name == "class")


def test_columns_keep_their_names() -> None:
    rows, labels = given("class", 60, 2)
    table = pd.DataFrame(rows, columns=NAMES)
    model = SEARCHES["class"](epsilon=5).fit(table, labels)
    assert model.feature_names_in_.tolist() == model.best_estimator_.feature_names_in_.tolist() == NAMES
    assert len(model.predict(table)) == 60


WRONG: Final[list[tuple[dict[str, Any], Any, str]]] = [
    ({"estimator": Plain()}, TypeError, "discreet.learn"),
    ({"estimator": KMeans(3, bounds=BOUNDS)}, TypeError, "classifier or regressor"),
    ({"estimator": None}, TypeError, "classifier or regressor"),
    ({"estimator": clone(BAYES).set_params(epsilon=1)}, Refused, "share one cost"),
    ({"estimator": clone(BAYES).set_params(ledger=Till(repeating(0)))}, Refused, "share one cost"),
    ({"estimator": GaussianNB(classes=["a"])}, Refused, "bounds"),
    ({"param_grid": {"epsilon": [1, 2]}}, Refused, "share one cost"),
    ({"param_grid": {"classes": [["a"], ["b"]]}}, ValueError, "same rows"),
    ({"param_grid": {"var_smoothing": [-1.0]}}, ValueError, "above 0"),
    ({"param_grid": {"speed": [1]}}, ValueError, "Invalid parameter"),
    ({"param_grid": []}, ValueError, "combinations"),
    ({"param_grid": {"var_smoothing": list(range(1, 1002))}}, ValueError, "combinations"),
    ({"param_grid": 3}, TypeError, "dict or a list"),
    ({"test_size": 1}, ValueError, "between 0 and 1"),
    ({"test_size": "quarter"}, TypeError, "number"),
    ({"epsilon": None}, Refused, "cost"),
    ({"epsilon": 2e-9}, Refused, "too low"),
]


@pytest.mark.parametrize(("wrong", "kind", "words"), WRONG)
def test_wrong_arguments_are_explained_before_anything_is_charged(wrong: dict[str, Any], kind: Any, words: str) -> None:
    till = Till(repeating(0))
    search = PrivateSearchCV(**{"estimator": BAYES, "param_grid": GRID, "epsilon": 1, "ledger": till, **wrong})
    with pytest.raises(kind, match=words):
        search.fit(*given("class", 5, 0))
    assert not till.events


def test_costs_of_candidates_are_exact() -> None:
    candidates = PrivateSearchCV(BAYES, GRID, epsilon=1)._facts(3, Cost.alone(epsilon=1))
    assert [candidate.epsilon for candidate in candidates] == [Fraction(1, 3)] * 3
