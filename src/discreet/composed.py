"""Queries as values: pieces of SQL that only grow by being put side by side, and are printed once, for the engine.

Theorem  What a name or a literal holds never becomes SQL, whatever it is.
Proof    An `Sql` is made by the functions of this file alone, and is no `str`: it cannot be formatted, or searched for
         markers to replace. `name` and `literal` quote what they are given. `sql` cuts a template, which is a constant
         of this program (a test reads the source for it), into pieces before any part is there, and puts the parts
         between them; nobody looks into a part again. So the text is constants of this program and quoted tokens side
         by side. The engine's own parser is asked to confirm it (`engines.printed`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from string import Formatter
from typing import Any, Final, NoReturn

from discreet import quoting
from discreet.errors import Refused
from discreet.quoting import TEXT_LENGTH, Value

LARGEST: Final = 400_000
"""Weight of a query: parts that stand in it twice or thrice, in parts that do so too, let it grow exponentially."""
_LONG: Final = 1_000
"""What weighs more is named where it would stand twice: that takes the engine some 10 ns a row."""
_LIGHT: Final = 16
"""So many characters of a literal weigh as much as one of anything else."""
_WORDS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*( [A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)


class Sql:
    """A piece of a query. Two are the same if their texts are.

    text      as the engine will read it.
    skeleton  the same with neutral literals in the place of all literals.
    weight    about how many characters the question itself put into it: it is limited (`LARGEST`).
    """

    __slots__ = ("skeleton", "text", "weight")

    text: str
    skeleton: str
    weight: int

    def __init__(self) -> None:
        raise TypeError("SQL is composed: use name, literal, keyword, sql or joined")

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Sql) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<sql {self.text!r}>"

    def __str__(self) -> NoReturn:
        raise TypeError("SQL is no text: compose it with sql(template, …)")

    def __format__(self, wanted: str) -> NoReturn:
        raise TypeError("SQL is no text: compose it with sql(template, …)")

    def __setattr__(self, label: str, value: object) -> NoReturn:
        raise AttributeError("SQL does not change")

    def __reduce__(self) -> NoReturn:
        raise TypeError("SQL is not copied or pickled: compose it again")


def _made(text: str, skeleton: str, weight: int) -> Sql:
    made = object.__new__(Sql)
    object.__setattr__(made, "text", text)
    object.__setattr__(made, "skeleton", skeleton)
    object.__setattr__(made, "weight", weight)
    return made


# tokens


def name(identifier: str) -> Sql:
    """An identifier, quoted."""
    quoted = quoting.name(identifier)
    return _made(quoted, quoted, len(quoted))


def literal(value: Value) -> Sql:
    """A value, quoted. Whole numbers are exact up to 127 bits; all other numbers are DOUBLE.

    >>> literal("it's").text, literal("it's").skeleton
    ("'it''s'", "''")
    """
    return _literal(quoting.literal(value), _neutral(value))


def _literal(text: str, neutral: str) -> Sql:
    return _made(text, neutral, len(neutral) + len(text) // _LIGHT)


def _neutral(value: Value) -> str:
    """A literal that is parsed as this one is, whatever it holds."""
    if value is None or isinstance(value, bool):
        return quoting.literal(value)
    if isinstance(value, (int, float, Fraction)):
        return _neutral_number(quoting.literal(value))
    if isinstance(value, date):
        return "TIMESTAMP ''" if isinstance(value, datetime) else "DATE ''"
    return "''"


def _neutral_number(text: str) -> str:
    if text.startswith("'"):
        return text  # infinity
    sign = "-" if text.startswith("-") else ""
    return f"{sign}0" if text.removeprefix("-").isdecimal() else f"{sign}0e0"


def double(value: float | Fraction) -> Sql:
    """The nearest float64, as DOUBLE."""
    text = quoting.double(value)
    return _literal(text, _neutral_number(text))


def listed(values: Iterable[Value]) -> Sql:
    """Literals with commas between them. They weigh nothing: long lists come from policies and tables."""
    given = list(values)
    return _made(", ".join(map(quoting.literal, given)), ", ".join(map(_neutral, given)), 0)


def lines(rows: Iterable[Sequence[Value]]) -> Sql:
    """Rows of literals, each in parentheses, with commas between them; they weigh nothing."""
    given = list(rows)
    text, skeleton = (
        ", ".join(f"({', '.join(map(written, row))})" for row in given) for written in (quoting.literal, _neutral)
    )
    return _made(text, skeleton, 0)


@lru_cache(maxsize=1024)
def keyword(words: str) -> Sql:
    """Words of the language: a function, a type, a direction. What is not letters is refused."""
    if not _WORDS.fullmatch(words):
        raise ValueError("a keyword is made of letters")
    return _made(words, words, len(words))


def matched(part: Sql, values: Sequence[Value]) -> Sql:
    """Which of these values a part is, counted from 0; NULL if it is none. Policies list them, so they weigh little."""
    weight = part.weight * len(values) // 4
    if weight > LARGEST:
        raise too_large()
    text, skeleton = (
        " ".join(f"WHEN {own} = {written(value)} THEN {index}" for index, value in enumerate(values))
        for own, written in ((part.text, quoting.literal), (part.skeleton, _neutral))
    )
    return sql("CASE {} END", _made(text, skeleton, weight))


# composition


def sql(template: str, *parts: Sql) -> Sql:
    """A constant text with parts in the place of {}, {}, … or {0}, {1}, …

    >>> sql("COUNT({})", name("x")).text
    'COUNT("x")'
    """
    pieces, holes = _cut(template)
    if holes and max(holes) >= len(parts):
        raise IndexError("a template has more holes than parts")
    return _side_by_side(pieces, [parts[hole] for hole in holes])


def form(template: str) -> Callable[[Sequence[Sql]], Sql]:
    """What composes a constant text with parts."""
    _cut(template)
    return lambda parts: sql(template, *parts)


def joined(separator: str, parts: Iterable[Sql]) -> Sql:
    """Parts side by side, with a constant text between them."""
    listed = list(parts)
    return _side_by_side(["", *[separator] * (len(listed) - 1), ""], listed) if listed else NOTHING


@lru_cache(maxsize=4096)
def _cut(template: str) -> tuple[list[str], list[int]]:
    """The pieces of a template, one more than its holes, and which part belongs into each hole."""
    pieces: list[str] = []
    holes: list[int] = []
    text = ""
    for before, label, wanted, conversion in Formatter().parse(template):
        text += before
        if label is None:
            continue
        if wanted or conversion or not (label.isdecimal() or not label):
            raise ValueError("holes of a template are {} or {0}")
        holes.append(int(label) if label else len(holes))
        pieces.append(text)
        text = ""
    return [*pieces, text], holes


def _side_by_side(pieces: Sequence[str], parts: Sequence[Sql]) -> Sql:
    for part in parts:
        if type(part) is not Sql:
            raise TypeError("a part of SQL is SQL: use name, literal or keyword")
    weight = sum(map(len, pieces)) + sum([part.weight for part in parts])
    if weight > LARGEST:  # before it is made: it may be many times as large as its parts
        raise too_large()
    text = _woven(pieces, [part.text for part in parts])
    if all(part.skeleton is part.text for part in parts):
        return _made(text, text, weight)
    return _made(text, _woven(pieces, [part.skeleton for part in parts]), weight)


def _woven(pieces: Sequence[str], parts: Sequence[str]) -> str:
    woven: list[Any] = [None] * (len(pieces) + len(parts))
    woven[::2], woven[1::2] = pieces, parts
    return "".join(woven)


def too_large() -> Refused:
    return Refused(
        "too-complex", "the question makes too large a query: it grows with every function around a function",
        "nest fewer functions, or ask several questions",
    )  # fmt: skip


NOTHING: Final = _made("", "", 0)


# values on a grid, and dates: the same texts as those that make the private copy


def dated(value: Sql, kind: str) -> Sql:
    """A date or time of the years 1 to 9999, else NULL."""
    return repeated(quoting.DATED[kind], value)


def stored(value: Sql, kind: str) -> Sql:
    """A value of the type of its kind, as columns hold it."""
    return sql(quoting.STORED[kind], value)


def repeated(template: str, value: Sql, *constants: Sql) -> Sql:
    """A template in which one part stands more than once. A long one is named instead, so that texts do not double.

    >>> repeated("CASE WHEN {0} > {1} THEN {0} END", name("x"), literal(1)).text
    'CASE WHEN "x" > 1 THEN "x" END'
    """
    if value.weight <= _LONG:
        return sql(template, value, *constants)
    named = keyword("discreet_value")
    return sql("list_transform([{}], lambda {}: {})[1]", value, named, sql(template, named, *constants))


def repeating(template: str) -> Callable[[Sequence[Sql]], Sql]:
    """What composes a constant text with parts, of which the first stands in it more than once."""
    return lambda parts: repeated(template, *parts)


def cut(value: Sql) -> Sql:
    """A text, or what is left of it: a query makes at most 64 of them, each of 4 kB in some thousand rows."""
    return weighed(sql("LEFT({}, {})", value, literal(TEXT_LENGTH)), LARGEST // 64)


def weighed(value: Sql, more: int) -> Sql:
    """The same, weighing more than its text does, because rows need much time or memory for it."""
    if value.weight + more > LARGEST:
        raise too_large()
    return _made(value.text, value.skeleton, value.weight + more)


def whole_steps(value: Sql, step: Fraction | None, low: int, high: int) -> Sql:
    """A number as an integer number of steps: the theorem is that of `quoting.whole_steps`."""
    if step is None:
        return sql(quoting.WHOLE, value, literal(high), literal(low))
    edges = double(high * step), double(low * step)
    return sql(quoting.STEPS, value, edges[0], literal(high), edges[1], literal(low), double(step))
