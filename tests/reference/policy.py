"""The keys of a policy: which there are, is read from the rules; what each means, is said here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from discreet.policy import columns, databases, engines, owners, section, sources, streams
from discreet.policy.read import ANALYST, BUDGET, LEDGER, POLICY, SERVER, STATEMENT, TABLE, UNIT
from discreet.policy.retention import RETENTION
from discreet.policy.section import Field
from tests.reference.text import cell, table

HEAD: Final = """# The keys of a policy

Made from the rules that read policies by `python -m tests.reference`. A policy is one file of TOML; every key that is
not listed here is an error, with the nearest one that is. What the choices mean for those who are protected:
[writing a policy](../guide/02-writing-a-policy.md). `discreet check` says what is wrong, all at once.

"""
SECTIONS: Final[dict[str, tuple[str, Mapping[str, Field]]]] = {
    "": ("At the top", POLICY),
    "budget": ("[budget]", BUDGET),
    "unit": ("[unit]", UNIT),
    "tables": ("[tables.NAME]", TABLE),
    "columns": ("[tables.NAME.columns]", columns.KEYS),
    "stream": ("[tables.NAME.stream]", streams.STREAM),
    "analysts": ("[analysts.NAME]", ANALYST),
    "server": ("[server]", SERVER),
    "statement": ("[statement]", STATEMENT),
    "ledger": ("[ledger]", LEDGER),
    "retention": ("[retention]", RETENTION),
}
FORMS: Final[dict[Callable[..., Any], str]] = {
    section.text: "text",
    section.texts: "list of texts",
    section.flag: "true or false",
    section.epsilon: "number above 0",
    section.delta: "number between 0 and 1",
    section.percent: 'text such as "25 %"',
    section.limit: "whole number, 1 or more",
    section.windows: "whole number, 1 to 1000",
    section.unit_rows: "whole number, 2 or more",
    section.milliseconds: "whole number, 0 to 60,000",
    section.seconds: "whole number, 1 to 86,400",
    section.rate: "whole number, 1 or more",
    section.anything: "section",
    engines.read_engine: '"duckdb" or "postgres"',
    engines.read_hash: '"md5"',
    databases.read_url: "address of PostgreSQL",
    databases.read_schema: "name",
    owners.unit_kind: '"text" or "integer"',
    owners.read_owner: "text",
    sources.read_path: "text",
    sources.read_format: "text",
    sources.copied: "true",
    sources.read_separator: "comma, semicolon, tab or bar, in quotes",
    sources.read_decimal: '"." or ","',
    sources.read_folders: "list of texts",
    columns.KEYS["type"].rule: "type",
    columns.KEYS["min"].rule: "number, date or timestamp",
    columns.KEYS["step"].rule: "number above 0",
    columns.KEYS["values"].rule: "list of texts, integers, booleans or dates",
    RETENTION["questions"].rule: 'text such as "90d" or "1y"',
    streams.STREAM["by"].rule: '"hour", "day", "week", "month" or "unit"',
}
"""What a rule accepts, in words."""
MEANINGS: Final = {
    "name": "what the policy is called; the name of its file, if left out",
    "state": "the folder of ledger, private copy and tokens; beside the policy, if left out",
    "max_cost": "the largest ε of one query, of everybody; left out, a tenth of the budget for analysts",
    "engine": "what computes: DuckDB over a private copy (usual), or [the database itself](../guide/36-rows-that-stay-in-the-database.md)",
    "engine_schema": 'of `engine = "postgres"`: the schema for the bounded copy; `discreet`, if left out',
    "hash": "how rows and groups of units that have too many are chosen: `md5` chooses the same ones in DuckDB, PostgreSQL and Spark; each engine's own, if left out",
    "implicit_bounds": "whether bounds that nobody states are [found with a share of the cost](../guide/17-bounds-nobody-knows.md); false, if left out",
    "budget": "all that may ever be spent",
    "unit": "whom or what every answer protects",
    "tables": "what may be asked about",
    "analysts": "shares of the budget, by name",
    "server": "how a server treats those who ask; none of it changes an answer",
    "statement": "what the owner says to the public, in [the statement](../guide/41-a-statement.md)",
    "ledger": "where the ledger is, if [not in a file](../guide/35-a-ledger-in-postgresql.md)",
    "acknowledged": "findings of `discreet check` that the owner knows: `key: lint`, as it shows them",
    "budget.epsilon": "ε of all answers to everybody together",
    "budget.delta": "δ of the same; left out, the budget is pure ε",
    "budget.max_windows": "how often the owner may let it be spent again, the first time included; left out: never ([windows](../guide/40-the-ledger-as-a-story.md))",
    "unit.name": "what a unit is called, such as `patient`",
    "unit.max_rows": "rows that one unit makes at any step of a query; 10,000, if left out",
    "unit.type": "how units are compared; as text, if left out",
    "tables.source": "a file, a pattern of files, or the address of a database or of Spark; relative to the policy",
    "tables.format": "`csv`, `parquet`, `duckdb`, `postgres` or `spark`, where the source does not say it",
    "tables.table": "of a DuckDB file or a database: which table",
    "tables.unit": 'the column that names the unit; `"row"` if every row is its own; `account_id -> accounts.customer_id` along a foreign key ([joins](../guide/05-joins.md))',
    "tables.public": "true if the table says nothing about units: free, and without noise",
    "tables.copy": "every table is copied: `true` changes nothing, `false` is refused",
    "tables.multiline": "of CSV: whether quoted values may hold line breaks",
    "tables.separator": "of CSV: what stands between fields; a comma, if left out (a tab in `.tsv`)",
    "tables.decimal": "of CSV: what stands before decimals, `.` or `,`; a point, if left out",
    "tables.folders": "columns that folders called `column=value` tell",
    "tables.newer_by": "of a table of a database: the column by which a refresh knows rows that it has not read",
    "tables.max_rows": "rows of one unit that are ever read; 1, if left out",
    "tables.max_groups": "groups of an answer in which one unit counts; `max_rows`, if left out",
    "tables.max_rows_per_group": "rows of one unit in a group; `max_rows`, if left out",
    "tables.columns": "the columns that exist for analysts",
    "tables.stream": "how a table that grows is cut into blocks ([streams](../guide/29-streams.md))",
    "columns.type": "`integer`, `number`, `text`, `boolean`, `date` or `timestamp`; what values or bounds show, if left out",
    "columns.min": "the lower bound that values are clamped to, from what is known of anybody",
    "columns.max": "the upper one",
    "columns.step": "the smallest difference that matters; values are rounded to it",
    "columns.values": "the public keys: all of them are in every answer; other values count as NULL",
    "columns.nullable": "whether NULL is a key of its own; false, if left out",
    "columns.unique": "whether no unit has one value in two rows: joined on it, rows do not multiply",
    "stream.by": "what a block is",
    "stream.column": "the time of a row",
    "stream.epsilon": "what may ever be spent on one block: its capacity",
    "stream.delta": "δ of the same; its part of the budget's, if left out",
    "stream.protects": "`row`, `unit-hour`, `unit-day`, `unit-week`, `unit-month`, or `unit`: all rows of a unit",
    "stream.most": "blocks that one protected unit has rows in; 1, if left out",
    "stream.buckets": "of units: blocks among which those that came with one refresh are divided",
    "analysts.epsilon": "what this analyst may spend, as one release of this ε",
    "analysts.share": "the same as a part of the budget",
    "server.pad_ms": "answers are given 1, 2, 4, 8, … times this after their charge; 0 gives them at once; 100, if left out",
    "server.time_limit": "seconds after which a query is given up; 60, if left out",
    "server.requests_per_minute": "of one token; 600, if left out",
    "statement.curator": "who answers for the data",
    "statement.purpose": "what it is for",
    "statement.rationale": "why so much may be spent",
    "statement.collection": "how the data was collected",
    "statement.contact": "whom to ask",
    "retention": "how long texts of questions and cached answers stay; for good, if left out ([erasing](../guide/45-erasing.md))",
    "retention.questions": "of texts of questions; their charges stay",
    "retention.answers": "of cached answers; what they cost stays spent",
    "ledger.url": "the database; a password is never in it",
    "ledger.schema": "the schema; `discreet`, if left out",
}
"""What every key means, by section and key."""


def page() -> str:
    parts = [HEAD]
    for prefix, (title, keys) in SECTIONS.items():
        rows = [
            [cell(key), _form(field), _meaning(key_of(prefix, key)), "needed" if field.needed else ""]
            for key, field in keys.items()
        ]
        parts.append(f"## {cell(title) if prefix else title}\n\n" + table(["key", "is", "says", ""], rows))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _form(field: Field) -> str:
    assert field.rule in FORMS, f"say in {__file__} what {field.rule} accepts"
    return FORMS[field.rule]


def _meaning(key: str) -> str:
    assert key in MEANINGS, f"say in {__file__} what {key} means"
    return MEANINGS[key]


def keys() -> list[str]:
    return [key_of(prefix, key) for prefix, (_, section) in SECTIONS.items() for key in section]


def key_of(prefix: str, key: str) -> str:
    return f"{prefix}.{key}" if prefix else key
