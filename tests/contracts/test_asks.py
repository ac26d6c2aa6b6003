"""Asking is the same here and behind a server: the same calls, the same results, the same refusals."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from datetime import date
from fractions import Fraction
from typing import Any, Final, NamedTuple

import pytest

import discreet
from discreet.answers import Answer, Preview
from discreet.answers.interface import Asks
from discreet.answers.scores import Score
from discreet.client import Remote
from discreet.curator.curator import Curator
from discreet.errors import Problem
from discreet.ledger import Search
from discreet.release import Workload
from tests.server.running import Running

HERE_ALONE: Final = {
    "policy": "the owner's file: analysts are told what `tables` tells",
    "free": "what a server asks itself before it lets a request wait",
    "shape": "the columns of an answer, which drivers of PostgreSQL's protocol ask the server for; previews have them",
    "refresh": "the owner's: reads sources anew, and tells exact counts",
    "make_copy": "the owner's: makes the private copy",
    "has_planned": "what a server asks itself: whether a text needs a look at whether it is free",
    "let_go": "what a server does now and then: it closes copies of earlier data versions, which may have been erased",
    "spenders": "who charged anything, for the owner's pages",
    "events": "records as they are; a connection has `story`, as far as its token goes",
    "is_withdrawn": "what a server asks itself before it shows what a job remembers",
    "is_earlier": "what a page asks for its banner; answers say it of themselves, also over a connection",
    "note_token": "tokens are the owner's, on the server's own machine or page",
}
"""What a curator has and a connection has not, and why."""
OTHERWISE: Final = {
    "recall": ({"analyst"}, "a server knows whose token it is"),
    "dummy": ({"rows"}, "the dummy data of a server is made once, for everybody"),
}
"""Arguments that only a curator takes, and why."""


def public(kind: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(kind) if not name.startswith("_")}


def test_whatever_a_curator_offers_a_connection_offers() -> None:
    here, there = public(Curator), public(Remote)
    assert there.keys() - here.keys() == set()
    assert here.keys() - there.keys() == HERE_ALONE.keys() - {"policy"}  # which is no member of the class
    for name in there:
        if not callable(there[name]):
            assert isinstance(here[name], property) == isinstance(there[name], property)
            continue
        mine, theirs = (inspect.signature(kind[name]).parameters for kind in (here, there))
        apart, _ = OTHERWISE.get(name, (set(), ""))
        assert mine.keys() - theirs.keys() == apart, name
        assert theirs.keys() <= mine.keys(), name
        assert all(theirs[each].kind == mine[each].kind for each in theirs), name
        assert all(theirs[each].default == mine[each].default for each in theirs), name


class Both(NamedTuple):
    """The same hospital twice: its owner asks."""

    there: Remote
    here: Curator


@pytest.fixture(scope="module")
def both(server: Running) -> Iterator[Both]:
    with (
        discreet.connect(server.url, token=server.tokens["owner"]) as there,
        discreet.open(server.policy) as here,
    ):
        there.query(WARDS, epsilon=0.01)  # what is recalled
        yield Both(there, here)


Ask = Callable[[Any], Any]
WARDS: Final = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
CALLS: Final[Mapping[str, Ask]] = {
    "query": lambda c: c.query(WARDS, epsilon=0.01),
    "query for an error": lambda c: c.query("SELECT COUNT(*) AS n FROM patients WHERE age < 9", error=200),
    "parameters": lambda c: c.query(
        "SELECT COUNT(*) AS n FROM patients WHERE born < $day AND age < $age", epsilon=Fraction(1, 100),
        params={"day": date(1950, 1, 1), "age": 50}, confidence=0.8,
    ),
    "bigquery": lambda c: c.query(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.01) COUNT(*) AS n FROM patients", dialect="bigquery"
    ),
    "public": lambda c: c.query("SELECT ward, beds FROM wards ORDER BY 1"),
    "explain": lambda c: c.query("EXPLAIN PRIVACY SELECT COUNT(*) FROM patients", epsilon=0.01),
    "preview": lambda c: c.preview("SELECT AVG(age) AS a, COUNT(*) AS n FROM patients", epsilon=0.01),
    "batch": lambda c: c.batch([WARDS, "SELECT COUNT(*) AS n FROM patients WHERE age > 50"], epsilon=0.01),
    "preview of a batch": lambda c: c.preview(c.batched([WARDS], epsilon=0.01)),
    "count": lambda c: c.table("patients").count(epsilon=0.01),
    "where": lambda c: c.table("patients").where("age > $least", least=60).count(epsilon=0.01),
    "filter": lambda c: c.table("patients").filter("age > 61").count(epsilon=0.01),
    "a column": lambda c: c.table("patients").age.mean(epsilon=0.01),
    "a column in brackets": lambda c: c.table("patients")["age"].median(epsilon=0.01),
    "select": lambda c: c.table("patients").select("ward", old="age > 64").group_by("old").count(epsilon=0.01),
    "groups": lambda c: c.table("patients").group_by("ward").agg(n="COUNT(*)", a="AVG(age)", epsilon=0.01),
    "bounded": lambda c: c.table("patients").bounded(max_rows=1).count(epsilon=0.01),
    "join": lambda c: c.table("patients").join("wards", on="patients.ward = wards.ward").sum("beds", epsilon=0.01),
    "fluent preview": lambda c: c.table("patients").preview.sum("age", epsilon=0.01),
    "a part": lambda c: c.table("patients").partition("ward")["A"].count(epsilon=0.01),
    "a part with a private key": lambda c: c.table("patients").partition("zip")["02131"].age.mean(epsilon=0.01),
    "parts": lambda c: list(c.table("patients").partition("ward")),
    "ibis": lambda c: c.query(c.table("patients").to_ibis().count(), epsilon=0.01),
    "ibis of a public table": lambda c: c.table("wards").to_ibis().schema().items(),
    "columns": lambda c: c.table("patients").columns,
    "dummy": lambda c: [(each.columns, each.dummy) for each in [c.dummy().query(WARDS, epsilon=0.1)]],
    "fluent dummy": lambda c: c.dummy().table("patients").value_counts("ward", epsilon=0.1).columns,
    "release": lambda c: c.release(Workload.histogram("ward"), "patients", epsilon=0.01).document(),
    "preview of a release": lambda c: c.preview_release(Workload.histogram("ward"), "patients", epsilon=0.01),
    "tables": lambda c: c.tables(),
    "a table, shown": lambda c: repr(c.tables()["patients"]),
    "public schema": lambda c: c.public_schema("wards"),
    "budget": lambda c: c.budget(),
    "a share": lambda c: c.budget("finance"),
    "balances": lambda c: c.balances(),
    "analysts": lambda c: c.analysts,
    "usual cost": lambda c: c.usual_cost,
    "name": lambda c: c.name,
    "streams": lambda c: c.streams(),
    "entries": lambda c: list(map(entry, c.entries())),
    "entries found": lambda c: list(map(entry, c.entries(Search(text="ward", answered=True, after=1), limit=3))),
    "latest": lambda c: list(map(entry, c.latest(limit=5, offset=1))),
    "count of charges": lambda c: (c.count(), c.count(Search("finance"))),
    "an entry": lambda c: entry(c.entry(answered(c))),
    "no entry": lambda c: (c.entry(0), c.entry(10**9), c.entry("1")),
    "recall": lambda c: c.recall(answered(c)),
    "recall with another confidence": lambda c: c.recall(answered(c), confidence=0.5),
    "plot": lambda c: c.plot().to_dict(),
}  # fmt: skip


def entry(found: Any) -> Any:
    """All of it that is told."""
    return found.number, found.analyst, found.question, found.at, found.answered, found.cost, dict(found.call)


def answered(asks: Asks) -> int:
    return asks.latest(Search(text=WARDS, answered=True), limit=1)[0].number


APART: Final = {"loss", "cached", "remaining", "more", "used"}
"""Of an answer: what depends on whether it was asked before."""


def comparable(result: Any) -> Any:
    if isinstance(result, list):
        return [comparable(each) for each in result]
    if isinstance(result, Answer | Preview):
        return {each.name: getattr(result, each.name) for each in fields(result) if each.name not in APART}
    if isinstance(result, dict) and "cost" in result:
        return {name: value for name, value in result.items() if name not in APART}
    return result


@pytest.mark.parametrize("case", CALLS)
def test_the_same_call_gives_the_same(both: Both, case: str) -> None:
    there = CALLS[case](both.there)
    here = CALLS[case](both.here)
    assert comparable(there) == comparable(here)
    assert there is not None


WRONG: Final[Mapping[str, Ask]] = {
    "syntax": lambda c: c.query("SELEC 1", epsilon=0.1),
    "no cost": lambda c: c.query("SELECT COUNT(*) FROM patients"),
    "two costs": lambda c: c.preview("SELECT COUNT(*) FROM patients", epsilon=0.1, rho=0.1),
    "no aggregate": lambda c: c.query("SELECT age FROM patients", epsilon=0.1),
    "unknown column": lambda c: c.query("SELECT SUM(agee) FROM patients", epsilon=0.1),
    "unknown table": lambda c: c.table("patiens"),
    "too much": lambda c: c.query("SELECT COUNT(*) FROM patients", epsilon=1000),
    "unknown analyst": lambda c: c.query("SELECT COUNT(*) FROM patients", epsilon=0.1, analyst="nobody"),
    "budget of nobody": lambda c: c.budget("nobody"),
    "torn condition": lambda c: c.table("patients").where("TRUE) OR (TRUE"),
    "unknown limit": lambda c: c.table("patients").bounded(rows=1),
    "no such part": lambda c: c.table("patients").partition("ward")["Z"],
    "no such division": lambda c: c.table("patients").partition("age"),
    "private keys": lambda c: list(c.table("patients").partition("zip")),
    "nothing selected": lambda c: c.table("patients").select(),
    "selected in vain": lambda c: c.table("patients").select("agee"),
    "no public table": lambda c: c.public_schema("patients"),
    "no table at all": lambda c: c.public_schema("../budget"),
    "no charge": lambda c: c.recall(10**6),
    "a wrong confidence": lambda c: c.recall(answered(c), confidence=2),
    "an empty batch": lambda c: c.batch([], epsilon=0.1),
    "no estimator": lambda c: c.fit(object(), "SELECT age FROM patients", epsilon=0.1),
    "no model": lambda c: c.score(object(), "SELECT age FROM patients", target="ward", epsilon=0.1),
    "no publication": lambda c: c.release(object(), "patients", epsilon=0.1),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_same_call_is_refused_alike(both: Both, case: str) -> None:
    told = []
    for asks in both:
        with pytest.raises(Problem) as refused:
            WRONG[case](asks)
        wrong = refused.value
        told.append((type(wrong), wrong.code, wrong.reason, wrong.fix, wrong.edit, wrong.spent))
    assert told[0] == told[1]


def test_models_are_fitted_scored_and_found_again_alike(both: Both) -> None:
    """On the server as a job; what comes back is data, and makes the same estimator."""
    from discreet.learn import GaussianNB

    rows = "SELECT age, ward FROM patients"
    models, scores, previews = [], [], []
    for asks in both:
        task = GaussianNB().task(rows, target="ward", epsilon=0.01)
        previews.append(comparable(asks.preview(task)))
        model = asks.fit(GaussianNB(), rows, target="ward", epsilon=0.01)
        models += [model, asks.recall(int(model.receipt_.partition(":")[0]))]
        scores.append(asks.score(model, rows, target="ward", metric="accuracy", epsilon=0.01))
        assert isinstance(scores[-1], Score)
    learned = [{**model.document()["model"]["fitted"], "cached_": None} for model in models]
    assert learned[0] == learned[2]
    assert learned[1] == learned[3]
    assert learned[1].items() <= learned[0].items()
    assert previews[0] == previews[1]
    one, other = ((score.metric, score.value, score.interval, score.receipt) for score in scores)
    assert one == other


def test_an_analyst_sees_their_own_share(server: Running) -> None:
    with discreet.connect(server.url, token=server.tokens["finance"]) as finance:
        mine = finance.table("patients").where("age < 3").count(epsilon=0.01)
        assert finance.analysts == ("finance",)
        assert finance.own_share == "finance"
        assert finance.usual_cost <= finance.budget("finance").total.epsilon / 2
        assert list(finance.balances()) == [None, "finance"]
        assert {each.analyst for each in finance.entries()} == {"finance"}
        assert finance.count() == len(finance.entries()) == len(finance.latest(limit=10**5))
        assert finance.latest(limit=1)[0].number == int(mine.receipt.partition(":")[0])
        drawn = finance.plot().to_dict()
        assert "epidemiology" not in str(drawn)
        for other in (lambda: finance.entries(Search("epidemiology")), lambda: finance.budget("epidemiology")):
            with pytest.raises(discreet.Refused, match="another analyst"):
                other()
        with discreet.connect(server.url, token=server.tokens["owner"]) as owner:
            others = [each.number for each in owner.entries() if each.analyst != "finance"]
        assert [finance.entry(number) for number in others[:1]] in ([], [None])


ODD_PARTS: Final[list[Any]] = [
    {"table": "nowhere", "column": "ward", "key": "A"},
    {"table": "wards", "column": "ward", "key": "A"},
    {"table": "patients", "column": "age", "key": 3},
    {"table": "patients", "column": "ward", "key": "Z"},
    {"table": "patients", "column": "ward", "key": 1},
    {"table": "patients", "column": "ward", "key": None},
    {"table": "patients", "column": "ward", "key": {"number": "1/3"}},
    {"table": "patients", "column": "ward", "key": {"date": "2026-13-01"}},
    {"table": "patients", "column": "zip", "key": "\ud800"},
    {"table": "patients", "column": "ward", "key": "A", "most": 0},
    {"table": "patients", "column": "ward", "key": "A", "most": True},
    {"table": "patients", "column": "ward"},
    {"table": "patients' OR 1", "column": '"ward"', "key": "A"},
    {"table": "patients", "column": "ward", "key": "A", "more": 1},
    "ward = 'A'",
    [],
]


@pytest.mark.parametrize("part", ODD_PARTS, ids=str)
def test_parts_that_are_none_are_refused_and_free(server: Running, part: Any) -> None:
    with server.client("finance") as client:
        body = json.dumps({"sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": 0.01, "part": part})
        before = client.get("datasets/hospital/ledger/count").json()
        for path in ("preview", "query"):
            told = client.post(f"datasets/hospital/{path}", content=body, headers={"content-type": "application/json"})
            assert 400 <= told.status_code < 500, told.text
            assert told.json()["spent"] == 0
        assert client.get("datasets/hospital/ledger/count").json() == before


def test_no_unit_is_in_more_parts_than_it_has_rows(server: Running) -> None:
    body = {"sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": 0.01}
    part = {"table": "patients", "column": "ward", "key": "B"}
    with server.client("finance") as client:
        one, many = (
            client.post("datasets/hospital/query", json={**body, "part": {**part, "most": most}}).json()
            for most in (1, 2**62)
        )
    assert many["cached"]
    assert one["rows"] == many["rows"]
