"""Pipelines of our own steps: one fit, one cost, one charge, on arrays, on a curator and over HTTP."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.preprocessing
from sklearn.base import clone, is_classifier, is_regressor

from discreet.accounting import Concentrated, Pure
from discreet.errors import Refused
from discreet.learn import (
    PCA,
    AdditiveClassifier,
    DecisionTreeClassifier,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    OneHot,
    Pipeline,
    PrivateSearchCV,
    StandardScaler,
    make_pipeline,
)
from discreet.learn.codec import decode, encode
from discreet.learn.sent import estimator_of, model_of
from tests.learn.cases import data
from tests.learn.helpers import Till, learn, repeating, without
from tests.learn.outlets import check_loss, check_moves, outlets
from tests.learn.test_tables import BOTH, PURE, curator

TEXT = {"city": ["Bonn", "Ulm"]}
BOUNDS = {"age": (0, 110), "pay": (0, 5000)}


def people(rows: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    dice = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": dice.uniform(-20, 130, rows),
            "city": dice.choice(np.array(["Bonn", "Ulm", "Kiel"], dtype=object), rows),
            "pay": dice.uniform(0, 6000, rows),
        }
    )
    return frame, np.where((frame["city"] == "Ulm") ^ (frame["age"] > 90), "yes", "no")


def pipeline(*steps: Any, **more: Any) -> Pipeline:
    last = LogisticRegression() if not steps else steps[-1]
    inner = (StandardScaler(), OneHot(TEXT)) if not steps else steps[:-1]
    return make_pipeline(*inner, last, **{"bounds": BOUNDS, "classes": ["no", "yes"], "epsilon": 1, **more})


# one cost


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"epsilon": None, "rho": 0.1}, {"epsilon": 1, "delta": 1e-6}])
def test_the_cost_is_known_before_shared_by_the_steps_and_charged_once(
    cost: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, labels = people(60)
    till, found = Till(repeating(1)), outlets(monkeypatch)
    model = pipeline(**cost, ledger=till)
    before = model.loss_for(["age", "city", "pay"])
    assert before == model.loss_for() == model.fit(rows, labels).loss_
    assert till.events == [(before, "Pipeline.fit")]
    check_loss(found, before)


def test_shares_are_one_to_four_or_as_declared() -> None:
    rows, labels = people(60)
    shares = [step.loss_ for step in pipeline().fit(rows, labels).steps_ if not isinstance(step, OneHot)]
    assert shares == [Pure(Fraction(1, 5)), Pure(Fraction(4, 5))]
    model = pipeline(StandardScaler(), OneHot(TEXT), PCA(2), LogisticRegression(), rho=0.6, epsilon=None)
    losses = [step.loss_ for step in model.fit(rows, labels).steps_ if not isinstance(step, OneHot)]
    assert losses == [Concentrated(Fraction(1, 10)), Concentrated(Fraction(1, 10)), Concentrated(Fraction(4, 10))]
    named = {"standardscaler": 1, "logisticregression": 1}
    model = pipeline(shares=named).fit(rows, labels)
    assert model.steps_[0].loss_ == Pure(Fraction(1, 2)) == model.steps_[-1].loss_


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        ((StandardScaler(), OneHot(TEXT), LogisticRegression()), {}),
        ((OneHot(TEXT), StandardScaler(), GaussianNB()), {}),
        ((MinMaxScaler(feature_range=(-1, 2)), OneHot(TEXT), AdditiveClassifier()), {"epsilon": None, "rho": 0.2}),
        ((StandardScaler(), PCA(1), OneHot(TEXT), DecisionTreeClassifier(max_depth=2)), {}),
        ((StandardScaler(), OneHot(TEXT), PCA(2), LogisticRegression()), {"epsilon": None, "rho": 0.2}),
    ],
)
def test_no_row_moves_anything_farther_than_it_says(
    steps: Any, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replay on neighbours: values beyond bounds, values that nobody declared, rows in another order of columns."""
    rows, labels = people(9, 3)
    exact = rows.to_numpy(dtype=object)
    exact[0, 0], exact[1, 2], exact[2, 1] = 1e300, -1e300, None
    for place in range(len(exact)):
        found = outlets(monkeypatch)
        names = ["age", "city", "pay"]
        learn(pipeline(*steps, **more), exact, labels, names, repeating(place))
        found.again()
        learn(pipeline(*steps, **more), without(exact, place), without(labels, place), names, repeating(place))
        check_moves(found)
    found = outlets(monkeypatch)
    model = learn(pipeline(*steps, **more), exact[:0], labels[:0], names, repeating(0))
    assert len(model.predict(rows)) == 9


