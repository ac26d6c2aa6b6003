"""The Learn pages: an overview, and a page for each lesson. Everybody may read them, signed in or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from discreet.answers.plots.embedded import picture
from discreet.errors import Refused
from discreet.lab.blocks import Block
from discreet.lab.blocks import Picture as Drawing
from discreet.lab.lectures import LECTURES
from discreet.server.access import app_state
from discreet.server.learn.fields import Reading, read
from discreet.server.learn.lesson import Lesson
from discreet.server.learn.lessons import LESSONS, WEEKS, after, experiments_of, of_lecture, week_of
from discreet.server.pages.page_auth import reader
from discreet.server.pages.readers import Readers
from discreet.server.pages.rendering import page

READERS: Final = Readers("learn", "the Learn pages answer", 240)
ANSWER: Final = "answer"
"""The name under which the answer to a lesson's question travels."""
router: Final = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """A block as the template takes it; pictures are drawn."""

    block: Block
    svg: str | None = None


@router.get("/learn")
async def overview(request: Request) -> Response:
    READERS.admit(request)
    index = [(number, title, of_lecture(number), experiments_of(number)) for number, title in LECTURES.items()]
    return page("learn.html", {**reader(request, "learn"), "weeks": WEEKS, "lectures": LECTURES, "index": index})


@router.get("/learn/{slug}")
async def lesson(request: Request, slug: str) -> Response:
    READERS.admit(request)
    if slug not in LESSONS:
        raise Refused("unknown-route", "there is no such lesson", "see /learn for all lessons")
    async with READERS.turn(request):
        return await app_state(request).dispatcher.light(
            _lesson, LESSONS[slug], dict(request.query_params), reader(request, "learn")
        )


def _lesson(lesson: Lesson, sent: dict[str, str], visitor: dict[str, Any]) -> HTMLResponse:
    reading: Reading = read(lesson.fields, sent)
    body = lesson.body(reading.values)
    context = {
        "lesson": lesson,
        "lectures": [(number, LECTURES[number]) for number in lesson.lectures],
        "fields": [(field, field.shown(reading.values[field.name])) for field in lesson.fields],
        "notes": reading.notes,
        "glance": [_shown(block) for block in body.glance],
        "figures": Shown(body.figures),
        "more": [_shown(block) for block in body.more],
        "question": lesson.question,
        "picked": lesson.question.picked(sent.get(ANSWER, "")),
        "answer": ANSWER,
        "week": week_of(lesson.slug),
        "next": after(lesson.slug),
    }
    return page("lesson.html", {**visitor, **context})


def _shown(block: Block) -> Shown:
    return Shown(block, picture(block.chart, block.alt)) if isinstance(block, Drawing) else Shown(block)
