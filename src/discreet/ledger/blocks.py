"""How blocks of a stream stand for everybody and for one analyst: what a charge about them must pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Final

from discreet.accounting import Loss
from discreet.accounting.balance import Amount, Used
from discreet.accounting.filters import Filter
from discreet.accounting.record import BlockNames, Ranges, common_to, without
from discreet.accounting.rounding import UNITS
from discreet.accounting.stream import Lines, StreamStanding
from discreet.errors import BudgetExhausted, Refused
from discreet.exact import largest
from discreet.ledger.charge import cost_of, demand_spendable
from discreet.ledger.codec import Amounts, less
from discreet.ledger.entries import loss_of
from discreet.ledger.grant import Grant
from discreet.ledger.lines import Lines as Array
from discreet.ledger.standing import part_of
from discreet.ledger.state import State
from discreet.ledger.streams import Stream
from discreet.policy import Percentage, Share

MANY: Final = 10**36
"""Charges that nobody makes."""
LISTED: Final = 3
"""Runs of blocks that are named in a refusal."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks that are open; or of an analyst, who has a share of each block's capacity."""

    grant: Grant
    stream: Stream
    name: str
    ranges: Ranges
    analyst: str
    share: Share | None

    @classmethod
    def of(cls, state: State, blocks: BlockNames, analyst: str, share: Share | None) -> Blocks:
        """Refused unless all of them can be asked about."""
        stream = known(state, blocks.stream)
        if blocks.ranges[-1][1] >= stream.count:
            has = f"{stream.count} blocks, numbered from 0" if stream.count else "no blocks yet"
            raise Refused("unknown-block", f"stream {blocks.stream} has {has}", _open(stream))
        gone = common_to(blocks.ranges, stream.retired)
        if gone:
            what = f"{_words(stream, gone)} of {blocks.stream} {'is' if gone[0][0] == gone[-1][1] else 'are'} retired"
            raise Refused("block-retired", what, _open(stream, without(blocks.ranges, stream.retired)))
        return cls(state.grant, stream, blocks.stream, blocks.ranges, analyst, share)

    @property
    def _rooms(self) -> list[tuple[Amounts, str | None]]:
        """What lines must stay within: those of everybody, and those of an analyst with a share."""
        capacity = self.stream.capacity
        own = [] if self.share is None else [(share_of(self.grant, capacity, self.share), self.analyst)]
        return [(capacity, None), *own]

    @property
    def left(self) -> Amounts:
        """The largest cost that fits all of the blocks."""
        rests = [less(limits, self.stream.peak(self.ranges, analyst)) for limits, analyst in self._rooms]
        return tuple(map(min, zip(*rests, strict=True)))

    def cost(self, loss: Loss) -> Amounts:
        """What a loss adds to the line of each block; refused if it is about somebody else, or of another currency."""
        demand_spendable(loss, self.stream.unit)
        return cost_of(loss, self.grant)

    def admitted(self, loss: Loss) -> Amounts:
        """The cost; refused if that does not fit all of the blocks."""
        cost = self.cost(loss)
        for filter_, limits, analyst in self._filters:
            try:
                filter_.admit(loss_of(cost))
            except BudgetExhausted as refused:
                raise self._lacking(refused, filter_, cost, limits, analyst) from None
        return cost

    def used(self) -> Used:
        """Of the block, and the analyst's share of it, of which the least is left."""
        rooms = [(limits, self.stream.peak(self.ranges, analyst)) for limits, analyst in self._rooms]
        return max((Grant.used(*room, of="capacity") for room in rooms), key=lambda used: used.larger)

    def part_of_rest(self, loss: Loss) -> Fraction | None:
        """Which part of what is left on the fullest of the blocks it would use; None if it does not fit."""
        return part_of(self.cost(loss), self.left)

    def affordable(self) -> Amount:
        return self._measure.remaining(self.left)

    @property
    def _measure(self) -> Grant:
        """By which ε is told: a block has a δ of its own, half of which is in its capacity, for selections."""
        _, *selected = self.stream.capacity
        return replace(self.grant, delta=Fraction(2 * selected[0], UNITS)) if any(selected) else self.grant

    def affordable_count(self, loss: Loss) -> int | None:
        """How many more charges of this loss fit; None if all of them do."""
        cost, left = self.cost(loss), self.left
        return largest(lambda count: not any(less(tuple(count * each for each in cost), left)), MANY)

    @property
    def _filters(self) -> list[tuple[Filter, Amounts, str | None]]:
        """The tighter one speaks first."""
        filters = [
            (self._measure.filled(limits, self.stream.peak(self.ranges, analyst)), limits, analyst)
            for limits, analyst in self._rooms
        ]
        return sorted(filters, key=lambda each: each[0].left)

    def _lacking(
        self, refused: BudgetExhausted, filter_: Filter, cost: Amounts, limits: Amounts, analyst: str | None
    ) -> BudgetExhausted:
        """Which blocks have no room, which have, and the largest cost that fits all."""
        stream = self.stream
        lacking = stream.lacking(cost, limits, analyst)
        which = _words(stream, common_to(self.ranges, lacking))
        whose = "" if analyst is None else f", of the share of {analyst}"
        room = without(self.ranges, lacking) or without(stream.live, lacking)
        other = f"ask about {_words(stream, room)}" if room else "wait for new blocks"
        fix = f"{refused.fix}, or {other}" if filter_.left else other
        return BudgetExhausted(f"{refused.reason} in {which} of {self.name}{whose}", fix, edit=refused.edit)


def known(state: State, name: str) -> Stream:
    if name not in state.streams:
        streams = ", ".join(sorted(state.streams)) or "there are none"
        raise Refused("unknown-stream", f"the ledger has no stream {name!r}", f"streams: {streams}")
    return state.streams[name]


def share_of(grant: Grant, capacity: Amounts, share: Share) -> Amounts:
    """As large a part of a block's capacity as a share is of the budget, in each currency."""
    if isinstance(share, Percentage):
        return tuple(floor(amount * share.fraction) for amount in capacity)
    parts = zip(capacity, map(min, grant.share_limits(share), grant.limits), grant.limits, strict=True)
    return tuple(whole * part // limit for whole, part, limit in parts)


def standing(state: State, name: str, shares: Mapping[str, Share]) -> StreamStanding:
    """How a stream stands, for people and programs."""
    stream = known(state, name)
    limits = {each: share_of(state.grant, stream.capacity, share) for each, share in shares.items()}
    return StreamStanding(
        name=name,
        capacity=loss_of(stream.capacity, stream.unit),
        most=stream.most,
        labels=stream.labels,
        files=stream.files,
        lines=_listed(stream.lines),
        retired=stream.retired,
        lost=loss_of(stream.lost, stream.unit),
        shares={analyst: _listed(own) for analyst, own in stream.shares.items()},
        limits={analyst: loss_of(each, stream.unit) for analyst, each in limits.items()},
    )


def _listed(lines: tuple[Array, ...]) -> Lines:
    return tuple(zip(*lines, strict=True))


def _open(stream: Stream, among: Ranges = ()) -> str:
    """What can be asked about instead."""
    room = among or stream.live
    return f"ask about {_words(stream, room)}" if room else "wait for new blocks"


def _words(stream: Stream, ranges: Ranges) -> str:
    """The newest of them, if there are many runs."""
    if len(ranges) <= LISTED:
        return stream.words(ranges)
    return f"{stream.words(ranges[-LISTED:])} and {len(ranges) - LISTED} earlier runs"
