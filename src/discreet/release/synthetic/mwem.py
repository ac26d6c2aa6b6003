"""MWEM: multiplicative weights over all cells of a domain, by the queries that they answer worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Final, Self

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exact import whole
from discreet.exit import Cost, Exit
from discreet.mechanisms.arrays import Integers
from discreet.release.core import Expected, OverDomain, demand_affordable, error_of, noise_words, stored
from discreet.release.domain import Domain
from discreet.release.graphical import Clique, Floats, JunctionTree, Model, sample
from discreet.release.graphical.model import project, spread
from discreet.release.rows import Rows
from discreet.release.synthetic.table import NoisyMarginal, SyntheticTable, narrow
from discreet.sql.nodes import Field

TOTAL: Final = Fraction(1, 20)
"""The share of the number of rows."""
LARGEST: Final = 2**20
"""Cells of a domain: all of them are held in memory."""
MOST_ROUNDS: Final = 1000
MOST_DEGREE: Final = 3
MOST_COLUMNS: Final = 20
MOST_VALUES: Final = 50_000_000
"""Rows times columns of a synthetic table: what noise makes of a count may be any number."""
ONE: Final = Sensitivity.cells(1, 1)
LARGER: Final = "use fewer columns or larger bins, or MarginalSynthesizer, which holds no cell for each combination"


@stored
@dataclass(frozen=True, kw_only=True)
class MWEM(OverDomain):
    """T rounds: choose the count that the weights answer worst, measure the marginal that it is of, and reweigh.

    Theorem  It costs what the exit is given, for units of at most r rows.
    Proof    A twentieth is for the number of rows. Each round has an equal share of the rest, half of it for a choice
             by the score |f(D) − f(A)| of each count f, with f(A) rounded to a whole number that depends on what was
             released before: a unit moves f(D) by r at most, and so the score, up or down. The other half is for all
             counts of that marginal, which a unit moves as it does any histogram (`Domain.moved`): they cost no more
             than one of them. Reweighing is post-processing, and passes several times over all that was measured.
    Error    Of measured counts alone, ≤ 2n·√(ln|X|/T) + 10·T·ln|Q|/ε for n rows and Q queries, by Laplace noise.
    Source   Hardt, Ligett & McSherry 2012; whole marginals, as there in the experiments.
    """

    rounds: int = 10
    degree: int = 2
    """Queries are the counts of marginals of up to so many attributes."""
    passes: int = 20
    """Over all that was measured, in each round."""

    def declared(self, fields: Sequence[Field] | None) -> Self:
        domain = Domain.settled(self.domain, fields, columns=self.names, bins=self.bins)
        domain.demand_small(LARGEST, LARGER)
        if len(domain.names) > MOST_COLUMNS:
            raise Refused("release-invalid", f"there are more than {MOST_COLUMNS} columns", LARGER)
        for name, most in (("rounds", MOST_ROUNDS), ("degree", MOST_DEGREE), ("passes", MOST_ROUNDS)):
            if whole(getattr(self, name), name) > most:
                raise ValueError(f"{name} is at most {most}")
        return replace(self, domain=domain, names=None, bins=None)

    @property
    def _share(self) -> Fraction:
        """Of a choice, and of a measurement."""
        return (1 - TOTAL) / (2 * self.rounds)

    def expected(self, cost: Cost, most: int) -> Expected:
        moved = Domain.moved(most)
        demand_affordable(cost, moved, min(self._share, TOTAL))
        return Expected(
            error={"count of a chosen marginal": error_of(cost, moved, self._share)},
            noise={"count of a chosen marginal": noise_words(cost, moved, self._share)},
            shares={
                "number of rows": float(TOTAL),
                "choices": float(self._share * self.rounds),
                "counts": float(self._share * self.rounds),
            },
            notes=("which marginals are measured depends on noisy counts",),
            cells=self._domain.size,
        )

    @property
    def stages(self) -> tuple[tuple[str, int], ...]:
        return (("rounds", self.rounds),)

    def run(self, rows: Rows, exit_: Exit) -> SyntheticTable:
        domain, moved = self._domain, Domain.moved(rows.most)
        exact = domain.histogram(domain.codes(rows))
        (noisy,) = exit_.release(np.array([exact.sum()], dtype=np.int64), moved, TOTAL)
        total = max(int(noisy), 0)
        exact_counts = {each: _summed(exact, each) for each in self._marginals()}
        weights = np.full(domain.shape, max(total, 1) / domain.size)
        measured: list[tuple[Clique, Integers]] = []
        for _ in exit_.watched(range(self.rounds), self.rounds, "rounds"):
            chosen = _worst(exact_counts, weights, rows.most, exit_, self._share)
            measured.append((chosen, exit_.release(exact_counts[chosen], moved, self._share)))
            for _ in range(self.passes):
                for each, values in measured:
                    weights = _reweighed(weights, each, values.astype(np.float64))
        deviation = exit_.cost.deviation(moved, self._share)
        return _table(domain, weights, min(total, MOST_VALUES // len(domain.names)), measured, deviation, exit_)

    def _marginals(self) -> list[Clique]:
        attributes = range(len(self._domain.shape))
        most = min(self.degree, len(attributes))
        return [each for count in range(1, most + 1) for each in combinations(attributes, count)]


def _worst(exact_counts: dict[Clique, Integers], weights: Floats, most: int, exit_: Exit, share: Fraction) -> Clique:
    """The marginal of about the count that is farthest off."""
    every = tuple(range(weights.ndim))
    gaps = [
        np.abs(exact - np.rint(project(weights, every, each)).astype(np.int64)).ravel()
        for each, exact in exact_counts.items()
    ]
    index = exit_.choose_each([np.concatenate(gaps).tolist()], ONE, most, share)[0]
    ends = np.cumsum([len(gap) for gap in gaps])
    return list(exact_counts)[int(np.searchsorted(ends, index, side="right"))]


def _summed(exact: Integers, attributes: Clique) -> Integers:
    """An exact marginal."""
    summed: Integers = exact.sum(axis=tuple(axis for axis in range(exact.ndim) if axis not in attributes))
    return summed


def _reweighed(weights: Floats, attributes: Clique, values: Floats) -> Floats:
    """One step of multiplicative weights towards all counts of a marginal; the sum stays what it was."""
    every, total = tuple(range(weights.ndim)), weights.sum()
    gap = (values - project(weights, every, attributes)) / (2 * total)
    moved: Floats = weights * spread(np.exp(np.clip(gap, -1.0, 1.0)), attributes, every)
    moved *= total / moved.sum()
    return moved


def _table(
    domain: Domain,
    weights: Floats,
    count: int,
    measured: Sequence[tuple[Clique, Integers]],
    deviation: float,
    exit_: Exit,
) -> SyntheticTable:
    """Rows by the weights. Post-processing."""
    every = tuple(range(weights.ndim))
    model = Model(JunctionTree.of(domain.shape, [every]), (weights / weights.sum(),))
    columns = sample(model, count, lambda many: exit_.below(2**53, many) / 2**53)
    marginals = tuple(
        NoisyMarginal(
            names=tuple(domain.names[each] for each in attributes),
            groups=tuple(narrow(np.arange(domain.shape[each]), domain.shape[each]) for each in attributes),
            values=values,
            deviation=deviation,
        )
        for attributes, values in measured
    )
    codes = tuple(narrow(column, size) for column, size in zip(columns, domain.shape, strict=True))
    return SyntheticTable(domain=domain, codes=codes, seed=exit_.seed(), measured=marginals)
