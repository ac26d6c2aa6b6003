"""Errors of workloads, batches and hierarchies against what everybody does, and how long the search takes.

Errors are expected squared errors: they follow from public facts, and the tests hold them to what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.figures import Figure, at_least, at_most, best_of
from discreet.exit import Cost
from discreet.release import Domain, Hierarchy, Workload, optimize, plans
from discreet.release.answers import Answers

FACTORS = (
    ("ranges", 64, 22 / 5.3),
    ("ranges", 256, 86 / 8.4),
    ("prefixes", 256, 128.5 / 6.4),
    ("ranges", 1024, 342 / 12.4),
)
"""Over noise on each cell, for Gaussian noise: what the literature's optimum gives, rounded."""
RELEASES = 2_000


def figures() -> Iterator[Figure]:
    """One line each."""
    for kind, cells, least in FACTORS:
        workload = Workload(parts=getattr(Workload, kind)().parts, domain=_line(cells))
        ours = optimize(workload, rho=Fraction(1, 2))
        square = next(iter(ours.error.values())) ** 2
        yield at_least(
            f"{cells} {kind}: variance against noise on each cell", f"{square:.2f}", f"{square * ours.plain:.1f}",
            ours.plain / least, 0.98,
        )  # fmt: skip
    yield _pure()
    yield _measured()
    yield _seconds()
    yield _marginals()
    yield _places()


def _line(cells: int) -> Domain:
    return Domain.of({"x": (0, cells - 1)}, bins={"x": cells})


def _pure() -> Figure:
    """Trees of width 16 with equal weights are the usual advice for pure ε: 135 at 256 ranges."""
    ours = optimize(Workload.ranges(domain=_line(256)), epsilon=1).error["ranges"] ** 2
    return at_most(
        "256 ranges at ε = 1: variance against a tree of width 16", f"{ours:.1f}", "135.4", ours / 135.4, 0.6
    )


def _measured() -> Figure:
    """Drawn errors by predicted ones, over many releases of 256 prefixes."""
    workload = Workload.prefixes(domain=_line(256)).declared(None)
    cost = Cost.alone(rho=Fraction(1, 2))
    plan = workload.plan(cost)
    draws = np.asarray(cost.noise(plan.sensitivity).release(np.zeros(RELEASES * plan.rows, dtype=np.int64)))
    answers = [
        Answers(workload=workload, plan=plan, values=row, variance=1.0).answers()
        for row in draws.reshape(RELEASES, plan.rows)
    ]
    measured = float(np.mean(np.square(answers)))
    predicted = optimize(workload, rho=Fraction(1, 2)).error["prefixes"] ** 2
    off = abs(measured / predicted - 1)
    return at_most("256 prefixes: drawn against predicted error", f"{measured:.3f}", f"{predicted:.3f}", off, 0.05)


def _seconds() -> Figure:
    def search() -> None:
        plans._SEARCHED.clear()
        optimize(Workload.prefixes(domain=_line(1024)), rho=Fraction(1, 2))

    seconds = best_of(2, search)
    return at_most("strategy for 1,024 prefixes", f"{seconds:.1f} s", "60 s", seconds / 60, 1)


def _marginals() -> Figure:
    """All pairs of 14 columns as wide as those of Adult, against measuring each pair with an equal share."""
    sizes = (16, 9, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42)
    domain = Domain.of({f"c{i}": list(range(size)) for i, size in enumerate(sizes)})
    ours = optimize(Workload.marginals(2, domain=domain), rho=Fraction(1, 2)).error["2-way marginals"] ** 2
    plain = math.comb(len(sizes), 2)  # one unit of noise for each, from an equal share
    return at_most("pairs of 14 columns: variance against one by one", f"{ours:.1f}", f"{plain}", ours / plain, 0.75)


def _places() -> Figure:
    """A state of 23 counties, 8 ZIP codes each, 30 blocks each: error of the levels against equal shares."""
    paths = [("s", c, z, b) for c in range(23) for z in range(8) for b in range(30)]
    publication = Hierarchy.of(("state", "county", "zip", "block"), paths)
    cost = Cost.alone(rho=Fraction(1, 2))
    alike = Hierarchy.of(("state", "county", "zip", "block"), paths, shares=(Fraction(1, 5),) * 5)
    ours, plain = (sum(error**2 for error in each.expected(cost, 1).error.values()) for each in (publication, alike))
    return at_most("places: summed variance against equal shares", f"{ours:.1f}", f"{plain:.1f}", ours / plain, 1)
