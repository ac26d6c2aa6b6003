"""The rows of private tables inside of PostgreSQL, typed by the policy, with their units and their ranks.

Texts of PostgreSQL's SQL, of which no value makes any fail. Where DuckDB reads any type, here a column has the type
that the policy declares, or one that holds the same values: what a text means as a number differs between engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from discreet.engines.postgres import Relation
from discreet.engines.postgres_types import DATED, TEXTS, Type
from discreet.engines.problems import SourceError
from discreet.engines.rewriting.postgres import SIGN, identifier
from discreet.engines.rewriting.postgres import TYPES as NAMES
from discreet.engines.rewriting.terms import TYPES as KINDS
from discreet.policy import Column, Kind, Policy, Table
from discreet.policy.engines import MD5, OWN
from discreet.policy.layout import (
    ROW,
    UNIT,
    copied_columns,
    key_mask,
    key_rank,
    mask_type,
    ranked_keys,
    row_in_key,
    seen_columns,
    seen_count,
    seen_keys,
    steps_of,
    stored_steps,
)
from discreet.policy.layout import (
    TYPES as COPIED,
)
from discreet.quoting import TEXT_LENGTH, name

SECRET: Final = "(SELECT current_setting('discreet.secret'))"
"""What a session is told when it begins; it is on no disk of the server."""
COLLATED: Final = ' COLLATE "C"'
_WHOLE: Final = ("int2", "int4", "int8", "oid")
_MOST: Final = "'9223372036854775807'::int8"
_LEAST: Final = "'-9223372036854775808'::int8"


def owned(policy: Policy, table: Table, relations: Mapping[str, Relation]) -> str:
    """The typed rows of a private table, once for each unit that claims them: the theorem of `claims.owned_rows`."""
    assert table.owner is not None
    relation, read = relations[table.name], partial(_selected, relations)
    columns = {column.name: _typed(table.name, column, relation) for column in table.columns.values()}
    if table.owner.column is None:
        return read(table.name, columns or {ROW: "1::int4"})
    if not table.owner.path:
        unit = _naming(table.name, table.owner.column, relation, policy.unit_kind)
        return f"SELECT * FROM ({read(table.name, {UNIT: unit, **columns})}) AS t WHERE {name(UNIT)} IS NOT NULL"
    link = _naming(table.name, table.owner.path[0].column, relation, _key_kind(policy, table, 0))
    rows = read(table.name, {_LINK: link, **columns})
    listed = ", ".join([f"c.{name(UNIT)}", *(f"t.{name(column)}" for column in table.columns)])
    return (
        f"SELECT {listed} FROM ({rows}) AS t JOIN ({_claims(policy, table, relations, 0)}) AS c "
        f"ON t.{name(_LINK)} = c.{name(_KEY)}"
    )


def _claims(policy: Policy, table: Table, relations: Mapping[str, Relation], step: int) -> str:
    """Which units claim which keys of the table that this hop of a foreign-key path leads to, each pair once."""
    owner = table.owner
    assert owner is not None
    assert owner.column is not None
    hop = owner.path[step]
    relation = relations[hop.table]
    key = {_KEY: _naming(hop.table, hop.key, relation, _key_kind(policy, table, step))}
    if step == len(owner.path) - 1:
        unit = _naming(hop.table, owner.column, relation, policy.unit_kind)
        rows = _selected(relations, hop.table, {**key, UNIT: unit})
        there = f"{name(_KEY)} IS NOT NULL AND {name(UNIT)} IS NOT NULL"
        return f"SELECT DISTINCT * FROM ({rows}) AS t WHERE {there}"
    onward = _naming(hop.table, owner.path[step + 1].column, relation, _key_kind(policy, table, step + 1))
    rows = _selected(relations, hop.table, {**key, _LINK: onward})
    return (
        f"SELECT DISTINCT t.{name(_KEY)}, c.{name(UNIT)} FROM ({rows}) AS t "
        f"JOIN ({_claims(policy, table, relations, step + 1)}) AS c ON t.{name(_LINK)} = c.{name(_KEY)} "
        f"WHERE t.{name(_KEY)} IS NOT NULL"
    )


def _key_kind(policy: Policy, table: Table, step: int) -> Kind:
    """The type that a foreign key and what it leads to are compared in."""
    path = table.owner.path if table.owner else ()
    here = policy.tables[path[step - 1].table] if step else table
    ends = (here, path[step].column), (policy.tables[path[step].table], path[step].key)
    declared = [holder.columns[column].kind for holder, column in ends if column in holder.columns]
    return Kind.INTEGER if declared == [Kind.INTEGER, Kind.INTEGER] else Kind.TEXT


def _selected(relations: Mapping[str, Relation], label: str, columns: Mapping[str, str]) -> str:
    listed = ", ".join(f"{text} AS {identifier(column)}" for column, text in columns.items())
    return f"SELECT {listed} FROM {relations[label].quoted}"


def _source(label: str, column: str, relation: Relation) -> tuple[str, Type]:
    """A column of a source, found as DuckDB finds it: cases are not told apart, unless several differ in them alone."""
    known = relation.columns
    alike = [held for held in known if held.lower() == column.lower()]
    spelled = column if column in known else alike[0] if len(alike) == 1 else None
    if spelled is None:
        raise SourceError(label, f"the source has no column {column!r}", "correct its name")
    if spelled in relation.hidden:
        raise SourceError(label, f"this role may not read the column {spelled!r}", "GRANT SELECT on it")
    return name(spelled), known[spelled]


def _other_type(label: str, column: str, type_: Type, kind: Kind) -> SourceError:
    reason = f"the column {column!r} is {type_.shown}, which is not read as {kind} inside of PostgreSQL"
    return SourceError(label, reason, "declare the type that it has, or name a view that casts it")


def _naming(label: str, column: str, relation: Relation, kind: Kind) -> str:
    """What a value says about whose it is, or which row it leads to."""
    value, type_ = _source(label, column, relation)
    base = type_.base
    if kind is Kind.INTEGER and base in _WHOLE:
        return f"{value}::int8"
    if kind is Kind.INTEGER and base in TEXTS:
        digits = f"CASE WHEN {value}::text{COLLATED} ~ '^[+-]?[0-9]{{1,19}}$' THEN {value}::text::numeric END"
        return f"discreet_between({digits}, {_LEAST}, {_MOST})"
    if kind is Kind.TEXT and base in (*_WHOLE, *TEXTS, "bool", "date"):
        return f"{value}::text{COLLATED}"
    if kind is Kind.TEXT and base == "numeric":
        return f"CASE WHEN {value} <> 'NaN' THEN trim_scale({value})::text{COLLATED} END"
    raise _other_type(label, column, type_, kind)


def _typed(label: str, column: Column, relation: Relation) -> str:
    """A column of a source as the policy declares it; NULL what is not among its values."""
    value, type_ = _source(label, column.name, relation)
    form = _FORMS.get((column.kind, type_.base))
    if form is None and column.kind is Kind.TEXT and type_.base in TEXTS:
        form = "{0}::text"
    if form is None:
        raise _other_type(label, column.name, type_, column.kind)
    low, high = DATED[type_.base][1:] if type_.base in DATED else ("", "")
    text = form.format(value, low=f"'{low}'::{type_.base}", high=f"'{high}'::{type_.base}")
    if column.kind is Kind.TEXT:
        text = f"left({text}, {TEXT_LENGTH}){COLLATED}"
    if column.values is not None:
        kind = NAMES[KINDS[COPIED[column.kind]]]
        listed = ", ".join(f"{quoted(str(each))}::{kind}" for each in column.values)
        text = f"CASE WHEN {text} IN ({listed}) THEN {text} END"
    return text


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_KEY: Final = "_discreet_claimed"
_LINK: Final = "_discreet_link"
_REAL: Final = "CASE WHEN {0} <> 'NaN' THEN {0}::float8 + '0'::float8 END"
_DECIMAL: Final = (
    "CASE WHEN {0} = 'NaN' THEN NULL WHEN {0} >= 1e308 THEN 'Infinity'::float8 "
    "WHEN {0} <= -1e308 THEN '-Infinity'::float8 WHEN abs({0}) < 1e-300 THEN 0 ELSE {0}::float8 END"
)
_ROUNDED: Final = "CASE WHEN {0} BETWEEN -1e19 AND 1e19 THEN round({0}) END"
"""Of the most digits that a number may have, rounding makes one more, and fails."""
_INSIDE: Final = "CASE WHEN {0} BETWEEN {low} AND {high} THEN "
_FORMS: Final[Mapping[tuple[Kind, str], str]] = {
    **{(Kind.INTEGER, base): "{0}::int8" for base in _WHOLE},
    (Kind.INTEGER, "numeric"): f"discreet_between({_ROUNDED}, {_LEAST}, {_MOST})",
    (Kind.INTEGER, "float4"): f"discreet_whole({{0}}::float8, {_LEAST}, {_MOST})",
    (Kind.INTEGER, "float8"): f"discreet_whole({{0}}, {_LEAST}, {_MOST})",
    (Kind.INTEGER, "bool"): "{0}::int4::int8",
    **{(Kind.NUMBER, base): "{0}::float8" for base in ("int2", "int4", "int8")},
    (Kind.NUMBER, "float4"): _REAL,
    (Kind.NUMBER, "float8"): _REAL,
    (Kind.NUMBER, "numeric"): _DECIMAL,
    **{(Kind.TEXT, base): "{0}::text" for base in (*_WHOLE, "bool", "date")},
    (Kind.TEXT, "numeric"): "CASE WHEN {0} <> 'NaN' THEN trim_scale({0})::text END",
    (Kind.BOOLEAN, "bool"): "{0}",
    (Kind.DATE, "date"): _INSIDE + "{0} END",
    (Kind.DATE, "timestamp"): _INSIDE + "{0}::date END",
    (Kind.DATE, "timestamptz"): _INSIDE + "({0} AT TIME ZONE 'UTC')::date END",
    (Kind.TIMESTAMP, "date"): _INSIDE + "{0}::timestamp END",
    (Kind.TIMESTAMP, "timestamp"): _INSIDE + "{0} END",
    (Kind.TIMESTAMP, "timestamptz"): _INSIDE + "({0} AT TIME ZONE 'UTC') END",
}
"""How a column of each kind is read from a type of PostgreSQL: expressions that no value makes fail."""


def ranked(rows: str, table: Table, hashing: str = OWN) -> str:
    """Typed rows of a table with their ranks, as `copy.ranked` has them."""
    if table.owner is None or table.owner.column is None:
        return rows
    unit, row = name(UNIT), name(ROW)
    declared = [identifier(column) for column in table.columns]
    keys = [table.columns[column] for column in ranked_keys(table)]
    order = ", ".join([_hash(hashing, unit, *declared), *(_sorted(table.columns[column]) for column in table.columns)])
    for column in sorted(column.name for column in table.columns.values() if column.unique):
        turn = f"row_number() OVER (PARTITION BY {unit}, {identifier(column)} ORDER BY {order})"
        held = f"SELECT *, {turn} AS _discreet_turn FROM ({rows}) AS t"
        listed = ", ".join([unit, *declared])
        rows = f"SELECT {listed} FROM ({held}) AS t WHERE {identifier(column)} IS NULL OR _discreet_turn = 1"
    first = f"SELECT *, (row_number() OVER (PARTITION BY {unit} ORDER BY {order}))::int8 AS {row} FROM ({rows}) AS t"
    windows = {column.name: _by_key(column, hashing) for column in keys}
    columns = [unit, row, *(_key_rank(column, over) for column, over in windows.items())]
    if mask_type(table) is not None:
        columns += [_key_mask(column, over) for column, over in windows.items()]
    columns += declared
    columns += [_in_steps(column) for column in table.columns.values() if stored_steps(column)]
    if table.max_rows_per_group < table.max_rows:
        columns += [_row_in_key(column) for column in keys]
    rows = f"SELECT {', '.join(columns)} FROM ({first}) AS t WHERE {row} <= {table.max_rows}"
    seen = [f"{_by_rows(table, keys)[0]} AS {identifier(stored)}" for stored, keys in seen_columns(table).items()]
    seen += [f"{_by_rows(table, (key,))[1]} AS {identifier(seen_count(key))}" for key in seen_keys(table)]
    if seen:
        rows = f"SELECT {', '.join(seen)}, t.* FROM ({rows}) AS t"
    return f"SELECT {', '.join(_narrow(table))} FROM ({rows}) AS t ORDER BY {unit}, {row}"


def _narrow(table: Table) -> list[str]:
    """The columns of the copy, ranks and masks in types that just hold them, those of fixed width first: a scan takes
    less time for each row the fewer bytes it has, and the fewer texts stand before what it looks at.

    Theorem  Nothing overflows. Proof: ranks are at most `max_rows`, and masks have a bit for each of as many rows; what
             queries compute of them they compute with constants of 64 bits.
    """
    rank = "int2" if table.max_rows < 2**15 else "int8"
    mask = "int4" if table.max_rows < 32 else "int8"
    declared = {UNIT: "", **dict.fromkeys(table.columns, "")}
    declared |= {steps_of(column.name): "" for column in table.columns.values() if stored_steps(column)}
    types = {column: declared.get(column, rank) for column in copied_columns(table, Kind.TEXT)}
    if mask_type(table) is not None:
        types |= dict.fromkeys(map(key_mask, ranked_keys(table)), mask)
    texts = {UNIT, *(column.name for column in table.columns.values() if column.kind is Kind.TEXT)}
    order = sorted(types, key=lambda column: (column in texts, ["", "int8", "int4", "int2"].index(types[column])))
    casts = {column: f"{identifier(column)}::{types[column]}" if types[column] else "" for column in order}
    return [f"{cast} AS {identifier(column)}" if cast else identifier(column) for column, cast in casts.items()]


def _hash(hashing: str, *values: str) -> str:
    if hashing == MD5:
        said = " || ".join(f"discreet_said({value})" for value in (SECRET, *values))
        return f"(discreet_digest({said}) # {SIGN})"
    return f"hash_record_extended(ROW({', '.join([SECRET, *values])}), 0)"


def _sorted(column: Column) -> str:
    return f"{identifier(column.name)}{COLLATED if column.kind is Kind.TEXT else ''}"


def _by_key(column: Column, hashing: str) -> str:
    """The window of a unit's rows by keyed hash of their keys: rows with the same key are peers in it.

    A NULL that is no key comes last, so that it takes no key's place.
    """
    held = identifier(column.name)
    hashed = _hash(hashing, f"{quoted(column.name)}::text", name(UNIT), held)
    order = hashed if column.nullable else f"CASE WHEN {held} IS NOT NULL THEN {hashed} END NULLS LAST"
    return f"PARTITION BY {name(UNIT)} ORDER BY {order}, {_sorted(column)} NULLS LAST"


def _key_rank(column: str, over: str) -> str:
    """The rank of a key among those of its unit."""
    return f"(dense_rank() OVER ({over}))::int8 AS {identifier(key_rank(column))}"


def _key_mask(column: str, over: str) -> str:
    """The rows of the unit that have the same key, in the window of the rank: one sort gives both."""
    over = f"{over} GROUPS BETWEEN CURRENT ROW AND CURRENT ROW"
    return f"bit_or('1'::int8 << ({name(ROW)} - 1)::int4) OVER ({over}) AS {identifier(key_mask(column))}"


def _by_rows(table: Table, keys: Sequence[str]) -> tuple[str, str]:
    """The rank of keys by their first rows, and how many the unit has, as `copy.by_rows` has them."""
    mask = "(" + " & ".join(identifier(key_mask(key)) for key in keys) + ")"
    rep = f"({mask} # ({mask} & discreet_bits_below({mask}, 1)))"
    needed = [f"{identifier(each)} IS NOT NULL" for each in keys if not table.columns[each].nullable]
    there = " AND ".join(needed) or "true"
    every = f"(bit_or(CASE WHEN {there} THEN {rep} END) OVER (PARTITION BY {name(UNIT)}))"
    rank = f"CASE WHEN {there} THEN bit_count(({every} & discreet_bits_below({rep}, 1))::bit(64)) + 1 END"
    return rank, f"COALESCE(bit_count({every}::bit(64)), 0)"


def _row_in_key(column: Column) -> str:
    over = f"PARTITION BY {name(UNIT)}, {identifier(column.name)} ORDER BY {name(ROW)}"
    return f"(row_number() OVER ({over}))::int8 AS {identifier(row_in_key(column.name))}"


def _in_steps(column: Column) -> str:
    """A column in whole steps between its bounds: the theorem of `quoting.whole_steps`.

    What is left between the bounds is below 2⁵⁰ steps, and what is not 0 steps is at least a quarter of one: neither
    the quotient nor the cast can fail, and no guarded function is called for each row.
    """
    low, high = stored_steps(column) or (0, 0)
    assert column.step is not None
    held = identifier(column.name)
    edges = (high * column.step, low * column.step, column.step, column.step / 4)
    top, bottom, step, little = (f"'{float(edge)!r}'::float8" for edge in edges)
    text = (
        f"CASE WHEN {held} >= {top} THEN '{high}'::int8 WHEN {held} <= {bottom} THEN '{low}'::int8 "
        f"WHEN abs({held}) < {little} THEN '0'::int8 ELSE floor({held} / {step} + '0.5'::float8)::int8 END"
    )
    return f"{text} AS {identifier(steps_of(column.name))}"
