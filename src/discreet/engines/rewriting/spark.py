"""Spark's language, for sessions in which ANSI mode is off: there arithmetic is total, as DuckDB's is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from discreet.engines.connection import isolated
from discreet.engines.rewriting.dialect import Dialect, Order, Rule
from discreet.engines.rewriting.spark_digests import digested
from discreet.engines.rewriting.spark_forms import (
    AGGREGATES,
    CASTS,
    EXACT,
    FUNCTIONS,
    TYPES,
    comparable,
    identifier,
    literal,
    text_literal,
)
from discreet.engines.rewriting.terms import BITS, DAY, NOTHING, REAL, TEXT, TIME, TRUTH, WHOLE, Term, part_of_date
from discreet.engines.rewriting.tree import UnknownError

SETTINGS: Final = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.caseSensitive": "false",
}
"""Of the sessions that read what is printed here."""
_PARTS: Final = {
    "year": "year({0})",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "isoyear": "extract(YEAROFWEEK FROM {0})",
    "week": "weekofyear({0})",
    "day": "day({0})",
    "dow": "(dayofweek({0}) - 1)",
    "isodow": "(weekday({0}) + 1)",
    "doy": "dayofyear({0})",
    "hour": "hour({0})",
    "minute": "minute({0})",
    "second": "second({0})",
}
_TRUNCATIONS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute")
_TRUNCATED: Final = "CAST(date_trunc('{1}', {0}) AS TIMESTAMP_NTZ)"
_YEARS: Final = "(year({1}) - year({0}))"


def _between(part: str) -> str:
    """How often a clock passed a full hour, minute or second."""
    ends = ", ".join(_TRUNCATED.format(f"{{{index}}}", part) for index in (0, 1))
    return f"timestampdiff({part.upper()}, {ends})"


_DIFFERENCES: Final = {
    "year": _YEARS,
    "quarter": f"({_YEARS} * 4 + quarter({{1}}) - quarter({{0}}))",
    "month": f"({_YEARS} * 12 + month({{1}}) - month({{0}}))",
    "week": "(datediff(CAST({1} AS DATE), CAST({0} AS DATE)) div 7)",
    "day": "datediff(CAST({1} AS DATE), CAST({0} AS DATE))",
    **{part: _between(part) for part in ("hour", "minute", "second")},
}
_FORMATS: Final = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "j": "DDD", "B": "MMMM", "b": "MMM", "A": "EEEE", "a": "EEE",
    "H": "HH", "M": "mm", "S": "ss",
}  # fmt: skip
_NUMBERED: Final = {"u": "CAST(weekday({0}) + 1 AS STRING)", "V": "lpad(CAST(weekofyear({0}) AS STRING), 2, '0')"}


def _moment(term: Term) -> str:
    """A day or a time, as a time without a zone."""
    if term.type in (DAY, NOTHING):
        return f"CAST({term.text} AS TIMESTAMP_NTZ)"
    if term.type == TIME:
        return term.text
    raise UnknownError(f"{term.type.name} where a time is wanted")


def _part(arguments: Sequence[Term]) -> Term:
    part = _PARTS[part_of_date(arguments[0], _PARTS)]
    return Term(f"CAST({part.format(_moment(arguments[1]))} AS BIGINT)", WHOLE)


def _month(arguments: Sequence[Term]) -> Term:
    return Term(f"CAST(month({_moment(arguments[0])}) AS BIGINT)", WHOLE)


def _truncated(arguments: Sequence[Term]) -> Term:
    return Term(_TRUNCATED.format(_moment(arguments[1]), part_of_date(arguments[0], _TRUNCATIONS)), TIME)


def _difference(arguments: Sequence[Term]) -> Term:
    text = _DIFFERENCES[part_of_date(arguments[0], _DIFFERENCES)]
    return Term(f"CAST({text.format(*map(_moment, arguments[1:]))} AS BIGINT)", WHOLE)


def _formatted(arguments: Sequence[Term]) -> Term:
    """A date as a text, code by code: what is between them is a literal."""
    value, pattern = _moment(arguments[0]), arguments[1].constant
    if pattern is None:
        raise UnknownError("strftime by what is no constant")
    parts = []
    for plain, code in re.findall("([^%]+)|%(.?)", pattern, re.DOTALL):
        if plain or code == "%":
            parts.append(text_literal(plain or code))
        elif code in _FORMATS:
            parts.append(f"date_format({value}, '{_FORMATS[code]}')")
        elif code in _NUMBERED:
            parts.append(_NUMBERED[code].format(value))
        else:
            raise UnknownError("a format of dates")
    return Term(f"concat({', '.join(parts)})", TEXT)


def _hashed(arguments: Sequence[Term]) -> Term:
    """Which bits come out is an engine's own."""
    values = [DIALECT.as_type(term, TEXT) if term.type == NOTHING else term.text for term in arguments]
    return Term(f"xxhash64({', '.join(values)})", BITS)


