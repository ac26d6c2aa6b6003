"""The journal in a database of PostgreSQL: durable, for curators on several hosts.

schema     the tables, what guards them, and `prepare`, which makes them
session    a connection: what it must be, and what failures are called
store      transactions, flushes, connections that are lost
reading    reads beside the lock
"""

from __future__ import annotations

from discreet.ledger.postgres.session import Address
from discreet.ledger.postgres.store import Postgres

__all__ = ["Address", "Postgres"]
