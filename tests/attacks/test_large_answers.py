"""Attack: an answer of fifty thousand rows is asked for again and again. Writing it takes a quarter of a second.

It is written beside the event loop, whichever way it was asked for, so that nobody waits for that.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.answers import Answer
from discreet.server import api, records, responses
from discreet.server.wire import session, types
from discreet.server.wire.execution import Execution
from discreet.server.wire.portals import Held, Portal, Prepared
from discreet.server.wire.session import CHUNK, Session
from discreet.server.wire.settings import Settings
from discreet.server.wire.statements import Select, statements
from discreet.server.wire.transactions import Transactions
from tests.server.running import build, until
from tests.server.visitor import Site, site

API = "/api/v1/datasets/hospital"
MONTHS = "SELECT date_trunc('month', born) AS month, COUNT(*) AS n FROM patients GROUP BY 1"
MANY = {"sql": MONTHS, "epsilon": 1}
KEPT = {"prefer": "respond-async, wait=0"}
FRESH = {**MANY, "fresh": True}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(build(tmp_path_factory.mktemp("large"), patients=60)) as made:
        yield made


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Filled with the names of threads that write a large answer."""
    names, write = list[str](), responses.document_sent

    def noted(result: Any) -> Any:
        if isinstance(result, Answer) and len(result.rows) > api.FEW:
            names.append(threading.current_thread().name)
        return write(result)

    for module in (responses, records):
        monkeypatch.setattr(module, "document_sent", noted)
    return names


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        *((MANY, {}), (MANY, {}), (FRESH, {}), (FRESH, {"idempotency-key": "once"}), (FRESH, KEPT)),
        ({**MANY, "dummy": True}, {}),
    ],
)
def test_large_answers_are_written_beside_the_event_loop(
    asked: Site, where: list[str], body: dict[str, Any], headers: dict[str, str]
) -> None:
    visitor, bearer = asked.visitor(), {"authorization": f"Bearer {asked.tokens['owner']}"}
    sent = visitor.post(f"{API}/query", json=body, headers={**bearer, **headers})
    if sent.status_code == 202:
        job = sent.headers["location"]
        assert until(lambda: visitor.get(job, headers=bearer).status_code == 200)
        sent = visitor.get(job, headers=bearer)
    assert (sent.status_code, len(sent.json()["rows"]) > api.FEW) == (200, True)
    assert where
    assert all(name.startswith("discreet-") for name in where), where


@pytest.mark.parametrize("path", [f"{API}/answers/NUMBER", "/data/hospital/answers/NUMBER.json"])
def test_large_answers_are_recalled_beside_the_event_loop(asked: Site, where: list[str], path: str) -> None:
    visitor, bearer = asked.visitor("owner"), {"authorization": f"Bearer {asked.tokens['owner']}"}
    number = visitor.post(f"{API}/query", json=MANY, headers=bearer).json()["receipt"].partition(":")[0]
    where.clear()
    assert len(visitor.get(path.replace("NUMBER", number), headers=bearer).json()["rows"]) > api.FEW
    assert where
    assert all(name.startswith("discreet-") for name in where), where


def test_rows_are_handed_out_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the other protocol, also to somebody who takes them as fast as they come."""
    monkeypatch.setattr(session, "TURN_SECONDS", -1.0)
    sent, turns = list[bytes](), list[int]()

    async def taken() -> None: ...

    async def others() -> None:
        while True:
            turns.append(sum(map(len, sent)))
            await asyncio.sleep(0)

    async def handed_out() -> None:
        stream: Any = SimpleNamespace(write=sent.append, drain=taken)
        execution: Any = SimpleNamespace(held=Held())
        server = Session(stream, execution, Transactions(Settings(user="x")))
        select = Select("SELECT 1", 0)
        portal = Portal(Prepared("SELECT 1", select, ()), Settings(user="x"), tag="SELECT")
        portal.fields, portal.rows = (types.field("n", types.INT8),), [(number,) for number in range(50_000)]
        watching = asyncio.create_task(others())
        await asyncio.sleep(0)
        await server._hand_out(portal, 0)
        watching.cancel()
        turns.append(sum(map(len, sent)))

    asyncio.run(handed_out())
    steps = [after - before for before, after in pairwise(turns)]
    assert sum(map(len, sent)) > 5 * CHUNK
    assert max(steps) < 2 * CHUNK


@pytest.mark.parametrize("text", ["SHOW ALL", "BEGIN", "SET application_name = 'x'"])
@pytest.mark.parametrize("described", [False, True])
def test_what_is_done_again_with_a_statement_counts_as_a_request(
    monkeypatch: pytest.MonkeyPatch, text: str, *, described: bool
) -> None:
    """The attack: to parse once, and to execute ten thousand times a second what is made on the event loop."""
    counted = list[int]()
    monkeypatch.setattr(Execution, "admit", lambda _: counted.append(1))
    nobody: Any = SimpleNamespace(token="", dataset=None, caller=None, process=1)
    execution = Execution(nobody, nobody, nobody, Transactions(Settings(user="x")))
    prepared = Prepared(text, statements(text)[0], ())

    async def executed() -> None:
        for _ in range(4):
            portal = Portal(prepared, Settings(user="x"))
            if described:
                await execution.fields(portal)
            await execution.run(portal)

    asyncio.run(executed())
    assert len(counted) == 3  # the first is what was parsed
