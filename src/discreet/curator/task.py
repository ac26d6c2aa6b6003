"""What a curator can be asked to do: tasks, and what they may know before anything is charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import Entry
from discreet.accounting.rounding import float_up
from discreet.answers import Preview
from discreet.composed import Sql
from discreet.curator.found_bounds import Index
from discreet.curator.public import PublicTables
from discreet.engines.engine import Engine
from discreet.errors import Refused
from discreet.exit import Outcome
from discreet.exit import Prepared as Releasing
from discreet.exit.cost import Loss
from discreet.ledger import Ledger
from discreet.policy import Policy
from discreet.sql.plan import Plan

Value = TypeVar("Value")
Shown = TypeVar("Shown", covariant=True)


@dataclass(frozen=True, slots=True)
class Context:
    """What a task may know: policy, ledger and public tables. Of private tables it learns nothing here."""

    policy: Policy
    digest: str
    """Of the policy."""
    version: int
    """Of the data: read once, so that plan, charge and draw are about the same data."""
    ledger: Ledger
    public: Callable[[], PublicTables]
    plan: Callable[..., Plan]
    """Of a data version and a call; with bounds that were found, if there are any."""
    engine: Callable[[], Engine]
    """Over this data version; opened when it is asked for."""
    opened: Callable[[], Engine | None]
    """The engine, if it was opened before."""
    compute: Callable[[Sql, int | None], list[tuple[Any, ...]]]
    """A query over public values; where it reads public tables, over those of a data version."""
    bounds: Index = field(default_factory=Index)
    """Which charges found bounds that queries left out."""

    @property
    def nothing(self) -> Loss:
        """The loss of what is free."""
        nothing = Pure(0) if self.policy.budget.delta is None else Concentrated(0)
        return nothing.per(self.policy.unit)

    @property
    def guarantee(self) -> tuple[float, float | None]:
        budget = self.policy.budget
        return float_up(budget.epsilon), None if budget.delta is None else float_up(budget.delta)


def demand_choice(fresh: object, what: str) -> None:
    """Raise unless a caller said plainly whether what is cached is wanted."""
    if not isinstance(fresh, bool):
        raise Refused("cost-invalid", "fresh is True or False", f"leave it out to get {what} for nothing")


class Prepared(Releasing[Value], Protocol[Value, Shown]):
    """A task with its bill, and how it is shown."""

    @property
    def is_public(self) -> bool:
        """Whether nothing private is read for it."""

    def show_public(self, preview: Callable[[], Preview]) -> Shown:
        """What is shown where nothing private is read."""

    def show(self, outcome: Outcome[Value]) -> Shown:
        """Post-processing: free to repeat."""

    def preview(self, *, cached: bool) -> Preview:
        """What it would cost, and what is known of its error."""


class Task(Protocol[Shown]):
    """What a caller asks for. Nothing of it is believed yet."""

    @property
    def analyst(self) -> str | None: ...

    def prepared(self, context: Context) -> Prepared[Any, Shown]:
        """The task with its bill, from text and policy alone, or a refusal."""


@dataclass(frozen=True, slots=True)
class EngineReader:
    """The private rows of an engine, for a task that was charged."""

    engine: Engine
    seconds: float | None

    def rows(self, query: Sql) -> list[tuple[Any, ...]]:
        return self.engine.rows(query, self.seconds)

    def columns(self, query: Sql) -> list[NDArray[Any]]:
        return self.engine.columns(query, self.seconds)


Maker = Callable[..., Task[Any]]
"""How a task of a package above is made of what a caller says."""
Recall = Callable[[bytes, Entry], Any]
"""How what was kept beside a charge is shown again."""
