"""The ledger: no charge, no noise."""

from __future__ import annotations

from discreet.ledger.charge import Charge
from discreet.ledger.entries import CachedAnswer
from discreet.ledger.grant import Grant
from discreet.ledger.inspection import Report
from discreet.ledger.keys import Repeated
from discreet.ledger.ledger import OWNER, Ledger
from discreet.ledger.marks import Marks
from discreet.ledger.memory import Memory
from discreet.ledger.problems import LedgerDamaged, LedgerError
from discreet.ledger.sqlite import Sqlite, back_up, restore, verify
from discreet.ledger.stands import Rest
from discreet.ledger.store import ALL, Search, Store
from discreet.ledger.watch import Acceptance

__all__ = [
    "ALL",
    "OWNER",
    "Acceptance",
    "CachedAnswer",
    "Charge",
    "Grant",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "Marks",
    "Memory",
    "Repeated",
    "Report",
    "Rest",
    "Search",
    "Sqlite",
    "Store",
    "back_up",
    "restore",
    "verify",
]
