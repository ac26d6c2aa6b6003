"""What queries about blocks of a stream cost together: block composition, where every block has a budget of its own.

Theorem  A stream's blocks are opened one after the other; each has a line, and no line is ever above the capacity C.
         Somebody who sees all answers decides what is opened (contents may depend on earlier answers), asks M₁, M₂, …
         about sets of blocks S₁, S₂, … at costs p₁, p₂, … (of a unit, over all of Sᵢ together), and retires blocks. If
         each unit has rows in at most k blocks, then all answers together cost a unit at most k·C, in each currency:
         ε, or ρ and δ. That is what the stream holds of the budget from its declaration on, so that the theorem of the
         ledger is true as it stands, whatever is opened later.
Proof    1. Take two worlds that differ in one unit u, there with all its rows or not at all. Bᵢ are the blocks that
            have rows of u when Mᵢ is asked. They only grow, and B, all of them, has at most k blocks.
         2. Mᵢ reads the blocks Sᵢ alone. If Sᵢ ∩ Bᵢ = ∅ it reads the same rows in both worlds and has no loss; else its
            loss is at most pᵢ. Which of the two is so, and pᵢ, follows from what was opened and answered before: blocks
            are opened at times, retired by lines and assigned to units by rules that read no rows of others.
         3. A charge puts pᵢ on the line of each block of Sᵢ, so that on every path
                Σᵢ pᵢ·[Sᵢ ∩ Bᵢ ≠ ∅] ≤ Σᵢ pᵢ·|Sᵢ ∩ B| = Σ over b in B of line(b) ≤ k·C.
         4. A predictable sum that is bounded on every path is what both filters of `accounting.filters` need.
         5. Lines of an analyst are sums of some of these charges: a share of C bounds them in the same way.
         6. The same is true of the sum of the k largest lines: what a unit can have lost so far.
Currency Where a budget gets a δ, lines v become ρ(v) = v·tanh(v/2), rounded up. v ↦ ρ(v)/v grows, so ρ(v + w) ≥ ρ(v) +
         ρ(w): a line is at least the sum of what its charges cost in ρ, each taken by itself. The capacity becomes the
         largest line, and the owner declares it anew; what the stream held stays spent.
Source   Lécuyer, Spahn, Vodrahalli, Geambasu & Hsu 2019 (block composition); units in k blocks instead of rows in one.

A block is retired by the owner, or by the charge that takes its line to the capacity; that is final, also if the
capacity is raised. Nothing is remembered of its line but whether it is among the k largest of those retired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import chain
from typing import Final

from discreet.accounting.record import (
    MOST_BLOCKS,
    Ranges,
    common_to,
    ranges_of,
    ranges_read,
    ranges_written,
    united,
    without,
)  # fmt: skip
from discreet.accounting.stream import Opened
from discreet.ledger.codec import Amounts, Record, less, parsed, plus, written
from discreet.ledger.lines import Lines

LONGEST_NAME: Final = 200
"""Characters of a stream's name, of a file's, and of a label."""


@dataclass(frozen=True, slots=True)
class Stream(Opened):
    """What was charged for each block of a stream. A value: every change gives another one."""

    capacity: Amounts
    most: int
    """In how many blocks a unit may have rows."""
    unit: str | None = None
    """Whom the losses are about."""
    files: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    lines: tuple[Lines, ...] = ()
    """For each currency what was charged for each block; nothing for one that is retired."""
    shares: Mapping[str, tuple[Lines, ...]] = field(default_factory=dict)
    """The same of each analyst who charged anything."""
    retired: Ranges = ()
    largest: tuple[tuple[int, ...], ...] = ()
    """For each currency the `most` largest lines of retired blocks."""

    def __post_init__(self) -> None:
        if type(self.most) is not int or not 1 <= self.most <= MOST_BLOCKS:
            raise ValueError("a unit has rows in one block or in more")

    @classmethod
    def declared(cls, capacity: Amounts, most: int, unit: str | None) -> Stream:
        return cls(capacity, most, unit, lines=(Lines(),) * len(capacity), largest=((),) * len(capacity))

    @property
    def held(self) -> Amounts:
        """What of the budget is the stream's."""
        return tuple(self.most * each for each in self.capacity)

    @property
    def lost(self) -> Amounts:
        """What a unit can have lost by now: the sum of the `most` largest lines, of blocks that are retired too."""
        each = zip(self.largest, self.lines, strict=True)
        return tuple(sum(nlargest(self.most, chain(retired, lines))) for retired, lines in each)

    def raised(self, capacity: Amounts) -> Stream:
        if any(less(self.capacity, capacity)):
            raise ValueError("a capacity is not lowered")
        return replace(self, capacity=capacity)

    def opened(self, file: str, label: str) -> Stream:
        """With one more block, on whose line there is nothing."""
        if file in self.files or label in self.labels or self.count == MOST_BLOCKS:
            raise ValueError("a block has a file and a label of its own")
        lines, shares = (tuple(each.grown() for each in self.lines), _each(self.shares, Lines.grown))
        return replace(self, files=(*self.files, file), labels=(*self.labels, label), lines=lines, shares=shares)

    def is_open(self, ranges: Ranges) -> bool:
        """Whether all of these blocks were opened, and none is retired."""
        return ranges[-1][1] < self.count and not common_to(ranges, self.retired)

    def peak(self, ranges: Ranges, analyst: str | None = None) -> Amounts:
        """The largest line in each currency of blocks that are open: of everybody, or of one analyst."""
        lines = self.lines if analyst is None else self.shares.get(analyst, ())
        return tuple(each.peak(ranges) for each in lines) or (0,) * len(self.capacity)

    def lacking(self, cost: Amounts, limits: Amounts, analyst: str | None = None) -> Ranges:
        """The blocks whose lines have no room for a cost below limits."""
        lines = self.lines if analyst is None else self.shares.get(analyst, ())
        bounds = (limit - amount for limit, amount in zip(limits, cost, strict=True))
        if any(less(cost, limits)):
            return ((0, self.count - 1),)
        return united(chain(*(ranges_of(each.above(bound)) for each, bound in zip(lines, bounds, strict=False))))

    def charged(self, ranges: Ranges, cost: Amounts, analyst: str) -> Stream:
        """After a charge about these blocks; ValueError unless all of them are open and have room for it."""
        if not self.is_open(ranges) or any(less(plus(self.peak(ranges), cost), self.capacity)):
            raise ValueError("a charge fits all its blocks")
        lines = _plus(self.lines, ranges, cost)
        own = self.shares.get(analyst) or (Lines.of([0] * self.count),) * len(cost)
        stream = replace(self, lines=lines, shares={**self.shares, analyst: _plus(own, ranges, cost)})
        full = lines[0].above(self.capacity[0] - 1) if cost[0] else []
        return stream.dropped(common_to(ranges, ranges_of(full))) if full else stream

    def dropped(self, ranges: Ranges) -> Stream:
        """With these blocks retired; some may be already."""
        gone = without(ranges, self.retired)
        largest = tuple(
            tuple(sorted(nlargest(self.most, (*held, *(line for line in each.within(gone) if line)))))
            for held, each in zip(self.largest, self.lines, strict=True)
        )
        return replace(
            self,
            lines=tuple(each.dropped(gone) for each in self.lines),
            shares=_each(self.shares, lambda lines: lines.dropped(gone)),
            retired=united((*self.retired, *gone)),
            largest=largest,
        )

    def converted(self, convert: Callable[[Amounts], Amounts]) -> Stream:
        """In another currency; see above. Of an amount in the old one, `convert` makes one in the new one."""
        lines = _converted(self.lines, convert)
        widest = tuple(max(each, default=0) for each in lines)
        amounts = sorted(convert((amount,)) for amount in self.largest[0])
        return replace(
            self,
            capacity=widest,
            lines=lines,
            shares={analyst: _converted(own, convert) for analyst, own in self.shares.items()},
            largest=tuple(tuple(amount for amount in each if amount) for each in zip(*amounts, strict=True))
            or ((),) * len(widest),
        )

    def words(self, ranges: Ranges) -> str:
        """Blocks as people know them: by number, and by the label where that is another."""
        names = ranges_written(ranges).replace(",", ", ").replace("-", " to ")
        ends = [self.labels[ranges[0][0]], self.labels[ranges[-1][1]]]
        labels = "" if ends == [str(ranges[0][0]), str(ranges[-1][1])] else f" ({' … '.join(dict.fromkeys(ends))})"
        return f"{'block' if ranges[0][0] == ranges[-1][1] else 'blocks'} {names}{labels}"


