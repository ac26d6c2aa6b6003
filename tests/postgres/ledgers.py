"""Ledgers in a PostgreSQL that runs: each in a schema of its own, written by a role that appends and reads."""

from __future__ import annotations

import itertools
import os
from functools import partial
from pathlib import Path
from typing import Final

from discreet.ledger.postgres import Address, Postgres
from discreet.ledger.postgres.schema import prepare
from discreet.policy.databases import read_address
from tests.postgres.cluster import Cluster

ROLE: Final = "curator"
_NUMBERS: Final = itertools.count()


def address(cluster: Cluster, schema: str, user: str = ROLE) -> Address:
    return Address(read_address(cluster.address(user=user)), schema, Path())


def prepared(cluster: Cluster) -> Address:
    """A journal that is empty."""
    schema = f"ledger_{os.getpid()}_{next(_NUMBERS)}"
    with cluster.connect() as connection:
        if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchall():
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        assert prepare(connection, schema, ROLE)
    return address(cluster, schema)


def opening(cluster: Cluster) -> partial[Postgres]:
    return partial(Postgres, prepared(cluster))
