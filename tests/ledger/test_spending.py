"""One charge: on disk before its block begins, never given back, and no bits without it."""

from __future__ import annotations

import copy
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Approximate, Concentrated, Pure
from discreet.accounting.conversion import rho_of_pure
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import OWNER, Charge, Grant, Ledger, LedgerDamaged, LedgerError, verify
from discreet.ledger.ledger import MAX_QUERY_LENGTH
from discreet.ledger.sqlite.store import Sqlite
from discreet.noise import SYSTEM
from tests.ledger.helpers import BOTH, CENT, PURE, SHARES, every_act, hurried, opened, rows, spend, store_of
from tests.threads import at_once


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with hurried(path) as opened_:
        yield opened_


def spent(ledger: Ledger) -> float:
    return ledger.balance().spent.epsilon


# the block


def test_the_charge_is_on_disk_when_the_block_begins(ledger: Ledger, path: Path) -> None:
    with ledger.charge(Pure(1), why="how many?", analyst="ann") as bits:
        assert bits is SYSTEM
        with opened(path) as other:
            (entry,) = other.entries()
            assert (entry.analyst, entry.question, entry.loss) == ("ann", "how many?", Pure(1))
            assert not entry.answered
            assert spent(other) == 1
    assert spent(ledger) == 1


def test_nothing_is_spent_until_the_block_begins(ledger: Ledger) -> None:
    charge = ledger.charge(Pure(1), why="q")
    assert spent(ledger) == 0
    assert ledger.entries() == []
    for ask in (lambda: charge.receipt, lambda: charge.keep(b"42")):
        with pytest.raises(LedgerError, match="nothing was charged"):
            ask()
    assert ledger.entries() == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_block_that_fails_stays_charged(ledger: Ledger, path: Path, error: type[BaseException]) -> None:
    charge = ledger.charge(Pure(1), why="q")
    with pytest.raises(error), charge:
        raise error
    assert spent(ledger) == 1
    assert verify(path, [charge.receipt]).sound


def test_a_charge_is_good_for_one_block(ledger: Ledger) -> None:
    charge = ledger.charge(CENT, why="q")
    with charge, pytest.raises(LedgerError, match="used already"):
        charge.__enter__()
    with pytest.raises(LedgerError, match="used already"), charge:
        pytest.fail("the body must not run")
    assert spent(ledger) == 0.01


def test_a_charge_that_was_not_entered_has_cost_nothing_and_shows_nothing_of_the_ledger(ledger: Ledger) -> None:
    charge = ledger.charge(CENT, why="q")
    assert (charge.number, charge.digest, charge.increase) == (0, "", Pure(0))
    assert repr(charge).startswith("Charge(loss=Pure(")
    assert "Ledger" not in repr(charge)
    assert "lock" not in repr(charge).replace("blocks=None", "")


def test_a_refused_charge_cannot_be_tried_again(ledger: Ledger) -> None:
    charge = ledger.charge(Pure(2000), why="q")
    with pytest.raises(BudgetExhausted), charge:
        pytest.fail("the body must not run")
    ledger.raise_budget(Grant.of(Fraction(5000), None), "more")
    with pytest.raises(LedgerError, match="used already"), charge:
        pytest.fail("the body must not run")
    with pytest.raises(LedgerError, match="nothing was charged"):
        charge.keep(b"42")


def test_one_charge_in_the_hands_of_two_threads_gives_bits_once(ledger: Ledger) -> None:
    """Whoever comes second is turned away even while the first waits for the disk."""
    charge = ledger.charge(CENT, why="q")
    outcomes: list[object] = []

    def use() -> None:
        try:
            outcomes.append(charge.__enter__())
        except LedgerError as error:
            outcomes.append(error)

    with ledger._lock:
        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(SYSTEM) == 1
    assert len(outcomes) == 8
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_charge_is_not_copied(ledger: Ledger, again: Callable[[object], object]) -> None:
    charge = ledger.charge(CENT, why="q")
    for _ in range(2):
        with pytest.raises(TypeError, match="a charge cannot be copied or pickled"):
            again(charge)
        if not charge.charged:
            with charge:
                pass
    assert len(ledger.entries()) == 1


