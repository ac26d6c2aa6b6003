"""`query`, `preview` and `tables`: from the arguments to the door, and from the door to people and programs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from discreet.accounting import Concentrated
from discreet.cli import discreet
from discreet.cli.asking import parameter
from discreet.cli.failures import failure_of
from discreet.cli.program import COMMANDS
from discreet.curator.answers import Answer, Preview
from discreet.errors import BudgetExhausted, Refused
from discreet.policy import Column, Kind
from tests.cli.runs import run, told
from tests.cli.test_failures import HEAVY, IMPORTED
from tests.curator.test_answers import CONCENTRATED, answer, preview

SQL = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
NOTHING = dict.fromkeys(("epsilon", "rho", "delta", "error", "params", "analyst", "dialect"))


@dataclass(frozen=True)
class Facts:
    """What is public about a table."""

    name: str
    public: bool
    unit: str | None
    columns: Mapping[str, Column]
    max_rows: int = 1
    max_groups: int = 1
    max_rows_per_group: int = 1


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
    found, module = Door(), ModuleType("discreet.curator.door")
    module.open = found.open  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "discreet.curator.door", module)
    return found


def piped(text: bytes, *args: str) -> Result:
    return CliRunner().invoke(discreet, args, input=text)


# asking


def test_a_question_goes_to_the_door_as_it_was_written(door: Door) -> None:
    run("query", "p.toml", SQL, "--epsilon", "0.1")
    assert door.opened == (Path("p.toml"), {"time_limit": None, "progress": None})
    assert door.asked == (SQL, {**NOTHING, "epsilon": 0.1, "confidence": 0.95, "fresh": False})
    assert door.closed


def test_every_option_reaches_the_door(door: Door) -> None:
    prices = ("--rho", "0.02", "--delta", "1e-8", "--error", "5", "--confidence", "0.9", "-e", "2")
    others = ("--analyst", "fraud", "--dialect", "bigquery", "--param", "ward=ICU", "-p", "least=18")
    expected = {
        "epsilon": 2.0,
        "rho": 0.02,
        "delta": 1e-8,
        "error": 5.0,
        "confidence": 0.9,
        "analyst": "fraud",
        "dialect": "bigquery",
        "params": {"ward": "ICU", "least": 18},
    }
    run("query", "p.toml", SQL, *prices, *others, "--fresh", "--time-limit", "2.5")
    assert door.opened[1]["time_limit"] == 2.5
    assert door.asked == (SQL, {**expected, "fresh": True})
    run("preview", "p.toml", SQL, *prices, *others)
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
        (["--epsilon", "much"], "not a valid float"),
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
    assert "price ε 0.1 · remaining ε 2.9" in lines
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
    assert found["loss"] == found["price"] == {"rho": 0.005, "delta": 0.0}
    assert found["remaining"] == {"epsilon": 0.69, "rho": 0.2401, "delta": 4.9e-7}
    assert found["guarantee"] == {"epsilon": 3.0, "delta": 1e-6}
    assert set(found) == set(door.answer.to_dict())


def test_programs_are_told_prices_that_are_rounded_up(door: Door) -> None:
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


class QueryFailed(Exception):  # noqa: N818  (stands for discreet.errors.QueryFailed)
    """As the door raises it."""

    reason = "the question failed after it was charged"
    fix = "ask the owner"


QueryFailed.__module__, QueryFailed.__qualname__ = "discreet.errors", "QueryFailed"


def test_a_failure_after_the_charge_does_not_say_that_nothing_was_spent(door: Door) -> None:
    door.error = QueryFailed()
    found = told("query", "p.toml", SQL, code=5)["error"]
    assert found == {"code": "failed", "reason": QueryFailed.reason, "fix": QueryFailed.fix, "spent": None}
    assert failure_of(ZeroDivisionError()).spent is None
    assert failure_of(OSError(28, "No space left on device")).spent is None


# tables

TABLES = {
    "patients": Facts(
        "patients",
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
    "log": Facts("log", public=False, unit="row", columns={}),
    "wards": Facts("wards", public=True, unit=None, columns={"ward": Column("ward", Kind.TEXT)}),
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
