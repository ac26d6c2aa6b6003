"""Streams: pipelines that compete for blocks, as in PrivateKube's evaluation, and Sage's comparison of compositions.

`python -m benchmarks.stream` prints the tables beside what the papers report.

Mice and elephants (PrivateKube, section 6.1): a mouse costs 1 % of a block's capacity, an elephant 10 %; three of four
are mice. One block: one pipeline a second. Several: a block every ten seconds, 12.8 pipelines a second, each of which
wants the newest block or, one of four, the newest ten. Who is not granted leaves after 300 seconds.

Compositions (Sage, section 5.4): each hour 16,000 rows come, and now and then a pipeline with a target that takes n
rows (a power law) without noise, and max(n, c·√n/ε) with it. This dependence on ε is ours (an error of 1/√n of the
rows and of 1/(nε) of the noise), with c such that blocks still serve 0.7 models an hour, as they do in the paper; Sage
measured that of its models. So shapes can be compared, not hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure
from discreet.stream.scheduling import RULES, Demand
from discreet.stream.simulation import Simulated, simulate

Floats = NDArray[np.float64]
CAPACITY: Final = (1000,)
MOUSE, ELEPHANT = (10,), (100,)
PATIENCE: Final = 300.0
MANY: Final = 10
"""Blocks that a pipeline wants which wants several."""


# mice and elephants


def single(seed: int, *, seconds: float = 300.0, mice: float = 0.75) -> list[tuple[float, Demand]]:
    """Pipelines on one block, one a second."""
    dice = np.random.default_rng(seed)
    times = _times(dice, 1.0, seconds)
    return [
        (at, Demand.of(f"p{number}", [0], MOUSE if dice.random() < mice else ELEPHANT))
        for number, at in enumerate(times)
    ]


def several(
    seed: int, *, seconds: float = 300.0, rate: float = 12.8, every: float = 10.0, mice: float = 0.75
) -> tuple[list[tuple[float, Demand]], list[float]]:
    """Pipelines on the newest blocks, and when these are opened: ten are there at the beginning."""
    dice = np.random.default_rng(seed)
    opened = [0.0] * MANY + [every * step for step in range(1, int(seconds / every) + 1)]
    made = []
    for number, at in enumerate(_times(dice, rate, seconds)):
        newest = int(np.searchsorted(opened, at, side="right")) - 1
        wanted = [newest] if dice.random() < 0.75 else range(newest - MANY + 1, newest + 1)
        cost = MOUSE if dice.random() < mice else ELEPHANT
        made.append((at, Demand.of(f"p{number}", wanted, cost)))
    return made, opened


def _times(dice: np.random.Generator, rate: float, seconds: float) -> list[float]:
    gaps = dice.exponential(1 / rate, int(2 * rate * seconds) + 50)
    times = np.cumsum(gaps)
    return [float(at) for at in times[times < seconds]]


def on_one(rule: str, among: int, seed: int, mice: float = 0.75) -> Simulated:
    return simulate(single(seed, mice=mice), CAPACITY, opened=[0.0], rule=rule, among=among, patience=PATIENCE)


def on_several(rule: str, among: int, seed: int, seconds: float = 300.0) -> Simulated:
    arrivals, opened = several(seed, seconds=seconds)
    return simulate(arrivals, CAPACITY, opened=opened, rule=rule, among=among, patience=PATIENCE)


def wide(seed: int, spread: float, count: int = 400) -> list[tuple[float, Demand]]:
    """Pipelines that all come before anything is unlocked, of about the same cost and ten blocks, give or take."""
    dice = np.random.default_rng(seed)
    made = []
    for number in range(count):
        blocks = int(np.clip(round(dice.normal(10, spread)), 1, 20))
        first = int(dice.integers(0, 21 - blocks))
        made.append((0.0, Demand.of(f"p{number}", range(first, first + blocks), (int(dice.integers(80, 121)),))))
    return made


def on_twenty(rule: str, spread: float, seed: int) -> Simulated:
    """All of them at once: twenty blocks are unlocked when everybody waits."""
    return simulate(wide(seed, spread), CAPACITY, opened=[0.0] * 20, rule=rule, every=1.0)


# compositions

ROWS: Final = 16_000
"""Of an hour."""
LEAST, MOST = 1e4, 3e6
"""Rows that a target takes."""
COMMON: Final = 60.0
"""The c of the noise's part: for a target of 10,000 rows noise matters below ε = 0.6, for a million below 0.06."""
STEPS: Final = tuple(2.0**-step for step in range(8))
"""Every ε that a pipeline may try, of a block's 1."""
OLDEST: Final = 24 * 14
"""Hours after which a block is too old to be trained on."""


