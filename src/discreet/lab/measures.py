"""Measures of a table that was to be anonymous: k-anonymity, l-diversity and t-closeness, by their definitions.

k-anonymity    every class has at least k rows (Samarati & Sweeney 1998; Sweeney 2002).
l-diversity    in every class a sensitive column has at least l values that are "well represented" (Machanavajjhala,
               Kifer, Gehrke & Venkitasubramaniam 2007):
                 distinct         at least l different ones;
                 entropy          −Σ p·ln p ≥ ln l, over the shares p of the values in the class;
                 recursive (c, l) r₁ < c·(r_l + … + r_m), over the counts r₁ ≥ … ≥ r_m of the values in the class.
t-closeness    in every class the sensitive column is at most t away from that of the whole table, by earth mover's
               distance (Li, Li & Venkatasubramanian 2007). Moving a share from value i to j costs
                 equal            1, if they differ;
                 ordered          |i − j|/(m − 1), for the i-th and the j-th of m values in order;
                 hierarchical     the height of the lowest group that has both, over that of the whole tree.

A missing value is a value, the lowest where values are ordered: that something is missing can be learned, too.
A measure of a table is that of its worst class. All of them say how a table looks to somebody who knows nothing else.
None bounds what somebody learns who knows more, or who has another table: differential privacy does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from discreet.errors import Refused
from discreet.lab.classes import Classes, Spread
from discreet.lab.columns import Column, columns_of
from discreet.lab.invented import Floats, Integers
from discreet.lab.trees import Tree, groups_of
from discreet.printing import printable

SLACK: Final = 1e-9
"""What rounding may be off: a class whose distance is t to nine digits has t."""
LARGE: Final = {"1": 1, "2–4": 4, "5–9": 9, "10–99": 99, "100 or more": 2**62}
"""Sizes of classes that are counted together."""

Distance = Callable[[Spread], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A table as others see it: what they may know, and a sensitive column."""

    quasi: tuple[Column, ...]
    sensitive: Column
    classes: Classes
    spread: Spread
    distance: str
    """How far apart sensitive values are: equal, ordered or hierarchical."""
    levels: tuple[Integers, ...]
    """Of a hierarchy: the group of each value, level by level."""

    @property
    def rows(self) -> int:
        return int(self.classes.of.size)

    @property
    def prior(self) -> Floats:
        """The share of each sensitive value in the whole table."""
        return np.bincount(self.sensitive.codes, minlength=len(self.sensitive.values)) / self.rows

    def distances(self, spread: Spread) -> Floats:
        """How far each class is from the whole table."""
        return DISTANCES[self.distance](spread, self.prior, self.levels)


def published(
    table: Any, *, quasi: Sequence[str], sensitive: str, distance: str | None = None, tree: Tree | None = None
) -> Published:
    """A table with its classes. Numbers and dates are ordered, words equally far apart, if `distance` does not say."""
    named = [quasi] if isinstance(quasi, str) else list(quasi)
    if not named:
        raise Refused("table-invalid", "no quasi-identifier is named", "name the columns that others may know, too")
    if len(set(named)) < len(named):
        raise Refused("table-invalid", "a quasi-identifier is named twice", "name each column once")
    if sensitive in named:
        reason = f"{printable(sensitive)} is both sensitive and a quasi-identifier: whoever knows it learns nothing"
        raise Refused("table-invalid", reason, f"leave {printable(sensitive)} out of the quasi-identifiers")
    *others, own = columns_of(table, [*named, sensitive])
    classes = Classes.by(others)
    chosen = distance or ("hierarchical" if tree else "ordered" if own.ordered else "equal")
    if chosen not in DISTANCES or (tree is None) == (chosen == "hierarchical"):
        known = "equal, ordered, or hierarchical with a tree"
        raise Refused("table-invalid", f"{chosen} is no distance that can be taken here", f"write {known}")
    levels = _levels(own, tree) if tree is not None else ()
    return Published(tuple(others), own, classes, Spread.over(classes, own.codes), chosen, levels)


def _levels(column: Column, tree: Tree) -> tuple[Integers, ...]:
    """The group of each value at each level of a hierarchy, from the values themselves to the largest groups."""
    paths = [(str(value), *groups) for value, groups in zip(column.values, groups_of(column, tree), strict=True)]
    numbered = []
    for level in range(len(paths[0])):
        names = [path[level:] for path in paths]  # a group within another is not its namesake elsewhere
        group = {name: number for number, name in enumerate(dict.fromkeys(names))}
        numbered.append(np.array([group[name] for name in names], dtype=np.int64))
    return tuple(numbered)


