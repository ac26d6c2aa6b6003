"""What a server may say, as types: whatever has another form is not read, and nothing deeper than these is built.

A server is trusted with the questions of its analysts, not with their machines. So every body is decoded into one of
these types: a number is a finite number, a text is a text, an answer has as many values in each row as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NotRequired, TypedDict, TypeVar

import msgspec

from discreet.answers.wire import LIST
from discreet.client.problems import Unreachable
from discreet.printing import printable

T = TypeVar("T")
Number = int | float
Scalar = str | int | float | bool | None
Value = str | int | float | bool | list[dict[str, Scalar]] | None
Ends = list[int | float | list[Number | None] | None] | None
"""The ends of an interval, or of a list those of each of its items."""


class Amount(TypedDict):
    epsilon: Number
    rho: Number | None
    delta: Number | None


class Loss(TypedDict, total=False):
    """One of the two currencies."""

    epsilon: Number
    rho: Number
    delta: Number


class Guarantee(TypedDict):
    epsilon: Number
    delta: Number | None


class Answer(TypedDict):
    question: str
    columns: list[str]
    types: list[str | None]
    rows: list[list[Value]]
    intervals: list[dict[str, Ends]]
    confidence: Number
    loss: Loss
    cost: Loss
    unit: NotRequired[str | None]
    cached: bool
    receipt: str
    remaining: Amount
    noise: dict[str, str]
    notes: list[str]
    guarantee: Guarantee


class Preview(TypedDict):
    question: str
    columns: list[str]
    loss: Loss
    unit: NotRequired[str | None]
    error: dict[str, Number | None]
    confidence: Number
    groups: int | None
    noise: dict[str, str]
    shares: dict[str, Number]
    averages: dict[str, dict[str, Number | None]]
    notes: list[str]
    cached: bool
    remaining: Amount
    guarantee: Guarantee
    more: int | None


class Waiting(TypedDict):
    job: str
    position: int | None


class Column(TypedDict):
    type: str
    min: str | int | float | None
    max: str | int | float | None
    step: Number | None
    values: list[Scalar] | None
    nullable: bool


class Table(TypedDict):
    public: bool
    unit: str | None
    max_rows: int | None
    max_groups: int | None
    max_rows_per_group: int | None
    columns: dict[str, Column]


class Tables(TypedDict):
    tables: dict[str, Table]


class Balance(TypedDict):
    total: Amount
    spent: Amount
    remaining: Amount
    units: NotRequired[dict[str, Amount]]


class Dataset(TypedDict):
    name: str


class Datasets(TypedDict):
    datasets: list[Dataset]


class Entry(TypedDict):
    number: int
    at: str
    analyst: str
    question: str
    epsilon: Number | None
    rho: Number | None
    delta: Number | None
    data_version: int
    answered: bool
    unit: NotRequired[str | None]
    cost: Loss
    call: dict[str, Any]


class Entries(TypedDict):
    entries: list[Entry]


class Edit(TypedDict):
    old: str
    new: str
    arguments: dict[str, Number | None]


class Problem(TypedDict):
    code: str
    reason: str
    fix: str
    edit: NotRequired[Edit | None]
    spent: int | None


class Something(TypedDict):
    """Of no interest."""


def decoded(body: bytes, kind: type[Any]) -> Any:
    """The document of a body, of this type; ValueError if it has another form.

    msgspec takes JSON as it is defined: no NaN, no Infinity, numbers that a float can hold, nesting that a stack can.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError) as wrong:
        raise ValueError("not of discreet's form") from wrong


def read(url: str, make: Callable[..., T], *told: Any) -> T:
    """What is made of a document. One that has the types but makes no sense is the server's mistake, in words."""
    try:
        return make(*told)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise alien(url) from None


def alien(url: str) -> Unreachable:
    told = f"{printable(url)} answered in a form that is not discreet's"
    return Unreachable(told, "check the address, and that the server is as new as this client")


_HELD: Final[dict[str | None, tuple[type, ...]]] = {
    None: (str, int, float, bool, list),
    "integer": (int, float),
    "number": (int, float),
    "text": (str,),
    "boolean": (bool,),
    "date": (str,),
    "timestamp": (str,),
}


def consistent(told: Answer) -> Answer:
    """The answer, if it is a table: as many values as columns, of the columns' types, with intervals for its rows."""
    columns, types = told["columns"], told["types"]
    kinds = [_listed if kind and kind.startswith(LIST) else _plain(kind) for kind in types]
    sound = (
        len(columns) == len(types)
        and len(told["rows"]) == len(told["intervals"])
        and 0 < told["confidence"] < 1
        and all(len(row) == len(kinds) for row in told["rows"])
        and all(holds(value) for row in told["rows"] for holds, value in zip(kinds, row, strict=True))
        and all(_ends(ends) for row in told["intervals"] for ends in row.values())
    )
    if not sound:
        raise ValueError("the answer is no table")
    return told


def _plain(kind: str | None) -> Callable[[Value], bool]:
    held = _HELD[kind]  # a type that nobody knows is a LookupError
    return lambda value: value is None or (isinstance(value, held) and (bool in held or not isinstance(value, bool)))


def _listed(value: Value) -> bool:
    return value is None or (isinstance(value, list) and all(map(_counted, value)))


def _counted(item: Mapping[str, Scalar]) -> bool:
    count = item.get("count")
    return "value" in item and isinstance(count, int | float) and not isinstance(count, bool)


def _ends(ends: Ends) -> bool:
    """Nothing, a pair, or a list of pairs."""
    if ends is None or _pair(ends):
        return True
    return all(each is None or (isinstance(each, list) and _pair(each)) for each in ends)


def _pair(ends: list[Any]) -> bool:
    return len(ends) == 2 and all(end is None or isinstance(end, int | float) for end in ends)