# refusals


def test_a_cost_above_what_is_left(ledger: Ledger) -> None:
    spend(ledger, Pure(999.99))
    with pytest.raises(BudgetExhausted, match=r"0\.01 is left"), ledger.charge(Pure(0.011), why="q"):
        pytest.fail("the body must not run")
    spend(ledger, Pure(0.01))
    with pytest.raises(BudgetExhausted, match="only the owner"), ledger.charge(Pure(Fraction(1, 10**24)), why="q"):
        pytest.fail("the body must not run")
    assert spent(ledger) == 1000
    assert len(ledger.entries()) == 2


def test_a_share_is_a_quota_inside_the_cap(ledger: Ledger) -> None:
    spend(ledger, Pure(0.9), analyst="ann")
    with pytest.raises(BudgetExhausted, match=r"0\.1 is left"), ledger.charge(Pure(0.2), why="q", analyst="ann"):
        pytest.fail("the body must not run")
    spend(ledger, Pure(2), analyst="bob")
    spend(ledger, Pure(0.1), analyst="ann")
    assert ledger.balance("ann").remaining.epsilon == 0
    assert ledger.balance("bob").spent.epsilon == 2
    spend(ledger, Pure(996))
    assert spent(ledger) == 999


def test_the_cap_holds_for_shares_too(path: Path) -> None:
    with hurried(path, Grant.of(Fraction(1), None), shares={"ann": Fraction(1), "bob": Fraction(1)}) as ledger:
        spend(ledger, Pure(0.7), analyst="ann")
        with pytest.raises(BudgetExhausted), ledger.charge(Pure(0.7), why="q", analyst="bob"):
            pytest.fail("the body must not run")
        assert ledger.balance("bob").spent.epsilon == 0


@pytest.mark.parametrize("grant", [PURE, BOTH])
def test_a_share_made_smaller_than_what_is_spent_of_it(path: Path, grant: Grant) -> None:
    """Nothing is left of it, and the refusal says so; what costs nothing still costs nothing."""
    with hurried(path, grant, shares={"ann": Fraction(1)}) as ledger:
        spend(ledger, Pure(0.2), analyst="ann")
    with hurried(path, grant, shares={"ann": Fraction(1, 10)}) as ledger:
        assert ledger.balance("ann").remaining.epsilon == 0
        assert ledger.balance("ann").spent.epsilon >= 0.2 or ledger.balance("ann").spent.rho
        with pytest.raises(BudgetExhausted, match="only the owner"), ledger.charge(CENT, why="q", analyst="ann"):
            pytest.fail("the body must not run")
        spend(ledger, Pure(0), analyst="ann")
        spend(ledger, CENT)


def test_an_analyst_called_like_the_owner_has_a_share_all_the_same(path: Path) -> None:
    """A policy refuses the name; a ledger that is given it counts both together rather than neither."""
    with hurried(path, shares={OWNER: Fraction(1), "": Fraction(1)}) as ledger:
        for analyst in (OWNER, ""):
            with pytest.raises(BudgetExhausted), ledger.charge(Pure(2), why="q", analyst=analyst):
                pytest.fail("the body must not run")


def test_an_analyst_whom_the_policy_does_not_know(ledger: Ledger, path: Path) -> None:
    with pytest.raises(Refused, match=r"unknown-analyst: 'eve' .* analysts: ann, bob"):
        ledger.charge(CENT, why="q", analyst="eve")
    with pytest.raises(Refused, match="unknown-analyst"):
        ledger.balance("eve")
    with opened(path, shares={}) as other, pytest.raises(Refused, match="there are none"):
        other.charge(CENT, why="q", analyst="ann")


def test_a_question_that_is_too_long(ledger: Ledger) -> None:
    with pytest.raises(Refused, match="too-complex"):
        ledger.charge(CENT, why="x" * (MAX_QUERY_LENGTH + 1))
    spend(ledger, why="y" * MAX_QUERY_LENGTH)
    assert ledger.entries()[0].question == "y" * MAX_QUERY_LENGTH


