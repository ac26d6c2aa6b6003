"""Signing in and out, and the first page: datasets, what is spent, the latest answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.accounting.balance import Balance, Used, details, headline, percent
from discreet.accounting.record import Entry
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.server.access import MAX_LENGTH, Access, AppState, app_state
from discreet.server.datasets import Caller, Person
from discreet.server.pages.forms import demand_same_origin, form_of
from discreet.server.pages.page_auth import Visitor, Visitors, sessions
from discreet.server.pages.rendering import STATIC, page
from discreet.server.problems import document_of
from discreet.server.seeking import own_search

LATEST: Final = 8
router: Final = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Gauge:
    """How much of a budget is gone, as parts of the whole, and of the reader's share."""

    total: Balance
    own: Balance | None
    held: tuple[str, ...] = ()
    """What streams hold of the whole, before anything is asked: in words, for those who see everybody's."""

    @property
    def whole(self) -> Used:
        """Of the whole. Analysts see how much all of them used, yet not of which currency."""
        used = self.total.used
        return used if self.own is None else Used(used.part)

    @property
    def mine(self) -> float | None:
        """What the reader used of the whole."""
        return None if self.own is None else _part(self.own, self.total)

    @property
    def words(self) -> str:
        """The one line; for those who do not see the bar, the same."""
        mine = "" if self.mine is None else f", {percent(self.mine)} by you"
        return f"{headline(self.whole)}{mine}"

    @property
    def share(self) -> str:
        """The line about the reader's share."""
        return "" if self.own is None else headline(self.own.used)

    @property
    def details(self) -> list[str]:
        """Of the reader's share; for those without one, of the whole."""
        return details(self.own or self.total)

    @classmethod
    def of(cls, curator: Curator, caller: Caller) -> Gauge:
        own = None if caller.analyst is None else curator.budget(caller.analyst)
        streams = curator.streams().values() if curator.policy.streams and own is None else ()
        held = tuple(f"{each.name} holds {each.held.words} of it, for its blocks" for each in streams)
        return cls(curator.budget(), own, held)


def _part(spent: Balance, whole: Balance) -> float:
    """In ρ where there is one: that is what adds up."""
    if spent.spent.rho is not None and whole.total.rho:
        return min(1.0, spent.spent.rho / whole.total.rho)
    return min(1.0, spent.spent.epsilon / whole.total.epsilon)


@dataclass(frozen=True, slots=True)
class Shown:
    """A dataset on the first page."""

    name: str
    caller: Caller
    tables: int
    unit: str
    gauge: Gauge
    latest: list[Entry]


@router.get("/")
async def home(here: Visitors) -> Response:
    if here.at_desk and not here.callers:
        return RedirectResponse("/desk", 303)
    datasets = await here.app_state.dispatcher.light(_datasets, here)
    return here.show("home.html", here="home", datasets=datasets)


def _datasets(here: Visitor) -> list[Shown]:
    shown = []
    for name, caller in here.callers.items():
        dataset = here.app_state.datasets[name]
        curator = dataset.curator
        answered = replace(own_search(Access(dataset, caller)), answered=True)
        latest = curator.latest(answered, limit=LATEST)
        shown.append(
            Shown(name, caller, len(curator.policy.tables), curator.policy.unit, Gauge.of(curator, caller), latest)
        )
    return shown


@router.get("/sign-in")
async def sign_in_page(request: Request, back: str = "/", ended: str = "") -> Response:
    """A link with a token signs in at once, but nobody out of a session: the link may be somebody else's.

    Whoever was signed in by a provider is still signed in there when it `ended` here, and is told where to go on.
    """
    provider = request.app.state.provider
    if ended and provider is not None:
        return _sign_in(request, inside(back), ended=True, there=await provider.sign_out())
    return _sign_in(request, inside(back), known=sessions(request).of(request) is not None)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    form = await form_of(request)
    back, token = inside(form.get("back", "/")), form.get("token", "").strip()
    demand_same_origin(request)
    desk = app_state(request).desk
    redeemed = None if desk is None else desk.links.redeem(token[:MAX_LENGTH])
    token = redeemed or token
    if redeemed is None and not _opens(app_state(request), token[:MAX_LENGTH]):
        app_state(request).rates.guessed(request.client.host if request.client else None)
        fix = "ask the owner for another" if desk is None else "use the newest link that `discreet desk` printed"
        refusal = Refused("unauthorized", "the token is unknown, expired or revoked", fix)
        return _sign_in(request, back, document_of(refusal), 401)
    response = RedirectResponse(back, 303)
    sessions(request).begin(token, request, response)
    return response


def _opens(shared: AppState, token: str) -> bool:
    """Whether a token opens anything. What a session at a desk holds is known to nobody, and signs nobody in."""
    return shared.datasets.owner(token) is None and bool(shared.datasets.callers(token))


@router.post("/sign-out")
async def sign_out(here: Visitors) -> Response:
    await here.form()
    is_person = isinstance(here.session.holder, Person)
    response = RedirectResponse("/sign-in?ended=1" if is_person else "/sign-in", 303)
    here.sessions.end(here.request, response)
    return response


@router.get("/static/{digest}/{name}")
async def static(digest: str, name: str) -> Response:
    return STATIC.response(digest, name)


def _sign_in(
    request: Request,
    back: str,
    problem: object = None,
    status: int = 200,
    *,
    known: bool = False,
    ended: bool = False,
    there: str | None = None,
) -> Response:
    nobody = {"here": "", "dataset": None, "caller": None, "signed_in": False}
    provider = request.app.state.provider
    around = {"provider": None if provider is None else provider.name, "ended": ended, "there": there}
    around["has_desk"] = app_state(request).desk is not None
    return page("sign-in.html", {**nobody, **around, "back": back, "problem": problem, "known": known}, status)


def inside(back: str) -> str:
    """A place on this server: no other host, whatever the address says."""
    plain = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable() and "\\" not in back
    return back if plain else "/"
