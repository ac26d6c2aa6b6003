"""What went wrong as PostgreSQL tells it: SQLSTATE, message and HINT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.errors import BudgetExhausted, Problem, Refused
from discreet.printing import lines_of

COST: Final = (
    "SET discreet.epsilon = 0.1 (or discreet.rho, or discreet.error: the half-width that you want), then ask again"
)
HINTS: Final = {
    "confirm-cost": "SET discreet.confirm = on, then ask again; or set discreet.epsilon instead of discreet.error",
    "cost-missing": COST,
}
"""Where the fix is another one than in Python."""
STATES: Final = {
    "accuracy-unreachable": "22023",
    "budget-exhausted": "53400",
    "busy": "53300",
    "cancelled": "57014",
    "confirm-cost": "22023",
    "cost-invalid": "22023",
    "cost-missing": "55000",
    "cost-too-high": "22023",
    "cost-twice": "22023",
    "failed": "58000",
    "free-limit": "57014",
    "function-not-allowed": "42883",
    "internal": "XX000",
    "ledger": "58030",
    "not-an-aggregate": "42803",
    "rate-limited": "53000",
    "statement-not-allowed": "0A000",
    "syntax": "42601",
    "too-complex": "54001",
    "too-large": "54000",
    "too-many-groups": "54000",
    "unauthorized": "28P01",
    "unknown-column": "42703",
    "unknown-dataset": "3D000",
    "unknown-table": "42P01",
}
"""By the code of a refusal; all others are of what may not be seen: insufficient privilege."""
NOT_ALLOWED: Final = "42501"


class Failed(Exception):  # noqa: N818  (it did)
    """A statement that was not done: nothing was charged unless the message says so."""

    def __init__(self, state: str, message: str, hint: str = "", *, code: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.state, self.position = state, position
        self.message, self.hint = lines_of(message), lines_of(hint)  # what clients wrote must not steer a terminal
        self.code = code or "statement-not-allowed"
        """As HTTP and the log call it."""

    def fields(self, severity: str = "ERROR") -> dict[str, str]:
        """As they are sent."""
        known = {"S": severity, "V": severity, "C": self.state, "M": self.message, "H": self.hint}
        return known | ({"P": str(self.position)} if self.position else {})


class Fatal(Failed):
    """After which the connection ends."""


def failed_of(problem: Problem, offset: int = 0) -> Failed:
    """A refusal or failure, whose text begins at this character of what the client sent."""
    code = "budget-exhausted" if isinstance(problem, BudgetExhausted) else problem.code
    span = problem.span if isinstance(problem, Refused) else None
    return Failed(
        STATES.get(code, NOT_ALLOWED),
        f"{code}: {problem.reason}",
        HINTS.get(code, problem.fix),
        code=code,
        position=0 if span is None else offset + span[0] + 1,
    )


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know beside a result."""

    message: str
    detail: str = ""

    def fields(self) -> dict[str, str]:
        return {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": lines_of(self.message), "D": lines_of(self.detail)}
