"""What every estimator keeps: scikit-learn's contract, and ours about costs, facts, ledgers and randomness."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import BudgetExhausted, Refused
from discreet.accounting import Concentrated, Pure, rho_for
from discreet.learn import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    CategoricalNB,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Estimator,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    OneHot,
    Pipeline,
    PoissonCount,
    PrivateSearchCV,
    RandomForestClassifier,
    RandomForestRegressor,
    StandardScaler,
)
from discreet.learn.ledgers import LostLedger
from discreet.noise import SystemBits
from tests.learn.cases import BOUNDS, FITS, FREE, IDS, PURE, data
from tests.learn.helpers import Same, Till, learn, repeating
from tests.ledger.helpers import BOTH, opened

PLENTY = 1e6
"""An ε at which noise does not hide what a check looks for."""
CHECKED = [
    KMeans(3, bounds=(-10, 10), epsilon=PLENTY, ledger=Same(), n_init=1),
    GaussianNB(bounds=(-10, 10), classes=[0, 1, 2], epsilon=PLENTY, ledger=Same()),
    CategoricalNB(categories=5, classes=[0, 1, 2], epsilon=PLENTY, ledger=Same()),
    StandardScaler(bounds=(-10, 10), epsilon=PLENTY, ledger=Same()),
    MinMaxScaler(bounds=(-10, 10)),
    OneHot(3),
    PCA(bounds=(-10, 10), epsilon=PLENTY, ledger=Same()),
    LinearRegression(bounds=(-10, 10), y_bounds=(-200, 200), epsilon=1e8, ledger=Same()),
    PoissonCount(categories=2, y_bounds=(0, 200), epsilon=PLENTY, ledger=Same()),
    LogisticRegression(bounds=(-10, 10), classes=[0, 1], rho=PLENTY, ledger=Same()),
    LogisticRegression(bounds=(-10, 10), classes=[0, 1, 2], epsilon=PLENTY, ledger=Same()),
    RandomForestClassifier(5, bounds=(-10, 10), classes=[0, 1, 2], epsilon=PLENTY, ledger=Same()),
    DecisionTreeClassifier(bounds=(-10, 10), classes=[0, 1, 2], rho=PLENTY, ledger=Same()),
    RandomForestRegressor(5, bounds=(-4, 4), y_bounds=(-4, 4), epsilon=PLENTY, ledger=Same()),
    DecisionTreeRegressor(bounds=(-4, 4), y_bounds=(-4, 4), rho=PLENTY, ledger=Same()),
    AdditiveClassifier(bounds=(-10, 10), classes=[0, 1, 2], rho=2, ledger=Same()),
    AdditiveRegressor(bounds=(-4, 4), y_bounds=(-4, 4), rho=50, ledger=Same()),
    Pipeline(
        [("scaler", StandardScaler()), ("last", GaussianNB())],
        bounds=(-10, 10),
        classes=[0, 1, 2],
        epsilon=PLENTY,
        ledger=Same(),
    ),
    PrivateSearchCV(
        GaussianNB(bounds=(-10, 10), classes=[0, 1, 2]), {"var_smoothing": [1e-4]}, epsilon=PLENTY, ledger=Same()
    ),
]
DECLARED = {
    "check_classifiers_classes": "takes classes_ from y; ours are declared, and of one kind",
    "check_classifiers_train": "takes the number of classes from y; ours are declared, also those nobody has",
}
CANNOT_HOLD = {
    "KMeans": {"check_clustering": "asks for labels_, which would tell every private row's cluster"},
    "GaussianNB": DECLARED,
    "CategoricalNB": DECLARED,
    "LogisticRegression": {
        **DECLARED,
        "check_decision_proba_consistency": "wants one number for each row; of three declared classes each has one",
        "check_class_weight_classifiers": "weighs a third class; of two that are declared it is none",
    },
    "RandomForestClassifier": DECLARED,
    "DecisionTreeClassifier": DECLARED,
    "AdditiveClassifier": DECLARED,
    "Pipeline": DECLARED,
    "PrivateSearchCV": DECLARED,
    "StandardScaler": {
        "check_estimator_sparse_array": "knows a class of this name and sets its with_mean, which ours has not",
        "check_estimator_sparse_matrix": "knows a class of this name and sets its with_mean, which ours has not",
    },
}


def cannot_hold(model: Any) -> dict[str, str]:
    found = CANNOT_HOLD.get(type(model).__name__, {})
    two = len(getattr(model, "classes", [])) == 2
    holds = "check_decision_proba_consistency" if two else "check_class_weight_classifiers"
    return {check: why for check, why in found.items() if check != holds}


CHECKS = parametrize_with_checks(CHECKED, expected_failed_checks=cannot_hold)


def checks() -> Iterator[Any]:
    """What cannot hold fails at length, and finds nothing: later."""
    for each in CHECKS.args[1]:
        failing = hasattr(each, "marks")
        yield pytest.param(*each.values, marks=[*each.marks, pytest.mark.slow]) if failing else each


@pytest.mark.parametrize(("estimator", "check"), list(checks()), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_s_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# costs and facts


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in FITS], ids=IDS)
def test_the_loss_is_known_before_and_the_same_after(make: Callable[..., Any], kind: str) -> None:
    model = make()
    before = model.loss_for(3)
    assert model.fit(*data(kind, 20, 0)).loss_ == before
    assert before == model.loss_for() == model.fit(*data(kind, 5, 1)).loss_


def test_what_a_cost_means() -> None:
    facts: dict[str, Any] = {"bounds": (0, 1)}
    assert StandardScaler(epsilon=0.3, **facts).loss_for(4) == Pure(0.3)
    assert StandardScaler(rho=0.3, **facts).loss_for(4) == Concentrated(0.3)
    assert StandardScaler(epsilon=1, delta=1e-6, ledger=Same(), **facts).loss_for(4) == Concentrated(rho_for(1, 1e-6))
    assert StandardScaler(epsilon=1, delta=1e-6, **facts).loss_for(40) == Concentrated(rho_for(1, 1e-6))
    assert FREE.loss_for(3) == Pure(0)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: KMeans(3, epsilon=1), "undeclared-bounds"),
    (lambda: KMeans(3, bounds=BOUNDS), "cost-missing"),
    (lambda: KMeans(3, bounds=BOUNDS, delta=1e-6), "cost-missing"),
    (lambda: KMeans(3, bounds=BOUNDS, epsilon=1, rho=1), "cost-invalid"),
    (lambda: KMeans(3, bounds=BOUNDS, rho=1, delta=1e-6), "cost-invalid"),
    (lambda: KMeans(3, bounds=BOUNDS, epsilon=1, method="gaussian-lloyd"), "cost-invalid"),
    (lambda: KMeans(3, bounds=BOUNDS, rho=1, method="lloyd"), "cost-invalid"),
    (lambda: KMeans(10**6, bounds=BOUNDS, epsilon=1), "too-complex"),
    (lambda: GaussianNB(bounds=BOUNDS, epsilon=1), "undeclared-classes"),
    (lambda: GaussianNB(classes=["a"], epsilon=1), "undeclared-bounds"),
    (lambda: CategoricalNB(classes=["a"], epsilon=1), "undeclared-categories"),
    (lambda: CategoricalNB(categories=3, epsilon=1), "undeclared-classes"),
    (lambda: PoissonCount(y_bounds=(0, 3), epsilon=1), "undeclared-categories"),
    (lambda: PoissonCount(categories=3, epsilon=1), "undeclared-bounds"),
    (lambda: PoissonCount(categories=41, y_bounds=(0, 3), epsilon=1), "too-complex"),
    (lambda: StandardScaler(epsilon=1), "undeclared-bounds"),
    (lambda: MinMaxScaler(), "undeclared-bounds"),
]


@pytest.mark.parametrize(("make", "code"), REFUSED)
def test_what_is_missing_is_refused_and_nothing_is_charged(make: Callable[[], Any], code: str) -> None:
    model, till = make(), Till(repeating(0))
    if "ledger" in model.get_params():
        model.set_params(ledger=till)
    with pytest.raises(Refused) as refusal:
        model.fit(*data("numbers", 5, 0))
    assert refusal.value.code == code
    assert refusal.value.fix
    with pytest.raises(Refused, match=code):
        model.loss_for(3)
    assert not till.events


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"bounds": (1, 0)}, "low < high"),
    ({"bounds": (0, float("nan"))}, "finite"),
    ({"bounds": (0, 1e200)}, "1e100"),
    ({"bounds": "01"}, "pair"),
    ({"bounds": (0, 1, 2)}, "pair"),
    ({"bounds": ([0, 0], [1, 1])}, "each of the 3 features"),
    ({"bounds": ([[0]], [[1]])}, "one-dimensional"),
    ({"bounds": (None, 1)}, "number"),
    ({"bounds": ([], [])}, "numbers"),
    ({"epsilon": 0}, "above 0"),
    ({"epsilon": "1"}, "number"),
    ({"epsilon": float("inf")}, "finite"),
    ({"epsilon": 1e-12}, "1e-9"),
    ({"epsilon": True}, "number"),
    ({"delta": 1}, "between 0 and 1"),
    ({"n_clusters": 0}, "at least 1"),
    ({"n_clusters": 2.5}, "integer"),
    ({"method": "magic"}, "one of auto"),
    ({"method": None}, "one of auto"),
    ({"max_iter": 0}, "at least 1"),
    ({"expected_n": -3}, "at least 1"),
    ({"n_init": "auto"}, "integer"),
    ({"ledger": "ledger.sqlite"}, "discreet ledger"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG)
def test_wrong_arguments_are_explained_before_anything_is_charged(wrong: dict[str, Any], words: str) -> None:
    till = Till(repeating(0))
    model = KMeans(**{"n_clusters": 3, "bounds": BOUNDS, "epsilon": 1, "ledger": till, **wrong})
    with pytest.raises((TypeError, ValueError), match=words):
        model.fit(data("numbers", 5, 0)[0])
    assert not till.events


CLASSES: list[tuple[Callable[[], Any], str]] = [
    (lambda: GaussianNB(bounds=BOUNDS, classes="ab", epsilon=1), "list of values"),
    (lambda: GaussianNB(bounds=BOUNDS, classes=[], epsilon=1), "at least 1"),
    (lambda: GaussianNB(bounds=BOUNDS, classes=["a", "a"], epsilon=1), "each once"),
    (lambda: GaussianNB(bounds=BOUNDS, classes=["a", 1], epsilon=1), "no order"),
    (lambda: GaussianNB(bounds=BOUNDS, classes=["a", None], epsilon=1), "neither None"),
    (lambda: GaussianNB(bounds=BOUNDS, classes=[0.0, float("nan")], epsilon=1), "neither None"),
    (lambda: GaussianNB(bounds=BOUNDS, classes=[0, 1], epsilon=1), "as they are in y"),
    (lambda: GaussianNB(bounds=BOUNDS, classes=["a"], epsilon=1, var_smoothing=0), "above 0"),
    (lambda: CategoricalNB(categories=0, classes=["a"], epsilon=1), "at least 1"),
    (lambda: CategoricalNB(categories=[3, 3], classes=["a"], epsilon=1), "each of the 3 features"),
    (lambda: CategoricalNB(categories="ab", classes=["a"], epsilon=1), "list with the values"),
    (lambda: CategoricalNB(categories=3, classes=["a"], epsilon=1, alpha=-1), "above 0"),
    (lambda: PoissonCount(categories=3, y_bounds=(-1, 3), epsilon=1), r"pass y_bounds=\(0, 3\)"),
    (lambda: MinMaxScaler(bounds=BOUNDS, feature_range=(1, 1)), "low < high"),
]


@pytest.mark.parametrize(("make", "words"), CLASSES)
def test_wrong_facts_are_explained(make: Callable[[], Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        make().fit(*data("numbers", 5, 0))


def test_lists_of_wrong_width_are_noticed_before_anything_is_charged() -> None:
    till = Till(repeating(0))
    for rows in [[0.0, 1.0]], [(0.0, 1.0)], [np.zeros(2)]:
        with pytest.raises(ValueError, match="each of the 2 features"):
            KMeans(2, bounds=([0] * 3, [1] * 3), epsilon=1, ledger=till).fit(rows)
    assert not till.events


def test_shapes_are_looked_at_before_anything_is_charged() -> None:
    till = Till(repeating(0))
    rows, labels = data("numbers", 5, 0)
    model = GaussianNB(bounds=BOUNDS, classes=["a"], epsilon=1, ledger=till)
    with pytest.raises(ValueError, match="target y is None"):
        model.fit(rows)
    for odd in rows[:, 0], rows[None], np.float64(1):
        with pytest.raises(ValueError, match="Reshape your data"):
            model.fit(odd, labels)
    assert not till.events


# ledgers


class Watched:
    """Rows that write down when somebody looks at them."""

    def __init__(self, events: list[object], rows: Any) -> None:
        self._events = events
        self._rows = rows

    def __array__(self, *_: object, **__: object) -> Any:
        self._events.append("looked")
        return self._rows

    def __len__(self) -> int:
        self._events.append("looked")
        return len(self._rows)


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in FITS], ids=IDS)
def test_the_charge_comes_before_the_data(make: Callable[..., Any], kind: str) -> None:
    till = Till(repeating(2))
    rows, labels = data(kind, 8, 0)
    model = make(ledger=till)
    model.fit(Watched(till.events, rows), labels)
    charges = [event for event in till.events if event != "looked"]
    assert charges == [(model.loss_, f"{type(model).__name__}.fit")]
    assert till.events[0] == charges[0]
    assert "looked" in till.events


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in PURE], ids=[name for name, _, _ in PURE])
def test_no_row_decides_whether_there_is_a_warning(make: Callable[..., Any], kind: str) -> None:
    rows, labels = data(kind, 40, 1)
    rows[0], rows[1] = 1.7e308, -1.7e308
    if kind in ("targets", "counts"):
        labels[:2] = rows[:2, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(rows, labels)


def test_a_real_ledger_holds_what_was_declared(tmp_path: Path) -> None:
    pure = [(make(epsilon=Fraction(place + 1, 100)), kind) for place, (_, make, kind) in enumerate(PURE)]
    with opened(tmp_path / "ledger.sqlite") as ledger:
        for model, kind in pure:
            model.set_params(ledger=ledger).fit(*data(kind, 30, 0))
        assert [entry.loss for entry in ledger.entries()] == [model.loss_ for model, _ in pure]
        assert [entry.question for entry in ledger.entries()] == [f"{type(model).__name__}.fit" for model, _ in pure]
        with pytest.raises(BudgetExhausted):
            KMeans(3, bounds=BOUNDS, epsilon=1000, ledger=ledger).fit(Watched([], None))
        with pytest.raises(Refused):
            KMeans(3, bounds=BOUNDS, rho=0.1, ledger=ledger).fit(Watched([], None))


def test_a_concentrated_ledger_takes_rho(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite", BOTH) as ledger:
        model = StandardScaler(bounds=BOUNDS, rho=0.01, ledger=ledger).fit(data("numbers", 30, 0)[0])
        assert [entry.loss for entry in ledger.entries()] == [model.loss_] == [Concentrated(0.01)]


def test_a_free_scaler_charges_nothing_and_forgets_the_rows() -> None:
    rows = data("numbers", 30, 0)[0]
    assert clone(FREE).fit(rows).scale_.tolist() == clone(FREE).fit(rows[:1] * 0).scale_.tolist()


# copies


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in FITS], ids=IDS)
def test_fitted_models_can_be_pickled(make: Callable[..., Any], kind: str) -> None:
    rows, labels = data(kind, 20, 0)
    model = make(ledger=Till(repeating(1))).fit(rows, labels)
    copied = pickle.loads(pickle.dumps(model))
    use = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(copied, use)(rows), getattr(model, use)(rows))
    assert copied.loss_ == model.loss_
    assert isinstance(copied.ledger, LostLedger)
    with pytest.raises(Refused) as refusal:
        copied.fit(rows, labels)
    assert refusal.value.code == "ledger-lost"


def test_clones_pay_from_the_same_ledger(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite") as ledger:
        model = KMeans(3, bounds=BOUNDS, epsilon=0.25, ledger=ledger)
        twin = clone(model).set_params(n_clusters=2)
        assert twin.ledger is ledger
        assert model.n_clusters == 3
        twin.fit(data("numbers", 30, 0)[0])
        assert [entry.loss for entry in ledger.entries()] == [Pure(0.25)]


def test_a_model_keeps_no_rows() -> None:
    """What is pickled is what may be published: it is no larger for more rows, and nothing is as long as they are."""
    for _, make, kind in FITS:
        few, many = (learn(make(), *data(kind, rows, 0), ["a", "b", "c"], repeating(1)) for rows in (10, 4999))
        # the depth of trees comes from a noisy number of rows
        assert hasattr(many, "max_depth_") or len(pickle.dumps(many)) < len(pickle.dumps(few)) + 2000
        assert not any(4999 in np.shape(value) for value in vars(many).values() if isinstance(value, np.ndarray))
        assert not hasattr(many, "labels_")


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in FITS if kind != "places"])
def test_pipelines_with_every_estimator(make: Callable[..., Any], kind: str) -> None:
    rows, labels = data(kind, 30, 0)
    model = make()
    if "bounds" in model.get_params():
        model.set_params(bounds=(0, 1))
    steps = make_pipeline(MinMaxScaler(bounds=BOUNDS), model).fit(rows, labels)
    use = "predict" if hasattr(model, "predict") else "transform"
    assert len(getattr(steps, use)(rows)) == 30
    assert clone(steps)[-1].get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_pipelines_of_private_steps() -> None:
    rows, labels = data("numbers", 200, 0)
    model = make_pipeline(
        MinMaxScaler(bounds=BOUNDS), GaussianNB(bounds=(0, 1), classes=["a", "b", "c"], epsilon=1)
    ).fit(rows, labels)
    assert set(model.predict(rows)) <= {"a", "b", "c"}
    model.set_params(gaussiannb__epsilon=2)
    assert model[-1].loss_for(3) == Pure(2)


# randomness


def test_nothing_else_is_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a ledger, not one bit comes from elsewhere; and the generators of others are left alone."""

    def nothing(*_: object) -> bytes:
        raise AssertionError("bits that no charge gave")

    random.seed(1)
    np.random.seed(1)
    monkeypatch.setattr(SystemBits, "bytes", nothing)
    theirs, ours = np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]
    for _, make, kind in FITS:
        bits = repeating(3)
        make(ledger=Till(bits)).fit(*data(kind, 20, 0))
        assert bits.taken
    assert np.random.get_state()[1].tolist() == theirs  # type: ignore[index]
    assert random.getstate() == ours


def test_two_fits_differ() -> None:
    rows, labels = data("numbers", 50, 0)
    model = GaussianNB(bounds=BOUNDS, classes=["a", "b"], epsilon=1)
    assert model.fit(rows, labels).theta_.tolist() != model.fit(rows, labels).theta_.tolist()


def test_importing_discreet_does_not_import_scikit_learn() -> None:
    code = "import sys, discreet, discreet.curator.curator; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_every_estimator_is_tried_here() -> None:
    import discreet.learn

    tried = {type(make()) for _, make, _ in FITS} | {MinMaxScaler, OneHot}
    public = {getattr(discreet.learn, name) for name in discreet.learn.__all__}
    every = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Estimator)} - {Estimator}
    assert tried == every == {type(model) for model in CHECKED}
