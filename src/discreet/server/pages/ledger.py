"""The ledger: who asked what, when, for how much; and whether the record is sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from discreet.accounting.record import Entry
from discreet.answers.plots import History, budget_chart
from discreet.answers.plots.answer import NARROW
from discreet.answers.plots.beside import drawn_beside
from discreet.answers.plots.embedded import picture, svg_of
from discreet.answers.story import StoryLine
from discreet.answers.wire import entry_written
from discreet.curator.state import verify_ledger
from discreet.errors import Refused
from discreet.ledger import Search
from discreet.ledger.store import ENDLESS
from discreet.server.api import CSV, json_response
from discreet.server.pages.home import Gauge
from discreet.server.pages.page_auth import Anybody, PageAccess, Watching
from discreet.server.records import own_entries, own_story, story_csv
from discreet.server.seeking import own_search

router: Final = APIRouter(prefix="/data/{dataset}", include_in_schema=False)
PAGE: Final = 100
"""Entries on one page."""

Text = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries are wanted."""

    analyst: str = ""
    text: str = ""
    answered: str = ""

    def of(self, own: Search) -> Search | None:
        """Of the charges that a caller may see; None if they cannot be among them."""
        if self.analyst and own.analyst not in (None, self.analyst):
            return None
        answered = None if not self.answered else self.answered == "yes"
        return Search(self.analyst or own.analyst, self.text, answered)


@router.get("/ledger")
async def ledger_page(
    page_access: Anybody,
    analyst: Text = "",
    text: Text = "",
    answered: Text = "",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
) -> Response:
    wanted = Filter(analyst, text, answered)
    return page_access.show(
        "ledger.html", here="/ledger", **await page_access.dispatcher.light(_context, page_access, wanted, page)
    )


def _context(page_access: PageAccess, wanted: Filter, page: int, **more: Any) -> dict[str, Any]:
    curator, caller = page_access.access.dataset.curator, page_access.access.caller
    own = own_search(page_access.access)
    search = wanted.of(own)
    count = 0 if search is None else curator.count(search)
    entries = [] if search is None else curator.latest(search, limit=PAGE, offset=(page - 1) * PAGE)
    history = History.of(curator, own, own_story(page_access.access))
    alt = f"What remained of the budget after each of {history.count} charges; the table below has the same numbers"
    return {
        "wanted": wanted,
        "page": page,
        "pages": max(1, -(-count // PAGE)),
        "count": count,
        "entries": _story(page_access, wanted, entries, page, count),
        "analysts": curator.spenders() if own.analyst is None else [own.analyst] if history.newest else [],
        "gauge": Gauge.of(curator, caller),
        "chart": picture(partial(_burn_down(page_access, history), "light"), alt) if history.newest else "",
        "alt": alt,
        "report": None,
        **more,
    }


def _story(
    page_access: PageAccess, wanted: Filter, entries: list[Entry], page: int, count: int
) -> list[tuple[Entry | StoryLine, str]]:
    """Charges with their costs, and between them what else happened, newest first. Whoever filters wants charges."""
    charges: list[tuple[Entry | StoryLine, str]] = [(entry, _cost(entry)) for entry in entries]
    if wanted != Filter():
        return charges
    curator, own = page_access.access.dataset.curator, own_search(page_access.access)
    before = curator.latest(own, limit=1, offset=(page - 1) * PAGE - 1) if page > 1 else []
    after = entries[-1].number if entries and page * PAGE < count else 0
    events = (
        own_story(page_access.access, after, before[0].number if before else ENDLESS) if charges or page == 1 else []
    )
    rows = charges + [(line, "") for line in events]
    return sorted(rows, key=lambda row: row[0].number, reverse=True)


def _cost(entry: Entry) -> str:
    """What a charge cost, in few digits: ε or ρ; about blocks of a stream, what each of them was charged."""
    if entry.blocks is None:
        return entry.loss.words.partition(",")[0]
    return f"{entry.cost.words.partition(',')[0]} on {len(entry.blocks)} of {entry.blocks.stream}"


def _burn_down(page_access: PageAccess, history: History) -> Callable[..., Any]:
    """What remained after each charge, to be drawn: for analysts, of their own share."""
    curator, caller = page_access.access.dataset.curator, page_access.access.caller
    balance = curator.budget(caller.analyst)
    shares = {} if caller.analyst else {name: curator.budget(name) for name in curator.policy.analysts}
    return partial(budget_chart, history, balance, shares)


@router.get("/ledger/chart.svg")
async def chart_file(page_access: Anybody, theme: Literal["light", "dark"] = "light") -> Response:
    """The picture for phones, which load it only there."""

    def drawn() -> str:
        access = page_access.access
        burnt = _burn_down(page_access, History.of(access.dataset.curator, own_search(access), own_story(access)))
        return drawn_beside(lambda: svg_of(burnt(theme, NARROW)))

    try:
        content = await page_access.dispatcher.light(drawn)
    except ImportError:
        raise Refused("no-pictures", "altair is not installed here", "pip install 'discreet[plot]'") from None
    return Response(content, media_type="image/svg+xml", headers=_named(page_access, "svg"))


@router.post("/ledger/verify")
async def verify_page(page_access: Watching) -> Response:
    form = await page_access.visitor.form()
    receipts = form.get("receipt", "").split()[:100]

    def verified() -> dict[str, Any]:
        report = verify_ledger(page_access.access.dataset.curator.policy, receipts)
        return _context(page_access, Filter(), 1, report=report, receipts=len(receipts))

    return page_access.show("ledger.html", here="/ledger", **await page_access.dispatcher.light(verified))


@router.get("/ledger/verify")
async def ledger_again(page_access: Watching) -> Response:
    """For those who open the address of what they sent."""
    return RedirectResponse(f"{page_access.path}/ledger", 303)


@router.get("/ledger.csv")
async def ledger_csv(page_access: Anybody) -> Response:
    text = await page_access.dispatcher.light(story_csv, page_access.access)
    return Response(text, media_type=CSV, headers=_named(page_access, "csv"))


@router.get("/ledger.json")
async def ledger_json(page_access: Anybody) -> Response:
    entries = await page_access.dispatcher.light(own_entries, page_access.access)
    lines = await page_access.dispatcher.light(own_story, page_access.access)
    document = {
        "entries": [entry_written(entry) for entry in entries],
        "events": [event.document() for event in lines],
    }
    return json_response(document, 200, **_named(page_access, "json"))


def _named(page_access: PageAccess, ending: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{page_access.name}-ledger.{ending}"'}
