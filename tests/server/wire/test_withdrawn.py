"""Attack: over PostgreSQL's protocol rows of an answer are fetched after its owner withdrew it.

A cursor WITH HOLD outlives its transaction, and so does a portal as long as nobody ends it: what was let out lay there
for as long as the session lasted, and was handed out row by row.
"""

from __future__ import annotations

import psycopg
import pytest

from discreet.curator.state import withdraw
from discreet.policy import read
from tests.server.running import Running
from tests.server.wire.client import bind, connect, describe, execute, failure, known, letters, parse
from tests.server.wire.test_asking import new

GONE = "the owner withdrew this answer"


def newest(server: Running) -> int:
    with server.client("owner") as client:
        return int(max(entry["number"] for entry in client.get("datasets/hospital/ledger").json()["entries"]))


@pytest.mark.parametrize("fetch", ["FETCH 1 FROM held", "MOVE 1 FROM held", "FETCH ALL FROM held"])
@pytest.mark.parametrize("lasts", ["WITH HOLD", ""], ids=["held", "in its transaction"])
def test_a_cursor_hands_out_nothing_that_was_withdrawn(server: Running, fetch: str, lasts: str) -> None:
    with connect(server, autocommit=False, options="-c discreet.epsilon=0.01") as connection:
        connection.execute(f"DECLARE held CURSOR {lasts} FOR {new(71)}")
        if lasts:
            connection.commit()
        assert len(connection.execute("FETCH 1 FROM held").fetchall()) == 1
        withdraw(read(server.policy), newest(server), "the wrong people")
        with pytest.raises(psycopg.Error, match=GONE):
            connection.execute(fetch)
        connection.rollback()
        if lasts:
            with pytest.raises(psycopg.Error, match=GONE):
                connection.execute("FETCH 1 FROM held")


def test_a_portal_hands_out_nothing_that_was_withdrawn(server: Running) -> None:
    with known(server, **{"discreet.epsilon": "0.01"}) as raw:
        raw.ask(parse("BEGIN"), bind(), execute())
        found = raw.ask(parse(new(72), "a"), bind(name="a", portal="p"), describe("P", "p"), execute(1, "p"))
        assert letters(found) == "12TDsZ"
        withdraw(read(server.policy), newest(server), "the wrong people")
        found = raw.ask(execute(1, "p"))
        assert "D" not in letters(found)
        assert GONE in failure(found)["M"]
