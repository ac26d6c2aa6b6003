"""What can go wrong with sources. These texts are for the owner; analysts see one fixed sentence."""

from __future__ import annotations

from discreet.errors import Problem
from discreet.printing import lines_of


class SourceError(Problem):
    """A source could not be read, or is not what the policy says."""

    code = "source"

    def __init__(self, table: str, reason: str, fix: str = "") -> None:
        super().__init__(reason, fix)
        self.args = (table, reason, fix)
        self.table = table

    def __str__(self) -> str:
        return lines_of(f"{self.table}: {self.detail}")
