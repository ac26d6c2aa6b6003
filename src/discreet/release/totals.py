"""Running totals over time (continual counting): how many there were up to the end of each day, week or month."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from discreet.accounting import DiscreteLaplace
from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit import Cost, Exit
from discreet.exit.cost import noise_of
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.prefixes import FACTORS, FINE, Factor, Floats, SquareRoot
from discreet.policy import Kind
from discreet.release.attributes import PARTS, Cut, Edge, cut
from discreet.release.codec import demand_type
from discreet.release.core import Expected, Publication, Published, demand_affordable, noise_words, stored
from discreet.release.domain import Domain
from discreet.release.rows import Rows
from discreet.sql.nodes import Field

MOST_STEPS: Final = 4096
WIDE: Final = 1.96
"""Standard deviations within which 95 % of a sum of several noises lie."""
BEST: Final = "best"
COUNTED: Final = ("rows", "units")
TIMES: Final = (Kind.DATE, Kind.TIMESTAMP)


@stored
@dataclass(frozen=True, kw_only=True)
class Totals(Published):
    """A running total at the end of each step of a calendar."""

    calendar: Cut
    values: Floats = field(compare=False)
    """Unbiased, hence neither whole nor always rising: see `rising`."""
    deviations: Floats = field(compare=False)
    """The standard deviation of the noise in each."""
    method: str

    def __post_init__(self) -> None:
        held = {"values": (self.values, np.ndarray), "deviations": (self.deviations, np.ndarray)}
        demand_type(calendar=(self.calendar, Cut), method=(self.method, str), **held)
        if any(
            each.dtype != np.float64 or each.shape != (self.calendar.bins,) for each in (self.values, self.deviations)
        ):
            raise ValueError("there is one running total for each step of the calendar")

    @property
    def error(self) -> float:
        """The half-width of the 95 % interval of the total that is known least."""
        return WIDE * float(self.deviations.max())

    def rising(self) -> Integers:
        """The nearest whole numbers that never fall and are not below 0: post-processing, with less error in all, yet
        biased upwards where there is little.
        """
        from scipy.optimize import isotonic_regression

        nearest: Integers = np.rint(np.maximum(isotonic_regression(self.values).x, 0)).astype(np.int64)
        return nearest

    def rows(self) -> list[tuple[Any, ...]]:
        """For each step what stands for it, its running total, and the ends of its 95 % interval."""
        wide = WIDE * self.deviations
        columns = (self.values, self.values - wide, self.values + wide)
        listed = zip(*(column.tolist() for column in columns), strict=True)
        return [(self.calendar.label(step), *numbers) for step, numbers in enumerate(listed)]

    @property
    def columns(self) -> tuple[str, ...]:
        """Of `rows`."""
        return (self.calendar.name, "total", "low", "high")


@stored
@dataclass(frozen=True, kw_only=True)
class RunningTotals(Publication):
    """Running totals over a calendar that the policy declares.

    Theorem  It costs what the exit is given.
    Proof    The calendar is public. One vector M·x is released, x having the rows (or units) of each step, with the
             sensitivity of a unit that adds at most r rows in all (or 1 to each of r steps): the theorems of
             `prefixes`. No unit needs to contribute once only. The totals are post-processing of it.
    Error    Known before: the noise's variance times that of the factor, step by step. `method` "best" is the factor
             with the least mean variance at this cost: with ρ mostly "root", with ε alone "tree" or, over few steps,
             "plain".

    All steps are released at once, when the calendar is over or as far as data are there; a release of each day anew
    would be charged each time.
    """

    column: str | None = None
    """The date or timestamp; None if there is one only."""
    every: str = "month"
    """A part of dates: day, week, month, quarter or year."""
    counted: str = "rows"
    """What is counted: "rows", or "units", each once in a step."""
    method: str = BEST
    calendar: Cut | None = None
    """None: as the policy declares the column."""
    wants_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        named = {"every": (self.every, PARTS), "counted": (self.counted, COUNTED), "method": (self.method, METHODS)}
        for name, (value, known) in named.items():
            if value not in list(known):
                raise ValueError(f"{name} must be one of {', '.join(known)}")
        if self.calendar is not None and not isinstance(self.calendar, Cut):
            raise ValueError("a calendar is a column that is cut into bins")

    @classmethod
    def over(cls, name: str, low: Edge, high: Edge, *, every: str = "month", **options: Any) -> Self:
        """For rows of your own: a calendar from `low` to `high`, both in it."""
        kind = Kind.TIMESTAMP if hasattr(low, "hour") else Kind.DATE
        return cls(every=every, calendar=cut(name, kind, low, high, every), **options)

    # public facts

    def declared(self, fields: Sequence[Field] | None) -> Self:
        calendar = self.calendar
        if calendar is None:
            name = _dated(fields, self.column)
            (dates,) = Domain.declared(fields or (), columns=[name], bins={name: self.every}).known
            assert isinstance(dates, Cut)
            calendar = dates
        elif fields is not None:
            _dated(fields, calendar.name)
        if calendar.bins > MOST_STEPS:
            fix = f"count by a longer part of dates than {self.every}, or declare a shorter time"
            raise Refused("release-invalid", f"there are {calendar.bins:,} steps; {MOST_STEPS:,} are the most", fix)
        return replace(self, calendar=calendar, column=None)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self._calendar.name,)

    @property
    def _calendar(self) -> Cut:
        assert self.calendar is not None
        return self.calendar

    def expected(self, cost: Cost, most: int) -> Expected:
        chosen = self._chosen(cost, most)
        step = f"{self._calendar.bins} steps, each a {self.every}"
        return Expected(
            error={"total": WIDE * float(chosen.deviations.max())},
            noise={"total": noise_words(cost, chosen.moved)},
            notes=(f"{step}; method {chosen.name}: a typical total is off by {chosen.size:.4g}",),
            cells=self._calendar.bins,
        )

    def _chosen(self, cost: Cost, most: int) -> _Chosen:
        """The factor that is asked for, or the one with the least mean variance at this cost."""
        names = list(FACTORS) if self.method == BEST else [self.method]
        made = [_Chosen.of(name, self._calendar.bins, cost, most, once=self.counted == "units") for name in names]
        return min(made, key=lambda each: each.size)

    # the release

    def run(self, rows: Rows, exit_: Exit) -> Totals:
        chosen = self._chosen(exit_.cost, rows.most)
        noisy = exit_.release(chosen.factor.measured(self._series(rows)), chosen.moved)
        values, deviations = chosen.factor.totals(noisy), chosen.deviations
        return Totals(calendar=self._calendar, values=values, deviations=deviations, method=chosen.name)

    def _series(self, rows: Rows) -> Integers:
        """How many there are in each step; rows outside of the calendar are left out."""
        steps = self._calendar.codes(rows.array(self._calendar.name))
        inside = (steps >= 0) & (steps < self._calendar.bins)
        if self.counted == "units" and rows.units is not None:
            pairs = np.unique(np.stack([rows.units[inside], steps[inside]]), axis=1)
            return np.bincount(pairs[1], minlength=self._calendar.bins).astype(np.int64)
        return np.bincount(steps[inside], minlength=self._calendar.bins).astype(np.int64)


METHODS: Final = (BEST, *FACTORS)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A factor, how far a unit moves what it measures, and the noise in each running total."""

    name: str
    factor: Factor
    moved: Sensitivity
    deviations: Floats

    @classmethod
    def of(cls, name: str, count: int, cost: Cost, most: int, *, once: bool) -> _Chosen:
        factor: Factor = FACTORS[name](count)
        moved = factor.moved(most, once=once)
        if isinstance(factor, SquareRoot):
            exact = Sensitivity(moved.l1 / FINE, moved.l2_squared / FINE**2)
            factor = SquareRoot(count, cost.fineness(exact))
            moved = factor.moved(most, once=once)
        else:
            demand_affordable(cost, moved)
        noise = noise_of(
            cost.noise(moved)
        )  # of Laplace noise the exact variance: at ε = 1 it is 8 % less than 2·scale²
        variance = noise.variance if isinstance(noise, DiscreteLaplace) else float(noise.spread)
        deviations = np.sqrt(variance * factor.variances())
        return cls(name, factor, moved, deviations)

    @property
    def size(self) -> float:
        """The root of the mean square of the errors."""
        return math.sqrt(float(np.mean(self.deviations**2)))


def _dated(fields: Sequence[Field] | None, name: str | None) -> str:
    """The column of dates, or a refusal."""
    if fields is None:
        fix = 'say it: RunningTotals.over("day", date(2026, 1, 1), date(2026, 12, 31))'
        raise Refused("release-invalid", "nothing is known about the calendar", fix)
    dates = [field.name for field in fields if field.expr.domain.kind in TIMES]
    named = [each for each in dates if name is None or each.lower() == name.lower()]
    if len(named) != 1:
        fix = f"name one of: {', '.join(dates)}" if dates else "select a column of dates"
        raise Refused("release-invalid", "running totals are over one column of dates", fix)
    return named[0]


__all__ = ["METHODS", "RunningTotals", "Totals"]
