"""Every lint speaks on a small example of its mistake, and is silent on a hospital without any."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from discreet.owner import unit_lints
from discreet.owner.check import LINTS, check, checked
from discreet.owner.inspection import inspected
from discreet.policy import Finding, Severity, fingerprint, read
from tests.curator.mistakes import ERROR, EXAMPLES, NOTE, ROWS_ALONE, WARNING, with_column
from tests.curator.worlds import SOURCES, hospital

CASES = [(name, place) for name, examples in EXAMPLES.items() for place in range(len(examples))]


@pytest.mark.parametrize(("name", "place"), CASES, ids=lambda part: str(part))
def test_a_lint_speaks_on_its_mistake(name: str, place: int, tmp_path: Path) -> None:
    example = EXAMPLES[name][place]
    policy = hospital(tmp_path, example.changes, example.sources)
    example.after(tmp_path)
    with inspected(policy) as inspection:
        found = {lint.__name__: list(lint(inspection)) for lint in LINTS}
    speaking = [finding for finding in found[name] if finding.where == example.where and example.says in str(finding)]
    assert [finding.severity for finding in speaking] == [example.severity], found
    assert speaking[0].fix


def test_every_lint_has_an_example() -> None:
    """Those of databases need a server: they are in tests/postgres."""
    databases = {"rights", "hidden_rows", "unchecked_servers"}
    assert {lint.__name__ for lint in LINTS} == {*EXAMPLES, "network_state", *databases}


def test_a_hospital_without_mistakes_has_no_findings(tmp_path: Path) -> None:
    assert check(hospital(tmp_path)) == ()


@pytest.mark.parametrize(("written", "severities"), [("7", []), ("007", [WARNING]), ("p7", [WARNING])])
def test_of_csv_counts_what_is_written_where_others_have_types(
    written: str, severities: list[Severity], tmp_path: Path
) -> None:
    """Else whoever has CSV beside Parquet is warned, whatever is in them."""
    (tmp_path / "visits.csv").write_text(f"patient,n\n{written},1\n8,2\n-1,3\n,4\n", encoding="utf-8")
    duckdb.sql(f"COPY (SELECT 7 AS patient, 1 AS age) TO '{tmp_path / 'patients.parquet'}'")
    (tmp_path / "clinic.toml").write_text(
        'name = "clinic"\nbudget = { epsilon = 1.0 }\nunit = { name = "patient" }\n'
        '[tables.patients]\nsource = "patients.parquet"\nunit = "patient"\n'
        '[tables.visits]\nsource = "visits.csv"\nunit = "patient"\nmultiline = false\n',
        encoding="utf-8",
    )
    found = [each for each in check(read(tmp_path / "clinic.toml")) if each.lint == "unlike-units"]
    assert [each.severity for each in found] == severities


def test_state_on_a_network_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = hospital(tmp_path)
    monkeypatch.setattr(unit_lints, "file_system", lambda path: "nfs4" if path == policy.state else None)
    (finding,) = check(policy)
    assert finding == Finding(
        ERROR,
        "state",
        f"{policy.state} lies on a network file system (nfs4), where no lock can be relied on",
        'move it to a local disk with state = "…"',
        "network-state",
    )


def test_the_gravest_come_first(tmp_path: Path) -> None:
    policy = hospital(tmp_path, {"epsilon = 2.0": "epsilon = 3.0", "1e-6": "0.5", "age = {": "agee = {"})
    assert [finding.severity for finding in check(policy)] == [ERROR, WARNING, NOTE]


def test_a_source_of_one_bad_line_is_one_warning(tmp_path: Path) -> None:
    policy = hospital(tmp_path, {'source = "wards.csv"\npublic = true': 'source = "wards.csv"\nunit = "ward"'})
    rows = "".join(f"W{i},{i % 50}\n" for i in range(30_000))
    (tmp_path / "wards.csv").write_text(f"ward,beds\n{rows}A,1,2,3\n", encoding="utf-8")
    told = [finding for finding in check(policy) if finding.where == "tables.wards.source"]
    assert [finding.severity for finding in told] == [WARNING]
    assert "1 record of 30,001" in told[0].message


def test_a_path_through_a_table_that_cannot_be_read_is_not_counted(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    (tmp_path / "visits.parquet").unlink()
    assert [finding.where for finding in check(policy)] == ["tables.visits.source"]


def test_a_policy_without_delta_or_columns_is_checked_too(tmp_path: Path) -> None:
    columns = '[tables.wards.columns]\nward = { values = ["A", "B"] }\nbeds = { type = "integer" }\n'
    assert check(hospital(tmp_path, {"delta = 1e-6\n": "", columns: ""})) == ()


def test_rows_without_an_owner_are_no_unit(tmp_path: Path) -> None:
    visits = "SELECT i AS visit_id, CASE WHEN i < 5 THEN i END AS patient_id, 1.5 + i AS cost FROM range(90) AS t(i)"
    policy = hospital(tmp_path, {"max_rows = 3\n": ""}, {"visits.parquet": visits})
    assert [finding.where for finding in check(policy)] == ["tables.payments.unit", "tables.visits.unit"]


def test_names_that_steer_terminals_are_shown_harmless(tmp_path: Path) -> None:
    policy = hospital(
        tmp_path,
        ROWS_ALONE,
        {"visits.parquet": 'SELECT 1 AS cost, 5 AS "\x1b[2J_id" FROM range(2)'},
    )
    told = [str(finding) for finding in check(policy) if finding.where == "tables.visits.unit"]
    assert len(told) == 1
    assert told[0].isprintable()
    assert "\\x1b" in told[0]


def test_a_source_of_millions_of_rows_is_checked_in_a_breath(tmp_path: Path) -> None:
    large = "SELECT i AS visit_id, i // 3 AS patient_id, 0.5 + i % 100 AS cost FROM range(1000000) AS t(i)"
    assert check(hospital(tmp_path, sources={"visits.parquet": large})) == ()


def test_most_rows_at_the_bounds_is_graver_than_some(tmp_path: Path) -> None:
    (finding,) = check(hospital(tmp_path, {"min = 0, max = 110": "min = 0, max = 44"}))  # 50 of 100 are above
    assert (finding.severity, finding.lint) == (NOTE, "outside-bounds")
    (tmp_path / "more").mkdir()
    (finding,) = check(hospital(tmp_path / "more", {"min = 0, max = 110": "min = 0, max = 43"}))
    assert (finding.severity, finding.lint) == (WARNING, "outside-bounds")


def test_bounds_of_nought_and_one_are_no_secret(tmp_path: Path) -> None:
    sources = {"patients.parquet": f"SELECT * REPLACE (patient_id % 2 AS age) FROM ({SOURCES['patients.parquet']})"}
    assert check(hospital(tmp_path, {"min = 0, max = 110": "min = 0, max = 1"}, sources)) == ()


def test_what_an_owner_knows_is_set_apart_and_errors_are_not(tmp_path: Path) -> None:
    changes = {"min = 0, max = 110": "min = 0, max = 44", '["A", "B"]': '["A"]'}
    grave, light = check(hospital(tmp_path, changes))
    lines = [f"{each.where}: {each.lint}" for each in (grave, light)] + ["state: network-state", "tables.x: nonsense"]
    known = {'name = "hospital"': f'name = "hospital"\nacknowledged = {json.dumps(lines)}'}
    policy = hospital(tmp_path, {**changes, **known})
    looked = checked(policy)
    assert looked.acknowledged == (grave, light)
    assert [(each.severity, each.where) for each in looked.findings] == [(NOTE, "acknowledged")] * 2
    assert "'tables.x: nonsense' is not found" in str(looked.findings[1])
    assert fingerprint(policy) == fingerprint(hospital(tmp_path, changes))


def test_an_error_is_not_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {'name = "hospital"': 'name = "hospital"\nacknowledged = ["state: network-state"]'}
    policy = hospital(tmp_path, known)
    monkeypatch.setattr(unit_lints, "file_system", lambda _: "nfs4")
    looked = checked(policy)
    assert [each.severity for each in looked.findings] == [ERROR]
    assert looked.acknowledged == ()


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ('{ type = "integer", min = 0, max = 1 }', "i % 2"),
        ('{ type = "number", min = 0, max = 1 }', "(i % 2)::DOUBLE"),
        ('{ type = "boolean" }', "i % 2 = 0"),
        ('{ type = "integer", values = [0, 1] }', "i % 2"),
    ],
)
def test_a_column_of_0_and_1_is_no_finding(declared: str, values: str, tmp_path: Path) -> None:
    sources = with_column("patients.parquet", "vip", values.replace("i", "patient_id"))
    policy = hospital(tmp_path, {'vip = { type = "boolean" }': f"vip = {declared}"}, sources)
    assert check(policy) == ()
