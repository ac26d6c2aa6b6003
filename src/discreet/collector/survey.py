"""A survey as a value: what is asked, and how each answer is randomised before it leaves the person's device.

All of it follows from its document: a client that has it builds every mechanism itself, from name, size and ε, and
takes no probabilities from anybody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from discreet.errors import Refused
from discreet.local import (
    MECHANISMS,
    FrequencyMechanism,
    MeanMechanism,
    Mechanism,
    TwoCoins,
    best,
    best_mean,
)
from discreet.printing import printable

VERSION: Final = 1
YES_NO: Final = ("yes", "no")
KINDS: Final = ("yes-no", "choice", "number")
FREQUENCIES: Final = {kind.name: kind for kind in MECHANISMS.values() if issubclass(kind, FrequencyMechanism)}
MEANS: Final = {kind.name: kind for kind in MECHANISMS.values() if issubclass(kind, MeanMechanism)}


def mechanisms_of(kind: str) -> Mapping[str, type[Mechanism]]:
    """Those that can randomise answers to questions of this kind, by name."""
    named: dict[str, type[Mechanism]] = {**(MEANS if kind == "number" else FREQUENCIES)}
    if kind == "choice":
        del named[TwoCoins.name]  # it is of two answers
    return named


@dataclass(frozen=True)
class Question:
    """One question, its possible answers, and the mechanism that randomises them."""

    id: str
    text: str
    kind: str
    choices: tuple[str, ...]
    """Possible answers; none for numbers."""
    bounds: tuple[Fraction, Fraction] | None
    """Of numbers."""
    mechanism: Mechanism

    @cached_property
    def document(self) -> dict[str, Any]:
        """As JSON holds it. Of the mechanism it has the name and ε: everything else follows."""
        said: dict[str, Any] = {"id": self.id, "text": self.text, "kind": self.kind}
        if self.kind == "choice":
            said["choices"] = list(self.choices)
        if self.bounds is not None:
            said["min"], said["max"] = map(float, self.bounds)
        return {**said, "mechanism": self.mechanism.name, "epsilon": float(self.mechanism.epsilon)}

    @property
    def epsilon(self) -> Fraction:
        return self.mechanism.epsilon

    @cached_property
    def fingerprint(self) -> str:
        """Of the question with its mechanism: reports that a device remembers are of this."""
        return _digest(self.document)

    def value(self, answer: object) -> int | float:
        """The element of the mechanism's domain that an answer is; refused before anything is drawn."""
        if self.bounds is not None:
            low, high = map(float, self.bounds)
            if isinstance(answer, int | float) and not isinstance(answer, bool) and low <= answer <= high:
                return answer
            raise self._not_one(f"a number from {low:g} to {high:g}")
        if self.kind == "yes-no" and isinstance(answer, bool):
            return 0 if answer else 1
        if isinstance(answer, str) and answer in self.choices:
            return self.choices.index(answer)
        raise self._not_one(f"one of: {', '.join(map(printable, self.choices))}")

    def _not_one(self, allowed: str) -> Refused:
        return Refused("answer-invalid", f"{self.id}: this is no answer to the question; nothing was sent", allowed)

    @property
    def meaning(self) -> str:
        """What a report says of a person, in a sentence."""
        mechanism = self.mechanism
        if isinstance(mechanism, FrequencyMechanism):
            own, other = (f"{100 * float(share):.3g}" for share in (mechanism.truth, mechanism.lie))
            return (
                f"A report speaks for an answer in {own} of 100 cases where that is the true one, "
                f"and in {other} of 100 where it is not."
            )
        return (
            f"A report is at most {float(mechanism.ratio):.3g} times as likely for one number as for any other; "
            "only the average of many says something."
        )


@dataclass(frozen=True)
class Survey:
    """All questions, and what holds for all of them."""

    title: str
    introduction: str
    questions: tuple[Question, ...]
    round: str
    """Which repetition of a survey this is."""
    longitudinal: bool
    """Whether a device sends the same report in later rounds as long as the answer is the same."""
    invitations: bool
    """Whether a report needs an invitation, which counts once."""
    is_open: bool
    """Whether everybody may see the estimates."""
    closes: date | None
    """The last day on which reports are accepted, in UTC."""

    @cached_property
    def content(self) -> dict[str, Any]:
        """What people are asked and how their answers are randomised, as JSON holds it."""
        return {
            "version": VERSION,
            "title": self.title,
            "introduction": self.introduction,
            "round": self.round,
            "longitudinal": self.longitudinal,
            "questions": [question.document for question in self.questions],
        }

    @cached_property
    def fingerprint(self) -> str:
        """Of what is asked: a survey that was changed has another. Dates and access may change."""
        return _digest(self.content)

    @property
    def epsilon(self) -> Fraction:
        """Of one person's reports together: those for all questions compose."""
        return sum((question.epsilon for question in self.questions), Fraction(0))

    @property
    def document(self) -> dict[str, Any]:
        """What clients get: with parameters for those that cannot compute them, and check them."""
        return {
            "survey": self.content,
            "fingerprint": self.fingerprint,
            "epsilon": float(self.epsilon),
            "invitations": self.invitations,
            "closes": None if self.closes is None else self.closes.isoformat(),
            "parameters": {question.id: question.mechanism.parameters() for question in self.questions},
            "memory": {question.id: question.fingerprint for question in self.questions} if self.longitudinal else {},
        }

    def is_closed(self, today: date) -> bool:
        return self.closes is not None and today > self.closes


def mechanism_of(kind: str, name: str | None, epsilon: Fraction, size: int, bounds: Any) -> Mechanism:
    """The mechanism of this name, or the best one; ValueError where there is none."""
    if name is None:
        return best_mean(bounds, epsilon) if kind == "number" else best(size, epsilon)
    if name == TwoCoins.name:
        return TwoCoins()
    made: Any = mechanisms_of(kind)[name]
    mechanism: Mechanism = made(bounds, epsilon) if kind == "number" else made(size, epsilon)
    return mechanism


def _digest(document: Mapping[str, Any]) -> str:
    said = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(said.encode("ascii")).hexdigest()
