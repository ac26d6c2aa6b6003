"""Attack: a request for a search makes the server do much work or build something else; a server lies about one."""

from __future__ import annotations

import copy
import json
from typing import Any

import httpx
import numpy as np
import pytest

import discreet
from discreet.errors import Refused
from discreet.learn import DecisionTreeClassifier, GaussianNB, KMeans, PrivateSearchCV
from discreet.learn.codec import document_of
from discreet.learn.sent import MOST_SETTINGS, estimator_of, model_of
from tests.attacks.over_http import charges
from tests.attacks.test_fit_over_http import send
from tests.server.running import Running, refused

SQL = "SELECT age, ward FROM patients"
BAYES: dict[str, Any] = {"estimator": "GaussianNB", "parameters": {}}
GRID: dict[str, Any] = {"table": [["var_smoothing", [1e-4, 1e-2]]]}
INNER: dict[str, Any] = {"estimator": BAYES, "param_grid": GRID}
SEARCH: dict[str, Any] = {"estimator": "PrivateSearchCV", "sql": SQL, "target": "ward", "epsilon": 0.05}


def table(**lists: Any) -> dict[str, Any]:
    return {"table": [[name, values] for name, values in lists.items()]}


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("fit-invalid", {}),
    ("fit-invalid", {"estimator": BAYES}),
    ("fit-invalid", {"param_grid": GRID}),
    ("fit-invalid", {"estimator": "GaussianNB", "param_grid": GRID}),
    ("fit-invalid", {"estimator": {"estimator": ["GaussianNB"]}, "param_grid": GRID}),
    ("fit-invalid", {"estimator": {"estimator": "os.system", "parameters": {}}, "param_grid": GRID}),
    ("fit-invalid", {"estimator": {"estimator": "PrivateSearchCV", "parameters": INNER}, "param_grid": GRID}),
    ("not-private", {"estimator": {"estimator": "KMeans", "parameters": {}}, "param_grid": table(n_clusters=[2])}),
    ("fit-invalid", {"estimator": {"pickle": "gASVCg=="}, "param_grid": GRID}),
    ("cost-invalid", {"estimator": {"estimator": "GaussianNB", "parameters": {"epsilon": 1}}, "param_grid": GRID}),
    ("cost-invalid", {"estimator": {"estimator": "GaussianNB", "parameters": {"ledger": "x"}}, "param_grid": GRID}),
    ("cost-invalid", {"estimator": BAYES, "param_grid": GRID, "epsilon": 1}),
    ("cost-invalid", {"estimator": BAYES, "param_grid": table(epsilon=[1, 2])}),
    ("cost-invalid", {"estimator": BAYES, "param_grid": table(ledger=[None])}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": GRID, "verbose": True}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": GRID, "best_index_": 1}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": 3}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": []}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": [1]}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": {"var_smoothing": [1]}}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": table(var_smoothing=1)}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": table(var_smoothing="ab")}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": table(var_smoothing=[])}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": table(var_smoothing=[-1])}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": table(__class__=[1])}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": table(var_smoothing=[BAYES])}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": {"table": [[1, [1]]]}}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": GRID, "method": "most"}),
    ("fit-invalid", {"estimator": BAYES, "param_grid": GRID, "test_size": 2}),
    ("too-complex", {"estimator": BAYES, "param_grid": table(var_smoothing=list(range(1, 102)))}),
    ("too-complex", {"estimator": BAYES, "param_grid": [table(var_smoothing=list(range(1, 60)))] * 2}),
    ("too-complex", {"estimator": BAYES, "param_grid": {"table": [[f"p{i}", [1, 2, 3, 4]] for i in range(500)]}}),
    ("too-complex", {"estimator": {"estimator": "DecisionTreeClassifier"}, "param_grid": table(max_depth=[1, 31])}),
    (
        "too-complex",
        {
            "estimator": {"estimator": "RandomForestClassifier"},
            "param_grid": table(n_estimators={"array": "ECcAAAAAAAA=", "dtype": "<i8", "shape": [1]}),
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "params"), WRONG, ids=lambda given: str(given)[:60])
def test_searches_that_are_none_or_too_large_cost_nothing(code: str, params: Any, client: httpx.Client) -> None:
    before = charges(client)
    for what in ("fit", "fit/preview"):
        assert refused(send(client, what=what, **SEARCH, params=params), 422, code)["spent"] == 0
    assert charges(client) == before


def test_the_most_settings_are_read_and_what_was_fitted_before_is_not() -> None:
    grid = table(var_smoothing=[number / 1000 for number in range(1, MOST_SETTINGS + 1)])
    fitted = {**BAYES, "fitted": {"theta_": [[1.0]], "_secret": 1}}
    search = estimator_of("PrivateSearchCV", {"estimator": fitted, "param_grid": grid, "method": "some"})
    assert isinstance(search, PrivateSearchCV)
    assert len(search.param_grid["var_smoothing"]) == MOST_SETTINGS
    assert not hasattr(search.estimator, "theta_")


@pytest.mark.parametrize("method", ["every", "some"])
def test_a_search_by_a_server_is_that_of_a_curator(method: str, server: Running) -> None:
    address, token = f"{server.url}/hospital", server.tokens["epidemiology"]
    with discreet.connect(address, token=token) as hospital:
        search = PrivateSearchCV(GaussianNB(), {"var_smoothing": [1e-4, 1e-2]}, method=method)
        preview = hospital.preview(search.task(SQL, target="ward", epsilon=0.1))
        model = hospital.fit(search, SQL, target="ward", epsilon=0.1)
        assert model is search
        assert (model.loss_, model.loss_.unit, model.cached_) == (preview.loss, "patient", False)
        assert model.best_params_ in [{"var_smoothing": 1e-4}, {"var_smoothing": 1e-2}]
        assert hasattr(model, "candidates_") is (method == "every")
        again = hospital.recall(int(model.receipt_.split(":")[0]))
        assert again.best_estimator_.theta_.tolist() == model.best_estimator_.theta_.tolist()
        assert hospital.entries()[-1].question.startswith("PrivateSearchCV")
        with pytest.raises(Refused, match="searched over"):
            hospital.fit(PrivateSearchCV(KMeans(2), {"n_clusters": [2]}), SQL, target="ward", epsilon=0.1)


def test_a_server_that_lies_about_a_search_is_found_out() -> None:
    rows = np.random.default_rng(1).uniform(0, 1, (60, 2))
    tree = DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1])
    search = PrivateSearchCV(tree, {"max_depth": [1, 2]}, epsilon=5, method="every").fit(rows, np.arange(60) % 2)
    true = json.loads(json.dumps(document_of(search)))
    assert model_of(true).best_index_ == search.best_index_
    other = document_of(KMeans(2, bounds=(0, 1), epsilon=1).fit(rows))["model"]
    lies: list[tuple[str, Any]] = [
        ("best_estimator_", other),
        ("best_estimator_", 3),
        ("best_estimator_", true["model"]["fitted"]["best_estimator_"] | {"fitted": {}}),
        ("best_index_", "0"),
        ("best_params_", [1]),
        ("candidates_", [other]),
        ("candidates_", 7),
        ("n_features_in_", 3),
        ("n_features_in_", 10**9),
    ]
    for name, lie in lies:
        false = copy.deepcopy(true)
        false["model"]["fitted"][name] = lie
        with pytest.raises(ValueError, match="no model"):
            model_of(false)
