"""What questions about parts of a partition cost together (parallel composition): a line for each part.

Theorem  Where each unit has rows in at most k parts, all answers about parts together cost a unit at most S, the sum of
         the k largest lines, in each currency; charging the rises of S is a filter, however questions are chosen.
Proof    1. A question about part b at cost p has that loss for units in b and none for all others (`sql.part`).
         2. A unit in the parts B, |B| ≤ k, so loses the sum of the lines in B: at most S, on every path.
         3. Lines only grow, so S does; its rises add up to S, and each is on record before its question is answered.
         4. B is fixed when the partition is made: whether a question counts for a unit is known before its answer. A
            predictable sum that is bounded on every path is all that the filters of `accounting.filters` need.
         5. Lines may begin anew at any time: the sum of the k largest of L + L′ is at most that of L plus that of L′,
            and what L cost stays spent.
Rise     A line grows from v to w; m is the k-th largest line (0 if there are fewer than k). If v ≥ m, the line may be
         taken for one of the k largest and S rises by w − v; else one of value m makes room for it if w > m, and S
         rises by max(0, w − m). So the k largest lines are all that a charge looks at.
Source   McSherry 2009 (parallel composition); units in k parts instead of rows in one.

k belongs to the partition: whoever asked about one part with k = 1 and about the next with k = 2 would pay for one line
where a unit may have lost two. The first charge binds it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from discreet.ledger.codec import Amounts, Record, parsed, written

CHUNKS: Final = 64
"""Lines are kept in so many dictionaries: a charge copies one of them, and the state before it stays what it was."""

Largest = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one partition. A value: `after` gives the next one and copies one chunk."""

    most: int | None = None
    """In how many parts a unit may be; None where totals of version 1 did not say, until a charge does."""
    chunks: tuple[Mapping[str, Amounts], ...] = ({},) * CHUNKS
    largest: tuple[Largest, ...] = field(default=(), compare=False)
    """For each currency the `most` largest lines, smallest first, with their parts."""

    @classmethod
    def of(cls, most: int | None, lines: Mapping[str, Amounts]) -> Lines:
        chunks: tuple[dict[str, Amounts], ...] = tuple({} for _ in range(CHUNKS))
        for part, amounts in lines.items():
            chunks[_chunk(part)][part] = amounts
        return cls(most, chunks, () if most is None else _largest(lines, most))

    def bound(self, most: int) -> Lines:
        """These lines, where a unit may be in so many parts; ValueError if it was another number before."""
        if self.most is None:
            return Lines.of(most, dict(self))
        if self.most != most:
            raise ValueError(f"the partition was made with {self.most} parts of a unit, not with {most}")
        return self

    def agreed(self, other: Lines) -> Lines:
        """The same lines as told by somebody else, with `most` from whoever knows it."""
        if self.chunks != other.chunks or (self.most != other.most and None not in (self.most, other.most)):
            raise ValueError("lines that are repeated are the same")
        return other if self.most is None else self

    def __iter__(self) -> Iterator[tuple[str, Amounts]]:
        return (line for chunk in self.chunks for line in chunk.items())

    def line(self, part: str, width: int) -> Amounts:
        return self.chunks[_chunk(part)].get(part, (0,) * width)

    def free(self, part: str, width: int) -> Amounts:
        """What may still be asked of a part without a rise, in each currency."""
        line = self.line(part, width)
        return tuple(max(self._threshold(place) - used, 0) for place, used in enumerate(line))

    def rise(self, part: str, cost: Amounts) -> Amounts:
        """By how much the sum of the `most` largest lines grows with one more question about a part."""
        free = self.free(part, len(cost))
        return tuple(max(0, amount - most) for amount, most in zip(cost, free, strict=True))

    def after(self, part: str, cost: Amounts) -> Self:
        """The lines after one more question about a part."""
        assert self.most is not None
        line = tuple(a + b for a, b in zip(self.line(part, len(cost)), cost, strict=True))
        place = _chunk(part)
        chunk = {**self.chunks[place], part: line}
        before = self.largest or ((),) * len(line)
        largest = tuple(_with(held, (amount, part), self.most) for held, amount in zip(before, line, strict=True))
        return replace(self, chunks=(*self.chunks[:place], chunk, *self.chunks[place + 1 :]), largest=largest)

    def _threshold(self, place: int) -> int:
        """The k-th largest line of a currency."""
        if self.most is None:
            raise ValueError("nobody said in how many parts a unit may be")
        held = self.largest[place] if self.largest else ()
        return held[0][0] if len(held) == self.most else 0


NO_LINES: Final = Lines()


def _chunk(part: str) -> int:
    return hash(part) % CHUNKS


def _with(held: Largest, line: tuple[int, str], most: int) -> Largest:
    """The largest lines after one of them, or another one, has grown."""
    if len(held) == most and line < held[0]:
        return held
    others = [each for each in held if each[1] != line[1]]
    insort(others, line)
    return tuple(others[-most:])


def _largest(lines: Mapping[str, Amounts], most: int) -> tuple[Largest, ...]:
    widths = {len(amounts) for amounts in lines.values()}
    if len(widths) > 1:
        raise ValueError("lines of one partition are of one currency")
    return tuple(
        tuple(sorted((amounts[place], part) for part, amounts in lines.items())[-most:])
        for place in range(widths.pop() if widths else 0)
    )


def lines_read(record: Record) -> dict[str, Lines]:
    """The lines of all partitions in totals; those of version 1 do not say `most`."""
    found = {}
    for partition, told in record.get("portions", {}).items():
        most, lines = (None, told) if record["v"] == 1 else (told["most"], told["lines"])
        if record["v"] > 1 and (type(most) is not int or most < 1):
            raise ValueError("a unit is in one part or in more")
        found[str(partition)] = Lines.of(most, {str(part): parsed(amounts) for part, amounts in lines.items()})
    return found


def lines_written(portions: Mapping[str, Lines]) -> Record:
    return {
        partition: {"most": lines.most, "lines": {part: written(amounts) for part, amounts in lines}}
        for partition, lines in portions.items()
    }
