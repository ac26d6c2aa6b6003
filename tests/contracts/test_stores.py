"""What every store of a ledger keeps, whichever it is. The table must name all of them: none can dodge."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

import discreet.ledger
from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import Key, PartName
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import ALL, Grant, Ledger, LedgerError, Memory, Repeated, Search, Sqlite, Store
from discreet.ledger.codec import GENESIS, encode, link
from discreet.ledger.entries import LOOKED_AT
from discreet.ledger.memory import Journal
from discreet.ledger.postgres import Postgres
from discreet.ledger.postgres.retaining import OwnedPostgres
from discreet.ledger.state import State
from discreet.ledger.store import Inspected
from tests.ledger.conftest import in_memory

Opening = Callable[[], Store]
"""Opens one journal, as often as it is called."""


def in_a_file(stack: ExitStack) -> Opening:
    return partial(Sqlite, stack.enter_context(in_memory()) / "ledger.sqlite")


def in_the_process(stack: ExitStack) -> Opening:  # noqa: ARG001
    return partial(Memory, Journal())


STORES: Final[dict[type[Store], Callable[[ExitStack], Opening]]] = {Sqlite: in_a_file, Memory: in_the_process}
TEN: Final = Grant.of(Fraction(10), None)
SHARES: Final = {"ann": Fraction(4), "bob": Fraction(10)}


def test_all_stores_are_in_the_table() -> None:
    wanted = {name for name in vars(Store) if not name.startswith("_")}
    found = set()
    for module in pkgutil.walk_packages(discreet.ledger.__path__, "discreet.ledger."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind not in (Store, Inspected) and wanted - {"closed", "reader", "openings"} <= set(dir(kind)):
                found.add(kind)
    assert found == set(STORES) | {Postgres, OwnedPostgres}  # the same tests for it are in `tests.ledger.test_postgres`


@pytest.fixture(params=STORES, ids=lambda kind: kind.__name__)
def opening(request: pytest.FixtureRequest) -> Iterator[Opening]:
    with ExitStack() as stack:
        yield STORES[request.param](stack)


def ledger(opening: Opening, grant: Grant = TEN) -> Ledger:
    return Ledger(opening(), grant, shares=SHARES, protected="p")


def spend(book: Ledger, loss: int | Fraction = 1, answer: bytes | None = None, **facts: Any) -> int:
    charge = book.charge(Pure(loss), **{"why": "SELECT 1", **facts})
    with charge:
        if answer is not None:
            charge.keep(answer)
    return charge.number


# what is written is read


HISTORY: Final[list[dict[str, Any]]] = [
    {"why": "SELECT Ünits", "plan": "p", "answer": b"1"},
    {"why": "select units", "analyst": "ann", "plan": "p", "loss": Fraction(1, 2), "answer": b"2"},
    {"why": "SELECT \udc80 x", "analyst": "bob", "plan": "q"},
    {"why": "part A", "plan": "p", "part": PartName("w", "A", 1), "loss": Fraction(3, 4), "answer": b"3"},
    {"why": "part B", "plan": "p", "part": PartName("w", "B", 1), "loss": Fraction(3, 4), "answer": b"\x00" * 99},
    {"why": "again", "plan": "p", "answer": b"5"},
    {"why": "with a key", "key": Key("kéy \udc80", "request"), "call": {"epsilon": 1}},
    {"why": "no plan", "answer": b"6"},
]
SEARCHES: Final = [
    Search(*each)
    for each in product((None, "ann", "owner"), ("", "UNITS", "ünits", "part"), (None, True, False), (0, 5))
]


def read(book: Ledger) -> list[object]:
    """All that can be read of a ledger, but for times and hashes."""

    def shown(entry: Any) -> tuple[object, ...]:
        return (
            entry.number,
            entry.analyst,
            entry.question,
            entry.loss,
            entry.cost,
            entry.answered,
            entry.plan,
            entry.part,
        )

    pages = [
        [book.count(search), *map(shown, book.entries(search)), *map(shown, book.latest(search, limit=2, offset=1))]
        for search in SEARCHES
    ]
    cached = [
        [(kept.charge, kept.answer, kept.loss) for kept in book.cached(plan, data, least)]
        for plan, data, least in product(("p", "q", "z"), (1, 2), (None, Pure(Fraction(1, 2)), Pure(1), Pure(2)))
    ]
    numbers = range(-1, 25)
    answers = [None if kept is None else kept.answer for kept in map(book.answer, numbers)]
    entries = [None if entry is None else entry.number for entry in map(book.entry, numbers)]
    key = HISTORY[6]["key"]
    found = (book.events(), book.events(after=1, before=20, limit=2, newest_first=True))
    named = ("id", "host", "home")  # by where it lies
    events = [
        [(event.number, event.kind, {**event.fields, **dict.fromkeys(named)}) for event in each] for each in found
    ]
    standing = [book.charged(key), book.balance(), book.balance("ann"), book.data_version]
    return [events, pages, cached, answers, entries, standing]


def live_on(book: Ledger) -> None:
    """What owners do, and one charge more."""
    book.advance_data("new rows")
    spend(book, plan="p", answer=b"7")
    book.note_token("made", "ab12cd34", "owner", None)
    book.withdraw(next(entry.number for entry in book.entries() if entry.answered), "wrong")
    book.open_window(2, 2, "a new year")


def test_all_stores_say_the_same() -> None:
    """After the same charges, also when they are opened again."""
    said = []
    for make in STORES.values():
        with ExitStack() as stack:
            opening = make(stack)
            with ledger(opening) as book:
                for facts in HISTORY:
                    spend(book, **facts)
                before = read(book)
            with ledger(opening) as book:
                assert read(book) == before
                live_on(book)
                said.append((before, read(book)))
    assert all(each == said[0] for each in said)
    assert said[0][0][5][0] is not None  # type: ignore[index]


def test_records_are_in_order_and_in_reach(opening: Opening) -> None:
    with ledger(opening) as book:
        for _ in range(3):
            spend(book, answer=b"x")
        store = book._store
        rows = list(store.rows())
        assert [number for number, _, _ in rows] == list(range(1, 9))
        assert store.last() == (8, rows[-1][2])
        assert list(store.rows(3, 5)) == rows[2:5]
        assert list(store.rows(8)) == rows[7:]
        assert list(store.rows(9)) == list(store.rows(5, 4)) == []
        assert State.replayed(rows) == book._state


def test_an_answer_that_was_changed_is_not_told(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    with ledger(opening) as book:
        number = spend(book, answer=b"true")
        charge, answer = book._store.reader.pair(number) or ((), ())
        monkeypatch.setattr(type(book._store.reader), "pair", lambda *_: (charge, (*answer[:3], b"false", answer[4])))
        with pytest.raises(LedgerError, match="was changed"):
            book.answer(number)


# all or nothing


def record(store: Store, text: str = "x") -> tuple[int, str, str]:
    number, digest = store.last() or (0, GENESIS)
    line = encode("epoch", {"protected": text, "name": ""})
    return number + 1, line, link(digest, line)


@pytest.mark.parametrize("failure", [KeyError, KeyboardInterrupt, LedgerError])
def test_a_transaction_that_fails_leaves_nothing(opening: Opening, failure: type[BaseException]) -> None:
    with ledger(opening) as book:
        store, before = book._store, list(book._store.rows())

        def fail() -> None:
            store.append(*record(store))
            store.append(*record(store))
            assert store.last() == (before[-1][0] + 2, list(store.rows())[-1][2])
            raise failure("in the middle")

        with pytest.raises(failure), store.transaction(lambda: book._state):
            fail()
        assert list(store.rows()) == before
        spend(book)
        assert book.count() == 1


def test_a_batch_of_which_one_record_fails_charges_nobody(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    with ledger(opening) as book:
        plain, left = book._store.append, [1]

        def failing(*row: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise LedgerError("the disk is full")
            plain(*row)

        batch = [book.charge(Pure(1), why="q") for _ in range(3)]
        monkeypatch.setattr(book._store, "append", failing)
        book._settle(batch)
        monkeypatch.undo()
        assert not any(charge.charged for charge in batch)
        assert all(isinstance(charge.refusal, LedgerError) for charge in batch)
        assert (book.count(), book.balance().spent.epsilon) == (0, 0)


def test_a_thread_does_not_begin_within_its_own_transaction(opening: Opening) -> None:
    with ledger(opening) as book:
        state = book._state
        with book._store.transaction(lambda: state):
            book._store.append(*record(book._store))
            with pytest.raises(LedgerError, match="being written"), book._store.transaction(lambda: state):
                raise AssertionError
        assert (book._store.last() or (0, ""))[0] == state.head + 1


def test_a_key_is_charged_once_also_within_one_transaction(opening: Opening) -> None:
    with ledger(opening) as book:
        batch = [book.charge(Pure(1), why="q", key=Key("k", "same")) for _ in range(2)]
        batch.append(book.charge(Pure(1), why="q", key=Key("k", "other")))
        book._settle(batch)
        assert [charge.charged for charge in batch] == [True, False, False]
        assert isinstance(batch[1].refusal, Repeated)
        assert isinstance(batch[2].refusal, Refused)
        assert book.charged(Key("k", "same")) == batch[0].number


# many at once


def test_whoever_reads_waits_for_nobody_and_sees_whole_transactions(opening: Opening) -> None:
    with ledger(opening) as book:
        spend(book)
        begun, read_ = threading.Event(), threading.Event()

        def write() -> None:
            with book._store.transaction(lambda: book._state):
                fields = {"analyst": "ann", "question": "q", "plan": None, "data": 1, "loss": ["0"], "at": ""}
                line = encode("charge", fields)
                number, digest = book._store.last() or (0, GENESIS)
                book._store.append(number + 1, line, link(digest, line))
                begun.set()
                assert read_.wait(300)

        writer = threading.Thread(target=write)
        writer.start()
        assert begun.wait(300)
        seen = book.count(ALL), len(book.latest(limit=9))
        read_.set()
        writer.join()
        assert seen == (1, 1)
        assert book.count() == 2


def test_two_openings_share_one_budget(opening: Opening) -> None:
    with ledger(opening) as one, ledger(opening) as two:
        spend(one, 6, key=Key("k", "r"))
        with pytest.raises(BudgetExhausted):
            spend(two, 5)
        assert two.charged(Key("k", "r")) == 3
        spend(two, 4)
        assert one.balance() == two.balance()
        assert one.balance().remaining.epsilon == 0
        one.raise_budget(Grant.of(Fraction(12), None), "more")
        spend(two, 2)
        assert [entry.number for entry in one.entries()] == [3, 4, 6]


def test_threads_of_two_openings_never_exceed_the_budget(opening: Opening) -> None:
    with ledger(opening) as one, ledger(opening) as two:
        paid: list[int] = []

        def work(book: Ledger) -> None:
            for _ in range(20):
                try:
                    paid.append(spend(book, Fraction(1, 8), b"x"))
                except BudgetExhausted:
                    return

        workers = [threading.Thread(target=work, args=(book,)) for book in (one, two) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(paid) == len(set(paid)) == 80
        assert one.balance().remaining.epsilon == 0
        assert State.replayed(one._store.rows()).spent == TEN.limits


def test_a_journal_that_lost_a_record_is_not_spent_from(opening: Opening) -> None:
    """Another opening knows a record that is not there any more."""
    with ledger(opening) as book:
        spend(book)
        known = book._state
        book._state = State(known.head + 1, "0" * 64, known.grant, known.spent)
        with pytest.raises(LedgerError, match="gone or another"):
            spend(book)
        book._state = known


# the end


def test_a_closed_store_gives_nothing(opening: Opening) -> None:
    book = ledger(opening)
    spend(book)
    book.close()
    book.close()
    assert book._store.closed
    for act in (lambda: spend(book), book.count, book.balance, book.entries, lambda: book.answer(3)):
        with pytest.raises(LedgerError, match="closed"):
            act()
    with ledger(opening) as again:
        assert again.count() == 1


def test_a_ledger_that_cannot_begin_closes_its_store(opening: Opening) -> None:
    ledger(opening).close()
    store = opening()
    with pytest.raises(LedgerError, match="the policy grants"):
        Ledger(store, Grant.of(Fraction(11), None), shares={}, protected="p")
    assert store.closed


def test_answers_need_no_flush_and_are_read_at_once(opening: Opening) -> None:
    with ledger(opening) as book, book._store.relaxed():
        number = spend(book, answer=b"42")
        kept = book.answer(number)
        assert kept is not None
        assert kept.answer == b"42"


def test_a_path_opens_the_store_that_is_durable(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite", TEN, shares={}) as book:
        assert isinstance(book._store, Sqlite)


def test_of_many_cached_answers_a_few_are_looked_at_the_most_accurate_first(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger(opening) as book:
        for tenth in range(1, 11):
            spend(book, Fraction(tenth, 10), plan="p", answer=b"x")
        costs = [Pure(Fraction(tenth, 10)) for tenth in range(10, 0, -1)]
        assert [cached.loss for cached in book.cached("p", 1)] == costs[:LOOKED_AT]
        assert list(book.cached("p", 1, Concentrated(1))) == []  # of another currency
        monkeypatch.setattr(type(book._store.reader), "pair", lambda *_: None)  # gone since it was looked for
        assert list(book.cached("p", 1)) == []


def test_records_are_written_inside_of_transactions_only(opening: Opening) -> None:
    with ledger(opening) as book:
        before = list(book._store.rows())
        with pytest.raises(LedgerError):
            book._store.append(*record(book._store))
        assert list(book._store.rows()) == before


def test_whoever_has_closed_a_ledger_reads_no_more(tmp_path: Path) -> None:
    with ledger(partial(Sqlite, tmp_path / "ledger.sqlite")) as book:
        spend(book)
        reader = book._store.reader
    with pytest.raises(LedgerError, match="closed"):
        reader.charge(2)


def test_a_journal_that_forgets_forgets_plans_too() -> None:
    journal = Journal(capacity=2_000)
    with ledger(partial(Memory, journal)) as book:
        for number in range(20):
            spend(book, Fraction(1, 10), plan=f"plan {number}", answer=b"x" * 100)
    left = {numbers[0] for numbers in journal.plans.values()}
    assert 0 < len(left) < 20
    assert left <= journal.records.keys()
    sizes = [len(stored.line) + len(stored.answer or b"") for stored in journal.records.values()]
    assert journal.size == sum(sizes) <= 2_000
    assert Journal().size == 0


def test_a_journal_that_forgets_holds_megabytes_first() -> None:
    store = Memory.bounded()
    with ledger(lambda: store) as book:
        for number in range(3):
            spend(book, Fraction(1, 10), plan=f"plan {number}", answer=b"x" * 2**20)
        assert len(store._journal.plans) == 3


def test_the_newest_charge_comes_first_and_a_share_leaves_no_more_than_the_budget_does(opening: Opening) -> None:
    with ledger(opening) as book:
        spend(book, Fraction(1), analyst="ann")
        spend(book, Fraction(5), analyst="bob")
        assert [entry.analyst for entry in book.latest(limit=1)] == ["bob"]
        assert book.remaining("ann").epsilon == 3  # of a share of 4
        assert book.remaining("bob").epsilon == 4  # of a share of 10, but no more is left of the budget
        assert book.remaining().epsilon == 4
