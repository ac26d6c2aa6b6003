"""Arithmetic of literals, and literals beside whole numbers: what engines do exactly is done exactly."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.expression import Expr

LARGEST: Final = Fraction(10**300)
_FOLDED: Final[dict[str, Callable[..., Any]]] = {
    "NEGATE": lambda a: -a,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: math.trunc(Fraction(a) / b),
    "%": lambda a, b: a - b * math.trunc(Fraction(a) / b),
}
"""Arithmetic of literals: engines compute with decimals there, and so exactly."""


def folded(name: str, arguments: Sequence[Expr]) -> Expr | None:
    """What arithmetic of literals gives, as a literal; None if it is something else."""
    written = [argument.written for argument in arguments]
    values = [each.value for each in written if each is not None and (each.exact or name == "NEGATE")]
    fold = _FOLDED.get(name)
    if fold is None or len(values) < len(arguments) or not all(_is_number(value) for value in values):
        return None
    if name in ("//", "%") and values[1] == 0:
        return None
    if name == "//" and not all(isinstance(value, int) for value in values):
        return None
    value = fold(*values)
    if abs(value) > LARGEST:
        raise Refused("syntax", "a number is too large", "use another unit")
    return Expr.literal(value, exact=all(each is not None and each.exact for each in written))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN", "NULLIF", "IS DISTINCT FROM"})
_EXACT: Final = 2**52
"""Up to here every whole number and its half are a float64."""


def comparable(arguments: list[Expr]) -> list[Expr]:
    """Whole numbers beside literals with decimals, so that they are compared as they are, and not as floats.

    Written decimals such as 5.0 become whole, and so do floats such as 2e18, by the value that a float64 has; with
    other decimals all are compared as floats, which is exact for the sizes that are let through.
    """
    if not any(argument.domain.kind is Kind.INTEGER and not argument.constant for argument in arguments):
        return arguments
    exact = [
        Expr.literal(int(value))
        if isinstance(value := _as_stored(argument), Fraction) and value.denominator == 1
        else argument
        for argument in arguments
    ]
    values = [argument.value for argument in exact]
    large = [value for value in values if _is_number(value) and abs(value) > _EXACT]  # type: ignore[arg-type, operator]
    if large and any(isinstance(value, Fraction) for value in values):
        raise Refused("function-not-allowed", "large whole numbers are not compared with decimals", "round them")
    return exact


def _as_stored(argument: Expr) -> Any:
    """The value that a literal has in an engine: a float such as 1e23 is the nearest float64."""
    written = argument.written
    if written is None or written.exact or not isinstance(written.value, Fraction):
        return argument.value
    return Fraction(float(written.value))


def number(text: str) -> int | Fraction:
    if not re.fullmatch(r"[0-9._]{1,400}([eE][-+]?[0-9]{1,4})?", text):
        raise Refused("syntax", "this is not a number", "write it in decimal digits")
    try:
        value = Fraction(text.replace("_", ""))
    except (ValueError, ZeroDivisionError):
        raise Refused("syntax", "this is not a number", "write it in decimal digits") from None
    if abs(value) > LARGEST or (value and abs(value) < 1 / LARGEST):
        raise Refused("syntax", "a number is too large or too small", "use another unit")
    whole = value.denominator == 1 and not re.search(r"[.eE]", text)
    return int(value) if whole else value
