"""The one table of functions. Every function is total: no row may raise an error.

A function that is not here does not exist for analysts. Arithmetic runs in DOUBLE: overflow gives ±inf, which the clamp
around an aggregate's argument holds back; NaN and x/0 give NULL. Nothing gives −0.0: rows that differ in nothing else
would tie in every order, and the engine's order would choose among them. Forms need not care: see `Function.normal`.
Forms use no macro of the engine's (NULLIF is one): it puts in its argument twice, however deep, where nobody sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from discreet.composed import LARGEST, Sql, dated, form, joined, keyword, literal, repeating, sql, weighed
from discreet.policy.model import Kind
from discreet.sql import date_texts, dates, domain
from discreet.sql import function_rules as rules
from discreet.sql.expression import Function, Result

Form = Callable[[Sequence[Sql]], Sql]
DOUBLE, UNSURE, VARCHAR, EXACT, CHOICE = Result


# forms


def _case_text(arguments: Sequence[Sql]) -> Sql:
    pairs = zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
    branches = joined(" ", (sql("WHEN {} THEN {}", test, then) for test, then in pairs))
    return sql("CASE {} ELSE {} END", branches, arguments[-1])


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


def _moved(unit: str, kind: str) -> Form:
    """Months, days or seconds later. How many is limited (`constants`), so that no sum leaves the engine's years."""
    step, whole = keyword(f"to_{unit}s"), keyword("BIGINT" if unit == "second" else "INTEGER")

    def moved(arguments: Sequence[Sql]) -> Sql:
        value, count = arguments
        later = sql("CAST({} + {}(CAST({} AS {})) AS {})", value, step, count, whole, keyword(kind))
        return dated(later, kind.lower())

    return moved


def _after(unit: str) -> Form:
    """A day or minute, counted from a first one; of noisy numbers."""
    kind = "DATE" if unit == "days" else "TIMESTAMP"

    def counted(arguments: Sequence[Sql]) -> Sql:
        count, first = arguments
        later = sql("CAST({} + {}(TRY_CAST({} AS INTEGER)) AS {})", first, keyword(f"to_{unit}"), count, keyword(kind))
        return dated(later, kind.lower())

    return counted


def _dated(cast: Form, kind: Kind) -> Form:
    return lambda arguments: dated(cast(arguments), kind)