@dataclass
class Waiting:
    """Pipelines without a model yet: when each came, the rows that it takes, and what was granted to it alone."""

    came: NDArray[np.int64]
    rows: Floats
    granted: Floats
    """Of each pipeline and each of the newest blocks, the newest last."""
    left: Floats
    """Of these blocks, what nobody was granted."""

    def hour(self, coming: list[tuple[int, float]]) -> None:
        """A block more, and those who come."""
        self.left = np.append(self.left[1:], 1.0)
        self.granted = np.hstack([self.granted[:, 1:], np.zeros((len(self.came), 1))])
        self.came = np.append(self.came, np.array([at for at, _ in coming], dtype=np.int64))
        self.rows = np.append(self.rows, [rows for _, rows in coming])
        self.granted = np.vstack([self.granted, np.zeros((len(coming), OLDEST))])

    def divide(self) -> None:
        """What nobody has of each block, in equal parts."""
        if len(self.came):
            self.granted += self.left / len(self.came)
            self.left[:] = 0.0

    def fitting(self, rows: Callable[[Floats, float], Floats]) -> Floats:
        """Of each the least ε for which enough blocks have it; 0 if there is none."""
        least = np.zeros(len(self.came))
        for epsilon in STEPS:
            least[ROWS * (self.granted >= epsilon).sum(axis=1) >= rows(self.rows, epsilon)] = epsilon
        return least

    def leave(self, done: NDArray[np.bool_]) -> None:
        self.came, self.rows, self.granted = self.came[~done], self.rows[~done], self.granted[~done]


def takes(rows: Floats, epsilon: float) -> Floats:
    """Rows that reach the target at this ε, with noise once."""
    return np.maximum(rows, COMMON * rows**0.5 / epsilon)


def takes_apart(rows: Floats, epsilon: float) -> Floats:
    """The same where each block is asked alone: k noises add up to √k times one, for n = k blocks of rows."""
    return np.maximum(rows, COMMON**2 * rows / (ROWS * epsilon**2))


def pipelines(seed: int, rate: float, hours: int) -> list[tuple[int, float]]:
    """When each comes (gaps of a gamma distribution), and the rows that its target takes, by a power law."""
    dice = np.random.default_rng(seed)
    times = np.cumsum(dice.gamma(2.0, 1 / (2.0 * rate), int(2 * rate * hours) + 50))
    rows = LEAST / (1 - dice.random(len(times)) * (1 - LEAST / MOST))
    return [(int(at), float(n)) for at, n in zip(times, rows, strict=True) if at < hours]


def streamed(waiting: Waiting) -> NDArray[np.bool_]:
    """Streaming composition: each row serves one pipeline, at the whole ε."""
    waiting.granted[:, -1] = 1 / max(len(waiting.came), 1)
    done: NDArray[np.bool_] = ROWS * waiting.granted.sum(axis=1) >= takes(waiting.rows, 1.0)
    return done


def apart(waiting: Waiting) -> NDArray[np.bool_]:
    """Query composition: blocks are asked one by one; all that was granted is used."""
    waiting.divide()
    return waiting.fitting(takes_apart) > 0


def aggressive(waiting: Waiting) -> NDArray[np.bool_]:
    """Block composition; all that was granted to a pipeline is used."""
    waiting.divide()
    return waiting.fitting(takes) > 0


def conserving(waiting: Waiting) -> NDArray[np.bool_]:
    """Block composition; a pipeline uses the least that does, twice that with its retries, and leaves the rest."""
    waiting.divide()
    least = waiting.fitting(takes)
    for each in np.flatnonzero(least):
        granted, epsilon = waiting.granted[each], least[each]
        enough = np.flatnonzero(granted >= epsilon)
        used = enough[-int(np.ceil(takes(waiting.rows[each : each + 1], epsilon)[0] / ROWS)) :]
        granted[used] -= np.minimum(granted[used], 2 * epsilon)
        waiting.left += granted
    done: NDArray[np.bool_] = least > 0
    return done


Strategy = Callable[[Waiting], NDArray[np.bool_]]
STRATEGIES: Final[dict[str, Strategy]] = {
    "streaming composition": streamed,
    "query composition": apart,
    "blocks, all that is granted": aggressive,
    "blocks, no more than needed": conserving,
}


