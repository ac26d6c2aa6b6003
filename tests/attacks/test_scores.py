"""Attack: a model that is no model is shown private rows, or tells one row apart by how it fails.

Whatever is given: a refusal in words that costs nothing, or scores that were charged once.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from datetime import date
from typing import Any, Final

import numpy as np
import pytest

import discreet
from discreet.answers.scores import scores_of
from discreet.audit.replay import replay
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.learn import DecisionTreeClassifier, GaussianNB, PoissonCount
from discreet.learn.codec import VERSION
from discreet.learn.core import ESTIMATORS
from discreet.learn.score import BLOCK, _total
from discreet.learn.sent import model_to_score, own
from tests.learn.cases import CASES, COSTS, data
from tests.learn.test_score_task import MODEL, SQL, curator
from tests.learn.test_tables import POLICY, PURE, tables
from tests.server.running import Running, refused
from tests.sql.worlds import policy_of

PLACE: Final = "datasets/hospital"
WARDS: Final = "SELECT age, ward FROM patients"
ROWS, LABELS = data("numbers", 200, 1)


@pytest.fixture
def found() -> Iterator[Curator]:
    with curator() as opened:
        yield opened


# code of the caller's

SEEN: Final[list[Any]] = []


class Derived(GaussianNB):
    def predict(self, X: Any) -> Any:  # noqa: N803
        SEEN.append(X)
        return super().predict(X)


class Spoofed(GaussianNB):
    def predict(self, X: Any) -> Any:  # noqa: N803
        SEEN.append(X)
        return super().predict(X)


ESTIMATORS.pop(f"{__name__}.Derived", None)
ESTIMATORS.pop(f"{__name__}.Spoofed", None)
Spoofed.__module__, Spoofed.__qualname__ = "discreet.learn.bayes", "GaussianNB"


class Array(np.ndarray):
    def __array_ufunc__(self, *given: Any, **_: Any) -> Any:
        SEEN.append(given)
        return NotImplemented

    def __array_function__(self, *given: Any, **_: Any) -> Any:
        SEEN.append(given)
        return NotImplemented


class Thing:
    """Says that it is an array."""

    def __array__(self, *given: Any, **_: Any) -> Any:
        SEEN.append(given)
        return np.zeros((2, 2))


def _with(name: str, value: Any) -> Any:
    model = copy.deepcopy(MODEL)
    setattr(model, name, value)
    return model


def _as(kind: Any) -> Any:
    model = kind(bounds=([0, 0], [100, 1000]), classes=["F", "M"])
    vars(model).update(vars(copy.deepcopy(MODEL)))
    return model


HOSTILE: Final[dict[str, Any]] = {
    "derived": _as(Derived),
    "spoofed": _as(Spoofed),
    "own predict": _with("predict", lambda rows: SEEN.append(rows)),
    "own joint": _with("_joint", lambda rows: SEEN.append(rows)),
    "own again": _with("_again", lambda rows: SEEN.append(rows)),
    "no number": _with("theta_", np.full((2, 2), np.nan)),
    "infinite": _with("theta_", np.full((2, 2), np.inf)),
    "infinite scalar": _with("something_", float("inf")),
    "thing": _with("theta_", Thing()),
    "object array": _with("theta_", np.array([[Thing(), 1], [1, 1]], dtype=object)),
    "function": _with("theta_", lambda: 1),
    "another width": _with("theta_", np.zeros((2, 3))),
    "another number of classes": _with("theta_", np.zeros((3, 2))),
    "more classes": _with("classes_", np.array(["F", "M", "X"])),
    "fewer classes": _with("classes_", np.array(["F"])),
    "no width": _with("n_features_in_", "2"),
    "huge width": _with("n_features_in_", 10**9),
    "watching array": _with("theta_", MODEL.theta_.view(Array)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_code_of_the_caller_s_sees_a_row_and_nothing_is_charged(name: str, found: Curator) -> None:
    SEEN.clear()
    with pytest.raises(Refused) as refusal:
        found.score(HOSTILE[name], SQL, target="sex", epsilon=1)
    assert refusal.value.code in ("not-private", "score-invalid", "unknown-column")
    seen = [part for each in SEEN for part in (each if isinstance(each, tuple) else (each,))]
    assert not [part for part in seen if isinstance(part, np.ndarray) and part.size > 4]
    assert not found.entries()


def test_arrays_of_other_classes_become_plain_ones(found: Curator) -> None:
    model = _with("theta_", MODEL.theta_.view(np.recarray))
    assert found.score(model, SQL, target="sex", epsilon=1e6).value == pytest.approx(1, abs=1e-3)
    assert type(own(model).theta_) is np.ndarray
    assert own(_with("ledger", 5)).ledger is None


def test_what_is_scored_is_a_copy(found: Curator) -> None:
    model = copy.deepcopy(MODEL)
    model.extra = lambda: 1 / 0
    assert found.score(model, SQL, target="sex", epsilon=1).metric == "accuracy"
    assert own(model) is not model
    assert not hasattr(own(model), "extra")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_model_of_ours_is_accepted_as_it_is(case: Any) -> None:
    """Those that predict: made anew they say the same, to the last bit."""
    rows, labels = data(case.data, 200, 1)
    model = case.make(**COSTS[case.costs[0]]).fit(rows, labels)
    if not hasattr(model, "predict"):
        with pytest.raises(Refused):
            own(model)
        return
    again = own(model)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


# models that fail on one row alone


def _trap() -> Any:
    """A tree whose one leaf is missing: rows that end there fail."""
    rows = np.random.default_rng(1).uniform([0, 0], [100, 1000], (400, 2))
    model = DecisionTreeClassifier(bounds=([0, 0], [100, 1000]), classes=["F", "M"], epsilon=100, max_depth=3)
    return model.fit(rows, np.where(rows[:, 0] > 90, "M", "F"))


def test_a_model_that_fails_on_one_person_tells_nothing_of_that_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours: with the person it fails on one row. Charges, answers and moves are as declared."""
    model = _trap()
    monkeypatch.setattr("discreet.learn.sent._probe", lambda _: None)  # as if it had passed
    honest = DecisionTreeClassifier._joint

    def failing(self: Any, rows: Any) -> Any:
        if len(rows) and (rows[:, 1] == 777).any():
            raise IndexError("leaf")
        return honest(self, rows)

    monkeypatch.setattr(DecisionTreeClassifier, "_joint", failing)
    without, whole = tables(30), tables(30)
    whole["people"] = [*whole["people"], {"person": 99, "age": 95, "pay": 777.0, "free": 0.0, "sex": "M"}]
    task = model.score_task(SQL, target="sex", metric=["balanced_accuracy", "roc_auc"], epsilon=1, fresh=True)
    report = replay(policy_of(POLICY, head=PURE), task, without, whole)
    assert report.same, report
    assert report.l1 <= 1


