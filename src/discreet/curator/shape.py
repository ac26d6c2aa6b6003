"""What the answer to a query will look like, known from its plan alone: before a cost is named, and for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.policy import Kind
from discreet.sql.plan import Plan
from discreet.sql.results import noisy_labels


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of an answer."""

    columns: list[str]
    kinds: Mapping[str, Kind]
    """The types of columns; lists have none."""
    noisy: list[str]

    @classmethod
    def of(cls, plan: Plan) -> Shape:
        kinds = {label: expr.domain.kind for label, expr in plan.after.items if expr.domain.kind is not None}
        return cls(plan.columns, kinds, noisy_labels(plan))
