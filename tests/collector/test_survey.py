"""Surveys are read strictly, whether from the owner's file or from a collector that nobody believes."""

from __future__ import annotations

import copy
import json
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.collect import EXAMPLE
from discreet.collector import parse, read
from discreet.collector.reading import from_document
from discreet.errors import Refused
from discreet.policy import PolicyError
from tests.collector.running import SURVEY


def problems(text: str) -> str:
    with pytest.raises(PolicyError) as caught:
        parse(text.encode())
    return str(caught.value)


def test_the_example_is_a_survey() -> None:
    survey = parse(EXAMPLE.encode())
    assert [question.id for question in survey.questions] == ["rested", "woken", "hours"]
    assert survey.epsilon == 3
    assert survey.is_open


def test_what_a_survey_has() -> None:
    survey = parse(SURVEY.encode())
    smoker, way, hours = survey.questions
    assert (smoker.mechanism.name, smoker.mechanism.size) == ("k-ary", 2)
    assert (way.choices[2], way.mechanism.size) == ("by bus", 4)
    assert hours.bounds == (Fraction(0), Fraction(12))
    assert survey.epsilon == 3
    assert (survey.longitudinal, survey.invitations) == (False, False)
    assert not survey.is_closed(date(2999, 1, 1))
    assert smoker.value(True) == smoker.value("yes") == 0
    assert "73.1 of 100" in smoker.meaning
    assert "2.72 times" in hours.meaning


@pytest.mark.parametrize("answer", ["maybe", None, 1, ["yes"], {}])
def test_what_is_no_answer_is_refused(answer: object) -> None:
    with pytest.raises(Refused, match="answer-invalid"):
        parse(SURVEY.encode()).questions[0].value(answer)


