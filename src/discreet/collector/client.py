"""Answering a survey from Python: answers are randomised in this process, and only reports are sent.

The collector is not believed. From its survey the client takes the questions, the names of mechanisms and ε; it builds
the mechanisms itself, so that no probability is the collector's. It refuses more ε than its caller allows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import httpx

from discreet.accounting.losses import Pure
from discreet.answers import documents
from discreet.client.http import Connection
from discreet.client.problems import alien
from discreet.collector.reading import from_document
from discreet.collector.survey import Survey
from discreet.errors import Refused
from discreet.exact import Number, epsilon
from discreet.local import Client
from discreet.noise import SYSTEM
from discreet.printing import printable

USUAL_LIMIT: Final = 8
"""ε of all reports of a person together, unless its caller allows more."""


class Respondent:
    """One person at one survey.

    The reports of an answer are drawn once: whoever sends them again sends the same. `memory` is for later rounds of a
    longitudinal survey, and to be stored where only the person can read it.
    """

    def __init__(
        self,
        survey: Survey,
        connection: Connection,
        *,
        invitation: str | None = None,
        memory: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.survey = survey
        self._connection, self._invitation = connection, invitation
        self._number = SYSTEM.bytes(16).hex()
        known = (memory or {}) if survey.longitudinal else {}
        self._clients = {
            question.id: Client(question.mechanism, longitudinal=True, memory=known.get(question.fingerprint))
            for question in survey.questions
        }
        self._sent: dict[str, int | float] | None = None

    @property
    def loss(self) -> Pure:
        """Of all reports that were drawn so far, with those of earlier rounds."""
        losses = [client.loss for client in self._clients.values()]
        return Pure(sum((loss.epsilon for loss in losses), Fraction(0)), relation=losses[0].relation)

    @property
    def memory(self) -> dict[str, dict[str, str]]:
        """What to hand to `fetch` in the next round."""
        return {question.fingerprint: self._clients[question.id].memory for question in self.survey.questions}

    def reports(self, answers: Mapping[str, object]) -> dict[str, bytes]:
        """What would be sent for these answers: one report for each question. Nothing is sent."""
        values = self._values(answers)
        return {name: self._clients[name].report(value) for name, value in values.items()}

    def answer(self, answers: Mapping[str, object]) -> dict[str, bytes]:
        """Send reports for these answers, and give them. Sent again, they are the same, and count once."""
        values = self._values(answers)
        if self._sent not in (None, values):
            raise Refused("answer-invalid", "other answers were sent already", "one person answers once")
        reports, self._sent = self.reports(answers), values
        body: dict[str, Any] = {
            "survey": self.survey.fingerprint,
            "number": self._number,
            "reports": {name: report.hex() for name, report in reports.items()},
        }
        if self.survey.invitations:
            body["invitation"] = self._invitation or ""
        status, answer = self._connection.send("POST", "reports", documents.Stored, json=body)
        if status != 200 or not answer["stored"]:
            raise alien(self._connection.url)
        return reports

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Respondent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        lines = [f"{self.survey.title}: ε {float(self.survey.epsilon):g} for all answers together"]
        for question in self.survey.questions:
            allowed = " | ".join(question.choices)
            if question.bounds is not None:
                allowed = "{:g} to {:g}".format(*map(float, question.bounds))
            lines.append(f"  {question.id}: {question.text} ({allowed}; ε {float(question.epsilon):g})")
        return "\n".join(map(printable, lines[:1])) + "".join(f"\n  {printable(line)}" for line in lines[1:])

    def _values(self, answers: Mapping[str, object]) -> dict[str, int | float]:
        names = [question.id for question in self.survey.questions]
        if set(answers) != set(names):
            fix = f"answer all of: {', '.join(names)}; a gap would say something that is not randomised"
            raise Refused("answer-invalid", "every question needs an answer, and no other has one", fix)
        return {question.id: question.value(answers[question.id]) for question in self.survey.questions}


def fetch(
    url: str,
    *,
    max_epsilon: Number = USUAL_LIMIT,
    invitation: str | None = None,
    memory: Mapping[str, Mapping[str, str]] | None = None,
    ca: str | os.PathLike[str] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Respondent:
    """The survey at this address, to be answered. A link with an invitation behind # may be passed as it is."""
    limit = epsilon(max_epsilon)
    address, _, behind = url.partition("#")
    connection = Connection(address, None, ca=ca, transport=transport)
    try:
        survey = from_document(connection.get("survey", documents.Survey))
        if survey.epsilon > limit:
            reason = (
                f"the survey wants ε {float(survey.epsilon):g}, and max_epsilon is {float(limit):g}; nothing was sent"
            )
            raise Refused("survey-invalid", reason, f"if that is fine: max_epsilon={float(survey.epsilon):g}")
        return Respondent(survey, connection, invitation=invitation or behind or None, memory=memory)
    except BaseException:
        connection.close()
        raise
