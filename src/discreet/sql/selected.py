"""Counts of units that cost nothing: those by which private keys were selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import passed
from discreet.sql.arguments import Aggregate
from discreet.sql.formulas import Interval, Part, Total
from discreet.sql.measures import Measure, Rows, Units

FAR: Final = 10**13
"""A count so large that no threshold changes its interval."""
NOTE: Final = "units are counted by the noise that selected the keys: near the threshold, intervals reach down"


@dataclass(frozen=True, slots=True)
class SelectedUnits(Units):
    """COUNT(DISTINCT unit) of each private key, as its selection drew it, with the threshold that it passed.

    Theorem  It costs nothing beside the selection. Proof: δ-approximate zCDP of `KeySelection` is about the keys that
             pass together with their noisy numbers of units.

    One noise instead of two, for the whole of their cost instead of a half each: √2 less of it under ρ, twice less
    under ε, and a threshold that is lower by as much.
    """

    words = "units that selected the keys"
    length = 2

    def vector(self, value: Any) -> Sequence[int]:
        return (*Units.vector(self, value), 0)


@dataclass(frozen=True, slots=True)
class Passing:
    """The noisy number of units of a key that was selected by it. Its interval is conditional on that."""

    def value(self, noisy: Sequence[Sequence[int]]) -> int:
        return noisy[0][0]

    def interval(self, parts: Sequence[Part]) -> Interval:
        (part,) = parts
        assert part.noise is not None
        low, high = passed.interval(part.values[0], part.values[1], part.noise, part.miss)
        return Fraction(low), Fraction(high)


def from_selection(aggregates: Sequence[Aggregate], *, one_row: bool) -> tuple[Aggregate, ...]:
    """Aggregates of which those that count units are read off the selection of the keys.

    `one_row`: a unit has one row in each group, so that rows are units; unless something else needs their count.
    """
    used = [measure for aggregate in aggregates for measure in aggregate.measures]
    alone = {a.measures for a in aggregates if isinstance(a.formula, Total) and used.count(a.measures[0]) == 1}
    units: set[tuple[Measure, ...]] = {(Units(),)} | ({(Rows(),)} & alone if one_row else set())
    return tuple(
        replace(a, measures=(SelectedUnits(),), formula=Passing(), note=NOTE) if a.measures in units else a
        for a in aggregates
    )
