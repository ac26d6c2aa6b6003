"""The route of streams: how their blocks stand, for whoever may look."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.accounting.stream import StreamStanding
from discreet.answers import documents
from discreet.answers.wire import stream_written
from discreet.server.access import Access, Anybody, app_state
from discreet.server.api import json_response, returns

router: Final = APIRouter(prefix="/api/v1")


@router.get("/datasets/{dataset}/streams", responses=returns(documents.Streams), tags=["looking"])
async def streams(request: Request, access: Anybody) -> Response:
    """The streams: what was charged for each block, and which are retired. Analysts see their own lines beside."""
    shown = await app_state(request).dispatcher.light(standings, access)
    return json_response({"streams": [stream_written(each, access.caller.analyst) for each in shown]})


def standings(access: Access) -> list[StreamStanding]:
    """The streams as a caller may see them."""
    every = access.dataset.curator.streams().values()
    return [each if access.caller.role.sees_everybody else each.seen_by(access.caller.analyst) for each in every]
