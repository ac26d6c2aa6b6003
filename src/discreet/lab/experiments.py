"""All experiments, in the order in which they are read; each is imported when it runs.

To add one: a module of this package with `run(seed=…)`, and a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from discreet.lab.experiment import Experiment, Outcome, Setting


def _in(module: str) -> Callable[..., Outcome]:
    """The `run` of a module that is imported when it is called: scipy and altair are heavy."""

    def run(**settings: Any) -> Outcome:
        outcome: Outcome = import_module(f"discreet.lab.{module}").run(**settings)
        return outcome

    return run


_ALL: Final[tuple[Experiment, ...]] = (
    Experiment(
        "linkage",
        "The governor's illness",
        ("000", "003"),
        "Names deleted, and yet: birth date, sex and ZIP code lead to one man.",
        _in("linkage"),
    ),
    Experiment(
        "ratings",
        "A few films are as good as a name",
        ("003",),
        "People without names are found again from a handful of ratings that they posted elsewhere.",
        _in("ratings"),
    ),
    Experiment(
        "k-anonymity",
        "Hidden in a crowd, and yet",
        ("000", "001", "003"),
        "k-anonymity, l-diversity and t-closeness, and the attacks that each of them leaves.",
        _in("anonymity"),
    ),
    Experiment(
        "membership",
        "Was she in the training data?",
        ("003",),
        "Models remember whom they were trained on, unless noise keeps them from it.",
        _in("membership"),
    ),
    Experiment(
        "inversion",
        "What does a model say of my genes?",
        ("003",),
        "A dose and a model give a gene away; how much of that would be known without you?",
        _in("inversion"),
    ),
    Experiment(
        "attributes",
        "Are synthetic rows anonymous?",
        ("003",),
        "Who knows all but one thing about you looks for rows like you, in copies and in synthetic data.",
        _in("attributes"),
    ),
    Experiment(
        "averaging",
        "Asking again and again",
        ("003",),
        "Ten thousand noisy answers average to the truth, unless a ledger counts them.",
        _in("averaging"),
    ),
    Experiment(
        "differencing",
        "Everybody less everybody but one",
        ("003",),
        "Two harmless counts differ by Alice's secret.",
        _in("differencing"),
    ),
    Experiment(
        "reconstruction",
        "Counts are equations",
        ("003",),
        "Enough counts that are accurate enough give away nearly every bit of a database.",
        _in("reconstruction"),
    ),
    Experiment(
        "census",
        "A block from its tables",
        ("003",),
        "Published tables of a few neighbours are a puzzle with one solution, or a few.",
        _in("census"),
    ),
    Experiment(
        "posterior",
        "What an attacker can believe",
        ("000", "002"),
        "What ε means in odds: prior and posterior, after one answer and after many.",
        _in("posterior"),
        (
            Setting("prior", 0.1, "What the attacker believes before: that you are in the data."),
            Setting("epsilon", 1.0, "The ε of each answer."),
            Setting("delta", 0.0, "Its δ, if it has one."),
            Setting("answers", 1, "How many answers."),
            Setting("people", 1, "The size of the group that the suspicion is about."),
        ),
    ),
)
EXPERIMENTS: Final[Mapping[str, Experiment]] = {each.name: each for each in _ALL}
