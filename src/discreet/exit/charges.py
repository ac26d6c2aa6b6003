"""Who is charged for a task on the caller's own rows: the ledger that the caller gives, or the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from discreet.exit.cost import Loss
from discreet.noise import SYSTEM, Bits


def charge_for(ledger: Any, loss: Loss, why: str) -> AbstractContextManager[Bits]:
    """A charge that is on disk when its block begins; without a ledger, a block in which the caller accounts."""
    if ledger is None or loss.is_zero:
        return _uncharged()
    charge: AbstractContextManager[Bits] = ledger.charge(loss, why=why)
    return charge


@contextmanager
def _uncharged() -> Iterator[Bits]:
    yield SYSTEM
