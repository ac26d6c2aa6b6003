"""The distribution that noisy marginals speak for: entropic descent over a graphical model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.release.graphical.junction import Clique, JunctionTree
from discreet.release.graphical.model import Floats, Model, project, spread

STEPS: Final = 300
"""Enough to follow what was measured; many more follow its noise."""
HALVINGS: Final = 25
"""Of a step that is too long, before the fit ends."""
GROWTH: Final = 1.5
ENOUGH: Final = 0.75
"""A fit ends where its misfit is this part of what noise alone makes: below that it follows the noise."""

Potentials = Mapping[Clique, Floats]
"""By the attributes of a marginal, the logarithm of its factor."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A marginal with noise: how many rows have each combination of values of the attributes."""

    attributes: Clique
    values: Floats
    deviation: Floats | float
    """Of the noise on each of them, or on all; above 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model with the factors that it is a product of, from which a later fit may start."""

    model: Model
    potentials: Potentials
    misfit: float
    """Σ ((marginal − measured)/deviation)²: about as many as there are cells, if only noise is between them."""


def fit(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    total: float,
    *,
    steps: Iterable[object] = range(STEPS),
    start: Potentials | None = None,
    enough: float = ENOUGH,
) -> Fitted:
    """The model of `total` rows whose marginals are near those that were measured, each by its own noise.

    Least squares over all distributions by mirror descent, whose potentials stay those of a graphical model: every step
    lowers the misfit by at least half of what its slope promises (Armijo), and is as long as that allows.

    Source   McKenna, Sheldon & Miklau 2019 (Private-PGM); Beck & Teboulle 2003 (mirror descent).
    """
    problem = _Problem.of(sizes, measured, max(total, 1.0))
    known = start or {}
    zeros = {each.attributes: np.zeros(each.values.shape) for each in measured}
    potentials: dict[Clique, Floats] = {each: np.asarray(known.get(each, zero)) for each, zero in zeros.items()}
    now = problem.at(potentials)
    rate = 2 / problem.total / sum(float(np.min(each.deviation)) ** -2 for each in measured) if measured else 0.0
    for _ in steps:
        if now.misfit <= enough * problem.cells:
            break
        for _ in range(HALVINGS):
            tried = {each: known - rate * now.slopes[each] for each, known in potentials.items()}
            then = problem.at(tried)
            if now.misfit - then.misfit >= now.promised(then):
                potentials, now, rate = tried, then, rate * GROWTH
                break
            rate /= 2
        else:
            break
    return Fitted(now.model, potentials, now.misfit)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """A model, its misfit, and half of the misfit's slope."""

    model: Model
    marginals: Mapping[Clique, Floats]
    """In rows."""
    misfit: float
    slopes: Mapping[Clique, Floats]

    def promised(self, other: _Point) -> float:
        """Half of what the slope says that the misfit falls by on the way to another point."""
        ways = ((slope, self.marginals[each] - other.marginals[each]) for each, slope in self.slopes.items())
        return sum(float((slope * way).sum()) for slope, way in ways)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What is measured, and the cliques that hold it."""

    tree: JunctionTree
    measured: Sequence[Measured]
    homes: Mapping[Clique, int]
    total: float
    cells: int

    @classmethod
    def of(cls, sizes: Sequence[int], measured: Sequence[Measured], total: float) -> _Problem:
        tree = JunctionTree.of(sizes, [each.attributes for each in measured])
        homes = {each.attributes: tree.home(each.attributes) for each in measured}
        return cls(tree, measured, homes, total, sum(each.values.size for each in measured))

    def at(self, potentials: Potentials) -> _Point:
        full = [np.zeros([self.tree.sizes[attribute] for attribute in clique]) for clique in self.tree.cliques]
        for attributes, potential in potentials.items():
            home = self.homes[attributes]
            full[home] += spread(potential, attributes, self.tree.cliques[home])
        model = Model.of(self.tree, full)
        marginals = {
            attributes: project(model.marginals[home], self.tree.cliques[home], attributes) * self.total
            for attributes, home in self.homes.items()
        }
        misfit, slopes = 0.0, {each: np.zeros(marginal.shape) for each, marginal in marginals.items()}
        for each in self.measured:
            gap = (marginals[each.attributes] - each.values) / each.deviation
            misfit += float((gap**2).sum())
            slopes[each.attributes] += gap / each.deviation
        return _Point(model, marginals, misfit, slopes)
