"""The collector over HTTP: what is accepted, what is refused and how, and who sees what."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Iterator
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from discreet.collector.estimates import MOST_WAITING, Tallies
from tests.collector.running import ANSWERS, SURVEY, URL, Site, site
from tests.server.running import refused
from tests.server.visitor import Seen

OWNER = SURVEY.replace('estimates = "open"', 'estimates = "owner"')
BROWSER = {"accept": "text/html"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "a.duckdb") as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for tests that do not ask what others have sent."""
    with site(tmp_path_factory.mktemp("shared") / "a.duckdb") as made:
        yield made


def test_a_submission_is_stored_and_counts_once(here: Site) -> None:
    body = here.body()
    assert here.post(body).json() == {"stored": True, "again": False}
    assert here.post(body).json() == {"stored": True, "again": True}
    assert here.store.count() == 1
    assert here.store.reports("way") == [bytes.fromhex(body["reports"]["way"])]


def test_many_at_once_are_all_stored(here: Site) -> None:
    bodies = [here.body() for _ in range(50)]
    found = here.together([("POST", "/api/v1/reports", {"json": body}) for body in bodies * 2])
    assert all(each.status_code == 200 for each in found)
    assert sum(each.json()["again"] for each in found) == 50
    assert (here.store.count(), len(here.store.reports("hours"))) == (50, 50)
    assert here.collection.estimates()[0].count == 50


def swapped(here: Site, **reports: str | None) -> dict[str, Any]:
    body = here.body()
    changed = {**body["reports"], **reports}
    return {**body, "reports": {name: report for name, report in changed.items() if report is not None}}


def test_what_is_malformed_is_refused_and_counted(here: Site) -> None:
    way = here.body()["reports"]["way"]
    wrong = [
        (swapped(here, way=None), 422, "report-invalid"),
        (swapped(here, way=way[:-2]), 422, "report-invalid"),
        (swapped(here, way=way + "00"), 422, "report-invalid"),
        (swapped(here, way=way[:-8] + "04000000"), 422, "report-invalid"),
        (swapped(here, way=way.replace("0102", "0103", 1)), 422, "report-invalid"),
        (swapped(here, way=way[:-8].upper() + "GG000000"), 422, "report-invalid"),
        (swapped(here, way=way[:-8] + " 1000000"), 422, "report-invalid"),
        (swapped(here, more=way), 422, "report-invalid"),
        (here.body(answer="by bus"), 422, "body-invalid"),
        (here.body(number="00"), 422, "body-invalid"),
        (here.body(number="zz" * 16), 422, "body-invalid"),
        (here.body(number=7), 422, "body-invalid"),
        (here.body(reports=[]), 422, "body-invalid"),
        ([], 422, "body-invalid"),
        (here.body(survey="0" * 64), 409, "survey-changed"),
    ]
    for body, status, code in wrong:
        refused(here.post(body), status, code)
    assert here.store.count() == 0
    assert here.store.refused() == {"body-invalid": 6, "report-invalid": 8, "survey-changed": 1}


