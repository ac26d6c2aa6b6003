"""Answering from Python: what leaves the process is a report, whatever the collector would like to have."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import httpx
import pytest
from scipy import stats

from discreet.client import Unreachable
from discreet.collector import Respondent, Survey, fetch, parse
from discreet.errors import Refused
from tests.collector.running import ANSWERS, SURVEY

URL = "http://127.0.0.1:8010"
MANY = "\n".join(
    ['title = "t"', "epsilon = 0.1", *(f'[questions.q{i}]\ntext = "t"\nkind = "yes-no"' for i in range(50))]
)


class Collector(httpx.BaseTransport):
    """A collector that writes down what it gets, and may say anything."""

    def __init__(
        self, survey: Survey, document: dict[str, Any] | None = None, answers: list[Any] | None = None
    ) -> None:
        self.document = document or json.loads(json.dumps(survey.document))
        self.answers = answers or []
        self.got: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.got.append(request)
        if request.method == "GET":
            return httpx.Response(200, json=self.document)
        request.read()
        answer = self.answers.pop(0) if self.answers else {"stored": True, "again": False}
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(200, json=answer)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.got if request.method == "POST"]


def respondent(collector: Collector, **more: Any) -> Respondent:
    return fetch(URL, transport=collector, **more)


ASKED = parse(SURVEY.encode())


def test_what_is_sent_are_reports() -> None:
    collector = Collector(ASKED)
    with respondent(collector) as me:
        assert "ε 3 for all answers" in str(me)
        sent = me.answer(ANSWERS)
    (body,) = collector.bodies
    assert set(body) == {"survey", "number", "reports"}
    assert body["reports"] == {name: report.hex() for name, report in sent.items()}
    for question in ASKED.questions:
        assert not question.mechanism.read([sent[question.id]]).bad
    assert me.loss.epsilon == 3


def test_reports_follow_the_channel_and_nothing_else_differs() -> None:
    """False alarms: 2e-7 for each of two true answers."""
    asked = parse(MANY.encode())
    seen: dict[bool, Counter[bytes]] = {True: Counter(), False: Counter()}
    heads = set()
    for truth in (True, False):
        for _ in range(20):
            collector = Collector(asked)
            with respondent(collector) as me:
                sent = me.answer({question.id: truth for question in asked.questions})
            seen[truth].update(report[-4:] for report in sent.values())
            for request in collector.got:
                body = json.loads(request.content or b"{}")
                fixed = {**body, "number": len(body.get("number", "")), "reports": [*body.get("reports", {})]}
                lengths = {len(report) for report in body.get("reports", {}).values()}
                heads.add((request.method, str(request.url), str(request.headers), str(fixed), str(lengths)))
    assert len(heads) == 2  # the survey is fetched, reports are sent
    truthful = float(asked.questions[0].mechanism.truth)  # type: ignore[attr-defined]
    for truth, name in ((True, bytes(4)), (False, b"\1\0\0\0")):
        assert stats.binomtest(seen[truth][name], 1000, truthful).pvalue > 2e-7


def test_a_collector_cannot_choose_probabilities() -> None:
    """It says that its mechanisms tell the truth always; reports are randomised as ε says. False alarms: 1e-20."""
    asked = parse(MANY.encode())
    hostile = json.loads(json.dumps(asked.document))
    for parameters in hostile["parameters"].values():
        parameters["chance"] = 2**53
    told = []
    for _ in range(4):
        with respondent(Collector(asked, hostile)) as me:
            told += [report[-4:] for report in me.reports({q.id: True for q in asked.questions}).values()]
    assert 40 < told.count(bytes(4)) < 160


@pytest.mark.parametrize(
    "changed",
    [
        {"survey": {**ASKED.content, "questions": [{**ASKED.content["questions"][0], "epsilon": 8.0}]}},
        {"fingerprint": "0" * 64},
        {"survey": None},
        {"survey": {}},
    ],
)
def test_a_survey_that_does_not_fit_its_fingerprint_gets_nothing(changed: dict[str, Any]) -> None:
    collector = Collector(ASKED, {**ASKED.document, **changed})
    with pytest.raises(Refused, match="survey-invalid"):
        respondent(collector)
    assert not collector.bodies


def test_more_epsilon_than_is_allowed_gets_nothing() -> None:
    collector = Collector(ASKED)
    with pytest.raises(Refused, match="max_epsilon=3"):
        respondent(collector, max_epsilon=2.5)
    with pytest.raises(Refused, match="max_epsilon is 8"):
        respondent(Collector(parse(SURVEY.replace("epsilon = 1.0", "epsilon = 4").encode())))
    respondent(collector, max_epsilon=3).close()


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"smoker": True, "way": "by bus"},
        {**ANSWERS, "more": 1},
        {**ANSWERS, "way": "by rocket"},
        {**ANSWERS, "hours": 13},
    ],
)
def test_answers_that_do_not_fit_are_refused_before_anything_is_sent(answers: dict[str, Any]) -> None:
    collector = Collector(ASKED)
    with respondent(collector) as me, pytest.raises(Refused, match="answer-invalid"):
        me.answer(answers)
    assert not collector.bodies
    assert me.loss.epsilon == 0


def test_sent_again_it_is_the_same_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that breaks must not cost a second report."""
    monkeypatch.setattr("discreet.client.http.FIRST_PAUSE", 0.0)
    collector = Collector(ASKED, answers=[httpx.ReadError("cut"), httpx.ReadError("cut")])
    with respondent(collector) as me:
        me.answer(ANSWERS)
        me.answer(ANSWERS)
        with pytest.raises(Refused, match="answers once"):
            me.answer({**ANSWERS, "smoker": False})
        assert me.loss.epsilon == 3
    bodies = collector.bodies
    assert len(bodies) == 4
    assert all(body == bodies[0] for body in bodies)


