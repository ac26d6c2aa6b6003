"""The pages without a browser: who sees what, and what each form does."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

import httpx
import pytest

from discreet.accounting import rho_for
from discreet.accounting.balance import details, headline
from discreet.answers.plots.theme import THEMES
from discreet.policy import read
from discreet.printing import at_least
from discreet.server.pages import editor, owner
from discreet.server.pages.home import inside
from tests.server.running import HELD, PLAIN, POLICY, Running, build, until
from tests.server.visitor import BROWSER, Seen, Site, Visitor, shown, site

HOME = "/data/hospital"
WARDS = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
AUDITOR, ANALYST, OWNER = "auditor", "epidemiology", "owner"
EVERYBODY = (OWNER, ANALYST, AUDITOR)
ALLOWED = {
    "/": EVERYBODY,
    HOME: (OWNER, ANALYST),
    f"{HOME}?sql=SELECT+COUNT(*)+FROM+patients&epsilon=0.1": (OWNER, ANALYST),
    f"{HOME}?sql=nonsense&by=error&error=n%3Dmany": (OWNER, ANALYST),
    f"{HOME}/ledger": EVERYBODY,
    f"{HOME}/ledger?text=ward&answered=yes&page=1": EVERYBODY,
    f"{HOME}/ledger.csv": EVERYBODY,
    f"{HOME}/ledger.json": EVERYBODY,
    f"{HOME}/ledger/chart.svg?layout=narrow&theme=dark": EVERYBODY,
    f"{HOME}/releases": EVERYBODY,
    f"{HOME}/streams?page=2": EVERYBODY,
    f"{HOME}/streams.json": EVERYBODY,
    f"{HOME}/owner": (OWNER,),
    f"{HOME}/owner/statement": (OWNER,),
    f"{HOME}/owner/script.sh": (OWNER,),
    f"{HOME}/owner/notebook.ipynb": (OWNER,),
    "/learn": EVERYBODY,
    "/docs": EVERYBODY,
    "/sign-in": EVERYBODY,
}
"""Pages, and those who may see them."""
FORMS = {
    "/sign-out": EVERYBODY,
    f"{HOME}/preview": (OWNER, ANALYST),
    f"{HOME}/try": (OWNER, ANALYST),
    f"{HOME}/ask": (OWNER, ANALYST),
    f"{HOME}/jobs/0/cancel": (OWNER, ANALYST),
    f"{HOME}/saved": (OWNER, ANALYST),
    f"{HOME}/saved/0/remove": (OWNER, ANALYST),
    f"{HOME}/releases": (OWNER, ANALYST),
    f"{HOME}/releases/preview": (OWNER, ANALYST),
    f"{HOME}/ledger/verify": (OWNER, AUDITOR),
    f"{HOME}/owner/tokens": (OWNER,),
    f"{HOME}/owner/tokens/0/revoke": (OWNER,),
    f"{HOME}/owner/budget": (OWNER,),
    f"{HOME}/owner/check": (OWNER,),
    f"{HOME}/owner/acknowledge": (OWNER,),
    f"{HOME}/owner/analysts": (OWNER,),
    f"{HOME}/owner/backup": (OWNER,),
    f"{HOME}/owner/suggest": (OWNER,),
    f"{HOME}/owner/audit": (OWNER,),
    f"{HOME}/owner/refresh": (OWNER,),
    f"{HOME}/owner/erase": (OWNER,),
}
"""Forms, and those who may send them: `test_page_actions` compares them with the routes."""
BEGINS = f"{HOME}/owner/refresh"
"""What an owner would begin by it changes what others of these tests see: `test_page_actions` sends it."""
OPEN = ("/learn", "/docs", "/sign-in")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Its audits are short: one that is begun goes on beside all tests that follow."""
    with pytest.MonkeyPatch.context() as patch, site(build(tmp_path_factory.mktemp("pages"))) as made:
        patch.setattr(f"{owner.__name__}.QUESTIONS", 1)
        yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Site]:
    """For tests that change it."""
    with site(build(tmp_path, patients=50)) as made:
        yield made


@pytest.fixture
def analyst(hospital: Site) -> Visitor:
    return hospital.visitor(ANALYST)


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("path", ALLOWED)
def test_each_page_is_for_some(hospital: Site, path: str, who: str) -> None:
    found = hospital.visitor(who).get(path)
    assert found.status_code == (200 if who in ALLOWED[path] else 403)
    if found.status_code == 403:
        assert "may not do this" in found.text
        assert "Nothing was charged" in found.text


