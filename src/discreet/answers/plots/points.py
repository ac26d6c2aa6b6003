"""What an answer has to draw: for each column of numbers a panel, for each of its values a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final

from discreet.answers.buckets import NO_VALUE
from discreet.answers.figures import figure, item_ends, number_ends, text_of
from discreet.answers.layout import percent
from discreet.answers.plots.panels import MOST_BESIDE, Axis, Panel, Record, drawable, is_short
from discreet.answers.plots.theme import shortened
from discreet.printing import counted, printable

if TYPE_CHECKING:
    from discreet.answers import Answer

MOST_LETTERS: Final = 40
MOST_KEYS: Final = 100
"""Texts on one axis that can still be read."""
MOST_POINTS: Final = 5_000
"""What altair puts into one chart."""
MOST_FACETS: Final = 24


@dataclass(frozen=True, slots=True)
class Picture:
    """The panels of an answer, and what is left out."""

    panels: list[Panel]
    remarks: list[str]


def picture_of(answer: Answer) -> Picture:
    lists = [index for index in range(len(answer.columns)) if _is_list(answer, index)]
    measures = _measures(answer, lists)
    keys = _keys(answer, {*lists, *measures})
    axis, by = _axes(answer, keys)
    rows, remarks = _rows_with_room(axis, by, MOST_FACETS if lists else MOST_POINTS)
    panels = [_panel(answer, index, rows, axis, by) for index in measures]
    panels += [_listed(answer, index, rows, keys) for index in lists]
    items = sum(len(answer.rows[row][index] or []) for index in lists for row in rows)
    shown = sum(len(panel.records) for panel in panels[len(measures) :])
    if shown < items:
        remarks.append(f"the first {shown:,} of {items:,} bars are shown")
    remarks += [_rank_words(answer, index) for index in measures if answer.columns[index] in answer.ranks]
    if any(record["zero"] for panel in panels[len(measures) :] for record in panel.records):
        remarks.append("pale bars: zero lies within their whiskers")
    absent = sum(record["value"] is None for panel in panels for record in panel.records)
    if absent:
        subject = counted(absent, "value is", "values are")
        remarks.append(f"{subject} NULL or too large to be drawn")
    return Picture(panels, remarks)


def _rank_words(answer: Answer, index: int) -> str:
    name = answer.columns[index]
    ranks = f"{percent(answer.confidence)} rank error ≤ {answer.ranks[name]:,} rows"
    return f"{called(answer, name)}: hollow dots, no interval of values is known; {ranks}"


# columns

_COMPUTED: Final = re.compile(r"\w\(| [-+*/%|]+ | \bCASE\b")
"""What a column is called that was given no name: its SQL."""


def called(answer: Answer, name: str) -> str:
    """A column in words: the name that the analyst chose, if it is one; else what the column is."""
    words, computed = answer.words.get(name), _COMPUTED.search(name)
    if words is not None and (computed or is_short(name)):
        return shortened(printable(words))
    return "computed value" if computed else shortened(printable(name.replace("_", " ")))


def _values(answer: Answer, index: int) -> list[Any]:
    return [row[index] for row in answer.rows]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_numeric(answer: Answer, index: int) -> bool:
    """Whether there are numbers, and nothing else but NULL."""
    values = [value for value in _values(answer, index) if value is not None]
    return bool(values) and all(map(_is_number, values))


def _is_list(answer: Answer, index: int) -> bool:
    return any(isinstance(value, list) for value in _values(answer, index))


def _measures(answer: Answer, lists: Sequence[int]) -> list[int]:
    """The noisy columns; in a table without noise all numbers, after a first column that names the rows."""
    noisy = [index for index, name in enumerate(answer.columns) if name in answer.noisy and index not in lists]
    if noisy or lists:
        return noisy
    named = len(answer.rows) > 1 and len(answer.columns) > 1
    return [index for index in range(named, len(answer.columns)) if _is_numeric(answer, index)]


def _keys(answer: Answer, taken: set[int]) -> list[int]:
    """The columns that tell the rows apart: texts and dates before numbers, which may be ends of intervals."""
    free = [index for index in range(len(answer.columns)) if index not in taken]
    free.sort(key=lambda index: _is_numeric(answer, index))
    if len(answer.rows) == 1:
        return [index for index in free if not _is_numeric(answer, index)][:1]
    chosen, apart = list[int](), 1
    for index in free:
        distinct = len({tuple(row[key] for key in (*chosen, index)) for row in answer.rows})
        if distinct > apart:
            chosen, apart = [*chosen, index], distinct
    return sorted(chosen)


def _axes(answer: Answer, keys: Sequence[int]) -> tuple[Axis, Axis | None]:
    """The key along the axis, and the others together."""
    if not keys:
        numbers = tuple(str(row) for row in range(1, len(answer.rows) + 1))
        return Axis("row", "text" if len(numbers) > 1 else "none", numbers, numbers), None
    axes = {index: _axis(answer, index) for index in keys}
    first = next((index for rank in _AXES for index in keys if rank(axes[index])), _crowd(axes))
    others = [axes[index] for index in keys if index != first]
    return axes[first], _together(others) if others else None


_AXES: Final[Sequence[Callable[[Axis], bool]]] = (
    lambda axis: axis.kind == "time",
    lambda axis: bool(axis.order),
    lambda axis: axis.kind == "number",
)
"""What has the axis, whatever comes first."""


def _crowd(axes: Mapping[int, Axis]) -> int:
    """The first key; but of two, one that is too many for colours, if the other is not."""
    first, *others = axes
    if len(others) == 1 and len(axes[first].domain) <= MOST_BESIDE < len(axes[others[0]].domain):
        return others[0]
    return first


def _together(axes: Sequence[Axis]) -> Axis:
    labels = tuple(" · ".join(parts) for parts in zip(*(axis.labels for axis in axes), strict=True))
    return Axis(" · ".join(axis.title for axis in axes), "text", labels, labels)


def _axis(answer: Answer, index: int) -> Axis:
    name, values = answer.columns[index], _values(answer, index)
    if name in answer.buckets:
        return _bucket_axis(answer, name, values)
    title, names = called(answer, name), _labels(values)
    labels = tuple(names[value] for value in values)
    some = {value for value in values if value is not None}
    places: list[Any]
    if all(isinstance(value, date) for value in some):
        kind, places = "time", [_moment(value) for value in values]
    elif all(_is_number(value) for value in some):
        kind, places = "number", [drawable(value) for value in values]
    else:
        return Axis(title, "text", labels, labels)
    if len(some) < 2 or None in places:
        return Axis(title, "ordinal", labels, labels)
    return Axis(title, kind, tuple(places), labels)


def _bucket_axis(answer: Answer, name: str, values: Sequence[Any]) -> Axis:
    """Ranges in their order, whatever the answer's is."""
    buckets = answer.buckets[name]
    known = {value for value in values if drawable(value) is not None}
    texts = {value: buckets.label(value) if value in known else text_of(value) for value in values}
    names = _labels(values, texts)
    order = [names[value] for value in (*sorted(known), *(value for value in texts if value not in known))]
    labels = tuple(names[value] for value in values)
    title = shortened(printable(answer.words.get(name, name)))
    return Axis(title, "ordinal", labels, labels, tuple(dict.fromkeys(order)))


