"""The one place where a query becomes text, for an engine to read; DuckDB confirms that it reads what is meant.

Theorem  If `printed` and `confirmed` return, no literal of the query means more to DuckDB than a constant does.
Proof    The skeleton of a query has neutral literals in the place of all others (`composed.Sql`). DuckDB's tokenizer
         cuts both into the same tokens, constants aside (`printed`, for every text), and DuckDB's parser makes the same
         tree of both, constants aside (`confirmed`, for every text that holds quoted literals, before it is charged).
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Final, NewType

from discreet.composed import Sql
from discreet.engines.connection import isolated
from discreet.engines.library import duckdb
from discreet.errors import QueryFailed

Printed = NewType("Printed", str)
"""A query as an engine may read it: made by `printed` alone."""
ALTERED: Final = "the query is not the one that was planned; nothing was read"
REPORT: Final = "tell the owner: this is a fault of discreet"


def printed(query: Sql) -> Printed:
    """The text of a query, if all its literals are constants to DuckDB's tokenizer."""
    if query.skeleton is not query.text and not _alike(query.text, query.skeleton):
        raise QueryFailed(ALTERED, REPORT)
    return Printed(query.text)


@lru_cache(maxsize=1024)
def _alike(text: str, skeleton: str) -> bool:
    """Whether both are the same tokens: asked before a charge, over empty tables and for the rows, computed once."""
    return _tokens(text) == _tokens(skeleton)


def _tokens(text: str) -> list[object]:
    """What the tokenizer sees: for constants their kind, for everything else what it is."""
    held = text.encode()
    constants = {duckdb.token_type.string_const, duckdb.token_type.numeric_const}
    tokens = duckdb.tokenize(text)
    ends = [start for start, _ in tokens[1:]]
    return [
        kind if kind in constants else held[start:end].rstrip()
        for (start, kind), end in zip(tokens, [*ends, len(held)], strict=True)
    ]


@lru_cache(maxsize=1024)
def confirmed(query: Sql) -> None:
    """Ask DuckDB's parser for the tree of a query and that of its skeleton, and compare: nothing is run.

    Numbers need no parser: they are digits, and `printed` looks at those. It takes about a millisecond, once a text.
    """
    printed(query)
    if "''" in query.skeleton and _tree(query.text) != _skeleton_tree(query.skeleton):
        raise QueryFailed(ALTERED, REPORT)


_SAID: Final = re.compile(
    r'"query_location":\d+,"query_location_length":\d+|(?<="literal":\{"kind":)("[A-Z_]+","text":)"(?:[^"\\]|\\.)*"'
)
"""Where a node stands in the text, and what a literal holds: inside of JSON's strings every quote has a backslash."""


def parsed(query: Sql) -> str:
    """What DuckDB's parser makes of a query, as JSON; nothing is run."""
    return _parsed(printed(query))


def _tree(text: str) -> str:
    return _SAID.sub(r"\1", _parsed(text))


def _parsed(text: str) -> str:
    with _parser(os.getpid()).cursor() as cursor:
        serialized = str(cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0][0])
    if not serialized.startswith('{"error":false'):
        raise QueryFailed(ALTERED, REPORT)
    return serialized


_skeleton_tree: Final = lru_cache(maxsize=256)(_tree)


@lru_cache(maxsize=1)
def _parser(process: int) -> duckdb.DuckDBPyConnection:  # noqa: ARG001  (a fork opens its own)
    return isolated()
