"""Models on their way between a client and a server: what each must know of estimators without importing any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, runtime_checkable

from discreet.accounting.record import Key
from discreet.answers.documents import Model


class Learner:
    """Something that learns from private rows through an exit: it says itself how."""

    def task(self, sql: Any, **options: Any) -> Any:
        """The task of learning from the rows of a SELECT."""
        raise NotImplementedError

    def document(self) -> Model:
        """What it learned, as JSON has it."""
        raise NotImplementedError


class Publisher:
    """Something that publishes a summary of private rows through an exit: it says itself how."""

    def task(self, sql: Any, **options: Any) -> Any:
        """The task of publishing it for the rows of a table or of a SELECT."""
        raise NotImplementedError


@runtime_checkable
class Sendable(Protocol):
    """A task that a server can be asked to perform."""

    @property
    def key(self) -> Key | None: ...

    def request(self) -> dict[str, Any]:
        """As JSON has it."""

    def received(self, document: Model) -> Any:
        """What the server sent, as if it had been performed here; ValueError if it is not what was asked for."""


MODEL_READERS: Final[dict[int, Callable[[Model], Any]]] = {}
"""By the version of a document: how it becomes a fitted estimator. `discreet.learn` fills it."""
