"""Requests to a server: sent again where that is safe, and told in words where it is in vain."""

from __future__ import annotations

import ipaddress
import json
import time
import weakref
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from discreet.client.problems import Unreachable, error_of
from discreet.errors import Refused
from discreet.version import __version__

TRIES: Final = 7
FIRST_TRIES: Final = 4
"""How often a request is sent; fewer while nobody ever answered at the address."""
FIRST_PAUSE: Final = 0.2
"""Seconds before the first repetition; each further pause is twice as long."""
NOTHING: Final = 204
EXAMPLE: Final = 'write "https://host:port/dataset"'
AGAIN: Final = frozenset({429, 502, 503, 504})
LONGEST: Final = 30.0
"""Seconds that a server may ask us to wait."""
TIMEOUT: Final = httpx.Timeout(90.0, connect=10.0)
Reply = tuple[httpx.Response, Any]
"""A response and its document."""


class Connection:
    """A server under /api/v1. Requests that do no harm when they arrive twice are repeated."""

    def __init__(self, url: str, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        headers = {"authorization": f"Bearer {token}", "user-agent": f"discreet/{__version__}"}
        try:
            self._client = httpx.Client(
                base_url=f"{url.rstrip('/')}/api/v1/",
                headers=headers,
                timeout=TIMEOUT,
                transport=transport,
                trust_env=not is_loopback(urlsplit(url).hostname or ""),  # no proxy is between us and ourselves
            )
        except (httpx.InvalidURL, ValueError):
            raise Refused("address", f"{url!r} is no address of a server", EXAMPLE) from None
        self.url = url
        self._answered = False
        self._closed = weakref.finalize(self, self._client.close)  # whoever forgets to close it leaves no socket open

    def get(self, path: str, **params: Any) -> Any:
        return self.send("GET", path, params={name: value for name, value in params.items() if value is not None})[1]

    def send(self, method: str, path: str, **settings: Any) -> Reply:
        """The response and its document; a refusal is raised as itself."""
        if "json" in settings:  # numbers that are none and half characters are the server's to refuse
            settings["content"] = json.dumps(settings.pop("json")).encode("ascii")
            settings["headers"] = {**settings.get("headers", {}), "content-type": "application/json"}
        pause = FIRST_PAUSE
        for sent in count(1):
            try:
                response = self._client.request(method, path, **settings)
            except (httpx.TransportError, UnicodeError) as wrong:  # names that no resolver takes are UnicodeErrors
                if sent >= (TRIES if self._answered else FIRST_TRIES):
                    raise self._unreachable(wrong) from None
            else:
                self._answered = True
                if response.status_code not in AGAIN or sent >= TRIES:
                    return response, _document(response)
                pause = max(pause, _seconds(response))
            time.sleep(pause)
            pause *= 2
        raise AssertionError("it ends with an answer or an error")

    def _unreachable(self, wrong: Exception) -> Unreachable:
        told = str(wrong) or type(wrong).__name__
        return Unreachable(f"{self.url} does not answer: {told}", "see that the server runs, and the address")

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


def _document(response: httpx.Response) -> Any:
    try:
        found = response.json() if response.content else None
    except ValueError:
        found = None
    if response.status_code >= 400 or (response.status_code != NOTHING and not isinstance(found, dict)):
        raise error_of(response.status_code, found)
    return found


def _seconds(response: httpx.Response) -> float:
    told = response.headers.get("retry-after", "")
    return min(float(told), LONGEST) if told.isdigit() else 0.0
