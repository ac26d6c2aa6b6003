"""How good a model is on private rows: values with their intervals, here and behind a server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, Self

from discreet.accounting import Concentrated, Pure
from discreet.answers import documents
from discreet.answers.answer import loss_dict
from discreet.answers.models import RECEIPT, SCORE_READERS, Documented
from discreet.answers.wire import loss_read
from discreet.printing import printable

VERSION: Final = 1
Loss = Pure | Concentrated


@dataclass(frozen=True, slots=True)
class Score(Documented):
    """What the rows say of a model, with noise."""

    metric: str
    value: float
    interval: tuple[float, float]
    confidence: float
    rows: float
    """About how many rows there are."""
    loss: Loss
    """What was charged for it, and for others that were asked for with it."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Of a confusion matrix its classes and counts (a row for each true class, and one for what is none of them), of a
    calibration its bins."""
    receipt: str = ""
    cached: bool = False

    def __str__(self) -> str:
        low, high = self.interval
        return f"{printable(self.metric)} {self.value:.3g} ({low:.3g} to {high:.3g} at {self.confidence:.0%})"

    def document(self) -> documents.Scores:
        return written([self])


@dataclass(frozen=True, slots=True)
class Scores(Mapping[str, Score], Documented):
    """Several scores of one model on the same rows, for one charge; by the names of their metrics."""

    scores: tuple[Score, ...]

    def __getitem__(self, metric: str) -> Score:
        for score in self.scores:
            if score.metric == metric:
                return score
        raise KeyError(metric)

    def __iter__(self) -> Iterator[str]:
        return iter([score.metric for score in self.scores])

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def loss(self) -> Loss:
        """What all of them cost together."""
        return self.scores[0].loss

    @property
    def receipt(self) -> str:
        return self.scores[0].receipt

    @property
    def cached(self) -> bool:
        return self.scores[0].cached

    def charged(self, loss: Loss, receipt: str, *, cached: bool) -> Self:
        """The same, with what was charged for them."""
        return replace(
            self, scores=tuple(replace(each, loss=loss, receipt=receipt, cached=cached) for each in self.scores)
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.scores))

    def document(self) -> documents.Scores:
        return written(self.scores)


# as JSON has them


def written(scores: tuple[Score, ...] | list[Score]) -> documents.Scores:
    """Scores as they are sent; what is infinite or no number is null."""
    first = scores[0]
    nothing = first.loss.times(Fraction(0)) if first.cached else first.loss
    return {
        "version": VERSION,
        "scores": [
            {
                "metric": score.metric,
                "value": _finite(score.value),
                "interval": (_finite(score.interval[0]), _finite(score.interval[1])),
                "confidence": score.confidence,
                "rows": score.rows,
                "details": score.details,  # type: ignore[typeddict-item]
            }
            for score in scores
        ],
        "loss": loss_dict(nothing),  # type: ignore[typeddict-item]
        "cost": loss_dict(first.loss),  # type: ignore[typeddict-item]
        "unit": first.loss.unit,
        "receipt": first.receipt,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def scores_of(document: documents.Scores) -> Scores:
    """The scores that a server sent; ValueError if there are none."""
    if document["version"] != VERSION or not document["scores"] or not RECEIPT.fullmatch(document["receipt"]):
        raise ValueError("no scores that this version knows")
    loss, cost = (loss_read(document[name], document.get("unit")) for name in ("loss", "cost"))
    return Scores(
        tuple(
            Score(
                printable(each["metric"])[:100],
                -math.inf if each["value"] is None else float(each["value"]),
                (_end(each["interval"][0], -math.inf), _end(each["interval"][1], math.inf)),
                each["confidence"],
                float(each["rows"]),
                cost,
                dict(each["details"]),
                document["receipt"],
                loss.is_zero,
            )
            for each in document["scores"]
        )
    )


def _end(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)


SCORE_READERS[VERSION] = scores_of
