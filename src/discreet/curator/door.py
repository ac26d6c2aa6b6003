"""The one door: everything that leaves a private table leaves through here, in this order.

parse → plan → price (text and policy only) → charge (on disk) → run (exact integers) → blur → keep.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from discreet.accounting import Concentrated, Pure
from discreet.accounting.rounding import float_up
from discreet.curator.accuracy import Wanted
from discreet.curator.answers import Answer, Preview
from discreet.curator.draw import OPEN, Door, Engine, draw
from discreet.curator.foretold import averages, errors, words
from discreet.curator.kept import Drawn
from discreet.curator.price import Offer, Price, buy, free, rank_notes
from discreet.curator.public import PublicTables
from discreet.curator.results import Shown, noisy_items
from discreet.curator.state import open_ledger
from discreet.engines.copy import Progress
from discreet.engines.duckdb import DuckDB, Scratch
from discreet.engines.problems import SourceError
from discreet.errors import BudgetExhausted, QueryFailed, Refused
from discreet.exact import number, probability
from discreet.ledger import Balance, Charge, Entry, Ledger
from discreet.policy import Column, Kind, Policy, fingerprint, read
from discreet.sql.plan import Plan, plan

if TYPE_CHECKING:
    from altair.typing import ChartType

Loss = Pure | Concentrated
UNREADABLE: Final = "the tables cannot be read; nothing was charged"


@dataclass(frozen=True, slots=True)
class Facts:
    """What an analyst may know about a table."""

    name: str
    public: bool
    unit: str | None
    columns: Mapping[str, Column]
    max_rows: int
    max_groups: int
    max_rows_per_group: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its plan and its price: nothing was read for it."""

    text: str
    version: int
    """Of the data that it is about."""
    plan: Plan
    offer: Offer
    confidence: Fraction
    wanted: Wanted | None = None
    """The errors that were asked for instead of a price."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer assumes, and what is known of ranks."""
        assumed = () if self.wanted is None else self.wanted.notes(self.offer.bought)
        ranks = rank_notes(self.plan.releases, self.offer.bought, self.confidence)
        return (*self.plan.notes, *assumed, *ranks)

    @property
    def loss(self) -> Loss:
        return self.offer.loss

    def satisfied(self, drawn: Drawn, paid: Loss) -> bool:
        """Whether what was drawn for a price is as good as what is asked for."""
        if self.wanted is None:
            return _covers(paid, self.loss)
        return paid == self.loss or self.wanted.met(drawn.noises)