QUOTIENT: Final = form("CASE WHEN {1} <> 0 THEN {0} / {1} END")
TRUNCATED: Final = form("TRUNC(CASE WHEN {1} <> 0 THEN {0} / {1} END)")
REMAINDER: Final = form("CASE WHEN {1} <> 0 THEN {0} % {1} END")
NULL_IF: Final = repeating("CASE WHEN {0} = {1} THEN NULL ELSE {0} END")
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
    Function("ROUND", "n", form("ROUND({0})"), rules.rounded, DOUBLE),
    Function("ROUND TO", "nc", form("ROUND({0}, CAST({1} AS INTEGER))"), rules.rounded, UNSURE, strict=False),
    Function("FLOOR", "n", form("FLOOR({0})"), domain.floored, DOUBLE),
    Function("TRUNC", "n", form("TRUNC({0})"), domain.truncated, DOUBLE),
    Function("SIGN", "n", form("CAST(SIGN({0}) AS DOUBLE)"), rules.sign, DOUBLE),
    Function("CEIL", "n", form("CEIL({0})"), domain.ceiled, DOUBLE),
    Function("SQRT", "n", repeating("CASE WHEN {0} >= 0 THEN SQRT({0}) END"), rules.root, DOUBLE, strict=False),
    Function("EXP", "n", form("EXP({0})"), rules.exponential, DOUBLE),
    Function("LN", "n", repeating("CASE WHEN {0} > 0 THEN LN({0}) END"), rules.natural, DOUBLE, strict=False),
    Function("LOG10", "n", repeating("CASE WHEN {0} > 0 THEN LOG10({0}) END"), rules.decadic, DOUBLE, strict=False),
    Function(
        "LOG",
        "nn",
        LOGARITHM,
        lambda base, a: domain.divide(rules.natural(a), rules.natural(base)),
        UNSURE,
        strict=False,
    ),
    Function("POWER", "nn", form("POW({0}, {1})"), rules.power, UNSURE, strict=False),
    Function("LEAST", "n*", _called("LEAST"), domain.smallest, CHOICE, strict=False),
    Function("GREATEST", "n*", _called("GREATEST"), domain.largest, CHOICE, strict=False),
    Function("LEAST OF ALL", "n*", _if_all("LEAST"), domain.smallest, CHOICE),
    Function("GREATEST OF ALL", "n*", _if_all("GREATEST"), domain.largest, CHOICE),
    Function(
        "CLAMP",
        "ncc",
        repeating("CASE WHEN {0} < {1} THEN {1} WHEN {0} > {2} THEN {2} ELSE {0} END"),
        rules.clamped,
        CHOICE,
    ),
    Function(
        "WIDTH_BUCKET",
        "nccc",
        repeating(
            "CASE WHEN {0} < {1} THEN 0 WHEN {0} >= {2} THEN CAST({3} AS BIGINT) + 1 WHEN {0} >= {1} THEN"
            " LEAST(CAST(FLOOR(LEAST(({0} - {1}) / ({2} - {1}) * {3}, {3})) AS BIGINT) + 1, CAST({3} AS BIGINT)) END"
        ),
        rules.bucket,
        EXACT,
    ),
    # truth
    Function("=", "ss", form("({0} = {1})"), rules.truth, EXACT),
    Function("<>", "ss", form("({0} <> {1})"), rules.truth, EXACT),
    Function("<", "ss", form("({0} < {1})"), rules.truth, EXACT),
    Function("<=", "ss", form("({0} <= {1})"), rules.truth, EXACT),
    Function(">", "ss", form("({0} > {1})"), rules.truth, EXACT),
    Function(">=", "ss", form("({0} >= {1})"), rules.truth, EXACT),
    Function("BETWEEN", "sss", form("({0} BETWEEN {1} AND {2})"), rules.truth, EXACT),
    Function("IN", "ss*", _listed, rules.truth, EXACT, strict=False),
    Function("LIKE", "tc", _like(form("({0} LIKE {1})")), rules.truth, EXACT),
    Function("ILIKE", "tc", _like(form("(LOWER({0}) LIKE LOWER({1}))")), rules.truth, EXACT),
    Function("LIKE ESCAPE", "tcc", _like(form("({0} LIKE {1} ESCAPE {2})")), rules.truth, EXACT),
    Function("ILIKE ESCAPE", "tcc", _like(form("(LOWER({0}) LIKE LOWER({1}) ESCAPE {2})")), rules.truth, EXACT),
    Function("STARTS_WITH", "tc", form("starts_with({0}, {1})"), rules.truth, EXACT),
    Function("ENDS_WITH", "tc", form("suffix({0}, {1})"), rules.truth, EXACT),
    Function("CONTAINS", "tc", form("contains({0}, {1})"), rules.truth, EXACT),
    Function("IS DISTINCT FROM", "ss", form("({0} IS DISTINCT FROM {1})"), rules.tested, EXACT, own_nulls=True),
    Function("AND", "bb", form("({0} AND {1})"), rules.truth, EXACT),
    Function("OR", "bb", form("({0} OR {1})"), rules.truth, EXACT),
    Function("NOT", "b", form("(NOT {0})"), rules.truth, EXACT),
    Function("IS NULL", "a", form("({0} IS NULL)"), rules.tested, EXACT, own_nulls=True),
    Function("IS TRUE", "b", form("({0} IS TRUE)"), rules.tested, EXACT, own_nulls=True),
    Function("IS FALSE", "b", form("({0} IS FALSE)"), rules.tested, EXACT, own_nulls=True),
    # choice
    Function("CASE", "(bs)*s", _case_text, rules.chosen, CHOICE, own_nulls=True),
    Function("COALESCE", "s*", _called("COALESCE"), rules.coalesced, CHOICE, own_nulls=True),
    Function("NULLIF", "ss", NULL_IF, rules.or_null, CHOICE, own_nulls=True),
    # casts
    Function("CAST INTEGER", "a", form("TRY_CAST({0} AS BIGINT)"), rules.whole, EXACT, strict=False),
    Function("CAST NUMBER", "a", form("TRY_CAST({0} AS DOUBLE)"), rules.real, UNSURE, strict=False),
    Function("CAST INT", "a", form("CAST(TRY_CAST({0} AS INTEGER) AS BIGINT)"), rules.small_whole, EXACT, strict=False),
    Function("CAST TEXT", "a", form("CAST({0} AS VARCHAR)"), rules.written, VARCHAR),
    Function(
        "CAST TEXT OF A WHOLE NUMBER",
        "a",
        form("CAST(TRY_CAST({0} AS HUGEINT) AS VARCHAR)"),
        rules.written,
        VARCHAR,
        strict=False,
    ),
    Function("CAST BOOLEAN", "a", form("TRY_CAST({0} AS BOOLEAN)"), rules.truth, EXACT, strict=False),
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
    Function("LOWER", "t", form("LOWER({0})"), rules.shortened, VARCHAR),
    Function("UPPER", "t", form("UPPER({0})"), rules.shortened, VARCHAR),
    Function("TRIM", "t", form("TRIM({0})"), rules.shortened, VARCHAR),
    Function("LENGTH", "t", form("LENGTH({0})"), rules.length, EXACT),
    Function("SUBSTR", "tc", form("SUBSTR({0}, {1})"), rules.shortened, VARCHAR),
    Function("SUBSTR TO", "tcc", form("SUBSTR({0}, {1}, {2})"), rules.part_of, VARCHAR),
    Function("||", "tt", form("({0} || {1})"), rules.together, VARCHAR),
    Function("CONCAT OF ALL", "t*", _joined, rules.together, VARCHAR),
    Function(
        "CONCAT",
        "t*",
        _called("CONCAT"),
        lambda *parts: rules.together(*parts).but(certain=True),
        VARCHAR,
        own_nulls=True,
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
    *(
        Function(
            f"DATE_ADD {unit} {kind}",
            "dc",
            _moved(unit, kind),
            dates.added(unit, Kind(kind.lower())),
            EXACT,
            strict=False,
        )
        for unit, kind in dates.MOVES
    ),
    *(
        Function(f"{unit.upper()} AFTER", "ic", _after(unit), dates.after(unit), EXACT, strict=False)
        for unit in ("days", "minutes")
    ),
    Function("STRFTIME", "dc", form("strftime({0}, {1})"), date_texts.formatted, VARCHAR),
)

FUNCTIONS: Final = {row.name: row for row in _ROWS}
