"""The ledger: no charge, no noise."""

from __future__ import annotations

from discreet.ledger.acceptance import Acceptance
from discreet.ledger.charge import Charge
from discreet.ledger.entries import Kept
from discreet.ledger.grant import Grant
from discreet.ledger.keys import Repeated
from discreet.ledger.ledger import OWNER, Ledger
from discreet.ledger.marks import Marks
from discreet.ledger.problems import LedgerDamaged, LedgerError
from discreet.ledger.reading import ALL, Search
from discreet.ledger.verify import Report, back_up, restore, verify

__all__ = [
    "ALL",
    "OWNER",
    "Acceptance",
    "Charge",
    "Grant",
    "Kept",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "Marks",
    "Repeated",
    "Report",
    "Search",
    "back_up",
    "restore",
    "verify",
]
