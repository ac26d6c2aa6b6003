"""The access log and the metrics say what happened, and nothing of what was asked, answered or held secret."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from tests.server.running import RIGGED, Running, build, serving, until

HOME = "datasets/hospital/"
SECRET = "xyzzy-4711"
FIELDS = {"at", "level", "event", "request", "method", "route", "status", "code", "ms"}
METRIC = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \d+(\.\d+)?(e-?\d+)?')


def lines(server: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log.read_text(encoding="utf-8").splitlines()]


def line_of(server: Running, found: httpx.Response) -> dict[str, Any]:
    """The line of this very request; it is written just after the response."""
    name = found.headers["x-request-id"]
    (line,) = until(lambda: [line for line in lines(server) if line.get("request") == name])
    return line


def test_a_line_says_who_did_what(server: Running) -> None:
    with server.client() as client:
        body = {"sql": "SELECT COUNT(*) AS of_this_test FROM patients WHERE age <> 17", "epsilon": 0.01}
        line = line_of(server, client.post(f"{HOME}query", json=body))
        assert set(line) == FIELDS | {"token", "dataset", "role", "analyst", "charge", "cached"}
        assert (line["event"], line["level"], line["analyst"], line["cached"]) == (
            "request",
            "info",
            "epidemiology",
            False,
        )
        again = line_of(server, client.post(f"{HOME}query", json=body))
        assert (again["charge"], again["cached"]) == (line["charge"], True)
        assert (line["method"], line["route"]) == ("POST", "/api/v1/datasets/{dataset}/query")
        assert (line["status"], line["code"], line["role"]) == (200, "", "analyst")
        assert line["token"] == server.tokens["epidemiology"].split("_")[1]
        assert isinstance(line["ms"], int)
        line = line_of(server, client.get(f"{HOME}answers/999999"))
        assert (line["route"], line["status"]) == ("/api/v1/datasets/{dataset}/answers/{number}", 404)
        assert line["code"] == "unknown-answer"


def test_nothing_that_was_sent_or_answered_is_logged(server: Running) -> None:
    with server.client() as client, server.client("") as nobody, server.client("owner") as owner:
        sql = f"SELECT COUNT(*) AS n FROM patients WHERE zip <> '{SECRET}'"
        body = {"sql": sql, "epsilon": 0.012345, "params": None}
        headers = {"idempotency-key": SECRET, "user-agent": SECRET, "referer": f"http://localhost/{SECRET}"}
        answer = client.post(f"{HOME}query", json=body, headers=headers)
        assert answer.status_code == 200
        last = [
            answer,
            client.post(f"{HOME}query", json={"sql": SECRET, SECRET: SECRET}),
            client.post(f"{HOME}query", json={"sql": f"SELECT {SECRET}", "epsilon": 1}),
            client.post(f"{HOME}query", content=SECRET.encode()),
            client.get(f"datasets/{SECRET}/tables"),
            client.get(f"{HOME}answers/{SECRET}.csv"),
            client.get(f"{HOME}budget", params={"analyst": SECRET}),
            client.get(f"{HOME}jobs/{SECRET}"),
            client.get(SECRET, params={SECRET: SECRET}),
            client.request("XYZZY", f"health/{SECRET}"),
            nobody.get("datasets", headers={"authorization": f"Bearer {SECRET}"}),
            nobody.get("health", headers={"host": SECRET}),
        ]
        for each in last:
            line_of(server, each)
        log = server.log.read_text(encoding="utf-8")
        metrics = owner.get(f"{server.url}/metrics").text
        for text in (log, metrics):
            assert SECRET not in text
            assert "xyzzy" not in text.lower()
            assert "SELECT" not in text
            assert "0.012345" not in text
            for token in server.tokens.values():
                assert token.split("_")[2] not in text
        assert str(answer.json()["rows"][0][0]) not in metrics
        assert not any(value == answer.json()["rows"][0][0] for line in lines(server) for value in line.values())


def test_metrics_are_in_prometheus_form(server: Running) -> None:
    with server.client("auditor") as client:
        client.request("BREW", "health")
        client.request("POUR", "health")
        found = client.get(f"{server.url}/metrics")
        assert found.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert found.text.endswith("\n")
        samples = [line for line in found.text.splitlines() if not line.startswith("# ")]
        assert [line for line in samples if not METRIC.fullmatch(line)] == []
        kinds = re.findall(r"# TYPE (\S+) (counter|gauge)", found.text)
        assert {line.split("{")[0].split()[0] for line in samples} <= {name for name, _ in kinds}
        other = '{method="other",route="/api/v1/health",status="405",code="method-not-allowed"}'
        assert f"discreet_requests_total{other} " in found.text  # methods that callers make up are one
        assert "BREW" not in found.text
        budget = client.get(f"{HOME}budget").json()
        for part in ("total", "spent", "remaining"):
            epsilon = budget[part]["epsilon"]
            assert f'discreet_budget_{part}_epsilon{{dataset="hospital"}} {epsilon}\n' in found.text


def test_counters_count(server: Running) -> None:
    def counted(client: httpx.Client) -> int:
        text = client.get(f"{server.url}/metrics").text
        found = re.search(r'total\{method="GET",route="/api/v1/datasets",status="200",code=""\} (\d+)', text)
        return int(found[1]) if found else 0

    with server.client("auditor") as client:
        before = counted(client)
        for _ in range(3):
            client.get("datasets")
        until(lambda: counted(client) == before + 3)


@pytest.mark.long
def test_a_question_that_fails_late_leaves_no_trace_of_itself(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever waits is told; nobody else hears of it, least of all standard error."""
    policy = build(tmp_path_factory.mktemp("late"))
    text = policy.read_text(encoding="utf-8")
    policy.write_text(f"{text}time_limit = 1\n", encoding="utf-8")
    with serving(policy, program=RIGGED) as running, running.client() as client:
        body = {"sql": f"SELECT COUNT(*) FROM patients WHERE zip = 'endless-{SECRET}'", "epsilon": 0.01}
        assert client.post(f"{HOME}query", json=body).json()["code"] == "failed"
        assert running.stop() in (0, 130, -2)
        said = running.process.stderr.read()
        assert "never retrieved" not in said
        assert "Traceback" not in said
        assert SECRET not in said + running.log.read_text(encoding="utf-8")