def test_a_collector_that_stored_nothing_is_not_believed() -> None:
    answers: list[Any] = [{"stored": False}, {}, [], "stored"]
    for answer in answers:
        with respondent(Collector(ASKED, answers=[answer])) as me, pytest.raises(Unreachable):
            me.answer(ANSWERS)


def test_rounds_of_a_longitudinal_survey_repeat_reports() -> None:
    rounds = [parse(f'longitudinal = true\nround = "{name}"\n{SURVEY}'.encode()) for name in "ab"]
    with respondent(Collector(rounds[0])) as me:
        first = me.answer(ANSWERS)
    with respondent(Collector(rounds[1]), memory=me.memory) as again:
        assert again.answer(ANSWERS) == first
        assert again.loss.epsilon == 3
    with respondent(Collector(rounds[1]), memory=me.memory) as changed:
        later = changed.answer({**ANSWERS, "hours": 1})
        assert {name for name in first if first[name] == later[name]} >= {"smoker", "way"}
        assert changed.loss.epsilon == 4
    plain = parse(SURVEY.encode())
    with respondent(Collector(plain), memory=me.memory) as fresh:
        assert fresh.loss.epsilon == 0


def test_a_link_carries_the_invitation_and_it_is_not_in_the_address() -> None:
    invited = parse(f"invitations = true\n{SURVEY}".encode())
    collector = Collector(invited)
    with fetch(f"{URL}/#{'ab' * 16}", transport=collector) as me:
        me.answer(ANSWERS)
    assert collector.bodies[0]["invitation"] == "ab" * 16
    assert not any("abab" in str(request.url) for request in collector.got)


def test_without_invitations_none_is_sent() -> None:
    collector = Collector(ASKED)
    with fetch(f"{URL}/#{'ab' * 16}", transport=collector) as me:
        me.answer(ANSWERS)
    assert "abab" not in json.dumps(collector.bodies)


def test_terminals_are_not_steered() -> None:
    hostile = json.loads(json.dumps(ASKED.document))
    hostile["survey"]["title"] = "a\x1b[2Jb"
    with pytest.raises(Refused) as caught:
        respondent(Collector(ASKED, hostile))
    assert "\x1b" not in str(caught.value)
