"""Reading `[retention]`: for how long texts of questions and answers stay on record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from discreet.policy.section import Field, RuleError

DAYS: Final = {"d": 1, "w": 7, "y": 365}
WORDS: Final = {"d": "day", "w": "week", "y": "year"}
MAX_SPAN: Final = timedelta(days=365 * 100)
_SPAN: Final = re.compile(r"([0-9]{1,5})([dwy])")


@dataclass(frozen=True, slots=True)
class Span:
    """A span of whole days, as the owner wrote it.

    >>> Span.read("90d").words, Span.read("1y").time
    ('90 days', datetime.timedelta(days=365))
    """

    count: int
    unit: str

    @classmethod
    def read(cls, value: object) -> Span:
        written = _SPAN.fullmatch(value) if isinstance(value, str) and value.isascii() else None
        span = None if written is None else cls(int(written[1]), written[2])
        if span is None or not timedelta() < span.time <= MAX_SPAN:
            raise RuleError("must be a span of 1 day to 100 years", 'write it as "90d", "12w" or "1y"')
        return span

    @property
    def time(self) -> timedelta:
        return timedelta(days=self.count * DAYS[self.unit])

    @property
    def words(self) -> str:
        return f"{self.count} {WORDS[self.unit]}{'' if self.count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Retention:
    """For how long texts of questions, and answers, stay on record after they were charged; None: for good."""

    questions: Span | None = None
    answers: Span | None = None

    def __bool__(self) -> bool:
        return self.questions is not None or self.answers is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever asks should know before."""
        if self.answers is None:
            return ()
        return (f"the answer stays cached for {self.answers.words}; after that the same query is charged anew",)


FOR_GOOD: Final = Retention()
RETENTION: Final[Mapping[str, Field]] = {"questions": Field(Span.read), "answers": Field(Span.read)}
