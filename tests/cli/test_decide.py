"""What owners decide by command: lines of a draft, shares, findings that are meant so."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.owner.decisions import init_command, lines_of, read_decisions
from discreet.owner.editing import acknowledge
from discreet.policy import read
from tests.cli.runs import run, told

LINES = (
    *("budget.epsilon = 2.0", 'unit.name = "patient"', 'tables.visits.unit = "id"', "tables.visits.max_rows = 3"),
    *("tables.visits.columns.cost = { min = 0, max = 9 }", "tables.visits.columns.note = false"),
    "analysts.finance = { epsilon = 0.5 }",
)


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "visits.csv").write_text("id,cost,note\n1,2,x\n1,3,y\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "clinic.toml"


def decided(*lines: str) -> list[str]:
    return [word for line in lines for word in ("--decide", line)]


def test_what_is_decided_is_in_the_draft_and_nothing_is_left(visits: Path) -> None:
    result = run("init", "visits.csv", "-o", visits, *decided(*LINES))
    assert "nothing is left to decide" in result.stderr
    policy = read(visits)
    assert (float(policy.budget.epsilon), policy.tables["visits"].max_rows, list(policy.analysts)) == (
        2,
        3,
        ["finance"],
    )
    assert list(policy.tables["visits"].columns) == ["cost"]
    words = init_command(["visits.csv"], "again.toml", "clinic", read_decisions(LINES))[1:]
    run(*words)
    assert Path("again.toml").read_bytes() == visits.read_bytes()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "decides nothing"),
        ("# nothing", "decides nothing"),
        ("tables.visits", "is not TOML"),
        ("colour = 1", "is nothing to decide here"),
        ("tables = 3", "must be a table"),
        ("tables.visits = true", "must be a table, or false"),
        ("tables.visits.columns = 1", "must be a table"),
        ("tables.visits.columns.cost = 1", "must be a table, or false"),
        ("budget = []", "must be a table"),
        ("budget.epsilon = 1\nbudget.epsilon = 2", "is not TOML"),
        ("tables.nobody.max_rows = 1", "no source has this table"),
        ("tables.visits.columns.nobody = false", "the source has no such column"),
        ("analysts.x = 1", "must be a table"),
        ("x = " + "9" * 5000, "too many digits"),
        ("\ud800 = 1", "is not UTF-8"),
    ],
)
def test_what_decides_nothing_is_refused(visits: Path, line: str, words: str) -> None:
    result = run("init", "visits.csv", "-o", visits, *decided(line), code=2)
    assert words in result.stderr
    assert not visits.exists()


def test_nothing_is_decided_twice(visits: Path) -> None:
    result = run("init", "visits.csv", *decided("budget.epsilon = 1", "budget.epsilon = 2"), code=2)
    assert "is decided twice" in result.stderr
    assert not visits.exists()
    run("init", "--from-smartnoise", "x.yaml", *decided("budget.epsilon = 1"), code=2)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
values = st.one_of(st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False), names, st.lists(names, max_size=2))


@given(st.dictionaries(names, st.one_of(st.just(False), st.dictionaries(names, values, max_size=2)), max_size=3))
def test_lines_say_what_was_decided(columns: dict[str, dict[str, object] | bool]) -> None:
    decisions = (
        {"tables": {"t": {"unit": "row", "columns": columns}}} if columns else {"tables": {"t": {"unit": "row"}}}
    )
    lines = lines_of(decisions)
    assert read_decisions(lines) == decisions
    assert all("\n" not in line and tomllib.loads(line) for line in lines)


def test_shares_are_written_into_the_policy(visits: Path) -> None:
    run("init", "visits.csv", "-o", visits, *decided(*LINES))
    before = visits.read_text(encoding="utf-8")
    assert "of this name already" in run("budget", "share", visits, "finance", "1", code=3).stderr
    assert visits.read_text(encoding="utf-8") == before
    assert told("budget", "share", visits, 'the "study"', "25 %")["analysts"] == ["finance", 'the "study"']
    assert visits.read_text(encoding="utf-8").startswith(before.rstrip())
    for name, share in (
        ("x", "nan"),
        ("x", "0"),
        ("x", "3"),
        ("", "1"),
        ("owner", "1"),
        ("x\n[y]", "1"),
        ("x", "1 %%"),
    ):
        run("budget", "share", "--", visits, name, share, code=3)
    assert list(read(visits).analysts) == ["finance", 'the "study"']


@pytest.mark.parametrize("listed", ["", 'acknowledged = [ # one\n "a: cut-rows", # ]\n]\n', "acknowledged = []\n"])
def test_findings_are_acknowledged_in_place(visits: Path, listed: str) -> None:
    run("init", "visits.csv", "-o", visits, *decided(*LINES))
    text = visits.read_text(encoding="utf-8").replace('name = "clinic"\n', f'name = "clinic"\n{listed}', 1)
    visits.write_text(text, encoding="utf-8")
    known = read(visits).acknowledged
    assert told("check", visits, "--acknowledge", "tables.visits.max_rows: cut-rows")["acknowledged"] == [
        *known,
        "tables.visits.max_rows: cut-rows",
    ]
    after = visits.read_text(encoding="utf-8")
    run("check", visits, "--acknowledge", "tables.visits.max_rows: cut-rows")  # it is known: nothing changes
    assert visits.read_text(encoding="utf-8") == after
    assert after.count("\n") >= text.count("\n") - 2  # comments of the file stay, but for those inside of the list
    run("check", visits, "--acknowledge", "nonsense", code=3)
    run("check", visits, "--acknowledge", "x: cut-rows", "--suggest", code=2)


def test_what_only_looks_like_the_list_is_left_alone(visits: Path) -> None:
    run("init", "visits.csv", "-o", visits, *decided(*LINES))
    text = visits.read_text(encoding="utf-8") + '\n[statement]\npurpose = """\nacknowledged = ["x"]\n"""\n'
    text = text.replace('"""\nacknowledged = ["x"]\n"""', '"acknowledged = []"')
    visits.write_text(text, encoding="utf-8")
    acknowledge(read(visits), "tables.visits.max_rows: cut-rows")
    assert read(visits).statement["purpose"] == "acknowledged = []"