@pytest.mark.parametrize("path", ALLOWED)
def test_others_sign_in_first_and_come_back(hospital: Site, path: str) -> None:
    visitor = hospital.visitor()
    found = visitor.get(path)
    if path in OPEN:
        assert found.status_code == 200
        return
    assert found.status_code == 303
    page = visitor.get(found.headers["location"])
    assert page.status_code == 200
    fields = {"token": hospital.tokens[OWNER], "back": Seen.of(page.text).values("back")[0]}
    assert httpx.URL(visitor.post("/sign-in", fields).headers["location"]) == httpx.URL(path)


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("path", [path for path in FORMS if path not in ("/sign-out", BEGINS)])
def test_each_form_is_for_some(hospital: Site, path: str, who: str) -> None:
    visitor = hospital.visitor(who)
    found = visitor.send(path)
    assert (found.status_code == 403) == (who not in FORMS[path]), found.text


@pytest.mark.parametrize("path", FORMS)
def test_no_form_works_without_signing_in(hospital: Site, path: str) -> None:
    found = hospital.visitor().post(path, {"proof": "0" * 64})
    assert (found.status_code, found.headers["location"]) == (303, "/sign-in?back=%2F")


def test_a_page_that_is_not_there_is_a_page(analyst: Visitor) -> None:
    for path in ("/nope", f"{HOME}/answers/999999", f"{HOME}/jobs/abc", "/data/elsewhere"):
        found = analyst.get(path)
        assert found.status_code == 404, path
        assert "<h1>Not Found</h1>" in found.text
    for path in (f"{HOME}/answers/none", f"{HOME}/answers/{'9' * 40}", f"{HOME}/ledger?page=0"):
        found = analyst.get(path)
        assert (found.status_code, "<h1>" in found.text) == (422, True), path
    assert analyst.get("/static/000000000000/style.css").status_code == 404


def test_addresses_of_forms_lead_to_their_pages(hospital: Site) -> None:
    owner = hospital.visitor(OWNER)
    for page, forms in {
        HOME: ("ask", "preview", "try"),
        f"{HOME}/owner": ("owner/budget", "owner/check", "owner/tokens"),
        f"{HOME}/ledger": ("ledger/verify",),
    }.items():
        for form in forms:
            found = owner.get(f"{HOME}/{form}")
            assert (found.status_code, found.headers["location"]) == (303, page), form


def test_problems_speak_to_people(analyst: Visitor) -> None:
    for path in ("/nope", f"{HOME}/ledger?page=0", "/sign-out"):
        page = analyst.get(path).text
        assert "use the links on top of the page" in page, path
        assert "openapi" not in page


def test_asking_gives_an_answer_for_good(analyst: Visitor) -> None:
    place = analyst.ask(WARDS, "0.2")
    page = analyst.get(place).text
    rows = analyst.get(f"{place}.json").json()["rows"]
    table = list(csv.reader(io.StringIO(analyst.get(f"{place}.csv").text)))
    assert table[0][:2] == ["ward", "n"]
    for ward, count in rows:
        assert ward in page
        assert f"{count:,}" in page
        assert any(line[:2] == [ward, str(count)] for line in table[1:])
    assert "± " in page
    assert 'role="img"' in page
    chart = analyst.get(f"{place}/chart.json")
    assert chart.json()["$schema"]
    svg, png = (analyst.get(f"{place}/chart.{kind}") for kind in ("svg", "png"))
    assert (svg.headers["content-type"], svg.content[:4]) == ("image/svg+xml", b"<svg")
    assert (png.headers["content-type"], png.content[:4]) == ("image/png", b"\x89PNG")
    assert 'filename="hospital-' in png.headers["content-disposition"]
    narrow = analyst.get(f"{place}/chart.svg?layout=narrow&theme=dark")
    assert THEMES["dark"].background in narrow.text
    for wrong in ("chart.exe", "chart.svg?layout=odd", "chart.svg?theme=odd"):
        assert analyst.get(f"{place}/{wrong}").status_code == 422
    assert "attachment" in chart.headers["content-disposition"]
    assert analyst.ask(WARDS, "0.2") == place  # again, free
    assert WARDS in shown(analyst.get("/").text)


