"""The curator: queries and fits on the tables of one policy. Everything private leaves through the exit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from discreet.accounting.balance import Balance
from discreet.accounting.record import Entry, Event
from discreet.accounting.stream import StreamStanding
from discreet.answers import Answer, Preview
from discreet.answers.call import Call, value_read
from discreet.answers.facts import Facts
from discreet.answers.interface import Asks
from discreet.answers.story import StoryLine, story
from discreet.answers.tables import Tables
from discreet.composed import Sql
from discreet.curator.found_bounds import FOLDER, Index
from discreet.curator.parts import recorded
from discreet.curator.public import PublicTables
from discreet.curator.query import Query
from discreet.curator.shape import Shape
from discreet.curator.streams import Chosen, chosen, newest_named
from discreet.curator.task import Context, EngineReader, Maker, Prepared, Recall, Task
from discreet.curator.versions import OutdatedError, Versions
from discreet.engines.engine import Engine
from discreet.engines.rehearsal import BLOCKS
from discreet.engines.session import Scratch
from discreet.errors import QueryFailed, Refused
from discreet.exit import SAMPLER, Bill, ReleasePoint, Sampler
from discreet.exit.cost import usual_cost
from discreet.ledger import ALL, Ledger, Search
from discreet.ledger.store import ENDLESS
from discreet.policy import Policy, fingerprint
from discreet.policy.streams import protection
from discreet.sql.plan import Plan, plan
from discreet.sql.unknown import Found as FoundBounds
from discreet.tracing import phase

if TYPE_CHECKING:
    from discreet.curator.erasing import Erasure
    from discreet.curator.refreshing import Refreshed
    from discreet.engines.copy import Progress

Shown = TypeVar("Shown")
Found = TypeVar("Found")
MOST_PLANS, MOST_LETTERS = 1000, 500_000
"""That are held, and of all their texts: a plan takes some two hundred times its text."""


class Curator(Asks):
    """Performs tasks on the tables of one policy. Many threads may share it; processes open their own."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        *,
        time_limit: float | None = None,
        pad: float = 0.0,
        progress: Progress | None = None,
        engine: Engine | None = None,
        sampler: Sampler = SAMPLER,
        among: int = 1,
        recalls: Mapping[str, Recall] | None = None,
        makers: Mapping[str, Maker] | None = None,
    ) -> None:
        self.policy = policy
        self.name = policy.name
        self._ledger = ledger
        self._time_limit = time_limit
        limited = policy.max_cost is None
        self._exit = ReleasePoint(ledger, sampler=sampler, pad=pad, time_limit=time_limit, is_limited=limited)
        self._recalls = dict(recalls or {})
        """How what other tasks than queries let out is shown again, by their names in the record."""
        self._makers = dict(makers or {})
        """Tasks of packages above, by name."""
        self._among = among
        self._lock = threading.Lock()
        self._versions = Versions(policy, ledger, progress, among)
        self._given = engine
        self._scratch: Scratch | None = None
        self._plans: dict[object, Plan] = {}
        self._planned = self._letters = 0
        """The data version of the last of them, and the letters of their texts: no fewer than they have."""
        self._digest = fingerprint(policy)
        self._bounds = Index(policy.state / FOLDER if engine is None else None)

    # tasks

    def perform(self, task: Task[Any] | Call) -> Any:
        """Bill, cached or charged, run, shown: the one way. If data is read anew in between, from the start."""
        return _again_if_outdated(lambda: self._performed(self._prepared(_task(task))))

    def _performed(self, task: Prepared[Any, Shown]) -> Shown:
        if task.is_public:
            return task.show_public(lambda: self._previewed(task))
        outcome = self._exit.perform(task, lambda: self._reader(task.bill))
        with phase("show"):
            return task.show(outcome)

    def answer(self, call: Call) -> Answer:
        """The answer to what a caller says."""
        answer: Answer = self.perform(call)
        return answer

    def free(self, task: Task[Any] | Call) -> Any:
        """What a task shows, if it costs nothing and no private data is read for it; else None.

        Such is what is cached or public, and an explanation.
        """
        prepared = self._prepared(_task(task))
        if prepared.is_public:
            return self._performed(prepared)
        outcome = self._exit.cached(prepared)
        return None if outcome is None else prepared.show(outcome)

    def preview_of(self, task: Task[Any] | Call) -> Preview:
        """What a task, or the query of a call, would cost and how exact it would be. Free: no private data is read."""
        prepared = self._prepared(_task(task))
        preview = self._previewed(prepared)
        if not preview.cached:
            self._exit.demand_ready(prepared)
        return preview

    def _previewed(self, task: Prepared[Any, Any]) -> Preview:
        return task.preview(cached=not task.bill.loss.is_zero and self._exit.best_cached(task) is not None)

    def shape(self, call: Call) -> Shape:
        """The columns that the answer to a query has. Free: no cost is needed, and no private data is read."""
        return self._in_context(Query(call), Query(call).shape)

    def _prepared(self, task: Task[Shown]) -> Prepared[Any, Shown]:
        with phase("plan"):
            return self._in_context(task, task.prepared)

    def _in_context(self, task: Task[Any], act: Callable[[Context], Found]) -> Found:
        """What is done with what a task may know."""
        self._check_analyst(task.analyst)
        try:
            return _again_if_outdated(lambda: act(self._context(getattr(task, "blocks", None))))
        except Refused as refused:
            if refused.code != "blocks-missing":
                raise
            named = newest_named(self.policy, self._ledger, refused)
        raise named

    def _context(self, blocks: object) -> Context:
        """What a task may know: under the policy, or under that of the blocks that it names."""
        version, read = self._ledger.data_version, chosen(self.policy, self._ledger, blocks)
        return Context(
            policy=self.policy if read is None else read.policy,
            digest=self._digest if read is None else f"{self._digest}{BLOCKS}{read.digest}",
            version=version,
            ledger=self._ledger,
            public=lambda: PublicTables(lambda: self._engine(version)),
            plan=partial(self._plan, read),
            engine=lambda: self._engine(version),
            opened=lambda: self._given or self._versions.opened(version),
            compute=self._compute,
            bounds=self._bounds,
            chosen=read,
        )

    # other ways to ask

    def batched(self, queries: Sequence[str], **options: Any) -> Task[list[Answer]]:
        """The task of a batch: `curator.preview(curator.batched([…], epsilon=1))`."""
        if "batch" not in self._makers:
            raise Refused("policy", "this curator answers queries one by one", "open the policy with discreet.open")
        return self._makers["batch"](queries, **options)

    def public_schema(self, table: str) -> dict[str, str]:
        """The columns of a public table, with the engine's types."""
        if table not in self.policy.tables or not self.policy.tables[table].is_public:
            raise Refused("unknown-table", "that is no public table", "see tables() for what is known of the others")
        return self._engine(self._ledger.data_version).schema(table)

    # looking

    def recall(self, number: int, *, analyst: str | None = None, confidence: Any = None) -> Any:
        """What the charge of this number let out, as it was then: an answer, the answers of a batch, a fitted model, or
        what was published. Free. What was computed under an earlier policy says so.
        """
        from discreet.curator.earlier import marked, past

        self._check_analyst(analyst)
        entry = self.entry(number)
        if entry is not None and self._ledger.withdrawn(number):
            raise Refused("answer-gone", "the owner withdrew this answer", "ask again")
        if entry is not None and entry.is_erased:
            raise Refused("answer-gone", "the text of this question was too old, and is erased", "ask again")
        if entry is None or not entry.answered:
            what = "no charge has this number" if entry is None else "this charge was not answered"
            raise Refused("unknown-answer", what, "see the ledger for the charges that were")
        more = {} if confidence is None else {"confidence": confidence}
        task = entry.call.get("task")
        if task is not None and task not in self._makers:
            return self._recalled(entry)
        for curator in (self, past(self, number)):
            with suppress(Refused, QueryFailed, ValueError):
                query = None if curator is None else curator._prepared(curator._repeated(entry, analyst, more))
                if query is not None and query.bill.plan == entry.plan:
                    shown = query.show(self._exit.recalled(query, number))
                    return shown if curator is self else marked(shown)
        raise Refused("answer-gone", "this answer was computed under an earlier policy", "ask again")

    def is_earlier(self, number: int) -> bool:
        """Whether an earlier policy held when this was charged: what it let out is what was asked then."""
        from discreet.curator.earlier import past

        return self.entry(number) is not None and past(self, number) is not None

    def _repeated(self, entry: Entry, analyst: str | None, more: Mapping[str, Any]) -> Task[Any]:
        """The queries that a charge is the record of, as they were asked."""
        if "task" not in entry.call:
            return Query(recorded(self.policy, entry, analyst, **more))
        record = {name: value_read(value) for name, value in entry.call.items()}
        about = {} if entry.blocks is None else {"blocks": entry.blocks}
        return self._makers[str(record.pop("task"))](**record, **about, analyst=analyst, **more)

    def _recalled(self, entry: Entry) -> Any:
        """What a task that is no query let out."""
        show, stored = self._recalls.get(str(entry.call["task"])), self._ledger.answer(entry.number)
        if show is None or stored is None:
            raise Refused("answer-gone", "this charge is of a task unknown here", "open the policy with discreet.open")
        return show(stored.answer, entry)

    def refresh(
        self,
        until: object = None,
        *,
        reason: str = "",
        erase: bool | Erasure = False,
    ) -> Refreshed:
        """Read the sources anew; of streams what is new, and seal the blocks that have ended (`until`, or now).

        With `erase` whoever is gone at the source is erased everywhere, as `discreet refresh --erase` does; this
        curator lets its own copies of before go. `Refreshed.held` says what other programs still have open.
        For the owner: what it returns of each stream are exact counts.
        """
        from discreet.curator.erasing import demanded
        from discreet.curator.refreshing import refreshed

        if self._given is not None:
            raise Refused("policy", "rows in memory have no sources", "refresh the curator of the policy itself")
        wanted = demanded(erase)
        said = reason or ("erased" if wanted else "refreshed")
        return refreshed(
            self.policy, self._ledger, said, until=until, among=self._among, erase=wanted, let_go=self._versions.let_go
        )

    def let_go(self) -> None:
        """Have no private copy of an earlier data version open: it may have been erased."""
        if self._given is None:
            self._versions.let_go()

    def make_copy(self) -> None:
        """Make the private copy now if there is none, so that the first query need not wait for it."""
        if self._given is None:
            self._versions.newest()

    def budget(self, analyst: str | None = None) -> Balance:
        """What was granted, is spent and remains: of everybody, or of one analyst."""
        self._check_analyst(analyst)
        return self._ledger.balance(analyst)

    @property
    def analysts(self) -> tuple[str, ...]:
        """Those of the policy."""
        return tuple(self.policy.analysts)

    @property
    def usual_cost(self) -> float:
        """An ε for whoever has no other: a tenth of the budget, within the policy's max_cost."""
        return usual_cost(self.policy)

    def entries(self, search: Search | None = None, *, limit: int | None = None) -> list[Entry]:
        """The ledger: one entry for each charge, newest last."""
        return self._ledger.entries(search or ALL, limit=limit)

    def latest(self, search: Search | None = None, *, limit: int, offset: int = 0) -> list[Entry]:
        """The newest charges, newest first: a page of them, without reading the others."""
        return self._ledger.latest(search or ALL, limit=limit, offset=offset)

    def count(self, search: Search | None = None) -> int:
        """How many charges there are."""
        return self._ledger.count(search or ALL)

    def events(self, *, after: int = 0, before: int = ENDLESS) -> list[Event]:
        """What happened beside charges: budgets, windows, refreshes, policies, tokens, answers that were withdrawn."""
        return self._ledger.events(after=after, before=before)

    def story(self) -> list[StoryLine]:
        """The same in words, for the owner."""
        return story(self._ledger.events())

    def is_withdrawn(self, number: int) -> bool:
        """Whether the owner withdrew the answer to this charge."""
        return self._ledger.withdrawn(number)

    def note_token(self, act: str, name: str, role: str, analyst: str | None) -> None:
        """Put on record that a token was made or revoked, by its public name."""
        self._ledger.note_token(act, name, role, analyst)

    def spenders(self) -> list[str]:
        """Who charged anything, by name."""
        return self._ledger.spenders()

    def streams(self) -> dict[str, StreamStanding]:
        """The streams on record: their blocks, what was charged for each, and which are retired."""
        return {name: self._ledger.stream(name) for name in self._ledger.streams()}

    def entry(self, number: int) -> Entry | None:
        """The charge of this number; None if there is none."""
        return self._ledger.entry(number) if type(number) is int and 0 < number < 2**63 else None

    def tables(self) -> Tables:
        """What an analyst may know: tables, columns, bounds, keys and limits."""
        tables, unit = self.policy.tables.values(), self.policy.unit
        return Tables({each.name: Facts.of(each, protection(each, unit) if each.stream else None) for each in tables})

    def _repr_html_(self) -> str:
        from discreet.answers.portrait import portrait_html

        return portrait_html(self, self.policy.unit)

    # plans

    def _plan(self, read: Chosen | None, version: int, call: Call, bounds: FoundBounds | None = None) -> Plan:
        """The plan of a text, which reads these blocks; the same text means the same as long as the policy does.

        `bounds` are those that the text leaves out.
        """
        if call.dialect is not None and not isinstance(call.dialect, str):
            raise Refused("syntax", "a dialect is a name", 'leave it out, or write dialect="bigquery"')
        known = call.params is None and isinstance(call.sql, str)
        apart, promised = isinstance(call.error, Mapping), call.error is not None
        known_bounds = tuple((bounds or {}).items())
        about = (call.part, None if read is None else read.digest, version, call.now)
        key = (call.sql, call.dialect, about, known_bounds, apart, promised) if known else None
        planned = self._plans.get(key) if key is not None else None
        if planned is None:
            public = PublicTables(lambda: self._engine(version))
            planned = plan(
                self.policy if read is None else read.policy,
                call.sql,
                public=public,
                digest=self._digest if read is None else f"{self._digest}{BLOCKS}{read.digest}",
                dialect=call.dialect,
                params=call.params,
                part=call.part,
                bounds=bounds,
                now=call.now,
                apart=apart,
                promised=promised,
            )
            if public.schemas:
                planned = replace(planned, schemas=public.schemas)
            if key is not None:
                if self._letters + len(call.sql) > MOST_LETTERS or len(self._plans) >= MOST_PLANS:
                    self._plans.clear()
                    self._letters = 0
                self._letters += len(call.sql)
                self._plans[key], self._planned = planned, version
        return planned

    def has_planned(self, sql: str, dialect: str | None = None) -> bool:
        """Whether a text that is charged for was planned: what is left to be found out about it takes no time."""
        known = self._plans.get((sql, dialect, (None, None, self._planned, None), (), False, False))
        return known is not None and known.is_charged

    def _check_analyst(self, analyst: object) -> None:
        if analyst is not None and not (isinstance(analyst, str) and analyst in self.policy.analysts):
            known = ", ".join(sorted(self.policy.analysts)) or "there are none"
            raise Refused("unknown-analyst", "there is no such analyst in the policy", f"analysts: {known}")

    # engines

    def _engine(self, version: int) -> Engine:
        """The engine over this data version."""
        return self._versions.at(version) if self._given is None else self._given

    def _reader(self, bill: Bill) -> EngineReader:
        """The rows that a bill is about: of streams the blocks that it names, and no others."""
        if bill.blocks is None or self._given is not None:
            return EngineReader(self._engine(bill.data), self._time_limit)
        return EngineReader(self._versions.over(bill.data, bill.blocks), self._time_limit)

    def _compute(self, query: Sql, version: int | None) -> list[tuple[Any, ...]]:
        """A query over public values; where it reads public tables, over those of a data version."""
        with self._lock:
            if self._scratch is None:
                self._scratch = Scratch(self._among)
        engine = self._scratch if version is None else self._engine(version)
        with suppress(Exception):
            return engine.rows(query, self._time_limit)
        raise QueryFailed

    def dummy(self, rows: int = 1000) -> Curator:
        """A curator over dummy data: the same policy, costs and refusals. Free: nothing private is read."""
        from discreet.curator.dummy import Dummy

        return Dummy(
            self.policy,
            rows=rows,
            time_limit=self._time_limit,
            among=self._among,
            recalls=self._recalls,
            makers=self._makers,
        )

    def close(self) -> None:
        """Close ledger and engines."""
        self._versions.close()
        with self._lock:
            if self._scratch is not None:
                self._scratch.close()
                self._scratch = None
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        query = f"query(sql, epsilon={self.usual_cost:g})"
        return f"<curator of {self.policy.name}: {', '.join(self.policy.tables)}; ask with {query}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a curator cannot be copied or pickled: open the policy again")


def _task(task: Task[Any] | Call) -> Task[Any]:
    return Query(task) if isinstance(task, Call) else task


def _again_if_outdated(act: Callable[[], Found]) -> Found:
    """What it gives; once more from the start if the data was read anew meanwhile."""
    with suppress(OutdatedError):
        return act()
    return act()
