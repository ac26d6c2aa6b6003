"""Logs and running totals: what is published of a search log of 10⁵ users with Zipf pairs, and totals over a year.

`python -m benchmarks.release_logs` prints what both ways keep of the log, at which (ε, δ), and in which time.
"""

from __future__ import annotations

import time
from datetime import date
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from discreet.exit import Cost
from discreet.release import QueryLog, RunningTotals, SearchLog

USERS, PAIRS, MEAN = 100_000, 100_000, 10
EXPONENT = 1.1


def generated(users: int, pairs: int, seed: int = 0) -> dict[str, Any]:
    """Who looked for what, one row for each time: pairs by Zipf's law, about ten of each user, each about twice."""
    dice = np.random.default_rng(seed)
    weights = np.arange(1, pairs + 1, dtype=np.float64) ** -EXPONENT
    who = np.repeat(np.arange(users), 1 + dice.poisson(MEAN - 1, users))
    what = dice.choice(pairs, len(who), p=weights / weights.sum())
    times = dice.geometric(0.5, len(who))
    return {"user": np.repeat(who, times), "pair": np.repeat(what, times)}


def counted(log: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Of each user and pair how often."""
    keys, times = np.unique(log["user"] * PAIRS + log["pair"], return_counts=True)
    return keys // PAIRS, keys % PAIRS, times


def rigorous(log: dict[str, Any], *, keys: int, count: int) -> tuple[dict[int, int], float]:
    """What `QueryLog` keeps at ε = 1, δ = 10⁻⁶, and the seconds that it takes."""
    began = time.perf_counter()
    publication = QueryLog(names=("pair",), unit="user", max_keys=keys, max_count=count)
    released = publication.release(log, epsilon=1, delta=1e-6)
    kept = {key[0]: int(value) for key, value in zip(released.keys, released.values, strict=True)}
    return kept, time.perf_counter() - began


def sampled(log: SearchLog, delta: float) -> tuple[int, int, float]:
    """How many searches and pairs the lecture's sampling keeps at ε = 1 and this δ, and the seconds that it takes."""
    began = time.perf_counter()
    chosen = log.optimal(epsilon=1, delta=delta)
    return chosen.size, len(chosen.counts), time.perf_counter() - began


def figures() -> list[Figure]:
    log = generated(USERS, PAIRS)
    users, pairs, times = counted(log)
    kept, seconds = rigorous(log, keys=10, count=2)
    lesson = SearchLog(zip(map(str, users), map(str, pairs), times.tolist(), strict=True))
    size, few, _ = sampled(lesson, 0.01)
    publication = RunningTotals.over("day", date(2026, 1, 1), date(2026, 12, 31), every="day").declared(None)
    best, plain = (
        RunningTotals(calendar=publication.calendar, every="day", method=method)._chosen(Cost.alone(rho=0.02), 1).size
        for method in ("best", "plain")
    )
    ratio = len(kept) / max(few, 1)
    return [
        Figure(
            f"pairs of a log of 10⁵ users that are published ({seconds:.1f} s)",
            f"QueryLog, ε 1, δ 10⁻⁶: {len(kept):,} pairs, {sum(kept.values()):,} searches",
            f"sampling, ε 1, δ 0.01: {few:,} pairs, {size:,} searches",
            ratio,
            "≥ 5×",
            ratio >= 5,
        ),
        Figure(
            "error of running totals over 365 days, ρ 0.02",
            f"square root: ± {best:.3g}",
            f"adding up noisy days: ± {plain:.3g}",
            plain / best,
            "≥ 4×",
            plain / best >= 4,
        ),
    ]


def main() -> None:
    log = generated(USERS, PAIRS)
    users, pairs, times = counted(log)
    truth = np.bincount(pairs, times, minlength=PAIRS)
    print(f"{len(log['user']):,} searches of {USERS:,} users, {int((truth > 0).sum()):,} pairs")
    for keys, count in ((1, 1), (5, 1), (10, 1), (10, 2), (20, 2)):
        kept, seconds = rigorous(log, keys=keys, count=count)
        error = float(np.mean([abs(value - truth[pair]) / truth[pair] for pair, value in kept.items()]))
        share = sum(truth[pair] for pair in kept) / truth.sum()
        print(
            f"QueryLog ε 1, δ 1e-6, {keys} keys × {count}: {len(kept):,} pairs ({share:.1%} of searches), "
            f"mean relative error {error:.2f}, {seconds:.1f} s"
        )
    began = time.perf_counter()
    lesson = SearchLog(zip(map(str, users), map(str, pairs), times.tolist(), strict=True))
    print(f"SearchLog read in {time.perf_counter() - began:.1f} s; {len(lesson.suppressed):,} pairs of one user")
    for delta in (1e-6, 1e-3, 0.01):
        size, few, seconds = sampled(lesson, delta)
        print(f"SearchLog ε 1, δ {delta:g}: {few:,} pairs, {size:,} searches, {seconds:.1f} s")


if __name__ == "__main__":
    main()
