"""Several queries handed over together, as a caller says them and as JSON has them: here and behind a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from discreet.accounting.record import Key
from discreet.answers import Answer, documents
from discreet.answers.call import Call, written
from discreet.answers.consistency import consistent
from discreet.answers.wire import answer_read, answer_written
from discreet.errors import Refused

TASK: Final = "batch"
VERSION: Final = 1
MOST_QUERIES: Final = 1_000
HOW: Final = "write batch([sql, sql], epsilon=…)"


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """What a caller says about several queries. Nothing of it is believed yet."""

    queries: Sequence[str]
    epsilon: Any = None
    rho: Any = None
    delta: Any = None
    confidence: Any = 0.95
    analyst: str | None = None
    fresh: bool = False
    key: Key | str | None = None
    blocks: Any = None
    """Of a stream: those that are read."""
    path: ClassVar[str] = TASK

    @property
    def texts(self) -> list[str]:
        """The queries, or a refusal."""
        if isinstance(self.queries, str) or not isinstance(self.queries, Sequence):
            raise Refused("syntax", "a batch is a list of queries", HOW)
        texts = list(self.queries)
        if not 0 < len(texts) <= MOST_QUERIES or not all(isinstance(text, str) for text in texts):
            raise Refused("syntax", f"a batch has 1 to {MOST_QUERIES} texts", HOW)
        return texts

    @property
    def said(self) -> dict[str, Any]:
        """The cost and the confidence, as JSON has them."""
        return written(Call(sql="", epsilon=self.epsilon, rho=self.rho, delta=self.delta, confidence=self.confidence))

    def request(self) -> dict[str, Any]:
        """What a server is asked."""
        analyst = {} if self.analyst is None else {"analyst": self.analyst}
        return {"queries": self.texts, **self.said, **written(Call(sql="", blocks=self.blocks)), **analyst}

    def received(self, document: documents.Batch) -> list[Answer]:
        """What a server answered; ValueError unless that is an answer to each of them."""
        answers = answers_read(document)
        if len(answers) != len(self.texts):
            raise ValueError("a batch has an answer to each of its queries")
        return answers


def answers_written(answers: Sequence[Answer]) -> dict[str, Any]:
    """The answers of a batch, as JSON has them."""
    return {"version": VERSION, "answers": [answer_written(answer) for answer in answers]}


def answers_read(document: documents.Batch) -> list[Answer]:
    """The answers that were sent."""
    if document["version"] != VERSION:
        raise ValueError("a batch of another version")
    return [answer_read(consistent(answer)) for answer in document["answers"]]


READERS: Final[Mapping[int, Any]] = {VERSION: answers_read}
