"""What reports say about everybody together: estimates whose intervals hold all at once, as tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.answers.layout import percent
from discreet.answers.plots import panel_chart
from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.panels import Axis, Panel
from discreet.answers.plots.points import record_of
from discreet.collector.survey import Question, Survey
from discreet.local import FrequencyMechanism, MeanMechanism, Tally
from discreet.printing import csv_text, printable

if TYPE_CHECKING:
    from altair.typing import ChartType

CONFIDENCE: Final = 0.95
COLUMNS: Final = ("question", "answer", "estimate", "low", "high", "reports")
MOST_WAITING: Final = 2**12
"""Reports for a question that are added up together: whoever sends many makes no memory grow."""
MOST_DRAWN: Final = 40
SHARE: Final = "share of people"
MEAN: Final = "mean"


@dataclass(frozen=True, slots=True)
class Row:
    """An answer's share of people, or the mean of numbers, with its interval."""

    answer: str
    value: float
    """Without bias: with few reports it may lie where no share or number can."""
    low: float
    high: float

    @property
    def shown(self) -> float:
        """The nearest that is possible."""
        return min(max(self.value, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the reports for one question say."""

    question: Question
    rows: tuple[Row, ...]
    """None where there are no reports yet."""
    count: int
    influence: float | None
    """How far one report can move a value at most, whatever it says."""

    @property
    def words(self) -> str:
        """For those who do not see the picture."""
        listed = "; ".join(f"{row.answer} {row.shown:.3g} ({row.low:.3g} to {row.high:.3g})" for row in self._drawn)
        return f"Dots with intervals: {self.question.text} {listed}"

    @beside_others
    def chart(self, theme: str = "light") -> ChartType:
        """Dots with bars, as answers have them."""
        rows = self._drawn
        labels = tuple(printable(row.answer) for row in rows)
        is_number = self.question.bounds is not None
        axis = Axis("", "none" if is_number else "text", labels, labels)
        records = [
            {"key": label, "name": label, **record_of(row.shown, (row.low, row.high))}
            for label, row in zip(labels, rows, strict=True)
        ]
        panel = Panel(MEAN if is_number else SHARE, axis, None, records)
        left_out = len(self.rows) - len(rows)
        more = [f"the {len(rows)} largest shares; {left_out} more are in the files"] if left_out else []
        title = f"{self.count:,} reports of ε {float(self.question.epsilon):g}"
        return panel_chart(panel, title, more, percent(CONFIDENCE), theme)

    @property
    def _drawn(self) -> Sequence[Row]:
        if len(self.rows) <= MOST_DRAWN:
            return self.rows
        return sorted(self.rows, key=lambda row: -row.value)[:MOST_DRAWN]


class Tallies:
    """What all reports add up to. Each is looked at once: when many have come, or estimates are asked for."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._questions = {question.id: question for question in survey.questions}
        self._waiting: dict[str, list[bytes]] = {question.id: [] for question in survey.questions}
        self._sums: dict[str, Tally] = {}

    def add(self, question: str, reports: Sequence[bytes]) -> None:
        for start in range(0, len(reports), MOST_WAITING):
            part = reports[start : start + MOST_WAITING]
            if len(self._waiting[question]) + len(part) > MOST_WAITING:
                self.of(self._questions[question])
            self._waiting[question].extend(part)

    def of(self, question: Question) -> Tally | None:
        """All of them; None where there are none."""
        mechanism = question.mechanism
        assert isinstance(mechanism, FrequencyMechanism | MeanMechanism)
        waiting, self._waiting[question.id] = self._waiting[question.id], []
        if waiting:
            rows = np.frombuffer(b"".join(waiting), dtype=np.uint8).reshape(len(waiting), mechanism.report_bytes)
            fresh = mechanism.tally(rows)
            known = self._sums.get(question.id)
            self._sums[question.id] = fresh if known is None else known + fresh
        return self._sums.get(question.id)

    def estimates(self) -> tuple[Estimate, ...]:
        """For every question. All intervals of all of them hold together: each question has its share of the risk."""
        confidence = 1 - (1 - CONFIDENCE) / len(self._survey.questions)
        return tuple(_estimate(question, self.of(question), confidence) for question in self._survey.questions)


def _estimate(question: Question, tally: Tally | None, confidence: float) -> Estimate:
    if tally is None:
        return Estimate(question, (), 0, None)
    mechanism = question.mechanism
    assert isinstance(mechanism, FrequencyMechanism | MeanMechanism)
    made = mechanism.estimate(tally, confidence)
    answers = question.choices or (MEAN,)
    columns = (made.values, made.low, made.high)
    numbers = zip(*(map(float, column) for column in columns), strict=True)
    rows = tuple(Row(answer, *each) for answer, each in zip(answers, numbers, strict=True))
    return Estimate(question, rows, made.count, mechanism.influence(made.count))


def table(estimates: Sequence[Estimate]) -> Iterator[dict[str, Any]]:
    for each in estimates:
        for row in each.rows:
            values = (each.question.id, row.answer, row.value, row.low, row.high, each.count)
            yield dict(zip(COLUMNS, values, strict=True))


def as_csv(estimates: Sequence[Estimate]) -> str:
    return csv_text(COLUMNS, table(estimates))


def as_json(estimates: Sequence[Estimate]) -> dict[str, Any]:
    return {
        "confidence": CONFIDENCE,
        "questions": [
            {
                **each.question.document,
                "reports": each.count,
                "influence": each.influence,
                "estimates": [
                    {"answer": row.answer, "estimate": row.value, "low": row.low, "high": row.high} for row in each.rows
                ],
            }
            for each in estimates
        ],
    }
