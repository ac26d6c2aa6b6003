"""Attack: a request for a fit makes the server build or reveal something else; a model harms a client.

Whatever is sent: a refusal in words that costs nothing, or a model that was charged once.
"""

from __future__ import annotations

import base64
import copy
import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import pytest

import discreet
from discreet.accounting.labels import rho_of_label
from discreet.accounting.record import Key
from discreet.answers.models import TASKS
from discreet.client import Unreachable
from discreet.errors import Refused
from discreet.learn import CategoricalNB, GaussianNB, KMeans, LinearRegression, OneHot, StandardScaler, make_pipeline
from discreet.learn.codec import VERSION, decode
from discreet.learn.core import ESTIMATORS
from discreet.learn.sent import BESIDE, MAX_SIZES, MOST_CATEGORIES, estimator_of, offered
from discreet.server import dispatch
from tests.attacks.over_http import PLACE, charges, nested, post, remote
from tests.server.running import Running, refused

SQL = "SELECT age FROM patients"
FIT: dict[str, Any] = {"estimator": "KMeans", "params": {"n_clusters": 2}, "sql": SQL, "epsilon": 0.05}


def send(client: httpx.Client, key: str | None = None, what: str = "fit", **more: Any) -> httpx.Response:
    return post(client, what, {**FIT, **more}, key)


# what is no estimator

