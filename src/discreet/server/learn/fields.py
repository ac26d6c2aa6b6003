"""What readers can change on a page, and what becomes of what they send: bad input is the default, with a note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final

MAX_LENGTH: Final = 40
"""Letters of a number that are looked at."""


class Unusable(ValueError):  # noqa: N818  (an answer to the reader)
    """What was sent cannot be used; the text says what can."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A number between two ends, on steps. Ends and step are written as decimals, so that steps are exact."""

    kind: ClassVar = "slider"

    name: str
    label: str
    low: str
    high: str
    step: str
    default: str
    unit: str = ""

    def read(self, text: str) -> int | float:
        """The number, moved to the nearest step."""
        low, high, step = Decimal(self.low), Decimal(self.high), Decimal(self.step)
        try:
            given = Decimal(text.strip() if len(text) <= MAX_LENGTH else "")
        except InvalidOperation:
            given = Decimal("NaN")
        if given.is_nan() or not low <= given <= high:
            raise Unusable(f"{self.label}: a number from {self.low} to {self.high}")
        snapped = min(low + step * ((given - low) / step).to_integral_value(), high)
        return int(snapped) if snapped == snapped.to_integral_value() and step % 1 == 0 else float(snapped)

    def shown(self, value: Any) -> str:
        """The number as the form holds it."""
        return f"{value:.10g}"

    named = shown


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few answers: what the address says, and what readers see."""

    kind: ClassVar = "choice"

    name: str
    label: str
    options: Mapping[str, str]
    default: str

    def read(self, text: str) -> str:
        if text not in self.options:
            raise Unusable(f"{self.label}: one of {', '.join(self.options.values())}")
        return text

    def shown(self, value: Any) -> str:
        return str(value)

    def named(self, value: Any) -> str:
        """The answer as readers see it."""
        return self.options[value]


Field = Slider | Choice
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the fields of a page hold, and what had to be set right."""

    values: Values
    notes: tuple[str, ...] = ()


def read(fields: tuple[Field, ...], sent: Mapping[str, str]) -> Reading:
    """The values for a page: what was sent if it can be used, else the default."""
    values: dict[str, Any] = {}
    notes = []
    for field in fields:
        try:
            values[field.name] = field.read(sent.get(field.name, field.default))
        except Unusable as wrong:
            values[field.name] = field.read(field.default)
            notes.append(f"{wrong}. Shown is {field.named(values[field.name])}.")
    return Reading(values, tuple(notes))


def epsilon(default: str, *, low: str = "0.05", high: str = "3", step: str = "0.05", label: str = "ε") -> Slider:
    return Slider("epsilon", label, low, high, step, default)
