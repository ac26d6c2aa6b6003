"""An invented hospital, the same every time: 5,000 patients, 20,000 visits and the policy that protects them.

Nobody in it exists. Every number is drawn from a hash of what it is for, and shaped by the quantiles written here, so
that the files are alike on every machine and nothing in them is secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.engines.connection import connect
from discreet.lab.invented import Floats, Integers, chosen, uniform

POLICY: Final = "hospital.toml"
PATIENTS: Final = 5_000
FIRST_DAY: Final = date(2024, 1, 8)
"""When the records begin."""
LAST_DAY: Final = date(2026, 12, 20)
"""When they were exported. Neither day is a bound in the policy: those are round, and known without looking."""

WARDS: Final = {
    "cardiology": ("Cardiology", 48),
    "ICU": ("Intensive Care Unit", 16),
    "internal": ("Internal Medicine", 90),
    "maternity": ("Maternity and Birth", 30),
    "oncology": ("Oncology", 36),
    "paediatrics": ("Children and Adolescents", 28),
    "surgery": ("General and Trauma Surgery", 64),
}
"""The wards, each with its name and its beds."""

WARDS_BY_AGE: Final = {
    #    cardiology, ICU, internal, maternity, oncology, paediatrics, surgery
    15: (0, 3, 0, 0, 2, 90, 5),
    45: (6, 3, 25, 34, 5, 0, 27),
    65: (20, 5, 30, 0, 17, 0, 28),
    120: (28, 7, 34, 0, 13, 0, 18),
}
"""How likely each ward is, below an age."""
MATERNITY: Final = list(WARDS).index("maternity")

CODES: Final = {
    #  usual cost, then how likely in each ward: cardiology, ICU, internal, maternity, oncology, paediatrics, surgery
    "BIRTH": (1450, (0, 0, 0, 30, 0, 0, 0)),
    "CHEMO": (1250, (0, 0, 0, 0, 45, 3, 0)),
    "CONSULT": (95, (40, 0, 45, 45, 25, 60, 35)),
    "DIALYSIS": (380, (0, 10, 12, 0, 0, 0, 0)),
    "IMAGING": (290, (30, 10, 18, 15, 20, 12, 20)),
    "INTENSIVE": (1900, (2, 70, 0, 0, 0, 0, 2)),
    "LAB": (55, (20, 10, 25, 10, 10, 20, 8)),
    "SURGERY": (1800, (8, 0, 0, 0, 0, 5, 35)),
}
"""What is billed."""
NIGHTS: Final = {
    "BIRTH": (1, 2, 3, 4, 7),
    "CHEMO": (0, 0, 1, 1, 3),
    "INTENSIVE": (1, 3, 5, 9, 26),
    "SURGERY": (0, 2, 3, 6, 19),
}
"""Quantiles of nights (at 0, 30, 60, 90 and 100 %) where patients stay."""

ZIPS: Final = tuple(f"02{number}" for number in (*range(108, 122), *range(124, 137), *range(138, 146), 163, 199))
"""Near ones first: with a leading zero, as texts have it and numbers do not."""

TEXT: Final = """\
# What may be asked of this hospital, and how much of its privacy may ever be spent.
name = "hospital"

[budget]
epsilon = 3.0                     # all answers to everybody together, for ever
delta = 1e-6                      # leave it out for pure ε

[unit]
name = "patient"                  # whom every answer protects, with all their rows

[tables.patients]
source = "patients.parquet"
unit = "patient_id"               # one row of each: max_rows is 1 by default
[tables.patients.columns]         # only declared columns exist for analysts
age = { type = "integer", min = 0, max = 110 }  # of anybody, not of this data
sex = { values = ["F", "M"] }     # public keys: all are in every answer
ward = { values = [@WARDS@] }
zip = { type = "text" }           # private keys: never listed
blood_pressure = { type = "integer", min = 60, max = 250 }
smoker = { type = "boolean" }

[tables.visits]
source = "visits.parquet"
unit = "patient_id"
max_rows = 20                     # of one patient, at most 20 visits are ever read
max_groups = 5                    # and they count in at most 5 groups
[tables.visits.columns]
day = { type = "date", min = 2024-01-01, max = 2026-12-31 }
ward = { values = [@WARDS@] }
code = { values = [@CODES@] }
cost = { min = 0, max = 5000, step = 0.01 }
nights = { type = "integer", min = 0, max = 30 }

