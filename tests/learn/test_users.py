"""What people do with a fitted model: weigh classes, ask what matters, show a card, draw it, take it elsewhere."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.learn import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    CategoricalNB,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    OneHot,
    RandomForestClassifier,
    RandomForestRegressor,
    StandardScaler,
    make_pipeline,
    private_score,
)
from discreet.learn.codec import decode, encode
from discreet.learn.predictors import Classifier
from tests.learn.cases import FITS, data
from tests.learn.evaluating import predict
from tests.learn.helpers import Till, learn, recorder, repeating
from tests.learn.test_tables import curator

CLASSIFIERS: list[Any] = [
    GaussianNB,
    LogisticRegression,
    DecisionTreeClassifier,
    RandomForestClassifier,
    AdditiveClassifier,
]
BOUNDS = {"age": (0, 100), "pay": (0, 1)}


def rows(count: int = 400) -> tuple[pd.DataFrame, Any]:
    """A fifth says yes: those above 80, and whoever else is drawn."""
    dice = np.random.default_rng(0)
    frame = pd.DataFrame({"age": dice.uniform(0, 100, count), "pay": dice.uniform(0, 1, count)})
    return frame, np.where((frame["age"] > 80) ^ (dice.random(count) < 0.1), "yes", "no")


# weights


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_weights_move_the_odds_and_nothing_that_is_released(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, labels = rows()
    exact, found = frame.to_numpy(), recorder(monkeypatch)
    models = []
    for weights in (None, {"yes": 5}, {"no": 2, "yes": 10}):
        model = kind(bounds=BOUNDS, classes=["no", "yes"], class_weight=weights, epsilon=2)
        models.append(learn(model, exact, labels, ["age", "pay"], repeating(1)))
    count = len(found.releases) // 3
    released = [[each.exact.tolist() for each in found.releases[k * count : (k + 1) * count]] for k in range(3)]
    assert released[0] == released[1] == released[2]
    plain, five, same = (np.diff(model.predict_log_proba(frame), axis=1)[:, 0] for model in models)
    np.testing.assert_allclose(five - plain, np.log(5), rtol=1e-9)
    np.testing.assert_allclose(same, five, rtol=1e-9, atol=1e-9)
    assert (models[1].predict(frame) == "yes").sum() >= (models[0].predict(frame) == "yes").sum()
    again = decode(encode(models[1]))
    assert again is not None
    assert (again.predict_proba(frame) == models[1].predict_proba(frame)).all()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_balanced_weights_come_from_released_counts(kind: Any) -> None:
    frame, labels = rows()
    given = {"bounds": BOUNDS, "classes": ["no", "yes"], "epsilon": 2, "class_weight": "balanced"}
    model = learn(kind(**given), frame.to_numpy(), labels, ["age", "pay"], repeating(1))
    plain = learn(kind(**{**given, "class_weight": None}), frame.to_numpy(), labels, ["age", "pay"], repeating(1))
    moved = np.diff(model.predict_log_proba(frame) - plain.predict_log_proba(frame), axis=1)
    counts = np.maximum(model.class_count_, 1)
    np.testing.assert_allclose(moved, np.log(counts[0] / counts[1]), rtol=1e-6)


WEIGHTS: list[tuple[Any, str]] = [
    ({"maybe": 1}, "not among the classes"),
    ({"yes": 0}, "above 0"),
    ({"yes": -1}, "above 0"),
    ({"yes": float("inf")}, "finite"),
    ({"yes": "much"}, "number"),
    ("even", "must be"),
    ([1, 2], "must be"),
    (3, "must be"),
]


@pytest.mark.parametrize(("weights", "words"), WEIGHTS)
def test_wrong_weights_cost_nothing(weights: Any, words: str) -> None:
    till = Till(repeating(0))
    model = GaussianNB(bounds=BOUNDS, classes=["no", "yes"], class_weight=weights, epsilon=1, ledger=till)
    with pytest.raises((TypeError, ValueError), match=words):
        model.fit(*rows(10))
    with pytest.raises((TypeError, ValueError), match=words):
        model.loss_for()
    assert not till.events


def test_every_classifier_has_balanced_weights() -> None:
    for name, make, kind in FITS:
        model = make()
        if isinstance(model, Classifier) and name.endswith("pure"):
            fitted = model.set_params(class_weight="balanced").fit(*data(kind, 30, 0))
            assert fitted.class_count_.shape == (len(fitted.classes),)


# importances


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(classes=["no", "yes"]),
        RandomForestClassifier(classes=["no", "yes"]),
        AdditiveClassifier(classes=["no", "yes"]),
        DecisionTreeRegressor(y_bounds=(0, 100)),
        RandomForestRegressor(y_bounds=(0, 100)),
        AdditiveRegressor(y_bounds=(0, 100)),
        LogisticRegression(classes=["no", "yes"]),
        LinearRegression(y_bounds=(0, 100)),
    ],
)
def test_what_matters_has_the_larger_share(model: Any) -> None:
    """ε = 50 on 3000 rows of which one feature alone tells the target."""
    frame, labels = rows(3000)
    target = labels if hasattr(model, "classes") else frame["age"]
    shares = model.set_params(bounds=BOUNDS, epsilon=50).fit(frame, target).feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert shares[0] > 0.7


def test_what_has_no_importances_says_so() -> None:
    frame, labels = rows(50)
    for model in (KMeans(2, epsilon=1), GaussianNB(classes=["no", "yes"], epsilon=1)):
        fitted = model.set_params(bounds=BOUNDS)
        assert not hasattr(fitted, "feature_importances_")
        assert not hasattr(fitted.fit(frame, labels), "feature_importances_")


# cards

HOSTILE = '<script>alert("x")</script>\u202e$x$ & \x1b[31m'


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        assert all(name == "style" for name, _ in attrs)


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for name, make, kind in FITS if name.endswith("-pure")])
def test_every_model_has_a_card(make: Any, kind: str) -> None:
    exact, labels = data(kind, 30, 0)
    model = learn(make(), exact, labels, [HOSTILE, "b", "c"], repeating(2))
    card = model.card()
    document = json.loads(card.json())
    assert document == card.document()
    assert (document["format"], document["columns"][0]) == ("discreet-card", HOSTILE)
    assert document["cost"] == str(model.loss_)
    assert document["proof"].startswith(("The declared loss", "Laplace noise"))
    assert document["measured"]
    assert "\x1b" not in str(card)
    assert "\u202e" not in str(card)
    tags = Tags()
    tags.feed(card._repr_html_())
    assert tags.tags <= {"div", "span", "table", "thead", "tbody", "tr", "th", "td"}
    assert "<script" not in card.html()
    assert "\u202e" not in card.html()


def test_a_card_of_a_fit_on_a_curator_says_what_was_asked() -> None:
    with curator(count=200) as found:
        sql = "SELECT age, sex, pay FROM people"
        model = found.fit(make_pipeline(StandardScaler(), OneHot(), LinearRegression()), sql, target="pay", epsilon=1)
        facts = model.card().document()
        assert facts["query"] == {"sql": sql, "target": "pay", "max_rows": 1}
        assert facts["receipt"] == model.receipt_
        assert "unit='person'" in facts["cost"]
        assert facts["declared"]["y_bounds"] == [0, 1000]
        assert facts["steps"][0] == "StandardScaler: Pure(epsilon=0.2)"
        tree = found.fit(DecisionTreeClassifier(), "SELECT age, sex FROM people", target="sex", epsilon=1)
        facts = tree.card("accuracy 0.9, on public rows").document()
        assert facts["declared"]["bounds"] == {"age": [0, 100]}
        assert facts["scores"] == ["accuracy 0.9, on public rows"]
        again = found.recall(int(tree.receipt_.split(":")[0])).card().document()
        assert (again["query"], again["declared"]) == (facts["query"], facts["declared"])


def test_a_card_needs_a_fit() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        GaussianNB().card()


def test_a_card_takes_scores() -> None:
    frame, labels = rows(200)
    model = GaussianNB(bounds=BOUNDS, classes=["no", "yes"], epsilon=1).fit(frame, labels)
    score = private_score(model, frame, labels, epsilon=1)
    assert str(score) in str(model.card(score))


# export

EXPORTED: list[Any] = [
    LinearRegression(y_bounds=(0, 100)),
    LogisticRegression(classes=["no", "yes"]),
    LogisticRegression(classes=["a", "no", "yes"], class_weight={"yes": 4}),
    DecisionTreeClassifier(classes=["no", "yes"], class_weight={"yes": 4}),
    RandomForestClassifier(classes=["no", "yes"]),
    DecisionTreeRegressor(y_bounds=(0, 100)),
    RandomForestRegressor(y_bounds=(0, 100)),
    AdditiveRegressor(y_bounds=(0, 100)),
    AdditiveClassifier(classes=["no", "yes"], class_weight={"yes": 4}),
    AdditiveClassifier(classes=["a", "no", "yes"]),
    make_pipeline(StandardScaler(), LogisticRegression(), classes=["no", "yes"]),
    make_pipeline(StandardScaler(), PCA(2), LinearRegression(), y_bounds=(0, 100)),
    make_pipeline(MinMaxScaler(), DecisionTreeClassifier(max_depth=2), classes=["no", "yes"]),
]


@pytest.mark.parametrize("model", EXPORTED, ids=lambda model: repr(model)[:40])
def test_an_exported_model_says_the_same_elsewhere(model: Any) -> None:
    frame, labels = rows(300)
    numbers = getattr(model, "y_bounds", None) is not None
    model.set_params(bounds=BOUNDS, epsilon=20).fit(frame, frame["age"] if numbers else labels)
    document = json.loads(json.dumps(model.export(), allow_nan=False))
    assert document["features"] == ["age", "pay"]
    ours = model.predict(frame).tolist()
    theirs = [predict(document, row) for row in frame.to_numpy().tolist()]
    if numbers:
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9)
    else:
        assert theirs == ours


def test_an_exported_pipeline_has_its_categories() -> None:
    frame, labels = rows(300)
    frame = frame.assign(city=np.where(labels == "yes", "Ulm", "Bonn"))
    model = make_pipeline(
        MinMaxScaler(), OneHot({"city": ["Bonn", "Ulm"]}), LogisticRegression(), bounds=BOUNDS, classes=["no", "yes"],
        epsilon=20,
    ).fit(frame, labels)  # fmt: skip
    document = json.loads(json.dumps(model.export()))
    other = [*frame.to_numpy(dtype=object).tolist(), [50, 0.5, "Kiel"]]
    theirs = [predict(document, row) for row in other]
    assert theirs == model.predict(pd.DataFrame(other, columns=frame.columns)).tolist()


def test_what_has_no_plain_form_says_so() -> None:
    model = CategoricalNB(categories=3, classes=["a", "b"], epsilon=1).fit(*data("places", 20, 0))
    with pytest.raises(ValueError, match="has no plain form"):
        model.export()
    with pytest.raises(ValueError, match="not fitted"):
        LinearRegression().export()


# pictures


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_models(theme: str) -> None:
    frame, labels = rows(100)
    for model in (
        AdditiveClassifier(bounds=BOUNDS, classes=["no", "yes"], epsilon=1).fit(frame, labels),
        AdditiveClassifier(bounds=BOUNDS, classes=["no", "so", "yes"], epsilon=1).fit(frame, labels),
        AdditiveRegressor(bounds=BOUNDS, y_bounds=(0, 100), epsilon=1).fit(frame, frame["age"]),
        DecisionTreeClassifier(bounds=BOUNDS, classes=["no", "yes"], epsilon=1).fit(frame, labels),
    ):
        drawn = model.plot(theme).to_dict()
        assert {"age", "pay"} <= {record["feature"] for record in drawn["data"]["values"]}
        assert "epsilon=1" in drawn["title"]["subtitle"][0]
    with pytest.raises(AttributeError, match="feature_importances_"):
        GaussianNB(bounds=BOUNDS, classes=["no"], epsilon=1).fit(frame, labels).plot()
