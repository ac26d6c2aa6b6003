"""Run and blur: exact integers come out of the engine, and only noisy ones leave this file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from discreet.accounting.losses import Sensitivity
from discreet.engines.printed import Printed, printed
from discreet.mechanisms import KeySelection
from discreet.mechanisms.order import public_rank
from discreet.noise import Bits
from discreet.sql.cache import Cell, Drawn
from discreet.sql.cost import Additive, Bought, Choices, Mechanism
from discreet.sql.measures import Measure
from discreet.sql.plan import Plan
from discreet.sql.release import Release
from discreet.sql.released import with_released
from discreet.sql.vectors import Chosen


class Engine(Protocol):
    """What runs queries."""

    @property
    def dialect(self) -> str: ...
    @property
    def copy(self) -> str: ...
    def schema(self, table: str) -> dict[str, str]: ...
    def rows(self, query: Printed, seconds: float | None = None) -> list[tuple[Any, ...]]: ...
    def close(self) -> None: ...


Blur = Callable[[Additive, Sensitivity, Sequence[int], Bits], Sequence[int]]
"""Where noise is added: mechanism, declared sensitivity, exact integers, bits of the charge."""
Select = Callable[[KeySelection, Mapping[Cell, int], Bits], Sequence[Cell]]
"""Where private keys are selected: mechanism, exact numbers of units, bits of the charge."""
Choose = Callable[[Choices, Sequence[Sequence[int]], Bits], Sequence[int]]
"""Where one of several candidates is chosen: mechanism, exact scores of each group, bits of the charge."""


def blur(mechanism: Additive, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:  # noqa: ARG001
    """The exact integers plus fresh noise, as one vector."""
    values: list[int] = mechanism.release(exact, bits).tolist() if exact else []
    return values


def select(mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Sequence[Cell]:
    """The keys whose noisy number of units passes the threshold, in their public order, as the engine wrote them."""
    written = {cell: cell for cell in exact}
    return [written[cell] for cell in mechanism.select(exact, bits)]


def choose(mechanism: Choices, scores: Sequence[Sequence[int]], bits: Bits) -> Sequence[int]:
    """In each group the candidate that the exponential mechanism chooses."""
    return [mechanism.mechanism.choose(group, bits) for group in scores]


@dataclass(frozen=True, slots=True)
class Door:
    """The one place that private numbers pass on their way out."""

    blur: Blur = blur
    select: Select = select
    choose: Choose = choose

    def noisy(
        self, mechanism: Mechanism, release: Release, measure: Measure, exact: Sequence[int], bits: Bits
    ) -> Sequence[int]:
        """The numbers of one measure, in every group, as they may be seen."""
        if isinstance(mechanism, Choices):
            assert isinstance(measure, Chosen)
            cells = measure.layout.cells
            groups = [exact[start : start + cells] for start in range(0, len(exact), cells)]
            return self.choose(mechanism, [measure.scores(group) for group in groups], bits)
        return self.blur(mechanism, release.sensitivity(measure), exact, bits)


OPEN: Final = Door()


def draw(plan: Plan, bought: Sequence[Bought], engine: Engine, bits: Bits, door: Door, seconds: float | None) -> Drawn:
    """Count, then blur every measure of every release."""
    drawn = Drawn()
    for release, noise in zip(plan.releases, bought, strict=True):
        selected = None
        if noise.selection is not None:
            units = engine.rows(printed(with_released(plan, drawn, release.selection_sql())), seconds)
            held = {row[:-1]: row[-1] for row in units if _whole(release, row)}
            selected = tuple(sorted(door.select(noise.selection, held, bits), key=public_rank))
        rows = engine.rows(printed(with_released(plan, drawn, release.sql())), seconds)
        exact = counted(release, rows, release.listed(selected))
        if release.other:
            # apart from the rest: a key may really be called OTHER
            query = with_released(plan, drawn, release.other_sql(selected or ()))
            unselected = engine.rows(printed(query), seconds)
            more = counted(release, unselected, release.others())
            exact = [[*known, *further] for known, further in zip(exact, more, strict=True)]
        values = tuple(
            door.noisy(mechanism, release, measure, column, bits)
            for mechanism, measure, column in zip(noise.measures, release.measures, exact, strict=True)
        )
        drawn = drawn.then(noise.noises, values, selected)
    return drawn


def _whole(release: Release, row: tuple[Any, ...]) -> bool:
    """Whether a combination of private keys has no NULL that is not a key."""
    return all(key.domain.nullable or value is not None for key, value in zip(release.private_keys, row, strict=False))


def counted(release: Release, rows: Sequence[tuple[Any, ...]], cells: Sequence[Cell]) -> list[list[int]]:
    """For each measure its integers in every group, 0 where there are no rows. Other groups are dropped."""
    keys = len(release.keys)
    exact = {row[:keys]: row[keys:] for row in rows}
    nothing = (None,) * len(release.measures)
    table = [exact.get(cell, nothing) for cell in cells]
    return [
        [number for row in table for number in measure.vector(row[place])]
        for place, measure in enumerate(release.measures)
    ]
