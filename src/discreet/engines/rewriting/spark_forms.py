"""Spark's language as tables: constants, operators, functions and casts, for sessions in which ANSI mode is off.

Texts are written as their bytes (`CAST(X'…' AS STRING)`): inside of quotes Spark gives a meaning to backslashes, and a
literal could end early. Where Spark still raises errors (times that are too far away), or rounds in another way, a CASE
stands in front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from discreet.engines.rewriting.dialect import Form
from discreet.engines.rewriting.spark_digests import unsigned
from discreet.engines.rewriting.terms import (
    BITS,
    DAY,
    DAYS,
    HUGE,
    MONTHS,
    REAL,
    SECONDS,
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    Term,
    Type,
)
from discreet.engines.rewriting.tree import UnknownError

TYPES: Final[Mapping[Type, str]] = {
    WHOLE: "BIGINT",
    HUGE: "DECIMAL(38,0)",
    BITS: "BIGINT",
    REAL: "DOUBLE",
    TEXT: "STRING",
    TRUTH: "BOOLEAN",
    DAY: "DATE",
    TIME: "TIMESTAMP_NTZ",
}
MOST_DIGITS: Final = 38
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")
_SPECIAL: Final = {
    "inf": "Infinity",
    "infinity": "Infinity",
    "-inf": "-Infinity",
    "-infinity": "-Infinity",
    "nan": "NaN",
}


def identifier(label: str) -> str:
    """A name, quoted."""
    return "`" + label.replace("`", "``") + "`"


def text_literal(value: str) -> str:
    """A text by its bytes: no sign of it can mean anything to a parser."""
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


def literal(type_: Type, text: str) -> str:
    """A constant."""
    if type_ == TRUTH and text.lower() in ("true", "false"):
        return text.upper()
    if type_ == TEXT:
        return text_literal(text)
    if type_ in (WHOLE, BITS):
        number = int(text)
        return f"{number}L" if -(2**63) < number < 2**63 else f"CAST('{number}' AS BIGINT)"
    if type_ == HUGE and len(str(abs(int(text)))) <= MOST_DIGITS:
        return f"CAST('{int(text)}' AS DECIMAL(38,0))"
    if type_ == REAL:
        special = _SPECIAL.get(text.strip().lower())
        return f"CAST('{special}' AS DOUBLE)" if special else f"{float(text)!r}D"
    if type_ == DAY and _DAY.fullmatch(text):
        return f"DATE'{text}'"
    if type_ == TIME and (_TIME.fullmatch(text) or _DAY.fullmatch(text)):
        return f"TIMESTAMP_NTZ'{text}'"
    raise UnknownError(f"this constant of the type {type_.name}")


def comparable(term: Term) -> str:
    """Texts are compared bytewise: no column of a copy has a collation. Bits are numbers without a sign."""
    return unsigned(term.text) if term.type == BITS else term.text


def _both(text: str, *types: Type) -> list[Form]:
    """An operator that stays within each of these types."""
    return [Form((type_, type_), text, type_) for type_ in types]


EXACT: Final = "4503599627370496D"
"""From here on all numbers are whole."""
_LATER: Final = {DAYS: ("DAY", 4_000_000), MONTHS: ("MONTH", 130_000), SECONDS: ("SECOND", 400_000_000_000)}
"""What is further away than this lies outside of the years 1 to 9999, wherever it begins."""


def _moved(unit: Type, sign: str) -> Form:
    word, most = _LATER[unit]
    count = f"({sign}({{1}}))"
    moved = f"timestampadd({word}, {count}, {{0}})"
    if unit == SECONDS:  # by whole days first: the number of seconds has to be an INT
        days, rest = f"CAST({count} div 86400L AS INT)", f"CAST({count} % 86400L AS INT)"
        moved = f"timestampadd(SECOND, {rest}, timestampadd(DAY, {days}, {{0}}))"
    else:
        moved = f"timestampadd({word}, CAST({count} AS INT), {{0}})"
    return Form((TIME, unit), f"(CASE WHEN {{1}} BETWEEN -{most}L AND {most}L THEN {moved} END)", TIME)


_DAY_LATER: Final = "(CASE WHEN {1} BETWEEN -4000000L AND 4000000L THEN date_add({0}, CAST({1} AS INT)) END)"
_OPERATORS: Final[Mapping[str, Sequence[Form]]] = {
    "+": (
        *_both("({0} + {1})", WHOLE, BITS),
        Form((HUGE, HUGE), "CAST({0} + {1} AS DECIMAL(38,0))", HUGE),
        Form((REAL, REAL), "({0} + {1})", REAL),
        Form((DAY, WHOLE), _DAY_LATER, DAY),
        *(_moved(unit, "") for unit in _LATER),
    ),
    "-": (
        *_both("({0} - {1})", WHOLE),
        Form((HUGE, HUGE), "CAST({0} - {1} AS DECIMAL(38,0))", HUGE),
        Form((REAL, REAL), "({0} - {1})", REAL),
        Form((BITS, WHOLE), "({0} - {1})", BITS),
        Form((DAY, DAY), "CAST(datediff({0}, {1}) AS BIGINT)", WHOLE),
        *(_moved(unit, "-") for unit in _LATER),
    ),
    "*": (
        *_both("({0} * {1})", WHOLE, BITS),
        Form((HUGE, HUGE), "CAST({0} * {1} AS DECIMAL(38,0))", HUGE),
        Form((REAL, REAL), "({0} * {1})", REAL),
    ),
    "/": (Form((REAL, REAL), "({0} / {1})", REAL),),
    "//": (Form((WHOLE, WHOLE), "({0} div {1})", WHOLE),),
    "%": (Form((WHOLE, WHOLE), "({0} % {1})", WHOLE), Form((REAL, REAL), "({0} % {1})", REAL)),
    "&": _both("({0} & {1})", WHOLE, BITS),
    "|": _both("({0} | {1})", WHOLE, BITS),
    "xor": _both("({0} ^ {1})", WHOLE, BITS),
    "<<": [
        Form((left, right), "shiftleft({0}, CAST({1} AS INT))", left)
        for left, right in ((WHOLE, WHOLE), (BITS, WHOLE), (BITS, BITS))
    ],
    ">>": (
        Form((WHOLE, WHOLE), "shiftright({0}, CAST({1} AS INT))", WHOLE),
        Form((BITS, WHOLE), "shiftrightunsigned({0}, CAST({1} AS INT))", BITS),
    ),
    "||": (Form((TEXT, TEXT), "concat({0}, {1})", TEXT),),
}
_WIDE: Final = "least(greatest({}, -1099511627776L), 1099511627776L)"
_FROM: Final = (
    f"(CASE WHEN {{1}} >= 0L THEN {_WIDE.format('{1}')} - 1L ELSE char_length({{0}}) + {_WIDE.format('{1}')} END)"
)


def _substr(count: str) -> str:
    """From a place that may lie outside, so many letters in either direction, as DuckDB counts."""
    behind = f"({_FROM} + {count})"
    low, high = (
        f"least(greatest({which}({_FROM}, {behind}), 0L), CAST(char_length({{0}}) AS BIGINT))"
        for which in ("least", "greatest")
    )
    return f"substring({{0}}, CAST({low} + 1L AS INT), CAST({high} - {low} AS INT))"


_INSIDE: Final = "(CASE WHEN abs({0}) < " + EXACT + " THEN {1} ELSE {0} END)"
FUNCTIONS: Final[Mapping[str, Sequence[Form]]] = {
    **_OPERATORS,
    "abs": [Form((type_,), "abs({0})", type_) for type_ in (WHOLE, HUGE, REAL)],
    "bit_count": [Form((type_,), "CAST(bit_count({0}) AS BIGINT)", WHOLE) for type_ in (WHOLE, BITS)],
    "ceil": (Form((REAL,), _INSIDE.format("{0}", "CAST(ceil({0}) AS DOUBLE)"), REAL),),
    "contains": (Form((TEXT, TEXT), "contains({0}, {1})", TRUTH),),
    "discreet_secret": (Form((), "(SELECT secret FROM discreet_made)", TEXT),),
    "exp": (Form((REAL,), "exp({0})", REAL),),
    "floor": (Form((REAL,), _INSIDE.format("{0}", "CAST(floor({0}) AS DOUBLE)"), REAL),),
    "isnan": (Form((REAL,), "({0} = CAST('NaN' AS DOUBLE))", TRUTH),),
    "length": (Form((TEXT,), "CAST(char_length({0}) AS BIGINT)", WHOLE),),
    "ln": (Form((REAL,), "ln({0})", REAL),),
    "log10": (Form((REAL,), "log10({0})", REAL),),
    "pow": (Form((REAL, REAL), "(CASE WHEN {0} = 1D AND {1} IS NOT NULL THEN 1D ELSE pow({0}, {1}) END)", REAL),),
    "sha256": (Form((TEXT,), "sha2({0}, 256)", TEXT),),
    "sign": (Form((REAL,), "CAST(signum({0}) AS BIGINT)", WHOLE),),
    "sqrt": (Form((REAL,), "sqrt({0})", REAL),),
    "starts_with": (Form((TEXT, TEXT), "startswith({0}, {1})", TRUTH),),
    "strlen": (Form((TEXT,), "CAST(octet_length({0}) AS BIGINT)", WHOLE),),
    "substr": (
        Form((TEXT, WHOLE), _substr("1099511627776L"), TEXT),
        Form((TEXT, WHOLE, WHOLE), _substr(_WIDE.format("{2}")), TEXT),
    ),
    "suffix": (Form((TEXT, TEXT), "endswith({0}, {1})", TRUTH),),
    "to_days": (Form((WHOLE,), "{0}", DAYS),),
    "to_months": (Form((WHOLE,), "{0}", MONTHS),),
    "to_seconds": (Form((WHOLE,), "{0}", SECONDS),),
    "trunc": (Form((REAL,), _INSIDE.format("{0}", "CAST(CAST({0} AS BIGINT) AS DOUBLE)"), REAL),),
}
AGGREGATES: Final[Mapping[str, Sequence[Form]]] = {
    "sum": (
        Form((WHOLE,), "sum(CAST({0} AS DECIMAL(38,0)))", HUGE),
        Form((HUGE,), "sum({0})", HUGE),
    ),
    "bit_or": [Form((type_,), "bit_or({0})", type_) for type_ in (WHOLE, BITS)],
    "bool_and": (Form((TRUTH,), "bool_and({0})", TRUTH),),
}
"""No sums of real numbers: they depend on the order in which rows are added."""
_HALF: Final = "8.507059173023462E37D"
"""2¹²⁶: what is larger in size has more digits than a DECIMAL."""
_HIGH: Final = "CAST({0} / 9.223372036854775808E18D AS BIGINT)"
_PARTS_OF_HUGE: Final = (
    f"CAST({_HIGH} AS DECIMAL(38,0)) * CAST('9223372036854775808' AS DECIMAL(38,0)) + "
    f"CAST(CAST({{0}} - CAST({_HIGH} AS DOUBLE) * 9.223372036854775808E18D AS BIGINT) AS DECIMAL(38,0))"
)
CASTS: Final[Mapping[tuple[Type, Type], str]] = {
    (WHOLE, WHOLE): "(CASE WHEN {0} BETWEEN {low} AND {high} THEN {0} END)",
    (WHOLE, BITS): "{0}",
    (WHOLE, HUGE): "CAST({0} AS DECIMAL(38,0))",
    (WHOLE, REAL): "CAST({0} AS DOUBLE)",
    (WHOLE, TEXT): "CAST({0} AS STRING)",
    (WHOLE, TRUTH): "({0} <> 0L)",
    (HUGE, WHOLE): "(CASE WHEN {0} BETWEEN {low} AND {high} THEN CAST({0} AS BIGINT) END)",
    (HUGE, REAL): "CAST({0} AS DOUBLE)",
    (HUGE, TEXT): "CAST({0} AS STRING)",
    (REAL, WHOLE): (
        "(CASE WHEN {0} >= -9.223372036854775808E18D AND {0} < 9.223372036854775808E18D "
        "AND CAST(rint({0}) AS BIGINT) BETWEEN {low} AND {high} THEN CAST(rint({0}) AS BIGINT) END)"
    ),
    (REAL, HUGE): (
        "(CASE WHEN abs({0}) < 9007199254740992D THEN CAST(CAST(rint({0}) AS BIGINT) AS DECIMAL(38,0)) "
        f"WHEN abs({{0}}) < {_HALF} THEN CAST({_PARTS_OF_HUGE} AS DECIMAL(38,0)) END)"
    ),
    (REAL, TRUTH): "({0} <> 0D)",
    (TRUTH, WHOLE): "CAST({0} AS BIGINT)",
    (TRUTH, REAL): "CAST(CAST({0} AS INT) AS DOUBLE)",
    (TRUTH, TEXT): "CAST({0} AS STRING)",
    (DAY, TIME): "CAST({0} AS TIMESTAMP_NTZ)",
    (DAY, TEXT): "CAST({0} AS STRING)",
    (TIME, DAY): "CAST({0} AS DATE)",
    (TIME, TEXT): "CAST({0} AS STRING)",
}
"""No casts from texts, which engines read differently, and none from real numbers to texts, which they write so."""
