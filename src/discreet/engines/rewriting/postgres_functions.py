"""Functions that no row makes fail, in PostgreSQL's SQL: what DuckDB computes where PostgreSQL raises an error.

Theorem  None of them raises an error, whatever its arguments are, and each gives what DuckDB gives, but for the last
         bits of exp and pow where the result is subnormal, or next to the largest number.
Proof    CASE evaluates a branch only where its condition holds, and every operation below stands in a branch in which
         it can neither overflow, nor make 0 of what is not 0, nor divide by 0: the conditions say so. Scaling by
         powers of two is exact, so whether a result would overflow or vanish is decided by the rounded result itself.

They are SQL, which PostgreSQL puts into the query where arguments are columns, and immutable: nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from discreet.engines.connection import isolated

_HEAD: Final = "CREATE OR REPLACE FUNCTION {0} RETURNS {1} LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN {2}"
_TWO: Final = {
    power: f"'{2.0**power!r}'::float8" for power in (-1022, -562, -538, -525, -512, -51, -50, 500, 512, 1023)
}
_INF: Final = "'Infinity'::float8"
_NAN: Final = "'NaN'::float8"


def _one(a: str) -> str:
    return f"(({a} > 0)::int4 - ({a} < 0)::int4)"


_ADD: Final = f"""CASE
    WHEN abs(a) <= 8e307 AND abs(b) <= 8e307 THEN a + b
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN a = {_NAN} OR b = {_NAN} THEN {_NAN}
    WHEN abs(a) = {_INF} OR abs(b) = {_INF} OR (a > 0) <> (b > 0) OR least(abs(a), abs(b)) < 1e290 THEN a + b
    WHEN abs(a / 2 + b / 2) >= {_TWO[1023]} THEN {_one("a")} * {_INF}
    ELSE a + b END"""
_MULTIPLY: Final = f"""CASE
    WHEN abs(a) BETWEEN 1e-150 AND 1e150 AND abs(b) BETWEEN 1e-150 AND 1e150 THEN a * b
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN a = {_NAN} OR b = {_NAN} THEN {_NAN}
    WHEN a = 0 OR b = 0 OR abs(a) = {_INF} OR abs(b) = {_INF} OR (abs(a) >= 1) <> (abs(b) >= 1) THEN a * b
    WHEN abs(a) >= 1 THEN CASE WHEN abs(a * {_TWO[-512]} * (b * {_TWO[-512]})) >= 1
        THEN {_one("a")} * {_one("b")} * {_INF} ELSE a * b END
    WHEN abs(a) <= {_TWO[-538]} AND abs(b) <= {_TWO[-538]} THEN 0
    WHEN abs(a * {_TWO[512]} * (b * {_TWO[512]})) <= {_TWO[-51]} THEN 0
    ELSE a * b END"""
_DIVIDE: Final = f"""CASE
    WHEN abs(a) BETWEEN 1e-150 AND 1e150 AND abs(b) BETWEEN 1e-150 AND 1e150 THEN a / b
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN a = {_NAN} OR b = {_NAN} OR (a = 0 AND b = 0) OR (abs(a) = {_INF} AND abs(b) = {_INF}) THEN {_NAN}
    WHEN b = 0 THEN {_one("a")} * {_INF}
    WHEN a = 0 OR abs(b) = {_INF} THEN 0
    WHEN abs(a) = {_INF} THEN {_one("a")} * {_one("b")} * {_INF}
    WHEN abs(b) < 1 THEN CASE
        WHEN abs(a) < {_TWO[-51]} THEN a / b
        WHEN abs(a) >= {_TWO[500]} AND abs(b) <= {_TWO[-525]} THEN {_one("a")} * {_one("b")} * {_INF}
        WHEN abs(a * {_TWO[-512]} / (b * {_TWO[512]})) >= 1 THEN {_one("a")} * {_one("b")} * {_INF}
        ELSE a / b END
    WHEN abs(a) >= {_TWO[-50]} THEN a / b
    WHEN abs(a * {_TWO[512]} / (b * {_TWO[-512]})) <= {_TWO[-51]} THEN 0
    ELSE a / b END"""
_BITS: Final = "('x' || encode(float8send(abs(a)), 'hex'))::bit(64)::int8"
_MANTISSA: Final = f"""CASE WHEN {_BITS} < 4503599627370496 THEN {_BITS}
    ELSE ({_BITS} & 4503599627370495) | 4503599627370496 END"""
_EXPONENT: Final = f"(greatest({_BITS} >> 52, 1) - 1075)::int4"
_LOWEST: Final = "least(discreet_exponent(a), discreet_exponent(b))"
_SCALED: Final = "(discreet_mantissa({0})::numeric * power(2::numeric, discreet_exponent({0}) - {1}))"
_REST: Final = f"""CASE
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN a = {_NAN} OR b = {_NAN} OR abs(a) = {_INF} OR b = 0 THEN {_NAN}
    WHEN abs(a) < abs(b) THEN a
    WHEN abs(a) < 9007199254740992 AND a = trunc(a) AND b = trunc(b) THEN (a::int8 % b::int8)::float8
    ELSE {_one("a")} * discreet_multiply(
        trunc({_SCALED.format("a", _LOWEST)} % {_SCALED.format("b", _LOWEST)})::text::float8,
        discreet_power_of_two({_LOWEST})) END"""
_EXP: Final = """CASE
    WHEN a = 'NaN'::float8 THEN a
    WHEN a > 709.782712893384 THEN 'Infinity'::float8
    WHEN a < -745.1332191019412 THEN 0
    WHEN a < -708 THEN discreet_multiply(exp(a / 2), exp(a / 2))
    ELSE exp(a) END"""
_POW: Final = f"""CASE
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN a = 1 OR b = 0 THEN 1
    WHEN a = {_NAN} OR b = {_NAN} THEN {_NAN}
    WHEN a = 0 AND b < 0 THEN {_INF}
    WHEN a < 0 AND abs(a) < {_INF} AND abs(b) < {_INF} AND b <> trunc(b) THEN {_NAN}
    WHEN a < 0 AND abs(b) < {_INF} AND b <> trunc(b) THEN CASE WHEN b > 0 THEN {_INF} ELSE 0 END
    WHEN a = 0 OR abs(a) = {_INF} OR abs(b) = {_INF} THEN power(a, b)
    ELSE (CASE WHEN a < 0 AND discreet_rest(b, 2) <> 0 THEN -1 ELSE 1 END) * discreet_power(abs(a), b,
        discreet_multiply(b, ln(abs(a)))) END"""
_POWER: Final = f"""CASE
    WHEN size > 709.79 THEN {_INF}
    WHEN size < -745.2 THEN 0
    WHEN abs(size) > 708 THEN discreet_multiply(power(a, b / 2), power(a, b / 2))
    WHEN abs(size) < 1e-300 THEN 1
    ELSE power(a, b) END"""
_ROUND: Final = f"""CASE
    WHEN abs(a) < 4503599627370496 THEN trunc(a) + CASE WHEN abs(a - trunc(a)) >= 0.5 THEN {_one("a")} ELSE 0 END
    ELSE a END"""
_ROUND_TO: Final = f"""CASE
    WHEN abs(a) = {_INF} OR a = {_NAN} THEN a
    WHEN digits >= 0 THEN CASE
        WHEN abs(discreet_divide(discreet_round(discreet_multiply(a, power(10::float8, digits))),
            power(10::float8, digits))) < {_INF}
        THEN discreet_divide(discreet_round(discreet_multiply(a, power(10::float8, digits))), power(10::float8, digits))
        ELSE a END
    ELSE CASE
        WHEN abs(discreet_multiply(discreet_round(discreet_divide(a, power(10::float8, -digits))),
            power(10::float8, -digits))) < {_INF}
        THEN discreet_multiply(discreet_round(discreet_divide(a, power(10::float8, -digits))),
            power(10::float8, -digits))
        WHEN a IS NULL THEN NULL ELSE 0 END END"""
_WHOLE: Final = """CASE WHEN a >= -9223372036854775808::float8 AND a < 9223372036854775808::float8
    THEN CASE WHEN a::int8 BETWEEN low AND high THEN a::int8 END END"""
_HUGE: Final = f"""CASE
    WHEN abs(a) < 9007199254740992 THEN a::int8::numeric
    WHEN abs(a) < '1.7014118346046923e+38'::float8
    THEN {_one("a")} * trunc(discreet_mantissa(a)::numeric * power(2::numeric, discreet_exponent(a))) END"""
_FROM: Final = "CASE WHEN start >= 0 THEN start - 1 ELSE length(a) + start END"
_FIRST: Final = f"least(greatest(least({_FROM}, {_FROM} + count), 0), length(a))"
_BEHIND: Final = f"least(greatest(greatest({_FROM}, {_FROM} + count), 0), length(a))"
_SUBSTR: Final = f"substr(a, ({_FIRST} + 1)::int4, ({_BEHIND} - {_FIRST})::int4)"
_YEAR: Final = "extract(year from a)"
_LATER: Final = f"CASE WHEN {_YEAR} + count / 365.0 BETWEEN -20 AND 10020 THEN a + count::int4 END"
_DAYS: Final = (
    f"CASE WHEN {_YEAR} + count / 365.0 BETWEEN -20 AND 10020 THEN a + make_interval(days => count::int4) END"
)
_MONTHS: Final = (
    f"CASE WHEN {_YEAR} + count / 12.0 BETWEEN -20 AND 10020 THEN a + make_interval(months => count::int4) END"
)
_SECONDS: Final = (
    f"CASE WHEN {_YEAR} + count / 31536000.0 BETWEEN -20 AND 10020 THEN a + make_interval(days => "
    "(count / 86400)::int4, secs => (count % 86400)::float8) END"
)

_SAYING: Final = {
    "int8": "'i' || a::text || ';'",
    "numeric": "'i' || a::text || ';'",
    "float8": f"CASE WHEN a = {_NAN} THEN 'rn;' ELSE 'r' || "
    "(('x' || encode(float8send(a + 0), 'hex'))::bit(64)::int8)::text || ';' END",
    "text": "'t' || octet_length(a)::text || ':' || a",
    "bool": "CASE WHEN a THEN 'b1;' ELSE 'b0;' END",
    "date": "'s' || (extract(epoch from a::timestamp) * 1000000)::int8::text || ';'",
    "timestamp": "'s' || (extract(epoch from a) * 1000000)::int8::text || ';'",
}
"""How values are written before they are hashed, as all engines write them (`engines.digests`)."""

_BODIES: Final = (
    ("discreet_add(a float8, b float8)", "float8", _ADD),
    ("discreet_multiply(a float8, b float8)", "float8", _MULTIPLY),
    ("discreet_divide(a float8, b float8)", "float8", _DIVIDE),
    ("discreet_mantissa(a float8)", "int8", _MANTISSA),
    ("discreet_exponent(a float8)", "int4", _EXPONENT),
    (
        "discreet_power_of_two(a int4)",
        "float8",
        f"CASE WHEN a < -1022 THEN power(2::float8, a + 100) * '{2.0**-100!r}'::float8 ELSE power(2::float8, a) END",
    ),
    ("discreet_rest(a float8, b float8)", "float8", _REST),
    ("discreet_exp(a float8)", "float8", _EXP),
    ("discreet_ln(a float8)", "float8", "CASE WHEN a > 0 THEN ln(a) END"),
    ("discreet_log10(a float8)", "float8", "CASE WHEN a > 0 THEN log(a) END"),
    ("discreet_sqrt(a float8)", "float8", "CASE WHEN a >= 0 THEN sqrt(a) END"),
    ("discreet_power(a float8, b float8, size float8)", "float8", _POWER),
    ("discreet_pow(a float8, b float8)", "float8", _POW),
    ("discreet_round(a float8)", "float8", _ROUND),
    ("discreet_round_to(a float8, digits int4)", "float8", _ROUND_TO),
    ("discreet_whole(a float8, low int8, high int8)", "int8", _WHOLE),
    ("discreet_between(a int8, low int8, high int8)", "int8", "CASE WHEN a BETWEEN low AND high THEN a END"),
    ("discreet_between(a numeric, low int8, high int8)", "int8", "CASE WHEN a BETWEEN low AND high THEN a::int8 END"),
    ("discreet_huge(a float8)", "numeric", _HUGE),
    (
        "discreet_bits_below(a int8, b int8)",
        "int8",
        "CASE WHEN a = '-9223372036854775808'::int8 THEN 9223372036854775807 - (b - 1) ELSE a - b END",
    ),
    (
        "discreet_bits_right(a int8, places int4)",
        "int8",
        "CASE WHEN places = 0 THEN a ELSE (a >> places) & (9223372036854775807 >> (places - 1)) END",
    ),
    ("discreet_substr(a text, start int8, count int8)", "text", _SUBSTR),
    *(
        (f"discreet_said(a {kind})", "text", f"CASE WHEN a IS NULL THEN 'n;' ELSE {said} END")
        for kind, said in _SAYING.items()
    ),
    ("discreet_digest(a text)", "int8", "('x' || left(md5(a), 16))::bit(64)::int8"),
    ("discreet_later(a date, count int8)", "date", _LATER),
    ("discreet_days_later(a timestamp, count int8)", "timestamp", _DAYS),
    ("discreet_months_later(a timestamp, count int8)", "timestamp", _MONTHS),
    ("discreet_seconds_later(a timestamp, count int8)", "timestamp", _SECONDS),
)  # fmt: skip


@lru_cache(maxsize=1)
def functions() -> tuple[str, ...]:
    """The statements that make them."""
    return (*(_HEAD.format(head, gives, body) for head, gives, body in _BODIES), *_letters())


def _letters() -> Iterator[str]:
    """Lower and upper case and blanks as DuckDB knows them: what it makes of each letter is asked of it."""
    codes = "SELECT * FROM range(128, 55296) UNION ALL FROM range(57344, 1114112)"
    every = f"(SELECT chr(i::INTEGER) AS c FROM ({codes}) AS t(i))"
    with isolated().cursor() as cursor:
        for case in ("lower", "upper"):
            pairs = f"SELECT c, {case}(c) AS other FROM {every}"
            query = (
                f"SELECT string_agg(c, '' ORDER BY c), string_agg(other, '' ORDER BY c) FROM ({pairs}) WHERE other <> c"
            )
            ((letters, others),) = cursor.execute(query).fetchall()
            plain = f'CASE WHEN octet_length(a) = length(a) THEN {case}(a COLLATE "C")'
            body = f"{plain} ELSE translate({case}(a COLLATE \"C\"), '{letters}', '{others}') END"
            yield _HEAD.format(f"discreet_{case}(a text)", "text", body)
        query = f"SELECT string_agg(c, '' ORDER BY c) FROM (FROM {every} UNION ALL SELECT ' ') WHERE trim(c) = ''"
        ((blanks,),) = cursor.execute(query).fetchall()
    yield _HEAD.format("discreet_trim(a text)", "text", f"btrim(a, '{blanks}')")
