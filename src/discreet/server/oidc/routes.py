"""Signing in through an identity provider: off to it, and back. What comes back is a session of pages like any other.

Theorem  A session begins only for the browser that asked for it, once, with claims that the provider signed for this
         very sign-in. So nobody signs others in as themselves (CSRF), uses an answer twice, or one that was meant for
         somebody else.
Proof    The state that comes back is taken out of `Pending` before anything else, and belongs to the browser's cookie;
         nonce and verifier of PKCE were kept beside it and never left but as digest and request (`Provider`).
"""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass, field
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import Refused
from discreet.logs import note
from discreet.noise import SYSTEM
from discreet.server.access import app_state
from discreet.server.datasets import Person
from discreet.server.oidc.provider import Provider, failed
from discreet.server.oidc.setup import Setup
from discreet.server.pages.home import inside
from discreet.server.pages.page_auth import sessions
from discreet.server.pages.sessions import cookie, delete_cookie, set_cookie

COOKIE: Final = "discreet-sign-in"
PATH: Final = "/sign-in/oidc"
LASTS: Final = 600.0
"""Seconds within which somebody signs in."""
MAX_PENDING: Final = 10_000
MAX_LETTERS: Final = 4096
"""Of a code."""
router: Final = APIRouter(prefix=PATH, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that was begun."""

    browser: str
    """The digest of its cookie."""
    nonce: str
    verifier: str
    back: str
    at: float = field(default_factory=time.monotonic)


class Pending:
    """Sign-ins that were begun and not ended, by their states; each can be ended once."""

    def __init__(self) -> None:
        self._begun: dict[str, Begun] = {}

    def add(self, state: str, begun: Begun) -> None:
        self._forget()
        self._begun[state] = begun

    def take(self, state: str) -> Begun | None:
        self._forget()
        return self._begun.pop(state, None)

    def _forget(self) -> None:
        """Drop the oldest once they are too old or too many."""
        while self._begun:
            state, oldest = next(iter(self._begun.items()))
            if time.monotonic() - oldest.at < LASTS and len(self._begun) < MAX_PENDING:
                return
            del self._begun[state]


class SignIns:
    """A provider, and those who are on their way to it."""

    router = router

    def __init__(self, provider: Provider) -> None:
        self.provider, self.pending = provider, Pending()
        self.name = provider.setup.name

    @classmethod
    def of(cls, setup: Setup) -> SignIns:
        return cls(Provider(setup))

    async def sign_out(self) -> str | None:
        return await self.provider.sign_out()

    async def close(self) -> None:
        await self.provider.close()


def sign_ins(request: Request) -> SignIns:
    state: SignIns = request.app.state.provider
    return state


@router.get("")
async def begin(request: Request, back: str = "/") -> Response:
    """Off to the provider."""
    here = sign_ins(request)
    is_encrypted = here.provider.setup.is_encrypted
    known = cookie(request, COOKIE, secure=is_encrypted)
    browser = known if len(known) == 64 and known.isalnum() else SYSTEM.bytes(32).hex()
    state, nonce, verifier = (SYSTEM.bytes(32).hex() for _ in range(3))
    response = RedirectResponse(await here.provider.authorization(state, nonce, verifier), 303)
    here.pending.add(state, Begun(_digest(browser), nonce, verifier, inside(back[:2000])))
    set_cookie(response, COOKIE, browser, secure=is_encrypted, seconds=int(LASTS))
    return response


@router.get("/back")
async def back(
    request: Request, state: str = "", code: str = "", iss: str | None = None, error: str | None = None
) -> Response:
    """Back from the provider, with a code or an error."""
    here = sign_ins(request)
    try:
        return await _signed_in(request, here, state, code, iss, error)
    except Refused as refused:
        app_state(request).rates.guessed(request.client.host if request.client else None)
        note("sign-in-refused", code=refused.code)
        raise


async def _signed_in(
    request: Request, here: SignIns, state: str, code: str, iss: str | None, error: str | None
) -> Response:
    begun = here.pending.take(state)
    browser = cookie(request, COOKIE, secure=here.provider.setup.is_encrypted)
    if begun is None or not hmac.compare_digest(begun.browser, _digest(browser)):
        raise failed("this sign-in was not begun by this browser, was used already, or is too long ago")
    await here.provider.demand_issuer(iss)
    if error is not None or not 0 < len(code) <= MAX_LETTERS:
        raise failed("the identity provider did not sign you in")
    claims = await here.provider.claims(code, begun.verifier, begun.nonce)
    setup = here.provider.setup
    name = _digest(f"{setup.issuer} {claims['sub']}")[:16]
    person = Person(f"oidc-{name}", setup.grants(claims), setup.hours * 3600.0)
    callers = app_state(request).datasets.callers(person)
    if not callers:
        raise Refused("forbidden", "you are known, and nothing here is open to you", "ask the owner to let you in")
    response = RedirectResponse(begun.back, 303)
    sessions(request).forget(request)
    sessions(request).begin(person, request, response, secure=setup.is_encrypted)
    delete_cookie(response, COOKIE)
    note("sign-in", token=person.id)
    return response


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
