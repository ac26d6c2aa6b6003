"""What is refused: who may not, what is not understood, addresses that lead nowhere."""

from __future__ import annotations

import json
import socket

import pytest

from discreet.engines.stopping import Stopped
from discreet.policy import read
from discreet.server.problems import document_of
from discreet.server.tokens import Made, Role, Tokens
from tests.cli.runs import run
from tests.server.running import Running, refused

HOME = "datasets/hospital/"
WARDS = {"sql": "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward", "epsilon": 0.01}
JSON = {"content-type": "application/json"}


# who may not


def wrong_tokens(server: Running) -> list[str]:
    good = server.tokens["owner"]
    return [
        "",
        "Bearer",
        f"Basic {good}",
        f"Bearer {good[:-1]}",
        f"Bearer {good}0",
        f"Bearer {good}{'0' * 5000}",
        f"Bearer {Made.new().text}",
        f"Bearer {good[:18]}{Made.new().text[18:]}",
        "Bearer ' OR 1=1 --",
        "Bearer %s%n",
    ]


def test_without_a_valid_token_there_is_nothing(server: Running) -> None:
    ways = [
        ("GET", f"{server.url}/metrics"),
        ("GET", "datasets"),
        *(("GET", HOME + path) for path in ("tables", "budget", "answers/1", "answers/1.csv", "ledger", "ledger.csv")),
        *(("GET", HOME + path) for path in ("ledger/verify", "jobs/x")),
        ("DELETE", f"{HOME}jobs/x"),
        ("POST", f"{HOME}preview"),
        ("POST", f"{HOME}query"),
    ]
    with server.client("") as client:
        for method, path in ways:
            told = refused(client.request(method, path, json=WARDS), 401, "unauthorized")
            assert told["spent"] == 0
        for token in wrong_tokens(server):
            found = client.get("datasets", headers={"authorization": token})
            refused(found, 401, "unauthorized")
            assert found.headers["www-authenticate"] == "Bearer"
        found = client.get("datasets", headers={b"authorization": b"Bearer \xff\xfe"})
        refused(found, 401, "unauthorized")


def test_a_token_that_ends_ends_at_once(server: Running) -> None:
    text = run("token", "create", server.policy, "--role", "owner", "--expires", "1h").stdout.split()[0]
    headers = {"authorization": f"Bearer {text}"}
    with server.client("") as client:
        assert client.get(f"{HOME}budget", headers=headers).status_code == 200
        run("token", "revoke", text, server.policy)
        refused(client.get(f"{HOME}budget", headers=headers), 401, "unauthorized")
        expired = run("token", "create", server.policy, "--role", "owner", "--expires", "1h").stdout.split()[0]
        tokens = Tokens.of(read(server.policy))
        tokens._run("UPDATE tokens SET expires = '2020-01-01T00:00:00+00:00' WHERE id = ?", expired.split("_")[1])
        tokens.close()
        refused(client.get("datasets", headers={"authorization": f"Bearer {expired}"}), 401, "unauthorized")


def test_an_analyst_that_the_policy_forgot_is_nobody(server: Running) -> None:
    made, tokens = Made.new(), Tokens.of(read(server.policy))
    tokens.add(made, Role.ANALYST, "somebody-else")
    tokens.close()
    with server.client("") as client:
        refused(client.get("datasets", headers={"authorization": f"Bearer {made.text}"}), 401, "unauthorized")


# what is not understood


def test_every_response_has_the_headers_that_browsers_obey(server: Running) -> None:
    with server.client() as client:
        for found in (
            client.get("health"),
            client.get("nowhere"),
            client.put("health"),
            client.get("datasets", headers={"authorization": "x"}),
            client.post(f"{HOME}preview", json=WARDS),
            client.get("health", headers={"host": "evil.example"}),
        ):
            assert found.headers["cache-control"] == "no-store"
            assert found.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
            assert found.headers["x-content-type-options"] == "nosniff"
            assert found.headers["x-frame-options"] == "DENY"
            assert found.headers["referrer-policy"] == "no-referrer"
            assert len(found.headers["x-request-id"]) == 16
            assert not {"server", "access-control-allow-origin", "set-cookie"} & set(found.headers)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("HEAD", "health", "GET"),
        ("OPTIONS", f"{HOME}query", "POST"),
        ("TRACE", f"{HOME}query", "POST"),
        ("PUT", f"{HOME}jobs/x", "DELETE, GET"),
        ("DELETE", f"{HOME}answers/1", "GET"),
        ("PATCH", f"{HOME}ledger", "GET"),
        ("BREW", "health", "GET"),
    ],
)
def test_other_methods_are_told_which_do(server: Running, method: str, path: str, allowed: str) -> None:
    with server.client("owner") as client:
        found = client.request(method, path)
        assert found.headers["allow"] == allowed
        assert found.headers["discreet-code"] == "method-not-allowed"
        if method != "HEAD":
            refused(found, 405, "method-not-allowed")


