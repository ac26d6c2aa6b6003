"""What went wrong, as problem+json (RFC 9457): code, reason, fix and edit, and whether anything was spent."""

from __future__ import annotations

from concurrent.futures import CancelledError
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from discreet.engines.stopping import Stopped
from discreet.errors import Problem, QueryFailed, Refused
from discreet.errors.codes import status_of
from discreet.ledger import LedgerError
from discreet.logs import note
from discreet.server.limits import TooMany

MEDIA: Final = "application/problem+json"
HEADERS: Final = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}
"""What a status says beside its document."""


class Cancelled(QueryFailed):
    """A question was stopped while it ran: the charge may stand."""

    code = "cancelled"

    def __init__(self) -> None:
        super().__init__("the query was cancelled; what it cost stays spent", "run it again")


class Unforeseen(QueryFailed):
    """Told in one fixed text; the log has the rest."""

    code = "internal"

    def __init__(self) -> None:
        super().__init__("something unforeseen happened", "ask the owner to look at the log")


def problem_of(error: BaseException) -> Problem:
    """How an error is told to whoever asked. What is unexpected is told in one fixed text, and logged."""
    if isinstance(error, CancelledError | Stopped):  # what is stopped after its charge fails as a question
        return Refused("cancelled", "the query was cancelled while it waited; nothing was charged", "run it again")
    if isinstance(error, LedgerError):
        note("ledger-failed", f"ledger: {error}")
        return LedgerError("the ledger cannot be used now; nothing was released", "ask the owner")
    if isinstance(error, Refused | QueryFailed):
        return error
    note("unforeseen", f"unforeseen: {type(error).__name__}", error=error)
    return Unforeseen()


def document_of(error: BaseException, status: int | None = None) -> dict[str, Any]:
    """What is sent of an error; `status` where HTTP itself has another one for it."""
    problem = problem_of(error)
    status = status or status_of(problem.code)
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": problem.detail,
        "code": problem.code,
        "reason": problem.reason,
        "fix": problem.fix,
        "edit": problem.edit,
        "spent": problem.spent,
    }


def response_of(error: BaseException, status: int | None = None, **headers: str) -> Response:
    document = document_of(error, status)
    if isinstance(error, TooMany):
        headers["retry-after"] = str(error.seconds)
    given = {**HEADERS.get(document["status"], {}), **headers, "discreet-code": document["code"]}
    return Response(msgspec.json.encode(document), document["status"], media_type=MEDIA, headers=given)


async def respond(_: Request, error: Exception) -> Response:
    """For the application's table of exceptions."""
    return response_of(error)
