"""Models and releases on their way between a client and a server: what each knows of them without importing any."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from discreet.answers.batches import READERS
from discreet.answers.documents import Batch, Model, Release, Scores
from discreet.answers.tasks import Documented as Documented
from discreet.answers.tasks import Learner as Learner
from discreet.answers.tasks import Publisher as Publisher
from discreet.answers.tasks import Sendable as Sendable
from discreet.errors import Refused

MOST_VALUES: Final = 20_000
MOST_TEXT: Final = 400_000
"""Of one request: how many values and characters it has."""
RECEIPT: Final = re.compile(r"[0-9]{1,19}:[0-9a-f]{0,128}")


def values_sent(given: Mapping[str, Any], what: str, deepest: int) -> Iterator[Any]:
    """Every value of a request, those inside of others too; a refusal where they are too many or too deep."""
    values = text = 0
    todo: list[tuple[Any, int]] = [(value, 1) for value in given.values()]
    while todo:
        value, depth = todo.pop()
        values += 1
        text += len(value) if isinstance(value, str) else 0
        if depth > deepest or values > MOST_VALUES or text > MOST_TEXT:
            raise Refused("too-complex", f"the {what} are too long or too deep", "describe it in less")
        if isinstance(value, dict):
            text += sum(map(len, value))
            todo += [(each, depth + 1) for each in value.values()]
        elif isinstance(value, list):
            todo += [(each, depth + 1) for each in value]
        yield value


MODEL_READERS: Final[dict[int, Callable[[Model], Any]]] = {}
"""By the version of a document: how it becomes a fitted estimator. `discreet.learn` fills it."""
RELEASE_READERS: Final[dict[int, Callable[[Release], Any]]] = {}
"""By the version of a document: how it becomes what was published. `discreet.release` fills it."""
SCORE_READERS: Final[dict[int, Callable[[Scores], Any]]] = {}
"""By the version of a document: how it becomes scores. `answers.scores` fills it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of task beside queries: what a server and a client call it."""

    document: type[Any]
    stored: str
    """Where what was let out is found again, by the number of its charge."""
    code: str
    """Of the refusal where its charge is recalled as an answer."""
    what: str
    readers: Mapping[int, Callable[[Any], Any]]
    package: str
    """What has to be imported to read it."""


TASKS: Final[Mapping[str, Kind]] = {
    "fit": Kind(Model, "models", "charge-of-model", "a fitted model", MODEL_READERS, "discreet.learn"),
    "score": Kind(Scores, "scores", "charge-of-score", "scores of a model", SCORE_READERS, "discreet"),
    "release": Kind(Release, "releases", "charge-of-release", "a release", RELEASE_READERS, "discreet.release"),
    "batch": Kind(Batch, "batches", "charge-of-batch", "a batch of queries", READERS, "discreet"),
}
"""By the name that a task writes into its call."""


def misplaced(task: str, number: int, code: str) -> Refused:
    """The refusal of what was asked for at the place of another kind of task."""
    stored = TASKS[task].stored if task in TASKS else "" if task else "answers"
    what = TASKS[task].what if task in TASKS else f"a {task}" if task else "a query"
    return Refused(code, f"this charge is of {what}", f"it is at {stored}/{number}" if stored else "see the ledger")
