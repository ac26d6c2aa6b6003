"""What travels as JSON about how answers are shown, and about queries that analysts saved: a part of `documents`."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec


class Buckets(TypedDict):
    """Which values a number stands for: k for those from start + k·step to below `width` more."""

    start: Annotated[str, msgspec.Meta(description="Exact, such as 10/3.")]
    step: str
    width: str
    anchor: Annotated[str, msgspec.Meta(description="Ranges begin whole widths from here.")]
    whole: Annotated[bool, msgspec.Meta(description="Whether all values are whole numbers.")]
    first: NotRequired[Annotated[int, msgspec.Meta(description="Numbers before stand for all smaller values.")]]
    last: NotRequired[Annotated[int, msgspec.Meta(description="Numbers after stand for all larger values.")]]


class SavedQuery(TypedDict):
    """A query that its analyst saved under a name."""

    id: str
    name: str
    sql: str
    by: Annotated[Literal["epsilon", "error"], msgspec.Meta(description="Which of the two is set.")]
    epsilon: str
    error: str
    blocks: str
    at: str
    answer: Annotated[int | None, msgspec.Meta(description="The number of its last answer; looking at it is free.")]


class SavedQueries(TypedDict):
    """The saved queries of whoever asks, by name."""

    saved: list[SavedQuery]
