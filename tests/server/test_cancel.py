"""Cancelling over HTTP: free while it waits; once it runs, the charge stays and the worker is free."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from tests.server.running import ENDLESS, HELD, POLICY, RIGGED, Running, build, serving, until

HOME = "datasets/hospital/"


def begin(client: httpx.Client, sql: str) -> str:
    """The job of a question that is not waited for."""
    body = {"sql": sql, "epsilon": 0.01, "fresh": True}
    found = client.post(f"{HOME}query", json=body, headers={"prefer": "respond-async, wait=0"})
    assert found.status_code == 202, found.text
    return str(found.json()["job"])


def ended(client: httpx.Client, job: str) -> tuple[int, dict[str, Any]]:
    found = client.get(f"{HOME}jobs/{job}", params={"wait": 60})
    return found.status_code, found.json()


def state(client: httpx.Client, job: str) -> tuple[str, int | None]:
    found = client.get(f"{HOME}jobs/{job}").json()
    return found["state"], found["position"]


def charges(client: httpx.Client) -> list[bool]:
    """Whether each charge was answered."""
    return [entry["answered"] for entry in client.get(f"{HOME}ledger").json()["entries"]]


def test_what_runs_is_interrupted_and_stays_charged(rigged: Running) -> None:
    with rigged.client() as client:
        before = charges(client)
        jobs = [begin(client, ENDLESS), begin(client, ENDLESS)]  # as many as one caller may have
        rigged.begun(2)
        assert [state(client, job) for job in jobs] == [("running", None)] * 2
        waiting = begin(client, "SELECT COUNT(*) FROM patients")
        assert state(client, waiting) == ("queued", 1)
        for job in jobs:
            assert client.delete(f"{HOME}jobs/{job}").status_code == 204
        for job in jobs:
            status, told = ended(client, job)
            assert (status, told["code"], told["spent"]) == (409, "cancelled", None)
            assert "what it cost stays spent" in told["reason"]
        assert ended(client, waiting)[0] == 200  # a worker was free for it
        assert charges(client)[len(before) :] == [False, False, True]
        assert client.delete(f"{HOME}jobs/{jobs[0]}").status_code == 204  # once more does no harm
        assert ended(client, waiting)[0] == 200  # and what became of it can be fetched again


def test_what_waits_is_cancelled_for_nothing(rigged: Running) -> None:
    with rigged.client() as client, rigged.client("finance") as other:
        before = len(charges(client))
        held = [begin(client, HELD), begin(client, HELD)]
        until(lambda: client.get("health").json()["running"] == 2)
        first, second = (begin(client, "SELECT COUNT(*) FROM patients") for _ in range(2))
        theirs = begin(other, "SELECT COUNT(*) FROM patients")
        assert ended(other, theirs)[0] == 200  # others need not wait for what lasts
        assert [state(client, job) for job in (first, second)] == [("queued", 1), ("queued", 2)]
        for way in ("GET", "DELETE"):  # nobody else's business
            assert other.request(way, f"{HOME}jobs/{first}").json()["code"] == "unknown-job"
        assert client.delete(f"{HOME}jobs/{first}").status_code == 204
        status, told = ended(client, first)
        assert (status, told["code"], told["spent"]) == (409, "cancelled", 0)
        assert state(client, second)[0] == "queued"
        assert len(charges(client)) == before + 2
        rigged.release()
        assert [ended(client, job)[0] for job in (*held, second)] == [200] * 3
        assert len(charges(client)) == before + 3


@pytest.mark.long
def test_the_time_limit_and_the_padding_hold(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = POLICY.replace("pad_ms = 0", "time_limit = 1\npad_ms = 400")
    policy = build(tmp_path_factory.mktemp("limited"), text=text)
    with serving(policy, "--workers", "1", program=RIGGED) as running, running.client() as client:
        began = time.monotonic()
        status, told = ended(client, begin(client, ENDLESS))
        assert time.monotonic() - began >= 1.6  # the first of 0.4, 0.8, 1.6 after one second
        assert (status, told["code"], told["spent"]) == (500, "failed", None)
        began = time.monotonic()
        assert ended(client, begin(client, "SELECT COUNT(*) FROM patients"))[0] == 200
        assert time.monotonic() - began >= 0.4
        assert charges(client) == [False, True]
        body = {"sql": "SELECT COUNT(*) FROM patients", "epsilon": 0.01}
        assert client.post(f"{HOME}query", json=body).json()["cached"]  # nothing private was read: at once
