"""What discreet says when the answer is no. Every message tells what to do next.

All of it has one form: a code (see `codes`), a reason, a fix in words, and where the fix is a change that a program can
make, the edit. People, programs, terminals, pages and HTTP are told the same.
"""

from __future__ import annotations

from typing import Any, Final

from discreet.errors.edit import Edit as Edit
from discreet.printing import lines_of

FAILED: Final = "the question could not be answered; what it cost stays spent"
RETRY: Final = "ask the owner to look at the engine, or ask a simpler question"


class Problem(Exception):  # noqa: N818  (what is told, whether anything is at fault or not)
    """Something that did not happen: its code, the reason, and the smallest change that works."""

    code = "internal"
    edit: Edit | None = None
    """The change itself, where it can be made word by word; nobody needs to find it in the fix."""
    spent: int | None = 0
    """Nothing, or None where a charge may stand: what was charged before data was touched stays charged."""

    def __init__(self, reason: str, fix: str = "", *, edit: Edit | None = None) -> None:
        super().__init__(reason, fix)
        self.reason = reason
        self.fix = fix
        if edit is not None:
            self.edit = edit

    def __str__(self) -> str:
        return lines_of(self.detail)

    @property
    def detail(self) -> str:
        """Reason and fix."""
        return self.reason + (f" → {self.fix}" if self.fix else "")


class Refused(Problem):
    """Not answered, nothing spent: a stable code, the reason, and the smallest change that works."""

    span: tuple[int, int] | None = None
    """Of what it is about: where that begins and ends in the text of the query, where it is known."""

    def __init__(self, code: str, reason: str, fix: str = "", *, edit: Edit | None = None) -> None:
        super().__init__(reason, fix, edit=edit)
        self.args = (code, reason, fix)
        self.code = code

    def __str__(self) -> str:
        return lines_of(f"{self.code}: {self.detail}")


class BudgetExhausted(Refused):
    """The cost is more than what is left."""

    def __init__(self, reason: str, fix: str = "", *, edit: Edit | None = None) -> None:
        super().__init__("budget-exhausted", reason, fix, edit=edit)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.fix), self.__dict__


class QueryFailed(Problem):
    """The question was charged and could not be answered. The text is always the same: why it failed may be private."""

    code = "failed"
    spent = None

    def __init__(self, reason: str = FAILED, fix: str = RETRY) -> None:
        super().__init__(reason, fix)
