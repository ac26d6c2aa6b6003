"""Who is charged for a task on the caller's own rows."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting import Pure
from discreet.exit.charges import charge_for
from discreet.ledger import Grant, Ledger, Memory
from discreet.noise import SYSTEM


def test_without_a_ledger_the_caller_accounts() -> None:
    with charge_for(None, Pure(1), "a test") as bits:
        assert bits is SYSTEM


def test_with_a_ledger_the_charge_is_there_when_its_block_begins_and_what_is_free_is_none() -> None:
    with Ledger(Memory(), Grant.of(Fraction(3), None), shares={}) as ledger:
        with charge_for(ledger, Pure(1), "a test"):
            (entry,) = ledger.entries()
            assert (entry.loss, entry.question) == (Pure(1), "a test")
        with charge_for(ledger, Pure(0), "nothing") as bits:
            assert bits is SYSTEM
        assert len(ledger.entries()) == 1
