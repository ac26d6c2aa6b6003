"""Attack: a request for a release makes the server build or reveal something else; a release harms a client.

Whatever is sent: a refusal in words that costs nothing, or a release that was charged once.
"""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from datetime import date
from typing import Any

import httpx
import numpy as np
import pytest

import discreet
from discreet.answers.models import TASKS
from discreet.client import Unreachable
from discreet.errors import Refused
from discreet.learn import StandardScaler
from discreet.release import Domain, Facets, Histogram, RunningTotals
from discreet.release.codec import encode
from discreet.release.core import PUBLICATIONS
from discreet.release.sent import arguments_of, offered, publication_of
from tests.attacks.over_http import PLACE, charges, nested, post, remote
from tests.server.running import Running, refused

RELEASE: dict[str, Any] = {
    "publication": "Histogram",
    "params": {"names": ["ward"]},
    "sql": "patients",
    "epsilon": 0.05,
}


def send(client: httpx.Client, key: str | None = None, what: str = "release", **more: Any) -> httpx.Response:
    return post(client, what, {**RELEASE, **more}, key)


# what is no publication

NAMES = ["", "histogram", "Publication", "Published", "Domain", "Counts", "SearchLog", "os.system", "builtins.eval",
         "discreet.release.Histogram", "../Histogram", "Histogram\0", "__class__", "H" * 201]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_only_publications_that_are_offered_have_a_name(name: str, client: httpx.Client) -> None:
    before = charges(client)
    for what in ("release", "release/preview"):
        found = send(client, what=what, publication=name, params={})
        assert (found.status_code, found.json()["spent"]) == (422, 0)
        assert found.json()["code"] in ("release-invalid", "body-invalid")
    assert charges(client) == before


def test_what_is_offered_is_what_the_package_has() -> None:
    assert set(offered()) == {name for name in discreet.release.__all__ if name in PUBLICATIONS}
    for name, kind in offered().items():
        assert "charged" not in arguments_of(kind), name


# arguments


LONG = "A" * 500_000
ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("release-invalid", {"params": {"__class__": "os"}}),
    ("release-invalid", {"params": {"self": 1}}),
    ("release-invalid", {"params": {"charged": 1}}),
    ("release-invalid", {"params": {"epsilon": 1}}),
    ("too-complex", {"params": {"names": nested(17)}}),
    ("too-complex", {"params": {"names": nested(300)}}),
    ("too-complex", {"params": {"names": ["ward"] * 30_000}}),
    ("too-complex", {"params": {"names": [LONG]}}),
    ("too-complex", {"params": {"bins": {LONG: 1}}}),
    ("release-invalid", {"params": {"bins": {"age": 10**400}}}),
    ("release-invalid", {"params": {"bins": {"age": 2**53}}}),
    ("release-invalid", {"params": {"bins": {"age": -1}}}),
    ("release-invalid", {"params": {"names": ["age"], "bins": {"age": {"array": "AAAA"}}}}),
    ("release-invalid", {"params": {"names": 5}}),
    ("unknown-column", {"params": {"names": ["id"]}}),
    ("unknown-column", {"params": {"names": [["ward"]]}}),
    ("release-invalid", {"params": {"domain": {"stored": "Domain", "fields": {}}}}),
    ("release-invalid", {"params": {"domain": "patients"}}),
    ("release-invalid", {"params": None, "fields": {"domain": {"stored": "Domain", "fields": {"attributes": 5}}}}),
    ("release-invalid", {"params": None, "fields": {"domain": {"stored": "os.system", "fields": {}}}}),
    ("release-invalid", {"params": None, "fields": {"domain": {"pickle": "gASV"}}}),
    ("release-invalid", {"params": None, "fields": {"names": {"array": "AAAA", "dtype": "|O", "shape": [1]}}}),
    ("release-invalid", {"params": None, "fields": {"names": {"stored": "Publish", "fields": {}}}}),
    ("release-invalid", {"params": {"names": ["ward"]}, "fields": {"names": ["ward"]}}),
    ("too-complex", {"params": {"names": ["age", "born"], "bins": {"age": 1000, "born": "month"}}}),
    ("undeclared-values", {"params": {"names": ["zip"]}}),
    ("unknown-table", {"sql": "nothing"}),
    ("not-rows", {"sql": "wards", "params": {"names": ["beds"]}}),
    ("not-rows", {"sql": "SELECT COUNT(*) FROM patients"}),
    ("statement-not-allowed", {"sql": "patients; DROP TABLE patients"}),
    ("cost-missing", {"epsilon": None}),
    ("cost-invalid", {"epsilon": 0}),
    ("body-invalid", {"epsilon": "1"}),
    ("body-invalid", {"max_rows": 0}),
    ("body-invalid", {"max_cells": 1}),
    ("body-invalid", {"params": [1]}),
    ("body-invalid", {"publication": ["Histogram"]}),
    ("body-invalid", {"estimator": "KMeans"}),
    ("forbidden", {"analyst": "finance"}),
]


