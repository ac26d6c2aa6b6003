"""Whoever looks at a page: signed in or not, and what every page knows of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, quote

from fastapi import Depends, Path, Request
from starlette.responses import HTMLResponse

from discreet.errors import Refused
from discreet.server.access import MAX_LENGTH, Access, AppState, admitted, app_state, granted
from discreet.server.datasets import Caller
from discreet.server.dispatch import Dispatcher
from discreet.server.pages.rendering import page
from discreet.server.pages.sessions import Session, Sessions
from discreet.server.tokens import Role

MOST_FIELDS: Final = 50


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

    def show(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        known = {
            "proof": self.sessions.proof(self.session),
            "callers": self.callers,
            "dataset": None,
            "caller": None,
            "signed_in": True,
        }
        return page(template, {**known, **context}, status)

    async def form(self) -> dict[str, str]:
        """The fields of a form that was made for this session."""
        given = await form_of(self.request)
        self.sessions.demand_proof(self.session, given.get("proof"))
        return given


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, as browsers send them."""
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, encoding="utf-8"))
    except ValueError:
        raise Refused("body-invalid", "this is no form of ours", "open the page again and repeat it") from None


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
        return self.visitor.show(
            template, status, dataset=self.name, path=self.path, caller=self.access.caller, **context
        )


def sessions(request: Request) -> Sessions:
    state: Sessions = request.app.state.sessions
    return state


async def visitor(request: Request) -> Visitor:
    """Whoever is signed in, with a token that is still accepted."""
    session = sessions(request).of(request)
    callers = admitted(request, session.token) if session else {}
    if session is None or not callers:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise SignIn(here if request.method == "GET" else "/")
    return Visitor(request, app_state(request), sessions(request), session, callers)


Visitors = Annotated[Visitor, Depends(visitor)]


def _page_access(*roles: Role) -> Callable[..., Awaitable[PageAccess]]:
    async def page_access(here: Visitors, dataset: Annotated[str, Path(max_length=MAX_LENGTH)]) -> PageAccess:
        return PageAccess(here, granted(here.request, here.callers, dataset, roles))

    return page_access


Anybody = Annotated[PageAccess, Depends(_page_access(*Role))]
Asking = Annotated[PageAccess, Depends(_page_access(Role.OWNER, Role.ANALYST))]
Watching = Annotated[PageAccess, Depends(_page_access(Role.OWNER, Role.AUDITOR))]
Owning = Annotated[PageAccess, Depends(_page_access(Role.OWNER))]
