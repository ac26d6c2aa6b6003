"""Models that clients train: linear, logistic and with one hidden layer, in NumPy, as vectors of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from discreet import noise
from discreet.exact import whole
from discreet.federated.encoding import Floats
from discreet.noise import Bits


class Model(Protocol):
    """A loss of a vector of weights; the last column of what it makes of rows is the intercept's."""

    @property
    def features(self) -> int:
        """Columns of rows."""

    @property
    def size(self) -> int:
        """Of the vector."""

    def initial(self, bits: Bits | None = None) -> Floats:
        """Where training begins: no rows were read."""

    def gradient(self, weights: Floats, rows: Floats, targets: Floats) -> Floats:
        """Of the mean loss of these rows."""

    def predict(self, weights: Floats, rows: Floats) -> Floats:
        """A number or a class for each row."""


@dataclass(frozen=True, slots=True)
class _OneLayer:
    """A weight for each feature, and one more for all rows; subclasses say what a score stands for."""

    features: int

    @property
    def size(self) -> int:
        return self.features + 1

    def initial(self, bits: Bits | None = None) -> Floats:  # noqa: ARG002
        return np.zeros(self.size)

    def gradient(self, weights: Floats, rows: Floats, targets: Floats) -> Floats:
        wide = _with_intercept(rows)
        gradient: Floats = wide.T @ (self._expected(wide @ weights) - targets) / len(rows)
        return gradient

    def predict(self, weights: Floats, rows: Floats) -> Floats:
        return self._predicted(_with_intercept(rows) @ weights)

    def _expected(self, scores: Floats) -> Floats:
        """The expected target of each row."""
        return scores

    def _predicted(self, scores: Floats) -> Floats:
        return scores


class Linear(_OneLayer):
    """Squared error."""


class Logistic(_OneLayer):
    """Two classes, 0 and 1."""

    def _expected(self, scores: Floats) -> Floats:
        return _sigmoid(scores)

    def _predicted(self, scores: Floats) -> Floats:
        return (scores > 0).astype(np.float64)


@dataclass(frozen=True, slots=True)
class TwoLayer:
    """Two classes, 0 and 1, from one hidden layer of tanh."""

    features: int
    hidden: int = 16

    @property
    def size(self) -> int:
        return (self.features + 1) * self.hidden + self.hidden + 1

    def initial(self, bits: Bits | None = None) -> Floats:
        """Small random weights, so that hidden units differ."""
        fine = 10**6
        first = (self.features + 1) * self.hidden
        drawn = noise.gaussian(fine**2, first, bits=bits) / fine / math.sqrt(self.features + 1)
        return np.concatenate([drawn, np.zeros(self.hidden + 1)])

    def gradient(self, weights: Floats, rows: Floats, targets: Floats) -> Floats:
        wide, (inner, outer) = _with_intercept(rows), self._layers(weights)
        hidden: Floats = np.tanh(wide @ inner)
        errors = (_sigmoid(hidden @ outer[:-1] + outer[-1]) - targets) / len(rows)
        back = errors[:, None] * outer[:-1] * (1 - hidden**2)
        return np.concatenate([(wide.T @ back).ravel(), hidden.T @ errors, [errors.sum()]])

    def predict(self, weights: Floats, rows: Floats) -> Floats:
        inner, outer = self._layers(weights)
        scores: Floats = np.tanh(_with_intercept(rows) @ inner) @ outer[:-1] + outer[-1]
        return (scores > 0).astype(np.float64)

    def _layers(self, weights: Floats) -> tuple[Floats, Floats]:
        first = (self.features + 1) * self.hidden
        return weights[:first].reshape(self.features + 1, self.hidden), weights[first:]


KINDS: Final[dict[str, type[Linear] | type[Logistic] | type[TwoLayer]]] = {
    "linear": Linear,
    "logistic": Logistic,
    "two-layer": TwoLayer,
}


def local_update(
    model: Model, weights: Floats, rows: Floats, targets: Floats, *, steps: int = 1, rate: float = 1.0
) -> Floats | None:
    """How far so many steps of gradient descent on a client's own rows move the weights; None without rows."""
    if len(rows) == 0:
        return None
    moved = weights
    with np.errstate(all="ignore"):  # what overflows is not finite, and counts as zero
        for _ in range(whole(steps, "steps")):
            moved = moved - rate * model.gradient(moved, rows, targets)
        return moved - weights


def score(model: Model, weights: Floats, rows: Floats, targets: Floats) -> float:
    """The part of right classes, or R² of a linear model. It is exact: for rows that are public or the caller's own."""
    predicted = model.predict(weights, rows)
    if isinstance(model, Linear):
        spread = float(((targets - targets.mean()) ** 2).sum())
        return 1 - float(((targets - predicted) ** 2).sum()) / spread if spread else 0.0
    return float((predicted == targets).mean())


def _with_intercept(rows: Floats) -> Floats:
    return np.hstack([rows, np.ones((len(rows), 1))])


def _sigmoid(values: Floats) -> Floats:
    sigmoid: Floats = (1 + np.tanh(values / 2)) / 2
    return sigmoid
