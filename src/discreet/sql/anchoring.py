"""Which aggregates of a query are read off anchors, by public facts alone: the aggregates, and the kind of noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from discreet.sql.anchored import Anchored, AnchoredMean, AnchoredRelated, AnchoredSpread, Axis, Nulls
from discreet.sql.arguments import Aggregate, counted
from discreet.sql.formulas import Formula, GeometricMean, Spread, Total
from discreet.sql.measures import Measure, Present, Rows, Steps, Sum
from discreet.sql.related import Related

MEANS: Final = frozenset({"AVG", "GEOMEAN"})
SUMMED: Final = "SUM"
CROWD: Final = 2
"""So many columns of which no row is NULL have anchors of their own; of more, one count for all is better."""

DRAWABLE: Final = 2**29
"""Weights of a row add up to no more than this where they are products: else noise that small costs ask for could not
be drawn, and moments are released apart."""


@dataclass(frozen=True)
class Anchoring:
    """The aggregates of one query, with those on anchors for which that is better.

    Laplace noise (`pure`): every mean, variance and covariance, and every sum beside the count of its rows. Gaussian
    noise: a sum beside the count of its rows, and a mean beside COUNT(*): elsewhere its variances are the same.
    """

    given: Sequence[Aggregate]
    pure: bool

    @property
    def aggregates(self) -> list[Aggregate]:
        return [self._anchored(aggregate) for aggregate in self.given]

    @cached_property
    def _by_column(self) -> Mapping[Steps, dict[object, Aggregate]]:
        """What is asked about each column, by its word."""
        by_column: dict[Steps, dict[object, Aggregate]] = {}
        for aggregate in self.given:
            if len(aggregate.key) == 2 and isinstance(aggregate.key[1], Steps):
                by_column.setdefault(aggregate.key[1], {})[aggregate.key[0]] = aggregate
        return by_column

    @cached_property
    def _counts(self) -> set[Measure]:
        """The counts that are asked for by themselves."""
        alone = (a.measures[0] for a in self.given if isinstance(a.formula, Total) and len(a.measures) == 1)
        return {measure for measure in alone if isinstance(measure, (Rows, Present))}

    @cached_property
    def _spread(self) -> set[Steps]:
        """Columns whose squares are needed."""
        return {a.key[1] for a in self.given if isinstance(a.formula, Spread) and isinstance(a.key[1], Steps)}

    @cached_property
    def _columns(self) -> Mapping[Steps, Anchored]:
        """The anchors of each column that has some; the first of them stands in for COUNT(*)."""
        chosen: dict[Steps, Anchored] = {}
        rows = Rows() in self._counts
        for steps in sorted(self._by_column, key=lambda s: (s in self._spread, s.sql().text, s.step)):
            nulls = self._nulls(steps, rows=rows)
            if nulls is not None:
                axis = Axis(steps, 3 if steps in self._spread else 2)
                (text, *_) = _texts(next(iter(self._by_column[steps].values())))
                words = f"moments of {text}" if axis.points == 3 else f"sum and count of {text}"
                chosen[steps] = Anchored((axis,), nulls, words)
                rows = rows and nulls is Nulls.LEFT_OUT and counted(steps.expr) != Rows()
        return chosen

    def _nulls(self, steps: Steps, *, rows: bool) -> Nulls | None:
        """What NULL counts for on the anchors of a column; None if it has none. `rows`: COUNT(*) is asked for."""
        count, summed = counted(steps.expr), SUMMED in self._by_column[steps]
        certain, own = count == Rows(), count in self._counts
        averaged, spread = bool(MEANS & self._by_column[steps].keys()), steps in self._spread
        zero = summed and rows and not (averaged or spread or own) and steps.low <= 0 <= steps.high
        if self.pure:
            usable = averaged or spread or (summed and (own or rows))
            crowded = certain and self._certain > CROWD
        else:
            usable = zero or (summed and own and not averaged) or (averaged and rows and not certain)
            crowded = any(counted(other.expr) == count for other in self._spread)
        if not usable or crowded:
            return None
        if certain or not rows:
            return Nulls.LEFT_OUT
        return Nulls.ZERO if zero else Nulls.APART

    @property
    def _certain(self) -> int:
        """How many columns without NULL are averaged."""
        averaged = (steps for steps, words in self._by_column.items() if steps in self._spread or MEANS & words.keys())
        return sum(counted(steps.expr) == Rows() for steps in averaged)

    @cached_property
    def _pairs(self) -> Mapping[tuple[Steps, Steps], Anchored]:
        """The anchors of each pair of columns, enough for all that is asked about the pair."""
        chosen: dict[tuple[Steps, Steps], Anchored] = {}
        for aggregate in self.given:
            formula = aggregate.formula
            if self.pure and isinstance(formula, Related):
                pair = formula.x, formula.y
                before = [axis.points for axis in chosen[pair].axes] if pair in chosen else [2, 2]
                points = map(max, before, _POINTS[formula.kind])
                words = f"moments of {' and '.join(_texts(aggregate))}"
                chosen[pair] = Anchored(tuple(map(Axis, pair, points)), Nulls.LEFT_OUT, words)
        return {pair: anchored for pair, anchored in chosen.items() if anchored.most <= DRAWABLE}

    def _supplied(self, aggregate: Aggregate) -> Iterator[tuple[Anchored, Formula]]:
        """The anchors from which a count can be had."""
        (count,) = aggregate.measures
        for steps, measure in self._columns.items():
            own = counted(steps.expr)
            if count == Rows() and (own == count or measure.nulls is not Nulls.LEFT_OUT):
                yield measure, measure.count(every=True)
            elif count == own and measure.nulls is not Nulls.ZERO:
                yield measure, measure.count(every=False)

    def _anchored(self, aggregate: Aggregate) -> Aggregate:
        measure, formula = self._read_off(aggregate)
        return aggregate if measure is None else replace(aggregate, measures=(measure,), formula=formula)

    def _read_off(self, aggregate: Aggregate) -> tuple[Anchored | None, Formula]:
        """The anchors of an aggregate, and how it is read off them; itself if it has none."""
        formula, key = aggregate.formula, aggregate.key
        if isinstance(formula, Total) and aggregate.measures[0] in self._counts:
            return next(self._supplied(aggregate), (None, formula))
        if isinstance(formula, Related) and (formula.x, formula.y) in self._pairs:
            pair = self._pairs[formula.x, formula.y]
            return pair, AnchoredRelated(pair, formula)
        measure = self._columns.get(key[1]) if len(key) == 2 and isinstance(key[1], Steps) else None
        if measure is None:
            return None, formula
        if isinstance(formula, Spread):
            return measure, AnchoredSpread(measure, formula)
        if isinstance(formula, GeometricMean):
            return measure, replace(formula, logarithms=AnchoredMean(measure))
        return measure, measure.total() if key[0] == SUMMED else AnchoredMean(measure)


_POINTS: Final = {
    "COVAR_POP": (2, 2),
    "COVAR_SAMP": (2, 2),
    "REGR_SLOPE": (3, 2),
    "REGR_INTERCEPT": (3, 2),
    "CORR": (3, 3),
}


def _texts(aggregate: Aggregate) -> list[str]:
    """What is summed, as the query writes it."""
    sums = (measure.words for measure in aggregate.measures if isinstance(measure, Sum))
    return [words.removeprefix("sum of ").removesuffix(" about the middle") for words in sums]
