"""Fingerprints of a policy: the same for the same meaning, on every machine and for ever.

The constitution of what is hashed:
1. A fingerprint is SHA-256 over canonical JSON (ASCII, sorted keys, no spaces) with its name and version inside.
2. The meaning of a form never changes. Whoever changes what goes in, or how it is written, writes a new version number;
   cached answers and ledgers of the old version then count as belonging to another policy.
3. `fingerprint` covers all that changes what an answer means: unit, tables, sources, owners, limits, columns. It leaves
   out what does not: name, budget, analysts, cost limit, state, and the file's location.
4. `protected` covers whom the ledger protects: unit, and the names, sources and owners of the private tables, and how
   streams are cut into blocks.
5. Order means nothing: not of tables, nor of columns, nor of values.
6. What came later stands in a form only where it is not what held before: so earlier policies keep their digests.
7. Numbers are written as exact fractions, dates by ISO 8601, sources as the policy spells them.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date
from fractions import Fraction
from typing import Any, Final

from discreet.policy.model import Bound, Column, Key, Kind, Owner, Policy, Source, Table, usual_unit_rows

VERSION: Final = 1


def fingerprint(policy: Policy) -> str:
    """The digest of all that changes what an answer means."""
    tables = {name: _table(table) for name, table in policy.tables.items()}
    rows = {} if policy.unit_rows == usual_unit_rows(policy.tables.values()) else {"unit_rows": policy.unit_rows}
    form = {"form": "discreet policy", "version": VERSION, "unit": policy.unit, "tables": tables}
    return _digest(form | rows | _unit_kind(policy))


def protected(policy: Policy) -> str:
    """The digest of whom the ledger protects; a change of it starts a new epoch."""
    private = {
        name: {"source": _source(table.source), "owner": _owner(table.owner)} | _stream(table)
        for name, table in policy.private_tables.items()
    }
    form = {"form": "discreet protected", "version": VERSION, "unit": policy.unit, "tables": private}
    return _digest(form | _unit_kind(policy))


def _unit_kind(policy: Policy) -> dict[str, str]:
    """Of what type units are, where it is not the usual one: whether 7 and 007 are one unit or two."""
    return {} if policy.unit_kind is Kind.TEXT else {"unit_kind": policy.unit_kind.value}


def _digest(value: object) -> str:
    written = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(written.encode("ascii")).hexdigest()


def _table(table: Table) -> dict[str, Any]:
    return {
        "source": _source(table.source) | _reading(table.source),
        "owner": _owner(table.owner),
        "max_rows": table.max_rows,
        "max_groups": table.max_groups,
        "max_rows_per_group": table.max_rows_per_group,
        "columns": {name: _column(column) for name, column in table.columns.items()},
    } | _stream(table)


def _stream(table: Table) -> dict[str, Any]:
    """How a stream is cut into blocks; what one of them may cost is for the ledger."""
    stream = table.stream
    if stream is None:
        return {}
    low = None if stream.column is None else (table.columns[stream.column].bounds or (None,))[0]
    said = [stream.by, stream.column, stream.protects, stream.most, stream.buckets]
    return {"stream": [*said, None if low is None else _scalar(low)]}


def _source(source: Source) -> dict[str, Any]:
    return {"format": source.format.value, "path": source.path, "table": source.table}


def _reading(source: Source) -> dict[str, Any]:
    """How a source is read, where the policy says so."""
    said = {
        "multiline": source.multiline,
        "folders": sorted(source.folders) or None,
        "separator": source.separator,
        "decimal": source.decimal,
    }
    return {key: value for key, value in said.items() if value is not None}


def _owner(owner: Owner | None) -> dict[str, Any] | None:
    if owner is None:
        return None
    return {"column": owner.column, "path": [[hop.column, hop.table, hop.key] for hop in owner.path]}


def _column(column: Column) -> dict[str, Any]:
    return {
        "kind": column.kind.value,
        "bounds": None if column.bounds is None else [_scalar(bound) for bound in column.bounds],
        "step": None if column.step is None else _scalar(column.step),
        "values": None
        if column.values is None
        else sorted((_scalar(value) for value in column.values), key=json.dumps),
        "nullable": column.nullable,
    } | ({"unique": True} if column.unique else {})


def _scalar(value: Bound | Key) -> str | int | bool:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return value.isoformat() if isinstance(value, date) else value
