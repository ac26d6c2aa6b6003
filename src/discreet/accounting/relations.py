"""Which data sets are neighbours, and whom a loss is about: losses are added up only where both are the same.

ADD_REMOVE    One unit is there or not, with all its rows. How many units there are is private.
REPLACE_ONE   One unit's rows are others. How many units there are is public: it is the same on both sides.

Theorem  What is ε-DP for ADD_REMOVE is 2ε-DP for REPLACE_ONE (ρ-zCDP: 4ρ). Nothing leads back.
Proof    Replacing is removing one unit and adding another: a group of two (see `group`). The other way round, releasing
         the number of units costs nothing for REPLACE_ONE and has no finite ε for ADD_REMOVE.
Source   Kifer & Machanavajjhala 2011 (bounded and unbounded differential privacy).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from discreet.errors import Refused

CODE = "losses-differ"


class Relation(Enum):
    """Which data sets are neighbours."""

    ADD_REMOVE = "adding or removing one unit"
    REPLACE_ONE = "replacing one unit"

    def __repr__(self) -> str:
        return f"Relation.{self.name}"


class Stated(Protocol):
    """What says whom it is about."""

    @property
    def relation(self) -> Relation: ...
    @property
    def unit(self) -> str | None: ...


def common(losses: Sequence[Stated]) -> tuple[Relation, str | None]:
    """The relation and the unit that all of them are about, or a refusal that names the conversion."""
    if not losses:
        return Relation.ADD_REMOVE, None
    first = losses[0]
    for other in losses[1:]:
        demand_same(other, first.relation, first.unit)
    return first.relation, first.unit


def demand_same(loss: Stated, relation: Relation, unit: str | None) -> None:
    """Refuse a loss of another relation or another unit."""
    if loss.relation is not relation:
        raise Refused(
            CODE,
            f"{loss!r} is about {loss.relation.value}, and the others are about {relation.value}: "
            "their sum would be about neither",
            "turn those of ADD_REMOVE into REPLACE_ONE with replace_one(loss), which takes epsilon twice and rho four "
            "times; there is no way back, because the number of units is public for REPLACE_ONE",
        )
    if loss.unit != unit:
        raise Refused(
            CODE,
            f"{loss!r} is about {_named(loss.unit)}, and the others are about {_named(unit)}: "
            "their sum would be about neither",
            "say whom a loss is about with loss.per(unit), or write group(loss, k, unit=…) if one unit is k of those",
        )


def _named(unit: str | None) -> str:
    return "a unit without a name" if unit is None else f"one {unit!r}"


def label(value: object) -> str | None:
    """The name of a unit, or None."""
    if value is not None and not (isinstance(value, str) and value):
        raise TypeError("unit must be the name of whom the loss is about, such as 'patient', or None")
    return None if value is None else str(value)


def neighbours(value: object) -> Relation:
    if not isinstance(value, Relation):
        raise TypeError("relation must be Relation.ADD_REMOVE or Relation.REPLACE_ONE")
    return value
