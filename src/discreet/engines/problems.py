"""What can go wrong with sources. These texts are for the owner; analysts see one fixed sentence."""

from __future__ import annotations

from discreet.printing import lines_of


class SourceError(Exception):
    """A source could not be read, or is not what the policy says."""

    def __init__(self, table: str, reason: str, fix: str = "") -> None:
        super().__init__(table, reason, fix)
        self.table = table
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        return lines_of(f"{self.table}: {self.reason}" + (f" → {self.fix}" if self.fix else ""))