@pytest.mark.parametrize(("code", "more"), ARGUMENTS, ids=lambda each: str(each)[:60])
def test_arguments_are_values_of_modest_size_or_refused(code: str, more: dict[str, Any], client: httpx.Client) -> None:
    before = charges(client)
    for what in ("release", "release/preview"):
        found = send(client, what=what, **more)
        assert found.json().get("code") == code, found.text[:300]
        assert found.json()["spent"] == 0
    assert charges(client) == before


@pytest.mark.parametrize("name", sorted(PUBLICATIONS))
def test_constructors_take_anything_or_say_no_in_one_kind_of_words(name: str) -> None:
    if name not in offered():
        return
    hostile: tuple[Any, ...] = (None, True, -1, 1e300, "", "x", [], [[]], {}, {"a": {}}, [None], "\0", [1, "a"])
    for argument in arguments_of(offered()[name]):
        for value in hostile:
            with suppress(Refused, ValueError, TypeError):
                publication_of(name, {argument: value}).declared(None)


# one charge, told again


def test_a_release_is_charged_once_cached_and_recalled(server: Running, client: httpx.Client) -> None:
    first = send(client, "release-key", epsilon=0.06)
    assert first.status_code == 200, first.text
    document = first.json()
    assert document["value"]["stored"] == "Counts"
    assert document["cost"]["rho"] > 0
    before = charges(client)
    again = send(client, "release-key", epsilon=0.06).json()
    assert (again["value"], again["receipt"], again["loss"]["rho"]) == (document["value"], document["receipt"], 0)
    cached = send(client, epsilon=0.05).json()
    assert cached["value"] == document["value"]
    refused(send(client, "release-key", epsilon=0.07), 422, "key-reused")
    assert charges(client) == before
    number = document["receipt"].partition(":")[0]
    recalled = client.get(f"{PLACE}/releases/{number}").json()
    assert recalled["value"] == document["value"]
    refused(client.get(f"{PLACE}/answers/{number}"), 409, "charge-of-release")
    refused(client.get(f"{PLACE}/models/{number}"), 404, "unknown-answer")
    listed = client.get(f"{PLACE}/releases").json()["entries"]
    assert int(number) in [entry["number"] for entry in listed]
    assert {entry["call"]["task"] for entry in listed} == {"release"}
    with server.client("finance") as other:
        refused(other.get(f"{PLACE}/releases/{number}"), 404, "unknown-answer")
        assert int(number) not in [entry["number"] for entry in other.get(f"{PLACE}/releases").json()["entries"]]
    with server.client("auditor") as auditor:
        assert auditor.get(f"{PLACE}/releases/{number}").json()["value"] == document["value"]
        assert send(auditor).status_code == 403


def test_a_query_is_no_release(client: httpx.Client) -> None:
    number = client.post(f"{PLACE}/query", json={"sql": "SELECT COUNT(*) FROM patients", "epsilon": 0.01}).json()
    refused(client.get(f"{PLACE}/releases/{number['receipt'].partition(':')[0]}"), 404, "unknown-answer")
    refused(client.get(f"{PLACE}/releases/999999"), 404, "unknown-answer")


def test_dummy_data_are_free_and_previews_charge_nothing(client: httpx.Client) -> None:
    before = charges(client)
    preview = send(client, what="release/preview", epsilon=0.3).json()
    assert preview["error"]["count"] > 0
    assert send(client, dummy=True).json()["value"]["stored"] == "Counts"
    assert charges(client) == before


def test_a_release_that_waits_is_cancelled_for_nothing(rigged: Running) -> None:
    """Both workers of a caller hold other questions: the release waits behind them."""
    from tests.server.running import HELD

    with rigged.client() as client:
        headers = {"prefer": "respond-async, wait=0"}
        held = [client.post(f"{PLACE}/query", json={"sql": f"{HELD} AND age > {n}", "epsilon": 0.1}, headers=headers)
                for n in range(2)]  # fmt: skip
        rigged.begun(2)
        before = charges(client)
        waiting = client.post(f"{PLACE}/release", json=RELEASE, headers=headers)
        assert waiting.status_code == 202
        assert waiting.json()["state"] == "queued"
        job = f"{PLACE}/jobs/{waiting.json()['job']}"
        assert client.delete(job).status_code == 204
        refused(client.get(job), 409, "cancelled")
        assert charges(client) == before
        rigged.release()
        assert all(each.status_code == 202 for each in held)


