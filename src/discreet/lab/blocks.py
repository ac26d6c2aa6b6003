"""Of what experiments and lessons are made: words, figures, tables and pictures, as values that others render."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar


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
