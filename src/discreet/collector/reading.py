"""Reading surveys: the owner's TOML file, and the document that a collector sends to clients, by the same rules.

As with policies, all problems of a file are found at once, and there is no survey before there is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from discreet.collector.survey import KINDS, VERSION, YES_NO, Question, Survey, mechanism_of, mechanisms_of
from discreet.errors import Refused
from discreet.exact import interval
from discreet.local import TwoCoins
from discreet.policy.document import content, document, label
from discreet.policy.problems import Finding, PolicyError, choices, noun
from discreet.policy.section import Field, RuleError, Section, anything, flag, number

MOST_QUESTIONS: Final = 50
MOST_CHOICES: Final = 500
MOST_EPSILON: Final = 8
"""For one question: beyond it nearly every report is the truth."""
MOST_TOGETHER: Final = 20
LEAST_EPSILON: Final = Fraction(1, 100)
MAX_LENGTH: Final = {"text": 500, "title": 200, "introduction": 4000, "round": 100, "choice": 200}
USUAL: Final = "write a number such as 1.0: usual values are 0.5 to 4"
ID: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
OPEN: Final = {"open": True, "owner": False}


def _text(what: str) -> Any:
    def rule(value: object) -> str:
        if not isinstance(value, str):
            raise RuleError(f"must be a text, not {noun(value)}", "put it in quotes")
        allowed = value.replace("\n", "") if what == "introduction" else value
        if not value.strip() or not allowed.isprintable() or len(value) > MAX_LENGTH[what]:
            raise RuleError(f"must be a text of 1 to {MAX_LENGTH[what]} characters, without control characters")
        return value.strip()

    return rule


def _epsilon(value: object) -> Fraction:
    exact = number(value)
    if exact > MOST_EPSILON:
        raise RuleError(f"is above {MOST_EPSILON}: nearly every report would be the truth", USUAL)
    if exact < LEAST_EPSILON:
        raise RuleError("is below 0.01: reports would say nothing", USUAL)
    return exact


def _kind(value: object) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise RuleError("is no kind of question", choices(str(value), KINDS))
    return value


def _choices(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise RuleError("must be a list of texts", 'write choices = ["by bus", "by bicycle"]')
    made = tuple(map(_text("choice"), value))
    if not 2 <= len(made) <= MOST_CHOICES:
        raise RuleError(f"must have 2 to {MOST_CHOICES} members")
    if len({each.casefold() for each in made}) < len(made):
        raise RuleError("must all be different, not only in case")
    return made


def _date(value: object) -> date:
    if isinstance(value, datetime) or not isinstance(value, date):
        raise RuleError("must be a day", "write it as closes = 2027-01-31, without quotes")
    return value


def _open(value: object) -> bool:
    if not isinstance(value, str) or value not in OPEN:
        raise RuleError("is for nobody", choices(str(value), OPEN))
    return OPEN[value]


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise RuleError(f"must be a text, not {noun(value)}", "put it in quotes")
    return value


SURVEY: Final[Mapping[str, Field]] = {
    "title": Field(_text("title"), needed='add title = "How we come to work"'),
    "introduction": Field(_text("introduction")),
    "epsilon": Field(_epsilon),
    "estimates": Field(_open),
    "closes": Field(_date),
    "round": Field(_text("round")),
    "longitudinal": Field(flag),
    "invitations": Field(flag),
    "questions": Field(anything, needed="add [questions.NAME] with a text and a kind"),
}
QUESTION: Final[Mapping[str, Field]] = {
    "text": Field(_text("text"), needed='add text = "Do you smoke?"'),
    "kind": Field(_kind, needed=f"add kind, one of: {', '.join(KINDS)}"),
    "choices": Field(_choices),
    "min": Field(number),
    "max": Field(number),
    "epsilon": Field(_epsilon),
    "mechanism": Field(_name),
}
FITTING: Final = {"choice": {"choices"}, "number": {"min", "max"}, "yes-no": set[str]()}
"""What a kind of question needs; others must not have it."""


def read(path: Path) -> Survey:
    """The survey in this file; an error with all its problems if it cannot be used."""
    return parse(content(path, "survey"), label(path))


def parse(data: bytes, name: str = "survey") -> Survey:
    """The survey in this text of TOML; a `PolicyError` with all its problems if it cannot be used."""
    raw = document(data)
    if isinstance(raw, Finding):
        raise PolicyError(name, [raw])
    section = Section([])
    made = _survey(section, raw)
    if section.problems:
        raise PolicyError(name, section.problems)
    assert made is not None
    return made


def _survey(section: Section, raw: Mapping[str, Any]) -> Survey | None:
    top = section.fields(raw, SURVEY)
    questions = _questions(section.at("questions"), top["questions"], top.get("epsilon")) if "questions" in top else ()
    total = sum((question.epsilon for question in questions), Fraction(0))
    if total > MOST_TOGETHER:
        fix = "ask less, or with a smaller ε: a person's reports add up"
        section.report(f"the questions have ε {float(total):g} together, which is above {MOST_TOGETHER}", fix)
    if section.problems:
        return None
    return Survey(
        title=top["title"],
        introduction=top.get("introduction", ""),
        questions=questions,
        round=top.get("round", ""),
        longitudinal=top.get("longitudinal", False),
        invitations=top.get("invitations", False),
        is_open=top.get("estimates", False),
        closes=top.get("closes"),
    )


def _questions(section: Section, raw: object, usual: Fraction | None) -> tuple[Question, ...]:
    named = section.table(raw)
    if isinstance(raw, dict) and not 1 <= len(named) <= MOST_QUESTIONS:
        section.report(f"must be 1 to {MOST_QUESTIONS}")
    made = [_question(section.at(name), name, value, usual) for name, value in named.items()]
    return tuple(each for each in made if each is not None)


def _question(section: Section, name: str, raw: object, usual: Fraction | None) -> Question | None:
    before = len(section.problems)
    if not ID.fullmatch(name):
        section.report("is no name of a question", "use up to 40 small letters, digits, _ and -, a letter first")
    given = section.fields(raw, QUESTION)
    kind = given.get("kind")
    if kind is not None:
        _demand_fitting(section, kind, given)
    if len(section.problems) > before:
        return None
    assert kind is not None
    return _made(section, name, given, usual)


def _demand_fitting(section: Section, kind: str, given: Mapping[str, Any]) -> None:
    for key in sorted({"choices", "min", "max"} & given.keys() - FITTING[kind]):
        section.at(key).report(f"does not belong to a question of kind {kind}", "leave it out, or change the kind")
    for key in sorted(FITTING[kind] - given.keys()):
        section.at(key).report("missing", f"a question of kind {kind} needs {' and '.join(sorted(FITTING[kind]))}")
    allowed = mechanisms_of(kind)
    if given.get("mechanism", next(iter(allowed))) not in allowed:
        section.at("mechanism").report(f"randomises no {kind}", choices(given["mechanism"], allowed))


def _made(section: Section, name: str, given: Mapping[str, Any], usual: Fraction | None) -> Question | None:
    kind, mechanism = given["kind"], given.get("mechanism")
    epsilon = given.get("epsilon", usual)
    if mechanism == TwoCoins.name:
        if given.get("epsilon") not in (None, TwoCoins().epsilon):
            section.at("epsilon").report("two coins have ε = ln 3 and no other", "leave it out")
            return None
        epsilon = TwoCoins().epsilon
    if epsilon is None:
        section.at("epsilon").report("missing", "add epsilon = 1.0 here, or above for all questions")
        return None
    listed = YES_NO if kind == "yes-no" else given.get("choices", ())
    try:
        bounds = interval((given["min"], given["max"])) if kind == "number" else None
        randomiser = mechanism_of(kind, mechanism, epsilon, len(listed), bounds)
    except ValueError as wrong:
        section.report(str(wrong), "write min below max" if kind == "number" else "choose another mechanism")
        return None
    return Question(name, given["text"], kind, tuple(listed), bounds, randomiser)


def from_document(sent: Mapping[str, Any]) -> Survey:
    """The survey that a collector describes. Nothing of it is believed: it is read by the rules of a file, its
    mechanisms are built here, and it must have the fingerprint that it says."""
    wording, fingerprint = sent.get("survey"), sent.get("fingerprint")
    if not isinstance(wording, dict) or wording.get("version") != VERSION:
        raise _strange("it is not a survey of this version")
    listed = wording.get("questions")
    questions = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    plain: dict[str, Any] = {key: value for key, value in wording.items() if key not in ("version", "questions")}
    raw = {key: value for key, value in plain.items() if value != "" or key == "title"}
    raw["questions"] = {
        str(each.get("id")): {key: value for key, value in each.items() if key != "id"} for each in questions
    }
    if isinstance(sent.get("invitations"), bool):
        raw["invitations"] = sent["invitations"]
    section = Section([])
    try:
        made = _survey(section, raw)
    except KeyError:  # values that no TOML has, such as null
        raise _strange("it holds values that no survey has") from None
    if made is None:
        raise _strange(str(section.problems[0]))
    if made.content != wording or made.fingerprint != fingerprint:
        raise _strange("its fingerprint is not that of what it asks")
    return made


def _strange(why: str) -> Refused:
    return Refused("survey-invalid", f"the collector's survey is not believed: {why}", "ask who collects it")
