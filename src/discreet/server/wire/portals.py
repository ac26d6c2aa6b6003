"""What a session holds for its client: prepared statements, portals and cursors, so many and no more.

A portal is run once. What it gave is handed out row by row, and asking a finished one again gives no rows and costs
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from discreet.server.wire.problems import Failed, Notice
from discreet.server.wire.protocol import Field
from discreet.server.wire.settings import Settings
from discreet.server.wire.statements import Statement
from discreet.server.wire.translation import Question

MAX_STATEMENTS: Final = 500
MAX_PORTALS: Final = 20
MAX_CHARACTERS: Final = 2**21
"""Of all prepared statements of a session, and of the values of all its portals."""
MAX_UNDERSTOOD: Final = 2**17
"""Characters of its questions about the catalogue: each is held as a tree, which takes three hundred times its text."""


@dataclass(slots=True, eq=False)
class Prepared:
    """A statement that was parsed: what it is, and the types of its parameters."""

    text: str
    statement: Statement
    types: tuple[int, ...]
    about_catalogue: Question | None = None
    is_used: bool = False
    """Something was planned or looked up for it."""


@dataclass(slots=True, eq=False)
class Portal:
    """A statement with values for its parameters, and how far it is."""

    prepared: Prepared
    settings: Settings
    """Those of the session when it was made: a later SET changes no cost of it."""
    values: Mapping[str, Any] = field(default_factory=dict)
    formats: tuple[int, ...] = ()
    weight: int = 0
    holds: bool = False
    """It outlives its transaction."""
    fields: tuple[Field, ...] | None = None
    is_described: bool = False
    text: str = ""
    """Of a query: as the planner reads it."""
    rows: list[tuple[Any, ...]] | None = None
    charge: int = 0
    """The number of what these rows are of; 0 where they are of none."""
    notice: Notice | None = None
    tag: str = ""
    at: int = 0
    has_failed: bool = False

    def next_rows(self, most: int) -> Iterator[tuple[Any, ...]]:
        """At most so many of those that were not handed out yet; 0 means all."""
        assert self.rows is not None
        end = min(self.at + most, len(self.rows)) if most else len(self.rows)
        rows, self.at = self.rows[self.at : end], end
        return iter(rows)

    @property
    def is_finished(self) -> bool:
        return self.rows is not None and self.at >= len(self.rows)


class Held:
    """The statements and portals of one session."""

    def __init__(self) -> None:
        self.statements: dict[str, Prepared] = {}
        self.portals: dict[str, Portal] = {}

    def add_statement(self, name: str, prepared: Prepared) -> None:
        if name and name in self.statements:
            raise Failed("42P05", f'prepared statement "{name[:60]}" already exists')
        held = sum(len(each.text) for each in self.statements.values())
        if len(self.statements) >= MAX_STATEMENTS or held + len(prepared.text) > MAX_CHARACTERS:
            raise Failed("53400", "this session holds too many prepared statements", "close some, or DEALLOCATE ALL")
        self._demand_few_trees(prepared)
        self.statements[name] = prepared

    def _demand_few_trees(self, more: Prepared) -> None:
        held = [*self.statements.values(), *(portal.prepared for portal in self.portals.values()), more]
        trees = {id(each.about_catalogue): len(each.text) for each in held if each.about_catalogue is not None}
        if sum(trees.values()) > MAX_UNDERSTOOD:
            raise Failed("53400", "this session holds too many questions about the catalogue", "close some")

    def forget_unnamed(self) -> None:
        """The statement and the portal without a name last until the next of them."""
        self.statements.pop("", None)
        self.portals.pop("", None)

    def statement(self, name: str) -> Prepared:
        if name not in self.statements:
            raise Failed("26000", f'prepared statement "{name[:60]}" does not exist')
        return self.statements[name]

    def add_portal(self, name: str, portal: Portal) -> None:
        if name and name in self.portals:
            raise Failed("42P03", f'cursor "{name[:60]}" already exists')
        self.portals.pop(name, None)
        held = sum(each.weight for each in self.portals.values())
        if len(self.portals) >= MAX_PORTALS or held + portal.weight > MAX_CHARACTERS:
            raise Failed("53400", "this session holds too many cursors", "close some, or end the transaction")
        self._demand_few_trees(portal.prepared)
        self.portals[name] = portal

    def portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise Failed("34000", f'cursor "{name[:60]}" does not exist')
        return self.portals[name]

    def close_portals(self, *, all_: bool = False) -> None:
        """At the end of a transaction those go that were not made to last."""
        self.portals = {} if all_ else {name: each for name, each in self.portals.items() if each.holds}
