"""The one table of functions. Every function is total: no row may raise an error.

A function that is not here does not exist for analysts. Arithmetic runs in DOUBLE: overflow gives ±inf, which the clamp
around an aggregate's argument holds back; NaN and x/0 give NULL. Nothing gives −0.0: rows that differ in nothing else
would tie in every order, and the engine's order would choose among them. Forms need not care: see `Function.normal`.
Forms use no macro of the engine's (NULLIF is one): it puts in its argument twice, however deep, where nobody sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.composed import LARGEST, Sql, dated, form, joined, keyword, literal, sql, weighed
from discreet.policy.model import Kind
from discreet.sql import dates, domain
from discreet.sql.domain import BOOLEAN, TEXT, Domain
from discreet.sql.expression import Function, Result

ZERO: Final = Fraction(0)
INT: Final = Fraction(2**31)
WRITTEN: Final = 32
"""Characters of a number or time that is written as text, at most."""
Form = Callable[[Sequence[Sql]], Sql]
DOUBLE, UNSURE, VARCHAR, EXACT, CHOICE = Result


# rules that need more than interval arithmetic


def _truth(*_: Domain) -> Domain:
    return BOOLEAN


def _tested(*_: Domain) -> Domain:
    return Domain(Kind.BOOLEAN, certain=True)


def _text(value: Domain, *_: Domain) -> Domain:
    """No longer than before: characters are replaced one by one, or left out."""
    return replace(TEXT, length=value.length)


def _part_of(value: Domain, _: Domain, count: Domain) -> Domain:
    most = abs(count.bounded[0]) if count.bounded else value.length
    return replace(TEXT, length=int(min(most, value.length)))


def _written(value: Domain) -> Domain:
    return replace(TEXT, length=value.length if value.kind is Kind.TEXT else WRITTEN)


def _together(*parts: Domain) -> Domain:
    return replace(TEXT, length=sum(part.length for part in parts))


def _length(_: Domain) -> Domain:
    return domain.number(ZERO, None, integral=True)


def _power(base: Domain, exponent: Domain) -> Domain:
    """Bounded for a whole, constant exponent; and for a base that is not negative where the exponent is constant."""
    if not (base.bounded and exponent.bounded) or exponent.low != exponent.high:
        return domain.number(None, None)
    (low, high), power = base.bounded, exponent.bounded[0]
    if power < 0 or power > 64 or (low < 0 and power.denominator != 1):
        return domain.number(None, None)
    if power.denominator != 1:
        return domain.increasing(base, lambda x: x ** float(power))
    corners = [low ** int(power), high ** int(power)]
    even = power % 2 == 0 and low <= 0 <= high
    result = domain.number(ZERO if even else min(corners), max(corners))
    return _widened(result)


def _widened(wide: Domain) -> Domain:
    """A little room for a library function that may be off by a last digit."""
    low, high = wide.numbers
    slip = Fraction(1, 2**44)
    return domain.number(
        None if low is None else low - abs(low) * slip, None if high is None else high + abs(high) * slip
    )


def _root(value: Domain) -> Domain:
    return domain.increasing(value, math.sqrt, least=ZERO)


def _exponential(value: Domain) -> Domain:
    return domain.largest(domain.increasing(value, math.exp), Domain.of(Fraction(0)))


def _natural(value: Domain) -> Domain:
    return domain.increasing(value, math.log)


def _decadic(value: Domain) -> Domain:
    return domain.increasing(value, math.log10)


def _rounded(value: Domain, digits: Domain | None = None) -> Domain:
    return domain.rounded(value, int(digits.bounded[0]) if digits and digits.bounded else 0)


def _clamped(value: Domain, low: Domain, high: Domain) -> Domain:
    """Between the constants, and within the value's own bounds where those are narrower."""
    if not (low.bounded and high.bounded):
        return domain.number(None, None)
    least, most = low.bounded[0], high.bounded[0]
    below, above = value.numbers
    integral = value.kind is low.kind is high.kind is Kind.INTEGER
    clamped = domain.number(
        least if below is None else min(max(below, least), most),
        most if above is None else max(min(above, most), least),
        integral=integral,
    )
    same = value.step is not None and domain.fits(low, value.step) and domain.fits(high, value.step)
    return replace(clamped, step=value.step) if same else clamped


def _bucket_text(arguments: Sequence[Sql]) -> Sql:
    value, low, high, count = arguments
    share = sql("({0} - {1}) / ({2} - {1}) * {3}", value, low, high, count)
    inside = sql("LEAST(CAST(FLOOR(LEAST({0}, {1})) AS BIGINT) + 1, CAST({1} AS BIGINT))", share, count)
    beyond = sql("CAST({} AS BIGINT) + 1", count)
    return sql(
        "CASE WHEN {0} < {1} THEN 0 WHEN {0} >= {2} THEN {3} WHEN {0} >= {1} THEN {4} END",
        value, low, high, beyond, inside,
    )  # fmt: skip


