"""Lints of declared columns beside what their sources hold. They contain exact values: do not share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import wraps
from typing import Final

from discreet.owner.inspection import ColumnFigures, Inspection
from discreet.policy import Column, Finding, Kind, Policy, Severity, Table
from discreet.policy.problems import choices, key_path, shown
from discreet.printing import counted

Judgement = tuple[Severity, str, str]
"""How grave it is, what was found, what to do."""
Judge = Callable[[Column, ColumnFigures], Judgement | None]
Lint = Callable[[Inspection], Iterator[Finding]]

_BOUNDABLE: Final = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP})
_MOST_SHOWN: Final = 5
_TRUTH: Final = (Fraction(0), Fraction(1))


def of_columns(judge: Judge) -> Lint:
    """A lint that judges each declared column that its source has."""
    return _judging(judge, lambda policy: policy.tables)


def of_private_columns(judge: Judge) -> Lint:
    """A lint that judges those of private tables only."""
    return _judging(judge, lambda policy: policy.private_tables)


def _judging(judge: Judge, tables: Callable[[Policy], Mapping[str, Table]]) -> Lint:
    @wraps(judge)
    def lint(inspection: Inspection) -> Iterator[Finding]:
        for table in tables(inspection.policy).values():
            for name, figures in inspection.columns(table).items():
                judgement = judge(table.columns[name], figures)
                if judgement:
                    severity, message, fix = judgement
                    yield Finding(severity, key_path("tables", table.name, "columns", name), message, fix)

    return lint


def missing_columns(inspection: Inspection) -> Iterator[Finding]:
    """Declared columns that the source lacks."""
    for table in inspection.policy.tables.values():
        held = inspection.held(table)
        for column in table.columns if held else ():
            if inspection.spelling(table, column) is None:
                where = key_path("tables", table.name, "columns", column)
                yield Finding(Severity.ERROR, where, "the source has no such column", choices(column, held))


def unbounded(inspection: Inspection) -> Iterator[Finding]:
    """Columns without bounds that could have them."""
    for table in inspection.policy.private_tables.values():
        for column in table.columns.values():
            if column.kind in _BOUNDABLE and column.bounds is None and column.values is None:
                yield Finding(
                    Severity.NOTE,
                    key_path("tables", table.name, "columns", column.name),
                    "has no bounds, so every question about its values must bring its own",
                    "add min and max: from what is known about such values, not from the data",
                )


@of_columns
def uncastable(column: Column, figures: ColumnFigures) -> Judgement | None:
    """Values that are not of the declared type."""
    if not figures.lost:
        return None
    severity = Severity.ERROR if figures.lost == figures.present else Severity.WARNING
    share = f"{_part(figures.lost, figures)} ({figures.lost / figures.present:.1%})"
    fix = "correct the type, or clean the source"
    if column.kind is Kind.NUMBER:
        fix += '; of CSV with fractions like 1,5 say decimal = "," beside the source'
    return severity, f"{share}: not of type {column.kind}, so NULL", fix


@of_columns
def fractional(_: Column, figures: ColumnFigures) -> Judgement | None:
    """Values that are not whole, in a column of integers."""
    if not figures.fractional:
        return None
    return Severity.WARNING, f"{_part(figures.fractional, figures)}: not whole, so rounded", 'write type = "number"'


@of_columns
def infinite(column: Column, figures: ColumnFigures) -> Judgement | None:
    """NaN and infinity."""
    if not figures.infinite:
        return None
    message = "NaN, which counts as NULL, or infinite" if column.kind is Kind.NUMBER else "infinite"
    return Severity.WARNING, f"{_part(figures.infinite, figures)}: {message}", "clean the source"


@of_private_columns
def tight_bounds(column: Column, figures: ColumnFigures) -> Judgement | None:
    """Bounds that are the data's own extremes. Of 0 and 1, truths and parts of a whole, everybody knows them."""
    if not figures.tight or column.bounds == _TRUTH:
        return None
    return (
        Severity.WARNING,
        "min and max are the smallest and the largest value of the data: read off it, they tell what two rows hold",
        "write limits that hold for anybody; if these do, leave them",
    )


@of_columns
def outside_bounds(column: Column, figures: ColumnFigures) -> Judgement | None:
    """Values beyond the bounds."""
    if column.bounds is None or not figures.outside:
        return None
    message = f"{_part(figures.outside, figures)}: outside of the bounds, so clamped to them"
    if 2 * figures.outside > figures.present:
        return (
            Severity.WARNING,
            f"{message}: answers tell more of the bounds than of the data",
            "write bounds that most values lie within, from what is known about anybody",
        )
    return Severity.NOTE, message, "leave it if they are rare"


@of_columns
def undeclared_values(column: Column, figures: ColumnFigures) -> Judgement | None:
    """Values that are not among the declared ones."""
    if column.values is None or not figures.outside:
        return None
    message = f"{_part(figures.outside, figures)}: not declared, so in no group"
    return Severity.WARNING, message, "add the missing ones to values if they are no secret"


@of_columns
def undeclared_nulls(column: Column, figures: ColumnFigures) -> Judgement | None:
    """NULLs in a column of declared values that has none."""
    if column.values is None or column.nullable or not figures.missing:
        return None
    return (
        Severity.NOTE,
        f"{counted(figures.missing, 'row')}: NULL, so in no group",
        "add nullable = true to count them",
    )


@of_columns
def unseen_values(_: Column, figures: ColumnFigures) -> Judgement | None:
    """Declared values that never occur."""
    if not figures.unseen:
        return None
    named = [shown(str(value)) for value in figures.unseen[:_MOST_SHOWN]]
    more = ["…"] if len(figures.unseen) > _MOST_SHOWN else []
    return (
        Severity.NOTE,
        f"{counted(len(figures.unseen), 'value')} declared and never found: {', '.join(named + more)}",
        "look for a slip of spelling; values that may come later are right",
    )


def _part(count: int, figures: ColumnFigures) -> str:
    return f"{count:,} of {counted(figures.present, 'value')}"
