"""Pieces of TOML, written so that no name can break out of its place, not even out of a comment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any, Final

from discreet.policy.problems import shown_key
from discreet.policy.section import RuleError, identifier

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def quoted(text: str) -> str:
    r"""A text as a TOML string on one line.

    >>> print(quoted('a "b"\n\x07'))
    "a \"b\"\n\u0007"
    """
    return '"' + "".join(_ESCAPES.get(letter) or _printable(letter) for letter in text) + '"'


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def key(name: str) -> str:
    """A name as a TOML key: bare where that is allowed.

    >>> key("age"), key("first name")
    ('age', '"first name"')
    """
    return name if shown_key(name) == name else quoted(name)


def value(given: object) -> str:
    """A value as TOML writes it, on one line.

    >>> value({"min": 0, "max": 0.5}), value(["F", "M"]), value(True), value({})
    ('{ min = 0, max = 0.5 }', '["F", "M"]', 'true', '{}')
    """
    return _WRITERS[type(given)](given)


def _inline(given: dict[str, Any]) -> str:
    fields = ", ".join(f"{key(name)} = {value(each)}" for name, each in given.items())
    return f"{{ {fields} }}" if fields else "{}"


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    str: quoted,
    bool: lambda given: "true" if given else "false",
    int: repr,
    float: repr,
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
    list: lambda given: f"[{', '.join(map(value, given))}]",
    dict: _inline,
}


def is_name(text: str) -> bool:
    """Whether a policy can declare a table or a column of this name."""
    try:
        identifier(text)
    except RuleError:
        return False
    return True


def line(code: str, comment: str = "") -> str:
    """A line with its comment, in one column where that fits.

    >>> line("epsilon = 1.0", "all that may ever be spent")
    'epsilon = 1.0                       # all that may ever be spent'
    """
    return f"{code:<35} # {comment}" if comment else code


class Names:
    """Names for tables: valid in a policy, and none twice, whatever its case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, wanted: str) -> str:
        """The name, or the nearest that is free."""
        base = wanted if is_name(wanted) else "table"
        number = 1
        name = base
        while name.casefold() in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name.casefold())
        return name


def head(name: str, unit: str, *, decided: bool = False, decisions: Mapping[str, Any] | None = None) -> list[str]:
    """The beginning of a draft: what nobody but the owner can decide, and what the owner has decided."""
    known = decisions or {}
    budget, units = known.get("budget", {}), {**({"name": unit} if decided else {}), **known.get("unit", {})}
    return [
        f"name = {quoted(name)}",
        *(
            f"{each} = {value(known[each])}"
            for each in ("max_cost", "implicit_bounds", "acknowledged")
            if each in known
        ),
        "",
        "[budget]",
        *([] if "epsilon" in budget else _UNDECIDED_BUDGET),
        *(line(f"{key(each)} = {value(given)}", _SAID.get(each, "")) for each, given in budget.items()),
        "",
        "[unit]",
        *([] if "name" in units else [line(f"# name = {quoted(unit)}", "decide: whom or what you protect")]),
        *(f"{key(each)} = {value(given)}" for each, given in units.items()),
    ]


_SAID: Final = {"epsilon": "all answers to everybody together, for ever"}
_UNDECIDED_BUDGET: Final = (
    line("# epsilon = 1.0", "decide: all that may ever be spent; usual are 0.1 to 10"),
    line("# delta = 1e-9", "leave out for pure ε; else far below 1 / (number of units)"),
)
