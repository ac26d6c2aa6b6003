"""One charge: the loss is on disk when its block begins, and stays spent."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn

from discreet.accounting import Concentrated, Loss, Pure, Relation
from discreet.accounting.losses import demand_loss
from discreet.accounting.record import BlockNames, Key, PartName
from discreet.accounting.relations import CODE
from discreet.accounting.rounding import charged
from discreet.errors import Refused
from discreet.ledger.codec import Amounts, Record
from discreet.ledger.grant import Grant
from discreet.ledger.problems import LedgerError
from discreet.noise import SYSTEM, Bits
from discreet.tracing import phase

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger
    from discreet.ledger.state import State

UNSPENT: Final = Pure(0)


@dataclass(slots=True, eq=False)
class Charge:
    """One charge. Entering it spends; it yields the bits to draw noise from; nothing gives it back."""

    ledger: Ledger = field(repr=False)
    loss: Loss
    analyst: str
    why: str
    plan: str | None
    data: int | None
    part: PartName | None = None
    blocks: BlockNames | None = None
    call: Record | None = None
    key: Key | None = None
    increase: Pure | Concentrated = UNSPENT
    """What was spent; nothing until it is. About blocks, the budget was charged when their stream was declared."""
    number: int = 0
    digest: str = ""
    settled: bool = False
    charged: bool = False
    refusal: BaseException | None = None
    costs: tuple[State, Amounts, Amounts] | None = field(default=None, repr=False)
    """What it costs after a journal, and by how much that makes grow what is spent, where that was looked at."""
    unused: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __enter__(self) -> Bits:
        if not self.unused.acquire(blocking=False):
            raise LedgerError("this charge was used already", "charge again: every release has a cost")
        with phase("charge"):
            self.ledger._spend(self)
        return SYSTEM

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No refund, whatever happened."""

    @property
    def receipt(self) -> str:
        """Proof that the ledger once held this charge: a rolled-back ledger does not match it."""
        self._demand_charged()
        return f"{self.number}:{self.digest}"

    def keep(self, answer: bytes) -> None:
        """Put the answer beside its charge, so that the same question can be answered again for nothing."""
        self._demand_charged()
        with phase("keep"):
            self.ledger._keep(self, answer)

    def _demand_charged(self) -> None:
        if not self.charged:
            raise LedgerError("nothing was charged here", "enter the charge first")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a charge cannot be copied or pickled: charge again")


def demand_spendable(loss: Loss, unit: str | None) -> None:
    """Raise unless a ledger of this unit can add the loss to what it holds: all of it is about adding or removing one.

    A ledger that names no unit takes losses about any: it counts them apart and calls no sum of them a guarantee.
    """
    demand_loss(loss)
    if loss.relation is not Relation.ADD_REMOVE:
        raise Refused(
            CODE,
            f"{loss!r} is about {loss.relation.value}, and a ledger adds up losses about {Relation.ADD_REMOVE.value}",
            "use a mechanism that takes the number of units as private, such as BoundedMean without size; "
            "a replace-one loss cannot be converted",
        )
    if unit is not None and loss.unit != unit and not loss.is_zero:
        about = "says nothing about whom it is about" if loss.unit is None else f"is about one {loss.unit!r}"
        raise Refused(
            CODE,
            f"{loss!r} {about}, and the ledger is about one {unit!r}",
            f"write loss.per({unit!r}) if that is its unit, or group(loss, k, unit={unit!r}) if that is k of those",
        )


def cost_of(loss: Loss, grant: Grant) -> Amounts:
    """What the loss adds in the currency of a grant; refused if it has another."""
    if grant.delta is not None and loss.relation is Relation.ADD_REMOVE:
        part = loss.concentrated()
        return charged(part.rho), charged(part.delta)  # as its filter counts it, which fewer steps lead to
    return _cost_of(loss, grant)


@lru_cache(maxsize=1024)
def _cost_of(loss: Loss, grant: Grant) -> Amounts:
    return grant.unlimited.admit(replace(loss, unit=None)).units
