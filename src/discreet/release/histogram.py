"""The simplest publication: how many rows each cell of a domain has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.exit import Cost, Exit
from discreet.mechanisms.arrays import Integers
from discreet.release.core import Expected, Publication, Published, demand_type, error_of, noise_words, stored
from discreet.release.domain import Bins, Domain
from discreet.release.rows import Rows
from discreet.sql.nodes import Field


@stored
@dataclass(frozen=True, kw_only=True)
class Counts(Published):
    """A noisy count for each cell of a domain."""

    domain: Domain
    values: NDArray[Any] = field(compare=False)
    """By cell, in the shape of the domain; whole numbers, below 0 where the noise was."""
    error: float
    """The half-width of the 95 % interval of each."""

    def __post_init__(self) -> None:
        demand_type(domain=(self.domain, Domain), values=(self.values, np.ndarray), error=(self.error, float))
        if self.values.shape != self.domain.shape or self.values.dtype != np.int64:
            raise ValueError("counts are whole numbers, one for each cell of their domain")

    @property
    def columns(self) -> tuple[str, ...]:
        """Of `rows`."""
        return (*self.domain.names, "count")

    def rows(self) -> list[tuple[Any, ...]]:
        """For each cell what stands for it, and its count."""
        return [
            (*label, count) for label, count in zip(self.domain.labels(), self.values.ravel().tolist(), strict=True)
        ]


@stored
@dataclass(frozen=True, kw_only=True)
class Histogram(Publication):
    """How many rows each cell of a domain has, with noise on each.

    Theorem  It costs what the exit is given. Proof: one vector, which a unit of r rows moves by `Domain.moved(r)`.
    Source   Dwork, McSherry, Nissim & Smith 2006.
    """

    names: tuple[str, ...] | None = None
    """Which columns; None for all."""
    bins: Bins | None = None
    domain: Domain | None = None
    """None: as the policy declares it."""

    def declared(self, fields: Sequence[Field] | None) -> Self:
        domain = Domain.settled(self.domain, fields, columns=self.names, bins=self.bins)
        domain.demand_small()
        return replace(self, domain=domain, names=None, bins=None)

    @property
    def columns(self) -> tuple[str, ...]:
        assert self.domain is not None
        return self.domain.names

    def expected(self, cost: Cost, most: int) -> Expected:
        assert self.domain is not None
        moved = self.domain.moved(most)
        error = error_of(cost, moved)
        return Expected(error={"count": error}, noise={"count": noise_words(cost, moved)}, cells=self.domain.size)

    def run(self, rows: Rows, exit_: Exit) -> Counts:
        assert self.domain is not None
        exact: Integers = self.domain.histogram(self.domain.codes(rows))
        moved = self.domain.moved(rows.most)
        return Counts(domain=self.domain, values=exit_.release(exact, moved), error=error_of(exit_.cost, moved))
