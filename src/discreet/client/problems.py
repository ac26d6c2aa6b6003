"""What a server's problems are in Python: the same refusals as a curator's, and one error of its own."""

from __future__ import annotations

from typing import Any, Final

from discreet.errors import BudgetExhausted, QueryFailed, Refused


class Unreachable(Exception):  # noqa: N818  (a state of the world)
    """The server could not be reached, or did not say what became of a request."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason, fix)
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        return self.reason + (f" → {self.fix}" if self.fix else "")


SPENT: Final = frozenset({"failed", "cancelled", "internal", "ledger"})
"""Codes of what may have been charged."""


def error_of(status: int, document: Any) -> Exception:
    """The exception that a problem stands for."""
    if not isinstance(document, dict) or not isinstance(document.get("code"), str):
        return Unreachable(f"the server answered {status} in a form that is not discreet's", "check the address")
    code, reason, fix = (str(document.get(name, "")) for name in ("code", "reason", "fix"))
    if code == "budget-exhausted":
        return BudgetExhausted(reason, fix)
    if code in SPENT and document.get("spent") != 0:
        return QueryFailed(reason, fix)
    return Refused(code, reason, fix)
