"""The rows of private tables inside of Spark, typed by the policy, with their units and their ranks.

Columns, ranks and masks are those of `engines.copy`, and so is their theorem: they are functions of a unit's own rows
and the key. The hash is Spark's own, unless the policy says another: of a unit that has more rows than it may have,
other rows are here than DuckDB would take. Names of a source's columns are never parsed, and no value makes an
expression fail. Where DuckDB reads any type, here a column has the type that the policy declares, or one that holds
the same values: what a text means as a number differs between engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from discreet.engines import text
from discreet.engines.claims import KEY, LINK, key_type
from discreet.engines.problems import SourceError
from discreet.engines.rewriting.spark_digests import digest, unsigned
from discreet.engines.rewriting.spark_forms import identifier, text_literal
from discreet.engines.rewriting.terms import TYPES as KINDS
from discreet.engines.spark.buckets import parted
from discreet.engines.spark.building import functions, windows
from discreet.engines.spark.reading import Frame, index_of
from discreet.engines.spark.types import written
from discreet.policy import Column, Kind, Policy, Table
from discreet.policy.engines import MD5
from discreet.policy.layout import (
    ROW,
    TYPES,
    UNIT,
    coded_keys,
    counted_keys,
    is_placed,
    key_code,
    key_mask,
    key_rank,
    mask_type,
    ranked_keys,
    row_in_key,
    seen_columns,
    seen_count,
    steps_of,
    stored_steps,
)
from discreet.quoting import TEXT_LENGTH

INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
_LEAST, _MOST = -(2**63), 2**63 - 1
_TURN: Final = "_discreet_turn"
_STORED: Final = {
    Kind.INTEGER: "bigint",
    Kind.NUMBER: "double",
    Kind.TEXT: "string",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
}


def owned(policy: Policy, table: Table, frames: Mapping[str, Frame]) -> Any:
    """The typed rows of a private table, once for each unit that claims them: the theorem of `claims.owned_rows`."""
    f = functions()

    owner, frame = table.owner, frames[table.name]
    assert owner is not None
    columns = {column.name: _typed(table.name, column, frame) for column in table.columns.values()}
    if owner.column is None:
        return _selected(frame, columns or {ROW: f.lit(1).cast("bigint")})
    if not owner.path:
        unit = _naming(table.name, owner.column, frame, TYPES[policy.unit_kind])
        return _selected(frame, {UNIT: unit, **columns}).filter(f.col(UNIT).isNotNull())
    link = _naming(table.name, owner.path[0].column, frame, key_type(policy, table, 0))
    rows, claims = _selected(frame, {LINK: link, **columns}), _claims(policy, table, frames, 0)
    joined = rows.join(claims, rows[LINK] == claims[KEY], "inner")
    return joined.drop(LINK, KEY)


def _claims(policy: Policy, table: Table, frames: Mapping[str, Frame], step: int) -> Any:
    """Which units claim which keys of the table that this hop of a foreign-key path leads to, each pair once."""
    f = functions()

    owner = table.owner
    assert owner is not None
    assert owner.column is not None
    hop = owner.path[step]
    frame = frames[hop.table]
    key = {KEY: _naming(hop.table, hop.key, frame, key_type(policy, table, step))}
    if step == len(owner.path) - 1:
        unit = _naming(hop.table, owner.column, frame, TYPES[policy.unit_kind])
        pairs = _selected(frame, {**key, UNIT: unit})
    else:
        onward = _naming(hop.table, owner.path[step + 1].column, frame, key_type(policy, table, step + 1))
        rows, claims = _selected(frame, {**key, LINK: onward}), _claims(policy, table, frames, step + 1)
        claims = claims.withColumnRenamed(KEY, f"{KEY}_{step}")
        pairs = rows.join(claims, rows[LINK] == claims[f"{KEY}_{step}"], "inner").select(KEY, UNIT)
    return pairs.filter(f.col(KEY).isNotNull() & f.col(UNIT).isNotNull()).distinct()


def _selected(frame: Frame, columns: Mapping[str, Any]) -> Any:
    return frame.rows.select(*(value.alias(label) for label, value in columns.items()))


def _source(label: str, column: str, frame: Frame) -> tuple[Any, str]:
    f = functions()

    index = index_of(frame, column)
    if index is None:
        raise SourceError(label, f"the source has no column {column!r} with values", "correct its name")
    return f.col(text.field(index)), frame.spelled[index]


def _other_type(label: str, column: str, type_: str, kind: str) -> SourceError:
    reason = f"the column {column!r} is {type_}, which is not read as {kind} inside of Spark"
    return SourceError(label, reason, "declare the type that it has, or name a view that casts it")


def _naming(label: str, column: str, frame: Frame, wanted: str) -> Any:
    """What a value says about whose it is, or which row it leads to."""
    f = functions()

    value, type_ = _source(label, column, frame)
    if wanted == TYPES[Kind.INTEGER]:
        if type_ in INTEGERS:
            return value.cast("bigint")
        if type_.startswith("string"):
            number = f.when(value.rlike(r"^[+-]?[0-9]{1,19}\z"), value.cast("decimal(38,0)"))
            return f.when(number.between(_LEAST, _MOST), number.cast("bigint"))
    elif type_ in (*INTEGERS, "boolean", "date") or type_.startswith("string"):
        of = written(type_).of
        assert of is not None
        return of(value).cast("string")
    raise _other_type(label, column, type_, wanted)


def _typed(label: str, column: Column, frame: Frame) -> Any:
    """A column of a source as the policy declares it; NULL what is not among its values."""
    f = functions()

    value, type_ = _source(label, column.name, frame)
    shape = "string" if type_.startswith("string") else "decimal" if type_.startswith("decimal") else type_
    form = _FORMS.get((column.kind, shape))
    of = written(type_).of
    if form is None or of is None:
        raise _other_type(label, column.name, type_, column.kind)
    typed = form(of(value)).cast(_STORED[column.kind])
    if column.values is None:
        return typed
    return f.when(typed.isin(*_listed(column)), typed)


def _listed(column: Column) -> list[Any]:
    """The declared values of a column."""
    f = functions()

    kind = _STORED[column.kind]
    return [f.lit(str(each) if column.kind is Kind.DATE else each).cast(kind) for each in column.values or ()]


def _whole(value: Any) -> Any:
    f = functions()

    value = value.cast("double")
    inside = (value >= f.lit(-(2.0**63))) & (value < f.lit(2.0**63))
    return f.when(inside, f.rint(value).cast("bigint"))


def _decimal(value: Any) -> Any:
    f = functions()

    rounded = f.round(value, 0)
    return f.when(rounded.between(_LEAST, _MOST), rounded.cast("bigint"))


def _real(value: Any) -> Any:
    f = functions()

    return f.when(~f.isnan(value), value.cast("double") + f.lit(0.0))


def _cut(value: Any) -> Any:
    f = functions()

    return f.left(value, f.lit(TEXT_LENGTH))


def _same(value: Any) -> Any:
    return value


_FORMS: Final[Mapping[tuple[Kind, str], Callable[[Any], Any]]] = {
    **{(Kind.INTEGER, type_): _same for type_ in (*INTEGERS, "boolean")},
    **{(Kind.INTEGER, type_): _whole for type_ in ("float", "double")},
    (Kind.INTEGER, "decimal"): _decimal,
    **{(Kind.NUMBER, type_): _same for type_ in (*INTEGERS, "decimal")},
    **{(Kind.NUMBER, type_): _real for type_ in ("float", "double")},
    **{(Kind.TEXT, type_): _same for type_ in (*INTEGERS, "boolean", "date")},
    (Kind.TEXT, "string"): _cut,
    (Kind.BOOLEAN, "boolean"): _same,
    **{(Kind.DATE, type_): _same for type_ in ("date", "timestamp_ntz", "timestamp")},
    **{(Kind.TIMESTAMP, type_): _same for type_ in ("date", "timestamp_ntz", "timestamp")},
}
"""How a column of each kind is read from a type of Spark; days and times lie in the years 1 to 9999 before."""


def ranked(rows: Any, table: Table, key: str, policy: Policy, buckets: int | None) -> Any:
    """Typed rows of a table with their ranks, as `copy.ranked` has them, in so many buckets of units."""
    if table.owner is None or table.owner.column is None:
        return rows
    return parted(rows, buckets, lambda moved: _ranked(moved, table, key, policy), placed=is_placed(table))


def _ranked(rows: Any, table: Table, key: str, policy: Policy) -> Any:
    window = windows()
    f = functions()

    unit, declared = f.col(UNIT), [_column(label) for label in table.columns]
    by = _Hash(key, policy)
    order = [by.of([], UNIT, table.columns.values()), *(column.asc_nulls_last() for column in declared)]
    for label in sorted(column.name for column in table.columns.values() if column.unique):
        turn = f.row_number().over(window.partitionBy(unit, _column(label)).orderBy(*order))
        rows = rows.withColumn(_TURN, turn).filter(_column(label).isNull() | (f.col(_TURN) == 1)).drop(_TURN)
    rank = f.row_number().over(window.partitionBy(unit).orderBy(*order)).cast("bigint")
    rows = rows.withColumn(ROW, rank).filter(f.col(ROW) <= table.max_rows)
    columns = {UNIT: unit, ROW: f.col(ROW), **{label: _column(label) for label in table.columns}}
    for label in ranked_keys(table):
        columns |= _ranks(table, table.columns[label], by)
    for column in table.columns.values():
        if stored_steps(column):
            columns[steps_of(column.name)] = _in_steps(column)
    rows = rows.select(*(value.alias(label) for label, value in columns.items()))
    seen = {stored: _by_rows(table, keys)[0] for stored, keys in seen_columns(table).items()}
    seen |= {seen_count(key): _by_rows(table, (key,))[1] for key in counted_keys(table)}
    seen |= {key_code(key): _code(table.columns[key]) for key in coded_keys(table)}
    return rows.withColumns(seen) if seen else rows


def _by_rows(table: Table, keys: Sequence[str]) -> tuple[Any, Any]:
    """The rank of keys by their first rows, and how many the unit has, as `copy.by_rows` has them."""
    window = windows()
    f = functions()

    masks = [_column(key_mask(key)) for key in keys]
    mask = reduce(lambda some, other: some.bitwiseAND(other), masks)
    rep = mask.bitwiseXOR(mask.bitwiseAND(_below(mask)))
    there = f.lit(True)
    for each in keys:
        there = there if table.columns[each].nullable else there & _column(each).isNotNull()
    every = f.bit_or(f.when(there, rep)).over(window.partitionBy(f.col(UNIT)))
    rank = f.when(there, (f.bit_count(every.bitwiseAND(_below(rep))) + 1).cast("bigint"))
    return rank, f.coalesce(f.bit_count(every).cast("bigint"), f.lit(0).cast("bigint"))


def _below(bits: Any) -> Any:
    """One less, of 64 bits without a sign: the smallest number has none, and Spark would fail there."""
    f = functions()

    return f.when(bits == f.lit(_LEAST), f.lit(_MOST)).otherwise(bits - 1)


def _column(label: str) -> Any:
    f = functions()

    return f.col("`" + label.replace("`", "``") + "`")


@dataclass(frozen=True, slots=True)
class _Hash:
    """What orders a unit's rows and keys: Spark's own hash, or that which all engines have."""

    key: str
    policy: Policy

    def of(self, texts: list[str], unit: str, columns: Iterable[Column]) -> Any:
        """The hash of the key, some texts, the unit, and columns."""
        f = functions()

        listed = list(columns)
        if self.policy.hashing != MD5:
            held = [f.col(unit), *(_column(column.name) for column in listed)]
            return f.xxhash64(*map(f.lit, [self.key, *texts]), *held)
        values = [(text_literal(text), KINDS[TYPES[Kind.TEXT]]) for text in (self.key, *texts)]
        values.append((identifier(unit), KINDS[TYPES[self.policy.unit_kind]]))
        values += [(identifier(column.name), KINDS[TYPES[column.kind]]) for column in listed]
        return f.expr(unsigned(digest(values)))


def _ranks(table: Table, column: Column, hashing: _Hash) -> dict[str, Any]:
    """Of a key column: the rank of each key among those of its unit, where a NULL that is no key comes last; which rows
    of the unit have the same key; and which of them this one is."""
    window = windows()
    f = functions()

    unit, held = f.col(UNIT), _column(column.name)
    hashed = hashing.of([column.name], UNIT, [column])
    order = hashed if column.nullable else f.when(held.isNotNull(), hashed)
    by = window.partitionBy(unit).orderBy(order.asc_nulls_last(), held.asc_nulls_last())
    ranks = {key_rank(column.name): f.dense_rank().over(by).cast("bigint")}
    alike = window.partitionBy(unit, held)
    if mask_type(table) is not None:
        bit = f.call_function("shiftleft", f.lit(1).cast("bigint"), (f.col(ROW) - 1).cast("int"))
        ranks[key_mask(column.name)] = f.bit_or(bit).over(alike)
    if table.max_rows_per_group < table.max_rows:
        ranks[row_in_key(column.name)] = f.row_number().over(alike.orderBy(f.col(ROW))).cast("bigint")
    return ranks


def _code(column: Column) -> Any:
    """Which of the declared values a row has, from 0 on; rows hold no others, but NULL. Of a condition for each of
    them Spark makes a program, which is too long for it where there are thousands."""
    f = functions()

    return f.array_position(f.array(*_listed(column)), _column(column.name)) - f.lit(1).cast("bigint")


def _in_steps(column: Column) -> Any:
    """A column in whole steps between its bounds: the theorem of `quoting.whole_steps`."""
    f = functions()

    low, high = stored_steps(column) or (0, 0)
    assert column.step is not None
    held, step = _column(column.name), float(column.step)
    top, bottom = float(high * column.step), float(low * column.step)
    floored = f.floor(held / f.lit(step) + f.lit(0.5)).cast("bigint")
    return (
        f.when(held >= f.lit(top), f.lit(high))
        .when(held <= f.lit(bottom), f.lit(low))
        .otherwise(floored)
        .cast("bigint")
    )
