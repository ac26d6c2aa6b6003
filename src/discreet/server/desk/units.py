"""Whom a policy protects, as the desk's form says it: whose rows of each table are, and how many of one unit count."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from discreet.errors import Refused
from discreet.owner.draft import ROWS, Described, likely_unit
from discreet.owner.names import is_identifier, whose, words
from discreet.owner.toml import is_name
from discreet.policy import Format
from discreet.policy.section import MOST_LIMIT
from discreet.policy.sources import is_pattern
from discreet.server.desk.growing import Growing, times_of

ROW, PUBLIC, OUT = "row", "public", "out"
COLUMN, PATH = "column:", "path:"
WORDS: Final = {
    ROW: "every row is its own unit",
    PUBLIC: "nobody's: the table is public",
    OUT: "leave the table out",
}
LIMITS: Final = (1, 2, 5, 10, 20, 50, 100)
"""Contribution bounds of which is said what they leave out."""
APART: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may stand between the fields of CSV, in words."""
DECIMALS: Final = {".": "a point, as in 1.5", ",": "a comma, as in 1,5"}
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")
_LINES: Final = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class TableForm:
    """A table as its form shows it."""

    name: str
    source: str
    columns: tuple[str, ...]
    options: Mapping[str, str]
    """What its unit may be: what is sent, and the words for it."""
    chosen: str
    rows: str
    lines: str
    """Of CSV: whether values may hold line breaks: yes, no, or nothing if that was not said."""
    is_csv: bool
    apart: str
    """Of CSV: what stands between fields, as was said; nothing if it is to be found out."""
    seems: str
    """In words: what seems to stand there."""
    decimal: str
    growing: Growing
    times: tuple[str, ...]
    """Columns that may say when: likely ones first."""


def options_of(table: Described, others: Sequence[Described]) -> dict[str, str]:
    """Whose the rows of a table may be: likely columns first, ways through other tables, every row, nobody."""
    usable = [column for column in table.columns if is_name(column) and "->" not in column and column != ROW]
    likely = sorted(usable, key=whose, reverse=True)
    return {
        **{f"{COLUMN}{column}": f"the column {column}" for column in likely},
        **{f"{PATH}{way}": f"through {way}" for other in others for way in _ways(table, other)},
        **WORDS,
    }


def _ways(table: Described, other: Described) -> list[str]:
    """Foreign keys: a column that both tables have, and an identifier that only the other has."""
    if other.name == table.name or not _PLAIN.fullmatch(other.name):
        return []
    keys = [column for column in table.columns if column in other.columns and is_identifier(column)]
    ends = [column for column in other.columns if column not in table.columns and is_identifier(column)]
    plain = [(key, end) for key in keys for end in ends if _PLAIN.fullmatch(key) and _PLAIN.fullmatch(end)]
    return [f"{key} -> {other.name}.{end}" for key, end in plain]


def forms_of(tables: Sequence[Described], decided: Mapping[str, Any]) -> list[TableForm]:
    """All tables as they were decided, or as their names suggest."""
    made = []
    for table in tables:
        options, known = options_of(table, tables), decided.get(table.name, {})
        chosen = _chosen(known) or _likely(table, tables)
        given = known or {}
        lines = next((word for word, said in _LINES.items() if given.get("multiline") is said), "")
        is_csv = table.source.format is Format.CSV
        where = _called(table.source.path) + (f" · {table.source.table}" if table.source.table else "")
        likely = times_of(table)
        made.append(
            TableForm(
                name=table.name,
                source=where,
                columns=tuple(table.columns),
                options=options,
                chosen=chosen,
                rows=str(given.get("max_rows", 1 if "unit" in given else _rows(table, chosen))),
                lines=lines,
                is_csv=is_csv,
                apart=given.get("separator", ""),
                seems=APART.get(table.source.separator or ",", "") if is_csv else "",
                decimal=given.get("decimal", ""),
                growing=Growing.of(given.get("stream"), table),
                times=(*likely, *(column for column in table.columns if column not in likely)),
            )
        )
    return made


def sent_forms(forms: Sequence[TableForm], form: Mapping[str, str]) -> list[TableForm]:
    """The forms as somebody filled them in: what is refused is shown again, and not forgotten."""
    return [_sent(table, form, number) for number, table in enumerate(forms)]


def _sent(table: TableForm, form: Mapping[str, str], number: int) -> TableForm:
    names = {"chosen": "unit", "rows": "rows", "lines": "lines", "apart": "apart", "decimal": "decimal"}
    given: dict[str, Any] = {field: form[key] for field, name in names.items() if (key := f"{name}-{number}") in form}
    return replace(table, **given, growing=Growing.sent(form, number))