def release_time(strategy: Strategy, rate: float, *, seed: int, hours: int = 1200) -> float:
    """Hours from a pipeline's arrival to its model, in the mean; who has none counts until the end."""
    coming = pipelines(seed, rate, hours)
    waiting = Waiting(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, OLDEST)), np.zeros(OLDEST))
    took: list[int] = []
    for hour in range(hours):
        waiting.hour([each for each in coming if each[0] == hour])
        done = strategy(waiting)
        took += [hour - came + 1 for came in waiting.came[done].tolist() if came > hours // 4]
        waiting.leave(done)
    took += [hours - came for came in waiting.came.tolist() if came > hours // 4]
    return float(np.mean(took)) if took else 0.0


# what is reported

SEEDS: Final = range(10)
RATES: Final = (0.1, 0.3, 0.5, 0.7)
OTHERS: Final = (("streaming composition", 10.0), ("query composition", 10.0), ("blocks, all that is granted", 1.5))
"""What conserving blocks are compared with, and how much longer that must take at least."""


def mean_granted(make: Callable[[int], Simulated], seeds: Iterable[int] = SEEDS) -> float:
    return float(np.mean([make(seed).granted for seed in seeds]))


def figures() -> list[Figure]:
    """The shapes of the papers' figures, as ratios from this run."""
    pairs = [
        (
            "one block: granted, fair (N = 150)",
            partial(on_one, "fair", 150),
            partial(on_one, "first", 1),
            100 / 28,
            2.0,
        ),
        (
            "a block each 10 s: granted, fair (N = 375)",
            partial(on_several, "fair", 375),
            partial(on_several, "first", 1),
            2,
            1.5,
        ),
    ]
    made = []
    for what, ours, other, paper, least in pairs:
        fair, first = mean_granted(ours), mean_granted(other)
        told = f"{first:.0f}, first come (PrivateKube: {paper:.2g}×)"
        made.append(Figure(what, f"{fair:.0f}", told, fair / first, f"≥ {least:g}×", fair / first >= least))
    return [*made, *_packed(), *_hours()]


def _packed() -> Iterator[Figure]:
    """Where demands are alike packing gains nothing; where they differ it does."""
    for spread, what, least in ((0, "10 blocks each", 0.95), (10, "1 to 20 blocks", 1.3)):
        packed, fair = (mean_granted(partial(on_twenty, rule, spread)) for rule in ("efficient", "fair"))
        told, ratio = f"{fair:.0f}, fair (DPack: 1.0 to 2.6×)", packed / fair
        what = f"all at once, {what}: granted, efficient"
        yield Figure(what, f"{packed:.0f}", told, ratio, f"≥ {least:g}×", ratio >= least)


def _hours() -> Iterator[Figure]:
    """Few pipelines, for which anything does, and many."""
    few, many = RATES[0], RATES[-1]
    for rate, others in ((few, {name: 0.0 for name, _ in OTHERS}), (many, dict(OTHERS))):
        blocks = release_time(conserving, rate, seed=1)
        for name, least in others.items():
            hours = release_time(STRATEGIES[name], rate, seed=1)
            what = f"hours to a model, {rate} pipelines an hour, blocks with no more than needed"
            told, ratio, wanted = f"{hours:.1f}, {name}", hours / blocks, f"≥ {least:g}×" if least else "–"
            yield Figure(what, f"{blocks:.1f}", told, ratio, wanted, ratio >= least)


def main() -> None:
    console = Console()
    one = Table("one block, 300 s", "granted", "wait: half", "wait: 90 %", "PrivateKube, figure 6")
    papers = {("first", 1): "28", ("fair", 1): "as first come", ("fair", 175): "mice only; up to 100"}
    for rule, among in (("first", 1), ("fair", 1), ("fair", 50), ("fair", 100), ("fair", 175), ("efficient", 175)):
        ran = [on_one(rule, among, seed) for seed in SEEDS]
        _row(one, f"{rule}, N = {among}", ran, papers.get((rule, among), ""))
    many = Table("a block each 10 s, 300 s", "granted", "wait: half", "wait: 90 %", "PrivateKube, figure 8")
    papers = {("fair", 375): "about 2× first come", ("fair", 600): "fewer than at the best N"}
    for rule, among in (("first", 1), ("fair", 75), ("fair", 375), ("efficient", 375), ("fair", 600)):
        ran = [on_several(rule, among, seed) for seed in range(3)]
        _row(many, f"{rule}, N = {among}", ran, papers.get((rule, among), ""))
    packed = Table("all at once on 20 blocks", "first", "fair", "efficient", "DPack")
    for spread in (0, 3, 6, 10):
        counts = [mean_granted(partial(on_twenty, rule, spread)) for rule in RULES]
        paper = "1.0 to 2.6 × fair, more where demands differ" if not spread else ""
        packed.add_row(f"10 blocks ± {spread}", *(f"{count:.0f}" for count in counts), paper)
    sage = Table("hours to a model, pipelines an hour", *map(str, RATES), "Sage, figure 8 (Taxi)")
    told = ("above 3 days beyond 0.5", "above 3 days beyond 0.5", "within a day at 0.7", "4× less than that at 0.7")
    for (name, strategy), paper in zip(STRATEGIES.items(), told, strict=True):
        hours = [f"{release_time(strategy, rate, seed=1):.1f}" for rate in RATES]
        sage.add_row(name, *hours, paper)
    for table in (one, many, packed, sage):
        console.print(table)


def _row(table: Table, name: str, ran: list[Simulated], paper: str) -> None:
    numbers = [
        np.mean([each.granted for each in ran]),
        *(np.mean([each.wait(at) for each in ran]) for at in (0.5, 0.9)),
    ]
    table.add_row(name, f"{numbers[0]:.0f} of {np.mean([each.count for each in ran]):.0f}",
                  f"{numbers[1]:.1f} s", f"{numbers[2]:.1f} s", paper)  # fmt: skip


if __name__ == "__main__":
    main()
