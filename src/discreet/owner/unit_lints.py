"""Lints of units, tables and the policy as a whole. They contain exact values: do not share."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Final

from discreet.engines.header import TO_UTF_8
from discreet.engines.problems import SourceError
from discreet.engines.sources import demand_apart, paths
from discreet.engines.text import INTEGERS
from discreet.files import NETWORKS, file_system
from discreet.owner.column_lints import Judgement, Lint
from discreet.owner.inspection import Inspection
from discreet.owner.names import is_identifier
from discreet.owner.toml import quoted
from discreet.policy import Finding, Format, Percentage, Severity, Table
from discreet.policy.problems import choices, key_path, shown, shown_file
from discreet.policy.streams import protection
from discreet.printing import counted
from discreet.sql.fanout import paired

MORE_ROWS: Final = "raise max_rows if that matters more than noise"
Judge = Callable[[Inspection, Table], Iterator[Judgement]]


def of_tables(key: str, *, private: bool = True) -> Callable[[Judge], Lint]:
    """A lint that judges each private table, or each of all, by what the policy says of it under this key."""

    def judging(judge: Judge) -> Lint:
        @wraps(judge)
        def lint(inspection: Inspection) -> Iterator[Finding]:
            for table in (inspection.policy.private_tables if private else inspection.policy.tables).values():
                for severity, message, fix in judge(inspection, table):
                    yield Finding(severity, key_path("tables", table.name, key), message, fix)

        return lint

    return judging


def unreadable_sources(inspection: Inspection) -> Iterator[Finding]:
    """Sources that are not there, or not what they should be. Runs last: others find it out."""
    for table, failure in inspection.failures.items():
        fix = "see that the file is what the policy says" if "discreet check" in failure.fix else failure.fix
        yield Finding(Severity.ERROR, key_path("tables", table, "source"), failure.reason, fix)


@of_tables("unit")
def missing_unit_columns(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Columns on the way to the unit that the source lacks."""
    for holder, column in inspection.way(table):
        held = inspection.held(holder)
        if held and inspection.spelling(holder, column) is None:
            message = f"the source of {holder.name} has no column {shown(column)}"
            yield Severity.ERROR, message, choices(column, held)


