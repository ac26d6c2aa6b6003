"""Attack: a megabyte of wrong values, which nobody has to be known to send, holds up the event loop.

pydantic tells what is wrong with each of them, for each way to read it: half a second, in which nobody is answered.
"""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import ValidationError

from discreet.server import requests
from discreet.server.app import ROUTERS

MOST = 10
MANY = 2 * requests.MOST_VALUES
WRONG: list[Any] = [
    [{}] * MANY,
    [[{}] * 100] * (MANY // 100),
    {str(number): {} for number in range(MANY)},
    {str(number): [{}] * 100 for number in range(MANY // 100)},
    {"x": {str(number): {} for number in range(MANY)}},
]
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
SENT: set[Any] = {route.body_field.field_info.annotation for route in ROUTES if route.body_field is not None}
BODIES: list[type[requests.Sent]] = sorted(SENT, key=lambda each: each.__name__)


def wrongs(body: type[requests.Sent], sent: dict[str, Any]) -> int:
    """How much is told of what is wrong."""
    with pytest.raises(ValidationError) as refused:
        body.model_validate(sent)
    return refused.value.error_count()


def test_all_bodies_are_tried() -> None:
    assert {requests.Query, requests.Question, requests.Fit, requests.Saving} <= set(BODIES)


@pytest.mark.parametrize("body", BODIES)
def test_little_is_told_of_very_much_that_is_wrong(body: type[requests.Sent]) -> None:
    for sent in WRONG:
        for name in body.model_fields:
            if name not in body.loose:
                assert wrongs(body, {name: sent}) <= MOST, name
        for name in body.loose:
            with pytest.raises(ValidationError) as refused:
                body.model_validate({name: sent})
            assert refused.value.error_count() <= MOST + len(body.model_fields), name
    assert wrongs(body, {str(number): 1 for number in range(MANY)}) <= MOST
