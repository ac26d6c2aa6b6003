"""Saved queries on the page: saved from the editor or from an answer, opened again, removed."""

from __future__ import annotations

from functools import partial
from typing import Final

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from discreet.curator.saved import SavedQuery
from discreet.errors import Refused
from discreet.server.api import entry_of
from discreet.server.pages.page_auth import Asking, PageAccess
from discreet.server.pages.questions import Written, show_editor, show_refusal, usual
from discreet.server.saved_routes import Id

router: Final = APIRouter(prefix="/data/{dataset}/saved", include_in_schema=False)


@router.get("")
async def editor_again(page_access: Asking) -> Response:
    """For those who open the address of what they sent."""
    return RedirectResponse(page_access.path, 303)


@router.post("")
async def save(page_access: Asking) -> Response:
    """What stands in the editor, or the query of an answer, under a name."""
    form = await page_access.visitor.form()
    written = Written.of(form)
    light = page_access.dispatcher.light
    try:
        answer = await light(_answer, page_access, form.get("answer", ""), written.sql)
        query = SavedQuery(
            form.get("name", ""), written.sql, written.by, written.epsilon, written.error, written.blocks, answer=answer
        )
        saved = await light(page_access.access.dataset.saved.save, page_access.access.caller.analyst, query)
    except Refused as refused:
        return await show_refusal(page_access, written, refused)
    return RedirectResponse(f"{page_access.path}/saved/{saved.id}", 303)


def _answer(page_access: PageAccess, number: str, sql: str) -> int | None:
    """The answer that a query was saved with, if it is the caller's own, and an answer to that text."""
    if not number.isdecimal() or len(number) > 18:
        return None
    entry = entry_of(page_access.access, int(number))
    return entry.number if entry.answered and entry.question.strip() == sql.strip() else None


@router.get("/{saved}")
async def open_again(page_access: Asking, saved: Id) -> Response:
    """In the editor, as it was saved, with its last answer a link away. Nothing is run, and nothing charged."""
    find = partial(page_access.access.dataset.saved.find, page_access.access.caller.analyst)
    query = await page_access.dispatcher.light(find, saved)
    cost = query.epsilon or await page_access.dispatcher.light(usual, page_access)
    written = Written(query.sql, query.by, cost, query.error, blocks=query.blocks)
    return await show_editor(page_access, written, opened=query)


@router.post("/{saved}/remove")
async def remove(page_access: Asking, saved: Id) -> Response:
    await page_access.visitor.form()
    await page_access.dispatcher.light(
        page_access.access.dataset.saved.remove, page_access.access.caller.analyst, saved
    )
    return RedirectResponse(page_access.path, 303)