def test_a_batch_has_a_page_of_its_own(hospital: Site, analyst: Visitor) -> None:
    queries = [f"SELECT COUNT(*) AS n FROM patients WHERE age < {age}" for age in (30, 70)]
    token = {"authorization": f"Bearer {hospital.tokens[ANALYST]}"}
    asked = hospital.visitor().client.post(
        "/api/v1/datasets/hospital/batch", json={"queries": queries, "epsilon": 0.2}, headers=token
    )
    answers = hospital.loop.run_until_complete(asked).json()["answers"]
    place = f"{HOME}/answers/{answers[0]['receipt'].partition(':')[0]}"
    assert place in analyst.get(f"{HOME}/ledger").text
    words = shown(analyst.get(place).text)
    for number, (query, answer) in enumerate(zip(queries, answers, strict=True), start=1):
        assert f"Query {number} {query}" in words
        assert f"{answer['rows'][0][0]:,}" in words
    assert analyst.get(f"{place}.json").json()["answers"][1]["rows"] == answers[1]["rows"]
    assert "charge-of-batch" in analyst.get(f"{place}.csv").text
    assert hospital.visitor("finance").get(place).status_code == 404


def test_releases_are_previewed_published_listed_and_drawn_small(hospital: Site, analyst: Visitor) -> None:
    begun = Seen.of(analyst.get(f"{HOME}/releases").text)
    fields = {"proof": begun.values("proof")[0], "key": "r1", "publication": "Facets", "table": "patients"}
    preview = analyst.post(f"{HOME}/releases/preview", {**fields, "epsilon": "0.5"})
    assert "Expected error" in preview.text
    for wrong, code in (({"epsilon": "much"}, "cost-invalid"), ({"epsilon": "500"}, "budget-exhausted"),
                        ({"epsilon": "1", "table": "wards"}, "body-invalid"),
                        ({"epsilon": "1", "publication": "os.system"}, "body-invalid")):  # fmt: skip
        refused = analyst.post(f"{HOME}/releases", {**fields, **wrong})
        assert code in refused.text
        assert refused.status_code >= 400
    sent = analyst.post(f"{HOME}/releases", {**fields, "epsilon": "0.5"})
    again = analyst.post(f"{HOME}/releases", {**fields, "epsilon": "0.5"})
    page = sent.headers["location"]
    if "/jobs/" in page:
        page = until(lambda: analyst.get(page).headers.get("location", ""))
    assert page.startswith(f"{HOME}/releases/")
    assert again.headers["location"] in (page, sent.headers["location"])
    shown_ = analyst.get(page).text
    assert "95 % of the values are within" in shown_
    assert 'aria-label="ward: 3 bars, the highest' in shown_
    assert page in analyst.get(f"{HOME}/releases").text
    assert page in analyst.get(f"{HOME}/ledger").text
    assert analyst.get(f"{page}.csv").text.startswith("column,value,count\nage,")
    assert analyst.get(f"{page}.json").json()["value"]["stored"] == "FacetCounts"
    other = hospital.visitor(OWNER)
    assert 'aria-label="ward: 3 bars' in other.get(HOME).text, "who may look at the dataset sees its facets"


def test_a_form_that_is_sent_twice_is_charged_once(hospital: Site, analyst: Visitor) -> None:
    before = len(analyst.get(f"{HOME}/ledger.json").json()["entries"])
    page = Seen.of(analyst.get(HOME).text)
    fields = {
        "proof": page.values("proof")[0],
        "key": page.values("key")[0],
        "sql": "SELECT AVG(age) AS a FROM patients",
    }
    fields["epsilon"] = "0.031"
    found = analyst.both(f"{HOME}/ask", fields)
    found.append(analyst.post(f"{HOME}/ask", fields))
    assert [each.status_code for each in found] == [303] * 3
    assert len(analyst.get(f"{HOME}/ledger.json").json()["entries"]) == before + 1
    assert len({each for each in analyst.get(HOME).text.split('"') if re.fullmatch("[0-9a-f]{32}", each)}) == 1
    assert Seen.of(hospital.visitor(ANALYST).get(HOME).text).values("key") != [fields["key"]]


