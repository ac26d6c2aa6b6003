"""Random questions in two languages: as analysts write them, and as plain DuckDB SQL over plain rows.

A term is a text for discreet, a text for DuckDB that means the same row by row (NaN and x/0 are NULL, arithmetic is in
DOUBLE), and bounds that are worked out here, not by discreet.
"""

# ruff: noqa: E501 (tables of texts)

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

TABLE: Final = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = {rows}
max_groups = {groups}
max_rows_per_group = {in_group}
[tables.t.columns]
a = {{ type = "integer", min = 0, max = 20 }}
b = {{ min = -10, max = 10, step = 0.25 }}
c = {{ min = 0, max = 1000 }}
d = {{ type = "integer", min = -5, max = 5 }}
k = {{ values = ["x", "y", "z"] }}
n = {{ values = ["p", "q"], nullable = true }}
f = {{ type = "boolean" }}
code = {{ values = [1, 2, 5] }}
day = {{ type = "date", min = 2024-01-01, max = 2024-03-31 }}
ts = {{ type = "timestamp", min = 2024-01-01T00:00:00, max = 2024-01-04T00:00:00 }}
s = {{ type = "text" }}
"""
TYPES: Final = {
    "who": "VARCHAR", "a": "BIGINT", "b": "DOUBLE", "c": "DOUBLE", "d": "BIGINT", "k": "VARCHAR", "n": "VARCHAR",
    "f": "BOOLEAN", "code": "BIGINT", "day": "DATE", "ts": "TIMESTAMP", "s": "VARCHAR",
}  # fmt: skip
LISTED: Final[dict[str, list[Any]]] = {"k": ["x", "y", "z"], "n": ["p", "q"], "code": [1, 2, 5]}
NAN: Final = "'nan'::DOUBLE"


def table(rows: int = 200, groups: int = 200, in_group: int = 200) -> str:
    return TABLE.format(rows=rows, groups=groups, in_group=in_group)


def random_row(dice: random.Random) -> dict[str, Any]:
    """Mostly sensible; some values are missing, undeclared or beyond the bounds."""
    first = datetime(2024, 1, 1)
    row: dict[str, Any] = {
        "who": dice.choice(["u1", "u2", "u3", "u4", "u5", "u6", "u7"]),
        "a": dice.randint(0, 20),
        "b": dice.randint(-40, 40) / 4,
        "c": dice.choice([dice.uniform(0, 1000), float(dice.randint(0, 1000)), 0.1 * dice.randint(0, 99)]),
        "d": dice.randint(-5, 5),
        "k": dice.choice("xyz"),
        "n": dice.choice("pq"),
        "f": dice.random() < 0.5,
        "code": dice.choice([1, 2, 5]),
        "day": date(2024, 1, 1) + timedelta(days=dice.randint(0, 90)),
        "ts": first + timedelta(minutes=dice.randint(0, 3 * 24 * 60)),
        "s": dice.choice(["", "aa", "Abc", "ünï", "a%b", " pad ", "12", "2024-02-03"]),
    }
    strange: dict[str, list[Any]] = {
        "who": [None],
        "a": [-7, 21, 10**12],
        "b": [-100, 10.25, math.inf],
        "c": [-3.5, 1e6, math.inf, -math.inf, math.nan, -0.0, 5e-324],
        "d": [-6, 77],
        "k": ["w", "", "X"],
        "n": ["r"],
        "f": [None],
        "code": [3, 9, 0],
        "day": [date(2023, 12, 31), date(2030, 1, 1)],
        "ts": [datetime(2020, 1, 1, 5), datetime(2030, 5, 5)],
        "s": [None],
    }
    for column, values in strange.items():
        if dice.random() < 0.08:
            row[column] = dice.choice(values)
        elif dice.random() < 0.08 and column != "who":
            row[column] = None
    return row


@dataclass(frozen=True)
class Term:
    """A number: two texts, bounds (None where there are none), and whether it is whole."""

    text: str
    plain: str
    low: Fraction | None
    high: Fraction | None
    whole: bool = False
    certain: bool = False
    """Never NULL."""

    @property
    def size(self) -> Fraction:
        return max(abs(self.low), abs(self.high)) if self.low is not None and self.high is not None else Fraction(10**9)


COLUMNS: Final = (
    Term("a", "a", Fraction(0), Fraction(20), True),
    Term("b", "b", Fraction(-10), Fraction(10)),
    Term("c", "c", Fraction(0), Fraction(1000)),
    Term("d", "d", Fraction(-5), Fraction(5), True),
    Term("code", "code", Fraction(1), Fraction(5), True),
)


class Writer:
    """Writes random terms, conditions and keys."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def literal(self) -> Term:
        value = Fraction(self.dice.choice(["0", "1", "2", "3", "7", "0.5", "2.25", "12"]))
        text = str(value.numerator) if value.denominator == 1 else str(float(value))
        return Term(text, f"{float(value)!r}::DOUBLE", value, value, value.denominator == 1)

    def number(self, depth: int = 2) -> Term:
        """A term with bounds below a million."""
        while True:
            found = self._number(depth)
            if found.size < 10**6:
                return found

    def _number(self, depth: int) -> Term:
        if depth == 0:
            return self.dice.choice(COLUMNS)
        makers: list[Callable[[int], Term]] = [
            self._sum, self._difference, self._product, self._quotient, self._floored, self._remainder, self._one,
            self._case, self._choice, self._clamped, self._coalesced, self._part, self._bucket, self._cast, self._safe,
        ]  # fmt: skip
        return self.dice.choice(makers)(depth - 1)

    def _pair(self, depth: int) -> tuple[Term, Term]:
        left = self.number(depth)
        return left, self.literal() if self.dice.random() < 0.4 else self.number(depth)

    def _sum(self, depth: int) -> Term:
        x, y = self._pair(depth)
        assert x.low is not None
        assert x.high is not None
        assert y.low is not None
        assert y.high is not None
        plain = f"nullif(({x.plain})::DOUBLE + ({y.plain})::DOUBLE, {NAN})"
        return Term(f"({x.text} + {y.text})", plain, x.low + y.low, x.high + y.high, x.whole and y.whole)

    def _difference(self, depth: int) -> Term:
        x, y = self._pair(depth)
        assert x.low is not None
        assert x.high is not None
        assert y.low is not None
        assert y.high is not None
        plain = f"nullif(({x.plain})::DOUBLE - ({y.plain})::DOUBLE, {NAN})"
        return Term(f"({x.text} - {y.text})", plain, x.low - y.high, x.high - y.low, x.whole and y.whole)

    def _product(self, depth: int) -> Term:
        x, y = self._pair(depth)
        corners = [p * q for p in (x.low, x.high) for q in (y.low, y.high) if p is not None and q is not None]
        plain = f"nullif(({x.plain})::DOUBLE * ({y.plain})::DOUBLE, {NAN})"
        return Term(f"({x.text} * {y.text})", plain, min(corners), max(corners), x.whole and y.whole)

    def _quotient(self, depth: int) -> Term:
        """By a number that is not 0, or held between constants."""
        x = self.number(depth)
        if self.dice.random() < 0.5:
            by = self.dice.choice([2, 4, 10, 3])
            plain = f"({x.plain})::DOUBLE / {by}::DOUBLE"
            assert x.low is not None
            assert x.high is not None
            return Term(f"({x.text} / {by})", plain, x.low / by, x.high / by)
        y = self.dice.choice(COLUMNS[:4])  # 0 is within the bounds, so the quotient has none
        divided = f"(CASE WHEN ({y.plain}) = 0 THEN NULL ELSE ({x.plain})::DOUBLE / ({y.plain})::DOUBLE END)"
        return self._held(f"9000 + ABS({x.text} / {y.text})", f"9000 + abs(nullif({divided}, {NAN}))", (0, 9010))

    def _held(self, text: str, plain: str, bounds: tuple[int, int] | None = None) -> Term:
        """Something without bounds, with bounds. discreet knows no narrower ones but for 9000 + |…|."""
        low, high = bounds or self.dice.choice([(0, 5), (0, 40), (2, 100)])
        held = f"(CASE WHEN v < {low} THEN {low} WHEN v > {high} THEN {high} ELSE v END)"
        plain = f"(SELECT {held} FROM (SELECT ({plain})::DOUBLE AS v))"
        least = Fraction(9000 if text.startswith("9000 + ABS") else low)
        return Term(f"CLAMP({text}, {low}, {high})", plain, least, Fraction(high))

    def _floored(self, depth: int) -> Term:
        x, by = self.number(depth), self.dice.choice([2, 5, 10])
        assert x.low is not None
        assert x.high is not None
        low, high = Fraction(math.floor(x.low / by)), Fraction(math.floor(x.high / by))
        return Term(f"FLOOR({x.text} / {by})", f"floor(({x.plain})::DOUBLE / {by}::DOUBLE)", low, high, True)

    def _remainder(self, depth: int) -> Term:
        x, by = self.number(depth), self.dice.choice([3, 7])
        assert x.low is not None
        most = Fraction(by - 1 if x.whole else by)
        plain = f"nullif(({x.plain})::DOUBLE % {by}::DOUBLE, {NAN})"
        return Term(f"({x.text} % {by})", plain, Fraction(0) if x.low >= 0 else -most, most, x.whole)

    def _one(self, depth: int) -> Term:
        x = self.number(depth)
        name = self.dice.choice(["-", "ABS", "FLOOR", "CEIL", "ROUND"])
        assert x.low is not None
        assert x.high is not None
        if name == "-":
            return Term(f"(-{x.text})", f"(-({x.plain})::DOUBLE)", -x.high, -x.low, x.whole, x.certain)
        plain = f"{name.lower()}(({x.plain})::DOUBLE)"
        if name == "ABS":
            ends = [abs(x.low), abs(x.high)]
            low = Fraction(0) if x.low <= 0 <= x.high else min(ends)
            return Term(f"ABS({x.text})", plain, low, max(ends), x.whole, x.certain)
        rounding: dict[str, Callable[[Fraction], int]] = {"FLOOR": math.floor, "CEIL": math.ceil, "ROUND": away}
        edge = rounding[name]
        return Term(f"{name}({x.text})", plain, Fraction(edge(x.low)), Fraction(edge(x.high)), True, x.certain)

    def _case(self, depth: int) -> Term:
        x, y, test = self.number(depth), self.number(depth), self.condition()
        assert x.low is not None
        assert x.high is not None
        assert y.low is not None
        assert y.high is not None
        low, high = min(x.low, y.low), max(x.high, y.high)
        plain = f"(CASE WHEN {test} THEN ({x.plain})::DOUBLE ELSE ({y.plain})::DOUBLE END)"
        text = f"CASE WHEN {test} THEN {x.text} ELSE {y.text} END"
        return Term(text, plain, low, high, x.whole and y.whole, x.certain and y.certain)

    def _choice(self, depth: int) -> Term:
        """LEAST and GREATEST leave NULLs out."""
        x, y = self.number(depth), self.number(depth)
        name = self.dice.choice(["LEAST", "GREATEST"])
        assert x.low is not None
        assert x.high is not None
        assert y.low is not None
        assert y.high is not None
        sign = "<=" if name == "LEAST" else ">="
        both = f"(CASE WHEN p IS NULL THEN q WHEN q IS NULL OR p {sign} q THEN p ELSE q END)"
        plain = f"(SELECT {both} FROM (SELECT ({x.plain})::DOUBLE AS p, ({y.plain})::DOUBLE AS q))"
        low, high = min(x.low, y.low), max(x.high, y.high)
        if name == "LEAST":
            high = min((term.high for term in (x, y) if term.certain and term.high is not None), default=high)
        else:
            low = max((term.low for term in (x, y) if term.certain and term.low is not None), default=low)
        return Term(f"{name}({x.text}, {y.text})", plain, low, high, x.whole and y.whole)

    def _clamped(self, depth: int) -> Term:
        x = self.number(depth)
        assert x.low is not None
        assert x.high is not None
        low, high = self.dice.choice([(0, 10), (2, 3), (5, 500)])
        held = f"(CASE WHEN v < {low} THEN {low} WHEN v > {high} THEN {high} ELSE v END)"
        plain = f"(SELECT {held} FROM (SELECT ({x.plain})::DOUBLE AS v))"
        least, most = min(max(x.low, Fraction(low)), Fraction(high)), max(min(x.high, Fraction(high)), Fraction(low))
        return Term(f"CLAMP({x.text}, {low}, {high})", plain, least, most, x.whole, x.certain)

    def _coalesced(self, depth: int) -> Term:
        x, y = self.number(depth), self.literal()
        assert x.low is not None
        assert x.high is not None
        assert y.low is not None
        low, high = min(x.low, y.low), max(x.high, y.low)
        plain = f"coalesce(({x.plain})::DOUBLE, {y.plain})"
        return Term(f"COALESCE({x.text}, {y.text})", plain, low, high, x.whole and y.whole, True)

    def _part(self, _: int) -> Term:
        part, low, high = self.dice.choice(
            [("month", 1, 12), ("day", 1, 31), ("year", 2024, 2024), ("dow", 0, 6), ("doy", 1, 366)]
        )
        text = f"EXTRACT({part} FROM day)"
        return Term(text, text, Fraction(low), Fraction(high), True)

    def _bucket(self, depth: int) -> Term:
        x = self.number(depth)
        assert x.low is not None
        assert x.high is not None
        edges = "(CASE WHEN v < 0 THEN 0 WHEN v >= 8 THEN 5 WHEN v >= 0 THEN floor(v / 8::DOUBLE * 4)::BIGINT + 1 END)"
        plain = f"(SELECT {edges} FROM (SELECT ({x.plain})::DOUBLE AS v))"

        def place(v: Fraction) -> Fraction:
            return Fraction(0) if v < 0 else Fraction(5) if v >= 8 else Fraction(math.floor(v / 2) + 1)

        return Term(f"WIDTH_BUCKET({x.text}, 0, 8, 4)", plain, place(x.low), place(x.high), True, x.certain)

    def _cast(self, depth: int) -> Term:
        x = self.number(depth)
        return Term(f"CAST({x.text} AS DOUBLE)", f"({x.plain})::DOUBLE", x.low, x.high)

    def _safe(self, _: int) -> Term:
        """Functions that have no bounds of their own here, or whose bounds carry a library's slip."""
        x = self.dice.choice(COLUMNS)
        text, plain = self.dice.choice(
            [
                (f"LN({x.text}) * 1000", f"CASE WHEN {x.plain} > 0 THEN ln(({x.plain})::DOUBLE) END * 1000::DOUBLE"),
                (f"SQRT({x.text}) + 50", f"CASE WHEN {x.plain} >= 0 THEN sqrt(({x.plain})::DOUBLE) END + 50::DOUBLE"),
                ("LENGTH(s) * 1000.5 - 999", "(length(s)::DOUBLE * 1000.5 - 999)"),
                (
                    "DATE_DIFF('day', DATE '2024-02-01', day) * 9.5",
                    "date_diff('day', DATE '2024-02-01', day) * 9.5::DOUBLE",
                ),
                ("CAST(s AS DOUBLE) - 9", "try_cast(s AS DOUBLE) - 9"),
            ]
        )
        if text.startswith("SQRT"):
            return self._below(text, plain)
        return self._held(text, plain)

    def _below(self, text: str, plain: str) -> Term:
        """Held far below all that it can be: the constant comes out, but NULL stays NULL."""
        plain = f"(SELECT CASE WHEN v IS NOT NULL THEN 40 END FROM (SELECT ({plain})::DOUBLE AS v))"
        return Term(f"CLAMP({text}, 0, 40)", plain, Fraction(40), Fraction(40))

    # conditions mean the same in both languages

    def condition(self, depth: int = 1) -> str:
        if depth and self.dice.random() < 0.4:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return self.dice.choice([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})"])
        sign = self.dice.choice(["<", "<=", ">", ">=", "=", "<>"])
        return self.dice.choice(
            [
                f"a {sign} {self.dice.randint(0, 20)}",
                f"b {sign} {self.dice.choice(['-2.5', '0', '3.25'])}",
                f"c {sign} a",
                "c BETWEEN 10 AND 500",
                f"k {sign} 'y'",
                "n IS NULL",
                "n IS NOT NULL",
                "k IN ('x', 'z')",
                "code NOT IN (1, 5)",
                "s LIKE '%a%'",
                "s ILIKE 'A_c'",
                "LOWER(s) = 'abc'",
                "UPPER(s) || k = 'AAx'",
                "LENGTH(TRIM(s)) < 3",
                "SUBSTR(s, 1, 1) = 'a'",
                "CONCAT(n, k) = 'px'",
                "f",
                "f IS TRUE",
                "(a > 5) = f",
                f"day {sign} DATE '2024-02-10'",
                "day BETWEEN '2024-01-15' AND '2024-03-01'",
                "EXTRACT(month FROM day) = 2",
                "ts < TIMESTAMP '2024-01-02 12:00:00'",
                "DATE_TRUNC('month', day) = DATE '2024-02-01'",
                "COALESCE(n, k) = 'p'",
                "NULLIF(k, 'x') IS NULL",
                "CASE code WHEN 1 THEN a > 3 WHEN 2 THEN f ELSE d > 0 END",
                "CAST(a AS VARCHAR) LIKE '1%'",
                "hour(ts) < 12",
            ]
        )

    def key(self) -> tuple[str, str, list[Any]]:
        """A key: its text, its plain text (NULL where it is not listed), and all of its values."""
        months = [date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1)]
        days = [date(2024, 1, 1) + timedelta(days=day) for day in range(91)]
        test = self.condition()
        keys: list[tuple[str, str, list[Any]]] = (
            [
                ("k", "k", ["x", "y", "z"]),
                ("n", "n", ["p", "q", None]),
                ("f", "f", [False, True]),
                ("code", "code", [1, 2, 5]),
                ("a", "a", list(range(21))),
                ("a // 5", "a // 5", [0, 1, 2, 3, 4]),
                ("(a - 10) // 6", "(a - 10) // 6", [-1, 0, 1]),
                ("a % 4", "(a % 4)::BIGINT", [0, 1, 2, 3]),
                ("d + 1", "d + 1", list(range(-4, 7))),
                ("WIDTH_BUCKET(c, 0, 500, 2)",
                 "CASE WHEN c < 0 THEN NULL WHEN c >= 500 THEN 3 WHEN c IS NOT NULL THEN floor(c / 250)::BIGINT + 1 END",
                 [1, 2, 3]),
                ("DATE_TRUNC('month', day)", "date_trunc('month', day)::DATE", months),
                ("DATE_TRUNC('quarter', day)", "date_trunc('quarter', day)::DATE", [date(2024, 1, 1)]),
                ("EXTRACT(month FROM day)", "month(day)", list(range(1, 13))),
                ("EXTRACT(year FROM ts)", "year(ts)", [2024]),
                ("day", "day", days),
                ("DATE_TRUNC('day', ts)", "date_trunc('day', ts)", [datetime(2024, 1, d) for d in (1, 2, 3, 4)]),
                ("CAST(ts AS DATE)", "ts::DATE", [date(2024, 1, d) for d in (1, 2, 3, 4)]),
                ("a > 5", "a > 5", [False, True]),
                (test, test, [False, True]),
                (f"CASE WHEN {test} THEN 'lo' WHEN a > 9 THEN 'hi' END",
                 f"CASE WHEN {test} THEN 'lo' WHEN a > 9 THEN 'hi' END", ["lo", "hi", None]),
                (f"CASE WHEN {test} THEN 3 ELSE 1 END", f"CASE WHEN {test} THEN 3 ELSE 1 END", [3, 1]),
                ("COALESCE(n, 'zz')", "coalesce(n, 'zz')", ["p", "q", "zz"]),
                ("NULLIF(k, 'x')", "nullif(k, 'x')", ["x", "y", "z", None]),
            ]
        )  # fmt: skip
        return self.dice.choice(keys)


def away(x: Fraction) -> int:
    """Half away from zero."""
    steps = math.floor(abs(x) + Fraction(1, 2))
    return steps if x >= 0 else -steps
