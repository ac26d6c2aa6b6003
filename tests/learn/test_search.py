"""Searching for settings: one cost for all candidates and the choice, and rows that are in one part only."""

from __future__ import annotations

import pickle
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
from discreet.learn.codec import encode
from discreet.learn.search import COIN, sides
from discreet.mechanisms import BestOfSome, Exponential, PermuteAndFlip
from discreet.noise import SYSTEM
from tests.learn.cases import BOUNDS, COSTS, data
from tests.learn.helpers import Till, learn, repeating
from tests.learn.outlets import NAMES, check_moves, outlets, ratio

BAYES: Final = GaussianNB(bounds=BOUNDS, classes=["a", "b", "c"])
GRID: Final = {"var_smoothing": [1e-6, 1e-4, 1e-2]}
NUMBER: Final = AdditiveRegressor(bounds=BOUNDS, y_bounds=(-2, 3))
SEARCHES: Final[dict[str, Callable[..., Any]]] = {
    "class": lambda **more: PrivateSearchCV(BAYES, GRID, **{"method": "every", **more}),
    "number": lambda **more: PrivateSearchCV(
        NUMBER, {"bounds": [BOUNDS, ([-2, -1, 90], [2, 6, 110])]}, **{"method": "every", **more}
    ),
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


SOME: Final[dict[str, Callable[..., Any]]] = {
    name: lambda make=make, **more: make(method="some", **more) for name, make in SEARCHES.items()
}


@every
@costed
def test_a_row_moves_fits_or_scores_of_all_candidates_and_never_both(
    name: str, cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each candidate, fit and score, costs a row what the theorem of the choice allows it."""
    rows, labels = given(name, 6, 2)
    coins = np.array([False, True] * 3)
    for place in (2, 3):
        found = outlets(monkeypatch)
        _search(name, {**cost, "method": "some"}, rows, labels, coins, monkeypatch)
        found.again()
        fewer = [np.delete(part, place, axis=0) for part in (rows, labels, coins)]
        _search(name, {**cost, "method": "some"}, fewer[0], fewer[1], fewer[2], monkeypatch)
        check_moves(found)
        count = 3 if name == "class" else 2
        size = len(found.releases) // count
        each = BestOfSome(candidates=count, **SOME[name](**cost)._cost(3).named).each
        for start in range(0, len(found.releases), size):
            *fit, score = range(start, start + size)
            assert found.releases[score].exact.shape == (1,)
            moved = [_moved(found, index) for index in fit]
            assert not (any(moved) if coins[place] else _moved(found, score))
            for part in (fit, [score]):
                drawn = [found.releases[index] for index in part]
                loss = compose(*(one.mechanism.loss_for(one.sensitivity) for one in drawn))
                assert isinstance(loss, Pure)
                assert 0.99 * each <= loss.epsilon <= each * (1 + Fraction(1, 10**12))
        assert not found.choices


def _moved(found: Any, index: int) -> bool:
    return bool((found.releases[index].exact != found.earlier[index].exact).any())


@every
def test_who_was_looked_at_is_nowhere_to_be_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same noise, two sets that have the same best candidate leave the same model, bit by bit."""
    rows, labels = given(name, 200, 3)
    seen: list[str] = []

    def watch(*_: object) -> None:
        seen.append("a step")

    def fitted(looked: list[int]) -> Any:
        monkeypatch.setattr(BestOfSome, "some", lambda one, _: np.isin(np.arange(one.candidates), looked))
        search = SOME[name](epsilon=3)
        exit_ = Exit(search._cost(3), repeating(4))
        exit_.watch = watch  # type: ignore[assignment]
        return search.learn_from(rows, labels, NAMES, exit_)

    count = 3 if name == "class" else 2
    best = fitted(list(range(count))).best_index_
    others = [place for place in range(count) if place != best]
    alone, most = fitted([best]), fitted([best, *others[:-1]])
    assert encode(alone) == encode(most) == encode(fitted([best, *others]))
    assert pickle.dumps(alone) == pickle.dumps(most)
    assert (repr(alone), vars(alone).keys()) == (repr(most), vars(most).keys())
    assert not hasattr(alone, "candidates_")
    assert alone.best_estimator_.loss_ == alone.loss_
    assert fitted(others).best_index_ != best
    assert not seen


def test_every_candidate_is_fitted_whoever_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much work, in the same order, for one as for all."""
    rows, labels = given("class", 50, 3)
    worked: list[float] = []
    learn_one = GaussianNB._learn

    def told(model: Any, *given: Any) -> None:
        worked.append(model.var_smoothing)
        learn_one(model, *given)

    monkeypatch.setattr(GaussianNB, "_learn", told)
    for looked in ([0], [2], [0, 1, 2]):
        monkeypatch.setattr(BestOfSome, "some", lambda *_, looked=looked: np.isin(np.arange(3), looked))
        SOME["class"](epsilon=1).fit(rows, labels)
    assert worked == GRID["var_smoothing"] * 3


def test_the_method_follows_from_public_facts() -> None:
    """Many candidates would have much noise each; with few, or where ε makes more noise than ρ, all are looked at."""

    def some(count: int, **cost: Any) -> bool:
        search = PrivateSearchCV(BAYES, {"var_smoothing": [number / 1e6 for number in range(1, count + 1)]}, **cost)
        return bool(search._facts(3, search._cost(3)).some)

    assert [some(count, epsilon=1) for count in (1, 2, 8, 12, 20)] == [False, False, False, True, True]
    assert not some(200, rho=0.1)
    assert some(20, epsilon=1, delta=1e-6)
    for method in ("every", "some"):
        search = PrivateSearchCV(BAYES, GRID, epsilon=1, method=method)
        assert search._facts(3, search._cost(3)).some is (method == "some")


def test_rows_of_one_group_go_the_same_way() -> None:
    groups = np.repeat(np.array([f"g{number}" for number in range(400)], dtype=object), 3)
    search = PrivateSearchCV(BAYES, GRID, epsilon=1)
    held = search._coins(1200, groups, Exit(Cost.alone(epsilon=1), SYSTEM)).reshape(400, 3)
    assert (held == held[:, :1]).all()
    assert abs(held[:, 0].sum() - 100) < 5.2 * (400 * 3 / 16) ** 0.5  # false alarms below 10⁻⁶
    key = bytes(32)
    fewer = np.delete(groups, slice(30, 36))
    assert (sides(fewer, key, COIN // 4) == np.delete(sides(groups, key, COIN // 4), slice(30, 36))).all()
    assert sides(groups[:0], key, 5).shape == (0,)


def test_groups_are_as_many_as_rows() -> None:
    rows, labels = given("class", 60, 2)
    till = Till(repeating(0))
    search = PrivateSearchCV(BAYES, GRID, epsilon=5, ledger=till)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search.fit(rows, labels, groups=np.arange(59))
    assert not till.events
    assert search.fit(rows, labels, groups=np.arange(60) // 4).predict(rows).shape == (60,)


def test_coins_are_fair() -> None:
    """4000 coins of a quarter: false alarms below 10⁻⁶."""
    search, rows = PrivateSearchCV(BAYES, GRID, epsilon=1), 4_000
    held = search._coins(rows, None, Exit(Cost.alone(epsilon=1), SYSTEM))
    assert abs(held.sum() - rows / 4) < 5.2 * (rows * 3 / 16) ** 0.5
    assert len(search._coins(0, None, Exit(Cost.alone(epsilon=1), SYSTEM))) == 0


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
    ({"estimator": PrivateSearchCV(BAYES, GRID)}, TypeError, "search itself"),
    ({"method": "most"}, ValueError, "method"),
    ({"method": None}, ValueError, "method"),
    ({"test_size": 1}, ValueError, "between 0 and 1"),
    ({"test_size": "quarter"}, TypeError, "number"),
    ({"epsilon": None}, Refused, "cost"),
    ({"epsilon": 1.2e-9}, Refused, "too low"),
    ({"epsilon": 1.2e-9, "method": "some"}, Refused, "too low"),
]


@pytest.mark.parametrize(("wrong", "kind", "words"), WRONG)
def test_wrong_arguments_are_explained_before_anything_is_charged(wrong: dict[str, Any], kind: Any, words: str) -> None:
    till = Till(repeating(0))
    search = PrivateSearchCV(**{"estimator": BAYES, "param_grid": GRID, "epsilon": 1, "ledger": till, **wrong})
    with pytest.raises(kind, match=words):
        search.fit(*given("class", 5, 0))
    assert not till.events


def test_costs_of_candidates_are_exact() -> None:
    plan = PrivateSearchCV(BAYES, GRID, epsilon=1, method="every")._facts(3, Cost.alone(epsilon=1))
    assert [candidate.epsilon for candidate in plan.candidates] == [Fraction(1, 3)] * 3
