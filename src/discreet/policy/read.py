"""Reading a policy file into its frozen values.

What is allowed stands in tables of keys and rules, one per section. A rule that refuses puts a problem on the list and
reading goes on, so that the owner sees everything at once; a policy exists only if the list stays empty.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from discreet.policy.columns import read_columns
from discreet.policy.document import absolute, content, document, label
from discreet.policy.model import (
    Budget,
    Column,
    Kind,
    Owner,
    Percentage,
    Policy,
    Serving,
    Share,
    Table,
    usual_unit_rows,
)
from discreet.policy.owners import check_owners, read_owner, unit_kind
from discreet.policy.place import (
    Field,
    Place,
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
    unit_rows,
)
from discreet.policy.problems import PolicyError, Problem
from discreet.policy.sources import (
    check_apart,
    check_folders,
    check_state,
    copied,
    read_folders,
    read_format,
    read_path,
    read_source,
)

OWNER: Final = "owner"
"""What the ledger calls questions that the owner asks; no analyst has this name."""

LIMITS: Final = ("max_rows", "max_groups", "max_rows_per_group")

POLICY: Final[Mapping[str, Field]] = {
    "name": Field(text),
    "state": Field(text),
    "max_cost": Field(epsilon),
    "budget": Field(anything, needed="add [budget] with epsilon = 1.0"),
    "unit": Field(anything, needed='add [unit] with name = "patient"'),
    "tables": Field(anything, needed="add [tables.NAME] with a source and a unit"),
    "analysts": Field(anything),
    "server": Field(anything),
}
BUDGET: Final[Mapping[str, Field]] = {
    "epsilon": Field(epsilon, needed="add epsilon = 1.0: all that may ever be spent"),
    "delta": Field(delta),
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
TABLE: Final[Mapping[str, Field]] = {
    "source": Field(read_path, needed='add source = "patients.parquet"'),
    "format": Field(read_format),
    "table": Field(text),
    "unit": Field(read_owner),
    "public": Field(flag),
    "copy": Field(copied),
    "multiline": Field(flag),
    "folders": Field(read_folders),
    **{key: Field(limit) for key in LIMITS},
    "columns": Field(anything),
}


def read(path: str | os.PathLike[str]) -> Policy:
    """The policy in this file; a `PolicyError` with all its problems if it cannot be used."""
    given = Path(path)
    return parse(content(given), given)


def parse(text: bytes, path: Path) -> Policy:
    """The policy in this text, which stands (or will stand) at this path."""
    raw = document(text)
    if isinstance(raw, Problem):
        raise PolicyError(label(path), [raw])
    place = Place([])
    top = place.fields(raw, POLICY)
    budget = _section(place, "budget", top, BUDGET)
    unit = _section(place, "unit", top, UNIT)
    serving = _section(place, "server", top, SERVER)
    file = absolute(path)
    tables = _tables(place.at("tables"), top["tables"], file.parent) if "tables" in top else {}
    unit_most = _unit_rows(place.at("unit"), unit.get("max_rows"), tables)
    analysts = _analysts(place.at("analysts"), top.get("analysts", {}), budget.get("epsilon"))
    state = file.parent / top.get("state", f"{file.stem}.discreet")
    check_state(place, state, file, tables.values())
    if place.problems:
        raise PolicyError(label(path), place.problems)
    return Policy(
        name=top.get("name", file.stem),
        path=file,
        state=state,
        budget=Budget(budget["epsilon"], budget.get("delta")),
        unit=unit["name"],
        tables=tables,
        analysts=analysts,
        max_cost=top.get("max_cost"),
        unit_rows=unit_most,
        unit_kind=unit.get("type", Kind.TEXT),
        serving=Serving(**serving),
    )


def _section(place: Place, name: str, top: Mapping[str, Any], keys: Mapping[str, Field]) -> dict[str, Any]:
    return place.at(name).fields(top[name], keys) if name in top else {}


def _tables(place: Place, raw: object, folder: Path) -> dict[str, Table]:
    names = []
    tables = {}
    for name, there, value in place.named(raw, "table"):
        names.append(name)
        table = _table(there, name, value)
        if table is not None:
            tables[name] = table
    if raw == {}:
        place.report("there is no table", "add [tables.NAME] with a source and a unit")
    check_owners(place, tables, names)
    check_apart(place, tables.values(), folder)
    return tables


def _table(place: Place, name: str, raw: object) -> Table | None:
    found = place.fields(raw, TABLE)
    columns = read_columns(place.at("columns"), found.get("columns", {}))
    source = read_source(place, found)
    check_folders(place, found, columns)
    if isinstance(raw, dict):
        _check_protection(place, raw, found)
    owner = found.get("unit")
    _check_unique(place.at("columns"), columns, owner)
    if source is None or (owner is None and not found.get("public")):
        return None  # reported already; without an owner it would count as public
    rows = found.get("max_rows", 1)
    return Table(
        name=name,
        source=source,
        columns=columns,
        owner=owner,
        max_rows=rows,
        max_groups=found.get("max_groups", rows),
        max_rows_per_group=found.get("max_rows_per_group", rows),
    )


def _check_unique(place: Place, columns: Mapping[str, Column], owner: Owner | None) -> None:
    """Keys are unique within a unit: where several rows can belong to one."""
    if owner is not None and owner.column is not None:
        return
    for column in columns.values():
        if column.unique:
            place.at(column.name, "unique").report("is for tables whose rows belong to units", "remove it")


def _check_protection(place: Place, given: Mapping[str, object], found: Mapping[str, Any]) -> None:
    """A table is public and free, or private with a unit; nothing in between."""
    public = found.get("public", False)
    if public:
        for key in ("unit", *LIMITS):
            if key in given:
                place.at(key).report(f"a public table has no {key}", "remove it, or public = true if it is private")
    elif "unit" not in given and ("public" in found or "public" not in given):
        place.at("unit").report(
            "missing", 'add the column that names the unit, or unit = "row" if every row is its own, or public = true'
        )
    if "unit" in found and found["unit"].column is None and found.get("max_rows", 1) > 1:
        place.at("max_rows").report("must be 1, because every row is its own unit", "remove it, or name a unit column")


def _unit_rows(place: Place, stated: int | None, tables: Mapping[str, Table]) -> int:
    for table in tables.values():
        if stated is not None and stated < table.max_rows:
            place.at("max_rows").report(
                f"is less than max_rows of {table.name}",
                f"write at least {table.max_rows}, or lower that of the table",
            )
    return usual_unit_rows(tables.values()) if stated is None else stated


def _analysts(place: Place, raw: object, budget: Fraction | None) -> dict[str, Share]:
    shares: dict[str, Share] = {}
    for name, there, value in place.named(raw, "analyst"):
        if name.casefold() == OWNER:
            there.report(f"{OWNER!r} is what the ledger calls you", "rename the analyst")
        found = there.fields(value, ANALYST)
        if isinstance(value, dict) and not ANALYST.keys() & value.keys():
            there.at("epsilon").report("missing", "add epsilon = 0.5: this analyst's share")
        if len(found) > 1:
            there.at("share").report("is said twice, as epsilon too", "leave one of them out")
        if "share" in found:
            shares[name] = Percentage(found["share"])
        if "epsilon" in found:
            shares[name] = found["epsilon"]
            if budget is not None and found["epsilon"] > budget:
                there.at("epsilon").report("is more than the whole budget", "write at most budget.epsilon")
    return shares
