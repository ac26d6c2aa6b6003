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
class Option:
    """One answer to choose, and the sentence that explains whether it is right."""

    text: str
    feedback: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question to answer; what is picked travels as a number, and anything else is no answer."""

    text: str
    options: tuple[Option, ...]

    @property
    def numbered(self) -> dict[str, Option]:
        return {str(number): option for number, option in enumerate(self.options, start=1)}

    def picked(self, sent: str) -> Option | None:
        return self.numbered.get(sent)


def ask(text: str, right: tuple[str, str], *wrong: tuple[str, str], at: int = 0) -> Question:
    """A question from its right answer and the others, each with its sentence; the right one is number `at`, from 0."""
    options = [Option(answer, feedback) for answer, feedback in wrong]
    options.insert(at, Option(*right, right=True))
    return Question(text, tuple(options))


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
    question: Question
    invented: str = "invented data: the true values are shown"


def compared(lecture: str, *rows: tuple[str, str, str]) -> Table:
    """What the lecture says beside what the reader chose."""
    return Table("The lecture's figures and yours", ("", f"lecture {lecture}", "yours"), rows)
