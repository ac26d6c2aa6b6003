"""A log of what people looked for: which keys it has, how often, and an invented log of the same form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from hashlib import blake2b
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exact import probability, whole
from discreet.exit import Cost, Exit
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.order import public_rank
from discreet.policy import Kind
from discreet.release.codec import demand_type
from discreet.release.core import Expected, Publication, Published, error_of, noise_words, stored
from discreet.release.rows import Rows
from discreet.sql.nodes import Field

KEYS: Final = (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE)
"""Types of columns that keys are made of."""
PLAIN: Final = (str, int, bool, date)
Words = NDArray[np.uint64]


@stored
@dataclass(frozen=True, kw_only=True)
class LogCounts(Published):
    """The keys that enough units hold, and noisy counts of them."""

    names: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    """In their public order."""
    values: Integers = field(compare=False)
    """For each key about how often it was looked for, within the contribution bounds."""
    error: float
    """The half-width of the 95 % interval of each."""
    max_keys: int
    max_count: int
    """Contribution bounds: keys of a unit, and how often each of them counts."""

    def __post_init__(self) -> None:
        held = {"names": (self.names, tuple), "keys": (self.keys, tuple), "error": (self.error, float)}
        demand_type(values=(self.values, np.ndarray), **held)
        if (
            self.values.dtype != np.int64
            or self.values.shape != (len(self.keys),)
            or any(len(key) != len(self.names) for key in self.keys)
        ):
            raise ValueError("each key has a count, and a value for each name")
        whole(self.max_keys, "max_keys")
        whole(self.max_count, "max_count")

    @property
    def columns(self) -> tuple[str, ...]:
        """Of `rows`."""
        return (*self.names, "count")

    def rows(self) -> list[tuple[Any, ...]]:
        """Each key with its noisy count."""
        return [(*key, count) for key, count in zip(self.keys, self.values.tolist(), strict=True)]

    def pseudonymous(self) -> list[tuple[Any, ...]]:
        """An invented log: pseudonyms, keys, and how often. Drawn from the released counts alone, so it is free.

        Each key has its count, dealt out to as few pseudonyms as keep the contribution bounds. Pseudonyms stand for
        nobody: which keys one of them has together is invented, and says nothing about anybody.
        """
        counts = np.maximum(self.values, 0)
        parts = -(-counts // self.max_count)
        people = int(max(parts.max(initial=0), -(-parts.sum() // self.max_keys)))
        names = noise.shuffle(people) if people else np.zeros(0, dtype=np.int64)
        rows: list[tuple[Any, ...]] = []
        dealt = 0
        for index in noise.shuffle(len(self.keys)).tolist() if self.keys else ():
            left = int(counts[index])
            while left:
                each = min(left, self.max_count)
                rows.append((int(names[dealt % people]), *self.keys[index], each))
                left, dealt = left - each, dealt + 1
        return sorted(rows, key=lambda row: row[0])


@stored
@dataclass(frozen=True, kw_only=True)
class QueryLog(Publication):
    """Which keys a log has and how often each was looked for: rigorous, for units with all of their rows.

    Theorem  It costs what the exit is given: its ρ, and its δ.
    Proof    Of each unit at most L keys stay, by an order that is a function of the unit's own keys, and each counts m
             times at most, so adding or removing a unit changes no contribution of another one. The numbers of units
             move by 1 in L cells at most: partition selection, for `selection` of the cost and all of its δ (the
             theorem of `KeySelection`). The counts of the keys that it found move by m in L cells at most, and by r in
             all where r rows of a unit are read. A key of one unit shows with a probability of δ at most.
    Error    Counts are those within the bounds: what is cut off is not covered.
    Source   Korolova, Kenthapadi, Mishra & Ntoulas 2009; Swanberg, Desfontaines & Haney 2023.
    """

    names: tuple[str, ...] | None = None
    """The columns that a key is made of, such as query and url; None for all."""
    max_keys: int | None = None
    """Of each unit; None for as many as rows are read."""
    max_count: int = 1
    """How often each key of a unit counts."""
    selection: Fraction = Fraction(1, 2)
    """The share of the cost that finds the keys."""
    unit: str | None = None
    """In rows of your own: the column that says whose a row is; None if each row is a unit."""
    selects: ClassVar[bool] = True
    wants_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole(self.max_count, "max_count")
        if self.max_keys is not None:
            whole(self.max_keys, "max_keys")
        probability(self.selection, "selection")

    # public facts

    def declared(self, fields: Sequence[Field] | None) -> Self:
        share = probability(self.selection, "selection")
        if fields is None:
            if not self.names:
                raise Refused("release-invalid", "nothing is known about the columns", 'name the keys: names=["query"]')
            if self.unit is not None and self.max_keys is None:
                fix = "give max_keys, such as 10"
                raise Refused("release-invalid", "nothing says how many keys of a unit count", fix)
            return replace(self, names=tuple(self.names), selection=share)
        if self.unit is not None:
            raise Refused("release-invalid", "the policy says whose a row is", "leave unit out")
        known = {field.name.lower(): field for field in fields}
        wanted = list(known) if self.names is None else [str(name).lower() for name in self.names]
        other = [name for name in wanted if name not in known or known[name].expr.domain.kind not in KEYS]
        if other or not wanted:
            fix = f"name some of: {', '.join(each.name for each in fields if each.expr.domain.kind in KEYS)}"
            raise Refused("unknown-column", "keys are columns of texts, whole numbers, booleans or dates", fix)
        return replace(self, names=tuple(known[name].name for name in wanted), selection=share)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names or ()

    @property
    def rows_of_unit(self) -> int:
        """In rows of your own: what a unit counts for."""
        return 1 if self.unit is None else (self.max_keys or 1) * self.max_count

    def rows_of(self, data: Any) -> Rows:
        """A truth value is the number that it equals: Python has one key for both, and would show the first it met."""
        if self.unit is None:
            rows = Rows.of(data, self.columns)
        else:
            rows = Rows.of(data, (self.unit, *self.columns)).owned(self.unit, self.rows_of_unit)
        return rows.mapped(lambda value: int(value) if isinstance(value, bool) else value)

    def _bounds(self, most: int) -> tuple[int, Sensitivity]:
        """Keys of a unit, and how far it moves their counts."""
        keys = most if self.max_keys is None else min(self.max_keys, most)
        return keys, Sensitivity.cells(keys, min(self.max_count, most), most)

    def expected(self, cost: Cost, most: int) -> Expected:
        keys, moved = self._bounds(most)
        assert cost.delta is not None, "whoever selects keys was asked for a delta"
        selection = cost.selection(keys, self.selection, cost.delta)
        share = 1 - self.selection
        return Expected(
            error={"count": error_of(cost, moved, share)},
            noise={"count": noise_words(cost, moved, share)},
            shares={"selection of keys": float(self.selection), "counts": float(share)},
            notes=(
                f"contribution bound: at most {keys} keys of a unit, each {self.max_count} times",
                f"a key shows with 95 % probability if at least {selection.error()} units hold it",
                f"a key of a single unit shows with a probability of {float(cost.delta):.3g} at most",
            ),
        )

    # the release

    def run(self, rows: Rows, exit_: Exit) -> LogCounts:
        most, moved = self._bounds(rows.most)
        assert exit_.cost.delta is not None, "whoever selects keys was asked for a delta"
        held = _Held.of(rows, self.columns).bounded(most, self.max_count)
        units = dict(zip(held.keys, held.units().tolist(), strict=True))
        present = {key: count for key, count in units.items() if count}
        selected = [tuple(key) for key in exit_.select_keys(present, most, self.selection, exit_.cost.delta)]
        counts = dict(zip(held.keys, held.counts().tolist(), strict=True))
        exact = np.array([counts.get(key, 0) for key in selected], dtype=np.int64)
        values = exit_.release(exact, moved, 1 - self.selection)
        return LogCounts(
            names=self.columns,
            keys=tuple(selected),
            values=values,
            error=error_of(exit_.cost, moved, 1 - self.selection),
            max_keys=most,
            max_count=self.max_count,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """Which unit holds which key, how often: exact."""

    keys: list[tuple[Any, ...]]
    """In their public order."""
    unit: Integers
    key: Integers
    count: Integers

    @classmethod
    def of(cls, rows: Rows, names: Sequence[str]) -> _Held:
        """Rows with NULL in a key, or with what no key is made of, are left out."""
        listed = list(zip(*(rows.column(name) for name in names), strict=True))
        inside = [index for index, key in enumerate(listed) if all(type(part) in PLAIN for part in key)]
        keys = sorted({listed[index] for index in inside}, key=public_rank)
        position = {key: index for index, key in enumerate(keys)}
        owners = np.arange(len(listed)) if rows.units is None else rows.units
        held = owners[inside] * max(len(keys), 1) + np.array([position[listed[at]] for at in inside], dtype=np.int64)
        pairs, count = np.unique(held, return_counts=True)
        return cls(keys, pairs // max(len(keys), 1), pairs % max(len(keys), 1), count.astype(np.int64))

    def bounded(self, most: int, times: int) -> _Held:
        """At most so many keys of each unit, each counted at most so often.

        Theorem  Which keys of a unit stay depends on that unit's own keys alone.
        Proof    They are ordered by a hash of the key and of the sum of the hashes of all keys of the unit; those with
                 the same hash by their public order. Neither depends on other units, nor on their numbers.
        """
        count = np.minimum(self.count, times)
        if not len(self.key) or np.bincount(np.unique(self.unit, return_inverse=True)[1]).max() <= most:
            return replace(self, count=count)
        words = np.array([_word(key) for key in self.keys], dtype=np.uint64)[self.key]
        starts = np.flatnonzero(np.diff(self.unit, prepend=-1))
        sizes = np.diff(starts, append=len(self.unit))
        own = np.repeat(np.add.reduceat(words, starts), sizes)
        order = np.lexsort((self.key, _mixed(words ^ own), self.unit))
        position = np.arange(len(order)) - np.repeat(starts, sizes)
        stays = np.sort(order[position < most])
        return _Held(self.keys, self.unit[stays], self.key[stays], count[stays])

    def units(self) -> Integers:
        """Of each key: how many units hold it."""
        return np.bincount(self.key, minlength=len(self.keys)).astype(np.int64)

    def counts(self) -> Integers:
        """Of each key: how often."""
        sums = np.zeros(len(self.keys), dtype=np.int64)
        np.add.at(sums, self.key, self.count)
        return sums


def _word(key: tuple[Any, ...]) -> int:
    """64 bits of a hash of a key."""
    return int.from_bytes(blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _mixed(words: Words) -> Words:
    """A permutation of 64-bit words in which neighbours are far apart (the finaliser of splitmix64)."""
    mixed = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
