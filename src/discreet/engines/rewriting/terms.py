"""What is known of a printed piece: its text, and the type of its value.

Types are fewer than DuckDB's. They say which rule is meant where engines have several: 7 / 2 is 3.5 for whole numbers
and for real ones, and two engines out of three must be told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from discreet.engines.rewriting.tree import UnknownError


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value; of a list that of its items, of a struct those of its fields."""

    name: str
    of: tuple[Type, ...] = ()
    fields: tuple[str, ...] = ()


WHOLE: Final = Type("whole")
"""Whole numbers that 64 bits with a sign hold; masks of up to 32 rows are among them."""
HUGE: Final = Type("huge")
"""Whole numbers of up to 127 bits."""
BITS: Final = Type("bits")
"""64 bits: hashes, and masks of 64 rows. Not to be compared by size."""
REAL: Final = Type("real")
TEXT: Final = Type("text")
TRUTH: Final = Type("truth")
DAY: Final = Type("day")
TIME: Final = Type("time")
DAYS: Final = Type("days")
"""Periods of days, months or seconds."""
MONTHS: Final = Type("months")
SECONDS: Final = Type("seconds")
NOTHING: Final = Type("nothing")
"""NULL, which is of every type."""

TYPES: Final[Mapping[str, Type]] = {
    "BOOLEAN": TRUTH,
    "TINYINT": WHOLE,
    "SMALLINT": WHOLE,
    "INTEGER": WHOLE,
    "BIGINT": WHOLE,
    "UTINYINT": WHOLE,
    "USMALLINT": WHOLE,
    "UINTEGER": WHOLE,
    "UBIGINT": BITS,
    "HUGEINT": HUGE,
    "DOUBLE": REAL,
    "VARCHAR": TEXT,
    "DATE": DAY,
    "TIMESTAMP": TIME,
}
"""What DuckDB calls them."""


def public_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Those columns of a public table whose values engines hold, by DuckDB's types: bits are no numbers there."""
    return {column: kind for column, kind in columns.items() if TYPES.get(kind, BITS) != BITS}


RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
}
"""What a cast to each of the whole numbers lets through."""
_WIDER: Final = (WHOLE, HUGE, REAL)


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def common(types: Iterable[Type]) -> Type:
    """The type that values of all of these have together, as in the branches of a CASE."""
    known = {type_ for type_ in types if type_ != NOTHING}
    if not known:
        return NOTHING
    if len(known) == 1:
        return known.pop()
    if known <= set(_WIDER):
        return max(known, key=_WIDER.index)
    if known == {DAY, TIME}:
        return TIME
    if known == {WHOLE, BITS}:
        return BITS
    raise UnknownError(f"values of the types {', '.join(sorted(each.name for each in known))} side by side")


@dataclass(frozen=True, slots=True)
class Term:
    """A printed expression."""

    text: str
    type: Type
    constant: str | None = None
    """What a literal holds."""
    fields: Mapping[str, Term] = field(default_factory=dict)
    """Of a struct: its fields, each printed by itself. No engine ever sees a struct."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Relation:
    """What stands in a FROM: the name that it has there, and its columns."""

    alias: str
    columns: tuple[Column, ...]
    holds: frozenset[str] = frozenset()
    """Conditions that all of its rows meet."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names are looked up: relations of a FROM, names of values, and what lies around."""

    relations: tuple[Relation, ...] = ()
    values: Mapping[str, Term] = field(default_factory=dict)
    around: Scope | None = None

    def column(self, names: list[str]) -> tuple[str | None, Column] | Term:
        """A column, with the alias if the query says it, or a value that has a name.

        DuckDB does not tell cases apart, however a name is quoted: what is found is spelled as it was declared.
        """
        wanted, table = names[-1].lower(), names[-2].lower() if len(names) == 2 else None
        if len(names) > 2:
            raise UnknownError("a name of three parts")
        if table is None and wanted in self.values:
            return self.values[wanted]
        matching = [
            (relation.alias, column)
            for relation in self.relations
            if table is None or relation.alias.lower() == table
            for column in relation.columns
            if column.name.lower() == wanted
        ]
        if len(matching) > 1:
            raise UnknownError("a name that stands for several columns")
        if matching:
            return (matching[0][0] if table is not None else None), matching[0][1]
        if self.around is None:
            raise UnknownError("a name that stands for no column")
        return self.around.column(names)


def part_of_date(term: Term, known: Sequence[str] | Mapping[str, str]) -> str:
    """Which part of a date a constant names: an engine knows few of them."""
    if term.constant is None or term.constant.lower() not in known:
        raise UnknownError("a part of a date")
    return term.constant.lower()