def _rates(last: Any) -> Any:
    """Rates of four cells, of which no probe is in the second: women under fifty."""
    rows = np.array([["F", False], ["M", True]] * 20, dtype=object)
    model = PoissonCount(categories=[["F", "M"], [False, True]], y_bounds=(0, 1000), epsilon=1).fit(
        rows, [1.0, 2.0] * 20
    )
    model.rates_ = np.array([1.0, last, 1.0, 1.0], dtype=object)
    return model


@pytest.mark.parametrize("last", ["nobody", 10**400, date(2026, 1, 1), True], ids=lambda last: type(last).__name__)
def test_what_a_model_says_of_one_person_is_a_number_or_nothing(last: Any) -> None:
    """A rate that is none, where only one person is: with it and without it, the same comes of the question."""
    task = _rates(last).score_task(
        "SELECT sex, age < 50 AS young, pay FROM people",
        target="pay",
        metric="mean_absolute_error",
        epsilon=1,
        fresh=True,
    )
    without, whole = tables(30), tables(30)
    without["people"] = [row for row in without["people"] if row["sex"] == "M"]
    whole["people"] = [*without["people"], {"person": 99, "age": 5, "pay": 7.0, "free": 0.0, "sex": "F"}]
    report = replay(policy_of(POLICY, head=PURE), task, without, whole)
    assert report.same, report
    assert report.l1 <= 1