[tables.wards]
source = "wards.csv"
public = true                     # nothing about patients: anybody may know it

[analysts.epidemiology]
epsilon = 1.0                     # a share; all shares together stay below the budget
[analysts.finance]
epsilon = 0.5
"""


def build(folder: Path) -> Path:
    """Write the hospital's files into a folder; where its policy is.

    The policy comes last: where it is, everything is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with connect(threads=1) as connection:  # several would write rows in any order
        patients = _patients()
        _write(connection, folder / "patients.parquet", patients)
        _write(connection, folder / "visits.parquet", _visits(patients))
    wards = (f"{ward},{name},{beds}\n" for ward, (name, beds) in WARDS.items())
    _write_text(folder / "wards.csv", "ward,name,beds\n" + "".join(wards))
    _write_text(folder / POLICY, text())
    return folder / POLICY


def text() -> str:
    """The policy file."""
    return TEXT.replace("@WARDS@", _quoted(WARDS)).replace("@CODES@", _quoted(CODES))


def _patients() -> dict[str, tuple[str, Sequence[Any]]]:
    """Each column with its type in DuckDB."""
    age = _spread("age", PATIENTS, {0: 0, 8: 9, 18: 27, 35: 48, 55: 64, 75: 76, 92: 87, 99.5: 97, 100: 104}).astype(
        np.int64
    )
    female = _uniform("sex", PATIENTS) < np.where(age >= 75, 0.58, 0.51)
    weights = _ward_weights(age, female)
    smokes = np.select([age < 16, age < 65], [0.0, 0.26], 0.12)
    pressure = 96 + 0.42 * np.maximum(age, 12) + _spread("pressure", PATIENTS, {0: -38, 15: -14, 85: 15, 100: 62})
    return {
        "patient_id": ("INTEGER", _listed(100_001 + np.arange(PATIENTS))),
        "age": ("INTEGER", _listed(age)),
        "sex": ("VARCHAR", ["F" if is_female else "M" for is_female in female]),
        "ward": ("VARCHAR", _named(WARDS, _chosen("ward", weights))),
        "zip": ("VARCHAR", _gaps("zip", _named(ZIPS, _chosen("zip", _zip_weights())), 0.01)),
        "blood_pressure": ("INTEGER", _gaps("pressure", _listed(pressure.astype(np.int64)), 0.06)),
        "smoker": ("BOOLEAN", _gaps("smoker", _listed(_uniform("smoker", PATIENTS) < smokes), 0.04)),
    }


def _visits(patients: Mapping[str, tuple[str, Sequence[Any]]]) -> dict[str, tuple[str, Sequence[Any]]]:
    """Visits of these patients in the order of their days: most have a few, a few have very many."""
    often = {0: 0, 4: 1, 25: 2, 50: 3.2, 75: 5, 90: 8.5, 98: 15, 99.3: 20, 100: 41}
    owner = np.repeat(np.arange(PATIENTS), _spread("visits", PATIENTS, often).astype(np.int64))
    visits = len(owner)
    day = _days(visits)
    order = np.argsort(day, kind="stable")
    owner, day = owner[order], day[order]

    age = np.array(patients["age"][1])[owner]
    female = (np.array(patients["sex"][1]) == "F")[owner]
    indices = {ward: index for index, ward in enumerate(WARDS)}
    home = np.array([indices[ward] for ward in patients["ward"][1]])[owner]
    elsewhere = _chosen("visited", _ward_weights(age, female))
    ward = np.where(_uniform("stays", visits) < 0.7, home, elsewhere)
    code = _chosen("code", np.array([likely for _, likely in CODES.values()], dtype=np.float64).T[ward])
    nights = _nights(code)
    cents = np.floor(100 * _costs(code, nights)).astype(np.int64)
    return {
        "visit_id": ("INTEGER", _listed(1 + np.arange(visits))),
        "patient_id": ("INTEGER", _listed(100_001 + owner)),
        "day": ("DATE", [FIRST_DAY + timedelta(days=int(days)) for days in day]),
        "ward": ("VARCHAR", _named(WARDS, ward)),
        "code": ("VARCHAR", _named(CODES, code)),
        "cost": ("DECIMAL(9, 2)", _gaps("cost", [f"{amount / 100:.2f}" for amount in _listed(cents)], 0.01)),
        "nights": ("INTEGER", _listed(nights)),
    }


