"""What is wrong with a policy file: every problem at once, each with its place and its fix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from discreet.printing import lines_of

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_SHOWN: Final = 60
_LONGEST_NAME: Final = 200
_MOST_LISTED: Final = 20
_NOUNS: Final[dict[type, str]] = {
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    date: "a date",
    datetime: "a timestamp",
    time: "a time of day",
    list: "a list",
    dict: "a table",
}


class Severity(StrEnum):
    """Errors keep the policy from working or from protecting; warnings may; notes are worth a look."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to fix or to look at: where it stands (dotted keys, or line and column), what it is, what to write."""

    severity: Severity
    where: str
    message: str
    fix: str = ""
    lint: str = ""
    """What looked for it, as the policy names it under `acknowledged`; of what cannot be acknowledged, nothing."""

    @classmethod
    def error(cls, where: str, message: str, fix: str = "") -> Finding:
        return cls(Severity.ERROR, where, message, fix)

    @property
    def reason(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def __str__(self) -> str:
        return f"{self.reason}; {self.fix}" if self.fix else self.reason


class PolicyError(ValueError):
    """The policy file cannot be used. `problems` holds all that is wrong with it."""

    def __init__(self, file: str, problems: Iterable[Finding]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__(self.file, self.problems)

    def __str__(self) -> str:
        return lines_of("\n".join(f"{self.file}: {problem}" for problem in self.problems))


def meant(name: str, options: Iterable[str]) -> str | None:
    """What to say about a name that nothing has, if something is spelled like it.

    >>> meant("visit", ["patients", "visits"])
    'did you mean visits?'
    """
    near = suggest(name, options)
    return None if near is None else f"did you mean {near}?"


def suggest(name: str, options: Iterable[str]) -> str | None:
    """The option that is spelled most like the name, whatever its case, if any is near.

    >>> suggest("mim", ["max", "min", "step"])
    'min'
    >>> suggest("EPSILON", ["delta", "epsilon"])
    'epsilon'
    >>> suggest("colour", ["min", "max"])
    """
    if len(name) > _LONGEST_NAME:
        return None  # comparing takes time in the product of the lengths
    folded = {option.casefold(): option for option in options if len(option) <= _LONGEST_NAME}
    near = get_close_matches(name.casefold(), folded, n=1)
    return folded[near[0]] if near else None


def choices(name: str, options: Iterable[str]) -> str:
    """The nearest spelling, and all that is allowed."""
    allowed = list(options)
    near = suggest(name, allowed)
    hint = f"did you mean {shown(near)}? " if near else ""
    listed = [*map(shown_key, allowed[:_MOST_LISTED]), *(["…"] if len(allowed) > _MOST_LISTED else [])]
    return f"{hint}allowed: {', '.join(listed)}"


def shown(text: str) -> str:
    """The text in quotes: on one line, printable and short, whatever is in it."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")


def shown_key(key: str) -> str:
    """A key as it is written in TOML."""
    return key if len(key) <= _LONGEST_SHOWN and _BARE.fullmatch(key) else shown(key)


def key_path(*keys: str) -> str:
    """Where something stands in the policy, as TOML writes it."""
    return ".".join(map(shown_key, keys))


def shown_file(name: str) -> str:
    """A file name on one line."""
    return name if name.isprintable() else repr(name)


def noun(value: object) -> str:
    """What sort of TOML value this is."""
    return _NOUNS[type(value)]
