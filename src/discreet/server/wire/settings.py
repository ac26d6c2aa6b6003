"""SET, SHOW and RESET: what a session may set, what it means here, and what a query costs.

There is no cost that nobody set: tools ask much that nobody wanted, and each query is charged for good.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from discreet.server.wire.problems import Failed
from discreet.server.wire.types import FALSE, TRUE
from discreet.sql.read import DIALECTS
from discreet.version import __version__

VERSION: Final = "15.0"
"""Of the catalogue that tools find here: they choose their questions by it."""
VERSION_WORDS: Final = f"PostgreSQL {VERSION} (discreet {__version__}: answers are noisy, and each has a cost)"
OURS: Final = "discreet."
COSTS: Final = ("epsilon", "rho", "error")
"""Of these the last that was set counts."""
MOST_OTHERS: Final = 100
MAX_LENGTH: Final = 1000
CUSTOM: Final = re.compile(r"[a-z_][a-z0-9_$]*(?:\.[a-z_][a-z0-9_$]*)+")


NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def _number(text: str) -> str:
    """As PostgreSQL writes numbers: what Python alone takes for one, such as 1_0, is none."""
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError
    return text


def _rows(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,14}", text):
        raise ValueError
    return text


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError
        return text.lower()

    return read


def _flag(text: str) -> str:
    word = text.lower()
    if word not in TRUE | FALSE:
        raise ValueError
    return "on" if word in TRUE else "off"


def _milliseconds(text: str) -> str:
    number, unit = re.fullmatch(r"(\d{1,9})\s*(us|ms|s|min|h|d)?", text.strip()).groups()  # type: ignore[union-attr]
    factor = {"us": 0.001, "ms": 1, None: 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}[unit]
    return f"{int(int(number) * factor)}ms" if int(number) else "0"


@dataclass(frozen=True, slots=True)
class Known:
    """A setting: its value at first, how a new one is read, an example, and whether clients are told of changes."""

    value: str
    read: Callable[[str], str] = str
    example: str = ""
    reported: bool = False
    fixed: bool = False


_iso: Final = re.compile(r"iso\b.*", re.IGNORECASE)


def _date_style(text: str) -> str:
    if not _iso.fullmatch(text.strip()):
        raise ValueError
    return "ISO, MDY"


KNOWN: Final[dict[str, Known]] = {
    "discreet.epsilon": Known("", _number, "0.1"),
    "discreet.rho": Known("", _number, "0.001"),
    "discreet.delta": Known("", _number, "1e-6"),
    "discreet.error": Known("", _number, "10"),
    "discreet.group_size": Known("", _rows, "1000"),
    "discreet.confirm": Known("off", _flag, "on"),
    "discreet.confidence": Known("", _number, "0.95"),
    "discreet.errors": Known("none", _one_of("none", "columns"), "'columns'"),
    "discreet.analyst": Known("", str, "'epidemiology'"),
    "discreet.blocks": Known("", str, "'newest 7'"),
    "discreet.dialect": Known("postgres", _one_of(*DIALECTS), "'postgres'"),
    "discreet.dummy": Known("off", _flag, "on"),
    "application_name": Known("", str, reported=True),
    "bytea_output": Known("hex"),
    "client_encoding": Known("UTF8", _one_of("utf8", "utf-8", "unicode", "'utf-8'"), "UTF8", reported=True),
    "client_min_messages": Known("notice"),
    "datestyle": Known("ISO, MDY", _date_style, "ISO", reported=True),
    "default_table_access_method": Known("heap"),
    "default_transaction_isolation": Known("read committed"),
    "default_transaction_read_only": Known("on"),
    "enable_seqscan": Known("on"),
    "extra_float_digits": Known("1"),
    "geqo": Known("on"),
    "idle_in_transaction_session_timeout": Known("0"),
    "idle_session_timeout": Known("0"),
    "integer_datetimes": Known("on", reported=True, fixed=True),
    "intervalstyle": Known("postgres", reported=True),
    "is_superuser": Known("off", reported=True, fixed=True),
    "jit": Known("off"),
    "lc_collate": Known("C", fixed=True),
    "lc_ctype": Known("C", fixed=True),
    "lc_messages": Known("C"),
    "lc_monetary": Known("C"),
    "lock_timeout": Known("0"),
    "max_identifier_length": Known("63", fixed=True),
    "max_index_keys": Known("32", fixed=True),
    "row_security": Known("on"),
    "search_path": Known('"$user", public'),
    "server_encoding": Known("UTF8", reported=True, fixed=True),
    "server_version": Known(VERSION, reported=True, fixed=True),
    "server_version_num": Known("150000", fixed=True),
    "session_authorization": Known("", reported=True, fixed=True),
    "standard_conforming_strings": Known("on", _one_of("on", "true", "1"), "on", reported=True),
    "statement_timeout": Known("0", _milliseconds, "'5s'"),
    "timezone": Known("UTC", reported=True),
    "transaction_isolation": Known("read committed"),
    "transaction_read_only": Known("on"),
    "work_mem": Known("4MB"),
}
CASED: Final = {"datestyle": "DateStyle", "intervalstyle": "IntervalStyle", "timezone": "TimeZone"}
"""As PostgreSQL writes them."""
ALIASES: Final = {
    "names": "client_encoding",
    "time zone": "timezone",
    "transaction isolation level": "transaction_isolation",
    "session authorization": "session_authorization",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a session: a value, never changed; `with_` gives another."""

    set_: Mapping[str, str] = field(default_factory=dict)
    user: str = ""

    def value(self, name: str) -> str:
        """The value of a setting, or a failure: there is no such one."""
        key = canonical(name)
        if key == "session_authorization":
            return self.user
        if key in self.set_:
            return self.set_[key]
        if key not in KNOWN:
            raise unknown(key)
        return KNOWN[key].value

    def with_(self, name: str, value: str | None) -> Settings:
        """With another value, or with the one at first."""
        key = canonical(name)
        others = {known: text for known, text in self.set_.items() if known != key}
        if value is None or (key.startswith(OURS) and not value):
            if key not in KNOWN and not _is_custom(key):
                raise unknown(key)
            return replace(self, set_=others)
        others[key] = _read(key, value)
        if key.removeprefix(OURS) in COSTS:
            for other in COSTS:
                if OURS + other != key:
                    others.pop(OURS + other, None)
        if sum(known not in KNOWN for known in others) > MOST_OTHERS:
            raise Failed("53400", f"a session has at most {MOST_OTHERS} settings of other programs")
        return replace(self, set_=others)

    def reset(self) -> Settings:
        return replace(self, set_={})

    def ours(self) -> dict[str, Any]:
        """What a query is told: its cost, and how it is asked."""
        said = {name.removeprefix(OURS): text for name, text in self.set_.items() if name.startswith(OURS)}
        numbers: dict[str, Any] = {name: _plain(said[name]) for name in (*COSTS, "delta", "confidence") if name in said}
        if "error" in said:  # these are about errors that are wanted
            size = {"group_size": int(said["group_size"])} if "group_size" in said else {}
            numbers |= {**size, "confirm": self.is_on("discreet.confirm")}
        texts: dict[str, Any] = {name: said[name] for name in ("analyst", "blocks") if name in said}
        how = {"dialect": self.value("discreet.dialect"), "dummy": self.is_on("discreet.dummy")}
        return {**numbers, **texts, **how}

    def is_on(self, name: str) -> bool:
        return self.value(name) == "on"

    @property
    def with_errors(self) -> bool:
        """Whether noisy columns are followed by the ends of their intervals."""
        return self.value("discreet.errors") == "columns"

    @property
    def tells_cost(self) -> bool:
        return self.value("client_min_messages").lower() in ("notice", "info", "log") or self.value(
            "client_min_messages"
        ).lower().startswith("debug")

    @property
    def seconds(self) -> float | None:
        """After which a statement is cancelled."""
        milliseconds = int(self.value("statement_timeout").removesuffix("ms"))
        return milliseconds / 1000 if milliseconds else None

    def reported(self) -> dict[str, str]:
        """What clients are told of, by its name."""
        return {CASED.get(name, name): self.value(name) for name, known in KNOWN.items() if known.reported}

    def all(self) -> list[tuple[str, str]]:
        return [(CASED.get(name, name), self.value(name)) for name in sorted({*KNOWN, *self.set_})]


