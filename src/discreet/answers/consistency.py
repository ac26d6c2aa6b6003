"""Whether an answer that was decoded is a table: its types alone do not say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from discreet.answers.documents import Answer, Ends, Scalar, Value

LIST: Final = "list of "
"""Begins the type of a column of lists; the type of their items follows."""
_HELD: Final[dict[str | None, tuple[type, ...]]] = {
    None: (str, int, float, bool, list),
    "integer": (int, float),
    "number": (int, float),
    "text": (str,),
    "boolean": (bool,),
    "date": (str,),
    "timestamp": (str,),
}


def consistent(answer: Answer) -> Answer:
    """The answer, if it is a table: as many values as columns, of the columns' types, with intervals for its rows."""
    columns, types = answer["columns"], answer["types"]
    if not all(kind in _HELD or (kind or "").startswith(LIST) for kind in types):
        raise ValueError("a column has a type that nobody knows")
    holds = [_listed if kind and kind.startswith(LIST) else _plain(kind) for kind in types]
    sound = (
        len(columns) == len(types)
        and len(answer["rows"]) == len(answer["intervals"])
        and all(len(row) == len(holds) for row in answer["rows"])
        and all(fits(value) for row in answer["rows"] for fits, value in zip(holds, row, strict=True))
        and all(_ends(ends) for row in answer["intervals"] for ends in row.values())
    )
    if not sound:
        raise ValueError("the answer is no table")
    return answer


def _plain(kind: str | None) -> Callable[[Value], bool]:
    held = _HELD[kind]
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
