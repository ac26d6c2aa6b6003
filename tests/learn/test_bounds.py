"""Bounds in every form mean the same, and one that can be read in two ways is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.accounting import Pure
from discreet.errors import Refused
from discreet.learn import GaussianNB, LinearRegression, MinMaxScaler, PrivateSearchCV, StandardScaler
from discreet.learn.box import Box
from tests.learn.helpers import Till, repeating
from tests.learn.test_tables import curator

ROWS = pd.DataFrame({"age": [30.0, 60.0, 90.0], "cost": [10.0, 4000.0, 20.0]})
TWO = [
    ([0, 1], [110, 5000]),
    [(0, 110), (1, 5000)],
    (np.array([0, 1]), np.array([110, 5000])),
    {"cost": (1, 5000), "age": (0, 110), "other": (7, 8)},
    {"cost": [1, 5000], "age": [0, Fraction(110)]},
    pd.DataFrame({"cost": [1, 5000], "age": [0, 110]}),
]


def test_a_frame_of_polars_means_the_same_as_one_of_pandas() -> None:
    import polars  # which starts threads: whoever has some is not to be forked

    test_every_form_of_two_features_means_the_same(polars.DataFrame({"cost": [1, 5000], "age": [0, 110]}))


@pytest.mark.parametrize("bounds", TWO, ids=lambda given: type(given).__name__)
def test_every_form_of_two_features_means_the_same(bounds: Any) -> None:
    model = MinMaxScaler(bounds=bounds).fit(ROWS)
    assert (model.data_min_.tolist(), model.data_max_.tolist()) == ([0, 1], [110, 5000])
    assert MinMaxScaler(bounds=bounds).loss_for(["age", "cost"]).is_zero


@pytest.mark.parametrize(
    "bounds", [[(0, 1)] * 3, np.array([[0, 1]] * 3), (0, 1), ([0, 0, 0], 1), [(0, 0, 0), (1, 1, 1)]]
)
def test_every_form_of_three_features_means_the_same(bounds: Any) -> None:
    box = Box.read(bounds, 3)
    assert (box.low.tolist(), box.high.tolist()) == ([0] * 3, [1] * 3)


def test_one_feature() -> None:
    for bounds in ((0, 110), [(0, 110)], ([0], [110]), {"age": (0, 110)}, np.array([0, 110]), np.array([[0, 110]])):
        box = Box.read(bounds, 1)
        assert (box.low.tolist(), box.high.tolist()) == ([0], [110])


# two features, two readings


@pytest.mark.parametrize(
    "form", [lambda one, two: (one, two), lambda one, two: [list(one), list(two)], lambda *both: np.array(both)]
)
def test_two_pairs_are_what_makes_low_below_high_or_refused(form: Any) -> None:
    """((0, 110), (0, 5000)) was read as (low, high) of both features; ((0, 1), (10, 20)) may be either."""
    assert Box.read(form((0, 110), (0, 5000)), 2).high.tolist() == [110, 5000]
    assert Box.read(form((0, 0), (110, 5000)), 2).high.tolist() == [110, 5000]
    assert Box.read(form((0, 110), (0, 5000)), None).high.tolist() == [110, 5000]
    for width in (2, None):
        with pytest.raises(ValueError, match="in two ways: write") as wrong:
            Box.read(form((0, 1), (10, 20)), width)
    pairs, ends = "[(0, 1), (10, 20)]", "([0, 1], [10, 20])"
    assert pairs in str(wrong.value)
    assert ends in str(wrong.value)
    assert Box.read(eval(pairs), 2).high.tolist() == [1, 20]
    assert Box.read(eval(ends), 2).high.tolist() == [10, 20]
    with pytest.raises(ValueError, match="low < high"):
        Box.read(form((5, 1), (4, 0)), 2)


def test_a_form_that_says_what_it_is_is_never_turned() -> None:
    with pytest.raises(ValueError, match="low < high"):
        Box.read([(0, 0), (110, 5000)], 2)
    with pytest.raises(ValueError, match="low < high"):
        Box.read(([0, 110], [0, 5000]), 2)


HOSTILE: list[tuple[Any, str]] = [
    ({}, "nothing of the column 'age'"),
    ({"age": (0, 110)}, "nothing of the column 'cost'"),
    ({"age": (0, 110), "cost": 5}, "pair"),
    ({"age": (0, 110), "cost": (0, 1, 2)}, "pair"),
    ({"age": (0, 110), "cost": (5000, 0)}, "low < high"),
    ({"age": (0, 110), "cost": None}, "pair"),
    ({"age": (0, 110), "cost": ("a", "b")}, "number"),
    (pd.DataFrame({"age": [0, 1, 2], "cost": [0, 1, 2]}), "pair"),
    (pd.DataFrame({"age": [0, np.nan], "cost": [0, 1]}), "finite"),
    ([(0, 1), (0, 1), (0, 1)], "each of the 2 features"),
    ([], "pair"),
    ({0: (0, 1), 1: (0, 1)}, "nothing of the column"),
    ({(0, 1), (0, 2)}, "pair"),
    (lambda: None, "pair"),
    ([[(0, 1)], [(0, 1)]], "number|pair|one-dimensional"),
]


@pytest.mark.parametrize(("bounds", "words"), HOSTILE)
def test_wrong_bounds_are_explained_and_cost_nothing(bounds: Any, words: str) -> None:
    till = Till(repeating(0))
    with pytest.raises((TypeError, ValueError), match=words):
        StandardScaler(bounds=bounds, epsilon=1, ledger=till).fit(ROWS)
    assert not till.events


def test_names_need_columns_that_have_some() -> None:
    till = Till(repeating(0))
    model = StandardScaler(bounds={"age": (0, 110), "cost": (0, 5000)}, epsilon=1, ledger=till)
    for rows in (ROWS.to_numpy(), ROWS.to_numpy().tolist(), ROWS.set_axis([0, 1], axis=1)):
        with pytest.raises(ValueError, match="columns have none"):
            model.fit(rows)
    assert not till.events
    assert model.fit(ROWS[["cost", "age"]]).mean_[1] <= 110


def test_the_loss_of_some_of_the_columns_that_bounds_name() -> None:
    model = StandardScaler(bounds={"age": (0, 110), "cost": (0, 5000), "other": (0, 1)}, epsilon=1)
    assert model.loss_for(["cost", "age"]) == model.loss_for(3) == model.loss_for() == Pure(1)
    with pytest.raises(ValueError, match=r"of 3 columns: name the 2, as loss_for\(\[…\]\)"):
        model.loss_for(2)
    with pytest.raises(ValueError, match="nothing of the column 'sex'"):
        model.loss_for(["sex"])


def test_the_bounds_of_a_target() -> None:
    for bounds in ((0, 10), [(0, 10)], {"cost": (0, 10)}, pd.DataFrame({"cost": [0, 10]})):
        assert LinearRegression(bounds=(0, 1), y_bounds=bounds, epsilon=1).loss_for(2) == Pure(1)
    with pytest.raises(ValueError, match="by name"):
        LinearRegression(bounds=(0, 1), y_bounds={"cost": (0, 10), "age": (0, 1)}, epsilon=1).loss_for(2)


def test_a_search_over_bounds_by_name() -> None:
    rows = pd.concat([ROWS] * 20, ignore_index=True)
    model = GaussianNB(bounds={"cost": (0, 5000), "age": (0, 110)}, classes=[0, 1])
    search = PrivateSearchCV(model, {"var_smoothing": [1e-3, 1e-2]}, epsilon=1)
    assert search.loss_for(2) == Pure(1)
    assert search.fit(rows, rows["age"] > 50).best_estimator_.high_.tolist() == [110, 5000]


# of a policy


def test_bounds_of_a_policy_fit_arrays_and_its_own_tables() -> None:
    with curator() as found:
        bounds = found.tables()["people"].bounds
        assert bounds == {"age": (0, 100), "pay": (0, 1000)}
        assert found.tables()["people"].values == {"sex": ["F", "M"]}
        assert found.tables()["visits"].bounds == {"flag": (0, 1), "cost": (0, 10)}
        rows = pd.DataFrame({"pay": [1.0, 2.0], "age": [3.0, 4.0]})
        assert MinMaxScaler(bounds=bounds).fit(rows).data_max_.tolist() == [1000, 100]
        model = found.fit(MinMaxScaler(bounds={"pay": (0, 5)}), "SELECT age, pay FROM people")
        assert model.data_max_.tolist() == [100, 5]
        with pytest.raises(Refused, match="free has no bounds"):
            found.fit(MinMaxScaler(bounds={"pay": (0, 5)}), "SELECT free, pay FROM people")