def test_the_preview_is_free_and_says_what_the_answer_would_cost(analyst: Visitor) -> None:
    before = analyst.get(f"{HOME}/ledger.json").json()
    sql = WARDS.replace("GROUP", "WHERE age > 40 GROUP")
    whole = analyst.send(f"{HOME}/preview", sql=sql, epsilon="0.1")
    part = analyst.send(f"{HOME}/preview", sql=sql, epsilon="0.1", fragment="1")
    rho = rho_for(0.1, 5e-7)
    margin = math.ceil(NormalDist().inv_cdf(0.975) / math.sqrt(2 * rho) - 0.5)  # of noise on whole numbers
    for page in (whole.text, part.text):
        assert f"ε 0.1 (ρ {at_least(rho)})" in shown(page)
        assert f"± {margin}" in shown(page)
    assert "<html" in whole.text
    assert "<html" not in part.text
    tried = analyst.send(f"{HOME}/try", sql=WARDS, epsilon="0.1")
    assert "not your data" in tried.text
    assert analyst.get(f"{HOME}/ledger.json").json() == before


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"sql": "SELECT age FROM patients"}, "not-an-aggregate"),
        ({"sql": WARDS, "epsilon": "much"}, "cost-invalid"),
        ({"sql": WARDS, "epsilon": "-1"}, "cost-invalid"),
        ({"sql": WARDS, "epsilon": "nan"}, "cost-invalid"),
        ({"sql": WARDS, "epsilon": ""}, "cost-missing"),
        ({"sql": WARDS, "by": "error", "error": ""}, "cost-missing"),
        ({"sql": WARDS, "by": "error", "error": "m=1"}, "cost-invalid"),
        ({"sql": ""}, ""),
        ({"sql": "\0" * 50}, ""),
        ({"sql": "SELECT " + "(" * 400}, ""),
        ({"sql": "SELECT COUNT(*) FROM patients -- " + "x" * 250_000}, ""),
        ({"sql": "SELECT 💥 FROM ٣"}, ""),
    ],
)
def test_what_is_refused_stays_in_the_form(analyst: Visitor, fields: dict[str, str], code: str) -> None:
    before = analyst.get(f"{HOME}/ledger.json").json()
    for where in ("ask", "try", "preview"):
        found = analyst.send(f"{HOME}/{where}", **{"epsilon": "0.1", **fields})
        refused = 422 if where != "preview" else 200
        assert found.status_code == refused, (where, found.text)
        if where == "ask":
            assert "Nothing was charged" in found.text
            assert not code or code in found.text, shown(found.text)
            assert fields["sql"][:30].strip("\0") in unescape(found.text)
    assert analyst.get(f"{HOME}/ledger.json").json() == before


def test_a_fix_is_offered_and_taken(analyst: Visitor) -> None:
    page = analyst.send(f"{HOME}/preview", sql="SELECT wrd, COUNT(*) AS n FROM patients GROUP BY wrd", epsilon="0.1")
    assert "Use this fix" in page.text
    edited = [
        text for tag, given in Seen.of(page.text).tags if tag == "input" and (text := given.get("value")) == WARDS
    ]
    assert edited == [WARDS]
    taken = analyst.send(f"{HOME}/preview", sql=WARDS, by="epsilon", epsilon="0.1", error="")
    assert "Use this fix" not in taken.text


def test_what_a_wanted_error_would_take_of_the_rest_is_confirmed_on_the_page(fresh: Site) -> None:
    """Without a script: the button sends the same form again, with a yes; averages ask for their groups first."""
    visitor = fresh.visitor("finance")
    asked = {"sql": "SELECT COUNT(*) AS n FROM patients", "by": "error", "error": "4"}
    page = visitor.send(f"{HOME}/ask", **asked)
    assert page.status_code == 422
    assert re.search(r"it would use [\d.]+ % of what is left", page.text)
    assert "Run it for that" in page.text
    assert Seen.of(page.text).values("confirm") == ["yes"]
    assert not visitor.get(f"{HOME}/ledger.json").json()["entries"], "nothing was charged"
    assert visitor.ask(**asked, confirm="yes").startswith(f"{HOME}/answers/")
    ages = {"sql": "SELECT AVG(age) AS age FROM patients", "by": "error", "error": "9"}
    page = visitor.send(f"{HOME}/preview", **ages)
    assert "for groups of 1000 rows or more" in page.text
    assert "more queries like this" in visitor.send(f"{HOME}/preview", **ages, group_size="1000").text
    for size in ("0", "many", "2.5", "1e300", "-5"):
        assert "cost-invalid" in visitor.send(f"{HOME}/preview", **ages, group_size=size).text


