"""A lesson: its fields, and the blocks of which its page is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from discreet.server.learn.fields import Field, Values

LECTURES: Final = {
    "000": "A Brief Introduction to Differential Privacy",
    "001": "Data Privacy & Security, chapter 3",
    "002": "Privacy Basics I",
    "003": "CSC 2515, lecture 11: Differential Privacy",
    "004": "Global differential privacy",
}


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    kind: ClassVar = "words"

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    kind: ClassVar = "heading"

    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what it is."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Figures:
    """A few numbers side by side."""

    kind: ClassVar = "figures"

    items: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart, drawn when the page is; `alt` says what is to be seen."""

    kind: ClassVar = "picture"

    chart: Callable[[], Any]
    alt: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; the first cell of each row names it."""

    kind: ClassVar = "table"

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: frozenset[int] = frozenset()
    """Rows that matter most."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that stands out: `good`, `bad` or plain."""

    kind: ClassVar = "note"

    text: str
    tone: str = ""


Block = Words | Heading | Figures | Picture | Table | Note


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
