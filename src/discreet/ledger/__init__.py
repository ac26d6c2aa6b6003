"""The ledger: no charge, no noise."""

from __future__ import annotations

from discreet.ledger.acceptance import Acceptance
from discreet.ledger.charge import Charge
from discreet.ledger.entries import Entry, Kept
from discreet.ledger.grant import Amount, Balance, Grant
from discreet.ledger.keys import Key, Repeated
from discreet.ledger.ledger import OWNER, Ledger
from discreet.ledger.marks import Marks
from discreet.ledger.portions import Portion
from discreet.ledger.problems import LedgerDamaged, LedgerError
from discreet.ledger.reading import ALL, Search
from discreet.ledger.verify import Report, back_up, restore, verify

__all__ = [
    "ALL",
    "OWNER",
    "Acceptance",
    "Amount",
    "Balance",
    "Charge",
    "Entry",
    "Grant",
    "Kept",
    "Key",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "Marks",
    "Portion",
    "Repeated",
    "Report",
    "Search",
    "back_up",
    "restore",
    "verify",
]