def _likely(table: Described, tables: Sequence[Described]) -> str:
    """The column that is called like one that says whose rows are; nothing if none is: then somebody has to choose.

    A policy protects one kind of unit. So of several tables it is the same column; one that all kinds of things have,
    like `id`, tells something of a table that is alone.
    """
    if len(tables) == 1:
        named = next(iter(table.identifiers), "")
    else:
        common = likely_unit(tables)
        named = (table.spelling(common) or "") if whose(common) > 1 or len(words(common)) > 1 else ""
    return f"{COLUMN}{named}" if named else ""


def _rows(table: Described, chosen: str) -> int:
    """How many rows of one unit are proposed: several where a table numbers its rows by something else, too."""
    others = [column for column in table.identifiers if f"{COLUMN}{column}" != chosen]
    return ROWS if chosen.startswith(COLUMN) and others else 1


def _called(path: str) -> str:
    """A source as its owner knows it: the name of a file, or of a folder of them."""
    *_, folder, name = ["", *path.split("/")]
    return f"{folder}/{name}" if is_pattern(name) else name


def _chosen(known: Mapping[str, Any] | bool) -> str:
    """Whose the rows are, as it was decided; nothing if it was not."""
    if isinstance(known, bool):
        return OUT
    if known.get("public"):
        return PUBLIC
    unit = str(known.get("unit", ""))
    return unit if unit in ("", ROW) else f"{PATH if '->' in unit else COLUMN}{unit}"


def read_units(
    form: Mapping[str, str], tables: Sequence[Described], decided: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[int, Refused]]:
    """What is decided about each table, where what was decided about its columns stays; and why some are refused."""
    made: dict[str, Any] = {}
    wrong: dict[int, Refused] = {}
    for number, table in enumerate(tables):
        try:
            made[table.name] = _read_unit(form, tables, number, decided.get(table.name) or {})
        except Refused as refused:
            wrong[number] = refused
    return made, wrong


def _read_unit(
    form: Mapping[str, str], tables: Sequence[Described], number: int, known: Mapping[str, Any]
) -> dict[str, Any] | bool:
    table, chosen = tables[number], form.get(f"unit-{number}", "")
    if chosen not in options_of(table, tables):
        raise Refused("body-invalid", f"choose whose the rows of {table.name[:60]} are", "choose one of the list")
    if chosen == OUT:
        return False
    columns = {name: given for name, given in known.get("columns", {}).items() if f"{COLUMN}{name}" != chosen}
    owned = _owned(chosen, form.get(f"rows-{number}", ""))
    growing = {} if chosen == PUBLIC else Growing.sent(form, number).decided(table, str(owned["unit"]))
    return {
        **owned,
        **_written(table, form, number),
        **_lines(table, form.get(f"lines-{number}", "")),
        **growing,
        **({"columns": columns} if columns else {}),
    }


def cut_anew(form: Mapping[str, str], tables: Sequence[Described], decided: Mapping[str, Any]) -> dict[str, Any]:
    """What is decided about tables of which somebody now says that other characters stand between fields.

    Their columns are others then, so that nothing else about them can be decided by the same form.
    """
    made = {}
    for number, table in enumerate(tables):
        written = _written(table, form, number)
        before = (decided.get(table.name) or {}).get("separator")
        if table.source.format is Format.CSV and written.get("separator") != before:
            made[table.name] = written
    return made


def _written(table: Described, form: Mapping[str, str], number: int) -> dict[str, str]:
    """How a CSV file is written, where its owner says it."""
    apart, decimal = form.get(f"apart-{number}", ""), form.get(f"decimal-{number}", "")
    if table.source.format is not Format.CSV:
        return {}
    if (apart and APART.get(apart) is None) or decimal not in ("", *DECIMALS):
        raise Refused("body-invalid", f"say how {table.name[:60]} is written", "choose from the lists")
    return {**({"separator": apart} if apart else {}), **({"decimal": decimal} if decimal else {})}


def _owned(chosen: str, rows: str) -> dict[str, Any]:
    if chosen == PUBLIC:
        return {"public": True}
    if chosen == ROW:
        return {"unit": ROW}
    unit = chosen.partition(":")[2]
    many = rows.strip() or "1"
    if not (many.isdecimal() and len(many) <= 10 and 1 <= int(many) <= MOST_LIMIT):
        raise Refused("body-invalid", "rows of one unit are a whole number", "write 1, or how many are ever read")
    return {"unit": unit, **({"max_rows": int(many)} if int(many) > 1 else {})}


def _lines(table: Described, said: str) -> dict[str, bool]:
    return {"multiline": _LINES[said]} if table.source.format is Format.CSV and said in _LINES else {}
