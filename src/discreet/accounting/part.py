"""One part of a partition (parallel composition)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

Key = str | int | bool | date
"""A value that names a part; datetimes are dates."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows with one key, of those units that were assigned to it.

    Theorem  A unit has rows in at most `most` parts of a partition, and which ones they are depends on its own rows.
             Queries about parts compose in parallel: a unit loses no more than the sum of the `most` largest losses.
    Proof    A unit's keys are ranked by keyed hash when the copy is made, from all its rows that are ever read; it is
             in the parts of its first `most` keys. Removing it changes no row of any other unit, so answers about all
             other parts have the same distribution. Where questions are chosen one after the other, the losses that
             belong to this unit add up to no more, on every path: a filter over them holds (see `accounting.filters`).
    Source   McSherry 2009 (parallel composition); units instead of rows.
    """

    table: str
    column: str
    key: Key | None
    most: int = 1

    @property
    def label(self) -> str:
        return f"{self.column} = {self.key!r}" if self.key is not None else f"{self.column} IS NULL"
