"""PostgreSQL's language. Functions that begin with `discreet_` are those of `postgres_functions`.

Its own arithmetic raises errors where DuckDB gives infinity, zero or NULL, and an error that one row decides about is
a leak: so wherever a row could do that, a guarded function stands in its place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from discreet.engines.rewriting.dialect import Dialect, Form, Order, Rule
from discreet.engines.rewriting.terms import (
    BITS,
    DAY,
    DAYS,
    HUGE,
    MONTHS,
    NOTHING,
    REAL,
    SECONDS,
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    Term,
    Type,
    part_of_date,
)
from discreet.engines.rewriting.tree import UnknownError
from discreet.quoting import name

SIGN: Final = "'-9223372036854775808'::int8"
"""The first of 64 bits."""
LONGEST_NAME: Final = 63
"""Bytes of a name: PostgreSQL cuts longer ones, and two of them could become one."""
TYPES: Final[Mapping[Type, str]] = {
    WHOLE: "int8",
    HUGE: "numeric",
    BITS: "int8",
    REAL: "float8",
    TEXT: "text",
    TRUTH: "bool",
    DAY: "date",
    TIME: "timestamp",
}


def identifier(label: str) -> str:
    """A name, quoted; a long one with the digest of all of it in the place of its end."""
    written = label.encode()
    if len(written) > LONGEST_NAME:
        cut = written[:40].decode(errors="ignore")
        label = f"{cut}~{hashlib.sha256(written).hexdigest()[:20]}"
    return name(label)


def literal(type_: Type, text: str) -> str:
    """A constant. Quotes are doubled, and backslashes are plain: `standard_conforming_strings` is on."""
    if "\0" in text:
        raise UnknownError("a text with the character 0")
    if type_ == TRUTH:
        return text.upper()
    quoted = "'" + text.replace("'", "''") + "'"
    return f"{quoted}::{TYPES[type_]}"


def comparable(term: Term) -> str:
    """Texts are compared bytewise, whatever the database sorts by, and bits as numbers without a sign."""
    if term.type == BITS:
        return f"(({term.text}) # {SIGN})"
    return f'({term.text} COLLATE "C")' if term.type == TEXT else term.text


def _both(text: str, *types: Type) -> list[Form]:
    """An operator that stays within each of these types."""
    return [Form((type_, type_), text, type_) for type_ in types]


_OPERATORS: Final[Mapping[str, Sequence[Form]]] = {
    "+": (
        *_both("({0} + {1})", WHOLE, BITS, HUGE),
        Form((REAL, REAL), "discreet_add({0}, {1})", REAL),
        Form((DAY, WHOLE), "discreet_later({0}, {1})", DAY),
        *(Form((TIME, unit), f"discreet_{unit.name}_later({{0}}, {{1}})", TIME) for unit in (DAYS, MONTHS, SECONDS)),
    ),
    "-": (
        *_both("({0} - {1})", WHOLE, HUGE),
        Form((BITS, WHOLE), "discreet_bits_below({0}, {1})", BITS),
        Form((REAL, REAL), "discreet_add({0}, -({1}))", REAL),
        Form((DAY, DAY), "({0} - {1})::int8", WHOLE),
        *(Form((TIME, unit), f"discreet_{unit.name}_later({{0}}, -({{1}}))", TIME) for unit in (DAYS, MONTHS, SECONDS)),
    ),
    "*": (*_both("({0} * {1})", WHOLE, BITS, HUGE), Form((REAL, REAL), "discreet_multiply({0}, {1})", REAL)),
    "/": (Form((REAL, REAL), "discreet_divide({0}, {1})", REAL),),
    "//": (Form((WHOLE, WHOLE), "div({0}::numeric, nullif({1}, 0)::numeric)::int8", WHOLE),),
    "%": (Form((WHOLE, WHOLE), "({0} % nullif({1}, 0))", WHOLE), Form((REAL, REAL), "discreet_rest({0}, {1})", REAL)),
    "&": _both("({0} & {1})", WHOLE, BITS),
    "|": _both("({0} | {1})", WHOLE, BITS),
    "xor": _both("({0} # {1})", WHOLE, BITS),
    "<<": (
        Form((WHOLE, WHOLE), "({0} << ({1})::int4)", WHOLE),
        Form((BITS, WHOLE), "({0} << ({1})::int4)", BITS),
        Form((BITS, BITS), "({0} << ({1})::int4)", BITS),
    ),
    ">>": (
        Form((WHOLE, WHOLE), "({0} >> ({1})::int4)", WHOLE),
        Form((BITS, WHOLE), "discreet_bits_right({0}, ({1})::int4)", BITS),
    ),
    "||": (Form((TEXT, TEXT), "({0} || {1})", TEXT),),
    "~~": (Form((TEXT, TEXT), "({0} LIKE {1} ESCAPE '')", TRUTH),),
    "like_escape": (Form((TEXT, TEXT, TEXT), "({0} LIKE {1} ESCAPE {2})", TRUTH),),
}
_FUNCTIONS: Final[Mapping[str, Sequence[Form]]] = {
    **_OPERATORS,
    "abs": [Form((type_,), "abs({0})", type_) for type_ in (WHOLE, HUGE, REAL)],
    "bit_count": [Form((type_,), "bit_count(({0})::bit(64))", WHOLE) for type_ in (WHOLE, BITS)],
    "ceil": (Form((REAL,), "ceil({0})", REAL),),
    "contains": (Form((TEXT, TEXT), "(position({1} in {0}) > 0)", TRUTH),),
    "discreet_secret": (Form((), "(SELECT current_setting('discreet.secret'))", TEXT),),
    "exp": (Form((REAL,), "discreet_exp({0})", REAL),),
    "floor": (Form((REAL,), "floor({0})", REAL),),
    "isnan": (Form((REAL,), "({0} = 'NaN'::float8)", TRUTH),),
    "left": (Form((TEXT, WHOLE), "left({0}, ({1})::int4)", TEXT),),
    "length": (Form((TEXT,), "length({0})::int8", WHOLE),),
    "ln": (Form((REAL,), "discreet_ln({0})", REAL),),
    "log10": (Form((REAL,), "discreet_log10({0})", REAL),),
    "lower": (Form((TEXT,), "discreet_lower({0})", TEXT),),
    "pow": (Form((REAL, REAL), "discreet_pow({0}, {1})", REAL),),
    "round": (
        Form((REAL,), "discreet_round({0})", REAL),
        Form((REAL, WHOLE), "discreet_round_to({0}, ({1})::int4)", REAL),
    ),
    "sha256": (Form((TEXT,), "encode(sha256(convert_to({0}, 'UTF8')), 'hex')", TEXT),),
    "sign": (Form((REAL,), "sign({0})::int8", WHOLE),),
    "sqrt": (Form((REAL,), "discreet_sqrt({0})", REAL),),
    "starts_with": (Form((TEXT, TEXT), "starts_with({0}, {1})", TRUTH),),
    "strlen": (Form((TEXT,), "octet_length({0})::int8", WHOLE),),
    "substr": (
        Form((TEXT, WHOLE), "discreet_substr({0}, {1}, 1000000000)", TEXT),
        Form((TEXT, WHOLE, WHOLE), "discreet_substr({0}, {1}, {2})", TEXT),
    ),
    "suffix": (Form((TEXT, TEXT), "(right({0}, length({1})) = {1})", TRUTH),),
    "to_days": (Form((WHOLE,), "{0}", DAYS),),
    "to_months": (Form((WHOLE,), "{0}", MONTHS),),
    "to_seconds": (Form((WHOLE,), "{0}", SECONDS),),
    "trim": (Form((TEXT,), "discreet_trim({0})", TEXT),),
    "trunc": (Form((REAL,), "trunc({0})", REAL),),
    "upper": (Form((TEXT,), "discreet_upper({0})", TEXT),),
}
_AGGREGATES: Final[Mapping[str, Sequence[Form]]] = {
    "sum": [Form((type_,), "sum({0})", HUGE) for type_ in (WHOLE, HUGE)],
    "bit_or": [Form((type_,), "bit_or({0})", type_) for type_ in (WHOLE, BITS)],
    "bool_and": (Form((TRUTH,), "bool_and({0})", TRUTH),),
}
"""No sums of real numbers: they depend on the order in which rows are added."""
_CASTS: Final[Mapping[tuple[Type, Type], str]] = {
    (WHOLE, WHOLE): "discreet_between({0}, {low}, {high})",
    (WHOLE, BITS): "({0})",
    (WHOLE, HUGE): "({0})::numeric",
    (WHOLE, REAL): "({0})::float8",
    (WHOLE, TEXT): "({0})::text",
    (WHOLE, TRUTH): "({0} <> 0)",
    (HUGE, WHOLE): "discreet_between({0}, {low}, {high})",
    (HUGE, REAL): "({0})::float8",
    (HUGE, TEXT): "({0})::text",
    (REAL, WHOLE): "discreet_whole({0}, {low}, {high})",
    (REAL, HUGE): "discreet_huge({0})",
    (REAL, TRUTH): "({0} <> 0)",
    (TRUTH, WHOLE): "({0})::int4::int8",
    (TRUTH, REAL): "({0})::int4::float8",
    (TRUTH, TEXT): "({0})::text",
    (DAY, TIME): "({0})::timestamp",
    (DAY, TEXT): "({0})::text",
    (TIME, DAY): "({0})::date",
    (TIME, TEXT): "({0})::text",
}
"""No casts from texts, which engines read differently, and none from real numbers to texts, which they write so."""

_PARTS: Final = ("year", "quarter", "month", "isoyear", "week", "day", "dow", "isodow", "doy", "hour", "minute")
_TRUNCATIONS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute")
_YEARS: Final = "(extract(year from {1}) - extract(year from {0}))"
_DIFFERENCES: Final = {
    "year": _YEARS,
    "quarter": f"({_YEARS} * 4 + extract(quarter from {{1}}) - extract(quarter from {{0}}))",
    "month": f"({_YEARS} * 12 + extract(month from {{1}}) - extract(month from {{0}}))",
    "week": "((({1})::date - ({0})::date) / 7)",
    "day": "(({1})::date - ({0})::date)",
    "hour": "(extract(epoch from date_trunc('hour', {1}) - date_trunc('hour', {0})) / 3600)",
    "minute": "(extract(epoch from date_trunc('minute', {1}) - date_trunc('minute', {0})) / 60)",
    "second": "extract(epoch from date_trunc('second', {1}) - date_trunc('second', {0}))",
}
_FORMATS: Final = {
    "Y": "YYYY", "y": "YY", "m": "MM", "d": "DD", "j": "DDD", "B": "FMMonth", "b": "Mon", "A": "FMDay", "a": "Dy",
    "u": "ID", "V": "IW", "H": "HH24", "M": "MI", "S": "SS",
}  # fmt: skip


def _moment(term: Term) -> str:
    """A day or a time, as a time without a zone: of a day PostgreSQL would make one with a zone."""
    if term.type == DAY:
        return f"({term.text})::timestamp"
    if term.type in (TIME, NOTHING):
        return term.text
    raise UnknownError(f"{term.type.name} where a time is wanted")


def _part(arguments: Sequence[Term]) -> Term:
    part, value = part_of_date(arguments[0], (*_PARTS, "second")), _moment(arguments[1])
    whole = f"trunc(extract({part} from {value}))" if part == "second" else f"extract({part} from {value})"
    return Term(f"{whole}::int8", WHOLE)


def _month(arguments: Sequence[Term]) -> Term:
    return Term(f"extract(month from {_moment(arguments[0])})::int8", WHOLE)


def _truncated(arguments: Sequence[Term]) -> Term:
    return Term(f"date_trunc('{part_of_date(arguments[0], _TRUNCATIONS)}', {_moment(arguments[1])})", TIME)


def _difference(arguments: Sequence[Term]) -> Term:
    text = _DIFFERENCES[part_of_date(arguments[0], _DIFFERENCES)]
    return Term(f"{text.format(*map(_moment, arguments[1:]))}::int8", WHOLE)


def _formatted(arguments: Sequence[Term]) -> Term:
    """A date as a text, code by code: what is between them is a literal."""
    value, pattern = _moment(arguments[0]), arguments[1].constant
    if pattern is None:
        raise UnknownError("strftime by what is no constant")
    parts = []
    for plain, code in re.findall("([^%]+)|%(.?)", pattern, re.DOTALL):
        if plain or code == "%":
            parts.append(literal(TEXT, plain or code))
        elif code in _FORMATS:
            parts.append(f"to_char({value}, '{_FORMATS[code]}')")
        else:
            raise UnknownError("a format of dates")
    return Term(f"({' || '.join(parts)})", TEXT)


def _hashed(arguments: Sequence[Term]) -> Term:
    """Of the values as they are, without their texts; which bits come out is an engine's own."""
    values = ", ".join(DIALECT.as_type(term, TEXT) if term.type == NOTHING else term.text for term in arguments)
    return Term(f"hash_record_extended(ROW({values}), 0)", BITS)


