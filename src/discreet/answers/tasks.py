"""What learns, publishes or can be sent to a server, by what it can do: nobody imports any to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from discreet.accounting.record import Key
    from discreet.answers.documents import Model, Release, Scores


class Documented:
    """What a task let out that is no answer: it says itself how JSON has it."""

    def document(self) -> Model | Release | Scores:
        """As it is sent."""
        raise NotImplementedError


class Learner(Documented):
    """Something that learns from private rows through an exit: it says itself how."""

    def task(self, sql: Any, **options: Any) -> Any:
        """The task of learning from the rows of a SELECT."""
        raise NotImplementedError

    def document(self) -> Model:
        """What it learned, as JSON has it."""
        raise NotImplementedError

    def score_task(self, sql: Any, **options: Any) -> Any:
        """The task of scoring what it learned on the rows of a SELECT."""
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
    def path(self) -> str:
        """What a server calls such tasks: a name in `TASKS`."""

    @property
    def key(self) -> Key | str | None: ...

    def request(self) -> dict[str, Any]:
        """As JSON has it."""

    def received(self, document: Any) -> Any:
        """What the server sent, as if it had been performed here; ValueError if it is not what was asked for."""
