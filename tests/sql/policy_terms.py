"""Random terms, conditions and keys over the columns of a random policy, for discreet and for plain DuckDB.

A field, a term, a condition or a key is a text for discreet and one that means the same row by row to DuckDB; bounds,
listed keys and what may be NULL are worked out here, not by discreet.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from tests.sql.policies import MOST_STEPS, Column

NAN: Final = "'nan'::DOUBLE"
FINE: Final = 2**20
MOST_KEYS: Final = 60


@dataclass(frozen=True)
class Field:
    """A column of a source; `rank` and `nth` are the stored ranks of its key, where groups are chosen by them."""

    text: str
    plain: str
    column: Column
    rank: str | None = None
    nth: str | None = None


@dataclass(frozen=True)
class Term:
    """A number of each row, with bounds; `slack` is how far rounding to a grid may move it."""

    text: str
    plain: str
    low: Fraction
    high: Fraction
    whole: bool
    slack: Fraction

    @property
    def size(self) -> Fraction:
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Condition:
    """A condition, alike in both languages but for the fields' names."""

    text: str
    plain: str
    nullable: bool = False


@dataclass(frozen=True)
class Key:
    """`listed` are all of its values; None where they are private."""

    text: str
    plain: str
    listed: list[Any] | None
    nullable: bool
    field: Field | None = None


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 and abs(value) <= 2**64 else repr(float(value))
    return str(value)


