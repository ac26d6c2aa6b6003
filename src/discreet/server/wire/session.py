"""One connection from its start to its end: who it is, what it asks, and what it is told.

A query is planned when it is described and run when it is executed, once. Its cost is that of the session's settings,
or of its own text; it is asked of the same dispatcher as those of HTTP, with the same token, limits and log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from discreet.server.problems import problem_of
from discreet.server.wire import inference, protocol, questions, translation, types
from discreet.server.wire.execution import Execution
from discreet.server.wire.portals import Portal, Prepared
from discreet.server.wire.problems import Failed, Fatal, failed_of
from discreet.server.wire.protocol import (
    Bind,
    Close,
    Copied,
    Describe,
    Execute,
    Flush,
    FunctionCall,
    Malformed,
    Parse,
    Password,
    Query,
    Sync,
    Terminate,
)
from discreet.server.wire.relations import INFORMATION_SCHEMA, PG_CATALOG, columns_of
from discreet.server.wire.statements import Declare, Empty, Select, Statement, statements
from discreet.server.wire.stream import Ended, Stream
from discreet.server.wire.transactions import Transactions

CHUNK: Final = 2**16
TURN_SECONDS: Final = 0.001
"""Seconds after which others get their turn, however fast somebody sends."""
MAX_PARAMETERS: Final = 1000


class Session:
    """A client that is known, and what it asks."""

    def __init__(self, stream: Stream, execution: Execution, state: Transactions) -> None:
        self._stream, self.execution, self.state = stream, execution, state
        self.held = execution.held
        self._told: dict[str, str] = {}
        self.is_idle = True
        """Nothing was asked that is not answered."""
        self._began = 0.0
        """When it got the turn that it has."""

    # messages

    async def serve(self) -> None:
        """Until the client goes."""
        skips = False
        while True:
            self.is_idle = True
            message = await self._stream.message(protocol.MAX_MESSAGE)
            self.is_idle = False
            await self._give_way()
            if isinstance(message, Terminate):
                return
            if isinstance(message, Sync):
                skips = False
                self._end_of_batch()
            elif not skips:
                skips = not await self._answered(message)
            await self._stream.drain()

    async def _give_way(self) -> None:
        """Let others have their turn, if this one has lasted: some messages and statements count as no request."""
        if time.monotonic() - self._began > TURN_SECONDS:
            await asyncio.sleep(0)
            self._began = time.monotonic()

    async def _answered(self, message: protocol.Message) -> bool:
        """Whether a message was done; what was not is told."""
        self.execution.is_cancelled = False
        is_done = True
        try:
            await HANDLERS[type(message)](self, message)
        except (Ended, Malformed, Fatal):
            raise
        except Exception as error:
            failed = error if isinstance(error, Failed) else failed_of(problem_of(error))
            self._write(protocol.error(failed.fields()))
            self.state.failed()
            is_done = False
        if isinstance(message, Query):
            self._ready()
        return is_done or isinstance(message, Query)

    async def _refuse(self, message: object) -> None:
        if isinstance(message, FunctionCall):
            raise Failed("0A000", "functions are not called this way here", "ask a SELECT")
        if isinstance(message, Password):
            raise Fatal("08P01", "the password was sent already")

    async def _close(self, message: Close) -> None:
        held: dict[str, Any] = self.held.statements if message.kind == "S" else self.held.portals
        held.pop(message.name, None)
        self._write(protocol.CLOSED)

    def _end_of_batch(self) -> None:
        if self.state.status == "I":
            self.held.close_portals()
        self._ready()

    def _ready(self) -> None:
        """What was sent at once is done; what comes next is by itself."""
        self.state.mark()
        self.tell_settings()
        self._write(protocol.ready(self.state.status))

    # one text at once

    async def _query(self, message: Query) -> None:
        text = message.text
        self.held.forget_unnamed()
        with self.execution.recorded("statement"):
            self.execution.admit()
            said = await self.execution.light(statements, text)
        for number, statement in enumerate(said):
            await self._give_way()
            if number and isinstance(statement, Select):  # each is a question, however many are sent at once
                self.execution.admit()
            portal = Portal(await self._prepared(text, statement, ()), self.state.settings)
            await self.execution.run(portal)
            if portal.fields is not None:
                self._write(protocol.description(portal.fields))
            await self._hand_out(portal, 0)

    # a text, then its values, then its rows

    async def _parse(self, message: Parse) -> None:
        if not message.name:
            self.held.forget_unnamed()
        with self.execution.recorded("parse"):
            self.execution.admit()
            said = await self.execution.light(statements, message.text)
            if len(said) != 1:
                raise Failed("42601", "cannot insert multiple commands into a prepared statement", code="syntax")
            prepared = await self._prepared(message.text, said[0], message.types)
            self.held.add_statement(message.name, prepared)
        self._write(protocol.PARSED)

    async def _prepared(self, text: str, statement: Statement, given: tuple[int, ...]) -> Prepared:
        """What a statement is; its parameters get their types from where they stand."""
        select = _select_of(statement)
        if select is None:
            if given:
                raise Failed("42P02", "only queries have parameters here")
            return Prepared(text, statement, ())
        prepared: Prepared = await self.execution.light(self._read, select, text, statement, given)
        return prepared

    def _read(self, select: Select, text: str, statement: Statement, given: tuple[int, ...]) -> Prepared:
        about = None if questions.is_explanation(select.text) else translation.read(select.text)
        columns = (
            _CATALOGUE if about is not None else {name: types.OF_KINDS[each.kind] for name, each in self._columns()}
        )
        oids = inference.inferred(select.text, given, columns)
        if len(oids) > MAX_PARAMETERS:
            raise Failed("54023", f"a statement has at most {MAX_PARAMETERS} parameters", code="too-large")
        return Prepared(text, statement, oids, about)

    def _columns(self) -> list[tuple[str, Any]]:
        """The declared columns of all tables, by their names in small letters."""
        tables = self.execution.dataset.curator.tables().values()
        return [(column.name.lower(), column) for facts in tables for column in facts.columns.values()]

    async def _bind(self, message: Bind) -> None:
        prepared = self.held.statement(message.statement)
        self.state.demand_whole(prepared.statement)
        if len(message.values) != len(prepared.types):
            wanted, sent = len(prepared.types), len(message.values)
            raise Failed("08P01", f"the statement has {wanted} parameters, and {sent} values were sent")
        values = {
            str(index + 1): types.received(data, oid, protocol.format_of(message.formats, index))
            for index, (data, oid) in enumerate(zip(message.values, prepared.types, strict=True))
        }
        weight = sum(len(data or b"") for data in message.values)
        portal = Portal(prepared, self.state.settings, values, message.results, weight)
        self.held.add_portal(message.portal, portal)
        self._write(protocol.BOUND)

    async def _describe(self, message: Describe) -> None:
        if message.kind == "P":
            portal = self.held.portal(message.name)
            fields, formats = await self.execution.fields(portal), portal.formats
        else:
            prepared = self.held.statement(message.name)
            self._write(protocol.parameters(prepared.types))
            select = _select_of(prepared.statement)
            values: dict[str, Any] = {}
            if select is not None and prepared.types:
                known = dict(self._columns())
                values = await self.execution.light(inference.samples, select.text, prepared.types, known)
            if prepared.about_catalogue is not None:
                values = dict.fromkeys(values)
            fields, formats = await self.execution.fields(Portal(prepared, self.state.settings, values)), ()
        self._write(protocol.NO_DATA if fields is None else protocol.description(fields, formats))

    async def _execute(self, message: Execute) -> None:
        portal = self.held.portal(message.portal)
        await self.execution.run(portal)
        await self._hand_out(portal, message.most)

    async def _hand_out(self, portal: Portal, most: int) -> None:
        """The next rows of a portal, and how far it is."""
        if portal.notice is not None:
            self._write(protocol.notice(portal.notice.fields()))
            portal.notice = None
        if isinstance(portal.prepared.statement, Empty):
            self._write(protocol.EMPTY)
            return
        count, parts, size = 0, [], 0
        if portal.fields is not None:
            oids = [field.type for field in portal.fields]
            formats = [protocol.format_of(portal.formats, index) for index in range(len(oids))]
            for row in portal.next_rows(most):
                cells = [types.shown(*each) for each in zip(row, oids, formats, strict=True)]
                parts.append(protocol.row(cells))
                count, size = count + 1, size + len(parts[-1])
                if size > CHUNK:
                    self._write(b"".join(parts))
                    await self._stream.drain()
                    await self._give_way()
                    parts, size = [], 0
        self._write(b"".join(parts))
        if most and portal.fields is not None and not portal.is_finished:
            self._write(protocol.SUSPENDED)
        else:
            counted = portal.tag in ("SELECT", "FETCH")
            self._write(protocol.complete(f"{portal.tag} {count}" if counted else portal.tag))
        self.tell_settings()

    def tell_settings(self) -> None:
        """What changed of the settings that clients keep in mind."""
        for name, value in self.state.settings.reported().items():
            if self._told.get(name) != value:
                self._told[name] = value
                self._write(protocol.setting(name, value))

    def _write(self, data: bytes) -> None:
        if data:
            self._stream.write(data)


def _select_of(statement: Statement) -> Select | None:
    if isinstance(statement, Declare):
        return statement.select
    return statement if isinstance(statement, Select) else None


_KINDS: Final = {"BIGINT": types.INT8, "INTEGER": types.INT8, "SMALLINT": types.INT8, "BOOLEAN": types.BOOL}
_CATALOGUE: Final = {
    column: _KINDS[kind]
    for relation in (*PG_CATALOG.values(), *INFORMATION_SCHEMA.values())
    for column, kind in columns_of(relation).items()
    if kind in _KINDS
}
"""The types of columns of the catalogue that are no texts."""
HANDLERS: Final[dict[type[Any], Callable[[Session, Any], Coroutine[Any, Any, None]]]] = {
    Query: Session._query,
    Parse: Session._parse,
    Bind: Session._bind,
    Describe: Session._describe,
    Execute: Session._execute,
    Close: Session._close,
    **dict.fromkeys((Flush, Copied, FunctionCall, Password), Session._refuse),
}