@of_tables("unit")
def repeated_keys(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Foreign keys that lead to rows of several units."""
    figures = inspection.units(table)
    if figures and figures.shared:
        claims = counted(figures.shared, "claim")
        message = f"{claims} of a key that another unit claims too: such rows count for both"
        fix = "clean the table that the key leads to, unless rows are meant to belong to several units"
        yield Severity.WARNING, message, fix


@of_tables("source", private=False)
def dropped_records(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Lines of CSV that are no records."""
    counts = inspection.report(table).counts
    if counts.dropped:
        message = (
            f"{counted(counts.dropped, 'record')} of {counts.read + counts.dropped:,}: not as many fields as the "
            "header, a stray quote, no UTF-8, or too long, so never read"
        )
        fix = f"clean the source: quote values that hold the separator; {TO_UTF_8}"
        yield Severity.WARNING if counts.read else Severity.ERROR, message, fix


@of_tables("source", private=False)
def long_records(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Records of several lines, where the policy does not say whether there are any."""
    counts = inspection.report(table).counts
    if counts.longer and table.source.multiline is None:
        fix = "write multiline = true if values may hold line breaks, multiline = false if they never do"
        yield Severity.NOTE, f"{counted(counts.longer, 'record')} of several lines", fix


@of_tables("source", private=False)
def unreadable_files(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Files of a pattern that were left out."""
    report = inspection.report(table)
    for path, reason in report.unreadable.items():
        yield Severity.ERROR, f"{shown_file(Path(path).name)} is never read: {reason}", "repair it, or move it away"
    for path in sorted(report.mixed):
        message = f"{shown_file(Path(path).name)} has texts that are not UTF-8: they are read as NULL"
        yield Severity.WARNING, message, "write it anew, as UTF-8"


def shared_files(inspection: Inspection) -> Iterator[Finding]:
    """Files that are private in one table and public in another."""
    try:
        demand_apart(inspection.policy)
    except SourceError as failure:
        if failure.table not in inspection.failures:
            yield Finding.error(key_path("tables", failure.table, "source"), failure.reason, "name other files")


@of_tables("unit")
def dangling_keys(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Foreign keys that lead to no row."""
    figures = inspection.units(table)
    if figures and figures.dangling:
        message = f"{figures.dangling:,} of {counted(figures.rows, 'row')}: the key leads to nobody, so never read"
        yield Severity.WARNING, message, "complete the tables that the key leads to"


@of_tables("unit")
def ownerless_rows(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Rows whose unit is NULL."""
    figures = inspection.units(table)
    if figures and figures.ownerless:
        message = f"{figures.ownerless:,} of {counted(figures.rows, 'row')}: the unit is NULL, so never read"
        yield Severity.WARNING, message, "clean the source"


@of_tables("source")
def empty_tables(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Private tables without rows."""
    figures = inspection.units(table)
    if figures and not figures.rows:
        yield Severity.NOTE, "has no rows", "see that it is so"


@of_tables("max_rows")
def single_rows(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """A `unit` that names rows, while many rows are allowed."""
    figures = inspection.units(table)
    if figures and table.max_rows > 1 and figures.units == figures.owned > 0:
        message = (
            f"every unit has one row, and {table.max_rows:,} are allowed: either the unit names rows and not whom "
            "you protect, or the noise is larger than it need be"
        )
        yield Severity.NOTE, message, "name the column of the unit, or remove max_rows if there can never be more"


def narrow_joins(inspection: Inspection) -> Iterator[Finding]:
    """Tables of which a join takes fewer rows than are read."""
    most = inspection.policy.unit_rows
    for table in inspection.policy.private_tables.values():
        taken = min(paired(table.max_rows, table.max_rows, most))
        if taken < table.max_rows:
            yield Finding(
                Severity.NOTE,
                key_path("unit", "max_rows"),
                f"joined with itself, {table.name} takes {taken:,} of the {table.max_rows:,} rows that are read of one "
                f"{inspection.policy.unit}: more would make more than {most:,}",
                f"leave it so, or lower max_rows of {table.name}; a larger max_rows of the unit lets time tell more",
            )


@of_tables("unit")
def repeated_identifiers(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Every row its own unit, while something that looks like an identifier stands in several rows."""
    if table.owner and table.owner.column is None:
        for column in filter(is_identifier, inspection.held(table)):
            if inspection.is_repeated(table, column):
                message = (
                    f"every row is its own unit, and the same {shown(column)} stands in several: what it names is "
                    "protected row by row only"
                )
                yield Severity.NOTE, message, f"write unit = {quoted(column)} and max_rows if it names whom you protect"


@of_tables("max_rows")
def cut_rows(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Units with more rows than are ever read: many of them is a note, most of the rows a warning."""
    figures = (
        None if table.stream is not None else inspection.units(table)
    )  # a stream bounds rows of a block, or of all
    if not figures or (figures.usual <= table.max_rows and 2 * figures.cut <= figures.owned):
        return
    if table.source.format is Format.SPARK:  # which is asked for one row of each unit more than are ever read
        some = f"more than 1 % of the units have more than {counted(table.max_rows, 'row')}"
        yield Severity.NOTE, f"{some}: the others are never read, and Spark did not count them", MORE_ROWS
        return
    part = f"{figures.cut:,} of {counted(figures.owned, 'row')} ({figures.cut / figures.owned:.1%})"
    limit = f"max_rows is {table.max_rows:,}, and the 99th percentile of the units has {figures.usual:,}"
    if 2 * figures.cut > figures.owned:
        message = f"{part} are never read: {limit}; answers tell more of the limit than of the data"
        yield Severity.WARNING, message, "raise max_rows, or see that so few rows of each are meant"
    else:
        yield Severity.NOTE, f"{part} are never read: {limit}", MORE_ROWS


@of_tables("stream")
def streams(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """What a stream protects, in words: often less than a unit with all its rows."""
    if table.stream is not None:
        sentence = protection(table, inspection.policy.unit)
        yield Severity.NOTE, sentence, "see that this is what you mean to protect"


def unlike_units(inspection: Inspection) -> Iterator[Finding]:
    """Unit columns whose types differ between tables."""
    ends = [(table, *way[-1]) for table in inspection.policy.private_tables.values() if (way := inspection.way(table))]
    typed = [(table, f"{end.name}.{column}", _type(inspection, end, column)) for table, end, column in ends]
    known = [(table, column, kind) for table, column, kind in typed if kind]
    for table, column, kind in known[1:]:
        _, first, usual = known[0]
        if kind != usual:
            yield Finding(
                Severity.WARNING,
                key_path("tables", table.name, "unit"),
                f"{column} is {kind}, {first} is {usual}: compared as texts, 7 and 007 are two units",
                "store them in one type",
            )


@of_tables("unit")
def unlike_keys(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Foreign keys whose type is not that of the key they lead to."""
    here = table
    for hop in table.owner.path if table.owner else ():
        there = inspection.policy.tables[hop.table]
        kinds = _type(inspection, here, hop.column), _type(inspection, there, hop.key)
        if all(kinds) and kinds[0] != kinds[1]:
            message = f"{here.name}.{hop.column} is {kinds[0]}, {there.name}.{hop.key} is {kinds[1]}: 7 may match 007"
            yield Severity.WARNING, message, "store them in one type"
        here = there


def _type(inspection: Inspection, table: Table, column: str) -> str:
    """The source's type of a column; integers of all sizes are one. CSV has no types: what is written there counts."""
    spelling = inspection.spelling(table, column)
    held = inspection.held(table)[spelling] if spelling else ""
    if table.source.format is Format.CSV and inspection.writes_integers(table, column):
        return "BIGINT"
    return "BIGINT" if held in INTEGERS else held


def public_units(inspection: Inspection) -> Iterator[Finding]:
    """Public tables that hold a column called like the unit's."""
    columns = {
        table.owner.column.lower()
        for table in inspection.policy.private_tables.values()
        if table.owner and table.owner.column
    }
    for table in inspection.policy.tables.values():
        shared = [column for column in inspection.held(table) if column.lower() in columns] if table.is_public else []
        for column in shared:
            yield Finding(
                Severity.WARNING,
                key_path("tables", table.name, "public"),
                f"the source has a column {shown(column)}, which names units elsewhere, and public rows are no secret",
                f"write unit = {quoted(column)} instead of public = true if rows are about units",
            )


@of_tables("source", private=False)
def writable_sources(inspection: Inspection, table: Table) -> Iterator[Judgement]:
    """Sources that anybody on this machine can change."""
    if inspection.held(table):
        for path in [path for path in paths(inspection.policy, table) if _mode(path) & stat.S_IWOTH][:1]:
            yield Severity.NOTE, f"anybody on this machine can change {shown_file(path.name)}", "chmod o-w"


def share_sums(inspection: Inspection) -> Iterator[Finding]:
    """Shares that promise more than there is."""
    budget, shares = inspection.policy.budget.epsilon, inspection.policy.analysts.values()
    total = sum(budget * share.fraction if isinstance(share, Percentage) else share for share in shares)
    if total > budget:
        yield Finding(
            Severity.NOTE,
            "analysts",
            f"the shares add up to {float(total):g}, the budget is {float(budget):g}: whoever asks first gets it",
            "leave it if that is meant",
        )


def large_delta(inspection: Inspection) -> Iterator[Finding]:
    """A δ that would allow to publish somebody's rows."""
    delta = inspection.policy.budget.delta
    if delta is not None and delta * inspection.population > 1:
        yield Finding(
            Severity.WARNING,
            key_path("budget", "delta"),
            f"is above 1 / (number of units, {inspection.population:,}): it would allow to publish somebody's rows",
            "write a much smaller one, such as 1e-9",
        )


def network_state(inspection: Inspection) -> Iterator[Finding]:
    """State on a network file system."""
    kind = file_system(inspection.policy.state)
    if kind in NETWORKS:
        yield Finding(
            Severity.ERROR,
            "state",
            f"{inspection.policy.state} lies on a network file system ({kind}), where no lock can be relied on",
            'move it to a local disk with state = "…"',
        )


def open_state(inspection: Inspection) -> Iterator[Finding]:
    """State that others may look at: it holds the private copy and the key of all hashes."""
    state = inspection.policy.state
    if state.exists() and _mode(state) & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding(Severity.ERROR, "state", f"others may enter {state}, where the private copy lies", "chmod 700")


def _mode(path: Path) -> int:
    return path.stat().st_mode
