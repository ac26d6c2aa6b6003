"""Every command end to end: what it does, what it tells people, what it tells programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from discreet.curator.state import ledger_path
from discreet.policy import Policy, read
from tests.cli.runs import run, spend, told
from tests.curator.test_smartnoise import PUMS
from tests.curator.worlds import hospital, write_source

PURE = {"epsilon = 3.0\ndelta = 1e-6": "epsilon = 3.0"}


@pytest.fixture
def pure(tmp_path: Path) -> Policy:
    return hospital(tmp_path, PURE)


def edit(policy: Policy, old: str, new: str) -> None:
    policy.path.write_text(policy.path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


# check


def test_check_finds_nothing_wrong(pure: Policy) -> None:
    assert run("check", pure.path).stdout == "0 errors, 0 warnings, 0 notes\n"
    expected = {"policy": "hospital", "errors": 0, "warnings": 0, "notes": 0, "findings": [], "acknowledged": []}
    assert told("check", pure.path) == expected


def test_check_tells_what_to_mend(pure: Policy) -> None:
    edit(pure, "max = 110", "max = 70")
    edit(pure, "sex =", "sx =")
    result = run("check", pure.path, code=3)
    assert result.stdout.splitlines() == [
        "error tables.patients.columns.sx",
        "    the source has no such column",
        "    → did you mean 'sex'? allowed: patient_id, age, sex, zip, born, vip",
        "note tables.patients.columns.age: outside-bounds",
        "    9 of 100 values: outside of the bounds, so clamped to them",
        "    → leave it if they are rare",
        "1 error, 0 warnings, 1 note",
    ]
    found = told("check", pure.path, code=3)
    assert (found["errors"], found["notes"]) == (1, 1)
    assert found["findings"][1]["where"] == "tables.patients.columns.age"


def test_check_allows_warnings(pure: Policy) -> None:
    edit(pure, '["F", "M"]', '["F"]')
    assert told("check", pure.path)["warnings"] == 1


# init


def test_init_drafts_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_source(Path("people.parquet"), "SELECT 1 AS person_id, 2 AS age")
    printed = run("init", "people.parquet", "--name", "census")
    assert 'name = "census"' in printed.stdout
    assert "still to decide:\n  budget.epsilon: missing; add epsilon = 1.0" in printed.stderr
    written = run("init", "people.parquet", "-o", "sub.toml")
    assert written.stdout == ""
    assert written.stderr.startswith("wrote sub.toml\nstill to decide:\n")
    assert 'name = "sub"' in Path("sub.toml").read_text(encoding="utf-8")
    again = run("init", "people.parquet", "-o", "sub.toml")  # nobody has changed it
    assert again.stderr == written.stderr
    with Path("sub.toml").open("a", encoding="utf-8") as file:
        file.write("# mine\n")
    refused = run("init", "people.parquet", "-o", "sub.toml", code=2)
    assert "sub.toml exists already: name a new file, or remove it" in refused.stderr
    refused = run("init", "people.parquet", "-o", "nowhere/sub.toml", code=2)
    assert "nowhere/sub.toml cannot be written: No such file or directory" in refused.stderr


def test_init_tells_programs_what_is_left_to_decide(tmp_path: Path) -> None:
    write_source(tmp_path / "people.parquet", "SELECT 1 AS person_id, 2 AS age")
    output = tmp_path / "new.toml"
    found = told("init", tmp_path / "people.parquet", "-o", output)
    assert found["written"] == str(output)
    assert found["draft"] == output.read_text(encoding="utf-8")
    assert [problem["where"] for problem in found["undecided"]] == ["budget.epsilon", "unit.name", "tables.people.unit"]
    assert told("init", tmp_path / "people.parquet")["written"] is None


def test_init_imports_smartnoise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("PUMS.yaml").write_text(PUMS, encoding="utf-8")
    assert 'unit = "pid"' in run("init", "--from-smartnoise", "PUMS.yaml").stdout
    assert 'name = "study"' in run("init", "--from-smartnoise", "PUMS.yaml", "--name", "study").stdout
    Path("bad.yaml").write_text("a: [1]", encoding="utf-8")
    assert "bad.yaml: line 1: a list is not understood" in run("init", "--from-smartnoise", "bad.yaml", code=2).stderr


def test_a_complete_draft_has_nothing_left_to_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = hospital(tmp_path).path.read_text(encoding="utf-8")
    monkeypatch.setattr("discreet.owner.smartnoise.from_smartnoise", lambda *_: text)
    assert run("init", "--from-smartnoise", "any.yaml").stderr == "nothing is left to decide\n"


def test_init_wants_sources_or_metadata(tmp_path: Path) -> None:
    for args in ([], ["a.csv", "--from-smartnoise", str(tmp_path / "b.yaml")]):
        assert "name the sources, or --from-smartnoise FILE, and not both" in run("init", *args, code=2).stderr


# refresh


def test_refresh_advances_the_version(pure: Policy) -> None:
    assert run("refresh", pure.path, "--reason", "new month").stdout == (
        "questions are answered from data version 2 now\n"
    )
    nothing = {table: {"records": 0, "files": {}} for table in pure.tables}
    assert told("refresh", pure.path) == {"policy": "hospital", "data_version": 3, "left_out": nothing}
    assert "new month" in ledger_path(pure).read_bytes().decode("latin-1")


def test_refresh_that_cannot_read_ends_with_five(pure: Policy) -> None:
    (pure.folder / "visits.parquet").unlink()
    error = told("refresh", pure.path, code=5)["error"]
    assert error["code"] == "source"
    assert error["reason"].startswith("visits: there is no file")
    assert error["spent"] == 0
    assert told("refresh", pure.path, code=5)["error"]["fix"] == "correct `source` in the policy"


# budget


def test_budget_shows_everybody_and_each_analyst(pure: Policy) -> None:
    spend(pure, 0.75, analyst="fraud")
    lines = run("budget", pure.path).stdout.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "everybody █████░░░░░░░░░░░░░░░ 25 % of the budget used",
        "epidemiology ░░░░░░░░░░░░░░░░░░░░ 0 % of the share used",
        "fraud ████████░░░░░░░░░░░░ 37.5 % of the share used",
        *("", "details"),
        *("everybody:", "spent ε 0.75 of 3", "max ε for the next query 2.25"),
        *("epidemiology:", "spent ε 0 of 1", "max ε for the next query 1"),
        *("fraud:", "spent ε 0.75 of 2", "max ε for the next query 1.25"),
    ]
    found = told("budget", pure.path)
    assert (found["total"]["epsilon"], found["spent"]["epsilon"], found["remaining"]["epsilon"]) == (3, 0.75, 2.25)
    assert found["analysts"]["fraud"]["remaining"]["epsilon"] == 1.25


def test_budget_of_one_analyst(pure: Policy) -> None:
    assert run("budget", pure.path, "fraud").stdout.count("\n") == 6
    found = told("budget", pure.path, "fraud")
    assert (found["analyst"], found["total"]["epsilon"], found["analysts"]) == ("fraud", 2, {})
    assert told("budget", pure.path, "nobody", code=3)["error"]["code"] == "unknown-analyst"
    assert told("budget", "show", pure.path, "fraud") == found


def test_a_concentrated_budget_explains_itself(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    spend(policy, 0.1)
    shown = run("budget", policy.path).stdout
    assert "spent ρ 0.004996 of 0.1758 and, for partition selection, δ 0 of 5e-07" in shown
    assert "with δ 1e-06 that guarantees ε 0.4451 of 3" in shown
    assert told("budget", policy.path)["remaining"]["rho"] < told("budget", policy.path)["total"]["rho"]


def test_raising_a_budget(pure: Policy) -> None:
    spend(pure, 0.25)
    edit(pure, "[budget]\nepsilon = 3.0", "[budget]\nepsilon = 4.5")
    assert "the policy says epsilon 4.5, the ledger epsilon 3: `discreet budget raise` raises it" in (
        run("budget", pure.path).stdout
    )
    assert (
        run("budget", "raise", pure.path, "--reason", "second study").stdout == "hospital may spend epsilon 4.5 now\n"
    )
    assert told("budget", pure.path)["remaining"]["epsilon"] == 4.25
    assert told("budget", "raise", pure.path, code=3)["error"]["code"] == "not-a-raise"
    edit(pure, "epsilon = 4.5", "epsilon = 5\ndelta = 1e-9")
    assert told("budget", "raise", pure.path) == {"policy": "hospital", "epsilon": 5.0, "delta": 1e-9}


def test_a_pure_raise_has_no_delta(pure: Policy) -> None:
    spend(pure, 1)
    edit(pure, "[budget]\nepsilon = 3.0", "[budget]\nepsilon = 4.5")
    assert told("budget", "raise", pure.path) == {"policy": "hospital", "epsilon": 4.5, "delta": None}


# ledger


def test_the_ledger_shows_what_was_charged(pure: Policy) -> None:
    assert run("ledger", "show", pure.path).stdout == "nothing was charged yet\n"
    assert told("ledger", "show", pure.path) == {"entries": []}
    spend(pure, 0.5, "SELECT COUNT(*)\n  FROM \x1b[2J patients", "fraud")
    spend(pure, 0.25, "SELECT " + "x" * 200)
    lines = run("ledger", "show", pure.path).stdout.splitlines()
    assert lines[0].split() == ["no", "at", "analyst", "cost", "question", "answered"]
    assert "— the budget is ε 3: the ledger begins" in lines[1]
    assert "— the policy is on record" in lines[2]
    assert "fraud" in lines[3]
    assert "ε 0.5" in lines[3]
    assert "SELECT COUNT(*) FROM \\x1b[2J patients" in lines[3]
    assert "…" in lines[4]
    assert run("ledger", "show", pure.path, "-n", "1").stdout.count("\n") == 2
    first, second = (each for each in told("ledger", "show", pure.path)["entries"] if each["kind"] == "query")
    assert first["question"] == "SELECT COUNT(*)\n  FROM \x1b[2J patients"
    assert (first["epsilon"], first["rho"], first["delta"]) == (0.5, None, None)
    assert (second["analyst"], second["answered"], second["data_version"]) == ("owner", True, 1)


def test_a_concentrated_ledger_shows_rho(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    spend(policy, 0.1)
    assert "ρ 0.00" in run("ledger", "show", policy.path).stdout
    assert told("ledger", "show", policy.path)["entries"][2]["rho"] > 0


def test_the_ledger_is_verified(pure: Policy) -> None:
    assert told("ledger", "verify", pure.path, code=5)["error"]["code"] == "ledger"
    receipts = [spend(pure, 0.5), spend(pure, 0.5)]
    assert run("ledger", "verify", pure.path, "--receipt", receipts[0]).stdout.startswith(
        "sound: 6 records, 2 charges\n"
    )
    found = told("ledger", "verify", pure.path, *(part for receipt in receipts for part in ("--receipt", receipt)))
    assert (found["sound"], found["charges"], found["problems"]) == (True, 2, [])
    wrong = run("ledger", "verify", pure.path, "--receipt", "99:abc", code=5)
    assert wrong.stdout == "not sound\n    receipt 99:abc does not match: the ledger was rolled back\n"
    assert told("ledger", "verify", pure.path, "--receipt", "99:abc", code=5)["sound"] is False


def test_the_ledger_is_exported(pure: Policy, tmp_path: Path) -> None:
    spend(pure, 0.5, "SELECT 'ü', \"x\"\nFROM t")
    spend(pure, 0.25, "=cmd()")
    lines = run("ledger", "export", pure.path).stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["budget", "policy", "query", "query"]
    assert [json.loads(line)["question"] for line in lines[2:]] == ["SELECT 'ü', \"x\"\nFROM t", "=cmd()"]
    assert run("ledger", "export", pure.path, "--json").stdout.splitlines() == lines
    rows = list(csv.DictReader(io.StringIO(run("ledger", "export", pure.path, "--format", "csv").stdout)))
    assert [row["question"] for row in rows[2:]] == ["SELECT 'ü', \"x\"\nFROM t", "'=cmd()"]
    assert [row["epsilon"] for row in rows] == ["", "", "0.5", "0.25"]
    output = tmp_path / "out.csv"
    assert (
        run("ledger", "export", pure.path, "--format", "csv", "-o", output).stdout == f"wrote 4 entries to {output}\n"
    )
    assert len(list(csv.DictReader(io.StringIO(output.read_text(encoding="utf-8"))))) == 4
    found = told("ledger", "export", pure.path, "-o", tmp_path / "out.jsonl")
    assert found == {"written": str(tmp_path / "out.jsonl"), "entries": 4}


def test_the_ledger_is_backed_up_and_restored(pure: Policy, tmp_path: Path) -> None:
    saved = tmp_path / "saved.sqlite"
    assert told("ledger", "backup", pure.path, saved, code=5)["error"]["fix"] == "the first question begins one"
    receipt = spend(pure, 1)
    assert run("ledger", "backup", pure.path, saved).stdout.startswith("sound: ")
    assert told("ledger", "backup", pure.path, saved, code=5)["error"]["reason"] == f"{saved} exists already"
    for file in pure.state.iterdir():
        file.unlink()
    assert told("ledger", "restore", saved, pure.path)["sound"]
    assert told("ledger", "verify", pure.path, "--receipt", receipt)["sound"]
    spend(pure, 1)
    assert "would forget spending" in run("ledger", "restore", saved, pure.path, code=5).stderr


def test_policies_of_any_name_are_read(tmp_path: Path) -> None:
    policy = hospital(tmp_path, {'name = "hospital"': 'name = "Krankenhaus Süd 🏥"'})
    renamed = policy.path.rename(tmp_path / "größe 🏥.toml")
    assert read(renamed).name == told("budget", renamed)["policy"] == "Krankenhaus Süd 🏥"
