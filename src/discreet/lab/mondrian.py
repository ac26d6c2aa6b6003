"""A generaliser: rows are put into classes that have the wanted k, l and t, and quasi-identifiers become ranges.

Method  Mondrian (LeFevre, DeWitt & Ramakrishnan 2006), strict and multidimensional. All rows are one class. A class is
        cut in two where its widest column has its median, if both halves still have what is wanted; if not, the next
        column is tried. Classes that no column cuts are done. All classes of a round are cut at once, so that a round
        costs two sorts of the rows and there are about log₂(rows/k) rounds.
Theorem What is wanted holds for the whole table whenever it holds for any grouping of its rows into classes: it is
        reached if and only if it holds for the class of all rows.
Proof   The union of two classes that have k, l or t has it too. Sizes and numbers of distinct values only grow; entropy
        is concave, so that of a mixture is at least the smaller one; earth mover's distance is convex, so that of a
        mixture is at most the larger one. For recursive diversity: r₁ of the union is at most the sum of both r₁, and
        its l − 1 largest counts are at most the sum of those of both, so that r_l + … + r_m is at least the sum.

Words have the order of their letters, or of the tree that is given: then cuts are made between its largest groups
first. Ranges are as narrow as the rows of a class allow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.lab.classes import Classes, Spread
from discreet.lab.columns import Column, Kind
from discreet.lab.invented import Floats, Integers
from discreet.lab.measures import SLACK, Measures, Published, measures, recursive_c
from discreet.lab.trees import Tree, groups_of
from discreet.printing import counted, printable

Booleans = NDArray[np.bool_]
SHORT: Final = 3
"""As many words are listed; of more, the first and the last."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every class must have: k rows, l values by some definition of it, and a distance of at most t."""

    k: int = 1
    l: float = 1  # noqa: E741  (the letter of the definition)
    t: float = 1.0
    kind: str = "distinct"
    """Of l-diversity: distinct, entropy or recursive."""
    c: float = 3.0
    """Of recursive (c, l)-diversity."""

    def __post_init__(self) -> None:
        whole = self.kind == "entropy" or float(self.l).is_integer()
        if self.kind not in KINDS:
            raise Refused("table-invalid", f"{self.kind} is no l-diversity", "write distinct, entropy or recursive")
        if not (self.k >= 1 and 1 <= self.l < math.inf and whole and 0 <= self.t <= 1 and self.c > 0):
            reason = "k and l are at least 1, t is from 0 to 1, c above 0, and l a whole number unless it is of entropy"
            raise Refused("table-invalid", reason, "write k=5, l=2, t=0.3")

    def met(self, table: Published, classes: Classes, codes: Integers) -> Booleans:
        """Which classes have it; `codes` are the sensitive values of the rows in them."""
        good: Booleans = classes.sizes >= self.k
        if self.l > 1 or self.t < 1:
            spread = Spread.over(classes, codes)
            good = good & KINDS[self.kind](spread, self)
            if self.t < 1:
                good = good & (table.distances(spread) <= self.t + SLACK)
        return good


def _distinct(spread: Spread, wanted: Wanted) -> Booleans:
    return np.asarray(spread.distinct >= wanted.l)


def _entropy(spread: Spread, wanted: Wanted) -> Booleans:
    return np.asarray(spread.entropy >= math.log(wanted.l) - SLACK)


def _recursive(spread: Spread, wanted: Wanted) -> Booleans:
    return np.asarray(recursive_c(spread, int(wanted.l)) < wanted.c)


KINDS: Final = {"distinct": _distinct, "entropy": _entropy, "recursive": _recursive}


@dataclass(frozen=True, slots=True)
class Lost:
    """What generalising took away."""

    certainty: float
    """The mean over rows and columns of the part of the column's range that a cell now stands for: 0 if nothing was
    generalised, 1 if nothing is left (normalised certainty penalty; Xu et al. 2006)."""
    by_column: Mapping[str, float]
    discernibility: int
    """The sum over rows of the size of their class (Bayardo & Agrawal 2005)."""
    average: float
    """Rows in a class on average, over the wanted k (LeFevre et al. 2006): 1 is as fine as k allows."""


@dataclass(frozen=True, slots=True, eq=False)
class Generalised:
    """A table in which every class has what was wanted."""

    table: Published
    """With the new classes; its columns hold ranges."""
    wanted: Wanted
    lost: Lost
    measures: Measures

    def columns(self) -> dict[str, list[Any]]:
        """The new table by columns, with ranges and sensitive values as texts: nothing else of the old one."""
        columns = (*self.table.quasi, self.table.sensitive)
        return {column.name: [column.values[code] for code in column.codes.tolist()] for column in columns}


