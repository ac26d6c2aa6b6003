"""Every route: what it tells, to whom, in which form, and what it says when the answer is no."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.curator.state import ledger_path
from discreet.ledger import verify
from discreet.policy import read
from tests.cli.runs import run
from tests.server.running import POLICY, Running, build, refused, serving, until

HOME = "datasets/hospital/"
WARDS = {"sql": "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward", "epsilon": 0.01}
NUMBER = re.compile(r"-?\d+(\.\d+)?")
EVERYBODY = ("owner", "auditor", "epidemiology")


def bought(client: httpx.Client, **more: Any) -> tuple[int, dict[str, Any]]:
    """A new answer and the number of its charge."""
    found = client.post(f"{HOME}query", json={**WARDS, "fresh": True, **more})
    assert found.status_code == 200, found.text
    return int(found.json()["receipt"].split(":")[0]), found.json()


# what is told


def test_health_needs_no_token(server: Running) -> None:
    with server.client("") as client:
        assert client.get("health").json() == {"status": "ok"}


def test_datasets_say_who_one_is(server: Running) -> None:
    for who, role, analyst in (
        ("owner", "owner", None),
        ("auditor", "auditor", None),
        ("finance", "analyst", "finance"),
    ):
        with server.client(who) as client:
            (found,) = client.get("datasets").json()["datasets"]
            assert (found["name"], found["unit"], found["role"], found["analyst"]) == (
                "hospital",
                "patient",
                role,
                analyst,
            )
            assert found["guarantee"] == {"epsilon": 30.0, "delta": 1e-6}


def test_tables_have_public_facts_only(server: Running) -> None:
    for who in EVERYBODY:
        with server.client(who) as client:
            tables = client.get(f"{HOME}tables").json()["tables"]
            assert set(tables) == {"patients", "wards"}
            assert (tables["patients"]["unit"], tables["patients"]["max_rows"]) == ("id", 1)
            assert tables["patients"]["columns"]["zip"]["values"] is None
            assert tables["patients"]["columns"]["born"]["min"] == "1900-01-01"
            assert tables["wards"]["public"] is True


def test_a_preview_costs_nothing_and_the_query_what_it_said(server: Running) -> None:
    with server.client() as client:
        before = client.get(f"{HOME}budget").json()
        told = client.post(f"{HOME}preview", json=WARDS).json()
        assert client.get(f"{HOME}budget").json() == before
        _, answer = bought(client)
        assert told["loss"] == answer["loss"] == answer["cost"]
        assert client.get(f"{HOME}budget").json() != before
        assert [row[0] for row in answer["rows"]] == ["A", "B", "C"]
        assert answer["types"] == ["text", "integer"]
        for row, interval in zip(answer["rows"], answer["intervals"], strict=True):
            low, high = interval["n"]
            assert low <= row[1] <= high


def test_the_same_question_again_is_free(server: Running) -> None:
    with server.client() as client, server.client("finance") as other:
        first = client.post(f"{HOME}query", json=WARDS).json()
        again = other.post(f"{HOME}query", json=WARDS).json()
        assert again["cached"]
        assert again["rows"] == first["rows"]
        assert again["loss"] == {"rho": 0.0, "delta": 0.0}


def test_every_answer_has_an_address_in_three_forms(server: Running) -> None:
    with server.client() as client:
        number, answer = bought(client)
        for form in ("", ".json"):
            again = client.get(f"{HOME}answers/{number}{form}")
            assert again.headers["content-type"] == "application/json"
            assert {name: again.json()[name] for name in ("rows", "intervals", "receipt", "cost")} == {
                name: answer[name] for name in ("rows", "intervals", "receipt", "cost")
            }
        table = client.get(f"{HOME}answers/{number}.csv")
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        rows = list(csv.reader(io.StringIO(table.text)))
        assert rows[0] == ["ward", "n", "n_low", "n_high"]
        assert rows[1:] == [
            [row[0], str(row[1]), *map(str, interval["n"])]
            for row, interval in zip(answer["rows"], answer["intervals"], strict=True)
        ]


def test_spreadsheets_are_given_no_formulas(server: Running) -> None:
    sql = """-- =1+1
    SELECT CASE WHEN ward = 'A' THEN '=HYPERLINK(1)' ELSE '@x' END AS "+w", COUNT(*) AS "=n" FROM patients GROUP BY 1"""
    with server.client() as client:
        number, answer = bought(client, sql=sql)
        assert answer["columns"] == ["+w", "=n"]
        tables = [client.get(f"{HOME}{each}").text for each in (f"answers/{number}.csv", "ledger.csv")]
        cells = [cell for table in tables for row in csv.reader(io.StringIO(table)) for cell in row]
        assert "'=HYPERLINK(1)" in cells
        assert any(cell.startswith("'-- =1+1") for cell in cells)
        assert not [
            cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not NUMBER.fullmatch(cell)
        ]


def test_analysts_see_their_own_part_of_the_ledger(server: Running) -> None:
    with (
        server.client("epidemiology") as one,
        server.client("finance") as two,
        server.client("owner") as owner,
        server.client("auditor") as auditor,
    ):
        mine, _ = bought(one)
        theirs, _ = bought(two)
        owners, _ = bought(owner)
        for client, sees in ((one, {mine}), (two, {theirs}), (owner, {mine, theirs, owners})):
            numbers = {entry["number"] for entry in client.get(f"{HOME}ledger").json()["entries"]}
            assert numbers & {mine, theirs, owners} == sees
            for number in (mine, theirs, owners):
                found = client.get(f"{HOME}answers/{number}.csv")
                if number in sees:
                    assert found.status_code == 200
                else:
                    assert refused(found, 404, "unknown-answer")["spent"] == 0
        assert owner.get(f"{HOME}ledger").json() == auditor.get(f"{HOME}ledger").json()
        assert owner.get(f"{HOME}ledger.csv").text == auditor.get(f"{HOME}ledger.csv").text
        assert auditor.get(f"{HOME}answers/{mine}").status_code == 200


def test_the_ledger_is_read_in_pages(server: Running) -> None:
    with server.client("auditor") as client, server.client("owner") as owner:
        bought(owner)
        bought(owner)
        everything = client.get(f"{HOME}ledger").json()["entries"]
        paged: list[Any] = []
        while page := client.get(
            f"{HOME}ledger", params={"after": paged[-1]["number"] if paged else 0, "limit": 1}
        ).json()["entries"]:
            assert len(page) == 1
            paged += page
        assert paged == everything


def test_the_ledger_verifies_and_a_forged_receipt_does_not(server: Running) -> None:
    with server.client("auditor") as client, server.client() as analyst:
        _, answer = bought(analyst)
        found = client.get(f"{HOME}ledger/verify", params={"receipt": answer["receipt"]}).json()
        assert (found["sound"], found["problems"]) == (True, [])
        forged = client.get(f"{HOME}ledger/verify", params={"receipt": "1:" + "0" * 64}).json()
        assert forged["sound"] is False
        assert forged["problems"]
        refused(analyst.get(f"{HOME}ledger/verify"), 403, "forbidden")


def test_shares_of_others_are_not_shown_to_analysts(server: Running) -> None:
    with server.client("finance") as client, server.client("owner") as owner, server.client("auditor") as auditor:
        own = client.get(f"{HOME}budget", params={"analyst": "finance"}).json()
        assert own["total"]["epsilon"] == pytest.approx(5.0)
        for watcher in (owner, auditor):
            assert watcher.get(f"{HOME}budget", params={"analyst": "finance"}).json() == own
        refused(client.get(f"{HOME}budget", params={"analyst": "epidemiology"}), 403, "forbidden")
        refused(owner.get(f"{HOME}budget", params={"analyst": "nobody"}), 422, "unknown-analyst")


def test_the_owner_may_charge_an_analyst_and_nobody_else_may(server: Running) -> None:
    with server.client("owner") as owner, server.client("finance") as client:
        number, _ = bought(owner, analyst="finance")
        assert client.get(f"{HOME}answers/{number}").status_code == 200
        body = {**WARDS, "analyst": "epidemiology"}
        refused(client.post(f"{HOME}query", json=body), 403, "forbidden")
        refused(client.post(f"{HOME}preview", json=body), 403, "forbidden")
        refused(owner.post(f"{HOME}query", json={**WARDS, "analyst": "nobody"}), 422, "unknown-analyst")


def test_auditors_ask_nothing(server: Running) -> None:
    with server.client("auditor") as client:
        for method, path in (
            ("POST", "query"),
            ("POST", "preview"),
            ("GET", "jobs/x"),
            ("DELETE", "jobs/x"),
        ):
            refused(client.request(method, HOME + path, json=WARDS), 403, "forbidden")


def test_metrics_are_for_those_who_see_everybody(server: Running) -> None:
    for who, status in (("owner", 200), ("auditor", 200), ("finance", 403), ("", 401)):
        with server.client(who) as client:
            assert client.get(f"{server.url}/metrics").status_code == status


def test_a_dummy_is_free_and_says_so(server: Running) -> None:
    with server.client() as client:
        before = client.get(f"{HOME}ledger").json()
        found = client.post(f"{HOME}query", json={**WARDS, "dummy": True}).json()
        assert found["receipt"] == ""
        assert any("dummy data" in note for note in found["notes"])
        assert client.get(f"{HOME}ledger").json() == before


# jobs


def test_a_question_may_be_fetched_later(server: Running) -> None:
    with server.client() as client:
        body = {**WARDS, "fresh": True}
        found = client.post(f"{HOME}query", json=body, headers={"prefer": "respond-async, wait=0"})
        if found.status_code == 202:  # else it was too quick
            assert found.headers["location"] == f"/api/v1/{HOME}jobs/{found.json()['job']}"
            assert found.json()["state"] in ("queued", "running")
            found = client.get(server.url + found.headers["location"], params={"wait": 60})
        assert found.status_code == 200
        assert len(found.json()["rows"]) == 3


@pytest.mark.parametrize(
    "preference", ["", "wait=5", "respond-async, wait=x", "return=minimal", "respond-async;wait=9"]
)
def test_preferences_that_are_not_known_do_no_harm(server: Running, preference: str) -> None:
    with server.client() as client:
        found = client.post(f"{HOME}query", json=WARDS, headers={"prefer": preference})
        assert found.status_code in (200, 202)


def test_jobs_of_nobody(server: Running) -> None:
    with server.client() as client:
        for method in ("GET", "DELETE"):
            refused(client.request(method, f"{HOME}jobs/{'0' * 32}"), 404, "unknown-job")
            refused(client.request(method, f"{HOME}jobs/{'0' * 65}"), 422, "body-invalid")
        refused(client.get(f"{HOME}jobs/x", params={"wait": 61}), 422, "body-invalid")
        refused(client.get(f"{HOME}jobs/x", params={"wait": "nan"}), 422, "body-invalid")


# several datasets, and policies that change


@pytest.mark.long
def test_two_datasets_and_a_policy_that_changes(tmp_path_factory: pytest.TempPathFactory) -> None:
    one = build(tmp_path_factory.mktemp("one"), patients=50)
    two = build(tmp_path_factory.mktemp("two"), patients=50, text=POLICY.replace('"hospital"', '"St. Mary / east"', 1))
    both = run("token", "create", one, two, "--role", "auditor").stdout.split()[0]
    run("token", "create", two, "--role", "owner")
    ledger = ledger_path(read(one))
    with serving(one, str(two)) as running, running.client("owner") as owner, running.client("") as client:
        headers = {"authorization": f"Bearer {both}"}
        names = [each["name"] for each in client.get("datasets", headers=headers).json()["datasets"]]
        assert names == ["hospital", "St.-Mary-east"]
        assert client.get("datasets/St.-Mary-east/tables", headers=headers).status_code == 200
        assert client.get(f"{running.url}/metrics", headers=headers).status_code == 200
        assert [each["name"] for each in owner.get("datasets").json()["datasets"]] == ["hospital"]
        told = refused(owner.get("datasets/St.-Mary-east/tables"), 404, "unknown-dataset")
        assert "Mary" not in told["detail"]  # others' names are not told
        refused(owner.get(f"{running.url}/metrics"), 403, "forbidden")
        _see_change(one, owner)
    assert verify(ledger).sound


def _see_change(policy: Path, owner: httpx.Client) -> None:
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("[analysts.finance]", "[analysts.marketing]"), encoding="utf-8")
    until(lambda: owner.get(f"{HOME}budget", params={"analyst": "marketing"}).status_code == 200)
    policy.write_text("this is no policy", encoding="utf-8")
    assert owner.get(f"{HOME}budget", params={"analyst": "marketing"}).status_code == 200
