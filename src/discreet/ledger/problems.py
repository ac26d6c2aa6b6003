"""What can go wrong with a ledger. All of it fails closed: no charge, no answer."""

from __future__ import annotations

from discreet.printing import lines_of


class LedgerError(Exception):
    """The ledger could not be used; nothing was released."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason, fix)
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        return lines_of(self.reason + (f" → {self.fix}" if self.fix else ""))


class LedgerDamaged(LedgerError):  # noqa: N818  (it is a state, found out)
    """The ledger's content is not what discreet wrote."""