def canonical(name: str) -> str:
    """Settings are named in any case."""
    key = " ".join(name.lower().split())
    return ALIASES.get(key, key)


def unknown(key: str) -> Failed:
    fix = f"known here: {', '.join(name for name in KNOWN if name.startswith(OURS))}" if key.startswith(OURS) else ""
    return Failed("42704", f'unrecognized configuration parameter "{key[:80]}"', fix)


def _is_custom(key: str) -> bool:
    return bool(CUSTOM.fullmatch(key)) and not key.startswith(OURS) and len(key) <= 100


def _read(key: str, value: str) -> str:
    if len(value) > MAX_LENGTH or "\0" in value:
        raise Failed("22023", f"a value has at most {MAX_LENGTH} characters")
    if key not in KNOWN:
        if _is_custom(key):
            return value
        raise unknown(key)
    known = KNOWN[key]
    if known.fixed:
        raise Failed("55P02", f'parameter "{key}" cannot be changed')
    try:
        return known.read(value)
    except (ValueError, AttributeError):
        example = f"SET {CASED.get(key, key)} = {known.example}" if known.example else ""
        raise Failed("22023", f'invalid value for parameter "{key}"', example) from None


def _plain(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else float(text)


def options_of(text: str) -> list[tuple[str, str]]:
    """The settings in a connection's `options`: -c name=value, or --name=value, a backslash before a space in them."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise Failed("22023", "the options of the connection cannot be read", "write -c discreet.epsilon=0.1") from None
    pairs = []
    while words:
        word = words.pop(0)
        if word == "-c" and words:
            word = "--" + words.pop(0)
        elif word.startswith("-c"):
            word = "--" + word[2:]
        name, equal, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not equal:
            raise Failed("22023", "the options of the connection cannot be read", "write -c discreet.epsilon=0.1")
        pairs.append((name if name.startswith(OURS) else name.replace("-", "_"), value))
    return pairs
