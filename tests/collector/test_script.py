"""The page's script: it knows parameters that do not fit their ε, and says in words what Python reads in a report."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from importlib import resources
from typing import Any

import pytest

from discreet.collector.survey import Question, mechanism_of
from discreet.local import FrequencyMechanism
from discreet.local.chances import local_epsilon

NODE = shutil.which("node")
SCRIPT = resources.files("discreet.collector").joinpath("static/survey.js").read_text("utf-8")
CHOICES = ("a", "b", "c", "d", "e")
PROGRAM = """
globalThis.document = { getElementById: () => null };
%s
const told = JSON.parse(require("fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(told.map(([what, ...rest]) => {
  try { return what === "fits" ? fits(...rest) : words(...rest); } catch { return "error"; }
})));
"""


def question(name: str, epsilon: str) -> Question:
    numeric = name.endswith("-mean")
    kind = "number" if numeric else "yes-no" if name == "two-coins" else "choice"
    choices = () if numeric else ("yes", "no") if kind == "yes-no" else CHOICES
    bounds = (0, 10) if numeric else None
    mechanism = mechanism_of(kind, name, local_epsilon(Fraction(epsilon)), len(choices), bounds)
    return Question("q", "t", kind, choices, bounds, mechanism)  # type: ignore[arg-type]


NAMES = (
    *("two-coins", "k-ary", "symmetric-unary", "optimized-unary", "local-hashing", "hadamard", "subset-selection"),
    *("one-bit-mean", "piecewise-mean"),
)
EPSILONS = ("0.01", "0.3", "1", "2.5", "8")


def run(calls: list[Any]) -> list[Any]:
    if NODE is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [NODE, "-e", PROGRAM % SCRIPT], input=json.dumps(calls), capture_output=True, text=True, check=True
    )
    answers: list[Any] = json.loads(done.stdout)
    return answers


def spoilt(each: Question) -> Iterator[list[Any]]:
    """Calls with parameters that do not fit: chances raised, lowered, turned round, and whatever else may be wrong."""
    document, parameters = each.document, each.mechanism.parameters()
    wrong: list[tuple[str, Any]] = [("mechanism", "toString"), ("mechanism", "heavy-hitters"), ("header", "01")]
    wrong.append(("header", parameters["header"][:-2] + "7f"))
    for key in {"chance", "one", "rise"} & parameters.keys():
        now, most = parameters[key], 2**36 if key == "rise" else 2**53
        wrong += [] if key == "rise" else [(key, 1)]
        wrong += [(key, value) for value in (now + max((most - now) // 10**4, 2), most, 2**60, -1, 0.5, "1", None)]
    if "zero" in parameters:
        wrong += [("zero", value) for value in (0, parameters["zero"] // 2, 2**53 - 1)]
    wrong += [("width", value) for value in (1, 2, 64) if parameters["mechanism"] == "hadamard"]
    wrong += [("chosen", value) for value in (5, 6) if "chosen" in parameters]
    wrong += [("low", value) for value in (9.99, None) if "low" in parameters]
    wrong += [(key, 0) for key in ("window", "width", "chosen") if key in parameters]
    wrong += [("size", 4)] if "low" not in parameters else []
    yield from (["fits", document, {**parameters, key: value}] for key, value in wrong)
    yield ["fits", {**document, "epsilon": document["epsilon"] * 0.99}, parameters]
    yield ["fits", document, {key: value for key, value in parameters.items() if key not in ("low", "size")}]


def test_parameters_that_fit_are_accepted_and_others_are_not() -> None:
    asked = [question(name, epsilon) for name in NAMES for epsilon in EPSILONS]
    good = [["fits", each.document, each.mechanism.parameters()] for each in asked]
    bad = [call for each in asked for call in spoilt(each)]
    answers = run(good + bad)
    assert answers[: len(good)] == [True] * len(good)
    assert not [call for call, answer in zip(bad, answers[len(good) :], strict=True) if answer is True]


def said(each: Question, report: bytes) -> str:
    assert isinstance(each.mechanism, FrequencyMechanism)
    spoken = each.mechanism.supports(each.mechanism.read([report]).payloads)[0]
    named = ", ".join(choice for choice, speaks in zip(each.choices, spoken, strict=True) if speaks)
    return f"one of: {named}" if "," in named else named or "none of the answers"


def test_words_name_the_answers_that_a_report_speaks_for() -> None:
    calls, expected = [], []
    for each in (question(name, epsilon) for name in NAMES[:-2] for epsilon in ("0.3", "2.5")):
        for report in (each.mechanism.encode(value % each.mechanism.size) for value in range(20)):
            calls.append(["words", each.document, each.mechanism.parameters(), report.hex()])
            expected.append(said(each, report))
    assert run(calls) == expected


def test_words_of_numbers_say_where_they_lie() -> None:
    asked = [question(name, "8") for name in NAMES[-2:]]
    one, piece = run(
        [["words", each.document, each.mechanism.parameters(), each.mechanism.encode(9.0).hex()] for each in asked]
    )
    assert one in ("rather high", "rather low")
    low, high = map(float, piece.removeprefix("about ").split(" to "))
    assert 0 <= low <= high <= 10
