"""What questions about parts of a partition cost together: a line for each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from discreet.ledger.codec import Amounts, Record, parsed, written

Lines = Mapping[str, Amounts]
NO_LINES: Final[Lines] = {}


@dataclass(frozen=True, slots=True)
class Portion:
    """One part of a partition in which each unit has rows in at most `most` parts."""

    partition: str
    part: str
    most: int

    @classmethod
    def read(cls, record: Record) -> Portion:
        partition, part, most = record["partition"], record["part"], record["most"]
        if not (isinstance(partition, str) and isinstance(part, str) and type(most) is int and most > 0):
            raise ValueError("a portion names its partition and its part")
        return cls(partition, part, most)

    def fields(self) -> Record:
        return {"partition": self.partition, "part": self.part, "most": self.most}


def paid(lines: Lines, portion: Portion, price: Amounts) -> Lines:
    """The lines after one more question about a part."""
    before = lines.get(portion.part, (0,) * len(price))
    return {**lines, portion.part: tuple(a + b for a, b in zip(before, price, strict=True))}


def dearest(lines: Lines, most: int, width: int) -> Amounts:
    """What any unit paid at most: the sum of the `most` largest lines, in each currency."""
    return tuple(sum(sorted((line[place] for line in lines.values()), reverse=True)[:most]) for place in range(width))


def rise(lines: Lines, portion: Portion, price: Amounts) -> Amounts:
    """By how much that grows with one more question about a part."""
    before, after = (dearest(some, portion.most, len(price)) for some in (lines, paid(lines, portion, price)))
    return tuple(b - a for a, b in zip(before, after, strict=True))


def lines_read(record: Record) -> dict[str, Lines]:
    return {
        str(partition): {str(part): parsed(amounts) for part, amounts in lines.items()}
        for partition, lines in record.get("portions", {}).items()
    }


def lines_written(portions: Mapping[str, Lines]) -> Record:
    return {
        partition: {part: written(amounts) for part, amounts in lines.items()} for partition, lines in portions.items()
    }
