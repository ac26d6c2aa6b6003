"""Tables that grow, as the desk's form says it: how their blocks are cut, and what may be spent on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

from discreet.errors import Refused
from discreet.owner.draft import Described, kind_of
from discreet.owner.names import likely_kind
from discreet.policy import Format, Kind
from discreet.policy.streams import BY, ROW, UNIT
from discreet.server.desk.columns import Field

TIMES: Final = (Kind.DATE, Kind.TIMESTAMP)
BLOCKS: Final = {
    "": "it does not grow",
    **{by: f"one for each {by}" for by in BY if by != UNIT},
    UNIT: "one for whoever is new at a refresh",
}
"""Whether a table grows, in words."""
BLOCK: Final = "block"
PROTECTED: Final = {
    BLOCK: "what a unit does in one block",
    UNIT: "a unit with all its rows",
}
CALENDAR: Final = {"type": "timestamp", "min": datetime(2024, 1, 1), "max": datetime(2024, 12, 31)}
LARGE: Final = {"epsilon": 1e9, "delta": 0.1}
"""What is tried, where nothing is decided yet."""
ENDS: Final = (
    "blocks are cut by it: it holds days or times, and needs the first and the last of its calendar: what lies"
    " between is cut into blocks, with rows or without"
)


@dataclass(frozen=True, slots=True)
class Growing:
    """What a form says of a table that grows; all of it is text that somebody may change."""

    by: str = ""
    column: str = ""
    epsilon: str = "1"
    protects: str = BLOCK
    most: str = "3"

    @classmethod
    def of(cls, stream: Mapping[str, Any] | None, table: Described) -> Self:
        """As it was decided, or as it begins: it does not grow."""
        if not stream:
            return cls(column=next(iter(times_of(table)), ""))
        protects = UNIT if stream.get("protects") == UNIT else BLOCK
        return cls(
            stream["by"],
            stream.get("column", ""),
            str(stream["epsilon"]).removesuffix(".0"),
            protects,
            str(stream.get("most", 3)),
        )

    @classmethod
    def sent(cls, form: Mapping[str, str], number: int) -> Self:
        names = ("by", "column", "epsilon", "protects", "most")
        return cls(**{name: form[key].strip() for name in names if (key := f"stream-{name}-{number}") in form})

    def decided(self, table: Described, unit: str) -> dict[str, Any]:
        """The stream that the policy declares; nothing if the table does not grow."""
        if not self.by:
            return {}
        if (
            self.by not in BLOCKS
            or self.protects not in PROTECTED
            or (self.column and self.column not in table.columns)
        ):
            raise Refused("body-invalid", f"say how {table.name[:60]} grows", "choose from the lists")
        by_time = self.by != UNIT
        if by_time and not self.column:
            raise Refused("body-invalid", "blocks of time need a column that says when", "choose the column")
        stream: dict[str, Any] = {"by": self.by, **({"column": self.column} if self.column else {})}
        stream["epsilon"] = _positive(self.epsilon, "what may be spent on a block is a number")
        if unit != ROW and by_time:
            stream["protects"] = UNIT if self.protects == UNIT else f"unit-{self.by}"
            if self.protects == UNIT:
                stream["most"] = _whole(self.most)
        return {"stream": stream}


def times_of(table: Described) -> list[str]:
    """The columns that may say when, as their types tell; of CSV as their names do. They come first."""
    csv = table.source.format is Format.CSV
    kinds = {column: likely_kind(column) if csv else kind_of(held) for column, held in table.columns.items()}
    return [column for column, kind in kinds.items() if kind in TIMES]


def tried(decisions: Mapping[str, Any]) -> dict[str, Any]:
    """The decisions as if columns by which blocks are cut were declared, and the budget large: whether the rest fits
    together can be told before either is decided.
    """
    tables = dict(decisions.get("tables", {}))
    for name, given in tables.items():
        stream = given.get("stream", {}) if isinstance(given, Mapping) else {}
        if "column" in stream:
            tables[name] = {**given, "columns": {**given.get("columns", {}), stream["column"]: CALENDAR}}
    return {**decisions, "tables": tables, "budget": LARGE}


def with_ends(fields: Sequence[Field], stream: Mapping[str, Any] | None) -> list[Field]:
    """The fields of a table; the one by which blocks are cut says what it needs."""
    column = (stream or {}).get("column")
    return [_marked(field) if column is not None and field.column == column else field for field in fields]


def usual_epsilon(decisions: Mapping[str, Any]) -> float:
    """A budget to begin with: what the blocks of all streams need, and no less than 1."""
    streams = [given["stream"] for given in decisions.get("tables", {}).values() if given and "stream" in given]
    return max(1.0, float(sum(each["epsilon"] * each.get("most", 1) for each in streams)))


def _marked(field: Field) -> Field:
    whole = field.kind in {kind.value for kind in TIMES} and field.low.strip() and field.high.strip()
    return replace(field, hint=ENDS, problems=field.problems if whole else (*field.problems, ENDS))


def _positive(written: str, what: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e9:
        raise Refused("body-invalid", what, "write it like 1 or 0.5")
    return value


def _whole(written: str) -> int:
    if not (written.isdecimal() and len(written) <= 6 and int(written)):
        raise Refused("body-invalid", "how many blocks of a unit count is a whole number", "write 3, or how many do")
    return int(written)
