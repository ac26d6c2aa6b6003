"""In which block a row of a stream lies.

Theorem  The block of a row is a function of that row (its time), or of its unit, the refresh in which the unit first
         came, and the secret. Adding or removing a unit moves no row of any other.
Proof    By the expressions below: none looks at rows of other units.

Where what is protected is a unit in one block, the pair (block, unit) is the unit from here on: rows are ranked and
bounded within it, COUNT(DISTINCT unit) counts pairs, keys are selected by them, and joins on the unit meet within it.
Where all rows of a unit are protected together, it is in the first `most` blocks in which it has rows, and its rows
are ranked over all of them, those of earlier blocks first.
"""

from __future__ import annotations

from discreet.policy import Table
from discreet.policy.calendar import Days, calendar
from discreet.policy.layout import BEFORE, BLOCK, UNIT
from discreet.quoting import literal, name


def numbered(rows: str, table: Table, key: str, cohort: int = 0) -> str:
    """Typed rows with the numbers of their blocks; NULL where a row has no time, others where it lies outside."""
    return f"SELECT *, CAST({_number(table, key, cohort)} AS BIGINT) AS {name(BLOCK)} FROM ({rows})"


def _number(table: Table, key: str, cohort: int) -> str:
    stream, blocks = table.stream, calendar(table)
    assert stream is not None
    if not isinstance(blocks, Days):
        return f"{cohort * blocks.buckets} + hash({literal(key)}, 'block', {name(UNIT)}) % {blocks.buckets}"
    assert stream.column is not None
    time = f"CAST({name(stream.column)} AS TIMESTAMP)"
    if stream.by == "week":  # what lies before the start is rounded down as well
        return f"floor(date_diff('day', {literal(blocks.start)}, {time}) / 7)"
    return f"date_diff('{stream.by}', {literal(blocks.start)}, {time})"


def pairs(rows: str, table: Table) -> str:
    """Rows that were numbered, with a unit in one block as their unit, if that is what is protected."""
    assert table.stream is not None
    assert table.owner is not None
    if table.owner.column is None:
        return rows
    if table.stream.keeps_units:
        return rows
    pair = f"{name(BLOCK)} || ':' || {name(UNIT)}"
    return f"SELECT * REPLACE ({pair} AS {name(UNIT)}), 0 AS {name(BEFORE)} FROM ({rows})"


def first_blocks(rows: str, table: Table, came: str = "0", before: str = "0") -> str:
    """Of rows that were numbered, those in the first blocks of each unit: `came` were there before."""
    assert table.stream is not None
    if not table.stream.keeps_units:
        return rows
    nth = f"dense_rank() OVER (PARTITION BY {name(UNIT)} ORDER BY {name(BLOCK)})"
    return f"SELECT *, {before} AS {name(BEFORE)} FROM ({rows}) QUALIFY {came} + {nth} <= {table.stream.most}"


def inside(table: Table) -> str:
    """What holds for numbered rows inside of the calendar."""
    blocks = calendar(table)
    return f"{name(BLOCK)} BETWEEN 0 AND {blocks.last}" if isinstance(blocks, Days) else f"{name(BLOCK)} IS NOT NULL"