def test_a_pure_budget_pays_pure_losses_only(ledger: Ledger) -> None:
    for loss in (Concentrated(0.1), Approximate(0.1, 1e-9)):
        with pytest.raises(Refused, match="cost-invalid"), ledger.charge(loss, why="q"):
            pytest.fail("the body must not run")
    assert ledger.entries() == []


def test_a_concentrated_budget_pays_every_loss(path: Path) -> None:
    with hurried(path, BOTH) as ledger:
        for loss in (Pure(0.1), Concentrated(0.01, 1e-8), Approximate(0.1, 1e-8)):
            spend(ledger, loss)
        balance = ledger.balance()
        paid = [entry.loss for entry in ledger.entries()]
    exact = rho_of_pure(Fraction(1, 10))
    assert paid[1] == Concentrated(0.01, 1e-8)
    for loss in (paid[0], paid[2]):
        assert isinstance(loss, Concentrated)
        assert exact <= loss.rho < exact + Fraction(1, 10**24)
    assert balance.spent.delta == 2e-8
    assert balance.remaining.delta == 4.8e-7


@pytest.mark.parametrize(
    "question", ["\ud800", "\udcff\ud83d", "'; DROP TABLE journal; --", "\x00\n\u2028", "naïve 🦉", '"v":1}', ""]
)
def test_every_text_is_recorded_as_it_is(ledger: Ledger, path: Path, question: str) -> None:
    receipt = spend(ledger, why=question)
    ledger.advance_data(question)
    ledger.raise_budget(PURE, question)
    assert ledger.entries()[0].question == question
    assert verify(path, [receipt]).sound
    with opened(path) as other:
        assert other.entries() == ledger.entries()


def test_the_data_version_of_a_charge(ledger: Ledger) -> None:
    spend(ledger)
    assert ledger.advance_data("a new week") == 2
    spend(ledger)
    spend(ledger, data=1)
    assert [entry.data_version for entry in ledger.entries()] == [1, 2, 1]
    assert ledger.data_version == 2


def test_what_is_shown_is_rounded_to_the_safe_side(path: Path) -> None:
    """A third is not a float: what is spent is shown above it, what remains below, and that can be asked for."""
    with hurried(path, Grant.of(Fraction(1), None)) as ledger:
        for _ in range(2):
            spend(ledger, Pure(Fraction(1, 3)))
        balance = ledger.balance()
        assert Fraction(str(balance.spent.epsilon)) > Fraction(2, 3)
        assert Fraction(str(balance.remaining.epsilon)) < Fraction(1, 3)
        spend(ledger, Pure(balance.remaining.epsilon))


def test_a_closed_ledger_gives_nothing(path: Path) -> None:
    ledger = opened(path)
    waiting = ledger.charge(CENT, why="q")
    ledger.close()
    ledger.close()
    for act in every_act(ledger, waiting):
        with pytest.raises(LedgerError, match="closed → open it again"):
            act()


# interrupted and failing commits


class Broken(Exception):  # noqa: N818
    """Something that nobody expects."""


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, *, after: int = 0) -> Iterator[None]:
    """A method of the store that raises, at its so-and-so-manieth call."""
    original, left = getattr(Sqlite, name), [after]

    def fails(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise error
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Sqlite, name, fails)
        yield


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Broken(), MemoryError(), LedgerError("no", "never")])
@pytest.mark.parametrize(("name", "after"), [("append", 0), ("transaction", 0), ("last", 0), ("_unmoved", 0)])
def test_an_interrupted_charge_leaves_nothing(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, name: str, after: int
) -> None:
    receipts = [spend(ledger)]
    charge = ledger.charge(CENT, why="interrupted")
    with failing(monkeypatch, name, error, after=after), pytest.raises(type(error)), charge:
        pytest.fail("the body must not run")
    with pytest.raises(LedgerError, match="nothing was charged"):
        _ = charge.receipt
    assert spent(ledger) == 0.01
    receipts.append(spend(ledger))
    assert [entry.question for entry in ledger.entries()].count("interrupted") == 0
    assert verify(path, receipts).problems == ()


