"""The routes of saved queries: each caller's own, by token."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from discreet.answers import documents
from discreet.curator.saved import SavedQuery
from discreet.server import requests
from discreet.server.access import Asking, app_state
from discreet.server.responses import json_response, returns

router: Final = APIRouter(prefix="/api/v1/datasets/{dataset}/saved", tags=["looking"])
Id = Annotated[str, Path(max_length=64)]


@router.get("", responses=returns(documents.SavedQueries))
async def saved(request: Request, access: Asking) -> Response:
    """The saved queries of this token's holder, by name, each with the number of its last answer."""
    queries = await app_state(request).dispatcher.light(access.dataset.saved.all, access.caller.analyst)
    return json_response({"saved": [_written(query) for query in queries]})


@router.post("", responses=returns(documents.SavedQuery))
async def save(request: Request, access: Asking, saving: requests.Saving) -> Response:
    """Save a query under a name: what had that name before is replaced. Nothing is run, and nothing charged."""
    by = "epsilon" if saving.error is None else "error"
    epsilon = "" if saving.epsilon is None else f"{saving.epsilon:g}"
    query = SavedQuery(saving.name, saving.sql, by, epsilon, saving.error or "", saving.blocks or "")
    work = partial(access.dataset.saved.save, access.caller.analyst, query)
    return json_response(_written(await app_state(request).dispatcher.light(work)))


@router.delete("/{saved}", status_code=204)
async def remove(request: Request, access: Asking, saved: Id) -> Response:
    """Remove a saved query. Its answers stay in the ledger."""
    await app_state(request).dispatcher.light(access.dataset.saved.remove, access.caller.analyst, saved)
    return Response(status_code=204)


def _written(query: SavedQuery) -> dict[str, Any]:
    return asdict(query)
