"""Small mistakes, at least one for each lint, and what should be said about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.policy import Severity
from tests.curator.worlds import SOURCES

ERROR, WARNING, NOTE = Severity


ROWS_ALONE = {
    'source = "visits.parquet"\nunit = "patient_id"\nmax_rows = 3': 'source = "visits.parquet"\nunit = "row"',
    'unit = "visit_id -> visits.patient_id"\nmax_rows = 6': 'unit = "row"',
}
"""Every visit and every payment its own unit."""


@dataclass(frozen=True)
class Example:
    """A mistake, and what is said about it."""

    severity: Severity
    where: str
    says: str
    changes: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    after: Callable[[Path], object] = lambda folder: folder


def with_column(file: str, column: str, new: str) -> dict[str, str]:
    """The source with one column written differently."""
    return {file: f"SELECT * REPLACE ({new} AS {column}) FROM ({SOURCES[file]})"}


EXAMPLES: dict[str, list[Example]] = {
    "open_state": [
        Example(ERROR, "state", "others may enter", after=lambda folder: (folder / "hospital.discreet").mkdir(0o755))
    ],
    "share_sums": [
        Example(
            NOTE,
            "analysts",
            "add up to 4, the budget is 3",
            {"[analysts.fraud]\nepsilon = 2": "[analysts.fraud]\nepsilon = 3"},
        )
    ],
    "writable_sources": [
        Example(NOTE, "tables.wards.source", "anybody", after=lambda folder: (folder / "wards.csv").chmod(0o646))
    ],
    "public_units": [
        Example(
            WARNING,
            "tables.wards.public",
            "column 'PATIENT_ID'",
            sources={"wards.csv": "SELECT 'A' AS ward, 10 AS beds, 7 AS PATIENT_ID"},
        )
    ],
    "missing_columns": [
        Example(
            ERROR,
            "tables.patients.columns.agee",
            "did you mean 'age'? allowed: patient_id, age",
            {"age = {": "agee = {"},
        ),
        Example(ERROR, "tables.wards.columns.quux", "allowed: ward, beds", {"beds = {": "quux = {"}),
    ],
    "missing_unit_columns": [
        Example(
            ERROR,
            "tables.visits.unit",
            "'patient_id'; did you mean 'patientid'?",
            sources={"visits.parquet": "SELECT 1 AS visit_id, 2 AS patientid, 3 AS cost"},
        ),
        Example(
            ERROR,
            "tables.payments.unit",
            "the source of payments has no column 'visit_id'",
            sources={"payments.parquet": "SELECT 1 AS visit, 5 AS amount, TIMESTAMP '2025-01-01' AS paid"},
        ),
        Example(
            ERROR,
            "tables.payments.unit",
            "the source of visits has no column 'number'",
            {"visit_id -> visits.patient_id": "visit_id -> visits(number).patient_id"},
        ),
    ],
    "unlike_units": [
        Example(
            WARNING,
            "tables.visits.unit",
            "visits.patient_id is VARCHAR, patients.patient_id is BIGINT",
            sources=with_column("visits.parquet", "patient_id", "patient_id::VARCHAR"),
        )
    ],
    "unlike_keys": [
        Example(
            WARNING,
            "tables.payments.unit",
            "payments.visit_id is VARCHAR, visits.visit_id is BIGINT",
            sources=with_column("payments.parquet", "visit_id", "visit_id::VARCHAR"),
        )
    ],
    "repeated_keys": [
        Example(
            WARNING,
            "tables.payments.unit",
            "1 claim of a key that another unit claims too",
            sources=with_column("visits.parquet", "visit_id", "visit_id % 249"),
        )
    ],
    "shared_files": [
        Example(
            ERROR,
            "tables.wards.source",
            "it reads a file of visits, which is private",
            {'source = "wards.csv"': 'source = "vi*s.parquet"'},
        )
    ],
    "unreadable_files": [
        Example(
            ERROR,
            "tables.visits.source",
            "visits-2.parquet is never read",
            {'source = "visits.parquet"': 'source = "visits*.parquet"'},
            after=lambda folder: (folder / "visits-2.parquet").write_bytes(b"PAR1 of another kind"),
        )
    ],
    "dropped_records": [
        Example(
            WARNING,
            "tables.wards.source",
            "3 records of 4",
            {'source = "wards.csv"\npublic = true': 'source = "wards.csv"\nunit = "ward"'},
            after=lambda folder: (folder / "wards.csv").write_bytes(b'ward,beds\nA,1\nB\n"C,3\n\xff,4\n'),
        )
    ],
    "long_records": [
        Example(
            NOTE,
            "tables.wards.source",
            "1 record of several lines",
            {'source = "wards.csv"\npublic = true': 'source = "wards.csv"\nunit = "ward"'},
            after=lambda folder: (folder / "wards.csv").write_bytes(b'ward,beds\nA,1\n"B\nb",2\n'),
        )
    ],
    "dangling_keys": [
        Example(
            WARNING,
            "tables.payments.unit",
            "10 of 260 rows: the key leads to nobody",
            sources=with_column("payments.parquet", "visit_id", "payment_id"),
        )
    ],
    "ownerless_rows": [
        Example(
            WARNING,
            "tables.visits.unit",
            "25 of 250 rows: the unit is NULL",
            sources=with_column("visits.parquet", "patient_id", "CASE WHEN visit_id % 10 > 0 THEN patient_id END"),
        ),
        Example(
            WARNING,
            "tables.payments.unit",
            "1 of 260 rows: the unit is NULL",
            sources=with_column("payments.parquet", "visit_id", "nullif(payment_id, 0) % 250"),
        ),
    ],
    "empty_tables": [
        Example(
            NOTE, "tables.visits.source", "no rows", sources={"visits.parquet": f"{SOURCES['visits.parquet']} LIMIT 0"}
        )
    ],
    "single_rows": [
        Example(
            NOTE,
            "tables.visits.max_rows",
            "every unit has one row, and 3 are allowed",
            sources=with_column("visits.parquet", "patient_id", "visit_id"),
        )
    ],
    "narrow_joins": [
        Example(
            NOTE,
            "unit.max_rows",
            "joined with itself, visits takes 2 of the 3 rows that are read of one patient",
            {'name = "patient"': 'name = "patient"\nmax_rows = 8'},
        )
    ],
    "repeated_identifiers": [
        Example(
            NOTE,
            "tables.visits.unit",
            "the same 'patient_id' stands in several",
            ROWS_ALONE,
        )
    ],
    "cut_rows": [
        Example(
            NOTE,
            "tables.visits.max_rows",
            "70 of 250 rows (28.0%) are never read",
            {"max_rows = 3": "max_rows = 2"},
        ),
        Example(
            WARNING,
            "tables.visits.max_rows",
            "answers tell more of the limit than of the data",
            {"max_rows = 3": "max_rows = 1"},
            with_column("visits.parquet", "patient_id", "patient_id % 4"),
        ),
    ],
    "streams": [
        Example(
            NOTE,
            "tables.patients.stream",
            "each patient is protected with all rows in patients",
            {
                "[tables.visits]": '[tables.patients.stream]\nby = "unit"\ncolumn = "born"\nepsilon = 1.0\n'
                "[tables.visits]"
            },
        )
    ],
    "large_delta": [Example(WARNING, "budget.delta", "(number of units, 100)", {"1e-6": "0.011"})],
    "uncastable": [
        Example(
            WARNING,
            "tables.visits.columns.cost",
            "25 of 250 values (10.0%): not of type number",
            sources=with_column("visits.parquet", "cost", "CASE WHEN visit_id % 10 > 0 THEN '1' ELSE 'much' END"),
        ),
        Example(
            ERROR,
            "tables.patients.columns.born",
            "100 of 100 values (100.0%): not of type date",
            sources=with_column("patients.parquet", "born", "42"),
        ),
    ],
    "fractional": [
        Example(
            WARNING,
            "tables.payments.columns.amount",
            "13 of 260 values: not whole",
            sources=with_column("payments.parquet", "amount", "CASE WHEN amount = 5 THEN 5.5 ELSE amount END"),
        )
    ],
    "infinite": [
        Example(
            WARNING,
            "tables.visits.columns.cost",
            "6 of 250 values: NaN",
            sources=with_column(
                "visits.parquet", "cost", "CASE visit_id % 100 WHEN 0 THEN 'nan' WHEN 1 THEN 'inf' ELSE '1' END::DOUBLE"
            ),
        ),
        Example(
            WARNING,
            "tables.patients.columns.born",
            "100 of 100 values: infinite",
            sources=with_column("patients.parquet", "born", "DATE 'infinity'"),
        ),
    ],
    "unbounded": [
        Example(
            NOTE,
            "tables.visits.columns.cost",
            "has no bounds",
            {"{ min = 0, max = 5000, step = 0.01 }": '{ type = "number" }'},
        ),
        Example(NOTE, "tables.patients.columns.born", "has no bounds", {", min = 1900-01-01, max = 2030-01-01": ""}),
    ],
    "tight_bounds": [
        Example(
            WARNING, "tables.patients.columns.age", "what two rows hold", {"min = 0, max = 110": "min = 20, max = 79"}
        ),
        Example(WARNING, "tables.visits.columns.cost", "what two rows hold", {"max = 5000": "max = 58.5"}),
        Example(
            WARNING,
            "tables.patients.columns.born",
            "what two rows hold",
            {"min = 1900-01-01, max = 2030-01-01": "min = 1990-01-01, max = 1990-04-10"},
        ),
    ],
    "outside_bounds": [
        Example(
            NOTE,
            "tables.patients.columns.age",
            "10 of 100 values: outside",
            {"min = 0, max = 110": "min = 20, max = 69"},
        ),
        Example(
            WARNING,
            "tables.payments.columns.paid",
            "260 of 260 values: outside",
            {"2020-01-01T00:00:00": "2029-01-01T00:00:00"},
        ),
    ],
    "undeclared_values": [
        Example(WARNING, "tables.patients.columns.sex", "50 of 100 values: not declared", {'["F", "M"]': '["F"]'})
    ],
    "undeclared_nulls": [
        Example(
            NOTE,
            "tables.patients.columns.sex",
            "50 rows: NULL",
            {'["F", "M"]': '["F"]'},
            sources=with_column("patients.parquet", "sex", "nullif(sex, 'M')"),
        )
    ],
    "unseen_values": [
        Example(
            NOTE,
            "tables.patients.columns.sex",
            "1 value declared and never found: 'X'",
            {'["F", "M"]': '["F", "M", "X"]'},
        ),
        Example(
            NOTE,
            "tables.wards.columns.ward",
            "6 values declared and never found: 'C', 'D', 'E', 'F', 'G', …",
            {'["A", "B"]': '["A", "B", "C", "D", "E", "F", "G", "H"]'},
        ),
    ],
    "unreadable_sources": [
        Example(ERROR, "tables.wards.source", "there is no file", after=lambda folder: (folder / "wards.csv").unlink()),
        Example(
            ERROR, "tables.visits.source", "magic bytes", after=lambda f: (f / "visits.parquet").write_bytes(b"?" * 99)
        ),
        Example(ERROR, "tables.wards.source", "is a folder", {'source = "wards.csv"': 'source = "."\nformat = "csv"'}),
        Example(
            ERROR,
            "tables.wards.source",
            "see that the file is what the policy says",
            {'source = "wards.csv"': 'source = "wards.csv"\nformat = "duckdb"\ntable = "wards"'},
        ),
    ],
}
