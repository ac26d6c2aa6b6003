"""The journal in a SQLite file: durable, for any number of processes of one host, with all that guards the file.

store      the file: transactions, flushes, locks, what happens when files are replaced or processes forked
schema     the table and its indexes
reading    reads beside the lock
files      where a ledger may lie, locks, links, the seal
verify     recompute everything; backup and restore
"""

from __future__ import annotations

from discreet.ledger.sqlite.store import Sqlite
from discreet.ledger.sqlite.verify import UNFINISHED, back_up, restore, unfinished, verify

__all__ = ["UNFINISHED", "Sqlite", "back_up", "restore", "unfinished", "verify"]