NAMES = [
    "", "kmeans", "Estimator", "_Forest", "_Additive", "Classifier", "Regressor", "PrivateSearchCV", "Fit", "os.system",
    "builtins.eval", "discreet.learn.KMeans", "discreet.learn.kmeans.estimator.KMeans", "../KMeans", "/etc/passwd",
    "KMeans\0",
    "KMeans.__class__", "__class__", "__init__", "sklearn.cluster.KMeans", "K" * 200, "K" * 201,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_only_estimators_that_are_offered_have_a_name(name: str, client: httpx.Client) -> None:
    before = charges(client)
    for what in ("fit", "fit/preview"):
        found = send(client, what=what, estimator=name)
        assert (found.status_code, found.json()["spent"]) == (422, 0)
        assert found.json()["code"] in ("fit-invalid", "body-invalid")
    assert charges(client) == before


def test_what_is_offered_is_what_can_be_fitted_alone() -> None:
    assert {name for name in offered() if name[0] == "_" or name in ("Estimator", "Classifier", "Regressor")} == set()
    public = {name for name in discreet.learn.__all__ if name in ESTIMATORS} - {"PrivateSearchCV"}
    assert set(offered()) == public
    for kind in offered().values():
        assert not vars(kind()).keys() - kind().get_params(deep=False).keys()  # a constructor stores, and does no work


# parameters


LONG = "A" * 500_000
PARAMETERS: list[tuple[str, dict[str, Any]]] = [
    ("fit-invalid", {"__class__": "os"}),
    ("fit-invalid", {"__init__": 1}),
    ("fit-invalid", {"cluster_centers_": [[1]]}),
    ("fit-invalid", {"n_clusters__x": 1}),
    ("fit-invalid", {"verbose": True}),
    ("fit-invalid", {"self": 1}),
    ("cost-invalid", {"ledger": "/tmp/other.ledger"}),
    ("cost-invalid", {"ledger": None}),
    ("cost-invalid", {"epsilon": 1e-9}),
    ("cost-invalid", {"rho": 1}),
    ("cost-invalid", {"delta": 0.5}),
    ("too-complex", {"bounds": nested(9)}),
    ("too-complex", {"bounds": nested(200)}),
    ("too-complex", {"bounds": [list(range(30_000)), [1]]}),
    ("too-complex", {"method": LONG}),
    ("too-complex", {"bounds": {LONG: 1}}),
    ("too-complex", {"bounds": {"array": LONG, "dtype": "<f8", "shape": [46875]}}),
    ("too-complex", {"n_clusters": 10**9}),
    ("too-complex", {"n_init": 10**9}),
    ("too-complex", {"max_iter": 10**9}),
    ("fit-invalid", {"n_clusters": 2**64}),
    ("fit-invalid", {"n_clusters": 10**4000}),
    ("fit-invalid", {"n_clusters": 1.5}),
    ("fit-invalid", {"n_clusters": {"scalar": {"array": "AAAAAAAAAAA=", "dtype": "<i8", "shape": [1]}}}),
    ("fit-invalid", {"bounds": [float("nan"), 1]}),
    ("fit-invalid", {"bounds": [float("-inf"), float("inf")]}),
    ("fit-invalid", {"bounds": [0, {"float": "inf"}]}),
    ("fit-invalid", {"bounds": [0, {"fraction": "1e999999999"}]}),
    ("fit-invalid", {"bounds": [0, {"fraction": ["1"]}]}),
    ("fit-invalid", {"bounds": [0, {"fraction": "1/0"}]}),
    ("fit-invalid", {"bounds": [0, {"decimal": "1e999999999"}]}),
    ("fit-invalid", {"bounds": {"array": "AAAA", "dtype": "<f8", "shape": [10**12]}}),
    ("fit-invalid", {"bounds": {"array": "", "dtype": "|O", "shape": [0]}}),
    ("fit-invalid", {"bounds": {"array": "", "dtype": "<f8", "shape": [-1]}}),
    ("fit-invalid", {"bounds": {"texts": ["a"], "shape": [1]}}),
    ("fit-invalid", {"bounds": {"objects": [1], "shape": [1]}}),
    ("fit-invalid", {"bounds": {"pickle": "gASVCg=="}}),
    ("fit-invalid", {"bounds": {"__reduce__": ["os.system", "true"]}}),
    ("fit-invalid", {"bounds": {}}),
    ("fit-invalid", {"n_clusters": {"estimator": "KMeans", "parameters": {}, "fitted": {}}}),
    ("fit-invalid", {"method": {"table": [[[1], 2]]}}),
    ("fit-invalid", {"method": "../../etc/passwd"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "params"), PARAMETERS, ids=lambda given: str(given)[:40])
def test_parameters_are_refused_before_anything_is_charged(
    code: str, params: dict[str, Any], client: httpx.Client
) -> None:
    before = charges(client)
    for what in ("fit", "fit/preview"):
        assert refused(send(client, what=what, params=params), 422, code)["spent"] == 0
    assert charges(client) == before


@pytest.mark.parametrize("categories", [[10**9], 10**9, [6000, 6000], {"tuple": [10**9]}])
def test_categories_that_nobody_listed_do_not_fill_the_memory(categories: Any, client: httpx.Client) -> None:
    found = send(client, "c", estimator="CategoricalNB", params={"categories": categories}, target="ward")
    assert (found.status_code, found.json()["spent"]) == (422, 0)
    assert found.json()["code"] in ("too-complex", "fit-invalid")


def test_every_number_that_says_how_much_work_a_fit_is_has_a_limit() -> None:
    """A parameter that a new estimator brings cannot be forgotten: whole numbers are limited by name."""
    wholes = {
        field.name
        for kind in offered().values()
        for field in fields(kind)
        if "int" in str(field.type).replace("Integral", "") and field.name not in BESIDE
    }
    assert {name for name in wholes if name != "categories"} == set(MAX_SIZES)
    for name, most in MAX_SIZES.items():
        kind = next(name_ for name_, kind in offered().items() if name in kind().get_params(deep=False))
        assert getattr(estimator_of(kind, {name: most}), name) == most
        with pytest.raises(Refused, match=name):
            estimator_of(kind, {name: most + 1})
    with pytest.raises(Refused, match="categories"):
        estimator_of("CategoricalNB", {"categories": [MOST_CATEGORIES + 1]})


BODIES = [
    b"[" * 200_000, b'{"params":' * 100_000, b"null", b"[]", b"{}", b"\xff", b'{"estimator": ["KMeans"]}',
    json.dumps({**FIT, "ledger": "x"}).encode(), json.dumps({**FIT, "max_rows": "2"}).encode(),
    json.dumps({**FIT, "max_rows": True}).encode(), json.dumps({**FIT, "params": [1]}).encode(),
    json.dumps({**FIT, "delta": 0.1}).encode(), json.dumps({**FIT, "target": {"a": 1}}).encode(),
    json.dumps({**FIT, "fresh": "no"}).encode(), json.dumps({**FIT, "key": {"name": "x"}}).encode(),
    json.dumps({**FIT, "epsilon": float("nan")}).encode(), json.dumps({**FIT, "max_rows": 10**400}).encode(),
    json.dumps({**FIT, "max_rows": 0}).encode(), json.dumps({**FIT, "epsilon": {"number": "1e999999999"}}).encode(),
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:30].decode(errors="replace") + str(len(body)))
def test_bodies_of_another_form_are_refused(body: bytes, client: httpx.Client) -> None:
    before = charges(client)
    for what in ("fit", "fit/preview"):
        found = client.post(f"{PLACE}/{what}", content=body, headers={"content-type": "application/json"})
        assert 400 <= found.status_code < 500, found.text
        assert found.json()["spent"] == 0
    assert charges(client) == before


def test_rows_themselves_are_refused_as_a_fit_s_sql_is(client: httpx.Client) -> None:
    for sql in ("SELECT id FROM patients", "DROP TABLE patients", "SELECT beds FROM wards", "SELECT zip FROM patients"):
        assert send(client, sql=sql).status_code == 422


# who may


def test_an_auditor_fits_nothing_and_another_analyst_sees_no_model(server: Running, client: httpx.Client) -> None:
    made = send(client, "mine", fresh=True).json()
    number = made["model"]["fitted"]["receipt_"].split(":")[0]
    with server.client("auditor") as auditor:
        refused(send(auditor), 403, "forbidden")
        refused(send(auditor, what="fit/preview"), 403, "forbidden")
        assert auditor.get(f"{PLACE}/models/{number}").status_code == 200  # who sees every answer
    with server.client("finance") as other:
        refused(other.get(f"{PLACE}/models/{number}"), 404, "unknown-answer")
        refused(other.get(f"{PLACE}/answers/{number}"), 404, "unknown-answer")
        refused(send(other, analyst="epidemiology"), 403, "forbidden")
        job = send_async(client)
        refused(other.get(f"{PLACE}/jobs/{job}"), 404, "unknown-job")
    with server.client("") as nobody:
        refused(send(nobody), 401, "unauthorized")
        refused(nobody.get(f"{PLACE}/models/{number}"), 401, "unauthorized")
    mine = client.get(f"{PLACE}/models/{number}").json()
    assert mine["model"]["fitted"]["cluster_centers_"] == made["model"]["fitted"]["cluster_centers_"]
    refused(client.get(f"{PLACE}/answers/{number}"), 409, "charge-of-model")
    refused(client.get(f"{PLACE}/answers/{number}.csv"), 409, "charge-of-model")


def send_async(client: httpx.Client) -> str:
    headers = {"prefer": "respond-async", "idempotency-key": "a job"}
    found = client.post(f"{PLACE}/fit", json={**FIT, "fresh": True}, headers=headers)
    name: str = found.json().get("job", "of-nobody")
    return name


def test_an_answer_is_no_model(client: httpx.Client) -> None:
    asked = client.post(f"{PLACE}/query", json={"sql": "SELECT COUNT(*) FROM patients", "epsilon": 0.01, "fresh": True})
    number = asked.json()["receipt"].split(":")[0]
    refused(client.get(f"{PLACE}/models/{number}"), 404, "unknown-answer")


# once


def test_two_requests_with_one_key_are_charged_once(client: httpx.Client) -> None:
    before = charges(client)
    with ThreadPoolExecutor(4) as pool:
        found = [each.json() for each in pool.map(lambda _: send(client, "twice", fresh=True), range(4))]
    assert charges(client) == before + 1
    assert len({each["model"]["fitted"]["receipt_"] for each in found}) == 1
    assert len({json.dumps(each["model"]["fitted"]["cluster_centers_"]) for each in found}) == 1
    refused(send(client, "twice", fresh=True, params={"n_clusters": 3}), 422, "key-reused")
    refused(send(client, "twice", fresh=True, epsilon=0.01), 422, "key-reused")
    headers = {"idempotency-key": "twice"}
    query = {"sql": "SELECT COUNT(*) FROM patients", "epsilon": 0.05}
    refused(client.post(f"{PLACE}/query", json=query, headers=headers), 422, "key-reused")


def test_a_fit_is_charged_what_it_would_cost_a_curator_and_cached(client: httpx.Client) -> None:
    preview = send(client, what="fit/preview", epsilon=0.06).json()
    before = charges(client)
    first, again = (send(client, epsilon=0.06).json()["model"]["fitted"] for _ in range(2))
    assert charges(client) == before + 1
    assert (first["cached_"], again["cached_"]) == (False, True)
    rho = rho_of_label(Fraction("0.06"), Fraction(1, 2 * 10**6))
    assert first["loss_"] == {"concentrated": [str(rho), "0"], "unit": "patient"}
    assert preview["loss"] == {"rho": float(rho), "delta": 0.0}
    assert (preview["cached"], send(client, what="fit/preview", epsilon=0.06).json()["cached"]) == (False, True)
    refused(send(client, epsilon=100), 402, "budget-exhausted")


# without scikit-learn


def test_a_server_without_scikit_learn_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "discreet.learn", None)
    with pytest.raises(Refused, match=r"discreet\[learn\]") as wrong:
        dispatch.estimators()
    assert wrong.value.code == "models-unavailable"


