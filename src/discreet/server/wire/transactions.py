"""Transactions and settings of a session. Nothing is written, so nothing is undone but what was set: a query that was
answered stays charged, whatever becomes of its transaction.
"""

from __future__ import annotations

from typing import Any, Final

from discreet.server.wire import types
from discreet.server.wire.portals import Held
from discreet.server.wire.problems import Failed
from discreet.server.wire.protocol import Field
from discreet.server.wire.settings import Settings, canonical
from discreet.server.wire.statements import (
    Begin,
    CloseCursor,
    Deallocate,
    Declare,
    Empty,
    End,
    Ignored,
    Reset,
    Savepoint,
    Set,
    Show,
    Statement,
)

MAX_SAVEPOINTS: Final = 500
Done = tuple[tuple[Field, ...] | None, list[tuple[Any, ...]], str]
"""Columns, rows and the tag that tells that it was done."""


class Transactions:
    """Where a session is: idle (I), in a transaction (T), or in one that failed (E); and its settings there."""

    def __init__(self, settings: Settings) -> None:
        self.status = "I"
        self.settings = settings
        """As they are now."""
        self._first = self._before = self._lasting = settings
        """As the connection began, as the transaction began, and as they will be if it ends well."""
        self._marked = settings
        """As what was sent at once began."""
        self._savepoints: list[tuple[str, Settings, Settings]] = []

    def mark(self) -> None:
        """What is sent at once begins: outside of a transaction it is one, and what it set goes with it if it fails."""
        self._marked = self.settings

    def failed(self) -> None:
        if self.status == "T":
            self.status = "E"
        elif self.status == "I":
            self.settings = self._lasting = self._marked

    def demand_whole(self, statement: Statement) -> None:
        """Raise in a transaction that failed: only its end is taken."""
        ends = isinstance(statement, End) or (isinstance(statement, Savepoint) and statement.tag == "ROLLBACK")
        if self.status == "E" and not ends:
            text = "current transaction is aborted, commands ignored until end of transaction block"
            raise Failed("25P02", text, "send ROLLBACK")

    def demand_transaction(self, declare: Declare) -> None:
        if self.status == "I" and not declare.holds:
            raise Failed("25P01", "DECLARE CURSOR can only be used in transaction blocks", "send BEGIN, or WITH HOLD")

    def shown(self, name: str) -> tuple[tuple[Field, ...], list[tuple[Any, ...]]]:
        """SHOW: the columns and rows."""
        if canonical(name) == "all":
            columns = ("name", "setting", "description")
            return tuple(types.field(each, types.TEXT) for each in columns), [
                (known, value, "") for known, value in self.settings.all()
            ]
        key = canonical(name)
        return (types.field(key, types.TEXT),), [(self.settings.value(name),)]

    def done(self, statement: Statement, held: Held) -> Done:
        """A statement that is no query."""
        self.demand_whole(statement)
        if isinstance(statement, Show):
            fields, rows = self.shown(statement.name)
            return fields, rows, "SHOW"
        return None, [], self._tag(statement, held)

    def _tag(self, statement: Statement, held: Held) -> str:
        match statement:
            case Begin():
                self._begin()
                return statement.tag
            case End():
                return self._end(statement, held)
            case Savepoint():
                return self._savepoint(statement)
            case Set():
                self._set(statement)
                return "SET" if statement.value is not None else "RESET"
            case Reset():
                self.settings = self._lasting = self._first
                if statement.discards:
                    held.statements.clear()
                    held.close_portals(all_=True)
                return statement.tag
            case Deallocate():
                self._deallocate(statement, held)
                return "DEALLOCATE" if statement.name is not None else "DEALLOCATE ALL"
            case CloseCursor():
                self._close(statement, held)
                return "CLOSE CURSOR" if statement.name is not None else "CLOSE CURSOR ALL"
            case Ignored():
                return statement.tag
            case _:
                assert isinstance(statement, Empty)
                return ""

    def _begin(self) -> None:
        if self.status == "I":
            self.status, self._before = "T", self.settings

    def _end(self, end: End, held: Held) -> str:
        commits = end.commits and self.status != "E"
        if self.status != "I":
            self.settings = self._lasting = self._lasting if commits else self._before
            held.close_portals()
        self.status = "I"
        self._savepoints.clear()
        self.mark()
        if end.chain:
            self._begin()
        return "COMMIT" if commits else "ROLLBACK"

    def _savepoint(self, savepoint: Savepoint) -> str:
        if self.status == "I":
            raise Failed("25P01", f"{savepoint.tag} can only be used in transaction blocks")
        if savepoint.tag == "SAVEPOINT":
            if len(self._savepoints) >= MAX_SAVEPOINTS:
                raise Failed("53400", f"a transaction has at most {MAX_SAVEPOINTS} savepoints", "release some")
            self._savepoints.append((savepoint.name, self.settings, self._lasting))
            return savepoint.tag
        indices = [index for index, (name, _, _) in enumerate(self._savepoints) if name == savepoint.name]
        if not indices:
            raise Failed("3B001", f'savepoint "{savepoint.name[:60]}" does not exist')
        if savepoint.tag == "ROLLBACK":
            _, self.settings, self._lasting = self._savepoints[indices[-1]]
            self.status = "T"
        del self._savepoints[indices[-1] + (savepoint.tag == "ROLLBACK") :]
        return savepoint.tag

    def _set(self, statement: Set) -> None:
        if statement.local:
            if self.status == "T":
                self.settings = self.settings.with_(statement.name, statement.value)
            return
        value = statement.value
        if value is None:  # as the connection began, where its options said something
            value = self._first.set_.get(canonical(statement.name))
        self.settings = self.settings.with_(statement.name, value)
        self._lasting = self._lasting.with_(statement.name, value)

    @staticmethod
    def _deallocate(statement: Deallocate, held: Held) -> None:
        if statement.name is None:
            held.statements.clear()
        elif held.statements.pop(statement.name, None) is None:
            raise Failed("26000", f'prepared statement "{statement.name[:60]}" does not exist')

    @staticmethod
    def _close(statement: CloseCursor, held: Held) -> None:
        if statement.name is None:
            held.close_portals(all_=True)
        elif held.portals.pop(statement.name, None) is None:
            raise Failed("34000", f'cursor "{statement.name[:60]}" does not exist')
