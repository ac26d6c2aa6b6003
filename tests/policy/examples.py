"""Policies to test with, and a writer of TOML to change them with."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from discreet.policy import Policy, PolicyError, parse

FILE = Path("/srv/data/hospital.toml")
HEAD = 'budget.epsilon = 1\nunit.name = "person"\n'
COLUMN_KEYS = "type, min, max, step, values, nullable, unique"
NO_TEXT = "must be a text of at least one character, without control characters"
SMALLEST = "write the smallest difference that matters, such as 0.01"

HOSPITAL = """\
name = "hospital"
[budget]
epsilon = 3.0
delta = 1e-6                      # leave out for pure ε

[unit]
name = "patient"

[tables.patients]
source = "patients.parquet"       # csv, parquet, a DuckDB file, or a table in PostgreSQL / Spark
unit = "patient_id"               # the column that names the protected unit; "row" if every row is its own
[tables.patients.columns]         # only declared columns exist for analysts
age  = { min = 0, max = 110 }
sex  = { values = ["F", "M"] }    # public keys; `nullable = true` adds NULL as a key
ward = { values = ["A", "B", "C", "ICU"] }
zip  = { type = "text" }          # private keys: found by key selection, never listed

[tables.visits]
source = "visits.parquet"
unit = "patient_id"               # or through a foreign key: "account_id -> accounts.customer_id"
max_rows = 20                     # at most 20 rows of one unit are ever read; default 1, always enforced by the rank
max_groups = 5                    # and at most 5 groups in a GROUP BY, unless the query says fewer; default max_rows
[tables.visits.columns]
day  = { type = "date", min = 2024-01-01, max = 2026-12-31 }
cost = { min = 0, max = 5000, step = 0.01 }

[tables.wards]
source = "wards.csv"
public = true

[analysts.epidemiology]
epsilon = 1.0                     # a share; all shares together are still capped by the budget
"""
"""The example of the design, word for word."""

BANK = """\
name = "bank"
state = "../state/bank"
max_cost = 0.25
[budget]
epsilon = 2
delta = 1e-9
[unit]
name = "customer"

[tables.accounts]
source = "bank.duckdb"
table = "main.accounts"
unit = "customer_id"
max_rows = 4
max_groups = 3
max_rows_per_group = 2
[tables.accounts.columns]
branch = { type = "integer", values = [1, 2, 30] }
opened = { values = [2024-01-01, 2025-01-01], nullable = true }
vip = { type = "boolean", values = [true, false] }

[tables.orders]
source = "orders/2024-*.csv.gz"
unit = "account_id -> accounts.customer_id"
copy = true
max_rows = 50
[tables.orders.columns]
amount = { type = "decimal", min = -1000.5, max = 1e6, step = 0.25 }
pieces = { type = "integer", min = 1, max = 99, step = 1 }
"paid at" = { min = 2024-01-01T00:00:00, max = 2025-01-01T00:00:00.5 }
gift = { type = "boolean", nullable = true }

[tables.items]
source = "items.data"
format = "parquet"
unit = "order_no -> orders(id).account_id -> accounts.customer_id"
max_rows = 100
[tables.items.columns]
colour = { type = "text", values = ["", "rosé", "blau"] }
weight = { type = "float", step = 0.5 }

[tables.logins]
source = "bank.db#logins"
unit = "row"
[tables.logins.columns]
hour = { type = "integer", min = 0, max = 23 }

[tables.branches]
source = "branches.tsv"
public = true
[tables.branches.columns]
branch = { type = "integer", min = 0, max = 100 }

[analysts.fraud]
epsilon = 2
[analysts."Zoë M."]
epsilon = 0.5
"""
"""Every key of the format at least once."""


def problems_of(text: str) -> list[str]:
    """What is wrong with the policy, one line each."""
    try:
        parse(text.encode(), FILE)
    except PolicyError as wrong:
        return [str(problem) for problem in wrong.problems]
    return []


def policy_of(text: str) -> Policy:
    return parse(text.encode(), FILE)


def toml(value: dict[str, Any]) -> str:
    """The document as TOML; it may be nonsense, like the value."""
    return "".join(f"{_text(key)} = {_written(item)}\n" for key, item in value.items())


def _written(value: object) -> str:
    match value:
        case bool() | float():
            return str(value).lower()
        case str():
            return _text(value)
        case datetime() | date() | time():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(_written, value))}]"
        case dict():
            return "{" + ", ".join(f"{_text(key)} = {_written(item)}" for key, item in value.items()) + "}"
        case _:
            return str(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
