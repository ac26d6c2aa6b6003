"""Answers, previews, tables and entries as JSON has them, there and back (serialisation): the forms are `documents`.

Losses round up, dates are written as ISO 8601 has them, and a number that is none is null. Columns say their types, so
that whoever reads an answer gets the same Python values as whoever asked in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import Balance
from discreet.accounting.record import OWNER, BlockNames, Entry, demand_ranges
from discreet.accounting.rounding import UNITS, charged, float_down, float_up
from discreet.accounting.stream import Lines, StreamStanding
from discreet.answers import Answer, Preview, documents
from discreet.answers.buckets import Buckets
from discreet.answers.documents import LIST
from discreet.answers.facts import Facts, number_of
from discreet.answers.figures import is_listing
from discreet.answers.story import StoryLine
from discreet.exact import epsilon as positive
from discreet.exact import probability
from discreet.policy import Column, Kind
from discreet.printing import plain

Document = dict[str, Any]
LIMITS: Final = ("max_rows", "max_groups", "max_rows_per_group")
ENTRY: Final = ("number", "at", "analyst", "question", "epsilon", "rho", "delta", "data_version", "answered", "unit",
                "blocks")  # fmt: skip
"""The columns of the ledger as it is shown and exported."""
STORY: Final = (*ENTRY, "kind", "reason", "changes")
"""The same with what happened beside charges: who is `analyst`, and what is `question`."""

# answers and previews


def answer_written(answer: Answer) -> Document:
    """Everything, and the types of the columns."""
    types = [_type(answer, index, name) for index, name in enumerate(answer.columns)]
    return {**plain(answer.to_dict()), "types": types}


def answer_read(document: documents.Answer) -> Answer:
    """The answer that was written."""
    types = zip(document["columns"], document["types"], strict=True)
    kinds = {name: Kind(kind) for name, kind in types if kind and not kind.startswith(LIST)}
    reads = [_reader(kind) for kind in document["types"]]
    return Answer(
        question=document["question"],
        columns=list(document["columns"]),
        rows=[tuple(read(value) for read, value in zip(reads, row, strict=True)) for row in document["rows"]],
        intervals=[{name: _ends(pair) for name, pair in row.items()} for row in document["intervals"]],
        confidence=document["confidence"],
        loss=loss_read(document["loss"], document.get("unit")),
        cost=loss_read(document["cost"], document.get("unit")),
        cached=document["cached"],
        receipt=document["receipt"],
        remaining=document["remaining"],
        used=document.get("used"),
        more=document.get("more"),
        noise=dict(document["noise"]),
        notes=tuple(document["notes"]),
        guarantee=_guarantee(document["guarantee"]),
        kinds=kinds,
        ranks=dict(document.get("ranks", {})),
        words=dict(document.get("words", {})),
        buckets={name: Buckets.read(each) for name, each in document.get("buckets", {}).items()},
        dummy=document.get("dummy", False),
        earlier=document.get("earlier", False),
    )


def preview_written(preview: Preview) -> Document:
    document: Document = plain(preview.to_dict())
    return document


def preview_read(document: documents.Preview) -> Preview:
    return Preview(
        question=document["question"],
        columns=list(document["columns"]),
        loss=loss_read(document["loss"], document.get("unit")),
        error=_halves(document["error"]),
        confidence=document["confidence"],
        groups=document["groups"],
        noise=dict(document["noise"]),
        shares=dict(document["shares"]),
        averages={
            name: {int(size): half for size, half in _halves(sizes).items()}
            for name, sizes in document["averages"].items()
        },
        notes=tuple(document["notes"]),
        cached=document["cached"],
        remaining=document["remaining"],
        used=document.get("used"),
        guarantee=_guarantee(document["guarantee"]),
        more=document["more"],
        ranges={name: (least, most) for name, (least, most) in document.get("ranges", {}).items()},
        ranks=dict(document.get("ranks", {})),
    )


def _guarantee(document: documents.Guarantee) -> tuple[float, float | None]:
    """That of a budget: what a cost is of it is computed by whoever reads it, so it must be one."""
    epsilon, delta = document["epsilon"], document["delta"]
    positive(epsilon)
    if delta is not None:
        probability(delta, "delta")
    return epsilon, delta


def _halves(halves: Mapping[str, float | None]) -> dict[str, float]:
    """Half-widths; one without end is null in JSON."""
    return {name: math.inf if half is None else half for name, half in halves.items()}


def _type(answer: Answer, index: int, name: str) -> str | None:
    """What a column holds: its declared type, or that of the items of its lists; None if nobody can tell."""
    if name in answer.kinds:
        return str(answer.kinds[name])
    lists = [row[index] for row in answer.rows if row[index] is not None]
    if not lists or not all(map(is_listing, lists)):
        return None
    kinds = {type(item["value"]) for value in lists for item in value}
    return LIST + next((kind for python, kind in _ITEMS.items() if kinds == {python}), "text")


_ITEMS: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    date: "date",
    datetime: "timestamp",
}
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


def _reader(kind: str | None) -> Callable[[Any], Any]:
    """What turns a value of this type as JSON has it into Python's."""
    if kind is not None and kind.startswith(LIST):
        each = _reader(kind.removeprefix(LIST))
        return lambda value: None if value is None else [{**item, "value": each(item["value"])} for item in value]
    read = _READERS.get(kind or "")
    return lambda value: read(value) if read is not None and isinstance(value, str) else value


