"""Randomised response: everybody randomises their own answer, and nobody has to be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet import noise
from discreet.accounting.losses import Pure
from discreet.accounting.relations import Relation
from discreet.exact import Number, probability, whole
from discreet.exact import epsilon as positive
from discreet.late import np
from discreet.mechanisms.arrays import Array
from discreet.mechanisms.estimate import Estimate, clopper_pearson
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, init=False, slots=True)
class RandomizedResponse:
    """Answer the truth with probability e^ε/(e^ε + k − 1), else one of the other k − 1 answers.

    Theorem  ε-DP for each person's answer, against everybody, when any answer may be replaced by any other: the loss
             says REPLACE_ONE. That somebody answered is public; who gives several answers loses ε with each.
    Proof    Every answer has probability p = e^ε/(e^ε + k − 1) or q = 1/(e^ε + k − 1), and p/q = e^ε. Answers are
             randomised independently, so replacing one changes one factor of the probability of all responses.
    Error    The share of an answer is estimated by (observed − q)/(p − q), without bias; its variance is
             λ(1 − λ)/(n·(p − q)²) with λ = q + share·(p − q). Two coins (ε = ln 3) quadruple it at least.
    Source   Warner 1965; Kairouz, Oh & Viswanath 2014 (k-ary).

    >>> coins = RandomizedResponse(epsilon=math.log(3))
    >>> coins.channel().round(3).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    epsilon: Fraction
    answers: int

    def __init__(self, epsilon: Number, answers: int = 2) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon))
        object.__setattr__(self, "answers", whole(answers, "answers", least=2))

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon, relation=Relation.REPLACE_ONE)

    @property
    def truth(self) -> float:
        """p, the probability of the true answer."""
        return 1 / (1 + (self.answers - 1) * self._odds)

    @property
    def lie(self) -> float:
        """q, the probability of each other answer."""
        return self._odds / (1 + (self.answers - 1) * self._odds)

    @property
    def _odds(self) -> float:
        return math.exp(-self.epsilon)

    def channel(self) -> NDArray[np.float64]:
        """The probability of each response (column) for each true answer (row)."""
        return np.where(np.eye(self.answers, dtype=bool), self.truth, self.lie)

    def respond(self, answers: ArrayLike, bits: Bits | None = None) -> Any:
        """A randomised response for each true answer, 0 … k − 1 (or False and True, and booleans out)."""
        exact = self._checked(answers, "answers")
        flat = exact.ravel().astype(np.int64)
        lies = np.flatnonzero(noise.untruths(self.epsilon, self.answers - 1, flat.size, bits=bits))
        shifts = 1 + noise.below(self.answers - 1, flat.size, bits=bits)
        flat[lies] = (flat[lies] + shifts[lies]) % self.answers
        # not the dtype of what came in: a narrow one may not hold every answer
        responses = flat.reshape(exact.shape).astype(np.bool_ if exact.dtype.kind == "b" else np.int64)
        return responses if exact.ndim else responses.item()

    release = respond

    def estimate(self, responses: ArrayLike, confidence: Number = 0.95) -> Estimate[Any]:
        """The share of the answer 1 among the truth (for k > 2: of each answer), without bias, with its interval.

        The interval holds the share in the population that the people were drawn from, at least this often, for one
        share at a time.
        """
        given = self._checked(responses, "responses").ravel().astype(np.int64)
        if not given.size:
            raise ValueError("responses is empty: pass at least one response")
        counts = np.bincount(given, minlength=self.answers)
        shares = [self._share(int(count), given.size, confidence) for count in counts]
        if self.answers == 2:
            return shares[1]
        low, high = (np.array([share.interval[side] for share in shares]) for side in (0, 1))
        return Estimate(np.array([share.value for share in shares]), (low, high))

    def _share(self, count: int, size: int, confidence: Number) -> Estimate[float]:
        gap = self.truth - self.lie
        low, high = (min(max((x - self.lie) / gap, 0.0), 1.0) for x in clopper_pearson(count, size, confidence))
        return Estimate((count / size - self.lie) / gap, (low, high))

    def variance(self, share: float, size: int) -> float:
        """The variance of the estimated share among `size` people drawn from a population."""
        gap = self.truth - self.lie
        rate = self.lie + share * gap
        return rate * (1 - rate) / (whole(size, "size") * gap**2)

    def error(self, confidence: Number = 0.95, *, size: int) -> float:
        """The half-width for `size` people, whatever the truth (Hoeffding 1963)."""
        spare = float(1 - probability(confidence, "confidence"))
        return math.sqrt(math.log(2 / spare) / (2 * whole(size, "size"))) / (self.truth - self.lie)

    def _checked(self, values: ArrayLike, name: str) -> Array:
        try:
            array = np.asarray(values)
        except ValueError:
            raise ValueError(f"{name} must be an integer or an array of equally long rows of integers") from None
        if array.dtype.kind not in "iub" or (array.dtype.kind == "b" and self.answers > 2):
            raise TypeError(f"{name} must be integers from 0 to {self.answers - 1}: number the answers first")
        if array.size and (array.min() < 0 or array.max() >= self.answers):
            raise ValueError(f"{name} must lie between 0 and {self.answers - 1}: number the answers first")
        return array
