"""Spark's language, for sessions in which ANSI mode is off: there arithmetic is total, as DuckDB's is.

Texts are written as their bytes (`CAST(X'…' AS STRING)`): inside of quotes Spark gives a meaning to backslashes, and a
literal could end early. Where Spark still raises errors (times that are too far away), or rounds in another way, a CASE
stands in front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from discreet.engines.connection import isolated
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
SETTINGS: Final = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.caseSensitive": "false",
}
"""Of the sessions that read what is printed here."""
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
    """Texts are compared bytewise: no column of a copy has a collation."""
    return term.text


def _both(text: str, *types: Type) -> list[Form]:
    """An operator that stays within each of these types."""
    return [Form((type_, type_), text, type_) for type_ in types]


_EXACT: Final = "4503599627370496D"
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


_INSIDE: Final = "(CASE WHEN abs({0}) < " + _EXACT + " THEN {1} ELSE {0} END)"
_FUNCTIONS: Final[Mapping[str, Sequence[Form]]] = {
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
_AGGREGATES: Final[Mapping[str, Sequence[Form]]] = {
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
_CASTS: Final[Mapping[tuple[Type, Type], str]] = {
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


def _word(term: Term, known: Sequence[str] | Mapping[str, str]) -> str:
    if term.constant is None or term.constant.lower() not in known:
        raise UnknownError("a part of a date")
    return term.constant.lower()


def _part(arguments: Sequence[Term]) -> Term:
    part = _PARTS[_word(arguments[0], _PARTS)]
    return Term(f"CAST({part.format(_moment(arguments[1]))} AS BIGINT)", WHOLE)


def _month(arguments: Sequence[Term]) -> Term:
    return Term(f"CAST(month({_moment(arguments[0])}) AS BIGINT)", WHOLE)


def _truncated(arguments: Sequence[Term]) -> Term:
    return Term(_TRUNCATED.format(_moment(arguments[1]), _word(arguments[0], _TRUNCATIONS)), TIME)


def _difference(arguments: Sequence[Term]) -> Term:
    text = _DIFFERENCES[_word(arguments[0], _DIFFERENCES)]
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
    return f"(CASE WHEN abs({value}) < {_EXACT} THEN {whole} + {away} ELSE {value} END)"


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
    functions=_FUNCTIONS,
    rules=_RULES,
    aggregates=_AGGREGATES,
    casts=_CASTS,
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
