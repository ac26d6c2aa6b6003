"""What a lint says to the owner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from discreet.policy.problems import shown_key


class Severity(StrEnum):
    """Errors keep the policy from working or from protecting; warnings may; notes are worth a look."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at: where in the policy, what was found, and the smallest change that fixes it."""

    severity: Severity
    place: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.place}: {self.message} → {self.fix}"


def place(*keys: str) -> str:
    """A place in the policy, as it is written in TOML."""
    return ".".join(map(shown_key, keys))


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(12000, "row"), counted(2, "body", "bodies")
    ('1 row', '12,000 rows', '2 bodies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
