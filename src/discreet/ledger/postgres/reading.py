"""Looking at the journal through a connection of its own: whoever looks holds up nobody who spends.

Each look is one statement, which sees one moment. All is found by an index. What a text is compared with is its bytes,
because PostgreSQL's texts have neither NUL nor halves of characters, and analysts write what they like.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from discreet.ledger.codec import Amounts, Record, parsed
from discreet.ledger.postgres.schema import COLUMNS
from discreet.ledger.postgres.session import Address, connected, failures
from discreet.ledger.problems import LedgerDamaged, LedgerError, LedgerUnreachable
from discreet.ledger.store import ENDLESS, Charged, Noted, Order, Row, Search

if TYPE_CHECKING:
    from psycopg import Connection

_ANSWERED: Final = """(EXISTS (SELECT 1 FROM {journal} AS a WHERE a.kind = 'answer' AND a.charge = j.number)
    AND NOT EXISTS (SELECT 1 FROM {journal} AS a WHERE a.kind = 'answer' AND a.charge = j.number AND a.withdrawn))"""
_CHARGES: Final = f"SELECT j.number, j.line, {_ANSWERED} FROM {{journal}} AS j WHERE j.kind = 'charge' AND "
_EVENTS: Final = """SELECT j.number, j.line FROM {journal} AS j
    WHERE (j.kind NOT IN ('charge', 'answer', 'totals') OR j.withdrawn) AND j.number > %s AND j.number < %s"""
_PAIR: Final = """
    SELECT c.number, c.line, c.hash, (SELECT b.hash FROM {journal} AS b WHERE b.number = c.number - 1),
        a.number, a.line, a.hash, a.answer, (SELECT b.hash FROM {journal} AS b WHERE b.number = a.number - 1)
    FROM {journal} AS c JOIN {journal} AS a ON a.charge = c.number AND a.kind = 'answer'
    WHERE c.number = %s AND c.kind = 'charge' ORDER BY a.number DESC LIMIT 1
"""
_LARGEST: Final = f"""
    SELECT j.number, j.first FROM {{journal}} AS j
    WHERE j.kind = 'charge' AND j.plan = %s AND j.data = %s AND {_ANSWERED}
        AND (%s::numeric IS NULL OR j.first < %s::numeric) AND j.first >= %s AND j.second >= %s
    ORDER BY j.first DESC, j.number DESC LIMIT 1
"""


def stored(text: str | None) -> bytes | None:
    """A text as a column holds it: any text, and no two alike."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def shown(stored: bytes | None) -> str | None:
    """The text that a column holds."""
    return None if stored is None else stored.decode("utf-8", "surrogatepass")


def folded(text: str) -> bytes:
    """Only ASCII letters are taken for each other in either case."""
    return text.encode("utf-8", "surrogatepass").lower()


def columns_of(row: Row, plan: str | None, answer: bytes | None) -> tuple[Any, ...]:
    """A record as the table holds it: what its line says stands in columns too, which say where to look."""
    record: Record = json.loads(row[1])
    is_charge = record["kind"] == "charge"
    amounts = (*parsed(record.get("price", record["loss"])), 0)[:2] if is_charge else (None, None)
    values = {
        "number": row[0],
        "line": row[1],
        "hash": row[2],
        "kind": record["kind"],
        "answer": answer,
        "plan": stored(record["plan"] if is_charge else plan),
        "charge": record.get("charge") if record["kind"] == "answer" else None,
        "withdrawn": "withdrawn" in record,
        "analyst": stored(record["analyst"]) if is_charge else None,
        "question": folded(record["question"]) if is_charge and "question" in record else None,
        "data": record["data"] if is_charge else None,
        "key": stored(record.get("key")),
        "first": amounts[0],
        "second": amounts[1],
    }
    return tuple(values[column] for column in COLUMNS)


def conditions(search: Search) -> tuple[str, list[Any]]:
    """What a charge that is looked for fulfils, with the values for it."""
    tests, values = ["true"], list[Any]()
    if search.analyst is not None:
        tests.append("j.analyst = %s")
        values.append(stored(search.analyst))
    if search.text:
        tests.append("position(%s::bytea IN j.question) > 0")
        values.append(folded(search.text))
    if search.answered is not None:
        tests.append(_ANSWERED if search.answered else f"NOT {_ANSWERED}")
    if search.after:
        tests.append("j.number > %s")
        values.append(search.after)
    return " AND ".join(tests), values


class PostgresReader:
    """A connection that only reads, opened when it is first used and again where it was lost. One thread at a time."""

    def __init__(self, where: Address) -> None:
        self._where = where
        self._journal = where.table("journal")
        self._lock = threading.Lock()
        self._connection: Connection[Any] | None = None
        self._closed = False

    def _rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of a query. One that fails because the connection was lost is asked again, over a new one."""
        with self._lock:
            if self._closed:
                raise LedgerError("this ledger is closed", "open it again")
            text = query.replace("{journal}", self._journal)
            try:
                return self._asked(text, values)
            except LedgerUnreachable:
                self._lose()
                return self._asked(text, values)

    def _asked(self, text: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = connected(self._where)
        with failures():
            return self._connection.execute(text, values).fetchall()

    def charges(self, search: Search, *, limit: int = -1, offset: int = 0, order: Order = "ASC") -> list[Charged]:
        tests, values = conditions(search)
        query = f"{_CHARGES}{tests} ORDER BY j.number {order} LIMIT %s OFFSET %s"
        rows = self._rows(query, (*values, None if limit < 0 else limit, offset))
        return [(number, line, bool(answered)) for number, line, answered in rows]

    def count(self, search: Search) -> int:
        tests, values = conditions(search)
        query = f"SELECT count(*) FROM {{journal}} AS j WHERE j.kind = 'charge' AND {tests}"
        return int(self._rows(query, values)[0][0])

    def charge(self, number: int) -> Charged | None:
        rows = self._rows(f"{_CHARGES}j.number = %s", (number,))
        return (rows[0][0], rows[0][1], bool(rows[0][2])) if rows else None

    def events(self, *, after: int = 0, before: int = ENDLESS, limit: int = -1, order: Order = "ASC") -> list[Noted]:
        values = (after, before, None if limit < 0 else limit)
        return [(number, line) for number, line in self._rows(f"{_EVENTS} ORDER BY j.number {order} LIMIT %s", values)]

    def pair(self, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        rows = self._rows(_PAIR, (number,))
        return (rows[0][:4], rows[0][4:]) if rows else None

    def largest(self, plan: str, data: int, below: int | None, least: Amounts) -> tuple[int, int] | None:
        rows = self._rows(_LARGEST, (stored(plan), data, below, below, *(*least, 0, 0)[:2]))
        if not rows:
            return None
        number, amount = rows[0]
        if amount != int(amount):
            raise LedgerDamaged(f"record {number} cannot be read", "restore a backup")
        return number, int(amount)

    def _lose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._lose()
