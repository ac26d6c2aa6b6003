"""Lines of blocks: what was charged for each, as an immutable array in two levels.

A charge about thousands of blocks touches few numbers: where a whole chunk is charged, what all its lines owe is noted
once beside them. So all of 10⁴ lines are charged by making 79 small values anew, and the state before stays what it
was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, repeat
from typing import Final, NamedTuple

from discreet.accounting.record import Ranges

SIZE: Final = 128


class Chunk(NamedTuple):
    """Up to 128 lines. A line is its value and what all of the chunk owe."""

    owed: int
    largest: int
    """Of the lines."""
    values: tuple[int, ...]

    @classmethod
    def of(cls, lines: Iterable[int]) -> Chunk:
        values = tuple(lines)
        return cls(0, max(values), values)

    def peak(self, start: int, stop: int) -> int:
        """The largest of the lines at these positions, of which there is one at least."""
        return self.largest if stop - start == len(self.values) else self.owed + max(self.values[start:stop])

    def plus(self, start: int, stop: int, cost: int) -> Chunk:
        if stop - start == len(self.values):
            return Chunk(self.owed + cost, self.largest + cost, self.values)
        raised = tuple(map(cost.__add__, self.values[start:stop]))
        largest = max(self.largest, self.owed + max(raised))
        return Chunk(self.owed, largest, self.values[:start] + raised + self.values[stop:])

    def dropped(self, start: int, stop: int) -> Chunk:
        """With nothing on the lines at these positions."""
        values = self.values[:start] + (-self.owed,) * (stop - start) + self.values[stop:]
        return Chunk(self.owed, self.owed + max(values), values)

    @property
    def lines(self) -> Iterator[int]:
        return map(self.owed.__add__, self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Amounts of one currency, one for each block."""

    count: int = 0
    chunks: tuple[Chunk, ...] = ()

    @classmethod
    def of(cls, lines: Sequence[int]) -> Lines:
        chunks = (Chunk.of(lines[start : start + SIZE]) for start in range(0, len(lines), SIZE))
        return cls(len(lines), tuple(chunks))

    @classmethod
    def runs(cls, runs: Iterable[tuple[int, int]]) -> Lines:
        """From amounts with how often each is repeated."""
        return cls.of(list(chain.from_iterable(repeat(amount, times) for amount, times in runs)))

    def coded(self) -> list[tuple[int, int]]:
        """Amounts with how often each is repeated."""
        return [(amount, sum(1 for _ in lines)) for amount, lines in groupby(self)]

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(chunk.lines for chunk in self.chunks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lines) and self.count == other.count and all(map(int.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def grown(self) -> Lines:
        """With one more line, on which there is nothing."""
        if self.count % SIZE == 0:
            return Lines(self.count + 1, (*self.chunks, Chunk.of((0,))))
        last = self.chunks[-1]
        chunk = Chunk(last.owed, max(last.largest, 0), (*last.values, -last.owed))
        return Lines(self.count + 1, (*self.chunks[:-1], chunk))

    def peak(self, ranges: Ranges) -> int:
        """The largest line in the ranges, which lie inside."""
        whole, cut = self._pieces(ranges)
        inner = (chunk.largest for each in whole for chunk in self.chunks[each])
        return max(chain(inner, (self.chunks[index].peak(start, stop) for index, start, stop in cut)))

    def plus(self, ranges: Ranges, cost: int) -> Lines:
        """With a cost, which is not negative, on every line in the ranges."""
        if not cost:
            return self
        whole, cut = self._pieces(ranges)
        chunks = list(self.chunks)
        for each in whole:
            chunks[each] = [Chunk(owed + cost, largest + cost, values) for owed, largest, values in chunks[each]]
        for index, start, stop in cut:
            chunks[index] = chunks[index].plus(start, stop, cost)
        return Lines(self.count, tuple(chunks))

    def dropped(self, ranges: Ranges) -> Lines:
        """With nothing on the lines in the ranges."""
        whole, cut = self._pieces(ranges)
        chunks = list(self.chunks)
        for each in whole:
            chunks[each] = [Chunk.of((0,) * len(chunk.values)) for chunk in chunks[each]]
        for index, start, stop in cut:
            chunks[index] = chunks[index].dropped(start, stop)
        return Lines(self.count, tuple(chunks))

    def within(self, ranges: Ranges) -> Iterator[int]:
        """The lines in the ranges."""
        for first, last in ranges:
            start = first // SIZE
            lines = chain.from_iterable(chunk.lines for chunk in self.chunks[start : last // SIZE + 1])
            yield from islice(lines, first - start * SIZE, last + 1 - start * SIZE)

    def above(self, bound: int) -> list[int]:
        """The numbers of the lines that are above a bound. Chunks without any are passed over."""
        return [
            index * SIZE + offset
            for index, chunk in enumerate(self.chunks)
            if chunk.largest > bound
            for offset, line in enumerate(chunk.lines)
            if line > bound
        ]

    def _pieces(self, ranges: Ranges) -> tuple[list[slice], list[tuple[int, int, int]]]:
        """Which chunks the ranges cover whole, and which they cut, with the positions in these."""
        whole, cut = [], []
        for first, last in ranges:
            (low, start), (high, stop) = divmod(first, SIZE), divmod(last, SIZE)
            if low == high:
                cut.append((low, start, stop + 1))
                continue
            if start:
                cut.append((low, start, SIZE))
                low += 1
            if stop + 1 < len(self.chunks[high].values):
                cut.append((high, 0, stop + 1))
                high -= 1
            whole.append(slice(low, high + 1))
        return whole, cut
