"""The OpenAPI document is complete and true: requests made up from it are answered as it says."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.budget import crossed, later
from tests.server.running import Running

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    negative_data_rejection,
    unsupported_method,
]
"""Not the one that wants valid data to be accepted: most texts are no SQL."""
CONFIG = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}}})
"""Any refusal will do, also 413 for what is too long, but no failure."""
QUESTIONS = [
    "SELECT COUNT(*) FROM patients",
    "SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM patients GROUP BY ward",
    "SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip",
    "SELECT MEDIAN(age) AS m FROM patients",
    "SELECT * FROM wards",
    "EXPLAIN PRIVACY SELECT SUM(age) FROM patients",
]


WAYS = [
    ("get", "health"),
    ("get", "ready"),
    ("get", "datasets"),
    ("get", "datasets/{dataset}/streams"),
    ("get", "datasets/{dataset}/events"),
    ("get", "datasets/{dataset}/tables"),
    ("get", "datasets/{dataset}/schema"),
    ("get", "datasets/{dataset}/budget"),
    ("post", "datasets/{dataset}/preview"),
    ("post", "datasets/{dataset}/query"),
    ("post", "datasets/{dataset}/fit/preview"),
    ("post", "datasets/{dataset}/fit"),
    ("get", "datasets/{dataset}/models/{number}"),
    ("post", "datasets/{dataset}/batch/preview"),
    ("post", "datasets/{dataset}/batch"),
    ("get", "datasets/{dataset}/batches/{number}"),
    ("post", "datasets/{dataset}/release/preview"),
    ("post", "datasets/{dataset}/release"),
    ("post", "datasets/{dataset}/score"),
    ("post", "datasets/{dataset}/score/preview"),
    ("get", "datasets/{dataset}/scores/{number}"),
    ("get", "datasets/{dataset}/releases"),
    ("get", "datasets/{dataset}/releases/{number}"),
    ("get", "datasets/{dataset}/jobs/{job}"),
    ("delete", "datasets/{dataset}/jobs/{job}"),
    ("get", "datasets/{dataset}/saved"),
    ("post", "datasets/{dataset}/saved"),
    ("delete", "datasets/{dataset}/saved/{saved}"),
    ("get", "datasets/{dataset}/answers/{number}"),
    ("get", "datasets/{dataset}/answers/{number}.json"),
    ("get", "datasets/{dataset}/answers/{number}.csv"),
    ("get", "datasets/{dataset}/ledger"),
    ("get", "datasets/{dataset}/ledger.csv"),
    ("get", "datasets/{dataset}/ledger/count"),
    ("get", "datasets/{dataset}/ledger/verify"),
]


@pytest.fixture(scope="module")
def document(server: Running) -> Any:
    with server.client() as client:  # the first fit loads scikit-learn, which may last longer than requests wait here
        client.post("datasets/hospital/fit/preview", json={"estimator": "none", "sql": ""}, timeout=300)
    return schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json", config=CONFIG)


@pytest.fixture
def owner(server: Running) -> dict[str, str]:
    return {"authorization": f"Bearer {server.tokens['owner']}"}


@pytest.mark.long
@pytest.mark.parametrize("examples", later([3, 15]))
@pytest.mark.parametrize(("method", "path", "mode"), crossed(WAYS, list(GenerationMode)))
def test_requests_made_up_from_the_document(
    document: Any, owner: dict[str, str], method: str, path: str, mode: GenerationMode, examples: int
) -> None:
    operation = document[f"/api/v1/{path}"][method]
    if mode is GenerationMode.NEGATIVE and path in ("health", "ready", "datasets"):
        return  # there is nothing in them to get wrong

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: Case[Any]) -> None:
        if mode is GenerationMode.POSITIVE and "dataset" in case.path_parameters:
            case.path_parameters["dataset"] = "hospital"  # else hardly any request would come so far
        case.call_and_validate(checks=CHECKS, headers=owner)

    check()


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("route", ["query", "preview"])
def test_real_answers_are_as_the_document_says(document: Any, owner: dict[str, str], text: str, route: str) -> None:
    """Made-up requests hardly ever hold SQL: these do."""
    operation = document[f"/api/v1/datasets/{{dataset}}/{route}"]["post"]
    case = operation.Case(path_parameters={"dataset": "hospital"}, body={"sql": text, "epsilon": 0.01})
    response = case.call(headers=owner)
    assert response.status_code == 200, response.text
    case.validate_response(response, checks=CHECKS[:5])


@pytest.mark.parametrize(
    "path",
    [
        "health",
        "datasets",
        *(
            f"datasets/{{dataset}}/{end}"
            for end in ("tables", "streams", "saved", "budget", "ledger", "ledger.csv", "ledger/verify")
        ),
    ],
)
def test_what_can_be_looked_at_is_as_the_document_says(document: Any, owner: dict[str, str], path: str) -> None:
    operation = document[f"/api/v1/{path}"]["get"]
    case = operation.Case(path_parameters={"dataset": "hospital"} if "{" in path else {})
    response = case.call(headers=owner)
    assert response.status_code == 200
    case.validate_response(response, checks=CHECKS[:5])


def test_the_document_is_complete(server: Running) -> None:
    with server.client("") as client:
        found = client.get("openapi.json").json()
    assert found["openapi"].startswith("3.1")
    operations = {(path, method): each for path, ways in found["paths"].items() for method, each in ways.items()}
    names = [each["operationId"] for each in operations.values()]
    assert sorted(operations) == sorted((f"/api/v1/{path}", method) for method, path in WAYS)
    assert len(set(names)) == len(names)
    for (path, method), each in operations.items():
        assert each["description"], path
        assert each["tags"], path
        assert each["responses"]["default"]["content"].keys() == {"application/problem+json"}
        open_to_all = path in ("/api/v1/health", "/api/v1/ready")
        assert bool(each.get("security")) is not open_to_all, (path, method)
