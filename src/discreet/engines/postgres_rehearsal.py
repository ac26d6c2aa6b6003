"""Before a charge PostgreSQL is asked for its plan of a query, over tables that have no rows.

Theorem  Whether a query passes depends on policy, text and public schemas, and on whether the server is there. What it
         takes depends on no row.
Proof    In the place of each table stands a function that gives no rows, with the columns and types of the copy:
         nothing of the copy is named, and there may be none yet. EXPLAIN runs nothing. What the query calls is made in
         the same transaction where it is not there, and that one is rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from discreet.composed import Sql
from discreet.engines.postgres_copy import Names, session
from discreet.engines.postgres_engine import UnansweredError, aggregate
from discreet.engines.postgres_rows import COLLATED
from discreet.engines.problems import SourceError
from discreet.engines.rewriting.postgres import TYPES as NAMES
from discreet.engines.rewriting.postgres import identifier
from discreet.engines.rewriting.postgres_functions import functions
from discreet.engines.rewriting.statements import Stored
from discreet.engines.rewriting.terms import TEXT
from discreet.engines.rewriting.terms import TYPES as KINDS
from discreet.policy import Policy

if TYPE_CHECKING:
    from psycopg import Connection

SECONDS: Final = 10
"""Planning takes milliseconds."""
UNDEFINED: Final = "42883"
"""A function is not there: no copy was made yet, or by an earlier version."""
_TEXT: Final = ("0A", "22", "42", "54")
"""Classes of errors that are about the text: what is not supported, not valid, not known, too complex."""


def plans(policy: Policy, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether the server makes a plan of a query; `UnansweredError` if it says nothing."""
    names = Names("", 0, "")
    empty = {label: _without_rows(table) for label, table in names.stored(policy, schemas).items()}
    text = aggregate(query, policy, empty).text
    from psycopg import Error

    try:
        with closing(session(policy, "", "engine", writes=True)) as connection:
            return _plans(connection, text)
    except (SourceError, Error):
        raise UnansweredError from None


def _plans(connection: Connection[Any], text: str) -> bool:
    from psycopg import Error

    begin = f"BEGIN; SET LOCAL statement_timeout = {SECONDS * 1000}".encode()
    for made in ((), functions()):
        connection.execute(begin)
        try:
            for each in (*made, f"EXPLAIN {text}"):
                connection.execute(each.encode())
        except Error as error:
            connection.execute(b"ROLLBACK")
            if (error.sqlstate or "")[:2] not in _TEXT:
                raise
            if made or error.sqlstate != UNDEFINED:
                return False
        else:
            connection.execute(b"ROLLBACK")
            return True
    return False


def _without_rows(table: Stored) -> Stored:
    """The columns of a table, over no rows: a planner cannot know that there are none."""
    columns = table.columns or {"_discreet_none": "BIGINT"}
    typed = ", ".join(f"{identifier(column)} {_typed(kind)}" for column, kind in columns.items())
    return replace(table, text=f"(SELECT * FROM json_to_recordset('[]') AS t({typed}))")


def _typed(kind: str) -> str:
    type_ = KINDS[kind]
    return f"{NAMES[type_]}{COLLATED if type_ == TEXT else ''}"
