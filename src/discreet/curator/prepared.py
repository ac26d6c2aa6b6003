"""A query with its plan and its bill, from text and policy alone; run through the exit, shown as an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from discreet.answers import Answer, Preview
from discreet.answers.call import Call, written
from discreet.answers.layout import cost_words
from discreet.composed import Sql
from discreet.curator.parts import part_name, why
from discreet.curator.rest import what_is_left
from discreet.curator.task import Context
from discreet.engines.printed import confirmed
from discreet.engines.rehearsal import demand_runnable
from discreet.errors import BudgetExhausted, Edit, Refused
from discreet.exact import number, probability
from discreet.exit import Bill, Cost, Exit, Outcome, Reader
from discreet.exit.consent import unconfirmed
from discreet.exit.cost import Loss
from discreet.ledger import Charge, Rest
from discreet.policy import Policy
from discreet.sql.accuracy import Wanted
from discreet.sql.cache import NoisyMeasures
from discreet.sql.cost import Allocation, allocate, free, rank_notes
from discreet.sql.draw import draw
from discreet.sql.expected_error import Drawn, averages, errors, explained, rank_errors, words
from discreet.sql.intervals import Known
from discreet.sql.plan import Plan
from discreet.sql.released import with_nothing
from discreet.sql.results import Shown, noisy_labels

COSTS: Final = ("epsilon", "rho", "error")
"""Of these one says what a query costs."""
PLAIN: Final = frozenset({type(None), int, float, Fraction, Decimal})
"""Types of costs that are looked up: what equals one of another type need not mean the same."""
FEW: Final = 1000
"""Rows of an answer that are held to be shown again."""


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query with its plan and its bill: nothing was read for it."""

    context: Context
    plan: Plan
    allocation: Allocation
    confidence: Fraction
    bill: Bill
    text: str
    wanted: Wanted | None = None
    """The errors that were asked for instead of a cost."""
    call: Call | None = None

    @property
    def is_public(self) -> bool:
        return self.plan.explain or not self.plan.releases

    @property
    def loss(self) -> Loss:
        return self.allocation.loss

    # before the charge

    def check(self) -> None:
        """Ask the engine's parser whether it reads what was planned, and can run it: once for a plan."""
        self.plan.memo.once("checked", self._check)

    def _check(self) -> None:
        plan = self.plan
        for query in plan.queries:
            confirmed(query)
        demand_runnable(plan.policy, plan.digest, self._empty_queries, plan.schemas)

    def rehearse(self) -> None:
        """Ask the database that computes, where one does, whether it can."""
        self.context.demand_planned(self._empty_queries, self.plan.schemas)

    @property
    def _empty_queries(self) -> Iterator[Sql]:
        return (with_nothing(self.plan, query) for query in self.plan.queries)

    def ready(self) -> None:
        """Raise unless the errors that are wanted can be had for what the budget allows."""
        if self.wanted is not None:
            ledger, analyst = self.context.ledger, self.bill.analyst
            total, left = ledger.balance(analyst).total, self.context.remaining(analyst)
            policy = self.context.policy
            is_limited = policy.max_cost is None and analyst is not None and self.bill.blocks is None
            most = ledger.grant.tenth if is_limited else None
            self.wanted.demand_reachable(policy, self.allocation, total, left, most)

    def exhausted(self, charge: Charge, refused: BudgetExhausted) -> BudgetExhausted:
        part = None if self.call is None else self.call.part
        return what_is_left(self.context.policy, self.context.ledger, self, part, charge, refused)

    # the charge

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        return draw(self.plan, self.allocation, rows, exit_).encode()

    def decode(self, stored: bytes) -> NoisyMeasures | None:
        return NoisyMeasures.decode(stored)

    def is_met(self, value: NoisyMeasures, cost: Loss) -> bool:
        """Whether what was drawn for a cost is as good as what is asked for."""
        if self.wanted is None:
            return cost.covers(self.loss)
        return cost == self.loss or self.wanted.met(value.noises)

    # after it

    def show_public(self, preview: Callable[[], Preview]) -> Answer:
        nothing = self._nothing
        if self.plan.explain:
            return explained(preview(), nothing)
        self.check()
        return self._answer(NoisyMeasures(), nothing, nothing, "", cached=False)

    def show(self, outcome: Outcome[NoisyMeasures]) -> Answer:
        loss = self._nothing if outcome.loss is None else outcome.loss
        return self._answer(outcome.value, loss, outcome.cost, outcome.receipt, cached=outcome.cached)

    def _answer(self, drawn: NoisyMeasures, loss: Loss, cost: Loss, receipt: str, *, cached: bool) -> Answer:
        plan, context = self.plan, self.context
        shown, rest = self._table(drawn, receipt if cached else ""), self._rest()
        return Answer(
            question=self.text,
            columns=plan.columns,
            rows=list(shown.rows),
            intervals=[dict(each) for each in shown.intervals],
            confidence=float(self.confidence),
            loss=loss,
            cost=cost if cost.unit else cost.per(context.policy.unit),  # the plan is of this policy, and so is its unit
            cached=cached,
            receipt=receipt,
            remaining=rest.remaining,
            used=rest.used,
            more=rest.more,
            noise=dict(shown.noise),
            notes=(*self._assumed, *shown.notes),
            ranks=dict(shown.ranks),
            guarantee=plan.memo.once("guarantee", lambda: context.guarantee),
            kinds={label: expr.domain.kind for label, expr in plan.after.items if expr.domain.kind is not None},
            words=plan.words,
            buckets=plan.buckets,
        )

    def _table(self, drawn: NoisyMeasures, receipt: str) -> Table:
        """What noisy numbers are shown as. The last cached answer of a plan is held, by its receipt: whether it may be
        shown was asked of the ledger.
        """
        plan, context, key = self.plan, self.context, (receipt, self.confidence, self.allocation)
        if receipt and not plan.reads_tables and plan.memo.last is not None and plan.memo.last[0] == key:
            held: Table = plan.memo.last[1]
            return held
        version = context.version if plan.reads_tables else None
        shown = Shown(plan, drawn, self.confidence, lambda query: context.compute(query, version))
        table = Table(shown.rows, shown.intervals, *self._described(drawn.noises))
        if receipt and table.can_be_held:
            plan.memo.last = key, table
        return table

    def _described(self, noises: Drawn) -> tuple[dict[str, str], dict[str, int], list[str]]:
        """The noise of each column in words, and what is known of ranks: held for the last allocation of a plan."""
        plan, allocation, key = self.plan, self.allocation, (noises, self.confidence)
        held = plan.memo.described
        if held is None or held[0] is not allocation or held[1] != key:
            texts, ranks = words(plan, noises), rank_errors(plan, allocation, self.confidence)
            labels = {label: texts.get(label, "") for label in noisy_labels(plan)}
            held = plan.memo.described = allocation, key, (labels, ranks, self._rank_notes)
        described: tuple[dict[str, str], dict[str, int], list[str]] = held[2]
        return described

    @property
    def _nothing(self) -> Loss:
        """The loss of what is free, which follows from the plan's policy."""
        return self.plan.memo.once("nothing", lambda: self.context.nothing)

    def _rest(self) -> Rest:
        """What is left now, and how many more queries of this cost fit."""
        context, bill = self.context, self.bill
        if bill.part is None and context.chosen is None:
            return context.ledger.rest(bill.loss, bill.analyst)
        more = None if bill.loss.is_zero else self._more()
        return Rest(context.remaining(bill.analyst), context.used(bill.analyst), more)

    def _more(self) -> int | None:
        """How many more queries of this cost fit; of a part, if its data is open."""
        opened = self.bill.part is None or self.context.opened() is not None
        name = self.bill.part() if self.bill.part is not None and opened else None
        return self.context.affordable_count(self.bill.loss, self.bill.analyst, name) if opened else None

    def preview(self, *, cached: bool) -> Preview:
        """What it would cost, and the error to expect. It makes no copy of the data."""
        plan, context, noises = self.plan, self.context, self.allocation.noises
        name, notes, size = None, self.notes, None if self.wanted is None else self.wanted.group_size
        opened = context.opened() if self.bill.part is not None else None
        if opened is not None and self.bill.part is not None:
            name = self.bill.part()
            if not cached:
                cost = cost_words(context.ledger.increase(self.loss, name), context.guarantee)
                notes = (f"charged now: {cost}, by which the maximum over all parts grows", *notes)
        much = unconfirmed(context.ledger, self.bill) if self.bill.part is None or opened is not None else None
        if much is not None and not cached:
            notes = (*notes, f"it would use {much} of what is left: to run it, say confirm=True")
        return Preview(
            question=self.text,
            columns=plan.columns,
            loss=self.loss,
            error=errors(plan, noises, self.confidence, size),
            confidence=float(self.confidence),
            groups=plan.groups,
            noise=words(plan, noises),
            shares=self.allocation.by_words,
            averages=averages(plan, noises, self.confidence, size),
            notes=(*notes, *self.context.policy.retention.notes),
            cached=cached,
            remaining=context.remaining(self.bill.analyst),
            used=context.used(self.bill.analyst),
            guarantee=context.guarantee,
            more=context.affordable_count(self.loss, self.bill.analyst, name),
            ranks=rank_errors(plan, self.allocation, self.confidence),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer assumes, and what is known of ranks."""
        return (*self._assumed, *self._rank_notes)

    @property
    def _assumed(self) -> tuple[str, ...]:
        return (*self.context.notes, *self.plan.notes, *(() if self.wanted is None else self.wanted.notes))

    @property
    def _rank_notes(self) -> list[str]:
        return rank_notes(self.plan.releases, self.allocation, self.confidence)


@dataclass(frozen=True, slots=True)
class Table:
    """Noisy numbers as they are shown."""

    rows: Sequence[tuple[Any, ...]]
    intervals: Sequence[Mapping[str, Known]]
    noise: Mapping[str, str]
    ranks: Mapping[str, int]
    notes: Sequence[str]
    """What is known of ranks, in words."""

    @property
    def can_be_held(self) -> bool:
        """Whether it is small, and nobody who has it can change it: lists could be."""
        return len(self.rows) <= FEW and not any(isinstance(value, list) for row in self.rows for value in row)


def prepared(context: Context, call: Call, plan: Plan) -> PreparedQuery:
    """A query with its bill, or a refusal."""
    sure = _confidence(call.confidence if plan.options.confidence is None else plan.options.confidence)
    allocation, wanted = _allocated(context.policy, call, plan, sure)
    part = call.part
    bill = Bill(
        loss=allocation.loss,
        cost=allocation.cost,
        why=why(str(call.sql), part),
        plan=plan.fingerprint,
        **context.about,
        analyst=call.analyst,
        call=written(call),
        key=call.key,
        by_error=wanted is not None,
        confirmed=_chosen(call, plan),
        fresh=call.fresh,
        part=None if part is None else lambda: part_name(part, context.engine()),
    )
    return PreparedQuery(context, plan, allocation, sure, bill, str(call.sql), wanted, call)


def _allocated(policy: Policy, call: Call, plan: Plan, confidence: Fraction) -> tuple[Allocation, Wanted | None]:
    """The cost that is named, or that of the errors that are wanted, and how it is shared.

    It follows from plan, policy and what the caller says: what names a cost and no error is computed once.
    """
    named = (call.epsilon, call.rho, call.delta)
    is_plain = call.error is call.group_size is None and all(type(each) in PLAIN for each in named)
    if not is_plain or policy is not plan.policy or plan.options.error is not None:
        return _allocation(policy, call, plan, confidence)
    key = tuple((type(each), each) for each in named)
    return plan.memo.once(key, lambda: _allocation(policy, call, plan, confidence))


def _allocation(policy: Policy, call: Call, plan: Plan, confidence: Fraction) -> tuple[Allocation, Wanted | None]:
    given = {name for name in COSTS if getattr(call, name) is not None}
    in_text = {name for name in COSTS if getattr(plan.options, name) is not None}
    if given and in_text and given != in_text:
        raise _twice("a cost")
    epsilon, rho, delta, error, size = (
        _agreed(name, getattr(call, name), getattr(plan.options, name))
        for name in ("epsilon", "rho", "delta", "error", "group_size")
    )
    if not plan.releases:
        return free(policy), None
    if error is None:
        if size is not None:
            raise Refused("cost-invalid", "group_size belongs to a wanted error", "leave it out, or give error")
        private = any(release.private_keys for release in plan.releases)
        cost = Cost.read(policy, epsilon=epsilon, rho=rho, delta=delta, private_keys=private)
        return allocate(policy, cost, plan.releases), None
    if epsilon is not None or rho is not None:
        raise Refused("cost-invalid", "a cost and a wanted error are two costs", "give one of them")
    wanted = Wanted.read(plan, error, confidence, size)
    allocation = wanted.allocation(policy, delta)
    wanted.demand_group_size(allocation)
    return allocation, wanted


def _chosen(call: Call, plan: Plan) -> bool:
    """Whether the caller agreed to a cost that is found."""
    if not isinstance(call.confirm, bool):
        raise Refused("cost-invalid", "confirm is True or False", "leave it out to be asked")
    return call.confirm or bool(plan.options.confirm)


def _confidence(given: object) -> Fraction:
    try:
        return _probability(given) if type(given) is float else probability(given, "confidence")
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "give a confidence such as 0.95") from None


@lru_cache(maxsize=64)
def _probability(given: float) -> Fraction:
    """Most callers ask for 0.95."""
    return probability(given, "confidence")


def _agreed(name: str, given: object, written: Fraction | int | None) -> object:
    """What the call and the text say of the cost: one of them, or both the same."""
    if given is None or written is None:
        return written if given is None else given
    try:
        same = number(given, name) == written
    except (TypeError, ValueError):
        same = False
    if not same:
        raise _twice(name)
    return given


def _twice(what: str) -> Refused:
    reason = f"the text and the call say different things about {what}"
    return Refused("cost-twice", reason, "say it once", edit=Edit(arguments=dict.fromkeys(COSTS)))