def generalise(table: Published, wanted: Wanted, *, trees: Mapping[str, Tree] | None = None) -> Generalised:
    """The table with the wanted k, l and t, or a refusal that says what could be had."""
    _demand(table, wanted)
    sides = [_side(column, (trees or {}).get(column.name)) for column in table.quasi]
    of = _cut(table, wanted, sides)
    hulls = [_hull(side, of) for side in sides]
    columns = tuple(_ranges(side, *hull, of) for side, hull in zip(sides, hulls, strict=True))
    classes = Classes.by(columns)  # as they look: namesakes in a tree may make one of two
    made = replace(table, quasi=columns, classes=classes, spread=Spread.over(classes, table.sensitive.codes))
    lost = _lost(sides, hulls, of, classes.sizes, wanted.k)
    return Generalised(made, wanted, lost, measures(made))


def _demand(table: Published, wanted: Wanted) -> None:
    """Refuse what not even the class of all rows has, and say what it has."""
    one = Classes.numbered(np.zeros(table.rows, dtype=np.int64))
    if wanted.met(table, one, table.sensitive.codes)[0]:
        return
    if table.rows < wanted.k:
        reason = f"{counted(table.rows, 'row')} cannot be {wanted.k}-anonymous"
        raise Refused("anonymity-unreachable", reason, f"write k={table.rows} or less")
    spread = Spread.over(one, table.sensitive.codes)
    name = printable(table.sensitive.name)
    reason = f"{name} is not {wanted.kind} {wanted.l:g}-diverse even if all rows are one class"
    raise Refused("anonymity-unreachable", reason, _least_change(spread, wanted))


def _least_change(spread: Spread, wanted: Wanted) -> str:
    distinct = int(spread.distinct[0])
    if wanted.kind == "entropy":
        best = math.floor(math.exp(spread.entropy[0]) * 100) / 100
        return f"write l={best:g} or less"
    if wanted.kind == "recursive" and distinct >= wanted.l:
        least = float(recursive_c(spread, int(wanted.l))[0])
        return f"write c={math.ceil(least * 100 + 1) / 100:g} or more"
    return f"write l={distinct} or less"


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A column to be cut: values in the order in which they are cut, and how much each gap between two separates."""

    column: Column
    codes: Integers
    """Of each row, in the order of cuts."""
    position: Floats
    """Of each value, from 0 to 1."""
    apart: tuple[Integers, ...]
    """For each height of the tree how many gaps before a value are at least that high."""
    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    """Of each value: its groups in the tree, smallest first."""

    def height(self, low: Integers, high: Integers) -> Integers:
        """The highest gap between two values."""
        total = np.zeros(low.size, dtype=np.int64)
        for many in self.apart:
            total += many[high] > many[low]
        return total


def _side(column: Column, tree: Tree | None) -> _Side:
    values = column.values
    if tree is None:
        return _Side(column, column.codes, column.positions(), (), tuple(map(_name, values)), ((),) * len(values))
    groups = groups_of(column, tree)
    depth = len(groups[0])
    order = sorted(range(len(values)), key=lambda code: (values[code] is not None, groups[code][::-1], code))
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    sorted_groups = tuple(groups[code] for code in order)
    apart = tuple(_gaps(sorted_groups, level) for level in range(depth))
    position = np.arange(len(values)) / max(len(values) - 1, 1)
    return _Side(column, rank[column.codes], position, apart, tuple(_name(values[c]) for c in order), sorted_groups)


def _gaps(groups: Sequence[tuple[str, ...]], level: int) -> Integers:
    """How many gaps up to each value lie between two groups of a level."""
    news = [0, *(int(a[level:] != b[level:]) for a, b in pairwise(groups))]
    return np.cumsum(news).astype(np.int64)


def _name(value: Any) -> str:
    return "NULL" if value is None else str(value)


def _cut(table: Published, wanted: Wanted, sides: Sequence[_Side]) -> Integers:
    """The class of each row: rounds of cuts until no class can be cut."""
    of = np.zeros(table.rows, dtype=np.int64)
    rows = np.arange(table.rows)
    while rows.size:
        rows = rows[np.argsort(of[rows], kind="stable")]
        _, starts, group = np.unique(of[rows], return_index=True, return_inverse=True)
        widths = _widths(sides, rows, starts)
        turns = np.argsort(-widths, axis=0, kind="stable")
        right = np.zeros(rows.size, dtype=bool)
        waiting = np.ones(starts.size, dtype=bool)
        for turn in turns:
            waiting &= np.take_along_axis(widths, turn[None], axis=0)[0] >= 0
            chosen = np.flatnonzero(waiting[group])
            if chosen.size == 0:
                break
            sided, whole = _halves(table, wanted, sides, rows[chosen], group[chosen], turn)
            right[chosen] = sided
            waiting[whole] = False
        cut = np.logical_or.reduceat(right, starts)
        of[rows[right]] = of.max() + 1 + group[right]
        rows = rows[cut[group]]
    return np.unique(of, return_inverse=True)[1].astype(np.int64)


def _widths(sides: Sequence[_Side], rows: Integers, starts: Integers) -> Floats:
    """How wide each class is in each column; −1 where it has one value."""
    widths = np.empty((len(sides), starts.size))
    for number, side in enumerate(sides):
        codes = side.codes[rows]
        low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        widths[number] = np.where(low == high, -1.0, _width(side, low, high))
    return widths


def _width(side: _Side, low: Integers, high: Integers) -> Floats:
    """The part of the column's range that a range of values takes: all of it, if it mixes values with missing ones."""
    mixed = (low < side.column.gaps) & (low < high)
    return np.asarray(np.where(mixed, 1.0, side.position[high] - side.position[low]))


