"""Who is charged for a fit on arrays: the ledger that the caller gives, or the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from discreet.errors import Refused
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


class LostLedger:
    """Stands for the ledger of an estimator that was pickled: fitting it again must not be free by accident."""

    def charge(self, *_: object, **__: object) -> NoReturn:
        raise Refused(
            "ledger-lost",
            "the estimator was pickled, and its ledger stayed behind",
            "write set_params(ledger=…), or ledger=None if you account for it yourself",
        )

    def __repr__(self) -> str:
        return "LostLedger()"
