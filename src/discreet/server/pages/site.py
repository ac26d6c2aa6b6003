"""The pages as a whole: their routes, and problems as pages for those who look at pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import Refused
from discreet.server.desk import pages as desk_pages
from discreet.server.desk import shares as desk_shares
from discreet.server.desk import writing as desk_writing
from discreet.server.desk.desk import Desk
from discreet.server.learn.routes import router as learn
from discreet.server.manual.routes import router as manual
from discreet.server.pages import answers, home, ledger, owner, owner_acts, questions, releases, saved, streams
from discreet.server.pages.page_auth import SignIn, visitor
from discreet.server.pages.rendering import page
from discreet.server.pages.sessions import Sessions
from discreet.server.problems import MEDIA, document_of
from discreet.server.works import Works

ROUTERS: Final = (
    home.router, learn, manual, answers.router, ledger.router, streams.router, owner.router, owner_acts.router,
    releases.router, saved.router, questions.router,
)  # fmt: skip
DESK: Final = (desk_pages.router, desk_shares.router, desk_writing.router)
NOT_PAGES: Final = ("/api/", "/metrics", "/static/")
MACHINES: Final = "openapi.json"
"""What helps programs, and nobody at a page."""
LAST: Final = ("write", "look", "acknowledge")
"""What the desk's last step sends."""
NOBODY: Final = {"here": "", "dataset": None, "caller": None, "signed_in": False}
"""What pages know of somebody who is not signed in."""

Handler = Callable[[Request, Any], Awaitable[Response]]


def install(app: FastAPI, desk: Desk | None = None) -> None:
    """Add the pages to an application whose own handlers of exceptions are in place."""
    app.state.sessions, app.state.works = Sessions(), Works()
    app.state.provider = None  # unless an identity provider is set up
    for router in ROUTERS if desk is None else (*ROUTERS, *DESK):
        app.include_router(router)
    for kind, handler in list(app.exception_handlers.items()):
        app.add_exception_handler(kind, _as_page(handler))  # type: ignore[arg-type]  # all of them are awaited
    app.add_exception_handler(SignIn, _sign_in_first)
    app.user_middleware.append(Middleware(Unforeseen))


class Unforeseen:
    """What nobody foresaw, as a page; the cause is in the log only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _wants_page(Request(scope)):
            await self._app(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            problem = document_of(error)
            await page("problem.html", {**NOBODY, "problem": problem}, problem["status"])(scope, receive, send)


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(NOT_PAGES)


async def _sign_in_first(_: Request, error: Exception) -> Response:
    assert isinstance(error, SignIn)
    return RedirectResponse(error.url, 303)


def _again(request: Request, code: str) -> str:
    """The step of a draft that was changed meanwhile, for whoever sent a form of it."""
    draft = request.path_params.get("draft", "")
    if code != "draft-changed" or not draft:
        return ""
    step = request.url.path.removeprefix(f"/desk/{draft}/")
    return f"/desk/{draft}/{'review' if step in LAST else step}"


def _as_page(handler: Handler) -> Handler:
    """The same problem as a page, for browsers that are at a page."""

    async def handle(request: Request, error: Exception) -> Response:
        response = await handler(request, error)
        if not _wants_page(request) or response.media_type != MEDIA:
            return response
        problem = msgspec.json.decode(bytes(response.body))
        if MACHINES in problem["fix"]:
            problem["fix"] = "use the links on top of the page"
        try:
            shown: Response = (await visitor(request)).show(
                "problem.html", response.status_code, here="", problem=problem, again=_again(request, problem["code"])
            )
        except (SignIn, Refused):
            shown = page("problem.html", {**NOBODY, "problem": problem}, response.status_code)
        shown.headers["discreet-code"] = problem["code"]
        if "retry-after" in response.headers:
            shown.headers["retry-after"] = response.headers["retry-after"]
        return shown

    return handle
