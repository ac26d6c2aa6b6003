"""Questions that are read at once are refused as all others are, and whoever sends one counts as one request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server.running import build
from tests.server.visitor import Site, site

QUESTION = {"sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": 0.01}
TYPE = "application/json"
PATHS = ["query", "preview"]
BODIES: list[Any] = [
    *(b"", b"{", b"[]", b"null", b"7", b'"text"', b"\xff", b'{"sql": "\\ud800", "epsilon": 1}', b"[" * 100_000),
    *({}, {"sql": 1}, {**QUESTION, "more": 1}, {**QUESTION, "epsilon": "1"}, {**QUESTION, "epsilon": [1]}),
    *({**QUESTION, "sql": "x" * 200_001}, {**QUESTION, "epsilon": None}, {**QUESTION, "epsilon": float("nan")}),
    *({**QUESTION, "fresh": 1}, {**QUESTION, "analyst": "nobody"}, {**QUESTION, "analyst": ""}, QUESTION),
]
HEADERS: list[dict[str, str]] = [
    *({"content-type": each} for each in (TYPE, f"{TYPE}; charset=utf-8", "text/plain", "APPLICATION/JSON", "")),
    *({"idempotency-key": each} for each in ("", "k" * 201, "ключ")),
    *({"prefer": each} for each in ("respond-async", "p" * 101)),
    *({"authorization": each} for each in ("", "Bearer", "Bearer ", "bearer x", "Bearer  x", "Basic x", "Bearer x ")),
]


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(build(tmp_path_factory.mktemp("direct"))) as made:
        yield made


def sent(made: Site, path: str, body: Any, headers: dict[str, str], who: str = "owner") -> httpx.Response:
    """A request as it is written, to a server inside of this process."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": TYPE, "authorization": f"Bearer {made.tokens[who]}", **headers}
    encoded = {name.encode(): value.encode() for name, value in given.items()}

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(made.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post(f"/api/v1/datasets/hospital/{path}", content=content, headers=encoded)

    return made.loop.run_until_complete(send())


def told(response: httpx.Response) -> tuple[int, Any]:
    document = response.json()
    return response.status_code, {name: document.get(name) for name in ("code", "reason", "fix", "columns", "loss")}


@pytest.mark.parametrize("path", PATHS)
def test_both_ways_say_the_same(open_site: Site, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody notices which way was taken: of what is wrong, too, and of who may not."""
    sent(open_site, path, QUESTION, {})
    cases: list[tuple[Any, dict[str, str], str]] = [(body, {}, "owner") for body in BODIES]
    cases += [(QUESTION, headers, "owner") for headers in HEADERS]
    cases += [(QUESTION, {}, who) for who in ("auditor", "finance")]
    direct = [told(sent(open_site, path, *case)) for case in cases]
    monkeypatch.setattr("discreet.server.direct._token", lambda _: "")  # everything goes FastAPI's way
    usual = [told(sent(open_site, path, *case)) for case in cases]
    for case, one, other in zip(cases, direct, usual, strict=True):
        assert one == other, case
    assert {status for status, _ in direct} >= {200, 401, 403, 415}


def test_a_cached_answer_is_the_same_both_ways(open_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, whoever asks, with its headers but for the name of the request."""
    ways = []
    for token in (None, lambda _: ""):
        if token is not None:
            monkeypatch.setattr("discreet.server.direct._token", token)
        for who in ("owner", "epidemiology", "finance"):
            body = {**QUESTION, "analyst": None if who == "owner" else who}
            sent(open_site, "query", body, {}, who)
            found = [sent(open_site, "query", body, {}, who) for _ in range(2)]
            assert found[0].content == found[1].content
            assert found[0].json()["cached"] is True
            named = [{**each.headers, "x-request-id": ""} for each in found]
            assert named[0] == named[1]
            ways.append((who, found[0].content, named[0]))
    assert ways[:3] == ways[3:]


def test_each_request_counts_once(open_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    rates, counted = open_site.app.state.app_state.rates, []
    monkeypatch.setattr(type(rates), "admit", lambda _, token, most: counted.append((token, most)))
    for body in (QUESTION, {"sql": 1}, b"{"):
        sent(open_site, "query", body, {})
    assert len(counted) == 2  # what is no JSON is refused before anybody asks who sent it
    assert len(set(counted)) == 1


# what is charged in any case waits for a worker at once

FRESH = {"sql": "SELECT COUNT(*) AS n FROM patients WHERE age > 30", "epsilon": 0.01, "fresh": True}
NOT_AT_ONCE: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "another text": ({**FRESH, "sql": "SELECT COUNT(*) AS n FROM patients WHERE age > 31"}, {}),
    "perhaps cached": ({**FRESH, "fresh": False}, {}),
    "dummy data": ({**FRESH, "dummy": True}, {}),
    "a wanted error": ({"sql": FRESH["sql"], "error": 20, "fresh": True}, {}),
    "parameters": ({**FRESH, "params": {}}, {}),
    "a key": (FRESH, {"idempotency-key": "once"}),
    "does not wait": (FRESH, {"prefer": "respond-async, wait=60"}),
    "an explanation": ({**FRESH, "sql": f"EXPLAIN PRIVACY {FRESH['sql']}"}, {}),
    "nothing private": ({"sql": "SELECT COUNT(*) AS n FROM wards", "fresh": True}, {}),
    "the present": ({**FRESH, "sql": f"{FRESH['sql']} AND CURRENT_DATE > DATE '2020-01-01'"}, {}),
    "an error in the text": (
        {
            "sql": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (error = 20) COUNT(*) AS n FROM patients",
            "fresh": True,
        },
        {},
    ),
}


@pytest.fixture
def free_turns(open_site: Site, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Filled with every turn among what is free."""
    free, turns = open_site.app.state.app_state.dispatcher.free, list[str]()
    submit = free.submit

    def noted(line: str, work: Any) -> Any:
        turns.append(line)
        return submit(line, work)

    monkeypatch.setattr(free, "submit", noted)
    return turns


def test_a_known_text_that_is_asked_afresh_takes_no_free_turn(open_site: Site, free_turns: list[str]) -> None:
    curator = open_site.app.state.app_state.datasets["hospital"].curator
    assert sent(open_site, "query", FRESH, {}).status_code == 200
    assert len(free_turns) == 1
    before = curator.count()
    receipts = {sent(open_site, "query", FRESH, {}).json()["receipt"] for _ in range(3)}
    assert (len(free_turns), len(receipts), curator.count() - before) == (1, 3, 3)


@pytest.mark.parametrize("case", NOT_AT_ONCE)
def test_what_may_be_free_takes_no_worker(open_site: Site, free_turns: list[str], case: str) -> None:
    """Also the second time: that there is a plan does not make it one that is charged."""
    body, headers = NOT_AT_ONCE[case]
    sent(open_site, "query", FRESH, {})
    free_turns.clear()
    for number in (1, 2):
        assert sent(open_site, "query", body, headers).status_code in (200, 202), case
        assert len(free_turns) == number or (case == "another text" and number == 2)
        assert free_turns


def test_refusals_are_the_same_at_once(open_site: Site, free_turns: list[str]) -> None:
    """Of costs, analysts and roles: a worker says what the free turn would have said."""
    unknown = {**FRESH, "sql": "SELECT COUNT(*) AS n FROM patients WHERE age > 40"}
    wrong: list[tuple[dict[str, Any], str]] = [
        *(({"epsilon": each}, "owner") for each in (-1, 0, 1e30, None)),
        *(({"analyst": each}, "owner") for each in ("nobody", "epidemiology")),
        *(({"confidence": each}, "owner") for each in (0, 2)),
        ({"analyst": "finance"}, "epidemiology"),
        ({"rho": 1}, "owner"),
    ]
    sent(open_site, "query", FRESH, {})
    for more, who in wrong:
        free_turns.clear()
        at_once = told(sent(open_site, "query", {**FRESH, **more}, {}, who))
        assert free_turns == []
        assert at_once == told(sent(open_site, "query", {**unknown, **more}, {"prefer": ""}, who)), more
        assert free_turns
