"""The hash that all engines have (`engines.digests`), in Spark's SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from discreet.engines.rewriting.terms import BITS, DAY, HUGE, NOTHING, REAL, TEXT, TIME, TRUTH, WHOLE, Term, Type
from discreet.engines.rewriting.tree import UnknownError

_HEX: Final = "format_string('%a', abs({0}))"
_MANTISSA: Final = f"CAST(conv(rpad(regexp_extract({_HEX}, '[.]([0-9a-f]+)p', 1), 13, '0'), 16, 10) AS BIGINT)"
_EXPONENT: Final = f"CAST(substring_index({_HEX}, 'p', -1) AS BIGINT)"
_BITS: Final = f"""(CASE WHEN {{0}} < 0 THEN CAST('-9223372036854775808' AS BIGINT) ELSE 0L END
    | CASE WHEN abs({{0}}) = CAST('Infinity' AS DOUBLE) THEN 9218868437227405312L
    WHEN startswith({_HEX}, '0x1') THEN shiftleft({_EXPONENT} + 1023L, 52) | {_MANTISSA} ELSE {_MANTISSA} END)"""
"""The bits of a number, of what Java writes for it in base 16: 0x1.8p0, or 0x0.0000000000001p-1022 for a tiny one."""
_SINCE: Final = "concat('s', CAST(unix_micros(CAST({0} AS TIMESTAMP)) AS STRING), ';')"
_SAID: Final[Mapping[Type, str]] = {
    WHOLE: "concat('i', CAST({0} AS STRING), ';')",
    HUGE: "concat('i', CAST({0} AS STRING), ';')",
    REAL: "CASE WHEN isnan({0}) THEN 'rn;' "  # of NULL Java writes a text
    f"WHEN {{0}} IS NOT NULL THEN concat('r', CAST({_BITS} AS STRING), ';') END",
    TEXT: "concat('t', CAST(octet_length({0}) AS STRING), ':', {0})",
    TRUTH: "CASE WHEN {0} THEN 'b1;' WHEN NOT {0} THEN 'b0;' END",
    DAY: _SINCE.format("CAST({0} AS TIMESTAMP_NTZ)"),
    TIME: _SINCE,
}
SIGN: Final = "CAST('-9223372036854775808' AS BIGINT)"
"""The first of 64 bits."""


def unsigned(bits: str) -> str:
    """Bits in the order of numbers without a sign."""
    return f"(({bits}) ^ {SIGN})"


def digest(values: Sequence[tuple[str, Type]]) -> str:
    """The hash of values, each with its type."""
    return f"CAST(conv(left(md5(concat({', '.join(_said(*value) for value in values)})), 16), 16, -10) AS BIGINT)"


def _said(text: str, type_: Type) -> str:
    if type_ == NOTHING:
        return "'n;'"
    if type_ not in _SAID:
        raise UnknownError(f"a hash of values of the type {type_.name}")
    return f"coalesce({_SAID[type_].format(f'({text})')}, 'n;')"


def digested(arguments: Sequence[Term]) -> Term:
    return Term(digest([(term.text, term.type) for term in arguments]), BITS)