def _position(arguments: Sequence[Term]) -> Term:
    """NULL where the value is not in the list."""
    held, value = arguments
    where = f"array_position({held.text}, {DIALECT.as_type(value, held.type.of[0])})"
    return Term(f"nullif(CAST({where} AS BIGINT), 0L)", WHOLE)


def _concatenated(arguments: Sequence[Term]) -> Term:
    texts = (f"coalesce({DIALECT.as_type(term, TEXT)}, '')" for term in arguments)
    return Term(f"concat({', '.join(texts)})", TEXT)


_BACKSLASH: Final = text_literal("\\")
_TWO: Final = text_literal("\\\\")


def _like(arguments: Sequence[Term]) -> Term:
    """Spark's own escape is the backslash, of which DuckDB knows nothing: two of them are one."""
    value, pattern = (DIALECT.as_type(term, TEXT) for term in arguments)
    return Term(f"({value} LIKE replace({pattern}, {_BACKSLASH}, {_TWO}))", TRUTH)


def _like_escape(arguments: Sequence[Term]) -> Term:
    """With an escape of its own, which becomes Spark's."""
    value, pattern, escape = arguments
    if pattern.constant is None or escape.constant is None or len(escape.constant) != 1:
        raise UnknownError("LIKE with an escape that is no constant")
    signs, rewritten = iter(pattern.constant), ""
    for sign in signs:
        if sign != escape.constant:
            rewritten += "\\\\" if sign == "\\" else sign
            continue
        following = next(signs, None)
        if following is None:
            raise UnknownError("LIKE with an escape at its end")
        rewritten += f"\\{following}" if following in "%_\\" else following
    return Term(f"({DIALECT.as_type(value, TEXT)} LIKE {text_literal(rewritten)})", TRUTH)


def _left(arguments: Sequence[Term]) -> Term:
    value, count = arguments
    if count.constant is None or not 0 <= int(count.constant) < 2**31:
        raise UnknownError("left by what is no constant")
    return Term(f"left({DIALECT.as_type(value, TEXT)}, {int(count.constant)})", TEXT)


def _rounded(arguments: Sequence[Term]) -> Term:
    """Half away from zero; with digits as DuckDB does it: scaled, rounded, and scaled back."""
    value = DIALECT.as_type(arguments[0], REAL)
    if len(arguments) == 1:
        return Term(_round(value), REAL)
    if arguments[1].constant is None or abs(int(arguments[1].constant)) > 300:
        raise UnknownError("round by what is no constant")
    digits = int(arguments[1].constant)
    scale = f"{float(10 ** abs(digits))!r}D"
    there, back = ("*", "/") if digits >= 0 else ("/", "*")
    result = f"({_round(f'({value} {there} {scale})')} {back} {scale})"
    other = value if digits >= 0 else "0D"
    infinite = "CAST('Infinity' AS DOUBLE)"
    return Term(
        f"(CASE WHEN {value} IS NULL OR abs({value}) >= {infinite} THEN {value} "
        f"WHEN abs({result}) < {infinite} THEN {result} ELSE {other} END)",
        REAL,
    )


def _round(value: str) -> str:
    whole = f"CAST(CAST({value} AS BIGINT) AS DOUBLE)"
    away = f"CASE WHEN abs({value} - {whole}) >= 0.5D THEN signum({value}) ELSE 0D END"
    return f"(CASE WHEN abs({value}) < {EXACT} THEN {whole} + {away} ELSE {value} END)"


