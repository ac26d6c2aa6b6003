"""What requests under /api/v1 say about themselves, and what is sent back, as the OpenAPI document has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from fastapi import Depends, Header, Path, Query
from starlette.responses import Response

from discreet.accounting.record import LONGEST_KEY
from discreet.answers import Answer, documents
from discreet.answers.wire import answer_written

LONGEST_PREFERENCE: Final = 100
SCHEMAS: Final = "#/components/schemas/"
CSV: Final = "text/csv; charset=utf-8"
Number = Annotated[int, Path(ge=1, lt=2**63, description="Of the charge; the receipt begins with it.")]
Confidence = Annotated[float | None, Query(description="Of the intervals; as it was asked if left out.")]


@dataclass(frozen=True, slots=True)
class Headers:
    """What a caller says about the request itself."""

    idempotency_key: str | None
    prefer: str | None


async def _headers(
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=LONGEST_KEY,
            description="A name for this request: sent twice, it is charged once. Remembered with the charge.",
        ),
    ] = None,
    prefer: Annotated[
        str | None,
        Header(
            max_length=LONGEST_PREFERENCE,
            description="`respond-async, wait=5`: after 5 seconds, a job instead of an answer.",
        ),
    ] = None,
) -> Headers:
    """Not the class itself: FastAPI hands what is not async to a thread of its own."""
    return Headers(idempotency_key, prefer)


Sent = Annotated[Headers, Depends(_headers)]


def schema_of(kind: type[Any]) -> dict[str, Any]:
    """Where the OpenAPI document describes a document."""
    return {"content": {"application/json": {"schema": {"$ref": f"{SCHEMAS}{kind.__name__}"}}}}


def returns(kind: type[Any]) -> dict[int | str, dict[str, Any]]:
    return {200: {**schema_of(kind), "description": "Successful Response"}}


ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    **returns(documents.Answer),
    202: {**schema_of(documents.Waiting), "description": "It waits or runs; Location is where to look."},
}
MODELS: Final[dict[int | str, dict[str, Any]]] = {**ANSWERS, **returns(documents.Model)}
BATCHES: Final[dict[int | str, dict[str, Any]]] = {**ANSWERS, **returns(documents.Batch)}
SCORES: Final[dict[int | str, dict[str, Any]]] = {**ANSWERS, **returns(documents.Scores)}
RELEASES: Final[dict[int | str, dict[str, Any]]] = {**ANSWERS, **returns(documents.Release)}


def json_response(document: object, status: int = 200, **headers: str) -> Response:
    return written_response(msgspec.json.encode(document), status, **headers)


def written_response(document: bytes, status: int = 200, **headers: str) -> Response:
    return Response(document, status, headers, "application/json")


def document_sent(result: Any) -> Any:
    """An answer as it is sent; models are documents already."""
    return answer_written(result) if isinstance(result, Answer) else result


def written(result: Any) -> bytes:
    """The same in JSON."""
    return msgspec.json.encode(document_sent(result))