def test_where_a_model_fails_on_one_person_it_is_not_asked_about_each_of_the_others() -> None:
    """How often it is asked says how long it takes, and one row would decide that."""
    rows, asked = np.arange(2.0 * BLOCK)[:, None], []

    class Trap:
        def predict(self, rows: Any) -> Any:
            asked.append(len(rows))
            if (rows == 777).any():
                raise IndexError("leaf")
            return rows[:, 0]

    said = _total(Trap(), rows, len(rows))
    assert np.flatnonzero(np.isnan(said)).tolist() == [777]
    assert np.delete(said, 777).tolist() == np.delete(rows[:, 0], 777).tolist()
    assert len(asked) <= 2 + 2 * BLOCK.bit_length()
    assert sum(asked) <= 4 * len(rows)


def test_models_with_pieces_missing_are_found_before_the_charge(found: Curator) -> None:
    """Every array of every model, shorter by one in each direction: refused, or of no use to what it predicts."""
    rows, labels = data("numbers", 200, 1)
    for case in (each for each in CASES if each.data == "numbers" and "lloyd" not in each.name):
        model = case.make(**COSTS[case.costs[0]]).fit(rows, labels)
        if not hasattr(model, "predict"):
            continue
        for name, value in vars(model).items():
            if not (name.endswith("_") and isinstance(value, np.ndarray)):
                continue
            for axis in range(value.ndim):
                worse = copy.deepcopy(model)
                setattr(worse, name, np.delete(value, -1, axis=axis))
                try:
                    again = own(worse)
                except Refused:
                    continue
                assert again.predict(rows).shape == (200,), (case.name, name, axis)
    assert not found.entries()


# documents that somebody wrote

GOOD: Final = MODEL.document()


def _edited(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(GOOD))
    for path, value in changes.items():
        place: Any = document
        *way, last = path.split("__")
        for step in way:
            place = place[step]
        place[last] = value
    return document


DOCUMENTS: Final[list[Any]] = [
    {}, {"version": VERSION}, {"model": {}}, {"version": VERSION + 1, "model": GOOD["model"]},
    {"version": VERSION, "model": []},
    _edited(model__estimator="os.system"), _edited(model__estimator="KMeans"), _edited(model__estimator=["x"]),
    _edited(model__estimator="Estimator"), _edited(model__estimator="_Forest"), _edited(model__fitted={}),
    _edited(model__fitted=[]), _edited(model__parameters=[]), _edited(model__parameters={"ledger": 5}),
    _edited(model__parameters={"nobody": 5}), _edited(model__fitted__predict="x"),
    _edited(model__fitted__theta_={"float": "nan"}), _edited(model__fitted__theta_=[[1, 2], [3]]),
    _edited(model__fitted__theta_={"array": "AAAA", "dtype": "|O8", "shape": [1]}),
    _edited(model__fitted__n_features_in_=10**9), _edited(model__fitted__n_features_in_=-1),
    _edited(model__fitted__classes_={"texts": ["F"] * 3, "shape": [3]}),
    _edited(model__fitted__theta_=json.loads("[" * 200 + "]" * 200)),
]  # fmt: skip


