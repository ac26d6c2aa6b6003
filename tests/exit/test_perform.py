"""The way of a task: cached or charged, run, kept and shown; and what stays spent where something goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting import Pure
from discreet.accounting.losses import Sensitivity
from discreet.accounting.record import Key
from discreet.composed import Sql
from discreet.errors import BudgetExhausted, QueryFailed
from discreet.exit import Bill, Cost, Exit
from discreet.exit.perform import ReleasePoint
from discreet.ledger import Grant, Ledger, LedgerError
from discreet.ledger.charge import Charge
from discreet.ledger.memory import Memory
from tests.exit.test_exit import Clock

KEY = Key("somebody", "a request")
ONE = Sensitivity.cells(1, 1)


@dataclass
class Rows:
    """Private rows, and how often they were read."""

    reads: int = 0

    def rows(self, query: Sql) -> list[tuple[Any, ...]]:  # noqa: ARG002
        self.reads += 1
        return [(5,)]

    def columns(self, query: Sql) -> list[Any]:
        raise NotImplementedError(query)


@dataclass
class Counted:
    """A task that counts, and notes what becomes of it."""

    bill: Bill
    fails: bool = False
    steps: list[str] = field(default_factory=list)

    def check(self) -> None:
        self.steps.append("check")

    def ready(self) -> None:
        self.steps.append("ready")

    def rehearse(self) -> None:
        self.steps.append("rehearse")

    def run(self, rows: Any, exit_: Exit) -> bytes:
        self.steps.append("run")
        exact = rows.rows(None)[0][0]
        if self.fails:
            raise ValueError(f"{exact} is private")
        return str(exit_.release([exact], ONE)[0]).encode()

    def decode(self, kept: bytes) -> int | None:
        return None if kept == b"old" else int(kept)

    def is_met(self, value: int, paid: Any) -> bool:  # noqa: ARG002
        return bool(paid.epsilon >= self.bill.loss.epsilon)  # type: ignore[union-attr]

    def exhausted(self, charge: Charge, refused: BudgetExhausted) -> BudgetExhausted:  # noqa: ARG002
        return BudgetExhausted(refused.reason, "wait")


def task(epsilon: float = 1, **more: Any) -> Counted:
    loss = Pure(Fraction(str(epsilon)))
    return Counted(Bill(**{"loss": loss, "cost": Cost(loss), "why": "how many?", "plan": "count", "data": 1, **more}))


def number(ledger: Ledger) -> int:
    """Of the first charge."""
    return ledger.entries()[0].number


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with Ledger(Memory(), Grant.of(Fraction(3), None), shares={}) as book:
        yield book


def test_what_is_charged_is_kept_and_shown_again_for_nothing(ledger: Ledger) -> None:
    point, rows, first = ReleasePoint(ledger), Rows(), task()
    fresh = point.perform(first, lambda: rows)
    assert first.steps == ["check", "ready", "rehearse", "run"]
    assert (fresh.loss, fresh.cost, fresh.cached, fresh.number) == (Pure(1), Pure(1), False, number(ledger))
    again = point.perform(task(0.5), lambda: rows)
    assert (again.value, again.loss, again.cost, again.cached) == (fresh.value, None, Pure(1), True)
    assert (again.receipt, rows.reads, ledger.count()) == (fresh.receipt, 1, 1)


@pytest.mark.parametrize("other", [{"epsilon": 1.5}, {"fresh": True}, {"plan": "another"}, {"data": 2}], ids=str)
def test_what_is_another_task_costs_more_or_is_wanted_fresh_is_charged(ledger: Ledger, other: dict[str, Any]) -> None:
    point, rows = ReleasePoint(ledger), Rows()
    point.perform(task(), lambda: rows)
    assert not point.perform(task(**other), lambda: rows).cached
    assert (rows.reads, ledger.count()) == (2, 2)


def test_a_request_that_is_sent_twice_is_charged_once(ledger: Ledger) -> None:
    point, rows = ReleasePoint(ledger), Rows()
    asked = task(key=KEY, fresh=True)
    first, second = point.perform(asked, lambda: rows), point.perform(asked, lambda: rows)
    assert (second.value, second.cached, second.number, rows.reads) == (first.value, True, first.number, 1)
    with pytest.raises(QueryFailed, match="has no answer"):
        point.perform(task(key=KEY, plan="another"), lambda: rows)
    assert rows.reads == ledger.count() == 1


def test_two_at_once_with_one_key_are_charged_once(ledger: Ledger) -> None:
    """The other one's request arrives between the look into the cache and the charge."""
    point, rows, asked = ReleasePoint(ledger), Rows(), task(key=KEY)

    class Overtaken(Counted):
        def ready(self) -> None:
            point.perform(asked, lambda: rows)

    late = point.perform(Overtaken(asked.bill), lambda: rows)
    assert (late.cached, rows.reads, ledger.count()) == (True, 1, 1)