def _bucket(value: Domain, low: Domain, high: Domain, count: Domain) -> Domain:
    """0 below, count + 1 above, and what lies between numbered from 1."""
    if not (low.bounded and high.bounded and count.bounded):
        return domain.number(None, None, integral=True)
    start, end, buckets = low.bounded[0], high.bounded[0], count.bounded[0]

    def bucket(edge: Fraction) -> Fraction:
        if edge < start:
            return ZERO
        inside = Fraction(math.floor((edge - start) / (end - start) * buckets) + 1)
        return buckets + 1 if edge >= end else min(inside, buckets)

    below, above = value.numbers
    return domain.number(
        ZERO if below is None else bucket(below), buckets + 1 if above is None else bucket(above), integral=True
    )


def _case_text(arguments: Sequence[Sql]) -> Sql:
    pairs = zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
    branches = joined(" ", (sql("WHEN {} THEN {}", test, then) for test, then in pairs))
    return sql("CASE {} ELSE {} END", branches, arguments[-1])


def _case(*parts: Domain) -> Domain:
    return domain.union([*parts[1:-1:2], parts[-1]])


def _coalesced(*parts: Domain) -> Domain:
    united = domain.union(parts)
    return united.but(nullable=all(part.nullable for part in parts), certain=any(part.certain for part in parts))


def _or_null(value: Domain, _: Domain) -> Domain:
    return value.but(nullable=True, certain=False)


def _whole(value: Domain) -> Domain:
    """TRY_CAST to an integer rounds, halves to the even neighbour: the bounds hold for any rule about halves."""
    if value.kind not in domain.NUMERIC:
        return domain.number(None, None, integral=True)
    low, high = value.numbers
    return domain.number(
        None if low is None else Fraction(math.ceil(low - Fraction(1, 2))),
        None if high is None else Fraction(math.floor(high + Fraction(1, 2))),
        integral=True,
    )


def _int(value: Domain) -> Domain:
    """What does not fit into 32 bits is NULL."""
    low, high = _whole(value).numbers
    return domain.number(
        None if low is None else min(max(low, -INT), INT - 1),
        None if high is None else max(min(high, INT - 1), -INT),
        integral=True,
    )


def _real(value: Domain) -> Domain:
    return domain.number(*value.numbers) if value.kind in domain.NUMERIC else domain.number(None, None)


def _listed(arguments: Sequence[Sql]) -> Sql:
    return sql("({} IN ({}))", arguments[0], joined(", ", arguments[1:]))


def _called(function: str) -> Form:
    """A function of any number of arguments."""
    return lambda arguments: sql("{}({})", keyword(function), joined(", ", arguments))


def _like(compared: Form) -> Form:
    """A search. With _ DuckDB takes some 100 µs for a hostile pattern and text, where other functions take 5 at most.

    ILIKE is written out: for LIKE the pattern is taken to pieces once, not for each row.
    """

    def searched(arguments: Sequence[Sql]) -> Sql:
        steps = LARGEST // 32 if "_" in arguments[1].text else 0
        return weighed(compared(arguments), steps)

    return searched


SUNDAY: Final = form("(DATE_TRUNC('week', {0} + INTERVAL 1 DAY) - INTERVAL 1 DAY)")
MONDAY: Final = form("DATE_TRUNC('week', {0})")
_EXTRACTED: Final = {
    dates.SUNDAY_FIRST: form("(EXTRACT(dow FROM {0}) + 1)"),
    dates.SUNDAY_WEEK: form("((EXTRACT(doy FROM {0}) + 6 - EXTRACT(dow FROM {0})) // 7)"),
    dates.MONDAY_WEEK: form("((EXTRACT(doy FROM {0}) + 7 - EXTRACT(isodow FROM {0})) // 7)"),
}
"""Weeks are numbered from the first Sunday or Monday of a year; days before it are in week 0, as in C's %U and %W."""
_BEGINNINGS: Final = {dates.SUNDAY_WEEK: SUNDAY, dates.MONDAY_WEEK: MONDAY}


def _extracted(part: str) -> Form:
    if part in _EXTRACTED:
        return _EXTRACTED[part]
    return lambda arguments: sql("EXTRACT({} FROM {})", keyword(part), *arguments)


def _truncated(part: str, kind: str) -> Form:
    """A week that begins on a Sunday may do so before the year 1: then it is NULL."""
    if part in _BEGINNINGS:
        return lambda arguments: dated(sql("CAST({} AS {})", _BEGINNINGS[part](arguments), keyword(kind)), kind.lower())
    return lambda arguments: sql("CAST(DATE_TRUNC({}, {}) AS {})", literal(part), *arguments, keyword(kind))


