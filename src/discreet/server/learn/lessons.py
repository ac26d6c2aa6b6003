"""All lessons, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.server.learn import (
    averaging,
    blue_eyes,
    coins,
    complaints,
    hiv,
    linkage,
    losses,
    nationality,
    zipcode,
)
from discreet.server.learn.lesson import Lesson

LESSONS: Final[Mapping[str, Lesson]] = {
    lesson.slug: lesson
    for lesson in (
        blue_eyes.LESSON,
        complaints.LESSON,
        coins.LESSON,
        nationality.LESSON,
        losses.LESSON,
        averaging.LESSON,
        linkage.LESSON,
        zipcode.LESSON,
        hiv.LESSON,
    )
}


def after(slug: str) -> Lesson:
    """The next lesson; after the last one the first."""
    slugs = list(LESSONS)
    return LESSONS[slugs[(slugs.index(slug) + 1) % len(slugs)]]
