"""Databases in memory that nobody asks any more, with all that is in them: whoever needs the same takes one.

To make a database of a few rows takes longer than what is asked of it. Audits, lessons and tests ask of the same rows
again and again, each with an engine of its own. A database is named by the statements that made it and their values:
two that are made alike hold the same, and nobody writes into one that is made.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import duckdb

from discreet.engines.connection import Resources, give_back, isolated, like

MOST_WAITING: Final = 32
"""Databases that wait: each takes a few megabytes."""
LARGEST: Final = 10_000
"""Values of one that waits: with more, what it holds weighs more than what it spares."""

Statement = tuple[str, tuple[tuple[str | None, ...], ...]]
"""A text, and the values of columns that it takes."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What makes a database, from nothing, and what removes it again."""

    making: tuple[Statement, ...]
    removing: tuple[str, ...]

    @property
    def is_small(self) -> bool:
        return sum(len(column) for _, columns in self.making for column in columns) <= LARGEST


def filled(contents: Contents, among: int) -> duckdb.DuckDBPyConnection:
    """A database with these contents: one that waits, or a new one."""
    if contents.is_small:
        with suppress(KeyError):
            return _waiting.pop((like(among, 1), contents))[0]
    connection = isolated(among=among)
    fill(connection, contents.making)
    return connection


def fill(connection: duckdb.DuckDBPyConnection, making: Iterable[Statement]) -> None:
    for text, columns in making:
        connection.execute(text, list(map(list, columns)))


def rest(connection: duckdb.DuckDBPyConnection, contents: Contents, among: int) -> None:
    """Nobody asks this database any more. The one that waits for longest is emptied, if there are too many."""
    key = like(among, 1), contents
    if not contents.is_small or key in _waiting or not _is_alive(connection):
        _empty(connection, contents, among)
        return
    _waiting[key] = connection, among
    with suppress(KeyError):  # another thread was faster
        while len(_waiting) > MOST_WAITING:
            (_, longest), (held, share) = _waiting.popitem(last=False)
            _empty(held, longest, share)


def _is_alive(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        connection.execute("SELECT 1")
    except duckdb.Error:
        return False
    return True


def _empty(connection: duckdb.DuckDBPyConnection, contents: Contents, among: int) -> None:
    """For whoever needs an empty one like it; one that died, or that somebody closed, cannot be emptied."""
    try:
        for text in contents.removing:
            connection.execute(text)
    except duckdb.Error:
        connection.close()
    else:
        give_back(connection, among=among)


_waiting: Final[OrderedDict[tuple[Resources, Contents], tuple[duckdb.DuckDBPyConnection, int]]] = OrderedDict()


def _close_waiting() -> None:
    """Before a fork, as those that hold nothing are closed."""
    while _waiting:
        _waiting.popitem()[1][0].close()


os.register_at_fork(before=_close_waiting)
