"""A survey while it is collected: submissions come in, are checked and stored, and estimates come out."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, Final

import msgspec

from discreet.collector.estimates import Estimate, Tallies
from discreet.collector.store import NUMBER_BYTES, Store, Submission
from discreet.collector.survey import Survey
from discreet.errors import Refused

MOST_WAITING: Final = 5_000
MOST_TOGETHER: Final = 200
"""Submissions of one transaction."""
HEX: Final = re.compile(r"(?:[0-9a-f]{2})*")
CLIENT: Final = "load the page again, or use a client of this version"


class Sent(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body of a submission."""

    survey: str
    number: str
    reports: dict[str, str]
    invitation: str | None = None


DECODER: Final = msgspec.json.Decoder(Sent)


class Collection:
    """What an application has: the survey and its store."""

    def __init__(self, survey: Survey, store: Store, *, today: Callable[[], date] | None = None) -> None:
        self.survey, self.store = survey, store
        self._today = today or (lambda: datetime.now(UTC).date())
        self._lock = threading.Lock()
        self._tallies = Tallies(survey)
        for question in survey.questions:
            self._tallies.add(question.id, store.reports(question.id))
        self._waiting: list[tuple[Submission, asyncio.Future[bool | Refused]]] = []
        self._writing: asyncio.Task[None] | None = None

    @property
    def is_closed(self) -> bool:
        return self.survey.is_closed(self._today())

    def estimates(self) -> tuple[Estimate, ...]:
        with self._lock:
            return self._tallies.estimates()

    async def receive(self, body: bytes) -> bool:
        """Take in a submission: stored when this returns. False if it had arrived before. Refusals are counted."""
        try:
            submission = self._checked(body)
            outcome = await self._stored(submission)
            if isinstance(outcome, Refused):
                raise outcome
        except Refused as refusal:
            self.store.refuse(refusal.code)
            raise
        return outcome

    def _checked(self, body: bytes) -> Submission:
        """The submission of a body, whose reports are all well formed."""
        try:
            sent = DECODER.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise Refused("body-invalid", "this is no submission to a survey", CLIENT) from None
        if sent.survey != self.survey.fingerprint:
            reason = "the survey was changed, or this report is for another one; nothing was stored"
            raise Refused("survey-changed", reason, "load the page again")
        if self.is_closed:
            raise Refused("survey-closed", "the survey is closed; nothing was stored", "ask who collects it")
        number = _bytes(sent.number)
        if number is None or len(number) != NUMBER_BYTES:
            raise Refused("body-invalid", f"number must be {NUMBER_BYTES} random bytes as hexadecimal digits", CLIENT)
        return Submission(number, self._reports(sent.reports), sent.invitation)

    def _reports(self, sent: dict[str, str]) -> dict[str, bytes]:
        made = {}
        for question in self.survey.questions:
            report = _bytes(sent.get(question.id, ""))
            if report is None or question.mechanism.read([report]).bad:
                reason = f"{question.id}: the report is missing, or none that its mechanism makes; nothing was stored"
                raise Refused("report-invalid", reason, CLIENT)
            made[question.id] = report
        if len(sent) > len(made):
            raise Refused("report-invalid", "there are reports for other questions; nothing was stored", CLIENT)
        return made

    # what arrives at once is stored at once

    async def _stored(self, submission: Submission) -> bool | Refused:
        if len(self._waiting) >= MOST_WAITING:
            raise Refused("busy", "too many reports arrive at once; nothing was stored", "send it again in a moment")
        future: asyncio.Future[bool | Refused] = asyncio.get_running_loop().create_future()
        self._waiting.append((submission, future))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await future

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
            batch.sort(key=lambda each: each[0].number)  # their order says nothing
            submissions = [submission for submission, _ in batch]
            outcomes: list[Any]
            try:
                outcomes = await asyncio.to_thread(self._add, submissions)
            except Exception as wrong:
                outcomes = [wrong] * len(batch)
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if future.done():  # nobody waits any more
                    continue
                if isinstance(outcome, Exception) and not isinstance(outcome, Refused):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)

    def _add(self, submissions: list[Submission]) -> list[bool | Refused]:
        outcomes = self.store.add(submissions)
        with self._lock:
            for submission, outcome in zip(submissions, outcomes, strict=True):
                if outcome is True:
                    for question, report in submission.reports.items():
                        self._tallies.add(question, [report])
        return outcomes


def _bytes(written: str) -> bytes | None:
    """The bytes of hexadecimal digits in small letters: one way to write each."""
    return bytes.fromhex(written) if HEX.fullmatch(written) else None
