"""What is on record of a charge, as plain values: the ledger writes them, answers and clients read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.accounting.losses import Concentrated, Pure


@dataclass(frozen=True, slots=True)
class Key:
    """What a caller calls a request, and the digest of what it asks. Both are written down with the charge."""

    name: str
    request: str

    def fields(self) -> dict[str, Any]:
        return {"key": self.name, "request": self.request}


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
    """What the answer cost: more than the loss where a part of a partition was asked about."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """How it was asked beside its text: cost, parameters, dialect."""
    plan: str | None = None
    """The fingerprint of what it means."""
    part: PartName | None = None
    """The part of a partition that it is about."""