def _labels(values: Sequence[Any], texts: Mapping[Any, str] | None = None) -> dict[Any, str]:
    """A label for each key; no two of one text, so that a text 'NULL' stays apart from NULL."""
    labels: dict[Any, str] = {}
    taken = set()
    for value in sorted(dict.fromkeys(values), key=lambda value: value is not None):
        text = shortened(text_of(value) if texts is None else texts[value], MOST_LETTERS)
        label, number = text, 2
        while label in taken:
            label, number = f"{text} ({number})", number + 1
        taken.add(label)
        labels[value] = label
    return labels


def _moment(value: date | None) -> str | None:
    """A day or a time in UTC, so that no browser moves it into the day before."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        return f"{value.isoformat()}T00:00:00Z"
    return f"{(value if value.tzinfo is None else value.astimezone(UTC)).replace(tzinfo=None).isoformat()}Z"


def _rows_with_room(axis: Axis, by: Axis | None, room: int) -> tuple[list[int], list[str]]:
    """The rows that have room, and a sentence about the others."""
    rows, remarks = list(range(len(axis.labels))), list[str]()
    empty = {label for label in axis.domain if axis.order and label.startswith(NO_VALUE)}
    if empty:
        rows = [row for row in rows if axis.labels[row] not in empty]
        remarks.append(f"{counted(len(empty), 'key')} that no {axis.title} can have: not drawn")
    limits = list[tuple[Axis, int]]()
    if by is not None:
        limits.append((by, MOST_FACETS))
    if axis.kind in ("text", "ordinal"):
        limits.append((axis, MOST_KEYS))
    for each, most in limits:
        domain = each.cut(rows).domain
        if len(domain) > most:
            shown = set(domain[:most])
            rows = [row for row in rows if each.labels[row] in shown]
            remarks.append(f"the first {most:,} of {len(domain):,} values of {each.title} are shown")
    if len(rows) > room:
        remarks.append(f"the first {room:,} of {len(rows):,} rows are shown")
    return rows[:room], remarks


# records


def _panel(answer: Answer, index: int, rows: Sequence[int], axis: Axis, by: Axis | None) -> Panel:
    name = answer.columns[index]
    records = []
    for row in rows:
        record = record_of(
            answer.rows[row][index], number_ends(answer.intervals[row].get(name)), answer.ranks.get(name)
        )
        records.append({"key": axis.places[row], "name": axis.labels[row], **_part(by, row), **record})
    parts = None if by is None else by.cut(rows)
    return Panel(shortened(printable(name)), axis.cut(rows), parts, records, called(answer, name))


def _part(by: Axis | None, row: int) -> Record:
    return {} if by is None else {"by": by.labels[row]}


def record_of(value: Any, interval: tuple[float, float] | None, rank: int | None = None) -> Record:
    """A value and its interval, as charts hold them."""
    low, high = (None, None) if interval is None else map(drawable, interval)
    digits = figure(value, interval)
    shown = f"{digits.value} {digits.sign} {digits.margin}" if digits.sign else digits.value
    if low is None or high is None:  # half a bar would look like a whole one
        low = high = None
    ends = "not known" if interval is None else " … ".join(figure(end, None).value for end in interval)
    is_ranked = interval is None and rank is not None and value is not None
    return {
        "value": drawable(value),
        "low": low,
        "high": high,
        "shown": shown,
        "interval": f"rank error ≤ {rank:,} rows" if is_ranked else ends,
        "ranked": is_ranked,
        "zero": low is not None and high is not None and low <= 0 <= high,
    }


def _listed(answer: Answer, index: int, rows: Sequence[int], keys: Sequence[int]) -> Panel:
    """The counts of a histogram or of the most frequent values: bars, a facet for each group."""
    name = answer.columns[index]
    groups = _together([_axis(answer, key) for key in keys]) if keys else None
    listed: list[tuple[int, Any, Any, Any]] = []
    for row in rows:
        items = answer.rows[row][index] or []
        ends = item_ends(items, answer.intervals[row].get(name))
        listed += [(row, item["value"], item["count"], end) for item, end in zip(items, ends, strict=True)]
    listed = listed[:MOST_POINTS]
    values = [value for _, value, _, _ in listed]
    width = _width(values)
    names = _labels(values)
    labels = tuple(names[value] if width is None else _bin(value, width) for value in values)
    records = [
        {
            "key": names[value] if width is None else value,
            **({} if width is None else {"end": value + width}),
            "name": label,
            **_part(groups, row),
            **record_of(count, end),
        }
        for label, (row, value, count, end) in zip(labels, listed, strict=True)
    ]
    places = tuple(record["key"] for record in records)
    facets = None if groups is None else groups.cut([row for row, *_ in listed])
    axis = Axis("value", "bars" if width is None else "bins", places, labels)
    return Panel(shortened(printable(name)), axis, facets, records, called(answer, name))


def _width(values: Sequence[Any]) -> float | None:
    """Of bins, whose lower edges are floats at equal distances; None for other values."""
    edges = sorted(set(values)) if values and all(isinstance(value, float) for value in values) else []
    return edges[1] - edges[0] if len(edges) > 1 else None


def _bin(low: float, width: float) -> str:
    return f"{low:g} to {low + width:g}"
