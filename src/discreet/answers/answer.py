"""What comes back: answers with their error bars and cost, and previews of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import Amount, Used
from discreet.accounting.rounding import float_up
from discreet.answers import frames
from discreet.answers import layout as showing
from discreet.answers import render as drawing
from discreet.answers.buckets import Buckets
from discreet.policy import Kind

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from altair.typing import ChartType
    from rich.console import RenderableType

Cost = Pure | Concentrated


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """A small table of released values: what it says, how sure it is, what it cost.

    Intervals come from the distribution of the noise, one value at a time. They cover the answer over the bounded
    data, not what clamping and truncation left out.
    """

    question: str
    columns: list[str]
    rows: list[tuple[Any, ...]]
    intervals: list[dict[str, Any]]
    """For each row the (low, high) of its noisy columns; of a list a pair for each of its items."""
    confidence: float
    loss: Cost
    """What this call cost; zero if the answer was cached."""
    cost: Cost
    """The cost at which the answer was computed."""
    cached: bool
    receipt: str
    """Empty if nothing private was read."""
    remaining: Amount
    used: Used | None = None
    """How much is used up of what it was charged to; None if an older server does not say."""
    more: int | None = None
    """How many more queries like this fit; None if they are free."""
    noise: dict[str, str]
    """For each noisy column the noise in words."""
    notes: tuple[str, ...]
    guarantee: tuple[float, float | None]
    """The (ε, δ) of the whole budget."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The types of columns, for frames: values alone do not tell the type of a column that has none."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """For each chosen quantile, which has no interval of values, by how many rows its rank may be off."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What columns are, in words, for titles: `COUNT(*)` is the number of rows."""
    buckets: Mapping[str, Buckets] = field(default_factory=dict)
    """Of columns whose numbers stand for ranges: for which."""
    dummy: bool = False
    """Whether it is about dummy data: it then says nothing about the real ones, and cost nothing."""
    earlier: bool = False
    """Whether it was computed under an earlier policy: it is what was asked then, and its first note says so."""

    @property
    def noisy(self) -> list[str]:
        """The columns that carry noise, in order."""
        noisy = self.noise.keys() | {name for row in self.intervals for name in row}
        return [name for name in self.columns if name in noisy]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __str__(self) -> str:
        return drawing.plain(showing.answer_parts(self))

    __repr__ = __str__

    def __rich__(self) -> RenderableType:
        return drawing.Drawing(showing.answer_parts(self))

    def _repr_html_(self) -> str:
        return drawing.html(showing.answer_parts(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain Python values; losses rounded up."""
        cost = loss_dict(self.cost)
        return {
            "question": self.question,
            "columns": list(self.columns),
            "rows": list(self.rows),
            "intervals": [dict(row) for row in self.intervals],
            "confidence": self.confidence,
            "loss": dict(cost) if self.loss is self.cost else loss_dict(self.loss),
            "cost": cost,
            "unit": self.cost.unit,
            "cached": self.cached,
            "dummy": self.dummy,
            "earlier": self.earlier,
            "receipt": self.receipt,
            "remaining": self.remaining.to_dict(),
            "used": None if self.used is None else self.used.to_dict(),
            "more": self.more,
            "noise": dict(self.noise),
            "notes": list(self.notes),
            "ranks": dict(self.ranks),
            **({"words": dict(self.words)} if self.words else {}),
            **({"buckets": {name: each.to_dict() for name, each in self.buckets.items()}} if self.buckets else {}),
            "guarantee": _guarantee_dict(self.guarantee),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame; each noisy column is followed by `<column>_low` and `<column>_high`.

        The items of a list have them as fields: `value`, `count`, `low`, `high`.
        """
        return frames.to_pandas(self._frame())

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame; each noisy column is followed by `<column>_low` and `<column>_high`.

        The items of a list have them as fields: `value`, `count`, `low`, `high`.
        """
        return frames.to_polars(self._frame())

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table; each noisy column is followed by `<column>_low` and `<column>_high`.

        The items of a list have them as fields: `value`, `count`, `low`, `high`.
        """
        return frames.to_arrow(self._frame())

    def plot(self, theme: str = "light") -> ChartType:
        """An altair chart: dots with error bars; `theme` is "light" or "dark". `.save("x.svg")` writes it."""
        from discreet.answers.plots import answer_chart

        return answer_chart(self, theme)

    def _frame(self) -> list[frames.Column]:
        return frames.columns_of(self.columns, self.rows, self.intervals, self.kinds, self.noisy)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Preview:
    """What a question would cost and how exact its answer would be. No data was read for it."""

    question: str
    columns: list[str]
    loss: Cost
    error: dict[str, float]
    """For each noisy column the half-width of its interval; of a list, of each of its counts."""
    confidence: float
    groups: int | None
    """Rows before HAVING and LIMIT."""
    noise: dict[str, str]
    shares: dict[str, float]
    """For each measurement, in words, its share of the cost."""
    averages: dict[str, dict[int, float]]
    """For each average the half-width by the size of the group."""
    notes: tuple[str, ...]
    cached: bool
    """The answer is cached: running it is free."""
    remaining: Amount
    used: Used | None = None
    """How much is used up of what it would be charged to; None if an older server does not say."""
    guarantee: tuple[float, float | None]
    more: int | None
    """How many such queries the remaining budget affords; None if they are free."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Where the half-width depends on bounds that are to be found: the least and the largest that it can be."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """For each quantile, by how many rows its rank may be off."""

    def __str__(self) -> str:
        return drawing.plain(showing.preview_parts(self))

    __repr__ = __str__

    def __rich__(self) -> RenderableType:
        return drawing.Drawing(showing.preview_parts(self))

    def _repr_html_(self) -> str:
        return drawing.html(showing.preview_parts(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain Python values; losses rounded up."""
        return {
            "question": self.question,
            "columns": list(self.columns),
            "loss": loss_dict(self.loss),
            "unit": self.loss.unit,
            "error": dict(self.error),
            **({"ranges": {name: list(ends) for name, ends in self.ranges.items()}} if self.ranges else {}),
            **({"ranks": dict(self.ranks)} if self.ranks else {}),
            "confidence": self.confidence,
            "groups": self.groups,
            "noise": dict(self.noise),
            "shares": dict(self.shares),
            "averages": {name: dict(sizes) for name, sizes in self.averages.items()},
            "notes": list(self.notes),
            "cached": self.cached,
            "remaining": self.remaining.to_dict(),
            "used": None if self.used is None else self.used.to_dict(),
            "more": self.more,
            "guarantee": _guarantee_dict(self.guarantee),
        }

    def plot(self, theme: str = "light") -> ChartType:
        """An altair chart of the errors to expect; `theme` is "light" or "dark". `.save("x.svg")` writes it."""
        from discreet.answers.plots import preview_chart

        return preview_chart(self, theme)


def loss_dict(loss: Cost) -> dict[str, float]:
    """A loss by its names, rounded up.

    >>> loss_dict(Concentrated(0.005))
    {'rho': 0.005, 'delta': 0.0}
    """
    return {name: float_up(amount) for name, amount in loss.amounts.items()}


def _guarantee_dict(guarantee: tuple[float, float | None]) -> dict[str, float | None]:
    epsilon, delta = guarantee
    return {"epsilon": epsilon, "delta": delta}