def test_an_interrupt_after_the_commit_leaves_charged_not_answered(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge = ledger.charge(CENT, why="interrupted")
    with failing(monkeypatch, "_unmoved", KeyboardInterrupt(), after=1), pytest.raises(KeyboardInterrupt), charge:
        pytest.fail("the body must not run")
    assert spent(ledger) == 0.01
    spend(ledger)
    assert [entry.question for entry in ledger.entries()] == ["interrupted", "SELECT COUNT(*) FROM patients"]
    assert verify(path).sound


def test_a_signal_handler_that_spends_while_its_thread_writes(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, and the charge that it interrupted is made."""
    original, outcomes = Sqlite.append, []
    paid = ledger.charge(CENT, why="before")
    with paid:
        pass

    def interrupted(self: Sqlite, *arguments: Any) -> None:
        monkeypatch.setattr(Sqlite, "append", original)
        signal.raise_signal(signal.SIGUSR1)
        original(self, *arguments)

    def handler(*_: object) -> None:
        acts: list[Any] = [lambda: spend(ledger), lambda: ledger.advance_data("x"), lambda: paid.keep(b"x")]
        for act in acts:
            try:
                act()
            except LedgerError as error:
                outcomes.append(str(error))

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        monkeypatch.setattr(Sqlite, "append", interrupted)
        spend(ledger, why="outer")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(outcomes) == 3
    assert all("being written by this thread" in outcome for outcome in outcomes)
    assert [entry.question for entry in ledger.entries()] == ["before", "outer"]
    assert ledger.data_version == 1


def test_a_charge_that_got_lost_in_an_interrupt_gives_no_bits(ledger: Ledger) -> None:
    """Ctrl-C while the main thread takes the charges of others off the queue: they learn that nothing was charged."""

    class Leaky(deque[Charge]):
        """Loses what is taken from it."""

        def popleft(self) -> Charge:
            self.clear()
            raise KeyboardInterrupt

        def __len__(self) -> int:
            return 1 if super().__len__() else 0

    ledger._waiting = Leaky()
    outcomes = crowd(ledger, [ledger.charge(CENT, why="q") for _ in range(4)])
    assert [type(outcome) for outcome in outcomes].count(KeyboardInterrupt) == 1
    lost = [outcome for outcome in outcomes if not isinstance(outcome, KeyboardInterrupt)]
    assert len(lost) == 3
    assert all(str(outcome) == "the ledger was interrupted; nothing was released → ask again" for outcome in lost)
    assert ledger.entries() == []


# group commit


def crowd(ledger: Ledger, charges: list[Charge]) -> list[BaseException | None]:
    """Threads that all wait when the lock becomes free: what each of them got, None for its bits."""
    outcomes: dict[int, BaseException | None] = {}

    def use(index: int) -> None:
        try:
            with charges[index] as bits:
                assert bits is SYSTEM
            outcomes[index] = None
        except BaseException as error:
            outcomes[index] = error

    threads = [threading.Thread(target=use, args=(index,)) for index in range(len(charges))]
    with ledger._lock:
        for thread in threads:
            thread.start()
        while deque.__len__(ledger._waiting) < len(charges):  # whatever length it says
            time.sleep(0)
    for thread in threads:
        thread.join()
    return [outcomes[index] for index in range(len(charges))]


def test_those_who_wait_are_charged_in_one_transaction(ledger: Ledger, path: Path) -> None:
    begun: list[str] = []
    store_of(ledger)._connection.set_trace_callback(begun.append)
    charges = [ledger.charge(CENT, why=str(index)) for index in range(16)]
    assert crowd(ledger, charges) == [None] * 16
    store_of(ledger)._connection.set_trace_callback(None)
    assert begun.count("COMMIT") == 1
    assert len({charge.number for charge in charges}) == 16
    by_number = {entry.number: entry.question for entry in ledger.entries()}
    assert [by_number[charge.number] for charge in charges] == [str(index) for index in range(16)]
    assert verify(path, [charge.receipt for charge in charges]).sound


def test_in_a_crowd_each_is_refused_for_itself(ledger: Ledger) -> None:
    charges = [ledger.charge(Pure(0.3), why="q", analyst="ann") for _ in range(8)]
    charges += [ledger.charge(Concentrated(1), why="q"), ledger.charge(Pure(1), why="q")]
    outcomes = crowd(ledger, charges)
    assert outcomes.count(None) == 3 + 1
    assert outcomes[-1] is None
    assert [type(outcome) for outcome in outcomes].count(BudgetExhausted) == 5
    assert isinstance(outcomes[-2], Refused)
    assert ledger.balance("ann").spent.epsilon == 0.9
    assert len({id(outcome) for outcome in outcomes if outcome}) == 6


@pytest.mark.parametrize("error", [LedgerDamaged("torn", "mend it"), KeyboardInterrupt(), Broken()])
@pytest.mark.parametrize(("name", "after"), [("append", 0), ("append", 5), ("transaction", 0), ("_unmoved", 1)])
def test_when_the_transaction_fails_nobody_gets_bits(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, name: str, after: int
) -> None:
    """Also those who would have been refused anyway keep their refusal; an interrupt reaches one thread as itself."""
    charges = [ledger.charge(CENT, why=str(index)) for index in range(8)]
    charges.append(ledger.charge(Concentrated(1), why="q"))
    with failing(monkeypatch, name, error, after=after):
        outcomes = crowd(ledger, charges)
    assert None not in outcomes
    if isinstance(error, LedgerError):
        assert all(type(outcome) is LedgerDamaged for outcome in outcomes[:-1])
        assert len({id(outcome) for outcome in outcomes}) == 9
    else:
        assert [type(outcome) for outcome in outcomes].count(type(error)) == 1
        others = [outcome for outcome in outcomes[:-1] if type(outcome) is not type(error)]
        assert all(isinstance(other, LedgerError) and "interrupted" in str(other) for other in others)
    committed = name == "_unmoved"
    assert len(ledger.entries()) == 8 * committed
    for charge in charges:
        with pytest.raises(LedgerError):
            charge.keep(b"42")
    spend(ledger)
    assert verify(path).problems == ()
    assert len(rows(path)) == 2 + 8 * committed + 1


@pytest.mark.parametrize("durable", [False, True])
def test_sixteen_threads(path: Path, durable: bool) -> None:
    """Exact sum, none lost, each charge with its own record; the last ones find the budget empty."""
    grant = Grant.of(Fraction(3), None)
    ledger = opened(path, grant, shares=SHARES) if durable else hurried(path, grant)
    receipts: list[str] = []
    refused: list[int] = []

    def work() -> None:
        for _ in range(25):
            try:
                receipts.append(spend(ledger))
            except BudgetExhausted:
                refused.append(1)

    assert at_once(16, work) == [None] * 16
    balance = ledger.balance()
    ledger.close()
    assert (balance.spent.epsilon, balance.remaining.epsilon) == (3, 0)
    assert (len(receipts), len(set(receipts)), len(refused)) == (300, 300, 100)
    report = verify(path, receipts)
    assert report.problems == ()
    assert report.charges == 300


def test_the_tighter_limit_speaks(path: Path) -> None:
    """What a refusal offers is there: whichever of the budget and the share has less left says how much."""
    with opened(path, Grant.of(Fraction(1), None), shares={"ann": Fraction(1, 2)}) as ledger:
        with pytest.raises(BudgetExhausted) as refused, ledger.charge(Pure(2), why="q", analyst="ann"):
            pass
        assert "0.5 is left" in refused.value.reason
        with ledger.charge(Pure(Fraction(3, 4)), why="q"):
            pass
        with pytest.raises(BudgetExhausted) as refused, ledger.charge(Pure(2), why="q", analyst="ann"):
            pass
        assert "0.25 is left" in refused.value.reason
