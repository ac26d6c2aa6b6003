"""What a rule would grant, and how long pipelines would wait, were they to come as they are said to.

To choose a rule, and among how many pipelines a block is shared, before anything real depends on it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from discreet.errors import Refused
from discreet.ledger.codec import Amounts
from discreet.stream.scheduling import CODE, Demand, Scheduler, Turn

MOST_EVENTS: Final = 10**7


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of all pipelines."""

    count: int
    """Of pipelines that came."""
    waits: dict[str, float]
    """By the name of each pipeline that was granted, how long it waited."""
    spent: dict[int, Amounts]
    """Of each block."""

    @property
    def granted(self) -> int:
        return len(self.waits)

    def wait(self, share: float = 0.5) -> float:
        """How long those who were granted waited at most, but for the rest of them."""
        waits = sorted(self.waits.values())
        return waits[min(int(share * len(waits)), len(waits) - 1)] if waits else 0.0


def simulate(
    arrivals: Iterable[tuple[float, Demand]],
    capacity: Amounts,
    *,
    opened: Sequence[float],
    rule: str = "fair",
    among: int = 1,
    patience: float = float("inf"),
    every: float | None = None,
) -> Simulated:
    """Pipelines that come at these times, blocks 0, 1, 2, … that are opened at those; who waits too long leaves.

    With `every`, the clock unlocks a share of each block so often, and pipelines that come unlock nothing.

    >>> demands = [(float(t), Demand.of(str(t), [0], (40,) if t < 2 else (10,))) for t in range(9)]
    >>> [simulate(demands, (100,), opened=[0.0], rule=rule, among=8).granted for rule in ("first", "fair")]
    [4, 7]
    """
    queue = sorted(arrivals, key=lambda arrival: arrival[0])
    times = [*opened, *(at for at, _ in queue)]
    ticks = 0 if every is None else max([*times, 0.0]) / every + among if every > 0 else math.inf
    if not all(map(math.isfinite, times)) or list(opened) != sorted(opened) or not patience >= 0:
        raise Refused(CODE, "blocks are opened one after the other, at times", "give finite times in their order")
    if len(times) + ticks > MOST_EVENTS:
        raise Refused(CODE, "the clock would tick too often", f"simulate {MOST_EVENTS:,} events at most")
    running = _Running(Scheduler(capacity, rule=rule, among=among), list(opened), patience, every)
    for at, demand in queue:
        running.come(at, demand)
    if every is not None:
        for _ in range(among):  # until all is unlocked
            running.pass_to(running.ticks * every)
    spent = {block: _minus(capacity, running.scheduler.left(block)) for block in range(running.blocks)}
    return Simulated(len(queue), running.waits, spent)


@dataclass(slots=True)
class _Running:
    """A simulation at one moment."""

    scheduler: Scheduler
    opened: list[float]
    patience: float
    every: float | None
    blocks: int = 0
    ticks: int = 1
    came: dict[str, float] = field(default_factory=dict)
    waits: dict[str, float] = field(default_factory=dict)
    leaving: list[tuple[float, str]] = field(default_factory=list)

    def come(self, at: float, demand: Demand) -> None:
        """A pipeline comes."""
        self.pass_to(at)
        if demand.name in self.came:
            raise Refused(CODE, "two pipelines have one name", "give each a name of its own")
        self.came[demand.name] = at
        self._grant(at, self.scheduler.ask(demand) if self.every is None else self.scheduler.wait(demand))
        if self.patience < float("inf") and demand.name not in self.waits:
            heapq.heappush(self.leaving, (at + self.patience, demand.name))

    def pass_to(self, at: float) -> None:
        """What happens until then: shares are unlocked, blocks are opened, who waited too long leaves."""
        while self.every is not None and self.ticks * self.every <= at:
            self._open(self.ticks * self.every)
            self._grant(self.ticks * self.every, self.scheduler.unlock(range(self.blocks)))
            self.ticks += 1
        self._open(at)

    def _open(self, at: float) -> None:
        while self.blocks < len(self.opened) and self.opened[self.blocks] <= at:
            self.scheduler.open(self.blocks)
            self.blocks += 1
        while self.leaving and self.leaving[0][0] < at:
            self.scheduler.withdraw(heapq.heappop(self.leaving)[1])

    def _grant(self, at: float, turn: Turn) -> None:
        self.waits.update({each.name: at - self.came[each.name] for each in turn.granted})


def _minus(whole: Amounts, part: Amounts) -> Amounts:
    return tuple(one - other for one, other in zip(whole, part, strict=True))
