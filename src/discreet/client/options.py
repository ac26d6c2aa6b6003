"""What may stand after the question mark of an address: on what terms questions are asked, and how answers look."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

COLUMNS: Final = "columns"
ERRORS: Final = (COLUMNS, "none")
"""Where the errors of noisy values are wanted: in columns beside them, or not at all."""


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _flag(text: str) -> bool:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.lower()]


def _place_of_errors(text: str) -> str:
    return ERRORS[ERRORS.index(text)]


OPTIONS: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "epsilon": (_number, "0.5"),
    "rho": (_number, "0.005"),
    "error": (_number, "10"),
    "group_size": (int, "1000"),
    "confirm": (_flag, "true"),
    "confidence": (_number, "0.95"),
    "analyst": (str, "epidemiology"),
    "errors": (_place_of_errors, COLUMNS),
    "dummy": (_flag, "true"),
    "insecure": (_flag, "true"),
    "ca": (str, "authority.pem"),
}
"""How each is read, and an example."""


def option(name: str, given: str | tuple[str, ...]) -> Any:
    """What an option says; ValueError, in words, for what is none."""
    if name not in OPTIONS:
        raise ValueError(f"the address has an unknown option, {name!r} → options: {', '.join(OPTIONS)}")
    if not isinstance(given, str):
        raise ValueError(f"{name} stands in the address more than once → give it once")
    read, example = OPTIONS[name]
    try:
        return read(given)
    except (KeyError, ValueError):
        raise ValueError(f"{given!r} cannot be the {name} of an address → write {name}={example}") from None


def without_options(url: str) -> tuple[str, dict[str, Any]]:
    """An address without what follows its question mark, and what that says.

    >>> without_options("https://host/hospital?errors=columns&epsilon=0.5")
    ('https://host/hospital', {'errors': 'columns', 'epsilon': 0.5})
    """
    parts = urlsplit(url)
    given = parse_qs(parts.query, keep_blank_values=True, max_num_fields=2 * len(OPTIONS))
    said = {name: option(name, values[0] if len(values) == 1 else tuple(values)) for name, values in given.items()}
    return urlunsplit(parts._replace(query="")), said
