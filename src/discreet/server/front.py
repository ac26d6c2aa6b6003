"""What every request passes first: limits on its size and time, headers that browsers obey, the access log.

The log has one line for each request: when, who (the id of the token, the analyst by name), which route, what became of
it, the number of its charge. No question, no answer, no address with values in it (`discreet.logs`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, MutableMapping
from contextvars import Context, ContextVar
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import Refused
from discreet.logs import note
from discreet.noise import SYSTEM
from discreet.server.limits import CALLER
from discreet.server.metrics import Metrics
from discreet.server.problems import response_of
from discreet.tracing import CURRENT, RequestSpan

MOST_BYTES: Final = 2**20
"""Of a request's body."""
PATIENCE: Final = 10.0
"""Seconds within which a body must have arrived."""
HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Set unless a page says otherwise."""
HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
_ENCODED: Final = tuple((name.encode(), text.encode()) for name, text in HEADERS.items())
NOWHERE: Final = "unmatched"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
"""Others are counted as one: callers make them up."""


class Front:
    """The outermost part of the application."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics | None,
        most_bytes: int = MOST_BYTES,
        trace: Callable[[], RequestSpan | None] = lambda: None,
    ) -> None:
        """Without metrics nothing is counted, and nothing is logged. `trace` begins the span of a request, if any."""
        self._app, self._metrics, self._most_bytes, self._trace = app, metrics, most_bytes, trace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        CALLER.set("")  # on a connection that is kept, what the last request left may still be there
        FACTS.set(scope.setdefault("state", {}).setdefault("told", {}))
        seen, span = Seen(scope, send), self._trace()
        CURRENT.set(span)
        try:
            body = _ambiguous(scope) or await _body(scope, receive, self._most_bytes)
            if isinstance(body, Refused):
                more = {"connection": "close"} if body.code == "body-invalid" else {}
                await response_of(body, None, **more)(scope, receive, seen.send)
            else:
                await self._app(scope, replayed(body, receive), seen.send)
        except ClientDisconnect:
            pass
        except Exception as error:
            if seen.status:
                raise
            await response_of(error)(scope, receive, seen.send)
        finally:
            if self._metrics is not None:
                _record(self._metrics, scope, seen, span)


class Seen:
    """What is known of a response, and the headers that all have."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.request = SYSTEM.bytes(8).hex()
        self.began = time.monotonic()
        self.status = 0
        self.code = ""
        self._scope, self._send = scope, send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.lower(): value for name, value in message["headers"]}
            self.code = given.get(b"discreet-code", b"").decode("latin-1")
            more = [*_ENCODED, *_only_encrypted(self._scope), (b"x-request-id", self.request.encode())]
            message["headers"] = [*message["headers"], *(header for header in more if header[0] not in given)]
        await self._send(message)


def _record(metrics: Metrics, scope: Scope, seen: Seen, span: RequestSpan | None) -> None:
    route = getattr(scope.get("route"), "path", NOWHERE)
    facts = scope.get("state", {}).get("told", {})
    method = scope["method"] if scope["method"] in METHODS else "other"
    metrics.count(method, route, seen.status, seen.code)
    line = {
        "request": seen.request,
        "method": method,
        "route": route,
        "status": seen.status,
        "code": seen.code,
        "ms": round((time.monotonic() - seen.began) * 1000),
        **facts,
    }
    note("request", **line)
    if span is not None:
        span.described(line)


def _only_encrypted(scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
    """Where TLS ends here, browsers are to use nothing else from now on; not for this machine's own name, which other
    programs use too.
    """
    if scope.get("scheme") != "https":
        return ()
    host = Headers(scope=scope).get("host", "").partition(":")[0].lower()
    return (HSTS,) if host != "localhost" else ()


def _ambiguous(scope: Scope) -> Refused | None:
    """A request that says twice how long it is, in two ways: whoever stands between us and its sender may have believed
    the other one, and what follows may be anybody's (RFC 9112, 6.1). So its connection ends, too.
    """
    names = [name for name, _ in scope["headers"]]
    if b"transfer-encoding" in names and b"content-length" in names:
        return Refused("body-invalid", "the request says in two ways how long it is", "send its content-length alone")
    return None


async def _body(scope: Scope, receive: Receive, most: int) -> bytes | Refused:
    """The whole body, if it is small enough and comes soon enough."""
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or len(value) > 12 or int(value) > most):
            return _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    return _too_large(most)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return Refused("too-slow", f"the request took longer than {PATIENCE:g} seconds to arrive", "send it again")


def _too_large(most: int) -> Refused:
    return Refused("too-large", f"a request has at most {most} bytes", "send less")


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body for the application, then whatever the connection says."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


FACTS: Final[ContextVar[dict[str, Any] | None]] = ContextVar("facts", default=None)
"""What the line of the request that is being answered will say; jobs take it along."""


def learned(**facts: str | int | bool | None) -> None:
    """Add to the line of the request that is being answered, if there is one."""
    known = FACTS.get()
    if known is not None:
        known.update(facts)


def learned_by(job: Context) -> None:
    """Add what a job learned about its charge to the line of the request that fetches what became of it."""
    facts = job.get(FACTS) or {}
    learned(**{name: facts[name] for name in ("charge", "cached") if name in facts})


def tell(scope: MutableMapping[str, Any], **facts: str | int | bool | None) -> None:
    """Add to the line of a request in the access log."""
    scope.setdefault("state", {}).setdefault("told", {}).update(facts)
