"""Streams between policy, files and ledger: declared, refreshed, and the blocks that a query names.

Which blocks a query reads follows from what the caller says, the calendar and the ledger: never from rows. A task that
names blocks is prepared under a policy that lets it read them and public tables alone (`sql.blocks`), with the capacity
of a block as its budget; its bill names them, so that the ledger puts its loss on the line of each.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import BlockNames, Ranges, common_to, ranges_read, united
from discreet.accounting.rounding import UNITS
from discreet.accounting.stream import StreamStanding
from discreet.errors import Edit, Refused
from discreet.ledger import Grant, Ledger
from discreet.policy import Policy, Table
from discreet.policy.calendar import Days, calendar, moment
from discreet.policy.streams import block_budget, protection, with_blocks

if TYPE_CHECKING:
    from discreet.engines.arrivals import Arrived

ALL: Final = "all"
"""Every block that is not retired."""
BETWEEN: Final = ".."
MOST_NAMED: Final = 100_000
"""Blocks or periods in one list."""
MOST_INVENTED: Final = 1000
"""Blocks of dummy data."""
_NEWEST: Final = re.compile(r"newest(?: (?P<count>\d{1,9}))?")
EXAMPLES: Final = 'write blocks="newest 7", "2024-03", "2024-03-01..2024-03-07", "all", or a list of numbers or labels'


@dataclass(frozen=True, slots=True)
class Chosen:
    """Blocks of a stream that a task reads, and the policy that it is prepared under."""

    policy: Policy
    table: Table
    names: BlockNames
    files: tuple[str, ...]
    """The random names of the files of these blocks."""

    @property
    def digest(self) -> str:
        """Of the blocks and their files, behind the digest of a policy: other rows are never taken for these."""
        return hashlib.sha256(repr((self.names.stream, self.names.ranges, self.files)).encode()).hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is protected, and which blocks are read."""
        return protection(self.table, self.policy.unit), f"blocks of {self.table.name}: {self.words}"

    @property
    def words(self) -> str:
        """The blocks as people call them."""
        label = calendar(self.table).label
        runs = [label(low) if low == high else f"{label(low)}{BETWEEN}{label(high)}" for low, high in self.names.ranges]
        return ", ".join(runs)


def declare(policy: Policy, ledger: Ledger) -> None:
    """Put the streams of a policy on record: most · capacity of each is charged to the budget, once."""
    for table in policy.streams.values():
        assert table.stream is not None
        ledger.declare_stream(table.name, capacity(policy, table), table.stream.most)


def capacity(policy: Policy, table: Table) -> Pure | Concentrated:
    """What may be spent on one block, as the ledger counts it."""
    budget = block_budget(policy, table)
    amounts = [Fraction(limit, UNITS) for limit in Grant.of(budget.epsilon, budget.delta).limits]
    return (Pure(amounts[0]) if budget.delta is None else Concentrated(*amounts)).per(policy.unit)


def refresh_streams(policy: Policy, ledger: Ledger, until: object = None, among: int = 1) -> dict[str, Arrived]:
    """Copy what is new of each stream, and open the blocks that have ended. Call it under the lock of refreshes.

    Files come first, and blocks in the ledger after them: if the process dies in between, the next refresh goes on.
    """
    from discreet.engines.arrivals import forget, seal
    from discreet.engines.frozen import names

    ended = _moment(until)
    declare(policy, ledger)
    arrived = {}
    for table in policy.streams.values():
        standing = ledger.stream(table.name)
        _demand_same(policy, table, standing)
        arrived[table.name] = seal(policy, table, ended, standing.retired, among)
        label = calendar(table).label
        sealed = sorted(names(policy, table).items())[standing.count :]
        ledger.open_blocks(table.name, [(file, label(number)) for number, file in sealed])
        forget(policy, table, ledger.stream(table.name).retired)
    return arrived


def _moment(until: object) -> datetime:
    """The end of what is sealed: the owner's word, or now."""
    if until is None:
        return datetime.now(UTC).replace(tzinfo=None)
    try:
        given = datetime.fromisoformat(until) if isinstance(until, str) else until
    except ValueError:
        given = None
    if not isinstance(given, date) or (isinstance(given, datetime) and given.tzinfo is not None):
        raise Refused("unknown-block", "that is no moment", "write until as 2024-03-07, or 2024-03-07T15:00, in UTC")
    return moment(given)


def _demand_same(policy: Policy, table: Table, standing: StreamStanding) -> None:
    """Blocks on record are those on disk: others would be read in their place."""
    from discreet.engines.frozen import gone, names

    there = names(policy, table)
    if any(there.get(number) != file for number, file in enumerate(standing.files)):
        raise gone(table)