def _equal(spread: Spread, prior: Floats, _: tuple[Integers, ...]) -> Floats:
    return spread.equal_distance(prior)


def _ordered(spread: Spread, prior: Floats, _: tuple[Integers, ...]) -> Floats:
    return spread.ordered_distance(prior)


def _hierarchical(spread: Spread, prior: Floats, levels: tuple[Integers, ...]) -> Floats:
    """The mean over levels of the distance in which all groups of a level are equally far apart.

    Theorem  With H levels and d(u, v) = height of the lowest common group / H, earth mover's distance is
             Σ_h ½·Σ_N |p(N) − q(N)| / H, over the groups N of each level h = 0 … H − 1.
    Proof    d is the length of the path between leaves where every edge is 1/(2H) long. On a tree what flows through an
             edge is the difference of the masses below it, and that flow costs its length: Σ |p(N) − q(N)|/(2H).
    Source   Li, Li & Venkatasubramanian 2007, section 5.2, as a sum over groups instead of extras.
    """
    taken = [
        spread.grouped(level).equal_distance(np.bincount(level, weights=prior).astype(np.float64)) for level in levels
    ]
    return np.asarray(np.mean(taken, axis=0), dtype=np.float64)


DISTANCES: Final[dict[str, Callable[[Spread, Floats, tuple[Integers, ...]], Floats]]] = {
    "equal": _equal,
    "ordered": _ordered,
    "hierarchical": _hierarchical,
}


@dataclass(frozen=True, slots=True)
class Measures:
    """What a table's worst class has, and how large its classes are."""

    rows: int
    classes: int
    k: int
    unique: int
    """Rows that are alone in their class."""
    sizes: Mapping[str, int]
    """Rows by the size of their class."""
    distinct_l: int
    entropy_l: float
    """e to the least entropy: the table is entropy l-diverse for every l up to this one."""
    recursive_c: Mapping[int, float]
    """For l = 2 and 3 the least c: the table is recursive (c, l)-diverse for every c above; infinite if for none."""
    t: float
    distance: str

    @property
    def reidentified(self) -> float:
        """The mean over rows of one over the size of their class: how often a guess within the class is right."""
        return self.classes / self.rows

    def recursive(self, c: float, l: int) -> bool:  # noqa: E741  (the letter of the definition)
        """Whether the table is recursive (c, l)-diverse."""
        return self.recursive_c[l] < c


def measures(table: Published) -> Measures:
    """
    >>> hospital = {"age": ["60-70", "60-70", "50-60", "50-60"], "ill": ["flu", "ulcer", "flu", "flu"]}
    >>> got = measures(published(hospital, quasi=["age"], sensitive="ill"))
    >>> got.k, got.distinct_l, got.t
    (2, 1, 0.25)
    """
    spread, classes = table.spread, table.classes
    own = classes.own
    edges = [0, *LARGE.values()]
    sizes = {
        name: int(((own > low) & (own <= high)).sum())
        for (name, high), low in zip(LARGE.items(), edges[:-1], strict=True)
    }
    return Measures(
        rows=table.rows,
        classes=int(classes.sizes.size),
        k=int(classes.sizes.min()),
        unique=int((classes.sizes == 1).sum()),
        sizes=sizes,
        distinct_l=int(spread.distinct.min()),
        entropy_l=float(np.exp(spread.entropy.min())),
        recursive_c={l: float(recursive_c(spread, l).max()) for l in (2, 3)},  # noqa: E741
        t=float(table.distances(spread).max()),
        distance=table.distance,
    )


def recursive_c(spread: Spread, l: int) -> Floats:  # noqa: E741
    """For each class the c of recursive (c, l)-diversity that is just too small: r₁/(r_l + … + r_m)."""
    rest = spread.rest(l - 1).astype(np.float64)
    return np.asarray(np.divide(spread.most, rest, out=np.full(rest.size, np.inf), where=rest > 0), dtype=np.float64)


def measure(
    table: Any, *, quasi: Sequence[str], sensitive: str, distance: str | None = None, tree: Tree | None = None
) -> Measures:
    """The measures of a table of the caller: columns by name, a pandas, polars or pyarrow table, or a file."""
    return measures(published(table, quasi=quasi, sensitive=sensitive, distance=distance, tree=tree))
