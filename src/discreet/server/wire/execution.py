"""What a portal gives: its columns from the plan alone, and its rows, once.

A query is planned when it is described and run when it is executed. Its cost is that of the session's settings, or of
its own text; it is asked of the same dispatcher as those of HTTP, with the same token, limits and log.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import Problem, QueryFailed, Refused
from discreet.server.datasets import Caller, Dataset
from discreet.server.problems import Cancelled, problem_of
from discreet.server.queue import Job, State
from discreet.server.wire import questions, translation, types
from discreet.server.wire.portals import Held, Portal, Prepared
from discreet.server.wire.problems import Failed, Fatal, failed_of
from discreet.server.wire.statements import Declare, Fetch, Select, Show
from discreet.server.wire.stream import Ended, Stream
from discreet.server.wire.transactions import Transactions

if TYPE_CHECKING:
    from discreet.server.wire.serving import Wire

FEW: Final = 100
"""Rows that are looked at on the event loop: more would hold it up."""


@dataclass(frozen=True, slots=True)
class Client:
    """Who is at the other end."""

    token: str = field(repr=False)
    """Its text: whether it still holds is looked up with every statement."""
    dataset: Dataset
    caller: Caller
    process: int
    """The number by which its queries are cancelled."""


class Execution:
    """Runs the portals of one session."""

    def __init__(self, wire: Wire, stream: Stream, client: Client, state: Transactions) -> None:
        self.wire, self._stream, self._state = wire, stream, state
        self._token, self.dataset, self.caller = client.token, client.dataset, client.caller
        self._process = client.process
        self.held = Held()
        self.is_cancelled = False
        self._job: Job | None = None

    async def fields(self, portal: Portal) -> Any:
        """The columns of what it gives, before it is run: from the plan alone."""
        if not portal.is_described:
            statement = portal.prepared.statement
            if isinstance(statement, Select):
                self._state.demand_whole(statement)
                portal.fields = await self._select_fields(statement, portal)
            elif isinstance(statement, Show):
                self._count(portal.prepared)
                portal.fields = self._state.shown(statement.name)[0]
            elif isinstance(statement, Fetch) and not statement.moves:
                portal.fields = await self.fields(self._cursor(statement.name))
            portal.is_described = True
        return portal.fields

    async def _select_fields(self, select: Select, portal: Portal) -> Any:
        self._count(portal.prepared)
        if portal.prepared.about_catalogue is not None:
            await self._look_up(portal)
            return portal.fields
        text, probe = await self.light(questions.read, select.text, list(self.dataset.curator.policy.tables))
        portal.text = text
        if probe is not None:
            portal.rows, portal.tag = [], "SELECT"
            known = None if probe.table is None else questions.table_fields(self.dataset, probe.table)
            if known is not None:
                return known
            text = probe.text or text
        keys = await self.light(questions.keys_of, self.dataset, text)
        if keys is not None:
            portal.rows, portal.tag = keys[1] if portal.rows is None else portal.rows, "SELECT"
            return keys[0]
        question = self._asked(text, portal)
        shape = await self._told_where(self.light(question.shape), select.offset)
        return questions.fields_of(shape, with_errors=portal.settings.with_errors)

    def _count(self, prepared: Prepared) -> None:
        """What is parsed counts as a request, and once: whatever is done with it again is another."""
        if prepared.is_used:
            self.admit()
        prepared.is_used = True

    def _asked(self, text: str, portal: Portal) -> questions.Asked:
        return questions.Asked(self.dataset, self.caller, text, portal.settings, portal.values)

    async def run(self, portal: Portal) -> None:
        """Run a portal, if it was not yet; else what it holds must not have been withdrawn since."""
        if portal.rows is not None and portal.is_described:
            await self._demand_open(portal)
            return
        if portal.has_failed:
            raise Failed("55000", "this portal cannot be run again", "bind it anew")
        portal.has_failed = True
        statement = portal.prepared.statement
        if not (isinstance(statement, Select) or (isinstance(statement, Show) and portal.is_described)):
            self._count(portal.prepared)  # else that was done where it was described
        if isinstance(statement, Select):
            with self.recorded("catalogue" if portal.prepared.about_catalogue is not None else "query"):
                fields = await self.fields(portal)
                if portal.rows is None:
                    await self._ask(statement, portal)
            portal.fields = fields
        elif isinstance(statement, Fetch):
            await self._fetch(statement, portal)
        elif isinstance(statement, Declare):
            self._state.demand_whole(statement)
            self._state.demand_transaction(statement)
            inner = Prepared(
                portal.prepared.text, statement.select, portal.prepared.types, portal.prepared.about_catalogue
            )
            cursor = Portal(inner, portal.settings, portal.values, weight=portal.weight, holds=statement.holds)
            await self.fields(cursor)
            self.held.add_portal(statement.name, cursor)
            portal.rows, portal.tag, portal.is_described = [], "DECLARE CURSOR", True
        else:
            portal.fields, portal.rows, portal.tag = self._state.done(statement, self.held)
            portal.is_described = True
        portal.has_failed = False

    async def _demand_open(self, portal: Portal) -> None:
        if portal.charge and await self.light(self.dataset.curator.is_withdrawn, portal.charge):
            portal.rows = []
            raise failed_of(Refused("answer-gone", "the owner withdrew this answer", "ask again"))

    async def _look_up(self, portal: Portal) -> None:
        """A question about the catalogue: free, and answered by public facts alone."""
        question = portal.prepared.about_catalogue
        assert question is not None
        asker = translation.Asker(self._state.settings.user, self.dataset.name, self._process, portal.settings)

        def look() -> Any:
            text = translation.written(question, asker, {name: _written(each) for name, each in portal.values.items()})
            databases = sorted(self.wire.datasets.callers(self._token))
            return self.wire.catalogues.of(self.dataset.curator, self.dataset.name, databases).ask(text)

        table = await self.light(look)
        portal.fields, portal.rows, portal.tag = table.fields, table.rows, "SELECT"

    async def _fetch(self, fetch: Fetch, portal: Portal) -> None:
        self._state.demand_whole(fetch)
        cursor = self._cursor(fetch.name)
        await self.run(cursor)
        rows = list(cursor.next_rows(fetch.count)) if fetch.count else []
        portal.fields = None if fetch.moves else cursor.fields
        portal.rows, portal.charge = [] if fetch.moves else rows, cursor.charge
        portal.tag = f"MOVE {len(rows)}" if fetch.moves else "FETCH"
        portal.notice, cursor.notice, portal.is_described = cursor.notice, None, True

    def _cursor(self, name: str) -> Portal:
        """What rows are fetched from: a query, and not what itself fetches, perhaps from itself."""
        cursor = self.held.portal(name)
        if not isinstance(cursor.prepared.statement, Select):
            raise Failed("55000", f'"{name[:60]}" is no cursor of a query', "DECLARE one")
        return cursor

    async def _ask(self, select: Select, portal: Portal) -> None:
        """A query of tables: charged before data is touched, or free if it is cached."""
        question = self._asked(portal.text, portal)
        self.admit()
        answer = await self._told_where(self._outcome(question, portal), select.offset)
        rows = partial(questions.rows_of, answer, with_errors=portal.settings.with_errors)
        portal.rows = rows() if len(answer.rows) <= FEW else await asyncio.to_thread(rows)
        portal.tag, number = "SELECT", answer.receipt.partition(":")[0]
        portal.charge = int(number) if number.isdecimal() else 0
        portal.notice = questions.notice_of(answer) if portal.settings.tells_cost else None

    async def _outcome(self, question: questions.Asked, portal: Portal) -> Any:
        dispatcher = self.wire.dispatcher
        try:
            submission = await self.light(question.submission)
            outcome = await dispatcher.begin(lambda: submission, is_fetched=False)
        except Problem as problem:
            if problem.code != "cost-twice":
                raise
            costed = question.submission(with_cost=False)  # the text says its own cost
            outcome = await dispatcher.begin(lambda: costed, is_fetched=False)
        if not isinstance(outcome, Job):
            return outcome
        self._job = outcome
        if self.is_cancelled:
            dispatcher.queue.cancel(outcome)
        try:
            await self._wait(outcome, portal.settings.seconds)
        finally:
            self._job = None
        failure = outcome.result.exception()
        if failure is None:
            return outcome.result.result()
        if outcome.state is State.CANCELLED and isinstance(failure, QueryFailed):
            failure = Cancelled()
        raise problem_of(failure)

    async def _wait(self, job: Job, seconds: float | None) -> None:
        """Until a job ends, somebody cancels it, its time is over, or nobody is there any more."""
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        while not await self.wire.dispatcher.wait(job, min(1.0, seconds or 1.0)):
            if self._stream.is_lost:
                self.wire.dispatcher.leave(job)
                raise Ended
            if deadline is not None and loop.time() > deadline:
                self.wire.dispatcher.queue.cancel(job)
                deadline = None

    def cancel(self) -> None:
        """What runs is not wanted any more: free while it waits, interrupted when it runs."""
        self.is_cancelled = True
        if self._job is not None:
            self.wire.dispatcher.queue.cancel(self._job)

    async def _told_where(self, work: Any, offset: int) -> Any:
        """What is refused is told with its place in the text that was sent."""
        try:
            return await work
        except Problem as problem:
            raise failed_of(problem_of(problem), offset) from None

    def admit(self) -> None:
        """Whoever asks may still do so, and not too often."""
        known = self.wire.datasets.callers(self._token)
        if self.dataset.name not in known:
            raise Fatal(
                "57P01", "the token was revoked, or has expired", "connect with another one", code="unauthorized"
            )
        self.caller = known[self.dataset.name]
        most = max(self.wire.datasets[name].curator.policy.serving.requests_per_minute for name in known)
        self.wire.rates.admit(self.caller.token, most)

    async def light(self, work: Any, *given: Any) -> Any:
        """Something that reads no private data, in the line of whoever asks for it, apart from the event loop."""
        return await self.wire.dispatcher.light(work, *given)

    def recorded(self, route: str) -> AbstractContextManager[None]:
        """One line of the access log."""
        return self.wire.recorded(self.dataset.name, self.caller, route)


def _written(value: Any) -> Any:
    """A parameter as a question about the catalogue has it."""
    return value if value is None or isinstance(value, bool | int | float | str) else types.written(value)