def invent(policy: Policy, ledger: Ledger, capacity_of: Callable[[Policy, Table], Pure | Concentrated]) -> None:
    """Blocks of streams whose rows are in memory and invented: those of the calendar that have ended, or the first."""
    for table in policy.streams.values():
        blocks = calendar(table)
        passed = blocks.passed(_moment(None)) if isinstance(blocks, Days) else blocks.buckets
        ledger.declare_stream(table.name, capacity_of(policy, table), table.stream.most if table.stream else 1)
        count = max(1, min(passed, MOST_INVENTED))
        ledger.open_blocks(table.name, [(f"invented {number}", blocks.label(number)) for number in range(count)])


# which blocks


def chosen(policy: Policy, ledger: Ledger, said: object) -> Chosen | None:
    """The blocks that a caller names, as they are now; None if none are named."""
    if said is None:
        return None
    table, wanted = _stream(policy, said)
    standing = ledger.stream(table.name)
    if not standing.count:
        raise Refused("unknown-block", f"{table.name} has no blocks yet", "ask the owner to run `discreet refresh`")
    ranges = united(range_ for each in _listed(wanted) for range_ in _ranges(table, standing, each))
    if not ranges:
        first, last = standing.labels[0], standing.labels[-1]
        raise Refused(
            "unknown-block",
            f"that names no block of {table.name}, which has {first}{BETWEEN}{last}",
            f'name some of them, such as blocks="{last}"',
            edit=Edit(arguments={"blocks": last}),
        )
    files = tuple(standing.files[number] for low, high in ranges for number in range(low, high + 1))
    limited = replace(policy, tables=with_blocks(policy.tables, table.name, ranges), budget=block_budget(policy, table))
    try:
        return Chosen(limited, limited.tables[table.name], BlockNames(table.name, ranges), files)
    except ValueError as wrong:
        raise Refused("unknown-block", str(wrong), "name blocks that follow one another") from None


def newest_named(policy: Policy, ledger: Ledger, refused: Refused) -> Refused:
    """The refusal of a query that names no blocks, with the newest block."""
    for table in policy.streams.values():
        labels = ledger.stream(table.name).labels
        if labels and refused.reason.startswith(table.name):
            fix = f'{refused.fix}, which is {labels[-1]} now, or blocks="{labels[-1]}"'
            return Refused("blocks-missing", refused.reason, fix, edit=refused.edit)
    return refused


def _stream(policy: Policy, said: object) -> tuple[Table, object]:
    """The stream that is meant, and what is said of its blocks."""
    streams = policy.streams
    if isinstance(said, BlockNames):
        said = said.fields()
    if isinstance(said, Mapping) and set(said) == {"stream", "ranges"}:
        said = {said["stream"]: {"ranges": said["ranges"]}}
    if isinstance(said, Mapping) and set(said) != {"ranges"}:
        if len(said) != 1 or not set(said) <= set(streams):
            raise Refused("unknown-block", "blocks are those of one stream", f"streams: {', '.join(streams) or 'none'}")
        ((stream, wanted),) = said.items()
        return streams[stream], wanted
    if len(streams) != 1:
        several = f"name the stream: blocks={{{next(iter(streams))!r}: 'newest 7'}}" if streams else "leave blocks out"
        raise Refused("unknown-block", f"the policy has {len(streams) or 'no'} streams", several)
    return next(iter(streams.values())), said


def _listed(wanted: object) -> Iterable[object]:
    if not isinstance(wanted, list | tuple | range | set | frozenset):
        return [wanted]
    if len(wanted) > MOST_NAMED:
        raise Refused("unknown-block", f"more than {MOST_NAMED:,} blocks are named one by one", EXAMPLES)
    return wanted


def _ranges(table: Table, standing: StreamStanding, said: object) -> Ranges:
    """What one word means, of blocks that there are."""
    there = ((0, standing.count - 1),)
    if isinstance(said, Mapping):
        try:
            return common_to(ranges_read(said["ranges"]), there)
        except (KeyError, TypeError, ValueError):
            raise _unreadable(said) from None
    if type(said) is int:
        return common_to(((said, said),), there) if said >= 0 else ()
    if isinstance(said, date):
        said = said.isoformat()
    if not isinstance(said, str):
        raise _unreadable(said)
    text = said.strip()
    newest = _NEWEST.fullmatch(text)
    if newest is not None:
        count = int(newest["count"] or 1)
        return ((max(standing.count - count, 0), standing.count - 1),) if count else ()
    if text == ALL:
        return standing.live
    low, between, high = text.partition(BETWEEN)
    ends = [calendar(table).named(part.strip()) for part in ((low, high) if between else (low, low))]
    if ends[0] is None or ends[1] is None:
        raise _unreadable(said)
    first, last = max(ends[0][0], 0), ends[1][1]
    return common_to(((first, last),), there) if first <= last else ()


def _unreadable(said: object) -> Refused:
    shown = repr(said) if isinstance(said, str) and len(said) <= 60 else "that"
    return Refused("unknown-block", f"{shown} names no blocks", EXAMPLES)
