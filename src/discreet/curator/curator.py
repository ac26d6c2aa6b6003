"""The one door: everything that leaves a private table leaves through here, in this order.

parse → plan → cost (text and policy only) → charge (on disk) → run (exact integers) → blur → keep.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import Balance
from discreet.accounting.record import Entry
from discreet.accounting.rounding import float_up
from discreet.answers import Answer, Preview
from discreet.answers.call import Call
from discreet.answers.facts import Facts
from discreet.answers.ibis_tables import is_expression, text_of
from discreet.answers.interface import Asks
from discreet.answers.layout import cost_words
from discreet.composed import Sql
from discreet.curator.draw import OPEN, Door, Engine, draw
from discreet.curator.parts import part_name, recorded
from discreet.curator.public import PublicTables
from discreet.curator.question import Loss, Question, costed
from discreet.curator.rehearsal import rehearse
from discreet.curator.rest import what_is_left
from discreet.curator.state import open_ledger
from discreet.curator.timing import padded
from discreet.curator.versions import OutdatedError, Versions
from discreet.engines.copy import Progress
from discreet.engines.printed import confirmed, printed
from discreet.engines.session import Scratch
from discreet.errors import BudgetExhausted, QueryFailed, Refused
from discreet.ledger import ALL, Charge, Ledger, Repeated, Search
from discreet.policy import Policy, fingerprint, read
from discreet.sql.cache import Drawn
from discreet.sql.expected_error import averages, errors, explained, words
from discreet.sql.plan import Plan, plan
from discreet.sql.results import Shown, noisy_items

if TYPE_CHECKING:
    from altair.typing import ChartType

    from discreet.curator.fluent import Rows

UNANSWERED: Final = "if it is still being answered, ask again later; else ask it as a new request"


class Curator(Asks):
    """Answers questions about the tables of one policy. Many threads may share it; processes open their own."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        *,
        time_limit: float | None = None,
        pad: float = 0.0,
        progress: Progress | None = None,
        engine: Engine | None = None,
        door: Door = OPEN,
        among: int = 1,
    ) -> None:
        self.policy = policy
        self._ledger = ledger
        self._time_limit = time_limit
        self._pad = pad
        self._door = door
        self._among = among
        self._lock = threading.Lock()
        self._versions = Versions(policy, ledger, progress, among)
        self._given = engine
        self._scratch: Scratch | None = None
        self._plans: dict[object, Plan] = {}
        self._digest = fingerprint(policy)

    # asking

    def answer(self, call: Call) -> Answer:
        """The answer to what a caller says. Data that is read anew in between is asked from the beginning."""
        with suppress(OutdatedError):
            return self._answered(call)
        return self._answered(call)

    def _answered(self, call: Call) -> Answer:
        asked = self._ask(call)
        found = self._known(asked, call)
        if found is not None:
            return found
        self._demand_reachable(asked, call.analyst)
        try:
            return self._bought(asked, call)
        except Repeated as earlier:  # the same request arrived twice at once
            number = earlier.number
        return self._again(asked, number, call.analyst)

    def known(self, call: Call) -> Answer | None:
        """The answer, if it costs nothing and no private data is read for it: kept, public, or an explanation."""
        return self._known(self._ask(call), call)

    def _known(self, asked: Question, call: Call) -> Answer | None:
        analyst = call.analyst
        if asked.plan.explain:
            return explained(self._preview(asked, analyst), self._nothing)
        _confirm(asked.plan)
        if not isinstance(call.fresh, bool):
            raise Refused("cost-invalid", "fresh is True or False", "leave it out to get a kept answer for nothing")
        if not asked.plan.releases:
            return self._answer(asked, Drawn(), self._nothing, self._nothing, "", analyst, cached=False)
        number = None if call.key is None else self._ledger.charged(call.key)
        if number is not None:
            return self._again(asked, number, analyst)
        kept = None if call.fresh else self._kept(asked)
        if kept is None:
            return None
        drawn, bought, receipt = kept
        return self._answer(asked, drawn, self._nothing, bought, receipt, analyst, cached=True)

    def _bought(self, asked: Question, call: Call) -> Answer:
        engine, analyst = self._engine(asked.version), call.analyst
        charge = self._ledger.charge(
            asked.loss,
            why=asked.why,
            analyst=analyst,
            plan=asked.plan.fingerprint,
            data=asked.version,
            part=None if asked.part is None else part_name(asked.part, engine),
            call=asked.told,
            key=call.key,
        )
        drawn = self._charged_draw(asked, charge, engine)
        charge.keep(drawn.encode())
        cost = asked.loss if asked.part is None else charge.increase
        return self._answer(asked, drawn, cost, asked.loss, charge.receipt, analyst, cached=False)

    def _again(self, asked: Question, number: int, analyst: str | None) -> Answer:
        """What was drawn for an earlier charge of the same question, shown again for nothing."""
        _confirm(asked.plan)
        entry, kept = self._ledger.entry(number), self._ledger.kept(number)
        if entry is not None and kept is not None and entry.plan == asked.plan.fingerprint:
            drawn = Drawn.decode(kept.answer)
            if drawn is not None:
                return self._answer(asked, drawn, self._nothing, kept.loss, kept.receipt, analyst, cached=True)
        raise QueryFailed(f"charge {number} has no answer; what it cost stays spent", UNANSWERED)

    def _charged_draw(self, asked: Question, charge: Charge, engine: Engine) -> Drawn:
        """Charge, run, blur, pause. Whatever goes wrong once data was touched is told in one fixed text."""
        try:
            with charge as bits:
                with suppress(Exception), padded(self._pad):
                    return draw(asked.plan, asked.offer.bought, engine, bits, self._door, self._time_limit)
                raise QueryFailed
        except BudgetExhausted as refused:
            told = what_is_left(self.policy, self._ledger, asked, charge, refused)
        raise told

    def foresee(self, call: Call) -> Preview:
        """The preview of what a caller says."""
        asked = self._ask(call)
        found = self._preview(asked, call.analyst)
        if not found.cached:
            self._demand_reachable(asked, call.analyst)
        return found

    def _preview(self, asked: Question, analyst: str | None) -> Preview:
        noises = tuple(noise.noises for noise in asked.offer.bought)
        kept = self._kept(asked) if asked.plan.releases else None
        opened = self._given or self._versions.opened(asked.version)  # a preview makes no copy
        name = None if asked.part is None or opened is None else part_name(asked.part, opened)
        notes = asked.notes
        if name is not None and kept is None:
            cost = cost_words(self._ledger.increase(asked.loss, name), self._guarantee)
            notes = (f"charged now: {cost}, by which the dearest part gets dearer", *notes)
        return Preview(
            question=asked.text,
            columns=asked.plan.columns,
            loss=asked.loss,
            error=errors(asked.plan, noises, asked.confidence),
            confidence=float(asked.confidence),
            groups=asked.plan.groups,
            noise=words(asked.plan, noises),
            shares=asked.offer.told,
            averages=averages(asked.plan, noises, asked.confidence),
            notes=notes,
            cached=kept is not None,
            remaining=self._ledger.remaining(analyst),
            guarantee=self._guarantee,
            more=self._ledger.affordable_count(asked.loss, analyst, name),
        )

    # other ways to ask

    def table(self, name: str) -> Rows:
        """The rows of a table, to ask in Python: `curator.table("visits").where("age > 60").count(epsilon=0.1)`."""
        from discreet.curator.fluent import Rows

        return Rows.of(self, name)

    def fit(
        self, estimator: Any, sql: Any, *, epsilon: Any = None, rho: Any = None, target: str | None = None,
        max_rows: int | None = None, analyst: str | None = None,
    ) -> Any:  # fmt: skip
        """Fit an estimator of `discreet.learn` on the rows of a SELECT: one of each unit, or `max_rows` = k of them.

        k rows cost k times epsilon, or k² times rho. Facts that the estimator leaves out are those of the policy.
        """
        self._check_analyst(analyst)
        self.prepare()
        tables = import_module("discreet.learn.tables")  # by name: it stands above
        lent = tables.Tables(self.policy, self._ledger, self._engine, self._time_limit, self._pad)
        cost = {"epsilon": epsilon, "rho": rho}
        return tables.fit(lent, estimator, sql, **cost, target=target, max_rows=max_rows, analyst=analyst)

    def stored(self, table: str) -> dict[str, str]:
        """The columns of a public table, with the engine's types."""
        if table not in self.policy.tables or not self.policy.tables[table].is_public:
            raise Refused("unknown-table", "that is no public table", "see tables() for what is known of the others")
        return self._engine(self._ledger.data_version).schema(table)

    # looking

    def recall(self, number: int, *, analyst: str | None = None, confidence: Any = None) -> Answer:
        """The answer to the charge of this number, as it was given then. Free: it was paid for."""
        entry = self.entry(number)
        if entry is None or not entry.answered:
            what = "no charge has this number" if entry is None else "this charge was not answered"
            raise Refused("unknown-answer", what, "see the ledger for the charges that were")
        more = {} if confidence is None else {"confidence": confidence}
        with suppress(Refused, QueryFailed):
            asked = self._ask(recorded(self.policy, entry, analyst, **more))
            if asked.plan.fingerprint == entry.plan:
                return self._again(asked, number, analyst)
        raise Refused("answer-gone", "the policy means something else now than for this answer", "ask again")

    def prepare(self) -> None:
        """Make the private copy now if there is none, so that the first question need not wait for it."""
        if self._given is None:
            self._versions.newest()

    def budget(self, analyst: str | None = None) -> Balance:
        """What was granted, is spent and remains: of everybody, or of one analyst."""
        self._check_analyst(analyst)
        return self._ledger.balance(analyst)

    def entries(self, search: Search = ALL, *, limit: int | None = None) -> list[Entry]:
        """The ledger: one entry for each charge, newest last."""
        return self._ledger.entries(search, limit=limit)

    def latest(self, search: Search = ALL, *, limit: int, offset: int = 0) -> list[Entry]:
        """The newest charges, newest first: a page of them, without reading the others."""
        return self._ledger.latest(search, limit=limit, offset=offset)

    def count(self, search: Search = ALL) -> int:
        """How many charges there are."""
        return self._ledger.count(search)

    def spenders(self) -> list[str]:
        """Who charged anything, by name."""
        return self._ledger.spenders()

    def entry(self, number: int) -> Entry | None:
        """The charge of this number; None if there is none."""
        return self._ledger.entry(number) if type(number) is int and 0 < number < 2**63 else None

    def plot(self, theme: str = "light") -> ChartType:
        """An altair chart of what remained of the budget after each charge; `theme` is "light" or "dark"."""
        from discreet.answers.plots import History, budget_chart

        shares = {analyst: self.budget(analyst) for analyst in self.policy.analysts}
        return budget_chart(History.of(self._ledger, ALL), self.budget(), shares, theme)

    def tables(self) -> dict[str, Facts]:
        """What an analyst may know: tables, columns, bounds, keys and limits."""
        return {table.name: Facts.of(table) for table in self.policy.tables.values()}

    def _repr_html_(self) -> str:
        from discreet.curator.portrait import curator_html

        return curator_html(self)

    # parse, plan, cost

    def _ask(self, call: Call) -> Question:
        """What is asked: the data version is read once, so that plan, charge and draw are about the same data."""
        self._check_analyst(call.analyst)
        if is_expression(call.sql):
            call = replace(call, sql=text_of(call.sql), dialect="duckdb")
        with suppress(OutdatedError):
            version = self._ledger.data_version
            return costed(self.policy, call, self._plan(version, call), version)
        version = self._ledger.data_version
        return costed(self.policy, call, self._plan(version, call), version)

    def _demand_reachable(self, asked: Question, analyst: str | None) -> None:
        """Raise unless the errors that are wanted can be paid for."""
        if asked.wanted is not None:
            total, left = self._ledger.balance(analyst).total, self._ledger.remaining(analyst)
            asked.wanted.demand_reachable(self.policy, asked.offer, total, left)

    def _plan(self, version: int, call: Call) -> Plan:
        """The plan of a text; the same text means the same as long as the policy does."""
        if call.dialect is not None and not isinstance(call.dialect, str):
            raise Refused("syntax", "a dialect is a name", 'leave it out, or write dialect="bigquery"')
        known = call.params is None and isinstance(call.sql, str)
        key = (call.sql, call.dialect, call.part, version) if known else None
        found = self._plans.get(key) if key is not None else None
        if found is None:
            public = PublicTables(lambda: self._engine(version))
            found = plan(
                self.policy,
                call.sql,
                public=public,
                digest=self._digest,
                dialect=call.dialect,
                params=call.params,
                part=call.part,
            )
            if public.schemas:
                found = replace(found, schemas=public.schemas)
            if key is not None:
                if len(self._plans) > 1000:
                    self._plans.clear()
                self._plans[key] = found
        return found

    def _check_analyst(self, analyst: object) -> None:
        if analyst is not None and not (isinstance(analyst, str) and analyst in self.policy.analysts):
            known = ", ".join(sorted(self.policy.analysts)) or "there are none"
            raise Refused("unknown-analyst", "there is no such analyst in the policy", f"analysts: {known}")

    def _kept(self, asked: Question) -> tuple[Drawn, Loss, str] | None:
        """The dearest cached answer to the same question, if it is as good as what is asked for."""
        least = None if asked.wanted else asked.loss
        for kept in self._ledger.cached(asked.plan.fingerprint, asked.version, least):
            drawn = Drawn.decode(kept.answer)
            if drawn is not None and asked.satisfied(drawn, kept.loss):
                return drawn, kept.loss, kept.receipt
        return None

    # engines

    def _engine(self, version: int) -> Engine:
        """The engine over this data version."""
        return self._versions.at(version) if self._given is None else self._given

    def _run(self, query: Sql, version: int | None) -> list[tuple[Any, ...]]:
        """A query over public values; where it reads public tables, over those of a data version."""
        with self._lock:
            if self._scratch is None:
                self._scratch = Scratch(self._among)
        engine = self._scratch if version is None else self._engine(version)
        with suppress(Exception):
            return engine.rows(printed(query), self._time_limit)
        raise QueryFailed

    # answers

    def _answer(
        self, asked: Question, drawn: Drawn, loss: Loss, cost: Loss, receipt: str, analyst: str | None, *, cached: bool
    ) -> Answer:
        reads = asked.plan.reads_tables
        shown = Shown(
            asked.plan, drawn, asked.confidence, lambda query: self._run(query, asked.version if reads else None)
        )
        noise = words(asked.plan, drawn.noises)
        return Answer(
            question=asked.text,
            columns=asked.plan.columns,
            rows=shown.rows,
            intervals=shown.intervals,
            confidence=float(asked.confidence),
            loss=loss,
            cost=cost if cost.unit else cost.per(self.policy.unit),  # the plan is of this policy, and so is its unit
            cached=cached,
            receipt=receipt,
            remaining=self._ledger.remaining(analyst),
            noise={label: noise.get(label, "") for label, _ in noisy_items(asked.plan)},
            notes=asked.notes,
            guarantee=self._guarantee,
            kinds={label: expr.domain.kind for label, expr in asked.plan.after.items if expr.domain.kind is not None},
        )

    @property
    def _nothing(self) -> Loss:
        nothing = Pure(0) if self.policy.budget.delta is None else Concentrated(0)
        return nothing.per(self.policy.unit)

    @property
    def _guarantee(self) -> tuple[float, float | None]:
        budget = self.policy.budget
        return float_up(budget.epsilon), None if budget.delta is None else float_up(budget.delta)

    def dummy(self, rows: int = 1000) -> Curator:
        """A curator over made-up rows: the same policy, costs and refusals. Free: nothing private is read."""
        from discreet.curator.dummy import Dummy

        return Dummy(self.policy, rows=rows, time_limit=self._time_limit, among=self._among)

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
        return f"<curator of {self.policy.name}: {', '.join(self.policy.tables)}; ask with query(sql, epsilon=0.1)>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a curator cannot be copied or pickled: open the policy again")


def _confirm(plan: Plan) -> None:
    """Ask the engine's parser, before anything is charged or run, whether it reads what was planned, and can run it."""
    for query in plan.queries:
        confirmed(query)
    rehearse(plan)


def open(  # noqa: A001  (discreet.open is what people write)
    policy: str | PathLike[str],
    *,
    state: str | PathLike[str] | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Curator:
    """The curator of a policy file. `time_limit`: seconds after which a question is given up; it stays charged."""
    found = read(Path(policy))
    if state is not None:
        found = replace(found, state=Path(state))
    return Curator(found, open_ledger(found), time_limit=time_limit, progress=progress)