@pytest.mark.parametrize(
    "answer", ["7", True, -1, 12.01, float("nan"), float("inf"), None, 10**400], ids=lambda answer: str(answer)[:5]
)
def test_what_is_no_number_within_the_bounds_is_refused(answer: object) -> None:
    with pytest.raises(Refused, match="0 to 12"):
        parse(SURVEY.encode()).questions[2].value(answer)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Habits"', "", "title: missing"),
        ('title = "Habits"', 'title = ""', "1 to 200 characters"),
        ('title = "Habits"', 'title = "a\\u0007b"', "control characters"),
        ('title = "Habits"', 'title = "Habits"\ncolour = 1', "colour: unknown key"),
        ("epsilon = 1.0", "epsilon = 9", "is above 8"),
        ("epsilon = 1.0", "epsilon = 0.001", "is below 0.01"),
        ("epsilon = 1.0", "epsilon = nan", "epsilon"),
        ("epsilon = 1.0", 'epsilon = "1"', "must be a number"),
        ("epsilon = 1.0", "epsilon = 8", "ε 24 together"),
        ("epsilon = 1.0", "", "questions.smoker.epsilon: missing"),
        ('estimates = "open"', 'estimates = "all"', "allowed: open, owner"),
        ('estimates = "open"', "estimates = [1]", "allowed: open, owner"),
        ('estimates = "open"', "closes = 2027-01-31T10:00:00", "must be a day"),
        ('estimates = "open"', 'closes = "2027-01-31"', "must be a day"),
        ('kind = "yes-no"', 'kind = "yesno"', "did you mean 'yes-no'"),
        ('kind = "yes-no"', 'kind = "yes-no"\nmin = 1', "does not belong to a question of kind yes-no"),
        ('kind = "yes-no"', 'kind = "yes-no"\nmechanism = "piecewise-mean"', "randomises no yes-no"),
        ('kind = "yes-no"', 'kind = "yes-no"\nmechanism = "two-coins"\nepsilon = 2', "ln 3"),
        ('kind = "yes-no"', 'kind = "yes-no"\nmechanism = 3', "must be a text"),
        ("[questions.smoker]", "[questions.Smoker]", "is no name of a question"),
        ('choices = ["on foot", ', 'choices = ["On Foot", "on foot", ', "all be different"),
        ('choices = ["on foot", "by bicycle", "by bus", "<script>alert(1)</script>"]', "", "choices: missing"),
        ("max = 12", "max = 0", "low < high"),
        ("max = 12", "max = inf", "questions.hours"),
        ("max = 12", "", "max: missing"),
        ("min = 0", "min = true", "must be a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(old: str, new: str, said: str) -> None:
    assert SURVEY.count(old) == 1
    assert said in problems(SURVEY.replace(old, new))


def test_all_problems_are_said_at_once() -> None:
    said = problems(SURVEY.replace("epsilon = 1.0", "epsilon = 99").replace("text", "txt"))
    assert said.count("unknown key") == 3
    assert "is above 8" in said


def test_what_is_no_toml_and_what_is_no_file(tmp_path: Path) -> None:
    assert "not TOML" in problems("title = ")
    with pytest.raises(PolicyError, match="name a survey file"):
        read(tmp_path / "missing.toml")


def test_questions_without_end_are_refused() -> None:
    many = "".join(f'[questions.q{i}]\ntext = "t"\nkind = "yes-no"\n' for i in range(51))
    assert "must be 1 to 50" in problems(f'title = "t"\nepsilon = 0.1\n{many}')


def test_two_coins_have_their_own_epsilon() -> None:
    survey = parse(SURVEY.replace('kind = "yes-no"', 'kind = "yes-no"\nmechanism = "two-coins"').encode())
    assert survey.questions[0].epsilon == Fraction("1.098613")
    assert from_document(survey.document).fingerprint == survey.fingerprint


def test_a_fingerprint_is_of_what_is_asked_and_how_it_is_randomised() -> None:
    same = parse(SURVEY.encode()).fingerprint
    for old, new in (("Habits", "habits"), ("epsilon = 1.0", "epsilon = 1.5"), ("max = 12", "max = 13")):
        assert parse(SURVEY.replace(old, new).encode()).fingerprint != same
    for more in ("closes = 2030-01-01\n", "invitations = true\n"):
        assert parse((more + SURVEY).encode()).fingerprint == same
    assert parse(('round = "two"\n' + SURVEY).encode()).fingerprint != same


def test_questions_keep_their_fingerprint_over_rounds() -> None:
    first, second = (parse(f'round = "{name}"\n{SURVEY}'.encode()) for name in "ab")
    assert [q.fingerprint for q in first.questions] == [q.fingerprint for q in second.questions]


def test_the_document_makes_the_survey_again() -> None:
    survey = parse(SURVEY.encode())
    again = from_document(json.loads(json.dumps(survey.document)))
    assert again.fingerprint == survey.fingerprint
    assert [q.mechanism for q in again.questions] == [q.mechanism for q in survey.questions]


def tampered(path: list[Any], value: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(parse(SURVEY.encode()).document))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["fingerprint"], "0" * 64),
        (["survey"], None),
        (["survey", "version"], 2),
        (["survey", "title"], None),
        (["survey", "title"], "another"),
        (["survey", "questions"], []),
        (["survey", "questions"], [None]),
        (["survey", "questions"], {"a": 1}),
        (["survey", "questions", 0, "epsilon"], 20),
        (["survey", "questions", 0, "epsilon"], None),
        (["survey", "questions", 0, "epsilon"], 1.5),
        (["survey", "questions", 0, "mechanism"], "the-truth"),
        (["survey", "questions", 0, "mechanism"], "heavy-hitters"),
        (["survey", "questions", 0, "id"], "SMOKER"),
        (["survey", "questions", 1, "choices"], ["on foot"]),
        (["survey", "questions", 2, "max"], None),
        (["survey", "longitudinal"], "yes"),
        (["survey", "tracker"], "4711"),
    ],
)
def test_a_collector_that_says_something_else_is_not_believed(path: list[Any], value: Any) -> None:
    with pytest.raises(Refused, match="survey-invalid"):
        from_document(tampered(path, value))


def test_a_collectors_probabilities_are_not_looked_at() -> None:
    survey = parse(SURVEY.encode())
    hostile = copy.deepcopy(survey.document)
    for parameters in hostile["parameters"].values():
        parameters["chance"] = parameters["one"] = parameters["rise"] = 2**53
    assert [q.mechanism for q in from_document(hostile).questions] == [q.mechanism for q in survey.questions]
