"""`query`, `preview` and `tables`: from the arguments to the door, and from the door to people and programs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from discreet.accounting import Concentrated
from discreet.answers import Answer, Preview
from discreet.answers.facts import Facts
from discreet.cli import discreet
from discreet.cli.failures import failure_of
from discreet.cli.options import parameter
from discreet.cli.program import COMMANDS
from discreet.errors import BudgetExhausted, Edit, QueryFailed, Refused
from discreet.ledger import LedgerError
from discreet.policy import Column, Kind, Policy
from tests.answers.test_answers import CONCENTRATED, answer, preview
from tests.cli.runs import run, told
from tests.cli.test_failures import HEAVY, IMPORTED
from tests.costs import rho_of
from tests.curator.worlds import hospital

SQL = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
BY_SEX = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
NOTHING = dict.fromkeys(("epsilon", "rho", "delta", "error", "group_size", "params", "analyst", "dialect", "blocks"))


@dataclass
class Door:
    """Stands where the curator is, and remembers how it was asked."""

    answer: Answer = field(default_factory=answer)
    preview_: Preview = field(default_factory=preview)
    tables_: dict[str, Facts] = field(default_factory=dict)
    error: Exception | None = None
    opened: tuple[Any, ...] = ()
    asked: tuple[str, dict[str, Any]] = ("", {})
    closed: bool = False

    def open(self, path: Path, **settings: Any) -> Door:
        self.opened = (path, settings)
        return self

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def query(self, sql: str, **settings: Any) -> Answer:
        self.asked = (sql, settings)
        if self.error:
            raise self.error
        return self.answer

    def preview(self, sql: str, **settings: Any) -> Preview:
        self.asked = (sql, settings)
        if self.error:
            raise self.error
        return self.preview_

    def tables(self) -> dict[str, Facts]:
        return self.tables_


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    found = Door()
    monkeypatch.setattr("discreet.opening.open", found.open)
    return found


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return hospital(tmp_path)


def piped(text: bytes, *args: str) -> Result:
    return CliRunner().invoke(discreet, args, input=text)


# asking


def test_a_question_goes_to_the_door_as_it_was_written(door: Door) -> None:
    run("query", "p.toml", SQL, "--epsilon", "0.1")
    assert door.opened == (Path("p.toml"), {"time_limit": None, "progress": None})
    assert door.asked == (SQL, {**NOTHING, "epsilon": 0.1, "confidence": 0.95, "fresh": False, "confirm": False})
    assert door.closed


def test_every_option_reaches_the_door(door: Door) -> None:
    costs = ("--rho", "0.02", "--delta", "1e-8", "--error", "5", "--group-size", "70", "--confidence", "0.9", "-e", "2")
    named = ("--analyst", "fraud", "--dialect", "bigquery", "--blocks", "newest 7")
    others = (*named, "--param", "ward=ICU", "-p", "least=18")
    expected = {
        "epsilon": 2.0,
        "rho": 0.02,
        "delta": 1e-8,
        "error": 5.0,
        "group_size": 70,
        "confidence": 0.9,
        "analyst": "fraud",
        "dialect": "bigquery",
        "blocks": "newest 7",
        "params": {"ward": "ICU", "least": 18},
    }
    run("query", "p.toml", SQL, *costs, *others, "--fresh", "--confirm", "--time-limit", "2.5")
    assert door.opened[1]["time_limit"] == 2.5
    assert door.asked == (SQL, {**expected, "fresh": True, "confirm": True})
    run("preview", "p.toml", SQL, *costs, *others)
    assert door.asked == (SQL, expected)


@pytest.mark.parametrize("command", ["query", "preview"])
def test_a_dash_reads_the_question_from_standard_input(command: str, door: Door) -> None:
    assert piped("SELECT 'é'\n".encode(), command, "p.toml", "-").exit_code == 0
    assert door.asked[0] == "SELECT 'é'\n"
    wrong = piped(b"\xff\xfe", command, "p.toml", "-")
    assert wrong.exit_code == 2
    assert "not UTF-8" in wrong.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("NULL", None),
        ("ICU", "ICU"),
        ("", ""),
        ("a=b", "a=b"),
        ('"5"', "5"),
        ('"unfinished', '"unfinished'),
        ("nan", "nan"),
        ("12 Main St", "12 Main St"),
        ("2026-01-02", date(2026, 1, 2)),
        ("2026-02-31", "2026-02-31"),
        ("2026-01-02T03:04", datetime(2026, 1, 2, 3, 4)),
        ("2026-01-02 03:04:05", datetime(2026, 1, 2, 3, 4, 5)),
    ],
)
def test_parameters_are_what_they_look_like(text: str, value: object, door: Door) -> None:
    assert parameter(text) == value
    run("query", "p.toml", SQL, "--param", f"x={text}")
    found = door.asked[1]["params"]["x"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--param", "x"], "NAME=VALUE"),
        (["--param", "=5"], "NAME=VALUE"),
        (["--param", "x=1", "--param", "x=2"], "given twice"),
        (["--epsilon", "much"], "no number"),
        (["--time-limit", "0"], "time-limit"),
    ],
)
def test_wrong_options_end_with_two(args: list[str], reason: str, door: Door) -> None:
    error = told("query", "p.toml", SQL, *args, code=2)["error"]
    assert reason in error["reason"]
    assert error["spent"] == 0
    assert door.asked == ("", {})


@pytest.mark.parametrize("command", ["query", "preview", "tables"])
def test_every_command_explains_itself(command: str) -> None:
    shown = run(command, "-h").stdout
    assert shown.startswith(f"Usage: discreet {command} [OPTIONS] POLICY")
    assert "--json" in shown
    assert list(COMMANDS).index(command) < list(COMMANDS).index("check")
    code = IMPORTED.format(args=[command, "-h"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & {name.partition(".")[0] for name in done.stderr.split()}


# answers


def test_people_see_a_table(door: Door) -> None:
    lines = [line.rstrip() for line in run("query", "p.toml", SQL).stdout.splitlines()]
    assert lines[0] == "ward         n (95 %)"
    assert lines[2:5] == ["A        1,041 ± 30", "ICU         -3 ± 30", "NULL   104,127 ± 30"]
    assert "cost ε 0.1 · 3.4 % of the budget used · about 29 more queries like this" in lines
    ahead = run("preview", "p.toml", SQL).stdout
    assert "in groups of 1,000" in ahead
    assert "4 rows" in ahead
    assert door.closed


def test_all_rows_are_shown(door: Door) -> None:
    rows = [(f"w{number}", number) for number in range(200)]
    door.answer = answer(rows=rows, intervals=[{"n": (number - 5, number + 5)} for number in range(200)])
    lines = run("query", "p.toml", SQL).stdout.splitlines()
    assert [line.split()[0] for line in lines[2:202]] == [f"w{number}" for number in range(200)]


def test_programs_are_told_everything(door: Door) -> None:
    rows = [(date(2026, 1, 2), 1041.5), (datetime(2026, 1, 2, 3), math.nan), (None, math.inf)]
    intervals: list[dict[str, tuple[float, float]]] = [{"n": (1011, 1072.0)}, {"n": (-math.inf, 5)}, {}]
    door.answer = answer(**CONCENTRATED, columns=["day", "n"], rows=rows, intervals=intervals)
    found = told("query", "p.toml", SQL)
    assert found["rows"] == [["2026-01-02", 1041.5], ["2026-01-02T03:00:00", None], [None, None]]
    assert found["intervals"] == [{"n": [1011, 1072.0]}, {"n": [None, 5]}, {}]
    assert found["loss"] == found["cost"] == {"rho": 0.005, "delta": 0.0}
    assert found["remaining"] == {"epsilon": 0.69, "rho": 0.2401, "delta": 4.9e-7}
    assert found["guarantee"] == {"epsilon": 3.0, "delta": 1e-6}
    assert set(found) == set(door.answer.to_dict())


def test_programs_are_told_costs_that_are_rounded_up(door: Door) -> None:
    third = Fraction(1, 3)
    door.preview_ = replace(door.preview_, loss=Concentrated(third, third))
    found = told("preview", "p.toml", SQL)
    assert Fraction(repr(found["loss"]["rho"])) > third
    assert found["averages"] == {"age": {"100": 4.912, "1000": 0.4912}}
    assert set(found) == set(door.preview_.to_dict())


# ends


@pytest.mark.parametrize("command", ["query", "preview"])
@pytest.mark.parametrize(
    ("error", "exit_"), [(Refused("undeclared-bounds", "why", "fix"), 3), (BudgetExhausted("why", "fix"), 4)]
)
def test_refusals_cost_nothing(command: str, error: Refused, exit_: int, door: Door) -> None:
    door.error = error
    found = told(command, "p.toml", SQL, code=exit_)["error"]
    assert found == {"code": error.code, "reason": "why", "fix": "fix", "spent": 0}
    assert door.closed


def test_what_is_missing_is_an_option_here(door: Door) -> None:
    door.error = Refused("cost-missing", "why", "add epsilon=0.5, or error=10", edit=Edit(arguments={"epsilon": 0.5}))
    assert "→ add --epsilon 0.5, or the error that you want: --error 10" in run("query", "p.toml", SQL, code=3).stderr
    door.error = Refused("cost-missing", "why", "add epsilon=0.5", edit=Edit(arguments={"epsilon": 0.5}))
    assert "--error" not in run("query", "p.toml", SQL, code=3).stderr


def test_unforeseen_ends_do_not_say_that_nothing_was_spent() -> None:
    for error in (QueryFailed(), LedgerError("why", "fix"), OSError(28, "No space left on device"), KeyError("x")):
        assert failure_of(error).exit == 5
        assert failure_of(error).spent is None


# tables

TABLES = {
    "patients": Facts(
        name="patients",
        public=False,
        unit="patient_id",
        max_rows=20,
        max_groups=5,
        max_rows_per_group=1,
        columns={
            "age": Column("age", Kind.INTEGER, bounds=(Fraction(0), Fraction(110))),
            "cost": Column("cost", Kind.NUMBER, bounds=(Fraction(0), Fraction(50000)), step=Fraction(1, 100)),
            "sex": Column("sex", Kind.TEXT, values=("F", "M"), nullable=True),
            "zip": Column("zip", Kind.TEXT),
            "vip": Column("vip", Kind.BOOLEAN),
            "born": Column("born", Kind.DATE, bounds=(date(1900, 1, 1), date(2030, 1, 1))),
            "seen": Column("seen", Kind.TIMESTAMP, nullable=True),
            "code": Column("code", Kind.INTEGER, values=tuple(range(30))),
        },
    ),
    "log": Facts("log", public=False, unit="row", columns={}, max_rows=1, max_groups=1, max_rows_per_group=1),
    "wards": Facts(
        name="wards",
        public=True,
        unit=None,
        columns={"ward": Column("ward", Kind.TEXT)},
        max_rows=1,
        max_groups=1,
        max_rows_per_group=1,
    ),
}
SHOWN = """\
patients  each patient_id is protected: at most 20 rows, 5 groups, 1 row per group
  column  type       values
  age     integer    0 … 110
  cost    number     0 … 50,000 in steps of 0.01
  sex     text       F, M or NULL
  zip     text       keys are private
  vip     boolean    false, true
  born    date       1900-01-01 … 2030-01-01
  seen    timestamp  may be NULL
  code    integer    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, … (6 more)

