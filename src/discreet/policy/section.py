"""Reading one TOML table by a table of rules, collecting what is wrong on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final
from unicodedata import normalize

from discreet import exact
from discreet.policy.problems import Finding, choices, key_path, noun, shown

MOST_LIMIT: Final = 10**9
LONGEST_NAME: Final = 200
RESERVED_PREFIX: Final = "_discreet"
_MOST_INTEGER: Final = 2**63
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that are drawn as nothing, and that Python calls printable."""


class RuleError(ValueError):
    """A value that its rule refuses."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Field:
    """An allowed key: the rule that its value obeys, and what to add when it is missing (optional keys: nothing)."""

    rule: Callable[[Any], Any]
    needed: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the file, and the list on which all sections put their problems."""

    problems: list[Finding]
    keys: tuple[str, ...] = ()

    def at(self, *keys: str) -> Section:
        return Section(self.problems, self.keys + keys)

    def report(self, message: str, fix: str = "") -> None:
        self.problems.append(Finding.error(key_path(*self.keys), message, fix))

    def fields(self, raw: object, keys: Mapping[str, Field]) -> dict[str, Any]:
        """The values of a section that obey their rules; all others are reported."""
        given = self.table(raw)
        for key in given:
            if key not in keys:
                self.at(key).report("unknown key", choices(key, keys))
        for key, row in keys.items():
            if row.needed and key not in given and isinstance(raw, dict):
                self.at(key).report("missing", row.needed)
        values = {}
        for key in keys:
            if key in given:
                try:
                    values[key] = keys[key].rule(given[key])
                except RuleError as wrong:
                    self.at(key).report(str(wrong), wrong.fix)
                except ValueError as wrong:
                    self.at(key).report(str(wrong))
        return values

    def table(self, raw: object) -> dict[str, Any]:
        """The value as a TOML table; anything else is reported and taken as empty."""
        if isinstance(raw, dict):
            return raw
        self.report(f"must be a table, not {noun(raw)}", f"begin it with [{key_path(*self.keys)}]")
        return {}

    def named(self, raw: object, what: str) -> Iterator[tuple[str, Section, object]]:
        """The entries of a section whose keys are names that the owner chose, with their sections.

        DuckDB cannot tell names apart that differ in case only, and people can hardly; nor two ways to write a letter.
        """
        taken: dict[str, str] = {}
        for name, value in self.table(raw).items():
            there = self.at(name)
            try:
                identifier(name)
            except RuleError as wrong:
                there.report(f"{what} {wrong}", wrong.fix)
            folded = alike(name)
            if folded in taken:
                other = taken[folded]
                how = "in case only" if other.casefold() == name.casefold() else "in nothing that can be seen"
                there.report(f"{what} {shown(name)} differs from {shown(other)} {how}", "rename one")
            taken.setdefault(folded, name)
            yield name, there, value


def alike(name: str) -> str:
    """What names have in common that look the same: case, ways to write one letter, space, and what cannot be seen.

    >>> alike("José") == alike("Jose\\u0301 "), alike("ICU") == alike("icu"), alike("a") == alike("b")
    (True, True, False)
    """
    return " ".join(normalize("NFC", _UNSEEN.sub("", normalize("NFD", name)).casefold()).split())


def anything(value: Any) -> Any:
    """A section that is read later, by its own rules."""
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise RuleError(f"must be a text, not {noun(value)}", "put it in quotes")
    if not value or not value.isprintable():
        raise RuleError("must be a text of at least one character, without control characters")
    return value


def texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise RuleError(f"must be a list of texts, not {noun(value)}", "put it in brackets")
    return tuple(map(text, value))


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise RuleError(f"must be true or false, not {noun(value)}", "write true or false without quotes")
    return value


def number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RuleError(f"must be a number, not {noun(value)}", "write a number without quotes")
    if isinstance(value, int) and not -_MOST_INTEGER <= value < _MOST_INTEGER:
        raise RuleError("is an integer of more than 64 bits", "write an ordinary number")
    return exact.number(value, "it")


def epsilon(value: object) -> Fraction:
    number(value)
    return exact.epsilon(value)


def percent(value: object) -> Fraction:
    """A text such as "25 %", as a fraction."""
    fix = 'write it as share = "25 %"'
    written = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%", value) if isinstance(value, str) else None
    if written is None:
        raise RuleError("must be a text with a number and a per cent sign", fix)
    part = Fraction(written[1]) / 100
    if not 0 < part <= 1:
        raise RuleError("must be above 0 % and at most 100 %", fix)
    return part


def delta(value: object) -> Fraction:
    number(value)
    return exact.probability(value, "delta")


def _whole(least: int, most: int, fix: str) -> Callable[[object], int]:
    """A rule for whole numbers between two others."""

    def rule(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise RuleError(f"must be an integer, not {noun(value)}", "write a whole number without quotes")
        if not least <= value <= most:
            raise RuleError(f"must lie between {least} and {most}", fix)
        return value

    return rule


limit: Final = _whole(1, MOST_LIMIT, "write how many one unit may have at most")
windows: Final = _whole(1, 1000, "write how often the budget may be spent, the first time included")
unit_rows: Final = _whole(
    2, MOST_LIMIT, "write how many rows one unit may make at any step of a question: 10000 is usual"
)
milliseconds: Final = _whole(0, 60_000, "write milliseconds: 0 turns it off, 100 is usual")
seconds: Final = _whole(1, 86_400, "write seconds: a question that takes longer is given up")
rate: Final = _whole(1, 1_000_000, "write how many requests one token may send in a minute")


def identifier(name: str) -> str:
    """A name of a table, a column or an analyst."""
    if not name or not name.isprintable() or len(name) > LONGEST_NAME or not alike(name):
        raise RuleError(
            f"{shown(name)} must have 1 to {LONGEST_NAME} characters, no control characters among them", "rename it"
        )
    if name.casefold().startswith(RESERVED_PREFIX):
        raise RuleError(f"{shown(name)} begins with {RESERVED_PREFIX}, which discreet keeps for itself", "rename it")
    return name
