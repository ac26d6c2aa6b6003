"""Queries on a stream whose answers are exact enough: such statistics as pipelines need, counts by hour for example.

Theorem  An answer of which any number is farther from the exact one, over the rows that it read, than was asked for is
         accepted with probability at most η, over the whole run.
Proof    Attempt k shows m numbers, m known from text and policy, each with an interval that misses with probability at
         most η/(2ᵏ·m): all of them hold but for η/2ᵏ, whichever are shown. It is accepted if no value of any interval
         is farther from the number shown than was asked for; so a false one takes an interval that misses. Σ η/2ᵏ ≤ η.

What is said is about the rows of the blocks, bounded as they are; it takes nothing for a sample of others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, Final

from discreet.accounting.record import BlockNames
from discreet.answers import Answer, Preview
from discreet.answers.call import Call
from discreet.errors import Refused
from discreet.exact import positive, probability
from discreet.stream.adaptive import Pursuit, Tested
from discreet.stream.runs import Run
from discreet.stream.schedule import Attempt
from discreet.stream.validation import Decision, miss_of

CHARGE: Final = "query"
FIX: Final = "write error=10, or relative=0.05, and eta=0.05"


def query(
    curator: Any,
    sql: str,
    *,
    error: Any = None,
    relative: Any = None,
    eta: Any = 0.05,
    epsilon: Any = None,
    rho: Any = None,
    cap: Any = None,
    blocks: int = 1,
    most_blocks: int | None = None,
    stream: str | None = None,
    analyst: str | None = None,
    key: str | None = None,
) -> Run:
    """Ask a query of the newest blocks, at more and more cost, then of more blocks, until its answer is exact enough.

    `error` is how far numbers may be off at most, `relative` how far for their size. `run.result` is the answer. Other
    arguments are those of `train`.
    """
    arguments = {"sql": str(sql), "error": str(error), "relative": str(relative), "eta": str(eta)}
    pursuit = Pursuit.read(
        curator, stream, epsilon=epsilon, rho=rho, cap=cap, blocks=blocks, most_blocks=most_blocks, analyst=analyst,
        key=key, arguments=arguments,
    )  # fmt: skip
    wanted = _Wanted.read(error, relative, eta)
    preview: Preview = curator.preview_of(pursuit.first(Call(sql=sql, analyst=analyst)))
    if preview.groups is None or preview.ranks or not preview.noise:
        reason = "only numbers with intervals, in groups that are listed in advance, have a test"
        raise Refused("stream-invalid", reason, "ask for counts, sums and means, of keys whose values are declared")
    numbers = preview.groups * len(preview.columns)

    def act(attempt: Attempt, names: BlockNames) -> Tested:
        miss = miss_of(wanted.eta, attempt.number)
        call = Call(
            sql=sql, analyst=analyst, blocks=names, key=pursuit.name_of(attempt, CHARGE), confidence=1 - miss / numbers,
            **pursuit.cost(attempt),
        )  # fmt: skip
        answer: Answer = curator.perform(call)
        off = wanted.farthest(answer)
        decision = Decision.ACCEPT if off <= wanted.most else Decision.RETRY
        return Tested(decision, off, float(miss), answer, answer.cached)

    return pursuit.run(act, CHARGE, wanted.words, wanted.most)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """How far numbers may be off."""

    most: float
    relative: bool
    eta: Fraction

    @classmethod
    def read(cls, error: object, relative: object, eta: object) -> _Wanted:
        if (error is None) == (relative is None):
            raise Refused("stream-invalid", "what is exact enough is said in one way", FIX)
        try:
            by_size = relative is not None
            most = positive(relative if by_size else error, "relative" if by_size else "error")
            return cls(float(most), by_size, probability(eta, "eta"))
        except (TypeError, ValueError) as wrong:
            raise Refused("stream-invalid", str(wrong), FIX) from None

    @property
    def words(self) -> str:
        return f"every number within {self.most:.4g}{' of its size' if self.relative else ''}"

    def farthest(self, answer: Answer) -> float:
        """How far a number may be from the exact one at most, with all intervals taken to hold."""
        return max(self._distances(answer), default=math.inf)

    def _distances(self, answer: Answer) -> Iterator[float]:
        columns = {name: answer.columns.index(name) for name in answer.noisy}
        for row, intervals in zip(answer.rows, answer.intervals, strict=True):
            for name, column in columns.items():
                value, ends = row[column], intervals.get(name)
                if isinstance(value, Real) and isinstance(ends, tuple) and None not in ends:
                    yield self._distance(float(value), float(ends[0]), float(ends[1]))
                else:
                    yield math.inf

    def _distance(self, value: float, low: float, high: float) -> float:
        """The largest of |value − x|, or of |value − x|/|x|, over all x from low to high."""
        if not self.relative:
            return max(value - low, high - value)
        if low <= 0 <= high:
            return math.inf
        return max(abs(value - end) / abs(end) for end in (low, high))
