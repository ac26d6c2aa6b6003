"""Saved queries: each analyst's own, however ids are guessed; limited, durable, and free to look at again."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from discreet.curator import saved
from discreet.curator.saved import FILE, LONGEST_NAME, MOST_LETTERS, SavedQueries, SavedQuery
from discreet.errors import Refused
from discreet.ledger import LedgerError
from tests.server.running import build
from tests.server.visitor import Site, Visitor, shown, site

HOME = "/data/hospital"
WARDS = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
HOSTILE = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "{{ 7*7 }}", "日本語 ✓ Ω", "a&amp;b"]
UNSEEN = ["", "  ", "a\u202eb", "a\x00b", "\u200b", "x" * (LONGEST_NAME + 1)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SavedQueries]:
    made = SavedQueries(tmp_path / "state" / FILE)
    yield made
    made.close()


def query(name: str = "mine", sql: str = "SELECT 1", **more: object) -> SavedQuery:
    return SavedQuery(name, sql, **more)  # type: ignore[arg-type]


# the store


def test_what_is_saved_is_there_after_a_restart(store: SavedQueries, tmp_path: Path) -> None:
    assert (store.all("a"), (tmp_path / "state").exists()) == ([], False)  # reading makes no file
    made = store.save("a", query(epsilon="0.5", blocks="newest 7"))
    again = SavedQueries(tmp_path / "state" / FILE)
    assert again.all("a") == [made] == [again.find("a", made.id)]
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o077 == 0
    again.close()


def test_nobody_reaches_what_is_somebody_else_s(store: SavedQueries) -> None:
    made = store.save("a", query())
    for holder in ("b", None, "A", "a ", "", "owner"):
        assert store.all(holder) == []
        with pytest.raises(Refused, match="no such saved query of yours"):
            store.find(holder, made.id)
        with pytest.raises(Refused, match="no such saved query of yours"):
            store.remove(holder, made.id)
        store.answered(holder, made.sql, 7)
    assert store.find("a", made.id).answer is None
    assert store.save("b", query(sql="SELECT 2")).id != made.id  # the same name, another's
    assert store.find("a", made.id).sql == "SELECT 1"
    assert store.save(None, query()).name == store.all(None)[0].name


def test_a_name_is_taken_once_and_its_answer_is_that_of_its_text(store: SavedQueries) -> None:
    made = store.save("a", query(name="  by   ward "))
    assert made.name == "by ward"
    store.answered("a", "SELECT 1\n", 7)  # space around it makes no other query
    assert store.find("a", made.id).answer == 7
    again = store.save("a", query("by ward", epsilon="1"))
    assert (again.id, again.answer, again.epsilon) == (made.id, 7, "1")
    changed = store.save("a", query("by ward", "SELECT 2"))
    assert (changed.id, changed.answer) == (made.id, None)
    store.remove("a", made.id)
    assert store.all("a") == []


@pytest.mark.parametrize("name", UNSEEN)
def test_names_can_be_seen(store: SavedQueries, name: str) -> None:
    with pytest.raises(Refused, match="letters that can be seen"):
        store.save("a", query(name))


@pytest.mark.parametrize(
    "wrong",
    [
        query(sql=""),
        query(sql="x" * (MOST_LETTERS + 1)),
        query(by="rho"),
        query(error="9" * 1001),
        query(blocks="9" * 1001),
    ],
)
def test_sizes_have_limits(store: SavedQueries, wrong: SavedQuery) -> None:
    with pytest.raises(Refused) as refused:
        store.save("a", wrong)
    assert refused.value.code == "saved-invalid"


def test_there_is_an_end_to_how_many_also_when_many_save_at_once(
    store: SavedQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "MOST_SAVED", 5)
    refused = []

    def save(number: int) -> None:
        try:
            store.save("a", query(f"q{number}"))
        except Refused as error:
            refused.append(error.code)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(store.all("a")), refused) == (5, ["saved-limit"] * 4)
    assert store.save("a", query(store.all("a")[0].name, "SELECT 3")).sql == "SELECT 3"
    assert store.save("b", query()).answer is None  # others have their own


def test_a_store_that_fails_loses_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database" * 100)
    broken = SavedQueries(tmp_path / FILE)
    broken.answered("a", "SELECT 1", 7)
    assert "was not noted" in caplog.text
    with pytest.raises(LedgerError, match="could not use"):
        broken.all("a")
    broken.close()


# pages and routes


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(build(tmp_path_factory.mktemp("saved"), patients=50)) as made:
        yield made


def api(hospital: Site, who: str, method: str, path: str = "", **more: object) -> httpx.Response:
    visitor = hospital.visitor()
    headers = {"authorization": f"Bearer {hospital.tokens[who]}", "accept": "application/json"}
    request = visitor.client.request(method, f"/api/v1/datasets/hospital/saved{path}", headers=headers, **more)  # type: ignore[arg-type]
    return visitor.loop.run_until_complete(request)


def spent(visitor: Visitor) -> int:
    return len(visitor.get(f"{HOME}/ledger.json").json()["entries"])


def test_saving_running_and_looking_again(hospital: Site) -> None:
    analyst, other = hospital.visitor("epidemiology"), hospital.visitor("finance")
    found = analyst.send(f"{HOME}/saved", sql=WARDS, epsilon="0.05", name="of mine")
    place = found.headers["location"]
    page = analyst.get(place)
    assert (page.status_code, "no answer yet" in page.text) == (200, True)
    before = spent(analyst)
    answer = analyst.ask(WARDS, "0.05")
    assert f'href="{answer}"' in analyst.get(place).text  # the last answer, by itself
    assert spent(analyst) == before + 1
    for _ in range(2):
        assert analyst.get(answer).status_code == 200
        assert analyst.get(place).status_code == 200
    assert analyst.ask(WARDS, "0.05") == answer  # again: cached
    assert spent(analyst) == before + 1
    (listed,) = api(hospital, "epidemiology", "GET").json()["saved"]
    assert (listed["name"], listed["sql"], listed["answer"]) == ("of mine", WARDS, int(answer.rpartition("/")[2]))
    # nobody else: neither in a list, nor by its address, nor by a form
    assert api(hospital, "finance", "GET").json() == api(hospital, "owner", "GET").json() == {"saved": []}
    assert "of mine" not in other.get(HOME).text
    for path in (place, f"{HOME}/saved/{'0' * 16}"):
        assert other.get(path).status_code == 404
        assert other.send(f"{path}/remove").status_code == 404
    assert api(hospital, "finance", "DELETE", f"/{listed['id']}").status_code == 404
    assert api(hospital, "auditor", "GET").status_code == 403
    assert analyst.get(place).status_code == 200
    assert analyst.post(f"{place}/remove").status_code == 422  # without the form's proof
    assert analyst.post(f"{HOME}/saved", {"name": "x", "sql": WARDS}).status_code == 422
    assert analyst.send(f"{place}/remove").status_code == 303
    assert analyst.get(place).status_code == 404


def test_saving_from_an_answer_keeps_its_number_if_it_is_ones_own(hospital: Site) -> None:
    analyst, other = hospital.visitor("epidemiology"), hospital.visitor("finance")
    sql = "SELECT COUNT(*) AS own FROM patients"
    number = analyst.ask(sql, "0.02").rpartition("/")[2]
    assert f'name="answer" value="{number}"' in analyst.get(f"{HOME}/answers/{number}").text
    place = analyst.send(f"{HOME}/saved", sql=sql, name="own", answer=number).headers["location"]
    assert f"{HOME}/answers/{number}" in analyst.get(place).text
    lent = analyst.send(f"{HOME}/saved", sql="SELECT 2", name="lent", answer=number).headers["location"]
    assert "no answer yet" in analyst.get(lent).text  # another text
    assert other.send(f"{HOME}/saved", sql=sql, name="theirs", answer=number).status_code == 404
    assert analyst.send(f"{HOME}/saved", sql=sql, name="odd", answer="9" * 99).status_code == 303


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_they_are_and_run_nothing(hospital: Site, name: str) -> None:
    analyst = hospital.visitor("epidemiology")
    place = analyst.send(f"{HOME}/saved", sql=f"SELECT '{name}'", name=name).headers["location"]
    page = analyst.get(place).text
    assert name in shown(page)
    assert not re.search(r"<script>alert|<img src=x", page)
    analyst.send(f"{place}/remove")


def test_what_cannot_be_saved_is_said_above_what_was_written(hospital: Site) -> None:
    analyst = hospital.visitor("epidemiology")
    page = analyst.send(f"{HOME}/saved", sql=WARDS, epsilon="0.05", name="")
    assert page.status_code == 422
    assert "saved-invalid" in page.text
    assert "Nothing was charged" in page.text
    assert WARDS in shown(page.text)


def test_the_same_over_http(hospital: Site) -> None:
    sent = {"name": "rest", "sql": WARDS, "error": "n=10"}
    made = api(hospital, "finance", "POST", json=sent).json()
    assert (made["by"], made["error"], made["answer"]) == ("error", "n=10", None)
    for wrong in ({**sent, "name": ""}, {**sent, "sql": "x" * 20_001}, {**sent, "more": 1}, {"sql": WARDS}):
        assert api(hospital, "finance", "POST", json=wrong).status_code == 422
    assert api(hospital, "finance", "DELETE", f"/{made['id']}").status_code == 204
    assert api(hospital, "finance", "GET").json() == {"saved": []}


# the editor


@pytest.mark.parametrize(
    ("sent", "by", "epsilon", "error"),
    [
        ({"by": "epsilon", "epsilon": "0.1"}, "epsilon", "0.1", "[0-9]+"),
        ({"by": "error", "error": "100"}, "error", r"0\.[0-9]+", "100"),
        (
            {"by": "epsilon", "epsilon": "0.1", "epsilon_was": "0.1", "error": "100", "error_was": "84"},
            "error",
            None,
            "100",
        ),
        (
            {"by": "error", "epsilon": "0.1", "epsilon_was": "0.3", "error": "9", "error_was": "9"},
            "epsilon",
            "0.1",
            None,
        ),
        ({"by": "error", "epsilon": "1", "epsilon_was": "2", "error": "9", "error_was": "8"}, "error", None, "9"),
    ],
    ids=["cost", "error", "typed an error", "typed a cost", "typed both"],
)
def test_cost_and_error_follow_each_other_without_a_script(
    hospital: Site, sent: dict[str, str], by: str, epsilon: str | None, error: str | None
) -> None:
    analyst = hospital.visitor("epidemiology")
    before = spent(analyst)
    page = analyst.send(f"{HOME}/preview", sql=WARDS, **sent).text
    chosen = re.search(r'name="by" value="(\w+)"[^>]*checked', page)
    assert chosen
    assert chosen[1] == by
    for name, pattern in (("epsilon", epsilon), ("error", error)):
        field = re.search(rf'<input id="{name}"[^>]* value="([^"]*)"', page)
        assert field
        assert re.fullmatch(pattern or ".+", field[1]), (name, field[1])
    assert spent(analyst) == before


def test_examples_have_short_names(hospital: Site) -> None:
    analyst = hospital.visitor("epidemiology")
    page = analyst.get(HOME).text
    listed = re.findall(r'href="([^"]*)" data-example="[^"]*">([^<]*)</a>', page)
    assert [name for _, name in listed[:2]] == ["Count patients", "Count patients by ward"]
    assert all(len(name) < 60 for _, name in listed)
    assert "Expected error" in analyst.get(listed[1][0].replace("&amp;", "&")).text


def test_a_cached_answer_has_the_names_that_were_asked_for_now(hospital: Site) -> None:
    """On the page, in the list of saved queries, and over HTTP: not those of whoever asked first, nor one's own."""
    first, again = (
        f"SELECT ward, COUNT(*) AS {name} FROM patients WHERE age < 71 GROUP BY ward" for name in ("a1", "b1")
    )
    analyst = hospital.visitor("epidemiology")
    place = analyst.send(f"{HOME}/saved", sql=again, epsilon="0.05", name="renamed").headers["location"]
    answer, before = analyst.ask(first, "0.05"), spent(analyst)
    page = analyst.send(f"{HOME}/ask", sql=again, epsilon="0.05")
    assert page.status_code == 200
    words = shown(page.text)
    assert "cached: free" in words
    assert [name for name in ("a1", "b1") if f" {name} " in words.partition("Answer")[2]] == ["b1"]
    assert answer not in analyst.get(place).text  # that page shows another text
    assert analyst.ask(first, "0.05") == answer  # one's own text has its own page
    sent = {"sql": again, "epsilon": 0.05}
    found = api(hospital, "epidemiology", "POST", "/../query", json=sent).json()
    assert (found["cached"], found["columns"]) == (True, ["ward", "b1"])
    assert spent(analyst) == before
