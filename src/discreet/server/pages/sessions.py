"""Who is signed in: a cookie names a session, the session holds a token, and forms prove that they are ours.

Theorem  Where browsers come over TLS, no other host can put a session of its own into a browser, so that somebody asks
         under its name and it reads what they asked.
Proof    Over TLS a session is found under the name `__Host-…` only. Browsers take a cookie of that name from the very
         host that it is for, and from no sibling or parent domain (RFC 6265bis, 4.1.3.2). That a request came over TLS
         cannot be hidden by whoever set the cookie: behind a proxy that encrypts, browsers tell it by `Sec-Fetch-Site`,
         which they send over TLS and to their own machine, and which no page can change. (Some before 2023 did not.)
"""

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
HOST: Final = "__Host-"
"""Before the name of a cookie: no other host can set it."""
OWN_MACHINE: Final = ("localhost", "127.0.0.1", "::1")
LASTS: Final = 12 * 3600.0
"""Seconds after which one signs in again."""
MAX_SESSIONS: Final = 10_000
MOST_OF_ONE: Final = 100
"""Sessions at once: of everybody, and of one token or person. Whoever signs in again and again ends only their own."""
FORGED: Final = Refused(
    "forged-form", "this form does not come from your own page", "open the page again and repeat it"
)


def is_encrypted(request: Request) -> bool:
    """Whether the browser came over TLS, also where a proxy ends it."""
    if request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://"):
        return True
    return "sec-fetch-site" in request.headers and request.url.hostname not in OWN_MACHINE


def cookie(request: Request, name: str, *, secure: bool) -> str:
    """What a browser has under a name; empty if nothing."""
    return request.cookies.get(f"{HOST}{name}" if secure else name, "")


def set_cookie(response: Response, name: str, value: str, *, secure: bool, seconds: int | None = None) -> None:
    """For this host alone, and for no script."""
    response.set_cookie(
        f"{HOST}{name}" if secure else name, value, seconds, path="/", secure=secure, httponly=True, samesite="lax"
    )


def delete_cookie(response: Response, name: str) -> None:
    for secure in (True, False):
        full = f"{HOST}{name}" if secure else name
        response.delete_cookie(full, path="/", secure=secure, httponly=True, samesite="lax")


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who signed in. The token is looked up anew with every request: revoking it holds at once."""

    name: str
    holder: str | Person
    """A token, or somebody whom an identity provider knows."""
    secure: bool = False
    """Whether it began over TLS."""
    began: float = field(default_factory=time.monotonic)

    @property
    def whose(self) -> str:
        """The same for all sessions of one holder."""
        return self.holder if isinstance(self.holder, str) else self.holder.id

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

    def begin(self, holder: str | Person, request: Request, response: Response, *, secure: bool = False) -> None:
        """`secure` where it is known that browsers come over TLS, whatever this request says."""
        secure = secure or is_encrypted(request)
        session = Session(SYSTEM.bytes(32).hex(), holder, secure)
        with self._lock:
            self._forget()
            own = [name for name, each in self._sessions.items() if each.whose == session.whose]
            for name in own[: len(own) + 1 - MOST_OF_ONE]:
                del self._sessions[name]
            self._sessions[session.name] = session
        set_cookie(response, COOKIE, session.name, secure=secure)

    def forget(self, request: Request) -> None:
        """End the session that a request belongs to, if any."""
        session = self.of(request)
        if session is not None:
            with self._lock:
                self._sessions.pop(session.name, None)

    def end(self, request: Request, response: Response) -> None:
        self.forget(request)
        delete_cookie(response, COOKIE)

    def of(self, request: Request) -> Session | None:
        with self._lock:
            self._forget()
            plain, safe = (self._sessions.get(cookie(request, COOKIE, secure=secure)) for secure in (False, True))
        if safe is not None and safe.secure and not safe.is_over:
            return safe
        return plain if plain and not (plain.secure or plain.is_over or is_encrypted(request)) else None

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
