"""Requests to a server: sent again where that is safe, and told in words where it is in vain.

The server is not believed more than is needed. No redirect is followed, so that the token goes to nobody else; cookies
are forgotten; bodies have a size and a time, are not unpacked, and are decoded into the types of `answers.documents`.
"""

from __future__ import annotations

import http.cookiejar
import ipaddress
import json
import os
import ssl
import time
import weakref
from functools import cache
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from discreet.answers.documents import Anything, Problem, Waiting, decoded
from discreet.client.problems import Unreachable, alien, error_of, untrusted
from discreet.errors import Refused
from discreet.version import __version__

TRIES: Final = 7
FIRST_TRIES: Final = 4
"""How often a request is sent; fewer while nobody ever answered at the address."""
FIRST_PAUSE: Final = 0.2
"""Seconds before the first repetition; each further pause is twice as long."""
DONE: Final = 200
WAITS: Final = 202
NOTHING: Final = 204
EXAMPLE: Final = 'write "https://host:port/dataset"'
AGAIN: Final = frozenset({429, 502, 503, 504})
MAX_WAIT: Final = 30.0
"""Seconds that a server may ask us to wait."""
TIMEOUT: Final = httpx.Timeout(90.0, connect=10.0)
MOST_BYTES: Final = 2**26
"""Of a body: some million rows."""
WITHIN: Final = 300.0
"""Seconds within which a body must have arrived once it began."""
Reply = tuple[int, Any]
"""A status and its document."""


class Connection:
    """A server under /api/v1. Requests that do no harm when they arrive twice are repeated."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        ca: str | os.PathLike[str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {
            **({} if token is None else {"authorization": f"Bearer {token}"}),
            "user-agent": f"discreet/{__version__}",
            "accept": "application/json",
            "accept-encoding": "identity",
        }
        try:
            self._client = httpx.Client(
                base_url=f"{url.rstrip('/')}/api/v1/",
                headers=headers,
                timeout=TIMEOUT,
                transport=transport,
                verify=_trusted(url) if ca is None else _trusting(ca),
                cookies=http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(allowed_domains=[])),
                follow_redirects=False,
                trust_env=not is_loopback(urlsplit(url).hostname or ""),  # no proxy is between us and ourselves
            )
        except (httpx.InvalidURL, ValueError):
            raise Refused("address", f"{url!r} is no address of a server", EXAMPLE) from None
        self.url = url
        self._answered = False
        self._closed = weakref.finalize(self, self._client.close)  # whoever forgets to close it leaves no socket open

    def get(self, path: str, kind: type[Any], **params: Any) -> Any:
        """A document of this type."""
        given = {name: value for name, value in params.items() if value is not None}
        status, document = self.send("GET", path, kind, params=given)
        if status != DONE:
            raise alien(self.url)
        return document

    def send(self, method: str, path: str, kind: type[Any] = Anything, **settings: Any) -> Reply:
        """The status and its document, of this type where it is done; a refusal is raised as itself."""
        if "json" in settings:  # numbers that are none and half characters are the server's to refuse
            settings["content"] = json.dumps(settings.pop("json")).encode("ascii")
            settings["headers"] = {**settings.get("headers", {}), "content-type": "application/json"}
        pause = FIRST_PAUSE
        for sent in count(1):
            try:
                response, body = self._received(self._client.build_request(method, path, **settings))
            except (httpx.TransportError, UnicodeError) as wrong:  # names that no resolver takes are UnicodeErrors
                self._demand_trust(wrong)
                if sent >= (TRIES if self._answered else FIRST_TRIES):
                    raise self._unreachable(wrong) from None
            else:
                self._answered = True
                if response.status_code not in AGAIN or sent >= TRIES:
                    return response.status_code, self._document(response, body, kind)
                pause = max(pause, _seconds(response))
            time.sleep(pause)
            pause *= 2
        raise AssertionError("it ends with an answer or an error")

    def _received(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """A response and its body, if it is small enough and comes soon enough."""
        response = self._client.send(request, stream=True)
        try:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise alien(self.url)  # we asked for what it is: a few bytes may unpack to gigabytes
            end, body = time.monotonic() + WITHIN, bytearray()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise Unreachable(f"{self.url} sends more than {MOST_BYTES:,} bytes", "ask for less at once")
                if time.monotonic() > end:
                    raise Unreachable(f"{self.url} takes more than {WITHIN:g} s for an answer", "try again later")
            return response, bytes(body)
        finally:
            response.close()

    def _document(self, response: httpx.Response, body: bytes, kind: type[Any]) -> Any:
        status = response.status_code
        if status == NOTHING:
            return None
        expected = {DONE: kind, WAITS: Waiting}.get(status, Problem)
        try:
            document = decoded(body if "json" in response.headers.get("content-type", "") else b"", expected)
        except ValueError:
            if status < 400:
                raise alien(self.url) from None
            document = None
        if expected is Problem:
            raise error_of(status, document) if status >= 400 else alien(self.url)
        return document

    def _demand_trust(self, wrong: Exception) -> None:
        """Raise, in words of TLS, if that is what went wrong: sending it again would not help."""
        cause: BaseException | None = wrong
        while cause is not None and not isinstance(cause, ssl.SSLError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, ssl.SSLError):
            raise untrusted(self.url, cause) from None

    def _unreachable(self, wrong: Exception) -> Unreachable:
        reason = str(wrong) or type(wrong).__name__
        return Unreachable(f"{self.url} does not answer: {reason}", "see that the server runs, and the address")

    def close(self) -> None:
        self._closed()


def demand_safe(url: str) -> None:
    """Raise unless a token may be sent there: encrypted, or to this very machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused("address", f"{url!r} is no address of a server", EXAMPLE)
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise Refused(
            "address",
            "over http to another machine, everybody on the way could read the token",
            "use https, or connect(…, insecure=True) where the network itself is safe",
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _trusted(url: str) -> ssl.SSLContext | bool:
    """TLS with servers that the usual authorities vouch for. To load them takes long: plain HTTP gets TLS of nobody."""
    return _nobody() if urlsplit(url).scheme == "http" else True


@cache
def _nobody() -> ssl.SSLContext:
    """One for all connections: none of them uses it."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _trusting(ca: str | os.PathLike[str]) -> ssl.SSLContext:
    """TLS with servers that this authority vouches for, and no others: a file of certificates, or a folder of them."""
    try:
        where = os.fspath(ca)
        folder = os.path.isdir(where)
        return ssl.create_default_context(cafile=None if folder else where, capath=where if folder else None)
    except (OSError, TypeError, ValueError):
        raise Refused(
            "certificate", f"{ca!r} holds no certificate", "pass ca= the path of the authority's certificate, in PEM"
        ) from None


def _seconds(response: httpx.Response) -> float:
    header = response.headers.get("retry-after", "")
    return min(float(header), MAX_WAIT) if header.isdecimal() and len(header) < 10 else 0.0
