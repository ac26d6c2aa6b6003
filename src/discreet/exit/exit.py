"""The exit: the one place where exact numbers become private ones, open for as long as a charge."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from typing import Any, NoReturn, TypeVar, overload

from discreet.accounting import Concentrated, Pure, compose
from discreet.accounting import Loss as AnyLoss
from discreet.accounting.losses import Sensitivity
from discreet.accounting.rounding import NOTHING
from discreet.accounting.turns import Turns
from discreet.engines.stopping import Stopped, is_stopped
from discreet.exit.cost import WHOLE, Cost, Loss
from discreet.exit.sampler import SAMPLER, Cell, Sampler
from discreet.late import np
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.bestofsome import best
from discreet.noise import Bits

Step = TypeVar("Step")
Found = TypeVar("Found")
Watch = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Takes steps, how many they are and what they are called; gives the same steps."""
OVERDRAWN = "the releases of this task cost more than was charged: their shares must add up to 1"


class _Life:
    """What an exit and its parts share: they take turns, and end together."""

    __slots__ = ("over", "turns", "until")

    def __init__(self, seconds: float | None) -> None:
        self.turns = Turns("an exit")
        self.over = False
        self.until = math.inf if seconds is None else time.monotonic() + seconds


class Exit:
    """What one charge may let out, and the bits that noise is drawn from: nothing else in a task is random.

    Theorem  All that leaves together costs at most `limit`, whatever each release does with earlier ones.
    Assumes  That releases come one after the other: there is a lock for threads, and neither copy nor fork releases.
             That sensitivities are as declared (`audit.replay` looks at that), that what `parallel` gives meets rows
             of its own, and that of the runs of `best_of_some` nothing is told but what the best one found.
    Proof    Losses of ε add up, and so do those of ρ and δ, adaptively (Rogers et al. 2016; Feldman & Zrnic 2021). Each
             release adds the loss of its mechanism before it is drawn; what would exceed the limit, or a share of more
             than is left of the cost, is not drawn. A part reserves its share when it is made. When the charge's block
             ends, so does the exit.
    """

    __slots__ = ("_bits", "_left", "_life", "_limit", "_sampler", "_spent", "cost", "watch")

    def __init__(
        self,
        cost: Cost,
        bits: Bits,
        *,
        limit: Loss | None = None,
        sampler: Sampler = SAMPLER,
        seconds: float | None = None,
        life: _Life | None = None,
    ) -> None:
        self.cost = cost
        self._bits = bits
        self._limit = cost.loss if limit is None else limit
        self._sampler = sampler
        self.watch: Watch | None = None
        """Who wants to see how far a task is."""
        self._life = _Life(seconds) if life is None else life
        self._left = WHOLE
        self._spent = _nothing(self._limit)

    # ways out

    @overload
    def release(self, exact: Integers, sensitivity: Sensitivity, share: Fraction = WHOLE) -> Integers: ...
    @overload
    def release(self, exact: list[int], sensitivity: Sensitivity, share: Fraction = WHOLE) -> list[int]: ...
    def release(self, exact: Any, sensitivity: Sensitivity, share: Fraction = WHOLE) -> Any:
        """The integers, as one vector that a unit (or a row: see `Bill.rows`) moves by `sensitivity`, plus noise."""
        mechanism = self.cost.noise(sensitivity, share)
        self._spend(share, mechanism.loss)
        if not isinstance(exact, np.ndarray):
            values = self._sampler.add_noise(mechanism, sensitivity, exact, self._bits)
            return values.tolist() if isinstance(values, np.ndarray) else list(values)
        values = self._sampler.add_noise(mechanism, sensitivity, exact.ravel(), self._bits)
        return np.asarray(values, dtype=np.int64).reshape(exact.shape)

    def select_keys(
        self, counts: Mapping[Cell, int], groups: int, share: Fraction, delta: Fraction
    ) -> Mapping[Cell, int]:
        """The private keys whose noisy number of units passes the threshold, with that number; a unit holds at most
        `groups` of them."""
        mechanism = self.cost.selection(groups, share, delta)
        self._spend(share, mechanism.loss)
        return self._sampler.select(mechanism, counts, self._bits)

    def choose_each(
        self, scores: Sequence[Sequence[int]], moved: Sensitivity, sensitivity: int, share: Fraction = WHOLE
    ) -> Sequence[int]:
        """In each group the place of about the largest score; a unit moves those of all groups by `moved` times the
        sensitivity (see `Choices`)."""
        mechanism = self.cost.choices(moved, sensitivity, share)
        self._spend(share, mechanism.loss)
        return self._sampler.choose(mechanism, scores, self._bits)

    def choose(self, scores: Integers, most: int, share: Fraction = WHOLE) -> int:
        """The place of about the largest score; a row raises each of them by `most` at most, and lowers none."""
        mechanism = self.cost.choice(most, share)
        self._spend(share, mechanism.loss)
        return int(self._sampler.choose(mechanism, [scores], self._bits)[0])

    def choose_among(self, scores: Integers, copies: Sequence[int], sensitivity: int, share: Fraction = WHOLE) -> int:
        """The place of about the largest score, each that of so many candidates; a unit moves it up or down."""
        mechanism = self.cost.choice_among(copies, sensitivity, share)
        self._spend(share, mechanism.loss)
        return int(self._sampler.choose(mechanism, [scores], self._bits)[0])

    # parts

    def part(self, share: Fraction) -> Exit:
        """Sequential composition: a share of the cost, for a task within this one."""
        cost = self.cost.part(max(share, Fraction(0)))
        self._spend(share, cost.loss)
        return self._beside(Exit(cost, self._bits, sampler=self._sampler, life=self._life))

    def parallel(self) -> Exit:
        """Parallel composition: as much again, for rows that this exit never sees: the larger of the losses counts."""
        self._spend(Fraction(0), self.cost.part(Fraction(0)).loss)
        return self._beside(Exit(self.cost, self._bits, limit=self._limit, sampler=self._sampler, life=self._life))

    def best_of_some(self, runs: Sequence[Callable[[Exit], tuple[int, Found]]], share: Fraction = WHOLE) -> Found:
        """What the best of the runs found, by its score, among a random few that nobody gets to know (`BestOfSome`).

        Each run has an exit of its own for what it may cost, and gives a score and what it found, both made of released
        values alone. All of them are run, in their order, and none is watched: neither time nor progress tells which
        of them counted. What the others found must not be kept.
        """
        mechanism = self.cost.best_of_some(len(runs), share)
        self._spend(share, mechanism.loss)
        each = Cost(Pure(mechanism.each))
        results = []
        for run in runs:
            self.demand_open()
            results.append(run(Exit(each, self._bits, sampler=self._sampler, life=self._life)))
        return results[best([score for score, _ in results], mechanism.some(self.below))][1]

    def _beside(self, other: Exit) -> Exit:
        other.watch = self.watch
        return other

    def _spend(self, share: Fraction, loss: AnyLoss) -> None:
        if share.numerator < 0:
            raise RuntimeError("a share of a cost is not below 0")
        with self._life.turns:
            self.demand_open()
            spent = compose(self._spent, loss)
            if share > self._left or not self._limit.bounds(spent):
                raise RuntimeError(OVERDRAWN)
            self._left -= share
            self._spent = spent

    # what is free

    def watched(self, steps: Iterable[Step], total: int, what: str) -> Iterable[Step]:
        """The same steps, watched; how many they are must not be private. A task that took too long ends at a step."""
        each = self._timely(steps)
        return each if self.watch is None else self.watch(each, total, what)

    def _timely(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            self.demand_open()
            yield step

    def below(self, limit: int, size: int | tuple[int, ...]) -> Integers:
        """Uniform integers, for what depends on released values only."""
        self.demand_open()
        return self._sampler.below(limit, size, self._bits)

    def seed(self) -> int:
        """A seed for libraries that post-process released values: nothing private may be drawn from it."""
        self.demand_open()
        return int(self._sampler.below(2**32, 1, self._bits)[0])

    # the end

    def close(self) -> None:
        """Let nothing out any more, here and in all parts."""
        self._life.over = True

    def demand_open(self) -> None:
        """Raise if the charge has ended, or if the task was stopped or took too long: then nothing of it is let out."""
        if self._life.over:
            raise RuntimeError("the charge of this exit has ended: what is released needs a charge of its own")
        if is_stopped() or time.monotonic() > self._life.until:
            raise Stopped

    def __reduce__(self) -> NoReturn:
        raise TypeError("an exit cannot be copied or pickled: charge again")


def _nothing(loss: Loss) -> Loss:
    """Sums with it are in the currency of the loss."""
    if loss.is_pure:
        return Pure(NOTHING, relation=loss.relation, unit=loss.unit)
    return Concentrated(NOTHING, NOTHING, relation=loss.relation, unit=loss.unit)


@contextmanager
def opened(
    charge: AbstractContextManager[Bits],
    cost: Cost,
    *,
    limit: Loss | None = None,
    sampler: Sampler = SAMPLER,
    seconds: float | None = None,
) -> Iterator[Exit]:
    """The exit of a charge, which is on disk when the block begins. It ends with that, or after so many seconds."""
    with charge as bits:
        exit_ = Exit(cost, bits, limit=limit, sampler=sampler, seconds=seconds)
        try:
            yield exit_
        finally:
            exit_.close()
