"""One charge: the loss is on disk when its block begins, and stays spent."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from discreet.accounting import Concentrated, Loss, Pure
from discreet.ledger.codec import Record
from discreet.ledger.keys import Key
from discreet.ledger.portions import Portion
from discreet.ledger.problems import LedgerError
from discreet.noise import SYSTEM, Bits

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger


@dataclass(slots=True, eq=False)
class Charge:
    """One charge. Entering it spends; it yields the bits to draw noise from; nothing gives it back."""

    ledger: Ledger = field(repr=False)
    loss: Loss
    analyst: str
    why: str
    plan: str | None
    data: int | None
    portion: Portion | None = None
    call: Record | None = None
    key: Key | None = None
    cost: Pure | Concentrated = field(default_factory=lambda: Pure(0))
    """What was spent; nothing until it is."""
    number: int = 0
    digest: str = ""
    settled: bool = False
    paid: bool = False
    refusal: BaseException | None = None
    unused: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __enter__(self) -> Bits:
        if not self.unused.acquire(blocking=False):
            raise LedgerError("this charge was used already", "charge again: every release has a price")
        self.ledger._spend(self)
        return SYSTEM

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No refund, whatever happened."""

    @property
    def receipt(self) -> str:
        """Proof that the ledger once held this charge: a rolled-back ledger does not match it."""
        self._demand_paid()
        return f"{self.number}:{self.digest}"

    def keep(self, answer: bytes) -> None:
        """Put the answer beside its charge, so that the same question can be answered again for nothing."""
        self._demand_paid()
        self.ledger._keep(self, answer)

    def _demand_paid(self) -> None:
        if not self.paid:
            raise LedgerError("nothing was charged here", "enter the charge first")