@cache
def _letters(case: str) -> tuple[str, str]:
    """What DuckDB makes of each letter that it changes."""
    codes = "SELECT * FROM range(1, 55296) UNION ALL FROM range(57344, 1114112)"
    every = f"(SELECT chr(i::INTEGER) AS c FROM ({codes}) AS t(i))"
    pairs = f"SELECT c, {case}(c) AS other FROM {every}"
    query = f"SELECT string_agg(c, '' ORDER BY c), string_agg(other, '' ORDER BY c) FROM ({pairs}) WHERE other <> c"
    with isolated().cursor() as cursor:
        ((letters, others),) = cursor.execute(query).fetchall()
    return letters, others


@cache
def _blanks() -> str:
    codes = "SELECT * FROM range(1, 55296) UNION ALL FROM range(57344, 1114112)"
    query = f"SELECT string_agg(c, '' ORDER BY c) FROM (SELECT chr(i::INTEGER) AS c FROM ({codes}) AS t(i))"
    with isolated().cursor() as cursor:
        return str(cursor.execute(f"{query} WHERE trim(c) = ''").fetchall()[0][0])


def _cased(case: str) -> Rule:
    def rule(arguments: Sequence[Term]) -> Term:
        (value,) = (DIALECT.as_type(term, TEXT) for term in arguments)
        constant = arguments[0].constant
        if constant is not None:
            changed = constant.translate(str.maketrans(*_letters(case)))
            return Term(text_literal(changed), TEXT, constant=changed)
        letters, others = map(text_literal, _letters(case))
        plain = f"octet_length({value}) = char_length({value})"
        return Term(f"(CASE WHEN {plain} THEN {case}({value}) ELSE translate({value}, {letters}, {others}) END)", TEXT)

    return rule


def _trimmed(arguments: Sequence[Term]) -> Term:
    (value,) = (DIALECT.as_type(term, TEXT) for term in arguments)
    return Term(f"btrim({value}, {text_literal(_blanks())})", TEXT)


_RULES: Final[Mapping[str, Rule]] = {
    "date_part": _part,
    "month": _month,
    "date_trunc": _truncated,
    "date_diff": _difference,
    "strftime": _formatted,
    "hash": _hashed,
    "list_position": _position,
    "concat": _concatenated,
    "~~": _like,
    "like_escape": _like_escape,
    "left": _left,
    "round": _rounded,
    "lower": _cased("lower"),
    "upper": _cased("upper"),
    "trim": _trimmed,
}


def _first(value: str, orders: Sequence[Order], last: bool) -> str:
    """The first value in an order: the smallest where NULL comes behind everything, or the largest turned round."""
    directions = {(each.descending, each.nulls_first) for each in orders}
    if directions not in ({(False, False)}, {(True, False)}):
        raise UnknownError("the first in an order of several directions")
    ((descending, _),) = directions
    sign = "IS NOT NULL" if descending else "IS NULL"
    keys = ", ".join(f"{comparable(each.term)} {sign}, {comparable(each.term)}" for each in orders)
    return f"{'max_by' if descending != last else 'min_by'}({value}, struct({keys}))"


DIALECT: Final = Dialect(
    name="spark",
    functions=FUNCTIONS,
    rules=_RULES,
    aggregates=AGGREGATES,
    casts=CASTS,
    types=TYPES,
    identifier=identifier,
    literal=literal,
    comparable=comparable,
    same="({0} <=> {1})",
    listed="array({})",
    item="get({0}, CAST({1} AS INT) - 1)",
    materialized="",
    inlined="",
    named="get(transform(array({0}), {1} -> {2}), 0)",
    first=_first,
    collected="collect_list(struct({}))",
    semi="LEFT SEMI JOIN",
    anti="LEFT ANTI JOIN",
    unordered="ORDER BY NULL ",
)
SHARED: Final = replace(DIALECT, rules={**_RULES, "hash": digested})
"""With the hash that all engines have."""
