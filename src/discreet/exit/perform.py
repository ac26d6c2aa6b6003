"""The way of everything that leaves a private table: bill → cached? → charge on disk → read → noise → keep → show.

What is asked is prepared from text and policy alone (`Prepared`). Only `ReleasePoint` charges and runs it, and only
what an `Exit` let out comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from discreet.composed import Sql
from discreet.errors import BudgetExhausted, QueryFailed
from discreet.exit.bill import Bill
from discreet.exit.consent import demand_confirmed, demand_within
from discreet.exit.cost import Loss
from discreet.exit.exit import Exit, opened
from discreet.exit.progress import TOLD
from discreet.exit.sampler import SAMPLER, Sampler
from discreet.exit.timing import padded
from discreet.ledger import Charge, Ledger, LedgerError, Repeated
from discreet.logs import note
from discreet.tracing import phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

Value = TypeVar("Value")
WRITABLE: Final = "see that the ledger can be written, and that its disk has room; then ask it as a new request"
UNANSWERED: Final = "if it is still being answered, ask again later; else ask it as a new request"


class Reader(Protocol):
    """Private rows, for a task that was charged: exact values, which leave it through its exit alone."""

    def rows(self, query: Sql) -> list[tuple[Any, ...]]: ...

    def columns(self, query: Sql) -> list[NDArray[Any]]: ...


class Prepared(Protocol[Value]):
    """A task with its bill: nothing was read for it."""

    @property
    def bill(self) -> Bill: ...

    def check(self) -> None:
        """Raise if it cannot be run as it is planned: before anything is charged, run or shown again."""

    def ready(self) -> None:
        """Raise if no budget is enough for it: before anything is charged."""

    def rehearse(self) -> None:
        """Raise if a database that computes could not: the last thing before a charge, and no row is read for it."""

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        """Exact rows in; only what the exit gave comes out. It must not raise whatever the rows are."""

    def decode(self, stored: bytes) -> Value | None:
        """What `run` returned, as a value; None if another version of discreet wrote it."""

    def is_met(self, value: Value, cost: Loss) -> bool:
        """Whether a cached value of this cost is as good as what is asked for."""

    def exhausted(self, charge: Charge, refused: BudgetExhausted) -> BudgetExhausted:
        """The refusal of a charge that does not fit the budget, with what to do about it."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What a charge let out, and what it cost."""

    value: Value
    loss: Loss | None
    """What this call cost; None if that is nothing, because the value was cached."""
    cost: Loss
    """What the value was charged for."""
    receipt: str

    @property
    def cached(self) -> bool:
        return self.loss is None

    @property
    def number(self) -> int:
        """Of the charge."""
        return int(self.receipt.split(":")[0])


