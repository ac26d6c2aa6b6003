"""Reading a policy file into its frozen values.

What is allowed stands in tables of keys and rules, one per section. A rule that refuses puts a problem on the list and
reading goes on, so that the owner sees everything at once; a policy exists only if the list stays empty.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from discreet.policy.columns import read_columns
from discreet.policy.databases import SCHEMA, read_schema, read_url
from discreet.policy.document import absolute, content, document, label
from discreet.policy.engines import DUCKDB, OWN, POSTGRES, SPARK, check_engine, read_engine, read_hash
from discreet.policy.model import (
    Budget,
    Column,
    Kind,
    LedgerDatabase,
    Owner,
    Percentage,
    Policy,
    Serving,
    Share,
    Table,
    usual_unit_rows,
)
from discreet.policy.owners import check_owners, read_owner, unit_kind
from discreet.policy.problems import Finding, PolicyError
from discreet.policy.recorded import written
from discreet.policy.retention import RETENTION, Retention
from discreet.policy.section import (
    Field,
    Section,
    alike,
    anything,
    delta,
    epsilon,
    flag,
    limit,
    milliseconds,
    percent,
    rate,
    seconds,
    text,
    texts,
    unit_rows,
    windows,
)
from discreet.policy.sources import (
    check_apart,
    check_folders,
    check_state,
    copied,
    read_decimal,
    read_folders,
    read_format,
    read_path,
    read_separator,
    read_source,
)
from discreet.policy.streams import check_streams, read_stream, unit_of
from discreet.printing import printable

OWNER: Final = "owner"
"""What the ledger calls questions that the owner asks; no analyst has this name."""

LIMITS: Final = ("max_rows", "max_groups", "max_rows_per_group")

POLICY: Final[Mapping[str, Field]] = {
    "name": Field(text),
    "state": Field(text),
    "max_cost": Field(epsilon),
    "engine": Field(read_engine),
    "engine_schema": Field(text),
    "hash": Field(read_hash),
    "implicit_bounds": Field(flag),
    "budget": Field(anything, needed="add [budget] with epsilon = 1.0"),
    "unit": Field(anything, needed='add [unit] with name = "patient"'),
    "tables": Field(anything, needed="add [tables.NAME] with a source and a unit"),
    "analysts": Field(anything),
    "server": Field(anything),
    "statement": Field(anything),
    "retention": Field(anything),
    "ledger": Field(anything),
    "acknowledged": Field(texts),
}
LEDGER: Final[Mapping[str, Field]] = {
    "url": Field(read_url, needed='add url = "postgresql://curator@db.example.org/ledgers", or remove [ledger]'),
    "schema": Field(read_schema),
}
BUDGET: Final[Mapping[str, Field]] = {
    "epsilon": Field(epsilon, needed="add epsilon = 1.0: all that may ever be spent"),
    "delta": Field(delta),
    "max_windows": Field(windows),
}
UNIT: Final[Mapping[str, Field]] = {
    "name": Field(text, needed='add name = "patient": whom or what you protect'),
    "max_rows": Field(unit_rows),
    "type": Field(unit_kind),
}
ANALYST: Final[Mapping[str, Field]] = {"epsilon": Field(epsilon), "share": Field(percent)}
SERVER: Final[Mapping[str, Field]] = {
    "pad_ms": Field(milliseconds),
    "time_limit": Field(seconds),
    "requests_per_minute": Field(rate),
}
STATEMENT: Final[Mapping[str, Field]] = {
    key: Field(text) for key in ("curator", "purpose", "rationale", "collection", "contact")
}
TABLE: Final[Mapping[str, Field]] = {
    "source": Field(read_path, needed='add source = "patients.parquet"'),
    "format": Field(read_format),
    "table": Field(text),
    "unit": Field(read_owner),
    "public": Field(flag),
    "copy": Field(copied),
    "multiline": Field(flag),
    "separator": Field(read_separator),
    "decimal": Field(read_decimal),
    "folders": Field(read_folders),
    "newer_by": Field(text),
    **{key: Field(limit) for key in LIMITS},
    "columns": Field(anything),
    "stream": Field(anything),
}


def read(path: str | os.PathLike[str]) -> Policy:
    """The policy in this file; a `PolicyError` with all its problems if it cannot be used."""
    given = Path(path)
    return parse(content(given), given)


def parse(text: bytes, path: Path) -> Policy:
    """The policy in this text, which stands (or will stand) at this path."""
    raw = document(text)
    if isinstance(raw, Finding):
        raise PolicyError(label(path), [raw])
    return parsed(raw, path)


def parsed(raw: Mapping[str, Any], path: Path) -> Policy:
    """The policy of a document of TOML."""
    section = Section([])
    top = section.fields(raw, POLICY)
    budget = _section(section, "budget", top, BUDGET)
    unit = _section(section, "unit", top, UNIT)
    serving = _section(section, "server", top, SERVER)
    statement = _section(section, "statement", top, STATEMENT)
    ledger = _section(section, "ledger", top, LEDGER)
    retention = _section(section, "retention", top, RETENTION)
    file = absolute(path)
    tables = _tables(section.at("tables"), top["tables"], file.parent) if "tables" in top else {}
    unit_most = _unit_rows(section.at("unit"), unit.get("max_rows"), tables)
    check_streams(section.at("tables"), tables, budget.get("epsilon"), budget.get("delta"))
    engine = top.get("engine", DUCKDB)
    check_engine(section, engine, tables, schema="engine_schema" in top)
    if engine != DUCKDB or top.get("hash", OWN) != OWN:  # all engines choose alike: DuckDB stores what the others do
        tables = {
            label: replace(table, pairs=table.stream is None, apart=engine == SPARK, parted=engine == POSTGRES)
            for label, table in tables.items()
        }
    analysts = _analysts(section.at("analysts"), top.get("analysts", {}), budget.get("epsilon"))
    state = file.parent / top.get("state", f"{file.stem}.discreet")
    check_state(section, state, file, tables.values())
    if section.problems:
        raise PolicyError(label(path), section.problems)
    return Policy(
        name=top.get("name", printable(file.stem)),
        path=file,
        state=state,
        budget=Budget(budget["epsilon"], budget.get("delta"), budget.get("max_windows")),
        unit=unit_of(unit["name"], tables),
        tables=tables,
        analysts=analysts,
        max_cost=top.get("max_cost"),
        unit_rows=unit_most,
        unit_kind=unit.get("type", Kind.TEXT),
        serving=Serving(**serving),
        engine=engine,
        engine_schema=top.get("engine_schema", "discreet"),
        hashing=top.get("hash", OWN),
        implicit_bounds=top.get("implicit_bounds", False),
        statement=statement,
        document=written(raw),
        ledger=LedgerDatabase(ledger["url"], ledger.get("schema", SCHEMA)) if ledger else None,
        acknowledged=top.get("acknowledged", ()),
        retention=Retention(**retention),
    )


def _section(section: Section, name: str, top: Mapping[str, Any], keys: Mapping[str, Field]) -> dict[str, Any]:
    return section.at(name).fields(top[name], keys) if name in top else {}


def _tables(section: Section, raw: object, folder: Path) -> dict[str, Table]:
    names = []
    tables = {}
    for name, there, value in section.named(raw, "table"):
        names.append(name)
        table = _table(there, name, value)
        if table is not None:
            tables[name] = table
    if raw == {}:
        section.report("there is no table", "add [tables.NAME] with a source and a unit")
    check_owners(section, tables, names)
    check_apart(section, tables.values(), folder)
    return tables


def _table(section: Section, name: str, raw: object) -> Table | None:
    fields = section.fields(raw, TABLE)
    columns = read_columns(section.at("columns"), fields.get("columns", {}))
    source = read_source(section, fields)
    check_folders(section, fields, columns)
    if isinstance(raw, dict):
        _check_protection(section, raw, fields)
    owner = fields.get("unit")
    _check_unique(section.at("columns"), columns, owner)
    stream = read_stream(section, fields, columns, owner)
    if source is None or (owner is None and not fields.get("public")):
        return None  # reported already; without an owner it would count as public
    rows = fields.get("max_rows", 1)
    return Table(
        name=name,
        source=source,
        columns=columns,
        owner=owner,
        max_rows=rows,
        max_groups=fields.get("max_groups", rows),
        max_rows_per_group=fields.get("max_rows_per_group", rows),
        stream=stream,
    )


def _check_unique(section: Section, columns: Mapping[str, Column], owner: Owner | None) -> None:
    """Keys are unique within a unit: where several rows can belong to one."""
    if owner is not None and owner.column is not None:
        return
    for column in columns.values():
        if column.unique:
            section.at(column.name, "unique").report("is for tables whose rows belong to units", "remove it")


def _check_protection(section: Section, given: Mapping[str, object], fields: Mapping[str, Any]) -> None:
    """A table is public and free, or private with a unit; nothing in between."""
    public = fields.get("public", False)
    if public:
        for key in ("unit", *LIMITS):
            if key in given:
                section.at(key).report(f"a public table has no {key}", "remove it, or public = true if it is private")
    elif "unit" not in given and ("public" in fields or "public" not in given):
        section.at("unit").report(
            "missing", 'add the column that names the unit, or unit = "row" if every row is its own, or public = true'
        )
    if "unit" in fields and fields["unit"].column is None and fields.get("max_rows", 1) > 1:
        section.at("max_rows").report(
            "must be 1, because every row is its own unit", "remove it, or name a unit column"
        )


def _unit_rows(section: Section, stated: int | None, tables: Mapping[str, Table]) -> int:
    for table in tables.values():
        if stated is not None and stated < table.max_rows:
            section.at("max_rows").report(
                f"is less than max_rows of {table.name}",
                f"write at least {table.max_rows}, or lower that of the table",
            )
    return usual_unit_rows(tables.values()) if stated is None else stated


def _analysts(section: Section, raw: object, budget: Fraction | None) -> dict[str, Share]:
    shares: dict[str, Share] = {}
    for name, there, value in section.named(raw, "analyst"):
        if alike(name) == OWNER:
            there.report(f"{OWNER!r} is what the ledger calls you", "rename the analyst")
        fields = there.fields(value, ANALYST)
        if isinstance(value, dict) and not ANALYST.keys() & value.keys():
            there.at("epsilon").report("missing", "add epsilon = 0.5: this analyst's share")
        if len(fields) > 1:
            there.at("share").report("is said twice, as epsilon too", "leave one of them out")
        if "share" in fields:
            shares[name] = Percentage(fields["share"])
        if "epsilon" in fields:
            shares[name] = fields["epsilon"]
            if budget is not None and fields["epsilon"] > budget:
                there.at("epsilon").report("is more than the whole budget", "write at most budget.epsilon")
    return shares
