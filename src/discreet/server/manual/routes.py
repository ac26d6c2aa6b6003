"""The documentation under /docs. Everybody may read it, signed in or not; it says nothing about anybody's data."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from discreet.errors import Refused
from discreet.server.access import app_state
from discreet.server.manual.library import library
from discreet.server.manual.search import MAX_QUERY
from discreet.server.manual.views import Manual, View
from discreet.server.pages.page_auth import reader
from discreet.server.pages.readers import Readers
from discreet.server.pages.rendering import page

READERS: Final = Readers("docs", "the documentation answers", 1200)
"""Pictures are requests too."""
PATH: Final = "/docs"
router: Final = APIRouter(include_in_schema=False)


@cache
def manual() -> Manual:
    return Manual(library())


@cache
def _view(address: str) -> View | None:
    """Every page is rendered once; other addresses are not kept."""
    return manual().view(address, link)


def link(address: str) -> str:
    return f"{PATH}/{address}" if address else PATH


@router.get(PATH)
async def overview(request: Request) -> Response:
    return await document(request, "")


@router.get(f"{PATH}/search")
async def search(request: Request, q: Annotated[str, Query(max_length=MAX_QUERY)] = "") -> Response:
    READERS.admit(request)
    async with READERS.turn(request):
        view = await app_state(request).dispatcher.light(manual().searched, q, link)
    return _shown(request, view)


@router.get(f"{PATH}/{{address:path}}")
async def document(request: Request, address: str) -> Response:
    READERS.admit(request)
    picture = manual().library.picture(address)
    if picture is not None:
        return Response(picture[0], media_type=picture[1], headers={"cache-control": "public, max-age=3600"})
    async with READERS.turn(request):
        known = address in manual().addresses
        view = await app_state(request).dispatcher.light(_view, address) if known else None
    if view is None:
        raise Refused("unknown-route", "there is no such page", "see /docs for all pages, or search for it there")
    return _shown(request, view)


def _shown(request: Request, view: View) -> Response:
    return page(view.template, {**reader(request, "docs"), **view.context, "site": False})
