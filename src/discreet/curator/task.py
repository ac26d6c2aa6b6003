"""What a curator can be asked to do: tasks, and what they may know before anything is charged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import Amount, Used
from discreet.accounting.record import BlockNames, Entry, Key, PartName
from discreet.accounting.rounding import float_up
from discreet.answers import Preview
from discreet.answers.call import value_read
from discreet.composed import Sql
from discreet.curator.found_bounds import Index
from discreet.curator.holdout import Holdout
from discreet.curator.public import PublicTables
from discreet.curator.streams import Chosen
from discreet.engines.engine import Engine
from discreet.engines.rehearsal import demand_planned
from discreet.errors import Refused
from discreet.exit import Outcome
from discreet.exit import Prepared as Releasing
from discreet.exit.cost import Loss
from discreet.ledger import Ledger
from discreet.policy import Policy
from discreet.policy.engines import DUCKDB
from discreet.sql.now import present
from discreet.sql.plan import Plan
from discreet.tracing import phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    chosen: Chosen | None = None
    """The blocks of a stream that it reads: policy and digest are theirs then."""

    @property
    def nothing(self) -> Loss:
        """The loss of what is free."""
        nothing = Pure(0) if self.policy.budget.delta is None else Concentrated(0)
        return nothing.per(self.policy.unit)

    def demand_planned(self, queries: Iterable[Sql], schemas: Mapping[str, Mapping[str, str]]) -> None:
        """Refuse what the database that computes makes no plan of; rows that are given, as dummy data is, have none."""
        held = None if self.policy.engine == DUCKDB else self.opened()
        if held is None or held.dialect == self.policy.engine:
            demand_planned(self.policy, self.digest, queries, schemas)

    @property
    def blocks(self) -> BlockNames | None:
        return None if self.chosen is None else self.chosen.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of every task about these rows."""
        return () if self.chosen is None else self.chosen.notes

    @property
    def about(self) -> dict[str, Any]:
        """What every bill says of the rows that it is about."""
        return {"data": self.version, "blocks": self.blocks}

    def part_of(self, holdout: Holdout) -> Callable[[], PartName] | None:
        """One side of a hold-out in the ledger; none within blocks, where both sides are on the lines of the blocks."""
        return partial(holdout.part, self.engine) if self.chosen is None else None

    def present(self, texts: Sequence[object], key: object) -> datetime | None:
        """What the present is in these texts: that of the recorded call, where it is sent again under its name."""
        moment = max(filter(None, map(present, texts)), default=None)  # with its time, if one of them asks for that
        number = self.ledger.charged(key) if moment is not None and isinstance(key, Key) else None
        entry = None if number is None else self.ledger.entry(number)
        recorded = None if entry is None else value_read(entry.call.get("now"))
        return recorded if isinstance(recorded, datetime) else moment

    def remaining(self, analyst: str | None) -> Amount:
        """What is left: of the budget, or of all of the blocks."""
        if self.chosen is None:
            return self.ledger.remaining(analyst)
        with suppress(Refused):  # some are retired: what is cached is shown all the same
            return self.ledger.affordable(self.chosen.names, analyst)
        return Amount(0.0) if self.policy.budget.delta is None else Amount(0.0, 0.0, 0.0)

    def used(self, analyst: str | None) -> Used:
        """How much is used up of the budget, of an analyst's share, or of the blocks."""
        with suppress(Refused):  # some are retired
            return self.ledger.used(analyst, self.blocks)
        return Used(1.0, of="capacity")

    def affordable_count(self, loss: Loss, analyst: str | None, part: PartName | None = None) -> int | None:
        """How many more charges of this loss fit."""
        return self.ledger.affordable_count(loss, analyst, part if self.chosen is None else self.chosen.names)

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
        with phase("read"):
            return self.engine.rows(query, self.seconds)

    def columns(self, query: Sql) -> list[NDArray[Any]]:
        with phase("read"):
            return self.engine.columns(query, self.seconds)


Maker = Callable[..., Task[Any]]
"""How a task of a package above is made of what a caller says."""
Recall = Callable[[bytes, Entry], Any]
"""How what was kept beside a charge is shown again."""
