"""What went wrong, as problem+json: the refusal's code, reason and fix, and whether anything was spent."""

from __future__ import annotations

import logging
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from discreet.engines.stopping import Stopped
from discreet.errors import QueryFailed, Refused
from discreet.ledger import LedgerError
from discreet.server.limits import TooMany

MEDIA: Final = "application/problem+json"
STATUSES: Final = {
    "budget-exhausted": 402,
    "unauthorized": 401,
    "forbidden": 403,
    "unknown-dataset": 404,
    "unknown-route": 404,
    "unknown-answer": 404,
    "unknown-job": 404,
    "method-not-allowed": 405,
    "not-json": 415,
    "too-slow": 408,
    "answer-gone": 410,
    "too-large": 413,
    "body-invalid": 422,
    "rate-limited": 429,
    "free-limit": 422,
    "busy": 503,
}
"""The status of each code; refusals of a question are 422."""
REFUSED: Final = 422
HEADERS: Final = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}
"""What a status says beside its document."""

log = logging.getLogger("discreet.server")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem as it is sent."""

    status: int
    code: str
    reason: str
    fix: str = ""
    spent: int | None = 0
    headers: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.reason + (f" → {self.fix}" if self.fix else ""),
            "code": self.code,
            "reason": self.reason,
            "fix": self.fix,
            "spent": self.spent,
        }

    def response(self) -> Response:
        return Response(
            msgspec.json.encode(self.document()),
            self.status,
            media_type=MEDIA,
            headers={**HEADERS.get(self.status, {}), **self.headers, "discreet-code": self.code},
        )


def problem_of(error: BaseException) -> Problem:
    """How an error is told to whoever asked. What is not foreseen is told in one fixed text, and logged."""
    if isinstance(error, Refused):
        after = {"retry-after": str(error.seconds)} if isinstance(error, TooMany) else {}
        return Problem(STATUSES.get(error.code, REFUSED), error.code, error.reason, error.fix, headers=after)
    if isinstance(error, QueryFailed):
        return Problem(500, "failed", error.reason, error.fix, spent=None)
    if isinstance(error, CancelledError | Stopped):  # what is stopped after its charge fails as a question
        return Problem(409, "cancelled", "the question was cancelled while it waited; nothing was charged", "ask again")
    if isinstance(error, LedgerError):
        log.error("ledger: %s", error)
        return Problem(503, "ledger", "the ledger cannot be used now; nothing was released", "ask the owner", None)
    log.error("unforeseen: %s", type(error).__name__, exc_info=error)
    return Problem(500, "internal", "something unforeseen happened", "ask the owner to look at the log", None)


def cancelled() -> Problem:
    """Of a question that was running: the charge may stand."""
    return Problem(409, "cancelled", "the question was cancelled; what it cost stays spent", "ask again", spent=None)


async def respond(_: Request, error: Exception) -> Response:
    """For the application's table of exceptions."""
    return problem_of(error).response()
