"""Federated training: Adult over 1,000 clients against a curator who holds all rows, and a round of secure aggregation.

`python -m benchmarks.federated` prints how good models are with noise in each place, beside those figures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from benchmarks.figures import Figure
from benchmarks.learn.bundled import everybody
from benchmarks.peers.adult import REPORTED, SIZES, STEPS
from discreet.accounting import sigma_for_training
from discreet.federated import COORDINATOR, MODELS, Logistic, Plan, dirichlet_split, simulate
from discreet.federated.encoding import Floats
from discreet.federated.graph import shape
from discreet.federated.keys import Identity
from discreet.federated.masking import Aggregation, Member, Setting
from discreet.federated.models import score

CLIENTS, EPSILON, DELTA, ALPHA, RUNS = 1000, 1.0, 1e-5, 1.0, 3
TARGET: Final = "income>50K"
Rows = tuple[Floats, Floats]


def adult() -> tuple[list[Rows], Rows] | None:
    """The rows of each client (shares by Dirichlet(1) of either class), and rows to test on."""
    table = everybody()
    if table is None:
        return None
    columns = [_column(table[:, index], name) for index, name in enumerate(SIZES) if name not in (TARGET, "fnlwgt")]
    rows, labels = np.hstack(columns), table[:, -1].astype(np.float64)
    train, known = rows[:REPORTED], labels[:REPORTED]
    parts = dirichlet_split(known, CLIENTS, alpha=ALPHA)
    return [(train[part], known[part]) for part in parts], (rows[REPORTED:], labels[REPORTED:])


def _column(values: Any, name: str) -> Floats:
    size = SIZES[name]
    column: Floats = np.eye(size)[values] if name not in STEPS and size > 2 else values[:, None] / (size - 1.0)
    return column


def central(clients: list[Rows], test: Rows, *, steps: int, clip: float, rate: float) -> float:
    """A curator with all rows: noisy gradient descent, the gradient of each client clipped; noise in floats."""
    model, dice = Logistic(test[0].shape[1]), np.random.default_rng()
    weights = np.zeros(model.size)
    sigma = sigma_for_training(EPSILON, 1.0, steps, DELTA)
    for _ in range(steps):
        total = dice.normal(0, sigma * clip, model.size)
        for rows, labels in clients:
            if len(rows):
                gradient = model.gradient(weights, rows, labels) * len(rows)
                total += gradient * min(1.0, clip / max(float(np.linalg.norm(gradient)), 1e-300))
        weights = weights - rate * total / len(clients)
    return score(model, weights, *test)


def best_central(clients: list[Rows], test: Rows) -> tuple[float, str]:
    """The best of several ways, chosen by the test rows themselves: more than a curator could do."""
    tried = {
        f"{steps} steps, clip {clip:g}, rate {rate:g}": float(
            np.mean([central(clients, test, steps=steps, clip=clip, rate=rate / clip) for _ in range(RUNS)])
        )
        for steps, clip, rate in ((40, 1.0, 1.0), (40, 1.0, 2.0), (40, 1.0, 4.0), (80, 1.0, 1.0), (40, 5.0, 2.0))
    }
    tried["federated averaging"] = federated(clients, test, "central")
    best = max(tried, key=lambda setting: tried[setting])
    return tried[best], best


def federated(clients: list[Rows], test: Rows, noise: str, *, runs: int = RUNS) -> float:
    """One setting, for all places of noise. Sums are added without masks: those cancel exactly."""
    against = COORDINATOR if noise == "local" else MODELS
    facts: dict[str, Any] = {"clients": CLIENTS, "parameters": test[0].shape[1] + 1, "rounds": 40, "delta": DELTA}
    plan = Plan.within(EPSILON, against=against, noise=noise, dropout=0.05, **facts)
    made = [
        simulate(plan, Logistic(test[0].shape[1]), clients, test=test, local_steps=10, rate=2.0).scores[-1]
        for _ in range(runs)
    ]
    return float(np.mean(made))


def secure_round(count: int = 1000, width: int = 1000) -> tuple[float, float]:
    """Seconds of a round after the first, by the clock and of the processor: clients and server in one process."""
    identities = {number: Identity() for number in range(count)}
    keys = {number: identity.public for number, identity in identities.items()}
    vectors = np.random.default_rng().integers(0, 2**32, (count, width), dtype=np.uint32)
    for number in (1, 2):
        clock, processor = time.perf_counter(), time.process_time()
        setting = Setting(bytes(16), number, tuple(range(count)), shape(count), width)
        server = Aggregation(setting, least=count * 9 // 10)
        members = {u: Member(identities[u], u, setting, keys) for u in range(count)}
        stayed = [u for u in range(count) if u % 50]
        for u in range(count):
            server.deal(u, members[u].deal())
        for u in stayed:
            server.masked(u, members[u].masked(vectors[u], server.inbox(u)))
        for u in stayed:
            server.revealed(u, members[u].reveal(*server.request(u)))
        total = server.total()
        took = time.perf_counter() - clock, time.process_time() - processor
        if (total != vectors[stayed].sum(axis=0, dtype=np.uint32)).any():
            raise AssertionError("the masked sum is wrong")
    return took


def figures() -> list[Figure]:
    clock, processor = secure_round()
    what = "a round of 1,000 clients and 1,000 parameters, masked; 20 fail"
    ours = f"{clock:.1f} s ({processor:.1f} s of the processor)"
    made = [Figure(what, ours, "5 s", processor / 5, "≤ 1× (processor)", processor <= 5)]
    found = adult()
    if found is None:
        return made
    reference, setting = best_central(*found)
    reached = federated(*found, "distributed")
    points = 100 * (reference - reached)
    what = f"Adult over 1,000 clients, distributed noise, ε = {EPSILON:g}: accuracy"
    against = f"{reference:.4f} (all rows at a curator, {setting})"
    held = math.ceil(points * 100) / 100 <= 2
    return [*made, Figure(what, f"{reached:.4f}", against, reached / reference, "within 2 points", held)]


def main() -> None:
    found = adult()
    if found is None:
        return
    tell: Callable[..., None] = print
    for noise in ("central", "distributed", "local"):
        tell(f"{noise:<12} {federated(*found, noise):.4f}")
    for figure in figures():
        tell(figure.what, figure.ours, figure.peer, "held" if figure.held else "NOT held", sep="  |  ")


if __name__ == "__main__":
    main()
