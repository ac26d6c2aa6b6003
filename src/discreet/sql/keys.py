"""Keys of GROUP BY that are public: every one of them appears in the answer, also those without rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from datetime import date
from fractions import Fraction
from typing import Final

from discreet.composed import Sql, joined, keyword, lines, listed, literal, sql
from discreet.errors import Edit, Refused
from discreet.policy.layout import TYPES
from discreet.policy.model import Key, Kind
from discreet.sql.domain import DATED, NUMERIC, Domain
from discreet.sql.expression import Expr
from discreet.sql.nodes import Field
from discreet.sql.relation import Public
from discreet.sql.work import spend

MAX_GROUPS: Final = 100_000
MAX_EVALUATED: Final = 1_000
"""Combinations of declared values for which a function is computed to list its keys."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An expression whose possible values follow from policy and text.

    Theorem  Which keys appear says nothing about the data. Proof: they are listed from policy and text.

    Values that are not listed count as NULL. NULL is a key only where the policy or the text names it; rows with a NULL
    that is no key are left out.
    """

    expr: Expr
    field: Field | None
    """The stored column that it is, or that has one value for each of its keys; None if there is none."""
    evaluated: bool = False
    """Whether its keys are what a function gives for declared values: then no row gives another one."""

    @property
    def domain(self) -> Domain:
        return self.expr.domain

    @property
    def count(self) -> int:
        return (self.domain.count() or 0) + self.domain.nullable

    def values(self) -> list[Key | None]:
        return [*self.domain.keys(), *([None] if self.domain.nullable else [])]

    @property
    def sql(self) -> Sql:
        """The key of a row, NULL if it is not listed."""
        if self.evaluated:
            return _cast(self.expr)
        if self._closed:
            return self.expr.sql
        key = _cast(self.expr)
        keys = list(self.domain.keys())
        if self.domain.values is not None and not self._in_a_row:
            return sql("CASE WHEN {0} IN ({1}) THEN {0} END", key, listed(keys))
        return sql("CASE WHEN {0} BETWEEN {1} AND {2} THEN {0} END", key, literal(keys[0]), literal(keys[-1]))

    def number(self) -> Sql:
        """Which of the keys it is, from 0 on; NULL as the last where it is a key, else NULL."""
        keys = list(self.domain.keys())
        first, period = keys[0], self._period
        if keys == [False, True] and isinstance(first, bool):
            number = sql("CAST({} AS BIGINT)", self.sql)
        elif isinstance(first, int) and not isinstance(first, bool) and keys == list(range(first, first + len(keys))):
            number = sql("({} - ({}))", self.sql, literal(first))
        elif period is not None:
            number = _since(period, keys, self.expr.arguments[0].sql)
        else:
            number = sql("(list_position([{}], {}) - 1)", listed(keys), self.sql)
        return sql("COALESCE({}, {})", number, literal(len(keys))) if self.domain.nullable else number

    @property
    def _period(self) -> str | None:
        """The period to which dates are cut, if counting its beginnings numbers the keys; weeks begin on two days."""
        words = "" if self.expr.function is None else self.expr.function.name
        period = words.removeprefix("DATE_TRUNC ").removesuffix(" DATE").removesuffix(" TIMESTAMP")
        return period if words.startswith("DATE_TRUNC ") and period in _COUNTED else None

    @property
    def _in_a_row(self) -> bool:
        """Whether all values between the first and the last that can occur are listed: beginnings of periods."""
        return self.expr.function is not None and self.expr.function.name.startswith("DATE_TRUNC")

    @property
    def _closed(self) -> bool:
        """Whether every row gives a listed value or NULL already: the copy holds declared values only."""
        if self.domain.kind is Kind.BOOLEAN:
            return True
        if self.field is not None and self.field.declared:
            return True
        chosen = self.expr.function
        return chosen is not None and chosen.name == "CASE" and all(
            argument.constant for argument in (*self.expr.arguments[1:-1:2], self.expr.arguments[-1])
        )  # fmt: skip


def _since(period: str, keys: Sequence[Key], moment: Sql) -> Sql:
    """How many periods after the first of these a date or time is, NULL if it is in none of them.

    Within one year a part of the date says it, which takes less time than the difference of two dates.
    """
    first, last = keys[0], keys[-1]
    assert isinstance(first, date)
    assert isinstance(last, date)
    months = _MONTHS.get(period)
    if months is not None and first.year == last.year < date.max.year:
        months += last.month - 1
        end = last.replace(year=last.year + months // 12, month=months % 12 + 1)
        part = sql("{}({}) - {}({})", keyword(period), moment, keyword(period), literal(first))
        return sql("CASE WHEN {0} >= {1} AND {0} < {2} THEN {3} END", moment, literal(first), literal(end), part)
    since = sql("date_diff({}, {}, {})", literal(period), literal(first), moment)
    return sql("CASE WHEN {0} BETWEEN 0 AND {1} THEN {0} END", since, literal(len(keys) - 1))


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """An expression whose values are private: which of them appear is decided by noise (`KeySelection`)."""

    expr: Expr
    field: Field | None
    shown: str = dataclass_field(default="", compare=False)
    """As the query writes it."""

    @property
    def domain(self) -> Domain:
        return self.expr.domain

    @property
    def sql(self) -> Sql:
        return _cast(self.expr)


def _cast(expr: Expr) -> Sql:
    """Computed integers are DOUBLE; keys are not."""
    return sql("TRY_CAST({} AS BIGINT)", expr.sql) if expr.domain.kind is Kind.INTEGER else expr.sql


_COUNTED: Final = frozenset({"year", "quarter", "month", "day", "hour", "minute"})
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
GroupKey = PublicKey | PrivateKey
_SELECTED = frozenset({Kind.TEXT, Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP})


def _written(edge: Fraction | None) -> str:
    return f"{float(edge or 0):g}"


def group_key(expr: Expr, fields: Mapping[Sql, Field], shown: str, public: Public) -> GroupKey:
    """The key, or a refusal."""
    field = fields.get(expr.sql)
    listed = None if field is None else field.listed
    if listed is not None and (listed.chosen or expr.domain.count() is None) and expr.domain.kind is not Kind.NUMBER:
        expr = _looked_up(expr, public.keys(listed.rows, listed.column))
    if expr.function is not None and expr.domain.kind is Kind.INTEGER and expr.domain.values is None:
        expr = replace(expr, domain=expr.loosened())
    if field is None and not (expr.domain.nullable or expr.domain.certain) and _some_null(expr, fields, public):
        expr = replace(expr, domain=expr.domain.but(nullable=True))
    count = expr.domain.count()
    if count is None:
        if expr.domain.kind in _SELECTED:
            return _evaluated(expr, fields, public) or PrivateKey(expr, field, shown)
        low, high = expr.domain.numbers
        known = low is not None and high is not None
        edges = f"{_written(low)}, {_written(high)}" if known else "0, 100"
        fix = f"cut it: GROUP BY WIDTH_BUCKET({shown}, {edges}, 10)" + ("" if known else " with bounds you know")
        edit = Edit(shown, f"WIDTH_BUCKET({shown}, {edges}, 10)") if known and shown.isidentifier() else None
        raise Refused("undeclared-bounds", f"the keys of {shown} cannot be listed", fix, edit=edit)
    key = PublicKey(expr, field)
    if key.count > MAX_GROUPS:
        raise too_many(key.count)
    spend(key.count)
    if not count:
        raise Refused("undeclared-bounds", f"{shown} has no possible value", "widen its bounds")
    return key


def _evaluated(expr: Expr, fields: Mapping[Sql, Field], public: Public) -> PublicKey | None:
    """A function of columns whose values are declared, as a public key; None if it is something else.

    Theorem  Which keys appear says nothing about the data, and every row has one of them, or NULL.
    Proof    The function is computed for all combinations of declared values and NULL, which are in the policy, without
             any table. Rows hold declared values or NULL (`Field.declared`), and an engine computes the same for them.
    """
    columns = sorted(expr.columns(), key=lambda column: column.text)
    known = [fields[column] for column in columns if column in fields and fields[column].declared]
    values = [list(field.expr.domain.keys()) for field in known if field.expr.domain.count() is not None]
    if not columns or len(values) < len(columns) or expr.has_subquery:
        return None
    if math.prod(len(listed) + 1 for listed in values) > MAX_EVALUATED:
        return None
    cells = list(itertools.product(*([*listed, None] for listed in values)))
    spend(len(cells))
    typed = (
        sql("CAST({0} AS {1}) AS {0}", column, keyword(TYPES[field.expr.domain.kind or Kind.TEXT]))
        for column, field in zip(columns, known, strict=True)
    )
    listed_as = joined(", ", [keyword("nth"), *columns])
    rows = sql("(VALUES {}) AS t({})", lines((index, *cell) for index, cell in enumerate(cells)), listed_as)
    query = sql("SELECT {} FROM (SELECT nth, {} FROM {}) ORDER BY nth", _cast(expr), joined(", ", typed), rows)
    results = [row[0] for row in public.computed(query) or ()]
    keys = tuple(dict.fromkeys(key for key in results if key is not None))
    if not keys:
        return None
    one_to_one = len(columns) == 1 and results[-1] is None and len(keys) == len(results) - 1
    return PublicKey(
        replace(expr, domain=replace(expr.domain, values=keys)), known[0] if one_to_one else None, evaluated=True
    )


def _looked_up(expr: Expr, keys: Sequence[Key | None]) -> Expr:
    """A column of a public table: its values are there for everybody to see."""
    values = tuple(key for key in keys if key is not None)
    nullable = expr.domain.nullable or None in keys
    return replace(expr, domain=replace(expr.domain, values=values, nullable=nullable))


def _some_null(expr: Expr, fields: Mapping[Sql, Field], public: Public) -> bool:
    """Whether a column of a public table, of which the expression is made, holds NULL for everybody to see."""
    columns = (fields[column].listed for column in expr.columns() if column in fields)
    return any(None in public.keys(listed.rows, listed.column) for listed in columns if listed is not None)


def with_public_bounds(field: Field, public: Public) -> Field:
    """A number or date of a public table, with the least and the largest that are there for everybody to see.

    Theorem  Nothing private decides them: they are read off a public table, of the data version that is asked.
    """
    domain = field.expr.domain
    known = domain.low is not None or domain.values is not None
    if field.listed is None or known or domain.kind not in NUMERIC | DATED:
        return field
    keys = [key for key in public.keys(field.listed.rows, field.listed.column) if key is not None]
    if not keys or len(keys) > MAX_GROUPS or not all(_finite(key) for key in keys):
        return field
    edges = [Fraction(key) if isinstance(key, (int, float)) else key for key in keys]
    low, high = min(edges), max(edges)
    assert isinstance(low, (Fraction, date))
    assert isinstance(high, (Fraction, date))
    return replace(field, expr=replace(field.expr, domain=replace(domain, low=low, high=high)))


def _finite(key: Key) -> bool:
    return not isinstance(key, float) or math.isfinite(key)


def too_many(count: int) -> Refused:
    return Refused(
        "too-many-groups",
        f"there would be {count:,} groups, and at most {MAX_GROUPS:,} are drawn",
        "group by fewer columns or by coarser keys",
    )