def _plus(lines: Iterable[Lines], ranges: Ranges, cost: Amounts) -> tuple[Lines, ...]:
    return tuple(each.plus(ranges, amount) for each, amount in zip(lines, cost, strict=True))


def _each(shares: Mapping[str, tuple[Lines, ...]], change: Callable[[Lines], Lines]) -> dict[str, tuple[Lines, ...]]:
    return {analyst: tuple(map(change, own)) for analyst, own in shares.items()}


def _converted(lines: tuple[Lines, ...], convert: Callable[[Amounts], Amounts]) -> tuple[Lines, ...]:
    """Lines of one currency in that of another budget."""
    runs = [(convert((amount,)), times) for amount, times in lines[0].coded()]
    width = len(convert((0,)))
    return tuple(Lines.runs((amounts[index], times) for amounts, times in runs) for index in range(width))


def demand_name(name: object) -> str:
    """The name of a stream, of a file or of a block; ValueError for what cannot be one."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(f"a name is a printable text of at most {LONGEST_NAME} characters")
    return name


# totals


def streams_written(streams: Mapping[str, Stream]) -> Record:
    return {name: _written(stream) for name, stream in streams.items()}


def _written(stream: Stream) -> Record:
    return {
        "capacity": written(stream.capacity),
        "most": stream.most,
        "unit": stream.unit,
        "files": list(stream.files),
        "labels": list(stream.labels),
        "lines": _coded(stream.lines),
        "shares": {analyst: _coded(own) for analyst, own in stream.shares.items()},
        "retired": ranges_written(stream.retired),
        "largest": [written(each) for each in stream.largest],
    }


def _coded(lines: Iterable[Lines]) -> list[list[list[object]]]:
    """Run by run: how much, and how often."""
    return [[[str(amount), times] for amount, times in each.coded()] for each in lines]


def streams_read(record: Record) -> dict[str, Stream]:
    return {demand_name(name): _read(fields) for name, fields in record.get("streams", {}).items()}


def _read(fields: Record) -> Stream:
    capacity = parsed(fields["capacity"])
    labels, files = (tuple(map(demand_name, fields[name])) for name in ("labels", "files"))
    shares = {str(analyst): _decoded(own, len(capacity), len(labels)) for analyst, own in fields["shares"].items()}
    retired = () if fields["retired"] == "" else ranges_read(fields["retired"])
    largest = tuple(map(parsed, fields["largest"]))
    if len(files) != len(labels) or len(largest) != len(capacity) or (retired and retired[-1][1] >= len(labels)):
        raise ValueError("totals tell of all blocks, and of no others")
    return Stream(
        capacity=capacity,
        most=fields["most"],
        unit=None if fields["unit"] is None else demand_name(fields["unit"]),
        files=files,
        labels=labels,
        lines=_decoded(fields["lines"], len(capacity), len(labels)),
        shares=shares,
        retired=retired,
        largest=largest,
    )


def _decoded(coded: object, width: int, count: int) -> tuple[Lines, ...]:
    if not isinstance(coded, list) or len(coded) != width:
        raise ValueError("there are lines for each currency")
    lines = tuple(Lines.runs(_runs(each, count)) for each in coded)
    if any(each.count != count for each in lines):
        raise ValueError("there is a line for each block")
    return lines


def _runs(coded: Iterable[tuple[object, object]], count: int) -> Iterable[tuple[int, int]]:
    for amount, times in coded:
        if type(times) is not int or not 1 <= times <= count:
            raise ValueError("runs have lengths, which add up to the number of blocks")
        count -= times
        yield parsed([amount])[0], times
