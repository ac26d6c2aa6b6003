"""How a stream stands, as plain values: its blocks, what was charged for each, and which are retired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.losses import Concentrated, Pure
from discreet.accounting.record import BlockNames, Ranges, ranges_of, without
from discreet.accounting.rounding import UNITS

Lines = tuple[tuple[int, ...], ...]
"""For each block the amounts that were charged for it, in units of 10⁻²⁴: ε, or ρ and δ."""


class Opened:
    """Blocks that were opened one after the other, and those of them that are retired."""

    __slots__ = ()
    labels: tuple[str, ...]
    retired: Ranges

    @property
    def count(self) -> int:
        """Of blocks, retired ones included."""
        return len(self.labels)

    @property
    def first(self) -> int:
        """All blocks before it are retired."""
        return self.retired[0][1] + 1 if self.retired and not self.retired[0][0] else 0

    @property
    def live(self) -> Ranges:
        """The blocks that can be asked about."""
        return without(((0, self.count - 1),), self.retired) if self.count else ()


@dataclass(frozen=True, slots=True)
class StreamStanding(Opened):
    """A stream at one moment.

    Each unit has rows in at most `most` blocks, and no block's line is ever above the capacity: so all answers about
    the stream cost a unit at most `most` times the capacity, and by now no more than `lost`.
    """

    name: str
    capacity: Pure | Concentrated
    most: int
    labels: tuple[str, ...]
    """Of each block: the day, or another public name."""
    files: tuple[str, ...]
    lines: Lines
    """Nothing for those that are retired."""
    retired: Ranges
    lost: Pure | Concentrated
    """The sum of the `most` largest lines there ever were."""
    shares: Mapping[str, Lines]
    """The lines of each analyst who charged anything."""
    limits: Mapping[str, Pure | Concentrated]
    """What each analyst with a share may charge for a block, at most."""

    def seen_by(self, analyst: str | None) -> StreamStanding:
        """The same without what others charged one by one: what an analyst may see."""
        own = {name: lines for name, lines in self.shares.items() if name == analyst}
        limits = {name: limit for name, limit in self.limits.items() if name == analyst}
        return replace(self, files=(), shares=own, limits=limits)

    @property
    def held(self) -> Pure | Concentrated:
        """What of the budget is the stream's."""
        return self.capacity.times(Fraction(self.most))

    def newest(self, count: int) -> BlockNames | None:
        """So many of the newest blocks that can be asked about, or as many as there are; None if there are none."""
        numbers = [number for first, last in self.live for number in range(first, last + 1)][-count:]
        return BlockNames(self.name, ranges_of(numbers)) if numbers else None

    def loss(self, amounts: tuple[int, ...]) -> Pure | Concentrated:
        """Amounts of a line as a loss."""
        exact = [Fraction(amount, UNITS) for amount in amounts]
        unit = self.capacity.unit
        return Pure(exact[0], unit=unit) if self.capacity.is_pure else Concentrated(*exact, unit=unit)

    def spent(self, number: int) -> Pure | Concentrated:
        """What was charged for a block."""
        return self.loss(self.lines[number])

    def left(self, number: int, analyst: str | None = None) -> Pure | Concentrated:
        """What may still be charged for a block, by anybody or by one analyst; nothing if it is retired."""
        if any(low <= number <= high for low, high in self.retired):
            return self.loss((0,) * len(self.lines[number]))
        rooms = [(self.capacity, self.lines[number])]
        if analyst is not None and analyst in self.limits:
            own = self.shares.get(analyst)
            rooms.append((self.limits[analyst], (0, 0) if own is None else own[number]))
        rests = [_rest(limit, used) for limit, used in rooms]
        return self.loss(tuple(map(min, zip(*rests, strict=True))))

    @property
    def used(self) -> tuple[float, ...]:
        """How much of the capacity each block has used, from 0 to 1: 1 for those that are retired."""
        whole = int(self.capacity.amount * UNITS)
        gone = {number for low, high in self.retired for number in range(low, high + 1)}
        return tuple(1.0 if number in gone else line[0] / whole for number, line in enumerate(self.lines))


def _rest(limit: Pure | Concentrated, used: tuple[int, ...]) -> tuple[int, ...]:
    amounts = (int(amount * UNITS) for amount in limit.amounts.values())
    return tuple(max(amount - spent, 0) for amount, spent in zip(amounts, used, strict=False))