class ReleasePoint:
    """The one way out, over one ledger."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        sampler: Sampler = SAMPLER,
        pad: float = 0.0,
        time_limit: float | None = None,
        is_limited: bool = False,
    ) -> None:
        self._ledger = ledger
        self._is_limited = is_limited
        """Whether an analyst's task may cost a tenth of the budget at most."""
        self._time_limit = time_limit
        self._sampler = sampler
        self._pad = pad

    def perform(self, task: Prepared[Value], reader: Callable[[], Reader]) -> Outcome[Value]:
        """What the task lets out: cached, or charged, run and kept.

        Theorem  A unit's privacy loss over all calls is at most what the ledger says is spent.
        Proof    Private rows are read inside of the charge's block alone, which begins when the loss is on disk (the
                 theorem of `Ledger`); what leaves it passed an exit that the bill covers (`Exit`, `Bill`), or is one
                 fixed text at one of few moments (`padded`). Everything else is post-processing of that.
        """
        cached = self.cached(task)
        if cached is not None:
            return cached
        self.demand_ready(task)
        demand_confirmed(self._ledger, task.bill)
        task.rehearse()
        try:
            return self._charged(task, reader)
        except Repeated as earlier:  # the same request arrived twice at once
            number = earlier.number
        return self.recalled(task, number)

    def demand_ready(self, task: Prepared[Value]) -> None:
        """Raise if no charge can be for it."""
        task.ready()
        if self._is_limited:
            demand_within(self._ledger, task.bill)

    def cached(self, task: Prepared[Value]) -> Outcome[Value] | None:
        """What was let out before for the same request, or for the same task at this cost or more; None if nothing."""
        task.check()
        bill = task.bill
        request = bill.request
        number = None if request is None else self._ledger.charged(request)
        if number is not None:
            return self.recalled(task, number)
        return None if bill.fresh else self.best_cached(task)

    def best_cached(self, task: Prepared[Value]) -> Outcome[Value] | None:
        """The cached value of the highest cost, if it is as good as what is asked for."""
        bill = task.bill
        for stored in self._ledger.cached(bill.plan, bill.data, None if bill.by_error else bill.loss):
            value = task.decode(stored.answer)
            if value is not None and task.is_met(value, stored.loss):
                return Outcome(value, None, stored.loss, stored.receipt)
        return None

    def recalled(self, task: Prepared[Value], number: int) -> Outcome[Value]:
        """What was let out for an earlier charge of the same task."""
        task.check()
        entry, stored = self._ledger.entry(number), self._ledger.answer(number)
        if entry is not None and stored is not None and entry.plan == task.bill.plan:
            value = task.decode(stored.answer)
            if value is not None:
                return Outcome(value, None, stored.loss, stored.receipt)
        raise QueryFailed(f"charge {number} has no answer; what it cost stays spent", UNANSWERED)

    def _charged(self, task: Prepared[Value], reader: Callable[[], Reader]) -> Outcome[Value]:
        bill = task.bill
        charge = self._ledger.charge(
            bill.loss,
            why=bill.why,
            analyst=bill.analyst,
            plan=bill.plan,
            data=bill.data,
            part=None if bill.part is None else bill.part(),
            blocks=bill.blocks,
            call=bill.call,
            key=bill.request,
        )
        released = self._run(task, charge, reader)
        self._keep(charge, released)
        value = task.decode(released)
        assert value is not None
        return Outcome(value, bill.loss if bill.part is None else charge.increase, bill.loss, charge.receipt)

    def _keep(self, charge: Charge, released: bytes) -> None:
        """Nothing leaves that is not beside its charge; and what was charged is never told as if it had not been."""
        try:
            charge.keep(released)
        except LedgerError as wrong:
            note("ledger-failed", f"ledger: {wrong}")
            raise QueryFailed("the answer could not be kept; what it cost stays spent", WRITABLE) from None

    def _run(self, task: Prepared[Value], charge: Charge, reader: Callable[[], Reader]) -> bytes:
        """Whatever goes wrong once data was touched is told in one fixed text, at the end of the padding.

        What the budget refuses opens nothing: how long that takes depends on rows, and refusals are free to repeat.
        """
        bill = task.bill
        try:
            self._ledger.demand_room(charge)
            rows, seconds = reader(), self._time_limit
            with opened(charge, bill.cost, limit=bill.allowed, sampler=self._sampler, seconds=seconds) as exit_:
                self._tell(task, exit_)
                with suppress(Exception), phase("run"), padded(self._pad):
                    result = task.run(rows, exit_)
                    exit_.demand_open()  # what came too late, from Python or from an engine, comes not at all
                    return result
                raise QueryFailed
        except BudgetExhausted as refused:
            exhausted = task.exhausted(charge, refused)
        raise exhausted

    def _tell(self, task: Prepared[Value], exit_: Exit) -> None:
        """Whoever watches is told what was planned; steps are watched only where the end is not padded (`Progress`)."""
        progress = TOLD.get()
        if progress is not None:
            progress.begin(self._pad, getattr(task, "stages", ()))
            exit_.watch = None if self._pad else progress.steps