log  each row is protected on its own

wards  public
  column  type  values
  ward    text
"""


def test_tables_say_what_analysts_may_know(door: Door) -> None:
    door.tables_ = TABLES
    shown = run("tables", "p.toml").stdout
    assert "\n".join(line.rstrip() for line in shown.splitlines()) + "\n" == SHOWN


def test_tables_are_told_to_programs(door: Door) -> None:
    door.tables_ = TABLES
    found = told("tables", "p.toml")["tables"]
    assert list(found) == ["patients", "log", "wards"]
    patients = found["patients"]
    assert (patients["unit"], patients["max_rows"], patients["max_groups"]) == ("patient_id", 20, 5)
    assert patients["columns"]["cost"] == {
        "type": "number",
        "min": 0,
        "max": 50000,
        "step": 0.01,
        "values": None,
        "nullable": False,
        "key": False,
    }
    assert patients["columns"]["sex"]["values"] == ["F", "M"]
    assert patients["columns"]["born"]["max"] == "2030-01-01"
    assert len(patients["columns"]["code"]["values"]) == 30
    assert found["wards"]["public"]
    assert found["wards"]["max_rows"] is None
    assert json.dumps(found).count("private") == 0


# through the real door


def charges(policy: Policy) -> list[dict[str, Any]]:
    """The charges among what the ledger shows."""
    return [entry for entry in told("ledger", "show", policy.path)["entries"] if entry["answered"] is not None]


def test_a_question_is_answered_charged_and_kept(policy: Policy) -> None:
    first = told("query", policy.path, BY_SEX, "--epsilon", "0.2")
    assert first["columns"] == ["sex", "n"]
    assert [row[0] for row in first["rows"]] == ["F", "M"]
    for (_, n), interval in zip(first["rows"], first["intervals"], strict=True):
        low, high = interval["n"]
        assert low <= n <= high
        assert abs(n - 50) < 200  # σ is 21: farther off once in 10²⁰
    assert first["loss"] == first["cost"] == {"rho": rho_of(0.2), "delta": 0.0}
    assert (first["cached"], first["guarantee"]) == (False, {"epsilon": 3.0, "delta": 1e-6})
    again = told("query", policy.path, BY_SEX, "--epsilon", "0.1", "--analyst", "fraud")
    assert (again["rows"], again["cached"], again["receipt"]) == (first["rows"], True, first["receipt"])
    assert again["loss"] == {"rho": 0.0, "delta": 0.0}
    assert again["cost"] == first["cost"]
    assert "cached: free" in run("query", policy.path, BY_SEX, "--epsilon", "0.1").stdout
    fresh = told("query", policy.path, BY_SEX, "--epsilon", "0.1", "--fresh", "--analyst", "fraud")
    assert (fresh["cached"], fresh["loss"]) == (False, {"rho": rho_of(0.1), "delta": 0.0})
    charged = charges(policy)
    assert [(entry["analyst"], entry["rho"], entry["answered"]) for entry in charged] == [
        ("owner", rho_of(0.2), True),
        ("fraud", rho_of(0.1), True),
    ]
    told("ledger", "verify", policy.path, "--receipt", first["receipt"])


def test_a_pure_budget_shows_epsilon(tmp_path: Path) -> None:
    pure = hospital(tmp_path, {"epsilon = 3.0\ndelta = 1e-6": "epsilon = 3.0"})
    shown = run("query", pure.path, BY_SEX, "--epsilon", "0.5").stdout
    assert "cost ε 0.5 · 16.7 % of the budget used · about 5 more queries like this\n· remaining ε 2.5\n" in shown
    assert "ρ" not in shown


def test_a_preview_is_free_and_true(policy: Policy) -> None:
    before = told("preview", policy.path, BY_SEX, "--epsilon", "0.2", "--confidence", "0.99")
    assert charges(policy) == []
    assert not list(policy.state.glob("data/*"))
    found = told("query", policy.path, BY_SEX, "--epsilon", "0.2", "--confidence", "0.99")
    assert before["loss"] == found["loss"]
    assert (before["groups"], before["cached"], before["columns"]) == (2, False, ["sex", "n"])
    for row in found["intervals"]:
        assert row["n"][1] - row["n"][0] == 2 * before["error"]["n"]
    assert told("preview", policy.path, BY_SEX, "--epsilon", "0.2")["cached"]
    assert "cached: free" in run("preview", policy.path, BY_SEX, "--epsilon", "0.2").stdout


def test_a_preview_that_is_too_dear_says_so(policy: Policy) -> None:
    assert "more than what remains" in run("preview", policy.path, BY_SEX, "--epsilon", "4").stdout


def test_refusals_end_with_three_and_exhaustion_with_four(policy: Policy) -> None:
    refused = told("query", policy.path, "SELECT * FROM patients", "--epsilon", "0.1", code=3)["error"]
    assert refused["fix"]
    assert refused["spent"] == 0
    assert told("query", policy.path, BY_SEX, code=3)["error"]["spent"] == 0
    assert told("query", policy.path, BY_SEX, "--epsilon", "nan", code=3)["error"]["spent"] == 0
    assert (
        told("query", policy.path, BY_SEX, "-e", "0.1", "--analyst", "x", code=3)["error"]["code"] == "unknown-analyst"
    )
    exhausted = told("query", policy.path, BY_SEX, "--epsilon", "4", code=4)["error"]
    assert (exhausted["code"], exhausted["spent"]) == ("budget-exhausted", 0)
    assert charges(policy) == []


def test_what_fails_after_the_charge_stays_charged(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret 42")

    monkeypatch.setattr("discreet.curator.prepared.draw", fail)
    result = run("query", policy.path, BY_SEX, "--epsilon", "0.2", "--json", code=5)
    error = json.loads(result.stdout)["error"]
    assert (error["code"], error["spent"], bool(error["fix"])) == ("failed", None, True)
    assert "secret" not in result.output
    (entry,) = charges(policy)
    assert (entry["rho"], entry["answered"]) == (rho_of(0.2), False)


def test_parameters_and_standard_input_sensitivity_the_plan(policy: Policy) -> None:
    sql = b"SELECT COUNT(*) AS n FROM patients WHERE sex = $sex AND age >= $least"
    args = ("query", str(policy.path), "-", "-e", "1", "-p", "sex=F", "-p", "least=0", "--time-limit", "60", "--json")
    result = piped(sql, *args)
    assert result.exit_code == 0, result.output
    ((n,),) = json.loads(result.stdout)["rows"]
    assert abs(n - 50) < 100  # σ is 4.7
    assert piped(sql, "query", str(policy.path), "-", "-e", "0.1").exit_code == 3


def test_public_tables_are_free(policy: Policy) -> None:
    found = told("query", policy.path, "SELECT ward, beds FROM wards ORDER BY ward")
    assert found["rows"] == [["A", 10], ["B", 20]]
    assert (found["receipt"], found["loss"], found["intervals"]) == ("", {"rho": 0.0, "delta": 0.0}, [{}, {}])
    assert "nothing private was read" in run("query", policy.path, "SELECT ward FROM wards").stdout


def test_the_tables_of_a_policy(policy: Policy) -> None:
    found = told("tables", policy.path)["tables"]
    assert list(found) == ["patients", "visits", "payments", "wards"]
    assert (found["visits"]["unit"], found["visits"]["max_rows"]) == ("patient_id", 3)
    assert found["visits"]["columns"]["cost"]["step"] == 0.01
    assert (found["wards"]["public"], found["wards"]["unit"]) == (True, None)
    assert "payments  each patient_id is protected: at most 6 rows\n" in run("tables", policy.path).stdout


@pytest.mark.parametrize("args", [["query", "{}", BY_SEX], ["preview", "{}", BY_SEX], ["tables", "{}"]])
def test_policies_that_cannot_be_read_end_with_two(args: list[str], tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert told(*(part.format(path) for part in args), code=2)["error"]["code"] == "policy"
