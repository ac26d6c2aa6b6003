"""Spark as the engine: queries about private rows run there, over the copy that it made, and exact integers return.

What reads public tables alone is asked of DuckDB, which holds them. Each query is a group of jobs of its own, which is
cancelled when time is up or somebody stops it. Whatever goes wrong there has one text: messages of Spark hold values.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext, suppress
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.composed import Sql
from discreet.engines.copy import Progress, secret
from discreet.engines.digests import derived
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres_engine import RowsError, is_private
from discreet.engines.rewriting import Rewritten, rewritten
from discreet.engines.rewriting.spark import DIALECT, SETTINGS, SHARED
from discreet.engines.rewriting.terms import BITS, Type
from discreet.engines.spark import buckets
from discreet.engines.spark.cluster import interruptible, session
from discreet.engines.spark.copy import cluster_of, folder_of, show, stored
from discreet.engines.stopping import Stopped, beside, is_stopped
from discreet.policy import Policy
from discreet.policy.engines import MD5
from discreet.policy.layout import PLACE, copied_columns

UNANSWERED: Final = "Spark did not answer"
INSIST: Final = 1.0
"""Seconds between two attempts to end a query that takes too long."""

SPEAKS: Final = 10.0
"""Seconds within which a session that lives says so."""


class UnansweredError(Exception):
    """Spark failed, was stopped, or took too long. It says nothing else: what happened may be a row's doing."""

    def __init__(self) -> None:
        super().__init__(UNANSWERED)


class Spark(DuckDB):
    """The engine of one policy and data version inside of Spark; public tables are beside it, in DuckDB."""

    dialect = DIALECT.name

    def __init__(self, policy: Policy, version: int, progress: Progress | None = None, among: int = 1) -> None:
        self._guard = threading.Lock()
        self._stack = ExitStack()
        self._session: Any = None
        super().__init__(policy, version, progress, among)

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        if not is_private(query, self._policy):
            return super().rows(query, seconds)
        answer = aggregate(query, self._policy, self._public)
        return [tuple(map(exact_value, answer.types, row)) for row in self._asked_there(answer.text, seconds)]

    def columns(self, query: Sql, seconds: float | None = None) -> list[NDArray[Any]]:
        if not is_private(query, self._policy):
            return super().columns(query, seconds)
        types, table = aggregate(query, self._policy, self._public).types, self.rows(query, seconds)
        arrays = [np.empty(len(table), dtype=object) for _ in types]
        for index, array in enumerate(arrays):
            array[:] = [row[index] for row in table]
        return arrays

    def schema(self, table: str) -> dict[str, str]:
        held = self._policy.private_tables.get(table)
        return super().schema(table) if held is None else copied_columns(held, self._policy.unit_kind)

    def close(self) -> None:
        super().close()
        with self._guard:
            self._leave_session()

    @cached_property
    def _public(self) -> dict[str, dict[str, str]]:
        """The columns of public tables."""
        return {table.name: self.schema(table.name) for table in self._policy.tables.values() if table.is_public}

    def _asked_there(self, text: str, seconds: float | None) -> list[tuple[Any, ...]]:
        held = None
        try:
            held = self._opened_session()
            with interruptible(held) as interrupt:
                late = nullcontext() if seconds is None else beside(interrupt, seconds, INSIST)
                with late:
                    return [tuple(row) for row in held.sql(text).collect()]
        except Stopped:
            raise
        except Exception:
            self._bury(held)
            if is_stopped():
                raise Stopped from None
            raise UnansweredError from None

    def _opened_session(self) -> Any:
        """The session of this engine: a new one where there is none, or where it died."""
        with self._guard:
            if self._session is None:
                if self._closed:
                    raise UnansweredError
                held = self._stack.enter_context(session(cluster_of(self._policy), self._policy.state, "engine"))
                for key, value in {**SETTINGS, **buckets.SETTINGS}.items():
                    held.conf.set(key, value)
                show(held, self._policy, folder_of(self.path), derived(secret(self._policy.state)))
                self._session = held
            return self._session

    def _bury(self, held: Any) -> None:
        """A session that cannot say 1 is dead; so is one that does not within some seconds, for want of machines."""
        spoke = threading.Event()

        def speak() -> None:
            with suppress(Exception):
                held.sql("SELECT 1").collect()
                spoke.set()

        if held is not None:
            speaking = threading.Thread(target=speak, daemon=True)
            speaking.start()
            speaking.join(SPEAKS)
            if spoke.is_set():
                return
        with self._guard:
            if self._session is held:
                self._leave_session()

    def _leave_session(self) -> None:
        self._session = None
        self._stack.close()


def aggregate(query: Sql, policy: Policy, schemas: Mapping[str, Mapping[str, str]]) -> Rewritten:
    """A query about private rows in Spark's language; `UnknownError` if it cannot be said there."""
    tables = stored(policy, schemas, placed=PLACE in query.text)
    answer = rewritten(query, SHARED if policy.hashing == MD5 else DIALECT, tables)
    if not answer.aggregates:
        raise RowsError
    return answer


def exact_value(type_: Type, value: Any) -> Any:
    """Whole numbers of any size are Python's, and exact; lists that were collected hold rows of one value."""
    if isinstance(value, Decimal):
        return int(value)
    if type_.of and value is not None:
        items = [each[0] if isinstance(each, tuple) else each for each in value]
        return [exact_value(type_.of[0], each) for each in items]
    if type_ == BITS and value is not None:
        return value % 2**64
    return value