BODIES: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 422, "body-invalid"),
    "half": (b"{", 422, "body-invalid"),
    "null": (b"null", 422, "body-invalid"),
    "a list": (b"[]", 422, "body-invalid"),
    "a text": (b'"SELECT 1"', 422, "body-invalid"),
    "no utf-8": (b"\xff\xfe", 422, "body-invalid"),
    "deep lists": (b"[" * 200_000, 400, "body-invalid"),
    "deep objects": (b'{"a":' * 100_000, 400, "body-invalid"),
    "deep in place": (b'{"sql":"x","params":{"a":' + b"[" * 500 + b"]" * 500 + b"}}", 422, "body-invalid"),
    "unknown field": (b'{"sql":"x","epsilom":1}', 422, "body-invalid"),
    "no sql": (b"{}", 422, "body-invalid"),
    "sql is a number": (b'{"sql":1}', 422, "body-invalid"),
    "sql is NaN": (b'{"sql":NaN}', 422, "body-invalid"),
    "lone surrogate": (b'{"sql":"\\ud800"}', 422, "body-invalid"),
    "lone surrogate as a field": (b'{"\\ud800":1}', 422, "body-invalid"),
    "lone surrogate as a parameter": (b'{"sql":"x","params":{"\\ud800":1}}', 422, "body-invalid"),
    "NUL": (b'{"sql":"SELECT COUNT(*) FROM patients\\u0000"}', 422, "syntax"),
    "long text": (b'{"sql":"' + b"x" * 500_000 + b'"}', 422, "body-invalid"),
    "no cost": (b'{"sql":"SELECT COUNT(*) FROM patients"}', 422, "cost-missing"),
    "NaN": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":NaN}', 422, "cost-invalid"),
    "1e999": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":1e999}', 422, "cost-invalid"),
    "-Infinity": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":-Infinity}', 422, "cost-invalid"),
    "negative": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":-1}', 422, "cost-invalid"),
    "zero": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":0}', 422, "cost-invalid"),
    "true": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":true}', 422, "body-invalid"),
    "text": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":"1"}', 422, "body-invalid"),
    "4000 digits": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":' + b"9" * 4000 + b"}", 422, "cost-invalid"),
    "5000 digits": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":' + b"9" * 5000 + b"}", 400, "body-invalid"),
    "exponent": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":{"number":"1e999999999"}}', 422, "syntax"),
    "by nothing": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":{"number":"1/0"}}', 422, "syntax"),
    "two costs": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":0.1,"rho":0.1}', 422, "cost-invalid"),
    "no dialect": (b'{"sql":"SELECT COUNT(*) FROM patients","epsilon":0.1,"dialect":"klingon"}', 422, "syntax"),
    "no day": (
        b'{"sql":"SELECT COUNT(*) FROM patients WHERE born < $day","epsilon":0.1,"params":{"day":{"date":"x"}}}',
        422,
        "syntax",
    ),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("route", ["preview", "query"])
def test_what_is_not_understood_is_refused_in_words(server: Running, body: str, route: str) -> None:
    content, status, code = BODIES[body]
    with server.client() as client:
        before = client.get(f"{HOME}ledger").json()
        found = client.post(HOME + route, content=content, headers=JSON)
        assert refused(found, status, code)["spent"] == 0
        assert client.get(f"{HOME}ledger").json() == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_a_question_is_sent_as_json(server: Running, kind: str) -> None:
    """Forms of other sites can send those without asking; what says JSON they cannot."""
    with server.client() as client:
        found = client.post(f"{HOME}query", content=json.dumps(WARDS), headers={"content-type": kind})
        refused(found, 415, "not-json")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/vnd.api+json", "APPLICATION/JSON"])
