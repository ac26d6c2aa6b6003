"""The journal in a SQLite file: durable, for any number of processes of one host, with all that guards the file.

store      the file: transactions, flushes, locks, what happens when files are replaced or processes forked
schema     the table and its indexes
reading    reads beside the lock
files      where a ledger may lie, locks, links, the seal
marks      high-water marks outside of the ledger's folder: a ledger that was rolled back is noticed
watch      what the mark means for a ledger that is opened
verify     recompute everything; backup and restore
"""

from __future__ import annotations

from discreet.ledger.marks import Marks
from discreet.ledger.sqlite.store import Sqlite
from discreet.ledger.sqlite.verify import Report, back_up, restore, verify
from discreet.ledger.watch import Acceptance

__all__ = ["Acceptance", "Marks", "Report", "Sqlite", "back_up", "restore", "verify"]
