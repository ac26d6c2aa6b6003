"""The engines over the data versions of a policy: one for plan and draw, and never a copy of an older version."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from discreet.accounting.record import BlockNames
from discreet.engines.engine import Engine
from discreet.engines.library import duckdb
from discreet.engines.problems import SourceError
from discreet.errors import QueryFailed
from discreet.ledger import Ledger
from discreet.policy import Policy
from discreet.policy.engines import POSTGRES, SPARK

if TYPE_CHECKING:
    from discreet.engines.copy import Progress
    from discreet.engines.duckdb import DuckDB

MOST_OPEN: Final = 4
"""Engines over blocks that stay open for the next who asks about the same."""
UNREADABLE: Final = "the tables cannot be read; nothing was charged"
OUTDATED: Final = "the data was read anew meanwhile; nothing was charged"


class OutdatedError(QueryFailed):
    """What was planned is about a data version that is no longer asked."""

    def __init__(self) -> None:
        super().__init__(OUTDATED, "ask again")


def unreadable() -> QueryFailed:
    """What is wrong with the sources is for the owner's eyes."""
    return QueryFailed(UNREADABLE, "ask the owner to run `discreet check`")


class Versions:
    """Opens engines when they are asked for; the newest stays open, older ones as long as somebody asks them."""

    def __init__(self, policy: Policy, ledger: Ledger, progress: Progress | None, among: int) -> None:
        self._policy, self._ledger = policy, ledger
        self._progress, self._among = progress, among
        self._lock = threading.Lock()
        self._newest: DuckDB | None = None
        self._engines: WeakValueDictionary[int, DuckDB] = WeakValueDictionary()
        self._over: dict[tuple[int, BlockNames], DuckDB] = {}

    def opened(self, version: int) -> Engine | None:
        """The engine over this data version, if it was opened before."""
        return self._engines.get(version)

    def at(self, version: int) -> Engine:
        """The engine over this data version; its private copy is made if there is none, and it is the newest."""
        with self._lock:
            engine = self._engines.get(version)
            if engine is None:
                engine = self._newest = self._engines[version] = self._made(version)
                self._let_go(version)
            return engine

    def over(self, version: int, blocks: BlockNames) -> Engine:
        """The engine over some blocks of a stream, and the public tables of this data version."""
        with self._lock:
            engine = self._over.pop((version, blocks), None)
            if engine is None:
                engine = self._opened_over(version, blocks)
                self._let_go(version)
            self._over[version, blocks] = engine  # the newest stands last
            while len(self._over) > MOST_OPEN:
                self._over.pop(next(iter(self._over)))
            return engine

    def _opened_over(self, version: int, blocks: BlockNames) -> DuckDB:
        from discreet.engines.arrivals import segments

        table, there = self._policy.tables[blocks.stream], None
        with suppress(SourceError):
            files = self._ledger.stream(blocks.stream).files
            there = segments(self._policy, table, {number: files[number] for number in blocks}, version)
        if there is not None:
            with suppress(duckdb.Error):  # a file is gone
                return self._made(version, {table.name: there})
        raise unreadable()

    def let_go(self) -> None:
        """Have no copy open of a data version that is no longer asked, unless somebody is asking it right now."""
        version = self._ledger.data_version
        if self._lock.acquire(blocking=False):  # whoever has it is opening the newest
            try:
                self._let_go(version)
            finally:
                self._lock.release()

    def _let_go(self, version: int) -> None:
        self._over = {key: engine for key, engine in self._over.items() if key[0] >= version}
        if self._newest is not None and self._engines.get(version) is not self._newest:
            self._newest = None

    def newest(self) -> Engine:
        """The engine over the data version that is asked; if another was read meanwhile, over that."""
        with suppress(OutdatedError):
            return self.at(self._ledger.data_version)
        return self.at(self._ledger.data_version)

    def _made(self, version: int, blocks: Mapping[str, Sequence[Path]] | None = None) -> DuckDB:
        from discreet.curator.refreshing import prepared

        current = None
        with suppress(SourceError):
            current = prepared(self._policy, self._ledger, self._progress, self._among)
            if current == version:
                return self._engine(version, blocks)
        raise unreadable() if current in (None, version) else OutdatedError

    def _engine(self, version: int, blocks: Mapping[str, Sequence[Path]] | None) -> DuckDB:
        if self._policy.engine == POSTGRES:
            from discreet.engines.postgres_engine import Postgres

            return Postgres(self._policy, version, self._progress, self._among)
        if self._policy.engine == SPARK:
            from discreet.engines.spark.engine import Spark

            return Spark(self._policy, version, self._progress, self._among)
        from discreet.engines.duckdb import DuckDB

        return DuckDB(self._policy, version, self._progress, self._among, blocks)

    def close(self) -> None:
        with self._lock:
            for engine in list(self._engines.values()):
                engine.close()
            for engine in self._over.values():
                engine.close()
            self._engines.clear()
            self._over.clear()
            self._newest = None
