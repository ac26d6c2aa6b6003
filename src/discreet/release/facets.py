"""Facets: the histogram of every column of a table, published once for one cost and free to read afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit import Cost, Exit
from discreet.policy import Kind
from discreet.release.attributes import Attribute, Cut, Known, cut
from discreet.release.codec import demand_type
from discreet.release.core import Expected, OverDomain, Published, error_of, noise_words, stored
from discreet.release.domain import Domain
from discreet.release.rows import Rows
from discreet.sql.nodes import Field

USUAL_BINS: Final = 24
"""Of numbers and dates, where nobody says how many: so many bars can be seen on a small chart."""
SELECTION: Final = Fraction(1, 3)
"""The share of the cost that finds private texts, where there are some."""
COARSER: Final = ("week", "month", "quarter", "year")


@stored
@dataclass(frozen=True, kw_only=True)
class FacetCounts(Published):
    """A noisy histogram of each column."""

    domain: Domain
    values: NDArray[Any] = field(compare=False)
    """Of all columns one after the other, each with the cells of its attribute; below 0 where the noise was."""
    error: float
    """The half-width of the 95 % interval of each."""

    def __post_init__(self) -> None:
        demand_type(domain=(self.domain, Domain), values=(self.values, np.ndarray), error=(self.error, float))
        if self.values.dtype != np.int64 or self.values.shape != (sum(self.domain.shape),):
            raise ValueError("facets have a whole number for each cell of each column")

    def histogram(self, name: str) -> list[tuple[Any, int]]:
        """For each cell of a column what stands for it, and its noisy count."""
        index = self.domain.index(name)
        start = sum(self.domain.shape[:index])
        attribute = self.domain.known[index]
        counts = self.values[start : start + attribute.size].tolist()
        return [(attribute.label(code), count) for code, count in enumerate(counts)]

    def rows(self) -> list[tuple[Any, ...]]:
        """For each cell of each column the column, what stands for the cell, and its noisy count."""
        return [(name, label, count) for name in self.domain.names for label, count in self.histogram(name)]

    columns: ClassVar[tuple[str, ...]] = ("column", "value", "count")


@stored
@dataclass(frozen=True, kw_only=True)
class Facets(OverDomain):
    """All one-way histograms of a table.

    Theorem  It costs what the exit is given.
    Proof    The values of private texts are found by `Domain.selected`, for a third of the cost, its δ split over their
             columns. Then all histograms are one vector: in each of k columns a unit of r rows moves the counts by some
             v ≥ 0 with Σv ≤ r, hence L1 ≤ r and L2² ≤ r² each, and k·r and k·r² in all: the L2 norm is r·√k.
    Error    That of one column times √k (with ε alone: times k), whatever the number of cells.
    """

    wants_units: ClassVar[bool] = True

    # public facts

    def declared(self, fields: Sequence[Field] | None) -> Self:
        names, bins = self.names, self.bins
        if self.domain is None and fields is not None and names is None:
            names = tuple(field.name for field in fields if _is_known(field))
            if not names:
                fix = "add bounds or values to the policy, or select CLAMP(x, 0, 100) AS x"
                raise Refused("undeclared-bounds", "nothing is known about the values of any column", fix)
        domain = Domain.settled(self.domain, fields, columns=names, bins=bins)
        if self.domain is None:
            usual = [_few(attribute) if attribute.name not in (bins or {}) else attribute for attribute in
                     domain.attributes]  # fmt: skip
            domain = Domain(tuple(usual))
        return replace(self, domain=domain, names=None, bins=None)

    @property
    def _share(self) -> Fraction:
        """What is left of the cost for the counts."""
        return 1 - SELECTION if self._domain.unlisted else Fraction(1)

    def _moved(self, rows: int) -> Sensitivity:
        columns = len(self._domain.attributes)
        return Sensitivity(Fraction(rows * columns), Fraction(rows**2 * columns))

    def expected(self, cost: Cost, most: int) -> Expected:
        moved, share = self._moved(most), self._share
        columns, private = len(self._domain.attributes), len(self._domain.unlisted)
        notes = [f"{columns} column{'s' if columns > 1 else ''}, each with a histogram of its own"]
        shares = {"counts": float(share)}
        if private:
            least = cost.selection(most, SELECTION / private, _delta(cost) / private).error()
            notes.append(f"a private text shows with 95 % probability if at least {least} units have it")
            shares["selection of private texts"] = float(SELECTION)
        cells = None if private else sum(self._domain.shape)
        error = error_of(cost, moved, share)
        words = noise_words(cost, moved, share)
        return Expected(error={"count": error}, noise={"count": words}, shares=shares, notes=tuple(notes), cells=cells)

    # the release

    def run(self, rows: Rows, exit_: Exit) -> FacetCounts:
        domain = self._domain
        if domain.unlisted:
            domain = domain.selected(rows, exit_, SELECTION, _delta(exit_.cost))
        exact = np.concatenate([_histogram(attribute, rows) for attribute in domain.known])
        moved = self._moved(rows.most)
        values = exit_.release(exact, moved, self._share)
        return FacetCounts(domain=domain, values=values, error=error_of(exit_.cost, moved, self._share))


def _delta(cost: Cost) -> Fraction:
    assert cost.delta is not None, "whoever selects keys was asked for a delta"
    return cost.delta


def _histogram(attribute: Known, rows: Rows) -> NDArray[np.int64]:
    codes = attribute.codes(rows.array(attribute.name))
    return np.bincount(codes[codes >= 0], minlength=attribute.size).astype(np.int64)


def _is_known(field: Field) -> bool:
    """Whether the values of a column are listed, bounded, or texts that can be found."""
    domain = field.expr.domain
    bounded = domain.low is not None and domain.high is not None and domain.low < domain.high  # type: ignore[operator]
    return domain.kind in (Kind.BOOLEAN, Kind.TEXT) or bool(domain.values) or bounded


def _few(attribute: Attribute) -> Attribute:
    """The attribute with so few bins that they can be seen."""
    if isinstance(attribute, Cut) and attribute.bins > 2 * USUAL_BINS:
        return next(made for made in _coarser(attribute) if made.bins <= 2 * USUAL_BINS)
    return attribute


def _coarser(attribute: Cut) -> Iterator[Cut]:
    """By parts of dates while these are few enough, else by bins of equal width."""
    low, high = attribute.edges[0], attribute.edges[-1]
    facts: dict[str, Any] = {"nullable": attribute.nullable, "step": attribute.step}
    if isinstance(high, date) and attribute.kind is Kind.DATE:
        high -= timedelta(days=1)  # the last edge is one more than the largest
    elif attribute.is_discrete and isinstance(high, Fraction):
        high -= 1
    if attribute.kind in (Kind.DATE, Kind.TIMESTAMP):
        yield from (cut(attribute.name, attribute.kind, low, high, part, **facts) for part in COARSER)
    yield cut(attribute.name, attribute.kind, low, high, USUAL_BINS, **facts)


__all__ = ["FacetCounts", "Facets"]
