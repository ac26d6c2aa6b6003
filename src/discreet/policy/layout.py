"""What the private copy looks like: the types of its columns, and those that it adds, whose a row is and its ranks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.policy.model import Column, Kind, Table

TYPES: Final = {
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
UNIT: Final = "_discreet_unit"
ROW: Final = "_discreet_row"
BLOCK: Final = "_discreet_block"
"""The number of the block in which a row of a stream lies."""
PLACE: Final = "_discreet_unit_number"
"""A number for the unit, where a window over units takes it instead of their names (`is_placed`)."""
BEFORE: Final = "_discreet_before"
"""While a stream is copied: how many rows of the unit came before."""


MOST_STEPS: Final = 2**49
"""Beyond this many, float64 could round a number of steps to the next one."""


MOST_RANKED: Final = 16
"""Each ranked key column takes a sort of the whole table when it is copied."""


def ranked_keys(table: Table) -> tuple[str, ...]:
    """The key columns whose ranks the copy stores: all of them, or the first by name; others are ranked when asked.

    Rows of a unit that come later would change those of earlier ones, which are frozen: streams of units store none.
    """
    if table.owner is None or table.owner.column is None or (table.stream and table.stream.keeps_units):
        return ()
    return tuple(sorted(column.name for column in table.columns.values() if column.is_key)[:MOST_RANKED])


def stored_steps(column: Column) -> tuple[int, int] | None:
    """The bounds of a column in whole steps, if the copy stores it that way as well: where it declares its step."""
    if column.kind is not Kind.NUMBER or column.step is None or column.bounds is None:
        return None
    low, high = (bound for bound in column.bounds if isinstance(bound, Fraction))
    if max(abs(low), abs(high)) / column.step > MOST_STEPS:
        return None
    half = Fraction(1, 2)
    return math.floor(low / column.step + half), math.floor(high / column.step + half)


def steps_of(column: str) -> str:
    """The column that holds this one in whole steps."""
    return f"_discreet_steps_{column}"


def key_rank(column: str) -> str:
    """The column that ranks the keys of this one among its unit's keys."""
    return f"_discreet_key_{column}"


def mask_type(table: Table) -> str | None:
    """The type of masks with a bit for each row of a unit; None where there are too many rows for that, or no use.

    They choose groups where a unit may have too many, and tell the first row of a unit in each group where keys are
    private, so that the units of a key are counted and not compared.

    Theorem  Let m be the AND of the masks of some key columns in a row, and rep its lowest bit. In one unit, two rows
             have the same rep if and only if they have the same keys in these columns.
    Proof    Bit j of a mask is set iff the unit's row j has the same key in that column. So m names the rows of the
             unit that agree with this one in all of them: rows that agree have the same m, and the masks of rows that
             do not are disjoint, because agreeing is an equivalence. A row agrees with itself: m is not 0.
    """
    private = any(
        table.columns[key].kind is Kind.TEXT and table.columns[key].values is None for key in ranked_keys(table)
    )
    if min(table.max_groups, table.max_rows_per_group, 1 if private else table.max_rows) >= table.max_rows:
        return None
    return next((kind for bits, kind in MASKS.items() if table.max_rows <= bits), None)


MOST_PAIRED: Final = 4
"""Key columns of which all pairs are ranked: each pair takes a column of the copy."""


def ranked_pairs(table: Table) -> dict[tuple[str, str], str]:
    """The pairs of key columns whose ranks the copy stores, each with the column that holds them.

    Where a database computes: there to choose groups by masks takes a join on units, which takes most of the time.
    """
    keys = _paired_keys(table)
    return {(keys[i], keys[j]): f"_discreet_pair_{i}_{j}" for i in range(len(keys)) for j in range(i + 1, len(keys))}