# what a client is sent

COUNTS: dict[str, Any] = {
    "version": 1,
    **json.loads(encode(Histogram(domain=Domain.of({"x": ["a", "b"]})).release({"x": ["a"]}, epsilon=1))),
    "loss": {"epsilon": 0.1},
    "cost": {"epsilon": 0.1},
    "unit": "patient",
    "receipt": "3:ab",
}


def changed(*path: str, value: Any) -> Any:
    document: Any = copy.deepcopy(COUNTS)
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return document


def test_the_document_that_is_not_changed_is_a_release() -> None:
    with remote(COUNTS) as found:
        counts = found.release(Histogram(), "patients", epsilon=0.1)
        assert (counts.values.shape, counts.receipt, counts.cached) == ((2,), "3:ab", False)
        assert found._work(TASKS["release"], COUNTS).values.shape == (2,)


HOSTILE: list[Any] = [
    {}, [], None, {"version": 1}, {**COUNTS, "version": 2}, {**COUNTS, "version": "1"}, {**COUNTS, "value": []},
    {**COUNTS, "value": {"pickle": "gASVCg=="}},
    {**COUNTS, "value": {"stored": "Domain", "fields": {}}},
    {**COUNTS, "value": {"stored": "Histogram", "fields": {}}},
    {**COUNTS, "value": {"stored": "os.system", "fields": {}}},
    changed("value", "stored", value=["Counts"]),
    changed("value", "fields", "values", value={"array": "AAAA", "dtype": "|O", "shape": [1]}),
    changed("value", "fields", "values", value={"array": "", "dtype": "<i8", "shape": [10**12]}),
    changed("value", "fields", "values", value=[1, 2]),
    changed("value", "fields", "error", value="much"),
    changed("value", "fields", "charged", value=1),
    changed("value", "fields", "__class__", value=1),
    changed("value", "fields", "domain", value=None),
    changed("receipt", value="\x1b[2J"),
    changed("receipt", value=3),
    changed("cost", value={"epsilon": -1}),
    changed("cost", value={}),
    changed("loss", value={"rho": "1"}),
]  # fmt: skip


@pytest.mark.parametrize("document", HOSTILE, ids=lambda document: json.dumps(document)[-60:])
def test_a_document_of_another_form_is_an_error_in_words(document: Any) -> None:
    with remote(document) as found, pytest.raises(Unreachable, match="form that is not discreet"):
        found.release(Histogram(), "patients", epsilon=0.1)


def test_what_json_cannot_say_is_not_sent() -> None:
    with remote(COUNTS) as found:
        with pytest.raises(Refused, match="put on record"):
            found.release(Histogram(bins={"age": object()}), "patients", epsilon=0.1)
        with pytest.raises(Refused, match="is a text"):
            found.release(Histogram(), 3, epsilon=0.1)
        with pytest.raises(Refused, match="only publications"):
            found.release(StandardScaler(), "patients", epsilon=0.1)


# both ends


@pytest.mark.parametrize(
    ("publication", "sql"),
    [
        (Histogram(names=("ward",)), "patients"),
        (Histogram(domain=Domain.of({"ward": ["A", "B"], "age": (0, 120)}, bins={"age": 4})), "patients"),
        (Facets(names=("ward", "zip", "born"), bins={"born": [date(1900, 1, 1), date(1980, 1, 1), date(2026, 12, 31)]}),
         "SELECT ward, zip, born FROM patients WHERE age > 5"),
        (RunningTotals(every="year", counted="units"), "patients"),
    ],
)  # fmt: skip
def test_a_client_gets_what_a_curator_would_give(
    publication: Any,
    sql: str,
    server: Running,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", server.tokens["epidemiology"])
    with discreet.connect(f"{server.url}/hospital") as hospital:
        preview = hospital.preview_release(publication, sql, epsilon=0.2)
        released = hospital.release(publication, sql, epsilon=0.2)
        assert preview.loss.amount == pytest.approx(float(released.cost.amount))
        again = hospital.recall(int(released.receipt.partition(":")[0]))
        assert encode(again) == encode(released)
        assert np.array_equal(again.values, released.values)
        assert hospital.release(publication, sql, epsilon=0.1).cached
        assert type(hospital.dummy().release(publication, sql, epsilon=0.1)) is type(released)
