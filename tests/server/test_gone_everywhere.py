"""Who is erased, and which texts are too old, is gone from every file of the state folder of a server that was used.

Rows of a person, the text of a query, the name of a request, a saved query: each has a canary, and the auditor looks at
all bytes of all files, and at what an operator's backend was told. Jobs live in memory: what they leave on the disk
would be found as well.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import discreet
from discreet.curator import retention
from discreet.curator.erasing import Erasure
from discreet.curator.saved import SavedQueries, SavedQuery
from discreet.errors import Refused
from discreet.ledger import Grant, Ledger, Memory
from discreet.ledger.memory import Journal
from discreet.ledger.retention import Limits
from discreet.policy import read
from discreet.server.telemetry import Detail
from tests.cli.runs import run, told
from tests.curator.test_erasing import found
from tests.server.running import POLICY, build
from tests.server.test_telemetry import Watched
from tests.server.visitor import Site

PERSON, TEXT, KEY, SAVED = (f"{letter}{secrets.token_hex(20)}" for letter in "ptks")
SQL = f"SELECT COUNT(*) AS n FROM patients WHERE zip = '{TEXT}'"
COUNT = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
KEPT = POLICY.replace("[server]", '[retention]\nquestions = "90d"\nanswers = "1y"\n[server]')


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Watched]:
    """A server that was asked in every way, while the person was in the data."""
    policy = build(tmp_path, patients=60, text=KEPT)
    people = tmp_path / "patients.csv"
    people.write_text(f"{people.read_text(encoding='utf-8')}{PERSON},50,A,{PERSON},1970-01-11\n", encoding="utf-8")
    watched = Watched(policy, Detail.EXACT)
    with closing(watched):
        made = watched.site
        analyst = made.visitor("epidemiology")
        for sql in (COUNT, SQL):
            analyst.ask(sql)
        assert analyst.send("/data/hospital/saved", name=SAVED, sql=SQL, epsilon="0.1").status_code == 303
        assert "They go 90 days after they were saved last." in analyst.get("/data/hospital").text
        asked(made, "query", {"sql": SQL, "epsilon": 0.2}, KEY)
        asked(made, "batch", {"queries": [COUNT, SQL], "epsilon": 0.2})
        asked(made, "release", {"publication": "Facets", "sql": "patients", "epsilon": 0.2})
        yield watched


def asked(site: Site, what: str, body: dict[str, Any], key: str = "") -> None:
    transport = httpx.ASGITransport(site.app)
    headers = {"authorization": f"Bearer {site.tokens['epidemiology']}", "prefer": "wait=60"}
    headers |= {"idempotency-key": key} if key else {}

    async def sent() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers) as client:
            return await client.post(f"/api/v1/datasets/hospital/{what}", json=body, timeout=60)

    assert site.loop.run_until_complete(sent()).status_code == 200


def later(patch: pytest.MonkeyPatch, days: int) -> None:
    patch.setattr(retention, "datetime", SimpleNamespace(now=lambda zone: datetime.now(zone) + timedelta(days=days)))


def test_nothing_of_a_person_or_of_old_texts_is_left_in_any_file(
    used: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, policy = used.site, read(used.site.policy)
    state, people = policy.state, policy.folder / "patients.csv"
    assert found(state, PERSON), "the auditor's eyes are good"
    assert {name for text in (TEXT, KEY, SAVED) for name in found(state, text)} >= {"saved.sqlite-wal"}
    left = [line for line in people.read_text(encoding="utf-8").splitlines() if PERSON not in line]
    people.write_text("\n".join(left) + "\n", encoding="utf-8")
    curator = used.app.state.app_state.datasets["hospital"].curator
    done = curator.refresh(erase=Erasure(patience=5), reason="request 2026-114")
    assert (done.held, done.version) == ((), 2)
    assert found(state, PERSON) == []
    assert found(policy.folder, PERSON) == []
    assert all(found(state, text) for text in (TEXT, SAVED)), "texts have a time of their own"
    later(monkeypatch, 91)
    done = curator.refresh()
    assert (done.retained.saved, done.retained.gone) == (1, True)
    assert [found(state, text) for text in (TEXT, KEY, SAVED)] == [[], [], []]
    assert site.visitor("epidemiology").get("/data/hospital").status_code == 200
    assert any("request 2026-114" in str(event.fields) for event in curator.events())
    run("ledger", "backup", site.policy, policy.folder / "after.sqlite")
    assert [found(policy.folder, each) for each in (PERSON, TEXT, KEY, SAVED)] == [[], [], [], []]
    told = " ".join(span.to_json() for span in used.spans.get_finished_spans()) + str(used.figures())
    assert "discreet.read" in told, "exact times were watched"
    assert not any(each in told for each in (PERSON, TEXT, KEY, SAVED))


def test_saved_queries_go_with_the_texts_unless_they_were_saved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build(tmp_path, patients=5, text=KEPT)
    policy = read(path)
    with closing(SavedQueries.of(policy)) as saved:
        old, new = (saved.save("finance", SavedQuery(name, SQL)) for name in ("old", "new"))
        saved._run("UPDATE saved SET saved = ? WHERE id = ?", "2020-01-01T00:00:00+00:00", old.id)
        done = told("ledger", "retain", path)
        assert (done["saved"], done["gone"]) == (1, True)
        assert [query.id for query in saved.all("finance")] == [new.id]
    assert run("ledger", "retain", path).output.startswith("erased: 0 texts, 0 answers;")
    later(monkeypatch, 91)
    assert "1 saved query" in run("ledger", "retain", path).output
    assert found(policy.state, TEXT) == []


def test_what_is_no_erasure_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = build(tmp_path, patients=5)
    wrong: list[Any] = ["yes", 1, Erasure(patience=float("nan")), Erasure(patience=-1), Erasure(patience=True)]
    with discreet.open(path) as curator:
        for each in wrong:
            with pytest.raises(Refused, match=r"erase|patience"):
                curator.refresh(erase=each)
        assert curator.refresh(erase=False).version == curator.refresh(erase=True).version - 1
        with pytest.raises(Refused, match="no sources"):
            curator.dummy().refresh(erase=True)


def test_an_erasure_in_memory_that_fails_erases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.accounting import Pure

    journal = Journal()
    ledger = Ledger(Memory(journal), Grant.of(Fraction(5), None), shares={}, protected="x", name="n", unit="patient")
    charge = ledger.charge(Pure(1.0, unit="patient"), why=SQL)
    with charge:
        charge.keep(b"42")
    before = dict(journal.records)
    limits = Limits(datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) + timedelta(days=1))
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "_append", _full)
        with pytest.raises(OSError, match="No space"):
            ledger.retain(limits, "too old")
    assert journal.records == before
    assert ledger.retain(limits, "too old").questions == 1
    assert TEXT not in str(journal.records)


def _full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")
