"""What the desk and the owner's page refuse: beside what it is about, in the owner's words, and with nothing forgotten
of what was filled in. And what they did: it is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from discreet.policy import read
from discreet.server.desk.seat import found_at
from tests.server.desk import AtDesk, begin, build, columns, desk, hidden, open_it, send, walk, went, write
from tests.server.running import until
from tests.server.visitor import Visitor, shown

UNITS = {"unit_0": "column:patient_id", "rows_0": "2", "lines_0": "no"}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    with desk(build(tmp_path_factory.mktemp("refusals") / "data")) as made:
        yield made


@pytest.fixture(scope="module")
def owner(clinic: AtDesk) -> Visitor:
    return clinic.owner()


@pytest.fixture(scope="module")
def home(owner: Visitor) -> str:
    """The owner's page of a policy that is open."""
    went(write(owner, walk(owner)))
    return open_it(owner, "clinic.toml")


# what is filled in stays


def test_what_is_refused_of_tables_stays_in_the_form_beside_its_table(owner: Visitor) -> None:
    draft = begin(owner, "stays", "visits.csv", "wards.csv")
    wrong = {**UNITS, "rows_0": "0", "decimal_0": ",", "unit_1": "", "stream_epsilon_1": "0.25"}
    found = send(owner, f"{draft}/units", unit="Patientin", tables="2", **wrong)
    assert found.status_code == 422
    assert re.search(r'id="unit" name="unit" value="Patientin"', found.text)
    assert re.search(r'name="rows-0"[^>]* value="0"', found.text)
    assert '<option value="," selected>a comma, as in 1,5</option>' in found.text
    assert re.search(r'name="stream-epsilon-1" value="0.25"', found.text)
    first, second = found.text.split("<fieldset")[1:]
    assert "rows of one unit are a whole number → write 1" in first
    assert "choose whose the rows of wards are" in second  # all of it at once
    assert "charged" not in found.text  # nothing here could be


def test_only_the_same_people_are_proposed_as_units_of_several_tables(owner: Visitor, clinic: AtDesk) -> None:
    """Wards are no patients: whoever presses Next at once must not protect each ward, and nobody in it."""
    (clinic.folder / "beds.csv").write_text("ward_id,beds\n1,10\n", encoding="utf-8")
    (clinic.folder / "stays.csv").write_text("stay_id,patient_id,ward_id\n1,7,1\n", encoding="utf-8")
    (clinic.folder / "lab.csv").write_text("id,value\n1,7\n", encoding="utf-8")
    page = owner.get(f"{begin(owner, 'several', 'beds.csv', 'lab.csv', 'stays.csv')}/units").text
    beds, lab, stays = page.split("<fieldset")[1:]
    assert '<option value="" selected>choose …</option>' in beds
    assert '<option value="" selected>choose …</option>' in lab
    assert '<option value="column:patient_id" selected>' in stays
    assert re.search(r'name="rows-2"[^>]* value="10"', stays), "stays are numbered: a patient has several"
    assert 'id="unit" name="unit" value="patient"' in page
    alone = owner.get(f"{begin(owner, 'alone', 'lab.csv')}/units").text
    assert '<option value="column:id" selected>' in alone
    assert re.search(r'name="rows-0"[^>]* value="1"', alone)


def test_a_budget_says_of_which_table_and_how_sure_and_what_lacks_a_delta(owner: Visitor) -> None:
    draft = begin(owner, "means", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **UNITS))
    went(columns(owner, f"{draft}/columns/0", {"notes": {"kind": "text"}}))
    path = f"{draft}/budget"
    usual = send(owner, path, epsilon="1", delta="1e-6", fragment="1").text
    assert 'counts of the rows of <span class="wrap">visits</span>' in usual
    assert "in 95 of 100 cases" in usual
    assert "private text" not in usual
    assert "hardly protects" not in usual
    assert "no query can group by a column of private text" in send(owner, path, epsilon="1", fragment="1").text
    huge = send(owner, path, epsilon="50", delta="1e-6", fragment="1").text
    assert "hardly protects anybody" in huge
    assert "100.0 %" not in huge  # nobody is ever surer than sure
    assert ">epsilon must lie between" in send(owner, path, epsilon="1e12").text


