"""The registry of experiments: each can be found, imported, and told apart."""

from __future__ import annotations

import ast
from pathlib import Path

from discreet.cli.lab import COMMANDS
from discreet.lab import experiments
from discreet.lab.experiments import EXPERIMENTS
from discreet.lab.lectures import LECTURES


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
