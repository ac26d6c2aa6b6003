"""`discreet lab`: what it lists, tells and writes, and that nothing but text comes out of text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.answers.plots.theme import chart_of
from discreet.cli import lab as command
from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.experiment import Experiment, Outcome
from discreet.lab.experiments import EXPERIMENTS
from tests.cli.runs import run, told

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&\"'"


def chart() -> Any:
    return chart_of([{"x": 1, "y": 2, "text": HOSTILE}]).mark_point(clip=True).encode(x="x:Q", y="y:Q")


def outcome(seed: int = 5) -> Outcome:
    return Outcome(
        Figures((Figure(f"{seed} %", f"of the seed {HOSTILE}"), Figure("1", "one"))),
        (Table(f"A caption {HOSTILE}", ("", "found"), ((f"row {HOSTILE}", "12"), ("plain", "13")), frozenset({1})),),
        (Picture(chart, f"A point {HOSTILE}"), Picture(chart, "Another")),
        (f"First {HOSTILE}.", "Second.", "Third."),
        f"Guaranteed {HOSTILE}.",
    )


@pytest.fixture(autouse=True)
def _hostile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One experiment alone, with the worst of texts."""
    for name in list(EXPERIMENTS):
        monkeypatch.delitem(EXPERIMENTS, name)
    made = Experiment("hostile", f"A title {HOSTILE}", ("003",), f"A teaser {HOSTILE}", outcome)
    monkeypatch.setitem(EXPERIMENTS, "hostile", made)
    monkeypatch.chdir(tmp_path)


def test_experiments_are_listed_with_their_lectures() -> None:
    shown = run("lab").stdout
    assert "hostile" in shown
    assert "A teaser <script>" in shown
    assert "003" in shown
    assert "\x1b" not in shown


def test_one_experiment_tells_all_of_it() -> None:
    shown = run("lab", "hostile").stdout
    for part in ("5 %", "of the seed", "A caption", "plain", "13", "1. First", "2. Second", "3. Third", "Guaranteed"):
        assert part in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_seed_is_passed_on_and_told() -> None:
    assert told("lab", "hostile", "--seed", "8")["figures"][0]["value"] == "8 %"
    found = told("lab", "hostile")
    assert (found["experiment"], found["seed"], found["figures"][0]["value"]) == ("hostile", None, "5 %")
    assert [len(found[part]) for part in ("tables", "pictures", "sentences")] == [1, 2, 3]
    assert "never of the noise" in " ".join(run("lab", "hostile", "--help").stdout.split())


@pytest.mark.parametrize("seed", ["-1", "x", "1.5", str(2**63)])
def test_a_seed_is_a_whole_number(seed: str) -> None:
    run("lab", "hostile", "--seed", seed, code=2)


def test_it_is_written_as_a_page_pictures_and_json() -> None:
    for name in ("one.html", "one.svg", "one.json"):
        assert f"written to {name}" in run("lab", "hostile", "--out", name).stdout
    assert json.loads(Path("one.json").read_text(encoding="utf-8"))["title"].startswith("A title")
    assert all(Path(name).read_text(encoding="utf-8").startswith("<svg") for name in ("one.svg", "one-2.svg"))
    assert sorted(path.name for path in Path().iterdir()) == ["one-2.svg", "one.html", "one.json", "one.svg"]
    assert_harmless(Path("one.html").read_text(encoding="utf-8"))


def test_all_are_written_to_one_page() -> None:
    shown = run("lab", "all", "--out", "report.html", "--seed", "3").stdout
    assert re.search(r"^1 experiments? in \d+ s; page: report\.html$", shown, re.MULTILINE)
    page = Path("report.html").read_text(encoding="utf-8")
    assert_harmless(page)
    assert page.count("<svg") == 2
    assert '<a href="#hostile">' in page
    assert '<section id="hostile">' in page
    assert "Seed of the dummy data: 3" in page
    assert "discreet lab hostile --seed 3" in page


def assert_harmless(page: str) -> None:
    """One page that loads nothing and runs nothing, whatever its texts are; what has a name has it alone."""
    assert "<script" not in page
    assert not re.search(r"https?:|\x1b|\u202e", page)
    assert "default-src 'none'" in page
    names = re.findall(r'\sid="([^"]*)"', page)
    assert len(names) == len(set(names)) > 2
    assert set(re.findall(r"url\(#([^)]*)\)", page)) <= set(names)


@pytest.mark.parametrize("out", ["picture.png", "picture", "nowhere/picture.svg", "."])
def test_what_cannot_be_written_is_said_before_the_work(out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: Any) -> Outcome:
        raise AssertionError("began to work")

    made = Experiment("hostile", "title", ("003",), "teaser", fails)
    monkeypatch.setitem(EXPERIMENTS, "hostile", made)
    for name in ("hostile", "all"):
        assert "began" not in run("lab", name, "--out", out, code=2).output


def test_unknown_experiments_and_missing_extras_are_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No such command 'nothing'" in run("lab", "nothing", code=2).output

    def lacks(**_: Any) -> Outcome:
        raise ModuleNotFoundError("No module named 'scipy'")

    made = Experiment("hostile", "title", ("003",), "teaser", lacks)
    monkeypatch.setitem(EXPERIMENTS, "hostile", made)
    assert "discreet[learn,plot]" in run("lab", "hostile", code=2).output


def test_without_what_draws_pictures_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    assert "discreet[plot]" in run("lab", "hostile", "--out", "one.svg", code=2).output
    run("lab", "hostile", "--out", "one.html")
    page = Path("one.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "A point" in page
    assert "extra “plot”" in page


def test_sentences_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("lab", "hostile").stdout
    assert max(map(len, shown[shown.index("1. First") :].splitlines())) <= 60  # one word of it is longer than 40


def test_listing_waits_for_nothing_heavy() -> None:
    program = (
        "import sys; from discreet.cli.lab import lab; lab(['--help'], standalone_mode=False); "
        "print('modules', *sys.modules, file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr.split()
    assert "discreet.lab.experiments" in shown
    assert not {"numpy", "scipy", "sklearn", "altair", "duckdb"} & set(shown)
