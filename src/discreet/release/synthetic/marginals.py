"""Synthetic tables by marginals: measure what attributes have in common, fit a graphical model, draw rows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Self

import numpy as np

from discreet.answers.progress import shown
from discreet.errors import Refused
from discreet.exact import flag, whole
from discreet.exit import Cost, Exit
from discreet.mechanisms.arrays import Integers
from discreet.release.core import (
    Expected,
    OverDomain,
    demand_affordable,
    error_of,
    noise_words,
    stored,
)
from discreet.release.domain import Cut, Domain
from discreet.release.graphical import Floats, sample
from discreet.release.graphical.estimate import STEPS
from discreet.release.rows import Rows
from discreet.release.synthetic.rounds import CHOICE, FIRST, ROUNDS, Selected, moved_ones, moved_pair, selected
from discreet.release.synthetic.table import NoisyMarginal, SyntheticTable, narrow
from discreet.sql.nodes import Field

KEYS: Final = Fraction(1, 10)
"""The share of finding the values of private texts, where there are any."""
MAX_CELLS: Final = 200_000
LARGEST: Final = 2_000_000
MOST_VALUES: Final = 50_000_000
"""Rows times columns of a synthetic table: what noise makes of a count may be any number."""
MOST_COLUMNS: Final = 200
MOST_STEPS: Final = 10_000
"""Of the last fit: it follows the noise long before."""
UNKNOWN: Final = "which pairs of columns are measured depends on noisy counts: quality() says how near the rows are"


@stored
@dataclass(frozen=True, kw_only=True)
class MarginalSynthesizer(OverDomain):
    """Rows that look like those of the source: all one-way marginals, and the pairs that say most, with noise.

    Theorem  It costs what the exit is given. Proof: values of private texts are found for a tenth of the cost, where
             there are any (`Domain.selected`); all else is measured by `selected` for the rest. The model, its rows,
             and their number, which is that of the noisy counts, are post-processing. A row with a value outside of
             the domain is left out, by its own values alone.
    Source   as `selected`, and McKenna, Sheldon & Miklau 2019 (the graphical model).
    """

    max_cells: int = MAX_CELLS
    """Of the model, at most about so many: more say more and take longer, which is worth it where the cost is high."""
    steps: int | None = None
    """Of the last fit; None for as many as are usual."""
    verbose: bool = field(default=False, compare=False, metadata={"unstored": True})
    """Whether bars show how far it is."""

    def declared(self, fields: Sequence[Field] | None) -> Self:
        domain = Domain.settled(self.domain, fields, columns=self.names, bins=self.bins)
        if len(domain.names) > MOST_COLUMNS:
            raise Refused("release-invalid", f"there are more than {MOST_COLUMNS} columns", "name fewer of them")
        if not 1 <= whole(self.max_cells, "max_cells") <= LARGEST:
            raise Refused("release-invalid", "max_cells is too large", f"use {LARGEST:,} cells or fewer")
        if self.steps is not None and whole(self.steps, "steps") > MOST_STEPS:
            raise Refused("release-invalid", "a fit has too many steps", f"use {MOST_STEPS:,} steps or fewer")
        flag(self.verbose, "verbose")
        return replace(self, domain=domain, names=None, bins=None)

    @property
    def wants_units(self) -> bool:  # type: ignore[override]
        return self.is_selecting

    def expected(self, cost: Cost, most: int) -> Expected:
        count = len(self.columns)
        rest = 1 - KEYS if self.is_selecting else Fraction(1)
        if count == 1:
            moved = moved_ones(1, most)
            error, noise = error_of(cost, moved, rest), noise_words(cost, moved, rest)
            return Expected(error={"count": error}, noise={"count": noise}, shares=self._shares({"counts": rest}))
        each = rest * (1 - FIRST) / (ROUNDS * count)
        demand_affordable(cost, moved_pair(most), each * CHOICE)
        moved, share = moved_ones(count, most), rest * FIRST
        shares = {
            "counts by one column": share,
            "choice of pairs": (rest - share) * CHOICE,
            "counts by pairs": (rest - share) * (1 - CHOICE),
        }
        return Expected(
            error={"count by one column": error_of(cost, moved, share)},
            noise={"count by one column": noise_words(cost, moved, share)},
            shares=self._shares(shares),
            notes=(UNKNOWN,),
        )

    def _shares(self, rest: dict[str, Fraction]) -> dict[str, float]:
        keys = {"values of private texts": KEYS} if self.is_selecting else {}
        return {name: float(share) for name, share in {**keys, **rest}.items()}

    @property
    def stages(self) -> tuple[tuple[str, int], ...]:
        steps = STEPS if self.steps is None else self.steps
        rounds = (("measuring pairs", ROUNDS * len(self.columns)),) if len(self.columns) > 1 else ()
        return (*rounds, ("fitting the model", steps))

    def run(self, rows: Rows, exit_: Exit) -> SyntheticTable:
        if self.verbose:
            exit_.watch = shown
        domain, part = self._domain, exit_
        if self.is_selecting:
            domain = domain.selected(rows, exit_, KEYS, exit_.cost.delta or Fraction(0))
            part = exit_.part(1 - KEYS)
        ordered = [isinstance(attribute, Cut) for attribute in domain.known]
        measurements = selected(domain.inside(rows), domain.shape, ordered, rows.most, part, self.max_cells, self.steps)
        return _table(domain, measurements, part)


def _table(domain: Domain, measurements: Selected, exit_: Exit) -> SyntheticTable:
    """Rows of the model, and beside them what was measured. Post-processing."""

    def uniform(many: int) -> Floats:
        return exit_.below(2**53, many) / 2**53

    count = min(round(measurements.total), MOST_VALUES // len(domain.names))
    sizes = domain.shape
    places = sample(measurements.fitted.model, count, uniform)
    codes = [
        narrow(each.split(index, uniform), size)
        for each, index, size in zip(measurements.compressions, places, sizes, strict=True)
    ]
    whole: list[Integers] = [np.arange(size) for size in sizes]
    groups = [each.groups for each in measurements.compressions]
    measured = [
        NoisyMarginal(
            names=tuple(domain.names[index] for index in each.attributes),
            groups=tuple(narrow(held[index], sizes[index]) for index in each.attributes),
            values=each.values,
            deviation=each.deviation,
        )
        for held, marginals in ((whole, measurements.ones), (groups, measurements.pairs))
        for each in marginals
    ]
    return SyntheticTable(
        domain=domain,
        codes=tuple(codes),
        seed=exit_.seed(),
        measured=tuple(measured),
    )
