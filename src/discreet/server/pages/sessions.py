"""Who is signed in: a cookie names a session, the session holds a token, and forms prove that they are ours."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import Refused
from discreet.noise import SYSTEM
from discreet.server.datasets import Person

COOKIE: Final = "discreet"
LASTS: Final = 12 * 3600.0
"""Seconds after which one signs in again."""
MAX_SESSIONS: Final = 10_000
FORGED: Final = Refused(
    "forged-form", "this form does not come from your own page", "open the page again and repeat it"
)


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who signed in. The token is looked up anew with every request: revoking it holds at once."""

    name: str
    holder: str | Person
    """A token, or somebody whom an identity provider knows."""
    began: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        lasts = LASTS if isinstance(self.holder, str) else min(LASTS, self.holder.seconds)
        return time.monotonic() - self.began >= lasts

    def proof(self, secret: bytes) -> str:
        """What forms of this session carry, and nobody else can know."""
        return hmac.new(secret, self.name.encode(), hashlib.sha256).hexdigest()


class Sessions:
    """The sessions of this process; they end with it."""

    def __init__(self) -> None:
        self._secret = SYSTEM.bytes(32)
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}

    def begin(self, holder: str | Person, response: Response, *, secure: bool) -> None:
        session = Session(SYSTEM.bytes(32).hex(), holder)
        with self._lock:
            self._forget()
            self._sessions[session.name] = session
        response.set_cookie(COOKIE, session.name, httponly=True, samesite="lax", secure=secure, path="/")

    def forget(self, request: Request) -> None:
        """End the session that a request belongs to, if any."""
        with self._lock:
            self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def end(self, request: Request, response: Response) -> None:
        self.forget(request)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")

    def of(self, request: Request) -> Session | None:
        with self._lock:
            self._forget()
            session = self._sessions.get(request.cookies.get(COOKIE, ""))
        return None if session is None or session.is_over else session

    def proof(self, session: Session) -> str:
        return session.proof(self._secret)

    def demand_proof(self, session: Session, given: object) -> None:
        """Raise unless a form was made for this session."""
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), self.proof(session).encode()):
            raise FORGED

    def _forget(self) -> None:
        """Drop the oldest once they are too old or too many."""
        while self._sessions:
            oldest = next(iter(self._sessions.values()))
            if time.monotonic() - oldest.began < LASTS and len(self._sessions) <= MAX_SESSIONS:
                return
            del self._sessions[oldest.name]
