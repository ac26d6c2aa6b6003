"""Signing in through an identity provider: off to it, and back. What comes back is a session of pages like any other.

Nothing is kept of a sign-in that was begun: its state tells all of it. So whoever begins a million of them takes
nothing from others.

Theorem  A session begins only for the browser that asked for it, once, with claims that the provider signed for this
         very sign-in. So nobody signs others in as themselves (CSRF), uses an answer twice, or one that was meant for
         somebody else.
Proof    A state ends with the HMAC of the rest under a secret of this process, so that it was made here, and when it
         says. Before anything else it is put among those that were brought back. What it says of the browser is the
         HMAC of that browser's cookie. Nonce and verifier of PKCE are HMACs of the state: nobody else can compute them,
         and they never leave but as digest and request (`Provider`). Of those that were brought back the oldest may be
         forgotten, where somebody brings very many: then the provider alone sees to it that a code is used once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from dataclasses import dataclass
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
MAX_ENDED: Final = 10_000
MAX_LETTERS: Final = 4096
"""Of a code."""
MAX_BACK: Final = 1000
"""Of the place to go back to, which the browser keeps: headers of a response have room for some kilobytes."""
BROWSER: Final = re.compile("([0-9a-f]{64})([A-Za-z0-9_-]*)")
"""A cookie: what the browser is known by, and the place to go back to."""
STATE: Final = re.compile(
    "(?P<facts>(?P<at>[0-9a-f]{16})(?P<salt>[0-9a-f]{32})(?P<browser>[0-9a-f]{64}))(?P<tag>[0-9a-f]{64})"
)
router: Final = APIRouter(prefix=PATH, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that was begun, as its state tells it."""

    state: str
    salt: str
    browser: str
    """The HMAC of its cookie."""


class Secret:
    """Makes states, and knows its own again."""

    def __init__(self) -> None:
        self._key = SYSTEM.bytes(32)

    def tag(self, *words: str) -> str:
        """What nobody else can compute of these words."""
        text = "\0".join(words).encode(errors="surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()

    def state(self, browser: str) -> str:
        salt = SYSTEM.bytes(16).hex()
        facts = f"{int(time.monotonic()):016x}{salt}{self.tag('browser', salt, browser)}"
        return f"{facts}{self.tag('state', facts)}"

    def read(self, state: str) -> Begun | None:
        """What a state says; None if it was not made here, or is too long ago."""
        written = STATE.fullmatch(state)
        if written is None or not hmac.compare_digest(written["tag"], self.tag("state", written["facts"])):
            return None
        if time.monotonic() - int(written["at"], 16) >= LASTS:
            return None
        return Begun(state, written["salt"], written["browser"])


class Ended:
    """The states that were brought back: none counts twice."""

    def __init__(self) -> None:
        self._ended: dict[str, float] = {}

    def add(self, begun: Begun) -> bool:
        """Whether it is the first time."""
        while self._ended:  # drop the oldest once they are too old or too many
            oldest, at = next(iter(self._ended.items()))
            if time.monotonic() - at < LASTS and len(self._ended) < MAX_ENDED:
                break
            del self._ended[oldest]
        if begun.salt in self._ended:
            return False
        self._ended[begun.salt] = time.monotonic()
        return True


class SignIns:
    """A provider, and those who come back from it."""

    router = router

    def __init__(self, provider: Provider) -> None:
        self.provider, self.secret, self.ended = provider, Secret(), Ended()
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
    browser = _read(cookie(request, COOKIE, secure=is_encrypted))[0] or SYSTEM.bytes(32).hex()
    state = here.secret.state(browser)
    nonce, verifier = _apart(here, state)
    response = RedirectResponse(await here.provider.authorization(state, nonce, verifier), 303)
    set_cookie(response, COOKIE, f"{browser}{_packed(back)}", secure=is_encrypted, seconds=int(LASTS))
    return response


def _apart(here: SignIns, state: str) -> tuple[str, str]:
    """The nonce and the verifier of a sign-in."""
    return here.secret.tag("nonce", state), here.secret.tag("verifier", state)


def _packed(back: str) -> str:
    """A place on this server as a cookie holds it; one that is too long is forgotten."""
    address = inside(back).encode()
    return base64.urlsafe_b64encode(address if len(address) <= MAX_BACK else b"/").decode().rstrip("=")


def _read(held: str) -> tuple[str, str]:
    """What a cookie says: the browser, and the place to go back to. Whoever changed it changed it for themselves."""
    written = BROWSER.fullmatch(held)
    if written is None:
        return "", "/"
    browser, packed = written.groups()
    try:
        return browser, inside(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode())
    except (binascii.Error, UnicodeDecodeError):
        return browser, "/"


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
    begun = here.secret.read(state)
    is_first = begun is not None and here.ended.add(begun)
    browser, address = _read(cookie(request, COOKIE, secure=here.provider.setup.is_encrypted))
    if (
        begun is None
        or not is_first
        or not hmac.compare_digest(begun.browser, here.secret.tag("browser", begun.salt, browser))
    ):
        raise failed("this sign-in was not begun by this browser, was used already, or is too long ago")
    await here.provider.demand_issuer(iss)
    if error is not None or not 0 < len(code) <= MAX_LETTERS:
        raise failed("the identity provider did not sign you in")
    nonce, verifier = _apart(here, begun.state)
    claims = await here.provider.claims(code, verifier, nonce)
    setup = here.provider.setup
    name = _digest(f"{setup.issuer} {claims['sub']}")[:16]
    person = Person(f"oidc-{name}", setup.grants(claims), setup.hours * 3600.0)
    callers = app_state(request).datasets.callers(person)
    if not callers:
        raise Refused("forbidden", "you are known, and nothing here is open to you", "ask the owner to let you in")
    response = RedirectResponse(address, 303)
    sessions(request).forget(request)
    sessions(request).begin(person, request, response, secure=setup.is_encrypted)
    delete_cookie(response, COOKIE)
    note("sign-in", token=person.id)
    return response


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