def _halves(
    table: Published, wanted: Wanted, sides: Sequence[_Side], rows: Integers, group: Integers, turn: Integers
) -> tuple[Booleans, Integers]:
    """For rows of some classes whether they go right, and which classes were cut: those whose halves are both good."""
    codes = np.empty(rows.size, dtype=np.int64)
    for number, side in enumerate(sides):
        mine = turn[group] == number
        codes[mine] = side.codes[rows[mine]]
    order = np.lexsort((codes, group))
    codes, grouped = codes[order], group[order]
    cuts = _medians(sides, codes, grouped, turn)
    goes = np.zeros(turn.size, dtype=np.int64)
    goes[grouped[cuts]] = codes[cuts]
    right = codes > goes[grouped]
    _, half = np.unique(2 * grouped + right, return_inverse=True)
    good = wanted.met(table, Classes.numbered(half.astype(np.int64)), table.sensitive.codes[rows[order]])
    whole = good[0::2] & good[1::2]
    sided = np.zeros(rows.size, dtype=bool)
    sided[order] = right & whole[np.unique(grouped, return_inverse=True)[1]]
    return sided, np.unique(grouped)[whole]


def _medians(sides: Sequence[_Side], codes: Integers, group: Integers, turn: Integers) -> Integers:
    """For each class the row after which it is cut: between the largest groups of a tree, nearest to the median."""
    last = np.flatnonzero((group[1:] == group[:-1]) & (codes[1:] != codes[:-1]))
    own = group[last]
    _, starts, sizes = np.unique(group, return_index=True, return_counts=True)
    class_of = np.searchsorted(group[starts], own)
    off = np.abs(2 * (last + 1 - starts[class_of]) - sizes[class_of])
    height = np.zeros(last.size, dtype=np.int64)
    for number, side in enumerate(sides):
        mine = turn[own] == number
        height[mine] = side.height(codes[last[mine]], codes[last[mine] + 1])
    best = np.lexsort((off, -height, own))
    return last[best[np.unique(own, return_index=True)[1]]]


def _hull(side: _Side, of: Integers) -> tuple[Integers, Integers]:
    """The least and the greatest value of each class."""
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(int(of.max()) + 1))
    codes = side.codes[order]
    return np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)


def _ranges(side: _Side, low: Integers, high: Integers, of: Integers) -> Column:
    """The column with a range for each value."""
    pairs, pair = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    texts = [_text(side, *ends) for ends in pairs.tolist()]
    code = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    codes = np.array([code[text] for text in texts], dtype=np.int64)
    return Column(side.column.name, tuple(code), codes[pair.ravel()][of], Kind.TEXT)


def _text(side: _Side, low: int, high: int) -> str:
    """How a range of values is written. Different ranges of a column differ, unless groups or words are namesakes: then
    classes that look alike are one, which still has what was wanted (the theorem above)."""
    if low < side.column.gaps and low < high:
        return f"{side.names[low]} | {_text(side, low + 1, high)}"
    if low == high:
        return side.names[low]
    if side.column.ordered and not side.apart:
        return f"{side.names[low]}–{side.names[high]}"
    if not side.apart and high - low >= SHORT:
        return f"{side.names[low]} … {side.names[high]} ({high - low + 1})"
    parts = _covering(side, low, high)
    return " | ".join(parts) if len(parts) <= SHORT else f"{parts[0]} … {parts[-1]} ({len(parts)})"


def _covering(side: _Side, low: int, high: int) -> list[str]:
    """The largest groups of a tree that together are the values from low to high."""
    parts: list[str] = []
    while low <= high:
        end, name = low, side.names[low]
        for groups, group in zip(side.apart, side.groups[low], strict=True):
            first, after = np.searchsorted(groups, groups[low]), np.searchsorted(groups, groups[low], side="right")
            if first == low and after - 1 <= high:
                end, name = int(after) - 1, group
        parts.append(name)
        low = end + 1
    return parts


def _lost(
    sides: Sequence[_Side], hulls: Sequence[tuple[Integers, Integers]], of: Integers, sizes: Integers, k: int
) -> Lost:
    weights = np.bincount(of) / of.size
    by_column = {
        side.column.name: float((_width(side, *hull) * weights).sum()) for side, hull in zip(sides, hulls, strict=True)
    }
    return Lost(
        certainty=sum(by_column.values()) / len(by_column),
        by_column=by_column,
        discernibility=int((sizes.astype(object) ** 2).sum()),
        average=of.size / sizes.size / k,
    )