# bounds and columns


def test_bounds_travel_through_the_steps() -> None:
    rows, labels = people(4000)
    model = pipeline(epsilon=100).fit(rows, labels)
    scaler, encoder, last = model.steps_
    low, high = last.bounds
    assert low.tolist()[:2] == ((np.array([0, 0]) - scaler.mean_) / scaler.scale_).tolist()
    assert high.tolist()[:2] == ((np.array([110, 5000]) - scaler.mean_) / scaler.scale_).tolist()
    assert (low.tolist()[2:], high.tolist()[2:]) == ([0, 0], [1, 1])
    assert model.features_seen() == ["age", "pay", "city_Bonn", "city_Ulm"]
    assert encoder.get_feature_names_out(["age", "city", "pay"]).tolist() == model.features_seen()
    ranged = pipeline(MinMaxScaler(feature_range=(-1, 2)), OneHot(TEXT), GaussianNB()).fit(rows, labels)
    assert ranged.steps_[-1].high_.tolist() == [2, 2, 1, 1]
    own = pipeline(StandardScaler(), OneHot(TEXT), GaussianNB(bounds=(-3, 3))).fit(rows, labels)
    assert own.steps_[-1].high_.tolist() == [3] * 4


def test_components_lie_within_their_bounds() -> None:
    rows = data("numbers", 50, 0)[0]
    from tests.learn.cases import BOUNDS as BOX

    model = make_pipeline(StandardScaler(), PCA(2), KMeans(2), bounds=BOX, epsilon=10).fit(rows)
    low, high = model.steps_[-1].bounds
    seen = model._seen(np.clip(rows, *BOX))
    assert ((low <= seen) & (seen <= high)).all()
    assert model.transform(rows).shape == (50, 2)


def test_what_it_learned_is_good() -> None:
    """With ε = 8 and 4000 rows the model gets nearly all rows of Ulm and the others right (they are told by a sum)."""
    dice = np.random.default_rng(0)
    rows, _ = people(4000)
    labels = np.where(rows["age"].clip(0, 110) / 110 + 0.6 * (rows["city"] == "Ulm") > 0.8, "yes", "no")
    model = pipeline(epsilon=8).fit(rows, labels)
    assert model.score(rows, labels) > 0.85
    assert (model.predict(rows) == labels).mean() == model.score(rows, labels)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), model.predict_proba(rows))
    assert is_classifier(model)
    assert model.classes_.tolist() == ["no", "yes"]
    numbers = make_pipeline(StandardScaler(), LinearRegression(), bounds=(0, 1), y_bounds=(0, 1), epsilon=8)
    x = dice.uniform(0, 1, (4000, 2))
    assert is_regressor(numbers)
    assert numbers.fit(x, x[:, 0]).score(x, x[:, 0]) > 0.9


def test_missing_values_of_a_pipeline() -> None:
    rows, labels = people(40)
    holed = rows.copy()
    holed.loc[0, "age"], holed.loc[1, "city"] = np.nan, None
    with pytest.raises(ValueError, match="contains NaN"):
        pipeline().fit(holed, labels)
    for how in ("drop", "impute to midpoint"):
        model = pipeline(missing=how).fit(holed, labels)
        assert len(model.predict(rows)) == 40
    middle = model.predict_proba(rows.assign(age=55.0)[:1])
    np.testing.assert_array_equal(model.predict_proba(rows.assign(age=np.nan)[:1]), middle)
    np.testing.assert_array_equal(
        model.predict_proba(rows.assign(city=None)[:1]), model.predict_proba(rows.assign(city="Kiel")[:1])
    )


# what is refused

