"""Equivalence classes of a table, and how a sensitive column is spread over them: what all measures are made of.

A class is the rows that agree in all quasi-identifiers (columns that others may know, too). NULL agrees with NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.lab.columns import Column
from discreet.lab.invented import Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """For each row its class, for each class its number of rows."""

    of: Integers
    sizes: Integers

    @property
    def own(self) -> Integers:
        """For each row the size of its class."""
        return self.sizes[self.of]

    @classmethod
    def by(cls, columns: Sequence[Column]) -> Classes:
        """
        >>> from discreet.lab.columns import columns_of
        >>> Classes.by(columns_of({"age": [5, 6, 5], "sex": ["f", "f", "f"]}, ["age", "sex"])).sizes.tolist()
        [2, 1]
        """
        key = np.zeros(columns[0].codes.size if columns else 0, dtype=np.int64)
        for column in columns:  # numbered again after each, so that products stay below rows × values
            key = np.unique(key * len(column.values) + column.codes, return_inverse=True)[1].astype(np.int64)
        return cls.numbered(key)

    @classmethod
    def numbered(cls, of: Integers) -> Classes:
        """Of classes that are numbered without gaps."""
        return cls(of, np.bincount(of).astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How often each sensitive value is in each class: only pairs that occur, sorted by class and then by value."""

    sizes: Integers
    """Rows in each class."""
    starts: Integers
    """The first pair of each class."""
    group: Integers
    """The class of each pair."""
    value: Integers
    """The value of each pair."""
    count: Integers
    """How many rows have it."""

    @classmethod
    def over(cls, classes: Classes, codes: Integers) -> Spread:
        most = int(codes.max()) + 1
        pairs, count = np.unique(classes.of * most + codes, return_counts=True)
        group = pairs // most
        starts = np.searchsorted(group, np.arange(classes.sizes.size))
        return cls(classes.sizes, starts.astype(np.int64), group, pairs % most, count.astype(np.int64))

    @property
    def share(self) -> Floats:
        """Of its class that has the value of a pair: the posterior of who knows that somebody is in the class."""
        return self.count / self.sizes[self.group]

    @property
    def distinct(self) -> Integers:
        """The number of different values in each class."""
        return np.diff(self.starts, append=self.group.size).astype(np.int64)

    @property
    def entropy(self) -> Floats:
        """−Σ p·ln p of each class."""
        share = self.share
        return self._summed(-share * np.log(share))

    @property
    def most(self) -> Integers:
        """How often the most frequent value of each class occurs."""
        return np.maximum.reduceat(self.count, self.starts).astype(np.int64)

    def rest(self, first: int) -> Integers:
        """How many rows of each class have none of the `first` most frequent values of it."""
        ranked = np.lexsort((-self.count, self.group))
        rank = np.arange(self.group.size) - self.starts[self.group]
        rare = np.where(rank >= first, self.count[ranked], 0)
        return np.add.reduceat(rare, self.starts).astype(np.int64)

    def _summed(self, terms: Floats) -> Floats:
        return np.asarray(np.add.reduceat(terms, self.starts), dtype=np.float64)

    def equal_distance(self, prior: Floats) -> Floats:
        """Earth mover's distance of each class from `prior` where all values are equally far apart: ½·Σ|p − q|.

        It is the sum of max(p − q, 0): only values that the class has can be more frequent in it than elsewhere.
        """
        return self._summed(np.maximum(self.share - prior[self.value], 0.0))

    def ordered_distance(self, prior: Floats) -> Floats:
        """Earth mover's distance of each class from `prior` where values i and j are |i − j|/(m − 1) apart.

        It is Σ|P_i − Q_i|/(m − 1) over cumulative shares (Li, Li & Venkatasubramanian 2007, section 5). Between two
        values that a class has, P is constant while Q grows: the sum over such a stretch is one of prefix sums of Q.
        """
        m = prior.size
        if m < 2:
            return np.zeros(self.sizes.size)
        cumulative = np.cumsum(prior)
        sums = np.concatenate([[0.0], np.cumsum(cumulative)])
        seen = np.cumsum(self.count)
        before = seen - self.count
        until = (seen - before[self.starts][self.group]) / self.sizes[self.group]
        last = np.append(self.group[1:] != self.group[:-1], True)
        end = np.where(last, m, np.append(self.value[1:], m))
        stretch = _stretches(cumulative, sums, until, self.value, end)
        first = self.value[self.starts]
        lead = sums[first]  # P is 0 before the first value
        return np.asarray(np.maximum(self._summed(stretch) + lead, 0.0) / (m - 1), dtype=np.float64)

    def held(self, groups: Integers) -> tuple[Integers, Integers]:
        """The values of some classes, one after the other: the number of the class among them, and the value."""
        many = self.distinct[groups]
        number = np.repeat(np.arange(groups.size), many)
        within = np.arange(number.size) - np.repeat(np.cumsum(many) - many, many)
        return number, self.value[self.starts[groups][number] + within]

    def grouped(self, coarse: Integers) -> Spread:
        """The same with values taken together: `coarse` numbers the group of each value."""
        most = int(coarse.max()) + 1
        pairs, number = np.unique(self.group * most + coarse[self.value], return_inverse=True)
        count = np.zeros(pairs.size, dtype=np.int64)
        np.add.at(count, number, self.count)
        group = pairs // most
        starts = np.searchsorted(group, np.arange(self.sizes.size)).astype(np.int64)
        return Spread(self.sizes, starts, group, pairs % most, count)


def _stretches(cumulative: Floats, sums: Floats, height: Floats, low: Integers, high: Integers) -> Floats:
    """Σ|height − Q_i| for i from low to high − 1, where Q is `cumulative` (which grows) and `sums` its prefix sums."""
    cross = np.clip(np.searchsorted(cumulative, height), low, high)
    below = height * (cross - low) - (sums[cross] - sums[low])
    above = (sums[high] - sums[cross]) - height * (high - cross)
    return np.asarray(below + above, dtype=np.float64)
