"""Names of requests: one that is sent twice is charged once, whoever opened the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Concentrated
from discreet.accounting.record import Key
from discreet.errors import Refused
from discreet.ledger import LedgerError, Repeated, verify
from discreet.ledger.codec import Record
from tests.ledger.helpers import BOTH, CENT, forge, hurried, opened, spend, store_of

MINE = Key("7f-mine", "what is asked")


def number_of(receipt: str) -> int:
    return int(receipt.partition(":")[0])


def test_a_key_is_found_with_its_charge_and_charged_once(path: Path) -> None:
    with hurried(path) as ledger:
        assert ledger.charged(MINE) is None
        spend(ledger, key=Key("another", "question"))
        number = number_of(spend(ledger, key=MINE))
        assert ledger.charged(MINE) == number
        before = ledger.balance()
        with pytest.raises(Repeated) as earlier, ledger.charge(CENT, why="again", key=MINE):
            pytest.fail("the block began")
        assert earlier.value.number == number
        assert ledger.balance() == before
        assert len(ledger.entries()) == 2
    assert verify(path).problems == ()


def test_a_key_that_was_used_for_something_else_is_refused(path: Path) -> None:
    with hurried(path) as ledger:
        spend(ledger, key=MINE)
        other = Key(MINE.name, "something else")
        with pytest.raises(Refused) as looked:
            ledger.charged(other)
        with pytest.raises(Refused) as charged:
            spend(ledger, key=other)
        assert looked.value.code == charged.value.code == "key-reused"
        assert len(ledger.entries()) == 1
        assert ledger.charged(MINE) is not None


def test_keys_outlive_the_ledger_that_wrote_them_and_sensitivity_others(path: Path) -> None:
    with opened(path) as ledger, opened(path) as other:
        assert other.charged(MINE) is None
        number = number_of(spend(ledger, key=MINE))
        assert other.charged(MINE) == number
    with opened(path) as ledger, pytest.raises(Repeated):
        spend(ledger, key=MINE)


def test_a_key_whose_charge_was_refused_is_free_to_use(path: Path) -> None:
    with hurried(path, BOTH) as ledger:
        with pytest.raises(Refused):
            spend(ledger, Concentrated(1000), key=MINE)
        assert ledger.charged(MINE) is None
        spend(ledger, Concentrated(0.001), key=MINE)
        assert ledger.charged(MINE) is not None


def test_a_key_whose_charge_did_not_sensitivity_the_disk_is_free_to_use(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked up inside the failed transaction is forgotten with it."""
    with hurried(path) as ledger:
        spend(ledger)

        def full(*_: Any) -> None:
            raise LedgerError("the disk is full", "make room")

        with monkeypatch.context() as patched:
            patched.setattr(ledger._store, "append", full)
            with pytest.raises(LedgerError, match="full"):
                spend(ledger, key=MINE)
        assert ledger.charged(MINE) is None
        number = number_of(spend(ledger, key=MINE))
        assert ledger.charged(MINE) == number


@pytest.mark.parametrize("name", [MINE.name, "", "ключ 'x\" \\", "\ud800", "\0nul", "ab\0nul"])
def test_a_key_is_found_whatever_its_age_and_its_letters(path: Path, name: str) -> None:
    """By an index: how many records lie between does not matter, also to those who open the ledger later."""
    mine = Key(name, "what is asked")
    with hurried(path) as ledger:
        number = number_of(spend(ledger, key=mine))
        for index in range(30):
            spend(ledger, key=Key(f"later {index}", "question"))
    with hurried(path) as ledger:
        steps = 0

        def count() -> None:
            nonlocal steps
            steps += 1

        ledger.balance()
        store_of(ledger)._connection.set_progress_handler(count, 1)
        assert ledger.charged(mine) == number
        assert steps < 100, "the journal was read"
        assert ledger.charged(Key(name + "\0", "what is asked")) is None
        with pytest.raises(Repeated):
            spend(ledger, key=mine)


def test_of_two_charges_with_one_key_the_first_counts(path: Path) -> None:
    """Discreet writes no such journal; a later record cannot take a key over."""
    with hurried(path) as ledger:
        first = number_of(spend(ledger, key=MINE))
        second = number_of(spend(ledger, key=Key("other", MINE.request)))

    def alike(number: int, record: Record) -> None:
        if number == second:
            record["key"] = MINE.name

    forge(path, alike)
    with hurried(path) as ledger:
        assert ledger.charged(MINE) == first


def test_a_key_that_is_no_text_is_nobody_s(path: Path) -> None:
    with hurried(path) as ledger:
        number = number_of(spend(ledger, key=MINE))

    def spoilt(place: int, record: Record) -> None:
        if place == number:
            record["key"] = [MINE.name]

    forge(path, spoilt)
    with hurried(path) as ledger:
        assert ledger.charged(MINE) is None


def test_an_entry_is_found_by_its_number_and_nothing_else_is(path: Path) -> None:
    with hurried(path) as ledger:
        open_charge = number_of(spend(ledger, why="unanswered", plan="p"))
        nameless = number_of(spend(ledger, why="without a plan"))
        answered = number_of(spend(ledger, why="answered", plan="p", answer=b"42"))
        for entry in ledger.entries():
            assert ledger.entry(entry.number) == entry
        assert [ledger.entry(number).answered for number in (open_charge, nameless, answered)] == [False, False, True]  # type: ignore[union-attr]
        assert ledger.entry(answered + 1) is None, "that is the answer"
        assert ledger.entry(1) is None, "that is the budget"
        assert ledger.entry(10**9) is None