def test_what_is_no_json_or_too_large_is_refused(shared: Site) -> None:
    before = shared.store.count()
    body = json.dumps(shared.body())
    plain = {"content-type": "text/plain"}
    refused(shared.send("POST", "/api/v1/reports", content=body, headers=plain), 415, "not-json")
    own = {"content-type": "application/json"}
    refused(shared.send("POST", "/api/v1/reports", content=b"\xff", headers=own), 422, "body-invalid")
    for text in (b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\0"):  # within a text, where no JSON has them
        wrong = body.encode().replace(b'"survey": "', b'"survey": "' + text)
        refused(shared.send("POST", "/api/v1/reports", content=wrong, headers=own), 422, "body-invalid")
    refused(shared.send("POST", "/api/v1/reports", content=b"[" * 60_000, headers=own), 422, "body-invalid")
    refused(
        shared.send("POST", "/api/v1/reports", content=b" " * 70_000 + body.encode(), headers=own), 413, "too-large"
    )
    assert shared.store.count() == before


def test_pages_elsewhere_can_send_nothing(shared: Site) -> None:
    """CSRF, and DNS rebinding."""
    refused(shared.post(shared.body(), headers={"origin": "http://elsewhere.test"}), 422, "forged-form")
    refused(shared.post(shared.body(), headers={"host": "elsewhere.test"}), 400, "unknown-host")
    assert shared.post(shared.body(), headers={"origin": URL}).status_code == 200


def test_after_the_last_day_nothing_is_accepted(tmp_path: Path) -> None:
    today = [date(2026, 3, 1)]
    with site(tmp_path / "a.duckdb", "closes = 2026-03-01\n" + SURVEY, today=lambda: today[0]) as here:
        assert here.post(here.body()).status_code == 200
        today[0] = date(2026, 3, 2)
        refused(here.post(here.body()), 410, "survey-closed")
        page = here.send("GET", "/")
        assert "closed after 2026-03-01" in page.text
        assert "fieldset" not in page.text


def test_invitations_are_asked_for(tmp_path: Path) -> None:
    with site(tmp_path / "a.duckdb", "invitations = true\n" + SURVEY) as here:
        (invitation,) = here.store.invite(1)
        refused(here.post(here.body()), 403, "invitation")
        assert here.post(here.body(invitation=invitation)).status_code == 200
        refused(here.post(here.body(invitation=invitation)), 403, "invitation")
        assert "1</b> of 1 invitations" in here.send("GET", "/estimates").text


def test_when_the_disk_fails_nothing_is_acknowledged(shared: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError("no space left at /somewhere/secret")

    before = shared.store.count()
    body = shared.body()
    with monkeypatch.context() as patched:
        patched.setattr(shared.store, "_write", fails)
        found = shared.post(body)
        assert (found.status_code, found.json()["code"]) == (500, "internal")
        assert "secret" not in found.text
    assert shared.store.count() == before
    assert shared.post(body).json() == {"stored": True, "again": False}


def test_texts_of_the_owner_are_texts(shared: Site) -> None:
    page = shared.send("GET", "/")
    assert "<script>alert" not in page.text
    assert "<b>smoke" not in page.text
    seen = Seen.of(page.text)
    assert [(given.get("src") or "").rpartition("/")[2] for tag, given in seen.tags if tag == "script"] == [
        "randomise.js",
        "survey.js",
    ]
    (data,) = [given["data-survey"] for _, given in seen.tags if "data-survey" in given]
    assert data is not None
    assert json.loads(unescape(data)) == shared.survey.document == shared.send("GET", "/api/v1/survey").json()


def test_no_form_of_the_page_could_be_sent_and_no_field_is_enabled(shared: Site) -> None:
    page = shared.send("GET", "/")
    seen = Seen.of(page.text)
    tags = [tag for tag, _ in seen.tags]
    assert "form" not in tags
    assert tags.count("fieldset") == 3
    assert all("disabled" in given for tag, given in seen.tags if tag == "fieldset")
    assert not [given for tag, given in seen.tags if tag == "button" and given.get("type") != "button"]
    policy = page.headers["content-security-policy"]
    assert "form-action 'none'" in policy
    assert "unsafe" not in policy


def test_nobody_who_answers_gets_a_cookie_or_a_line_in_a_log(shared: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "discreet"):
        for found in (shared.send("GET", "/"), shared.send("GET", "/api/v1/survey"), shared.post(shared.body())):
            assert found.status_code == 200
            assert "set-cookie" not in found.headers
    assert not caplog.records


def test_estimates_as_page_csv_and_json(here: Site) -> None:
    assert "No reports yet" in here.send("GET", "/estimates").text
    assert here.send("GET", "/estimates.json").json()["questions"][0]["estimates"] == []
    here.together([("POST", "/api/v1/reports", {"json": here.body()}) for _ in range(20)])
    rows = list(csv.DictReader(io.StringIO(here.send("GET", "/estimates.csv").text)))
    assert [row["answer"] for row in rows] == ["yes", "no", *here.survey.questions[1].choices, "mean"]
    told = here.send("GET", "/estimates.json").json()
    assert [each["reports"] for each in told["questions"]] == [20, 20, 20]
    for each in (row for question in told["questions"] for row in question["estimates"]):
        assert each["low"] <= each["high"]
    page = here.send("GET", "/estimates", headers=BROWSER)
    assert page.text.count("<svg") == 3
    assert "<script>alert" not in page.text
    assert "20</b> submissions" in page.text


def test_estimates_of_the_owner_are_for_the_owner(tmp_path: Path) -> None:
    with site(tmp_path / "a.duckdb", OWNER) as here:
        here.post(here.body())
        closed = here.send("GET", "/estimates", headers=BROWSER)
        assert (closed.status_code, "submissions" in closed.text) == (401, False)
        for path in ("/estimates.json", "/estimates.csv"):
            refused(here.send("GET", path), 401, "unauthorized")
            refused(here.send("GET", path, headers={"authorization": f"Bearer {here.token[:-1]}"}), 401, "unauthorized")
            assert here.send("GET", path, headers={"authorization": f"Bearer {here.token}"}).status_code == 200
        wrong = here.send("POST", "/estimates", data={"token": "discreet_0_0"})
        assert (wrong.status_code, "unknown" in wrong.text) == (401, True)
        forged = {"origin": "http://elsewhere.test"}
        refused(here.send("POST", "/estimates", data={"token": here.token}, headers=forged), 422, "forged-form")
        entered = here.send("POST", "/estimates", data={"token": here.token})
        assert entered.status_code == 303
        cookie = entered.headers["set-cookie"].partition(";")[0]
        assert here.token not in cookie
        assert "submission says" in here.send("GET", "/estimates", headers={"cookie": cookie}).text


def test_what_is_not_there_is_said_to_people_and_to_programs(shared: Site) -> None:
    page = shared.send("GET", "/nothing", headers=BROWSER)
    assert (page.status_code, "To the survey" in page.text) == (404, True)
    refused(shared.send("GET", "/nothing"), 404, "unknown-route")
    refused(shared.send("PUT", "/api/v1/reports"), 405, "method-not-allowed")
    refused(shared.send("GET", "/static/000000000000/survey.js"), 404, "unknown-route")


def test_reports_that_nobody_looks_at_are_not_kept_in_memory(shared: Site) -> None:
    """Anybody may send as many as they like, and the owner may look once a month."""
    tallies, survey = Tallies(shared.survey), shared.survey
    question = next(each for each in survey.questions if each.id == "way")
    reports = [bytes(row) for row in question.mechanism.encode([0, 1, 2, 3] * (MOST_WAITING // 2))]
    held = []
    for start in range(0, len(reports), 100):
        tallies.add(question.id, reports[start : start + 100])
        held.append(sum(map(len, tallies._waiting.values())))
    assert max(held) <= MOST_WAITING
    assert tallies.estimates()[1].count == len(reports) == 2 * MOST_WAITING
    whole = question.mechanism.estimate(reports).values  # type: ignore[attr-defined]
    assert [row.value for row in tallies.estimates()[1].rows] == whole.tolist()


def test_estimates_go_on_after_a_restart(tmp_path: Path) -> None:
    with site(tmp_path / "a.duckdb") as here:
        here.together([("POST", "/api/v1/reports", {"json": here.body(ANSWERS)}) for _ in range(10)])
        before = here.send("GET", "/estimates.csv").text
    with site(tmp_path / "a.duckdb") as here:
        assert here.send("GET", "/estimates.csv").text == before
        here.post(here.body())
        assert here.collection.estimates()[2].count == 11