# a hostile server


def arrayed(*rows: float, shape: list[int] | None = None) -> dict[str, Any]:
    data = np.array(rows, dtype="<f8")
    return {
        "array": base64.b64encode(data.tobytes()).decode(),
        "dtype": "<f8",
        "shape": shape if shape is not None else [len(rows)],
    }


SCALER: dict[str, Any] = {
    "version": VERSION,
    "model": {
        "estimator": "StandardScaler",
        "parameters": {},
        "fitted": {
            "mean_": arrayed(1.0), "scale_": arrayed(2.0), "var_": arrayed(4.0), "n_features_in_": 1, "cached_": False,
            "feature_names_in_": {"objects": ["age"], "shape": [1]}, "receipt_": "3:ab", "loss_": {"pure": "1/10"},
        },
    },
}  # fmt: skip


def changed(*path: str, value: Any) -> Any:
    document: Any = copy.deepcopy(SCALER)
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    if value is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


def fitted(name: str, value: Any) -> Any:
    return changed("model", "fitted", name, value=value)


def test_the_document_that_is_not_changed_is_a_model() -> None:
    with remote(SCALER) as found:
        model = StandardScaler()
        assert found.fit(model, SQL, epsilon=0.1) is model
        assert (model.mean_.tolist(), model.scale_.tolist(), model.receipt_) == ([1.0], [2.0], "3:ab")


