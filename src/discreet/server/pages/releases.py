"""Releases: what was published of a dataset, small charts of its columns, and a form for the simple ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from discreet.answers.layout import preview_parts
from discreet.curator.curator import Curator
from discreet.errors import QueryFailed, Refused
from discreet.exit.cost import usual_cost
from discreet.ledger import Search
from discreet.noise import SYSTEM
from discreet.printing import printable
from discreet.server import requests
from discreet.server.api import CSV, Number, entry_of, json_response, own_releases, recalled_work, task_of
from discreet.server.dispatch import Submission
from discreet.server.pages.page_auth import Anybody, Asking, PageAccess
from discreet.server.problems import document_of
from discreet.server.queue import Job

router: Final = APIRouter(prefix="/data/{dataset}/releases", include_in_schema=False)
SOON: Final = 2.0
"""Seconds that a page waits for a release before it says that it waits."""
MOST_LISTED: Final = 500
"""Rows of a page; the files have them all."""
MOST_CHARTS: Final = 24
LOOKED_AT: Final = 20
"""Charges among which the newest facets of each table are looked for."""
SIMPLE: Final = {"Facets": "the histogram of every column", "RunningTotals": "running totals over its dates"}
"""Publications that need no arguments, in words."""
ANSWERABLE: Final = (Refused, QueryFailed)


# small charts


@dataclass(frozen=True, slots=True)
class Chart:
    """The histogram of one column, drawn small; it filters nothing."""

    column: str
    bars: list[tuple[float, str]]
    """For each bar its height as a share of the highest, and what it says."""
    first: str
    last: str

    @property
    def words(self) -> str:
        """For those who do not see it."""
        highest = max(self.bars, default=(0.0, "nothing"))[1]
        return f"{self.column}: {len(self.bars)} bars, the highest {highest}"


def charts_of(curator: Curator) -> list[tuple[str, list[Chart]]]:
    """The newest facets of each question: published, so everybody who may look at the dataset sees them."""
    shown: dict[str, list[Chart]] = {}
    for entry in curator.latest(Search(None, "Facets.release:", True), limit=LOOKED_AT):
        source = entry.question.partition(": ")[2]
        if task_of(entry) == "release" and source not in shown:
            facets = curator.recall(entry.number)
            shown[source] = [_chart(name, facets) for name in facets.domain.names[:MOST_CHARTS]]
    return list(shown.items())


def _chart(name: str, facets: Any) -> Chart:
    histogram = [(_label(value), max(count, 0)) for value, count in facets.histogram(name)]
    highest = max([count for _, count in histogram], default=0) or 1
    bars = [(count / highest, f"{label}: {count:,} ± {facets.error:.4g}") for label, count in histogram]
    first, *_, last = [value for value, _ in facets.histogram(name) if value is not None] * 2 or ["", ""]
    low, high = (value[side] if isinstance(value, tuple) else value for value, side in ((first, 0), (last, 1)))
    return Chart(name, bars, _label(low), _label(high))


def _label(value: Any) -> str:
    text = " – ".join(map(str, value)) if isinstance(value, tuple) else "NULL" if value is None else str(value)
    return printable(text)[:60]


# the form


@dataclass(frozen=True, slots=True)
class Wanted:
    """What stands in the form."""

    publication: str = "Facets"
    table: str = ""
    epsilon: str = ""
    key: str = ""

    @classmethod
    def of(cls, form: Mapping[str, str]) -> Self:
        names = ("publication", "table", "epsilon", "key")
        return cls(**{name: form[name].strip() for name in names if name in form})

    def request(self, curator: Curator) -> requests.Release:
        """As the interface has it; columns of private texts are left out where no δ finds them."""
        if self.publication not in SIMPLE or self.table not in curator.policy.private_tables:
            raise Refused("body-invalid", "this is no form of ours", "open the page again and repeat it")
        params: dict[str, Any] = {}
        if self.publication == "Facets" and curator.policy.budget.delta is None:
            columns = curator.policy.tables[self.table].columns.values()
            params["names"] = [each.name for each in columns if each.values is not None or each.bounds is not None]
        try:
            epsilon = float(self.epsilon) if self.epsilon else None
            said: dict[str, Any] = {"epsilon": epsilon, "params": params or None}
            return requests.Release(publication=self.publication, sql=self.table, **said)
        except ValidationError as wrong:
            raise Refused("body-invalid", wrong.errors()[0]["msg"], "open the page again and repeat it") from None
        except ValueError:
            raise Refused("cost-invalid", "the cost ε is no number", "write a number such as 0.5") from None


@router.get("")
async def releases_page(page_access: Anybody) -> Response:
    return await _shown(page_access, Wanted())


@router.post("/preview")
async def preview(page_access: Asking) -> Response:
    wanted = Wanted.of(await page_access.visitor.form())

    def previewed() -> Any:
        submission = _submission(page_access, wanted)
        return preview_parts(submission.curator.preview_of(submission.task))

    try:
        parts = await page_access.dispatcher.light(previewed)
    except ANSWERABLE as refused:
        return await _shown(page_access, wanted, problem=document_of(refused))
    return await _shown(page_access, wanted, parts=parts)


@router.post("")
async def release(page_access: Asking) -> Response:
    """The release, charged: a page of its own. A form that is sent twice is charged once."""
    wanted = Wanted.of(await page_access.visitor.form())
    dispatcher = page_access.dispatcher
    try:
        submission = await dispatcher.light(_submission, page_access, wanted, wanted.key[:100] or None)
        outcome = await dispatcher.ask(submission)
        if isinstance(outcome, Job) and await dispatcher.wait(outcome, SOON):
            outcome = outcome.result.result()
    except ANSWERABLE as refused:
        return await _shown(page_access, wanted, problem=document_of(refused))
    if isinstance(outcome, Job):
        return RedirectResponse(f"{page_access.path}/jobs/{outcome.id}", 303)
    return RedirectResponse(arrived_at(page_access, outcome), 303)


@router.get("/preview")
async def again(page_access: Anybody) -> Response:
    """For those who open the address of what they sent."""
    return RedirectResponse(f"{page_access.path}/releases", 303)


def arrived_at(page_access: PageAccess, document: Mapping[str, Any]) -> str:
    """The page of a release."""
    return f"{page_access.path}/releases/{document['receipt'].partition(':')[0]}"


def _submission(page_access: PageAccess, wanted: Wanted, key: str | None = None) -> Submission:
    access = page_access.access
    return Submission.of(access.dataset, access.caller, wanted.request(access.dataset.curator), key)


async def _shown(
    page_access: PageAccess, wanted: Wanted, problem: Mapping[str, Any] | None = None, parts: Any = None
) -> Response:
    curator = page_access.access.dataset.curator

    def context() -> dict[str, Any]:
        entries = [entry for entry in own_releases(page_access.access) if entry.answered]
        return {"entries": list(reversed(entries))[:MOST_LISTED], "facets": charts_of(curator)}

    usual = wanted.epsilon or f"{usual_cost(curator.policy):g}"
    return page_access.show(
        "releases.html",
        200 if problem is None else problem["status"],
        here="/releases",
        wanted=Wanted(wanted.publication, wanted.table, usual, SYSTEM.bytes(16).hex()),
        kinds=SIMPLE,
        tables=list(curator.policy.private_tables),
        problem=problem,
        parts=parts,
        **await page_access.dispatcher.light(context),
    )


# one release


@router.get("/{number}.json")
async def release_json(page_access: Anybody, number: Number) -> Response:
    document = await page_access.dispatcher.light(recalled_work, page_access.access, number, "release")
    return json_response(document, 200, **_named(page_access, number, "json"))


@router.get("/{number}.csv")
async def release_csv(page_access: Anybody, number: Number) -> Response:
    text = await page_access.dispatcher.light(lambda: _recalled(page_access, number).csv())
    return Response(text, media_type=CSV, headers=_named(page_access, number, "csv"))


@router.get("/{number}")
async def release_page(page_access: Anybody, number: Number) -> Response:
    """Below the others: its address would match theirs."""

    def context() -> dict[str, Any]:
        published, entry = _recalled(page_access, number), entry_of(page_access.access, number)
        names, rows = published.listed()
        charts = [_chart(name, published) for name in published.domain.names] if hasattr(published, "histogram") else []
        return {
            "entry": entry,
            "is_earlier": page_access.access.dataset.curator.is_earlier(number),
            "number": number,
            "names": names,
            "rows": [[_label(value) if not isinstance(value, float) else f"{value:,.1f}" for value in row] for row in
                     rows[:MOST_LISTED]],
            "hidden": max(0, len(rows) - MOST_LISTED),
            "error": getattr(published, "error", None),
            "charts": charts,
        }  # fmt: skip

    return page_access.show("release.html", here="/releases", **await page_access.dispatcher.light(context))


def _recalled(page_access: PageAccess, number: int) -> Any:
    recalled_work(page_access.access, number, "release")  # which says whose it is, and what it is of
    return page_access.access.dataset.curator.recall(number)


def _named(page_access: PageAccess, number: int, ending: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{page_access.name}-release-{number}.{ending}"'}
