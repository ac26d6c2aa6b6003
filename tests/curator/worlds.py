"""A small hospital on disk that has nothing wrong with it, and ways to spoil it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.policy import Policy, read
from tests.plain import plain

SOURCES = {
    "patients.parquet": """
        SELECT i AS patient_id, 20 + i % 60 AS age, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
            (1000 + i % 7)::VARCHAR AS zip, DATE '1990-01-01' + (i % 300)::INTEGER AS born, i % 3 = 0 AS vip
        FROM range(100) AS t(i)
    """,
    "visits.parquet": "SELECT i AS visit_id, i % 90 AS patient_id, 1.5 * (i % 40) AS cost FROM range(250) AS t(i)",
    "payments.parquet": """
        SELECT i AS payment_id, i % 250 AS visit_id, 5 + i % 20 AS amount, TIMESTAMP '2025-03-01 12:00:00' AS paid
        FROM range(260) AS t(i)
    """,
    "wards.csv": "SELECT * FROM (VALUES ('A', 10), ('B', 20)) AS t(ward, beds)",
}
POLICY = """\
name = "hospital"
[budget]
epsilon = 3.0
delta = 1e-6
[unit]
name = "patient"

[tables.patients]
source = "patients.parquet"
unit = "patient_id"
[tables.patients.columns]
age = { type = "integer", min = 0, max = 110 }
sex = { values = ["F", "M"] }
zip = { type = "text" }
born = { type = "date", min = 1900-01-01, max = 2030-01-01 }
vip = { type = "boolean" }

[tables.visits]
source = "visits.parquet"
unit = "patient_id"
max_rows = 3
[tables.visits.columns]
cost = { min = 0, max = 5000, step = 0.01 }

[tables.payments]
source = "payments.parquet"
unit = "visit_id -> visits.patient_id"
max_rows = 6
[tables.payments.columns]
amount = { type = "integer", min = 0, max = 100 }
paid = { type = "timestamp", min = 2020-01-01T00:00:00, max = 2030-01-01T00:00:00 }

[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { values = ["A", "B"] }
beds = { type = "integer" }

[analysts.epidemiology]
epsilon = 1.0
[analysts.fraud]
epsilon = 2.0
"""
FORMATS = {".parquet": "(FORMAT parquet)", ".csv": "(FORMAT csv, HEADER)"}


@cache
def _written(ending: str, query: str) -> bytes:
    with TemporaryDirectory() as folder, plain() as connection:
        path = Path(folder) / f"source{ending}"
        connection.execute(f"COPY ({query}) TO '{path}' {FORMATS[ending]}")
        return path.read_bytes()


def write_source(path: Path, query: str) -> None:
    path.write_bytes(_written(path.suffix, query))


def hospital(folder: Path, changes: dict[str, str] | None = None, sources: dict[str, str] | None = None) -> Policy:
    """The hospital in this folder, with parts of its policy replaced and sources written differently."""
    for file, query in {**SOURCES, **(sources or {})}.items():
        write_source(folder / file, query)
    text = POLICY
    for old, new in (changes or {}).items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "hospital.toml"
    path.write_text(text, encoding="utf-8")
    return read(path)
