"""Reading the `stream` of a table: blocks, their capacity, and what is protected. One sentence says the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any, Final

from discreet.policy.calendar import PERIODS, calendar
from discreet.policy.model import Budget, Column, Kind, Owner, Policy, Stream, Table
from discreet.policy.problems import choices, shown
from discreet.policy.section import Field, RuleError, Section, delta, epsilon, limit, text
from discreet.policy.sources import is_pattern

BY: Final = (*PERIODS, "unit")
TIMES: Final = (Kind.DATE, Kind.TIMESTAMP)
MOST_BLOCKS: Final = 1_000_000
MOST_BUCKETS: Final = 10_000
HALVES: Final = 10**24 // 2
"""Of a δ that is not written down: both of its halves are whole numbers of the ledger's units."""
ROW: Final = "row"
UNIT: Final = "unit"


def _by(value: object) -> str:
    by = text(value)
    if by not in BY:
        raise RuleError(f"unknown blocks {shown(by)}", choices(by, BY))
    return by


STREAM: Final[Mapping[str, Field]] = {
    "by": Field(_by, needed='add by = "day" (or hour, week, month), or by = "unit"'),
    "column": Field(text),
    "epsilon": Field(epsilon, needed="add epsilon = 1.0: what may ever be spent on one block"),
    "delta": Field(delta),
    "protects": Field(text),
    "most": Field(limit),
    "buckets": Field(limit),
}


def read_stream(
    section: Section, fields: Mapping[str, Any], columns: Mapping[str, Column], owner: Owner | None
) -> Stream | None:
    """The stream that a table declares; None if it declares none, or a wrong one, which is reported."""
    if "stream" not in fields:
        return None
    before = len(section.problems)
    there = section.at("stream")
    if "newer_by" in fields:
        section.at("newer_by").report("a stream says by itself which rows are new", "remove it")
    said = there.fields(fields["stream"], STREAM)
    if owner is None:
        there.report("a public table has no budget", "remove it, or give the table a unit")
    if len(section.problems) > before or owner is None:
        return None
    _check_rows(section, owner, columns, said)
    _check_column(there, said, fields.get("source", ""), columns)
    protects = _protected(there, said, owner)
    if len(section.problems) > before or protects is None:
        return None
    return Stream(
        by=said["by"],
        epsilon=said["epsilon"],
        delta=said.get("delta"),
        protects=protects,
        column=said.get("column"),
        most=said.get("most", 1),
        buckets=said.get("buckets", 1),
    )


def _check_rows(section: Section, owner: Owner, columns: Mapping[str, Column], said: Mapping[str, Any]) -> None:
    if owner.path:
        section.at("unit").report(
            "a stream has the column of its unit itself: what other tables say may change", "add the column to its rows"
        )
    if said.get("protects") == UNIT or said["by"] == UNIT:
        for column in columns.values():
            if column.unique:
                section.at("columns", column.name, "unique").report(
                    "cannot be seen to: later rows of a unit are not compared with earlier ones", "remove it"
                )


def _check_column(section: Section, said: Mapping[str, Any], source: str, columns: Mapping[str, Column]) -> None:
    """Blocks of time need a column that says when, of which the policy says where the calendar begins and ends."""
    label, by = said.get("column"), said["by"]
    if by != UNIT and "buckets" in said:
        section.at("buckets").report("is for blocks of units", "remove it")
    if said.get("buckets", 1) > MOST_BUCKETS:
        section.at("buckets").report(f"must be at most {MOST_BUCKETS:,}", "write fewer")
    if label is None:
        if by != UNIT:
            section.at("column").report("missing", f'add column = "…": the time by which rows belong to a {by}')
        elif not is_pattern(source):
            section.at("column").report(
                "missing: of one table it says which rows are new",
                "name a time column, or a pattern of files to add to",
            )
        return
    there, column = section.at("column"), columns.get(label)
    if column is None:
        there.report(f"{shown(label)} is not declared", choices(label, columns))
    elif column.kind not in TIMES or column.bounds is None:
        there.report(f"{shown(label)} is no time with min and max", "declare it with min and max: the calendar's ends")
    elif by == "hour" and column.kind is Kind.DATE:
        there.report(f"{shown(label)} has no hours", 'declare it as a timestamp, or write by = "day"')


