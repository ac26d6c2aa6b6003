"""What several aggregates of a question can share, so that nothing is released twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.sql.anchoring import Anchoring
from discreet.sql.arguments import Aggregate
from discreet.sql.formulas import Both, Mean, Recentred
from discreet.sql.measures import Presence, Present, Rows
from discreet.sql.ranks import FEW, chosen


@dataclass(frozen=True, slots=True)
class Sharing:
    """What is public about how aggregates may share releases."""

    pure: bool
    """Whether noise is Laplace's: the budget has no delta."""
    apart: bool = False
    """Whether each column is to have an error of its own: then the split among measures does more than anchors do."""
    promised: bool = False
    """Whether an error is wanted: then counts of units, too, are as exact near the threshold as elsewhere."""


def shared(aggregates: Sequence[Aggregate], sharing: Sharing) -> list[Aggregate]:
    """The same aggregates, with each measure that they share released once."""
    anchored = list(aggregates)
    if not sharing.apart or len(aggregates) == 1:
        anchored = Anchoring(aggregates, pure=sharing.pure).aggregates
    averaged = {aggregate.key[1]: aggregate for aggregate in anchored if aggregate.key[0] == "AVG"}
    return _one_count(_few_quantiles([_from_average(aggregate, averaged) for aggregate in anchored]))


def _few_quantiles(aggregates: list[Aggregate]) -> list[Aggregate]:
    """Few quantiles of one expression are chosen, each on its own."""
    calls = Counter(aggregate.key[1] for aggregate in aggregates if aggregate.key[0] == "QUANTILE")
    return [
        chosen(aggregate) if aggregate.key[0] == "QUANTILE" and calls[aggregate.key[1]] <= FEW else aggregate
        for aggregate in aggregates
    ]


def _from_average(aggregate: Aggregate, averaged: Mapping[object, Aggregate]) -> Aggregate:
    """A sum from what its average needs anyway."""
    mean = averaged.get(aggregate.key[1]) if aggregate.key[0] == "SUM" else None
    if mean is None or not isinstance(mean.formula, Mean):
        return aggregate
    return replace(aggregate, measures=mean.measures, formula=Recentred(mean.formula.step, mean.formula.middle))


def _one_count(aggregates: list[Aggregate]) -> list[Aggregate]:
    """COUNT(*) and a COUNT(x) from one pair of counts: rows with x and rows without."""
    measures = [measure for aggregate in aggregates for measure in aggregate.measures]
    present = next((measure for measure in measures if isinstance(measure, Present)), None)
    alone = [aggregate for aggregate in aggregates if aggregate.measures == (Rows(),)]
    if present is None or not alone or measures.count(Rows()) > len(alone):
        return aggregates
    pair = Presence(present.argument)
    shared = []
    for aggregate in aggregates:
        if aggregate in alone:
            shared.append(replace(aggregate, measures=(pair,), formula=Both()))
        else:
            swapped = tuple(pair if measure == present else measure for measure in aggregate.measures)
            shared.append(replace(aggregate, measures=swapped))
    return shared
