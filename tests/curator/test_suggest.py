"""`discreet check --suggest`: contribution bounds for the owner, from exact values or by charged private quantiles."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet
from discreet.owner.suggest import EXACT, Suggestion, by_quantiles, from_exact_values, on_grid
from discreet.policy import read
from tests.cli.runs import run, told

POLICY = """
[budget]
epsilon = {epsilon}
[unit]
name = "person"
[tables.people]
source = "people.csv"
unit = "person"
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 50
[tables.visits.columns]
ward = {{ values = ["a", "b", "c", "d"] }}
note = {{ type = "text" }}
[tables.items]
source = "items.csv"
unit = "visit -> visits.person"
max_rows = 200
[tables.rows]
source = "rows.csv"
unit = "row"
[tables.wards]
source = "wards.csv"
public = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """400 persons with 3 visits each in 2 wards, 2 items for each visit; and two persons with a hundred visits."""
    persons = [*((n, 3) for n in range(400)), (998, 100), (999, 100)]
    visits = [
        (f"v{n}-{k}", n, "ab"[k % 2] if count == 3 else "abcd"[k % 4]) for n, count in persons for k in range(count)
    ]
    for name in ("people", "rows", "wards"):
        (tmp_path / f"{name}.csv").write_text("person\n" + "".join(f"{n}\n" for n, _ in persons))
    (tmp_path / "visits.csv").write_text(
        "visit,person,ward,note\n" + "".join(f"{v},{n},{w},{w}\n" for v, n, w in visits)
    )
    (tmp_path / "items.csv").write_text("visit\n" + "".join(f"{visit}\n{visit}\n" for visit, _, _ in visits))
    path = tmp_path / "clinic.toml"
    path.write_text(POLICY.format(epsilon=1000))
    return path


def bounds(suggestions: tuple[Suggestion, ...]) -> dict[tuple[str, str], int]:
    return {(each.table, each.key): each.proposed for each in suggestions}


def test_the_grid_is_never_below() -> None:
    grid = sorted({on_grid(number) for number in range(1200)})
    assert grid == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
    assert all(number <= on_grid(number) <= max(2.5 * number, 1) for number in range(1200))


def test_exact_values_are_rounded_up_on_the_grid(file: Path) -> None:
    assert bounds(from_exact_values(read(file))) == {
        ("people", "max_rows"): 1,
        ("visits", "max_rows"): 5,
        ("visits", "max_groups"): 2,
        ("items", "max_rows"): 10,
    }


def test_exact_values_are_marked_and_written_nowhere(file: Path) -> None:
    before = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    shown = run("check", file, "--suggest").stdout.splitlines()
    assert shown[0] == EXACT == "contains exact values: do not share"
    assert "visits: max_rows = 5 instead of 50" in shown
    assert "people: max_rows = 1 can stay" in shown
    assert told("check", file, "--suggest")["note"] == EXACT
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == before


def test_private_quantiles_are_charged_the_cost_and_no_more(file: Path) -> None:
    """At this cost quantiles are exact, but for the last hundredth."""
    with discreet.open(file) as curator:
        suggestions = by_quantiles(curator, 400)
        assert curator.budget().spent.epsilon == 400
        again = by_quantiles(curator, 400)
        assert len(curator.entries()) == 1
    assert again == suggestions
    assert bounds(suggestions) == {("visits", "max_rows"): 5, ("visits", "max_groups"): 2, ("items", "max_rows"): 10}


def test_what_was_charged_may_be_shared(file: Path) -> None:
    shown = told("check", file, "--suggest", "--epsilon", "400")
    assert "note" not in shown
    assert {each["proposed"] for each in shown["suggestions"]} == {2, 5, 10}
    assert EXACT not in run("check", file, "--suggest", "--epsilon", "400").stdout


def test_nothing_is_proposed_that_a_budget_does_not_allow(file: Path) -> None:
    file.write_text(POLICY.format(epsilon=1))
    assert "the cost is epsilon 400 and 1 is left" in run("check", file, "--suggest", "--epsilon", "400", code=4).stderr
    for wrong in ("nan", "inf", "0", "-1"):
        run("check", file, "--suggest", "--epsilon", wrong, code=3)
    run("check", file, "--epsilon", "1", code=2)


def test_policies_without_such_tables_are_told_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    head = '[budget]\nepsilon = 1\n[unit]\nname = "row"\n[tables.t]\nsource = "t.csv"\nunit = "row"\n'
    file = tmp_path / "t.toml"
    file.write_text(head)
    assert run("check", file, "--suggest").stdout.splitlines() == [EXACT, "no table has units with several rows"]
