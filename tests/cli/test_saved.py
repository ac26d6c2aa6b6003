"""`discreet saved`: what the page does with saved queries, as commands, beside the files and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from discreet.cli import options
from discreet.cli.failures import REFUSED, WRONG_USE
from discreet.client.http import Connection
from discreet.client.remote import Remote
from tests.cli.runs import run, told
from tests.server.running import build
from tests.server.visitor import URL, Site, site

WARDS = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
HOSTILE = ("<script>alert(1)</script>", "a'; DROP TABLE saved; --", "日本語 ✓ Ω", "$(touch gone)", "-x")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(build(tmp_path_factory.mktemp("saved"), patients=20)) as made:
        yield made


def test_a_query_is_saved_listed_shown_and_removed(hospital: Site) -> None:
    policy = hospital.policy
    assert "saved by ward" in run("saved", "save", policy, "by ward", WARDS, "--epsilon", "0.5").output
    assert run("saved", "show", policy, " by  ward ").output == f"{WARDS}\n"
    (only,) = told("saved", "list", policy)["saved"]
    assert (only["name"], only["sql"], only["epsilon"], only["answer"]) == ("by ward", WARDS, "0.5", None)
    assert "by ward" in run("saved", "list", policy).output
    page = hospital.visitor("owner").get("/data/hospital").text
    assert "by ward" in page, "the page has what the command saved"
    told("saved", "save", policy, "by ward", WARDS, "--error", "n=10")
    (only,) = told("saved", "list", policy)["saved"]
    assert (only["by"], only["error"]) == ("error", "n=10")
    assert told("saved", "remove", policy, "by ward") == {"removed": "by ward"}
    assert "no saved query" in run("saved", "list", policy).output


def test_each_has_their_own(hospital: Site) -> None:
    policy = hospital.policy
    told("saved", "save", policy, "mine", WARDS, "--analyst", "finance")
    assert told("saved", "list", policy)["saved"] == []
    assert told("saved", "list", policy, "--analyst", "epidemiology")["saved"] == []
    run("saved", "remove", policy, "mine", "--analyst", "epidemiology", code=REFUSED)
    run("saved", "list", policy, "--analyst", "nobody", code=WRONG_USE)
    told("saved", "remove", policy, "mine", "--analyst", "finance")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_texts_are_words(hospital: Site, name: str) -> None:
    policy = hospital.policy
    run("saved", "save", policy, "--", name, f"SELECT '\x1b[2J {name}'")
    assert "\x1b" not in run("saved", "list", policy).output
    assert "\x1b" not in run("saved", "show", policy, "--", name).output
    assert [each["name"] for each in told("saved", "list", policy)["saved"]] == [name]
    run("saved", "remove", policy, "--", name)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("save", "", WARDS), REFUSED),
        (("save", "x" * 81, WARDS), REFUSED),
        (("save", "a\x00b", WARDS), REFUSED),
        (("save", "name", ""), REFUSED),
        (("save", "name", "x" * 20_001), REFUSED),
        (("save", "name", WARDS, "--epsilon", "1", "--error", "2"), WRONG_USE),
        (("save", "name", WARDS, "--epsilon", "much"), WRONG_USE),
        (("show", "none"), REFUSED),
        (("remove", "none"), REFUSED),
    ],
    ids=str,
)
def test_what_is_wrong_is_told(hospital: Site, words: tuple[str, ...], code: int) -> None:
    command, *rest = words
    run("saved", command, hospital.policy, *rest, code=code)
    assert told("saved", "list", hospital.policy)["saved"] == []


def test_a_policy_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    run("saved", "list", tmp_path / "none.toml", code=WRONG_USE)


def test_a_server_knows_whose_they_are_by_the_token(hospital: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    client = httpx.AsyncClient(transport=httpx.ASGITransport(hospital.app), base_url=URL)

    def bridged(request: httpx.Request) -> httpx.Response:
        sent = client.request(request.method, str(request.url), content=request.read(), headers=dict(request.headers))
        answer = hospital.loop.run_until_complete(sent)
        return httpx.Response(answer.status_code, content=answer.content, headers=dict(answer.headers))

    def connected(_: str, who: str = "finance") -> Remote:
        connection = Connection(URL, hospital.tokens[who], transport=httpx.MockTransport(bridged))
        return Remote(connection, "hospital")

    monkeypatch.setattr(options, "connected", connected)
    assert told("saved", "save", URL, "mine", WARDS, "--epsilon", "0.5")["epsilon"] == "0.5"
    assert [each["name"] for each in told("saved", "list", hospital.policy, "--analyst", "finance")["saved"]] == [
        "mine"
    ]
    assert run("saved", "show", URL, "mine").output == f"{WARDS}\n"
    run("saved", "list", URL, "--analyst", "epidemiology", code=WRONG_USE)
    monkeypatch.setattr(options, "connected", lambda url: connected(url, "epidemiology"))
    assert told("saved", "list", URL)["saved"] == []
    run("saved", "remove", URL, "mine", code=REFUSED)
    monkeypatch.setattr(options, "connected", connected)
    told("saved", "remove", URL, "mine")
    assert told("saved", "list", URL)["saved"] == []
    hospital.loop.run_until_complete(client.aclose())