def _digested(arguments: Sequence[Term]) -> Term:
    """The hash that all engines have (`engines.digests`)."""
    said = (
        f"discreet_said({DIALECT.as_type(term, TEXT) if term.type == NOTHING else term.text})" for term in arguments
    )
    return Term(f"discreet_digest({' || '.join(said)})", BITS)


def _position(arguments: Sequence[Term]) -> Term:
    held, value = arguments
    return Term(f"array_position({held.text}, {DIALECT.as_type(value, held.type.of[0])})::int8", WHOLE)


def _concatenated(arguments: Sequence[Term]) -> Term:
    return Term(f"concat({', '.join(DIALECT.as_type(term, TEXT) for term in arguments)})", TEXT)


def _added(function: str) -> Rule:
    """A sum or difference. Adding a constant that is not huge overflows nowhere: half of the last bit of the largest
    number is more than that. It needs no guard, and a guarded function takes longer than all else in a row."""

    def added(arguments: Sequence[Term]) -> Term:
        if len(arguments) == 2 and [term.type for term in arguments] == [REAL, REAL]:
            left, right = arguments
            if any(term.constant is not None and abs(float(term.constant)) < _SMALL for term in arguments):
                return Term(f"({left.text} {function} {right.text})", REAL)
        return DIALECT.call(function, arguments, _FUNCTIONS[function])

    return added


