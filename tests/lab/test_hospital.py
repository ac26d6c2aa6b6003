"""The invented hospital: alike every time, shaped like one, and with a policy that nothing is wrong with."""

from __future__ import annotations

import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from discreet.lab.hospital import CODES, PATIENTS, WARDS, build, text
from discreet.owner.check import check
from discreet.policy import read

FILES = {"patients.parquet", "visits.parquet", "wards.csv", "hospital.toml"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("lab")).parent


def rows(folder: Path, query: str) -> list[Any]:
    tables = {table: f"'{folder / table}.parquet'" for table in ("patients", "visits")}
    with duckdb.connect() as connection:
        return connection.execute(query.format(**tables)).fetchall()


def row(folder: Path, query: str) -> Any:
    (found,) = rows(folder, query)
    return found


def test_the_files_are_there_and_their_owners_alone(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())


def test_every_hospital_is_the_same(folder: Path, tmp_path: Path) -> None:
    again = build(tmp_path / "it's another").parent
    assert all((again / name).read_bytes() == (folder / name).read_bytes() for name in FILES)


def test_the_rows_are_those_of_every_machine(folder: Path) -> None:
    """Figures, and not a hash of files: another DuckDB may write other bytes."""
    assert row(folder, "SELECT count(*), sum(age), sum(blood_pressure), count(smoker) FROM {patients}") == (
        5000, 274814, 567804, 4808,
    )  # fmt: skip
    assert row(folder, "SELECT count(*), count(cost), sum(cost)::VARCHAR, sum(nights) FROM {visits}") == (
        19427, 19222, "9460509.88", 12035,
    )  # fmt: skip


def test_building_twice_changes_nothing(tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in build(tmp_path).parent.iterdir()}
    assert {path.name: path.read_bytes() for path in build(tmp_path).parent.iterdir()} == before


def test_check_finds_nothing(folder: Path) -> None:
    assert check(read(folder / "hospital.toml")) == ()


def test_the_policy_says_what_the_story_needs(folder: Path) -> None:
    policy = read(folder / "hospital.toml")
    assert (folder / "hospital.toml").read_text(encoding="utf-8") == text()
    assert (policy.name, policy.unit) == ("hospital", "patient")
    assert (float(policy.budget.epsilon), float(policy.budget.delta or 0)) == (3.0, 1e-6)
    assert policy.analysts == {"epidemiology": Fraction(1), "finance": Fraction(1, 2)}
    assert policy.tables["patients"].max_rows == 1
    assert (policy.tables["visits"].max_rows, policy.tables["visits"].max_groups) == (20, 5)
    assert policy.tables["wards"].is_public
    assert policy.tables["patients"].columns["ward"].values == tuple(WARDS)
    assert policy.tables["visits"].columns["code"].values == tuple(CODES)


@pytest.mark.parametrize("bounded", ["patients.age", "patients.blood_pressure", "visits.cost", "visits.nights"])
def test_no_bound_is_an_extreme_of_the_data(folder: Path, bounded: str) -> None:
    """But for the 0 below which nobody is: an upper bound that is met would tell of somebody."""
    table, _, column = bounded.partition(".")
    low, high = read(folder / "hospital.toml").tables[table].columns[column].bounds or (0, 0)
    least, most = row(folder, f"SELECT min({column}), max({column}) FROM {{{table}}}")
    assert low <= least
    assert most < high
    assert low == 0 or low < least


def test_days_lie_inside_of_their_bounds(folder: Path) -> None:
    low, high = read(folder / "hospital.toml").tables["visits"].columns["day"].bounds or (None, None)
    least, most = row(folder, "SELECT min(day), max(day) FROM {visits}")
    assert low < least < most < high


def test_patients_are_old_and_wards_fit_them(folder: Path) -> None:
    assert row(folder, "SELECT count(*), count(DISTINCT patient_id) FROM {patients}") == (PATIENTS, PATIENTS)
    mean, median = row(folder, "SELECT avg(age), median(age) FROM {patients}")
    assert 50 < mean < median
    assert rows(folder, "SELECT 1 FROM {patients} WHERE ward = 'maternity' AND (sex = 'M' OR age >= 45)") == []
    assert rows(folder, "SELECT 1 FROM {patients} WHERE ward = 'paediatrics' AND age >= 15") == []
    assert rows(folder, "SELECT 1 FROM {patients} WHERE smoker AND age < 16") == []
    assert len(rows(folder, "SELECT ward FROM {patients} GROUP BY ward HAVING count(*) > 100")) == len(WARDS)


def test_pressure_rises_with_age(folder: Path) -> None:
    assert row(folder, "SELECT corr(age, blood_pressure) FROM {patients}")[0] > 0.4


def test_some_zips_are_common_and_some_nearly_a_name(folder: Path) -> None:
    counts = [
        count for (count,) in rows(folder, "SELECT count(zip) FROM {patients} GROUP BY zip HAVING zip > '' ORDER BY 1")
    ]
    assert counts[0] < 5
    assert counts[-1] > 1000
    assert rows(folder, "SELECT 1 FROM {patients} WHERE NOT regexp_full_match(zip, '02[0-9]{{3}}')") == []


def test_some_things_are_unknown(folder: Path) -> None:
    unknown = (
        "count(*) FILTER (zip IS NULL), count(*) FILTER (smoker IS NULL), count(*) FILTER (blood_pressure IS NULL)"
    )
    assert all(10 < count < 500 for count in row(folder, f"SELECT {unknown} FROM {{patients}}"))
    assert 50 < row(folder, "SELECT count(*) FILTER (cost IS NULL) FROM {visits}")[0] < 500


def test_most_come_seldom_and_few_very_often(folder: Path) -> None:
    often = "SELECT count(*) AS n FROM {visits} GROUP BY patient_id"
    most, share = row(folder, f"SELECT max(n), count(*) FILTER (n > 20) / count(*) FROM ({often})")
    assert 35 <= most <= 41
    assert 0 < share < 0.01
    assert row(folder, "SELECT count(*) FROM {visits} WHERE patient_id NOT IN (SELECT patient_id FROM {patients})") == (
        0,
    )


def test_costs_are_skewed_in_cents_and_follow_the_code(folder: Path) -> None:
    mean, median, kind = row(folder, "SELECT avg(cost), median(cost), any_value(typeof(cost)) FROM {visits}")
    assert mean > 2 * float(median)
    assert kind == "DECIMAL(9,2)"
    by_code = dict(rows(folder, "SELECT code, avg(cost) FROM {visits} GROUP BY code"))
    assert by_code["INTENSIVE"] > by_code["BIRTH"] > by_code["IMAGING"] > by_code["LAB"]
    assert by_code.keys() == CODES.keys()


def test_winter_is_busy_and_weekends_are_not(folder: Path) -> None:
    by_month = dict(rows(folder, "SELECT month(day), count(*) FROM {visits} WHERE year(day) = 2025 GROUP BY 1"))
    assert by_month[1] > 1.3 * by_month[7]
    weekend, week = row(
        folder, "SELECT count(*) FILTER (isodow(day) > 5) / 2, count(*) FILTER (isodow(day) < 6) / 5 FROM {visits}"
    )
    assert weekend < 0.6 * week


def test_visits_are_numbered_in_the_order_of_their_days(folder: Path) -> None:
    disorder = "SELECT day < lag(day) OVER (ORDER BY visit_id) AS back FROM {visits}"
    assert row(folder, f"SELECT count(*) FILTER (back) FROM ({disorder})") == (0,)