REFUSED: list[tuple[Any, str]] = [
    (lambda: pipeline(sklearn.preprocessing.StandardScaler(), GaussianNB()), "which is not private"),
    (lambda: pipeline(StandardScaler, GaussianNB()), "which is not private"),
    (lambda: pipeline("passthrough", GaussianNB()), "not private"),
    (lambda: pipeline(StandardScaler(epsilon=1), GaussianNB()), "steps share one cost"),
    (lambda: pipeline(StandardScaler(ledger=Till(repeating(0))), GaussianNB()), "steps share one cost"),
    (lambda: pipeline(StandardScaler(missing="drop"), GaussianNB()), "give missing to the pipeline"),
    (lambda: pipeline(GaussianNB(), GaussianNB()), "only be the last step"),
    (lambda: pipeline(KMeans(2), GaussianNB()), "only be the last step"),
    (lambda: pipeline(pipeline(epsilon=None), GaussianNB()), "cannot be a step"),
    (lambda: pipeline(OneHot(TEXT), OneHot(TEXT), GaussianNB()), "one OneHot at most"),
    (lambda: pipeline(MinMaxScaler(), OneHot(TEXT)), "no step of the pipeline has a cost"),
    (lambda: pipeline(shares={"standardscaler": 1}), "a share for each of"),
    (lambda: pipeline(shares={"standardscaler": 0, "logisticregression": 1}), "above 0"),
    (lambda: pipeline(shares=[1, 2]), "a share for each of"),
    (lambda: pipeline(OneHot({"town": ["Bonn"]}), GaussianNB()), "no column 'town'"),
    (lambda: pipeline(bounds={"age": (0, 1)}), "nothing of the column 'pay'"),
    (lambda: pipeline(bounds=None), "bounds is missing"),
    (lambda: pipeline(classes=None), "classes is missing"),
    (lambda: pipeline(epsilon=None), "cost"),
    (lambda: pipeline(OneHot(), GaussianNB()), "categories is missing"),
    (lambda: pipeline(StandardScaler(), GaussianNB(), bounds=(0, 1)), "'city' of X holds texts"),
    (lambda: Pipeline([], epsilon=1), "list of"),
    (lambda: Pipeline([("a__b", GaussianNB())], epsilon=1), "names of their own"),
    (lambda: Pipeline([("bounds", GaussianNB())], epsilon=1), "names of their own"),
    (lambda: Pipeline("steps", epsilon=1), "list of"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_is_wrong_is_explained_and_costs_nothing(make: Any, words: str) -> None:
    till = Till(repeating(0))
    rows, labels = people(8)
    with pytest.raises((Refused, TypeError, ValueError), match=words):
        make()._with(ledger=till).fit(rows, labels)
    assert not till.events


def test_columns_by_place_need_no_names() -> None:
    rows, labels = people(40)
    model = pipeline(
        StandardScaler(), OneHot([None, ["Bonn", "Ulm"], None]), GaussianNB(), bounds=[(0, 110), (1, 5000)]
    )
    mean = model.fit(rows.to_numpy(dtype=object), labels).steps_[0].mean_
    assert ((mean >= [0, 1]) & (mean <= [110, 5000])).all()  # of the two columns, each within its own bounds
    with pytest.raises(ValueError, match="categories are by name"):
        pipeline(bounds=(0, 1)).fit(rows.to_numpy(dtype=object), labels)


# copies


def test_copies_settings_and_records() -> None:
    rows, labels = people(40)
    model = pipeline().set_params(logisticregression__C=0.5)
    assert clone(model).get_params()["logisticregression__C"] == 0.5
    assert model.set_params(standardscaler=MinMaxScaler()).steps[0][1].feature_range == (0, 1)
    fitted = model.fit(rows, labels)
    again = decode(encode(fitted))
    assert again is not None
    assert (again.predict(rows) == fitted.predict(rows)).all()
    assert not hasattr(model.steps[-1][1], "coef_")
    assert model_of(fitted.document()).predict(rows).tolist() == fitted.predict(rows).tolist()


def test_a_search_over_a_pipeline() -> None:
    rows, labels = people(60)
    search = PrivateSearchCV(pipeline(epsilon=None), {"logisticregression__C": [0.1, 1.0]}, epsilon=1)
    assert search.fit(rows, labels).best_params_["logisticregression__C"] in (0.1, 1.0)
    assert len(search.predict(rows)) == 60


# on a curator


SQL = "SELECT age, sex, pay FROM people"


@pytest.mark.parametrize("head", [PURE, BOTH])
def test_facts_of_a_policy_go_to_the_steps(head: str) -> None:
    with curator(head, count=400) as found:
        made = make_pipeline(StandardScaler(), OneHot(), LinearRegression())
        model = found.fit(made, SQL, target="pay", epsilon=1)
        assert model is made
        assert model.bounds is None
        assert model.features_seen() == ["age", "sex_F", "sex_M"]
        assert model.steps_[-1].y_bounds == (0, 1000)
        assert len(found.entries()) == 1
        assert found.fit(clone(made), SQL, target="pay", epsilon=1).cached_
        assert len(found.recall(int(model.receipt_.split(":")[0])).steps_) == 3
        assert found.preview(clone(made).task(SQL, target="pay", epsilon=0.5)).loss.amount < model.loss_.amount
        sexes = found.fit(
            make_pipeline(MinMaxScaler(), GaussianNB()), "SELECT age, sex FROM people", target="sex", epsilon=1
        )
        assert sexes.classes_.tolist() == ["F", "M"]
        coded = found.fit(
            make_pipeline(OneHot({"age": [20, 80]}), GaussianNB()),
            "SELECT age, sex FROM people",
            target="sex",
            epsilon=1,
        )
        assert coded.features_seen() == ["age_20", "age_80"]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((sklearn.preprocessing.StandardScaler(), GaussianNB()), "not private"),
        ((StandardScaler(epsilon=1), GaussianNB()), "steps share one cost"),
        ((StandardScaler(), GaussianNB()), "note holds none|takes numbers"),
        ((StandardScaler(), OneHot(), GaussianNB()), "values of note are not declared"),
        ((OneHot({"foo": ["a"], "note": ["b"]}), GaussianNB()), "no column 'foo'"),
    ],
)
def test_what_a_curator_refuses(steps: Any, words: str) -> None:
    with curator() as found:
        with pytest.raises(Refused, match=words):
            found.fit(make_pipeline(*steps), "SELECT cost, note, ward FROM visits", target="ward", epsilon=1)
        assert not found.entries()