def test_json_has_several_names(server: Running, kind: str) -> None:
    with server.client() as client:
        found = client.post(f"{HOME}preview", content=json.dumps(WARDS), headers={"content-type": kind})
        assert found.status_code == 200


# addresses


def raw(server: Running, target: str) -> tuple[int, bytes]:
    """Status and body of a GET for exactly this target, by the owner."""
    host, port = server.url.removeprefix("http://").split(":")
    head = f"GET {target} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.tokens['owner']}\r\n"
    with socket.create_connection((host, int(port)), timeout=300) as connection:
        connection.sendall(f"{head}connection: close\r\n\r\n".encode())
        said = b""
        while more := connection.recv(65536):
            said += more
    return int(said.split()[1]), said.split(b"\r\n\r\n", 1)[1]


TRICKS = [
    ("/api/v1/datasets/%2e%2e/tables", 404),
    ("/api/v1/datasets/../../../etc/passwd", 404),
    ("/api/v1/datasets/..%2f..%2fetc%2fpasswd/tables", 404),
    ("/api/v1/datasets/%2e%2e%5c%2e%2e/tables", 404),
    ("/api/v1/datasets/hospital/../hospital/tables", 404),
    ("//api/v1/health", 404),
    ("/api//v1/health", 404),
    ("/api/v1/health/", 404),
    ("/api/v1/datasets/hospital%00/tables", 404),
    ("/api/v1/datasets/HOSPITAL/tables", 404),
    ("/api/v1/datasets/hospital%20/tables", 404),
    ("/api/v1/datasets/%ff%fe/tables", 404),
    ("/api/v1/datasets/%E2%80%AEhospital/tables", 404),
    ("/api/v1/datasets/%25%32%65/tables", 404),
    ("/api/v1/datasets/*/tables", 404),
    (f"/api/v1/datasets/{'a' * 300}/tables", 422),
    (f"/api/v1/{'a' * 60_000}", 404),
    ("/api/v1/datasets/hospital/answers/0", 422),
    ("/api/v1/datasets/hospital/answers/-1", 422),
    ("/api/v1/datasets/hospital/answers/1e3", 422),
    ("/api/v1/datasets/hospital/answers/99999999999999999999", 422),
    ("/api/v1/datasets/hospital/answers/9223372036854775807", 404),
    ("/api/v1/datasets/hospital/answers/1.csv%00", 422),
    ("/api/v1/datasets/hospital/answers/1.xml", 422),
    ("/api/v1/datasets/hospital/answers/%D9%A3", 422),
    ("/api/v1/datasets/hospital/ledger?after=-1", 422),
    ("/api/v1/datasets/hospital/ledger?limit=0", 422),
    ("/api/v1/datasets/hospital/ledger?after=1e99", 422),
    ("/api/v1/datasets/hospital/budget?analyst=%00", 422),
    ("/api/v1/datasets/hospital/budget?analyst=%ff", 422),
    ("/api/v1/datasets/hospital/budget?analyst=", 422),
    ("/docs/nope", 404),
    ("/redoc", 404),
    ("/openapi.json", 404),
    ("*", 404),
    ("http://evil.example/api/v1/datasets", 404),
    ("/api/v1/datasets/hospital/tables\x01", 400),
    ("/api/v1/datasets/hospitäl/tables", 400),
]


@pytest.mark.parametrize(("target", "status"), TRICKS)
def test_tricks_with_addresses_lead_nowhere(server: Running, target: str, status: int) -> None:
    found, body = raw(server, target)
    assert found == status
    if status != 400:  # then it is no HTTP
        assert json.loads(body)["fix"]
    assert b"root:" not in body


def test_an_encoded_slash_is_a_slash(server: Running) -> None:
    """It leads where the plain one leads, past the same doors."""
    assert raw(server, "/api/v1/datasets/hospital%2ftables")[0] == 200
    with server.client("") as client:
        refused(client.get("datasets/hospital%2ftables"), 401, "unauthorized")


def test_a_question_that_is_stopped_before_its_charge_cost_nothing() -> None:
    found = document_of(Stopped())
    assert (found["status"], found["code"], found["spent"]) == (409, "cancelled", 0)
