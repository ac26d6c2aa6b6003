"""What could stand at the cursor: decided by the text before it, without a parser, for text that is not finished.

The words are those that the policy tells analysts, and those that the language allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import TYPE_CHECKING, Final

from discreet.cli.shell.backslash import COMMANDS
from discreet.cli.shell.statements import split
from discreet.policy.model import Key
from discreet.sql.clause import Options
from discreet.sql.vocabulary import KEYWORDS, functions, written

if TYPE_CHECKING:
    from discreet.answers.interface import Asks

OPTIONS: Final = tuple(field.name for field in fields(Options))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names as they are written in SQL, in the policy's order."""

    tables: Mapping[str, tuple[str, ...]]
    """Of each table its columns."""
    values: Mapping[str, tuple[str, ...]]
    """Of each column, in small letters, the declared values that stand between quotes."""
    analysts: tuple[str, ...]
    functions: tuple[str, ...]

    @classmethod
    def of(cls, curator: Asks) -> Vocabulary:
        tables, values = {}, dict[str, tuple[str, ...]]()
        for name, facts in curator.tables().items():
            unit = [] if facts.unit in (None, "row") else [str(facts.unit)]
            tables[written(name)] = tuple(dict.fromkeys(map(written, [*facts.columns, *unit])))
            for column in facts.columns.values():
                known = values.get(column.name.lower(), ())
                values[column.name.lower()] = tuple(dict.fromkeys((*known, *_quoted(column.values or ()))))
        return cls(tables, values, curator.analysts, functions())


def _quoted(values: Iterable[Key]) -> Iterable[str]:
    """Values of texts and dates as they stand between single quotes."""
    for value in values:
        if isinstance(value, str):
            yield value.replace("'", "''")
        elif isinstance(value, date):
            yield value.isoformat()


# what could stand at the cursor

_NAME: Final = r'(?:[^\W\d]\w*|"(?:[^"]|"")*")'
_VALUE: Final = re.compile(
    rf"({_NAME})\s*(?:=|<>|!=|(?:NOT\s+)?IN\s*\((?:\s*'(?:[^']|'')*'\s*,)*)\s*'((?:[^']|'')*)\Z", re.I
)
_FIELD: Final = re.compile(rf'({_NAME})\.("?\w*)\Z')
_TABLE: Final = re.compile(r'\b(?:FROM|JOIN)\s+("?\w*)\Z', re.I)
_OPTION: Final = re.compile(r"\bOPTIONS\s*\([^()]*?(\w*)\Z", re.I)
_LAST: Final = re.compile(r'"?\w*\Z')
_COMMAND: Final = re.compile(r"\s*\\(\w*)\Z")
_ARGUMENT: Final = re.compile(r"\s*\\(\w+)\s+(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Choice:
    """A text, how many letters before the cursor it replaces, and what it is."""

    text: str
    replaces: int
    is_a: str


def choices(vocabulary: Vocabulary, before: str, after: str = "") -> list[Choice]:
    """What could stand where the cursor is, between the text before it and the text after it."""
    above, end, line = before.rpartition("\n")
    if line.lstrip().startswith("\\") and not split(above + end).rest:
        return list(_of_command(vocabulary, line))
    begun = split(before)
    return list(_of_sql(vocabulary, before[begun.start :], begun.open, after.partition(";")[0]))


def _of_command(vocabulary: Vocabulary, line: str) -> Iterator[Choice]:
    named = _COMMAND.match(line)
    if named:
        yield from _begin(COMMANDS, named[1], "command")
        return
    given = _ARGUMENT.match(line)
    complete = _ARGUMENTS.get(given[1].lower()) if given else None
    if given and complete:
        yield from complete(vocabulary, given[2])


def _of_sql(vocabulary: Vocabulary, before: str, opened: str, after: str) -> Iterator[Choice]:
    if opened == "'":
        yield from _values(vocabulary, before)
    elif opened in ("", '"'):
        for pattern, complete in _CONTEXTS:
            match = pattern.search(before)
            if match:
                yield from complete(vocabulary, match, before + after)
                return


def _values(vocabulary: Vocabulary, before: str) -> Iterator[Choice]:
    """Declared values, where a column is compared with a text."""
    match = _VALUE.search(before)
    if match:
        values = vocabulary.values.get(_bare(match[1]), ())
        for choice in _begin(values, match[2], "value"):
            yield Choice(f"{choice.text}'", choice.replaces, choice.is_a)


def _fields(vocabulary: Vocabulary, match: re.Match[str], text: str) -> Iterator[Choice]:
    """After a point: the columns of that table, or of the one that the alias stands for."""
    for table, columns in vocabulary.tables.items():
        alias = rf"{re.escape(table)}\s+(?:AS\s+)?{re.escape(match[1])}(?!\w)"
        if _bare(table) == _bare(match[1]) or re.search(alias, text, re.I):
            yield from _begin(columns, match[2], "column")


def _tables(vocabulary: Vocabulary, match: re.Match[str], _: str) -> Iterator[Choice]:
    yield from _begin(vocabulary.tables, match[1], "table")


def _options(_: Vocabulary, match: re.Match[str], __: str) -> Iterator[Choice]:
    yield from _begin(OPTIONS, match[1], "option")


def _anything(vocabulary: Vocabulary, match: re.Match[str], text: str) -> Iterator[Choice]:
    """Columns of the tables that are named, or of all while none is; then all other words."""
    words = set(re.findall(r"\w+", text.lower()))
    named = [table for table in vocabulary.tables if _bare(table) in words] or vocabulary.tables
    columns = dict.fromkeys(column for table in named for column in vocabulary.tables[table])
    yield from _begin(columns, match[0], "column")
    yield from _begin(vocabulary.tables, match[0], "table")
    if match[0]:
        yield from _in_its_case(vocabulary.functions, match[0], "function")
    yield from _in_its_case(KEYWORDS, match[0], "keyword")


Complete = Callable[[Vocabulary, re.Match[str], str], Iterator[Choice]]
_CONTEXTS: Final[tuple[tuple[re.Pattern[str], Complete], ...]] = (
    (_OPTION, _options),
    (_FIELD, _fields),
    (_TABLE, _tables),
    (_LAST, _anything),
)
"""The first that fits decides."""
_ARGUMENTS: Final[dict[str, Callable[[Vocabulary, str], Iterable[Choice]]]] = {
    "analyst": lambda vocabulary, text: _begin(vocabulary.analysts, text, "analyst"),
    "tables": lambda vocabulary, text: _begin(vocabulary.tables, text, "table"),
    "preview": choices,
}
"""What can follow a command."""


def _begin(options: Iterable[str], prefix: str, is_a: str) -> Iterator[Choice]:
    """The options that begin like this, whatever the case."""
    for option in options:
        if option.lower().startswith(prefix.lower()) or option.lower().startswith(f'"{prefix.lower()}'):
            yield Choice(option, len(prefix), is_a)


def _in_its_case(options: Iterable[str], prefix: str, is_a: str) -> Iterator[Choice]:
    """The same, in small letters for those who write them."""
    for choice in _begin(options, prefix, is_a):
        yield Choice(choice.text.lower(), choice.replaces, is_a) if prefix.islower() else choice


def _bare(name: str) -> str:
    return name.strip('"').replace('""', '"').lower()
