"""The statistics that end a question in Python. They write SQL, no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from discreet.answers.fragments import fragment
from discreet.errors import Refused
from discreet.exact import number, whole
from discreet.printing import printable

if TYPE_CHECKING:
    from discreet.answers.fluent import Rows

CALL: Final = frozenset(
    {
        "epsilon",
        "rho",
        "delta",
        "error",
        "group_size",
        "confirm",
        "confidence",
        "params",
        "analyst",
        "fresh",
        "dialect",
        "blocks",
    }
)
"""What statistics take beside their columns."""


class Statistics:
    """The statistics that end a question. Each takes a cost: epsilon=, rho= or error=, and what `query` takes.

    Columns are named, or written as expressions: `sum("cost / 1000")`.
    """

    __slots__ = ()

    def agg(self, *items: str, **settings: Any) -> Any:
        raise NotImplementedError

    def written(self, column: Any) -> str:
        """A column, or an expression, as it stands in SQL."""
        raise NotImplementedError

    def count(self, column: Named = "*", **cost: Any) -> Any:
        """How many rows there are, or how many have a value of the column."""
        return self._one("count", f"COUNT({self.written(column)})", cost)

    def count_distinct(self, column: Named, **cost: Any) -> Any:
        """How many different values, or units, there are."""
        return self._one("count_distinct", f"COUNT(DISTINCT {self.written(column)})", cost)

    def sum(self, column: Named, **cost: Any) -> Any:
        return self._one("sum", f"SUM({self.written(column)})", cost)

    def mean(self, column: Named, **cost: Any) -> Any:
        return self._one("mean", f"AVG({self.written(column)})", cost)

    def median(self, column: Named, **cost: Any) -> Any:
        return self._one("median", f"MEDIAN({self.written(column)})", cost)

    def quantile(self, column: Named, q: float, **cost: Any) -> Any:
        return self._one("quantile", f"QUANTILE_CONT({self.written(column)}, {_share(q)})", cost)

    def min(self, column: Named, **cost: Any) -> Any:
        return self._one("min", f"MIN({self.written(column)})", cost)

    def max(self, column: Named, **cost: Any) -> Any:
        return self._one("max", f"MAX({self.written(column)})", cost)

    def std(self, column: Named, **cost: Any) -> Any:
        return self._one("std", f"STDDEV_SAMP({self.written(column)})", cost)

    def var(self, column: Named, **cost: Any) -> Any:
        return self._one("var", f"VAR_SAMP({self.written(column)})", cost)

    def mode(self, column: Named, **cost: Any) -> Any:
        return self._one("mode", f"MODE({self.written(column)})", cost)

    def histogram(self, column: Named, bins: int = 10, **cost: Any) -> Any:
        return self._one("histogram", f"HISTOGRAM({self.written(column)}, {whole_number(bins, 'bins')})", cost)

    def _one(self, label: str, item: str, cost: dict[str, Any]) -> Any:
        unknown = sorted(set(cost) - CALL)
        if unknown:
            raise TypeError(f"there is no argument {unknown[0]!r}; there are {', '.join(sorted(CALL))}")
        return self.agg(f"{item} AS {label}", **cost)


STATISTICS: Final = frozenset(
    statistic for statistic in vars(Statistics) if not statistic.startswith("_") and statistic not in ("agg", "written")
) | {"value_counts"}


@dataclass(frozen=True, slots=True, repr=False)
class OfColumn:
    """One column of some rows, as pandas people write it: `visits["cost"].mean(epsilon=0.5)`, `visits.cost.mean(…)`."""

    rows: Rows
    column: str
    """As it stands in SQL."""

    def __getattr__(self, statistic: str) -> Any:
        if statistic.startswith("_") or statistic not in STATISTICS:
            raise AttributeError(f"there is no statistic {statistic!r}; there are {', '.join(sorted(STATISTICS))}")
        method = getattr(self.rows, statistic)
        return lambda *given, **cost: method(self, *given, **cost)

    def nunique(self, **cost: Any) -> Any:
        return self.rows.count_distinct(self, **cost)

    def describe(self, **cost: Any) -> Any:
        """Count, mean, standard deviation, extremes and quartiles, at one cost."""
        x = self.column
        quartiles = [f"QUANTILE_CONT({x}, {q}) AS {label}" for label, q in (("q25", 0.25), ("q50", 0.5), ("q75", 0.75))]
        moments = [f"COUNT({x}) AS count", f"AVG({x}) AS mean", f"STDDEV_SAMP({x}) AS std"]
        return self.rows.agg(*moments, f"MIN({x}) AS min", *quartiles, f"MAX({x}) AS max", **cost)

    def __dir__(self) -> list[str]:
        return sorted([*STATISTICS, "nunique", "describe"])

    def __repr__(self) -> str:
        return f"<{printable(self.column)} of {self.rows.described()}>"


Named = str | OfColumn
"""A column by its name, as an expression, or of some rows."""


def text(given: object) -> str:
    """A fragment of SQL that is whole in itself: it cannot open or close what stands around it."""
    if isinstance(given, OfColumn):
        return given.column
    if not isinstance(given, str) or not given.strip():
        raise Refused("syntax", "columns and conditions are written as text", 'write "cost" or "cost > 5"')
    return fragment(given)


def whole_number(value: object, what: str) -> int:
    try:
        return whole(value, what)
    except (TypeError, ValueError) as wrong:
        raise Refused("syntax", str(wrong), f"write {what}=5") from None


def _share(q: object) -> str:
    try:
        return repr(float(number(q, "q")))
    except (TypeError, ValueError) as wrong:
        raise Refused("syntax", str(wrong), "write quantile(x, 0.9)") from None
