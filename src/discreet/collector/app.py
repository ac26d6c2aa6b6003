"""The collector over HTTP: a page that randomises answers before it sends them, and a page of estimates.

Nothing about a request is written anywhere: no address, no time, no user agent. No cookie is set for people who answer.
The page may load our own files only and send nothing but what its script sends; there is no form that a browser could
send by itself.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

import jinja2
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from discreet.answers.plots.embedded import picture
from discreet.collector.collection import Collection
from discreet.collector.estimates import CONFIDENCE, as_csv, as_json
from discreet.errors import Refused
from discreet.printing import at_least
from discreet.server.front import Front
from discreet.server.host_check import Hosts
from discreet.server.pages.forms import demand_same_origin, form_of
from discreet.server.pages.rendering import HEADERS, STATIC, Asset, Assets, environment
from discreet.server.pages.sessions import Sessions
from discreet.server.problems import document_of, respond, response_of
from discreet.server.tokens import Tokens

MOST_BYTES: Final = 2**16
"""Of a submission."""
SCRIPT: Final = "text/javascript; charset=utf-8"
ASSETS: Final = Assets(
    {
        **STATIC,
        "randomise.js": Asset("discreet.local", "randomise.js", SCRIPT),
        "survey.js": Asset("discreet.collector", "static/survey.js", SCRIPT),
        "survey.css": Asset("discreet.collector", "static/survey.css", "text/css; charset=utf-8"),
    }
)
SENDS_NOTHING: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "referrer-policy": "no-referrer",
}
"""Of the page with the questions: its script may speak to us, and forms cannot be sent at all."""
HTTP: Final = {
    404: ("unknown-route", "there is nothing here", "the survey is at /"),
    405: ("method-not-allowed", "this cannot be done here", "the survey is at /"),
}


def application(collection: Collection, owners: Tokens, *, hosts: Sequence[str] = ("*",)) -> Starlette:
    """The collector of one survey; holders of these tokens may see estimates that are not open."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(collection.store.close)

    app = Starlette(
        routes=[
            Route("/", questions),
            Route("/estimates", estimates),
            Route("/estimates", sign_in, methods=["POST"]),
            Route("/estimates.csv", estimates_csv),
            Route("/estimates.json", estimates_json),
            Route("/api/v1/survey", survey_document),
            Route("/api/v1/reports", submit, methods=["POST"]),
            Route("/static/{digest}/{name}", static),
        ],
        middleware=[Middleware(Front, metrics=None, most_bytes=MOST_BYTES), Middleware(Hosts, names=hosts)],
        exception_handlers={Refused: _refused, HTTPException: _plain_http},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.collection, app.state.owners, app.state.sessions = collection, owners, Sessions()
    return app


def _collection(request: Request) -> Collection:
    collection: Collection = request.app.state.collection
    return collection


# people who answer


async def questions(request: Request) -> Response:
    collection = _collection(request)
    if collection.is_closed:
        return _page(request, "closed.html", headers=SENDS_NOTHING)
    survey = collection.survey
    odds = at_least(math.exp(survey.epsilon))
    return _page(request, "questions.html", headers=SENDS_NOTHING, document=json.dumps(survey.document), odds=odds)


async def survey_document(request: Request) -> Response:
    return _json(_collection(request).survey.document)


async def submit(request: Request) -> Response:
    """A submission. Programs of other sites cannot send one from a visitor's browser: it is JSON, and of our origin."""
    collection = _collection(request)
    demand_same_origin(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused("not-json", "a submission is sent as JSON", "set content-type: application/json")
    is_new = await collection.receive(await request.body())
    return _json({"stored": True, "again": not is_new})


async def static(request: Request) -> Response:
    return ASSETS.response(request.path_params["digest"], request.path_params["name"])


# estimates


async def estimates(request: Request) -> Response:
    if not _may_see(request):
        return _page(request, "owner.html", 401, problem=None)
    collection = _collection(request)
    values = await asyncio.to_thread(collection.estimates)
    drawn = [(each, await asyncio.to_thread(picture, each.chart, each.words) if each.rows else None) for each in values]
    facts = await asyncio.to_thread(_facts, collection)
    return _page(request, "estimates.html", estimates=drawn, confidence=f"{100 * CONFIDENCE:g} %", **facts)


async def estimates_json(request: Request) -> Response:
    collection = _seen_by_owner(request)
    values = await asyncio.to_thread(collection.estimates)
    return _json({**as_json(values), "refused": await asyncio.to_thread(collection.store.refused)})


async def estimates_csv(request: Request) -> Response:
    collection = _seen_by_owner(request)
    text = as_csv(await asyncio.to_thread(collection.estimates))
    return Response(text, media_type="text/csv; charset=utf-8")


async def sign_in(request: Request) -> Response:
    demand_same_origin(request)
    token = (await form_of(request)).get("token", "").strip()
    if request.app.state.owners.find(token) is None:
        refusal = Refused("unauthorized", "the token is unknown", "the collector wrote it when it was started")
        return _page(request, "owner.html", 401, problem=document_of(refusal))
    response = RedirectResponse("/estimates", 303)
    request.app.state.sessions.begin(token, request, response)
    return response


def _facts(collection: Collection) -> dict[str, Any]:
    invited, used = collection.store.invitations()
    return {"refused": collection.store.refused(), "invited": invited, "used": used}


def _seen_by_owner(request: Request) -> Collection:
    if not _may_see(request):
        raise Refused("unauthorized", "the estimates are for the owner", "send the token that the collector wrote")
    return _collection(request)


def _may_see(request: Request) -> bool:
    if _collection(request).survey.is_open or request.app.state.sessions.of(request) is not None:
        return True
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and request.app.state.owners.find(token.strip()) is not None


# pages


@cache
def _templates() -> jinja2.Environment:
    """Ours, and below them the server's, whose look they have."""
    loaders = [jinja2.PackageLoader("discreet.collector"), environment().loader]
    made = environment().overlay(loader=jinja2.ChoiceLoader([each for each in loaders if each is not None]))
    made.globals = {**made.globals, "static": ASSETS.address}
    return made


def _page(request: Request, template: str, status: int = 200, headers: Any = None, **context: Any) -> Response:
    here = {"/": "questions", "/estimates": "estimates"}.get(request.url.path, "")
    known = {"survey": _collection(request).survey, "here": here, **context}
    text = _templates().get_template(template).render(known)
    return HTMLResponse(text, status, headers or HEADERS)


def _json(document: Any) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(("/api/", "/static/")):
        problem = document_of(error)
        return _page(request, "refused.html", problem["status"], problem=problem)
    return await respond(request, error)


async def _plain_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, reason, fix = HTTP.get(error.status_code, ("http", str(error.detail), "the survey is at /"))
    refusal = Refused(code, reason, fix)
    if "text/html" in request.headers.get("accept", ""):
        return await _refused(request, refusal)
    return response_of(refusal, error.status_code, **dict(error.headers or {}))
