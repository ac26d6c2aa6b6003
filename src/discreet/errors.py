"""What discreet says when the answer is no. Every message tells what to do next."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818  (a refusal is an answer, not a fault)
    """Not answered, nothing spent: a stable code, the reason, and the smallest change that works."""

    def __init__(self, code: str, reason: str, fix: str = "") -> None:
        super().__init__(code, reason, fix)
        self.code = code
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}" + (f" → {self.fix}" if self.fix else "")


class BudgetExhausted(Refused):
    """The price is more than what is left."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__("budget-exhausted", reason, fix)

    def __reduce__(self) -> tuple[type[BudgetExhausted], tuple[str, str]]:
        return type(self), (self.reason, self.fix)
