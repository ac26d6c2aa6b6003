"""Whoever looks at a page: signed in or not, and what every page knows of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, quote

from fastapi import Depends, Path, Request
from starlette.responses import HTMLResponse

from discreet.errors import Refused
from discreet.server.access import LONGEST, House, Visit, house
from discreet.server.datasets import Caller
from discreet.server.front import tell
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
class Guest:
    """Somebody who is signed in."""

    request: Request
    house: House
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
class Stay:
    """A guest at one dataset."""

    guest: Guest
    visit: Visit

    @property
    def name(self) -> str:
        return self.visit.dataset.name

    @property
    def path(self) -> str:
        return f"/data/{self.name}"

    def show(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        return self.guest.show(template, status, dataset=self.name, path=self.path, caller=self.visit.caller, **context)


def sessions(request: Request) -> Sessions:
    found: Sessions = request.app.state.sessions
    return found


async def guest(request: Request) -> Guest:
    """Whoever is signed in, with a token that is still accepted."""
    session = sessions(request).of(request)
    callers = house(request).datasets.callers(session.token) if session else {}
    if session is None or not callers:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise SignIn(here if request.method == "GET" else "/")
    caller = next(iter(callers.values()))
    tell(request.scope, token=caller.token)
    per_minute = max(house(request).datasets[name].curator.policy.serving.requests_per_minute for name in callers)
    house(request).rates.admit(caller.token, per_minute)
    return Guest(request, house(request), sessions(request), session, callers)


Guests = Annotated[Guest, Depends(guest)]


def _stay(*roles: Role) -> Callable[..., Awaitable[Stay]]:
    async def stay(here: Guests, dataset: Annotated[str, Path(max_length=LONGEST)]) -> Stay:
        if dataset not in here.callers:
            raise Refused("unknown-dataset", "your token opens no such dataset", f"it opens: {', '.join(here.callers)}")
        caller = here.callers[dataset]
        tell(here.request.scope, dataset=dataset, role=str(caller.role))
        if caller.role not in roles:
            raise Refused("forbidden", f"the role {caller.role} may not do this", f"it is for: {', '.join(roles)}")
        return Stay(here, Visit(here.house.datasets[dataset], caller))

    return stay


Anybody = Annotated[Stay, Depends(_stay(*Role))]
Asking = Annotated[Stay, Depends(_stay(Role.OWNER, Role.ANALYST))]
Watching = Annotated[Stay, Depends(_stay(Role.OWNER, Role.AUDITOR))]
Owning = Annotated[Stay, Depends(_stay(Role.OWNER))]
