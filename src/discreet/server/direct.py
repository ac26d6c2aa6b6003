"""Queries and previews that are well-formed, read at once: FastAPI's general way takes as long as a cached answer does.

Whatever is not well-formed goes FastAPI's way, as if this were not here: that says what is wrong, in one place. Nobody
is let in here who is not let in there: the token is looked up by the same function, and counts as one request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.accounting.record import LONGEST_KEY
from discreet.errors import QueryFailed, Refused
from discreet.ledger import LedgerError
from discreet.server.access import ASKING, MAX_LENGTH, granted, known_callers
from discreet.server.front import replayed
from discreet.server.problems import response_of
from discreet.server.requests import Query, Question
from discreet.server.responses import LONGEST_PREFERENCE, Headers

BODIES: Final[Mapping[str, type[BaseModel]]] = {"query": Query, "preview": Question}
"""What is sent to each endpoint, by its name."""
BEARER: Final = "Bearer "
JSON: Final = "application/json"


class Direct:
    """Calls the endpoints of these routes itself; what they are not for, or cannot be read, is for the application."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._routes = [Endpoint(route) for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoint(scope) if scope["type"] == "http" and scope["method"] == "POST" else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        body = (await receive())["body"]  # all of it (`Front`)
        request = Request(scope, receive, send)
        response = await endpoint.response(request, body)
        if response is None:
            await self._app(scope, replayed(body, receive), send)
        else:
            await response(scope, receive, send)

    def _endpoint(self, scope: Scope) -> Endpoint | None:
        return next((each for each in self._routes if each.is_for(scope)), None)


class Endpoint:
    """One that questions are sent to."""

    def __init__(self, route: Route) -> None:
        self.route, self._call = route, route.endpoint
        self._body = BODIES[route.endpoint.__name__]
        code = route.endpoint.__code__
        self._takes_headers = "headers" in code.co_varnames[: code.co_argcount]

    def is_for(self, scope: Scope) -> bool:
        """Whether a request is sent to it; then the request knows what its address says."""
        address = self.route.path_regex.match(scope["path"])
        if address is None:
            return False
        scope["path_params"] = address.groupdict()
        return True

    async def response(self, request: Request, body: bytes) -> Response | None:
        """What is sent back; None if that is not for here to say."""
        question, headers = _question(request, body, self._body), _headers(request)
        token, dataset = _token(request), request.path_params["dataset"]
        if question is None or headers is None or not token or len(dataset) > MAX_LENGTH:
            return None
        request.scope["route"] = self.route
        more = {"headers": headers} if self._takes_headers else {}
        try:
            access = granted(request, known_callers(request, token), dataset, ASKING)
            response: Response = await self._call(request, access, question, **more)
        except (Refused, QueryFailed, LedgerError) as error:
            return response_of(error)
        return response


def _question(request: Request, sent: bytes, body: type[BaseModel]) -> Any:
    """What was sent, if it is what is expected."""
    if request.headers.get("content-type", "") != JSON:
        return None
    try:
        return body.model_validate(json.loads(sent))
    except (ValueError, ValidationError, RecursionError):
        return None


def _headers(request: Request) -> Headers | None:
    key, prefer = request.headers.get("idempotency-key"), request.headers.get("prefer")
    if (key is not None and not 1 <= len(key) <= LONGEST_KEY) or len(prefer or "") > LONGEST_PREFERENCE:
        return None
    return Headers(key, prefer)


def _token(request: Request) -> str:
    """The bearer token, written as everybody writes it."""
    written = request.headers.get("authorization", "")
    token = written.removeprefix(BEARER)
    return token if token != written and token == token.strip() else ""
