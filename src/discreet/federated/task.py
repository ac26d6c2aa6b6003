"""What is trained, on which columns, and how: the public part of a training, beside its plan.

A file in TOML says it, for `discreet federated coordinator`:

    clients = 20
    rounds = 30
    epsilon = 3
    delta = 1e-5
    noise = "distributed"
    model = "logistic"
    target = "ill"
    [features]
    age = { min = 0, max = 110 }
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from discreet.errors import Refused
from discreet.federated.encoding import Floats
from discreet.federated.models import KINDS, Model, TwoLayer
from discreet.federated.plan import COORDINATOR, MODELS, Plan, demand

COST: Final = ("epsilon", "sigma")
AGAINST: Final = {"models": MODELS, "coordinator": COORDINATOR}
MOST_FEATURES: Final = 10_000
MOST_HIDDEN: Final = 1_000


class Feature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of every client's rows: values are clamped to its bounds and scaled to −1 … 1."""

    name: str
    min: float
    max: float


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The model, its columns, and how clients and coordinator learn."""

    features: tuple[Feature, ...]
    target: str
    model: str = "logistic"
    hidden: int = 16
    local_steps: int = 1
    local_rate: float = 1.0
    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        demand(self.model in KINDS, f"model must be one of {', '.join(KINDS)}", 'write model = "logistic"')
        names = [feature.name for feature in self.features]
        demand(
            0 < len(set(names)) == len(names) <= MOST_FEATURES and self.target not in names,
            "features have names of their own, and the target is none of them",
            "name each column once",
        )
        demand(
            all(-1e100 < feature.min < feature.max < 1e100 for feature in self.features),
            "a feature has bounds: min below max",
            "write age = { min = 0, max = 110 }",
        )
        demand(1 <= self.hidden <= MOST_HIDDEN, f"hidden must lie between 1 and {MOST_HIDDEN}", "write hidden = 16")
        demand(1 <= self.local_steps <= 10_000, "local_steps must lie between 1 and 10,000", "write local_steps = 1")
        demand(
            0 < self.local_rate <= 1e6 and 0 < self.learning_rate <= 1e6,
            "rates of learning must be above 0",
            "write local_rate = 1.0",
        )

    def made(self) -> Model:
        """The model."""
        width = len(self.features)
        return TwoLayer(width, self.hidden) if self.model == "two-layer" else KINDS[self.model](width)


def read(path: Path) -> tuple[Plan, Task]:
    """The plan and the task that a file describes."""
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise Refused("training-invalid", f"{path.name} is not TOML: {wrong}", "correct that line") from None
    return parsed(document)


def parsed(document: Mapping[str, Any]) -> tuple[Plan, Task]:
    """From the tables of a file. Unknown keys are refused: a typo must not change a guarantee."""
    given = dict(document)
    columns = given.pop("features", {})
    demand(isinstance(columns, dict) and bool(columns), "there are no features", "add [features]")
    settings: dict[str, Any] = {"features": [{"name": name, **_bounds(name, facts)} for name, facts in columns.items()]}
    settings.update({name: given.pop(name) for name in Task.__struct_fields__ if name in given})
    task = converted(settings, Task)
    return _plan(given, task), task


def _bounds(name: str, facts: object) -> dict[str, Any]:
    demand(isinstance(facts, dict), f"{name} has no bounds", f"write {name} = {{ min = 0, max = 1 }}")
    assert isinstance(facts, dict)
    return facts


def _plan(given: dict[str, Any], task: Task) -> Plan:
    against = given.pop("against", "models" if given.get("noise") != "local" else "coordinator")
    known = {field.name: field for field in fields(Plan)}
    wrong = [name for name in given if name not in known and name != "epsilon"]
    demand(not wrong, f"nothing here is called {', '.join(wrong)}", f"keys are {', '.join([*known, 'epsilon'])}")
    demand(sum(name in given for name in COST) == 1, "either epsilon or sigma says the cost", "write epsilon = 3")
    demand(against in AGAINST, 'against is "models" or "coordinator"', 'write against = "models"')
    settings = {**given, "parameters": task.made().size}
    missing = [
        name for name, field in known.items() if field.default is MISSING and name not in settings and name != "sigma"
    ]
    demand(not missing, f"{', '.join(missing)} is missing", f"write {missing[0] if missing else ''} = …")
    if "sigma" in given:
        return Plan(**settings)
    epsilon = settings.pop("epsilon")
    try:
        return Plan.within(epsilon, against=AGAINST[against], **settings)
    except (TypeError, ValueError) as invalid:
        raise Refused("training-invalid", str(invalid), "write epsilon = 3") from None


def converted(value: object, kind: type[Any]) -> Any:
    """A value of this type, or a refusal that says which part is wrong."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as wrong:
        raise Refused("training-invalid", str(wrong), "see docs/guide/23-federated.md") from None


def rows_of(path: Path, task: Task) -> tuple[Floats, Floats]:
    """A client's rows, from a CSV file with a heading: features clamped and scaled. What is no number is the middle."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            listed = list(reader)
            heading = list(reader.fieldnames or ())
    except (UnicodeDecodeError, csv.Error) as wrong:
        raise Refused("training-invalid", f"{path.name} is no CSV file: {wrong}", "save it as CSV") from None
    wanted = [*(feature.name for feature in task.features), task.target]
    missing = [name for name in wanted if name not in heading]
    demand(not missing, f"{path.name} has no column {', '.join(missing)}", f"its columns are {', '.join(heading)}")
    rows = np.array([[_number(row[name]) for name in wanted] for row in listed]).reshape(len(listed), len(wanted))
    labelled = rows[np.isfinite(rows[:, -1])]
    return scaled(labelled[:, :-1], task), _targets(labelled[:, -1], task)


def scaled(rows: Floats, task: Task) -> Floats:
    low, high = (np.array([getattr(feature, end) for feature in task.features]) for end in ("min", "max"))
    middle = (low + high) / 2
    clamped = np.clip(np.where(np.isnan(rows), middle, rows), low, high)
    return np.asarray((clamped - middle) / ((high - low) / 2))


def _targets(values: Floats, task: Task) -> Floats:
    return values if task.model == "linear" else (values > 0).astype(np.float64)


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