def _protected(section: Section, said: Mapping[str, Any], owner: Owner) -> str | None:
    """What is protected, as the policy says; a claim that blocks cannot bear is reported."""
    by, there = said["by"], section.at("protects")
    pair = f"unit-{by}"
    allowed = [UNIT] if by == UNIT else [ROW] if owner.column is None else [pair, UNIT]
    protects: str | None = said.get("protects", allowed[0] if len(allowed) == 1 else None)
    if protects is None:
        there.report(
            "missing: rows of a unit lie in many blocks",
            f'add protects = "{pair}" (a unit\'s rows of one {by}), or "unit" with most = the {by}s that count of it',
        )
    elif protects not in allowed:
        wrong = f"{shown(protects)} is not what these blocks protect"
        if protects == UNIT:
            wrong = 'without a column that names units there are none: write unit = "rider_id" or the like'
        elif protects == ROW:
            wrong = 'rows are units of their own where the table says unit = "row"'
        there.report(wrong, choices(protects, allowed))
    elif protects == UNIT and by != UNIT and "most" not in said:
        section.at("most").report(
            f"missing: a unit that comes again has rows in many {by}s, and each may cost epsilon",
            f"add most = 3: the first {by}s of a unit that count; most · epsilon is charged",
        )
    elif "most" in said and (protects != UNIT or by == UNIT) and said["most"] != 1:
        section.at("most").report("what is protected lies in one block", "remove it")
    if owner.column is None and by == UNIT:
        section.at("by").report("every row is its own unit, so none comes again", 'write by = "day" and column = "…"')
    return protects


def check_streams(
    section: Section, tables: Mapping[str, Table], total: Fraction | None, share: Fraction | None
) -> None:
    """Whether streams fit the budget, and tables beside them their unit."""
    streams = [table for table in tables.values() if table.stream is not None]
    spent = Fraction(0)
    for table in streams:
        stream, there = table.stream, section.at(table.name, "stream")
        assert stream is not None
        if stream.by != UNIT and calendar(table).last >= MOST_BLOCKS:  # type: ignore[union-attr]
            there.at("by").report(f"makes more than {MOST_BLOCKS:,} blocks", "write longer ones, or min and max nearer")
        if share is None and stream.delta is not None:
            there.at("delta").report("the budget has none", "remove it, or add delta to the budget")
        elif share is not None and (stream.delta or 0) * stream.most > share:
            there.at("delta").report("most · delta is more than the whole budget's", "write less")
        spent += stream.epsilon * stream.most
        if total is not None and (stream.epsilon > total or (share is None and spent > total)):
            there.at("epsilon").report(
                "most · epsilon of all streams is more than the whole budget", "write less, or a larger budget.epsilon"
            )
    for table in streams[:1]:
        _check_beside(section, table, tables)


def _check_beside(section: Section, stream: Table, tables: Mapping[str, Table]) -> None:
    """One budget counts for one kind of unit, and rows of a stream are not led to by others."""
    for other in tables.values():
        path = other.owner.path if other.owner is not None else ()
        if any(tables[hop.table].stream is not None for hop in path if hop.table in tables):
            section.at(other.name, "unit").report("leads through a stream, whose rows come and go", "name other tables")
        elif not other.is_public and _kind(other) != _kind(stream):
            section.at(other.name).report(
                f"is protected otherwise than {shown(stream.name)}, and one budget counts one kind of unit",
                _alike(other, stream),
            )


def _alike(other: Table, stream: Table) -> str:
    """The smallest change that lets a table stand beside a stream."""
    if _kind(other) != UNIT:
        return "write a policy of its own for it"
    whole = f'of {shown(stream.name)} protect a unit with all its rows (protects = "{UNIT}")'
    return f"{whole}, or write a policy of its own for it"


def _kind(table: Table) -> str:
    if table.stream is not None:
        return table.stream.protects
    return ROW if table.owner is not None and table.owner.column is None else UNIT


def unit_of(unit: str, tables: Mapping[str, Table]) -> str:
    """What the whole policy protects: the unit, or where its streams protect less, a unit in one block."""
    for table in tables.values():
        stream = table.stream
        if stream is not None and stream.protects not in (UNIT, ROW):
            return f"{unit} and {stream.by}"
    return unit


def protection(table: Table, unit: str) -> str:
    """What is protected in a stream, in one sentence; `unit` is that of the policy."""
    stream = table.stream
    assert stream is not None
    if stream.protects == ROW:
        return f"each row of {table.name} is protected on its own, not all rows of somebody"
    if not stream.keeps_units:
        whose = unit.removesuffix(f" and {stream.by}")
        return (
            f"in {table.name} what a {whose} does in one {stream.by} is protected, each {stream.by} by itself: "
            f"over several {stream.by}s losses add up"
        )
    if stream.by == UNIT:
        return f"each {unit} is protected with all rows in {table.name}: it stays in the block in which it first came"
    first = f"the first {stream.by}" if stream.most == 1 else f"the first {stream.most} {stream.by}s"
    return f"each {unit} is protected with all rows in {table.name}: {first} in which it comes count"


def block_budget(policy: Policy, table: Table) -> Budget:
    """What one block of a stream may cost; without a delta of its own, as large a part of the budget's as of its ε."""
    stream, whole = table.stream, policy.budget
    assert stream is not None
    if whole.delta is None or stream.delta is not None:
        return Budget(stream.epsilon, stream.delta)
    return Budget(stream.epsilon, Fraction(floor(whole.delta * stream.epsilon / whole.epsilon * HALVES), HALVES))


def with_blocks(tables: Mapping[str, Table], name: str, blocks: tuple[tuple[int, int], ...]) -> dict[str, Table]:
    """Tables for a query about these blocks of a stream."""
    return {**tables, name: replace(tables[name], blocks=blocks)}