def _difference(part: str) -> Form:
    """Weeks that begin on a stated day are counted by the days between their beginnings."""
    if part in _BEGINNINGS:
        return lambda arguments: sql(
            "(DATE_DIFF('day', {}, {}) // 7)", *(_BEGINNINGS[part]([argument]) for argument in arguments)
        )
    return lambda arguments: sql("DATE_DIFF({}, {}, {})", literal(part), *arguments)


def _dated(cast: Form, kind: Kind) -> Form:
    return lambda arguments: dated(cast(arguments), kind)


QUOTIENT: Final = form("CASE WHEN {1} <> 0 THEN {0} / {1} END")
TRUNCATED: Final = form("TRUNC(CASE WHEN {1} <> 0 THEN {0} / {1} END)")
REMAINDER: Final = form("CASE WHEN {1} <> 0 THEN {0} % {1} END")
LOGARITHM: Final = form("CASE WHEN {0} > 0 AND {1} > 0 AND {0} <> 1 THEN LN({1}) / LN({0}) END")


def _if_all(function: str) -> Form:
    """NULL where an argument is."""

    def composed(arguments: Sequence[Sql]) -> Sql:
        there = joined(" AND ", (sql("{} IS NOT NULL", argument) for argument in arguments))
        return sql("CASE WHEN {} THEN {}({}) END", there, keyword(function), joined(", ", arguments))

    return composed


def _joined(arguments: Sequence[Sql]) -> Sql:
    return sql("({})", joined(" || ", arguments))