def _ends(pair: Any) -> Any:
    """An interval is a pair, one of a list is a list of pairs."""
    if isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], list):
        return tuple(pair)
    return [None if each is None else tuple(each) for each in pair] if isinstance(pair, list) else pair


def loss_read(amounts: Mapping[str, Any], unit: str | None) -> Pure | Concentrated:
    """The loss that `loss_dict` wrote."""
    if "epsilon" in amounts:
        return Pure(amounts["epsilon"], unit=unit)
    return Concentrated(amounts["rho"], amounts["delta"], unit=unit)


def balance_read(balance: Balance) -> Balance:
    """A balance that a server sent; ValueError for one whose amounts are of different currencies, or below nothing."""
    amounts = [balance.total, balance.spent, balance.remaining, *balance.units.values()]
    amounts += [] if balance.limit is None else [balance.limit]
    named = {(each.rho is None, each.delta is None) for each in amounts}
    if not (named == {(True, True)} or named == {(False, False)}):
        raise ValueError("amounts are ε alone, or ε with ρ and δ")
    if min(each or 0 for amount in amounts for each in (amount.epsilon, amount.rho, amount.delta)) < 0:
        raise ValueError("amounts are not below nothing")
    return balance


# tables


def facts_written(facts: Facts) -> Document:
    """A table for programs; a public one has no limits."""
    limits = {name: None if facts.public else getattr(facts, name) for name in LIMITS}
    columns = {name: _column_written(column) for name, column in facts.columns.items()}
    stream = {} if facts.stream is None else {"stream": facts.stream}
    document: Document = plain({"public": facts.public, "unit": facts.unit, **limits, **stream, "columns": columns})
    return document


def facts_read(name: str, document: documents.Table) -> Facts:
    limits = {limit: document[limit] or 1 for limit in LIMITS}
    columns = {column: _column_read(column, about) for column, about in document["columns"].items()}
    return Facts(name, document["public"], document["unit"], columns, **limits, stream=document.get("stream"))


def _column_written(column: Column) -> Document:
    low, high = map(number_of, column.bounds or (None, None))
    return {
        "type": str(column.kind),
        "min": low,
        "max": high,
        "step": number_of(column.step),
        "values": None if column.values is None else list(column.values),
        "nullable": column.nullable,
        "key": column.is_key,
    }


def _column_read(name: str, document: documents.Column) -> Column:
    kind, values = Kind(document["type"]), document["values"]
    value = _READERS.get(kind, lambda given: given)
    bound = _READERS.get(kind, _exact)
    return Column(
        name,
        kind,
        None if document["min"] is None else (bound(document["min"]), bound(document["max"])),
        None if document["step"] is None else _exact(document["step"]),
        None if values is None else tuple(value(each) for each in values),
        document["nullable"],
    )


def _exact(value: float) -> Fraction:
    return Fraction(str(value))


# the ledger


def entry_shown(entry: Entry) -> Document:
    """An entry in one line of a table; amounts round up. About blocks, they are what each of these was charged."""
    loss = entry.loss if entry.blocks is None else entry.cost
    amounts = {name: getattr(loss, name, None) for name in ("epsilon", "rho", "delta")}
    shown: Document = {name: None if amount is None else float_up(amount) for name, amount in amounts.items()}
    shown |= {"unit": loss.unit, "blocks": None if entry.blocks is None else str(entry.blocks)}
    return {name: shown[name] if name in shown else getattr(entry, name) for name in ENTRY}