def test_what_fails_after_the_charge_has_one_text_and_stays_spent(ledger: Ledger) -> None:
    asked = replace(task(), fails=True)
    with pytest.raises(QueryFailed) as failed:
        ReleasePoint(ledger).perform(asked, Rows)
    assert str(failed.value) == str(QueryFailed())
    assert failed.value.__cause__ is failed.value.__context__ is None
    assert ledger.balance().spent.epsilon == 1
    with pytest.raises(QueryFailed, match="has no answer"):
        ReleasePoint(ledger).recalled(task(), number(ledger))


@pytest.mark.parametrize("after", [False, True], ids=["before its release", "after it"])
def test_what_takes_too_long_is_charged_and_not_shown(
    ledger: Ledger, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed in Python, where no engine can be interrupted: whatever it would have let out, it does not."""
    clock = Clock(monkeypatch)

    class Slow(Counted):
        def run(self, rows: Any, exit_: Exit) -> bytes:
            clock.now += 0 if after else 11
            drawn = super().run(rows, exit_)
            clock.now += 11 if after else 0
            return drawn

    point = ReleasePoint(ledger, time_limit=10)
    with pytest.raises(QueryFailed) as failed:
        point.perform(Slow(task().bill), Rows)
    assert str(failed.value) == str(QueryFailed())
    assert ledger.balance().spent.epsilon == 1
    assert not ledger.entries()[0].answered
    assert not point.perform(task(), Rows).cached, "and the next one in time is another charge"


@pytest.mark.parametrize("key", [None, KEY])
def test_what_the_budget_does_not_cover_is_not_opened(ledger: Ledger, key: Key | None) -> None:
    """Refusals are free: how long it takes to open what is private could be measured as often as somebody likes."""
    opened: list[Rows] = []

    def rows() -> Rows:
        opened.append(Rows())
        return opened[-1]

    with pytest.raises(BudgetExhausted) as refused:
        ReleasePoint(ledger).perform(task(4, key=key), rows)
    assert (refused.value.fix, opened, ledger.count()) == ("wait", [], 0)


def test_an_answer_that_cannot_be_kept_is_told_as_spent(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk may be full between charge and answer: it was told as if nothing had been charged."""
    point, rows, key = ReleasePoint(ledger), Rows(), Key("once", "request")

    def full(*_: object) -> None:
        raise LedgerError("the disk is full", "free some space")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_keep", full)
        with pytest.raises(QueryFailed, match="could not be kept; what it cost stays spent") as failed:
            point.perform(task(key=key), lambda: rows)
    assert failed.value.spent is None
    for _ in range(2):
        with pytest.raises(QueryFailed, match="has no answer; what it cost stays spent"):
            point.perform(task(key=key), lambda: rows)
    assert (ledger.count(), rows.reads) == (1, 1)
    assert not point.perform(task(), lambda: rows).cached


def test_what_another_version_kept_is_drawn_again(ledger: Ledger) -> None:
    charge = ledger.charge(Pure(1), why="how many?", plan="count", data=1)
    with charge:
        pass
    charge.keep(b"old")
    rows = Rows()
    assert not ReleasePoint(ledger).perform(task(), lambda: rows).cached
    assert rows.reads == 1
    with pytest.raises(QueryFailed, match="has no answer"):
        ReleasePoint(ledger).recalled(task(), number(ledger))


def test_a_charge_that_nobody_made_is_not_recalled(ledger: Ledger) -> None:
    with pytest.raises(QueryFailed, match="charge 7 has no answer"):
        ReleasePoint(ledger).recalled(task(), 7)