class Writer:
    """Writes terms, conditions and keys over the fields of a source."""

    def __init__(self, dice: random.Random, fields: Sequence[Field]) -> None:
        self.dice = dice
        self.fields = fields
        terms = [self._column(field) for field in fields if field.column.kind in ("integer", "number")]
        # exact sums of larger whole numbers would need noise that is too large to draw
        self.numbers = [term for term in terms if not term.whole or term.size < 2**40]

    def _column(self, field: Field) -> Term:
        column = field.column
        size = max(abs(column.low), abs(column.high))
        whole = column.kind == "integer" and size < 2**62
        slack = Fraction(0)
        if not whole:
            stepped = column.step is not None and size / column.step <= MOST_STEPS
            slack = (column.step or slack) if column.rough else slack if stepped else size / FINE
            slack = max(slack, size / FINE) if column.rough else slack
        return Term(field.text, field.plain, column.low, column.high, whole, slack)

    # numbers

    def anything(self) -> Term:
        """A column as it is, of any kind."""
        field = self.dice.choice(self.fields)
        return Term(field.text, field.plain, Fraction(0), Fraction(0), whole=False, slack=Fraction(0))

    def number(self, depth: int) -> Term | None:
        if not self.numbers:
            return None
        if depth == 0:
            return self.dice.choice(self.numbers)
        x = self.number(depth - 1)
        assert x is not None
        makers = [self._sum, self._product, self._negative, self._absolute, self._clamped, self._case, self._filled]
        return self.dice.choice(makers)(x)

    def _made(self, x: Term, text: str, plain: str, low: Fraction, high: Fraction, *, whole: bool) -> Term:
        size = max(abs(low), abs(high))
        whole = whole and size < 2**62
        return Term(text, plain, low, high, whole, Fraction(0) if whole else max(x.slack, size / FINE))

    def _sum(self, x: Term) -> Term:
        y, sign = self.dice.choice(self.numbers), self.dice.choice("+-")
        low, high = (x.low + y.low, x.high + y.high) if sign == "+" else (x.low - y.high, x.high - y.low)
        plain = f"nullif(({x.plain})::DOUBLE {sign} ({y.plain})::DOUBLE, {NAN})"
        rougher = x if x.slack > y.slack else y
        return self._made(rougher, f"({x.text} {sign} {y.text})", plain, low, high, whole=x.whole and y.whole)

    def _product(self, x: Term) -> Term:
        times = self.dice.choice([2, 3, -4])
        low, high = sorted((x.low * times, x.high * times))
        return self._made(
            replace(x, slack=x.slack * abs(times)), f"({x.text} * {times})", f"(({x.plain})::DOUBLE * {times})", low,
            high, whole=x.whole,
        )  # fmt: skip

    def _negative(self, x: Term) -> Term:
        return self._made(x, f"(-{x.text})", f"(-({x.plain})::DOUBLE)", -x.high, -x.low, whole=x.whole)

    def _absolute(self, x: Term) -> Term:
        least = Fraction(0) if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high))
        return self._made(x, f"ABS({x.text})", f"abs(({x.plain})::DOUBLE)", least, x.size, whole=x.whole)

    def _clamped(self, x: Term) -> Term:
        a, b = self.dice.choice([(0, 10), (-3, 4), (100, 5000)])
        held = f"CASE WHEN v < {a} THEN {a} WHEN v > {b} THEN {b} ELSE v END"
        plain = f"(SELECT {held} FROM (SELECT ({x.plain})::DOUBLE AS v))"
        low, high = min(max(x.low, Fraction(a)), Fraction(b)), max(min(x.high, Fraction(b)), Fraction(a))
        return self._made(x, f"CLAMP({x.text}, {a}, {b})", plain, low, high, whole=x.whole)

    def _case(self, x: Term) -> Term:
        test = self.test(0)
        low, high = min(x.low, Fraction(0)), max(x.high, Fraction(0))
        plain = f"(CASE WHEN {test.plain} THEN ({x.plain})::DOUBLE ELSE 0 END)"
        return self._made(x, f"CASE WHEN {test.text} THEN {x.text} ELSE 0 END", plain, low, high, whole=x.whole)

    def _filled(self, x: Term) -> Term:
        low, high = min(x.low, Fraction(3)), max(x.high, Fraction(3))
        return self._made(x, f"COALESCE({x.text}, 3)", f"coalesce(({x.plain})::DOUBLE, 3)", low, high, whole=x.whole)

    # conditions

    def test(self, depth: int = 1) -> Condition:
        if depth and self.dice.random() < 0.4:
            a, b = self.test(depth - 1), self.test(depth - 1)
            word = self.dice.choice(["AND", "OR"])
            both = Condition(f"({a.text} {word} {b.text})", f"({a.plain} {word} {b.plain})", a.nullable or b.nullable)
            return self.dice.choice([both, both, Condition(f"(NOT {a.text})", f"(NOT {a.plain})", a.nullable)])
        field = self.dice.choice(self.fields)
        if self.dice.random() < 0.15:
            word = self.dice.choice(["IS NULL", "IS NOT NULL"])
            return Condition(f"{field.text} {word}", f"{field.plain} {word}")
        text = self._compared(field.column)
        return Condition(text.format(field.text), text.format(field.plain), field.column.nullable)

    def _compared(self, column: Column) -> str:
        dice = self.dice
        sign = dice.choice(["<", "<=", ">", ">=", "=", "<>"])
        if column.kind == "boolean":
            return dice.choice(["{}", "({} = TRUE)", "({} <> FALSE)"])
        if column.kind == "text":
            known = ["x", "y", "it's", "", "Å", *(column.values or ())]
            one, two = (literal(dice.choice(known)).replace("{", "{{") for _ in range(2))
            return dice.choice([f"{{}} {sign} {one}", f"{{}} IN ({one}, {two})", "{} LIKE '%''%'", "LENGTH({}) > 1"])
        if column.values is not None:
            one = literal(dice.choice(column.values))
            return f"{{}} {sign} {one}"
        if column.kind in ("integer", "number"):
            edge = column.low + (column.high - column.low) * Fraction(dice.randint(0, 4), 4)
            edge = Fraction(math.floor(edge)) if column.kind == "integer" else Fraction(float(edge))
            return f"{{}} {dice.choice(['<', '>='])} {literal(edge)}"
        middle = column.low + (column.high - column.low) / 2
        return f"{{}} {sign} {literal(middle)}"

    # keys

    def key(self, *, private: bool) -> Key | None:
        ranked = [field for field in self.fields if field.rank is not None]
        if ranked and self.dice.random() < 0.4:
            return self._direct(self.dice.choice(ranked), private=private)
        field = self.dice.choice(self.fields)
        column = field.column
        kinds: list[Key | None] = [self._direct(field, private=private), self._tested(), self._cased()]
        if column.kind == "integer" and column.low is not None and column.values is None:
            kinds += self._whole(field)
        if column.kind in ("integer", "number") and column.values is None:
            kinds += [self._bucket(field)] * 2
        if column.kind in ("date", "timestamp") and column.values is None:
            kinds += self._dated(field)
        if column.kind == "text" and column.values is not None and not field.text.startswith("p."):
            listed = list(dict.fromkeys([*column.values, "zz"]))
            plain = f"coalesce({field.plain}, 'zz')"
            kinds.append(Key(f"COALESCE({field.text}, 'zz')", plain, listed, nullable=False))
        return self.dice.choice([kinds[0], *kinds])

    def _direct(self, field: Field, *, private: bool) -> Key | None:
        column = field.column
        listed: list[Any] | None = None
        plain = field.plain
        if column.values is not None:
            listed = list(column.values)
        elif column.kind == "boolean":
            listed = [False, True]
        elif column.kind == "integer" and column.high - column.low < MOST_KEYS:
            listed = list(range(int(column.low), int(column.high) + 1))
            plain = f"(CASE WHEN {plain} BETWEEN {column.low} AND {column.high} THEN {plain}::BIGINT END)"
        elif column.kind == "date" and (column.high - column.low).days < 2 * MOST_KEYS:
            listed = [column.low + timedelta(days=day) for day in range((column.high - column.low).days + 1)]
            plain = f"(CASE WHEN {plain} BETWEEN {literal(column.low)} AND {literal(column.high)} THEN {plain} END)"
        elif not (private and column.kind == "text"):
            return None
        return Key(field.text, plain, listed, column.nullable, field)

    def _tested(self) -> Key | None:
        test = self.test(1)
        if test.text in [field.text for field in self.fields]:
            return None  # a boolean column, which may be stored with ranks
        return Key(test.text, test.plain, [False, True], test.nullable)

    def _cased(self) -> Key:
        test, other = self.test(0), self.test(0)
        nullable = self.dice.random() < 0.5
        tail = "END" if nullable else "ELSE 'no' END"
        plain = f"CASE WHEN {test.plain} THEN 'one' WHEN {other.plain} THEN 'two' {tail}"
        text = f"CASE WHEN {test.text} THEN 'one' WHEN {other.text} THEN 'two' {tail}"
        return Key(text, plain, ["one", "two", *([] if nullable else ["no"])], nullable)

    def _whole(self, field: Field) -> list[Key | None]:
        column = field.column
        low, high = int(column.low), int(column.high)
        size = max(abs(low), abs(high))
        rest = Key(f"{field.text} % 3", f"(({field.plain})::DOUBLE % 3)::BIGINT", list(range(0 if low >= 0 else -2, 3)),
                   column.nullable)  # fmt: skip
        cut = f"trunc(({field.plain})::DOUBLE / 7)"
        listed = range(int(low / 7), int(high / 7) + 1)
        if size > 2**40 or len(listed) > MOST_KEYS:
            return [rest if size < 2**40 else None]
        inside = f"(CASE WHEN {cut} BETWEEN {listed[0]} AND {listed[-1]} THEN {cut}::BIGINT END)"
        return [rest, Key(f"{field.text} // 7", inside, list(listed), column.nullable)]

    def _bucket(self, field: Field) -> Key | None:
        """Cut where the bounds fall on no edge: there floats could list one bucket more."""
        column, count = field.column, self.dice.choice([2, 4, 5])
        span = column.high - column.low
        low, high = (Fraction(float(end)) for end in (column.low - span / 7, column.high - span / 3))

        def place(x: Fraction) -> int:
            return 0 if x < low else count + 1 if x >= high else math.floor((x - low) / (high - low) * count) + 1

        for end in (column.low, column.high):
            if len({place(end - abs(end) / 2**40), place(end), place(end + abs(end) / 2**40)}) > 1:
                return None
        a, b = (f"{float(end)!r}::DOUBLE" for end in (low, high))
        share = f"(v - {a}) / ({b} - {a}) * {count}"
        inside = f"least(floor(least({share}, {count}))::BIGINT + 1, {count})"
        cut = f"CASE WHEN v < {a} THEN 0 WHEN v >= {b} THEN {count + 1} WHEN v >= {a} THEN {inside} END"
        first, last = place(column.low), place(column.high)
        plain = f"(SELECT CASE WHEN w BETWEEN {first} AND {last} THEN w END FROM (SELECT {cut} AS w FROM (SELECT"
        plain += f" ({field.plain})::DOUBLE AS v)))"
        text = f"WIDTH_BUCKET({field.text}, {float(low)!r}, {float(high)!r}, {count})"
        return Key(text, plain, list(range(first, last + 1)), column.nullable)

    def _dated(self, field: Field) -> list[Key | None]:
        column = field.column
        part = self.dice.choice(["year", "quarter", "month", "week"])
        kind = column.kind.upper()
        listed = _beginnings(column.low, column.high, part)
        cut = f"date_trunc('{part}', {field.plain})::{kind}"
        inside = f"(CASE WHEN {cut} BETWEEN {literal(listed[0])} AND {literal(listed[-1])} THEN {cut} END)"
        number, first, final = self.dice.choice(
            [("month", 1, 12), ("dow", 0, 6), ("year", column.low.year, column.high.year), ("quarter", 1, 4)]
        )
        of = f"extract({number} FROM {field.plain})"
        of = f"(CASE WHEN {of} BETWEEN {first} AND {final} THEN {of} END)"
        found = [Key(f"EXTRACT({number} FROM {field.text})", of, list(range(first, final + 1)), column.nullable)]
        if len(listed) <= 2 * MOST_KEYS:
            found.append(Key(f"DATE_TRUNC('{part}', {field.text})", inside, listed, column.nullable))
        return [key for key in found if len(key.listed or ()) <= 2 * MOST_KEYS]


@lru_cache(maxsize=256)
def _beginnings(low: Any, high: Any, part: str) -> list[Any]:
    """Of all periods between two days or times."""
    days = [low + timedelta(days=day) for day in range((high - low).days + 1)]
    return list(dict.fromkeys(_begun(moment, part) for moment in [*days, high]))


def _begun(moment: Any, part: str) -> Any:
    """The beginning of the period that a day or time lies in."""
    day = moment.date() if isinstance(moment, datetime) else moment
    begun = {
        "year": day.replace(month=1, day=1),
        "quarter": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "month": day.replace(day=1),
        "week": day - timedelta(days=day.weekday()),
    }[part]
    return datetime(begun.year, begun.month, begun.day) if isinstance(moment, datetime) else begun
