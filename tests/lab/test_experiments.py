"""The registry of experiments: each can be found, imported, and told apart."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from discreet.cli.lab import COMMANDS
from discreet.lab import experiments
from discreet.lab.experiments import EXPERIMENTS
from discreet.lab.lectures import LECTURES
from tests.cli.runs import run
from tests.cli.test_lab import assert_harmless


def test_every_experiment_says_what_it_is() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name == name.strip().lower()
        assert experiment.title
        assert experiment.teaser.endswith((".", "?", "!"))
        assert experiment.lectures
        assert set(experiment.lectures) <= set(LECTURES)
    assert not set(EXPERIMENTS) & set(COMMANDS)
    assert len({experiment.title for experiment in EXPERIMENTS.values()}) == len(EXPERIMENTS)


def test_every_experiment_has_a_module_that_runs() -> None:
    """Without importing it: that is done where it is tested."""
    folder = Path(experiments.__file__).parent
    tree = ast.parse(Path(experiments.__file__).read_text(encoding="utf-8"))
    modules = [
        ast.literal_eval(call.args[0])
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "_in"
    ]
    assert len(modules) == len(EXPERIMENTS)
    for module in modules:
        body = ast.parse((folder / f"{module}.py").read_text(encoding="utf-8")).body
        (run,) = (each for each in body if isinstance(each, ast.FunctionDef) and each.name == "run")
        assert [argument.arg for argument in run.args.args] == ["seed"], module
        assert len(run.args.defaults) == 1, module


SMALL = {
    "membership": {"PEOPLE": 60, "SHADOWS": 6, "TARGETS": 2, "CANARIES": 200},
    "inversion": {"PATIENTS": 100, "MODELS": 2},
    "attributes": {"PEOPLE": 60, "TABLES": 2},
}


@pytest.mark.parametrize("name", SMALL)
def test_outcomes_are_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On little data, where some things are not found: no cell is missing, and pictures can be drawn."""
    for constant, value in SMALL[name].items():
        monkeypatch.setattr(import_module(f"discreet.lab.{name}"), constant, value)
    outcome = EXPERIMENTS[name].run(seed=2)
    assert len(outcome.figures.items) == 4
    assert all(outcome.sentences)
    assert len(set(outcome.sentences)) == 3
    assert "ε" in outcome.guarantee
    for table in outcome.tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    for picture in outcome.pictures:
        assert picture.chart().to_dict()["title"]
    text = repr(outcome.document())
    assert "nan" not in text
    assert "inf " not in text


@pytest.mark.slow
def test_all_of_them_are_one_harmless_page(tmp_path: Path) -> None:
    run("lab", "all", "--out", tmp_path / "report.html", "--seed", "4")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert_harmless(page)
    assert page.count("<section") == len(EXPERIMENTS)
    assert page.count("<svg") >= len(EXPERIMENTS)
