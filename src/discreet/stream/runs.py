"""What came of attempts on a stream, as a value: each attempt, what it cost, what its test said, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.markup import Head, Side, around, line, note, table, words
from discreet.printing import counted, lines_of
from discreet.stream.schedule import Attempt, Schedule
from discreet.stream.validation import Decision

if TYPE_CHECKING:
    from altair.typing import ChartType

LOST: Final = "charged, and not answered"


class Ending(StrEnum):
    """How a run ended."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NO_BUDGET = "out of budget"
    NO_BLOCKS = "out of blocks"
    NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt that was charged."""

    attempt: Attempt
    blocks: str
    """As people call them."""
    decision: Decision | None
    """None where it was charged and never answered."""
    value: float | None = None
    """About what the test saw."""
    miss: float | None = None
    """With what probability the test accepts what it should not."""
    cached: bool = False
    """Whether it had been charged before, and cost nothing now."""

    @property
    def says(self) -> str:
        return LOST if self.decision is None else str(self.decision)


COLUMNS: Final = ("attempt", "cost of a block", "blocks", "", "value", "may miss", "test says")


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """All attempts, and what was accepted."""

    what: str
    """What was asked for."""
    goal: float
    schedule: Schedule
    currency: str
    """ε or ρ."""
    steps: tuple[Step, ...]
    ending: Ending
    reason: str
    """Why it ended so, and what it needs to go on."""
    result: Any = None
    """What was accepted: a fitted model, or an answer."""

    @property
    def accepted(self) -> bool:
        return self.ending is Ending.ACCEPTED

    @property
    def model(self) -> Any:
        """The accepted model; None if there is none."""
        return self.result

    @property
    def spent(self) -> Fraction:
        """Σ cost of a block × blocks, over all attempts."""
        return sum((step.attempt.total for step in self.steps), Fraction(0))

    @property
    def line_bound(self) -> Fraction:
        """What `line` cannot exceed: see `schedule`. Attempts that were never answered come on top."""
        lost = sum((step.attempt.amount for step in self.steps if step.decision is None), Fraction(0))
        most = max((step.attempt.amount for step in self.steps), default=Fraction(0))
        sizes = sorted({step.attempt.blocks for step in self.steps})
        return 2 * most + most * max(len(sizes) - 1, 0) + lost

    @property
    def line(self) -> Fraction:
        """What a block was charged that was in every attempt."""
        return sum((step.attempt.amount for step in self.steps), Fraction(0))

    def __str__(self) -> str:
        rows = [COLUMNS, *map(self._row, self.steps)]
        wide = [max(len(row[index]) for row in rows) for index in range(len(COLUMNS))]
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]
        return "\n".join([f"{self.ending.upper()}: {lines_of(self.what)}", *lines, *self._notes])

    def _repr_html_(self) -> str:
        heads = [Head(words(name), Side.WORDS) for name in COLUMNS]
        rows = [tuple(words(cell) for cell in self._row(step)) for step in self.steps]
        top = line(words(self.ending.upper(), "good" if self.accepted else "bad"), " ", words(self.what))
        return around(top, table(heads, rows), *map(note, self._notes))

    def _row(self, step: Step) -> tuple[str, ...]:
        attempt = step.attempt
        return (
            f"{attempt.number}",
            f"{self.currency} {float(attempt.amount):.4g}{' (cached)' if step.cached else ''}",
            f"{attempt.blocks:,}",
            lines_of(step.blocks),
            "" if step.value is None else f"{step.value:.4g}",
            "" if step.miss is None else f"{step.miss:.2g}",
            step.says,
        )

    @property
    def _notes(self) -> Sequence[str]:
        if not self.steps:
            return (self.reason,)
        last = self.steps[-1].attempt
        times = float(self.spent / last.total)
        together = f"all attempts together cost {times:.2g} times the last one"
        line_ = f"{self.currency} {float(self.line):.4g}, of at most {float(self.line_bound):.4g}"
        return self.reason, f"{together}; a block that was in each of them {line_}"

    def plot(self, theme: str = "light") -> ChartType:
        """The value of each attempt's test beside the goal, and what was spent up to it. It needs altair."""
        from discreet.answers.plots.beside import drawn_beside

        return drawn_beside(lambda: self._chart(theme))

    def _chart(self, theme: str) -> ChartType:
        from discreet.answers.plots.theme import COLOURS, NEUTRAL, altair, chart_of, dressed, theme_of

        alt, look = altair(), theme_of(theme)
        total, records = Fraction(0), []
        for step in self.steps:
            total += step.attempt.total
            if step.value is not None:
                said = {"spent": float(total), "value": step.value, "test": step.says, "attempt": step.attempt.number}
                records.append(said)
        x = alt.X("spent:Q", title=f"{self.currency} × blocks, all attempts so far", scale=alt.Scale(type="log"))
        y = alt.Y("value:Q", title="value of the test", scale=alt.Scale(zero=False))
        base = chart_of(records).encode(x=x, y=y)
        marks = base.mark_point(filled=True, size=90, opacity=1).encode(
            color=alt.Color("test:N", scale=alt.Scale(range=list(COLOURS[:3])), title=None)
        )
        path = base.mark_line(color=NEUTRAL, strokeWidth=1)
        rule = chart_of([{"goal": self.goal}]).mark_rule(strokeDash=[5, 4], color=look.faint).encode(y="goal:Q")
        title = f"{self.ending}: {self.what}"
        return dressed(
            (rule + path + marks).properties(width=460, height=240), look, title, [counted(len(self.steps), "attempt")]
        )
