"""Census-like releases: noisy counts and sums at every level of public places, consistent up and down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final, Self

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exact import interval, positive
from discreet.exit import Cost, Exit
from discreet.mechanisms.arrays import Integers
from discreet.policy import Kind
from discreet.release.columns import Column, objects
from discreet.release.core import Expected, Publication, Published, demand_affordable, demand_type, stored, variance_of
from discreet.release.queries import Floats
from discreet.release.rows import Rows
from discreet.release.tree import Path, Places
from discreet.sql.nodes import Field

Z: Final = 1.96
FINE: Final = 1000
"""Shares of levels are so many parts of the cost."""


@stored
@dataclass(frozen=True, kw_only=True, eq=False)
class HierarchyCounts(Published):
    """Noisy counts (and sums) of every place, and what follows from them.

    `estimates` are unbiased and add up. `counts` are also whole and not negative: places with few rows then count too
    many on average, which is a bias. What was measured stays in `noisy`.
    """

    levels: tuple[str, ...]
    paths: tuple[Path, ...]
    noisy: tuple[Any, ...]
    """By level, from the top: whole numbers."""
    variances: tuple[float, ...]
    """Of the noise at each level."""
    sums: tuple[Any, ...] = ()
    """Of the value in steps from the centre, by level; empty if none was asked for."""
    sum_variances: tuple[float, ...] = ()
    step: Fraction | None = None
    invariants: tuple[tuple[Path, int], ...] = ()
    centre: int = 0
    """Of the value, in steps."""

    def __post_init__(self) -> None:
        demand_type(centre=(self.centre, int))
        for name in ("levels", "paths", "noisy", "variances", "sums", "sum_variances", "invariants"):
            demand_type(**{name: (getattr(self, name), tuple)})
        places = self.places
        sizes = [len(nodes) for nodes in places.nodes]
        counted = {len(self.levels), len(self.noisy), len(self.variances)}
        summed = {len(self.sums), len(self.sum_variances)}
        if counted != {len(sizes)} or summed != ({len(sizes)} if self.step is not None else {0}):
            raise ValueError("each level has counts and a variance, and sums where there is a value")
        demand_type(known=(self._known, list), step=(self.step, (Fraction, type(None))))
        for values, size in zip((*self.noisy, *self.sums), sizes * 2, strict=False):
            demand_type(values=(values, np.ndarray))
            if values.shape != (size,) or values.dtype != np.int64:
                raise ValueError("each place has one whole number")
        for variance in (*self.variances, *self.sum_variances):
            demand_type(variance=(variance, float))

    @cached_property
    def places(self) -> Places:
        return Places(self.paths)

    @cached_property
    def _known(self) -> list[dict[int, int]]:
        known: list[dict[int, int]] = [{} for _ in range(self.places.levels)]
        for path, count in self.invariants:
            known[len(path)][self.places.numbers[len(path)][path]] = count
        return known

    @cached_property
    def estimates(self) -> list[Floats]:
        """By level the least-squares estimate of each count."""
        noisy = [values.astype(np.float64) for values in self.noisy]
        spreads = [np.full(len(values), variance) for values, variance in zip(noisy, self.variances, strict=True)]
        for level, known in enumerate(self._known):
            for node, count in known.items():
                noisy[level][node], spreads[level][node] = count, 0.0
        return self.places.smoothed(noisy, spreads)

    @cached_property
    def counts(self) -> list[Integers]:
        """By level whole numbers that are not negative and add up; what was declared public is as declared."""
        return self.places.whole(self.estimates, self._known)

    @cached_property
    def totals(self) -> list[Floats]:
        """By level the estimate of each sum, in units of the value: what was measured from the centre, and the centre
        for each that is counted.
        """
        if self.step is None:
            raise Refused("release-invalid", "no value was published", "name one: Hierarchy(…, value=…, bounds=…)")
        spreads = [
            np.full(len(values), variance) for values, variance in zip(self.sums, self.sum_variances, strict=True)
        ]
        smoothed = self.places.smoothed([values.astype(np.float64) for values in self.sums], spreads)
        step = float(self.step)
        both = zip(smoothed, self.estimates, strict=True)
        return [(values + self.centre * counts) * step for values, counts in both]

    @property
    def columns(self) -> tuple[str, ...]:
        """Of `rows`."""
        return ("level", "place", "count")

    def rows(self) -> list[tuple[Any, ...]]:
        """For each place, level by level from the top, its level, its name with those above it, and its count."""
        return [
            (level, ", ".join(map(str, path)), count)
            for level, nodes, counts in zip(self.levels, self.places.nodes, self.counts, strict=True)
            for path, count in zip(nodes, counts.tolist(), strict=True)
        ]

    def count(self, *path: Any) -> int:
        """The count of a place: `count("WY", "Park", "82414")`; of everything without arguments."""
        return int(self.counts[len(path)][self._number(path)])

    def mean(self, *path: Any) -> float:
        """The mean of the value in a place: its sum by its estimated count; NaN where that is below 1."""
        node = self._number(path)
        count = float(self.estimates[len(path)][node])
        return float(self.totals[len(path)][node]) / count if count >= 1 else math.nan

    def _number(self, path: Path) -> int:
        known = self.places.numbers[len(path)] if len(path) < self.places.levels else {}
        if path not in known:
            raise Refused("release-invalid", "there is no such place", "name it from the top, as in the paths")
        return known[path]

    @property
    def error(self) -> dict[str, float]:
        """Of each level the root of the expected squared error of a count, on average over its places."""
        squares = _errors(self.places, self.variances, self._known)
        return {name: math.sqrt(square) for name, square in zip(self.levels, squares, strict=True)}


@stored
@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy(Publication):
    """Counts of public places at every level, and sums of a bounded value, consistent up and down.

    Theorem  It costs what the exit is given.
    Proof    A row is in one place of each level: a unit of r rows moves the counts of a level by r in L1, and at most r
             in L2. Its value, clamped, is at most m whole steps from the centre c of its bounds, so Σ(x − c) moves by
             r·m; the sum is that and c for each that is counted, and the noise of a mean grows with the width of the
             bounds, wherever they lie. A value that is missing counts as the one nearest to 0 within bounds. Levels
             share the cost, and losses add up (`Exit`). Places and invariants are public arguments.
    Invariants   Counts that the owner declares public are taken as they are given, and nothing is read for them. They
             void the guarantee for what they determine: who knows all but one of the people in such a place knows
             whether the last one is there, whatever the noise elsewhere.
    Source   Abowd et al. 2022 (TopDown): noise at each level, least squares, whole numbers from the top down.
    """

    levels: tuple[str, ...]
    """Columns from the top, such as ("state", "county", "zip")."""
    paths: tuple[Path, ...]
    """Every place at the last level, with those above it: public."""
    value: str | None = None
    bounds: tuple[Fraction, Fraction] | None = None
    """Of the value; None: as the policy declares them."""
    step: Fraction | None = None
    """Values are rounded to multiples of it; None: a thousandth of their bounds."""
    shares: tuple[Fraction, ...] | None = None
    """Of the levels, with everything first; None: those with the least error, on average over all levels."""
    invariants: tuple[tuple[Path, int], ...] = ()
    """Counts of places that are public."""

    def __post_init__(self) -> None:
        demand_type(levels=(self.levels, tuple), paths=(self.paths, tuple), invariants=(self.invariants, tuple))
        places = self.places
        if len(self.levels) != places.levels - 1 or not all(isinstance(name, str) for name in self.levels):
            raise ValueError("each part of a path has a level")
        if self.shares is not None and (
            len(self.shares) != places.levels or min(self.shares) <= 0 or sum(self.shares) != 1
        ):
            raise ValueError("shares are above 0, one for each level and one for everything, and add up to 1")
        for path, count in self.invariants:
            if path not in places.numbers[len(path)] or type(count) is not int or count < 0:
                raise ValueError("invariants are counts of places")
        _check_invariants(places, self.invariants)

    @classmethod
    def of(cls, levels: Sequence[str], paths: Sequence[Sequence[Any]], **facts: Any) -> Self:
        """From lists; `invariants` may be a mapping from paths to counts."""
        if isinstance(facts.get("invariants"), Mapping):
            facts["invariants"] = tuple((tuple(path), count) for path, count in facts["invariants"].items())
        if facts.get("bounds") is not None:
            facts["bounds"] = interval(facts["bounds"])
        if facts.get("step") is not None:
            facts["step"] = positive(facts["step"], "step")
        return cls(levels=tuple(levels), paths=tuple(tuple(path) for path in paths), **facts)

    @cached_property
    def places(self) -> Places:
        return Places(self.paths)

    # public facts

    def declared(self, fields: Sequence[Field] | None) -> Self:
        if fields is not None:
            known = {field.name.lower(): field for field in fields}
            missing = [name for name in self.columns if name.lower() not in known]
            if missing:
                raise Refused("unknown-column", f"{missing[0]} is none of the columns", f"columns: {', '.join(known)}")
            if self.value is not None and self.bounds is None:
                return replace(self, bounds=known[self.value.lower()].expr.domain.bounded).declared(None)
        if self.value is not None and (self.bounds is None or self.bounds[0] >= self.bounds[1]):
            raise Refused(
                "undeclared-bounds", f"{self.value} has no bounds", "add min and max to the policy, or bounds=(…)"
            )
        if self.value is not None and self.step is None and self.bounds is not None:
            return replace(self, step=(self.bounds[1] - self.bounds[0]) / 1000)
        return self

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """The columns that tell a place: the last level alone where its names are unique."""
        last = [path[-1] for path in self.paths]
        return self.levels[-1:] if len(set(last)) == len(last) else self.levels

    @property
    def columns(self) -> tuple[str, ...]:
        return self._keys if self.value is None else (*self._keys, self.value)

    @property
    def _names(self) -> tuple[str, ...]:
        return ("all", *self.levels)

    def _moved(self, most: int) -> tuple[Sensitivity, Sensitivity]:
        """How far a unit moves the counts of a level, and its sums."""
        if self.bounds is None or self.step is None:
            return Sensitivity.cells(1, most), Sensitivity.cells(1, most)
        low, high = self._ends
        return Sensitivity.cells(1, most), Sensitivity.cells(1, most * max(high - self._centre, self._centre - low))

    @property
    def _ends(self) -> tuple[int, int]:
        """The bounds in whole steps."""
        assert self.bounds is not None
        assert self.step is not None
        return math.floor(self.bounds[0] / self.step), math.ceil(self.bounds[1] / self.step)

    @property
    def _centre(self) -> int:
        return sum(self._ends) // 2

    @property
    def _parts(self) -> int:
        """Counts, or counts and sums, which share the cost alike."""
        return 1 if self.value is None else 2

    def level_shares(self, *, pure: bool) -> tuple[Fraction, ...]:
        """How the cost is shared among levels."""
        return self.shares if self.shares is not None else _best_shares(self.places, pure=pure)

    def expected(self, cost: Cost, most: int) -> Expected:
        counts, sums = self._moved(most)
        shares = self.level_shares(pure=cost.pure)
        for share in shares:
            demand_affordable(cost, counts, share / self._parts)
            demand_affordable(cost, sums, share / self._parts)
        known = _known_of(self.places, self.invariants)
        alike = [Fraction(1, len(shares))] * len(shares)
        ours, plain = (
            _errors(self.places, [variance_of(cost, counts, each / self._parts) for each in split], known)
            for split in (shares, alike)
        )
        error = {f"count of {name}": Z * math.sqrt(square) for name, square in zip(self._names, ours, strict=True)}
        if self.value is not None and self.step is not None:
            spread = [variance_of(cost, sums, each / 2) * float(self.step) ** 2 for each in shares]
            wide = _errors(self.places, spread, [{} for _ in shares])
            centre = (self._centre * float(self.step)) ** 2
            named = zip(self._names, wide, ours, strict=True)
            error |= {f"sum of {self.value} by {name}": Z * math.sqrt(a + centre * b) for name, a, b in named}
        against = ", ".join(
            f"{name} {math.sqrt(a / b):.2f}" for name, a, b in zip(self._names, ours, plain, strict=True) if b > 0
        )
        notes = [f"error of counts against equal shares of all levels: {against}"]
        if self.invariants:
            notes.append(
                f"{len(self.invariants)} counts are declared public: the guarantee does not cover what they tell"
            )
        named_shares = {name: float(share) for name, share in zip(self._names, shares, strict=True)}
        return Expected(error=error, shares=named_shares, notes=tuple(notes), cells=sum(map(len, self.places.nodes)))

    # rows

    def run(self, rows: Rows, exit_: Exit) -> HierarchyCounts:
        leaves = self._leaves(rows)
        inside = leaves >= 0
        size = len(self.paths)
        counts, moved = self._moved(rows.most)
        shares = [share / self._parts for share in self.level_shares(pure=exit_.cost.pure)]
        exact = self.places.added(np.bincount(leaves[inside], minlength=size).astype(np.int64))
        noisy = tuple(exit_.release(level, counts, share) for level, share in zip(exact, shares, strict=True))
        variances = tuple(variance_of(exit_.cost, counts, share) for share in shares)
        sums: tuple[Integers, ...] = ()
        spreads: tuple[float, ...] = ()
        if self.value is not None:
            steps = np.zeros(size, dtype=np.int64)
            np.add.at(steps, leaves[inside], self._steps(rows)[inside])
            every = self.places.added(steps)
            sums = tuple(exit_.release(level, moved, share) for level, share in zip(every, shares, strict=True))
            spreads = tuple(variance_of(exit_.cost, moved, share) for share in shares)
        return HierarchyCounts(
            levels=self._names, paths=self.paths, noisy=noisy, variances=variances, sums=sums, sum_variances=spreads,
            step=self.step if self.value is not None else None, invariants=self.invariants,
            centre=self._centre if self.value is not None else 0,
        )  # fmt: skip

    def _leaves(self, rows: Rows) -> Integers:
        """The place of each row, by its own values; −1 where there is none."""
        if len(self._keys) == 1:
            return rows.array(self._keys[0]).looked_up({path[-1]: at for at, path in enumerate(self.paths)}, -1)
        listed = list(zip(*(rows.column(name) for name in self._keys), strict=True))
        return Column(objects(listed)).looked_up({path: index for index, path in enumerate(self.paths)}, -1)

    def _steps(self, rows: Rows) -> Integers:
        """How many whole steps the value of each row is from the centre, clamped to its bounds; NULL is clamped 0."""
        assert self.value is not None
        assert self.bounds is not None
        assert self.step is not None
        low, high, step = float(self.bounds[0]), float(self.bounds[1]), float(self.step)
        values = rows.array(self.value).numbers(Kind.NUMBER)
        steps = np.rint(np.clip(np.nan_to_num(values, nan=0.0, posinf=high, neginf=low), low, high) / step)
        return np.clip(steps, *self._ends).astype(np.int64) - self._centre


def _known_of(places: Places, invariants: Sequence[tuple[Path, int]]) -> list[dict[int, int]]:
    known: list[dict[int, int]] = [{} for _ in range(places.levels)]
    for path, count in invariants:
        known[len(path)][places.numbers[len(path)][path]] = count
    return known


def _check_invariants(places: Places, invariants: Sequence[tuple[Path, int]]) -> None:
    """ValueError where public counts below are more than the public count above, or all of them another."""
    given = dict(invariants)
    for level in range(places.levels - 1):
        below: dict[Path, list[int | None]] = {}
        for node in places.nodes[level + 1]:
            below.setdefault(node[:-1], []).append(given.get(node))
        for path, counts in below.items():
            known = [count for count in counts if count is not None]
            if path in given and (
                sum(known) > given[path] or (len(known) == len(counts) and sum(known) != given[path])
            ):
                raise ValueError("public counts do not add up")


def _errors(places: Places, variances: Sequence[float], known: Sequence[Mapping[int, int]]) -> list[float]:
    """By level the expected squared error of an estimate, on average over its places."""
    spreads = [np.full(len(nodes), variance) for nodes, variance in zip(places.nodes, variances, strict=True)]
    for level, nodes in enumerate(known):
        spreads[level][list(nodes)] = 0.0
    return [float(level.mean()) for level in places.spreads(spreads)]


@lru_cache(maxsize=16)
def _best_shares(places: Places, *, pure: bool) -> tuple[Fraction, ...]:
    """Shares with about the least squared error, on average over the places of a level and over levels."""
    levels = places.levels

    def size(shares: Floats) -> float:
        return sum(_errors(places, list(2 / shares**2 if pure else 1 / shares), [{} for _ in range(levels)]))

    shares, least, factor = np.full(levels, 1 / levels), math.inf, 2.0
    least = size(shares)
    while factor > 1.02:
        better = False
        for level in range(levels):
            for change in (factor, 1 / factor):
                tried = shares.copy()
                tried[level] *= change
                tried /= tried.sum()
                if (found_size := size(tried)) < least:
                    shares, least, better = tried, found_size, True
        factor = factor if better else math.sqrt(factor)
    parts = np.maximum(np.rint(shares * FINE), 1).astype(np.int64)
    return tuple(Fraction(int(part), int(parts.sum())) for part in parts)