HOSTILE: list[Any] = [
    {}, [], None, {"version": VERSION}, {**SCALER, "version": VERSION + 1}, {**SCALER, "version": "1"},
    {**SCALER, "model": []},
    changed("model", "estimator", value="KMeans"),
    changed("model", "estimator", value="os.system"),
    changed("model", "estimator", value="_Forest"),
    changed("model", "estimator", value=["StandardScaler"]),
    changed("model", "parameters", value={"ledger": "x"}),
    changed("model", "parameters", value={"__class__": "x"}),
    changed("model", "parameters", value={"nobody": 1}),
    fitted("mean_", arrayed(1.0, 2.0)),
    fitted("mean_", arrayed(1.0, shape=[1, 1, 1])),
    fitted("mean_", arrayed(1.0, shape=[10**12])),
    fitted("mean_", arrayed(shape=[0])),
    fitted("mean_", {"array": "AAAA", "dtype": "|O", "shape": [1]}),
    fitted("mean_", {"array": "AAAA", "dtype": "<f8", "shape": [1]}),
    fitted("mean_", {"texts": ["x"], "shape": [1]}),
    fitted("mean_", {"texts": ["x" * 100_000, *[""] * 10_000], "shape": [10_001]}),
    fitted("mean_", {"estimator": "KMeans", "parameters": {}, "fitted": {}}),
    fitted("mean_", "text"),
    fitted("mean_", {"pickle": "gASVCg=="}),
    fitted("mean_", KeyError),
    fitted("loss_", {"pure": "1e999999999"}),
    fitted("loss_", {"pure": "-1"}),
    fitted("n_features_in_", 10**12),
    fitted("n_features_in_", "1"),
    fitted("n_features_in_", KeyError),
    fitted("feature_names_in_", {"objects": [1], "shape": [1]}),
    fitted("feature_names_in_", {"objects": ["a", "b"], "shape": [2]}),
    fitted("receipt_", "\x1b[2J"),
    fitted("receipt_", 3),
    fitted("__class__", "x"),
    fitted("_hidden_", 1),
    fitted("transform", 1),
    fitted("__dict__", {"table": []}),
    fitted("__class__", {"estimator": "KMeans", "parameters": {}, "fitted": {}}),
]  # fmt: skip


@pytest.mark.parametrize("document", HOSTILE, ids=lambda document: json.dumps(document)[-60:])
def test_a_document_of_another_form_is_an_error_in_words(document: Any) -> None:
    with remote(document) as found, warnings.catch_warnings(action="error"):
        model = StandardScaler()
        with pytest.raises(Unreachable, match="form that is not discreet"):
            found.fit(model, SQL, epsilon=0.1)
        assert not [name for name in vars(model) if name.endswith("_")]  # nothing of it was taken


def test_what_is_kept_beside_a_charge_is_read_as_carefully() -> None:
    for wrong in ({"pure": "1e999999999"}, {"fraction": "1e999999999"}, {"decimal": "1e999999999"}):
        with pytest.raises(discreet.ledger.LedgerDamaged):
            decode(json.dumps(fitted("loss_", wrong)).encode())


