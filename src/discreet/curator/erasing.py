"""Erasing people who were deleted at the source: from streams, copies, and programs that have earlier copies open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from discreet.engines.connection import sweep_temporary
from discreet.engines.erasing import Erased, prepare, settle
from discreet.engines.holders import held
from discreet.errors import Refused
from discreet.policy import Policy

PATIENCE: Final = 30.0
DAY: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Erasure:
    """That everybody who is gone at the source is erased, and how."""

    missing_files: bool = False
    """Files of streams that were read and are gone count as deleted."""
    patience: float = PATIENCE
    """Seconds to wait for programs that have earlier copies open."""


def demanded(erase: object) -> Erasure | None:
    """What a caller of Python says: True, or how; nothing by default. Anything else is refused before a row is read."""
    if erase is True:
        return Erasure()
    if erase is False or erase is None:
        return None
    if not isinstance(erase, Erasure) or type(erase.missing_files) is not bool:
        raise Refused("policy", "erase is True, False, or an Erasure", "write erase=True")
    if type(erase.patience) not in (int, float) or not 0 <= erase.patience < DAY:
        raise Refused("policy", "the patience of an erasure is a number of seconds", "write patience=30")
    return erase


@dataclass
class Erasing:
    """One erasure, while a refresh runs. What it found is for the owner."""

    streams: dict[str, Erased] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    """What other programs still have open, in words."""


def settle_streams(policy: Policy, version: int) -> None:
    """End or undo what an erasure that was interrupted had begun: the data version that is current says which."""
    for table in policy.streams.values():
        settle(policy, table, version)


@contextmanager
def erasing(policy: Policy, current: Callable[[], int], wanted: Erasure | None, among: int = 1) -> Iterator[Erasing]:
    """Around the advance to the next data version: streams before and after it, then whoever holds copies.

    `current` says which data version is current. If it is still the one before when something fails, streams are what
    they were.
    """
    act = Erasing()
    if wanted is None:
        yield act
        return
    try:
        version = current() + 1
        for table in policy.streams.values():
            act.streams[table.name] = prepare(policy, table, version, files_gone=wanted.missing_files, among=among)
        yield act
    finally:
        settle_streams(policy, current())
    sweep_temporary()
    act.held = held(policy.state, version, wanted.patience)
