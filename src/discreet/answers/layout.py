"""What is shown of answers and previews, in words and digits; `drawing` puts it on terminals and into notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import headline, more_words
from discreet.accounting.balance import percent as percent_used
from discreet.accounting.labels import labelled, part_of
from discreet.accounting.rounding import float_up
from discreet.answers.figures import (
    Figure,
    aligned,
    figure,
    half_width,
    is_listing,
    item_ends,
    number_ends,
    text_of,
)
from discreet.exact import number
from discreet.printing import at_most, counted, printable

if TYPE_CHECKING:
    from discreet.accounting.balance import Amount, Used
    from discreet.answers import Answer, Preview

SHOWN_ROWS: Final = 50
"""Rows that are shown where nobody asked for all of them, and items of each list."""
ROOM: Final = 32
"""For the values of a list: the counts beside them stand under each other."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, already printable, and its margin beside it."""

    text: str
    margin: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is shown. The texts of a numeric one are padded to one width, those of lists have many lines."""

    heading: str
    cells: Sequence[Cell]
    numeric: bool = False
    beside: str = ""
    """The heading of the margins; empty if there are none."""
    listed: bool = False

    @property
    def width(self) -> int:
        return max((len(line) for cell in self.cells for line in cell.text.split("\n")), default=0)


@dataclass(frozen=True, slots=True)
class Span:
    """Words in one style."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """A table, the lines below it, and the fine print."""

    columns: Sequence[Column]
    lines: Sequence[Sequence[Span]]
    notes: Sequence[str]


def answer_parts(answer: Answer, most: int | None = SHOWN_ROWS) -> Parts:
    """What is shown of an answer: so many of its rows (None: all), its cost, what remains, the notes."""
    noisy, confidence = set(answer.noisy), f"({percent(answer.confidence)})"
    columns = []
    for index, name in enumerate(answer.columns):
        values = [row[index] for row in answer.rows[:most]]
        known = [row.get(name) for row in answer.intervals[:most]]
        if any(value and is_listing(value) for value in values):
            columns.append(_list_column(name, values, known, confidence, most))
        elif name in noisy:
            rank = answer.ranks.get(name)
            figures = [figure(value, number_ends(each), rank) for value, each in zip(values, known, strict=True)]
            columns.append(_noisy_column(name, figures, confidence))
        else:
            columns.append(_with_ranges(answer, name, _exact_column(name, values), values))
    hidden = len(answer.rows) - len(answer.rows[:most])
    lines = [[Span(f"… and {hidden:,} more rows", "faint")]] if hidden else []
    if not answer.rows:
        lines.append([Span("no rows", "faint")])
    lines.append(_budget_line(_cost(answer), answer))
    receipt = [f"receipt {printable(answer.receipt)}"] if answer.receipt else []
    return Parts(columns, lines, [*_details(answer.cost, answer), *_fine_print(answer.noise, answer.notes), *receipt])


def preview_parts(preview: Preview) -> Parts:
    """What is shown of a preview: a line for each column, the cost, what remains, the notes."""
    rows: list[tuple[str, str, str, str]] = []
    for name in preview.columns:
        sizes = preview.averages.get(name)
        if sizes:
            rows += [(printable(name), half_width(half), f"in groups of {size:,}", "") for size, half in sizes.items()]
        else:
            half = half_width(preview.error[name]) if name in preview.error else ""
            rows.append((printable(name), half, "", error_range(preview, name) or rank_error(preview, name)))
    names, halves, groups, ranges = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    padded = [f"± {half}" if half.strip() else between for half, between in zip(aligned(halves), ranges, strict=True)]
    margins = [Cell(half, style="margin") for half in padded]
    columns = [
        Column("column", [Cell(name) for name in _once(names)]),
        *([Column(f"error ({percent(preview.confidence)})", margins)] if any(padded) else []),
        *([Column("", [Cell(size, style="faint") for size in groups])] if any(groups) else []),
    ]
    lines = [_budget_line(_would_cost(preview), preview)]
    if preview.groups is not None:
        lines.append([Span(counted(preview.groups, "row"))])
    shares = " · ".join(f"{100 * share:.3g} % {printable(words)}" for words, share in preview.shares.items())
    split = [f"of the cost: {shares}"] if len(preview.shares) > 1 else []
    return Parts(columns, lines, [*_details(preview.loss, preview), *split, *_fine_print(preview.noise, preview.notes)])


def rank_error(preview: Preview, name: str) -> str:
    """By how many rows the rank of a quantile may be off; else nothing."""
    return f"± {preview.ranks[name]:,} ranks" if name in preview.ranks else ""


def error_range(preview: Preview, name: str) -> str:
    """Between which half-widths the error of a column lies, with the bounds that are found; else nothing."""
    if name not in preview.ranges:
        return ""
    least, most = preview.ranges[name]
    return f"± {least:.3g} to ± {most:.3g}"


def cost_words(loss: Pure | Concentrated, guarantee: tuple[float, float | None]) -> str:
    """A cost, by the measure of its budget: the ε of the release alone, what adds up, and how much of the budget it is.

    >>> cost_words(Concentrated(0.005), (3.0, 1e-6))
    'ε 0.4452 (ρ 0.005), 2.9 % of a budget of (ε 3, δ 1e-06)'
    """
    epsilon, whole = guarantee
    if whole is None:
        return loss.words
    exact = number(epsilon, "epsilon"), number(whole, "delta")
    part = percent_used(float_up(part_of(loss, *exact)))
    return f"{labelled(loss, exact[1])}, {part} of a budget of (ε {epsilon:g}, δ {whole:g})"


def short_cost(loss: Pure | Concentrated, guarantee: tuple[float, float | None]) -> str:
    """The ε of a release alone; the rest is under details.

    >>> short_cost(Concentrated(0.005), (3.0, 1e-6)), short_cost(Pure(0.5), (3.0, None))
    ('ε 0.4452', 'ε 0.5')
    """
    _, whole = guarantee
    return loss.words if whole is None else labelled(loss, number(whole, "delta")).partition(" (")[0]


def remaining_words(remaining: Amount) -> str:
    """What remains, rounded down; under a budget with δ the largest ε of the next query is not what adds up."""
    if remaining.rho is None:
        return f"ε {at_most(remaining.epsilon)}"
    return f"ρ {at_most(remaining.rho)} (max ε for the next query {at_most(remaining.epsilon)})"


def percent(share: float) -> str:
    """A share in percent, to as many digits as it was given.

    >>> percent(0.95), percent(0.999), percent(1 / 3)
    ('95 %', '99.9 %', '33.3333 %')
    """
    return f"{100 * share:.6g} %"


def _cost(answer: Answer) -> list[Span]:
    cost = short_cost(answer.cost, answer.guarantee)
    if answer.cached:
        return [Span("cached: free", "good"), Span(", cost "), Span(cost, "strong")]
    if not answer.receipt and answer.loss.is_zero:
        return [Span("free: nothing private was read", "good")]
    return [Span("cost "), Span(cost, "strong")]


def _would_cost(preview: Preview) -> list[Span]:
    cost = [Span("cost "), Span(short_cost(preview.loss, preview.guarantee), "strong")]
    if preview.cached:
        return [Span("cached: free", "good")]
    if not preview.remaining.affords(preview.loss):
        return [*cost, Span(", more than what remains", "bad")]
    return cost


def _budget_line(cost: list[Span], shown: Answer | Preview) -> list[Span]:
    """What it costs, and the one line about the budget; what is cached is like no query that costs something."""
    words = budget_words(shown.used, None if shown.cached else shown.more)
    return [*cost, Span(" · ", "faint"), Span(words)] if words else cost


def budget_words(used: Used | None, more: int | None) -> str:
    """The one line about the budget; of an older server, as much as it says."""
    return more_words(more) if used is None else headline(used, more)


def _details(loss: Pure | Concentrated, shown: Answer | Preview) -> list[str]:
    """ε, δ and ρ: what it costs, and what remains."""
    cost = [] if loss.is_zero or loss.is_pure else [f"cost {cost_words(loss, shown.guarantee)}"]
    return [*cost, f"remaining {remaining_words(shown.remaining)}"]


def _fine_print(noise: Mapping[str, str], notes: Sequence[str]) -> list[str]:
    noises = [f"{printable(name)}: {printable(words)}" for name, words in noise.items() if words]
    return [*noises, *map(printable, notes)]


def _once(texts: Sequence[str]) -> list[str]:
    """A text only where it begins."""
    return [text if index == 0 or texts[index - 1] != text else "" for index, text in enumerate(texts)]


def _noisy_column(name: str, figures: Sequence[Figure], confidence: str) -> Column:
    margins = [each.margin for each in figures]
    if all(each.sign or not each.margin for each in figures):
        margins = [f"{each.sign} {margin}" for each, margin in zip(figures, aligned(margins), strict=True)]
    else:
        margins = [f"{each.sign} {each.margin}".rstrip() for each in figures]
    cells = [Cell(text, margin) for text, margin in zip(aligned([f.value for f in figures]), margins, strict=True)]
    return Column(printable(name), cells, numeric=True, beside=confidence)


def _list_column(name: str, values: Sequence[Any], known: Sequence[Any], confidence: str, most: int | None) -> Column:
    cells = [
        Cell(_items(value, each, most), style="lines") if is_listing(value) else Cell(text_of(value), style="faint")
        for value, each in zip(values, known, strict=True)
    ]
    heading = f"{printable(name)} {confidence}" if any(known) else printable(name)
    return Column(heading, cells, listed=True)


def _items(items: Sequence[Mapping[str, Any]], known: Any, most: int | None) -> str:
    """A line for each item: its value, its count and the margin of that."""
    pairs = list(zip(items, item_ends(items, known), strict=True))[:most]
    figures = [figure(item["count"], ends) for item, ends in pairs]
    # the edges of bins are sums of floats: six digits tell them apart
    names = [
        (figure(v, None).value if isinstance(v, float) else text_of(v)) for v in (item["value"] for item, _ in pairs)
    ]
    if all(type(item["value"]) in (int, float) for item, _ in pairs):
        names = aligned(names)
    room = min(max(map(len, names), default=0), ROOM)
    counts, margins = aligned([each.value for each in figures]), aligned([each.margin for each in figures])
    lines = [
        f"{name:<{room}}  {count} {each.sign} {margin}".rstrip()
        for name, count, each, margin in zip(names, counts, figures, margins, strict=True)
    ]
    hidden = len(items) - len(pairs)
    return "\n".join([*lines, *([f"… and {hidden:,} more"] if hidden else [])])


def _with_ranges(answer: Answer, name: str, column: Column, values: Sequence[Any]) -> Column:
    """A column of buckets has, beside each number, the values that it stands for."""
    buckets = answer.buckets.get(name)
    if buckets is None or not column.numeric:
        return column
    ranges = ["" if value is None else buckets.label(value) for value in values]
    cells = [replace(cell, margin=text) for cell, text in zip(column.cells, ranges, strict=True)]
    return replace(column, cells=cells, beside=printable(answer.words.get(name, "")) or "range")


def _exact_column(name: str, values: Sequence[Any]) -> Column:
    numeric = all(value is None or type(value) in (int, float) for value in values) and any(
        value is not None for value in values
    )
    texts = [text_of(value) for value in values]
    styles = ["faint" if value is None or value == "" else "" for value in values]
    shown = aligned(texts) if numeric else texts
    cells = [Cell(text, style=style) for text, style in zip(shown, styles, strict=True)]
    return Column(printable(name), cells, numeric=numeric)
