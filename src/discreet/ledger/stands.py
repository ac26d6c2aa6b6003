"""How a ledger stands: what is spent and left, for everybody and for each analyst, of parts and of blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.balance import Amount, Balance, Used
from discreet.accounting.record import OWNER, BlockNames, PartName
from discreet.errors import Refused
from discreet.ledger.blocks import Blocks
from discreet.ledger.charge import cost_of, demand_spendable
from discreet.ledger.entries import loss_of
from discreet.ledger.standing import Standing, part_of
from discreet.ledger.state import State
from discreet.policy import Share

MAX_RESTS: Final = 1000
"""That are held."""
Rests = dict[tuple[str | None, Loss, str | None], "Rest"]


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left, of one moment."""

    remaining: Amount
    used: Used
    more: int | None
    """How many more charges of a loss fit; None if all of them do."""


class Stands(ABC):
    """The part of a ledger that tells how it stands. Nothing is written here."""

    unit: str | None
    _rests: tuple[State, Rests] = State(), {}
    """What was told of a state: it is no other as long as the journal is no other."""

    @property
    @abstractmethod
    def _newest(self) -> State: ...
    @abstractmethod
    def _share(self, analyst: str) -> Share: ...

    def balance(self, analyst: str | None = None) -> Balance:
        """What was granted, is spent and remains: of everybody, or of one analyst."""
        return self._standing(analyst).balance()

    def remaining(self, analyst: str | None = None) -> Amount:
        """What remains, for everybody or for one analyst: the quick part of `balance`."""
        return self._standing(analyst).remaining()

    def used(self, analyst: str | None = None, blocks: BlockNames | None = None) -> Used:
        """How much is used up: of the budget, of an analyst's share, or of the capacity of blocks."""
        return self._standing(analyst).used() if blocks is None else self._blocks(blocks, analyst).used()

    def rest(self, loss: Loss, analyst: str | None = None) -> Rest:
        """`remaining`, `used` and `affordable_count` of one moment. The newest state is looked at each time; what
        follows from it is computed once.
        """
        standing = self._standing(analyst)
        state, rests = self._rests
        if state is not standing.state or len(rests) >= MAX_RESTS:
            rests = {}
            self._rests = standing.state, rests
        key = analyst, loss, loss.unit  # which losses do not compare
        rest = rests.get(key) if rests else None
        if rest is None:
            rest = rests[key] = Rest(standing.remaining(), standing.used(), self._count(standing, loss))
        return rest

    def _count(self, standing: Standing, loss: Loss) -> int | None:
        """How many more charges of a loss fit that is about no part."""
        if loss.is_zero:
            return None
        try:
            demand_spendable(loss, self.unit)
            return standing.affordable_count(cost_of(loss, standing.grant), None)
        except Refused:
            return 0  # of another currency, or about somebody else

    def affordable_count(
        self, loss: Loss, analyst: str | None = None, about: PartName | BlockNames | None = None
    ) -> int | None:
        """How many more charges of this loss fit, for everybody or for one analyst; None if all of them do."""
        standing = self._standing(analyst)
        try:
            if isinstance(about, BlockNames):
                return self._blocks(about, analyst).affordable_count(loss)
            demand_spendable(loss, self.unit)
            cost = cost_of(loss, standing.grant)
        except Refused:
            return 0  # of another currency, about somebody else, or about blocks that are gone
        return standing.affordable_count(cost, about)

    def part_of_rest(
        self, loss: Loss, analyst: str | None = None, about: PartName | BlockNames | None = None
    ) -> Fraction | None:
        """Which part of what is left a charge of this loss would use; None if it does not fit."""
        if isinstance(about, BlockNames):
            return self._blocks(about, analyst).part_of_rest(loss)
        demand_spendable(loss, self.unit)
        standing = self._standing(analyst)
        return standing.part_of_rest(cost_of(loss, standing.grant), about)

    def part_of_budget(self, loss: Loss) -> Fraction | None:
        """Which part of the whole budget a loss is; None if it is more."""
        demand_spendable(loss, self.unit)
        grant = self._newest.grant
        return part_of(cost_of(loss, grant), grant.limits)

    def increase(self, loss: Loss, part: PartName) -> Pure | Concentrated:
        """What a query about a part would add now to what is spent."""
        demand_spendable(loss, self.unit)
        standing = self._standing(None)
        return loss_of(standing.increase(part, cost_of(loss, standing.grant)), loss.unit)

    def free(self, part: PartName) -> Amount:
        """What may be asked of a part, by anybody, before the maximum over all parts grows."""
        return self._standing(None).free(part)

    def affordable(self, about: PartName | BlockNames, analyst: str | None = None) -> Amount:
        """The largest cost that a query about a part, or about blocks, may have.

        Of a part, what is free and what remains of the budget; of blocks, what is left on the line of each.
        """
        if isinstance(about, BlockNames):
            return self._blocks(about, analyst).affordable()
        return self._standing(analyst).affordable(about)

    def _blocks(self, blocks: BlockNames, analyst: str | None) -> Blocks:
        share = None if analyst is None else self._share(analyst)
        return Blocks.of(self._newest, blocks, OWNER if analyst is None else analyst, share)

    def _standing(self, analyst: str | None) -> Standing:
        return Standing(self._newest, analyst, None if analyst is None else self._share(analyst))
