"""What queries about parts of a partition cost together: parallel composition, where the maximum counts.

Theorem  Where each unit has rows in at most k parts, all answers about parts together cost a unit at most S, the sum of
         the k largest costs of parts, in each currency; charging the increases of S is a filter, however queries are
         chosen.
Proof    1. A query about part b at cost p has that loss for units in b and none for all others (`accounting.part`).
         2. A unit in the parts B, |B| ≤ k, so loses the sum of the costs of B: at most S, on every path.
         3. Costs only grow, so S does; its increases add up to S, and each is on record before its query is answered.
         4. B is fixed when the partition is made: whether a query counts for a unit is known before its answer. A
            predictable sum that is bounded on every path is all that the filters of `accounting.filters` need.
         5. Counting may begin anew at any time: the sum of the k largest of C + C′ is at most that of C plus that of
            C′, and what C cost stays spent.
Increase A part's cost grows from v to w; m is the k-th largest cost (0 if there are fewer than k). If v ≥ m, the part
         may be taken for one of the k largest and S grows by w − v; else one of cost m makes room for it if w > m, and
         S grows by max(0, w − m). So the k largest costs are all that a charge looks at.
Source   McSherry 2009 (parallel composition); units in k parts instead of rows in one.

k belongs to the partition: whoever asked about one part with k = 1 and about the next with k = 2 would be charged for
one part where a unit may have lost two. The first charge binds it.

`accounting.record.PartName` is what the ledger calls a part; `accounting.part.Part` says which rows it has.
Records on disk have their older keys for names of parts, k, costs of parts and the cost of one query: see `codec`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from discreet.ledger.codec import Amounts, Record, less, parsed, plus, written

CHUNKS: Final = 64
"""Costs are held in so many dictionaries: a charge copies one of them, and the state before it stays what it was."""

Largest = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """What was charged for each part of a partition. A value: `after` gives the next one and copies one chunk."""

    max_parts: int | None = None
    """In how many parts a unit may be; None where totals of version 1 did not say, until a charge does."""
    chunks: tuple[Mapping[str, Amounts], ...] = ({},) * CHUNKS
    largest: tuple[Largest, ...] = field(default=(), compare=False)
    """For each currency the `max_parts` largest costs, smallest first, with their parts."""

    @classmethod
    def of(cls, max_parts: int | None, costs: Mapping[str, Amounts]) -> Partition:
        chunks: tuple[dict[str, Amounts], ...] = tuple({} for _ in range(CHUNKS))
        for part, amounts in costs.items():
            chunks[_chunk(part)][part] = amounts
        return cls(max_parts, chunks, () if max_parts is None else _largest(costs, max_parts))

    def bound(self, max_parts: int) -> Partition:
        """This partition, where a unit may be in so many parts; ValueError if it was another number before."""
        if self.max_parts is None:
            return Partition.of(max_parts, dict(self))
        if self.max_parts != max_parts:
            raise ValueError(f"the partition was made with {self.max_parts} parts of a unit, not with {max_parts}")
        return self

    def agreed(self, other: Partition) -> Partition:
        """The same costs as another record repeats them, with `max_parts` from whichever has it."""
        known = None not in (self.max_parts, other.max_parts)
        if self.chunks != other.chunks or (known and self.max_parts != other.max_parts):
            raise ValueError("what is repeated is the same")
        return other if self.max_parts is None else self

    def __iter__(self) -> Iterator[tuple[str, Amounts]]:
        return (each for chunk in self.chunks for each in chunk.items())

    def cost(self, part: str, width: int) -> Amounts:
        return self.chunks[_chunk(part)].get(part, (0,) * width)

    def free(self, part: str, width: int) -> Amounts:
        """What may still be charged for a part before the maximum grows, in each currency."""
        return tuple(max(self._threshold(index) - used, 0) for index, used in enumerate(self.cost(part, width)))

    def increase(self, part: str, cost: Amounts) -> Amounts:
        """By how much the sum of the `max_parts` largest costs grows with one more query about a part."""
        return less(cost, self.free(part, len(cost)))

    def after(self, part: str, cost: Amounts) -> Self:
        """The partition after one more query about a part."""
        assert self.max_parts is not None
        total = plus(self.cost(part, len(cost)), cost)
        index = _chunk(part)
        chunk = {**self.chunks[index], part: total}
        before = self.largest or ((),) * len(total)
        largest = tuple(_with(held, (amount, part), self.max_parts) for held, amount in zip(before, total, strict=True))
        return replace(self, chunks=(*self.chunks[:index], chunk, *self.chunks[index + 1 :]), largest=largest)

    def _threshold(self, index: int) -> int:
        """The k-th largest cost in a currency."""
        if self.max_parts is None:
            raise ValueError("nobody said in how many parts a unit may be")
        held = self.largest[index] if self.largest else ()
        return held[0][0] if len(held) == self.max_parts else 0


UNASKED: Final = Partition()


def _chunk(part: str) -> int:
    return hash(part) % CHUNKS


def _with(held: Largest, cost: tuple[int, str], max_parts: int) -> Largest:
    """The largest costs after one of them, or another one, has grown."""
    if len(held) == max_parts and cost < held[0]:
        return held
    others = [each for each in held if each[1] != cost[1]]
    insort(others, cost)
    return tuple(others[-max_parts:])


def _largest(costs: Mapping[str, Amounts], max_parts: int) -> tuple[Largest, ...]:
    widths = {len(amounts) for amounts in costs.values()}
    if len(widths) > 1:
        raise ValueError("costs of one partition are of one currency")
    return tuple(
        tuple(sorted((amounts[index], part) for part, amounts in costs.items())[-max_parts:])
        for index in range(widths.pop() if widths else 0)
    )


def partitions_read(record: Record) -> dict[str, Partition]:
    """All partitions in totals; those of version 1 do not say `max_parts`."""
    partitions = {}
    for partition, fields in record.get("portions", {}).items():
        max_parts, costs = (None, fields) if record["v"] == 1 else (fields["most"], fields["lines"])
        if record["v"] > 1 and (type(max_parts) is not int or max_parts < 1):
            raise ValueError("a unit is in one part or in more")
        amounts = {str(part): parsed(texts) for part, texts in costs.items()}
        partitions[str(partition)] = Partition.of(max_parts, amounts)
    return partitions


def partitions_written(partitions: Mapping[str, Partition]) -> Record:
    return {
        name: {"most": partition.max_parts, "lines": {part: written(amounts) for part, amounts in partition}}
        for name, partition in partitions.items()
    }
