"""Units that are held out: a quarter of them, by a keyed hash of the unit, for what models were not fitted on.

Theorem  A unit with all its rows is either held out or among the rest, whatever its rows, its tables and the data
         version are, and which of the two depends on its own id, the name of the hold-out and the secret alone. So a
         task on units that are held out and one on the rest compose in parallel: the larger cost counts.
Proof    The side is the first digit of sha256(key ‖ unit), key = sha256(secret ‖ sha256(secret ‖ name)): each name has
         a key of its own, which nobody is shown. Removing a unit removes its rows from one side, and changes no row of
         the other: neighbours are neighbours on one side and the same on the other, as `accounting.part.Part` has it,
         with one part for each unit. The ledger knows the partition by a hash of the key: with another secret, sides
         are others and so is the partition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from discreet.accounting.record import PartName
from discreet.composed import Sql, literal, sql
from discreet.engines.engine import Engine
from discreet.errors import QueryFailed, Refused
from discreet.sql.nodes import Node
from discreet.sql.nodes.scan import SECRET

MOST_LETTERS: Final = 100
HELD_OUT: Final = "held out"
REST: Final = "the rest"
QUARTER: Final = "4"
"""Hashes that begin with a lower digit, of sixteen, are held out."""


@dataclass(frozen=True, slots=True)
class Holdout:
    """One side of a hold-out."""

    name: str
    side: str

    @classmethod
    def read(cls, name: object, side: str, node: Node) -> Holdout | None:
        """What a caller names, or a refusal; None if nothing is named."""
        if name is None:
            return None
        if not isinstance(name, str) or not 0 < len(name) <= MOST_LETTERS or not name.isprintable():
            raise Refused("score-invalid", "a hold-out has a short name", 'write a text such as holdout="spring"')
        if node.owner.column is None:
            raise Refused(
                "score-invalid",
                "units are held out by their ids, and here every row is a unit without one",
                "leave holdout out, or divide the rows by a WHERE of your own",
            )
        return cls(name, side)

    def rows(self, rows: Sql, unit: Sql) -> Sql:
        """Those of the rows whose units are on this side."""
        digest = sql("sha256({} || CAST({} AS VARCHAR))", self._key, unit)
        if self.side == HELD_OUT:
            return sql("SELECT * FROM ({}) WHERE {} < {}", rows, digest, literal(QUARTER))
        return sql("SELECT * FROM ({}) WHERE {} >= {}", rows, digest, literal(QUARTER))

    def part(self, engine: Callable[[], Engine]) -> PartName:
        """The side in the ledger."""
        with suppress(Exception):
            ((written,),) = engine().rows(sql("SELECT sha256({} || {})", self._key, literal(" partition")))
            partition = hashlib.sha256(f"hold-out:{written}".encode()).hexdigest()[:32]
            return PartName(partition, self.side, 1)
        raise QueryFailed("the tables cannot be read; nothing was charged", "ask the owner to run `discreet check`")

    @property
    def _key(self) -> Sql:
        named = sql("sha256({} || {})", SECRET, literal(f" hold-out {self.name}"))
        return sql("sha256({} || {})", SECRET, named)

    def note(self, *, within_blocks: bool) -> str:
        """Which units these are, and what both sides cost together."""
        which = "a quarter of the units" if self.side == HELD_OUT else "the units that are not held out"
        cost = "of both sides the larger cost counts (parallel composition)"
        return f"hold-out {self.name}: {which}; {'both sides are charged' if within_blocks else cost}"
