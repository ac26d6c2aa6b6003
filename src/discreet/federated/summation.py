"""Secure aggregation among clients in one process: all messages of a round, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from discreet.federated.encoding import from_words, to_words
from discreet.federated.graph import shape
from discreet.federated.keys import Identity
from discreet.federated.masking import Aggregation, Member, Setting
from discreet.federated.plan import Plan
from discreet.federated.training import Round
from discreet.mechanisms.arrays import Integers
from discreet.noise import SYSTEM, Bits


class Masks:
    """Secure aggregation among clients whose keys last for the whole training."""

    def __init__(self, plan: Plan, bits: Bits | None) -> None:
        self._plan, self._bits, self._session = plan, bits, SYSTEM.bytes(16)
        self._identities: dict[int, Identity] = {}

    def total(self, now: Round, stay: Sequence[int], sent: Callable[[int], Integers]) -> Integers:
        members = now.members
        setting = Setting(self._session, now.number, members, shape(len(members)), self._plan.grid.width)
        keys: Mapping[int, bytes] = {member: self._identity(member).public for member in members}
        parts = {member: Member(self._identity(member), member, setting, keys, bits=self._bits) for member in members}
        server = Aggregation(setting, least=self._plan.least(len(members)))
        for member in members:
            server.deal(member, parts[member].deal())
        for member in stay:
            server.masked(member, parts[member].masked(to_words(sent(member)), server.inbox(member)))
        for member in stay:
            server.revealed(member, parts[member].reveal(*server.request(member)))
        return from_words(server.total())

    def _identity(self, member: int) -> Identity:
        if member not in self._identities:
            self._identities[member] = Identity(self._bits)
        return self._identities[member]
