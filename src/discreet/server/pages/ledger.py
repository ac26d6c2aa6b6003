"""The ledger: who asked what, when, for how much; and whether the record is sound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from discreet.accounting.record import Entry
from discreet.answers.plots import History, budget_chart
from discreet.answers.plots.embedded import picture
from discreet.answers.wire import ENTRY, entry_shown, entry_written
from discreet.curator.state import verify_ledger
from discreet.ledger import Search
from discreet.printing import csv_text
from discreet.server.api import CSV, json_response, own_entries, own_search
from discreet.server.pages.home import Gauge
from discreet.server.pages.page_auth import Anybody, PageAccess, Watching

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
    history = History.of(curator, own)
    return {
        "wanted": wanted,
        "page": page,
        "pages": max(1, -(-count // PAGE)),
        "count": count,
        "entries": [(entry, _cost(entry)) for entry in entries],
        "analysts": curator.spenders() if own.analyst is None else [own.analyst] if history.newest else [],
        "gauge": Gauge.of(curator, caller),
        "chart": _burn_down(page_access, history) if history.newest else "",
        "report": None,
        **more,
    }


def _cost(entry: Entry) -> str:
    """What a charge cost, in few digits: ε or ρ; about blocks of a stream, what each of them was charged."""
    if entry.blocks is None:
        return entry.loss.words.partition(",")[0]
    return f"{entry.cost.words.partition(',')[0]} on {len(entry.blocks)} of {entry.blocks.stream}"


def _burn_down(page_access: PageAccess, history: History) -> str | None:
    """What remained after each charge: for analysts, of their own share."""
    curator, caller = page_access.access.dataset.curator, page_access.access.caller
    balance = curator.budget(caller.analyst)
    shares = {} if caller.analyst else {name: curator.budget(name) for name in curator.policy.analysts}
    alt = f"What remained of the budget after each of {history.count} charges; the table below has the same numbers"
    return picture(partial(budget_chart, history, balance, shares, "light"), alt)


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
    entries = await page_access.dispatcher.light(own_entries, page_access.access)
    text = csv_text(ENTRY, [entry_shown(entry) for entry in entries])
    return Response(text, media_type=CSV, headers=_named(page_access, "csv"))


@router.get("/ledger.json")
async def ledger_json(page_access: Anybody) -> Response:
    entries = await page_access.dispatcher.light(own_entries, page_access.access)
    return json_response({"entries": [entry_written(entry) for entry in entries]}, 200, **_named(page_access, "json"))


def _named(page_access: PageAccess, ending: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{page_access.name}-ledger.{ending}"'}