_ROWS: Final = (
    # arithmetic
    Function("+", "nn", form("({0} + {1})"), domain.add, UNSURE, strict=False, chained=True),
    Function("-", "nn", form("({0} - {1})"), domain.subtract, UNSURE, strict=False, chained=True),
    Function("*", "nn", form("({0} * {1})"), domain.multiply, UNSURE, strict=False, chained=True),
    Function("/", "nn", QUOTIENT, domain.divide, UNSURE, strict=False, chained=True),
    Function("//", "ii", TRUNCATED, lambda a, b: domain.truncated(domain.divide(a, b)), UNSURE, strict=False),
    Function("%", "nn", REMAINDER, domain.modulo, UNSURE, strict=False, chained=True),
    Function("NEGATE", "n", form("(0e0 - {0})"), domain.negate, DOUBLE),
    Function("ABS", "n", form("ABS({0})"), domain.absolute, DOUBLE),
    Function("ROUND", "n", form("ROUND({0})"), _rounded, DOUBLE),
    Function("ROUND TO", "nc", form("ROUND({0}, CAST({1} AS INTEGER))"), _rounded, UNSURE, strict=False),
    Function("FLOOR", "n", form("FLOOR({0})"), domain.floored, DOUBLE),
    Function("CEIL", "n", form("CEIL({0})"), domain.ceiled, DOUBLE),
    Function("SQRT", "n", form("CASE WHEN {0} >= 0 THEN SQRT({0}) END"), _root, DOUBLE, strict=False),
    Function("EXP", "n", form("EXP({0})"), _exponential, DOUBLE),
    Function("LN", "n", form("CASE WHEN {0} > 0 THEN LN({0}) END"), _natural, DOUBLE, strict=False),
    Function("LOG10", "n", form("CASE WHEN {0} > 0 THEN LOG10({0}) END"), _decadic, DOUBLE, strict=False),
    Function("LOG", "nn", LOGARITHM, lambda base, a: domain.divide(_natural(a), _natural(base)), UNSURE, strict=False),
    Function("POWER", "nn", form("POW({0}, {1})"), _power, UNSURE, strict=False),
    Function("LEAST", "n*", _called("LEAST"), domain.smallest, CHOICE, strict=False),
    Function("GREATEST", "n*", _called("GREATEST"), domain.largest, CHOICE, strict=False),
    Function("LEAST OF ALL", "n*", _if_all("LEAST"), domain.smallest, CHOICE),
    Function("GREATEST OF ALL", "n*", _if_all("GREATEST"), domain.largest, CHOICE),
    Function(
        "CLAMP", "ncc", form("CASE WHEN {0} < {1} THEN {1} WHEN {0} > {2} THEN {2} ELSE {0} END"), _clamped, CHOICE
    ),
    Function("WIDTH_BUCKET", "nccc", _bucket_text, _bucket, EXACT),
    # truth
    Function("=", "ss", form("({0} = {1})"), _truth, EXACT),
    Function("<>", "ss", form("({0} <> {1})"), _truth, EXACT),
    Function("<", "ss", form("({0} < {1})"), _truth, EXACT),
    Function("<=", "ss", form("({0} <= {1})"), _truth, EXACT),
    Function(">", "ss", form("({0} > {1})"), _truth, EXACT),
    Function(">=", "ss", form("({0} >= {1})"), _truth, EXACT),
    Function("BETWEEN", "sss", form("({0} BETWEEN {1} AND {2})"), _truth, EXACT),
    Function("IN", "ss*", _listed, _truth, EXACT, strict=False),
    Function("LIKE", "tc", _like(form("({0} LIKE {1})")), _truth, EXACT),
    Function("ILIKE", "tc", _like(form("(LOWER({0}) LIKE LOWER({1}))")), _truth, EXACT),
    Function("AND", "bb", form("({0} AND {1})"), _truth, EXACT),
    Function("OR", "bb", form("({0} OR {1})"), _truth, EXACT),
    Function("NOT", "b", form("(NOT {0})"), _truth, EXACT),
    Function("IS NULL", "a", form("({0} IS NULL)"), _tested, EXACT, own_nulls=True),
    Function("IS TRUE", "b", form("({0} IS TRUE)"), _tested, EXACT, own_nulls=True),
    Function("IS FALSE", "b", form("({0} IS FALSE)"), _tested, EXACT, own_nulls=True),
    # choice
    Function("CASE", "(bs)*s", _case_text, _case, CHOICE, own_nulls=True),
    Function("COALESCE", "s*", _called("COALESCE"), _coalesced, CHOICE, own_nulls=True),
    Function("NULLIF", "ss", form("CASE WHEN {0} = {1} THEN NULL ELSE {0} END"), _or_null, CHOICE, own_nulls=True),
    # casts
    Function("CAST INTEGER", "a", form("TRY_CAST({0} AS BIGINT)"), _whole, EXACT, strict=False),
    Function("CAST NUMBER", "a", form("TRY_CAST({0} AS DOUBLE)"), _real, UNSURE, strict=False),
    Function("CAST INT", "a", form("CAST(TRY_CAST({0} AS INTEGER) AS BIGINT)"), _int, EXACT, strict=False),
    Function("CAST TEXT", "a", form("CAST({0} AS VARCHAR)"), _written, VARCHAR),
    Function(
        "CAST TEXT OF A WHOLE NUMBER",
        "a",
        form("CAST(TRY_CAST({0} AS HUGEINT) AS VARCHAR)"),
        _written,
        VARCHAR,
        strict=False,
    ),
    Function("CAST BOOLEAN", "a", form("TRY_CAST({0} AS BOOLEAN)"), _truth, EXACT, strict=False),
    Function("CAST DATE", "a", _dated(form("TRY_CAST({0} AS DATE)"), Kind.DATE), dates.as_date, EXACT, strict=False),
    Function(
        "CAST TIMESTAMP",
        "a",
        _dated(form("TRY_CAST({0} AS TIMESTAMP)"), Kind.TIMESTAMP),
        dates.as_timestamp,
        EXACT,
        strict=False,
    ),
    # text
    Function("LOWER", "t", form("LOWER({0})"), _text, VARCHAR),
    Function("UPPER", "t", form("UPPER({0})"), _text, VARCHAR),
    Function("TRIM", "t", form("TRIM({0})"), _text, VARCHAR),
    Function("LENGTH", "t", form("LENGTH({0})"), _length, EXACT),
    Function("SUBSTR", "tc", form("SUBSTR({0}, {1})"), _text, VARCHAR),
    Function("SUBSTR TO", "tcc", form("SUBSTR({0}, {1}, {2})"), _part_of, VARCHAR),
    Function("||", "tt", form("({0} || {1})"), _together, VARCHAR),
    Function("CONCAT OF ALL", "t*", _joined, _together, VARCHAR),
    Function(
        "CONCAT", "t*", _called("CONCAT"), lambda *parts: _together(*parts).but(certain=True), VARCHAR, own_nulls=True
    ),
    # dates
    *(
        Function(f"EXTRACT {part}", "d", _extracted(part), rule, EXACT, strict=False)
        for part, rule in dates.PARTS.items()
    ),
    *(
        Function(f"DATE_TRUNC {part} {kind}", "d", _truncated(part, kind), rule, EXACT, strict=part not in _BEGINNINGS)
        for part, rule in dates.TRUNCATIONS.items()
        for kind in (("TIMESTAMP",) if part in ("hour", "minute") else ("DATE", "TIMESTAMP"))
    ),
    *(
        Function(f"DATE_DIFF {part}", "dd", _difference(part), rule, EXACT, strict=False)
        for part, rule in dates.DIFFERENCES.items()
    ),
)

FUNCTIONS: Final = {row.name: row for row in _ROWS}
