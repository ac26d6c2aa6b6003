"""A function of the table on arguments: how many it takes, and of which kinds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from discreet.composed import sql
from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.constants import check_constants
from discreet.sql.domain import DATED, NUMERIC
from discreet.sql.expression import Expr
from discreet.sql.functions import FUNCTIONS
from discreet.sql.literals import COMPARISONS, comparable

_WORDS: Final = {Kind.INTEGER: "a number", Kind.NUMBER: "a number", Kind.TEXT: "text", Kind.BOOLEAN: "true or false",
                 Kind.DATE: "a date", Kind.TIMESTAMP: "a date", None: "NULL"}  # fmt: skip
_LETTERS: Final = {"n": NUMERIC, "i": {Kind.INTEGER}, "t": {Kind.TEXT}, "b": {Kind.BOOLEAN}, "d": DATED}
_NAMES: Final = {"n": "a number", "i": "a whole number", "t": "text", "b": "true or false", "d": "a date or time"}


def apply(name: str, arguments: Sequence[Expr]) -> Expr:
    """A function of the table, on arguments of the kinds that it takes."""
    if name == "CONCAT" and len(arguments) > 2:  # two by two: no text is longer than two before it is cut
        half = len(arguments) // 2
        return apply(name, [apply(name, arguments[:half]), apply(name, arguments[half:])])
    function = FUNCTIONS[name]
    if any(argument.domain.lists for argument in arguments):
        raise Refused(
            "function-not-allowed",
            "lists are shown as they are, and not computed with",
            "leave what is computed of it out, or take one of its numbers: QUANTILE(x, 0.5), COUNT_IF(x < 10)",
        )
    letters = _letters(function.takes, len(arguments))
    shown = function.name.split(" ")[0]
    if letters is None:
        raise Refused("function-not-allowed", f"{shown} does not take {len(arguments)} arguments", "see the functions")
    given = _alike(shown, letters, list(arguments))
    if name in COMPARISONS:
        given = comparable(given)
    for letter, argument in zip(letters, given, strict=True):
        kinds = _LETTERS.get(letter)
        if kinds and argument.domain.kind is not None and argument.domain.kind not in kinds:
            kind = _WORDS[argument.domain.kind]
            raise Refused("function-not-allowed", f"{shown} takes {_NAMES[letter]}, not {kind}", "cast it")
        if letter == "c" and not argument.constant:
            raise Refused("function-not-allowed", f"{shown} takes a constant here", "write a number or a text")
    check_constants(name, given)
    parts = [
        sql("CAST({} AS DOUBLE)", part.computed if function.chained and part.computed is not None else part.sql)
        if letter in "ni" or (letter == "c" and part.domain.kind in NUMERIC)
        else part.sql
        for letter, part in zip(letters, given, strict=True)
    ]
    if name.startswith("SUBSTR"):
        parts = [part.sql for part in given]
    if name in ("=", "IS DISTINCT FROM") and all(
        part.domain.kind is Kind.INTEGER and not part.constant for part in given
    ):
        # computed integers are DOUBLE: compared as such, two large integers would equal one
        parts = [sql("TRY_CAST({} AS BIGINT)", part.sql) for part in given]
    return function(parts, given)


def _letters(takes: str, count: int) -> str | None:
    if takes == "(bs)*s":
        return "bs" * (count // 2) + "s" if count % 2 and count >= 3 else None
    if takes.endswith("*"):
        least = takes[:-1]
        return least + least[-1] * (count - len(least)) if count >= len(least) else None
    return takes if len(takes) == count else None


def _alike(shown: str, letters: str, arguments: list[Expr]) -> list[Expr]:
    """Arguments that must be of one kind: texts beside dates become dates, everything else must fit already."""
    indices = [index for index, letter in enumerate(letters) if letter == "s"]
    kinds = {arguments[index].domain.kind for index in indices} - {None}
    if len(kinds) < 2 or kinds <= NUMERIC:
        return arguments
    moments = kinds & DATED
    if moments and kinds <= DATED | {Kind.TEXT}:
        kind = Kind.TIMESTAMP if Kind.TIMESTAMP in moments else Kind.DATE
        for index in indices:
            arguments[index] = dated(arguments[index], kind)
        return arguments
    words = sorted({_WORDS[kind] for kind in kinds})
    raise Refused("function-not-allowed", f"{shown} cannot mix {' and '.join(words)}", "write both of one kind")


def dated(argument: Expr, kind: Kind) -> Expr:
    """A date, or a text that says one, as a date or time."""
    if argument.domain.kind is Kind.TEXT:
        if not argument.constant:
            raise Refused("function-not-allowed", "a text is not a date", f"write CAST(… AS {kind.value.upper()})")
        return moment(str(argument.value), kind)
    if argument.domain.kind is Kind.DATE and kind is Kind.TIMESTAMP:
        return apply("CAST TIMESTAMP", [argument])
    return argument


def moment(text: str, kind: Kind) -> Expr:
    """A literal date or time."""
    try:
        value = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Refused("syntax", "this is not a date", "write it as 2026-01-31 or 2026-01-31 12:00:00") from None
    if value.tzinfo is not None:
        raise Refused("syntax", "times have no zone here", "leave the zone out")
    return Expr.literal(value.date() if kind is Kind.DATE else value)
