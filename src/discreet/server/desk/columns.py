"""The fields of a column at the desk: what a form says, as what a policy says, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final

from discreet.owner.draft import Described, kind_of
from discreet.owner.known import known_bounds
from discreet.owner.names import is_identifier, likely_kind
from discreet.owner.toml import is_name
from discreet.policy import Finding, Format, Kind

OUT: Final = "out"
KINDS: Final = {
    OUT: "leave it out",
    Kind.INTEGER.value: "whole numbers",
    Kind.NUMBER.value: "numbers",
    Kind.DATE.value: "days",
    Kind.TIMESTAMP.value: "times",
    Kind.TEXT.value: "text",
    Kind.BOOLEAN.value: "yes or no",
}
"""What a column may be, in words."""
BOUNDED: Final = frozenset({Kind.INTEGER.value, Kind.NUMBER.value, Kind.DATE.value, Kind.TIMESTAMP.value})
NUMBERS: Final = frozenset({Kind.INTEGER.value, Kind.NUMBER.value})
LISTED: Final = frozenset({Kind.INTEGER.value, Kind.DATE.value, Kind.TEXT.value})
UNDECLARABLE: Final = "no policy can declare a column of this name"


@dataclass(frozen=True, slots=True)
class Field:
    """A column as its form shows it; all of it is text that somebody may change."""

    column: str
    kind: str
    low: str = ""
    high: str = ""
    values: str = ""
    nullable: bool = False
    hint: str = ""
    """Where what is filled in comes from."""
    problems: tuple[str, ...] = ()

    def declaration(self) -> Mapping[str, Any] | bool:
        """What the policy says of the column; `ValueError` with the reason if the fields make no sense."""
        if self.kind == OUT:
            return False
        if self.kind not in KINDS:
            raise ValueError("choose what the column holds")
        if self._lists:
            return {"type": self.kind, "values": self._listed(), **({"nullable": True} if self.nullable else {})}
        if self.kind in BOUNDED and (self.low.strip() or self.high.strip()):
            if not (self.low.strip() and self.high.strip()):
                raise ValueError("give both bounds, or neither")
            return {"type": self.kind, "min": self._read(self.low), "max": self._read(self.high)}
        return {"type": self.kind}

    @property
    def _lists(self) -> bool:
        """Whether values are listed: of texts, whole numbers and days. Fields that do not fit the type mean nothing."""
        return self.kind in LISTED and bool(self.values.strip())

    @property
    def is_unbounded(self) -> bool:
        """Whether it has values of which queries need bounds, and none are stated."""
        return self.kind in BOUNDED and not self._lists and not self.low.strip()

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS

    def _listed(self) -> list[Any]:
        return [self._read(line) for line in self.values.splitlines() if line.strip()]

    def _read(self, written: str) -> Any:
        try:
            return _READERS[self.kind](written.strip())
        except ValueError:
            shown = written.strip()[:40]
            raise ValueError(f"{shown!r} is none of {KINDS[self.kind]}: {_EXAMPLES[self.kind]}") from None

    @property
    def meaning(self) -> str:
        """What analysts may do with it, in a few words."""
        if self.kind == OUT:
            return "does not exist for analysts"
        if self._lists:
            return "the listed values are public: each is in every answer"
        if self.kind in BOUNDED and self.low.strip():
            return "values are clamped to the bounds; the bounds are public"
        return _PLAIN.get(self.kind, "every query about its values must bring bounds of its own")


_PLAIN: Final = {
    Kind.TEXT.value: "private: which values appear is decided by partition selection, which needs a δ",
    Kind.BOOLEAN.value: "true and false are public",
}
_EXAMPLES: Final = {
    Kind.INTEGER.value: "write it like 120",
    Kind.NUMBER.value: "write it like 0.5",
    Kind.DATE.value: "write it like 2026-12-31",
    Kind.TIMESTAMP.value: "write it like 2026-12-31T23:59:59",
    Kind.TEXT.value: "write one on each line",
}


def _number(written: str) -> int | float:
    return int(written) if written.lstrip("+-").isdecimal() else float(written)


def _integer(written: str) -> int:
    if len(written) > 30:
        raise ValueError
    return int(written)


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    Kind.INTEGER.value: _integer,
    Kind.NUMBER.value: _number,
    Kind.DATE.value: date.fromisoformat,
    Kind.TIMESTAMP.value: datetime.fromisoformat,
    Kind.TEXT.value: str,
}


def begun(table: Described, column: str) -> Field:
    """A column that nothing was decided about: what its name and type suggest."""
    held = table.columns[column]
    kind = likely_kind(column) if table.source.format is Format.CSV else kind_of(held)
    if kind is None:
        return Field(column, OUT, hint="has a type that no policy can declare")
    if is_identifier(column):
        return Field(column, OUT, hint="an identifier: best left out")
    known = known_bounds(column, kind)
    guess = " a guess from the name:" if table.source.format is Format.CSV else ""
    if known is None:
        return Field(column, kind.value, hint=f"{guess.rstrip(':').strip()}")
    low, high = (_written(end) for end in (known.low, known.high))
    return Field(column, known.kind.value, low, high, hint=f"bounds from the name: {known.why}")


def decided(column: str, given: Mapping[str, Any] | bool) -> Field:
    """A column as it was decided."""
    if isinstance(given, bool):
        return Field(column, OUT)
    low, high = (_written(given[end]) if end in given else "" for end in ("min", "max"))
    values = "\n".join(_written(each) for each in given.get("values", []))
    return Field(column, given["type"], low, high, values, given.get("nullable", False))


def sent(column: str, form: Mapping[str, str], number: int) -> Field:
    """A column as somebody filled it in."""
    kind, low, high, values = (form.get(f"{name}-{number}", "") for name in ("kind", "min", "max", "values"))
    return Field(column, kind, low, high, values.replace("\r\n", "\n"), f"null-{number}" in form)


def fields_of(table: Described, known: Mapping[str, Any], unit: str | None) -> list[Field]:
    """The columns of a table that can be declared, as they were decided or as they begin.

    No calendar of blocks is proposed: two centuries of days would be seventy thousand blocks to record.
    """
    columns, cut = known.get("columns", {}), (known.get("stream") or {}).get("column")
    return [
        decided(column, columns[column]) if column in columns else _open(begun(table, column), is_cut=column == cut)
        for column in table.columns
        if column != unit and is_name(column)
    ]


def _open(field: Field, *, is_cut: bool) -> Field:
    return replace(field, low="", high="") if is_cut else field


def declarations(fields: list[Field]) -> tuple[dict[str, Any], list[Field]]:
    """What the policy says of the columns that make sense; and the fields, with what is wrong with the others."""
    made, checked = {}, []
    for field in fields:
        try:
            made[field.column] = field.declaration()
            checked.append(field)
        except ValueError as wrong:
            checked.append(replace(field, problems=(str(wrong),)))
    return made, checked


def with_findings(fields: list[Field], findings: Mapping[str, list[Finding]]) -> list[Field]:
    """The fields with what is wrong with each, by its name."""
    return [
        replace(field, problems=(*field.problems, *(f"{each.message}; {each.fix}" for each in findings[field.column])))
        if field.column in findings
        else field
        for field in fields
    ]


def _written(given: object) -> str:
    return given.isoformat() if isinstance(given, date) else str(given)