def test_the_budget_is_said_alike_on_every_page(fresh: Site) -> None:
    finance, owner = fresh.visitor("finance"), fresh.visitor(OWNER)
    finance.ask("SELECT COUNT(*) AS n FROM patients", "1")
    curator = fresh.app.state.app_state.datasets["hospital"].curator
    whole, share = headline(curator.budget().used), headline(curator.budget("finance").used)
    ledger = details(curator.budget("finance"))
    for path in ("/", HOME, f"{HOME}/ledger"):
        own = finance.get(path).text
        assert re.search(rf"{re.escape(whole)}, [\d.]+ % by you", own)
        assert share in own
        assert all(line in own for line in ledger)
        everybody = owner.get(path).text
        assert whole in everybody
        assert share not in everybody
    assert share in owner.get(f"{HOME}/owner").text


def test_a_cost_that_is_too_high_comes_with_one_that_is_left(fresh: Site) -> None:
    visitor = fresh.visitor("finance")
    found = visitor.send(f"{HOME}/ask", sql=WARDS, epsilon="100")
    assert found.status_code == 402
    assert "budget-exhausted" in found.text
    offered = re.search(r"answered at ε ([0-9.e-]+)\.", found.text)
    assert offered is not None
    visitor.ask(WARDS, offered[1])
    again = visitor.send(f"{HOME}/ask", sql="SELECT COUNT(*) FROM patients", epsilon="1")
    assert again.status_code == 402


def test_what_others_bought_is_free_and_stands_below_the_question(fresh: Site) -> None:
    fresh.visitor(OWNER).ask(WARDS)
    visitor = fresh.visitor(ANALYST)
    found = visitor.send(f"{HOME}/ask", sql=WARDS, epsilon="0.01")
    assert found.status_code == 200
    assert '<h2 id="tried">Answer</h2>' in found.text
    assert visitor.get(f"{HOME}/ledger.json").json()["entries"] == []