@pytest.mark.parametrize("document", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_documents_are_models_or_refused(document: Any) -> None:
    with pytest.raises(Refused):
        model_to_score(document)


def test_what_a_server_sends_is_read_with_suspicion(found: Curator) -> None:
    good = found.score(MODEL, SQL, target="sex", epsilon=1, metric=["confusion_matrix", "calibration"]).document()
    sent = json.loads(json.dumps(good))
    assert list(scores_of(sent)) == ["confusion_matrix", "calibration"]
    wrong: dict[str, Any]
    for wrong in ({"version": 2}, {"scores": []}, {"receipt": "x"}, {"receipt": "1:Z"}):
        with pytest.raises(ValueError, match="version"):
            scores_of({**sent, **wrong})  # type: ignore[typeddict-item]


# over HTTP


def _request(model: Any, **more: Any) -> dict[str, Any]:
    return {"model": model, "sql": WARDS, "target": "ward", "epsilon": 0.05, "holdout": "spring", **more}


def _guess() -> Any:
    rows = np.random.default_rng(1).uniform(0, 100, (200, 1))
    model = GaussianNB(bounds=(0, 100), classes=["A", "B", "C"], epsilon=10)
    return model.fit(rows, np.array(["A", "B", "C"])[(rows[:, 0] // 34).astype(int)])


def test_over_http_a_model_is_scored_once_and_shown_again(server: Running) -> None:
    model = _guess()
    with server.client() as client:
        before = len(client.get(f"{PLACE}/ledger").json()["entries"])
        preview = client.post(f"{PLACE}/score/preview", json=_request(model.document()))
        assert preview.json()["columns"] == ["accuracy"]
        for _ in range(2):
            answer = client.post(f"{PLACE}/score", json=_request(model.document()), headers={"idempotency-key": "s1"})
            assert answer.status_code == 200, answer.text
        assert answer.json()["scores"][0]["metric"] == "accuracy"
        entries = client.get(f"{PLACE}/ledger").json()["entries"]
        assert len(entries) == before + 1
        number = entries[-1]["number"]
        again = client.get(f"{PLACE}/scores/{number}").json()
        assert again["scores"] == answer.json()["scores"]
        refused(client.get(f"{PLACE}/answers/{number}"), 409, "charge-of-score")
        refused(client.get(f"{PLACE}/models/{number}"), 404, "unknown-answer")
        for wrong, code in [
            (_request({}), "score-invalid"),
            (_request(model.document(), metric="recall"), "score-invalid"),
            (_request(model.document(), metric=[]), "score-invalid"),
            (_request(model.document(), holdout="\n"), "score-invalid"),
            (_request(model.document(), positive={"x": []}), "score-invalid"),
            (_request(model.document(), confidence=2), "score-invalid"),
            (_request(model.document(), y_bounds=[1]), "body-invalid"),
            (_request(model.document(), nobody=1), "body-invalid"),
            (_request(5), "body-invalid"),
        ]:
            refused(client.post(f"{PLACE}/score", json=wrong), 422, code)
        assert len(client.get(f"{PLACE}/ledger").json()["entries"]) == before + 1


def test_a_client_scores_as_a_curator_does(server: Running) -> None:
    with discreet.connect(f"{server.url}/hospital", token=server.tokens["epidemiology"]) as remote:
        sql = WARDS
        asked: dict[str, Any] = {"target": "ward", "epsilon": 0.05, "holdout": "autumn"}
        fitted = remote.fit(GaussianNB(), sql, **asked)
        score = remote.score(fitted, sql, **asked)
        assert score.interval[0] <= score.value <= score.interval[1]
        several = remote.score(fitted, sql, metric=["accuracy", "roc_auc"], positive="B", **asked)
        assert list(several) == ["accuracy", "roc_auc"]
        recalled = remote.recall(int(several.receipt.split(":")[0]))
        assert recalled["roc_auc"].value == several["roc_auc"].value
        assert remote.preview(fitted.score_task(sql, **asked)).cached
        with pytest.raises(Refused, match="only fitted models"):
            remote.score(HOSTILE, sql, **asked)
        with pytest.raises(Refused):
            remote.score(HOSTILE["derived"], sql, **asked)
