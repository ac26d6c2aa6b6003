"""A lesson: its fields, and what its page shows for their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.lab.blocks import Block, Figure, Table
from discreet.server.learn.fields import Field, Values


@dataclass(frozen=True, slots=True)
class Body:
    """What a lesson shows for the reader's values."""

    glance: tuple[Block, ...]
    """Beside the form: what answers the question at a glance."""
    figures: Table
    """The lecture's figures beside the reader's."""
    more: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Sketch:
    """The small picture of a lesson on the overview: lines or bars in the unit square, and what they show."""

    alt: str
    lines: tuple[tuple[tuple[float, float], ...], ...] = ()
    bars: tuple[tuple[float, float], ...] = ()
    """Pairs of heights that stand side by side."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One example of the lectures."""

    slug: str
    title: str
    lectures: tuple[str, ...]
    teaser: str
    shows: str
    fields: tuple[Field, ...]
    body: Callable[[Values], Body]
    sketch: Sketch
    figure: Figure
    invented: str = "invented data: the true values are shown"


def compared(lecture: str, *rows: tuple[str, str, str]) -> Table:
    """What the lecture says beside what the reader chose."""
    return Table("The lecture's figures and yours", ("", f"lecture {lecture}", "yours"), rows)