def _ward_weights(age: Integers, female: NDArray[np.bool_]) -> Floats:
    """How likely each ward is for each patient."""
    table = np.array(list(WARDS_BY_AGE.values()), dtype=np.float64)
    weights = table[np.searchsorted(list(WARDS_BY_AGE), age, side="right")]
    weights[~female, MATERNITY] = 0
    return weights


def _zip_weights() -> Floats:
    """Most patients live near; of some places there is hardly anybody."""
    return np.tile(1 / (6.0 + np.arange(len(ZIPS))) ** 3, (PATIENTS, 1))


def _days(visits: int) -> Integers:
    """Days after the first: more in winter, few on weekends, a little more every year."""
    season = (0, 1.3, 1.25, 1.1, 1.0, 0.95, 0.9, 0.8, 0.8, 0.95, 1.0, 1.1, 1.2)
    calendar = [FIRST_DAY + timedelta(days=days) for days in range((LAST_DAY - FIRST_DAY).days + 1)]
    busy = [
        season[day.month] * (0.45 if day.weekday() >= 5 else 1) * (1 + 0.06 * (day.year - FIRST_DAY.year))
        for day in calendar
    ]
    shares = np.cumsum(busy) / np.sum(busy)
    return np.minimum(np.searchsorted(shares, _uniform("day", visits)), len(calendar) - 1)


def _nights(code: Integers) -> Integers:
    shares = _uniform("nights", len(code))
    nights = np.zeros(len(code), dtype=np.int64)
    for index, name in enumerate(CODES):
        if name in NIGHTS:
            stays = code == index
            nights[stays] = np.interp(shares[stays], (0, 0.3, 0.6, 0.9, 1), NIGHTS[name]).astype(np.int64)
    return nights


def _costs(code: Integers, nights: Integers) -> Floats:
    """The code's usual cost times a skewed factor, and more for each night."""
    usual = np.array([cost for cost, _ in CODES.values()], dtype=np.float64)[code]
    factor = _spread("cost", len(code), {0: 0.35, 10: 0.6, 30: 0.8, 50: 1, 70: 1.2, 90: 1.55, 99: 1.85, 100: 2.1})
    return usual * factor + 22 * nights


def _uniform(purpose: str, count: int) -> Floats:
    """Numbers above 0 and below 1 that depend on nothing but what they are for."""
    return uniform(f"discreet.lab.hospital {purpose}", count)


def _spread(purpose: str, count: int, quantiles: Mapping[float, float]) -> Floats:
    """Numbers whose quantiles (in percent) are these, and straight in between."""
    return np.interp(_uniform(purpose, count), np.array(list(quantiles)) / 100, list(quantiles.values()))


def _chosen(purpose: str, weights: Floats) -> Integers:
    return chosen(f"discreet.lab.hospital {purpose}", weights)


def _gaps(purpose: str, values: Sequence[Any], share: float) -> list[Any]:
    """The values, a share of them unknown."""
    lost = _uniform(f"{purpose} unknown", len(values)) < share
    return [None if is_lost else value for value, is_lost in zip(values, lost, strict=True)]


def _named(names: Mapping[str, object] | Sequence[str], indices: Integers) -> list[str]:
    known = list(names)
    return [known[index] for index in indices]


def _listed(values: NDArray[Any]) -> list[Any]:
    listed: list[Any] = values.tolist()
    return listed


def _quoted(names: Mapping[str, object]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _write(connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, tuple[str, Sequence[Any]]]) -> None:
    unnested = ", ".join(
        f"unnest(${index}::{kind}[]) AS {name}" for index, (name, (kind, _)) in enumerate(columns.items(), start=1)
    )
    connection.execute(
        f"CREATE OR REPLACE TABLE written AS SELECT {unnested}", [values for _, values in columns.values()]
    )
    quoted = str(path).replace("'", "''")
    connection.execute(f"COPY written TO '{quoted}' (FORMAT parquet)")
    path.chmod(0o600)


def _write_text(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")
    path.chmod(0o600)
