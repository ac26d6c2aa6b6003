"""Reading the sources anew: copies, blocks of streams, and the data version that says which of them are asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from discreet.curator.erasing import Erasure, erasing, settle_streams
from discreet.curator.retention import retain, with_saved
from discreet.curator.state import home_of, open_ledger
from discreet.curator.streams import refresh_streams
from discreet.engines.arrivals import Arrived
from discreet.engines.copy import (
    Progress,
    Tell,
    copied_tables,
    copies,
    copy_path,
    forget_others,
    forget_unrecorded,
    private_copy,
)
from discreet.engines.erasing import Erased
from discreet.engines.holders import held
from discreet.engines.newer import forget_aside
from discreet.engines.problems import SourceError
from discreet.files import locked
from discreet.ledger import Ledger
from discreet.ledger.homes import InFile
from discreet.ledger.retention import NOTHING, Retained
from discreet.logs import note
from discreet.policy import Policy, PolicyError, read
from discreet.printing import counted, printable

ERASED: Final = "whoever is gone at the source is erased; backups of before, and answers, are as they were"
HELD: Final = "end these programs, or let them ask once more: nothing else keeps the rows"
"""What is to be done while something is still held."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did. For the owner."""

    version: int
    """Of the data that is asked from now on."""
    streams: dict[str, Arrived]
    erased: dict[str, Erased] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    """After an erasure: what other programs still have open of what was there before, in words."""
    retained: Retained = NOTHING
    """What was too old to be kept."""

    def erased_words(self, unit: str) -> list[str]:
        """What an erasure took out of streams, and whether all of it is gone. Counts are exact."""
        left = [
            f"{printable(table)}: {counted(each.rows, 'row')} left the blocks"
            + (f", all of {printable(counted(each.units, unit))}" if each.units else "")
            for table, each in self.erased.items()
        ]
        return left if self.held else [*left, ERASED]


def refresh(
    policy: Policy,
    reason: str,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> int:
    """Read the sources anew and make that the data version that is asked from now on.

    The copy is made first and recorded last. If it fails, nothing is recorded and everybody goes on with the version
    before. If the process dies in between, a copy is left that no record names: nobody opens it, and the next refresh
    makes it anew, because the sources may have changed since. One refresh runs at a time. `tell` hears what of the
    sources was left out.
    """
    with open_ledger(policy) as ledger:
        return refreshed(policy, ledger, reason, progress, tell).version


def refreshed(
    policy: Policy,
    ledger: Ledger,
    reason: str,
    progress: Progress | None = None,
    tell: Tell | None = None,
    until: object = None,
    among: int = 1,
    everything: bool = False,
    erase: Erasure | None = None,
    let_go: Callable[[], None] | None = None,
) -> Refreshed:
    """The same, over a ledger that is open; `everything`: also rows that are not read again otherwise (`newer_by`).

    With `erase` whoever is gone at the source is erased everywhere: all rows are read, sealed blocks lose those of
    units that are gone, the data version advances, and what other programs still have open is told. `let_go` ends what
    this program has open of the version before.

    Of streams what is new is copied, and blocks that have ended at `until` (now, if nothing is said) are opened. Blocks
    stay as they are, so that a policy of nothing but streams of time has one data version.
    """
    with locked(policy.state / "refresh.lock"):
        before = ledger.data_version
        settle_streams(policy, before)
        if everything or erase:
            forget_aside(policy)
        streams = refresh_streams(policy, ledger, until, among)
        kinds = [table.stream for table in policy.streams.values()]
        changing = copied_tables(policy) or any(stream is not None and stream.by == "unit" for stream in kinds)
        with erasing(policy, lambda: ledger.data_version, erase, among) as erased:
            version = _advanced(policy, ledger, reason, progress, tell, among) if changing or erase else before
            if let_go is not None:
                let_go()
        note("refreshed", dataset=policy.name, data_version=version)
        return Refreshed(version, streams, erased.streams, erased.held, _retained(policy, ledger))


def _retained(policy: Policy, ledger: Ledger) -> Retained:
    """A ledger in a database is erased from by the role that owns it, and by no curator."""
    return with_saved(policy, retain(policy, ledger) if isinstance(home_of(policy), InFile) else NOTHING)


def prepared(policy: Policy, ledger: Ledger, progress: Progress | None = None, among: int = 1) -> int:
    """The data version that is asked, with its copy for this policy; the sources are read if there is none.

    Rows that were read once are never read again under the same number: where a copy was made before, or a question
    charged, a policy that needs other columns, a lost copy or a newer program advances the version, on the record. A
    policy that was edited since this process read it makes no copies.
    """
    if copy_path(policy, ledger.data_version).exists():
        return ledger.data_version
    with locked(policy.state / "refresh.lock"):
        version = ledger.data_version
        if copy_path(policy, version).exists():
            return version
        _demand_unedited(policy)
        settle_streams(policy, version)
        if any(copies(policy.state / "data")) or ledger.entries():
            return _advanced(policy, ledger, "the sources are read anew", progress, among=among)
        private_copy(policy, version, progress, among)
        return version


def _advanced(
    policy: Policy,
    ledger: Ledger,
    reason: str,
    progress: Progress | None,
    tell: Tell | None = None,
    among: int = 1,
) -> int:
    version = ledger.data_version + 1
    forget_unrecorded(policy, version)
    private_copy(policy, version, progress, among, tell)
    ledger.advance_data(reason)
    forget_others(policy, version)
    held(policy.state, version)  # locks that nobody holds are removed
    return version


def _demand_unedited(policy: Policy) -> None:
    try:
        there = replace(read(policy.path), state=policy.state)
        edited = copy_path(there, 0) != copy_path(policy, 0)
    except PolicyError:
        return  # what was opened is what counts
    if edited:
        raise SourceError("policy", "it was edited since this program read it", "open it again")