def test_what_was_found_before_a_change_is_neither_shown_nor_acknowledged_with_the_policy(owner: Visitor) -> None:
    draft = begin(owner, "stale", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **{**UNITS, "rows_0": "1"}))
    review = f"{draft}/review"
    went(owner.post(f"{draft}/look", {"proof": owner.proof(review)}))
    found = "tables.visits.max_rows"
    looked = until(lambda: "" if "data-look-again" in (text := owner.get(review).text) else text)
    assert found in looked.partition("Beside the files")[2]
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **{**UNITS, "rows_0": "50"}))
    page = owner.get(review)
    assert found not in page.text.partition("Beside the files")[2]
    assert "was changed since it was looked at" in page.text
    revision = hidden(owner.get(f"{draft}/units"), "revision")
    fields = {"proof": owner.proof(review), "revision": revision, "finding": f"{found}: cut-rows"}
    assert owner.post(f"{draft}/acknowledge", fields).status_code == 422


def test_analysts_are_refused_in_the_words_of_the_form(owner: Visitor) -> None:
    draft = begin(owner, "shares", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **UNITS))
    rows = {"name_0": "ann", "share_0": "25 %", "name_1": "bob", "share_1": "400 %", "name_2": "eve", "share_2": "9"}
    found = send(owner, f"{draft}/analysts", **rows)
    assert found.status_code == 422
    _, *each = re.split(r'<div class="fields pair">', found.text)
    assert "must be above 0 % and at most 100 %: write it like 0.5 or 25 %" in each[1]  # below bob
    assert 'aria-describedby="wrong-1"' in each[1]
    assert ".toml" not in found.text
    assert 'value="400 %"' in found.text
    twice = send(owner, f"{draft}/analysts", name_0="ann", share_0="0.1", name_1="ann", share_1="0.2")
    assert "another analyst has this name" in twice.text


def test_what_is_wrong_with_a_column_is_said_while_choosing_and_goes_when_it_is_right(owner: Visitor) -> None:
    draft = begin(owner, "live", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **UNITS))
    path = f"{draft}/columns/0"
    wrong = columns(owner, path, {"cost": {"kind": "number", "min": "5"}}, fragment="1").text
    assert '<div data-into="problems-0"><p>give both bounds, or neither</p></div>' in wrong
    right = columns(owner, path, {"cost": {"kind": "number", "min": "5", "max": "9"}}, fragment="1").text
    assert '<div data-into="problems-0"></div>' in right
    assert '<div id="problems-0"' in owner.get(path).text
    budget = send(owner, f"{draft}/budget", epsilon="x", fragment="1").text
    assert '<span data-into="budget-wrong">ε and δ are numbers' in budget
    sent = send(owner, f"{draft}/budget", epsilon="x").text
    assert '<p id="budget-wrong" class="bad" role="alert">ε and δ are numbers' in sent


# looks