def entry_written(entry: Entry) -> Document:
    """All that is on record of a charge."""
    return {
        **entry_shown(entry),
        "cost": {name: float_up(amount) for name, amount in entry.cost.amounts.items()},
        "call": dict(entry.call),
    }


def entry_read(document: documents.Entry) -> Entry:
    amounts = {name: document[name] for name in ("epsilon", "rho", "delta") if document[name] is not None}
    blocks = document.get("blocks")
    loss = loss_read(amounts, document.get("unit"))
    return Entry(
        document["number"],
        document["at"],
        document["analyst"],
        document["question"],
        loss if blocks is None else loss.times(Fraction(0)),
        document["data_version"],
        document["answered"],
        loss_read(document["cost"], document.get("unit")),
        dict(document["call"]),
        blocks=None if blocks is None else BlockNames.parse(blocks),
    )


def kind_of(entry: Entry) -> str:
    """The kind of task that a charge is of; a query, if it says nothing else."""
    return str(entry.call.get("task", "query"))


def story_rows(entries: Iterable[Entry], lines: Iterable[StoryLine]) -> list[Document]:
    """Charges and what else happened, in the order of the record, with the columns of `STORY`."""
    nothing = dict.fromkeys(STORY)
    charges = [{**nothing, **entry_shown(entry), "kind": kind_of(entry)} for entry in entries]
    events = [{**nothing, **each.document(), "analyst": each.who, "question": each.words} for each in lines]
    rows = [{name: row[name] for name in STORY} for row in (*charges, *events)]
    return sorted(rows, key=lambda row: row["number"])


def line_read(document: documents.Event) -> StoryLine:
    """What `StoryLine.document` wrote."""
    changes = {key: (before, after) for key, (before, after) in document["changes"].items()}
    names = ("number", "at", "kind", "who", "words", "reason", "gain")
    said: dict[str, Any] = {name: document[name] for name in names}  # type: ignore[literal-required]
    return StoryLine(**said, changes=changes)


# streams


def stream_written(standing: StreamStanding, analyst: str | None) -> Document:
    """How a stream stands for somebody: of lines of their own, those alone; amounts round up, limits down."""
    own, limit = standing.shares.get(analyst or OWNER), standing.limits.get(analyst or OWNER)
    return {
        "name": standing.name,
        "capacity": {name: float_down(amount) for name, amount in standing.capacity.amounts.items()},
        "unit": standing.capacity.unit,
        "most": standing.most,
        "labels": list(standing.labels),
        "spent": _amounts(standing.lines),
        "retired": [list(run) for run in standing.retired],
        "lost": {name: float_up(amount) for name, amount in standing.lost.amounts.items()},
        "own": None if own is None else _amounts(own),
        "limit": None if limit is None else {name: float_down(amount) for name, amount in limit.amounts.items()},
    }


def stream_read(document: documents.Stream, analyst: str | None = None) -> StreamStanding:
    """What was written, to 15 digits; ValueError for what is no stream."""
    unit, count, who = document.get("unit"), len(document["labels"]), analyst or OWNER
    retired = tuple((first, last) for first, last in document["retired"])
    demand_ranges(retired)
    own, limit = document["own"], document["limit"]
    for lines in (document["spent"], document["spent"] if own is None else own):
        if len(lines) != count or any(len(line) != len(document["capacity"]) for line in lines):
            raise ValueError("a stream has a line for each block, with an amount of each currency")
    if retired and retired[-1][1] >= count:
        raise ValueError("blocks that are retired were opened")
    return StreamStanding(
        name=document["name"],
        capacity=loss_read(document["capacity"], unit),
        most=document["most"],
        labels=tuple(document["labels"]),
        files=(),
        lines=_lines(document["spent"]),
        retired=retired,
        lost=loss_read(document["lost"], unit),
        shares={} if own is None else {who: _lines(own)},
        limits={} if limit is None else {who: loss_read(limit, unit)},
    )


def _amounts(lines: Lines) -> list[list[float]]:
    """Rounded up, each amount once: most blocks of a stream were charged alike."""
    known = {amount: float_up(Fraction(amount, UNITS)) for amount in {each for line in lines for each in line}}
    return [[known[amount] for amount in line] for line in lines]


def _lines(amounts: Iterable[Iterable[float]]) -> Lines:
    return tuple(tuple(charged(Fraction(str(amount))) for amount in line) for line in amounts)
