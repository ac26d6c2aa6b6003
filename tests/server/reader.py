"""What tests of lessons share."""

from __future__ import annotations

from functools import lru_cache

from discreet.lab.blocks import Block, Table
from discreet.server.learn.fields import read
from discreet.server.learn.lessons import LESSONS


def body_of(slug: str, **sent: str) -> list[Block]:
    """What a lesson shows for what a reader sent."""
    lesson = LESSONS[slug]
    reading = read(lesson.fields, sent)
    assert not reading.notes
    body = lesson.body(reading.values)
    return [*body.glance, body.figures, *body.more]


def figures_of(slug: str, **sent: str) -> dict[str, tuple[str, str]]:
    """The lecture's figures and the reader's, by what they are."""
    return _figures(slug, tuple(sorted(sent.items())))


@lru_cache(maxsize=256)
def _figures(slug: str, sent: tuple[tuple[str, str], ...]) -> dict[str, tuple[str, str]]:
    blocks = body_of(slug, **dict(sent))
    table = next(block for block in blocks if isinstance(block, Table) and block.columns[-1] == "yours")
    return {row[0]: (row[1], row[2]) for row in table.rows}