def test_a_look_that_ends_while_its_page_is_made_is_never_told_as_nothing_found(
    clinic: AtDesk, owner: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that looked for findings before the end, and for the end after it, would say that there are none."""
    draft = begin(owner, "race", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **UNITS))
    went(columns(owner, f"{draft}/columns/0", {"cost": {"kind": "number", "min": "0", "max": "1"}}, look="1"))
    works = clinic.site.app.state.works
    known = next(each for name, each in works._works.items() if name.startswith("desk look") and draft[6:] in name)

    def late(*given: Any) -> Any:
        found = found_at(*given)
        until(lambda: known.is_done)
        return found

    monkeypatch.setattr("discreet.server.desk.pages.found_at", late)
    page = owner.get(f"{draft}/columns/0").text
    assert "data-look-again" in page or "answers tell more of the bounds than of the data" in page
    assert "Nothing was found" not in page


# the owner's page


def test_what_the_owner_did_is_said_and_addresses_can_say_nothing_else(owner: Visitor, home: str) -> None:
    raised = owner.send(f"{home}/budget", epsilon="3", reason="more", act="raise")
    assert went(raised) == f"{home}?done=raised"
    page = shown(owner.get(f"{home}?done=raised").text)
    assert "The budget is raised, on the record." in page
    assert 'placeholder="now 3"' in owner.get(home).text
    assert 'class="notice good"' not in owner.get(f"{home}?done=<b>all is well</b>").text
    assert went(owner.send(f"{home}/analysts", name="ann", share="10 %")) == f"{home}?done=analyst#shares"


def test_a_refused_form_of_the_owner_keeps_what_was_written(owner: Visitor, home: str) -> None:
    found = owner.send(f"{home}/budget", epsilon="0.5", reason="a <long> study", act="raise")
    assert found.status_code == 422
    assert 'value="0.5"' in found.text
    assert 'value="a &lt;long&gt; study"' in found.text
    found = owner.send(f"{home}/analysts", name="<b>", share="ten")
    assert found.status_code == 422
    assert 'value="&lt;b&gt;"' in found.text
    assert 'value="ten"' in found.text
    found = owner.send(f"{home}/erase", reason="request 7")
    assert found.status_code == 422
    assert 'value="request 7"' in found.text


def test_a_policy_that_was_broken_by_hand_is_to_be_corrected(clinic: AtDesk, owner: Visitor, home: str) -> None:
    path = clinic.folder / "clinic.toml"
    before = path.read_text(encoding="utf-8")
    path.write_text(f"{before}\n[oops\n", encoding="utf-8")
    try:
        for act, form in {"analysts": {"name": "x", "share": "1 %"}, "budget": {"epsilon": "9"}}.items():
            found = owner.send(f"{home}/{act}", **form)
            assert found.status_code == 422, act
            assert "the policy file is broken" in shown(found.text), act
            assert "correct it and do this again" in shown(found.text), act
        assert path.read_text(encoding="utf-8").endswith("[oops\n")
    finally:
        path.write_text(before, encoding="utf-8")
    assert read(path).name == "clinic"


def test_a_form_from_another_tab_leads_back_to_its_step(owner: Visitor) -> None:
    draft = begin(owner, "tabs", "visits.csv")
    page = owner.get(f"{draft}/units")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **UNITS))
    fields = {"proof": hidden(page, "proof"), "revision": hidden(page, "revision"), "unit": "x", "tables": "1"}
    for step, back in {"units": "units", "write": "review"}.items():
        found = owner.post(f"{draft}/{step}", fields)
        assert found.status_code == 409, step
        assert f'href="{draft}/{back}"' in found.text, step


# signing in, and the log


def test_the_desk_says_where_its_link_is(clinic: AtDesk) -> None:
    nobody = clinic.site.visitor()
    assert "the link that discreet desk printed" in shown(re.sub("</?code>", "", nobody.get("/sign-in").text))
    found = nobody.post("/sign-in", {"token": "discreet_x", "back": "/"})
    assert found.status_code == 401
    assert "use the newest link" in shown(found.text)
    assert found.headers["discreet-code"] == "unauthorized"


def test_what_a_page_refuses_has_its_code_in_the_log(owner: Visitor, home: str) -> None:
    found = owner.send(f"{home}/budget", epsilon="0.5", act="raise")
    assert found.headers["discreet-code"] == "not-a-raise"
    assert "discreet-code" not in owner.get(home).headers
    data = home.removesuffix("/owner")
    form = {"proof": owner.proof(data), "sql": "SELECT nobody FROM visits", "epsilon": "0.1", "by": "epsilon"}
    asked = owner.post(f"{data}/ask", form)
    assert (asked.status_code, asked.headers["discreet-code"]) == (422, "unknown-column")