class Curator:
    """Answers questions about the tables of one policy. Many threads may share it; processes open their own."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        *,
        time_limit: float | None = None,
        progress: Progress | None = None,
        engine: Engine | None = None,
        door: Door = OPEN,
    ) -> None:
        self.policy = policy
        self._ledger = ledger
        self._time_limit = time_limit
        self._progress = progress
        self._door = door
        self._lock = threading.Lock()
        self._engines: dict[int, Engine] = {}
        self._given = engine
        self._scratch: Scratch | None = None
        self._plans: dict[object, Plan] = {}
        self._digest = fingerprint(policy)

    # asking

    def query(
        self,
        sql: str,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        confidence: Any = 0.95,
        params: Mapping[str, object] | None = None,
        analyst: str | None = None,
        fresh: bool = False,
        dialect: str | None = None,
    ) -> Answer:
        """Answer a question: noisy, with intervals, charged. A kept answer of the same price or more is free.

        `EXPLAIN PRIVACY SELECT …` gives its preview as a table, free.
        """
        self._check_analyst(analyst)
        version = self._ledger.data_version  # read once: plan, charge and draw are about the same data
        asked = self._ask(version, sql, epsilon, rho, delta, error, confidence, params, dialect, analyst)
        if asked.plan.explain:
            return self._explained(asked, analyst)
        if not isinstance(fresh, bool):
            raise Refused("price-invalid", "fresh is True or False", "leave it out to get a kept answer for nothing")
        if not asked.plan.releases:
            return self._answer(asked, Drawn(), self._nothing, self._nothing, "", analyst, cached=False)
        if not fresh:
            kept = self._kept(asked, version)
            if kept is not None:
                drawn, bought, receipt = kept
                return self._answer(asked, drawn, self._nothing, bought, receipt, analyst, cached=True)
        engine = self._engine(version)
        charge = self._ledger.charge(
            asked.loss, why=asked.text, analyst=analyst, plan=asked.plan.fingerprint, data=version
        )
        drawn = self._charged_draw(asked, charge, engine, analyst)
        charge.keep(drawn.encode())
        return self._answer(asked, drawn, asked.loss, asked.loss, charge.receipt, analyst, cached=False)

    def _charged_draw(self, asked: Question, charge: Charge, engine: Engine, analyst: str | None) -> Drawn:
        """Charge, run, blur. Whatever goes wrong once data was touched is told in one fixed text."""
        try:
            with charge as bits:
                with suppress(Exception):
                    return draw(asked.plan, asked.offer.bought, engine, bits, self._door, self._time_limit)
                raise QueryFailed
        except BudgetExhausted as refused:
            told = BudgetExhausted(refused.reason, f"{refused.fix}{self._what_is_left_buys(asked, analyst)}")
        raise told

    def _what_is_left_buys(self, asked: Question, analyst: str | None) -> str:
        """The error that the rest of the budget would buy for the same question."""
        left = self._ledger.remaining(analyst)
        price = {"epsilon": left.epsilon} if left.rho is None else {"rho": left.rho}
        try:
            paid = Price.read(self.policy, **price)
            bought = buy(self.policy, paid, asked.plan.releases).bought
        except Refused:
            return ""  # nothing, or next to nothing, is left
        found = errors(asked.plan, tuple(noise.noises for noise in bought), asked.confidence)
        shown = ", ".join(f"{label} ± {half:.4g}" for label, half in found.items())
        return f", which buys {shown}" if shown else ""

    def preview(
        self,
        sql: str,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        error: Any = None,
        confidence: Any = 0.95,
        params: Mapping[str, object] | None = None,
        analyst: str | None = None,
        dialect: str | None = None,
    ) -> Preview:
        """What a question would cost and how exact its answer would be. Free: no data is read."""
        self._check_analyst(analyst)
        version = self._ledger.data_version
        asked = self._ask(version, sql, epsilon, rho, delta, error, confidence, params, dialect, analyst)
        return self._preview(asked, analyst)

    def _preview(self, asked: Question, analyst: str | None) -> Preview:
        noises = tuple(noise.noises for noise in asked.offer.bought)
        kept = self._kept(asked, asked.version) if asked.plan.releases else None
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
            notes=asked.notes,
            cached=kept is not None,
            remaining=self._ledger.remaining(analyst),
            guarantee=self._guarantee,
            more=self._ledger.carries(asked.loss, analyst),
        )

    def _explained(self, asked: Question, analyst: str | None) -> Answer:
        found = self._preview(asked, analyst)
        return Answer(
            question=found.question,
            columns=["column", "error", "noise"],
            rows=[(label, found.error.get(label), found.noise.get(label)) for label in found.columns],
            intervals=[{} for _ in found.columns],
            confidence=found.confidence,
            loss=self._nothing,
            price=found.loss,
            cached=False,
            receipt="",
            remaining=found.remaining,
            noise={},
            notes=(*found.notes, "nothing was asked: this is what the answer would be like"),
            guarantee=found.guarantee,
            kinds={"column": Kind.TEXT, "error": Kind.NUMBER, "noise": Kind.TEXT},
        )

    # looking

    def budget(self, analyst: str | None = None) -> Balance:
        """What was granted, is spent and remains: of everybody, or of one analyst."""
        self._check_analyst(analyst)
        return self._ledger.balance(analyst)

    def entries(self) -> list[Entry]:
        """The ledger: one entry for each charge, newest last."""
        return self._ledger.entries()

    def plot(self, theme: str = "light") -> ChartType:
        """An altair chart of what remained of the budget after each charge; `theme` is "light" or "dark"."""
        from discreet.curator.plots import budget_chart

        shares = {analyst: self.budget(analyst) for analyst in self.policy.analysts}
        return budget_chart(self.entries(), self.budget(), shares, theme)

    def tables(self) -> dict[str, Facts]:
        """What an analyst may know: tables, columns, bounds, keys and limits."""
        return {
            table.name: Facts(
                table.name,
                table.is_public,
                None if table.owner is None else table.owner.column or "row",
                dict(table.columns),
                table.max_rows,
                table.max_groups,
                table.max_rows_per_group,
            )
            for table in self.policy.tables.values()
        }

    # parse, plan, price

    def _ask(
        self,
        version: int,
        sql: object,
        epsilon: object,
        rho: object,
        delta: object,
        error: object,
        confidence: object,
        params: Mapping[str, object] | None,
        dialect: str | None,
        analyst: str | None,
    ) -> Question:
        found = self._plan(version, sql, params, dialect)
        epsilon, rho, delta, error = (
            _agreed(name, given, getattr(found.options, name))
            for name, given in (("epsilon", epsilon), ("rho", rho), ("delta", delta), ("error", error))
        )
        if found.options.confidence is not None:
            confidence = found.options.confidence
        try:
            sure = probability(confidence, "confidence")
        except (TypeError, ValueError) as wrong:
            raise Refused("price-invalid", str(wrong), "give a confidence such as 0.95") from None
        if not found.releases:
            return Question(str(sql), version, found, free(self.policy), sure)
        if error is None:
            price = Price.read(self.policy, epsilon=epsilon, rho=rho, delta=delta)
            return Question(str(sql), version, found, buy(self.policy, price, found.releases), sure)
        if epsilon is not None or rho is not None:
            raise Refused("price-invalid", "a price and a wanted error are two prices", "give one of them")
        wanted = Wanted.read(found, error, sure)
        offer = wanted.offer(self.policy, delta)
        wanted.demand_reachable(
            self.policy, offer, self._ledger.balance(analyst).total, self._ledger.remaining(analyst)
        )
        return Question(str(sql), version, found, offer, sure, wanted)

    def _plan(self, version: int, sql: object, params: Mapping[str, object] | None, dialect: str | None) -> Plan:
        """The plan of a text; the same text means the same as long as the policy does."""
        if dialect is not None and not isinstance(dialect, str):
            raise Refused("syntax", "a dialect is a name", 'leave it out, or write dialect="bigquery"')
        key = (sql, dialect, version) if params is None and isinstance(sql, str) else None
        found = self._plans.get(key) if key is not None else None
        if found is None:
            public = PublicTables(lambda: self._engine(version))
            found = plan(self.policy, sql, public=public, digest=self._digest, dialect=dialect, params=params)
            if key is not None:
                if len(self._plans) > 1000:
                    self._plans.clear()
                self._plans[key] = found
        return found

    def _check_analyst(self, analyst: object) -> None:
        if analyst is not None and not (isinstance(analyst, str) and analyst in self.policy.analysts):
            known = ", ".join(sorted(self.policy.analysts)) or "there are none"
            raise Refused("unknown-analyst", "there is no such analyst in the policy", f"analysts: {known}")

    # kept answers

    def _kept(self, asked: Question, version: int) -> tuple[Drawn, Loss, str] | None:
        """The dearest kept answer to the same question, if it is as good as what is asked for."""
        best: tuple[Drawn, Loss, str] | None = None
        for kept in self._ledger.kept(asked.plan.fingerprint):
            if kept.data_version != version or not (asked.wanted or _covers(kept.loss, asked.loss)):
                continue
            drawn = Drawn.decode(kept.answer)
            if drawn is None or not asked.satisfied(drawn, kept.loss):
                continue
            if best is None or not _covers(best[1], kept.loss):
                best = drawn, kept.loss, kept.receipt
        return best

    # engines

    def _engine(self, version: int) -> Engine:
        """The engine over this data version; the private copy is made if there is none."""
        if self._given is not None:
            return self._given
        with self._lock:
            if version not in self._engines:
                with suppress(SourceError):  # what is wrong with the sources is for the owner's eyes: `discreet check`
                    self._engines[version] = DuckDB(self.policy, version, self._progress)
            if version not in self._engines:
                raise QueryFailed(UNREADABLE, "ask the owner to run `discreet check`")
            if len(self._engines) > 1:
                for old in [other for other in self._engines if other != version]:
                    self._engines.pop(old).close()
            return self._engines[version]

    def _run(self, query: str, version: int | None) -> list[tuple[Any, ...]]:
        """A query over public values; where it reads public tables, over those of a data version."""
        with self._lock:
            if self._scratch is None:
                self._scratch = Scratch()
        engine = self._scratch if version is None else self._engine(version)
        with suppress(Exception):
            return engine.rows(query, self._time_limit)
        raise QueryFailed

    # answers

    def _answer(
        self, asked: Question, drawn: Drawn, loss: Loss, price: Loss, receipt: str, analyst: str | None, *, cached: bool
    ) -> Answer:
        reads = asked.plan.below.reads_tables
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
            price=price,
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
        return Pure(0) if self.policy.budget.delta is None else Concentrated(0)

    @property
    def _guarantee(self) -> tuple[float, float | None]:
        budget = self.policy.budget
        return float_up(budget.epsilon), None if budget.delta is None else float_up(budget.delta)

    # trying

    def dummy(self, rows: int = 1000) -> Curator:
        """A curator over made-up rows: the same policy, prices and refusals. Free: nothing private is read."""
        from discreet.curator.dummy import Dummy

        return Dummy(self.policy, rows=rows, time_limit=self._time_limit)

    # the end

    def close(self) -> None:
        """Close ledger and engines."""
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines.clear()
            if self._scratch is not None:
                self._scratch.close()
                self._scratch = None
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a curator cannot be copied or pickled: open the policy again")


def _agreed(name: str, given: object, written: Fraction | None) -> object:
    """What the call and the text say of the price: one of them, or both the same."""
    if given is None or written is None:
        return written if given is None else given
    try:
        same = number(given, name) == written
    except (TypeError, ValueError):
        same = False
    if not same:
        raise Refused("price-invalid", f"the text and the call say different things about {name}", "say it once")
    return given


def _covers(paid: Loss, wanted: Loss) -> bool:
    """Whether what was paid is at least what is wanted."""
    a, b = paid.concentrated(), wanted.concentrated()
    if isinstance(paid, Pure) and isinstance(wanted, Pure):
        return paid.epsilon >= wanted.epsilon
    return a.rho >= b.rho and a.delta >= b.delta


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
