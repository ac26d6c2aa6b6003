"""An answer for good: its table, its picture, its cost, and how to ask it again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from discreet.answers import Answer
from discreet.answers.layout import answer_parts, budget_words, cost_words
from discreet.answers.plots.answer import LAYOUTS, answer_chart
from discreet.answers.plots.beside import drawn_beside
from discreet.answers.plots.embedded import picture, png_of, svg_of
from discreet.answers.plots.points import picture_of
from discreet.answers.saving import csv_of
from discreet.errors import Refused
from discreet.printing import lines_of, printable
from discreet.server.api import CSV, Number, entry_of, recalled, recalled_work, task_of
from discreet.server.pages.page_auth import Anybody, PageAccess
from discreet.server.pages.snippets import curl, python_code
from discreet.server.responses import written, written_response

router: Final = APIRouter(prefix="/data/{dataset}/answers", include_in_schema=False)
MOST_DRAWN: Final = 500
MOST_KEYS: Final = 60
"""Rows beyond which a picture says less than the table, and texts below each other."""
MOST_LISTED: Final = 1000
"""Rows of a page; the file has them all."""
FILES: Final[dict[str, tuple[str, str, Callable[[Any], str | bytes]]]] = {
    "svg": ("image/svg+xml", "svg", svg_of),
    "png": ("image/png", "png", png_of),
    "json": ("application/json", "vl.json", lambda chart: msgspec.json.encode(chart.to_dict())),
}
"""What a picture can be taken along as."""


def _context(page_access: PageAccess, number: int) -> dict[str, Any]:
    answer, entry = recalled(page_access.access, number), entry_of(page_access.access, number)
    url = str(page_access.visitor.request.base_url).rstrip("/")
    return {
        "number": number,
        "answer": answer,
        "entry": entry,
        "parts": answer_parts(answer, MOST_LISTED),
        "hidden": max(0, len(answer.rows) - MOST_LISTED),
        "cost": cost_words(answer.cost, answer.guarantee),
        "budget": budget_words(answer.used, answer.more),
        "chart": _drawn(answer),
        "alt": printable(_alt(answer)),
        "python": python_code(url, page_access.name, entry.question, entry.call),
        "curl": curl(url, page_access.name, entry.question, entry.call),
    }


def _drawn(answer: Answer) -> str | None:
    """The picture for wide pages; none where it would say less than the table, or nothing."""
    if not answer.rows or not answer.noisy or len(answer.rows) > MOST_DRAWN or _is_long(answer):
        return ""
    return picture(partial(answer_chart, answer), _alt(answer))


def _alt(answer: Answer) -> str:
    names = ", ".join(answer.noisy)
    return f"Dots with error bars: {names} for each of {len(answer.rows)} rows; the table below has the same numbers"


def _is_long(answer: Answer) -> bool:
    return any(panel.axis.kind == "text" and len(panel.axis.domain) > MOST_KEYS for panel in picture_of(answer).panels)


@router.get("/{number}.json")
async def answer_json(page_access: Anybody, number: Number) -> Response:
    light, access = page_access.dispatcher.light, page_access.access

    def document() -> Any:
        is_batch = task_of(entry_of(access, number)) == "batch"
        return recalled_work(access, number, "batch") if is_batch else recalled(access, number)

    return written_response(await light(lambda: written(document())))


@router.get("/{number}.csv")
async def answer_csv(page_access: Anybody, number: Number) -> Response:
    text = await page_access.dispatcher.light(lambda: csv_of(recalled(page_access.access, number)))
    return Response(text, media_type=CSV, headers=_named(f"{page_access.name}-{number}.csv"))


@router.get("/{number}/chart.{kind}")
async def chart_file(
    page_access: Anybody,
    number: Number,
    kind: Literal["svg", "png", "json"],
    layout: Literal["wide", "narrow"] = "wide",
    theme: Literal["light", "dark"] = "light",
) -> Response:
    """The picture as a file, or its Vega-Lite specification. Phones show the narrow one, and load it only then."""
    media, ending, written = FILES[kind]

    def drawn() -> str | bytes:
        answer = recalled(page_access.access, number)
        return drawn_beside(lambda: written(answer_chart(answer, theme, LAYOUTS[layout])))

    try:
        content = await page_access.dispatcher.light(drawn)
    except ImportError:
        raise Refused("no-pictures", "altair is not installed here", "pip install 'discreet[plot]'") from None
    return Response(content, media_type=media, headers=_named(f"{page_access.name}-{number}.{ending}"))


@router.get("/{number}")
async def answer_page(page_access: Anybody, number: Number) -> Response:
    """Below the others: its address would match theirs."""
    light = page_access.dispatcher.light
    task = task_of(await light(entry_of, page_access.access, number))
    template, context = SHOWN.get(task, ("answer.html", _context))
    return page_access.show(template, here="answer", **await light(context, page_access, number))


def _batch(page_access: PageAccess, number: int) -> dict[str, Any]:
    """The answers of a batch, one below the other."""
    access = page_access.access
    answers = access.dataset.curator.recall(number, analyst=access.caller.analyst)
    return {
        "number": number,
        "entry": entry_of(access, number),
        "cost": cost_words(answers[0].cost, answers[0].guarantee),
        "answers": [(answer, answer_parts(answer, MOST_LISTED)) for answer in answers],
    }


def _learned(page_access: PageAccess, number: int) -> dict[str, Any]:
    """A model with its card, or its scores."""
    access = page_access.access
    entry = entry_of(access, number)
    recalled_work(access, number, task_of(entry))  # refused where it cannot be shown
    learned, curator = access.dataset.curator.recall(number), access.dataset.curator
    text = learned.card() if task_of(entry) == "fit" else learned
    return {"number": number, "entry": entry, "text": lines_of(str(text)), "is_earlier": curator.is_earlier(number)}


SHOWN: Final[dict[str, tuple[str, Callable[[PageAccess, int], dict[str, Any]]]]] = {
    "batch": ("batch.html", _batch),
    "fit": ("model.html", _learned),
    "score": ("model.html", _learned),
}
"""By the kind of task: how what it let out is shown. All others are answers to queries."""


def _named(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
