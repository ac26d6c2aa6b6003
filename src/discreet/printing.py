"""Text that is safe to show, and amounts of privacy in few digits."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def printable(text: str) -> str:
    r"""The text on one line, without anything that could steer a terminal.

    >>> printable("SELECT 1\n  FROM t\x1b[2J")
    'SELECT 1 FROM t\\x1b[2J'
    """
    joined = " ".join(text.split())
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in joined)


def at_least(value: float) -> str:
    """Four digits, rounded up.

    >>> at_least(0.123401), at_least(3.0)
    ('0.1235', '3')
    """
    return _digits(value, ROUND_CEILING)


def at_most(value: float) -> str:
    """Four digits, rounded down.

    >>> at_most(0.99999), at_most(0.0)
    ('0.9999', '0')
    """
    return _digits(value, ROUND_FLOOR)


def _digits(value: float, rounding: str) -> str:
    return f"{float(Context(prec=4, rounding=rounding).create_decimal(repr(value))):g}"
