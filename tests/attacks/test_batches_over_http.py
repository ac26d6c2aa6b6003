"""Attack: a batch over HTTP is charged twice, shows another's answers, or harms a server or a client.

Whatever is sent: a refusal in words that costs nothing, or answers to all queries that were charged once.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import httpx
import pytest

import discreet
from discreet.client import Remote, Unreachable
from discreet.client.http import Connection
from discreet.errors import Refused
from discreet.server.requests import MOST_QUERIES
from tests.attacks.over_http import PLACE
from tests.server.running import Running, refused

COUNTS = [f"SELECT COUNT(*) AS n FROM patients WHERE age < {age}" for age in (20, 40, 60)]


def charges(client: httpx.Client) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = client.get(f"{PLACE}/ledger").json()["entries"]
    return entries


def test_it_is_charged_once_cached_and_recalled_by_whoever_may(server: Running) -> None:
    with discreet.connect(f"{server.url}/hospital", token=server.tokens["epidemiology"], insecure=True) as remote:
        preview = remote.preview(remote.batched(COUNTS, epsilon=0.11))
        assert not preview.cached
        before = len(remote.entries())
        first = remote.batch(COUNTS, epsilon=0.11)
        assert [answer.question for answer in first] == COUNTS
        assert len(remote.entries()) == before + 1
        number = int(first[0].receipt.partition(":")[0])
        for again in (remote.batch(COUNTS, epsilon=0.1), remote.recall(number)):
            assert [answer.rows for answer in again] == [answer.rows for answer in first]
            assert all(answer.cached for answer in again)
        assert len(remote.entries()) == before + 1
        assert len(remote.dummy().batch(COUNTS, epsilon=1)) == len(COUNTS)
        with pytest.raises(Refused, match="syntax"):
            remote.batch(COUNTS[0], epsilon=1)
    with server.client("finance") as other:
        refused(other.get(f"{PLACE}/batches/{number}"), 404, "unknown-answer")
    with server.client("auditor") as auditor:
        assert len(auditor.get(f"{PLACE}/batches/{number}").json()["answers"]) == len(COUNTS)
        refused(auditor.get(f"{PLACE}/answers/{number}"), 409, "charge-of-batch")
        refused(auditor.get(f"{PLACE}/releases/{number}"), 404, "unknown-answer")


def test_a_key_is_charged_once(client: httpx.Client) -> None:
    sent = {"queries": COUNTS, "epsilon": 0.07, "fresh": True}
    headers = {"idempotency-key": "batch-once"}
    first, again = (client.post(f"{PLACE}/batch", json=sent, headers=headers).json()["answers"] for _ in range(2))
    assert [answer["rows"] for answer in first] == [answer["rows"] for answer in again]
    other = client.post(f"{PLACE}/batch", json={**sent, "epsilon": 0.08}, headers=headers)
    assert other.json()["code"] == "key-reused"


WRONG: list[dict[str, Any]] = [
    {"queries": []},
    {"queries": COUNTS[0]},
    {"queries": [COUNTS[0], None]},
    {"queries": [COUNTS[0]] * (MOST_QUERIES + 1)},
    {"queries": COUNTS, "now": {"timestamp": "2026-01-01T00:00:00"}},
    {"queries": COUNTS, "task": "release"},
    {"queries": COUNTS, "epsilon": 0},
    {"queries": COUNTS, "epsilon": {"number": "1e999999999"}},
    {"queries": COUNTS, "confidence": 2},
    {"queries": COUNTS, "analyst": "finance"},
    {"queries": [*COUNTS, "SELECT zip FROM patients"]},
    {"queries": [*COUNTS, "DROP TABLE patients"]},
    {"queries": [*COUNTS, "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) COUNT(*) FROM patients"]},
    {"queries": [*COUNTS, "SELECT COUNT(*) FROM wards"]},
    {"queries": [*COUNTS, "x" * 200_000]},
]


@pytest.mark.parametrize("sent", WRONG, ids=range(len(WRONG)))
def test_what_is_no_batch_is_refused_and_free(client: httpx.Client, sent: dict[str, Any]) -> None:
    before = charges(client)
    for what in ("batch", "batch/preview"):
        response = client.post(f"{PLACE}/{what}", json={"epsilon": 0.1, **sent})
        assert 400 <= response.status_code < 500
        assert response.json()["code"]
    assert charges(client) == before


def test_auditors_ask_nothing(server: Running) -> None:
    with server.client("auditor") as auditor:
        assert auditor.post(f"{PLACE}/batch", json={"queries": COUNTS, "epsilon": 0.1}).status_code == 403


def test_a_client_believes_no_document_of_another_form(client: httpx.Client) -> None:
    document = client.post(f"{PLACE}/batch", json={"queries": COUNTS, "epsilon": 0.05}).json()
    table: Any = copy.deepcopy(document)
    table["answers"][1]["rows"] = [[1, 2]]
    hostile: list[Any] = [
        {}, [], {**document, "version": 2}, {**document, "answers": document["answers"][:1]}, table,
        {**document, "answers": [{}] * 3}, {"version": 1, "answers": None},
    ]  # fmt: skip
    for each in [document, *hostile]:
        reply = httpx.Response(200, content=json.dumps(each), headers={"content-type": "application/json"})
        transport = httpx.MockTransport(lambda _, reply=reply: reply)
        with Remote(Connection("http://127.0.0.1:1", "t", transport=transport), "hospital") as remote:
            if each is document:
                assert len(remote.batch(COUNTS, epsilon=0.05)) == len(COUNTS)
            else:
                with pytest.raises(Unreachable):
                    remote.batch(COUNTS, epsilon=0.05)
