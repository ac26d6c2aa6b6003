"""What is on record of a charge, as plain values: the ledger writes them, answers and clients read them."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from discreet.accounting.losses import Concentrated, Pure
from discreet.errors import Refused

OWNER: Final = "owner"
"""Who is written down where no analyst is named."""
LONGEST_KEY: Final = 200
"""Characters of a name that a caller gives to a request."""
ERASED: Final = "(erased: older than the policy's retention)"
"""What is shown in the place of a text that was erased."""
MOST_RANGES: Final = 1000
MOST_BLOCKS: Final = 10**6
"""Of a stream; numbers beyond it name nothing."""
_RANGES: Final = re.compile(r"[0-9]{1,7}(-[0-9]{1,7})?(,[0-9]{1,7}(-[0-9]{1,7})?)*")


@dataclass(frozen=True, slots=True)
class Key:
    """What a caller calls a request, and the digest of what it asks. Both are written down with the charge."""

    name: str
    request: str

    @classmethod
    def called(cls, name: str, caller: str, request: str) -> Self:
        """That of a caller who says a name alone: another caller's request of the same name is another one."""
        return cls(_digest(["called", caller, name]), _digest(request))

    def fields(self) -> dict[str, Any]:
        return {"key": self.name, "request": self.request}


def demand_key(key: object) -> None:
    """Raise unless this can be a caller's name of a request, or is none."""
    if not isinstance(key, Key | str | None) or (isinstance(key, str) and not 1 <= len(key) <= LONGEST_KEY):
        fix = 'key="a name of yours", or none: results are cached without'
        raise Refused("key-invalid", f"a key is a text of 1 to {LONGEST_KEY} characters", fix)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PartName:
    """One part of a partition in which each unit has rows in at most `max_parts` parts, as the ledger calls it.

    `accounting.part.Part` says which rows a part has; this is made of it and of the name of the private copy.
    """

    partition: str
    part: str
    max_parts: int

    def __post_init__(self) -> None:
        if type(self.max_parts) is not int or self.max_parts < 1:
            raise ValueError("a part's name says in how many parts a unit may be: one or more")

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> PartName:
        partition, part, max_parts = record["partition"], record["part"], record["most"]
        if not (isinstance(partition, str) and isinstance(part, str)):
            raise ValueError("a part's name says its partition and its part")
        return cls(partition, part, max_parts)

    def fields(self) -> dict[str, Any]:
        return {"partition": self.partition, "part": self.part, "most": self.max_parts}


Ranges = tuple[tuple[int, int], ...]
"""Numbers of blocks: from the one to the other, both included; sorted, with a gap between any two."""


@dataclass(frozen=True, slots=True)
class BlockNames:
    """Some blocks of a stream, by their numbers: 0, 1, 2 … in the order in which they were opened.

    There is one name for one set of blocks: ranges are sorted and none touches the next.

    >>> BlockNames.of("rides", [3, 0, 1, 2, 7])
    BlockNames(stream='rides', ranges=((0, 3), (7, 7)))
    """

    stream: str
    ranges: Ranges

    def __post_init__(self) -> None:
        if type(self.stream) is not str or not self.stream:
            raise ValueError("blocks are those of a stream, which has a name")
        demand_ranges(self.ranges)
        if not 1 <= len(self.ranges) <= MOST_RANGES:
            raise ValueError(f"blocks are named in 1 to {MOST_RANGES} ranges")

    @classmethod
    def of(cls, stream: str, numbers: Iterable[int]) -> Self:
        """These blocks, in whatever order they are named."""
        return cls(stream, ranges_of(numbers))

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        return cls(record["stream"], ranges_read(record["ranges"]))

    @classmethod
    def parse(cls, text: str) -> Self:
        """What `str` wrote."""
        stream, _, ranges = text.rpartition(" ")
        return cls(stream, ranges_read(ranges))

    def __str__(self) -> str:
        return f"{self.stream} {self.label}"

    def fields(self) -> dict[str, Any]:
        return {"stream": self.stream, "ranges": self.label}

    @property
    def label(self) -> str:
        """The numbers in words: 0-363,365."""
        return ranges_written(self.ranges)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __iter__(self) -> Iterator[int]:
        return (number for first, last in self.ranges for number in range(first, last + 1))


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """Numbers as ranges; ValueError for what is no number of a block, or names one twice."""
    listed = list(numbers)
    if not all(type(number) is int for number in listed) or len(set(listed)) < len(listed):
        raise ValueError("blocks have whole numbers, and each is named once")
    return united([(number, number) for number in listed])


def united(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """All numbers of some ranges, which may touch or overlap."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return tuple(joined)


def common_to(some: Ranges, others: Ranges) -> Ranges:
    """The numbers that are in both; the others may be many."""
    shared = []
    for first, last in some:
        start = bisect_left(others, (first, first))
        for low, high in others[max(start - 1, 0) : bisect_right(others, (last, MOST_BLOCKS))]:
            if max(low, first) <= min(high, last):
                shared.append((max(low, first), min(high, last)))
    return tuple(shared)


def without(some: Ranges, others: Ranges) -> Ranges:
    """The numbers that are in the one and not in the other."""
    rest = []
    for first, last in some:
        start = first
        for low, high in common_to(((first, last),), others):
            rest.append((start, low - 1))
            start = high + 1
        rest.append((start, last))
    return tuple((first, last) for first, last in rest if first <= last)


def demand_ranges(ranges: object) -> None:
    """ValueError unless these are ranges of numbers of blocks."""
    if type(ranges) is not tuple or not all(type(each) is tuple and len(each) == 2 for each in ranges):
        raise ValueError("blocks are named by ranges: pairs of the first and the last number")
    after = 0
    for first, last in ranges:
        if type(first) is not int or type(last) is not int or not after <= first <= last < MOST_BLOCKS:
            raise ValueError("ranges of blocks are sorted, do not touch each other, and have whole numbers")
        after = last + 2


def ranges_written(ranges: Ranges) -> str:
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def ranges_read(text: object) -> Ranges:
    """What `ranges_written` wrote, and nothing else."""
    if not isinstance(text, str) or not _RANGES.fullmatch(text):
        raise ValueError("ranges of blocks are written as 0-363,365")
    pairs = ([int(number) for number in each.split("-")] for each in text.split(","))
    ranges = tuple((pair[0], pair[-1]) for pair in pairs)
    demand_ranges(ranges)
    if ranges_written(ranges) != text:
        raise ValueError("ranges of blocks are written in one way")
    return ranges


@dataclass(frozen=True, slots=True)
class Entry:
    """A charge, and whether its answer is cached."""

    number: int
    at: str
    analyst: str
    question: str
    loss: Pure | Concentrated
    data_version: int
    answered: bool
    cost: Pure | Concentrated
    """What the answer cost: more than the loss where a part of a partition was asked about, or blocks of a stream."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """How it was asked beside its text: cost, parameters, dialect."""
    plan: str | None = None
    """The fingerprint of what it means."""
    part: PartName | None = None
    """The part of a partition that it is about."""
    blocks: BlockNames | None = None
    """The blocks of a stream that it is about: its cost is on their lines, and its loss is nothing."""
    is_erased: bool = False
    """Whether its text was too old to be kept; `question` says so then."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened beside charges: a budget, a window, a refresh, a policy, a token, an answer that was withdrawn."""

    number: int
    at: str
    """Empty in what was recorded before times were."""
    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What the ledger has on record of it. `answers.story` says it in words, and who may read it."""
