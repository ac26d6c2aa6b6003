"""What a server's problems are in Python: the same refusals as a curator's, and one error of its own."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from typing import Any, Final, TypeVar

from discreet.answers.documents import Problem as Document
from discreet.errors import BudgetExhausted, Edit, Problem, QueryFailed, Refused
from discreet.printing import lines_of, printable

T = TypeVar("T")


class Unreachable(Problem):
    """The server could not be reached, or did not say what became of a request."""

    code = "unreachable"
    spent = None


SPENT: Final = frozenset({"failed", "cancelled", "internal", "ledger"})
"""Codes of what may have been charged."""
CODE: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
TEXTS: Final = frozenset({"blocks"})
"""Arguments that may be texts; all others are numbers."""
MAX_TEXT: Final = 4000
"""Characters of a reason or a fix."""


def error_of(status: int, document: Document | None) -> Exception:
    """The exception that a problem stands for."""
    if document is None or not CODE.fullmatch(document["code"]):
        return Unreachable(f"the server answered {status} in a form that is not discreet's", "check the address")
    code, reason, fix = (lines_of(text[:MAX_TEXT]) for text in (document["code"], document["reason"], document["fix"]))
    edit = _shown(document.get("edit"))
    if code == "budget-exhausted":
        return BudgetExhausted(reason, fix, edit=edit)
    if code in SPENT and document["spent"] != 0:
        return QueryFailed(reason, fix)
    return Refused(code, reason, fix, edit=edit)


def _shown(edit: Edit | None) -> Edit | None:
    """The edit, if all of it can be shown: what a terminal would obey, or a text without end, is none."""
    if edit is None:
        return None
    said = {name: value for name, value in edit.arguments.items() if isinstance(value, str)}
    if not all(text.isprintable() and len(text) <= MAX_TEXT for text in (edit.old, edit.new, *said.values())):
        return None
    return edit if all(map(str.isidentifier, edit.arguments)) and said.keys() <= TEXTS else None


def alien(url: str) -> Unreachable:
    reason = f"{printable(url)} answered in a form that is not discreet's"
    return Unreachable(reason, "check the address, and that the server is as new as this client")


def read(url: str, make: Callable[..., T], *sent: Any) -> T:
    """What is made of a document. One that has the types but makes no sense is the server's mistake, in words."""
    try:
        return make(*sent)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise alien(url) from None


def untrusted(url: str, wrong: ssl.SSLError) -> Unreachable:
    """Why no encrypted connection came about."""
    if isinstance(wrong, ssl.SSLCertVerificationError):
        reason = f"TLS: the certificate of {url} is not trusted ({wrong.verify_message})"
        return Unreachable(reason, "if it is your own, connect(…, ca='authority.pem') or set DISCREET_CA to that file")
    reason = f"TLS: {url} cannot be spoken to ({wrong.reason or wrong})"
    return Unreachable(reason, "see that the server speaks TLS at this port; if it does not encrypt, write http://")
