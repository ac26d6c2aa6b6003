"""Whoever looks at a page: signed in or not, and what every page knows of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Path, Request
from starlette.responses import HTMLResponse

from discreet.server.access import MAX_LENGTH, Access, AppState, admitted, app_state, granted, is_at_desk
from discreet.server.datasets import Caller
from discreet.server.dispatch import Dispatcher
from discreet.server.pages.forms import MOST_FIELDS, form_of
from discreet.server.pages.rendering import page
from discreet.server.pages.sessions import Session, Sessions
from discreet.server.tokens import Role


class SignIn(Exception):  # noqa: N818  (a way to go on)
    """Whoever looks must sign in first; then they come back here."""

    def __init__(self, back: str) -> None:
        super().__init__(back)
        self.back = back

    @property
    def url(self) -> str:
        return f"/sign-in?back={quote(self.back, safe='')}"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who is signed in."""

    request: Request
    app_state: AppState
    sessions: Sessions
    session: Session
    callers: dict[str, Caller]
    at_desk: bool = False
    """Whether it is whoever started the server, on this machine."""

    def show(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        known = {
            "proof": self.sessions.proof(self.session),
            "callers": self.callers,
            "dataset": None,
            "caller": None,
            "signed_in": True,
            "at_desk": self.at_desk,
        }
        return page(template, {**known, **context}, status)

    async def form(self, most: int = MOST_FIELDS) -> dict[str, str]:
        """The fields of a form that was made for this session, so many at most."""
        given = await form_of(self.request, most)
        self.sessions.demand_proof(self.session, given.get("proof"))
        return given


@dataclass(frozen=True, slots=True)
class PageAccess:
    """A visitor at one dataset."""

    visitor: Visitor
    access: Access

    @property
    def name(self) -> str:
        return self.access.dataset.name

    @property
    def dispatcher(self) -> Dispatcher:
        return self.visitor.app_state.dispatcher

    @property
    def path(self) -> str:
        return f"/data/{self.name}"

    def show(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        streams = bool(self.access.dataset.curator.policy.streams)
        known = {"dataset": self.name, "path": self.path, "caller": self.access.caller, "has_streams": streams}
        return self.visitor.show(template, status, **known, **context)


def sessions(request: Request) -> Sessions:
    state: Sessions = request.app.state.sessions
    return state


def reader(request: Request, here: str) -> dict[str, Any]:
    """What the frame of a page that everybody may read shows of whoever reads it."""
    known = {"dataset": None, "caller": None, "here": here, "path": ""}
    session = sessions(request).of(request)
    if session is None or not app_state(request).datasets.callers(session.holder):
        return {**known, "signed_in": False}
    return {**known, "signed_in": True, "proof": sessions(request).proof(session)}


async def visitor(request: Request) -> Visitor:
    """Whoever is signed in, with a token that is still accepted."""
    session = sessions(request).of(request)
    callers = admitted(request, session.holder) if session else {}
    at_desk = session is not None and isinstance(session.holder, str) and is_at_desk(request, session.holder)
    if session is None or not (callers or at_desk):
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise SignIn(here if request.method == "GET" else "/")
    return Visitor(request, app_state(request), sessions(request), session, callers, at_desk)


Visitors = Annotated[Visitor, Depends(visitor)]


def _page_access(*roles: Role) -> Callable[..., Awaitable[PageAccess]]:
    async def page_access(here: Visitors, dataset: Annotated[str, Path(max_length=MAX_LENGTH)]) -> PageAccess:
        return PageAccess(here, granted(here.request, here.callers, dataset, roles))

    return page_access


Anybody = Annotated[PageAccess, Depends(_page_access(*Role))]
Asking = Annotated[PageAccess, Depends(_page_access(Role.OWNER, Role.ANALYST))]
Watching = Annotated[PageAccess, Depends(_page_access(Role.OWNER, Role.AUDITOR))]
Owning = Annotated[PageAccess, Depends(_page_access(Role.OWNER))]
