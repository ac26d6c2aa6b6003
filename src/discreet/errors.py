"""What discreet says when the answer is no. Every message tells what to do next."""

from __future__ import annotations

from typing import Final

from discreet.printing import lines_of

FAILED: Final = "the question could not be answered; what it cost stays spent"
RETRY: Final = "ask the owner to look at the engine, or ask a simpler question"


class Refused(Exception):  # noqa: N818  (a refusal is an answer, not a fault)
    """Not answered, nothing spent: a stable code, the reason, and the smallest change that works."""

    def __init__(self, code: str, reason: str, fix: str = "") -> None:
        super().__init__(code, reason, fix)
        self.code = code
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        return lines_of(f"{self.code}: {self.reason}" + (f" → {self.fix}" if self.fix else ""))


class BudgetExhausted(Refused):
    """The cost is more than what is left."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__("budget-exhausted", reason, fix)

    def __reduce__(self) -> tuple[type[BudgetExhausted], tuple[str, str]]:
        return type(self), (self.reason, self.fix)


class QueryFailed(Exception):  # noqa: N818
    """The question was charged and could not be answered. The text is always the same: why it failed may be private."""

    def __init__(self, reason: str = FAILED, fix: str = RETRY) -> None:
        super().__init__(reason, fix)
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        return lines_of(f"{self.reason} → {self.fix}")
