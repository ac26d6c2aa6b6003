"""Streams: a heat map of their blocks, what was charged for each, and which are retired."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import Used
from discreet.accounting.stream import StreamStanding
from discreet.answers.wire import stream_written
from discreet.policy.streams import protection
from discreet.server.api import json_response
from discreet.server.pages.page_auth import Anybody, PageAccess
from discreet.server.streams import standings

router: Final = APIRouter(prefix="/data/{dataset}", include_in_schema=False)
PAGE: Final = 364
"""Blocks on one page: a year of days."""
SHADES: Final = 5
STEPS: Final = ("nothing spent", "up to 20 %", "up to 40 %", "up to 60 %", "up to 80 %", "more", "retired")
"""What the shades mean, in their order; the last is hatched."""


@dataclass(frozen=True, slots=True)
class Block:
    """One cell of the map, and one row of its table."""

    number: int
    label: str
    shade: int
    words: str
    spent: str
    left: str
    own: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A stream on the page."""

    stream: StreamStanding
    protects: str
    blocks: list[Block]
    """Newest last."""
    retired: int
    summary: str
    limit: str


@router.get("/streams")
async def streams_page(page_access: Anybody, page: Annotated[int, Query(ge=1, le=10**4)] = 1) -> Response:
    return page_access.show(
        "streams.html", here="/streams", **await page_access.dispatcher.light(_context, page_access, page)
    )


@router.get("/streams.json")
async def streams_json(page_access: Anybody) -> Response:
    access = page_access.access
    shown = await page_access.dispatcher.light(standings, access)
    return json_response({"streams": [stream_written(each, access.caller.analyst) for each in shown]})


def _context(page_access: PageAccess, page: int) -> dict[str, Any]:
    shown = standings(page_access.access)
    pages = max([1, *(math.ceil(each.count / PAGE) for each in shown)])
    return {
        "shown": [_shown(page_access, each, page) for each in shown],
        "page": page,
        "pages": pages,
        "steps": STEPS,
    }


def _shown(page_access: PageAccess, stream: StreamStanding, page: int) -> Shown:
    policy, analyst = page_access.access.dataset.curator.policy, page_access.access.caller.analyst
    table = policy.streams.get(stream.name)
    last = max(0, stream.count - (page - 1) * PAGE)
    numbers = range(max(0, last - PAGE), last)
    gone = _numbers(stream)
    used = stream.used
    blocks = [_block(stream, number, used[number], analyst, is_retired=number in gone) for number in numbers]
    spent = [block for block in blocks if 0 < block.shade <= SHADES]
    full = sum(block.shade == SHADES + 1 for block in blocks)
    summary = (
        f"Heat map of {len(blocks)} blocks of {stream.name}: {full} retired, {len(spent)} partly spent, "
        f"{len(blocks) - full - len(spent)} unused; the table below has the same numbers"
    )
    limit = stream.limits.get(analyst or "")
    protects = "" if table is None else f"What is protected: {protection(table, policy.unit)}."
    return Shown(stream, protects, blocks, len(gone), summary, "" if limit is None else limit.words)


def _numbers(stream: StreamStanding) -> set[int]:
    return {number for first, last in stream.retired for number in range(first, last + 1)}


def _block(stream: StreamStanding, number: int, used: float, analyst: str | None, *, is_retired: bool) -> Block:
    own = stream.shares.get(analyst or "")
    label = stream.labels[number]
    words = "retired" if is_retired else Used(used, of="capacity").words
    return Block(
        number,
        label,
        SHADES + 1 if is_retired else min(SHADES, math.ceil(SHADES * used)),
        f"{label}: {words}",
        "retired" if is_retired else _words(stream.spent(number)),
        "" if is_retired else _words(stream.left(number, analyst)),
        "" if own is None or is_retired else _words(stream.loss(own[number])),
    )


def _words(loss: Pure | Concentrated) -> str:
    """ε, or ρ: the δ of selections stands in the JSON."""
    return loss.words.partition(",")[0]
