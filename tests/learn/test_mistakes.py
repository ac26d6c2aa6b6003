"""A mistake costs nothing: what can be seen without a value is explained before the charge, for every estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from discreet.errors import Refused
from discreet.learn import CategoricalNB, GaussianNB, LinearRegression, LogisticRegression, StandardScaler
from tests.learn.cases import BOUNDS, FITS, data
from tests.learn.helpers import Till, learn, recorder, repeating, without
from tests.learn.replaying import check_moved
from tests.learn.test_tables import POLICY, PURE, curator, people, tables
from tests.sql.worlds import opened, policy_of

EVERY = {name.rpartition("-")[0]: (make, kind) for name, make, kind in FITS if name.endswith(("-pure", "-rho"))}
EACH = pytest.mark.parametrize(("make", "kind"), EVERY.values(), ids=EVERY)

MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sparse": (scipy.sparse.csr_matrix, "sparse"),
    "sparse array": (scipy.sparse.csc_array, "sparse"),
    "one dimension": (lambda rows: rows[:, 0], "Reshape your data"),
    "numbers in a list": (lambda rows: rows[:, 0].tolist(), "Reshape your data"),
    "nothing": (lambda rows: rows[:0], "0 sample"),
    "ragged": (lambda rows: [*rows.tolist()[:-1], [1.0]], "different lengths"),
    "too wide": (lambda rows: np.hstack([rows, rows]), "each of the 6 features"),
}
KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "texts": (lambda rows: rows.astype(str), "X holds texts"),
    "texts in lists": (lambda rows: rows.astype(str).tolist(), "X holds texts"),
    "texts as objects": (lambda rows: rows.astype(str).astype(object), "X holds texts"),
    "a column of texts": (lambda rows: pd.DataFrame(rows, columns=[*"abc"]).assign(b="x"), "'b' of X holds texts"),
    "a column of dates": (
        lambda rows: pd.DataFrame(rows, columns=[*"abc"]).assign(b=pd.Timestamp("2026-01-01")),
        "'b' of X holds dates",
    ),
    "polars": (lambda rows: polars({"a": rows[:, 0], "b": rows[:, 1], "c": ["x"] * len(rows)}), "'c' of X"),
    "complex": (lambda rows: rows + 1j, "Complex data"),
}


def polars(columns: dict[str, Any]) -> Any:
    """To import it starts threads, and whoever has some is not to be forked."""
    import polars

    return polars.DataFrame(columns)


def refused(model: Any, rows: Any, labels: Any, words: str) -> None:
    till = Till(repeating(0))
    with pytest.raises((TypeError, ValueError), match=words):
        model.set_params(ledger=till).fit(rows, labels)
    assert not till.events


@pytest.mark.parametrize("mistake", MISTAKES)
@EACH
def test_wrong_shapes_cost_nothing(make: Callable[..., Any], kind: str, mistake: str) -> None:
    spoil, words = MISTAKES[mistake]
    rows, labels = data(kind, 8, 0)
    spoiled = spoil(rows)
    count = spoiled.shape[0] if hasattr(spoiled, "shape") else len(spoiled)
    refused(make(), spoiled, labels[:count], words)


@pytest.mark.parametrize("mistake", KINDS)
@EACH
def test_wrong_kinds_cost_nothing(make: Callable[..., Any], kind: str, mistake: str) -> None:
    spoil, words = KINDS[mistake]
    rows, labels = data(kind, 8, 0)
    refused(make(), spoil(rows), labels, words)


SUPERVISED = {
    name: pair for name, pair in EVERY.items() if hasattr(pair[0](), "predict") and "Means" not in repr(pair[0]())
}


@pytest.mark.parametrize(("make", "kind"), SUPERVISED.values(), ids=SUPERVISED)
def test_wrong_labels_cost_nothing(make: Callable[..., Any], kind: str) -> None:
    rows, labels = data(kind, 8, 0)
    other = labels.astype(str) if labels.dtype.kind == "f" else np.arange(8)
    words = "y holds (texts|numbers)"
    for wrong in (other, other.tolist(), pd.Series(other), other.astype(object)):
        refused(make(), rows, wrong, words)
    for short in (labels[:-1], labels[:-1].tolist(), pd.Series(labels[:-1])):
        refused(make(), rows, short, "8 rows and y has 7")
    refused(make(), rows, scipy.sparse.csr_matrix((8, 1)), "sparse")
    refused(make(), rows, np.column_stack([labels, labels]), "1d array")
    refused(make(), rows, None, "target y is None")


# missing values


@pytest.mark.parametrize("wrong", ["mean", 0, True, ["drop"]])
def test_what_is_no_way_to_handle_missing_values_costs_nothing(wrong: Any) -> None:
    refused(StandardScaler(bounds=BOUNDS, epsilon=1, missing=wrong), *data("numbers", 5, 0), "missing must be")


def test_categories_have_no_midpoint() -> None:
    model = CategoricalNB(categories=3, classes=["a"], epsilon=1, missing="impute to midpoint")
    refused(model, *data("places", 5, 0), "no midpoint")
    with curator() as found, pytest.raises(Refused, match="no midpoint"):
        found.fit(
            CategoricalNB(missing="impute to midpoint"), "SELECT sex, flag FROM people JOIN visits USING (person)",
            target="sex", epsilon=1,
        )  # fmt: skip


HOLES = (np.nan, np.inf, -np.inf)


def with_holes(rows: Any) -> Any:
    """Some values of three rows are missing."""
    holed = rows.copy()
    for place, hole in enumerate(HOLES):
        holed[place, place % rows.shape[1]] = hole
    return holed


@EACH
def test_rows_with_missing_values_are_dropped_as_declared(
    make: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, labels = data(kind, 12, 3)
    released = []
    for exact, given, how in ((with_holes(rows), labels, "drop"), (rows[3:], labels[3:], None)):
        found = recorder(monkeypatch)
        make(missing=how, ledger=Till(repeating(5))).fit(exact, given)
        released.append([release.exact.tolist() for release in found.releases])
    assert released[0] == released[1]
    with pytest.raises(ValueError, match='Declare missing="drop"'):
        make().fit(with_holes(rows)[:1].repeat(12, axis=0), labels)


BOUNDED = {name: pair for name, pair in EVERY.items() if "categories" not in pair[0]().get_params()}


@pytest.mark.parametrize(("make", "kind"), BOUNDED.values(), ids=BOUNDED)
def test_missing_values_are_imputed_as_declared(
    make: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, labels = data(kind, 12, 3)
    middle = np.mean(BOUNDS, axis=0)
    holed = with_holes(rows)
    released, said = [], []
    for exact, how in ((holed, "impute to midpoint"), (np.where(np.isfinite(holed), holed, middle), None)):
        found = recorder(monkeypatch)
        model = make(missing=how, ledger=Till(repeating(5))).fit(exact, labels)
        released.append([release.exact.tolist() for release in found.releases])
        said.append(getattr(model, "predict" if hasattr(model, "predict") else "transform")(exact))
    assert released[0] == released[1]
    assert np.array_equal(*said)


@pytest.mark.parametrize("how", ["drop", "impute to midpoint"])
def test_a_row_with_missing_values_moves_no_more_than_others(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay on neighbours: each row of which something is missing, left out."""
    rows, labels = data("targets", 6, 1)
    rows, labels = with_holes(rows), np.where(np.arange(6) == 4, np.nan, labels)
    for place in range(6):
        found = recorder(monkeypatch)
        for exact, targets in ((rows, labels), (without(rows, place), without(labels, place))):
            model = LinearRegression(bounds=BOUNDS, y_bounds=(-2, 3), missing=how, epsilon=1)
            learn(model, exact, targets, ["a", "b", "c"], repeating(place))
            if not found.earlier:
                found.again()
        for here, there in zip(found.releases, found.earlier, strict=True):
            moved = here.exact.astype(object) - there.exact.astype(object)
            check_moved(moved, there.sensitivity)
            if how == "drop" and place < 3:
                assert not moved.any()