_SMALL: Final = 1e290
_RULES: Final[Mapping[str, Rule]] = {
    "+": _added("+"),
    "-": _added("-"),
    "date_part": _part,
    "month": _month,
    "date_trunc": _truncated,
    "date_diff": _difference,
    "strftime": _formatted,
    "hash": _hashed,
    "list_position": _position,
    "concat": _concatenated,
}


def _first(value: str, orders: Sequence[Order], last: bool) -> str:
    """The first value in an order; the last is the first in the order turned round."""
    listed = ", ".join(
        f"{comparable(each.term)} {'DESC' if each.descending != last else 'ASC'} "
        f"NULLS {'FIRST' if each.nulls_first != last else 'LAST'}"
        for each in orders
    )
    return f"(array_agg({value} ORDER BY {listed}))[1]"


DIALECT: Final = Dialect(
    name="postgres",
    functions=_FUNCTIONS,
    rules=_RULES,
    aggregates=_AGGREGATES,
    casts=_CASTS,
    types=TYPES,
    identifier=identifier,
    literal=literal,
    comparable=comparable,
    item="({0})[({1})::int4]",
    materialized="NOT MATERIALIZED ",
    named="(SELECT {2} FROM (SELECT {0} AS {1} OFFSET 0) AS {3})",
    first=_first,
)
SHARED: Final = replace(DIALECT, rules={**_RULES, "hash": _digested})
"""With the hash that all engines have."""
