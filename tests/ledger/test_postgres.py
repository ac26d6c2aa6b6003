"""The ledger in PostgreSQL: all that every store keeps, and what its own schema adds. The server is a real one."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

import pytest

from discreet.ledger import Memory
from tests.contracts import test_stores as contract
from tests.contracts.test_stores import HISTORY, STORES, Opening, ledger, live_on, read, spend
from tests.postgres import ledgers
from tests.postgres.cluster import Cluster


@pytest.fixture
def opening(postgres: Cluster) -> Opening:
    return ledgers.opening(postgres)


def _takes_a_store(test: Any) -> bool:
    return inspect.isfunction(test) and "opening" in inspect.signature(test).parameters


globals().update(
    {name: test for name, test in vars(contract).items() if name.startswith("test_") and _takes_a_store(test)}
)


def test_it_says_what_other_stores_say(opening: Opening) -> None:
    with contextlib.ExitStack() as stack:
        said = []
        for open_ in (opening, STORES[Memory](stack)):
            with ledger(open_) as book:
                for facts in HISTORY:
                    spend(book, **facts)
                live_on(book)
                said.append(read(book))
        assert said[0] == said[1]
