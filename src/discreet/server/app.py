"""The application: routes, exceptions, the OpenAPI document, and what all requests pass first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.answers import documents
from discreet.errors import QueryFailed, Refused
from discreet.exit.timing import step
from discreet.ledger import LedgerError
from discreet.logs import note
from discreet.server.access import AppState
from discreet.server.api import metrics_router, questions, router
from discreet.server.datasets import Datasets
from discreet.server.desk.desk import Desk
from discreet.server.direct import Direct
from discreet.server.dispatch import FREE_SECONDS, Dispatcher
from discreet.server.front import Front
from discreet.server.host_check import Hosts
from discreet.server.limits import Rates
from discreet.server.metrics import Metrics
from discreet.server.pages.site import install
from discreet.server.problems import MEDIA, respond, response_of
from discreet.server.queue import Queue
from discreet.server.responses import SCHEMAS, schema_of
from discreet.server.saved_routes import router as saved_router
from discreet.server.service import ALIVE, Readiness, notify
from discreet.server.streams import router as streams_router
from discreet.tracing import RequestSpan
from discreet.version import __version__

TOLD: Final = "Ask questions of private data; get answers that provably say almost nothing about any one person."
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "default": {"description": "Why not, and the smallest change that works.", **schema_of(documents.Problem)}
}
HTTP: Final = {
    400: ("body-invalid", "the body cannot be read as JSON", "see /api/v1/openapi.json for what is expected"),
    404: ("unknown-route", "there is nothing here", "see /api/v1/openapi.json for what there is"),
    405: ("method-not-allowed", "this cannot be done here", "see /api/v1/openapi.json for what can"),
}
JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json\s*(?:;|$)", re.IGNORECASE)
ROUTERS: Final = (questions, router, streams_router, saved_router, metrics_router)
LONGEST_REASON: Final = 300
SILENT: Final[Any] = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""FastAPI's own telemetry would export addresses, bodies and messages of exceptions wherever the environment asks."""
AFTERWARDS: Final = 5.0
"""Seconds for an answer to be stored and sent, when a server stops."""
LOOK_EVERY: Final = 1.0
"""Seconds between looks at the policy files, and at what runs too long."""


class Port(Protocol):
    """Another way in, beside HTTP, to the same datasets, queue, tokens and limits."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class IdentityProvider(Protocol):
    """Another way to sign in to the pages, beside tokens."""

    name: str
    router: APIRouter

    async def sign_out(self) -> str | None: ...

    async def close(self) -> None: ...


class Observer(Protocol):
    """What tells an operator's backend of requests."""

    def request(self) -> RequestSpan: ...

    def close(self) -> None: ...


def application(
    datasets: Datasets,
    *,
    workers: int,
    hosts: Sequence[str] = ("*",),
    beside: Callable[[AppState], Port] | None = None,
    observe: Callable[[Metrics], Observer] | None = None,
    desk: Desk | None = None,
    backups: Path | None = None,
    provider: IdentityProvider | None = None,
) -> FastAPI:
    """The server over these datasets. `hosts`: the names that it answers to, so that no other name leads here.

    `observe` makes what an operator's backend is told by; `provider` lets people sign in whom it knows.
    """
    queue = Queue(workers)
    dispatcher, metrics = Dispatcher(queue), Metrics(datasets, queue)
    observer = None if observe is None else observe(metrics)
    trace: Callable[[], RequestSpan | None] = (lambda: None) if observer is None else observer.request
    shared = AppState(datasets, dispatcher, Rates(), metrics, Readiness(datasets), trace, desk, backups)
    port = None if beside is None else beside(shared)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(each) for each in (_look_now_and_then(datasets), _stop_what_is_late(dispatcher))]
        if port is not None:
            await port.start()
        note("started", version=__version__)
        yield
        dispatcher.drain()
        await dispatcher.drained(patience_of(datasets))
        if port is not None:
            await port.close()
        for task in tasks:
            task.cancel()
        dispatcher.close()
        if provider is not None:
            await provider.close()
        if observer is not None:
            await asyncio.to_thread(observer.close)
        datasets.close()
        note("stopped")

    app = FastAPI(
        title="discreet",
        version=__version__,
        description=TOLD,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=PROBLEMS,
        redirect_slashes=False,
        telemetry=SILENT,
        middleware=[
            Middleware(Front, metrics=metrics, trace=trace),
            Middleware(Hosts, names=hosts),
            Middleware(Direct, routes=questions.routes),
        ],
        exception_handlers={
            Refused: respond,
            QueryFailed: respond,
            LedgerError: respond,
            HTTPException: _plain_http,
            RequestValidationError: _invalid,
        },
    )
    app.state.app_state = shared
    app.state.stopping, app.state.patience = dispatcher.drain, partial(patience_of, datasets)
    for each in ROUTERS:
        app.include_router(each)
    install(app, desk)
    if provider is not None:
        app.state.provider = provider
        app.include_router(provider.router)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to extend the document
    return app


def patience_of(datasets: Datasets) -> float:
    """Seconds after which all that runs has ended, with its padding, and was sent."""
    serving = [dataset.curator.policy.serving for dataset in datasets.values()]
    return max((step(each.time_limit, max(each.pad_ms, 1) / 1000) for each in serving), default=0.0) + AFTERWARDS


async def _look_now_and_then(datasets: Datasets) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY)
        notify(ALIVE)
        await asyncio.to_thread(datasets.reload)


async def _stop_what_is_late(dispatcher: Dispatcher) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY)
        dispatcher.free.stop_late(FREE_SECONDS)


async def _plain_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, reason, fix = HTTP.get(error.status_code, ("http", str(error.detail), "see /api/v1/openapi.json"))
    headers = dict(error.headers or {})
    if "Allow" in headers:  # Starlette names the methods of the first route only
        headers["Allow"] = ", ".join(sorted(_methods(request.url.path))) or headers["Allow"]
    return response_of(Refused(code, reason, fix), error.status_code, **headers)


def _methods(path: str) -> set[str]:
    """What can be done at an address."""
    routes = [route for each in ROUTERS for route in each.routes if isinstance(route, Route)]
    return {method for route in routes if route.path_regex.match(path) for method in route.methods or ()}


async def _invalid(request: Request, error: Exception) -> Response:
    """What is wrong with the form of a request: where, and what."""
    assert isinstance(error, RequestValidationError)
    if request.method == "POST" and not JSON.match(request.headers.get("content-type", "")):
        return response_of(Refused("not-json", "a query is sent as JSON", "set content-type: application/json"))
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    reason = f"{where}: {first['msg']}"[:LONGEST_REASON]
    return response_of(Refused("body-invalid", reason, "see /api/v1/openapi.json for what is expected"))


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, with problems in their own media type."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        for operation in (each for path in document["paths"].values() for each in path.values()):
            operation["responses"].pop("422", None)
            content = operation["responses"]["default"]["content"]
            content[MEDIA] = content.pop("application/json")
        schemas = document["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        sent = documents.schemas(SCHEMAS)
        for name in schemas.keys() & sent.keys():
            _rename_body(document, name)
        schemas |= sent
        app.openapi_schema = document
    return app.openapi_schema


def _rename_body(document: dict[str, Any], name: str) -> None:
    """What is sent to us under a name that an answer has, too, is called a request."""
    schemas, renamed = document["components"]["schemas"], f"{name}Request"
    schemas[renamed] = {**schemas.pop(name), "title": renamed}
    for operation in (each for path in document["paths"].values() for each in path.values()):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            if content["schema"].get("$ref") == f"{SCHEMAS}{name}":
                content["schema"]["$ref"] = f"{SCHEMAS}{renamed}"
