"""Run and blur: exact integers come out of the engine, and only noisy ones leave this file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from discreet.accounting.losses import Reach
from discreet.curator.kept import Drawn
from discreet.curator.price import Additive, noise_of
from discreet.curator.released import with_released
from discreet.noise import Bits
from discreet.sql.plan import Plan
from discreet.sql.release import Release


class Engine(Protocol):
    """What runs queries."""

    @property
    def dialect(self) -> str: ...
    def schema(self, table: str) -> dict[str, str]: ...
    def rows(self, query: str, seconds: float | None = None) -> list[tuple[Any, ...]]: ...
    def close(self) -> None: ...


Blur = Callable[[Additive, Reach, Sequence[int], Bits], Sequence[int]]
"""The one place where noise is added: mechanism, declared reach, exact integers, bits of the charge."""


def blur(mechanism: Additive, reach: Reach, exact: Sequence[int], bits: Bits) -> Sequence[int]:  # noqa: ARG001
    """The exact integers plus fresh noise, as one vector."""
    values: list[int] = mechanism.release(exact, bits).tolist()
    return values


def draw(
    plan: Plan, mechanisms: Sequence[Sequence[Additive]], engine: Engine, bits: Bits, blur: Blur, seconds: float | None
) -> Drawn:
    """Count, then blur every measure of every release."""
    drawn = Drawn((), ())
    for release, bought in zip(plan.releases, mechanisms, strict=True):
        exact = counted(release, engine.rows(with_released(plan, drawn, release.sql()), seconds))
        values = tuple(
            blur(mechanism, release.reach(measure), column, bits)
            for mechanism, measure, column in zip(bought, release.measures, exact, strict=True)
        )
        noises = tuple(noise_of(mechanism) for mechanism in bought)
        drawn = Drawn((*drawn.noises, noises), (*drawn.values, values))
    return drawn


def counted(release: Release, rows: Sequence[tuple[Any, ...]]) -> list[list[int]]:
    """For each measure its integers in every listed group, 0 where there are no rows. Other groups are dropped."""
    keys = len(release.keys)
    exact = {row[:keys]: row[keys:] for row in rows}
    nothing = (None,) * len(release.measures)
    table = [exact.get(cell, nothing) for cell in release.cells()]
    return [
        [number for row in table for number in measure.vector(row[place])]
        for place, measure in enumerate(release.measures)
    ]