def test_a_request_is_read_as_it_was_written_and_hostile_ones_are_refused() -> None:
    request = make_pipeline(StandardScaler(), OneHot(TEXT), LogisticRegression(C=2)).task(SQL, epsilon=1).request()
    made = estimator_of(request["estimator"], request["params"])
    assert isinstance(made, Pipeline)
    assert [type(step) for _, step in made.steps] == [StandardScaler, OneHot, LogisticRegression]
    assert made.steps[-1][1].C == 2
    plain = [
        ["scale", {"estimator": "StandardScaler"}],
        ["last", {"estimator": "KMeans", "parameters": {"n_clusters": 2}}],
    ]
    assert estimator_of("Pipeline", {"steps": plain}).steps[1][1].n_clusters == 2

    def step(**more: Any) -> Any:
        return {"steps": [["x", {"estimator": "KMeans", **more}]]}

    hostile: Any
    for hostile in (
        {"steps": {}}, {"steps": "KMeans"}, {"steps": [["x"]]}, {"steps": [["x", "KMeans"]]}, {"steps": [[1, {}]]},
        {"steps": [["x", {"estimator": "KMeans"}]] * 21}, {"steps": [None]}, {"steps": [{"tuple": 3}]},
        step(estimator="os.system"), step(estimator=["KMeans"]), step(estimator="Pipeline"), step(fitted={"a_": [0]}),
        step(estimator="PrivateSearchCV"), step(parameters={"n_clusters": 10**9}), step(parameters={"ledger": "x"}),
        step(parameters={"epsilon": 5}), step(parameters={"__class__": 1}), step(parameters=[]),
        step(parameters={"bounds": {"estimator": "KMeans", "parameters": {}, "fitted": {}}}),
        {"steps": [["x", {"estimator": "OneHot", "parameters": {"categories": {"table": [["a", 10**9]]}}}]]},
        {"steps": [["x", {"estimator": "OneHot", "parameters": {"categories": {"table": [["a", {"array": ""}]]}}}]]},
    ):  # fmt: skip
        with pytest.raises(Refused):
            estimator_of("Pipeline", hostile)