def test_a_long_answer_is_listed_in_part(fresh: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.pages.answers.MOST_LISTED", 2)
    visitor = fresh.visitor(ANALYST)
    place = visitor.ask(WARDS)
    assert "… and 1 more rows, which the CSV has" in shown(visitor.get(place).text)
    assert len(visitor.get(f"{place}.csv").text.splitlines()) == 4


def test_questions_over_public_tables_are_shown_below_the_form(analyst: Visitor) -> None:
    found = analyst.send(f"{HOME}/ask", sql="SELECT SUM(beds) AS beds FROM wards", epsilon="0.1")
    assert found.status_code == 200, found.headers
    assert '<h2 id="tried">Answer</h2>' in found.text
    assert ">60<" in found.text


@pytest.mark.long
def test_the_ledger_is_filtered_and_paged(fresh: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.pages.ledger.PAGE", 2)
    owner, analyst = fresh.visitor(OWNER), fresh.visitor(ANALYST)
    owner.ask("SELECT AVG(age) AS a FROM patients")
    for cost in ("0.01", "0.02"):
        analyst.ask(WARDS, cost)
    assert "3 charges" in (first := owner.get(f"{HOME}/ledger").text)
    assert "Page 1 of 2" in first
    assert "AVG(age)" not in first
    assert "AVG(age)" in owner.get(f"{HOME}/ledger?page=2").text
    assert "2 charges" in owner.get(f"{HOME}/ledger?analyst=epidemiology").text
    assert "1 charge<" in owner.get(f"{HOME}/ledger?text=avg(").text
    assert "Nothing is like that" in owner.get(f"{HOME}/ledger?answered=no").text
    mine = analyst.get(f"{HOME}/ledger").text
    assert "2 charges" in mine
    assert "AVG(age)" not in mine + analyst.get(f"{HOME}/ledger.csv").text + analyst.get(f"{HOME}/ledger.json").text
    assert analyst.get(f"{HOME}/answers/1").status_code == 404  # bought by the owner: not listed, not guessed
    sound = owner.send(f"{HOME}/ledger/verify", receipt="")
    assert "<strong>Sound</strong>" in sound.text
    assert "Not sound" in owner.send(f"{HOME}/ledger/verify", receipt=f"1:{'0' * 64}").text


def test_tokens_are_made_shown_once_and_revoked_at_once(fresh: Site) -> None:
    owner = fresh.visitor(OWNER)
    page = owner.send(f"{HOME}/owner/tokens", holder="analyst:finance", days="30").text
    made = re.search(r"discreet_([0-9a-f]{8})_[0-9a-f]{64}", page)
    assert made is not None
    assert made[0] not in owner.get(f"{HOME}/owner").text
    holder = fresh.visitor().sign_in(made[0])
    assert holder.get(HOME).status_code == 200
    assert owner.send(f"{HOME}/owner/tokens/{made[1]}/revoke").status_code == 303
    assert holder.get(HOME).headers["location"].startswith("/sign-in")
    assert holder.post(f"{HOME}/ask", {"sql": WARDS}).headers["location"].startswith("/sign-in")
    assert fresh.visitor().post("/sign-in", {"token": made[0]}).status_code == 401
    own = fresh.tokens[OWNER].split("_")[1]
    assert owner.send(f"{HOME}/owner/tokens/{own}/revoke").status_code == 403
    assert owner.get(f"{HOME}/owner").status_code == 200


@pytest.mark.parametrize("days", ["0", "-1", "1.5", "many", "3651", "9" * 30, "000001999999999"])
def test_days_that_make_no_sense_are_refused(hospital: Site, days: str) -> None:
    found = hospital.visitor(OWNER).send(f"{HOME}/owner/tokens", holder="owner", days=days)
    assert found.status_code == 422
    assert "write 1 to 3650" in found.text


@pytest.mark.parametrize("holder", ["", "analyst:", "analyst:nobody", "king", "analyst:owner"])
def test_tokens_are_for_people_of_the_policy(hospital: Site, holder: str) -> None:
    assert hospital.visitor(OWNER).send(f"{HOME}/owner/tokens", holder=holder).status_code == 422


def test_the_owner_raises_the_budget_and_it_holds_at_once(fresh: Site) -> None:
    owner = fresh.visitor(OWNER)
    assert owner.send(f"{HOME}/owner/budget", epsilon="40", reason="a new study").status_code == 303
    assert " of 40</li>" in owner.get(f"{HOME}/owner").text
    assert fresh.policy.read_text(encoding="utf-8") == POLICY.replace("epsilon = 30.0", "epsilon = 40.0")
    for wrong in ("40", "1", "many", "", "nan", "inf", "-5", "1e400"):
        found = owner.send(f"{HOME}/owner/budget", epsilon=wrong)
        assert found.status_code == 422, wrong
    assert read(fresh.policy).budget.epsilon == 40


def test_a_policy_file_that_cannot_be_written_is_said_to_the_owner(
    fresh: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    owner = fresh.visitor(OWNER)
    monkeypatch.setattr("discreet.owner.editing.tempfile.mkstemp", full)
    found = owner.send(f"{HOME}/owner/budget", epsilon="40")
    assert found.status_code == 422
    assert "cannot be written here: No space left on device" in found.text
    assert "discreet budget raise" in found.text


def test_the_policy_is_linted_and_audited(fresh: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.pages.owner.QUESTIONS", 1)
    owner = fresh.visitor(OWNER)
    assert 'id="lint"' in owner.send(f"{HOME}/owner/check").text
    assert owner.get(f"{HOME}/owner/audit").headers["location"] == f"{HOME}/owner#audit"  # there is none yet
    assert owner.send(f"{HOME}/owner/audit").status_code == 303
    made = owner.send(f"{HOME}/owner/tokens", holder="auditor").text
    assert "discreet_" in made
    assert "http-equiv" not in made  # what is shown once is not loaded away
    until(lambda: "See the report" in owner.get(f"{HOME}/owner").text)
    report = owner.get(f"{HOME}/owner/audit")
    assert report.status_code == 200
    assert "unsafe-inline" not in report.headers["content-security-policy"]
    assert fresh.visitor(ANALYST).get(f"{HOME}/owner/audit").status_code == 403


def test_a_question_that_lasts_is_waited_for_and_cancelled(rigged: Running) -> None:
    with httpx.Client(base_url=rigged.url, headers=BROWSER, trust_env=False, verify=PLAIN, timeout=300) as client:
        client.post("/sign-in", data={"token": rigged.tokens[ANALYST]})
        page = Seen.of(client.get(HOME).text)
        fields = {"proof": page.values("proof")[0], "sql": f"{HELD[:-1]} page'", "epsilon": "0.01"}
        places = []
        for number in range(3):  # two of one caller are answered at a time
            found = client.post(f"{HOME}/ask", data={**fields, "key": f"lasting-{number}"})
            assert found.status_code == 303
            places.append(found.headers["location"])
        assert "Running" in client.get(places[0]).text
        assert "Number 1 in the queue" in client.get(places[2]).text
        with httpx.Client(base_url=rigged.url, headers=BROWSER, trust_env=False, verify=PLAIN) as other:
            other.post("/sign-in", data={"token": rigged.tokens["finance"]})
            assert other.get(places[2]).status_code == 404
        client.post(f"{places[2]}/cancel", data={"proof": fields["proof"]})
        cancelled = client.get(places[2])
        assert cancelled.status_code == 409
        assert "while it waited" in cancelled.text
        assert "Nothing was charged" in cancelled.text
        rigged.release()
        arrived = until(lambda: client.get(places[0]).headers.get("location"))
        assert client.get(arrived).status_code == 200


@pytest.mark.long
def test_python_and_curl_repeat_the_question_free(server: Running, tmp_path: Path) -> None:
    with httpx.Client(base_url=server.url, headers=BROWSER, trust_env=False, verify=PLAIN, timeout=300) as client:
        client.post("/sign-in", data={"token": server.tokens[ANALYST]})
        page = Seen.of(client.get(HOME).text)
        sql = "SELECT ward, COUNT(*) AS \"it's\"\nFROM patients\nWHERE zip <> 'a''b\\'\nGROUP BY ward"
        fields = {"proof": page.values("proof")[0], "sql": sql, "epsilon": "0.0123"}
        arrived = client.post(f"{HOME}/ask", data=fields, follow_redirects=True)
        rows = client.get(f"{arrived.url.path}.json").json()["rows"]
        before = client.get(f"{HOME}/ledger.json").json()
        codes = [unescape(text) for text in re.findall(r"</summary><pre>(.*?)</pre>", arrived.text, re.DOTALL)]
        python, curl = codes
        script = tmp_path / "again.py"
        script.write_text(
            python.replace("\nhospital.query(", "\nanswer = hospital.query(") + REPEATED, encoding="utf-8"
        )
        environment = {**os.environ, "DISCREET_TOKEN": server.tokens[ANALYST]}
        told = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
        assert json.loads(told.stdout) == [True, rows]
        words = shlex.split(curl.replace("\\\n", " ").replace("$DISCREET_TOKEN", server.tokens[ANALYST]))
        headers = dict(each.split(": ", 1) for flag, each in pairwise(words) if flag == "-H")
        body = words[words.index("-d") + 1]
        again = httpx.post(words[1], headers=headers, content=body, trust_env=False).json()
        assert (again["cached"], again["rows"]) == (True, rows)
        assert client.get(f"{HOME}/ledger.json").json() == before


REPEATED = """
import json
print(json.dumps([answer.cached, [list(row) for row in answer.rows]]))
"""


@pytest.mark.parametrize(
    "back",
    [
        "//elsewhere.example",
        "https://elsewhere.example",
        "/\\elsewhere.example",
        "\\\\elsewhere.example",
        "javascript:alert(1)",
        "/\r\nset-cookie: a=b",
        "/\t/x",
        "/\u2028/x",
        "/a\\b",
        " //x",
        "x",
        "",
    ],
)
def test_signing_in_leads_to_nobody_else(hospital: Site, back: str) -> None:
    visitor = hospital.visitor()
    assert inside(back) == "/"
    assert Seen.of(visitor.get("/sign-in", params={"back": back}).text).values("back") == ["/"]
    found = visitor.post("/sign-in", {"token": hospital.tokens[OWNER], "back": back})
    assert found.headers["location"] == "/"


def test_examples_are_answered(hospital: Site, analyst: Visitor) -> None:
    tables = hospital.app.state.app_state.datasets["hospital"].curator.tables()
    found = [each.sql for each in editor.examples(tables)]
    assert len(found) >= 3
    assert len({each.name for each in editor.examples(tables)}) == len(found), "names tell them apart"
    for sql in found:
        sent = analyst.send("/data/hospital/ask", sql=sql, epsilon="0.01")
        if sent.status_code == 303:
            analyst.ask(sql)  # it is cached then, or arrives
        else:  # another text that says the same was charged before: the answer stands below this one
            assert '<h2 id="tried">Answer</h2>' in sent.text