def test_recalled_models_come_from_a_server_too() -> None:
    with remote(SCALER) as found:
        model = found._work(TASKS["fit"], SCALER)
        assert isinstance(model, StandardScaler)
        with pytest.raises(Unreachable, match="form that is not"):
            found._work(TASKS["fit"], {**SCALER, "version": 7})


# what a client sends


def test_what_has_a_cost_or_a_ledger_of_its_own_is_not_sent() -> None:
    with remote(SCALER) as found:
        for estimator in (StandardScaler(epsilon=1), StandardScaler(ledger=object())):
            with pytest.raises(Refused, match="cost or a ledger of its own"):
                found.fit(estimator, SQL, epsilon=0.1)
        with pytest.raises(Refused, match="put on record"):
            found.fit(StandardScaler(bounds=object()), SQL, epsilon=0.1)
        with pytest.raises(Refused, match="only estimators of discreet"):
            found.fit(object(), SQL, epsilon=0.1)
        with pytest.raises(Refused, match="queries, batches, fits, scores and releases"):
            found.perform(object())
        with pytest.raises(Refused, match="is a text"):
            found.fit(StandardScaler(), 3, epsilon=0.1)


# both ends

SAMPLES: list[tuple[Any, dict[str, Any]]] = [
    (KMeans(2), {}),
    (StandardScaler(), {}),
    (GaussianNB(), {"target": "ward"}),
    (LinearRegression(), {"target": "age", "sql": "SELECT age, age / 2 AS half FROM patients"}),
    (CategoricalNB(), {"target": "ward", "sql": "SELECT ward, age > 50 AS old FROM patients"}),
]


@pytest.mark.parametrize(("estimator", "more"), SAMPLES, ids=lambda given: type(given).__name__)
def test_the_same_words_give_the_same_model(estimator: Any, more: dict[str, Any], server: Running) -> None:
    sql, target = more.get("sql", SQL if not more else "SELECT age, ward FROM patients"), more.get("target")
    address, token = f"{server.url}/hospital", server.tokens["epidemiology"]
    with discreet.connect(address, token=token) as hospital:
        preview = hospital.preview(estimator.task(sql, target=target, epsilon=0.1))
        assert not preview.cached
        model = hospital.fit(estimator, sql, target=target, epsilon=0.1)
        assert model is estimator
        assert (model.loss_, model.loss_.unit, model.cached_) == (preview.loss, "patient", False)
        number = int(model.receipt_.split(":")[0])
        again = hospital.recall(number)
        assert type(again) is type(model)
        row = model.feature_names_in_.tolist()
        assert row == again.feature_names_in_.tolist()
        assert hospital.entries()[-1].question.startswith(type(model).__name__)


def test_dummy_data_and_keys(server: Running) -> None:
    address, token = f"{server.url}/hospital", server.tokens["epidemiology"]
    with discreet.connect(address, token=token) as hospital:
        before = len(hospital.entries())
        assert hospital.dummy().fit(KMeans(2), SQL, epsilon=1).cluster_centers_.shape == (2, 1)
        assert len(hospital.entries()) == before
        keys: list[Key | str] = [Key("a key of the caller", ""), "a name: ü\r\nx-injected: 1\ud800"]
        for key in keys:
            models = [hospital.fit(KMeans(2), SQL, epsilon=0.02, fresh=True, key=key) for _ in range(2)]
            assert len({model.receipt_ for model in models}) == 1
        assert len(hospital.entries()) == before + len(keys)
        with pytest.raises(Refused, match="key-reused"):
            hospital.fit(KMeans(3), SQL, epsilon=0.02, key=keys[1])
        for wrong in ("", "x" * 201, 7):
            with pytest.raises(Refused, match="key-invalid"):
                hospital.fit(KMeans(2), SQL, epsilon=0.02, key=wrong)  # type: ignore[arg-type]


def test_a_pipeline_is_fitted_where_the_rows_are(server: Running) -> None:
    made = make_pipeline(StandardScaler(), OneHot(), LinearRegression())
    sql = "SELECT ward, age > 50 AS old, age FROM patients"
    with discreet.connect(f"{server.url}/hospital", token=server.tokens["epidemiology"]) as hospital:
        model = hospital.fit(made, sql, target="age", epsilon=0.05)
    assert model.features_seen()[0] == "old"
    assert model.card().document()["query"]["sql"] == sql
    assert len(model.export()["steps"]) == 2