def test_labels_that_are_missing_are_dropped() -> None:
    rows, _ = data("numbers", 9, 0)
    labels = np.array([None, np.nan, pd.NA, *"aaaaaa"], dtype=object)
    for how in ("drop", "impute to midpoint"):
        model = GaussianNB(bounds=BOUNDS, classes=["a"], epsilon=10**6, missing=how).fit(rows, labels)
        assert round(model.class_count_.sum()) == 6
    targets = np.where(np.arange(9) < 2, np.nan, 1.0)
    found = LinearRegression(bounds=BOUNDS, y_bounds=(0, 2), epsilon=10**6, missing="drop").fit(rows, targets)
    assert np.isfinite(found.predict(rows)).all()
    with pytest.raises(ValueError, match="y contains NaN"):
        LinearRegression(bounds=BOUNDS, y_bounds=(0, 2), epsilon=1).fit(rows, targets)


def test_a_row_to_predict_cannot_be_dropped() -> None:
    rows, labels = data("numbers", 9, 0)
    model = LogisticRegression(bounds=BOUNDS, classes=["a", "b"], epsilon=1, missing="drop").fit(rows, labels)
    with pytest.raises(ValueError, match="cannot be dropped"):
        model.predict(with_holes(rows))


def test_what_is_declared_means_the_same_on_a_curator() -> None:
    """Of two thousand people half have no age: they are dropped, or half-way between 0 and 100."""
    world = {
        **tables(4),
        "people": [{**row, "age": None if place < 1000 else 90} for place, row in enumerate(people(2000))],
    }
    with opened(policy_of(POLICY, head=PURE), world) as found:
        sql = "SELECT age, pay FROM people"
        means = {
            how: found.fit(StandardScaler(missing=how), sql, epsilon=1).mean_[0]
            for how in (None, "drop", "impute to midpoint")
        }
        assert means == {
            None: pytest.approx(90, abs=2),
            "drop": pytest.approx(90, abs=2),
            "impute to midpoint": pytest.approx(70, abs=2),
        }
        with pytest.raises(Refused, match="missing must be"):
            found.fit(StandardScaler(missing="mean"), sql, epsilon=1)
        assert len(found.entries()) == 3
