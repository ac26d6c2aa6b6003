"""What an owner does is a line of the chain: with its reason, both values, its time; and it is read in order."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Pure
from discreet.answers.story import story
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import Grant, Ledger, LedgerDamaged, LedgerError, Memory, Search, verify
from discreet.ledger.codec import Record
from discreet.ledger.ledger import TOTALS_EVERY
from discreet.ledger.memory import Journal
from discreet.ledger.windows import Window, window_read
from tests.ledger.helpers import BOTH, filled, forge, hurried, opened, rows, spend

OLD = Path(__file__).parents[1] / "fixtures" / "format2" / "ledger.sqlite"
TEN = Grant.of(Fraction(10), None)
FIRST: dict[str, Any] = {"unit": {"name": "person"}, "tables": {"t": {"max_rows": 2}}, "budget": {"epsilon": 1}}


def ledger(journal: Journal, grant: Grant = TEN, **facts: Any) -> Ledger:
    return Ledger(Memory(journal), grant, shares={"ann": Fraction(4)}, protected="p", **facts)


def kinds(book: Ledger) -> list[str]:
    return [event.kind for event in book.events()]


# budgets, data, tokens


def test_a_budget_is_recorded_with_both_values_its_reason_and_its_time() -> None:
    with ledger(Journal()) as book:
        book.raise_budget(Grant.of(Fraction(12), None), "a second year")
        first, _, raised = book.events()
    assert "before" not in first.fields
    assert first.at
    assert (raised.kind, raised.fields["before"]["epsilon"], raised.fields["epsilon"]) == ("budget", "10", "12")
    assert raised.fields["reason"] == "a second year"
    assert first.at <= raised.at


def test_events_are_read_by_number_in_either_order() -> None:
    with ledger(Journal()) as book:
        spend(book, answer=b"1")
        book.advance_data("a new week")
        book.note_token("made", "ab12cd34", "analyst", "ann")
        assert kinds(book) == ["budget", "epoch", "data", "token"]
        numbers = [event.number for event in book.events()]
        assert [each.number for each in book.events(newest_first=True, limit=2)] == numbers[:1:-1]
        assert [each.number for each in book.events(after=numbers[0], before=numbers[3])] == numbers[1:3]
        token = book.events()[-1]
    assert token.fields == {"act": "made", "id": "ab12cd34", "role": "analyst", "analyst": "ann"}


# policies


def test_what_changed_in_a_policy_is_recorded_once_with_both_values() -> None:
    journal = Journal()
    changed = {"unit": {"name": "visit"}, "tables": {"t": {"max_rows": 5}}, "budget": {"epsilon": 7}}
    for document in (FIRST, FIRST, changed, changed):
        ledger(journal, document=document).close()
    with ledger(journal, document=changed) as book:
        events = [event for event in book.events() if event.kind == "epoch"]
    assert [event.fields["changes"] for event in events] == [
        {},
        {"tables.t.max_rows": [2, 5], "unit.name": ["person", "visit"]},
    ]
    assert events[1].fields["policy"] == changed


def test_a_policy_of_another_budget_alone_is_no_change() -> None:
    journal = Journal()
    ledger(journal, document=FIRST).close()
    with ledger(journal, document={**FIRST, "budget": {"epsilon": 2, "delta": 0.1}}) as book:
        assert kinds(book) == ["budget", "epoch"]


def test_a_ledger_of_before_policies_were_recorded_gets_one() -> None:
    journal = Journal()
    ledger(journal).close()
    with ledger(journal, document=FIRST) as book:
        assert [event.fields.get("changes") for event in book.events()] == [None, None, {}]


# withdrawals


def test_a_withdrawn_answer_is_read_by_nobody(path: Path) -> None:
    with hurried(path) as book:
        first = int(spend(book, plan="p", answer=b"1", analyst="ann").split(":")[0])
        spend(book, plan="p", answer=b"2")
        spent = book.balance().spent
        book.withdraw(first, "asked by mistake")
        assert book.withdrawn(first)
        assert not book.withdrawn(first + 2)
        assert book.answer(first) is None
        assert [kept.answer for kept in book.cached("p", 1)] == [b"2"]
        assert [entry.answered for entry in book.entries()] == [False, True]
        assert book.count(Search(answered=False)) == 1
        assert book.balance().spent == spent
        event = book.events()[-1]
        assert (event.kind, event.fields["charge"], event.fields["withdrawn"]) == (
            "withdrawn",
            first,
            "asked by mistake",
        )
        assert event.fields["analyst"] == "ann"
        for number, code in ((first, "answer-gone"), (1, "unknown-answer"), (10**6, "unknown-answer")):
            with pytest.raises(Refused) as refused:
                book.withdraw(number, "again")
            assert refused.value.code == code
    assert verify(path).problems == ()
    with opened(path) as again:
        assert again.withdrawn(first)


def test_no_answer_follows_one_that_was_withdrawn() -> None:
    with ledger(Journal()) as book:
        charge = book.charge(Pure(1), why="SELECT 1", plan="p")
        with charge:
            charge.keep(b"1")
        book.withdraw(charge.number, "wrong")
        with pytest.raises(LedgerError, match="was withdrawn"):
            charge.keep(b"2")
        assert book.answer(charge.number) is None


@pytest.mark.parametrize("reason", ["", "  ", "x" * 2001])
def test_a_reason_is_needed(reason: str) -> None:
    with ledger(Journal()) as book:
        spend(book, plan="p", answer=b"1")
        with pytest.raises(Refused) as withdrawn:
            book.withdraw(3, reason)
        with pytest.raises(Refused) as window:
            book.open_window(2, 2, reason)
        assert withdrawn.value.code == window.value.code == "reason-missing"
        assert book.answer(3) is not None


# windows


def test_a_window_lets_the_budget_be_spent_again_and_all_of_it_adds_up(path: Path) -> None:
    with hurried(path, TEN, shares={"ann": Fraction(4)}) as book:
        spend(book, Pure(4), analyst="ann")
        spend(book, Pure(6))
        with pytest.raises(BudgetExhausted):
            spend(book, Pure(1))
        book.open_window(2, 3, "a new year")
        assert book.remaining().epsilon == 10
        assert book.remaining("ann").epsilon == 4
        assert book._newest.spent == (10 * 10**24,)
        spend(book, Pure(4), analyst="ann")
        with pytest.raises(BudgetExhausted):
            spend(book, Pure(1), analyst="ann")
        spend(book, Pure(5))
        with pytest.raises(BudgetExhausted):
            spend(book, Pure(2))
        assert book._newest.spent == (19 * 10**24,)
        life = book.balance().lifetime
        assert life is not None
        assert (life.window, life.most, life.spent.epsilon, life.total.epsilon) == (2, 3, 19, 20)
        assert book.balance("ann").lifetime is None
        assert "over all 2 windows everybody is protected with ε 20 at most; ε 19 of it is spent" in str(book.balance())
        assert [book.ever(most).epsilon for most in (None, 2, 3)] == [20, 20, 30]
        book.open_window(3, 3, "the last year")
        assert book.balance().remaining.epsilon == 10  # what window 2 left is not carried over
        with pytest.raises(Refused) as refused:
            book.open_window(4, 3, "one more")
        assert refused.value.code == "no-more-windows"
    assert verify(path).problems == ()
    with opened(path, TEN) as again:
        assert again._newest.window.number == 3
        assert again.balance().spent.epsilon == 0


def test_a_window_is_opened_once_whoever_repeats_the_command() -> None:
    journal = Journal()
    with ledger(journal) as one, ledger(journal) as other:
        one.open_window(2, 4, "a new year")
        for number in (2, 1, 4, 0):
            with pytest.raises(Refused) as refused:
                other.open_window(number, 4, "a new year")
            assert refused.value.code == "not-the-next-window"
        assert kinds(other).count("window") == 1
        with pytest.raises(Refused) as refused:
            other.open_window(3, None, "no max_windows in the policy")
        assert refused.value.code == "no-more-windows"


def test_the_budget_of_a_window_is_not_below_what_the_window_spent() -> None:
    with ledger(Journal()) as book:
        spend(book, Pure(10))
        book.open_window(2, 2, "a new year")
        spend(book, Pure(3))
        book.raise_budget(Grant.of(Fraction(3), None), "less")
        assert book.remaining().epsilon == 0
        with pytest.raises(LedgerError, match="spent already"):
            book.raise_budget(Grant.of(Fraction(2), None), "too little")


def test_windows_of_a_budget_with_delta_add_rho_and_delta() -> None:
    with Ledger(Memory(Journal()), BOTH, shares={}, protected="p") as book:
        spend(book, Pure(Fraction(1, 2)))
        book.open_window(2, 2, "a new year")
        spend(book, Pure(Fraction(1, 2)))
        life = book.balance().lifetime
        assert life is not None
        assert life.total.rho == pytest.approx(2 * BOTH.limits[0] / 10**24)
        assert life.total.delta == pytest.approx(2e-6)
        assert 3 < life.total.epsilon < 6
        assert life.spent.rho == pytest.approx(2 * book.balance().spent.rho)  # type: ignore[operator]
        assert "δ 2e-06) at most" in str(book.balance())
        assert book.ever(3).rho == pytest.approx(3 * BOTH.limits[0] / 10**24)


def test_a_pure_ledger_with_windows_may_get_a_delta() -> None:
    with ledger(Journal()) as book:
        spend(book, Pure(2), analyst="ann")
        book.open_window(2, 3, "a new year")
        spend(book, Pure(1), analyst="ann")
        book.raise_budget(Grant.of(Fraction(20), Fraction(1, 10**6)), "a delta")
        state = book._newest
        assert len(state.window.spent) == len(state.used()) == 2
        assert 0 < state.used("ann")[0] < state.share("ann")[0]


# somebody who knows the format


@pytest.mark.parametrize(("number", "most", "known"), [
    (1, 4, False), (2, 4, True), (4, 4, True), (5, 4, False), (1, 1, False), (True, 4, False), ("2", 4, False),
    (2, 4.0, False),
])  # fmt: skip
def test_a_window_that_is_on_record_is_one_after_the_first(number: Any, most: Any, known: bool) -> None:
    """Totals name a window only where one was opened: with number 1 they would begin the count anew."""
    record = Window(2, 4, (1,), (1,), {"ann": (1,)}).fields() | {"number": number, "most": most}
    if known:
        assert window_read(record).number == number
        return
    with pytest.raises(ValueError, match="numbered"):
        window_read(record)


def full(path: Path) -> None:
    with hurried(path, TEN) as book:
        spend(book, plan="p", answer=b"1")
        book.note_token("made", "ab12cd34", "analyst", "ann")
        book.withdraw(3, "wrong")
        book.open_window(2, 4, "a new year")


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("token", {"act": "stolen"}),
        ("token", {"id": 7}),
        ("token", {"analyst": 7}),
        ("answer", {"withdrawn": 7}),
        ("answer", {"at": None}),
        ("answer", {"v": 1}),
        ("window", {"number": 3}),
        ("window", {"number": "2"}),
        ("window", {"most": 1}),
        ("window", {"most": True}),
        ("window", {"spent": ["0"]}),
        ("window", {"granted": ["0"]}),
        ("window", {"shares": {"bob": ["1"]}}),
        ("window", {"used": ["1"]}),
        ("window", {"reason": None}),
        ("window", {"at": 7}),
    ],
)
def test_acts_that_do_not_add_up_are_found(path: Path, kind: str, edit: Record) -> None:
    full(path)
    assert verify(path).problems == ()

    def forged(_: int, record: Record) -> None:
        if record["kind"] == kind and (kind != "answer" or "withdrawn" in record):
            record.update(edit)

    forge(path, forged)
    assert not verify(path).sound
    with pytest.raises(LedgerDamaged):
        opened(path, TEN)


def test_a_policy_that_is_not_its_digest_is_found(path: Path) -> None:
    Ledger.open(path, TEN, shares={}, document=FIRST).close()

    def forged(_: int, record: Record) -> None:
        if record["kind"] == "epoch":
            record["policy"]["tables"]["t"]["max_rows"] = 9

    forge(path, forged)
    with pytest.raises(LedgerDamaged, match="does not add up"):
        Ledger.open(path, TEN, shares={}, document=FIRST)


def test_an_answer_after_its_withdrawal_is_found(path: Path) -> None:
    full(path)

    def forged(_: int, record: Record) -> None:
        if "withdrawn" in record:
            record["charge"] = 4  # the answer to charge 3 is not withdrawn; a record that is no charge is

    forge(path, forged)
    assert not verify(path).sound


# resuming


def many(book: Ledger) -> None:
    while book._state.head < TOTALS_EVERY:
        book._append("data", {"version": book._state.data + 1, "reason": ""})


def test_totals_repeat_policy_window_and_withdrawals(path: Path) -> None:
    with Ledger.open(path, Grant.of(Fraction(1000), None), shares={}, document=FIRST) as book:
        spend(book, plan="p", answer=b"1")
        book.withdraw(3, "wrong")
        book.open_window(2, 3, "a new year")
        while book._state.head < TOTALS_EVERY:
            book._write(
                lambda: [book._append("data", {"version": book._state.data + 1, "reason": ""}) for _ in range(99)]
            )
        state = book._newest
    assert verify(path).problems == ()
    with Ledger.open(path, Grant.of(Fraction(1000), None), shares={}, document=FIRST) as again:
        assert again._newest == state
        assert again.withdrawn(3)
        assert again._newest.window.number == 2
        assert again._newest.policy == state.policy is not None
    totals = [line for _, line, *_ in rows(path) if '"kind":"totals"' in line]
    assert totals
    assert all('"v":4' in line for line in totals)


@pytest.mark.parametrize("edit", [{"v": 3}, {"policy": None, "window": None, "withdrawn": None, "v": 4}])
def test_totals_say_their_version(path: Path, edit: Record) -> None:
    filled(path, 900)

    def forged(_: int, record: Record) -> None:
        if record["kind"] == "totals":
            for key, value in edit.items():
                record.pop(key, None) if value is None else record.update({key: value})

    forge(path, forged)
    assert not verify(path).sound


def test_a_ledger_of_format_2_is_opened_read_and_continued(path: Path) -> None:
    """It was written by the last discreet that knew no story: its events have no times, and nothing is forgotten."""
    for ending in ("", ".seal"):
        shutil.copyfile(OLD.with_name(f"ledger.sqlite{ending}"), path.with_name(f"ledger.sqlite{ending}"))
    path.chmod(0o600)
    assert verify(path).problems == ()
    with Ledger.open(path, Grant.of(Fraction(4), None), shares={"ann": Fraction(1)}, protected="other people") as book:
        assert [(event.kind, event.at) for event in book.events()] == [
            (kind, "") for kind in ("budget", "epoch", "budget", "data", "budget", "epoch")
        ]
        assert [told.words for told in story(book.events())] == [
            "the budget is ε 3",
            "the policy protects other tables, or another unit",
            "the budget is ε 5",
            "the data was read anew: version 2",
            "the budget is ε 4",
            "the policy protects other tables, or another unit",
        ]
        assert book.balance().spent.epsilon == 1.5
        assert [kept.answer for kept in book.cached("p", 1)] == [b"41"]
        book.withdraw(3, "wrong")
        book.open_window(2, 2, "a new year")
        assert book.remaining().epsilon == 4
    assert verify(path).problems == ()