def seen_keys(table: Table) -> tuple[str, ...]:
    """The key columns of which the copy stores the rank by first rows (`seen_rank`) and how many keys a unit has.

    Theorem  After a filter, a group whose rank is at most k is among the first k of its unit that are left; so is each
             group of a unit that has k groups at most.
    Proof    The groups that are left come in the order of their first rows, left or not (`mask_type`). Before a group
             of rank r there are r - 1 groups in all, and so no more than that are left.
    """
    return _paired_keys(table)


def counted_keys(table: Table) -> tuple[str, ...]:
    """The key columns of which the copy stores how many keys a unit has.

    Where the rows of a unit lie together (`Table.apart`), all of them are put together, and nobody has to know.
    """
    return () if table.apart else seen_keys(table)


def is_placed(table: Table) -> bool:
    """Whether the copy has small numbers for what is put together unit by unit: units, and listed keys.

    Where rows lie on several machines a window copies each of them twice, and texts take longer to copy.
    """
    return table.apart and bool(seen_keys(table))


def coded_keys(table: Table) -> tuple[str, ...]:
    """The key columns of which the copy stores which of the declared values a row has, from 0 on; NULL for none."""
    return tuple(key for key in ranked_keys(table) if is_placed(table) and table.columns[key].values is not None)


def key_code(column: str) -> str:
    """The column that says which of the declared values this one has."""
    return f"_discreet_code_{column}"


def _paired_keys(table: Table) -> tuple[str, ...]:
    if not table.pairs or table.max_groups >= table.max_rows or mask_type(table) is None:
        return ()
    return ranked_keys(table)[:MOST_PAIRED]


def seen_columns(table: Table) -> dict[str, tuple[str, ...]]:
    """All columns that rank keys or pairs by their first rows, each with the keys that it ranks."""
    pairs = {stored: pair for pair, stored in ranked_pairs(table).items()}
    return {**{seen_rank(key): (key,) for key in seen_keys(table)}, **pairs}


def seen_rank(column: str) -> str:
    """The column that ranks the keys of this one among its unit's keys by their first rows; NULL without a key."""
    return f"_discreet_seen_{column}"


def seen_count(column: str) -> str:
    """The column that says how many keys its unit has in this one."""
    return f"_discreet_many_{column}"


MASKS: Final = {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}
"""The smallest type for so many bits."""


def key_mask(column: str) -> str:
    """The column that says which rows of the unit have the same key in this one."""
    return f"_discreet_same_{column}"


def row_in_key(column: str) -> str:
    """The column that ranks a row among the rows of its unit that have the same key in this one."""
    return f"_discreet_nth_{column}"


def copied_columns(table: Table, unit: Kind) -> dict[str, str]:
    """The columns of a table as queries find it, with their types; `unit` is what the policy says of units.

    Where a unit in one block is protected, the pair of both is the unit, and a text (`engines.numbering`).
    """
    columns = {column.name: TYPES[column.kind] for column in table.columns.values()}
    if table.owner is None:
        return columns
    if table.stream is not None:
        columns = {BLOCK: "BIGINT", **columns}
    if table.owner.column is None:
        return columns or {ROW: "INTEGER"}
    paired = table.stream is not None and not table.stream.keeps_units
    columns = {UNIT: TYPES[Kind.TEXT if paired else unit], **columns}
    keys = ranked_keys(table)
    ranks = [key_rank(column) for column in keys]
    if table.max_rows_per_group < table.max_rows:
        ranks += [row_in_key(column) for column in keys]
    ranks += [*map(seen_rank, seen_keys(table)), *map(seen_count, counted_keys(table))]
    ranks += [*ranked_pairs(table).values(), *map(key_code, coded_keys(table))]
    kind = mask_type(table)
    masks = {} if kind is None else {key_mask(column): kind for column in keys}
    steps = {steps_of(column.name): "BIGINT" for column in table.columns.values() if stored_steps(column)}
    steps |= {PLACE: "BIGINT"} if is_placed(table) else {}
    return {**columns, ROW: "INTEGER", **dict.fromkeys(ranks, "INTEGER"), **masks, **steps}
