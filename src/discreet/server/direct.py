"""Queries and previews that are well-formed, read at once: FastAPI's general way takes as long as a cached answer does.

Whatever is not well-formed goes FastAPI's way, as if this were not here: that says what is wrong, in one place. Nobody
is let in here who is not let in there: the token is looked up by the same function, and counts as one request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from discreet.server.access import ASKING, MAX_LENGTH, granted, known_callers
from discreet.server.dispatch import LONGEST_KEY
from discreet.server.requests import Query, Question
from discreet.server.responses import LONGEST_PREFERENCE, Headers

BODIES: Final[Mapping[str, type[BaseModel]]] = {"query": Query, "preview": Question}
"""What is sent to each endpoint, by its name."""
BEARER: Final = "Bearer "
JSON: Final = "application/json"

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Direct(APIRoute):
    """A route that questions are sent to."""

    def get_route_handler(self) -> Handler:
        usual, body = super().get_route_handler(), BODIES[self.endpoint.__name__]
        takes_headers = "headers" in self.dependant_names

        async def handle(request: Request) -> Response:
            question, headers = await _question(request, body), _headers(request)
            token, dataset = _token(request), request.path_params["dataset"]
            if question is None or headers is None or not token or len(dataset) > MAX_LENGTH:
                return await usual(request)
            access = granted(request, known_callers(request, token), dataset, ASKING)
            more = {"headers": headers} if takes_headers else {}
            response: Response = await self.endpoint(request, access, question, **more)
            return response

        return handle

    @property
    def dependant_names(self) -> tuple[str, ...]:
        """What the endpoint is called with."""
        return self.endpoint.__code__.co_varnames[: self.endpoint.__code__.co_argcount]


async def _question(request: Request, body: type[BaseModel]) -> BaseModel | None:
    """What was sent, if it is what is expected."""
    if request.headers.get("content-type", "") != JSON:
        return None
    try:
        return body.model_validate(json.loads(await request.body()))
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
