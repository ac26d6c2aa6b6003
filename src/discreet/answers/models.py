"""Models and releases on their way between a client and a server: what each knows of them without importing any."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Number
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
MOST_ALIKE: Final = 100
"""Different values with one hash: usual ones are a few at most, such as −1 and −2."""
KNOWN: Final = ("fraction", "decimal", "scalar")
"""Kinds of values whose hashes are those of numbers."""
RECEIPT: Final = re.compile(r"[0-9]{1,19}:[0-9a-f]{0,128}")


def values_sent(given: Mapping[str, Any], what: str, deepest: int) -> Iterator[Any]:
    """Every value of a request, those inside of others too; a refusal where they are too many or too deep, or where
    sets of them would be slow."""
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
    demand_scattered(given, what)


def demand_scattered(given: Any, what: str) -> None:
    """Refuse many different values with one hash: a set or a table of them takes time that grows with their square.

    Hashes of numbers, and of tuples of them, are the same in every process, so that anybody can find such values; those
    of texts and dates are not. Lists count as the tuples that some are made into. Its own time grows with `given`.
    """
    alike: dict[int, set[int]] = {}
    _hashed(given, alike)
    if max(map(len, alike.values()), default=0) > MOST_ALIKE:
        reason = f"more than {MOST_ALIKE} values of the {what} are different and have one hash"
        raise Refused("too-complex", reason, "use other values")


class _Hashed:
    """Stands for a value: its hash is that of the value, and its text tells it from others."""

    __slots__ = ("own", "text")

    def __init__(self, own: int, text: int) -> None:
        self.own, self.text = own, text

    def __hash__(self) -> int:
        return self.own


def _hashed(value: Any, alike: dict[int, set[int]]) -> _Hashed | None:
    """What stands for a value, if it has a hash; `alike` learns of it, and of all values inside of it."""
    if isinstance(value, str):
        return _Hashed(hash(value), hash(value))
    if isinstance(value, dict):
        value = _read(value, alike)
    if isinstance(value, list):
        parts = [_hashed(each, alike) for each in value]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        hashed = _Hashed(hash(tuple(known)), hash(tuple(part.text for part in known)))
    elif isinstance(value, int | float | Number):
        hashed = _Hashed(hash(value), hash(repr(value)))
    else:
        return None
    alike.setdefault(hashed.own, set()).add(hashed.text)
    return hashed


def _read(value: dict[str, Any], alike: dict[int, set[int]]) -> Any:
    """The number that it is, the list of a tuple, or None for what has no hash, or one that nobody knows."""
    from discreet.answers.values import VALUES  # it needs NumPy

    kind = next(iter(value), "")
    if kind == "tuple":
        return value["tuple"]
    if kind in KNOWN:
        try:
            return VALUES.read(value)
        except (ArithmeticError, LookupError, TypeError, ValueError):  # who reads it will refuse it
            return None
    for each in value.values():
        _hashed(each, alike)
    return None


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
