"""Forms as browsers send them, and where they come from."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from discreet.errors import Refused

MOST_FIELDS: Final = 50


async def form_of(request: Request, most: int = MOST_FIELDS) -> dict[str, str]:
    """The fields of a form, as browsers send them."""
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=most, encoding="utf-8"))
    except ValueError:
        raise Refused("body-invalid", "this is no form of ours", "open the page again and repeat it") from None


def demand_same_origin(request: Request) -> None:
    """Others must not sign people in with a token of theirs."""
    origin = request.headers.get("origin")  # its scheme is not ours where a proxy encrypts
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise Refused("forged-form", "this form does not come from our own page", "open the page again and repeat it")
